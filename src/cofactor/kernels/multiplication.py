"""Multiplicative updates of rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cofactor.kernels.rows import (
    EPSILON,
    inlined,
    kernel,
    load_row,
    longest_row,
    padded_length,
    pick,
    positive_root,
    row_cost,
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
    wide: Any


class Slopes(NamedTuple):
    """Linear entries of a block of rows: Σ_e weight·values_e·F[index_e] is a row's downward slope.

    No rows: no slopes.
    """

    values: Any
    indices: Any
    start: Any
    first: Any
    F: Any
    weight: Any


class Parts(NamedTuple):
    """The entries' numbers of the surrogate for each row, divided by v; no rows: none of them."""

    c: Any
    push: Any
    e: Any
    u: Any


class Kind(NamedTuple):
    """What a problem is made of."""

    bends: Any
    """Whether it has a quadratic form."""
    barred: Any
    curved: Any
    """Whether anything but logarithms and slopes plays a part."""
    logarithmic: Any
    """Whether anything but squares and slopes plays a part."""
    listed: Any
    """Whether it has entries of its own."""
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
def _row_slopes(forms, slopes, i, shared, up, down, wide):
    """Write the row's upward and downward slopes apart, as the paper's ratio needs them."""
    if i == 0 or not shared:
        scales = forms.scales[pick(forms.scales, i)]
        up[:] = 0.0
        for t in range(forms.ups.shape[0]):
            for k in range(forms.ups.shape[1]):
                up[k] += scales[t] * forms.ups[t, k]
        if forms.up.shape[0] > 0:
            for k in range(forms.ups.shape[1]):
                up[k] += forms.up[pick(forms.up, i), k]
    if forms.down.shape[0] > 0:
        for k in range(forms.ups.shape[1]):
            down[k] = forms.down[pick(forms.down, i), k]
    elif slopes[0].first.size > 0:
        _sum_slopes(slopes[0], i, down)
        if slopes[1].first.size > 0:
            _sum_slopes(slopes[1], i, wide)
            for k in range(up.size):
                down[k] = slopes[0].weight * down[k] + slopes[1].weight * wide[k]
        elif slopes[0].weight != 1.0:
            for k in range(up.size):
                down[k] *= slopes[0].weight


@inlined
def _sum_slopes(part, i, out):
    s, first = part.start[i], part.first[i]
    w = part.start[i + 1] - s
    axpy(part.values[s : s + w], part.indices[first : first + w], part.F, out)


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
    """Multiply the row by its ratios; return whether that hardly moved it, if anyone asks."""
    if tolerance == 0.0:
        for k in range(t.size):
            v[k] *= t[k]
        return False
    moved, total = 0.0, 0.0
    for k in range(t.size):
        new = v[k] * t[k]
        moved += abs(new - v[k])
        total += new
        v[k] = new
    return moved <= tolerance * total


@inlined
def _update(row, barrier, kind, r, tolerance, ridge):
    """Update the row at hand, whose entries' numbers are known; return whether it hardly moved."""
    v = row.v
    if kind.bends:
        axpy(v, row.topics, row.gram, row.bent)
    if kind.barred:
        for k in range(r):
            row.c[k] += barrier[k] / v[k] if barrier[k] > 0.0 else 0.0
    if ridge > 0.0:
        _paper_ratios(row, ridge)
    else:
        _surrogate_ratios(row, kind)
    return _apply_ratios(v, row.t, tolerance)


@inlined
def _lift(v, barrier, r):
    """Keep entries with a logarithmic prior away from zero."""
    for k in range(r):
        v[k] = max(v[k], EPSILON) if barrier[k] > 0.0 else v[k]


@inlined
def _begin(row, V, i, forms, slopes, kind):
    """Load row i and what it shares with no other."""
    for k in range(V.shape[1]):
        row.v[k] = V[i, k]
    _row_slopes(forms, slopes, i, kind.shared, row.up, row.down, row.wide)
    if kind.bends and (i == 0 or forms.scales.shape[0] > 1):
        row_gram(forms, i, row.gram)


@inlined
def _multiply_row(row, V, i, entries, F, forms, slopes, kind, rounds, tolerance, epsilon, ridge):
    """Update row i; return whether it came to the tolerance."""
    barrier, r = forms.barrier[pick(forms.barrier, i)], V.shape[1]
    _begin(row, V, i, forms, slopes, kind)
    finished = False
    for _ in range(rounds):
        if kind.barred:
            _lift(row.v, barrier, r)
            row.c[:] = 0.0
        if kind.listed:
            _surrogate_parts(row, entries, i, F, epsilon)
        if _update(row, barrier, kind, r, tolerance, ridge):
            finished = True
            break
    if kind.barred:
        _lift(row.v, barrier, r)
    for k in range(r):
        V[i, k] = row.v[k]
    return finished


