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
    pick,
    positive_root,
    row_gram,
)
from cofactor.vectors import axpy, ratios


class Row(NamedTuple):
    """Scratch space for the row at hand; c, push, e and u are the surrogate's, divided by v."""

    v: Any
    t: Any
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
    """As wide as rows of F."""
    topics: Any
    """0, 1, ..., the rows of ``gram``."""


class Kind(NamedTuple):
    """What a problem is made of."""

    bends: Any
    """Whether it has a quadratic form."""
    barred: Any
    curved: Any
    """Whether anything but logarithms and slopes plays a part."""
    logarithmic: Any
    """Whether anything but squares and slopes plays a part."""
    shared: Any
    """Whether all rows have the same upward slopes."""


@inlined
def _surrogate_root(q, slope, c, e):
    """The positive root of q·t³ + slope·t² − c·t − e = 0: where the majoriser is smallest."""
    if e <= 0.0:
        return positive_root(q, slope, c) if q > 0.0 or slope > 0.0 else 1.0
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
def _surrogate_parts(row, entries, i, F, epsilon):
    """Write the row's c, q (of the entries), e and u: the numbers of the surrogate, divided by
    v."""
    s, first = entries.start[i], entries.first[i]
    w = entries.start[i + 1] - s
    indices, b, p, ratio = entries.indices[first : first + w], row.b, row.p, row.ratio
    if entries.log.size > 0:
        ratios(row.v, entries.log[s : s + w], indices, F, epsilon, p, ratio, row.c)
    else:
        load_row(entries, i, F, row.v, epsilon, row.x, b, p)
    if entries.square.size > 0:
        for m in range(w):
            ratio[m] = entries.square[s + m] * (p[m] - epsilon)
        axpy(ratio, indices, F, row.push)
    if entries.inverse.size > 0:
        for m in range(w):
            ratio[m] = entries.inverse[s + m] / (p[m] * p[m])
        axpy(ratio, indices, F, row.e)
        for m in range(w):
            ratio[m] = entries.concave[s + m] / p[m]
        axpy(ratio, indices, F, row.u)


@inlined
def _row_slopes(forms, i, shared, up, down):
    """Write the row's upward and downward slopes apart, as the paper's ratio needs them."""
    if i == 0 or not shared:
        scales = forms.scales[pick(forms.scales, i)]
        up[:] = 0.0
        for t in range(forms.ups.shape[0]):
            for k in range(up.size):
                up[k] += scales[t] * forms.ups[t, k]
        if forms.up.shape[0] > 0:
            for k in range(up.size):
                up[k] += forms.up[pick(forms.up, i), k]
    if forms.down.shape[0] > 0:
        for k in range(up.size):
            down[k] = forms.down[pick(forms.down, i), k]


@inlined
def _paper_ratios(row, ridge):
    """Write the paper's ratio of each topic, literally."""
    for k in range(row.up.size):
        pull = row.down[k] + row.c[k] + row.e[k]
        row.t[k] = pull / (row.bent[k] + row.push[k] + row.up[k] + row.u[k] + ridge)


@inlined
def _surrogate_ratios(row, kind):
    """Write where the majoriser of each topic is smallest; one kind of loss has a closed form."""
    up, down, c, e, u, t = row.up, row.down, row.c, row.e, row.u, row.t
    if not kind.curved:
        for k in range(up.size):
            slope = up[k] + u[k] - down[k]
            t[k] = c[k] / slope if slope > 0.0 else 1.0
    elif not kind.logarithmic:
        for k in range(up.size):
            slope, q = up[k] - down[k], row.bent[k] + row.push[k]
            ratio = max(-slope, 0.0) / (q if q > 0.0 else 1.0)
            t[k] = ratio if q > 0.0 or slope > 0.0 else 1.0
    else:
        for k in range(up.size):
            q = row.bent[k] + row.push[k]
            t[k] = _surrogate_root(q, up[k] + u[k] - down[k], c[k], e[k])


