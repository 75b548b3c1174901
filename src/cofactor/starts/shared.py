"""Functions that all starts use."""

from __future__ import annotations

import numpy as np

from cofactor._types import FloatArray
from cofactor.engine.factors import Factors
from cofactor.engine.objective import Objective
from cofactor.engine.subproblem.problem import Multiplication
from cofactor.engine.threads import Threads

ZERO_SHARE = 1e-3
"""Zeros are lifted to this share of a mean."""
SETTLED_SHARE = 1e-6
"""The same, for samples after their first step."""


def positive(V: FloatArray) -> FloatArray:
    """Lift entries to at least a small share of the mean."""
    mean = float(V.mean()) if V.size else 0.0
    return np.maximum(V, ZERO_SHARE * mean if mean > 0 else ZERO_SHARE)


def positive_rows(S: FloatArray, share: float = ZERO_SHARE) -> FloatArray:
    """Lift entries to at least a share of their row's mean; rows are independent."""
    mean = S.mean(axis=1, keepdims=True)
    return np.maximum(S, np.where(mean > 0, share * mean, ZERO_SHARE).astype(S.dtype))


def even_representation(row_sums: FloatArray, A: FloatArray) -> FloatArray:
    """Return a representation that uses all topics alike and fits the sums of the samples."""
    mass = float(A.sum(dtype=np.float64))
    return np.tile((row_sums / mass if mass > 0 else row_sums)[:, None], (1, A.shape[1]))


def settle(objective: Objective, factors: Factors, threads: Threads) -> FloatArray:
    """Return the samples after one update from the data alone, with zeros lifted."""
    problem = objective.only_samples().problem("samples", factors, threads)
    S, _ = problem.multiply(factors.padded("samples"), threads, Multiplication())
    return settled(S.array)


def settled(S: FloatArray) -> FloatArray:
    """Lift the zeros of samples that the data alone settled, so that updates can leave them."""
    return positive_rows(S, SETTLED_SHARE)


def finish(
    objective: Objective, S: FloatArray, A: FloatArray, B: FloatArray | None, threads: Threads
) -> Factors:
    """Return the start in the dtype of the data, with settled samples."""
    dtype = objective.terms[0].observations.dtype
    cast = Factors(S, A, B).cast(dtype)
    return Factors(settle(objective, cast, threads), cast.features, cast.targets)
