"""The decision log, and what its decisions amount to: labels of documents, classes, flags.

The log is a file of JSON lines that only grows. A decision is on the disk before `DecisionLog.add`
returns, so a killed process loses at most the decision in flight. Several processes may share a
log: a file lock orders their lines, and each reads what the others wrote. An undo is a line too; it
names the line that it undoes. Unreadable lines (a write that was killed half-way, damage) are
skipped and counted; the next decision starts on a new line, so nothing is ever removed. If lines
that were read are no longer in the file, reading and writing fail until they are restored.

`Reviewed` applies the decisions in order, without the undone ones; the last one about a document
wins. Nothing here comes from a model: predictions never become labels by themselves.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from cofactor.app.classes import NamedClasses
from cofactor.io import atomic, platform
from cofactor.io.errors import InputError, at
from cofactor.io.json_text import to_json

MAX_LINE_BYTES = 1 << 20
SHOWN = "show"
"""Kind of the lines that say which tab shows which document; they decide nothing."""


class LogLostError(InputError):
    """The log lacks lines that this process has read."""


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
        self.lines: list[bytes] = []  # as they were read, unreadable ones too
        self._read_to = 0

    def add(self, kind: str, by: str, **content: Any) -> list[Decision]:
        """Write a decision to the disk.

        Returns
        -------
        list of Decision
            What was not read yet, in order: lines of other processes, then this decision.
        """
        line = encode_line(kind, by, **content)
        with self.locked() as file:
            return [*self.read_on(file), *self.append(file, line)]

    def append(self, file: int, line: bytes, *, durable: bool = True) -> list[Decision]:
        """Write a line to the locked file; ``durable`` waits until it is on the disk."""
        before = os.fstat(file).st_size
        try:
            with atomic.telling_of_full_disks(self.path, len(line)):
                write_all(file, _end_of_torn_line(file, before) + line)
                if durable:
                    os.fsync(file)
        except OSError:
            os.ftruncate(file, before)  # a line that was not acknowledged must not be read later
            raise
        if before == 0:
            platform.HERE.flush(self.path.parent)
        return self.read_on(file)

    def read(self) -> list[Decision]:
        """Return the decisions added since the last call of this method or of `add`."""
        try:
            file = _open_plain(self.path, os.O_RDONLY)
        except FileNotFoundError:
            if not self._read_to:
                return []
            raise self._lost("was deleted") from None
        try:
            return self.read_on(file)
        finally:
            os.close(file)

    @contextmanager
    def locked(self, *, may_lack: bool = False) -> Iterator[int]:
        """Open the file for writing; other processes wait until the block ends.

        Unless it ``may_lack`` lines that were read, a file that was deleted is not made anew.
        """
        while True:
            if self._read_to and not may_lack and not self.path.exists():
                raise self._lost("was deleted")
            file = _open_plain(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            try:
                with platform.HERE.locked(file):
                    if _is_at(file, self.path):  # otherwise `restore` of another process was faster
                        yield file
                        return
            finally:
                os.close(file)

    def read_on(self, file: int) -> list[Decision]:
        """Return the decisions that were not read yet."""
        size = os.fstat(file).st_size
        if size < self._read_to:
            raise self._lost("became shorter")
        last = self.lines[-1] + b"\n" if self.lines else b""
        if platform.read_between(file, self._read_to - len(last), self._read_to) != last:
            raise self._lost("was replaced")
        whole = _read_whole_lines(file, self._read_to, size)
        self._read_to += len(whole)
        found = [self._decision(line) for line in whole.split(b"\n")[:-1]]
        return [one for one in found if one is not None]

    def restore(self, lines: Sequence[bytes]) -> None:
        """Put lines that the file lacks in front of those that it has; forget what was read.

        The file may have further lines by now, which keep their meaning. The whole is written
        beside the file and takes its place: a failure leaves the file, and what was read, as is.
        """
        with ExitStack() as lock:
            file = lock.enter_context(self.locked(may_lack=True))
            present = _read_whole_lines(file, 0, os.fstat(file).st_size).split(b"\n")[:-1]
            pairs = zip(lines, present, strict=False)
            same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            if same < len(lines):
                moved = [_moved(line, same, len(lines) - same) for line in present[same:]]
                with atomic.place_of(self.path.resolve()) as new:  # a link stays one
                    new.write_bytes(join_lines([*lines, *moved]))
                    if not platform.HERE.replaces_open_files:
                        lock.close()  # whoever adds a line now will miss it, and restore it
        self.lines, self._read_to, self.unreadable = [], 0, 0

    def _lost(self, what: str) -> LogLostError:
        return LogLostError(
            f"{at(self.path)} {what} while it was in use. The {len(self.lines):,} lines that were "
            "in it are still in memory; write them back before you stop the app."
        )

    def _decision(self, line: bytes) -> Decision | None:
        decision = read_line(line, len(self.lines))
        self.lines.append(line)
        self.unreadable += decision is None
        return decision


def encode_line(kind: str, by: str, **content: Any) -> bytes:
    """Return a decision as a line."""
    item = {"kind": kind, "by": by, "at": datetime.now(UTC).isoformat(), **content}
    line = to_json(item).encode() + b"\n"
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(
            f"The decision takes {len(line):,} bytes; the limit is {MAX_LINE_BYTES:,}."
        )
    return line


def join_lines(lines: Iterable[bytes]) -> bytes:
    """Return the content of a file that has these lines."""
    return b"".join(line + b"\n" for line in lines)


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


def _moved(line: bytes, first: int, by: int) -> bytes:
    """Return a line of a log whose lines from ``first`` on have moved."""
    decision = read_line(line, 0)
    number = None if decision is None else decision.content.get("undoes")
    if not isinstance(number, int) or number < first:
        return line
    return to_json({**json.loads(line), "undoes": number + by}).encode()


def write_all(file: int, data: bytes) -> None:
    """Write all bytes; one call of the system may write fewer."""
    while data:
        data = data[os.write(file, data) :]


def _open_plain(path: Path, flags: int) -> int:
    """Open a file; reject a pipe, which would block, and other things that are no files."""
    file = os.open(path, flags | platform.BINARY | platform.UNBLOCKED, 0o600)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise InputError(f"{at(path)} is not a regular file; move it away.")
    return file


def _is_at(file: int, path: Path) -> bool:
    """Return whether an open file is still the one at a path."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


