"""What `choose` fits again and again: data, labels, and a maker of estimators.

An estimator's data are a matrix already. A `TopicModel` turns documents into a matrix once, for all
candidates, in its method ``matrix_problem``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.base import clone

from cofactor._types import BoolArray
from cofactor.divergences import Divergence
from cofactor.engine.factors import Factors
from cofactor.estimators import NMF, SSNMFRegressor
from cofactor.estimators.base import Factorization
from cofactor.estimators.validation import as_divergence, check_data
from cofactor.model_selection.labels import settled_labels
from cofactor.outofcore import RowBlocks
from cofactor.targets.reading import is_matrix, readable


class Unfitted(Protocol):
    """An estimator with the labels and weights that its fit takes."""

    @property
    def estimator(self) -> Any: ...
    @property
    def y(self) -> Any: ...
    @property
    def weights(self) -> dict[str, Any]: ...


class PlainFit(NamedTuple):
    """An estimator, its labels and no further weights."""

    estimator: Any
    y: Any
    weights: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Problem:
    """Data, labels, and how an estimator for some of their rows is made.

    Parameters
    ----------
    X : CSR matrix or array (n, m)
    y : array or None
        As `settled_labels` returns it; None without labels.
    known : array of bool (n,)
        Which rows are labelled.
    make : callable
        ``make(X, y, seed, vary, **parameters)`` returns an unfitted estimator for rows of X; with
        ``vary`` it has another start, see `varied`.
    loss : Divergence
        Cost of the misfit of cells.
    random_state : int, RandomState or None
    n_jobs : int or None
        Number of threads.
    counts : CSC matrix, optional
        X again, if its columns are words: topics of words have a coherence.
    numbers : bool
        Whether y holds numbers.
    least : int
        The smallest number of topics that the model allows.
    """

    X: Any
    y: np.ndarray | None
    known: BoolArray
    make: Callable[..., Unfitted]
    loss: Divergence
    random_state: Any
    n_jobs: int | None
    counts: Any = None
    numbers: bool = False
    least: int = 1


def settle_problem(subject: Any, data: Any, y: Any) -> Problem:
    """Return the problem of an estimator, or of anything that has ``matrix_problem``."""
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
        is_matrix(readable(y, "y"), X.shape[0])  # which compares the numbers of rows
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
) -> PlainFit:
    """Return a copy of the estimator with other parameters, for one thread."""
    copy = clone(estimator).set_params(n_jobs=1, random_state=seed, **parameters)
    if vary:
        copy = varied(copy, labelled)
    return PlainFit(copy, np.full(X.shape[0], None) if y is None else y, {})


def varied(estimator: Any, labelled: bool) -> Any:
    """Return an estimator, which starts at random if its start would be the same for any seed.

    So it is with ``init="auto"`` where no labels start the fit. Fits from different starts get
    stuck at different numbers of topics.
    """
    if not labelled and isinstance(estimator.init, str) and estimator.init == "auto":
        estimator.set_params(init="random")
    return estimator
