"""Folders of blocks as the commands see them: written in two passes over a table, and fitted."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cofactor.cli._shared.models import Opened, refusals, relative
from cofactor.cli._shared.readings import Seen, how_read, targets_of
from cofactor.io.errors import at
from cofactor.io.tables import Documents, InputError, Source, open_source
from cofactor.io.tables.documents import each_document, label_columns, text_column
from cofactor.io.tables.labels import Labels

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
    places = ("path", "blocks")  # facts that are paths

    def of_task(self, task: str) -> BlockReading:
        """Return it for a task, if the blocks can serve it."""
        noted = self.facts["task"]
        if task not in ("auto", "topics", noted):
            raise InputError(
                f"--task {task} was asked for, but the blocks hold {noted}; write them anew with "
                f"cofactor blocks --task {task}."
            )
        return replace(self, facts={**self.facts, "task": noted if task == "auto" else task})

    def fit(self, model: Any, **how: Any) -> None:
        """Fit a model to the blocks without loading them; ``how`` goes to `fit_blocks`."""
        from sklearn.base import clone

        from cofactor.text.blocks import fit_blocks

        model.set_params(vectorizer=clone(self.blocks.vectorizer))
        fit_blocks(model, self.blocks, **how)


def open_blocks(path: Path) -> BlockReading:
    """Open a folder that `cofactor blocks` wrote; paths are absolute."""
    from cofactor.text.blocks import open_word_blocks

    with refusals():
        blocks = open_word_blocks(path)
        table = os.path.abspath(path / str(blocks.facts["path"]))
        facts = {**blocks.facts, "path": table, "blocks": os.path.abspath(path)}
    return BlockReading(blocks, facts)


def find_blocks(opened: Opened) -> Path | None:
    """Return the blocks that a model was fitted on, if it was and they are still there."""
    noted = opened.input.get("blocks")
    if not isinstance(noted, str):
        return None
    path = Path(os.path.normpath(opened.path / noted))
    if not holds_blocks(path):
        raise InputError(
            f"The model was fitted over the blocks in {at(path)}, which are not there any more; "
            "write them again with cofactor blocks."
        )
    return path


@dataclass
class Table:
    """A table that is read twice: for its words and labels, then for its rows."""

    path: Path
    text: str
    labels: Labels
    opening: dict[str, Any]
    seen: Seen = field(default_factory=lambda: Seen([]))
    digest: Any = None
    source: Source | None = None  # of the second pass
    kept: Documents = field(default_factory=lambda: Documents(said=[]))

    @classmethod
    def open(
        cls, path: Path, text: str | None, labels: Labels, opening: dict[str, Any]
    ) -> Table:  # fmt: skip
        """Check that the columns are there."""
        if not (path.is_file() or path.is_dir()):
            raise InputError(
                f"{at(path)} is a pipe, and blocks are written in two passes; save it to a file "
                "first."
            )
        source = open_source(path, **opening)
        columns = label_columns(source, labels.columns)
        found = replace(labels, columns=columns)
        return cls(
            path, text_column(source, text), found, opening, Seen.of(Documents(), len(columns))
        )

    def texts(self, progress: Progress) -> Iterator[str]:
        """Yield all texts and look at the labels: the first pass."""
        source = open_source(self.path, **self.opening)
        for _, body, said in each_document(source, self.text, self.labels):
            self.seen.add(said)
            if self.seen.rows % BATCH == 0:
                progress(f"{self.seen.rows:,} documents")
            yield body
        if not self.seen.rows:
            raise InputError(f"{at(self.path)} has a header but no rows; add documents below it.")
        self.digest = source.facts()["sha256"]

    def batches(self, form: str, progress: Progress) -> Iterator[tuple[list[str], Any]]:
        """Yield texts and targets, batch by batch: the second pass."""
        from cofactor.text.blocks import described_rows

        described = frozenset(described_rows(self.seen.rows).tolist())
        source = open_source(self.path, **self.opening)
        rows, done = each_document(source, self.text, self.labels), 0
        while batch := list(islice(rows, BATCH)):
            numbers, texts, said = (list(part) for part in zip(*batch, strict=True))
            self._keep(batch, done, described)
            done += len(batch)
            progress(f"{done:,} of {self.seen.rows:,} documents")
            yield texts, self._targets(form, source, Documents(texts, said, numbers))
        if (done, source.facts()["sha256"]) != (self.seen.rows, self.digest):
            raise InputError(f"{at(self.path)} changed while it was read; try again.")
        self.source = source

    def notes(self, form: str, folder: Path) -> dict[str, Any]:
        """Return what to keep with the blocks, after both passes."""
        from cofactor.text.documents import fingerprint

        assert self.source is not None
        labels, columns = self.labels, self.labels.columns
        y = targets_of(form, self.source, self.kept, columns) if columns else None
        facts = {
            **self.source.facts(),
            **how_read(self.text, columns, sorted(labels.unlabelled), labels.separator, form,
                       self.opening),
            "path": relative(self.path, folder), "rows": self.seen.rows,
            "labelled": self.seen.labelled,
        }  # fmt: skip
        names = {"sets": self.seen.labels, "columns": columns, "numbers": columns}
        return {
            "targets": list(names.get(form, ())),
            "fingerprint": fingerprint(self.kept.texts, y),
            "facts": facts,
        }

    def _keep(self, batch: list[Any], done: int, described: frozenset[int]) -> None:
        """Keep the documents that a model will describe."""
        for place, (number, text, said) in enumerate(batch, start=done):
            if place in described and self.kept.said is not None:
                self.kept.texts.append(text)
                self.kept.said.append(said)
                self.kept.rows.append(number)

    def _targets(self, form: str, source: Source, documents: Documents) -> Any:
        import numpy as np

        from cofactor.targets.sets import read_targets

        y = targets_of(form, source, documents, self.labels.columns)
        if form == "sets":  # one more, so that a batch without labels is read as sets too
            y = np.asarray(read_targets([*y, frozenset()], self.seen.labels))[:-1]
        return None if y is None else np.asarray(y)
