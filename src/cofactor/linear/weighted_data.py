"""The data with their sample weights, and their products with factors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cofactor._types import FloatArray
from cofactor.engine.factors import cross, pad
from cofactor.engine.observations import Observations
from cofactor.engine.threads import Threads


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


def as_numbers(weights: FloatArray | None) -> FloatArray | None:
    """Return sample weights as numbers of samples; None stands for ones.

    Weights count repeated samples. Those that sum to less than the number of samples, such as
    weights that sum to one, cannot; they are scaled to sum to it.
    """
    if weights is None:
        return None
    total, n = float(weights.sum()), np.count_nonzero(weights)
    return weights if total >= n else weights * (n / total)


def weigh(observations: Observations, counts: FloatArray | None, threads: Threads) -> WeightedData:
    """Return the data with sample weights ``counts``; None stands for ones.

    Weights of cells count relative to the largest: a factor that all of them share changes nothing.
    """
    folded, cells = observations.folded(), observations.cell_weights()
    if cells is not None and (largest := float(cells.max(initial=0.0))) not in (0.0, 1.0):
        folded = divided(folded, largest)
    weights = np.ones(observations.shape[0]) if counts is None else counts
    return WeightedData(folded, weights, observations.column_means(counts), threads)


def row_norms(observations: Observations) -> FloatArray:
    """Return the Euclidean length of each row."""
    layout = observations.layout
    squares = np.asarray(layout.values, np.float64) ** 2
    return np.sqrt(np.bincount(layout.row_numbers(), squares, minlength=observations.shape[0]))


def mean_length(data: WeightedData) -> float:
    """Return the mean Euclidean length of the samples, or 1 if all are empty."""
    return float(np.average(row_norms(data.observations), weights=data.counts)) or 1.0


def divided(observations: Observations, scale: float) -> Observations:
    """Return the observations divided by ``scale``."""
    values = observations.layout.values / observations.dtype.type(scale)
    return replace(observations, layout=observations.layout._replace(values=values))
