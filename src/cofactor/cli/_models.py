"""Models as the commands see them: a folder, what it holds, and where its data came from."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cofactor.files import Documents, InputError, Source, open_source, read_documents
from cofactor.files.errors import at, printable
from cofactor.files.labels import as_labels, label_form, plain, switch, together
from cofactor.files.tables import label_columns, numbers, text_column


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


def answered(document: Any) -> tuple[Any, float | None]:
    """Return prediction and confidence of a document, if the model knows a word of it.

    Without one the model can only name what it would say of an empty page.
    """
    return (document.prediction, document.confidence) if document.topic >= 0 else (None, None)


@dataclass
class Reading:
    """How a table was read."""

    documents: Documents
    y: Any
    facts: dict[str, Any]
    truth: Any = None  # labels that test the model

    @property
    def classes(self) -> list[Any]:
        """The class of each document, or its set of labels; None or "" where unknown."""
        if self.facts["task"] != "classes":
            return [None] * len(self.documents.texts)
        return self.y.sets() if self.facts["labels_are"] == "columns" else self.y


def read_table(
    path: Path, text: str | None, labels: Sequence[str], *, unlabelled: Sequence[str] = (),
    label_separator: str | None = None, task: str = "auto", truth: Sequence[str] = (),
    may_lack: bool = False, **opening: Any,
) -> Reading:  # fmt: skip
    """Read documents and labels, and those to test with, in one pass; note how.

    With ``may_lack`` columns of labels that are not there are left out.
    """
    source = open_source(path, **opening)
    if may_lack:
        labels = [name for name in labels if name in source.columns]
    text, labels = text_column(source, text), label_columns(source, labels)
    for name in truth:
        source.place(name, "--truth")
    both = read_documents(source, text, (*labels, *truth), unlabelled, label_separator)
    documents, hidden = _apart(both, len(labels))
    form = _form(documents if labels else hidden, len(labels or truth), bool(label_separator), task)
    facts = {
        **source.facts(), "text": text, "label": plain(labels), "unlabelled": list(unlabelled),
        "label_separator": label_separator, "labels_are": form, "opening": opening,
        "task": _TASKS[form], "rows": len(documents.texts),
        "labelled": sum(map(any, documents.said or [])),
    }  # fmt: skip
    y, tested = (
        _targets(form, source, one, names) if names else None
        for one, names in ((documents, labels), (hidden, truth))
    )
    return Reading(documents, y, facts, tested)


def _apart(both: Documents, columns: int) -> tuple[Documents, Documents]:
    """Divide the columns of labels: the first ones, and the others."""
    said = both.said or []
    parts = [one[:columns] for one in said], [one[columns:] for one in said]
    first, second = (Documents(both.texts, part, both.rows) for part in parts)
    return (first if columns else Documents(both.texts, None, both.rows)), second


_TASKS = {"none": "topics", "numbers": "numbers"} | dict.fromkeys(
    ("classes", "sets", "columns"), "classes"
)


def _form(documents: Documents, columns: int, separated: bool, asked: str) -> str:
    """Settle what is to be learnt from the labels; ``asked`` is a task, or a form of before."""
    counts = [Counter(_labels(documents, place)) for place in range(columns)]
    several = any(len(cell) > 1 for said in documents.said or [] for cell in said)
    form = label_form(counts, separated or several)
    if form == "none" and asked in ("classes", "numbers"):
        raise InputError(
            f"--task {asked} needs labels, but there are none; name their column with --label."
        )
    if asked in ("topics", "none") or form == "none":
        return "none"
    if asked in ("numbers", "sets", "columns"):
        return asked
    if form == "numbers" and asked == "classes":
        form = "classes" if columns == 1 else "sets"
    # One label is no choice: a set of it would be a matrix of one column.
    return "classes" if form == "sets" and len(set().union(*counts)) < 2 else form


def _labels(documents: Documents, place: int) -> Iterator[str]:
    return (label for said in documents.said or [] for label in said[place])


def _targets(form: str, source: Source, documents: Documents, labels: Sequence[str]) -> Any:
    """Return the labels as `TopicModel.fit` takes them."""
    said = documents.said or []
    if form == "none":
        return None
    if form == "classes":
        return [next(iter(together(one) or ("",))) for one in said]
    if form == "sets":
        return [together(one) for one in said]
    if form == "numbers" and len(labels) == 1:
        return numbers(source, documents, labels[0])
    return _matrix(form, source, documents, labels)


def _matrix(form: str, source: Source, documents: Documents, labels: Sequence[str]) -> Any:
    import numpy as np

    from cofactor.text.labels import Named

    if form == "columns":
        return Named(np.array([list(map(switch, one)) for one in documents.said or []]), [*labels])
    columns = [numbers(source, documents, name, place) for place, name in enumerate(labels)]
    return Named(np.column_stack(columns), [*labels])


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
    noted = opened.input.get("opening") if _is_own(opened, path) else None
    return {**(noted or {}), **opening}


def _is_own(opened: Opened, path: Path) -> bool:
    """Tell whether a table is the one that the model was fitted on."""
    own = find_data(opened, None)
    return own is not None and own.resolve() == path.resolve()


def read_again(
    opened: Opened, path: Path, text: str | None, labels: Sequence[str], opening: dict[str, Any],
    label_separator: str | None = None, truth: Sequence[str] = (),
) -> Reading:  # fmt: skip
    """Read a table as the model's own was read, unless options say otherwise."""
    noted, opening = opened.input, how_to_open(opened, path, opening)
    return read_table(
        path, text or noted.get("text"), labels or _noted_labels(opened, path, truth),
        may_lack=bool(truth) and not labels,
        unlabelled=tuple(noted.get("unlabelled") or ()), truth=truth,
        task=noted.get("labels_are") or noted.get("task", "auto"),
        label_separator=label_separator or noted.get("label_separator"), **opening,
    )  # fmt: skip


def _noted_labels(opened: Opened, path: Path, truth: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of the labels of the fit; a table to test with need not have them."""
    names = as_labels(opened.input.get("label")).columns
    if not set(names) & set(truth):
        return names
    if _is_own(opened, path):
        raise InputError(
            f"--truth {plain(truth)!r} is what the model was fitted on; leave --truth out, or name "
            "a column with labels that the fit has not seen."
        )
    return ()


@contextmanager
def refusals() -> Iterator[None]:
    """Turn what the library refuses into bad input."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise InputError(printable(str(error))) from error
