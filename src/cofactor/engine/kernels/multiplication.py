"""Multiplicative updates of rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cofactor.engine.kernels import tiles
from cofactor.engine.kernels.rows import (
    EPSILON,
    load_coefficients,
    load_row,
    longest_row,
    padded_length,
    pick,
    row_cost,
)
from cofactor.engine.kernels.tiles import (
    ROWS,
    keep,
    kind_of,
    laid_over,
    lift,
    part,
    renewed,
    take,
    tile_of,
)
from cofactor.engine.kernels.vectors import add_rows, axpy, inlined, kernel, put_rows, ratios


class Scratch(NamedTuple):
    """Scratch space for the entries of one row: coefficients, fitted values and ratios."""

    x: Any
    b: Any
    p: Any
    ratio: Any


class Slopes(NamedTuple):
    """Downward slopes of some rows, cell by cell: a row has Σ_e weight·values_e·F[index_e].

    Without rows there are no slopes.
    """

    values: Any
    indices: Any
    start: Any
    first: Any
    F: Any
    weight: Any

    def rows(self, low: int, high: int) -> Slopes:
        """Return the slopes of some rows."""
        some = self.start[low : high + 1], self.first[low:high]
        return Slopes(self.values, self.indices, *some, self.F, self.weight)


class Surrogate(NamedTuple):
    """Coefficients of the surrogate of some rows' entries, divided by v.

    ``push`` is the entries' part of q.  Coefficients that do not occur have no rows.
    """

    c: Any
    push: Any
    e: Any
    u: Any

    def rows(self, low: int, high: int) -> Surrogate:
        """Return the coefficients of some rows."""
        c, push, e, u = self
        return Surrogate(c[low:high], push[low:high], e[low:high], u[low:high])


@kernel
def _scratch(room):
    return Scratch(np.zeros(room), np.zeros(room), np.empty(room), np.empty(room))


@inlined
def _surrogate_parts(row, tile, j, entries, i, F, epsilon):
    """Write the coefficients of row i's surrogate, divided by v, to row j of a tile."""
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
def _sum_slopes(tile, low, count, slopes):
    """Write the sums of two terms' downward slopes.

    They are kept apart from the upward ones, because the paper's ratio needs both.
    """
    one, two = slopes
    for j in range(count if one.first.size > 0 else 0):
        out = part(tile.down, j, tile.wide)
        s, first = one.start[low + j], one.first[low + j]
        w = one.start[low + j + 1] - s
        put_rows(one.weight, one.values, s, one.indices, first, w, one.F, out)
        if two.first.size > 0:
            s, first = two.start[low + j], two.first[low + j]
            w = two.start[low + j + 1] - s
            add_rows(two.weight, two.values, s, two.indices, first, w, two.F, out)


@inlined
def _round(tile, row, low, count, entries, F, forms, kind, tolerance, epsilon, ridge):
    """Update the rows of a tile once; return whether they moved by at most the tolerance."""
    for j in range(count if kind.listed or kind.has_barrier else 0):
        tiles.begin(tile, j, kind)
        if kind.listed:
            _surrogate_parts(row, tile, j, entries, low + j, F, epsilon)
        tiles.complete(tile, j, low + j, forms, kind)
    return tiles.update(tile, count, kind, tolerance, ridge)


@inlined
def _multiply_some(
    tile, V, new, low, count, row, entries, F, forms, slopes, kind, rounds, tolerance, epsilon,
    ridge,
):  # fmt: skip
    """Update some rows in up to ``rounds`` rounds; return whether they reached the tolerance."""
    some = laid_over(tile, V, new, low, count)
    tiles.load(some, low, count, forms, kind)
    _sum_slopes(some, low, count, slopes)
    done = False
    for _ in range(rounds):
        if kind.has_barrier:
            lift(some, low, count, forms)
            some = renewed(some)
        done = _round(some, row, low, count, entries, F, forms, kind, tolerance, epsilon, ridge)
        some = renewed(some)
        if done:
            break
    if kind.has_barrier:
        lift(some, low, count, forms)
    return done


