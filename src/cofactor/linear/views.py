"""Views: the samples as linear models see them.

The kind of data decides, never a label or a parameter. Sparse data that are not integers (tf-idf)
become rows of length one. Sparse integers (counts) become rows of length one of their square roots,
so that a few large counts do not outvote the others. Dense data are standardised column by column.
Data are sparse if less than a quarter of the cells differ from zero, however they are stored. Dense
rows that all have the same length, and dense integers whose totals differ much, are treated as
sparse ones: they are tf-idf of few words, and counts. Where totals are scales, such as the depth of
a cell, data of any kind are treated as sparse counts. Last, all values are divided by one number,
so that a penalty has the same effect on all data.

A `View` says how data are seen; a `Matrix` is what it shows, with the products that models need.
`Axes` are sums of a view's columns, such as its principal axes, which make a further view; what a
model learns about them is folded back to the columns.

A `Side` holds what is known of samples beside their features: further features, which are sparse
and seen like the first ones, and vectors from outside, such as those of an encoder of texts;
`SideViews` say how. Vectors are centred and divided by one number (`VectorView`). Their axes are
not scaled apart: that costs 2 to 10 points of accuracy with few labels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from scipy.sparse import csr_array, hstack, issparse, vstack

from cofactor._fields import FieldSizes, array, instance, number
from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.engine.factors import cross, pad
from cofactor.engine.observations import (
    Layout,
    Observations,
    compressed_layout,
    full_layout,
    observe,
)
from cofactor.engine.threads import Threads

MAX_SPARSE_SHARE = 0.25
"""Maximum share of cells other than zero in sparse data."""
MAX_STANDARDISED = 1e100
"""Larger standardised values are clipped, so that scores stay finite."""
MAX_EVEN_VARIATION = 0.5
"""Integers whose totals vary more than this, relative to their mean, are counts."""
FURTHER, VECTORS = "further ", "vectors "
"""Views of further features and of vectors; they come before the names of their parts."""
Kind = Literal["rows", "roots", "columns"]
VIEW_KINDS = get_args(Kind)


@dataclass(frozen=True, eq=False)
class View:
    """How samples look to linear models.

    Parameters
    ----------
    kind : {"rows", "roots", "columns"}
        Rows of length one, rows of length one of square roots, or standardised columns.
    scale : float
        All values are divided by it.
    mean, spread : array (m,) or None
        Of each column, where columns are standardised.
    """

    kind: Kind = instance(str, among=VIEW_KINDS)
    scale: float = number(low=np.nextafter(0, 1), default=1.0)
    mean: FloatArray | None = array("m", default=None)
    spread: FloatArray | None = array("m", low=np.nextafter(0, 1), default=None)

    def fault(self, sizes: FieldSizes) -> str | None:
        """Return what is wrong with the fields together, see `cofactor._fields`."""
        standardised = [part is not None for part in (self.mean, self.spread)]
        if standardised == [self.kind == "columns"] * 2:
            return None
        return f"mean and spread do not fit kind={self.kind!r}"

    def of(self, data: Observations) -> Any:
        """Return the view of samples, a CSR matrix or an array."""
        if self.mean is not None and self.spread is not None:
            cells, known = _filled(data)
            unit = self.spread * self.scale
            standard = np.minimum(cells - self.mean, MAX_STANDARDISED * unit) / unit
            return np.where(known, standard, 0.0)
        rows = _stored(data)
        values = np.sqrt(rows.data) if self.kind == "roots" else rows.data
        return _unit_rows(csr_array((values, rows.indices, rows.indptr), rows.shape), self.scale)

    def shifted(self, exponent: int) -> View:
        """Return the same view for data that are divided by 2**exponent."""
        if self.mean is None or self.spread is None:  # rows of length one have no units
            return self
        mean, spread = (np.ldexp(part, -exponent) for part in (self.mean, self.spread))
        return replace(self, mean=mean, spread=spread)


@dataclass(frozen=True, eq=False)
class Side:
    """What is known of samples beside their features; it helps to predict, but makes no topics.

    Parameters
    ----------
    vectors : array (n, d) or None
        Vectors from outside, of any sign.
    further : csr_array (n, w) or None
        Further features, nonnegative.
    """

    vectors: FloatArray | None = None
    further: csr_array | None = None

    def __getitem__(self, rows: Any) -> Side:
        """Return what is known of some samples."""
        return Side(*(None if part is None else part[rows] for part in self.parts))

    def above(self, other: Side) -> Side:
        """Return what is known of these samples, then of other ones."""
        vectors = [one for one in (self.vectors, other.vectors) if one is not None]
        further = [one for one in (self.further, other.further) if one is not None]
        return Side(
            np.vstack(vectors) if vectors else None, csr_array(vstack(further)) if further else None
        )

    @property
    def parts(self) -> tuple[FloatArray | None, csr_array | None]:
        return self.vectors, self.further

    @property
    def filled_rows(self) -> BoolArray:
        """Which samples something is known of."""
        found = [filled_rows(part) for part in self.parts if part is not None]
        return np.asarray(np.any(found, axis=0))


@dataclass(frozen=True, eq=False)
class VectorView:
    """How vectors from outside look to linear models: centred, and divided by one number.

    A zero vector says nothing: it counts as the mean.

    Parameters
    ----------
    mean : array (d,)
        Mean of the vectors.
    scale : float
        Root of the mean square of their distance from it.
    """

    mean: FloatArray = array("d")
    scale: float = number(low=np.nextafter(0, 1))

    @classmethod
    def fitted(cls, vectors: FloatArray, counts: FloatArray) -> VectorView:
        """Return the view of vectors (n, d); ``counts`` are sample weights."""
        counts = np.where(vectors.any(axis=1), counts, 0.0)
        total = max(float(counts.sum()), 1e-300)
        mean = (counts @ vectors) / total
        spread, size = (
            float(counts @ (rows**2).sum(axis=1)) / total for rows in (vectors - mean, vectors)
        )
        return cls(mean, float(np.sqrt(spread)) if spread > 1e-20 * size else 1.0)

    def of(self, vectors: Any) -> FloatArray:
        """Return the view of vectors."""
        rows = np.asarray(vectors)
        shown = rows - self.mean
        shown /= self.scale  # in place: vectors of many texts fill the memory
        shown[~rows.any(axis=1)] = 0.0
        return shown


class SideViews(NamedTuple):
    """How the parts of a side look to linear models; None stands for a part that is not there."""

    further: View | None = None
    vectors: VectorView | None = None

    @classmethod
    def fitted(cls, side: Side, counts: FloatArray) -> SideViews:
        """Return the views of the parts that samples have; ``counts`` are sample weights."""
        further, vectors = side.further, side.vectors
        return cls(
            None if further is None else _of_lengths(View("rows"), observe(further), counts),
            None if vectors is None else VectorView.fitted(np.asarray(vectors, np.float64), counts),
        )

    def of(self, side: Side | None, threads: Threads) -> dict[str, Matrix]:
        """Return the parts of a side as they are seen, by the names of their views."""
        seen: dict[str, Any] = {}
        if self.further is not None:
            seen[FURTHER] = self.further.of(observe(side.further))  # type: ignore[union-attr]
        if self.vectors is not None:
            seen[VECTORS] = self.vectors.of(side.vectors)  # type: ignore[union-attr]
        return {name: Matrix(values, threads) for name, values in seen.items()}


@dataclass(frozen=True, eq=False)
class Axes:
    """Sums of a view's columns, centred: the columns of a further view of the same samples.

    Parameters
    ----------
    basis : array (m, d)
        What each column of the view adds to each axis.
    centre : array (d,)
        What is taken off each axis.
    """

    basis: FloatArray = array("m", "axes")
    centre: FloatArray = array("axes")

    def of(self, X: Matrix) -> Matrix:
        """Return samples along the axes."""
        return Matrix(X.times(self.basis) - self.centre, X.threads)

    def fold(self, weights: FloatArray, base: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Turn weights (d, c) of the axes and their base into those of the view's columns."""
        return self.basis @ weights, base - self.centre @ weights

    def rotated(self, basis: FloatArray) -> Axes:
        """Return the axes times an orthogonal basis."""
        return Axes(self.basis @ basis, self.centre @ basis)


