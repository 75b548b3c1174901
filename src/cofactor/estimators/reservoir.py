"""Rows that a stream keeps for its pooled head, within a bound.

Labelled rows come before unlabelled ones. Where not all fit, the rows kept are an even sample: each
row has a key, a hash of its place in the stream, and the rows with the smallest keys stay. So the
sample does not depend on how the stream was cut into batches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, issparse

from cofactor._fields import FieldSizes
from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.engine.observations import Observations
from cofactor.engine.observations import stack as stack_rows
from cofactor.estimators.validation import SAMPLE_CELLS
from cofactor.linear.folds import mix_bits
from cofactor.targets.matrix import Targets, stack

MIN_ROWS = 100
"""Number of rows that stay however many cells they have."""
FIRST_OF_A_CLASS = 10.0
"""The first rows of each class, up to this number, come before all others."""
TRIM_ABOVE = 1.25
"""Rows that will leave are removed when they take this much more than the bound, all at once."""
MAX_PARTS = 256
"""Maximum number of batches that are kept apart."""
UNLABELLED = np.uint64(1 << 63)
"""Added to the keys of unlabelled rows, so that labelled ones come first."""


class GatheredRows(NamedTuple):
    """Rows in the order of the stream, in the units of the user."""

    data: Observations
    targets: Targets
    counts: FloatArray
    keys: NDArray[np.uint64]

    def select(self, rows: IntArray) -> GatheredRows:
        """Return some of the rows."""
        targets = self.targets.select(rows)
        return GatheredRows(self.data.select(rows), targets, self.counts[rows], self.keys[rows])

    def cells(self) -> IntArray:
        """Return how many cells each row takes."""
        Y = self.targets.values
        return np.diff(self.data.layout.start) + (np.diff(Y.indptr) if issparse(Y) else Y.shape[1])


@dataclass(frozen=True, eq=False)
class Reservoir:
    """Rows of a stream for its pooled head.

    Parameters
    ----------
    parts : tuple of GatheredRows
        The rows, and perhaps a few that no longer belong to them.
    limit : int or None
        The smallest key of a row that was left out; later rows must have smaller ones.
    seen : int
        Number of rows so far, those of weight zero left out.
    mass : array (2,)
        Weight of the unlabelled and of the labelled rows so far.
    labels : array (k,)
        Number of labels of each target so far.
    """

    parts: tuple[GatheredRows, ...]
    limit: int | None
    seen: int
    mass: FloatArray
    labels: FloatArray

    def fault(self, sizes: FieldSizes) -> str | None:
        """Return what is wrong with the fields together, see `cofactor._fields`."""
        rows = joined(self.parts)
        width, k = rows.data.shape[1], rows.targets.n_targets
        if width != sizes.setdefault("m", width):
            return f"_reservoir has {width} features in place of {sizes['m']}"
        if not len(self.labels) == k == sizes.setdefault("k", k):
            return f"_reservoir does not have {sizes['k']} targets"
        return None

    @property
    def least(self) -> float:
        """The smallest entry of the targets, or 0."""
        Y = joined(self.parts).targets.values
        return float(Y.min()) if min(Y.shape) else 0.0

    @classmethod
    def empty(cls, n_targets: int) -> Reservoir:
        """Return a reservoir without rows."""
        return cls((), None, 0, np.zeros(2), np.zeros(n_targets))

    def plus(
        self, data: Observations, targets: Targets, counts: FloatArray | None, labels: FloatArray
    ) -> Reservoir:
        """Return the reservoir after a batch; ``labels`` (n, k) counts the labels of each row."""
        counts = np.ones(data.shape[0]) if counts is None else counts
        used = np.flatnonzero(counts > 0)
        labels, known = labels[used], targets.labelled[used]
        keys = _keys(self.seen + np.arange(len(used)), known, self._among_first(labels, known))
        inside = np.arange(len(used)) if self.limit is None else np.flatnonzero(keys < self.limit)
        rows = used[inside]
        new = GatheredRows(data.select(rows), targets.select(rows), counts[rows], keys[inside])
        mass = np.array([counts[used][~known].sum(), counts[used][known].sum()])
        after = replace(
            self,
            parts=(*self.parts, new),
            seen=self.seen + len(used),
            mass=self.mass + mass,
            labels=self.labels + labels.sum(axis=0),
        )
        fits = sum(int(part.cells().sum()) for part in after.parts) <= TRIM_ABOVE * SAMPLE_CELLS
        return after if fits and len(after.parts) <= MAX_PARTS else after.trimmed()

    def _among_first(self, labels: FloatArray, known: BoolArray) -> BoolArray:
        """Return which rows are among the first of one of their classes."""
        columns = csc_array(labels * known[:, None])
        before = np.cumsum(np.r_[0.0, columns.data])
        earlier = before[:-1] - np.repeat(before[columns.indptr[:-1]], np.diff(columns.indptr))
        early = earlier + np.repeat(self.labels, np.diff(columns.indptr)) < FIRST_OF_A_CLASS
        first = np.zeros(len(known), dtype=bool)
        first[columns.indices[early]] = True
        return first

    def trimmed(self) -> Reservoir:
        """Return the reservoir with only the rows that belong to it, put together."""
        rows = joined(self.parts)
        order = np.argsort(rows.keys, kind="stable")
        fits = np.cumsum(rows.cells()[order]) <= SAMPLE_CELLS
        fits[:MIN_ROWS] = True
        if fits.all():
            return replace(self, parts=(rows,))
        n = int(fits.argmin())
        limit = int(rows.keys[order[n]])
        return replace(self, parts=(rows.select(np.sort(order[:n])),), limit=limit)

    def sample(self) -> tuple[Observations, Targets, FloatArray]:
        """Return data, targets and weights of the rows.

        Labelled rows count as they do in the stream. Unlabelled ones have together the weight,
        relative to the labelled ones, that they have in the stream.
        """
        own = self.trimmed()
        (rows,), known = own.parts, own.parts[0].targets.labelled
        counts = rows.counts
        if own.limit is not None and known.any() and not known.all():
            kept = counts[~known].sum() / counts[known].sum()
            counts = np.where(known, counts, counts * (self.mass[0] / self.mass[1] / kept))
        return rows.data, rows.targets, counts


def joined(parts: tuple[GatheredRows, ...]) -> GatheredRows:
    """Put rows below each other."""
    if len(parts) == 1:
        return parts[0]
    data, targets, counts, keys = zip(*parts, strict=True)
    return GatheredRows(
        stack_rows(data), stack([*targets]), np.concatenate(counts), np.concatenate(keys)
    )


def _keys(places: IntArray, known: BoolArray, first: BoolArray) -> NDArray[np.uint64]:
    """Return different numbers below 2**64: small ones for first rows, then labelled ones."""
    places = places.astype(np.uint64)
    keys = np.where(first, places, _hash(places) >> np.uint64(1))
    return np.where(known, keys, keys | UNLABELLED)


def _hash(places: Any) -> Any:
    """Return well mixed numbers of 64 bits (splitmix64)."""
    return mix_bits((places + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))
