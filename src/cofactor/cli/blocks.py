"""`cofactor blocks`: converts a table larger than memory to blocks that can be fitted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from cofactor.cli import _options as opt
from cofactor.cli import _tables as tables
from cofactor.cli._command import BadInput, Command, message_of, refusals
from cofactor.cli._models import relative
from cofactor.cli._terminal import announce, emit, note, note_each, note_next
from cofactor.io.errors import at
from cofactor.io.tables import Documents, InputError, Source, open_source
from cofactor.io.tables.dates import read_dates
from cofactor.io.tables.decoding import batches
from cofactor.io.tables.file_parts import names_parts, table_state
from cofactor.io.tables.label_advice import label_notes, suggest_topics
from cofactor.io.tables.labels import DocumentRow, LabelCounts, each_document

DOCUMENTS_PER_UPDATE = 4096
ShowProgress = Callable[[str], None]


@click.command(cls=Command)
@opt.table_argument
@opt.add(opt.READING)
@opt.folder_option("Folder for the blocks.")
@opt.option("--overwrite", "Replace the blocks in FOLDER.", is_flag=True)
@opt.add("task", opt.WORDS, "as_json")
def blocks(
    table: Path,
    asked: opt.TableOptions,
    output: Path,
    overwrite: bool,
    task: str,
    words: opt.WordOptions,
    as_json: bool,
) -> None:
    """Convert a table larger than memory to blocks that can be fitted.

    TABLE is any file or folder that `cofactor check` reads. It is read twice, in batches: first for
    its words, then for its rows. `cofactor fit FOLDER -k 12 -o model` fits the blocks without
    loading all of them at once.
    """
    _check_place(output, overwrite)
    vectorizer = words.vectorizer(
        keep_grammar=False
    )  # whether it helps cannot be tested with labels
    found = _TwoPassTable.open(table, asked)
    from cofactor.text.word_blocks import write_word_blocks

    with refusals():
        with announce("Reading the words") as progress:
            vectorizer.fit(found.texts(progress))
        tables.tell_language(vectorizer, vectorizer.languages_)
        form, notes = found.settle(task)
        further = label_notes(found.counts) if asked.labels else []
        note_each([*notes, *map(message_of, further)])
        with announce("Writing the blocks") as progress:
            rows = write_word_blocks(
                output,
                vectorizer,
                found.batches(form, progress),
                lambda: found.notes(form, output),
                overwrite=output.exists(),
            )
    facts = {
        "blocks": str(output),
        "input": rows.notes["facts"],
        "rows": rows.shape[0],
        "words": rows.shape[1],
        "cells": rows.nnz,
        "files": rows.n_blocks,
        "bytes": _size(output),
    }
    if as_json:
        emit(facts)
    else:
        size = f"{facts['files']:,} {'block' if facts['files'] == 1 else 'blocks'}"
        labelled = f"{found.labelled:,} labelled" if found.asked.labels else "no labels"
        note(
            f"{facts['rows']:,} documents, {labelled}, {facts['words']:,} words; "
            f"{size} of {facts['bytes'] / 1e6:,.1f} MB together in {output}."
        )
        topics = suggest_topics(rows.notes["facts"]["classes"], facts["rows"])
        note_next("fit", output, "-k", topics, "-o", "model")


def _check_place(output: Path, overwrite: bool) -> None:
    """Refuse an output folder that could not be written, before any work is done."""
    if output.is_file():
        raise BadInput(f"--output {output} is a file; name a folder for the blocks.")
    if not output.exists() or not any(output.iterdir()):
        return
    if not tables.holds_blocks(output):
        raise BadInput(
            f"--output {output} is a folder with other files and no blocks; name another folder."
        )
    if not overwrite:
        raise BadInput(
            f"--output {output} exists; name another folder, or replace it with --overwrite."
        )
    from cofactor.outofcore.folder_reader import check_only_blocks

    with refusals():
        check_only_blocks(output)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@dataclass
class _TwoPassTable:
    """A table that is read twice: first for its words and labels, then for its rows."""

    path: Path
    asked: opt.TableOptions
    counts: LabelCounts
    state: Any = None  # of the table in the first pass: a digest, or sizes and times of its files
    source: Source | None = None  # of the second pass
    labelled: int = 0  # number of documents that have a label in the second pass
    dates: dict[Any, int] = field(default_factory=dict)  # distinct dates and their first rows
    described: Documents = field(default_factory=lambda: Documents(label_cells=[]))

    @classmethod
    def open(cls, path: Path, asked: opt.TableOptions) -> _TwoPassTable:
        """Open a table and check that it has the columns."""
        if not (path.is_file() or path.is_dir() or names_parts(path)):
            raise InputError(
                f"{at(path)} is a pipe, but blocks are written in two passes; save the table to a "
                "file first."
            )
        source = tables.open_table(path, **asked.opening)
        asked = tables.find_columns(source, asked)
        for name, parameter in tables.further_columns(asked).items():
            source.place(name, parameter)
        counts = LabelCounts.begin(len(asked.labels), several=bool(asked.label_separator))
        return cls(path, asked, counts)

    def rows(self, source: Source) -> Iterator[DocumentRow]:
        """Yield the documents of a pass."""
        date = {self.asked.date: "date"} if self.asked.date else None
        return each_document(source, self.asked.text or "", self.asked.label_columns(), date)

    def settle(self, task: str) -> tuple[str, list[str]]:
        """Return the form of the labels, after the first pass, and sentences for the user."""
        if self.asked.date is not None:
            cells = ((row, cell) for cell, row in self.dates.items())
            dates = read_dates(self.path, self.asked.date, cells, self.asked.date_format)
            self.asked = replace(self.asked, date_format=dates.format)
        settled = tables.settle_labels(self.asked, self.counts.without, task)
        self.asked, self.counts = settled.asked, settled.counts
        return settled.form, settled.notes

    def texts(self, progress: ShowProgress) -> Iterator[str]:
        """Yield all texts and count the labels: the first pass."""
        before = table_state(self.path)
        source = open_source(self.path, **self.asked.opening)
        for row in self.rows(source):
            self.counts.add(row.labels)
            for cell in row.further:
                self.dates.setdefault(
                    str(cell) if isinstance(cell, list | dict) else cell, row.number
                )
            if self.counts.documents % DOCUMENTS_PER_UPDATE == 0:
                progress(f"{self.counts.documents:,} documents")
            yield row.text
        if not self.counts.documents:
            raise InputError(f"{at(self.path)} has a header but no rows; add documents below it.")
        self.state = source.facts()["sha256"] or before

    def batches(self, form: str, progress: ShowProgress) -> Iterator[tuple[list[str], Any]]:
        """Yield the texts and targets of each batch: the second pass."""
        from cofactor.text.word_blocks import described_rows

        total, done = self.counts.documents, 0
        described = frozenset(described_rows(total).tolist())
        source = open_source(self.path, **self.asked.opening)
        for batch in batches(self.rows(source), lambda row: len(row.text), DOCUMENTS_PER_UPDATE):
            numbers, texts, cells, _ = (list(part) for part in zip(*batch, strict=True))
            self.labelled += sum(map(any, cells))
            self._keep(batch, done, described)
            done += len(batch)
            progress(f"{done:,} of {total:,} documents")
            yield texts, self._targets(form, source, Documents(texts, cells, numbers))
        state = source.facts()["sha256"] or table_state(self.path)
        if (done, state) != (total, self.state):
            raise InputError(f"{at(self.path)} changed while it was read; try again.")
        self.source = source

    def notes(self, form: str, folder: Path) -> dict[str, Any]:
        """Return the notes to store with the blocks, after both passes."""
        from cofactor.text.documents import fingerprint

        assert self.source is not None
        columns = self.asked.labels
        kept = self.source, self.described, columns, self.counts
        y = tables.targets_of(form, *kept) if columns else None
        facts = {
            **self.source.facts(),
            **self.asked.facts(),
            "labels_are": form,
            "task": tables.TASKS[form],
            "path": relative(self.path, folder),
            "rows": self.counts.documents,
            "labelled": self.labelled,
            "classes": tables.count_classes(self.counts, form),
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
        from cofactor.targets.classes import read_targets
        from cofactor.targets.reading import NamedMatrix

        y = tables.targets_of(form, source, documents, self.asked.labels, self.counts)
        if form == "sets":  # an empty set more, so that a batch without labels is read as sets too
            y = read_targets([*y, frozenset()], self.counts.labels)
            return NamedMatrix(y.values[:-1], y.columns)
        return y
