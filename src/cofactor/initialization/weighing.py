"""The data with their weights, and the pieces that all starts are made of."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cofactor.objective import Factors, Objective
from cofactor.observations import Observations
from cofactor.seen import cross, pad
from cofactor.solvers import MultiplicativeUpdates
from cofactor.threads import Threads
from cofactor.typing import FloatArray

SMALL = 1e-3  # share of the mean that stands in for a zero


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
    weights = np.ones(observations.shape[0]) if counts is None else counts
    return Data(observations.folded(), weights, observations.column_means(counts), threads)


def row_norms(observations: Observations) -> FloatArray:
    layout = observations.layout
    squares = np.asarray(layout.values, np.float64) ** 2
    return np.sqrt(np.bincount(layout.rows(), squares, minlength=observations.shape[0]))


def mean_length(data: Data) -> float:
    return float(np.average(row_norms(data.observations), weights=data.counts)) or 1.0


def divided(observations: Observations, scale: float) -> Observations:
    values = observations.layout.values / observations.dtype.type(scale)
    return replace(observations, layout=observations.layout._replace(values=values))


def positive(V: FloatArray) -> FloatArray:
    """Lift zeros to a small share of the mean."""
    mean = float(V.mean()) if V.size else 0.0
    return np.maximum(V, SMALL * mean if mean > 0 else SMALL)


def positive_rows(S: FloatArray, share: float = SMALL) -> FloatArray:
    """Lift zeros to a small share of their row's mean; rows do not know of each other."""
    mean = S.mean(axis=1, keepdims=True)
    return np.maximum(S, np.where(mean > 0, share * mean, SMALL).astype(S.dtype))


def even_representation(row_sums: FloatArray, A: FloatArray) -> FloatArray:
    """Return rows that use all topics alike and have the mass of their sample."""
    mass = float(A.sum(dtype=np.float64))
    return np.tile((row_sums / mass if mass > 0 else row_sums)[:, None], (1, A.shape[1]))


def settle(objective: Objective, factors: Factors, threads: Threads) -> FloatArray:
    """Take one step on the samples that sees only the data; zeros are lifted."""
    restricted = objective.only_samples()
    solver = MultiplicativeUpdates()
    problem = restricted.problem("samples", factors, threads)
    S, _ = solver.improve(problem, factors.seen("samples"), threads)
    return positive_rows(S.array, 1e-6)


def finish(
    objective: Objective, S: FloatArray, A: FloatArray, B: FloatArray | None, threads: Threads
) -> Factors:
    dtype = objective.terms[0].observations.dtype
    cast = Factors(S, A, B).map(lambda V: np.ascontiguousarray(V, dtype=dtype))
    return Factors(settle(objective, cast, threads), cast.features, cast.targets)
