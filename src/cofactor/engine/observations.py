"""One matrix, however it is stored: observed cells with values and weights.

All storages become ``Observations``.  Cells are *listed* row by row in a ``Layout``; cells that are
not listed are either observed zeros (dense, sparse) or missing (masked).  Weights are kept for rows
and columns, and for single cells only where necessary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from cofactor._types import FloatArray, IntArray
from cofactor.engine.kernels import Places


class Layout(NamedTuple):
    """Listed cells, row by row: the arrays of a CSR matrix, except that rows may share indices.

    Row i has the values from ``start[i]`` to ``start[i + 1]``; the columns of these cells begin at
    ``indices[first[i]]``.
    """

    values: FloatArray
    places: Places

    @property
    def indices(self) -> IntArray:
        return self.places.indices

    @property
    def start(self) -> IntArray:
        return self.places.start

    @property
    def first(self) -> IntArray:
        return self.places.first

    def row_numbers(self) -> IntArray:
        """Return the row of each listed cell."""
        return np.repeat(np.arange(len(self.first)), np.diff(self.start))

    def column_numbers(self) -> IntArray:
        """Return the column of each listed cell."""
        if self.is_shared:
            return np.tile(self.indices, len(self.first))
        return self.indices

    def transposed(self, n_columns: int, values: FloatArray) -> Layout:
        """List the cells column by column, with ``values`` instead of the layout's values."""
        n_rows = len(self.first)
        if self.is_shared:
            return full_layout(values.reshape(n_rows, n_columns).T)
        return compressed_layout(self._replace(values=values).as_csr(n_columns).tocsc())

    def as_csr(self, n_columns: int) -> sp.csr_array:
        """Return the listed cells as a matrix; its indices are as short as their number allows."""
        indices = self.column_numbers()
        index = sp.get_index_dtype((indices, self.start), check_contents=True)
        start = self.start.astype(index, copy=False)
        return sp.csr_array((self.values, indices, start), (len(self.first), n_columns))

    def nonzero(self) -> Layout:
        """List only the cells whose value is not zero."""
        if self.values.all():
            return self
        kept = np.flatnonzero(self.values)
        row = self.row_numbers()[kept]
        start = np.searchsorted(row, np.arange(len(self.first) + 1)).astype(np.int64)
        indices = self.indices[self.first[row] + kept - self.start[row]]
        return Layout(self.values[kept], Places(indices, start, start[:-1]))

    @property
    def is_shared(self) -> bool:
        """Whether all rows have the same indices."""
        return len(self.indices) != len(self.values)


def compressed_layout(X: Any) -> Layout:
    """List the stored cells of a CSR matrix by rows, or those of a CSC matrix by columns."""
    start = X.indptr.astype(np.int64)
    return Layout(as_stored(X.data), Places(as_stored(X.indices, np.int32), start, start[:-1]))


def as_stored(array: Any, dtype: Any = None) -> Any:
    """Return an array as kernels read it: without gaps, and aligned; workers may send others."""
    return np.require(array, dtype, ["C", "A"])


def full_layout(array: FloatArray) -> Layout:
    """List every cell of a dense array; all rows share one run of indices."""
    n, m = array.shape
    values = as_stored(array).reshape(-1)
    start, first = np.arange(n + 1, dtype=np.int64) * m, np.zeros(n, dtype=np.int64)
    return Layout(values, Places(np.arange(m, dtype=np.int32), start, first))


