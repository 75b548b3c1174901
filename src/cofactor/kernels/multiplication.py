"""Multiplicative updates of rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cofactor.kernels import tiles
from cofactor.kernels.rows import (
    EPSILON,
    load_coefficients,
    load_row,
    longest_row,
    padded_length,
    pick,
    row_cost,
)
from cofactor.kernels.tiles import ROWS, keep, kind_of, part, read, take, tile_of
from cofactor.vectors import add_rows, axpy, inlined, kernel, ratios


class Scratch(NamedTuple):
    """Room for the entries of the row at hand: coefficients, fitted values and their ratios."""

    x: Any
    b: Any
    p: Any
    ratio: Any


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

    def some(self, low: int, high: int) -> Slopes:
        """Return those of some rows."""
        start, first = self.start[low : high + 1], self.first[low:high]
        return Slopes(self.values, self.indices, start, first, self.F, self.weight)


class Parts(NamedTuple):
    """The entries' numbers of the surrogate for each row, divided by v; no rows: none of them."""

    c: Any
    push: Any
    e: Any
    u: Any


@kernel
def _scratch(room):
    return Scratch(np.zeros(room), np.zeros(room), np.empty(room), np.empty(room))


@inlined
def _surrogate_parts(row, tile, j, entries, i, F, epsilon):
    """Write the c, q (of the entries), e and u of row i, the numbers of the surrogate divided by
    v, to row j of a tile."""
    s, first, wide = entries.start[i], entries.first[i], tile.wide
    w = entries.start[i + 1] - s
    indices, p, ratio = entries.indices[first : first + w], row.p, row.ratio
    v = part(tile.v, j, wide)
    if entries.log.size > 0:
        values = entries.log[s : s + w]
        ratios(v, values, indices, F, epsilon, p, ratio, part(tile.c, j, wide))
    else:
        load_row(entries, i, F, v, epsilon, row.x, row.b, p)
    if entries.square.size > 0:
        for m in range(w):
            ratio[m] = entries.square[s + m] * (p[m] - epsilon)
        axpy(ratio, indices, F, part(tile.push, j, wide))
    if entries.inverse.size > 0:
        for m in range(w):
            ratio[m] = entries.inverse[s + m] / (p[m] * p[m])
        axpy(ratio, indices, F, part(tile.e, j, wide))
        for m in range(w):
            ratio[m] = entries.concave[s + m] / p[m]
        axpy(ratio, indices, F, part(tile.u, j, wide))


@inlined
def _load_down(tile, low, count, forms):
    """Read the rows' downward slopes, apart from the upward ones as the paper's ratio needs
    them."""
    if forms.down.shape[0] > 0:
        for j in range(count):
            read(part(tile.down, j, tile.wide), forms.down, pick(forms.down, low + j))
    else:
        tile.down[: count * tile.wide] = 0.0


@inlined
def _add_slopes(tile, low, count, entries):
    """Add those that a term's entries sum up to."""
    for j in range(count if entries.first.size > 0 else 0):
        s, first = entries.start[low + j], entries.first[low + j]
        w, out = entries.start[low + j + 1] - s, part(tile.down, j, tile.wide)
        add_rows(entries.weight, entries.values, s, entries.indices, first, w, entries.F, out)


@inlined
def _load(tile, V, low, count, forms, kind):
    for j in range(count):
        tiles.load(tile, j, V, low + j, forms, kind)
    _load_down(tile, low, count, forms)


@inlined
def _store(tile, V, low, count, forms, kind):
    for j in range(count):
        tiles.store(tile, j, V, low + j, forms, kind)


@inlined
def _round(tile, row, low, count, entries, F, forms, kind, tolerance, epsilon, ridge):
    """Update the rows of a tile once; return whether that hardly moved them."""
    for j in range(count if kind.listed or kind.barred else 0):
        tiles.begin(tile, j, low + j, forms, kind)
        if kind.listed:
            _surrogate_parts(row, tile, j, entries, low + j, F, epsilon)
        tiles.complete(tile, j, low + j, forms, kind)
    return tiles.update(tile, count, kind, tolerance, ridge)