def choose_view(
    data: Observations, counts: FloatArray, exponent: int, *, exposed: bool = False
) -> View:
    """Choose the view of data that were divided by 2**exponent; ``counts`` are sample weights.

    ``exposed``: the total of a sample is a scale, so the view must not depend on it.
    """
    if not counts.all():
        data, counts = data.select(np.flatnonzero(counts)), counts[counts > 0]
    values = data.layout.values
    whole = np.ldexp(values, exponent)
    integers = bool((whole == np.floor(whole)).all()) and _may_have_fractions(whole)
    dense = np.count_nonzero(values) >= MAX_SPARSE_SHARE * max(float(np.prod(data.shape)), 1.0)
    counts_like = integers and _variation(data, counts) > MAX_EVEN_VARIATION
    if dense and not exposed and not counts_like and not _equal_lengths(data):
        return _standardising(data, counts)
    return _of_lengths(View("roots" if integers or exposed else "rows"), data, counts)


def _of_lengths(view: View, data: Observations, counts: FloatArray) -> View:
    """Return the view with the scale of rows of length one."""
    rows = view.of(data)
    total = max(float(_rounded(counts).sum()), 1e-300)
    terms = _rounded(rows.data * np.repeat(counts, np.diff(rows.indptr)), len(counts))
    mean = np.bincount(rows.indices, terms, rows.shape[1]) / total
    norms = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    spread = float(_rounded(norms * counts).sum()) / total - float((mean**2).sum())
    return View(view.kind, _root(spread))


