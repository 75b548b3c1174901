"""Heads: how representations and features become predictions.

The target factor B turns representations into fitted targets ("joint", "refit"). The pooled head
adds what the features say and what the topics say; both are linear, so explanations add up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cofactor._types import BoolArray, FloatArray
from cofactor.engine.factors import Factors
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import Observations
from cofactor.engine.threads import Threads
from cofactor.estimators.inference import represent, solve_rows, topic_shares
from cofactor.guesses.linear import LinearModel
from cofactor.guesses.matrix import Matrix
from cofactor.guesses.pool import Pool
from cofactor.guesses.views import View

TOPIC_WEIGHT = 0.3
"""Weight of the topics' part in the pooled scores."""
RARE = 0.02
"""Added to the share of each class in a topic, so that its logarithm stays moderate."""
ABSENT = -1e3
"""Score of a class without a labelled sample of positive weight."""


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


@dataclass(frozen=True, eq=False)
class PooledHead:
    """Scores of exclusive classes: features and topics add up; softmax makes them probabilities.

    Parameters
    ----------
    view : View
        What the linear model of the features sees.
    weights : array (m, c)
        What each feature of the view adds to the score of each class.
    base : array (c,)
        The score of an empty sample.
    topics : array (r, c)
        What a sample that is all one topic gets from that topic.
    """

    view: View
    weights: FloatArray
    base: FloatArray
    topics: FloatArray

    def scores(
        self, data: Observations, S: FloatArray, components: FloatArray, threads: Threads
    ) -> FloatArray:
        """Return the scores of samples, given their data and representations in our units."""
        words = LinearModel(self.weights, self.base).scores(Matrix(self.view.of(data), threads))
        return words + topic_shares(S, components) @ self.topics


def pooled_head(pool: Pool, A: FloatArray, B: FloatArray, present: FloatArray) -> PooledHead:
    """Return the head of a pool and the topics' shares in the classes.

    ``present`` (c, k) are the pool's classes among the columns of the targets; others, which no
    sample of positive weight has, cannot be predicted.
    """
    shares = B.T / np.maximum(A.sum(axis=0, dtype=np.float64), 1e-300)[:, None]
    shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    topics = np.log(shares @ present.T + RARE)
    topics = TOPIC_WEIGHT * (topics - topics.mean(axis=1, keepdims=True))
    absent = np.where(present.any(axis=0), 0.0, ABSENT)
    weights, base = pool.model
    weights, base = weights - weights.mean(axis=1, keepdims=True), base - base.mean()
    return PooledHead(pool.view, weights @ present, base @ present + absent, topics @ present)