@kernel
def multiply_blocks(V, new, entries, F, forms, slopes, barred, rounds, tolerance, epsilon, ridge):
    """Multiplicative updates of each row of V, which is padded like F: new entry = old entry · t.

    ridge = 0: t minimises the majoriser, which never raises the objective.  ridge > 0: the paper's
    ratio t = (v + c)/(q + u + ridge), literally, with e beside c for the divergence that the paper
    does not have.  ``epsilon`` is added to fitted values.  ``slopes`` are those of two terms, which
    add to what ``forms`` has; ``barred`` says whether any row, here or elsewhere, has a barrier.  A
    row stops at the update that moves it by at most ``tolerance`` of its length.  Returns how many
    rows did not get there.
    """
    unfinished = V.shape[0]
    # Rows that stop by themselves or have a quadratic form of their own are taken one by one.
    together = rounds == 1 and tolerance == 0.0 and forms.scales.shape[0] <= 1
    tile = tile_of(ROWS if together else 1, forms.ups.shape[1], F.shape[1])
    row = _scratch(longest_row(entries))
    kind = kind_of(entries.log.size, entries.square.size, entries.inverse.size, forms, barred)
    for low in range(0, V.shape[0], tile.rows):
        count = min(tile.rows, V.shape[0] - low)
        _load(tile, V, low, count, forms, kind)
        _add_slopes(tile, low, count, slopes[0])
        _add_slopes(tile, low, count, slopes[1])
        for _ in range(rounds):
            if _round(tile, row, low, count, entries, F, forms, kind, tolerance, epsilon, ridge):
                unfinished -= count
                break
        _store(tile, new, low, count, forms, kind)
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
    load_coefficients(entries, s, w, x, b, p)
    total = row_cost(entries, x, b, p, 0, padded_length(w))
    if entries.inverse.size > 0:
        for m in range(w):
            total += entries.inverse[s + m] / p[m] + entries.concave[s + m] * np.log(p[m])
    return total


@kernel
def surrogate_blocks(V, entries, F, epsilon, bounds, parts, costs):
    """Write the entries' numbers of the surrogate for each row, and the costs of each block, if
    there is room for them."""
    row, tile = _scratch(longest_row(entries)), tile_of(1, 0, F.shape[1])
    for t in range(bounds.size - 1):
        total = 0.0
        for i in range(bounds[t] - bounds[0], bounds[t + 1] - bounds[0]):
            read(tile.v, V, i)
            _surrogate_parts(row, tile, 0, entries, i, F, epsilon)
            keep(tile.c, parts.c, i)
            keep(tile.push, parts.push, i)
            keep(tile.e, parts.e, i)
            keep(tile.u, parts.u, i)
            if costs.size > 0:
                total += _noted_cost(row, entries, i, epsilon)
        if costs.size > 0:
            costs[t] = total


@kernel
def multiply_by_parts(V, new, parts, forms, barred, ridge):
    """Update each row of V, which is padded, once, by numbers of the surrogate that are known."""
    wide = V.shape[1]
    tile = tile_of(ROWS if forms.scales.shape[0] <= 1 else 1, forms.ups.shape[1], wide)
    kind = kind_of(parts.c.size, parts.push.size, parts.e.size, forms, barred)
    for low in range(0, V.shape[0], tile.rows):
        count = min(tile.rows, V.shape[0] - low)
        _load(tile, V, low, count, forms, kind)
        for j in range(count if kind.listed or kind.barred else 0):
            tiles.begin(tile, j, low + j, forms, kind)
            take(part(tile.c, j, wide), parts.c, low + j)
            take(part(tile.push, j, wide), parts.push, low + j)
            take(part(tile.e, j, wide), parts.e, low + j)
            take(part(tile.u, j, wide), parts.u, low + j)
            tiles.complete(tile, j, low + j, forms, kind)
        tiles.update(tile, count, kind, 0.0, ridge)
        _store(tile, new, low, count, forms, kind)
