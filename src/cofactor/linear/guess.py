"""Guesses of unlabelled samples' classes, for starts and targets.

A guess comes from the pool of linear models, or from naive Bayes alone where samples come in a
stream, have several labels, or stand for numbers in bins. Naive Bayes, the profiles of classes and
the starts see the data themselves, with their weights (`WeightedData`), not a view of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import softmax

from cofactor._types import BoolArray, FloatArray
from cofactor.engine.factors import cross, pad
from cofactor.engine.observations import Observations
from cofactor.engine.threads import Threads
from cofactor.linear.parts import UNLABELLED_WEIGHT, ClassSums, Labels, em_naive_bayes, normalised
from cofactor.linear.pool import Pool
from cofactor.linear.views import Matrix


@dataclass(frozen=True)
class WeightedData:
    """The data matrix, its cells multiplied by their weights, and sample weights.

    Parameters
    ----------
    observations : Observations
        The weighted values.
    counts : array (n,)
        Sample weights.
    means : array (m,)
        Weighted mean of each feature.
    threads : Threads
    """

    observations: Observations
    counts: FloatArray
    means: FloatArray
    threads: Threads

    def times(self, F: FloatArray) -> FloatArray:
        """Return X @ F."""
        return cross(self.observations.layout, pad(F), F.shape[1], self.threads)

    def transposed_times(self, V: FloatArray) -> FloatArray:
        """Return Xᵀ @ V."""
        layout = self.observations.transposed.layout
        return cross(layout, pad(V), V.shape[1], self.threads)

    @property
    def row_sums(self) -> FloatArray:
        return self.times(np.ones((self.observations.shape[1], 1)))[:, 0]

    @property
    def mean_length(self) -> float:
        """The mean Euclidean length of the samples, or 1 if all are empty."""
        return float(np.average(sample_lengths(self.observations), weights=self.counts)) or 1.0

    def to_mean_length_one(self) -> WeightedData:
        """Return the data scaled so that the mean length of the samples is one."""
        return replace(self, observations=divided(self.observations, self.mean_length))


def as_numbers(weights: FloatArray | None) -> FloatArray | None:
    """Return sample weights as numbers of samples; None stands for ones.

    Weights count repeated samples. Those that sum to less than the number of samples, such as
    weights that sum to one, cannot; they are scaled to sum to it.
    """
    if weights is None:
        return None
    total, n = float(weights.sum()), np.count_nonzero(weights)
    return weights if total >= n else weights * (n / total)


def weigh_data(
    observations: Observations, counts: FloatArray | None, threads: Threads
) -> WeightedData:
    """Return the data with sample weights ``counts``; None stands for ones.

    Weights of cells count relative to the largest: a factor that all of them share changes nothing.
    """
    folded, cells = observations.folded(), observations.cell_weights()
    if cells is not None and (largest := float(cells.max(initial=0.0))) not in (0.0, 1.0):
        folded = divided(folded, largest)
    weights = np.ones(observations.shape[0]) if counts is None else counts
    return WeightedData(folded, weights, observations.column_means(counts), threads)


def sample_lengths(observations: Observations) -> FloatArray:
    """Return the Euclidean length of each row."""
    layout = observations.layout
    squares = np.asarray(layout.values, np.float64) ** 2
    return np.sqrt(np.bincount(layout.row_numbers(), squares, minlength=observations.shape[0]))


def divided(observations: Observations, scale: float) -> Observations:
    """Return the observations divided by ``scale``."""
    values = observations.layout.values / observations.dtype.type(scale)
    return replace(observations, layout=observations.layout._replace(values=values))


@dataclass(frozen=True, eq=False)
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
    confidence : array (n,) or None
        Confidence in the label of each labelled sample, relative to the largest; None stands for 1.
    importance : array (n,) or None
        Weight of each label by its class, 1 for unlabelled samples; None stands for 1.
    """

    shares: FloatArray
    labelled: BoolArray
    prototypes: FloatArray
    confidence: FloatArray | None = None
    importance: FloatArray | None = None

    def counted(self, counts: FloatArray | None) -> Classes | None:
        """Leave out classes whose samples all have weight zero; None if no class is left."""
        used = self.labelled if counts is None else self.labelled & (counts > 0)
        seen = self.shares[used].any(axis=0)
        if seen.all():
            return self
        if not seen.any():
            return None
        labelled = self.labelled & (self.shares[:, seen].sum(axis=1) > 0)
        shares, prototypes = self.shares[:, seen], self.prototypes[seen]
        return replace(self, shares=shares, labelled=labelled, prototypes=prototypes)

    def trusted(self, counts: FloatArray) -> FloatArray:
        """Return sample weights times the confidence in the labels."""
        return counts if self.confidence is None else counts * self.confidence

    def with_guesses(self, Q: FloatArray) -> FloatArray:
        """Return the known shares of labelled samples and the shares Q of the others."""
        return np.where(self.labelled[:, None], self.shares, Q)


