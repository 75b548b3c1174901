"""The head of topics alone: the target factor B turns representations into fitted targets."""

from __future__ import annotations

import numpy as np

from cofactor._types import BoolArray, FloatArray
from cofactor.engine.factors import Factors
from cofactor.engine.objective import Objective, Term
from cofactor.engine.threads import Threads
from cofactor.estimators.inference import represent, solve_rows


def refit_head(
    objective: Objective,
    factors: Factors,
    labelled: BoolArray,
    threads: Threads,
    *,
    equal_mass: bool,
) -> FloatArray:
    """Estimate B anew on representations that have not seen the labels.

    Prediction sees such representations only. With ``equal_mass`` every sample gets the mean mass
    first.
    """
    data, target = objective.terms
    counts = objective.sample_weight
    rows = np.flatnonzero(labelled if counts is None else labelled & (counts > 0))
    counts = None if counts is None else counts[rows]
    penalty = objective.priors.get("samples")
    S = represent(
        data.observations.select(rows),
        factors.features,
        data.divergence,
        None if penalty is None else penalty.rows(rows),
        threads,
    )
    if equal_mass:
        S = with_mean_mass(S, factors.features, counts)
    B = factors.get("targets")
    B = np.maximum(B, 1e-3 * B.mean() + 1e-6).astype(S.dtype)
    refit = Objective(
        (Term("target", "targets", target.observations.select(rows), target.divergence,
              target.weight or 1.0),),
        {name: prior for name, prior in objective.priors.items() if name == "targets"},
        counts,
        free=("targets",),
    )  # fmt: skip
    unused = np.zeros((1, S.shape[1]), dtype=S.dtype)  # the features' place
    return solve_rows(refit, Factors(S, unused, np.ascontiguousarray(B)), threads).get("targets")


def with_mean_mass(S: FloatArray, A: FloatArray, counts: FloatArray | None) -> FloatArray:
    """Scale every sample to the mean mass; empty samples stay empty."""
    mass = S @ A.sum(axis=0)
    mean = np.average(mass, weights=counts) if mass.any() else 1.0
    scale = np.divide(mean, mass, out=np.ones_like(mass), where=mass > 0)
    return np.ascontiguousarray(S * scale[:, None], dtype=S.dtype)
