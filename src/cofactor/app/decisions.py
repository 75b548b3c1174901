"""The decision log, and what its decisions amount to: labels of documents, classes, flags.

The log is a file of JSON lines that only grows. A decision is on the disk before `DecisionLog.add`
returns, so a killed process loses at most the decision in flight. Several processes may share a
log: a file lock orders their lines, and each reads what the others wrote. An undo is a line too; it
names the line that it undoes. Unreadable lines (a write that was killed half-way, damage) are
skipped and counted; the next decision starts on a new line, so nothing is ever removed.

`Reviewed` applies the decisions in order, without the undone ones; the last one about a document
wins. Nothing here comes from a model: predictions never become labels by themselves.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cofactor.io import platform
from cofactor.io.errors import InputError, at
from cofactor.io.json_text import to_json

MAX_LINE_BYTES = 1 << 20


@dataclass(frozen=True)
class Decision:
    """One line of the log."""

    number: int  # of the line in the file, readable or not, from 0
    kind: str  # "label", "skip", "flag", "class", "edit", "undo", ...
    by: str  # the tab that decided
    at: str  # the time, in UTC
    content: dict[str, Any]  # further fields, which depend on the kind


class DecisionLog:
    """The decisions in a file, which other processes may add to.

    Parameters
    ----------
    path : Path
        The file; the first decision creates it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = DecisionLog(Path(folder) / "decisions.jsonl")
    ...     log.add("label", "one tab", document="d1", labels=["sport"])[-1].number
    ...     log.add("undo", "one tab", undoes=0)[-1].kind
    0
    'undo'
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unreadable = 0
        self._read_to = self._lines = 0

    def add(self, kind: str, by: str, **content: Any) -> list[Decision]:
        """Write a decision to the disk.

        Returns
        -------
        list of Decision
            What was not read yet, in order: lines of other processes, then this decision.
        """
        item = {"kind": kind, "by": by, "at": datetime.now(UTC).isoformat(), **content}
        line = to_json(item).encode() + b"\n"
        if len(line) > MAX_LINE_BYTES:
            raise ValueError(
                f"The decision takes {len(line):,} bytes; the limit is {MAX_LINE_BYTES:,}."
            )
        new = not self.path.exists()
        with self._locked() as file:
            os.write(file, _end_of_torn_line(file) + line)
            os.fsync(file)
            if new:
                platform.HERE.flush(self.path.parent)
            return self._read_on(file)

    def read(self) -> list[Decision]:
        """Return the decisions added since the last call of this method or of `add`."""
        try:
            file = os.open(self.path, os.O_RDONLY | platform.BINARY)
        except FileNotFoundError:
            return []
        try:
            return self._read_on(file)
        finally:
            os.close(file)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Open the file for writing; other processes wait until the block ends."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | platform.BINARY
        file = os.open(self.path, flags, 0o600)
        try:
            with platform.HERE.locked(file):
                yield file
        finally:
            os.close(file)

    def _read_on(self, file: int) -> list[Decision]:
        size = os.fstat(file).st_size
        if size < self._read_to:
            raise InputError(
                f"{at(self.path)} became shorter while it was in use; restore it from a copy."
            )
        whole = _read_whole_lines(file, self._read_to, size)
        self._read_to += len(whole)
        found = [self._decision(line) for line in whole.split(b"\n")[:-1]]
        return [one for one in found if one is not None]

    def _decision(self, line: bytes) -> Decision | None:
        number, self._lines = self._lines, self._lines + 1
        decision = read_line(line, number)
        self.unreadable += decision is None
        return decision


def read_line(line: bytes, number: int) -> Decision | None:
    """Return the decision in a line; None if there is none."""
    try:
        item = json.loads(line)
        kind, by, when = (item.pop(name) for name in ("kind", "by", "at"))
    except (ValueError, RecursionError, AttributeError, TypeError, KeyError):
        return None
    if not all(isinstance(one, str) for one in (kind, by, when)):
        return None
    return Decision(number, kind, by, when, item)


def _read_whole_lines(file: int, start: int, end: int) -> bytes:
    data = platform.read_between(file, start, end)
    return data[: data.rfind(b"\n") + 1]


def _end_of_torn_line(file: int) -> bytes:
    """Return a newline if a killed write left the last line of the file incomplete."""
    size = os.fstat(file).st_size
    return b"" if size == 0 or platform.read_between(file, size - 1, size) == b"\n" else b"\n"


def log_path(folder: Path) -> Path:
    """Return the file of the decisions about a model folder."""
    return folder.with_name(f"{folder.name}.decisions.jsonl")


# ---- what the decisions amount to


@dataclass(frozen=True)
class Review:
    """The last decision about one document."""

    decision: Decision
    labels: tuple[str, ...] | None
    """None if the document was skipped; empty if none of the classes fits."""


@dataclass
class Reviewed:
    """The state after some decisions; start empty and `apply` them.

    Parameters
    ----------
    classes : list of str
        Classes of the table; decisions add, rename and merge classes.
    """

    classes: list[str] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    undone: set[int] = field(default_factory=set)
    reviews: dict[str, Review] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)
    """New names of classes of the table."""

    def __post_init__(self) -> None:
        self._first_classes = [*self.classes]

    def apply(self, decisions: Iterable[Decision]) -> None:
        """Apply further decisions."""
        for decision in decisions:
            self.decisions.append(decision)
            if decision.kind == "undo":
                self._undo(decision)
            else:
                self._apply(decision)

    def counted(self) -> list[Decision]:
        """Return the decisions in force, in order, without undo lines."""
        return [d for d in self.decisions if d.kind != "undo" and d.number not in self.undone]

    def current_name(self, name: str) -> str:
        """Return the current name of a class of the table."""
        return self.renamed.get(name, name)

    def _undo(self, decision: Decision) -> None:
        number = decision.content.get("undoes")
        if not isinstance(number, int) or isinstance(number, bool) or number in self.undone:
            return
        self.undone.add(number)
        self.classes, self.reviews = [*self._first_classes], {}
        self.flags, self.renamed = set(), {}
        for earlier in self.counted():
            self._apply(earlier)

    def _apply(self, decision: Decision) -> None:
        """Apply a decision; ignore other kinds, and lines that lack a field."""
        content = decision.content
        match decision.kind, content:
            case "label", {"document": str(document), "labels": [*labels]}:
                if all(isinstance(label, str) for label in labels):
                    self.reviews[document] = Review(decision, tuple(dict.fromkeys(labels)))
                    self._add_classes(labels)
            case "skip", {"document": str(document)}:
                self.reviews[document] = Review(decision, None)
            case "flag", {"document": str(document)}:
                (self.flags.add if content.get("on") else self.flags.discard)(document)
            case "class", {"name": str(name)}:
                self._add_classes([name])
            case "rename class", {"old": str(old), "new": str(new)}:
                self._rename(old, new)

    def _rename(self, old: str, new: str) -> None:
        """Rename a class; if another class already has the new name, merge them."""
        self.classes = list(dict.fromkeys(new if name == old else name for name in self.classes))
        for document, review in self.reviews.items():
            if review.labels and old in review.labels:
                names = dict.fromkeys(new if name == old else name for name in review.labels)
                self.reviews[document] = Review(review.decision, tuple(names))
        for name in {*self.renamed, old}:
            if self.current_name(name) == old:
                self.renamed[name] = new

    def _add_classes(self, names: Iterable[str]) -> None:
        self.classes = list(dict.fromkeys([*self.classes, *names]))
