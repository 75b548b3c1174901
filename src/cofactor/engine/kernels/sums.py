"""Sums over rows: values of the objective, matrix products and Gram matrices."""

from __future__ import annotations

import numpy as np

from cofactor.engine.kernels.rows import EPSILON, Entries, load_row, longest_row, row_cost
from cofactor.engine.kernels.vectors import inlined, kernel, outer, put_rows


@kernel
def widen(F, out):
    """Copy F to the first columns of ``out``, and zeros to the others."""
    r = F.shape[1]
    for i in range(F.shape[0]):
        for k in range(r):
            out[i, k] = F[i, k]
        for k in range(r, out.shape[1]):
            out[i, k] = 0.0


@kernel
def gram_slices(F, weights, bounds, out):
    """out[t] = F' diag(weights) F over slice t of a padded factor."""
    for t in range(out.shape[0]):
        low, high = bounds[t], bounds[t + 1]
        gram_rows(F[low:high], weights[low:high], out[t])


@kernel
def sum_slices(V, weights, bounds, out):
    """out[t] = weights @ V over slice t."""
    for t in range(out.shape[0]):
        low, high = bounds[t], bounds[t + 1]
        sum_rows(V[low:high], weights[low:high], out[t])


@kernel
def inner_slices(V, other, weights, bounds, out):
    """out[t] = Σ weights · V · other over slice t."""
    for t in range(out.size):
        total = 0.0
        for i in range(bounds[t], bounds[t + 1]):
            row = 0.0
            for k in range(other.shape[1]):
                row += V[i, k] * other[i, k]
            total += row * weights[i] if weights.size > 0 else row
        out[t] = total


@kernel
def value_slices(V, entries, F, weights, bounds, out):
    """out[t] = the cost of the entries of slice t; ``entries`` are those of all rows."""
    for t in range(out.size):
        low, high = bounds[t], bounds[t + 1]
        part = Entries(
            entries.log,
            entries.square,
            entries.inverse,
            entries.concave,
            entries.indices,
            entries.start[low : high + 1],
            entries.first[low:high],
        )
        out[t] = curved_value(V[low:high], part, F, weights[low:high])


@kernel
def curved_value(V, entries, F, weights):
    """Return Σ_i weight_i Σ_e [−log·log p + ½ square·p² + inverse/p + concave·log p]."""
    room = longest_row(entries)
    v, x, b, p = np.zeros(F.shape[1]), np.empty(room), np.empty(room), np.empty(room)
    total = 0.0
    for i in range(V.shape[0]):
        for k in range(V.shape[1]):
            v[k] = V[i, k]
        row = _row_value(entries, i, F, v, x, b, p)
        total += row * (weights[i] if weights.size > 0 else 1.0)
    return total


@inlined
def _row_value(entries, i, F, v, x, b, p):
    load_row(entries, i, F, v, EPSILON, x, b, p)
    s = entries.start[i]
    w = entries.start[i + 1] - s
    total = row_cost(entries, x, b, p, 0, w)
    if entries.inverse.size > 0:
        for e in range(w):
            total += entries.inverse[s + e] / p[e] + entries.concave[s + e] * np.log(p[e])
    return total


@kernel
def cross_rows(values, indices, start, first, F, out):
    """out[i] = Σ_e values[e] · F[index_e]: a sparse matrix times a factor."""
    row = np.empty(F.shape[1])
    for i in range(out.shape[0]):
        s = start[i]
        put_rows(1.0, values, s, indices, first[i], start[i + 1] - s, F, row)
        for k in range(out.shape[1]):
            out[i, k] = row[k]


@kernel
def gram_rows(F, weights, out):
    """out = F' diag(weights) F of a padded factor; no weights stand for ones."""
    wide, left = np.empty((F.shape[1], F.shape[1])), F
    if weights.size > 0:
        left = np.empty(F.shape)
        for i in range(F.shape[0]):
            for k in range(F.shape[1]):
                left[i, k] = weights[i] * F[i, k]
    outer(left, F, wide)
    for k in range(out.shape[0]):
        for m in range(k, out.shape[0]):
            out[k, m] = out[m, k] = wide[k, m]


@kernel
def sum_rows(V, weights, out):
    """out = weights @ V; no weights stand for ones."""
    out[:] = 0.0
    for i in range(V.shape[0]):
        w = weights[i] if weights.size > 0 else 1.0
        for k in range(out.size):
            out[k] += w * V[i, k]