@dataclass(frozen=True, eq=False)
class Observations:
    """Values and weights of one matrix.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns.
    layout : Layout
        The listed cells.
    zeros : bool
        Whether a cell that is not listed is an observed zero; otherwise it is missing.
    weights : array or None
        Weight of each listed cell, for matrices without observed zeros; None means 1.
    row_weights, column_weights : array or None
        The weight of a cell is multiplied by those of its row and its column.
    known_transpose : Observations or None
        The transpose, if already known; it is not computed then.
    """

    shape: tuple[int, int]
    layout: Layout
    zeros: bool
    weights: FloatArray | None = None
    row_weights: FloatArray | None = None
    column_weights: FloatArray | None = None
    known_transpose: InitVar[Observations | None] = None
    _transposed: Observations | None = field(init=False, repr=False)

    def __post_init__(self, known_transpose: Observations | None) -> None:
        object.__setattr__(self, "_transposed", known_transpose)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.layout.values.dtype

    @property
    def n_listed(self) -> int:
        return len(self.layout.values)

    @property
    def complete(self) -> bool:
        """Whether every cell is observed."""
        return self.zeros or self.n_listed == self.shape[0] * self.shape[1]

    @property
    def uniform(self) -> bool:
        """Whether every cell is observed, all with the same weight."""
        if not self.complete:
            return False
        vectors = (self.weights, self.row_weights, self.column_weights)
        return all(w is None or not len(w) or w.min() == w.max() for w in vectors)

    @property
    def transposed(self) -> Observations:
        """The same matrix with rows and columns exchanged; computed once."""
        if self._transposed is None:
            object.__setattr__(self, "_transposed", self._transpose())
        assert self._transposed is not None
        return self._transposed

    def _transpose(self) -> Observations:
        weights = self.weights
        return Observations(
            (self.shape[1], self.shape[0]),
            self.layout.transposed(self.shape[1], self.layout.values),
            self.zeros,
            None if weights is None else self.layout.transposed(self.shape[1], weights).values,
            self.column_weights,
            self.row_weights,
        )

    def cell_weights(self, extra_rows: FloatArray | None = None) -> FloatArray | None:
        """Return the total weight of each listed cell, or None where all are 1.

        ``extra_rows`` is a further weight for each row.
        """
        total = self.weights
        for vector, index in (
            (self.row_weights, self.layout.row_numbers),
            (self.column_weights, self.layout.column_numbers),
            (extra_rows, self.layout.row_numbers),
        ):
            if vector is not None:
                part = vector[index()]
                total = part if total is None else total * part
        return total

    def column_means(self, counts: FloatArray | None = None) -> FloatArray:
        """Return the weighted mean of each column's observed cells; ``counts`` are row weights."""
        columns, m = self.layout.column_numbers(), self.shape[1]
        weights = self.cell_weights(counts)
        weights = np.ones(len(columns)) if weights is None else weights
        total = np.bincount(columns, weights * self.layout.values, minlength=m)
        mass: FloatArray = np.bincount(columns, weights, minlength=m).astype(np.float64)
        if self.zeros:
            rows = times(counts, self.row_weights)
            mass = np.full(m, float(self.shape[0]) if rows is None else rows.sum())
            mass = mass if self.column_weights is None else mass * self.column_weights
        return np.divide(total, mass, out=np.zeros(m), where=mass > 0)

    def largest(self, counts: FloatArray | None = None) -> float:
        """Return the largest value of positive weight."""
        weights = self.cell_weights(counts)
        values = self.layout.values if weights is None else self.layout.values[weights > 0]
        return float(np.max(values, initial=0.0))

    def folded(self) -> Observations:
        """Return observations whose values are the weighted values, without weights."""
        weights = self.cell_weights()
        if weights is None:
            return self
        values = (self.layout.values * weights).astype(self.dtype)
        layout = self.layout._replace(values=values)
        return Observations(self.shape, layout, self.zeros)

    def scaled_rows(self, exponents: IntArray) -> Observations:
        """Return the observations with row i divided by 2**exponents[i]."""
        values = np.ldexp(self.layout.values, -exponents[self.layout.row_numbers()])
        return replace(self, layout=self.layout._replace(values=values))

    def shifted(self, exponent: int) -> Observations:
        """Return the observations divided by 2**exponent; this is exact."""
        if exponent == 0:
            return self
        values = np.ldexp(self.layout.values, -exponent)
        known = None if self._transposed is None else self._transposed.shifted(exponent)
        return replace(self, layout=self.layout._replace(values=values), known_transpose=known)

    def weighted(
        self, rows: FloatArray | None = None, columns: FloatArray | None = None
    ) -> Observations:
        """Return the observations with further weights for rows and columns."""
        return replace(
            self,
            row_weights=times(self.row_weights, rows),
            column_weights=times(self.column_weights, columns),
        )

    def select(self, rows: IntArray) -> Observations:
        """Return the observations of some rows, in the given order."""
        start, first = self.layout.start, self.layout.first
        lengths = start[rows + 1] - start[rows]
        new_start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        within = np.arange(new_start[-1]) - np.repeat(new_start[:-1], lengths)
        cells = np.repeat(start[rows], lengths) + within
        if self.layout.is_shared:
            indices, new_first = self.layout.indices, np.zeros(len(rows), dtype=np.int64)
        else:
            indices = self.layout.indices[np.repeat(first[rows], lengths) + within]
            new_first = new_start[:-1]
        return Observations(
            (len(rows), self.shape[1]),
            Layout(self.layout.values[cells], Places(indices, new_start, new_first)),
            self.zeros,
            None if self.weights is None else self.weights[cells],
            None if self.row_weights is None else self.row_weights[rows],
            self.column_weights,
        )


def both_ways(rows: Observations, columns: Observations) -> Observations:
    """Return the matrix ``rows`` together with its transpose ``columns``, which is known."""
    return replace(rows, known_transpose=columns)


def stack(parts: Sequence[Observations]) -> Observations:
    """Put the rows of several matrices of the same width below each other."""
    if len(parts) == 1:
        return parts[0]
    n, m = sum(part.shape[0] for part in parts), parts[0].shape[1]
    values = np.concatenate([part.layout.values for part in parts])
    if all(part.layout.is_shared for part in parts):
        layout = full_layout(values.reshape(n, m))
    else:
        lengths = np.concatenate([np.diff(part.layout.start) for part in parts])
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        indices = np.concatenate([part.layout.column_numbers() for part in parts])
        layout = Layout(values, Places(indices.astype(np.int32, copy=False), start, start[:-1]))
    zeros = all(part.zeros for part in parts)
    weights = None
    if not zeros:
        weights = np.concatenate([_listed_weights(part) for part in parts])
    return Observations((n, m), layout, zeros, weights)


