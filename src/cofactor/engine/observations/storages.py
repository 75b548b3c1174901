"""Dense, sparse and masked arrays as ``Observations``, and ``observe``, which picks the storage."""

from __future__ import annotations

import numpy as np
from scipy import sparse as sp

from cofactor._types import FloatArray, IntArray
from cofactor.engine.observations.base import Observations, compressed_layout, full_layout, times


def dense(X: FloatArray) -> Observations:
    """Observe every cell of an array."""
    return Observations((X.shape[0], X.shape[1]), full_layout(X), zeros=True)


def sparse(X: sp.csr_array) -> Observations:
    """List the stored cells; all others are observed zeros."""
    X = canonical(X)
    return Observations((X.shape[0], X.shape[1]), compressed_layout(X), zeros=True)


def masked(X: sp.csr_array, weights: FloatArray | None = None) -> Observations:
    """Observe only the stored cells, explicit zeros included; NaN and weight 0 are missing.

    ``weights`` are those of the stored cells of X, in their order.
    """
    keep = ~np.isnan(X.data)
    if weights is not None:
        keep &= weights > 0
        weights = weights[keep] if not keep.all() else weights
    if not keep.all():
        lengths = np.add.reduceat(np.append(keep, False), X.indptr[:-1]) * (np.diff(X.indptr) > 0)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        X = sp.csr_array((X.data[keep], X.indices[keep], indptr), shape=X.shape)
    return Observations(
        (X.shape[0], X.shape[1]), compressed_layout(X), zeros=False, weights=weights
    )


def canonical(X: sp.csr_array) -> sp.csr_array:
    """Return X with sorted indices, without duplicates and stored zeros.

    The caller's matrix is not changed.
    """
    X = sp.csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if X.nnz and not X.data.all():
        X = X.copy()
        X.eliminate_zeros()
    return X


def _all_cells(X: FloatArray) -> sp.csr_array:
    n, m = X.shape
    indices = np.tile(np.arange(m, dtype=np.int32), n)
    return sp.csr_array((X.reshape(-1), indices, np.arange(n + 1) * m), shape=X.shape)


def _cells_of(X: FloatArray | sp.csr_array, weights: FloatArray | sp.csr_array) -> Observations:
    """List the cells of positive weight."""
    if sp.issparse(weights):
        W = canonical(sp.csr_array(weights))
    else:
        W = canonical(sp.csr_array(np.asarray(weights)))
    rows = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
    if sp.issparse(X):
        values = _lookup(canonical(sp.csr_array(X)), rows, W.indices)
    else:
        values = X[rows, W.indices]
    return masked(sp.csr_array((values, W.indices, W.indptr), shape=W.shape), W.data)


def _lookup(X: sp.csr_array, rows: IntArray, columns: IntArray) -> FloatArray:
    """Return X at the given cells; these and X's own are sorted by row, then column."""
    width = X.shape[1]
    stored = np.repeat(np.arange(X.shape[0], dtype=np.int64), np.diff(X.indptr)) * width + X.indices
    asked = rows.astype(np.int64) * width + columns
    place = np.searchsorted(stored, asked).clip(0, max(len(stored) - 1, 0))
    if not len(stored):
        return np.zeros(len(asked), dtype=X.dtype)
    return np.where(stored[place] == asked, X.data[place], 0).astype(X.dtype)


def observe(
    X: FloatArray | sp.csr_array,
    weights: FloatArray | sp.csr_array | None = None,
    *,
    row_weights: FloatArray | None = None,
    column_weights: FloatArray | None = None,
) -> Observations:
    """Choose the storage of X.  NaN is missing.

    ``weights`` is a matrix of X's shape, or a column (n, 1) or a row (1, m) of weights.  With a
    sparse matrix of weights, only its stored cells are observed.
    """
    if weights is not None and not sp.issparse(weights) and 1 in weights.shape != X.shape:
        if weights.shape[0] == X.shape[0]:
            row_weights = times(row_weights, np.asarray(weights)[:, 0])
        else:
            column_weights = times(column_weights, np.asarray(weights)[0])
        weights = None
    return _store(X, weights).weighted(row_weights, column_weights)


def _store(X: FloatArray | sp.csr_array, weights: FloatArray | sp.csr_array | None) -> Observations:
    if weights is not None:
        return _cells_of(X, weights)
    if sp.issparse(X):
        if np.isnan(X.data).any():
            raise _stored_nan(canonical(X))
        return sparse(X)
    return masked(_all_cells(X)) if np.isnan(X).any() else dense(X)


def _stored_nan(X: sp.csr_array) -> ValueError:
    # Zeros are observed, so every cell but the missing ones would have to be listed.
    return ValueError(
        f"X is sparse and has {int(np.isnan(X.data).sum())} stored NaN among observed zeros, "
        f"which would need an array of {X.shape[0]}×{X.shape[1]} cells; pass data_weights as a "
        "sparse matrix that stores the observed cells, or a dense X."
    )
