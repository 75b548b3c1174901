"""Multiplicative updates of rows."""

from __future__ import annotations

import numpy as np

from cofactor.kernels.rows import (
    EPSILON,
    inlined,
    kernel,
    load_row,
    longest_row,
    matvec,
    pick,
    positive_root,
    row_gram,
)
from cofactor.vectors import axpy


@inlined
def _surrogate_root(q, slope, c, e):
    """The positive root of q·t³ + slope·t² − c·t − e = 0: where the majoriser is smallest."""
    if e <= 0.0:
        if q <= 0.0 and slope > 0.0:  # one logarithmic loss: the classical ratio
            return c / slope
        if c <= 0.0 and q > 0.0:  # one quadratic loss: the classical ratio
            return max(-slope, 0.0) / q
        return positive_root(q, slope, c) if c > 0.0 or slope < 0.0 else 1.0
    if q <= 0.0:  # slope·t² − c·t − e = 0, slope > 0
        return (c + np.sqrt(c * c + 4.0 * slope * e)) / (2.0 * slope) if slope > 0.0 else 1.0
    # Convex and increasing to the right of its largest root: Newton from above never overshoots.
    t = max(1.0, -slope / q, np.sqrt(c / q), 0.0) + (e / q) ** (1.0 / 3.0)
    while q * t * t * t + slope * t * t - c * t - e < 0.0:
        t *= 2.0
    for _ in range(200):
        f = ((q * t + slope) * t - c) * t - e
        d = (3.0 * q * t + 2.0 * slope) * t - c
        new = t - f / d if d > 0.0 else t
        if not new < t:
            break
        t = new
    return t


@inlined
def _surrogate_parts(entries, i, F, indices, x, b, p, epsilon, ratio, c, push, e, u):
    """Write the row's c, q (of the entries), e and u: the numbers of the surrogate, divided by
    v."""
    s, w = entries.start[i], indices.size
    if entries.log.size > 0:
        for m in range(w):
            ratio[m] = x[m] / p[m]
        axpy(ratio, indices, F, c)
    if entries.square.size > 0:
        for m in range(w):
            ratio[m] = b[m] * (p[m] - epsilon)
        axpy(ratio, indices, F, push)
    if entries.inverse.size > 0:
        for m in range(w):
            ratio[m] = entries.inverse[s + m] / (p[m] * p[m])
        axpy(ratio, indices, F, e)
        for m in range(w):
            ratio[m] = entries.concave[s + m] / p[m]
        axpy(ratio, indices, F, u)


@inlined
def _row_slopes(forms, i, up, down):
    """Write the row's upward and downward slopes apart, as the paper's ratio needs them."""
    scales = pick(forms.scales, i)
    for k in range(up.size):
        up[k] = 0.0
        for t in range(forms.ups.shape[0]):
            up[k] += scales[t] * forms.ups[t, k]
        if forms.up.shape[0] > 0:
            up[k] += pick(forms.up, i)[k]
        down[k] = pick(forms.down, i)[k] if forms.down.shape[0] > 0 else 0.0


@kernel
def multiply_rows(V, entries, F, forms, rounds, tolerance, epsilon, ridge):
    """Multiplicative updates of each row: new entry = old entry · t.

    ridge = 0: t minimises the majoriser, which never raises the objective.  ridge > 0: the paper's
    ratio t = (v + c)/(q + u + ridge), literally, with e beside c for the divergence that the paper
    does not have.  ``epsilon`` is added to fitted values.  A row stops at the update that moves it
    by at most ``tolerance`` of its largest entry.  Returns how many rows did not get there.
    """
    n, r = V.shape
    wide = F.shape[1]
    room = longest_row(entries)
    x, b, p, ratio = np.empty(room), np.empty(room), np.empty(room), np.empty(room)
    v, c, e, u, push = (
        np.zeros(wide),
        np.zeros(wide),
        np.zeros(wide),
        np.zeros(wide),
        np.zeros(wide),
    )
    bent, up, down, gram = np.zeros(r), np.empty(r), np.empty(r), np.empty((r, r))
    bends = bool(np.any(forms.grams))
    unfinished = 0
    for i in range(n):
        barrier = pick(forms.barrier, i)
        for k in range(r):
            v[k] = max(V[i, k], EPSILON) if barrier[k] > 0.0 else V[i, k]
        _row_slopes(forms, i, up, down)
        if i == 0 or (bends and forms.scales.shape[0] > 1):
            row_gram(forms, i, gram)
        finished = False
        for _ in range(rounds):
            _, indices = load_row(entries, i, F, v, epsilon, x, b, p)
            _surrogate_parts(entries, i, F, indices, x, b, p, epsilon, ratio, c, push, e, u)
            if bends:
                matvec(gram, v, bent)
            moved, largest = 0.0, 0.0
            for k in range(r):
                q = bent[k] + push[k]
                pull = c[k] + (barrier[k] / v[k] if barrier[k] > 0.0 else 0.0)
                if ridge > 0.0:
                    t = (down[k] + pull + e[k]) / (q + up[k] + u[k] + ridge)
                else:
                    t = _surrogate_root(q, up[k] + u[k] - down[k], pull, e[k])
                new = v[k] * t
                if barrier[k] > 0.0:
                    new = max(new, EPSILON)
                moved = max(moved, abs(new - v[k]))
                largest = max(largest, new)
                v[k] = new
            if moved <= tolerance * largest:
                finished = True
                break
        for k in range(r):
            V[i, k] = v[k]
        unfinished += not finished
    return unfinished
