"""The pieces that all starts are made of."""

from __future__ import annotations

import numpy as np

from cofactor._types import FloatArray
from cofactor.engine.factors import Factors
from cofactor.engine.objective import Objective
from cofactor.engine.solvers import MultiplicativeUpdates
from cofactor.engine.threads import Threads

SMALL = 1e-3  # share of the mean that stands in for a zero


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
    S, _ = solver.improve(problem, factors.padded("samples"), threads)
    return positive_rows(S.array, 1e-6)


def finish(
    objective: Objective, S: FloatArray, A: FloatArray, B: FloatArray | None, threads: Threads
) -> Factors:
    dtype = objective.terms[0].observations.dtype
    cast = Factors(S, A, B).map(lambda V: np.ascontiguousarray(V, dtype=dtype))
    return Factors(settle(objective, cast, threads), cast.features, cast.targets)