def _rounded(terms: FloatArray, n_terms: int | None = None) -> FloatArray:
    """Round terms so much that sums of them are exact, hence the same in every order of samples.

    ``n_terms`` is the largest number of terms of a sum, by default the number of rows. Terms are
    rounded relative to the largest one of their column.
    """
    n = len(terms) if n_terms is None else n_terms
    largest = np.abs(terms).max(axis=0, initial=0.0)
    exponent = np.frexp(largest)[1] + int(n).bit_length() - 53
    unit = np.ldexp(1.0, np.maximum(exponent, -1000))  # far from the smallest numbers
    return np.asarray(np.rint(terms / unit) * unit)


def _may_have_fractions(values: FloatArray) -> bool:
    """Return whether some value is small enough for floating point to store a fraction."""
    smallest = float(np.min(values, where=values > 0, initial=np.inf))
    return smallest < 1.0 / float(np.finfo(values.dtype).eps) or not values.any()


def _variation(data: Observations, counts: FloatArray) -> float:
    """Return the coefficient of variation of the samples' totals."""
    totals = np.asarray(_stored(data).sum(axis=1)).ravel()
    mean = float(np.average(totals, weights=counts))
    return float(np.sqrt(np.average((totals - mean) ** 2, weights=counts))) / max(mean, 1e-300)


def _equal_lengths(data: Observations) -> bool:
    """Return whether all samples have the same length, or none, as rows of tf-idf do."""
    rows = _stored(data)
    squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    squares = squares[squares > 0]
    return bool(len(squares)) and bool(np.allclose(squares, squares[0], rtol=1e-4, atol=0.0))


def _standardising(data: Observations, counts: FloatArray) -> View:
    cells, known = _filled(data)
    weights = known * counts[:, None]
    total = np.maximum(_rounded(weights).sum(axis=0), 1e-300)
    mean = _rounded(weights * cells).sum(axis=0) / total
    variance = _rounded(weights * (cells - mean) ** 2).sum(axis=0) / total
    sd = np.sqrt(variance)
    spread = sd + (float(np.median(sd[sd > 0])) if sd.any() else 1.0)
    return View("columns", _root(float((variance / spread**2).sum())), mean, spread)


def _root(square: float) -> float:
    return float(np.sqrt(square)) if square > 1e-12 else 1.0


def _filled(data: Observations) -> tuple[FloatArray, FloatArray]:
    """Return all cells as an array, and which of them are known."""
    folded = with_relative_weights(data)
    cells = np.zeros(data.shape)
    place = folded.layout.row_numbers(), folded.layout.column_numbers()
    cells[place] = folded.layout.values
    if data.zeros:
        return cells, np.ones((1, 1), dtype=bool)
    known = np.zeros(data.shape, dtype=bool)
    known[place] = True
    return cells, known


def _stored(data: Observations) -> csr_array:
    """Return the cells other than zero; missing cells count as zero."""
    return _nonzero(with_relative_weights(data))


def _nonzero(data: Observations) -> csr_array:
    layout = data.layout.nonzero()
    values = layout.values.astype(np.float64, copy=False)
    return layout._replace(values=values).as_csr(data.shape[1])


def with_relative_weights(data: Observations) -> Observations:
    """Multiply the cells by their weights, relative to the largest weight of their row.

    So no sample depends on the others, and weights of whole rows change nothing.
    """
    values = data.layout.values
    if data.weights is not None:
        rows, largest = data.layout.row_numbers(), np.zeros(data.shape[0])
        np.maximum.at(largest, rows, data.weights)
        values = values * (data.weights / largest[rows])
    if data.column_weights is not None:
        top = float(data.column_weights.max()) or 1.0
        values = values * (data.column_weights / top)[data.layout.column_numbers()]
    return Observations(data.shape, data.layout._replace(values=values), data.zeros)


