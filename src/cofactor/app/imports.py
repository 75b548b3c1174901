"""Takes over decisions from a file of another program."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from pathlib import Path

from cofactor.app.session import Session
from cofactor.io.annotations import Annotation, read_annotations, read_content
from cofactor.io.errors import InputError, at, shortened

MAX_AT_ONCE = 1000  # documents in one line of the log
IMPORTED = "imported"
"""Reason of decisions that come from a file."""


def take_in(session: Session, path: Path) -> str:
    """Take over the labels and skipped texts in a file; return a sentence that says how many.

    What was taken over from it before is left alone: later decisions may have corrected it. All is
    checked before the first line is logged; if the disk is full then, the same command continues.
    """
    column = session.table.facts.get("text") or "text"
    content = read_content(path)
    rows = read_annotations(path, str(column), content)
    if any(len(row.labels or ()) > 1 for row in rows) and not session.table.several:
        raise InputError(
            f"{at(path)} gives texts several labels; start the app for several labels per text."
        )
    found, unknown = _places(session, rows)
    if not found:
        raise InputError(f"{at(path)} has no text with a label that is in the table.")
    digest = hashlib.sha256(content).hexdigest()[:20]
    before = _taken_before(session, digest, {row.who for row in rows})
    keys = session.table.keys
    left = [(row, place) for row, place in found if (keys[place], row.who) not in before]
    if not left:
        return f"{at(path)} was taken over before."
    named = _class_names(session, path, [row for row, _ in left])
    groups: dict[tuple[tuple[str, ...] | None, str], list[int]] = defaultdict(list)
    for row, place in left:
        groups[row.labels, row.who].append(place)
    for (labels, who), places in groups.items():
        names = None if labels is None else [*dict.fromkeys(named[label] for label in labels)]
        given = {"reason": IMPORTED, "source": digest, **({"who": who} if who else {})}
        for start in range(0, len(places), MAX_AT_ONCE):
            some = places[start : start + MAX_AT_ONCE]
            session.decide_many("import", some, names, create=True, **given)
    session.refitter.request()
    return _said(path, [row for row, _ in left], unknown)


def _taken_before(session: Session, digest: str, people: set[str]) -> set[tuple[str, str]]:
    """Return the documents that were taken over from a file, by key, each with who decided.

    There are none if all that was taken over was undone.
    """
    reviewed = session.reviewed
    lines = [one for one in reviewed.decisions if one.content.get("source") == digest]
    if all(one.number in reviewed.undone for one in lines):
        return set()
    found = set()
    for one in lines:
        who = str(one.content.get("who", ""))  # the annotator of that time, if the file names none
        found |= {(key, who if who in people else "") for key in one.content.get("documents", ())}
    return found


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


def _class_names(session: Session, path: Path, rows: list[Annotation]) -> dict[str, str]:
    """Return the class of each label: the one that is called so, in any case, or a new one."""
    known = {name.casefold(): name for name in session.class_names}
    found = {}
    for label in dict.fromkeys(label for row in rows for label in row.labels or ()):
        name = known.setdefault(_plain(label).casefold(), _plain(label))
        try:
            found[label] = session.checked_name(name)
        except ValueError as error:
            raise InputError(
                f"{at(path)} has the label {shortened(label, 60)!r}. {error}"
            ) from error
    return found


def _said(path: Path, rows: list[Annotation], unknown: int) -> str:
    labels = sum(row.labels is not None for row in rows)
    parts = [f"{labels:,} label{'' if labels == 1 else 's'}"]
    if skipped := len(rows) - labels:
        parts.append(f"{skipped:,} skipped text{'' if skipped == 1 else 's'}")
    lacking = f"; {unknown:,} of its texts are not in the table" if unknown else ""
    return f"Took over {' and '.join(parts)} from {at(path)}{lacking}."