@dataclass(frozen=True, eq=False)
class Counted:
    """Naive Bayes of the samples so far; ``scale`` is their mean length."""

    sums: ClassSums
    scale: float

    def shares(self, data: Observations, threads: Threads) -> FloatArray:
        """Return the shares of samples in the classes."""
        X = Matrix.of(divided(data.folded(), self.scale), threads)
        return np.asarray(softmax(self.sums.model().scores(X), axis=1))


@dataclass(frozen=True, eq=False)
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
    source : Pool or Counted
        Guesses further samples.
    """

    shares: FloatArray
    profiles: FloatArray
    targets: FloatArray
    prototypes: FloatArray
    source: Pool | Counted

    def without_samples(self) -> Guess:
        """Return the guess without its samples; it suffices for guesses of further samples."""
        none = np.empty((0, 0))
        return replace(self, shares=none, targets=none)


def counted_guess(
    data: Observations,
    counts: FloatArray | None,
    classes: Classes,
    threads: Threads,
    earlier: Counted | None = None,
) -> Guess:
    """Guess by naive Bayes with expectation maximisation.

    ``counts`` are sample weights. ``earlier`` holds the sums of earlier samples of the same
    classes.
    """
    weighted = weigh_data(data, counts, threads)
    scale = weighted.mean_length if earlier is None else earlier.scale
    X = Matrix.of(divided(weighted.observations, scale), threads)
    labels = Labels(
        np.where(classes.labelled[:, None], classes.shares, 0.0),
        np.where(classes.labelled, classes.trusted(weighted.counts), 0.0),
        weighted.counts,
        classes.importance,
    )
    sums = em_naive_bayes(X, labels, earlier=None if earlier is None else earlier.sums)
    Q = classes.with_guesses(softmax(sums.model().scores(X), axis=1))
    targets = Q @ classes.prototypes
    profiles = normalised(sums.mass)
    return Guess(Q, profiles, targets, classes.prototypes, Counted(sums, scale))


def pooled_guess(
    data: Observations,
    counts: FloatArray | None,
    classes: Classes,
    threads: Threads,
    pool: Pool,
    scores: FloatArray,
) -> Guess:
    """Guess by the pool; ``scores`` are those of the samples."""
    Q = classes.with_guesses(pool.guesses(scores))
    profiles = _profiles(weigh_data(data, counts, threads), classes.labelled, Q)
    return Guess(Q, profiles, Q @ classes.prototypes, classes.prototypes, pool)


def _profiles(data: WeightedData, labelled: BoolArray, Q: FloatArray) -> FloatArray:
    """Return the distribution of the features in each class."""
    weight = data.counts * np.where(labelled, 1.0, UNLABELLED_WEIGHT)
    return normalised(data.to_mean_length_one().transposed_times(Q * weight[:, None]))
