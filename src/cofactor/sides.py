"""One term seen from one of its two factors.

``Side`` holds everything that does not change during a fit: the coefficients of the listed cells.
``Side.against`` adds what depends on the other factor: linear and quadratic parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cofactor import kernels
from cofactor.divergences import FLOOR, Divergence
from cofactor.kernels import Entries
from cofactor.observations import Layout, Observations
from cofactor.observations.base import full_layout, times
from cofactor.threads import Threads, balanced_blocks, even_blocks
from cofactor.typing import FloatArray, IntArray
from cofactor.vectors import aligned_zeros, padded

MAX_EXPANDED = 1 << 18  # cells of an expanded block of sparse rows


def pad(F: FloatArray) -> FloatArray:
    """Return a float64 copy of a factor with rows of whole vectors, aligned to cache lines."""
    out = aligned_zeros(F.shape[0], padded(F.shape[1]))
    out[:, : F.shape[1]] = F
    return out


def gram(F: FloatArray, r: int, weights: FloatArray | None, threads: Threads) -> FloatArray:
    """Return F' diag(weights) F of a padded factor of r columns, summed over fixed blocks."""
    w = np.empty(0) if weights is None else weights
    return threads.total(
        even_blocks(len(F)), (r, r), lambda bounds, out: kernels.gram_blocks(F, w, bounds, out)
    )


def column_sums(V: FloatArray, weights: FloatArray | None, threads: Threads) -> FloatArray:
    """Return weights @ V, summed over fixed blocks."""
    w = np.empty(0) if weights is None else weights
    return threads.total(
        even_blocks(len(V)),
        (V.shape[1],),
        lambda bounds, out: kernels.sum_blocks(V, w, bounds, out),
    )


def inner(V: FloatArray, other: FloatArray, weights: FloatArray | None, threads: Threads) -> float:
    """Return Σ weights · V · other, summed over fixed blocks."""
    w = np.empty(0) if weights is None else weights
    return float(
        threads.total(
            even_blocks(len(V)),
            (),
            lambda bounds, out: kernels.inner_blocks(V, other, w, bounds, out),
        )
    )


class Seen:
    """A factor as the terms see it from their other side: what they ask for is computed once."""

    def __init__(self, array: FloatArray) -> None:
        self.array = array
        self._known: dict[tuple[str, int], tuple[FloatArray | None, FloatArray]] = {}

    @cached_property
    def wide(self) -> FloatArray:
        return pad(self.array)

    def gram(self, weights: FloatArray | None, threads: Threads) -> FloatArray:
        return self._once(
            "gram", weights, lambda: gram(self.wide, self.array.shape[1], weights, threads)
        )

    def sums(self, weights: FloatArray | None, threads: Threads) -> FloatArray:
        return self._once("sums", weights, lambda: column_sums(self.array, weights, threads))

    def _once(
        self, what: str, weights: FloatArray | None, compute: Callable[[], FloatArray]
    ) -> FloatArray:
        key = what, id(weights)
        if key not in self._known:
            self._known[key] = weights, compute()  # holding the weights keeps their id theirs
        return self._known[key][1]


def cross(
    layout: Layout,
    values: FloatArray,
    F: FloatArray,
    width: int,
    threads: Threads,
    bounds: IntArray | None = None,
) -> FloatArray:
    """Return the listed ``values`` times a padded factor of ``width`` columns."""
    out = np.empty((len(layout.first), width))

    def block(low: int, high: int) -> None:
        start, first = layout.start[low : high + 1], layout.first[low:high]
        kernels.cross_rows(values, layout.indices, start, first, F, out[low:high])

    threads.across(balanced_blocks(layout.start) if bounds is None else bounds, block)
    return out


class Curved:
    """Entries with a curved cost, handed out block by block."""

    at_once = True
    """Whether a block may be as large as all rows."""

    def __init__(self, entries: Entries) -> None:
        self.entries = entries

    @cached_property
    def bounds(self) -> IntArray:
        return balanced_blocks(self.entries.start)

    def block(self, low: int, high: int) -> Entries:
        e = self.entries
        return e._replace(start=e.start[low : high + 1], first=e.first[low:high])


