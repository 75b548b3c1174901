"""Starts that know no labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse as sp
from sklearn.utils.extmath import randomized_svd

from cofactor._types import FloatArray
from cofactor.engine.factors import Factors
from cofactor.engine.objective import Objective
from cofactor.engine.threads import Threads
from cofactor.guesses.weighted_data import Data, weighed
from cofactor.starts.shared import (
    even_representation,
    finish,
    positive,
    positive_rows,
    settle,
)


def plain_start(
    objective: Objective, rank: int, random: np.random.RandomState, kind: str, threads: Threads
) -> Factors:
    """``random`` or ``nndsvd`` topics, even samples, random targets."""
    data = weighed(objective.terms[0].observations, objective.sample_weight, threads)
    A = _profiles(data, rank, random, kind)
    S = positive_rows(even_representation(data.row_sums, A))
    B = None
    if len(objective.terms) > 1:
        size = float(np.average(S.sum(1), weights=data.counts))
        mean = positive(objective.terms[1].observations.column_means(data.counts)) / size
        B = mean[:, None] * random.uniform(0.5, 1.5, size=(len(mean), rank))
    return finish(objective, S, A, B, threads)


def settled_samples(objective: Objective, start: Factors, threads: Threads) -> FloatArray:
    """Return samples for topics that others started: even ones, after a step that sees the data
    only."""
    data = weighed(objective.terms[0].observations, objective.sample_weight, threads)
    even = positive_rows(even_representation(data.row_sums, start.features))
    S = np.ascontiguousarray(even, dtype=start.features.dtype)
    return settle(objective, replace(start, samples=S), threads)


def _profiles(data: Data, rank: int, random: np.random.RandomState, kind: str) -> FloatArray:
    """Return topics (features × rank) whose columns have the corpus' mass."""
    means = positive(data.means)
    A = means[:, None] * random.uniform(size=(len(means), rank))
    if kind == "nndsvd":
        leading = _leading_profiles(data, min(rank, *data.observations.shape), random)
        A[:, : leading.shape[1]] = leading * (means.sum() / np.maximum(leading.sum(axis=0), 1e-12))
    return positive(A)


def _leading_profiles(data: Data, rank: int, random: np.random.RandomState) -> FloatArray:
    """Return the dominant nonnegative part of each leading right singular vector (NNDSVD)."""
    layout, shape = data.observations.layout, data.observations.shape
    values = layout.values * np.sqrt(data.counts)[layout.rows()]
    X = sp.csr_array((values, layout.columns(), layout.start), shape=shape)
    U, _, Vt = randomized_svd(X, rank, random_state=random, transpose=False, n_iter=7)
    A = np.empty((shape[1], rank))
    for t in range(rank):
        plus = np.linalg.norm(np.maximum(U[:, t], 0)) * np.linalg.norm(np.maximum(Vt[t], 0))
        minus = np.linalg.norm(np.minimum(U[:, t], 0)) * np.linalg.norm(np.minimum(Vt[t], 0))
        A[:, t] = np.maximum(Vt[t], 0) if plus >= minus else np.maximum(-Vt[t], 0)
    return A
