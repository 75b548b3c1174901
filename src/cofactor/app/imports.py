"""Takes over decisions from a file of another program."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from pathlib import Path

from cofactor.app.session import Session
from cofactor.io.annotations import Annotation, read_annotations
from cofactor.io.errors import InputError, at

MAX_AT_ONCE = 1000  # documents in one line of the log
IMPORTED = "imported"
"""Reason of decisions that come from a file."""


def take_in(session: Session, path: Path) -> str:
    """Take over the labels and skipped texts in a file; return a sentence that says how many.

    A file that was taken over before is left alone: later decisions may have corrected it.
    """
    column = session.table.facts.get("text") or "text"
    rows = read_annotations(path, str(column))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:20]
    if any(one.content.get("source") == digest for one in session.reviewed.counted()):
        return f"{at(path)} was taken over before."
    if any(len(row.labels or ()) > 1 for row in rows) and not session.table.several:
        raise InputError(
            f"{at(path)} gives texts several labels; start the app for several labels per text."
        )
    found, unknown = _places(session, rows)
    if not found:
        raise InputError(f"{at(path)} has no text with a label that is in the table.")
    groups: dict[tuple[tuple[str, ...] | None, str], list[int]] = defaultdict(list)
    for row, place in found:
        groups[row.labels, row.who].append(place)
    for (labels, who), places in groups.items():
        named = None if labels is None else [_class_name(session, label) for label in labels]
        given = {"reason": IMPORTED, "source": digest, **({"who": who} if who else {})}
        for start in range(0, len(places), MAX_AT_ONCE):
            some = places[start : start + MAX_AT_ONCE]
            session.decide_many("import", some, named, create=True, **given)
    session.refitter.request()
    return _said(path, [row for row, _ in found], unknown)


def _places(session: Session, rows: list[Annotation]) -> tuple[list[tuple[Annotation, int]], int]:
    """Return the rows whose text is in the table, with its place, and the number of others.

    Of equal texts in the table, a row takes the one of its id, or else the next.
    """
    table, taken = session.table, Counter[tuple[str, str]]()
    by_text: dict[str, list[int]] = defaultdict(list)
    for place, text in enumerate(table.texts):
        by_text[_plain(text)].append(place)
    found = []
    for row in rows:
        places, count = by_text.get(_plain(row.text), []), taken[_plain(row.text), row.who]
        named = [place for place in places if str(table.names[place]) == row.id]
        if places:
            found.append((row, (named or places)[min(count, len(named or places) - 1)]))
            taken[_plain(row.text), row.who] += 1
    return found, len(rows) - len(found)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _class_name(session: Session, label: str) -> str:
    """Return the name of the class that is called so, in any case, or else a new name."""
    label = _plain(label)
    return next((one for one in session.class_names if one.casefold() == label.casefold()), label)


def _said(path: Path, rows: list[Annotation], unknown: int) -> str:
    labels = sum(row.labels is not None for row in rows)
    parts = [f"{labels:,} label{'' if labels == 1 else 's'}"]
    if skipped := len(rows) - labels:
        parts.append(f"{skipped:,} skipped text{'' if skipped == 1 else 's'}")
    lacking = f"; {unknown:,} of its texts are not in the table" if unknown else ""
    return f"Took over {' and '.join(parts)} from {at(path)}{lacking}."