def _listed_weights(part: Observations) -> FloatArray:
    weights = part.cell_weights()
    return np.ones(part.n_listed) if weights is None else weights


def times(a: FloatArray | None, b: FloatArray | None) -> FloatArray | None:
    """Multiply two weights, either of which may be None for 1."""
    if a is None or b is None:
        return b if a is None else a
    return np.asarray(a * b)


# ---- storages: dense, sparse and masked arrays


def dense(X: FloatArray) -> Observations:
    """Observe every cell of an array."""
    return Observations((X.shape[0], X.shape[1]), full_layout(X), zeros=True)


def sparse(X: sp.csr_array) -> Observations:
    """List the stored cells; all others are observed zeros."""
    X = canonical(X)
    return Observations((X.shape[0], X.shape[1]), compressed_layout(X), zeros=True)


def masked(X: sp.csr_array, weights: FloatArray | None = None) -> Observations:
    """Observe only the stored cells, explicit zeros included; NaN and weight 0 are missing.

    ``weights`` are those of the stored cells of X, in their order.
    """
    keep = ~np.isnan(X.data)
    if weights is not None:
        keep &= weights > 0
        weights = weights[keep] if not keep.all() else weights
    if not keep.all():
        lengths = np.add.reduceat(np.append(keep, False), X.indptr[:-1]) * (np.diff(X.indptr) > 0)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        X = sp.csr_array((X.data[keep], X.indices[keep], indptr), shape=X.shape)
    return Observations(
        (X.shape[0], X.shape[1]), compressed_layout(X), zeros=False, weights=weights
    )


def canonical(X: sp.csr_array) -> sp.csr_array:
    """Return X with sorted indices, without duplicates and stored zeros.

    The caller's matrix is not changed.
    """
    X = sp.csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if X.nnz and not X.data.all():
        X = X.copy()
        X.eliminate_zeros()
    return X


def _all_cells(X: FloatArray) -> sp.csr_array:
    n, m = X.shape
    indices = np.tile(np.arange(m, dtype=np.int32), n)
    return sp.csr_array((X.reshape(-1), indices, np.arange(n + 1) * m), shape=X.shape)


def _cells_of(X: FloatArray | sp.csr_array, weights: FloatArray | sp.csr_array) -> Observations:
    """List the cells of positive weight."""
    if sp.issparse(weights):
        W = canonical(sp.csr_array(weights))
    else:
        W = canonical(sp.csr_array(np.asarray(weights)))
    rows = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
    if sp.issparse(X):
        values = _lookup(canonical(sp.csr_array(X)), rows, W.indices)
    else:
        values = X[rows, W.indices]
    return masked(sp.csr_array((values, W.indices, W.indptr), shape=W.shape), W.data)


def _lookup(X: sp.csr_array, rows: IntArray, columns: IntArray) -> FloatArray:
    """Return X at the given cells; these and X's own are sorted by row, then column."""
    width = X.shape[1]
    stored = np.repeat(np.arange(X.shape[0], dtype=np.int64), np.diff(X.indptr)) * width + X.indices
    asked = rows.astype(np.int64) * width + columns
    place = np.searchsorted(stored, asked).clip(0, max(len(stored) - 1, 0))
    if not len(stored):
        return np.zeros(len(asked), dtype=X.dtype)
    return np.where(stored[place] == asked, X.data[place], 0).astype(X.dtype)


def observe(
    X: FloatArray | sp.csr_array,
    weights: FloatArray | sp.csr_array | None = None,
    *,
    row_weights: FloatArray | None = None,
    column_weights: FloatArray | None = None,
) -> Observations:
    """Choose the storage of X.  NaN is missing.

    ``weights`` is a matrix of X's shape, or a column (n, 1) or a row (1, m) of weights.  With a
    sparse matrix of weights, only its stored cells are observed.
    """
    if weights is not None and not sp.issparse(weights) and 1 in weights.shape != X.shape:
        if weights.shape[0] == X.shape[0]:
            row_weights = times(row_weights, np.asarray(weights)[:, 0])
        else:
            column_weights = times(column_weights, np.asarray(weights)[0])
        weights = None
    return _store(X, weights).weighted(row_weights, column_weights)


def _store(X: FloatArray | sp.csr_array, weights: FloatArray | sp.csr_array | None) -> Observations:
    if weights is not None:
        return _cells_of(X, weights)
    if sp.issparse(X):
        if np.isnan(X.data).any():
            raise _stored_nan(canonical(X))
        return sparse(X)
    return masked(_all_cells(X)) if np.isnan(X).any() else dense(X)


def _stored_nan(X: sp.csr_array) -> ValueError:
    # Zeros are observed, so every cell but the missing ones would have to be listed.
    return ValueError(
        f"X is sparse and has {int(np.isnan(X.data).sum())} stored NaN among observed zeros, "
        f"which would need an array of {X.shape[0]}×{X.shape[1]} cells; pass data_weights as a "
        "sparse matrix that stores the observed cells, or a dense X."
    )
