"""Linear models of the classes: the one form of all guesses.

A model is fitted on weighted soft labels; its scores are sums over the features, so each feature
has its part in them.

Several labellings of the same samples, such as those with the labels of one fold hidden, stand on
further axes between samples and classes (here "…"): their models are fitted side by side, and each
product with the samples serves all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.linear.matrix import Matrix


class LinearModel(NamedTuple):
    """Scores of the classes, linear in the features.

    Parameters
    ----------
    weights : array (m, …, c)
        What each feature adds to the score of each class.
    base : array (…, c)
        The score of an empty sample.
    """

    weights: FloatArray
    base: FloatArray

    def scores(self, X: Matrix) -> FloatArray:
        """Return the scores of samples."""
        return X.times(self.weights) + self.base


class Labels(NamedTuple):
    """Soft labels with weights.

    Parameters
    ----------
    shares : array (n, …, c)
        Share of each labelled sample in each class; rows sum to one, others are zero.
    weights : array (n, …)
        Weight of each labelled sample; 0 stands for an unlabelled one.
    counts : array (n,)
        How often each sample counts, labelled or not.
    importance : array (n, …) or None
        Weight of each label by its class, 1 for unlabelled samples; None stands for 1. It
        multiplies the cost of a wrong prediction and the share of a class. It does not say that
        there is more evidence of what the samples of a class look like.
    """

    shares: FloatArray
    weights: FloatArray
    counts: FloatArray
    importance: FloatArray | None = None

    @property
    def known(self) -> BoolArray:
        return np.asarray(self.weights > 0)

    @property
    def weighted(self) -> FloatArray:
        """Weight of each labelled sample in each class."""
        return self.shares * self.weights[..., None]

    @property
    def costs(self) -> FloatArray:
        """Weight of each labelled sample in the cost of a fit."""
        return self.weights if self.importance is None else self.weights * self.importance

    def select(self, rows: IntArray) -> Labels:
        """Return the labels of some samples."""
        importance = None if self.importance is None else self.importance[rows]
        return Labels(self.shares[rows], self.weights[rows], self.counts[rows], importance)

    @property
    def mass(self) -> FloatArray:
        """Total weight of each class."""
        return np.asarray(self.weighted.sum(axis=0))

    def beside(self, guessed: FloatArray, weight: float) -> FloatArray:
        """Return weights in the classes, ``weight`` times the guessed shares where unlabelled."""
        counts = self.counts.reshape(-1, *[1] * (guessed.ndim - 1))
        return np.where(self.known[..., None], self.weighted, weight * counts * guessed)
