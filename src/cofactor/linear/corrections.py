"""Corrections of known scores: what further labels add to them.

A model has scores for every sample. Further labelled samples, and drawn samples that stand for
those that the model learned from, tell how the scores must change.

1. Softmax regression with the known scores as an offset. Its features are those of the samples and,
   for each class, what naive Bayes makes of them: the logarithm of each feature's share in the
   class over its share in the others.
2. A factor and a base for the scores of new classes, on samples that step 1 has not seen, because
   samples that were seen look easier than they are.

A sample that stands for earlier ones has the shares that its scores say, so by itself it changes
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.linear.linear import LinearModel
from cofactor.linear.matrix import Matrix, with_one_blas_thread
from cofactor.linear.naive_bayes import normalised
from cofactor.linear.regression import softmax_regression

PENALTY = 0.1
"""Penalty of the regression."""
SMOOTHING = 0.3
"""Added to each feature's sum in each class. It is more than in the guesses, because features that
only one side has are the rule between earlier and further samples."""
STRENGTH = 10.0
"""How strongly factors stay where they start: as strongly as weights of parts do in the pool."""
FOLDS = 3
"""Number of parts of the samples that are held out in turn."""


class Rows(NamedTuple):
    """Samples with scores and labels.

    Parameters
    ----------
    X : Matrix (n, m)
    scores : array (n, k)
        Those before the correction.
    shares : array (n, k)
        Share of each sample in each class.
    weights : array (n,)
    """

    X: Matrix
    scores: FloatArray
    shares: FloatArray
    weights: FloatArray

    def select(self, rows: IntArray) -> Rows:
        """Return some rows."""
        return Rows(self.X.select(rows), *(part[rows] for part in self[1:]))

    def moved(self, model: LinearModel) -> Rows:
        """Return the rows with the scores of a model added."""
        return self._replace(scores=self.scores + model.scores(self.X))


@dataclass(frozen=True, eq=False)
class Correction:
    """What to add to scores, and by what to multiply them: ``factor · (scores + added) + base``."""

    added: LinearModel
    factor: FloatArray
    base: FloatArray


@with_one_blas_thread
def correct_scores(rows: Rows, harder: Rows, new: BoolArray) -> Correction:
    """Fit a correction.

    Parameters
    ----------
    rows : Rows
        Samples to learn from.
    harder : Rows
        The same samples; those that stand for earlier ones are as hard to tell apart as samples
        that no fit has seen.
    new : array (k,) of bool
        Classes without scores so far.
    """
    added, place = _learn(rows, new), _folds(rows, new)
    held = (rows.shares == 1.0) & (place >= 0)[:, None]
    tested = new & held.any(axis=0)
    if not tested.any():
        return Correction(added, np.ones(len(new)), np.zeros(len(new)))
    unseen = [
        harder.select(np.flatnonzero(place == fold)).moved(
            _learn(rows.select(np.flatnonzero(place != fold)), new)
        )
        for fold in range(FOLDS)
    ]
    scores, shares, weights = (np.concatenate([one[i] for one in unseen]) for i in range(1, 4))
    return Correction(added, *scale(scores, shares, weights, tested))


def _folds(rows: Rows, new: BoolArray) -> IntArray:
    """Return the fold of each sample; those of a class go round the folds, and so do the others."""
    best = np.where(rows.shares[:, new].any(axis=1), rows.shares.argmax(axis=1), -1)
    place = np.empty(len(best), dtype=np.int64)
    for c in np.unique(best):
        own = np.flatnonzero(best == c)
        place[own] = np.arange(len(own)) % FOLDS if len(own) >= FOLDS or c < 0 else -1
    return place


def _learn(rows: Rows, new: BoolArray) -> LinearModel:
    """Fit a regression on the features and on what naive Bayes makes of new classes.

    Naive Bayes of old classes would be fitted to drawn samples and tested on them.
    """
    ratios = _log_ratios(rows)[:, new]
    X = rows.X.beside(rows.X.times(ratios)) if new.any() else rows.X
    model = softmax_regression(X, rows.shares, rows.weights, PENALTY, offset=rows.scores)
    m = len(ratios)
    return LinearModel(model.weights[:m] + ratios @ model.weights[m:], model.base)


def _log_ratios(rows: Rows) -> FloatArray:
    """Return the log of each feature's share in each class over its share in the others (m, k)."""
    mass = np.maximum(rows.X.transposed_times(rows.shares * rows.weights[:, None]), 0.0)
    others = mass.sum(axis=1, keepdims=True) - mass
    return np.asarray(np.log(normalised(mass, SMOOTHING)) - np.log(normalised(others, SMOOTHING)))


def scale(
    scores: FloatArray, shares: FloatArray, weights: FloatArray, which: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Return factors and bases of the scores of some classes that make the shares likely."""
    own = np.flatnonzero(which)
    Z = scores[:, own]

    def cost(x: FloatArray) -> tuple[float, FloatArray]:
        factor, base = np.split(x, 2)
        fitted = scores.copy()
        fitted[:, own] = Z * factor + base
        log_p = log_softmax(fitted, axis=1)
        apart = factor - 1.0
        value = STRENGTH / 2 * apart @ apart - np.sum(weights[:, None] * shares * log_p)
        slope = ((np.exp(log_p) - shares) * weights[:, None])[:, own]
        return float(value), np.r_[(slope * Z).sum(axis=0) + STRENGTH * apart, slope.sum(axis=0)]

    start = np.r_[np.ones(len(own)), np.zeros(len(own))]
    found: Any = minimize(cost, start, jac=True, method="L-BFGS-B")
    factor, base = np.ones(len(which)), np.zeros(len(which))
    factor[own], base[own] = np.split(found.x, 2)
    return factor, base
