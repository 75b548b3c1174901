"""The data and labels that `choose` fits repeatedly, and how it makes an estimator for them.

Estimators take a matrix. A `TopicModel` turns documents into a matrix once for all candidates, in
its method ``matrix_problem``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone

from cofactor._types import BoolArray, IntArray
from cofactor.divergences import Divergence
from cofactor.engine.factors import Factors
from cofactor.estimators import NMF, SSNMFRegressor
from cofactor.estimators.base import Factorization
from cofactor.estimators.validation import as_divergence, check_data
from cofactor.outofcore import RowBlocks
from cofactor.targets.reading import (
    NamedMatrix,
    as_frame,
    is_matrix,
    known_labels,
    native,
    read_cells,
    read_column,
    read_numbers,
    readable,
)


class UnfittedModel(Protocol):
    """An estimator with the labels and weights to pass to its fit."""

    @property
    def estimator(self) -> Any: ...
    @property
    def y(self) -> Any: ...
    @property
    def weights(self) -> dict[str, Any]: ...


class UnfittedEstimator(NamedTuple):
    """An estimator, its labels and no further weights."""

    estimator: Any
    y: Any
    weights: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Problem:
    """Data, labels, and how to make an estimator for some of their rows.

    Parameters
    ----------
    X : CSR matrix or array (n, m)
    y : array or None
        As `settled_labels` returns it; None without labels.
    known : array of bool (n,)
        Which rows are labelled.
    make : callable
        ``make(X, y, seed, vary, **parameters)`` returns an `UnfittedModel` for rows of X;
        ``vary`` asks for a different start, see `vary_start`.
    loss : Divergence
        Loss of the cells.
    random_state : int, RandomState or None
    n_jobs : int or None
        Number of threads.
    counts : CSC matrix, optional
        X again, if its columns are words, to compute the coherence of topics.
    numbers : bool
        Whether y holds numbers.
    min_topics : int
        Smallest number of topics that the model allows.
    """

    X: Any
    y: np.ndarray | None
    known: BoolArray
    make: Callable[..., UnfittedModel]
    loss: Divergence
    random_state: Any
    n_jobs: int | None
    counts: Any = None
    numbers: bool = False
    min_topics: int = 1


def settle_problem(subject: Any, data: Any, y: Any) -> Problem:
    """Return the problem of an estimator, or of an object with a method ``matrix_problem``."""
    if isinstance(getattr(subject, "init", None), Factors):
        raise ValueError(
            "init holds factors, which have one number of topics; to choose another number, pass "
            "the name of a start, such as init='auto'."
        )
    if isinstance(data, RowBlocks):
        raise TypeError(
            "RowBlocks hold more rows than choose can fit many times; pass a sample of them as an "
            "array: the sample of cofactor.RowBlocks.sample will do."
        )
    if hasattr(subject, "matrix_problem"):
        found: Problem = subject.matrix_problem(data, y)
        return found
    if not isinstance(subject, Factorization):
        raise TypeError(
            f"estimator is of type {type(subject).__name__}; pass an NMF, SSNMFClassifier, "
            "SSNMFRegressor or TopicModel."
        )
    return _estimator_problem(subject, data, y)


def _estimator_problem(estimator: Any, X: Any, y: Any) -> Problem:
    X = check_data(clone(estimator), X, reset=True)
    numbers = isinstance(estimator, SSNMFRegressor)
    labels, known = None, np.zeros(X.shape[0], dtype=bool)
    if y is not None and not isinstance(estimator, NMF):
        is_matrix(readable(y, "y"), X.shape[0])  # compares the numbers of rows
        labels, known = settled_labels(y, numbers=numbers)
    return Problem(
        X,
        labels,
        known,
        partial(_make, estimator, bool(known.any())),
        as_divergence("data_loss", estimator.data_loss),
        estimator.random_state,
        estimator.n_jobs,
        numbers=numbers,
    )


def _make(
    estimator: Any, labelled: bool, X: Any, y: Any, seed: int, vary: bool, **parameters: Any
) -> UnfittedEstimator:
    """Return a copy of the estimator with other parameters, for one thread."""
    copy = clone(estimator).set_params(n_jobs=1, random_state=seed, **parameters)
    if vary:
        copy = vary_start(copy, labelled)
    return UnfittedEstimator(copy, np.full(X.shape[0], None) if y is None else y, {})


def vary_start(estimator: Any, labelled: bool) -> Any:
    """Make an estimator start at random if it would start the same way for every seed.

    That is so with ``init="auto"`` and no labels. Fits from different starts get stuck at
    different numbers of topics.
    """
    if not labelled and isinstance(estimator.init, str) and estimator.init == "auto":
        estimator.set_params(init="random")
    return estimator


def settled_labels(y: Any, *, numbers: bool = False) -> tuple[np.ndarray, BoolArray]:
    """Return y in a form in which any part is read like the whole, and a mask of the labelled.

    Integers need this: a part that holds only -1 and 1 would be read as two classes.
    `cofactor.targets.missing` decides which samples are unlabelled.

    Parameters
    ----------
    y : as the estimators take it
    numbers : bool, default=False
        Whether y holds numbers; then -1 is a value.

    Returns
    -------
    tuple of ndarray
        Labels, with None or NaN where unknown, and a mask of the labelled samples.

    Examples
    --------
    >>> settled_labels([1, -1, 0])
    (array([1, None, 0], dtype=object), array([ True, False,  True]))
    """
    y = readable(y, "y")
    if numbers:
        values = read_numbers(y.toarray() if issparse(y) else y, "y")
        return values, _any_known(~np.isnan(values))
    if is_matrix(y):
        values, known = read_cells(y, "y")
        cells = np.array(values.toarray() if issparse(values) else values, dtype=np.float64)
        known = np.broadcast_to(known, cells.shape)
        cells[~known] = np.nan
        return cells, _any_known(known)
    labels, known = known_labels(read_column(y), None)
    settled = np.full(len(known), None, dtype=object)
    settled[known] = labels
    return settled, known


def _any_known(known: BoolArray) -> BoolArray:
    return np.asarray(known.reshape(len(known), -1).any(axis=1))


def take(data: Any, rows: IntArray) -> Any:
    """Return some rows of an array, a sparse matrix, a table, a column or a list."""
    if isinstance(data, np.ndarray):
        return data[rows]
    if isinstance(data, NamedMatrix):
        return NamedMatrix(data.values[rows], data.columns)
    if issparse(data):
        return data.tocsr()[rows]
    frame = as_frame(data)
    if frame is not None:
        return native(frame[rows.tolist()])
    return [data[row] for row in rows]
