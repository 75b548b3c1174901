"""The minimum of the surrogate, for a tile of rows at a time.

A row holds only a handful of numbers, and a loop over one row would spend most of its time on its
beginning and end.  So loops over topics run over the rows of a tile at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from cofactor.engine.kernels.rows import EPSILON, pick, positive_root, row_gram
from cofactor.engine.kernels.vectors import LINE, inlined, kernel, products

ROWS = 16


class Tile(NamedTuple):
    """Some rows and scratch space for them, one row after the other.

    c, push, e and u are coefficients of the surrogate, divided by v.
    """

    v: Any
    """The old rows, a view: a copy would cost as much as an update."""
    new: Any
    """The new rows, a view."""
    t: Any
    c: Any
    push: Any
    e: Any
    u: Any
    bent: Any
    up: Any
    down: Any
    gram: Any
    """The quadratic form, padded like the rows; all rows of a tile share it."""
    rows: Any
    """Maximum number of rows."""
    wide: Any
    """Padded length of a row."""


class Kind(NamedTuple):
    """The parts that occur in a row problem; they decide which loops are needed."""

    bends: Any
    """Whether it has a quadratic form."""
    has_barrier: Any
    curved: Any
    """Whether any part is neither a logarithm nor a slope."""
    logarithmic: Any
    """Whether any part is neither a square nor a slope."""
    listed: Any
    """Whether there are entries."""
    shared: Any
    """Whether all rows have the same upward slopes."""


@kernel
def kind_of(logs, squares, inverses, forms, has_barrier):
    bends = bool(np.any(forms.grams))
    return Kind(
        bends,
        has_barrier,
        bends or squares > 0 or inverses > 0,
        has_barrier or logs > 0 or inverses > 0,
        logs + squares + inverses > 0,
        max(forms.scales.shape[0], forms.up.shape[0]) <= 1,
    )


@kernel
def tile_of(rows, r, wide):
    """Return a tile without rows."""
    size = rows * wide
    room = np.zeros(8 * size + LINE)
    at = -(room.ctypes.data // room.itemsize) % LINE
    return Tile(
        room[:0], room[:0], room[at : at + size],
        room[at + size : at + 2 * size], room[at + 2 * size : at + 3 * size],
        room[at + 3 * size : at + 4 * size], room[at + 4 * size : at + 5 * size],
        room[at + 5 * size : at + 6 * size], room[at + 6 * size : at + 7 * size],
        room[at + 7 * size : at + 8 * size], np.zeros((r, wide)), rows, wide,
    )  # fmt: skip


# Inlined by numba itself: functions compiled without reference counts cannot return views.
@njit(inline="always")
def laid_over(tile, V, new, low, count):
    """Return the tile with rows of V and new, which are flat arrays of padded rows."""
    some = slice(low * tile.wide, (low + count) * tile.wide)
    return _with_rows(tile, V[some], new[some])


@njit(inline="always")
def renewed(tile):
    """Return the tile with its new rows in the place of the old ones."""
    return _with_rows(tile, tile.new, tile.new)


@njit(inline="always")
def _with_rows(tile, v, new):
    return Tile(
        v, new, tile.t, tile.c, tile.push, tile.e, tile.u, tile.bent, tile.up, tile.down,
        tile.gram, tile.rows, tile.wide,
    )  # fmt: skip


@njit(inline="always")
def part(values, j, wide):
    """Return row j of a tile."""
    return values[j * wide : (j + 1) * wide]


@inlined
def read(out, values, i):
    for k in range(values.shape[1]):
        out[k] = values[i, k]


@inlined
def write(values, out, i):
    for k in range(out.shape[1]):
        out[i, k] = values[k]


@inlined
def take(out, values, i):
    """Read row i of an array that may be absent."""
    if values.shape[0] > 0:
        read(out, values, i)


@inlined
def keep(values, out, i):
    """Write row i of an array that may be absent."""
    if out.shape[0] > 0:
        write(values, out, i)


@inlined
def load(tile, low, count, forms, kind):
    """Read the upward slopes and the quadratic form, unless the tile before had the same."""
    for j in range(count if low == 0 or not kind.shared else 0):
        _load_up(part(tile.up, j, tile.wide), low + j, forms)
    if kind.bends and (low == 0 or forms.scales.shape[0] > 1):
        row_gram(forms, low, tile.gram)


@inlined
def _load_up(up, i, forms):
    scales, r = forms.scales[pick(forms.scales, i)], forms.ups.shape[1]
    up[:] = 0.0
    for t in range(forms.ups.shape[0]):
        for k in range(r):
            up[k] += scales[t] * forms.ups[t, k]
    if forms.up.shape[0] > 0:
        for k in range(r):
            up[k] += forms.up[pick(forms.up, i), k]


@inlined
def lift(tile, low, count, forms):
    """Raise entries with a barrier to at least EPSILON."""
    for j in range(count):
        barrier = forms.barrier[pick(forms.barrier, low + j)]
        v, new = part(tile.v, j, tile.wide), part(tile.new, j, tile.wide)
        for k in range(tile.wide):
            new[k] = max(v[k], EPSILON) if k < barrier.size and barrier[k] > 0.0 else v[k]


@inlined
def begin(tile, j, kind):
    """Prepare row j for the coefficients of its entries."""
    if kind.has_barrier:
        part(tile.c, j, tile.wide)[:] = 0.0


@inlined
def complete(tile, j, i, forms, kind):
    """Add the barrier to the coefficients of row j."""
    if kind.has_barrier:
        v, c = part(tile.v, j, tile.wide), part(tile.c, j, tile.wide)
        barrier = forms.barrier[pick(forms.barrier, i)]
        for k in range(barrier.size):
            c[k] += barrier[k] / v[k] if barrier[k] > 0.0 else 0.0


@inlined
def update(tile, count, kind, tolerance, ridge):
    """Update ``count`` rows whose coefficients are known.

    Return whether they moved by at most the tolerance.
    """
    size = count * tile.wide
    if kind.bends:
        products(tile.v, count, tile.gram, tile.bent)
    if ridge > 0.0:
        _paper_ratios(tile, size, kind, ridge)
    else:
        _surrogate_ratios(tile, size, kind)
    return _apply_ratios(tile.v, tile.t, tile.new, size, tolerance)


@inlined
def _paper_ratios(tile, size, kind, ridge):
    """Write the paper's ratio of each topic, literally; squares alone need a shorter one."""
    if not (kind.listed or kind.has_barrier):
        for k in range(size):
            tile.t[k] = tile.down[k] / (tile.bent[k] + tile.up[k] + ridge)
        return
    for k in range(size):
        pull = tile.down[k] + tile.c[k] + tile.e[k]
        tile.t[k] = pull / (tile.bent[k] + tile.push[k] + tile.up[k] + tile.u[k] + ridge)


