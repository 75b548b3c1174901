"""Labels spread over unlabelled samples."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import softmax

from cofactor._types import BoolArray, FloatArray
from cofactor.engine.factors import cross, pad
from cofactor.engine.observations import Observations
from cofactor.engine.threads import Threads
from cofactor.guesses.weighted_data import divided, mean_length, weighed

UNLABELLED_WEIGHT, SMOOTHING, STEPS = 0.1, 0.01, 12


@dataclass(frozen=True)
class Classes:
    """What the class-wise start knows of the labels.

    Parameters
    ----------
    shares : array (n, c)
        Each labelled sample's share in the classes; rows sum to one.
    labelled : array (n,)
        Which samples are labelled.
    prototypes : array (c, k)
        The target row that stands for each class: the identity for classes, the bin's mean for
        regression.
    """

    shares: FloatArray
    labelled: BoolArray
    prototypes: FloatArray


@dataclass(frozen=True)
class Guess:
    """What the labels suggest for every sample, labelled or not.

    Parameters
    ----------
    shares : array (n, c)
        Each sample's share in the classes; those of labelled samples are given.
    profiles : array (m, c)
        Distribution of the features in each class.
    targets : array (n, k)
        The target row that a sample's shares stand for.
    prototypes : array (c, k)
        The target row that stands for each class.
    mass : array (m, c)
        What the profiles are made of: the features' sums in each class.
    count : array (c,)
        Samples of each class.
    scale : float
        Mean length of the samples, which the profiles' evidence is measured in.
    """

    shares: FloatArray
    profiles: FloatArray
    targets: FloatArray
    prototypes: FloatArray
    mass: FloatArray
    count: FloatArray
    scale: float

    def without_samples(self) -> Guess:
        """Return what can be said of other samples."""
        none = np.empty((0, 0))
        return replace(self, shares=none, targets=none)

    @property
    def prior(self) -> FloatArray:
        """Logarithm of each class's share in the samples."""
        return np.asarray(np.log((self.count + 1) / (self.count + 1).sum()))


def guess_classes(
    observations: Observations,
    counts: FloatArray | None,
    classes: Classes,
    threads: Threads,
    earlier: Guess | None = None,
) -> Guess:
    """Spread the labels over the unlabelled samples: naive Bayes with expectation maximisation.

    ``earlier`` is the guess for other samples of the same classes, whose evidence is added.
    """
    data = weighed(observations, counts, threads)
    scale = mean_length(data) if earlier is None else earlier.scale
    X = replace(data, observations=divided(data.observations, scale))
    mass, count = (0.0, 0.0) if earlier is None else (earlier.mass, earlier.count)
    weight = X.counts * np.where(classes.labelled, 1.0, UNLABELLED_WEIGHT)
    Q = np.where(classes.labelled[:, None], classes.shares, 0.0)

    def guessed(weight: FloatArray) -> Guess:
        weighted = Q * weight[:, None]
        total = mass + X.transposed_times(weighted)
        return Guess(
            Q, normalised(total), Q @ classes.prototypes, classes.prototypes,
            total, count + weighted.sum(axis=0), scale,
        )  # fmt: skip

    guess = guessed(X.counts)
    for _ in range(STEPS if not classes.labelled.all() else 0):
        evidence = X.times(np.log(guess.profiles)) + guess.prior
        Q = np.where(classes.labelled[:, None], classes.shares, softmax(evidence, axis=1))
        guess = guessed(weight)
    return guess


def counted(classes: Classes, counts: FloatArray | None) -> Classes:
    """Leave out classes whose samples do not count."""
    weights = classes.labelled if counts is None else classes.labelled * counts
    seen = (classes.shares * weights[:, None]).sum(axis=0) > 0
    if seen.all() or not seen.any():
        return classes
    labelled = classes.labelled & (classes.shares[:, seen].sum(axis=1) > 0)
    return Classes(classes.shares[:, seen], labelled, classes.prototypes[seen])


def spread_classes(observations: Observations, guess: Guess, threads: Threads) -> FloatArray:
    """Return the shares of further samples in the classes, as the guess for others has them."""
    layout = observations.folded().layout
    logs = np.log(guess.profiles)
    evidence = cross(layout, pad(logs / guess.scale), logs.shape[1], threads)
    return np.asarray(softmax(evidence + guess.prior, axis=1))


def normalised(profiles: FloatArray) -> FloatArray:
    """Smooth and scale columns to sum to one."""
    smoothed = profiles + SMOOTHING
    return np.asarray(smoothed / smoothed.sum(axis=0))
