"""Folds: which samples are held out together.

`assign_folds` deals samples out in the order in which they come. `distinct_rows` gives them an
order that follows from their content alone: identical samples with the same labels become one whose
weights add. So folds, samples of rows and sums are the same for permuted rows, and integer weights
equal repeated rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.engine.observations import observe
from cofactor.linear.views import Side, View

HashWords = NDArray[np.uint64]
CELL_PRECISION = 2.0**20
"""Values count as equal if they are when multiplied by this and rounded."""
MAX_COMPARED_VALUE = 2.0**40
"""Values beyond this count as equal."""


def assign_folds(
    groups: IntArray, n_folds: int, *, min_size: int = 1, random: Any = None
) -> IntArray:
    """Return the fold of each sample, −1 where it is never held out.

    The samples of each group go round the folds; each group goes on where the one before ended.

    Parameters
    ----------
    groups : array (n,)
        Group of each sample, such as its class; −1 is never held out.
    n_folds : int
    min_size : int
        Smaller groups are never held out.
    random : numpy.random.Generator or RandomState, optional
        Draws which samples of a group go to which fold; by default their order decides.

    Examples
    --------
    >>> assign_folds(np.array([0, 1, 0, -1, 1, 0, 2]), 2, min_size=2)
    array([ 0,  1,  1, -1,  0,  0, -1])
    """
    rows = np.flatnonzero(groups >= 0)
    if random is not None:
        rows = random.permutation(rows)
    rows = rows[np.argsort(groups[rows], kind="stable")]
    rows = rows[np.bincount(groups[rows])[groups[rows]] >= min_size]
    folds = np.full(len(groups), -1)
    folds[rows] = np.arange(len(rows)) % n_folds
    return folds


@dataclass(frozen=True, eq=False)
class Distinct:
    """The distinct samples of positive weight.

    Parameters
    ----------
    rows : array (d,)
        Number of a sample that stands for each distinct one, ordered by content.
    weights : array (d,)
        Sum of the weights of equal samples.
    starts : array (d,)
        Where each distinct sample begins in ``order``.
    order : array (n,)
        All samples of positive weight; equal ones are side by side.
    """

    rows: IntArray
    weights: FloatArray
    starts: IntArray
    order: IntArray

    def places(self, n: int) -> IntArray:
        """Return which distinct sample each of all n samples is, −1 for those of weight 0."""
        out = np.full(n, -1)
        lengths = np.diff(np.r_[self.starts, len(self.order)])
        out[self.order] = np.repeat(np.arange(len(self.rows)), lengths)
        return out

    def of_each(self, values: FloatArray, n: int) -> FloatArray:
        """Return the values of distinct samples for all n samples, NaN for those of weight 0."""
        places = self.places(n)
        out = np.full((n, *values.shape[1:]), np.nan)
        out[places >= 0] = values[places[places >= 0]]
        return out

    def total(self, values: FloatArray) -> FloatArray:
        """Return the sums of a value of each sample over equal samples."""
        return np.asarray(np.add.reduceat(values[self.order].astype(np.float64), self.starts))


def distinct_rows(
    view: Any, shares: Any, labelled: BoolArray, counts: FloatArray, side: Side | None = None
) -> Distinct:
    """Find the distinct samples of a view; ``shares`` are the classes of the labelled ones.

    If they are sparse, all samples must be labelled. Samples that differ in ``side`` are distinct,
    too.
    """
    known = shares if issparse(shares) else np.where(labelled[:, None], shares, 0.0)
    cells, labels = csr_array(view), csr_array(known)
    pairs = [(_content(cells, seed), _content(labels, seed)) for seed in (1, 2)]
    first, second = (one + mix_bits(other + np.uint64(3)) for one, other in pairs)
    for salt, found in _side_contents(side):
        first, second = (
            one + mix_bits(other + salt) for one, other in zip((first, second), found, strict=True)
        )
    used = np.flatnonzero(counts > 0)
    order = used[np.lexsort((used, second[used], first[used]))]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (first[order][1:] != first[order][:-1]) | (second[order][1:] != second[order][:-1])
    starts = np.flatnonzero(new)
    weights = np.add.reduceat(counts[order].astype(np.float64), starts)
    return Distinct(order[starts], weights, starts, order)


def _side_contents(side: Side | None) -> Iterator[tuple[np.uint64, tuple[HashWords, HashWords]]]:
    """Yield two numbers for each sample for each part of the side, and what tells parts apart.

    Further features count in rows of length one, as models see them, so their unit does not matter.
    """
    if side is not None and side.vectors is not None:
        yield np.uint64(5), _vector_contents(side.vectors)
    if side is not None and side.further is not None:
        rows = View("rows").of(observe(side.further))
        yield np.uint64(7), (_content(rows, 1), _content(rows, 2))


def _vector_contents(vectors: FloatArray) -> tuple[HashWords, HashWords]:
    """Return two numbers for each vector that depend on its cells, relative to the largest cell."""
    largest = float(np.abs(vectors).max(initial=0.0))
    unit = 2.0 ** np.floor(np.log2(largest)) if largest > 0 else 1.0
    places = np.arange(vectors.shape[1], dtype=np.uint64)
    keys = [mix_bits(places * np.uint64(2) + np.uint64(seed)) for seed in (1, 2)]
    first, second = (np.empty(len(vectors), dtype=np.uint64) for _ in range(2))
    for i in range(0, len(vectors), 256):  # few, so that they stay in the cache
        block = vectors[i : i + 256].astype(np.float64) * (CELL_PRECISION / unit)
        cells = np.rint(block).astype(np.int64).view(np.uint64)
        for out, key in zip((first, second), keys, strict=True):
            out[i : i + 256] = mix_bits((cells * key).sum(axis=1))
    return first, second


def _content(rows: csr_array, seed: int) -> HashWords:
    """Return a number for each row that depends on its cells but not on their order."""
    values = (
        np.rint(np.clip(rows.data, -MAX_COMPARED_VALUE, MAX_COMPARED_VALUE) * CELL_PRECISION)
        .astype(np.int64)
        .view(np.uint64)
    )
    columns = rows.indices.astype(np.uint64)
    cells = mix_bits(mix_bits(columns * np.uint64(2) + np.uint64(seed)) ^ values)
    cells[values == 0] = 0
    out = np.zeros(rows.shape[0], dtype=np.uint64)
    filled = np.flatnonzero(np.diff(rows.indptr))
    if len(filled):
        out[filled] = np.add.reduceat(cells, rows.indptr[filled])
    return out


def mix_bits(x: HashWords) -> HashWords:
    """Mix the bits of each number (the finaliser of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
