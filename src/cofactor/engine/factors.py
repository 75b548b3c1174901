"""The factors, and each of them padded for the kernels.

Kernels read rows in whole vectors of float64, so every factor has a padded copy.  Sums over rows
are taken over fixed slices, so they are bit-identical for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from ctypes import addressof, c_char
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from cofactor._types import FactorName, FloatArray, IntArray
from cofactor.engine import kernels
from cofactor.engine.kernels import Slopes
from cofactor.engine.kernels.arguments import ROW_MULTIPLE
from cofactor.engine.observations import Layout
from cofactor.engine.threads import Threads, balanced_slices, even_slices

FACTOR_NAMES: tuple[FactorName, ...] = ("samples", "features", "targets")

DOUBLES_PER_LINE = 8
"""In a cache line."""


def padded_width(rank: int) -> int:
    """Return the row length that holds ``rank`` topics in whole vectors."""
    return -(-rank // ROW_MULTIPLE) * ROW_MULTIPLE


def aligned(n: int, width: int) -> FloatArray:
    """Return an empty (n, width) array that starts at a cache line.

    A vector across two cache lines would cost two loads.
    """
    space = np.empty(n * width + DOUBLES_PER_LINE)
    skip = -(addressof(c_char.from_buffer(space.data)) // space.itemsize) % DOUBLES_PER_LINE
    return space[skip : skip + n * width].reshape(n, width)


def pad(F: FloatArray) -> FloatArray:
    """Return a float64 copy of a factor with rows of whole vectors, aligned to cache lines."""
    r = F.shape[1]
    out = aligned(F.shape[0], padded_width(r))
    out[:, :r], out[:, r:] = F, 0.0
    return out


class PaddedFactor:
    """A factor with its padded copy, column sums and Gram matrices; each is computed once.

    ``array`` must not change afterwards.
    """

    def __init__(self, array: FloatArray) -> None:
        self.array = array
        self._known: list[tuple[str, FloatArray | None, FloatArray]] = []

    @classmethod
    def from_padded(cls, wide: FloatArray, like: FloatArray) -> PaddedFactor:
        """Return the factor in padded rows ``wide``, with the rank and the dtype of ``like``."""
        array = wide[:, : like.shape[1]]
        if like.dtype != wide.dtype:
            return cls(array.astype(like.dtype))
        factor = cls(array)
        factor.wide = wide
        return factor

    @cached_property
    def wide(self) -> FloatArray:
        """The rows in float64, padded to whole vectors and aligned to cache lines."""
        return pad(self.array)

    def empty_rows(self) -> FloatArray:
        """Return an empty array of the padded shape, for the rows of a new factor."""
        return aligned(*self.wide.shape)

    def copied_rows(self) -> FloatArray:
        """Return a copy of the padded rows, for a kernel that works in place."""
        rows = self.empty_rows()
        rows[:] = self.wide
        return rows

    def gram(self, weights: FloatArray | None, threads: Threads) -> FloatArray:
        """Return V' diag(weights) V; None stands for weights of 1."""
        r = self.array.shape[1]
        return self._once("gram", weights, (r, r), kernels.gram_slices, threads)

    def sums(self, weights: FloatArray | None, threads: Threads) -> FloatArray:
        """Return weights @ V; None stands for weights of 1."""
        r = self.array.shape[1]
        return self._once("sums", weights, (r,), kernels.sum_slices, threads)

    def inner(self, other: FloatArray, weights: FloatArray | None, threads: Threads) -> float:
        """Return Σ weights · V · other."""
        run = partial(kernels.inner_slices, self.wide, other, weights)
        return float(threads.total(even_slices(len(self.wide)), (), run))

    def _once(
        self,
        what: str,
        weights: FloatArray | None,
        shape: tuple[int, ...],
        kernel: Callable[..., None],
        threads: Threads,
    ) -> FloatArray:
        for name, used, known in self._known:
            if name == what and used is weights:
                return known
        run = partial(kernel, self.wide, weights)
        total = threads.total(even_slices(len(self.wide)), shape, run)
        self._known.append((what, weights, total))
        return total


