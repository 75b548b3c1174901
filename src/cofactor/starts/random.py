"""Starts without labels: random topics, or topics from singular vectors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cofactor._types import FloatArray
from cofactor.engine.factors import Factors
from cofactor.engine.objective import Objective
from cofactor.engine.threads import Threads
from cofactor.linear.weighted_data import WeightedData, weigh
from cofactor.starts.shared import even_representation, finish, positive, positive_rows, settle
from cofactor.starts.svd import leading_profiles


def plain_start(
    objective: Objective, rank: int, random: np.random.RandomState, kind: str, threads: Threads
) -> Factors:
    """Return a start of the ``kind`` "random" or "nndsvd".

    Targets are random around their means; samples use all topics alike, before they settle.
    """
    data = weigh(objective.terms[0].observations, objective.sample_weight, threads)
    A = _profiles(data, rank, random, kind)
    S = positive_rows(even_representation(data.row_sums, A))
    B = None
    if len(objective.terms) > 1:
        size = float(np.average(S.sum(1), weights=data.counts))
        mean = positive(objective.terms[1].observations.column_means(data.counts)) / size
        B = mean[:, None] * random.uniform(0.5, 1.5, size=(len(mean), rank))
    return finish(objective, S, A, B, threads)


def settled_samples(objective: Objective, start: Factors, threads: Threads) -> FloatArray:
    """Return samples for the topics of ``start``: even ones, after a step on the data alone."""
    data = weigh(objective.terms[0].observations, objective.sample_weight, threads)
    even = positive_rows(even_representation(data.row_sums, start.features))
    S = np.ascontiguousarray(even, dtype=start.features.dtype)
    return settle(objective, replace(start, samples=S), threads)


def _profiles(
    data: WeightedData, rank: int, random: np.random.RandomState, kind: str
) -> FloatArray:
    """Return positive topics (features × rank); columns sum to about the mean sample's sum."""
    means = positive(data.means)
    A = means[:, None] * random.uniform(size=(len(means), rank))
    if kind == "nndsvd":
        leading = leading_profiles(data, rank, random)
        A[:, : leading.shape[1]] = leading * (means.sum() / np.maximum(leading.sum(axis=0), 1e-12))
    return positive(A)
