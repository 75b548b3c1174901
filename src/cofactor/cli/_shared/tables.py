"""Reads tables for commands: documents, targets, and notes on how they were read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cofactor.cli._shared.table_options import TableOptions
from cofactor.cli._shared.targets import TASKS, settle_form, targets_of
from cofactor.cli._shared.terminal import note
from cofactor.io.errors import suggestion
from cofactor.io.tables import Documents, Source, open_source, read_documents
from cofactor.io.tables.dates import Dates, read_dates
from cofactor.io.tables.documents import as_text, label_columns, text_column
from cofactor.io.tables.label_advice import names
from cofactor.io.tables.labels import LabelCounts, without_labels


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
    counts: LabelCounts = field(default_factory=lambda: LabelCounts([]))  # of the labels that count
    ids: list[str] | None = None  # names of the documents
    dates: Dates | None = None
    kept: dict[str, list[Any]] = field(default_factory=dict)  # columns to carry along
    notes: list[str] = field(default_factory=list)  # sentences that the user should see
    places = ("path",)  # the facts that are paths

    @property
    def numbers(self) -> list[int | str]:
        """What documents are called in outputs: their names, or the numbers of their rows."""
        rows = self.documents.rows
        if self.ids is None:
            return [*rows]
        return [name or f"row {row}" for name, row in zip(self.ids, rows, strict=True)]

    def fit(self, model: Any, **how: Any) -> None:
        """Fit a model to the documents; ``how`` goes to `TopicModel.fit`."""
        model.fit(self.documents.texts, self.y, **how)

    def refit(self, model: Any, iterations: int | None) -> Any:
        """Return the model whose fit on the documents goes on from the topics of ``model``."""
        if model.task == "topics" and self.facts["task"] != "topics":  # labels are new to it
            model.set_params(task=self.facts["task"])
        return model.refit(self.documents.texts, self.y, iterations=iterations)

    @property
    def classes(self) -> list[Any]:
        """The class of each document, or its set of labels; None or "" if it is unlabelled."""
        if self.facts["task"] != "classes":
            return [None] * len(self.documents.texts)
        return self.y.sets() if self.facts["labels_are"] == "columns" else self.y


def read_table(
    path: Path,
    asked: TableOptions,
    *,
    task: str = "auto",
    truth: Sequence[str] = (),
    may_lack: bool = False,
    only: Collection[int] | None = None,
) -> Reading:
    """Read documents, labels and test labels in one pass.

    Parameters
    ----------
    path : Path
    asked : TableOptions
    task : str
        As the option of `cofactor fit`.
    truth : sequence of str
        Columns of labels to test with.
    may_lack : bool
        Leave out label columns that the table does not have; without test labels, the table may
        have no labels at all.
    only : collection of int, optional
        Indices of the rows to read; all rows by default.
    """
    source = open_table(path, **asked.opening)
    if only is not None:
        source.rows = (row for place, row in enumerate(source.rows) if place in only)
    asked = find_columns(source, asked, may_lack)
    for name in truth:
        source.place(name, "--truth")
    both = read_documents(
        source,
        asked.text or "",
        (*asked.labels, *truth),
        asked.unlabelled,
        asked.label_separator,
        relabel=asked.relabel,
        further=further_columns(asked),
    )
    documents, hidden = _split_labels(both, len(asked.labels))
    counts = _count(documents if asked.labels else hidden, len(asked.labels or truth), asked)
    unlabelled = may_lack and not truth and counts.form == "none"
    form = settle_form(counts, "none" if unlabelled else task)
    notes = list(unused_relabels(asked, counts))
    if rare := counts.rarer_than(asked.min_labels, form) if asked.labels else []:
        notes.append(left_out(rare, asked.min_labels))
        _drop(documents, frozenset(rare))
        asked = replace(asked, unlabelled=(*asked.unlabelled, *rare))
        counts = _count(documents, len(asked.labels), asked)
    facts = {
        **source.facts(),
        **asked.facts(),
        "labels_are": form,
        "task": TASKS[form],
        "rows": len(documents.texts),
        "labelled": sum(map(any, documents.label_cells or [])),
    }
    y, tested = (
        targets_of(form, source, one, columns) if columns else None
        for one, columns in ((documents, asked.labels), (hidden, truth))
    )
    found = Reading(documents, y, facts, tested, counts, notes=notes)
    _name_documents(found, source, asked)
    return found


def find_columns(source: Source, asked: TableOptions, may_lack: bool = False) -> TableOptions:
    """Return the options with the columns of a table; refuse those that it does not have."""
    labels: Sequence[str] = asked.labels
    if may_lack:
        labels = [name for name in labels if name in source.columns]
    text = text_column(source, asked.text)
    return replace(asked, text=text, labels=label_columns(source, labels, text))


def further_columns(asked: TableOptions) -> dict[str, str]:
    """Return the columns to read besides text and labels, each with the option that asks for it."""
    found = dict.fromkeys(asked.keep, "--keep")
    found |= {asked.date: "--date"} if asked.date else {}
    return found | ({asked.id: "--id"} if asked.id else {})


def _count(documents: Documents, columns: int, asked: TableOptions) -> LabelCounts:
    counts = LabelCounts.begin(columns, several=bool(asked.label_separator))
    for cells in documents.label_cells or []:
        counts.add(cells)
    return counts


def _drop(documents: Documents, labels: frozenset[str]) -> None:
    cells = documents.label_cells or []
    documents.label_cells = [without_labels(one, labels) for one in cells]


def unused_relabels(asked: TableOptions, counts: LabelCounts) -> Iterator[str]:
    """Say which old names of --relabel no label has: they are misspelt, or not there."""
    if lost := asked.relabel.unmet:
        close = f" {suggestion(lost[0], counts.labels)}" if len(lost) == 1 else ""
        yield f"--relabel renames {names(lost)}, but no label has such a name.{close}"


def left_out(rare: list[str], fewest: int) -> str:
    """Say which classes --min-labels leaves out."""
    return (
        f"{names(rare)} {'has' if len(rare) == 1 else 'have'} fewer than {fewest} labels; their "
        "documents count as unlabelled."
    )


def _name_documents(found: Reading, source: Source, asked: TableOptions) -> None:
    """Set names, dates and kept columns of the documents, and say what is odd about them."""
    rows, further = found.documents.rows, found.documents.further
    found.kept = {name: further[name] for name in asked.keep}
    if asked.id is not None:
        pairs = zip(rows, further[asked.id], strict=True)
        found.ids = [as_text(source, row, asked.id, cell) for row, cell in pairs]
        found.notes += on_ids(asked.id, found.ids)
    if asked.date is not None:
        cells = zip(rows, further[asked.date], strict=True)
        found.dates = read_dates(source.path, asked.date, cells, asked.date_format)
        found.facts["date_format"] = found.dates.format
        found.facts["dates"] = found.dates.facts()
        found.notes += on_dates(asked.date, found.dates)


class GatheredColumns:
    """Cells of the columns --id and --date, gathered while a table is surveyed."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.cells: list[list[Any]] = []

    def add(self, row: int, cells: list[Any]) -> None:
        """Keep the further cells of a row."""
        self.rows.append(row)
        self.cells.append(cells)

    def reading(self, source: Source, asked: TableOptions) -> Reading:
        """Return names, dates and sentences about them, as `read_table` does."""
        names = further_columns(asked)
        columns = zip(*self.cells, strict=True) if names else ()
        further = dict(zip(names, map(list, columns), strict=False))
        found = Reading(Documents(rows=self.rows, further=further), None, {})
        _name_documents(found, source, asked)
        return found


