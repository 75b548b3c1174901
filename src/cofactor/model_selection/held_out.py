"""How well a fit predicts cells and labels of held-out rows.

Cells.  The columns are split into two halves.  A held-out row is represented from its cells in one
half, which then predicts its cells in the other half; then the halves swap.  So every cell of a
held-out row is predicted once, zeros included.  (Hiding single cells of training rows would need a
weight for every zero of a sparse matrix.)  Topics contain exact zeros, where a divergence may be
infinite; so predictions are mixed with the mean row, with the share of it that predicts best.

Labels.  The cost of a label is its negative log-likelihood.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.divergences import FLOOR, Divergence
from cofactor.estimators.cell_prediction import products

PROFILE_SHARES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Shares of the mean row to try; with 1 the topics do not matter."""
MIN_PREDICTION = 1e-100
"""Replaces a prediction of zero, where a divergence may be infinite."""
TRUSTED_SHARE = 0.5
"""A topic is scaled down if less than this share of it is seen, relative to all columns."""
PSEUDO_CELL = 0.5
"""Added to the sum of each column, in units of the smallest positive cell, so that no column is
expected to be zero."""


def deal_columns(X: Any, random: np.random.RandomState, parts: int = 2) -> IntArray:
    """Assign columns to parts at random; columns with similar sums go to different parts."""
    m = X.shape[1]
    order = np.argsort(-_column_sums(X), kind="stable")
    rounds = random.random_sample((-(-m // parts), parts)).argsort(axis=1)
    dealt = np.empty(m, dtype=np.int64)
    dealt[order] = rounds.ravel()[:m]
    return dealt


def _column_sums(X: Any) -> FloatArray:
    """Return the sum of each column, ignoring missing cells."""
    cells = sp.csr_array(X)
    sums = np.bincount(cells.indices, np.nan_to_num(cells.data), minlength=cells.shape[1])
    return np.asarray(sums, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class HiddenCells:
    """Cells of held-out rows, to be predicted from the other half of the columns.

    Parameters
    ----------
    X : CSR matrix or array
        The held-out rows that are not empty in the seen half.
    rows : array
        Their numbers among the held-out rows.
    seen : array of bool (m,)
        Columns that rows are represented from; the others are hidden.
    cells : CSR matrix
        The hidden columns; NaN is missing, unstored cells are 0.
    usual, size : arrays
        The mean row in the hidden columns, and the size of each row relative to it.
    loss : Divergence
    """

    X: Any
    rows: IntArray
    seen: BoolArray
    cells: sp.csr_array
    usual: FloatArray
    size: FloatArray
    loss: Divergence

    @classmethod
    def of(cls, train: Any, test: Any, seen: BoolArray, loss: Divergence) -> HiddenCells:
        """Hide the columns of the test rows that are not ``seen``."""
        stored = sp.csr_array(_without_zeros(test) if loss.positive else test)
        visible = stored[:, seen]
        profile = _profile(train)
        mass = np.nan_to_num(visible.data)
        mass = np.bincount(_row_numbers(visible), mass, minlength=visible.shape[0])
        rows = np.flatnonzero(mass > 0)
        usual_mass = profile[seen].sum() - _missing(visible) @ profile[seen]
        size = mass[rows] / usual_mass[rows]
        hidden = sp.csr_array(stored[rows][:, ~seen])
        return cls(test[rows], rows, seen, hidden, profile[~seen], size, loss)

    def usual_costs(self) -> FloatArray:
        """Return the cost of each row's hidden cells if the mean row predicts them."""
        none = np.zeros((len(self.rows), 1)), np.zeros((1, len(self.usual)))
        return self._mixed_costs(*none, (1.0,))[0]

    def costs(self, estimator: Any) -> FloatArray:
        """Return the cost of each row's hidden cells."""
        weights = self.seen[None, :].astype(np.float64)
        S = np.asarray(estimator.transform(self.X, data_weights=weights), dtype=np.float64)
        A = np.asarray(estimator.components_, dtype=np.float64)
        S = S * self._trust(A)
        return min(self._mixed_costs(S, A[:, ~self.seen], PROFILE_SHARES), key=np.sum)

    def _trust(self, A: FloatArray) -> FloatArray:
        """Return a factor for each topic, below 1 if it is mostly hidden.

        Representing a row by the small visible part of such a topic would magnify noise.
        """
        share = A[:, self.seen].sum(axis=1) / np.maximum(A.sum(axis=1), MIN_PREDICTION)
        return np.minimum(1.0, share / (TRUSTED_SHARE * self.seen.mean()))

    def _mixed_costs(
        self, S: FloatArray, A: FloatArray, shares: Sequence[float]
    ) -> list[FloatArray]:
        """Return the costs of the rows for each share of the mean row.

        The cost of a zero, up·p + ½ square·p², is summed over all columns in closed form; then
        stored cells are corrected.
        """
        loss, i, j = self.loss, _row_numbers(self.cells), self.cells.indices
        own, usual = products(S, A.T, i, j), self.size[i] * self.usual[j]
        A = np.vstack([A, self.usual])
        linear, square = A.sum(axis=1), A @ A.T if loss.square else np.zeros((len(A), len(A)))
        tried = []
        for share in shares:
            V = np.column_stack([(1.0 - share) * S, share * self.size])
            zeros = loss.up * (V @ linear) + 0.5 * loss.square * ((V @ square) * V).sum(axis=1)
            stored = self._correction((1.0 - share) * own + share * usual)
            tried.append(zeros + np.bincount(i, stored, minlength=len(S)))
        return tried

    def _correction(self, p: FloatArray) -> FloatArray:
        """Return how much more stored cells cost than zeros with the same predictions."""
        loss, x, p = self.loss, self.cells.data, np.maximum(p, MIN_PREDICTION)
        known = ~np.isnan(x)
        costs = np.where(known, loss.value(np.where(known, x, 1.0), p), 0.0)
        return np.asarray(costs - loss.up * p - 0.5 * loss.square * p * p)


def _row_numbers(cells: sp.csr_array) -> IntArray:
    return np.repeat(np.arange(cells.shape[0]), np.diff(cells.indptr))


def _without_zeros(X: Any) -> FloatArray:
    """Return a matrix with zeros replaced as in a divergence of positive data."""
    X = X.toarray() if sp.issparse(X) else X
    return np.asarray(np.where(X == 0, FLOOR * np.nanmax(X), X))


def _missing(cells: sp.csr_array) -> sp.csr_array:
    """Return a matrix with ones in the missing cells."""
    gaps = np.isnan(cells.data)
    rows, columns = _row_numbers(cells)[gaps], cells.indices[gaps]
    return sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=cells.shape)


def _profile(X: Any) -> FloatArray:
    """Return the mean of each column over its known cells, never 0."""
    cells = sp.csr_array(X)
    known = cells.shape[0] - _missing(cells).sum(axis=0)
    positive = cells.data[cells.data > 0]
    least = PSEUDO_CELL * (positive.min() if positive.size else 1.0)
    return np.asarray((_column_sums(cells) + least) / (known + 1.0))


class LabelCosts(NamedTuple):
    """The negative log-likelihood of each held-out label, and whether it is predicted correctly.

    NaN marks a class that the training rows lack; such labels do not count. For numbers, ``right``
    is 1 minus the squared error in units of the variance, so that its mean is R².
    """

    costs: FloatArray
    right: FloatArray


def label_costs(estimator: Any, X: Any, y: np.ndarray, n_labels: int) -> LabelCosts:
    """Return the costs of labels.

    Parameters
    ----------
    estimator : a fitted SSNMFClassifier or SSNMFRegressor
    X, y : labelled rows, and their labels as `settled_labels` returns them
    n_labels : int
        Number of labels that the estimator was fitted on. So few labels cannot show that
        something is less probable than 1 / (n_labels + 1).
    """
    scores = estimator.scores(X)
    if not hasattr(estimator, "coding") or not hasattr(estimator, "probabilities"):
        return _costs_of_numbers(np.asarray(estimator.read(scores), dtype=np.float64), y)
    least = 1.0 / (n_labels + 1.0)
    P = np.clip(estimator.probabilities(scores), least, 1.0 - least)
    if estimator.coding.kind == "multiclass":
        return _costs_of_classes(P, y, estimator)
    predicted = np.asarray(estimator.read(scores))
    if estimator.coding.kind == "multilabel":
        return _costs_of_sets(P, predicted, y)
    shares = y / y.sum(axis=1, keepdims=True)
    return LabelCosts(-np.nansum(shares * np.log(P), axis=1), predicted == np.argmax(y, axis=1))


def _costs_of_classes(P: FloatArray, y: np.ndarray, estimator: Any) -> LabelCosts:
    places = {label: place for place, label in enumerate(estimator.classes_.tolist())}
    codes = np.array([places.get(label, -1) for label in y.tolist()])
    costs = -np.log(P[np.arange(len(y)), codes])
    right = (P.argmax(axis=1) == codes).astype(np.float64)
    return LabelCosts(np.where(codes < 0, np.nan, costs), np.where(codes < 0, np.nan, right))


def _costs_of_sets(P: FloatArray, predicted: np.ndarray, y: np.ndarray) -> LabelCosts:
    known = ~np.isnan(y)
    costs = -np.where(known, np.where(y == 1, np.log(P), np.log(1.0 - P)), 0.0).sum(axis=1)
    return LabelCosts(costs, ((predicted == y) | ~known).all(axis=1).astype(np.float64))


def _costs_of_numbers(predicted: FloatArray, y: np.ndarray) -> LabelCosts:
    """Return the costs of numbers with normal errors of the variance observed here."""
    truth = y.reshape(len(y), -1)
    errors = (predicted.reshape(truth.shape) - truth) ** 2
    tiny = np.finfo(np.float64).tiny
    variance = np.maximum(np.nanmean(errors, axis=0), tiny)
    costs = 0.5 * np.nansum(np.log(2 * np.pi * variance) + errors / variance, axis=1)
    spread = np.maximum(np.nanvar(truth, axis=0), tiny)
    return LabelCosts(costs, np.nanmean(1.0 - errors / spread, axis=1))