def _read_whole_lines(file: int, start: int, end: int) -> bytes:
    data = platform.read_between(file, start, end)
    return data[: data.rfind(b"\n") + 1]


def _end_of_torn_line(file: int, size: int) -> bytes:
    """Return a newline if a killed write left the last line of the file incomplete."""
    return b"" if size == 0 or platform.read_between(file, size - 1, size) == b"\n" else b"\n"


def log_path(folder: Path) -> Path:
    """Return the file of the decisions about a model folder; "." has a name, too."""
    folder = folder if folder.name not in ("", "..") else Path(os.path.abspath(folder))
    return folder.with_name(f"{folder.name}.decisions.jsonl")


def copy_path(folder: Path) -> Path:
    """Return the copy of the log that is saved with the model."""
    return folder / "decisions.jsonl"


# ---- what the decisions amount to


@dataclass(frozen=True)
class Review:
    """One decision about one document."""

    decision: Decision
    document: str  # its key
    labels: tuple[str, ...] | None
    """Identities of classes. None if it was skipped; empty if none of the classes fits."""
    predicted: tuple[str | None, ...] | None = None
    """Identities of the classes that were predicted before."""

    @property
    def who(self) -> str:
        """The person who decided; "" if the app was started without a name."""
        return str(self.decision.content.get("who", ""))

    @property
    def reason(self) -> str | None:
        """Why the document was shown."""
        return self.decision.content.get("reason")


class Shown(NamedTuple):
    """A document in a tab."""

    document: str  # its key
    since: datetime
    reason: str  # why it was chosen
    line: int  # number of the line that says so