@inlined
def _apply_ratios(v, t, tolerance):
    """Multiply the row by its ratios; return whether that hardly moved it."""
    moved, total = 0.0, 0.0
    for k in range(t.size):
        new = v[k] * t[k]
        moved += abs(new - v[k])
        total += new
        v[k] = new
    return moved <= tolerance * total


@inlined
def _multiply_row(row, V, i, entries, F, forms, kind, rounds, tolerance, epsilon, ridge):
    """Update row i; return whether it came to the tolerance."""
    v, barrier, r = row.v, forms.barrier[pick(forms.barrier, i)], V.shape[1]
    for k in range(r):
        v[k] = V[i, k]
    _row_slopes(forms, i, kind.shared, row.up, row.down)
    if kind.bends and (i == 0 or forms.scales.shape[0] > 1):
        row_gram(forms, i, row.gram)
    finished = False
    for _ in range(rounds):
        if kind.barred:
            for k in range(r):
                v[k] = max(v[k], EPSILON) if barrier[k] > 0.0 else v[k]
        _surrogate_parts(row, entries, i, F, epsilon)
        if kind.bends:
            axpy(v, row.topics, row.gram, row.bent)
        if kind.barred:
            for k in range(r):
                c = row.c[k] if entries.log.size > 0 else 0.0
                row.c[k] = c + (barrier[k] / v[k] if barrier[k] > 0.0 else 0.0)
        if ridge > 0.0:
            _paper_ratios(row, ridge)
        else:
            _surrogate_ratios(row, kind)
        if _apply_ratios(v, row.t, tolerance):
            finished = True
            break
    for k in range(r):
        V[i, k] = max(v[k], EPSILON) if barrier[k] > 0.0 else v[k]
    return finished


@kernel
def _scratch(r, wide, room):
    return Row(
        np.zeros(wide), np.zeros(r),
        np.zeros(room), np.zeros(room), np.empty(room), np.empty(room),
        np.zeros(wide), np.zeros(wide), np.zeros(wide), np.zeros(wide), np.zeros(wide),
        np.zeros(r), np.zeros(r), np.zeros((r, wide)), np.arange(r).astype(np.int32),
    )  # fmt: skip


@kernel
def _kind(entries, forms):
    bends, barred = bool(np.any(forms.grams)), bool(np.any(forms.barrier))
    return Kind(
        bends,
        barred,
        bends or entries.square.size > 0 or entries.inverse.size > 0,
        barred or entries.log.size > 0 or entries.inverse.size > 0,
        max(forms.scales.shape[0], forms.up.shape[0]) <= 1,
    )


@kernel
def multiply_blocks(
    V, entries, F, forms, rounds, tolerance, epsilon, ridge, weights, split, bounds, costs
):
    """Multiplicative updates of each row: new entry = old entry · t.

    ridge = 0: t minimises the majoriser, which never raises the objective.  ridge > 0: the paper's
    ratio t = (v + c)/(q + u + ridge), literally, with e beside c for the divergence that the paper
    does not have.  ``epsilon`` is added to fitted values.  A row stops at the update that moves it
    by at most ``tolerance`` of its length.  Returns how many rows did not get there.

    ``costs`` are written as by ``descend_blocks``.
    """
    row = _scratch(V.shape[1], F.shape[1], longest_row(entries))
    kind = _kind(entries, forms)
    unfinished = V.shape[0]
    costs[:] = 0.0
    for t in range(bounds.size - 1):
        for i in range(bounds[t] - bounds[0], bounds[t + 1] - bounds[0]):
            unfinished -= _multiply_row(
                row, V, i, entries, F, forms, kind, rounds, tolerance, epsilon, ridge
            )
            if costs.size > 0:  # the row's part of F is still near
                load_row(entries, i, F, row.v, EPSILON, row.x, row.b, row.p)
                weight = weights[i] if weights.size > 0 else 1.0
                add_costs(entries, i, row.x, row.b, row.p, weight, split, costs[t])
    return unfinished
