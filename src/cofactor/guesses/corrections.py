"""Corrections of known scores: what further labels add to them.

A model has scores for every sample. Further labelled samples, and samples that stand for those that
the model learned from, tell how the scores must change. Three steps, each on top of the last:

1. naive Bayes: for each class, the logarithm of each feature's share in the class over its share in
   the others, times a factor;
2. softmax regression with the scores so far as an offset;
3. factor and base of new classes once more, on samples that step 1 and 2 have not seen, because
   samples that were seen look easier than new ones.

Only classes with further labels change. A sample that stands for earlier ones has the shares that
its scores say, so by itself it changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.guesses.linear import LinearModel
from cofactor.guesses.matrix import Matrix, with_one_blas_thread
from cofactor.guesses.naive_bayes import normalised
from cofactor.guesses.regression import softmax_regression

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
def correct_scores(rows: Rows, harder: Rows, new: BoolArray, free: BoolArray) -> Correction:
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
    free : array (k,) of bool
        Classes whose scores change, the new ones among them.
    """
    added = _learn(rows, free)
    place = _folds(rows, new)
    factor, base = np.ones(len(new)), np.zeros(len(new))
    held = np.flatnonzero(place >= 0)
    enough = new & (_counts(rows.select(held)) > FOLDS - 1) if len(held) else new & False
    if enough.any():
        unseen = [
            harder.select(np.flatnonzero(place == fold)).moved(
                _learn(rows.select(np.flatnonzero(place != fold)), free)
            )
            for fold in range(FOLDS)
        ]
        scores, shares, weights = (
            np.concatenate([part[i] for part in unseen]) for i in range(1, 4)
        )
        factor, base = scale(scores, scores, shares, weights, enough, np.ones(len(new)))
    return Correction(added, factor, base)


def _counts(rows: Rows) -> FloatArray:
    return np.asarray((rows.shares == 1.0).sum(axis=0))


def _folds(rows: Rows, new: BoolArray) -> IntArray:
    """Return the fold of each sample; those of a class go round the folds, and so do the others."""
    best = np.where(rows.shares[:, new].any(axis=1), rows.shares.argmax(axis=1), -1)
    place = np.empty(len(best), dtype=np.int64)
    for c in np.unique(best):
        own = np.flatnonzero(best == c)
        place[own] = np.arange(len(own)) % FOLDS if len(own) >= FOLDS or c < 0 else -1
    return place


def _learn(rows: Rows, free: BoolArray) -> LinearModel:
    """Fit a regression on the features and on what naive Bayes makes of them."""
    ratios = _log_ratios(rows)[:, free]
    X = rows.X.beside(rows.X.times(ratios))
    model = softmax_regression(
        X, rows.shares, rows.weights, PENALTY, offset=rows.scores, free=free
    )
    m = len(ratios)
    return LinearModel(model.weights[:m] + ratios @ model.weights[m:], model.base)


def _log_ratios(rows: Rows) -> FloatArray:
    """Return the log of each feature's share in each class over its share in the others (m, k)."""
    mass = np.maximum(rows.X.transposed_times(rows.shares * rows.weights[:, None]), 0.0)
    others = mass.sum(axis=1, keepdims=True) - mass
    return np.asarray(np.log(normalised(mass, SMOOTHING)) - np.log(normalised(others, SMOOTHING)))


def scale(
    parts: FloatArray, scores: FloatArray, shares: FloatArray, weights: FloatArray,
    which: BoolArray, start: FloatArray,
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    """Return factors and bases of some classes that make the shares likely.

    If ``parts`` are the scores themselves, they are multiplied; otherwise multiples of the parts
    are added to the scores. Other classes keep their start and the base 0.
    """
    own, kept = np.flatnonzero(which), parts is scores
    Z, P, first = np.where(which & kept, 0.0, scores), parts[:, own], start[own]

    def cost(x: FloatArray) -> tuple[float, FloatArray]:
        factor, base = np.split(x, 2)
        fitted = Z.copy()
        fitted[:, own] += P * factor + base
        log_p = log_softmax(fitted, axis=1)
        apart = factor - first
        value = -float(np.sum(weights[:, None] * shares * log_p)) + STRENGTH / 2 * apart @ apart
        slope = ((np.exp(log_p) * shares.sum(axis=1, keepdims=True) - shares)
                 * weights[:, None])[:, own]  # fmt: skip
        return value, np.r_[(slope * P).sum(axis=0) + STRENGTH * apart, slope.sum(axis=0)]

    found: Any = minimize(cost, np.r_[first, np.zeros(len(own))], jac=True, method="L-BFGS-B")
    factor, base = start.copy(), np.zeros(len(start))
    factor[own], base[own] = np.split(found.x, 2)
    return factor, base
