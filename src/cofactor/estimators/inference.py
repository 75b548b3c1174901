"""Inference: the best representation of each sample, given the topics and the data alone."""

from __future__ import annotations

import numpy as np

from cofactor._types import FloatArray, IntArray
from cofactor.divergences import FLOOR, Divergence
from cofactor.engine.factors import Factors, cross, pad
from cofactor.engine.fitting import minimise
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import Observations
from cofactor.engine.solvers import CoordinateDescent, MultiplicativeUpdates
from cofactor.engine.threads import Threads
from cofactor.estimators.units import Units, shift, unit_observations
from cofactor.priors import Penalty
from cofactor.starts import even_representation

# Each row stops on its own at these tolerances, so its result does not depend on its batch.
EXACT = CoordinateDescent(rounds=5000, sweeps=5, tolerance=1e-10)
EXACT_WITHOUT_DESCENT = MultiplicativeUpdates(rounds=20000, tolerance=1e-10)


def solve_rows(objective: Objective, factors: Factors, threads: Threads) -> Factors:
    """Minimise a convex objective over its one free factor."""
    solver = EXACT if objective.coordinate_descent else EXACT_WITHOUT_DESCENT
    fit = minimise(objective, factors, solver, max_iter=1, threads=threads)
    if fit.interrupted:  # between the end of the one iteration and the end of the loop
        raise KeyboardInterrupt
    return fit.factors


def represent(
    observations: Observations,
    A: FloatArray,
    divergence: Divergence,
    penalty: Penalty | None,
    threads: Threads,
) -> FloatArray:
    """Return the best representation of each sample."""
    objective = Objective(
        (Term("data", "features", observations, divergence),),
        {} if penalty is None else {"samples": penalty},
        free=("samples",),
    )
    ones = pad(np.ones((observations.shape[1], 1)))
    sums = cross(observations.folded().layout, ones, 1, threads)[:, 0]
    S = even_representation(np.maximum(sums, FLOOR), A).astype(A.dtype)  # empty rows may grow
    return solve_rows(objective, Factors(S, A), threads).samples


def represent_samples(
    data: Observations,
    components: FloatArray,
    units: Units,
    loss: Divergence,
    prior: Penalty | None,
    threads: Threads,
) -> FloatArray:
    """Return the best representation of samples in the user's units by fitted topics.

    Parameters
    ----------
    components : array (r, m)
        Topics.
    units : Units
        Those of the fit.
    prior : Penalty or None
        The prior on samples.
    """
    A = np.ascontiguousarray(shift(components.T, -units.data), dtype=data.dtype)
    data, weights = unit_observations(data, literal=True)  # extreme ones only
    penalty = None if prior is None else units.for_new_samples(weights).penalty("samples", prior)
    # Without a prior each row has a separate scale, if the loss does not depend on scales.
    fixed = penalty is not None or not loss.homogeneous
    e = np.full(data.shape[0], units.data) if fixed else row_exponents(data)
    S = represent(data.scaled_rows(e), A, loss, penalty, threads)
    S = np.asarray(shift(S, (e - units.data)[:, None]))
    if not np.isfinite(S).all():
        raise ValueError(
            "X is so much larger than the training data that its representation is not "
            f"finite in {S.dtype}; scale X like the training data."
        )
    return S


def row_exponents(observations: Observations) -> IntArray:
    """Return e for each row with 2**(e−1) ≤ its largest value < 2**e; 0 for an empty row."""
    layout, weights = observations.layout, observations.cell_weights()
    values = layout.values if weights is None else np.where(weights > 0, layout.values, 0)
    largest = np.zeros(observations.shape[0])
    np.maximum.at(largest, layout.row_numbers(), values)
    return np.where(largest > 0, np.frexp(largest)[1], 0)


def masses(components: FloatArray) -> FloatArray:
    """Return the sum of each topic's features, at least 1e-300."""
    return np.maximum(components.sum(axis=1, dtype=np.float64), 1e-300)


def topic_means(values: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the means of values (n, k) over the samples of each topic (r, k).

    Samples count by their shares (n, r) in the topic. A topic without samples has the mean of all.
    """
    total = shares.sum(axis=0)[:, None]
    mean = shares.sum(axis=1) @ values / max(float(total.sum()), 1e-300)
    means = np.repeat(mean[None], len(total), axis=0)
    return np.divide(shares.T @ values, total, out=means, where=total > 0)


def topic_shares(S: FloatArray, components: FloatArray) -> FloatArray:
    """Return the share of each topic in each sample; those of empty samples are 0."""
    e, f = np.frexp(S.max(axis=1, keepdims=True))[1], np.frexp(components.max())[1]
    mass = np.ldexp(S, -e) * np.ldexp(components, -f).sum(axis=1)  # so that it does not overflow
    total = mass.sum(axis=1, keepdims=True)
    return np.divide(mass, total, out=np.zeros_like(mass), where=total > 0)