@dataclass
class Reviewed:
    """The state after some decisions; start empty and `apply` them.

    Parameters
    ----------
    table_classes : sequence of str
        Classes of the table; decisions add, rename, merge and delete classes.
    """

    table_classes: Sequence[str] = ()
    decisions: list[Decision] = field(default_factory=list)
    undone: set[int] = field(default_factory=set)
    shown: dict[str, Shown] = field(default_factory=dict)
    """What each tab shows."""

    def __post_init__(self) -> None:
        self.classes = NamedClasses(self.table_classes)
        self.history: list[Review] = []
        self.reviews: dict[str, Review] = {}  # the last one of each document
        self.flags: set[str] = set()
        self.notes: dict[str, str] = {}  # on documents, by key
        self.opinions: dict[str, dict[str, Review]] = {}  # the last label by each person
        self.seen_by: set[tuple[str, str]] = set()  # documents, and who labelled or skipped them
        self.looked_at: set[tuple[str, str | None]] = set()  # documents, and for which reason

    def apply(self, decisions: Iterable[Decision]) -> None:
        """Apply further decisions."""
        new = [one for one in decisions if not self._note_shown(one)]
        self.decisions += new
        undone = {number for one in new if (number := _undone_line(one)) is not None}
        if undone - self.undone:
            self.undone |= undone
            again = Reviewed(self.table_classes)
            again.apply(self.counted())
            again.decisions, again.undone, again.shown = self.decisions, self.undone, self.shown
            vars(self).update(vars(again))  # at once, because other threads read without a lock
            return
        for decision in new:
            if decision.number not in self.undone:
                self._apply(decision)

    def counted(self) -> list[Decision]:
        """Return the decisions in force, in order, without undo lines."""
        return [d for d in self.decisions if d.kind != "undo" and d.number not in self.undone]

    def labels_of(self, key: str) -> tuple[str, ...] | None:
        """Return the names of a document's labels; None if it was skipped or never seen."""
        review = self.reviews.get(key)
        if review is None or review.labels is None:
            return None
        return self.classes.shown(review.labels)

    def current_name(self, name: str) -> str:
        """Return the current name of a class of the table."""
        return next(iter(self.classes.shown([name])), name)

    def is_on_screen(self, tab: str) -> bool:
        """Tell whether a tab has not yet decided about the document that it shows."""
        shown = self.shown[tab]
        later = takewhile(lambda one: one.decision.number > shown.line, reversed(self.history))
        return not any(one.document == shown.document and one.decision.by == tab for one in later)

    def _note_shown(self, decision: Decision) -> bool:
        if decision.kind != SHOWN:
            return False
        document, when = decision.content.get("document"), decision.at
        try:
            since = datetime.fromisoformat(when)
        except ValueError:
            return True
        self.shown.pop(decision.by, None)
        reason = decision.content.get("reason")
        if isinstance(document, str) and isinstance(reason, str) and since.tzinfo is not None:
            since = min(since, datetime.now(UTC))  # the clock of another machine may be ahead
            self.shown[decision.by] = Shown(document, since, reason, decision.number)
        return True

    def _apply(self, decision: Decision) -> None:
        """Apply a decision; ignore other kinds, and lines that lack a field."""
        content, classes = decision.content, self.classes
        match decision.kind, content:
            case "label", {"labels": [*labels]} if all(isinstance(one, str) for one in labels):
                self._label(decision, labels)
            case "skip", _:
                for document in _documents(content):
                    self._review(Review(decision, document, None))
            case "flag", {"document": str(document)}:
                (self.flags.add if content.get("on") else self.flags.discard)(document)
            case "note", {"document": str(document), "text": str(text)}:
                self.notes.pop(document, None)
                self.notes.update({document: text} if text else {})
            case "class", {"name": str(name)}:
                classes.add(name, decision.number)
            case "rename class", {"old": str(old), "new": str(new)}:
                classes.rename(_class_of(content, classes, old), new)
            case "delete class", {"name": str(name)}:
                classes.delete(_class_of(content, classes, name))
            case "describe class", {"name": str(name), "text": str(text)}:
                classes.describe(_class_of(content, classes, name), text)

    def _label(self, decision: Decision, labels: list[str]) -> None:
        content = decision.content
        if not (documents := _documents(content)):
            return
        ids = self.classes.read(labels, _ids(content, "ids", labels), decision.number)
        predicted, guess = None, content.get("prediction")
        if guess is not None:
            names = [str(name) for name in (guess if isinstance(guess, list) else [guess])]
            predicted = self.classes.read_known(names, _ids(content, "predicted", names))
        for document in documents:
            self._review(Review(decision, document, ids, predicted))
        if isinstance(old := content.get("replaces"), str):
            self.reviews.pop(old, None)

    def _review(self, review: Review) -> None:
        self.history.append(review)
        self.reviews[review.document] = review
        self.looked_at.add((review.document, review.reason))
        self.seen_by.add((review.document, review.who))
        if review.labels is not None:
            self.opinions.setdefault(review.document, {})[review.who] = review


def _documents(content: dict[str, Any]) -> list[str]:
    """Return the keys of the documents that a line is about; none if it is damaged."""
    found = content.get("documents", [content.get("document")])
    whole = isinstance(found, list) and all(isinstance(one, str) for one in found)
    return found if whole else []


def _undone_line(decision: Decision) -> int | None:
    number = decision.content.get("undoes") if decision.kind == "undo" else None
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def _class_of(content: dict[str, Any], classes: NamedClasses, name: str) -> str | None:
    (given,) = _ids(content, "id", [name])
    return classes.resolve(given) or classes.find(name)


def _ids(content: dict[str, Any], field_name: str, names: Sequence[str]) -> Sequence[str | None]:
    """Return the identities in a line, one for each name; None in lines of earlier versions."""
    found = content.get(field_name)
    found = [found] if isinstance(found, str) else found
    if isinstance(found, list) and len(found) == len(names):
        return [one if isinstance(one, str) else None for one in found]
    return [None] * len(names)
