"""Small dense matrices: loops along whole rows, without lists of cells.

The other kernels walk over listed cells, each of which fetches a row of the other factor; that is
what sparse data want.  Where every cell counts and the rank is small, it is faster to walk along a
row of the matrix, topic by topic: F is turned (topics × columns), so all loops are contiguous.
"""

from __future__ import annotations

import numpy as np

from cofactor.engine.kernels.rows import EPSILON, _weighted_log
from cofactor.engine.kernels.vectors import bare, inlined, kernel


@inlined
def _fitted(v, F, epsilon, p):
    """p = epsilon + v @ F, four topics at a time; v may be padded."""
    for j in range(p.size):
        p[j] = epsilon
    k = 0
    while k + 4 <= F.shape[0]:
        v0, v1, v2, v3 = v[k], v[k + 1], v[k + 2], v[k + 3]
        for j in range(p.size):
            p[j] += v0 * F[k, j] + v1 * F[k + 1, j] + v2 * F[k + 2, j] + v3 * F[k + 3, j]
        k += 4
    while k < F.shape[0]:
        v0 = v[k]
        for j in range(p.size):
            p[j] += v0 * F[k, j]
        k += 1


@bare
def _products(x, F, out):
    """out = F @ x, four topics at a time."""
    k = 0
    while k + 4 <= out.size:
        t0 = t1 = t2 = t3 = 0.0
        for j in range(x.size):
            t0 += x[j] * F[k, j]
            t1 += x[j] * F[k + 1, j]
            t2 += x[j] * F[k + 2, j]
            t3 += x[j] * F[k + 3, j]
        out[k], out[k + 1], out[k + 2], out[k + 3] = t0, t1, t2, t3
        k += 4
    while k < out.size:
        t0 = 0.0
        for j in range(x.size):
            t0 += x[j] * F[k, j]
        out[k] = t0
        k += 1


@kernel
def dense_products(X, F, out):
    """out[i] = F @ X[i]."""
    for i in range(X.shape[0]):
        _products(X[i], F, out[i])


@kernel
def dense_surrogate(X, F, V, epsilon, bounds, out, costs):
    """out[i] = F @ (X[i] / p) with p = epsilon + V[i] @ F; −Σ X·log p of each block, if there is
    room for ``costs``."""
    p, q = np.empty(X.shape[1]), np.empty(X.shape[1])
    for t in range(bounds.size - 1):
        total = 0.0
        for i in range(bounds[t] - bounds[0], bounds[t + 1] - bounds[0]):
            _fitted(V[i], F, epsilon, p)
            for j in range(p.size):
                q[j] = X[i, j] / p[j]
            _products(q, F, out[i])
            if costs.size > 0:
                for j in range(p.size):
                    p[j] += EPSILON - epsilon
                total -= _weighted_log(X[i], p, p.size)
        if costs.size > 0:
            costs[t] = total
