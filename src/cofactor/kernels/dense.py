"""Small dense matrices: loops along whole rows, without lists of cells.

The other kernels walk over listed cells, each of which fetches a row of the other factor; that is
what sparse data want.  Where every cell counts and the rank is small, it is faster to walk along a
row of the matrix, topic by topic: F is turned (topics × columns), so all loops are contiguous.
"""

from __future__ import annotations

import numpy as np

from cofactor.kernels.rows import (
    EPSILON,
    _weighted_log,
    bare,
    inlined,
    kernel,
    matvec,
    positive_root,
)


@inlined
def _fitted(v, F, epsilon, p):
    """p = epsilon + v @ F, four topics at a time."""
    for j in range(p.size):
        p[j] = epsilon
    k = 0
    while k + 4 <= v.size:
        v0, v1, v2, v3 = v[k], v[k + 1], v[k + 2], v[k + 3]
        for j in range(p.size):
            p[j] += v0 * F[k, j] + v1 * F[k + 1, j] + v2 * F[k + 2, j] + v3 * F[k + 3, j]
        k += 4
    while k < v.size:
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
def dense_ratios(X, F, V, epsilon, out):
    """out[i] = F @ (X[i] / p) with p = epsilon + V[i] @ F."""
    p = np.empty(X.shape[1])
    for i in range(X.shape[0]):
        _fitted(V[i], F, epsilon, p)
        for j in range(p.size):
            p[j] = X[i, j] / p[j]
        _products(p, F, out[i])


@kernel
def dense_logarithms(X, F, V):
    """Return Σ X · log(EPSILON + V @ F)."""
    p, total = np.empty(X.shape[1]), 0.0
    for i in range(X.shape[0]):
        _fitted(V[i], F, EPSILON, p)
        total += _weighted_log(X[i], p, p.size)
    return total


@kernel
def dense_multiply(V, c, down, up, gram, ridge, out):
    """out = V · t, with the ratio t of ``multiply_blocks`` for each entry."""
    bent = np.empty(V.shape[1])
    for i in range(V.shape[0]):
        matvec(gram, V[i], bent)
        for k in range(V.shape[1]):
            q, slope = bent[k], up[k] - down[i, k]
            if ridge > 0.0:
                t = (down[i, k] + c[i, k]) / (q + up[k] + ridge)
            elif q > 0.0 or slope > 0.0:
                t = positive_root(q, slope, c[i, k])
            else:
                t = 1.0
            out[i, k] = V[i, k] * t
