"""A factor as the kernels and the terms see it, and the sums they ask for.

Sums are those over fixed blocks of rows, so that they have the same bits for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from cofactor import kernels
from cofactor.observations import Layout
from cofactor.threads import Threads, balanced_blocks, even_blocks
from cofactor.typing import FloatArray, IntArray
from cofactor.vectors import aligned, padded

_NONE = np.empty(0)


def pad(F: FloatArray) -> FloatArray:
    """Return a float64 copy of a factor with rows of whole vectors, aligned to cache lines."""
    out = aligned(F.shape[0], padded(F.shape[1]))
    kernels.widen(F, out)
    return out


class Seen:
    """A factor as the kernels and the terms see it: what they ask for is computed once.

    It must not change from then on.
    """

    def __init__(self, array: FloatArray) -> None:
        self.array = array
        self._known: dict[tuple[str, int], tuple[FloatArray | None, FloatArray]] = {}

    @classmethod
    def in_room(cls, wide: FloatArray, like: FloatArray) -> Seen:
        """Return the factor that padded rows hold, of the rank and the dtype of another one."""
        array = wide[:, : like.shape[1]]
        if like.dtype != wide.dtype:
            return cls(array.astype(like.dtype))
        seen = cls(array)
        seen.wide = wide
        return seen

    @cached_property
    def wide(self) -> FloatArray:
        """Its rows in float64, padded to whole vectors and aligned to cache lines."""
        return pad(self.array)

    def room(self) -> FloatArray:
        """Return room for padded rows of another factor of this shape."""
        return aligned(*self.wide.shape)

    def gram(self, weights: FloatArray | None, threads: Threads) -> FloatArray:
        """Return V' diag(weights) V."""
        r = self.array.shape[1]
        return self._once("gram", weights, (r, r), kernels.gram_blocks, threads)

    def sums(self, weights: FloatArray | None, threads: Threads) -> FloatArray:
        """Return weights @ V."""
        r = self.array.shape[1]
        return self._once("sums", weights, (r,), kernels.sum_blocks, threads)

    def inner(self, other: FloatArray, weights: FloatArray | None, threads: Threads) -> float:
        """Return Σ weights · V · other."""
        V, w = self.wide, _NONE if weights is None else weights
        return float(
            threads.total(
                even_blocks(len(V)),
                (),
                lambda bounds, out: kernels.inner_blocks(V, other, w, bounds, out),
            )
        )

    def _once(
        self,
        what: str,
        weights: FloatArray | None,
        shape: tuple[int, ...],
        kernel: Callable[..., None],
        threads: Threads,
    ) -> FloatArray:
        key = what, id(weights)
        if key not in self._known:
            F, w = self.wide, _NONE if weights is None else weights
            total = threads.total(
                even_blocks(len(F)), shape, lambda bounds, out: kernel(F, w, bounds, out)
            )
            self._known[key] = weights, total  # holding the weights keeps their id theirs
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