def _unit_rows(rows: csr_array, scale: float) -> csr_array:
    """Scale each row to length 1 / scale; empty rows stay empty."""
    lengths = np.diff(rows.indptr)
    filled = np.flatnonzero(lengths)
    largest, square = np.ones(len(lengths)), np.ones(len(lengths))
    if len(filled):
        largest[filled] = np.maximum.reduceat(rows.data, rows.indptr[filled])
        rows.data = rows.data / np.repeat(largest, lengths)  # so that squares do not overflow
        square[filled] = np.add.reduceat(rows.data**2, rows.indptr[filled])
        rows.data /= np.repeat(np.sqrt(square) * scale, lengths)
    return rows


# ---- what a view shows


def row_products(values: Any, F: FloatArray, threads: Threads) -> FloatArray:
    """Return values @ F; the bits of a row of the result do not depend on the other rows."""
    layout = compressed_layout(values) if issparse(values) else full_layout(values)
    return cross(layout, pad(F), F.shape[1], threads)


@dataclass(frozen=True, eq=False)
class Matrix:
    """Samples as linear models see them.

    Parameters
    ----------
    values : csr_array or array (n, m)
    threads : Threads
        Products of sparse matrices use them; results are bit-identical for any number.
    """

    values: Any
    threads: Threads

    @classmethod
    def of(cls, data: Observations, threads: Threads) -> Matrix:
        """Return the values of observations; missing cells are zero."""
        return cls(_nonzero(data), threads)

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[0], self.values.shape[1]

    @property
    def is_sparse(self) -> bool:
        return bool(issparse(self.values))

    def select(self, rows: IntArray) -> Matrix:
        """Return some rows."""
        return Matrix(self.values[rows], self.threads)

    def single_precision(self) -> Matrix:
        """Return the matrix in single precision."""
        return Matrix(self.values.astype(np.float32), self.threads)

    def times(self, F: FloatArray) -> FloatArray:
        """Return the matrix times F (m, …)."""
        flat = F.reshape(len(F), math.prod(F.shape[1:]))
        if self.is_sparse:
            product = cross(self._by_row, pad(flat), flat.shape[1], self.threads)
        else:
            product = self.values @ flat
        return product.reshape(-1, *F.shape[1:])

    def transposed_times(self, F: FloatArray) -> FloatArray:
        """Return the transposed matrix times F (n, …)."""
        return self._transposed.times(F)

    @cached_property
    def _by_row(self) -> Layout:
        return compressed_layout(self.values)

    @cached_property
    def _transposed(self) -> Matrix:
        return Matrix(csr_array(self.values.T) if self.is_sparse else self.values.T, self.threads)

    @cached_property
    def filled_rows(self) -> BoolArray:
        return filled_rows(self.values)

    @cached_property
    def used_columns(self) -> IntArray:
        """Columns with a value in some row."""
        if not self.is_sparse:
            return np.arange(self.shape[1])
        return np.flatnonzero(np.bincount(self.values.indices, minlength=self.shape[1]))

    def columns(self, columns: IntArray) -> Matrix:
        """Return some columns."""
        if len(columns) == self.shape[1]:
            return self
        return Matrix(self.values[:, columns], self.threads)

    def beside(self, columns: FloatArray) -> Matrix:
        """Return the matrix with further columns at its end."""
        if not self.is_sparse:
            return Matrix(np.hstack([self.values, columns]), self.threads)
        return Matrix(csr_array(hstack([self.values, columns])), self.threads)

    def squares(self) -> Any:
        """Return the square of each value."""
        return self.values.multiply(self.values) if self.is_sparse else self.values**2

    def row_norms(self) -> FloatArray:
        """Return the Euclidean length of each row."""
        return np.sqrt(np.asarray(self.squares().sum(axis=1), dtype=np.float64).ravel())

    def rotated(self) -> tuple[Matrix, FloatArray]:
        """Return the matrix times an orthogonal basis of its rows, and that basis."""
        n, m = self.shape
        if m <= n:
            basis = np.linalg.eigh(_dense(self.values.T @ self.values))[1]
        else:
            values, vectors = np.linalg.eigh(_dense(self.values @ self.values.T))
            kept = values > 1e-12 * max(float(values[-1]), 1e-300)
            basis = self.values.T @ (vectors[:, kept] / np.sqrt(values[kept]))
        return Matrix(self.values @ basis, self.threads), basis


def filled_rows(values: Any) -> BoolArray:
    """Return which rows have a value; the others say nothing about their samples."""
    return np.asarray(np.diff(values.indptr) > 0 if issparse(values) else values.any(axis=1))


def _dense(values: Any) -> FloatArray:
    return np.asarray(values.toarray() if issparse(values) else values)
