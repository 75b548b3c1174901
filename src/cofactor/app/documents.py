"""What the page shows of documents: one with its words coloured, and the table of all."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cofactor.app.session import Session

LONGEST = 20_000
"""Number of characters of a document that are shown."""
EXCERPT = 160
PAGE = 50
WORD = re.compile(r"\w+(?:['’]\w+)*")
LEVELS = (0.08, 0.25, 0.6)
"""Shares of the strongest word from which a word has the colour 1, 2 or 3."""
CANDIDATES = 5
"""Number of classes whose probabilities are shown."""


def show_document(session: Session, place: int) -> dict[str, Any]:
    """Return a document with what the current model says of it, and what was decided."""
    session.check_place(place)
    corpus, model, text = session.corpus, session.now.model, session.corpus.texts[place]
    told = model.explain(text, n_left_out=0)
    contrast = told.contrast
    labels, source = corpus.label_of(place, session.reviewed)
    document = session.now.documents[place]
    parts = {} if contrast is None else dict(zip(told.words, contrast.words, strict=True))
    return {
        "document": place,
        "name": corpus.names[place],
        "date": _date(corpus, place),
        "segments": list(coloured(text[:LONGEST], parts, _analyzer(model))),
        "cut": max(len(text) - LONGEST, 0),
        "topic": document.topic,
        "topic_name": document.name,
        **session.said(place),
        "leading": None if contrast is None else contrast.target,
        "rival": None if contrast is None else contrast.rival,
        "probabilities": _probabilities(model, text, bool(told.words)),
        "labels": None if labels is None else list(labels),
        "source": source,
        "flagged": corpus.keys[place] in session.reviewed.flags,
    }


def coloured(
    text: str, parts: dict[str, float], analyze: Callable[[str], list[str]] | None
) -> Iterator[tuple[str, int]]:
    """Yield the pieces of a text in order, each with its colour.

    1 to 3 speak for the leading class, −1 to −3 for the runner-up, 0 for neither. The pieces
    add up to the text.
    """
    most, end, known = max(map(abs, parts.values()), default=0.0), 0, {}
    for found in WORD.finditer(text) if most and analyze else ():
        word = found[0]
        if word not in known:
            said = sum(parts.get(one, 0.0) for one in set(analyze(word))) / most  # type: ignore[misc]
            known[word] = int(np.sign(said) * np.searchsorted(LEVELS, abs(said), side="right"))
        if known[word]:
            if end < found.start():
                yield text[end : found.start()], 0
            yield word, known[word]
            end = found.end()
    if end < len(text):
        yield text[end:], 0


def _analyzer(model: Any) -> Callable[[str], list[str]] | None:
    build = getattr(model.vectorizer_, "build_analyzer", None)
    return None if build is None else build()


def _probabilities(model: Any, text: str, known: bool) -> list[dict[str, Any]]:
    """Return the most probable classes; none if the model knows no word of the text."""
    if not (known and model.target_names_):
        return []
    found = np.asarray(model.predict_proba([text]))[0]
    best = np.argsort(-found, kind="stable")[:CANDIDATES]
    return [{"label": str(model.target_names_[c]), "probability": float(found[c])} for c in best]


def _date(corpus: Any, place: int) -> str | None:
    date = None if corpus.dates is None else corpus.dates[place]
    return None if date is None else str(date).removesuffix(" 00:00:00")


# ---- the table of all documents


@dataclass(frozen=True)
class Asked:
    """What the table is to show; "" and −1 stand for everything."""

    query: str = ""
    topic: int = -1
    label: str = ""
    state: str = ""  # "labelled", "open", "flagged", "skipped" or "different"
    below: int = 0  # confidence in per cent; 0 for any
    since: str = ""  # dates like 2024-12-31
    until: str = ""
    sort: str = "row"  # "row", "confidence" or "date"
    page: int = 0


def find_documents(session: Session, asked: Asked) -> dict[str, Any]:
    """Return one page of the documents that fit, and how many fit."""
    labels = session.corpus.labels(session.reviewed)
    wanted = asked.query.casefold().split()
    found = [
        place
        for place, text in enumerate(session.corpus.texts)
        if _fits(session, asked, place, labels[place])
        and (not wanted or _holds(text.casefold(), wanted))
    ]
    _sort(session, found, asked.sort)
    start = max(asked.page, 0) * PAGE
    rows = [_row(session, p, labels[p], wanted) for p in found[start : start + PAGE]]
    return {"rows": rows, "found": len(found), "page": asked.page, "per_page": PAGE}


def _holds(text: str, wanted: list[str]) -> bool:
    return all(word in text for word in wanted)


def _fits(session: Session, asked: Asked, place: int, label: Any) -> bool:
    document, (labels, source) = session.now.documents[place], label
    if asked.topic >= 0 and document.topic != asked.topic:
        return False
    sure = document.confidence
    if asked.below and (sure is None or sure >= asked.below / 100):
        return False
    if (asked.since or asked.until) and not _within(asked, _date(session.corpus, place)):
        return False
    shown = labels if labels is not None else _as_labels(document.prediction)
    if asked.label and asked.label not in shown:
        return False
    return not asked.state or _state(session, asked.state, place, document, labels, source)


def _within(asked: Asked, date: str | None) -> bool:
    """Tell whether a date lies in the days that are asked for; unknown dates do not."""
    day = (date or "")[:10]
    return bool(day) and asked.since <= day and (not asked.until or day <= asked.until)


def _state(
    session: Session, state: str, place: int, document: Any, labels: Any, source: str | None
) -> bool:
    key = session.corpus.keys[place]
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
    documents, dates = session.now.documents, session.corpus.dates
    if sort == "confidence":
        places.sort(key=lambda p: (documents[p].confidence is None, documents[p].confidence or 0.0))
    elif sort == "date" and dates is not None:
        places.sort(key=lambda p: str(dates[p] or "9999"))


def _row(session: Session, place: int, label: Any, wanted: list[str]) -> dict[str, Any]:
    document, text = session.now.documents[place], session.corpus.texts[place]
    first = min((text.casefold().find(word) for word in wanted), default=0)
    start = max(first - EXCERPT // 3, 0)
    labels, source = label
    return {
        "document": place,
        "name": session.corpus.names[place],
        "excerpt": ("… " if start else "") + text[start : start + EXCERPT],
        "labels": None if labels is None else list(labels),
        "source": source,
        "prediction": list(_as_labels(document.prediction)),
        "confidence": document.confidence,
        "topic": document.topic,
        "topic_name": document.name,
        "date": _date(session.corpus, place),
        "flagged": session.corpus.keys[place] in session.reviewed.flags,
    }