def on_ids(column: str, ids: Sequence[str]) -> Iterator[str]:
    """Say which names of documents are empty or repeated."""
    counts = Counter(ids)
    if empty := counts.pop("", 0):
        yield f"{empty:,} cells of --id {column!r} are empty; rows tell those documents apart."
    if twice := [name for name, count in counts.items() if count > 1]:
        yield f"--id {column!r} does not tell all documents apart: {names(twice)} occur repeatedly."


def on_dates(column: str, dates: Dates) -> Iterator[str]:
    """Say how many documents have no date."""
    if missing := len(dates.values) - len(dates.known):
        yield f"{missing:,} of {len(dates.values):,} cells of --date {column!r} are empty."


def open_table(path: Path, **opening: Any) -> Source:
    """Open a table, and tell the user what was left out of it."""
    source = open_source(path, **opening)
    for sentence in source.notes:
        note(f"Note: {sentence}")
    return source


def _split_labels(both: Documents, columns: int) -> tuple[Documents, Documents]:
    """Return the documents with the first label columns only, and with the others only."""
    cells = both.label_cells or []
    parts = [one[:columns] for one in cells], [one[columns:] for one in cells]
    first, second = (replace(both, label_cells=part) for part in parts)
    return (first if columns else replace(both, label_cells=None)), second
