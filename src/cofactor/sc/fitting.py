"""Choose genes, fit a model to cells, and find markers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse as sp

from cofactor._types import FloatArray, IntArray
from cofactor._warnings import warn
from cofactor.errors import Parameter, ParameterError
from cofactor.estimators import NMF, SSNMFClassifier
from cofactor.estimators.base import blocks_of
from cofactor.estimators.inference import topic_means
from cofactor.io.errors import InputError
from cofactor.linear.familiar import UNLIKE_LEVEL
from cofactor.outofcore import RowBlocks
from cofactor.sc.cells import (
    CellMatrix,
    cell_digest,
    check_column,
    check_names,
    open_cells,
    read_labels,
)
from cofactor.sc.genes import (
    MIN_CELLS_PER_GENE,
    SCANPY_COLUMN,
    GeneSums,
    batch_codes,
    is_number,
    named_genes,
    usual_number,
    variable_genes,
)
from cofactor.sc.markers import Marker, TypeSums, topic_markers, type_markers
from cofactor.sc.model import (
    CellModel,
    CellPredictions,
    answer_rows,
    checked,
    joined,
    warn_of_empty,
)
from cofactor.text.describe.summaries import topic_counts

MIN_DEFAULT_TOPICS = 10
OTHER_NAMES = {
    "label": "labels",
    "n_components": "n_topics",
    "mask_var": "genes",
    "n_top_genes": "genes",
}
"""Names that parameters have elsewhere, and the names that they have here."""


def fit(
    adata: Any,
    labels: str | None = None,
    *,
    layer: str | None = None,
    n_topics: int | None = None,
    unlabelled: str | Sequence[str] = (),
    genes: Any = None,
    batch_key: str | None = None,
    random_state: Any = 0,
    callbacks: Sequence[Any] = (),
    **parameters: Any,
) -> CellModel:
    """Fit topics to cells, guided by the labels of some; ``adata`` is not changed.

    The parameters are those of `ssnmf`; ``callbacks`` of `cofactor.callbacks` watch the fit.

    Returns
    -------
    CellModel
        A model that annotates other cells and can be saved.

    Examples
    --------
    >>> import cofactor
    >>> from cofactor.datasets import make_cells
    >>> adata = make_cells()
    >>> cofactor.sc.fit(adata, labels="cell_type", n_topics=3).classes
    ['B cell', 'T cell', 'monocyte']
    """
    options = CellFitOptions(
        labels, layer, n_topics, unlabelled, genes, batch_key, random_state, parameters
    )
    with open_cells(adata, layer) as cells:
        return fit_opened(cells, options, callbacks)[0]


@dataclass(frozen=True, eq=False)
class CellFitOptions:
    """Parameters of `ssnmf`.

    ``parameters`` are further parameters of the estimator.
    """

    labels: str | None
    layer: str | None
    n_topics: int | None
    unlabelled: str | Sequence[str]
    genes: Any
    batch_key: str | None
    random_state: Any
    parameters: dict[str, Any]

    def __post_init__(self) -> None:
        if self.labels is not None:
            check_column("labels", self.labels)

    def read_labels(self, obs: Any) -> np.ndarray | None:
        """Return the label of each cell; None if topics are found without labels."""
        return None if self.labels is None else read_labels(obs, self.labels, self.unlabelled)

    def number_of_topics(self, classes: int, genes: int) -> int:
        if self.n_topics is None:
            return max(MIN_DEFAULT_TOPICS, classes)
        check_count("n_topics", self.n_topics)
        if self.n_topics > genes:
            asks = Parameter("n_topics", self.n_topics), f" is more than the {genes:,} fitted genes"
            raise ParameterError(asks, "pass a smaller number")
        return int(self.n_topics)

    def noted(self) -> dict[str, Any]:
        """Return the values that are saved with the model, in plain types."""
        marked, seed = self.unlabelled, self.random_state
        return {
            "labels": self.labels,
            "layer": self.layer,
            "batch_key": self.batch_key,
            "unlabelled": marked if isinstance(marked, str) else list(map(str, marked)),
            "random_state": int(seed) if isinstance(seed, Integral) else None,
        }


def fit_opened(
    cells: CellMatrix, options: CellFitOptions, callbacks: Sequence[Any] = ()
) -> tuple[CellModel, CellPredictions]:
    """Fit a model to opened cells; return it and its predictions for them."""
    y = options.read_labels(cells.obs)
    columns, how = choose_genes(cells, options.genes, options.batch_key)
    known = [] if y is None else [label for label in y if label is not None]
    classes = sorted(set(known))
    number = options.number_of_topics(len(classes), len(columns))
    estimator = _estimator(number, bool(known), options).set_callbacks(*callbacks)
    with _training_rows(cells, columns, y) as rows:
        estimator.fit(rows, None if isinstance(rows, RowBlocks) else y).set_callbacks()
        estimator.amend(representation=np.array(estimator.representation_))
        matrices = blocks_of(rows) if isinstance(rows, RowBlocks) else [rows]
        totals, answers, of_topics = _describe(estimator, matrices, cells.genes[columns])
    markers = {**_type_markers(cells, classes, y, answers), "topics": of_topics}
    facts = {
        **options.noted(),
        "genes": how,
        "n_topics": number,
        "cells": cells.shape[0],
        "labelled": len(known),
        "empty": int(answers.empty.sum()),
        "topics": _topic_facts(answers, y, classes),
        "fingerprint": cell_digest(cells.obs.index, totals),
    }
    warn_of_empty(facts["empty"])
    if len(classes) == 1:
        warn(f"All labels are {classes[0]!r}, so every cell gets this one; label other types, too.")
    return CellModel(estimator, cells.genes[columns], markers, facts), answers


def _estimator(number: int, labelled: bool, options: CellFitOptions) -> Any:
    """Return a classifier in which depth is a scale, or an NMF if nothing is labelled."""
    kind: Any = SSNMFClassifier if labelled else NMF
    for name, value in options.parameters.items():
        if own := OTHER_NAMES.get(name):
            raise TypeError(f"{name} is called {own} here; pass {own}={value!r}.")
        if name not in kind().get_params():
            reason = (
                "is not a parameter" if labelled else "is not a parameter of a fit without labels"
            )
            raise TypeError(f"{name} {reason}; leave it out. See {kind.__name__} for those it has.")
    usual = {"exposure": "total"} if labelled else {}
    return kind(number, random_state=options.random_state, **usual | options.parameters)


def check_count(name: str, number: Any) -> None:
    """Reject anything but a positive whole number."""
    if not isinstance(number, Integral) or number < 1:
        reason = Parameter(name, number), " is not a number of them"
        raise ParameterError(reason, "pass a whole number of at least 1")


def choose_genes(
    cells: CellMatrix,
    genes: Any = None,
    batch_key: str | None = None,
    each: Callable[[sp.csr_array], None] | None = None,
) -> tuple[IntArray, str]:
    """Check all counts; return the columns of the genes to fit, and how they were chosen.

    ``genes`` and ``batch_key`` are those of `ssnmf`. ``each`` is called with the rows of every
    chunk, so that a file is read only once.
    """
    if is_number(genes):
        check_count("genes", genes)
    check_names(cells.genes)
    if genes is None and batch_key is None and SCANPY_COLUMN in cells.var:
        genes = SCANPY_COLUMN
    named = None if genes is None or is_number(genes) else named_genes(genes, cells.var)
    sums = _gene_sums(cells, batch_codes(cells.obs, batch_key), each)
    if not sums:
        raise InputError(f"{cells.place} has no counts at all.")
    if named is not None:
        return named, f"var[{genes!r}]" if isinstance(genes, str) else f"{len(named):,} named ones"
    return _variable(cells, sums, genes)


def _gene_sums(
    cells: CellMatrix, batches: IntArray, each: Callable[[sp.csr_array], None] | None
) -> list[GeneSums]:
    """Check the counts of all cells; return the sums of each batch that has some."""
    sums = [GeneSums.none(cells.shape[1]) for _ in range(int(batches.max(initial=0)) + 1)]
    done = 0
    for rows in checked(cells):
        own = batches[done : done + rows.shape[0]]
        for batch in np.unique(own):
            sums[batch].add(rows if len(sums) == 1 else sp.csr_array(rows[own == batch]))
        done += rows.shape[0]
        if each is not None:
            each(rows)
    return [one for one in sums if one.cells]


def _variable(cells: CellMatrix, sums: list[GeneSums], number: int | None) -> tuple[IntArray, str]:
    """Return the most variable genes, and how they were chosen."""
    n, m = cells.shape
    columns = variable_genes(sums, usual_number(m) if number is None else int(number))
    if not len(columns):
        raise InputError(
            f"No gene has counts in at least {MIN_CELLS_PER_GENE} cells of {cells.place}, which "
            f"has {n:,}; pass more cells, or name the genes."
        )
    return columns, f"the {len(columns):,} most variable of {m:,}"


@contextmanager
def _training_rows(cells: CellMatrix, columns: IntArray, y: np.ndarray | None) -> Iterator[Any]:
    """Yield the rows to fit: a matrix in memory, or blocks in a temporary folder."""
    parts = cells.chunks(columns)
    if not cells.on_disk:
        yield sp.csr_array(sp.vstack([rows for _, rows in parts], format="csr"))
        return
    batches = (rows if y is None else (rows, y[some]) for some, rows in parts)
    # A block that is still mapped cannot be removed on Windows; the system's own cleaning takes it.
    where = tempfile.TemporaryDirectory(prefix="cofactor-cells-", ignore_cleanup_errors=True)
    with where as folder:
        yield RowBlocks.write(Path(folder) / "blocks", batches)


def _describe(
    estimator: Any, matrices: Any, genes: np.ndarray
) -> tuple[FloatArray, CellPredictions, list[Marker]]:
    """Return totals of and predictions for the fitted cells, and the markers of topics."""
    pairs = [(np.asarray(X.sum(axis=1)).ravel(), answer_rows(estimator, X)) for X in matrices]
    use = np.sum([totals @ found.shares for totals, found in pairs], axis=0)
    totals, parts = np.concatenate([own for own, _ in pairs]), [found for _, found in pairs]
    labelled = hasattr(estimator, "classes_")
    kinds = estimator.topic_scores().argmax(axis=1).tolist() if labelled else None
    return totals, joined(parts), topic_markers(estimator.components_, use, kinds, genes)


def _topic_facts(
    answers: CellPredictions, y: np.ndarray | None, classes: list[str]
) -> dict[str, Any]:
    """Return mean shares of topics, and the labels behind them, as lists."""
    labels = np.full(len(answers.shares), None) if y is None else y
    cells = labels[:, None] == np.array(classes, dtype=object)
    found = topic_counts(answers.shares, cells.any(axis=1), cells)
    mean = answers.shares[~answers.empty].mean(axis=0) if not answers.empty.all() else 0.0
    shares = np.broadcast_to(mean, answers.shares.shape[1])
    if classes:
        found["links"] = topic_means(answers.probabilities, answers.shares)
    return {"shares": shares.tolist()} | {name: own.tolist() for name, own in found.items()}


def _type_markers(
    cells: CellMatrix, classes: list[str], y: np.ndarray | None, answers: CellPredictions
) -> dict[str, list[Marker]]:
    """Return the markers of types among all genes, in a further pass over the cells."""
    if y is None or not classes:
        return {"classes": [], "nearest": []}
    types = _types(answers, y, classes)
    sums = (TypeSums.of(rows, types[some], len(classes)) for some, rows in cells.chunks())
    return type_markers(reduce(TypeSums.plus, sums), classes, cells.genes)


def _types(answers: CellPredictions, y: np.ndarray, classes: list[str]) -> IntArray:
    """Return the type of each cell, known or predicted; −1 if it may be of another type."""
    place = {name: c for c, name in enumerate(classes)}
    doubtful = answers.empty | (answers.unlike >= UNLIKE_LEVEL)
    types = np.where(doubtful, -1, answers.probabilities.argmax(axis=1))
    known = np.flatnonzero([label is not None for label in y])
    types[known] = [place[label] for label in y[known]]
    return types
