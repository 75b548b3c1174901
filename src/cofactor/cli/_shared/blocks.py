"""Folders of blocks for commands: written in two passes over a table, opened and fitted."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cofactor.cli._shared.models import Opened, refusals, relative
from cofactor.cli._shared.tables import how_read, open_table
from cofactor.cli._shared.targets import targets_of
from cofactor.io.errors import at
from cofactor.io.tables import Documents, InputError, Source, open_source
from cofactor.io.tables.documents import each_document, label_columns, text_column
from cofactor.io.tables.labels import LabelColumns, LabelCounts
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
        """Fit a model to the blocks, one at a time; ``how`` goes to `fit_blocks`."""
        from sklearn.base import clone

        from cofactor.text.blocks import fit_blocks

        model.set_params(vectorizer=clone(self.blocks.vectorizer))
        fit_blocks(model, self.blocks, **how)


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
    text: str
    labels: LabelColumns
    opening: dict[str, Any]
    counts: LabelCounts
    digest: Any = None  # of the file in the first pass
    source: Source | None = None  # of the second pass
    described: Documents = field(default_factory=lambda: Documents(label_cells=[]))

    @classmethod
    def open(
        cls, path: Path, text: str | None, labels: LabelColumns, opening: dict[str, Any]
    ) -> TwoPassTable:  # fmt: skip
        """Open a table and check that it has the columns."""
        if not (path.is_file() or path.is_dir()):
            raise InputError(
                f"{at(path)} is a pipe, but blocks are written in two passes; save the table to a "
                "file first."
            )
        source = open_table(path, **opening)
        labels = replace(labels, columns=label_columns(source, labels.columns))
        counts = LabelCounts.begin(len(labels.columns), several=bool(labels.separator))
        return cls(path, text_column(source, text), labels, opening, counts)

    def texts(self, progress: Progress) -> Iterator[str]:
        """Yield all texts and count the labels: the first pass."""
        source = open_source(self.path, **self.opening)
        for _, body, cells in each_document(source, self.text, self.labels):
            self.counts.add(cells)
            if self.counts.documents % BATCH == 0:
                progress(f"{self.counts.documents:,} documents")
            yield body
        if not self.counts.documents:
            raise InputError(f"{at(self.path)} has a header but no rows; add documents below it.")
        self.digest = source.facts()["sha256"]

    def batches(self, form: str, progress: Progress) -> Iterator[tuple[list[str], Any]]:
        """Yield the texts and targets of each batch: the second pass."""
        from cofactor.text.blocks import described_rows

        total, done = self.counts.documents, 0
        described = frozenset(described_rows(total).tolist())
        source = open_source(self.path, **self.opening)
        rows = each_document(source, self.text, self.labels)
        for batch in batches(rows, lambda row: len(row[1]), BATCH):
            numbers, texts, cells = (list(part) for part in zip(*batch, strict=True))
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
        labels, columns = self.labels, self.labels.columns
        y = targets_of(form, self.source, self.described, columns) if columns else None
        facts = {
            **self.source.facts(),
            **how_read(self.text, columns, sorted(labels.unlabelled), labels.separator, form,
                       self.opening),
            "path": relative(self.path, folder), "rows": self.counts.documents,
            "labelled": self.counts.labelled,
        }  # fmt: skip
        names = {"sets": self.counts.labels, "columns": columns, "numbers": columns}
        return {
            "targets": list(names.get(form, ())),
            "fingerprint": fingerprint(self.described.texts, y),
            "facts": facts,
        }

    def _keep(self, batch: list[Any], done: int, described: frozenset[int]) -> None:
        """Keep the documents of a batch that a model will describe."""
        kept = self.described
        for place, (number, text, cells) in enumerate(batch, start=done):
            if place in described and kept.label_cells is not None:
                kept.texts.append(text)
                kept.label_cells.append(cells)
                kept.rows.append(number)

    def _targets(self, form: str, source: Source, documents: Documents) -> Any:
        from cofactor.targets.sets import NamedMatrix, read_targets

        y = targets_of(form, source, documents, self.labels.columns)
        if form == "sets":  # an empty set more, so that a batch without labels is read as sets too
            y = read_targets([*y, frozenset()], self.counts.labels)
            return NamedMatrix(y.values[:-1], y.columns)
        return y