@kernel
def _scratch(r, wide, room):
    return Row(
        np.zeros(wide), np.zeros(wide),
        np.zeros(room), np.zeros(room), np.empty(room), np.empty(room),
        np.zeros(wide), np.zeros(wide), np.zeros(wide), np.zeros(wide), np.zeros(wide),
        np.zeros(wide), np.zeros(wide), np.zeros((r, wide)), np.arange(r).astype(np.int32),
        np.zeros(wide),
    )  # fmt: skip


@kernel
def _kind(logs, squares, inverses, forms, barred):
    bends = bool(np.any(forms.grams))
    return Kind(
        bends,
        barred,
        bends or squares > 0 or inverses > 0,
        barred or logs > 0 or inverses > 0,
        logs + squares + inverses > 0,
        max(forms.scales.shape[0], forms.up.shape[0]) <= 1,
    )


@kernel
def multiply_blocks(V, entries, F, forms, slopes, barred, rounds, tolerance, epsilon, ridge):
    """Multiplicative updates of each row: new entry = old entry · t.

    ridge = 0: t minimises the majoriser, which never raises the objective.  ridge > 0: the paper's
    ratio t = (v + c)/(q + u + ridge), literally, with e beside c for the divergence that the paper
    does not have.  ``epsilon`` is added to fitted values.  ``slopes`` are those of two terms, used
    where ``forms`` has none; ``barred`` says whether any row, here or elsewhere, has a barrier.  A
    row stops at the update that moves it by at most ``tolerance`` of its length.  Returns how many
    rows did not get there.
    """
    row = _scratch(V.shape[1], F.shape[1], longest_row(entries))
    kind = _kind(entries.log.size, entries.square.size, entries.inverse.size, forms, barred)
    unfinished = V.shape[0]
    for i in range(V.shape[0]):
        unfinished -= _multiply_row(
            row, V, i, entries, F, forms, slopes, kind, rounds, tolerance, epsilon, ridge
        )
    return unfinished


@inlined
def _noted_cost(row, entries, i, epsilon):
    """Return the cost of row i's entries, whose fitted values (with ``epsilon``) are at hand."""
    s = entries.start[i]
    w = entries.start[i + 1] - s
    x, b, p = row.x, row.b, row.p
    if epsilon != EPSILON:
        for m in range(w):
            p[m] += EPSILON - epsilon
    if entries.log.size > 0:
        for m in range(w):
            x[m] = entries.log[s + m]
    if entries.square.size > 0:
        for m in range(w):
            b[m] = entries.square[s + m]
    for m in range(w, padded_length(w)):
        x[m], b[m], p[m] = 0.0, 0.0, 1.0
    total = row_cost(entries, x, b, p, 0, padded_length(w))
    if entries.inverse.size > 0:
        for m in range(w):
            total += entries.inverse[s + m] / p[m] + entries.concave[s + m] * np.log(p[m])
    return total


@kernel
def surrogate_blocks(V, entries, F, epsilon, bounds, parts, costs):
    """Write the entries' numbers of the surrogate for each row, and the costs of each block, if
    there is room for them."""
    row = _scratch(V.shape[1], F.shape[1], longest_row(entries))
    for t in range(bounds.size - 1):
        total = 0.0
        for i in range(bounds[t] - bounds[0], bounds[t + 1] - bounds[0]):
            for k in range(V.shape[1]):
                row.v[k] = V[i, k]
            _surrogate_parts(row, entries, i, F, epsilon)
            _keep(row.c, parts.c, i)
            _keep(row.push, parts.push, i)
            _keep(row.e, parts.e, i)
            _keep(row.u, parts.u, i)
            if costs.size > 0:
                total += _noted_cost(row, entries, i, epsilon)
        if costs.size > 0:
            costs[t] = total


@inlined
def _keep(values, out, i):
    if out.shape[0] > 0:
        for k in range(out.shape[1]):
            out[i, k] = values[k]


@inlined
def _take(out, values, i):
    if values.shape[0] > 0:
        for k in range(values.shape[1]):
            out[k] = values[i, k]


@kernel
def multiply_by_parts(V, parts, forms, slopes, barred, ridge):
    """Update each row once, by numbers of the surrogate that are known."""
    r = V.shape[1]
    row = _scratch(r, padded_length(r), 0)
    kind = _kind(parts.c.size, parts.push.size, parts.e.size, forms, barred)
    for i in range(V.shape[0]):
        barrier = forms.barrier[pick(forms.barrier, i)]
        _begin(row, V, i, forms, slopes, kind)
        if kind.barred:
            _lift(row.v, barrier, r)
            row.c[:] = 0.0
        _take(row.c, parts.c, i)
        _take(row.push, parts.push, i)
        _take(row.e, parts.e, i)
        _take(row.u, parts.u, i)
        _update(row, barrier, kind, r, 0.0, ridge)
        if kind.barred:
            _lift(row.v, barrier, r)
        for k in range(r):
            V[i, k] = row.v[k]
