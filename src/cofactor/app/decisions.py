"""The log of decisions: a file of JSON lines to which lines are only ever added.

A decision is on the disk before `DecisionLog.add` returns, so a killed process loses at most the
decision in flight. Several processes may share a log: a lock of the system orders their lines, and
each reads what the others wrote. Undo is a line, too, which names the line that it undoes.

A line that cannot be read (a write that was killed half-way, damage) is passed over and counted.
The next line begins after it, on a line of its own, so nothing is ever removed.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cofactor.io.errors import InputError, at
from cofactor.io.json_text import to_json

LONGEST = 1 << 20
"""Maximum length of a line in bytes."""


@dataclass(frozen=True)
class Decision:
    """One line of the log."""

    number: int  # counts the lines of the file, readable or not, from 0
    kind: str  # "label", "skip", "flag", "class", "edit", "undo", ...
    by: str  # the tab that decided
    at: str  # the time, in UTC
    content: dict[str, Any]  # further items, which depend on the kind


class DecisionLog:
    """The decisions in a file, which other processes may add to.

    Parameters
    ----------
    path : Path
        The file; it is made with the first decision.

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
            What was not read yet, in order: lines of other processes, and at last this decision.
        """
        item = {"kind": kind, "by": by, "at": datetime.now(UTC).isoformat(), **content}
        line = to_json(item).encode() + b"\n"
        if len(line) > LONGEST:
            raise ValueError(f"The decision takes {len(line):,} bytes; the limit is {LONGEST:,}.")
        new = not self.path.exists()
        with self._locked() as file:
            os.write(file, _end_of_torn_line(file) + line)
            os.fsync(file)
            if new:
                _flush_folder(self.path.parent)
            return self._read_on(file)

    def read(self) -> list[Decision]:
        """Return the decisions that were added since the last call of this method or of `add`."""
        try:
            file = os.open(self.path, os.O_RDONLY)
        except FileNotFoundError:
            return []
        try:
            return self._read_on(file)
        finally:
            os.close(file)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Open the file for writing; other processes wait until the block has ended."""
        file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
        finally:
            os.close(file)  # which releases the lock

    def _read_on(self, file: int) -> list[Decision]:
        size = os.fstat(file).st_size
        if size < self._read_to:
            raise InputError(
                f"{at(self.path)} has become shorter while it was in use; restore it from a copy."
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
    """Return the decision of a line; None if it holds none."""
    try:
        item = json.loads(line)
        kind, by, when = (item.pop(name) for name in ("kind", "by", "at"))
    except (ValueError, RecursionError, AttributeError, TypeError, KeyError):
        return None
    if not all(isinstance(one, str) for one in (kind, by, when)):
        return None
    return Decision(number, kind, by, when, item)


def _read_whole_lines(file: int, start: int, end: int) -> bytes:
    parts = []
    while start < end and (part := os.pread(file, end - start, start)):
        parts.append(part)
        start += len(part)
    data = b"".join(parts)
    return data[: data.rfind(b"\n") + 1]


def _end_of_torn_line(file: int) -> bytes:
    """Return what ends the last line of a file, if a killed write has not ended it."""
    size = os.fstat(file).st_size
    return b"" if size == 0 or os.pread(file, 1, size - 1) == b"\n" else b"\n"


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
