"""Starts without labels: random topics, or topics from singular vectors (NNDSVD)."""

from __future__ import annotations

import numpy as np
from scipy import sparse as sp
from sklearn.utils.extmath import randomized_svd

from cofactor._types import FloatArray
from cofactor.engine.factors import Factors
from cofactor.engine.objective import Objective
from cofactor.engine.threads import Threads
from cofactor.linear.guess import WeightedData, weigh_data
from cofactor.starts.samples import even_representation, finish_start, positive, positive_rows

POWER_STEPS = 4
"""Power iterations of the singular value decomposition; more cost time and change no fit's end."""
ROUNDING_ERRORS = 10.0
"""Vectors below this many times the rounding errors of the data, as a whole, are noise."""


def plain_start(
    objective: Objective, rank: int, random: np.random.RandomState, kind: str, threads: Threads
) -> Factors:
    """Return a start of the ``kind`` "random" or "nndsvd".

    Targets are random around their means; samples use all topics alike, before they settle.
    """
    data = weigh_data(objective.terms[0].observations, objective.sample_weight, threads)
    A = _profiles(data, rank, random, kind)
    S = positive_rows(even_representation(data.row_sums, A))
    B = None
    if len(objective.terms) > 1:
        size = float(np.average(S.sum(1), weights=data.counts))
        mean = positive(objective.terms[1].observations.column_means(data.counts)) / size
        B = mean[:, None] * random.uniform(0.5, 1.5, size=(len(mean), rank))
    return finish_start(objective, S, A, B, threads)


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


def leading_profiles(data: WeightedData, rank: int, random: np.random.RandomState) -> FloatArray:
    """Return the larger of the positive and the negative part of each right singular vector.

    There are at most ``rank`` of them, and no more than the numerical rank of the data: vectors
    beyond it are noise, which repeated samples and samples of weight zero would change.
    """
    layout, shape = data.observations.layout, data.observations.shape
    values = layout.values * np.sqrt(data.counts)[layout.row_numbers()]
    X = sp.csr_array((values, layout.column_numbers(), layout.start), shape=shape)
    # It draws random numbers for each feature and returns fewer vectors if there are fewer.
    U, size, Vt = randomized_svd(X, rank, random_state=random, transpose=False, n_iter=POWER_STEPS)
    noise = ROUNDING_ERRORS * float(np.linalg.norm(values)) * np.finfo(data.observations.dtype).eps
    pairs = zip(U.T[size > noise], Vt[size > noise], strict=True)
    parts = [_larger_part(u, v) for u, v in pairs]
    return np.array(parts, dtype=np.float64).reshape(len(parts), shape[1]).T


def _larger_part(u: FloatArray, v: FloatArray) -> FloatArray:
    """Return the positive part of v, or of −v where that part of the pair weighs more."""
    plus, minus = (
        np.linalg.norm(np.maximum(sign * u, 0)) * np.linalg.norm(np.maximum(sign * v, 0))
        for sign in (1, -1)
    )
    return np.maximum(v if plus >= minus else -v, 0)
