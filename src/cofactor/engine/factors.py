"""A factor as the kernels and the terms see it, and the sums they ask for.

Sums are those over fixed blocks of rows, so that they have the same bits for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from cofactor._types import FactorName, FloatArray, IntArray
from cofactor.engine import kernels
from cofactor.engine.kernels.vectors import aligned, padded
from cofactor.engine.observations import Layout
from cofactor.engine.threads import Threads, balanced_slices, even_slices

_NONE = np.empty(0)


def pad(F: FloatArray) -> FloatArray:
    """Return a float64 copy of a factor with rows of whole vectors, aligned to cache lines."""
    out = aligned(F.shape[0], padded(F.shape[1]))
    kernels.widen(F, out)
    return out


class PaddedFactor:
    """A factor as the kernels and the terms see it: what they ask for is computed once.

    It must not change from then on.
    """

    def __init__(self, array: FloatArray) -> None:
        self.array = array
        self._known: dict[tuple[str, int], tuple[FloatArray | None, FloatArray]] = {}

    @classmethod
    def in_room(cls, wide: FloatArray, like: FloatArray) -> PaddedFactor:
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
        return self._once("gram", weights, (r, r), kernels.gram_slices, threads)

    def sums(self, weights: FloatArray | None, threads: Threads) -> FloatArray:
        """Return weights @ V."""
        r = self.array.shape[1]
        return self._once("sums", weights, (r,), kernels.sum_slices, threads)

    def inner(self, other: FloatArray, weights: FloatArray | None, threads: Threads) -> float:
        """Return Σ weights · V · other."""
        V, w = self.wide, _NONE if weights is None else weights
        return float(
            threads.total(
                even_slices(len(V)),
                (),
                lambda bounds, out: kernels.inner_slices(V, other, w, bounds, out),
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
                even_slices(len(F)), shape, lambda bounds, out: kernel(F, w, bounds, out)
            )
            self._known[key] = weights, total  # holding the weights keeps their id theirs
        return self._known[key][1]


@dataclass(frozen=True, eq=False)
class Factors:
    """The factors, stored tall and named after what their rows index.

    Parameters
    ----------
    samples : array (n, r)
        Representation of the samples, the paper's S transposed.
    features : array (m, r)
        Topics, the paper's A.
    targets : array (k, r) or None
        Topics' part in each target, the paper's B.
    """

    samples: FloatArray
    features: FloatArray
    targets: FloatArray | None = None
    _padded: dict[FactorName, PaddedFactor] = field(default_factory=dict, init=False, repr=False)

    @property
    def rank(self) -> int:
        return int(self.features.shape[1])

    def copy(self) -> Factors:
        return self.map(np.array)

    def compact(self) -> Factors:
        """Return them without the gaps between rows that solvers may leave."""
        return self.map(_compact)

    def replace(self, name: FactorName, V: FloatArray) -> Factors:
        """Return these factors with another one in the place of ``name``."""
        return self.with_padded(name, PaddedFactor(V))

    def with_padded(self, name: FactorName, seen: PaddedFactor) -> Factors:
        """Return these factors with another one, of which more is known, in the place of
        ``name``."""
        arrays: dict[str, Any] = {"samples": self.samples, "features": self.features}
        arrays["targets"] = self.targets
        arrays[name] = seen.array
        new = Factors(**arrays)
        new._padded.update(self._padded)
        new._padded[name] = seen
        return new

    def padded(self, name: FactorName) -> PaddedFactor:
        """Return what the terms see of a factor; it must not change from then on."""
        if name not in self._padded:
            self._padded[name] = PaddedFactor(self.get(name))
        return self._padded[name]

    def map(self, function: Callable[[FloatArray], FloatArray]) -> Factors:
        """Apply a function to each factor."""
        targets = None if self.targets is None else function(self.targets)
        return Factors(function(self.samples), function(self.features), targets)

    def each(self) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        return self.samples, self.features, self.targets

    def get(self, name: FactorName) -> FloatArray:
        V: FloatArray | None = getattr(self, name)
        if V is None:
            raise ValueError(f"the factors have no {name!r}")
        return V


def _compact(V: FloatArray) -> FloatArray:
    gaps = isinstance(V, np.ndarray) and not V.flags.c_contiguous  # on disk there are none
    return np.ascontiguousarray(V) if gaps else V


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

    threads.across(balanced_slices(cells.start) if bounds is None else bounds, block)
    return out