class Expanded(Curved):
    """Sparse rows whose zeros have a curved cost: every cell is listed, but only a block at a
    time."""

    at_once = False

    def __init__(self, observations: Observations, divergence: Divergence, weight: float) -> None:
        self.observations, self.divergence, self.weight = observations, divergence, weight

    @cached_property
    def bounds(self) -> IntArray:
        n, m = self.observations.shape
        return even_blocks(n, max(16, -(-n * m // MAX_EXPANDED)))

    def block(self, low: int, high: int) -> Entries:
        part = self.observations.select(np.arange(low, high))
        array = np.zeros(part.shape, dtype=part.dtype)
        array[part.layout.rows(), part.layout.columns()] = part.layout.values
        full = Observations(
            part.shape, full_layout(array), True, None, part.row_weights, part.column_weights
        )
        return curved_entries(full, self.divergence, self.weight)


class Stacked(Curved):
    """The entries of two terms side by side: columns of the second follow those of the first."""

    at_once = False

    def __init__(self, parts: Sequence[Curved], offsets: Sequence[int]) -> None:
        self.parts, self.offsets = parts, offsets

    @cached_property
    def bounds(self) -> IntArray:
        return max((part.bounds for part in self.parts), key=len)

    def block(self, low: int, high: int) -> Entries:
        return stack_entries([part.block(low, high) for part in self.parts], self.offsets)


def _scale(values: FloatArray, factor: float) -> FloatArray:
    return values if factor == 1.0 else np.asarray(values * factor, dtype=values.dtype)


def _nothing(layout: Layout) -> FloatArray:
    return np.empty(0, dtype=layout.values.dtype)


def _listed(
    observations: Observations, divergence: Divergence
) -> tuple[FloatArray, FloatArray | None]:
    """Return weight·value and weight of the listed cells (None: ones)."""
    values = observations.layout.values
    if divergence.positive:
        values = np.maximum(values, np.asarray(FLOOR, dtype=values.dtype))
    weights = observations.cell_weights()
    if weights is None:
        return values, None
    return (values * weights).astype(values.dtype), weights.astype(values.dtype)


def curved_entries(
    observations: Observations, divergence: Divergence, weight: float = 1.0
) -> Entries:
    """Return the entries of the listed cells; without observed zeros squares are entries too."""
    layout = observations.layout
    products, weights = _listed(observations, divergence)
    ones = weights if weights is not None else np.ones_like(layout.values)
    none = _nothing(layout)
    each_square = divergence.square and not observations.zeros
    entries = Entries(
        _scale(products, weight * divergence.log) if divergence.log else none,
        _scale(ones, weight * divergence.square) if each_square else none,
        _scale(products, weight * divergence.inverse) if divergence.inverse else none,
        _scale(ones, weight * divergence.concave) if divergence.concave else none,
        layout.indices,
        layout.start,
        layout.first,
    )
    if len(entries.log) and not any(len(part) for part in entries[1:4]):
        return _without_zeros(entries)
    return entries


def _without_zeros(entries: Entries) -> Entries:
    """Drop entries of a logarithm alone that are zero, and cost nothing, where most are."""
    kept = np.flatnonzero(entries.log)
    if 2 * len(kept) > len(entries.log):
        return entries
    row = np.repeat(np.arange(len(entries.first)), np.diff(entries.start))[kept]
    start = np.searchsorted(row, np.arange(len(entries.first) + 1)).astype(np.int64)
    indices = entries.indices[entries.first[row] + kept - entries.start[row]]
    return entries._replace(log=entries.log[kept], indices=indices, start=start, first=start[:-1])


def stack_entries(parts: Sequence[Entries], offsets: Sequence[int]) -> Entries:
    """Put the entries of several terms side by side, row by row."""
    n = len(parts[0].first)
    lengths = [np.diff(part.start) for part in parts]
    start = np.concatenate([[0], np.cumsum(sum(lengths))]).astype(np.int64)
    indices = np.empty(start[-1], dtype=np.int32)
    used = [max(len(getattr(part, name)) for part in parts) > 0 for name in Entries._fields[:4]]
    arrays = [np.zeros(start[-1] if use else 0, dtype=parts[0].log.dtype) for use in used]
    begin = start[:-1].copy()
    for part, length, offset in zip(parts, lengths, offsets, strict=True):
        within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
        place = np.repeat(begin, length) + within
        indices[place] = part.indices[np.repeat(part.first, length) + within] + offset
        source = np.repeat(part.start[:-1], length) + within
        for array, values in zip(arrays, part[:4], strict=True):
            if len(values):
                array[place] = values[source]
        begin += length
    log, square, inverse, concave = arrays
    return Entries(log, square, inverse, concave, indices, start, start[:n])


@dataclass(frozen=True)
class Against:
    """A side together with the other factor: its linear and quadratic parts."""

    side: Side
    F: FloatArray
    down: FloatArray | None
    up: FloatArray | None
    ups: FloatArray
    gram: FloatArray

    def value(self, rows_of: Seen, threads: Threads, cost: float | None = None) -> float:
        """Return the term's divergence; ``cost``, if known, is that of its curved entries."""
        side, weights, V = self.side, self.side.counts, rows_of.array
        rows = times(side.row_scale, weights)
        total = side.constant
        if self.gram.any():
            total += 0.5 * float(np.sum(rows_of.gram(rows, threads) * self.gram))
        if self.ups.any():
            total += float(rows_of.sums(rows, threads) @ self.ups)
        for part, sign in ((self.up, 1.0), (self.down, -1.0)):
            if part is not None:
                total += sign * inner(V, part, weights, threads)
        if cost is not None:
            total += cost
        elif side.curved is not None:
            total += self._curved(side.curved, V, threads)
        return max(total, 0.0)

    def _curved(self, curved: Curved, V: FloatArray, threads: Threads) -> float:
        w = np.empty(0) if self.side.counts is None else self.side.counts

        if curved.at_once:
            entries = curved.entries
            return float(
                threads.total(
                    curved.bounds,
                    (),
                    lambda bounds, out: kernels.value_blocks(V, entries, self.F, w, bounds, out),
                )
            )

        def block(low: int, high: int) -> float:
            part = curved.block(low, high)
            return float(kernels.curved_value(V[low:high], part, self.F, w[low:high]))

        return sum(threads.over(curved.bounds, block))


class Side:
    """One term seen from the factor that its rows belong to; ``counts`` says how often each row
    counts in its value."""

    def __init__(
        self, observations: Observations, divergence: Divergence, counts: FloatArray | None = None
    ) -> None:
        self.observations, self.divergence, self.counts = observations, divergence, counts
        self.row_scale = observations.row_weights if observations.zeros else None
        self._everywhere = observations.zeros and (divergence.inverse or divergence.concave)
        self._is_full = len(observations.layout.values) == np.prod(observations.shape)

    @cached_property
    def curved(self) -> Curved | None:
        return self.weighted_curved(1.0)

    def weighted_curved(self, weight: float) -> Curved | None:
        """Return the curved entries times ``weight``, or None where there are none."""
        d = self.divergence
        if self._everywhere and not self._is_full:
            return Expanded(self.observations, d, weight)
        if d.log or d.inverse or d.concave or (d.square and not self.observations.zeros):
            return Curved(curved_entries(self.observations, d, weight))
        return None

    @cached_property
    def _linear(self) -> tuple[FloatArray | None, FloatArray | None]:
        """Per-cell slopes (down, up); observed zeros make the upward one structured."""
        d = self.divergence
        if not (d.down or (d.up and not self.observations.zeros)):
            return None, None
        products, weights = _listed(self.observations, d)
        up = None
        if d.up and not self.observations.zeros:
            up = _scale(np.ones_like(products) if weights is None else weights, d.up)
        return (_scale(products, d.down) if d.down else None), up

    def against(self, other: Seen, threads: Threads) -> Against:
        """Add the other factor."""
        d, columns, r = self.divergence, self.observations.column_weights, other.array.shape[1]
        down, up = (self._cross(part, other.wide, r, threads) for part in self._linear)
        structured = self.observations.zeros
        return Against(
            self,
            other.wide,
            down,
            up,
            other.sums(columns, threads) * d.up if d.up and structured else np.zeros(r),
            other.gram(columns, threads) * d.square
            if d.square and structured
            else np.zeros((r, r)),
        )

    def _cross(
        self, values: FloatArray | None, F: FloatArray, r: int, threads: Threads
    ) -> FloatArray | None:
        if values is None:
            return None
        return cross(self.observations.layout, values, F, r, threads, self._bounds)

    @cached_property
    def _bounds(self) -> IntArray:
        return balanced_blocks(self.observations.layout.start)

    @cached_property
    def constant(self) -> float:
        """Σ weight·(the part of the divergence that no factor changes)."""
        obs, d = self.observations, self.divergence
        values = np.asarray(obs.layout.values, np.float64)
        if d.positive:
            values = np.maximum(values, FLOOR)
        weights = obs.cell_weights(self.counts)
        parts = d.constant(values)
        total = float(np.sum(parts if weights is None else parts * weights))
        if self._everywhere and not self._is_full:
            n, m = obs.shape
            rows = times(obs.row_weights, self.counts)
            cells = float(n if rows is None else rows.sum()) * float(
                m if obs.column_weights is None else obs.column_weights.sum()
            )
            cells -= float(len(values) if weights is None else weights.sum())
            total += cells * float(d.constant(np.array([FLOOR]))[0])
        return total
