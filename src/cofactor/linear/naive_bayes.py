"""Naive Bayes on weighted soft labels, alone and with expectation maximisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from cofactor._types import FloatArray
from cofactor.linear.linear import Labels, LinearModel
from cofactor.linear.matrix import Matrix

UNLABELLED_WEIGHT = 0.1
"""Weight of an unlabelled sample; a labelled one has 1."""
SMOOTHING = 0.01
"""Added to each feature's sum in each class."""
EM_ROUNDS = 12
"""Number of rounds of expectation maximisation."""


@dataclass(frozen=True, eq=False)
class Sums:
    """What naive Bayes learns from samples; the sums of several sets of samples add.

    Parameters
    ----------
    mass : array (m, …, c)
        Sum of each feature in each class.
    count : array (…, c)
        Weight of the samples of each class, times their importance.
    """

    mass: FloatArray
    count: FloatArray

    def model(self, *, flat: bool = False) -> LinearModel:
        """Return the model; with ``flat`` all classes have the same share."""
        size = self.count + 1.0
        base = np.zeros_like(size) if flat else np.log(size / size.sum(axis=-1, keepdims=True))
        return LinearModel(np.log(normalised(self.mass)), base)


def normalised(mass: FloatArray, smoothing: float = SMOOTHING) -> FloatArray:
    """Smooth the columns, and scale them to sum to one."""
    smoothed = mass + smoothing
    return np.asarray(smoothed / smoothed.sum(axis=0))


def naive_bayes(
    X: Matrix,
    weighted: FloatArray,
    earlier: Sums | None = None,
    importance: FloatArray | None = None,
) -> Sums:
    """Fit multinomial naive Bayes; ``weighted`` holds each sample's weight in each class.

    ``importance`` is a further weight of each sample in the shares of the classes only.
    """
    mass = X.transposed_times(weighted)
    important = weighted if importance is None else weighted * importance[..., None]
    count = important.sum(axis=0)
    return (
        Sums(mass, count) if earlier is None else Sums(earlier.mass + mass, earlier.count + count)
    )


def em_naive_bayes(
    X: Matrix,
    labels: Labels,
    rounds: int = EM_ROUNDS,
    *,
    flat: bool = False,
    earlier: Sums | None = None,
) -> Sums:
    """Fit naive Bayes to the labelled samples, then, in rounds, to guesses for the others, too.

    Expectation maximisation moves the classes' shares with the guesses and can lose a class that
    way; with ``flat`` it cannot. ``earlier`` are the sums of earlier samples.
    """
    sums = naive_bayes(X, labels.weighted, earlier, labels.importance)
    for _ in range(0 if labels.known.all() else rounds):
        Q = softmax(sums.model(flat=flat).scores(X), axis=-1)
        weighted = labels.beside(Q, UNLABELLED_WEIGHT)
        sums = naive_bayes(X, weighted, earlier, labels.importance)
    return sums
