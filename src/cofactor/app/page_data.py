"""What the page shows: the state of the session, topics, one document, and the table of all."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import Any

import numpy as np

from cofactor.app.estimate import estimate, random_reviews
from cofactor.app.session import Session, Situation
from cofactor.app.text_queue import BLIND, DISAGREED, SECOND, TextTable, disagreements
from cofactor.text.describe.explain import Explanation
from cofactor.text.describe.predictions import unchecked
from cofactor.text.editing.settled import Settled
from cofactor.text.vectorizer.occurrences import cut_pieces

SHOWN_DECISIONS = 10
MAX_TEXT_CHARACTERS, EXCERPT_CHARACTERS = 20_000, 160
RECENT_REVIEWS, RECENT_CLASSES = 40, 6
MAX_ELSEWHERE, MIN_ALIKE = 500, 0.6
ROWS_PER_PAGE, MAX_CELL_CHARACTERS = 50, 2000


def state(session: Session) -> dict[str, Any]:
    """What every page shows: classes, counts, the last decisions, the state of fits."""
    with session.lock:
        session.hear()
        return {
            "counts": session.counts(),
            "descriptions": descriptions(session),
            "recent": _recent_classes(session),
            "several": session.table.several,
            "busy": session.refitter.busy,
            "trouble": session.refitter.trouble,
            "version": session.now.version,
            "shape": session.shape,
            "edits": session.edits,
            "decisions": len(session.reviewed.decisions),
            "unreadable": session.log.unreadable,
            "last": _last(session),
            "exhausted": session.counts()["open"] == 0,
            "annotator": session.annotator,
            "people": len({review.who for review in session.reviewed.history}),
            "disagreements": len(disagreements(session.reviewed)),
            "unlike": len(session.unlike_texts()),
            "noted": len(session.reviewed.notes),
            "every": session.every,
            **quality(session),
            "lost": session.lost,
            "lacking": len(session.lacking),
            "notes": session.notes,
            "model": session.folder.name,
            "predicts": bool(session.now.model.target_names_),
            "dated": session.table.dates is not None,
            "overtaken": session.overtaken,
        }


def quality(session: Session) -> dict[str, Any]:
    """Return what is known about how good the predictions are."""
    sure = accuracy(session)
    return {
        "accuracy": sure,
        "unchecked": None if sure else unchecked(session.now.model),
        "checks": len(random_reviews(session.reviewed, session.table)),
        "moved": session.moved,
    }


def accuracy(session: Session) -> dict[str, Any] | None:
    """Return how often the current model is right, if that can be told fairly."""
    expected = session.now.model.expected_score_
    found = estimate(session.checks, session.reviewed, expected, session.table)
    return None if found is None else asdict(found)


def descriptions(session: Session) -> dict[str, str]:
    """Return what classes are about, by their names."""
    classes = session.reviewed.classes
    return {
        name: classes.descriptions[identity]
        for identity, name in classes.names.items()
        if classes.descriptions.get(identity)
    }


def _recent_classes(session: Session) -> list[str]:
    """Return the classes of the last labels, the latest first."""
    found: dict[str, None] = {}
    for review in reversed(session.reviewed.history[-RECENT_REVIEWS:]):
        found.update(dict.fromkeys(session.reviewed.classes.shown(review.labels or ())))
    return [*found][:RECENT_CLASSES]


def _last(session: Session) -> list[dict[str, Any]]:
    """Return the last decisions; one about several documents is one row."""
    places, found, seen = session.table.places, [], set()
    shown = session.reviewed.classes.shown
    for review in reversed(session.reviewed.history):
        place, number = places.get(review.document), review.decision.number
        if place is None or number in seen:
            continue
        seen.add(number)
        found.append(
            {
                "number": number,
                "document": place,
                "name": session.table.names[place],
                "excerpt": session.table.texts[place][:EXCERPT_CHARACTERS],
                "labels": None if review.labels is None else shown(review.labels),
                "documents": len(review.decision.content.get("documents", [0])),
            }
        )
        if len(found) == SHOWN_DECISIONS:
            break
    return found


def lacking(session: Session) -> dict[str, Any]:
    """Decisions that the log lacks, though the model was saved with them."""
    rows = [
        {"labels": d.content.get("labels"), "excerpt": d.content.get("excerpt"), "at": d.at}
        for d in session.lacking
        if d.kind == "label"
    ]
    return {"rows": rows[:ROWS_PER_PAGE], "found": len(rows)}


def elsewhere(session: Session) -> dict[str, Any]:
    """Labels of texts that are not in the table, each with the text that may be the same one."""
    session.hear()
    table, reviewed = session.table, session.reviewed
    begins = {_letters(table.texts[place]): place for place in range(len(table))}
    rows_by_name = {str(name): place for place, name in enumerate(table.names)}
    found = []
    for key, review in [*reviewed.reviews.items()]:
        if key in table.places or review.labels is None:
            continue
        content = review.decision.content
        excerpt = content.get("excerpt") if isinstance(content.get("excerpt"), str) else None
        place = begins.get(_letters(excerpt)) if excerpt else None
        if place is None and excerpt:
            place = _same_row(session, rows_by_name.get(str(content.get("row"))), excerpt)
        if place is not None and table.keys[place] in reviewed.reviews:
            place = None  # this text has a decision of its own
        labels = reviewed.classes.shown(review.labels)
        if review.labels and not labels:
            place = None  # its class was deleted
        found.append(
            {
                "key": key,
                "labels": labels,
                "excerpt": excerpt,
                "at": review.decision.at,
                "document": place,
                "now": None if place is None else session.excerpt(place),
            }
        )
    return {"rows": found[:MAX_ELSEWHERE], "found": len(found)}


def _letters(text: str) -> str:
    """Return the first letters and digits of a text, which small corrections leave alone."""
    return "".join(filter(str.isalnum, text[:EXCERPT_CHARACTERS].casefold()))[:40]


def _same_row(session: Session, place: int | None, excerpt: str) -> int | None:
    """Return the text of the same row if it resembles the old one."""
    if place is None:
        return None
    alike = SequenceMatcher(None, session.excerpt(place), excerpt).ratio()
    return place if alike >= MIN_ALIKE else None


def topics(session: Session) -> dict[str, Any]:
    """The cards of the topics."""
    now = session.now
    settled = Settled.of(now.model)
    counts = [0] * len(settled)
    for document in now.documents:
        if document.topic >= 0:
            counts[document.topic] += 1
    rows = [
        {
            "topic": t.topic,
            "name": t.name,
            "words": list(t.words),
            "share": t.share,
            "label": next(iter(session.current_names(now, t.label) or []), None),
            "label_weight": t.label_weight,
            "labels": t.labels,
            "stability": t.stability,
            "documents": counts[t.topic],
            "frozen": settled.frozen[t.topic],
            "pinned": settled.pinned[t.topic],
            "banned": settled.banned[t.topic],
        }
        for t in now.model.topics(12)
    ]
    return {"topics": rows, "shape": session.shape, "edits": session.edits}


# ---- one document


def show_document(session: Session, place: int, tab: str = "") -> dict[str, Any]:
    """Return a document with its prediction and explanation, and the decisions about it.

    A random check hides what the model predicts, so that it cannot sway who decides.
    """
    session.check_place(place)
    table, now, text = session.table, session.now, session.table.texts[place]
    said = session.said(now, place, tab)
    labels, source = table.label_of(place, session.reviewed)
    if said["reason"] == SECOND:
        labels = source = None
    blind = said["reason"] in BLIND and source is None
    told = None if blind else now.model.explain(text, n_left_out=0)
    contrast = told.contrast if told is not None and told.is_known else None
    pieces = [(text, 0)] if told is None or contrast is None else told.coloured_text
    document = now.documents[place]

    def name(label: Any) -> str | None:
        return next(iter(session.current_names(now, label) or []), None)

    return {
        "document": place,
        "name": table.names[place],
        "date": _date(table, place),
        "columns": _columns(table, place),
        "note": session.reviewed.notes.get(table.keys[place], ""),
        "segments": cut_pieces(pieces, MAX_TEXT_CHARACTERS),
        "cut": max(len(text) - MAX_TEXT_CHARACTERS, 0),
        "topic": document.topic,
        "topic_name": document.name,
        "reason": said["reason"],
        "blind": blind,
        "prediction": None if blind else said["prediction"],
        "confidence": None if blind else said["confidence"],
        "unlike": not blind and now.is_unlike(place),
        "leading": None if contrast is None else name(contrast.target),
        "rival": None if contrast is None else name(contrast.rival),
        "probabilities": [] if told is None else _probabilities(session, now, told),
        "labels": None if labels is None else list(labels),
        "source": source,
        "flagged": table.keys[place] in session.reviewed.flags,
        "opinions": _opinions(session, place) if said["reason"] == DISAGREED else [],
    }


def _opinions(session: Session, place: int) -> list[dict[str, Any]]:
    """Return who gave a document which labels."""
    people = session.reviewed.opinions.get(session.table.keys[place], {})
    shown = session.reviewed.classes.shown
    return [{"who": who, "labels": shown(one.labels or ())} for who, one in people.items()]


def _probabilities(session: Session, now: Situation, told: Explanation) -> list[dict[str, Any]]:
    """Return the classes with their probabilities, the most probable first.

    There are none if the model knows no word of the text.
    """
    if not (told.is_known and now.model.target_names_):
        return []
    found = now.model.estimator_.probabilities(told.scores[None])[0]
    names = [session.current_names(now, str(name)) for name in now.model.target_names_]
    return [
        {"label": name, "probability": float(found[c])}
        for c in np.argsort(-found, kind="stable")
        for name in names[c] or ()
    ]


def _date(table: TextTable, place: int) -> str | None:
    date = None if table.dates is None else table.dates[place]
    return None if date is None else str(date).removesuffix(" 00:00:00")


def _columns(table: TextTable, place: int) -> list[dict[str, str]]:
    """Return the further columns of a document that have content."""
    found = {name: cells[place] for name, cells in table.columns.items()}
    return [
        {"name": name, "text": str(cell)[:MAX_CELL_CHARACTERS]}
        for name, cell in found.items()
        if cell is not None and str(cell).strip()
    ]


# ---- the table of all documents


@dataclass(frozen=True)
class DocumentFilter:
    """Which documents the table shows; "", −1 and 0 stand for all."""

    topic: int
    label: str
    state: str  # "labelled", "open", "flagged", "noted", "skipped" or "different"
    below: int  # confidence in per cent
    since: str  # dates like 2024-12-31
    until: str


def find_documents(
    session: Session,
    query: str = "",
    topic: int = -1,
    label: str = "",
    state: str = "",
    below: int = 0,
    since: str = "",
    until: str = "",
    sort: str = "row",
    page: int = 0,
) -> dict[str, Any]:
    """A page of the table of documents, sorted by "row", "confidence" or "date"."""
    session.hear()
    wanted = DocumentFilter(topic, label, state, below, since, until)
    labels, words = session.table.labels(session.reviewed), query.casefold().split()
    found = [
        place
        for place, text in enumerate(session.table.texts)
        if _fits(session, wanted, place, labels[place]) and _contains(text, words)
    ]
    _sort(session, found, sort)
    start = max(page, 0) * ROWS_PER_PAGE
    rows = [_row(session, p, labels[p], words) for p in found[start : start + ROWS_PER_PAGE]]
    return {"rows": rows, "found": len(found), "page": page, "per_page": ROWS_PER_PAGE}


def _contains(text: str, words: list[str]) -> bool:
    lower = text.casefold() if words else ""
    return all(word in lower for word in words)


def _fits(session: Session, wanted: DocumentFilter, place: int, label: Any) -> bool:
    document, (labels, source) = session.now.documents[place], label
    if wanted.topic >= 0 and document.topic != wanted.topic:
        return False
    sure = document.confidence
    if wanted.below and (sure is None or sure >= wanted.below / 100):
        return False
    if (wanted.since or wanted.until) and not _within(wanted, _date(session.table, place)):
        return False
    shown = labels if labels is not None else session.prediction(place) or ()
    if wanted.label and wanted.label not in shown:
        return False
    return not wanted.state or _state(session, wanted.state, place, labels, source)


def _within(wanted: DocumentFilter, date: str | None) -> bool:
    """Return whether a date is in the wanted range; unknown dates are not."""
    day = (date or "")[:10]
    return bool(day) and wanted.since <= day and (not wanted.until or day <= wanted.until)


def _state(session: Session, state: str, place: int, labels: Any, source: str | None) -> bool:
    key = session.table.keys[place]
    review = session.reviewed.reviews.get(key)
    return {
        "labelled": source is not None,
        "open": source is None,
        "flagged": key in session.reviewed.flags,
        "skipped": review is not None and review.labels is None,
        "noted": key in session.reviewed.notes,
        "different": bool(labels) and {*labels} != {*(session.prediction(place) or ())},
    }.get(state, False)


def _sort(session: Session, places: list[int], sort: str) -> None:
    documents, dates = session.now.documents, session.table.dates
    if sort == "confidence":
        places.sort(key=lambda p: (documents[p].confidence is None, documents[p].confidence or 0.0))
    elif sort == "date" and dates is not None:
        places.sort(key=lambda p: str(dates[p] or "9999"))


def _row(session: Session, place: int, label: Any, words: list[str]) -> dict[str, Any]:
    now, text = session.now, session.table.texts[place]
    document = now.documents[place]
    first = min((text.casefold().find(word) for word in words), default=0)
    start = max(first - EXCERPT_CHARACTERS // 3, 0)
    labels, source = label
    return {
        "document": place,
        "name": session.table.names[place],
        "excerpt": ("… " if start else "") + text[start : start + EXCERPT_CHARACTERS],
        "labels": None if labels is None else list(labels),
        "source": source,
        "prediction": session.current_names(now, document.prediction) or [],
        "confidence": document.confidence,
        "unlike": now.is_unlike(place),
        "topic": document.topic,
        "topic_name": document.name,
        "date": _date(session.table, place),
        "flagged": session.table.keys[place] in session.reviewed.flags,
    }
