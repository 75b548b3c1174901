"""What the page shows: the state of the session, topics, one document, and the table of all."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cofactor.app.session import Session
from cofactor.app.text_queue import TextTable
from cofactor.text.editing.settled import Settled
from cofactor.text.vectorizer.occurrences import cut_pieces

SHOWN_DECISIONS = 10
MAX_TEXT_CHARACTERS, EXCERPT_CHARACTERS = 20_000, 160
MAX_SHOWN_CLASSES = 5  # whose probabilities are shown
ROWS_PER_PAGE = 50


def state(session: Session) -> dict[str, Any]:
    """What every page shows: classes, counts, the last decisions, the state of fits."""
    session.hear()
    expected = session.now.model.expected_score_
    return {
        "counts": session.counts(),
        "several": session.table.several,
        "busy": session.refitter.busy,
        "trouble": session.refitter.trouble,
        "version": session.now.version,
        "shape": session.shape,
        "edits": session.edits,
        "decisions": len(session.reviewed.decisions),
        "unreadable": session.log.unreadable,
        "last": _last(session),
        "exhausted": session.exhausted,
        "every": session.every,
        "expected": None if expected is None else asdict(expected),
        "notes": session.notes,
        "model": session.folder.name,
        "predicts": bool(session.now.model.target_names_),
        "dated": session.table.dates is not None,
        "overtaken": session.overtaken,
    }


def _last(session: Session) -> list[dict[str, Any]]:
    places, found = session.table.places, []
    for decision in reversed(session.reviewed.counted()):
        place = places.get(str(decision.content.get("document")))
        if decision.kind in ("label", "skip") and place is not None:
            labels = decision.content.get("labels")
            found.append(
                {
                    "number": decision.number,
                    "document": place,
                    "name": session.table.names[place],
                    "excerpt": session.table.texts[place][:90],
                    "labels": labels if decision.kind == "label" else None,
                    "prediction": decision.content.get("prediction"),
                }
            )
        if len(found) == SHOWN_DECISIONS:
            break
    return found


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
            "label": None if t.label is None else str(t.label),
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


def show_document(session: Session, place: int) -> dict[str, Any]:
    """Return a document with its prediction and explanation, and the decisions about it."""
    session.check_place(place)
    table, model, text = session.table, session.now.model, session.table.texts[place]
    told = model.explain(text, n_left_out=0)
    contrast = told.contrast
    labels, source = table.label_of(place, session.reviewed)
    document = session.now.documents[place]
    pieces = [(text, 0)] if contrast is None else told.coloured_text
    return {
        "document": place,
        "name": table.names[place],
        "date": _date(table, place),
        "segments": cut_pieces(pieces, MAX_TEXT_CHARACTERS),
        "cut": max(len(text) - MAX_TEXT_CHARACTERS, 0),
        "topic": document.topic,
        "topic_name": document.name,
        **session.said(place),
        "leading": None if contrast is None else contrast.target,
        "rival": None if contrast is None else contrast.rival,
        "probabilities": _probabilities(model, text, bool(told.words)),
        "labels": None if labels is None else list(labels),
        "source": source,
        "flagged": table.keys[place] in session.reviewed.flags,
    }


def _probabilities(model: Any, text: str, known: bool) -> list[dict[str, Any]]:
    """Return the most probable classes; none if the model knows no word of the text."""
    if not (known and model.target_names_):
        return []
    found = np.asarray(model.predict_proba([text]))[0]
    best = np.argsort(-found, kind="stable")[:MAX_SHOWN_CLASSES]
    return [{"label": str(model.target_names_[c]), "probability": float(found[c])} for c in best]


def _date(table: TextTable, place: int) -> str | None:
    date = None if table.dates is None else table.dates[place]
    return None if date is None else str(date).removesuffix(" 00:00:00")


# ---- the table of all documents


@dataclass(frozen=True)
class DocumentFilter:
    """Which documents the table shows; "", −1 and 0 stand for all."""

    topic: int
    label: str
    state: str  # "labelled", "open", "flagged", "skipped" or "different"
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
    shown = labels if labels is not None else _as_labels(document.prediction)
    if wanted.label and wanted.label not in shown:
        return False
    return not wanted.state or _state(session, wanted.state, place, document, labels, source)


def _within(wanted: DocumentFilter, date: str | None) -> bool:
    """Return whether a date is in the wanted range; unknown dates are not."""
    day = (date or "")[:10]
    return bool(day) and wanted.since <= day and (not wanted.until or day <= wanted.until)


def _state(
    session: Session, state: str, place: int, document: Any, labels: Any, source: str | None
) -> bool:
    key = session.table.keys[place]
    review = session.reviewed.reviews.get(key)
    return {
        "labelled": source is not None,
        "open": source is None,
        "flagged": key in session.reviewed.flags,
        "skipped": review is not None and review.labels is None,
        "different": bool(labels) and {*labels} != {*_as_labels(document.prediction)},
    }.get(state, False)


def _as_labels(prediction: Any) -> tuple[str, ...]:
    if prediction is None:
        return ()
    return prediction if isinstance(prediction, tuple) else (str(prediction),)


def _sort(session: Session, places: list[int], sort: str) -> None:
    documents, dates = session.now.documents, session.table.dates
    if sort == "confidence":
        places.sort(key=lambda p: (documents[p].confidence is None, documents[p].confidence or 0.0))
    elif sort == "date" and dates is not None:
        places.sort(key=lambda p: str(dates[p] or "9999"))


def _row(session: Session, place: int, label: Any, words: list[str]) -> dict[str, Any]:
    document, text = session.now.documents[place], session.table.texts[place]
    first = min((text.casefold().find(word) for word in words), default=0)
    start = max(first - EXCERPT_CHARACTERS // 3, 0)
    labels, source = label
    return {
        "document": place,
        "name": session.table.names[place],
        "excerpt": ("… " if start else "") + text[start : start + EXCERPT_CHARACTERS],
        "labels": None if labels is None else list(labels),
        "source": source,
        "prediction": list(_as_labels(document.prediction)),
        "confidence": document.confidence,
        "topic": document.topic,
        "topic_name": document.name,
        "date": _date(session.table, place),
        "flagged": session.table.keys[place] in session.reviewed.flags,
    }
