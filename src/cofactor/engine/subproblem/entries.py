"""Cells with a curved cost, as entries for the kernels, block by block."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from cofactor._types import FloatArray, IntArray
from cofactor.divergences import FLOOR, Divergence
from cofactor.engine import kernels
from cofactor.engine.kernels import Entries
from cofactor.engine.observations import Layout, Observations
from cofactor.engine.observations.base import full_layout
from cofactor.engine.threads import balanced_slices, even_slices

MAX_EXPANDED = 1 << 18  # cells of an expanded block of sparse rows


class Curved:
    """Entries with a curved cost, handed out block by block."""

    at_once = True
    """Whether a block may be as large as all rows."""

    def __init__(self, entries: Entries) -> None:
        self.entries = entries

    @cached_property
    def bounds(self) -> IntArray:
        return balanced_slices(self.entries.start)

    def block(self, low: int, high: int) -> Entries:
        log, square, inverse, concave, indices, start, first = self.entries
        some = start[low : high + 1], first[low:high]
        return Entries(log, square, inverse, concave, indices, *some)


class Expanded(Curved):
    """Sparse rows whose zeros have a curved cost: every cell is listed, but only a block at a
    time."""

    at_once = False

    def __init__(self, observations: Observations, divergence: Divergence, weight: float) -> None:
        self.observations, self.divergence, self.weight = observations, divergence, weight

    @cached_property
    def bounds(self) -> IntArray:
        n, m = self.observations.shape
        return even_slices(n, max(16, -(-n * m // MAX_EXPANDED)))

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


def no_entries(n: int, dtype: np.dtype[Any]) -> Curved:
    """Return the entries of n rows that have none."""
    none = np.empty(0, dtype=dtype)
    starts = np.zeros(n + 1, dtype=np.int64)
    return Curved(Entries(none, none, none, none, np.empty(0, np.int32), starts, starts[:-1]))


def scale(values: FloatArray, factor: float) -> FloatArray:
    return values if factor == 1.0 else np.asarray(values * factor, dtype=values.dtype)


def listed(
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
        layout.indices,
        layout.start,
        layout.first,
    )
    # sparse storages list no zeros, unless they list everything or have weights of zero
    full = len(layout.values) == np.prod(observations.shape)
    zeros = full or weights is not None or not observations.zeros
    if zeros and len(entries.log) and not any(len(part) for part in entries[1:4]):
        return _without_zeros(entries)
    return entries


def _without_zeros(entries: Entries) -> Entries:
    """Drop entries of a logarithm alone that are zero, and cost nothing."""
    kept = Layout(entries.log, entries.indices, entries.start, entries.first).nonzero()
    return entries._replace(
        log=kept.values, indices=kept.indices, start=kept.start, first=kept.first
    )


def stack_entries(parts: Sequence[Entries], offsets: Sequence[int]) -> Entries:
    """Put the entries of several terms side by side, row by row."""
    starts = sum(part.start - part.start[0] for part in parts)
    start = np.asarray(starts, dtype=np.int64)
    indices = np.empty(start[-1], dtype=np.int32)
    used = [max(len(getattr(part, name)) for part in parts) > 0 for name in Entries._fields[:4]]
    arrays = [np.zeros(start[-1] if use else 0, dtype=parts[0].log.dtype) for use in used]
    place = start[:-1].copy()
    for part, offset in zip(parts, offsets, strict=True):
        kernels.place_indices(part.indices, part.start, part.first, offset, place, indices)
        for array, values in zip(arrays, part[:4], strict=True):
            if len(values):
                kernels.place_values(values, part.start, place, array)
        place += np.diff(part.start)
    log, square, inverse, concave = arrays
    return Entries(log, square, inverse, concave, indices, start, start[:-1])