@kernel
def multiply_slices(
    V, new, entries, F, forms, slopes, has_barrier, rounds, tolerance, epsilon, ridge
):
    """Multiplicative updates of each row of V, which is padded like F: new entry = old entry · t.

    ridge = 0: t minimises the surrogate, which never raises the objective.  ridge > 0: the paper's
    ratio t = (v + c)/(q + u + ridge), literally, with e beside c for the divergence that the paper
    does not have.  ``epsilon`` is added to fitted values.

    ``slopes`` are the downward slopes of two terms, either of which may be absent; ``forms.down``
    is not used.  ``has_barrier`` says whether any row of any slice has a barrier.  A row is
    finished at the update that moves it by at most ``tolerance`` of its sum.  Return the number of
    rows that are not finished.
    """
    unfinished = V.shape[0]
    # Rows that stop by themselves or have a quadratic form of their own are taken one by one.
    together = rounds == 1 and tolerance == 0.0 and forms.scales.shape[0] <= 1
    tile = tile_of(ROWS if together else 1, forms.ups.shape[1], F.shape[1])
    row = _scratch(longest_row(entries))
    kind = kind_of(entries.log.size, entries.square.size, entries.inverse.size, forms, has_barrier)
    old, better = V.reshape(V.size), new.reshape(new.size)
    for low in range(0, V.shape[0], tile.rows):
        count = min(tile.rows, V.shape[0] - low)
        if _multiply_some(
            tile, old, better, low, count, row, entries, F, forms, slopes, kind, rounds,
            tolerance, epsilon, ridge,
        ):  # fmt: skip
            unfinished -= count
    return unfinished


@inlined
def _noted_cost(row, entries, i, epsilon):
    """Return the cost of row i's entries from the fitted values (with ``epsilon``) in ``row.p``."""
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


@inlined
def _surrogate_row(tile, V, i, row, entries, F, epsilon, surrogate):
    one = laid_over(tile, V, V, i, 1)
    _surrogate_parts(row, one, 0, entries, i, F, epsilon)
    keep(one.c, surrogate.c, i)
    keep(one.push, surrogate.push, i)
    keep(one.e, surrogate.e, i)
    keep(one.u, surrogate.u, i)


@kernel
def surrogate_slices(V, entries, F, epsilon, bounds, surrogate, costs):
    """Write the coefficients of the surrogate of each row's entries to ``surrogate``.

    ``costs``, if it has room, gets the costs of each slice's entries.
    """
    row, tile = _scratch(longest_row(entries)), tile_of(1, 0, F.shape[1])
    rows = V.reshape(V.size)
    for t in range(bounds.size - 1):
        total = 0.0
        for i in range(bounds[t] - bounds[0], bounds[t + 1] - bounds[0]):
            _surrogate_row(tile, rows, i, row, entries, F, epsilon, surrogate)
            if costs.size > 0:
                total += _noted_cost(row, entries, i, epsilon)
        if costs.size > 0:
            costs[t] = total


@inlined
def _multiply_known(tile, V, new, low, count, surrogate, forms, kind, ridge):
    some, wide = laid_over(tile, V, new, low, count), tile.wide
    tiles.load(some, low, count, forms, kind)
    for j in range(count):
        take(part(some.down, j, wide), forms.down, pick(forms.down, low + j))
    if kind.has_barrier:
        lift(some, low, count, forms)
        some = renewed(some)
    for j in range(count if kind.listed or kind.has_barrier else 0):
        tiles.begin(some, j, kind)
        take(part(some.c, j, wide), surrogate.c, low + j)
        take(part(some.push, j, wide), surrogate.push, low + j)
        take(part(some.e, j, wide), surrogate.e, low + j)
        take(part(some.u, j, wide), surrogate.u, low + j)
        tiles.complete(some, j, low + j, forms, kind)
    tiles.update(some, count, kind, 0.0, ridge)
    if kind.has_barrier:
        lift(renewed(some), low, count, forms)


@kernel
def multiply_by_parts(V, new, surrogate, forms, has_barrier, ridge):
    """Update each row of V, which is padded, once, from known coefficients of the surrogate."""
    tile = tile_of(ROWS if forms.scales.shape[0] <= 1 else 1, forms.ups.shape[1], V.shape[1])
    kind = kind_of(surrogate.c.size, surrogate.push.size, surrogate.e.size, forms, has_barrier)
    old, better = V.reshape(V.size), new.reshape(new.size)
    for low in range(0, V.shape[0], tile.rows):
        count = min(tile.rows, V.shape[0] - low)
        _multiply_known(tile, old, better, low, count, surrogate, forms, kind, ridge)
