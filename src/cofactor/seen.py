"""A factor as the terms see it from their other side, and the sums they ask for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from cofactor import kernels
from cofactor.observations import Layout
from cofactor.threads import Threads, balanced_blocks, even_blocks
from cofactor.typing import FloatArray, IntArray
from cofactor.vectors import aligned, padded


def pad(F: FloatArray) -> FloatArray:
    """Return a float64 copy of a factor with rows of whole vectors, aligned to cache lines."""
    out = aligned(F.shape[0], padded(F.shape[1]))
    kernels.widen(F, out)
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
    cells: Layout,
    F: FloatArray,
    width: int,
    threads: Threads,
    bounds: IntArray | None = None,
) -> FloatArray:
    """Return listed cells times a padded factor of ``width`` columns."""
    out = np.empty((len(cells.first), width))

    def block(low: int, high: int) -> None:
        start, first = cells.start[low : high + 1], cells.first[low:high]
        kernels.cross_rows(cells.values, cells.indices, start, first, F, out[low:high])

    threads.across(balanced_blocks(cells.start) if bounds is None else bounds, block)
    return out
