"""Samples of a start: positive, and settled on the data alone; also starts from known topics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cofactor._types import FloatArray
from cofactor.engine.factors import Factors
from cofactor.engine.fitting import minimise
from cofactor.engine.objective import Objective
from cofactor.engine.solvers import CoordinateDescent, MultiplicativeUpdates
from cofactor.engine.stopping import RelativeDecrease
from cofactor.engine.subproblem.problem import Multiplication
from cofactor.engine.threads import Threads
from cofactor.linear.guess import weigh_data

MIN_SHARE = 1e-3
"""Zeros are lifted to this share of a mean."""
MIN_SETTLED_SHARE = 1e-6
"""The same, for samples after their first step."""
MAX_SETTLING = 10
"""Maximum number of iterations of the other factors before known topics may move."""
MIN_SETTLING_DECREASE = 1e-2
"""They end when one lowers the objective by less than this share of the decrease so far."""


def positive(V: FloatArray) -> FloatArray:
    """Lift entries to at least a small share of the mean."""
    mean = float(V.mean()) if V.size else 0.0
    return np.maximum(V, MIN_SHARE * mean if mean > 0 else MIN_SHARE)


def positive_rows(S: FloatArray, share: float = MIN_SHARE) -> FloatArray:
    """Lift entries to at least a share of their row's mean; rows are independent."""
    mean = S.mean(axis=1, keepdims=True)
    return np.maximum(S, np.where(mean > 0, share * mean, MIN_SHARE).astype(S.dtype))


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
    return positive_rows(S, MIN_SETTLED_SHARE)


def finish_start(
    objective: Objective, S: FloatArray, A: FloatArray, B: FloatArray | None, threads: Threads
) -> Factors:
    """Return the start in the dtype of the data, with settled samples."""
    dtype = objective.terms[0].observations.dtype
    cast = Factors(S, A, B).cast(dtype)
    return Factors(settle(objective, cast, threads), cast.features, cast.targets)


def settled_samples(objective: Objective, start: Factors, threads: Threads) -> FloatArray:
    """Return samples for the topics of ``start``: even ones, after a step on the data alone."""
    data = weigh_data(objective.terms[0].observations, objective.sample_weight, threads)
    even = positive_rows(even_representation(data.row_sums, start.features))
    S = np.ascontiguousarray(even, dtype=start.features.dtype)
    return settle(objective, replace(start, samples=S), threads)


def start_from_topics(objective: Objective, topics: Factors, threads: Threads) -> Factors:
    """Return a start with these topics, and with samples and targets that fit them.

    Samples settle on the data alone; then samples and targets settle together. Without this the
    first iteration would fit the topics to samples that know nothing yet.
    """
    start = replace(topics, samples=settled_samples(objective, topics, threads))
    start = _settle(objective.only_samples(), start, threads)
    if len(objective.terms) > 1:
        start = _settle(replace(objective, free=("targets", "samples")), start, threads)
    return replace(start, samples=settled(start.samples))


def _settle(objective: Objective, start: Factors, threads: Threads) -> Factors:
    solver = CoordinateDescent() if objective.coordinate_descent else MultiplicativeUpdates()
    rules = [RelativeDecrease(MIN_SETTLING_DECREASE)]
    fit = minimise(objective, start, solver, max_iter=MAX_SETTLING, rules=rules, threads=threads)
    return fit.factors.compact()
