"""Tables in several files: every file is a part, read where it is needed.

`read_parts` reads the parts here or on the workers of a cluster and settles their labels together;
`PartsReading.fit` fits a model to them. Both places run the same tasks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cofactor.cli import _tables as tables
from cofactor.cli._command import BadInput, needing_extra
from cofactor.cli._options import TableOptions
from cofactor.cli._terminal import note
from cofactor.io.errors import at
from cofactor.io.tables import Documents, InputError, Source, open_source
from cofactor.io.tables.file_parts import as_address, find_parts, opened_part
from cofactor.io.tables.labels import LabelCounts, each_document, without_labels

if TYPE_CHECKING:
    from cofactor.text.text_parts import CorpusParts, TextPart


@dataclass
class PartsReading:
    """The documents of a table in parts, and how it was read; the counterpart of `Reading`."""

    documents: CorpusParts  # each a TextPart
    names: list[str]  # of targets that are sets or numbers
    facts: dict[str, Any]
    counts: LabelCounts
    notes: list[str] = field(default_factory=list)
    places = ("path",)  # the facts that are paths

    def fit(self, model: Any, **how: Any) -> None:
        """Fit a model to the parts; ``how`` may have ``fit_with``, as in `TopicModel.fit`."""
        from cofactor.text.fitting import fit_here
        from cofactor.text.text_parts import fit_parts

        fit = how.get("fit_with") or fit_here
        model.set_fitted(fit_parts(model, self.documents, self.names, fit=fit))


@contextmanager
def on_cluster(address: str | None, checkpoint: Path | None = None) -> Iterator[Any]:
    """Yield the `TextCluster` at an address; None without an address."""
    if address is None:
        yield None
        return
    with needing_extra("--cluster", "dask"):
        from cofactor.distributed import ClusterError
        from cofactor.distributed.client import connected
        from cofactor.distributed.texts import TextCluster

    try:
        with connected(address) as client:
            cluster = TextCluster.of(client, checkpoint)
            if not cluster.watched.workers():
                start = f"dask worker {address}"
                note(f"The cluster at {address} has no worker yet; start one: {start}")
            yield cluster
    except ClusterError as error:
        raise BadInput(f"--cluster {address}: {error}") from error


def parts_on(cluster: Any, names: list[str]) -> CorpusParts:
    """Return the names of files as parts, here or on a cluster."""
    from cofactor.text.text_parts import LocalParts

    return LocalParts(names) if cluster is None else cluster.parts(names)


def read_parts(
    path: Path, asked: TableOptions, *, task: str = "auto", cluster: Any = None
) -> PartsReading:
    """Read the files of a pattern or an address, and decide about their labels.

    Parameters
    ----------
    path : Path
    asked : TableOptions
    task : str
        As the option of `cofactor fit`.
    cluster : TextCluster, optional
        Its workers read the files; by default this process.
    """
    names = find_parts(path)
    read = parts_on(cluster, names).map(read_part, asked)
    outlines = read.each(outline)
    asked = _with_columns(asked, outlines)

    def count(dropped: frozenset[str]) -> LabelCounts:
        found: LabelCounts = read.total(count_labels, dropped, LabelCounts.plus)
        if not found.documents:
            raise InputError(f"The files of {at(path)} have no rows; add documents to them.")
        return found

    settled = tables.settle_labels(asked, count, task)
    counts, dropped = settled.counts, frozenset([*settled.unlabelled, *settled.rare])
    made = TargetTask(settled.form, settled.asked.labels, counts, dropped)
    facts = {
        **_facts(path, outlines),
        **settled.asked.facts(),
        "labels_are": settled.form,
        "task": tables.TASKS[settled.form],
        "rows": counts.documents,
        "labelled": counts.labelled,
        "parts": len(names),
    }
    return PartsReading(read.map(text_part, made), made.names, facts, counts, settled.notes)


class Outline(NamedTuple):
    """How a part was read."""

    asked: TableOptions  # with its columns
    kind: str
    separator: str | None
    encodings: frozenset[str]
    met: frozenset[str]  # old names of labels that it has


def _with_columns(asked: TableOptions, outlines: list[Outline]) -> TableOptions:
    """Return the options with the columns of the parts, and the relabels that any of them met."""
    relabel = asked.relabel
    relabel.met |= {name for one in outlines for name in one.met}
    return replace(outlines[0].asked, relabel=relabel)


def _facts(path: Path, outlines: list[Outline]) -> dict[str, Any]:
    encodings = {name for one in outlines for name in one.encodings}
    return {
        "path": as_address(path) or os.path.abspath(path),
        "format": outlines[0].kind,
        "separator": outlines[0].separator,
        "encoding": " and ".join(sorted(encodings)) or None,
        "sha256": None,
    }


# ---- tasks: where a part is


class ReadPart(NamedTuple):
    """The documents of one file, and how they were read."""

    documents: Documents
    source: Source  # without its rows
    asked: TableOptions


def read_part(name: str, asked: TableOptions) -> ReadPart:
    """Read the documents of one file and their labels."""
    with opened_part(name) as file:
        source = open_source(file, **asked.opening)
        asked = tables.find_columns(source, asked)
        for column, parameter in tables.further_columns(asked).items():
            source.place(column, parameter)
        rows = list(each_document(source, asked.text or "", asked.label_columns()))
    documents = Documents(
        [row.text for row in rows], [row.labels for row in rows], [row.number for row in rows]
    )
    closed = replace(source, path=Path(name), rows=iter(()), digest=None)
    return ReadPart(documents, closed, asked)


def outline(part: ReadPart) -> Outline:
    """Return how a part was read."""
    source, asked = part.source, part.asked
    encodings = frozenset(source.encodings)
    return Outline(asked, source.kind, source.separator, encodings, frozenset(asked.relabel.met))


def count_labels(part: ReadPart, dropped: frozenset[str]) -> LabelCounts:
    """Count the labels of a part, without some of them."""
    several = bool(part.asked.label_separator)
    counts = LabelCounts.begin(len(part.asked.labels), several=several)
    for cells in part.documents.label_cells or []:
        counts.add(without_labels(cells, dropped))
    return counts


@dataclass(frozen=True)
class TargetTask:
    """How the labels of a part become targets."""

    form: str
    columns: tuple[str, ...]
    counts: LabelCounts  # of all parts
    dropped: frozenset[str]  # labels that mean "unlabelled"

    @property
    def names(self) -> list[str]:
        """All labels of sets, or the names of columns of numbers."""
        columns = self.columns if self.form in ("columns", "numbers") else ()
        return self.counts.labels if self.form == "sets" else [*columns]


def text_part(part: ReadPart, task: TargetTask) -> TextPart:
    """Return the texts of a part and their targets."""
    import numpy as np

    from cofactor.text.text_parts import TextPart

    cells = [without_labels(one, task.dropped) for one in part.documents.label_cells or []]
    documents = replace(part.documents, label_cells=cells)
    y = tables.targets_of(task.form, part.source, documents, task.columns, task.counts)
    if y is None:
        return TextPart(documents.texts)
    if task.form in ("numbers", "columns"):
        return TextPart(documents.texts, np.asarray(y, dtype=float))
    labels = np.empty(len(y), dtype=object)
    labels[:] = y
    return TextPart(documents.texts, labels)
