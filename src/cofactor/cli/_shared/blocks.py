"""Folders of blocks for commands: written in two passes over a table, opened and fitted."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cofactor.cli._shared.models import Opened, refusals, relative
from cofactor.cli._shared.table_options import TableOptions
from cofactor.cli._shared.tables import find_columns, further_columns, left_out, open_table
from cofactor.cli._shared.tables import unused_relabels as unused
from cofactor.cli._shared.targets import TASKS, settle_form, targets_of
from cofactor.io.errors import at
from cofactor.io.tables import Documents, InputError, Source, open_source
from cofactor.io.tables.dates import read_dates
from cofactor.io.tables.documents import DocumentRow, each_document
from cofactor.io.tables.labels import LabelCounts
from cofactor.io.tables.limits import batches

if TYPE_CHECKING:
    from cofactor.text.blocks import WordBlocks

BATCH = 4096
Progress = Callable[[str], None]


def holds_blocks(path: Path) -> bool:
    """Tell whether a path is a folder of blocks."""
    return path.is_dir() and (path / "blocks.json").is_file()


@dataclass
class BlockReading:
    """Blocks, and how their table was read; the counterpart of `Reading`."""

    blocks: WordBlocks
    facts: dict[str, Any]
    places = ("path", "blocks")  # the facts that are paths

    def for_task(self, task: str) -> BlockReading:
        """Return a copy for a task; refuse a task that the blocks have no targets for."""
        noted = self.facts["task"]
        if task not in ("auto", "topics", noted):
            raise InputError(
                f"--task {task} does not match the blocks, which hold {noted}; write them again "
                f"with cofactor blocks --task {task}."
            )
        return replace(self, facts={**self.facts, "task": noted if task == "auto" else task})

    def fit(self, model: Any, **how: Any) -> None:
        """Fit a model to the blocks, one at a time; ``how`` goes to `TopicModel.fit`."""
        from sklearn.base import clone

        model.set_params(vectorizer=clone(self.blocks.vectorizer))
        model.fit(self.blocks, **how)


def open_blocks(path: Path) -> BlockReading:
    """Open a folder that `cofactor blocks` wrote; paths in the facts become absolute."""
    from cofactor.text.blocks import open_word_blocks

    with refusals():
        blocks = open_word_blocks(path)
        table = os.path.abspath(path / str(blocks.facts["path"]))
        facts = {**blocks.facts, "path": table, "blocks": os.path.abspath(path)}
    return BlockReading(blocks, facts)


def find_blocks(opened: Opened) -> Path | None:
    """Return the blocks that a model was fitted on; None if it was fitted on a table."""
    noted = opened.input.get("blocks")
    if not isinstance(noted, str):
        return None
    path = Path(os.path.normpath(opened.path / noted))
    if not holds_blocks(path):
        raise InputError(
            f"The model was fitted on the blocks in {at(path)}, which do not exist any more; "
            "write them again with cofactor blocks."
        )
    return path


@dataclass
class TwoPassTable:
    """A table that is read twice: first for its words and labels, then for its rows."""

    path: Path
    asked: TableOptions
    counts: LabelCounts
    digest: Any = None  # of the file in the first pass
    source: Source | None = None  # of the second pass
    labelled: int = 0  # number of documents that have a label in the second pass
    dates: dict[Any, int] = field(default_factory=dict)  # distinct dates and their first rows
    described: Documents = field(default_factory=lambda: Documents(label_cells=[]))

    @classmethod
    def open(cls, path: Path, asked: TableOptions) -> TwoPassTable:
        """Open a table and check that it has the columns."""
        if not (path.is_file() or path.is_dir()):
            raise InputError(
                f"{at(path)} is a pipe, but blocks are written in two passes; save the table to a "
                "file first."
            )
        source = open_table(path, **asked.opening)
        asked = find_columns(source, asked)
        for name, option in further_columns(asked).items():
            source.place(name, option)
        counts = LabelCounts.begin(len(asked.labels), several=bool(asked.label_separator))
        return cls(path, asked, counts)

    def rows(self, source: Source) -> Iterator[DocumentRow]:
        """Yield the documents of a pass."""
        date = {self.asked.date: "--date"} if self.asked.date else None
        return each_document(source, self.asked.text or "", self.asked.label_columns(), date)

    def settle(self, task: str) -> tuple[str, list[str]]:
        """Return the form of the labels, after the first pass, and sentences for the user."""
        if self.asked.date is not None:
            cells = ((row, cell) for cell, row in self.dates.items())
            dates = read_dates(self.path, self.asked.date, cells, self.asked.date_format)
            self.asked = replace(self.asked, date_format=dates.format)
        form = settle_form(self.counts, task)
        notes = list(unused(self.asked, self.counts))
        rare = self.counts.rarer_than(self.asked.min_labels, form) if self.asked.labels else []
        if rare:
            notes.append(left_out(rare, self.asked.min_labels))
            self.asked = replace(self.asked, unlabelled=(*self.asked.unlabelled, *rare))
            for column in self.counts.columns:
                for name in rare:
                    column.pop(name, None)
        return form, notes

    def texts(self, progress: Progress) -> Iterator[str]:
        """Yield all texts and count the labels: the first pass."""
        source = open_source(self.path, **self.asked.opening)
        for row in self.rows(source):
            self.counts.add(row.labels)
            for cell in row.further:
                self.dates.setdefault(
                    str(cell) if isinstance(cell, list | dict) else cell, row.number
                )
            if self.counts.documents % BATCH == 0:
                progress(f"{self.counts.documents:,} documents")
            yield row.text
        if not self.counts.documents:
            raise InputError(f"{at(self.path)} has a header but no rows; add documents below it.")
        self.digest = source.facts()["sha256"]

    def batches(self, form: str, progress: Progress) -> Iterator[tuple[list[str], Any]]:
        """Yield the texts and targets of each batch: the second pass."""
        from cofactor.text.blocks import described_rows

        total, done = self.counts.documents, 0
        described = frozenset(described_rows(total).tolist())
        source = open_source(self.path, **self.asked.opening)
        for batch in batches(self.rows(source), lambda row: len(row.text), BATCH):
            numbers, texts, cells, _ = (list(part) for part in zip(*batch, strict=True))
            self.labelled += sum(map(any, cells))
            self._keep(batch, done, described)
            done += len(batch)
            progress(f"{done:,} of {total:,} documents")
            yield texts, self._targets(form, source, Documents(texts, cells, numbers))
        if (done, source.facts()["sha256"]) != (total, self.digest):
            raise InputError(f"{at(self.path)} changed while it was read; try again.")
        self.source = source

    def notes(self, form: str, folder: Path) -> dict[str, Any]:
        """Return the notes to store with the blocks, after both passes."""
        from cofactor.text.documents import fingerprint

        assert self.source is not None
        columns = self.asked.labels
        y = targets_of(form, self.source, self.described, columns) if columns else None
        facts = {
            **self.source.facts(),
            **self.asked.facts(),
            "labels_are": form,
            "task": TASKS[form],
            "path": relative(self.path, folder),
            "rows": self.counts.documents,
            "labelled": self.labelled,
        }
        names = {"sets": self.counts.labels, "columns": columns, "numbers": columns}
        return {
            "targets": list(names.get(form, ())),
            "fingerprint": fingerprint(self.described.texts, y),
            "facts": facts,
        }

    def _keep(self, batch: list[Any], done: int, described: frozenset[int]) -> None:
        """Keep the documents of a batch that a model will describe."""
        kept = self.described
        for place, row in enumerate(batch, start=done):
            if place in described and kept.label_cells is not None:
                kept.texts.append(row.text)
                kept.label_cells.append(row.labels)
                kept.rows.append(row.number)

    def _targets(self, form: str, source: Source, documents: Documents) -> Any:
        from cofactor.targets.reading import NamedMatrix
        from cofactor.targets.sets import read_targets

        y = targets_of(form, source, documents, self.asked.labels)
        if form == "sets":  # an empty set more, so that a batch without labels is read as sets too
            y = read_targets([*y, frozenset()], self.counts.labels)
            return NamedMatrix(y.values[:-1], y.columns)
        return y
