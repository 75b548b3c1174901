"""Naive Bayes on weighted soft labels, alone and with expectation maximisation."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from cofactor._types import FloatArray
from cofactor.guesses.linear import Labels, LinearModel
from cofactor.guesses.matrix import Matrix

UNLABELLED_WEIGHT = 0.1
"""Weight of an unlabelled sample; a labelled one has 1."""
SMOOTHING = 0.01
"""Added to each feature's sum in each class."""


def naive_bayes(X: Matrix, weighted: FloatArray, *, flat: bool = False) -> LinearModel:
    """Fit multinomial naive Bayes; ``weighted`` holds each sample's weight in each class.

    With ``flat`` all classes have the same share.
    """
    mass = X.transposed_times(weighted) + SMOOTHING
    size = weighted.sum(axis=0) + 1.0
    base = np.zeros(len(size)) if flat else np.log(size / size.sum())
    return LinearModel(np.log(mass / mass.sum(axis=0)), base)


def em_naive_bayes(X: Matrix, labels: Labels, rounds: int, *, flat: bool = False) -> LinearModel:
    """Fit naive Bayes to the labelled samples, then with guesses for the others, again and again.

    Expectation maximisation moves the classes' shares with the guesses and can lose a class that
    way; with ``flat`` it cannot.
    """
    known = labels.known[:, None]
    weighted = labels.shares * labels.weights[:, None]
    model = naive_bayes(X, weighted, flat=flat)
    for _ in range(0 if known.all() else rounds):
        guessed = softmax(model.scores(X), axis=1) * (UNLABELLED_WEIGHT * labels.counts)[:, None]
        model = naive_bayes(X, np.where(known, weighted, guessed), flat=flat)
    return model
