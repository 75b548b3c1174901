"""Models as the commands see them: a folder, what it holds, and where its data came from."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cofactor.files import Documents, InputError, open_source, read_documents
from cofactor.files.errors import at, printable
from cofactor.files.tables import label_column, numbers, text_column


@dataclass
class Opened:
    """A model and its manifest."""

    path: Path
    model: Any
    facts: dict[str, Any]

    @property
    def input(self) -> dict[str, Any]:
        """What `cofactor fit` noted of the table; empty for other models."""
        notes = self.facts.get("notes")
        found = notes.get("input") if isinstance(notes, dict) else None
        return found if isinstance(found, dict) else {}

    def origin(self) -> dict[str, Any]:
        """Return what identifies the model, for manifests of what was made with it."""
        return {
            "path": str(self.path),
            "digest": self.facts["digest"],
            "created": self.facts["created"],
        }


def open_model(path: Path) -> Opened:
    """Load the TopicModel in a folder."""
    from cofactor.persistence import ModelFormatError, load_model, read_facts

    try:
        facts = read_facts(path)
        model = load_model(path)
    except ModelFormatError as error:
        raise InputError(printable(str(error))) from error
    if facts["model"] != "TopicModel":
        raise InputError(
            f"{at(path)} holds a {facts['model']}, which knows no words; this command needs a "
            "TopicModel, as cofactor fit makes it."
        )
    return Opened(path, model, facts)


@dataclass
class Reading:
    """How a table was read."""

    documents: Documents
    y: Any
    facts: dict[str, Any]


def read_table(
    path: Path, text: str | None, label: str | None, unlabelled: tuple[str, ...] = (),
    task: str = "auto", **opening: Any,
) -> Reading:  # fmt: skip
    """Read documents and labels, and note how."""
    source = open_source(path, **opening)
    text, label = text_column(source, text), label_column(source, label)
    documents = read_documents(source, text, label, unlabelled)
    task = _task(task, documents)
    y: Any = documents.labels if task == "classes" else None
    y = numbers(source, documents, label) if task == "numbers" else y
    labelled = sum(map(bool, documents.labels or []))
    facts = {
        **source.facts(), "text": text, "label": label, "unlabelled": list(unlabelled),
        "opening": opening, "task": task, "rows": len(documents.texts), "labelled": labelled,
    }  # fmt: skip
    return Reading(documents, y, facts)


def _task(asked: str, documents: Documents) -> str:
    """Settle what is to be learnt from the labels."""
    labels = {label for label in documents.labels or [] if label}
    if not labels:
        if asked in ("classes", "numbers"):
            raise InputError(
                f"--task {asked} needs labels, but there are none; name their column with --label."
            )
        return "topics"
    if asked != "auto":
        return asked
    return "numbers" if _fractions(labels) else "classes"


def _fractions(labels: set[str]) -> bool:
    """Tell whether all labels are numbers and some are fractions."""
    try:
        return any(not float(label).is_integer() for label in labels)
    except (ValueError, OverflowError):
        return False


def relative(path: str | os.PathLike[str], folder: Path) -> str:
    """Return where a file is, seen from a folder, so that both may move together."""
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive
        return os.path.abspath(path)


def find_data(opened: Opened, given: Path | None) -> Path | None:
    """Return the table given, or the one that the model was fitted on if it is still there."""
    if given is not None:
        return given
    noted = opened.input.get("path")
    if not isinstance(noted, str):
        return None
    path = Path(os.path.normpath(opened.path / noted))
    return path if path.exists() else None


def how_to_open(opened: Opened, path: Path, opening: dict[str, Any]) -> dict[str, Any]:
    """Add what was noted on opening a table, if it is the one that the model was fitted on."""
    own = find_data(opened, None)
    same = own is not None and own.resolve() == path.resolve()
    return {**((same and opened.input.get("opening")) or {}), **opening}


def read_again(
    opened: Opened, path: Path, text: str | None, label: str | None, opening: dict[str, Any]
) -> Reading:
    """Read a table as the model's own was read, unless options say otherwise."""
    noted, opening = opened.input, how_to_open(opened, path, opening)
    return read_table(
        path, text or noted.get("text"), label or noted.get("label"),
        tuple(noted.get("unlabelled") or ()), noted.get("task", "auto"), **opening,
    )  # fmt: skip


@contextmanager
def refusals() -> Iterator[None]:
    """Turn what the library refuses into bad input."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise InputError(printable(str(error))) from error
