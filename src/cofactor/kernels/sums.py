"""Sums over rows: values of the objective, products and Gram matrices."""

from __future__ import annotations

import numpy as np

from cofactor.kernels.rows import EPSILON, Entries, inlined, kernel, load_row, longest_row, row_cost
from cofactor.vectors import axpy

BATCH = 64  # rows side by side


@kernel
def gram_blocks(V, weights, bounds, out):
    """out[t] = V' diag(weights) V of block t."""
    for t in range(out.shape[0]):
        low, high = bounds[t], bounds[t + 1]
        gram_rows(V[low:high], weights[low:high], out[t])


@kernel
def sum_blocks(V, weights, bounds, out):
    """out[t] = weights @ V of block t."""
    for t in range(out.shape[0]):
        low, high = bounds[t], bounds[t + 1]
        sum_rows(V[low:high], weights[low:high], out[t])


@kernel
def value_blocks(V, entries, F, weights, bounds, out):
    """out[t] = the value of block t; ``entries`` are those of all rows."""
    for t in range(out.size):
        low, high = bounds[t], bounds[t + 1]
        part = Entries(
            entries.log, entries.square, entries.inverse, entries.concave,
            entries.indices, entries.start[low : high + 1], entries.first[low:high],
        )  # fmt: skip
        out[t] = curved_value(V[low:high], part, F, weights[low:high])


@kernel
def curved_value(V, entries, F, weights):
    """Return Σ_i weight_i Σ_e [−log·log p + ½ square·p² + inverse/p + concave·log p] over a
    block."""
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


@inlined
def _cross_row(values, indices, start, first, i, F, row, out):
    s = start[i]
    w = start[i + 1] - s
    axpy(values[s : s + w], indices[first[i] : first[i] + w], F, row)
    for k in range(out.shape[1]):
        out[i, k] = row[k]


@kernel
def cross_rows(values, indices, start, first, F, out):
    """out[i] = Σ_e values[e] · F[index_e]: a sparse matrix times a factor."""
    row = np.empty(F.shape[1])
    for i in range(out.shape[0]):
        _cross_row(values, indices, start, first, i, F, row, out)


@kernel
def gram_rows(V, weights, out):
    """out = V' diag(weights) V of a block (no weights: ones), in transposed batches."""
    n, r = V.shape
    left, right = np.zeros((r, BATCH)), np.zeros((r, BATCH))
    out[:] = 0.0
    for i in range(0, n, BATCH):
        for j in range(BATCH):
            w = 0.0
            if i + j < n:
                w = weights[i + j] if weights.size > 0 else 1.0
            for k in range(r):
                right[k, j] = V[min(i + j, n - 1), k]
                left[k, j] = w * right[k, j]
        for k in range(r):
            for m in range(k + 1):
                total = 0.0
                for j in range(BATCH):
                    total += left[k, j] * right[m, j]
                out[k, m] += total
    for k in range(r):
        for m in range(k):
            out[m, k] = out[k, m]


@kernel
def sum_rows(V, weights, out):
    """out = weights @ V of a block (no weights: ones)."""
    n, r = V.shape
    out[:] = 0.0
    for i in range(n):
        w = weights[i] if weights.size > 0 else 1.0
        for k in range(r):
            out[k] += w * V[i, k]
