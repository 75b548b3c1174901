"""Coordinate descent on quadratic rows, in transposed batches."""

from __future__ import annotations

import numpy as np

from cofactor.engine.kernels.rows import pick, row_gram, row_linear
from cofactor.engine.kernels.vectors import bare, inlined, kernel

BATCH = 64  # rows of a batch


@bare
def _load_batch(V, forms, i0, count, Vt, Ct, scale, linear):
    for j in range(count):
        row_linear(forms, i0 + j, linear)
        scales = forms.scales[pick(forms.scales, i0 + j)]
        for t in range(scales.size):
            scale[t, j] = scales[t]
        for k in range(linear.size):
            Vt[k, j] = V[i0 + j, k]
            Ct[k, j] = -linear[k]


@bare
def _invert_diagonal(forms, scale, inverse):
    for k in range(inverse.shape[0]):
        for j in range(BATCH):
            total = 0.0
            for t in range(scale.shape[0]):
                total += scale[t, j] * forms.grams[t, k, k]
            inverse[k, j] = 1.0 / total if total > 0.0 else 0.0


@bare
def _subtract_product(row, Vt, out):
    """out −= row @ Vt, four topics at a time."""
    r = row.size
    whole = r // 4 * 4
    for m in range(0, whole, 4):
        a, b, c, d = row[m], row[m + 1], row[m + 2], row[m + 3]
        for j in range(BATCH):
            out[j] -= a * Vt[m, j] + b * Vt[m + 1, j] + c * Vt[m + 2, j] + d * Vt[m + 3, j]
    for m in range(whole, r):
        a = row[m]
        for j in range(BATCH):
            out[j] -= a * Vt[m, j]


@inlined
def _slopes(forms, gram, k, Vt, Ct, scale, part, g):
    """Write minus the gradient of topic k for each row of the batch."""
    for j in range(BATCH):
        g[j] = Ct[k, j]
    if forms.ups.shape[0] == 1:  # all rows share it; the number of rows in a slice must not matter
        _subtract_product(gram[k], Vt, g)
        return
    for t in range(scale.shape[0]):
        part[:] = 0.0
        _subtract_product(forms.grams[t, k], Vt, part)
        for j in range(BATCH):
            g[j] += scale[t, j] * part[j]


@inlined
def _step(v, g, c, inverse, live, top, tolerance, off):
    """Move one topic of every live row to its minimum; raise ``off`` above 0 if it was not there.

    It was there if the slope g is at most ``tolerance`` of its parts, c and c − g.  A small v
    counts in proportion to the largest entry of the row, as in the descent on rows with entries.
    """
    for j in range(BATCH):
        old = v[j]
        size = tolerance * (abs(c[j]) + abs(c[j] - g[j]))
        off[j] = max(off[j], g[j] - size, -g[j] * old - size * top[j])
        # no curvature: only the slope counts, and a rising one sends v to zero
        d = -old if inverse[j] == 0.0 and g[j] < 0.0 else g[j] * inverse[j]
        v[j] = old + max(d, -old) * live[j]


@inlined
def _largest(Vt, top):
    """Write the largest entry of each row."""
    top[:] = 0.0
    for k in range(Vt.shape[0]):
        for j in range(BATCH):
            top[j] = max(top[j], Vt[k, j])


@inlined
def _freeze(live, off):
    """Freeze the rows at their minimum; return the number of the others."""
    left = 0.0
    for j in range(BATCH):
        live[j] = live[j] if off[j] > 0.0 else 0.0
        left += live[j]
    return left


@kernel
def descend_quadratic(V, forms, sweeps, tolerance):
    """Coordinate descent (HALS) on rows without entries.  Inner loops run over the batch's rows.

    A row is frozen after a sweep that found every topic within ``tolerance`` of its minimum.
    Return the number of rows that are not frozen.
    """
    n, r = V.shape
    Vt, Ct, inverse = np.zeros((r, BATCH)), np.zeros((r, BATCH)), np.zeros((r, BATCH))
    g, part, live = np.empty(BATCH), np.empty(BATCH), np.empty(BATCH)
    off, top, scale = np.empty(BATCH), np.empty(BATCH), np.zeros((forms.ups.shape[0], BATCH))
    linear, gram = np.empty(r), np.empty((r, r))
    if n > 0:
        row_gram(forms, 0, gram)
    unfinished = 0
    for i0 in range(0, n, BATCH):
        count = min(BATCH, n - i0)
        for j in range(BATCH):
            live[j] = 1.0 if j < count else 0.0
        _load_batch(V, forms, i0, count, Vt, Ct, scale, linear)
        if i0 == 0 or forms.ups.shape[0] > 1:
            _invert_diagonal(forms, scale, inverse)
        left = float(count)
        for _ in range(sweeps):
            off[:] = 0.0
            _largest(Vt, top)
            for k in range(r):
                _slopes(forms, gram, k, Vt, Ct, scale, part, g)
                _step(Vt[k], g, Ct[k], inverse[k], live, top, tolerance, off)
            left = _freeze(live, off)
            if left == 0.0:
                break
        unfinished += int(left)
        for j in range(count):
            for k in range(r):
                V[i0 + j, k] = Vt[k, j]
    return unfinished