@dataclass(frozen=True, eq=False)
class Factors:
    """The factors.  Each has one row per sample, feature or target, and one column per topic.

    Parameters
    ----------
    samples : array (n, r)
        Representation of the samples, the paper's S transposed.
    features : array (m, r)
        Topics, the paper's A.
    targets : array (k, r) or None
        Each topic's part in each target, the paper's B.

    See Also
    --------
    of_topics : factors without samples, for a fit that continues from given topics.

    Examples
    --------
    Start a fit from given factors:

    >>> import numpy as np
    >>> from cofactor import NMF, Factors
    >>> X = np.outer([1.0, 2.0, 3.0], [1.0, 0.0, 2.0])
    >>> start = Factors(samples=np.ones((3, 1)), features=np.ones((3, 1)))
    >>> NMF(1, init=start).fit(X).components_.shape
    (1, 3)
    """

    samples: FloatArray
    features: FloatArray
    targets: FloatArray | None = None
    _padded: dict[FactorName, PaddedFactor] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of_topics(cls, features: FloatArray, targets: FloatArray | None = None) -> Factors:
        """Return factors without samples.

        A fit that starts from them represents its samples by these topics first, and guesses
        unknown labels as it does by default.

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor import NMF, Factors
        >>> X = np.outer([1.0, 2.0, 3.0], [1.0, 0.0, 2.0])
        >>> first = NMF(1, random_state=0).fit(X)
        >>> again = NMF(1, init=Factors.of_topics(first.components_.T)).fit(2 * X)
        """
        none = np.empty((0, np.shape(features)[1]), dtype=np.asarray(features).dtype)
        return cls(none, features, targets)

    @property
    def has_samples(self) -> bool:
        return np.size(self.samples) > 0

    @property
    def rank(self) -> int:
        """Number of topics."""
        return int(self.features.shape[1])

    def copy(self) -> Factors:
        return self.map(np.array)

    def compact(self) -> Factors:
        """Return the factors as contiguous arrays; solvers may leave gaps between rows."""
        return self.map(_compact)

    def cast(self, dtype: np.dtype[Any]) -> Factors:
        """Return the factors as contiguous arrays of a dtype."""
        return self.map(partial(np.ascontiguousarray, dtype=dtype))

    def replace(self, name: FactorName, V: FloatArray) -> Factors:
        """Return the factors with V as the factor ``name``."""
        return self.with_padded(name, PaddedFactor(V))

    def with_padded(self, name: FactorName, factor: PaddedFactor) -> Factors:
        """Do the same with a padded factor; the other factors keep their padded copies."""
        arrays: dict[str, Any] = {"samples": self.samples, "features": self.features}
        arrays["targets"] = self.targets
        arrays[name] = factor.array
        new = Factors(**arrays)
        new._padded.update(self._padded)
        new._padded[name] = factor
        return new

    def padded(self, name: FactorName) -> PaddedFactor:
        """Return a factor padded for the kernels; its array must not change afterwards."""
        if name not in self._padded:
            self._padded[name] = PaddedFactor(self.get(name))
        return self._padded[name]

    def map(self, function: Callable[[FloatArray], FloatArray]) -> Factors:
        """Apply a function to each factor."""
        targets = None if self.targets is None else function(self.targets)
        return Factors(function(self.samples), function(self.features), targets)

    def named(self) -> dict[FactorName, FloatArray]:
        """Return the factors that there are, by name."""
        return {name: V for name, V in zip(FACTOR_NAMES, self.each(), strict=True) if V is not None}

    def each(self) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        return self.samples, self.features, self.targets

    def get(self, name: FactorName) -> FloatArray:
        V: FloatArray | None = getattr(self, name)
        if V is None:
            raise ValueError(f"the factors have no {name!r}")
        return V


def _compact(V: FloatArray) -> FloatArray:
    # samples that lie on the workers of a cluster are not an ndarray, and have no gaps
    gaps = isinstance(V, np.ndarray) and not V.flags.c_contiguous
    return np.ascontiguousarray(V) if gaps else V


def cross(
    cells: Layout, F: FloatArray, width: int, threads: Threads, bounds: IntArray | None = None
) -> FloatArray:
    """Return the matrix of the listed cells times the first ``width`` columns of a padded factor.

    ``bounds`` are the slices that the threads take.
    """
    out = np.empty((len(cells.first), width))
    run = partial(kernels.cross_slices, Slopes(cells.values, cells.places, F, 1.0), out)
    threads.over(balanced_slices(cells.start) if bounds is None else bounds, run, join=True)
    return out
