"""Reads tables for commands: documents, targets, and notes on how they were read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cofactor.cli._shared.targets import TASKS, settle_form, targets_of
from cofactor.cli._shared.terminal import note
from cofactor.io.tables import Documents, Source, open_source, read_documents
from cofactor.io.tables.documents import label_columns, text_column
from cofactor.io.tables.labels import LabelCounts, as_noted


@dataclass
class Reading:
    """The documents of a table, and how it was read.

    Parameters
    ----------
    documents : Documents
    y : object
        Targets, as `TopicModel.fit` takes them.
    facts : dict
        How the table was read, for a manifest.
    truth : object, optional
        Labels to test the model with, which the fit does not see.
    """

    documents: Documents
    y: Any
    facts: dict[str, Any]
    truth: Any = None
    places = ("path",)  # the facts that are paths

    def fit(self, model: Any, **how: Any) -> None:
        """Fit a model to the documents; ``how`` goes to `cofactor.text.fitting.fit_documents`."""
        from cofactor.text.fitting import fit_documents

        fit_documents(model, self.documents.texts, self.y, **how)

    @property
    def classes(self) -> list[Any]:
        """The class of each document, or its set of labels; None or "" if it is unlabelled."""
        if self.facts["task"] != "classes":
            return [None] * len(self.documents.texts)
        return self.y.sets() if self.facts["labels_are"] == "columns" else self.y


def read_table(
    path: Path, text: str | None, labels: Sequence[str], *, unlabelled: Sequence[str] = (),
    label_separator: str | None = None, task: str = "auto", truth: Sequence[str] = (),
    may_lack: bool = False, only: Collection[int] | None = None, **opening: Any,
) -> Reading:  # fmt: skip
    """Read documents, labels and test labels in one pass.

    Parameters
    ----------
    path, text, labels, unlabelled, label_separator, task : as the options of `cofactor fit`
    truth : sequence of str
        Columns of labels to test with.
    may_lack : bool
        Leave out label columns that the table does not have.
    only : collection of int, optional
        Indices of the rows to read; all rows by default.
    **opening : as the parameters of `open_source`
    """
    source = open_table(path, **opening)
    if only is not None:
        source.rows = (row for place, row in enumerate(source.rows) if place in only)
    if may_lack:
        labels = [name for name in labels if name in source.columns]
    text, labels = text_column(source, text), label_columns(source, labels)
    for name in truth:
        source.place(name, "--truth")
    both = read_documents(source, text, (*labels, *truth), unlabelled, label_separator)
    documents, hidden = _split_labels(both, len(labels))
    counts = LabelCounts.begin(len(labels or truth), several=bool(label_separator))
    for cells in (documents if labels else hidden).label_cells or []:
        counts.add(cells)
    form = settle_form(counts, task)
    facts = {
        **source.facts(),
        **how_read(text, labels, unlabelled, label_separator, form, opening),
        "rows": len(documents.texts), "labelled": sum(map(any, documents.label_cells or [])),
    }  # fmt: skip
    y, tested = (
        targets_of(form, source, one, names) if names else None
        for one, names in ((documents, labels), (hidden, truth))
    )
    return Reading(documents, y, facts, tested)


def open_table(path: Path, **opening: Any) -> Source:
    """Open a table, and tell the user what was left out of it."""
    source = open_source(path, **opening)
    for sentence in source.notes:
        note(f"Note: {sentence}")
    return source


def how_read(
    text: str, labels: Sequence[str], unlabelled: Sequence[str], label_separator: str | None,
    form: str, opening: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """Return how a table was read, for a manifest."""
    return {
        "text": text, "label": as_noted(labels), "unlabelled": list(unlabelled),
        "label_separator": label_separator, "labels_are": form, "opening": opening,
        "task": TASKS[form],
    }  # fmt: skip


def _split_labels(both: Documents, columns: int) -> tuple[Documents, Documents]:
    """Return the documents with the first label columns only, and with the others only."""
    cells = both.label_cells or []
    parts = [one[:columns] for one in cells], [one[columns:] for one in cells]
    first, second = (Documents(both.texts, part, both.rows) for part in parts)
    return (first if columns else Documents(both.texts, None, both.rows)), second
