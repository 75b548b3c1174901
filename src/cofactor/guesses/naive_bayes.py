"""Guesses of unlabelled samples' classes, by naive Bayes with expectation maximisation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import softmax

from cofactor._types import BoolArray, FloatArray
from cofactor.engine.factors import cross, pad
from cofactor.engine.observations import Observations
from cofactor.engine.threads import Threads
from cofactor.guesses.weighted_data import divided, mean_length, weigh

UNLABELLED_WEIGHT = 0.1
"""Weight of an unlabelled sample in the classes' profiles; a labelled one has 1."""
SMOOTHING = 0.01
"""Added to each feature's sum in each class."""
EM_STEPS = 12
"""Number of steps of expectation maximisation."""


@dataclass(frozen=True)
class Classes:
    """The known labels, as shares in classes.

    Parameters
    ----------
    shares : array (n, c)
        Share of each labelled sample in each class; rows sum to one.
    labelled : array (n,)
        Which samples are labelled.
    prototypes : array (c, k)
        The target row that stands for each class: a row of the identity for classes, the mean of a
        bin for regression.
    """

    shares: FloatArray
    labelled: BoolArray
    prototypes: FloatArray


@dataclass(frozen=True)
class Guess:
    """Guessed classes of every sample, labelled or not.

    Parameters
    ----------
    shares : array (n, c)
        Share of each sample in each class; those of labelled samples are known.
    profiles : array (m, c)
        Distribution of the features in each class.
    targets : array (n, k)
        The mean of the prototypes, weighted by the sample's shares.
    prototypes : array (c, k)
        The target row that stands for each class.
    mass : array (m, c)
        Sum of each feature in each class; smoothed and normalised, they are the profiles.
    count : array (c,)
        Number of samples of each class.
    scale : float
        Mean length of the samples; samples are divided by it.
    """

    shares: FloatArray
    profiles: FloatArray
    targets: FloatArray
    prototypes: FloatArray
    mass: FloatArray
    count: FloatArray
    scale: float

    def without_samples(self) -> Guess:
        """Return the guess without its samples; it suffices for guesses of further samples."""
        none = np.empty((0, 0))
        return replace(self, shares=none, targets=none)

    @property
    def prior(self) -> FloatArray:
        """Logarithm of each class's smoothed share in the samples."""
        return np.asarray(np.log((self.count + 1) / (self.count + 1).sum()))


def guess_classes(
    observations: Observations,
    counts: FloatArray | None,
    classes: Classes,
    threads: Threads,
    earlier: Guess | None = None,
) -> Guess:
    """Guess the classes of unlabelled samples: naive Bayes with expectation maximisation.

    ``counts`` are sample weights.  ``earlier`` is the guess for earlier samples of the same
    classes; its sums are added.
    """
    data = weigh(observations, counts, threads)
    scale = mean_length(data) if earlier is None else earlier.scale
    X = replace(data, observations=divided(data.observations, scale))
    mass, count = (0.0, 0.0) if earlier is None else (earlier.mass, earlier.count)
    weight = X.counts * np.where(classes.labelled, 1.0, UNLABELLED_WEIGHT)
    Q = np.where(classes.labelled[:, None], classes.shares, 0.0)

    def guessed(weight: FloatArray) -> Guess:
        weighted = Q * weight[:, None]
        total = mass + X.transposed_times(weighted)
        return Guess(
            shares=Q,
            profiles=normalised(total),
            targets=Q @ classes.prototypes,
            prototypes=classes.prototypes,
            mass=total,
            count=count + weighted.sum(axis=0),
            scale=scale,
        )

    guess = guessed(X.counts)
    for _ in range(EM_STEPS if not classes.labelled.all() else 0):
        evidence = X.times(np.log(guess.profiles)) + guess.prior
        Q = np.where(classes.labelled[:, None], classes.shares, softmax(evidence, axis=1))
        guess = guessed(weight)
    return guess


def counted(classes: Classes, counts: FloatArray | None) -> Classes:
    """Leave out classes whose samples all have weight zero."""
    weights = classes.labelled if counts is None else classes.labelled * counts
    seen = (classes.shares * weights[:, None]).sum(axis=0) > 0
    if seen.all() or not seen.any():
        return classes
    labelled = classes.labelled & (classes.shares[:, seen].sum(axis=1) > 0)
    return Classes(classes.shares[:, seen], labelled, classes.prototypes[seen])


def spread_classes(observations: Observations, guess: Guess, threads: Threads) -> FloatArray:
    """Return the shares of further samples in the classes of a guess."""
    layout = observations.folded().layout
    logs = np.log(guess.profiles)
    evidence = cross(layout, pad(logs / guess.scale), logs.shape[1], threads)
    return np.asarray(softmax(evidence + guess.prior, axis=1))


def normalised(profiles: FloatArray) -> FloatArray:
    """Smooth the columns, and scale them to sum to one."""
    smoothed = profiles + SMOOTHING
    return np.asarray(smoothed / smoothed.sum(axis=0))
