"""The data with their sample weights: sums over listed cells, for guesses and starts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cofactor._types import FloatArray
from cofactor.engine.factors import cross, pad
from cofactor.engine.observations import Observations
from cofactor.engine.threads import Threads


@dataclass(frozen=True)
class Data:
    """The first term's matrix with the sample weights, for sums over listed cells."""

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


def weighed(observations: Observations, counts: FloatArray | None, threads: Threads) -> Data:
    """Return the data for sums; a factor that all weights of cells share changes nothing."""
    folded, cells = observations.folded(), observations.cell_weights()
    if cells is not None and (largest := float(cells.max(initial=0.0))) not in (0.0, 1.0):
        folded = divided(folded, largest)
    weights = np.ones(observations.shape[0]) if counts is None else counts
    return Data(folded, weights, observations.column_means(counts), threads)


def row_norms(observations: Observations) -> FloatArray:
    layout = observations.layout
    squares = np.asarray(layout.values, np.float64) ** 2
    return np.sqrt(np.bincount(layout.rows(), squares, minlength=observations.shape[0]))


def mean_length(data: Data) -> float:
    return float(np.average(row_norms(data.observations), weights=data.counts)) or 1.0


def divided(observations: Observations, scale: float) -> Observations:
    values = observations.layout.values / observations.dtype.type(scale)
    return replace(observations, layout=observations.layout._replace(values=values))
