"""Coordinate descent on rows that are quadratic, in transposed batches."""

from __future__ import annotations

import numpy as np

from cofactor.kernels.rows import kernel, pick, row_gram, row_linear

BATCH = 64  # rows side by side


@kernel
def _load_batch(V, forms, i0, count, Vt, Ct, scale, linear):
    for j in range(count):
        row_linear(forms, i0 + j, linear)
        scales = pick(forms.scales, i0 + j)
        for t in range(scales.size):
            scale[t, j] = scales[t]
        for k in range(linear.size):
            Vt[k, j] = V[i0 + j, k]
            Ct[k, j] = -linear[k]


@kernel
def _invert_diagonal(forms, scale, inverse):
    for k in range(inverse.shape[0]):
        for j in range(BATCH):
            total = 0.0
            for t in range(scale.shape[0]):
                total += scale[t, j] * forms.grams[t, k, k]
            inverse[k, j] = 1.0 / total if total > 0.0 else 0.0


@kernel
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


@kernel
def descend_quadratic(V, forms, sweeps, tolerance):
    """Coordinate descent (HALS) on rows without curved entries, in transposed batches: loops run
    over rows.

    A row is frozen after a sweep that moved it by at most ``tolerance`` of its largest entry.
    Returns how many rows did not get there.
    """
    n, r = V.shape
    n_forms = forms.ups.shape[0]
    shared = forms.scales.shape[0] == 1
    Vt, Ct, inverse = np.zeros((r, BATCH)), np.zeros((r, BATCH)), np.zeros((r, BATCH))
    g, part, moved, top, live = (
        np.empty(BATCH),
        np.empty(BATCH),
        np.empty(BATCH),
        np.empty(BATCH),
        np.empty(BATCH),
    )
    scale = np.zeros((n_forms, BATCH))
    linear, gram = np.empty(r), np.empty((r, r))
    if n > 0:
        row_gram(forms, 0, gram)
    unfinished = 0
    for i0 in range(0, n, BATCH):
        count = min(BATCH, n - i0)
        for j in range(BATCH):
            live[j] = 1.0 if j < count else 0.0
        _load_batch(V, forms, i0, count, Vt, Ct, scale, linear)
        if i0 == 0 or not shared:
            _invert_diagonal(forms, scale, inverse)
        for _s in range(sweeps):
            for j in range(BATCH):
                moved[j] = 0.0
                top[j] = 0.0
            for k in range(r):
                for j in range(BATCH):
                    g[j] = Ct[k, j]
                if shared:
                    _subtract_product(gram[k], Vt, g)
                else:
                    for t in range(n_forms):
                        for j in range(BATCH):
                            part[j] = 0.0
                        _subtract_product(forms.grams[t, k], Vt, part)
                        for j in range(BATCH):
                            g[j] += scale[t, j] * part[j]
                for j in range(BATCH):
                    old = Vt[k, j]
                    d = g[j] * inverse[k, j]
                    # no curvature: only the slope counts, and a rising one sends v to zero
                    d = -old if inverse[k, j] == 0.0 and g[j] < 0.0 else d
                    d = max(d, -old) * live[j]
                    Vt[k, j] = old + d
                    moved[j] = max(moved[j], abs(d))
                    top[j] = max(top[j], old + d)
            for j in range(BATCH):
                live[j] = live[j] if moved[j] > tolerance * top[j] else 0.0
            total = 0.0
            for j in range(BATCH):
                total += live[j]
            if total == 0.0:
                break
        for j in range(count):
            unfinished += live[j] > 0.0
            for k in range(r):
                V[i0 + j, k] = Vt[k, j]
    return unfinished
