"""Topics from the leading singular vectors of the data (NNDSVD)."""

from __future__ import annotations

import numpy as np
from scipy import sparse as sp
from sklearn.utils.extmath import randomized_svd

from cofactor._types import FloatArray
from cofactor.guesses.weighted_data import WeightedData


def leading_profiles(data: WeightedData, rank: int, random: np.random.RandomState) -> FloatArray:
    """Return the larger of the positive and the negative part of each right singular vector."""
    layout, shape = data.observations.layout, data.observations.shape
    values = layout.values * np.sqrt(data.counts)[layout.row_numbers()]
    X = sp.csr_array((values, layout.column_numbers(), layout.start), shape=shape)
    U, _, Vt = randomized_svd(X, rank, random_state=random, transpose=False, n_iter=7)
    A = np.empty((shape[1], rank))
    for t in range(rank):
        plus = np.linalg.norm(np.maximum(U[:, t], 0)) * np.linalg.norm(np.maximum(Vt[t], 0))
        minus = np.linalg.norm(np.minimum(U[:, t], 0)) * np.linalg.norm(np.minimum(Vt[t], 0))
        A[:, t] = np.maximum(Vt[t], 0) if plus >= minus else np.maximum(-Vt[t], 0)
    return A
