"""Choose genes, fit a model to cells, and find markers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse as sp

from cofactor._types import FloatArray, IntArray
from cofactor.estimators import NMF, SSNMFClassifier
from cofactor.estimators.base import blocks_of
from cofactor.io.errors import InputError
from cofactor.metrics import specificity
from cofactor.metrics.topics import top_places
from cofactor.outofcore import RowBlocks
from cofactor.sc.cells import CellMatrix, check_names, open_cells, read_labels
from cofactor.sc.genes import (
    MIN_CELLS_PER_GENE,
    GeneSums,
    masked_genes,
    usual_number,
    variable_genes,
)
from cofactor.sc.model import (
    CellModel,
    CellPredictions,
    Marker,
    answer_rows,
    checked,
    joined,
    warn_of_empty,
)

MIN_DEFAULT_TOPICS = 10
MARKERS_PER_GROUP = 25
SCANPY_COLUMN = "highly_variable"
"""The column of var in which scanpy marks variable genes."""


def fit(
    adata: Any,
    labels: str | None = None,
    *,
    layer: str | None = None,
    n_topics: int | None = None,
    unlabelled: str | Sequence[str] = (),
    mask_var: Any = None,
    n_top_genes: int | None = None,
    random_state: Any = 0,
    **parameters: Any,
) -> CellModel:
    """Fit topics to cells, guided by the labels of some; ``adata`` is not changed.

    The parameters are those of `ssnmf`.

    Returns
    -------
    CellModel
        A model that annotates other cells and can be saved.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> import cofactor
    >>> random = np.random.default_rng(0)
    >>> rates = np.where(np.arange(60).reshape(2, 30) % 31 < 5, 4.0, 0.5)[np.arange(80) % 2]
    >>> adata = AnnData(random.poisson(rates).astype("float32"))
    >>> adata.obs["kind"] = ["one", "other"] * 5 + [None] * 70
    >>> cofactor.sc.fit(adata, labels="kind", n_topics=2).classes
    ['one', 'other']
    """
    options = CellFitOptions(
        labels, layer, n_topics, unlabelled, mask_var, n_top_genes, random_state, parameters
    )
    with open_cells(adata, layer) as cells:
        return fit_opened(cells, options)[0]


@dataclass(frozen=True, eq=False)
class CellFitOptions:
    """Parameters of `ssnmf`.

    ``parameters`` are further parameters of the estimator.
    """

    labels: str | None
    layer: str | None
    n_topics: int | None
    unlabelled: str | Sequence[str]
    mask_var: Any
    n_top_genes: int | None
    random_state: Any
    parameters: dict[str, Any]

    def read_labels(self, obs: Any) -> np.ndarray | None:
        """Return the label of each cell; None if topics are found without labels."""
        return None if self.labels is None else read_labels(obs, self.labels, self.unlabelled)

    def number_of_topics(self, classes: int) -> int:
        if self.n_topics is None:
            return max(MIN_DEFAULT_TOPICS, classes)
        check_count("n_topics", self.n_topics)
        return int(self.n_topics)

    def noted(self) -> dict[str, Any]:
        """Return the values that are saved with the model, in plain types."""
        marked, seed = self.unlabelled, self.random_state
        return {
            "labels": self.labels,
            "layer": self.layer,
            "unlabelled": marked if isinstance(marked, str) else list(map(str, marked)),
            "random_state": int(seed) if isinstance(seed, Integral) else None,
        }


def fit_opened(cells: CellMatrix, options: CellFitOptions) -> tuple[CellModel, CellPredictions]:
    """Fit a model to opened cells; return it and its predictions for them."""
    y = options.read_labels(cells.obs)
    columns, how = choose_genes(cells, options.mask_var, options.n_top_genes)
    known = [] if y is None else [label for label in y if label is not None]
    number = options.number_of_topics(len(set(known)))
    estimator = _estimator(number, bool(known), options)
    with _training_rows(cells, columns, y) as rows:
        estimator.fit(rows, None if isinstance(rows, RowBlocks) else y)
        estimator.amend(representation=np.array(estimator.representation_))
        matrices = blocks_of(rows) if isinstance(rows, RowBlocks) else [rows]
        answers, markers = _describe(estimator, matrices, y, cells.genes[columns])
    facts = {
        **options.noted(),
        "genes": how,
        "n_topics": number,
        "cells": cells.shape[0],
        "labelled": len(known),
        "empty": int(answers.empty.sum()),
    }
    warn_of_empty(facts["empty"])
    return CellModel(estimator, cells.genes[columns], markers, facts), answers


def _estimator(number: int, labelled: bool, options: CellFitOptions) -> Any:
    """Return a classifier in which depth is a scale, or an NMF if nothing is labelled."""
    kind: Any = SSNMFClassifier if labelled else NMF
    for name, value in options.parameters.items():
        if name == "n_components":
            raise TypeError(f"n_components is called n_topics here; pass n_topics={value!r}.")
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
        raise InputError(f"{name} is {number!r}; pass a whole number of at least 1.")


def choose_genes(
    cells: CellMatrix,
    mask_var: Any = None,
    n_top_genes: int | None = None,
    each: Callable[[sp.csr_array], None] | None = None,
) -> tuple[IntArray, str]:
    """Check all counts; return the columns of the genes to fit, and how they were chosen.

    ``each`` is called with the rows of every chunk, so that a file is read only once.
    """
    if mask_var is not None and n_top_genes is not None:
        raise InputError("mask_var and n_top_genes both choose genes; pass one of them.")
    if n_top_genes is not None:
        check_count("n_top_genes", n_top_genes)
    check_names(cells.genes)
    if mask_var is None and n_top_genes is None and SCANPY_COLUMN in cells.var:
        mask_var = SCANPY_COLUMN
    masked = None if mask_var is None else masked_genes(mask_var, cells.var)
    sums = GeneSums.none(cells.shape[1])
    for rows in checked(cells):
        sums.add(rows)
        if each is not None:
            each(rows)
    if not sums.cells:
        raise InputError(f"{cells.place} has no counts at all.")
    if masked is not None:
        return masked, f"var[{mask_var!r}]" if isinstance(mask_var, str) else "mask_var"
    return _variable(cells, sums, n_top_genes)


def _variable(cells: CellMatrix, sums: GeneSums, n_top_genes: int | None) -> tuple[IntArray, str]:
    """Return the most variable genes, and how they were chosen."""
    n, m = cells.shape
    if (sums.seen < MIN_CELLS_PER_GENE).all():
        raise InputError(
            f"No gene has counts in at least {MIN_CELLS_PER_GENE} cells of {cells.place}, which "
            f"has {n:,}; pass more cells, or name genes with mask_var."
        )
    columns = variable_genes(sums, usual_number(m) if n_top_genes is None else n_top_genes)
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
    estimator: Any, matrices: Any, y: np.ndarray | None, genes: np.ndarray
) -> tuple[CellPredictions, dict[str, list[Marker]]]:
    """Return predictions for the fitted cells, and the markers of classes and topics."""
    parts, use, done = [], np.zeros(len(estimator.components_)), 0
    classes = [str(name) for name in getattr(estimator, "classes_", ())]
    of_classes = np.zeros((len(classes), len(genes)))
    for X in matrices:
        found = answer_rows(estimator, X)
        parts.append(found)
        totals = np.asarray(X.sum(axis=1)).ravel()
        use += totals @ found.shares
        if classes and y is not None:
            Q = _with_labels(found.probabilities, y[done : done + X.shape[0]], classes)
            of_classes += (X.T @ Q).T
        done += X.shape[0]
    A = np.asarray(estimator.components_, dtype=np.float64)
    of_topics = A / np.maximum(A.sum(axis=1, keepdims=True), 1e-300) * use[:, None]
    kinds = None
    if classes:
        kinds = estimator.topic_scores().argmax(axis=1).tolist()
    names = [str(k) for k in range(len(A))]
    return joined(parts), {
        "classes": _markers(specificity(of_classes), classes, genes) if classes else [],
        "topics": _markers(specificity(of_topics, kinds), names, genes),
    }


def _with_labels(P: FloatArray, y: np.ndarray, classes: list[str]) -> FloatArray:
    """Return the probabilities, with 0 and 1 for labelled cells."""
    place = {name: c for c, name in enumerate(classes)}
    Q = np.array(P)
    for i, label in enumerate(y):
        if label is not None:
            Q[i] = 0.0
            Q[i, place[label]] = 1.0
    return Q


def _markers(scores: FloatArray, groups: list[str], genes: np.ndarray) -> list[Marker]:
    return [
        Marker(group, rank, str(genes[j]), float(row[j]))
        for group, row in zip(groups, scores, strict=True)
        for rank, j in enumerate(top_places(row, MARKERS_PER_GROUP), start=1)
    ]
