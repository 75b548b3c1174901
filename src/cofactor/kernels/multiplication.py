"""Multiplicative updates of rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cofactor.kernels.rows import (
    EPSILON,
    add_costs,
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


class Row(NamedTuple):
    """Scratch space for the row at hand; c, push, e and u are the surrogate's, divided by v."""

    v: Any
    x: Any
    b: Any
    p: Any
    ratio: Any
    c: Any
    push: Any
    e: Any
    u: Any
    bent: Any
    up: Any
    down: Any
    gram: Any


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
def _surrogate_parts(row, entries, i, F, indices, epsilon):
    """Write the row's c, q (of the entries), e and u: the numbers of the surrogate, divided by
    v."""
    s, x, b, p, ratio = entries.start[i], row.x, row.b, row.p, row.ratio
    w = indices.size
    if entries.log.size > 0:
        for m in range(w):
            ratio[m] = x[m] / p[m]
        axpy(ratio, indices, F, row.c)
    if entries.square.size > 0:
        for m in range(w):
            ratio[m] = b[m] * (p[m] - epsilon)
        axpy(ratio, indices, F, row.push)
    if entries.inverse.size > 0:
        for m in range(w):
            ratio[m] = entries.inverse[s + m] / (p[m] * p[m])
        axpy(ratio, indices, F, row.e)
        for m in range(w):
            ratio[m] = entries.concave[s + m] / p[m]
        axpy(ratio, indices, F, row.u)


@inlined
def _row_slopes(forms, i, up, down):
    """Write the row's upward and downward slopes apart, as the paper's ratio needs them."""
    scales = forms.scales[pick(forms.scales, i)]
    for k in range(up.size):
        up[k] = 0.0
        for t in range(forms.ups.shape[0]):
            up[k] += scales[t] * forms.ups[t, k]
        if forms.up.shape[0] > 0:
            up[k] += forms.up[pick(forms.up, i), k]
        if forms.down.shape[0] > 0:
            down[k] = forms.down[pick(forms.down, i), k]


@inlined
def _multiply_row(row, V, i, entries, F, forms, rounds, tolerance, epsilon, ridge, bends):
    """Update row i; return whether it came to the tolerance."""
    v, barrier = row.v, forms.barrier[pick(forms.barrier, i)]
    r = V.shape[1]
    for k in range(r):
        v[k] = max(V[i, k], EPSILON) if barrier[k] > 0.0 else V[i, k]
    _row_slopes(forms, i, row.up, row.down)
    if bends and (i == 0 or forms.scales.shape[0] > 1):
        row_gram(forms, i, row.gram)
    finished = False
    for _ in range(rounds):
        _, first, last = load_row(entries, i, F, v, epsilon, row.x, row.b, row.p)
        _surrogate_parts(row, entries, i, F, entries.indices[first:last], epsilon)
        if bends:
            matvec(row.gram, v, row.bent)
        moved, largest = 0.0, 0.0
        for k in range(r):
            q = row.bent[k] + row.push[k]
            pull = row.c[k] + (barrier[k] / v[k] if barrier[k] > 0.0 else 0.0)
            up = row.up[k] + row.u[k]
            if ridge > 0.0:
                t = (row.down[k] + pull + row.e[k]) / (q + up + ridge)
            else:
                t = _surrogate_root(q, up - row.down[k], pull, row.e[k])
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
    return finished


@kernel
def _scratch(r, wide, room):
    return Row(
        np.zeros(wide), np.zeros(room), np.zeros(room), np.empty(room), np.empty(room),
        np.zeros(wide), np.zeros(wide), np.zeros(wide), np.zeros(wide),
        np.zeros(r), np.zeros(r), np.zeros(r), np.empty((r, r)),
    )  # fmt: skip


@kernel
def multiply_rows(V, entries, F, forms, rounds, tolerance, epsilon, ridge):
    """Multiplicative updates of each row: new entry = old entry · t.

    ridge = 0: t minimises the majoriser, which never raises the objective.  ridge > 0: the paper's
    ratio t = (v + c)/(q + u + ridge), literally, with e beside c for the divergence that the paper
    does not have.  ``epsilon`` is added to fitted values.  A row stops at the update that moves it
    by at most ``tolerance`` of its largest entry.  Returns how many rows did not get there.
    """
    bounds, none = np.array([0, V.shape[0]]), np.empty((1, 0))
    return multiply_blocks(
        V, entries, F, forms, rounds, tolerance, epsilon, ridge, np.empty(0), 0, bounds, none
    )


@kernel
def multiply_blocks(
    V, entries, F, forms, rounds, tolerance, epsilon, ridge, weights, split, bounds, costs
):
    """Do the same, and write the weighted costs of each block's entries after it to ``costs``, as
    ``descend_blocks`` does."""
    row = _scratch(V.shape[1], F.shape[1], longest_row(entries))
    bends = bool(np.any(forms.grams))
    unfinished = V.shape[0]
    costs[:] = 0.0
    for t in range(bounds.size - 1):
        for i in range(bounds[t] - bounds[0], bounds[t + 1] - bounds[0]):
            unfinished -= _multiply_row(
                row, V, i, entries, F, forms, rounds, tolerance, epsilon, ridge, bends
            )
            if costs.size > 0:  # the row's part of F is still near
                load_row(entries, i, F, row.v, EPSILON, row.x, row.b, row.p)
                weight = weights[i] if weights.size > 0 else 1.0
                add_costs(entries, i, row.x, row.b, row.p, weight, split, costs[t])
    return unfinished
