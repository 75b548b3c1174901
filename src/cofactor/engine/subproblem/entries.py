"""Cells as kernel entries: those whose cost is not just linear, or quadratic for all rows alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np

from cofactor._types import FloatArray, IntArray
from cofactor.divergences import FLOOR, Divergence
from cofactor.engine.kernels import Entries, Places
from cofactor.engine.observations import Layout, Observations, full_layout
from cofactor.engine.threads import balanced_slices, even_slices

MAX_EXPANDED = 1 << 18
"""Maximum number of cells in an expanded slice of sparse rows."""


class LazyEntries(Protocol):
    """Entries that are listed slice by slice, because all of them would take too much memory."""

    @property
    def bounds(self) -> IntArray:
        """The slices; each must be asked for as a whole."""
        ...

    def rows(self, low: int, high: int) -> Entries:
        """Return entries that cover some rows."""
        ...


AnyEntries: TypeAlias = Entries | LazyEntries
"""``Entries`` hold all rows in memory, and may be cut anywhere."""


class ExpandedEntries:
    """Entries of sparse rows whose zeros cost something, too: every cell is an entry."""

    def __init__(self, observations: Observations, divergence: Divergence, weight: float) -> None:
        self.observations, self.divergence, self.weight = observations, divergence, weight

    @cached_property
    def bounds(self) -> IntArray:
        n, m = self.observations.shape
        return even_slices(n, max(16, -(-n * m // MAX_EXPANDED)))

    def rows(self, low: int, high: int) -> Entries:
        part = self.observations.select(np.arange(low, high))
        array = np.zeros(part.shape, dtype=part.dtype)
        array[part.layout.row_numbers(), part.layout.column_numbers()] = part.layout.values
        full = Observations(
            part.shape, full_layout(array), True, None, part.row_weights, part.column_weights
        )
        entries = list_entries(full, self.divergence, self.weight)
        return replace(entries, places=replace(entries.places, origin=low))


class StackedEntries:
    """Entries of several terms side by side, at least one of which is lazy.

    ``offsets`` are added to the terms' column numbers.
    """

    def __init__(self, parts: Sequence[AnyEntries], offsets: Sequence[int]) -> None:
        self.parts, self.offsets = parts, offsets

    @cached_property
    def bounds(self) -> IntArray:
        return max((entry_slices(part) for part in self.parts), key=len)

    def rows(self, low: int, high: int) -> Entries:
        parts = [part.rows(low, high) for part in self.parts]
        return stack_entries(parts, self.offsets, low, high)


def entry_slices(entries: AnyEntries) -> IntArray:
    """Return the bounds of slices of rows with about the same number of entries."""
    return balanced_slices(entries.places.start) if isinstance(entries, Entries) else entries.bounds


def no_entries(n: int, dtype: np.dtype[Any]) -> Entries:
    """Return the entries of n rows that have none."""
    none = np.empty(0, dtype=dtype)
    starts = np.zeros(n + 1, dtype=np.int64)
    return Entries(none, none, none, none, Places(np.empty(0, np.int32), starts, starts[:-1]))


def scale(values: FloatArray, factor: float) -> FloatArray:
    return values if factor == 1.0 else np.asarray(values * factor, dtype=values.dtype)


def listed(
    observations: Observations, divergence: Divergence
) -> tuple[FloatArray, FloatArray | None]:
    """Return weight·value and weight of the listed cells; None stands for weights of 1."""
    values = observations.layout.values
    if divergence.positive:
        values = np.maximum(values, np.asarray(FLOOR, dtype=values.dtype))
    weights = observations.cell_weights()
    if weights is None:
        return values, None
    return (values * weights).astype(values.dtype), weights.astype(values.dtype)


def list_entries(
    observations: Observations, divergence: Divergence, weight: float = 1.0
) -> Entries:
    """Return the listed cells as entries, their coefficients times ``weight``.

    Squares are entries only where cells that are not listed are missing; observed zeros make them
    a quadratic form.
    """
    layout = observations.layout
    products, weights = listed(observations, divergence)
    none = np.empty(0, dtype=layout.values.dtype)
    each_square = divergence.square and not observations.zeros
    ones = weights if weights is not None else none
    if weights is None and (each_square or divergence.concave):
        ones = np.ones_like(layout.values)
    entries = Entries(
        scale(products, weight * divergence.log) if divergence.log else none,
        scale(ones, weight * divergence.square) if each_square else none,
        scale(products, weight * divergence.inverse) if divergence.inverse else none,
        scale(ones, weight * divergence.concave) if divergence.concave else none,
        layout.places,
    )
    # sparse storages list no zeros, unless they list everything or have weights of zero
    full = len(layout.values) == np.prod(observations.shape)
    zeros = full or weights is not None or not observations.zeros
    if zeros and len(entries.log) and not any(len(part) for part in entries.kinds[1:]):
        return _without_zeros(entries)
    return entries


def _without_zeros(entries: Entries) -> Entries:
    """Drop the zeros among entries that have only a logarithm; they cost nothing."""
    kept = Layout(entries.log, entries.places).nonzero()
    return replace(entries, log=kept.values, places=kept.places)


def stack_entries(parts: Sequence[Entries], offsets: Sequence[int], low: int, high: int) -> Entries:
    """Put the entries of several terms side by side, for the rows from low to high."""
    cut = [part.places.rows(low, high) for part in parts]
    lengths = [np.diff(places.start) for places in cut]
    start = np.concatenate([[0], np.cumsum(sum(lengths))]).astype(np.int64)
    indices = np.empty(start[-1], dtype=np.int32)
    used = [max(map(len, each)) > 0 for each in zip(*(part.kinds for part in parts), strict=True)]
    arrays = [np.zeros(start[-1] if use else 0, dtype=parts[0].log.dtype) for use in used]
    place = start[:-1].copy()
    for part, places, length, offset in zip(parts, cut, lengths, offsets, strict=True):
        within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
        there = np.repeat(place, length) + within
        indices[there] = places.indices[np.repeat(places.first, length) + within] + offset
        for array, values in zip(arrays, part.kinds, strict=True):
            if len(values):
                array[there] = values[places.start[0] : places.start[-1]]
        place += length
    log, square, inverse, concave = arrays
    return Entries(log, square, inverse, concave, Places(indices, start, start[:-1], low))
