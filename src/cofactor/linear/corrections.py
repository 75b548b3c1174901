"""Corrections of known scores: what further labels add to them.

A model has scores for every sample. Further labelled samples, and drawn samples that stand for
those that the model learned from, determine how the scores change.

1. Softmax regression with the known scores as an offset. Its features are those of the samples and,
   for each class, what naive Bayes makes of them: the logarithm of each feature's share in the
   class over its share in the others.
2. A factor and a base for the scores of new classes, on samples that step 1 has not seen, because
   samples that were seen look easier than they are.

A sample that stands for earlier ones has the shares that its scores predict, so it changes nothing
by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.linear.calibration import scale_classes
from cofactor.linear.folds import assign_folds
from cofactor.linear.parts import LinearModel, normalised, softmax_regression
from cofactor.linear.penalties import USUAL_PENALTY
from cofactor.linear.views import Matrix

RATIO_SMOOTHING = 0.3
"""Added to each feature's sum in each class. It is more than in the guesses, because features that
only earlier or only further samples have are the rule."""
CORRECTION_FOLDS = 3


class ScoredRows(NamedTuple):
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

    def select(self, rows: IntArray) -> ScoredRows:
        """Return some rows."""
        return ScoredRows(self.X.select(rows), *(part[rows] for part in self[1:]))

    def moved(self, model: LinearModel) -> ScoredRows:
        """Return the rows with the scores of a model added."""
        return self._replace(scores=self.scores + model.scores(self.X))


@dataclass(frozen=True, eq=False)
class Correction:
    """What to add to scores, and by what to multiply them: ``factor · (scores + added) + base``."""

    added: LinearModel
    factor: FloatArray
    base: FloatArray


def correct_scores(rows: ScoredRows, harder: ScoredRows, new: BoolArray) -> Correction:
    """Fit a correction.

    Parameters
    ----------
    rows : ScoredRows
        Samples to learn from.
    harder : ScoredRows
        The same samples; those that stand for earlier ones are as hard to tell apart as samples
        that no fit has seen.
    new : array (k,) of bool
        Classes without scores so far.
    """
    # the samples of new classes are divided evenly among the folds, and so are all others
    groups = np.where(rows.shares[:, new].any(axis=1), rows.shares.argmax(axis=1), len(new))
    folds = assign_folds(groups, CORRECTION_FOLDS, min_size=CORRECTION_FOLDS)
    held = (rows.shares == 1.0) & (folds >= 0)[:, None]
    tested = new & held.any(axis=0)
    added = _learn(rows, new)
    if not tested.any():
        return Correction(added, np.ones(len(new)), np.zeros(len(new)))
    unseen = [
        harder.select(np.flatnonzero(folds == fold)).moved(
            _learn(rows.select(np.flatnonzero(folds != fold)), new)
        )
        for fold in range(CORRECTION_FOLDS)
    ]
    scores, shares, weights = (np.concatenate([one[i] for one in unseen]) for i in range(1, 4))
    return Correction(added, *scale_classes(scores, shares, weights, tested))


def _learn(rows: ScoredRows, new: BoolArray) -> LinearModel:
    """Fit a regression on the features and on what naive Bayes makes of new classes.

    Naive Bayes of old classes would be fitted to drawn samples and tested on them.
    """
    ratios = _log_ratios(rows)[:, new]
    X = rows.X.beside(rows.X.times(ratios)) if new.any() else rows.X
    model = softmax_regression(X, rows.shares, rows.weights, USUAL_PENALTY, offset=rows.scores)
    m = len(ratios)
    return LinearModel(model.weights[:m] + ratios @ model.weights[m:], model.base)


def _log_ratios(rows: ScoredRows) -> FloatArray:
    """Return the log of each feature's share in each class over its share in the others (m, k)."""
    mass = np.maximum(rows.X.transposed_times(rows.shares * rows.weights[:, None]), 0.0)
    others = mass.sum(axis=1, keepdims=True) - mass
    return np.asarray(
        np.log(normalised(mass, RATIO_SMOOTHING)) - np.log(normalised(others, RATIO_SMOOTHING))
    )