@inlined
def _surrogate_ratios(tile, size, kind):
    """Write the minimiser of each topic's surrogate; a single kind of loss has a closed form."""
    up, down, c, e, u, t = tile.up, tile.down, tile.c, tile.e, tile.u, tile.t
    bent, push = tile.bent, tile.push
    if not kind.curved:
        for k in range(size):
            slope = up[k] + u[k] - down[k]
            t[k] = c[k] / slope if slope > 0.0 else 1.0
    elif not kind.logarithmic:
        for k in range(size):
            slope, q = up[k] - down[k], bent[k] + push[k]
            ratio = max(-slope, 0.0) / (q if q > 0.0 else 1.0)
            t[k] = ratio if q > 0.0 or slope > 0.0 else 1.0
    else:
        for k in range(size):
            t[k] = _surrogate_root(bent[k] + push[k], up[k] + u[k] - down[k], c[k], e[k])


@inlined
def _surrogate_root(q, slope, c, e):
    """Return the minimiser of the surrogate, the positive root of q·t³ + slope·t² − c·t − e = 0."""
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
def _apply_ratios(v, t, new, size, tolerance):
    """Multiply rows by their ratios; return whether they moved by at most the tolerance."""
    if tolerance == 0.0:
        for k in range(size):
            new[k] = v[k] * t[k]
        return False
    moved, total = 0.0, 0.0
    for k in range(size):
        product = v[k] * t[k]
        moved += abs(product - v[k])
        total += product
        new[k] = product
    return moved <= tolerance * total
