"""Views: the samples as linear models see them.

The kind of data decides, never a label or a parameter. Sparse data that are not integers (tf-idf)
become rows of length one. Sparse integers (counts) become rows of length one of their square roots,
so that a few large counts do not outvote the others. Dense data are standardised column by column.
Data are sparse if less than a quarter of the cells differ from zero, however they are stored. Dense
rows that all have the same length, and dense integers whose totals differ much, are treated as
sparse ones: they are tf-idf of few words, and counts. Last, all values are divided by one number,
so that one penalty means the same for all data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from scipy.sparse import csr_array

from cofactor._fields import Sizes, array, instance, number
from cofactor._types import FloatArray
from cofactor.engine.observations import Observations

SPARSE = 0.25
"""Maximum share of cells other than zero in sparse data."""
Kind = Literal["rows", "roots", "columns"]
KINDS = get_args(Kind)
FAR = 1e100
"""Largest standardised value, so that scores stay finite."""
UNEQUAL = 0.5
"""Integers whose totals vary more than this, relative to their mean, are counts."""


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

    kind: Kind = instance(str, among=KINDS)
    scale: float = number(low=np.nextafter(0, 1), default=1.0)
    mean: FloatArray | None = array("m", default=None)
    spread: FloatArray | None = array("m", low=np.nextafter(0, 1), default=None)

    def fault(self, sizes: Sizes) -> str | None:
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
            standard = np.minimum(cells - self.mean, FAR * unit) / unit
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


def choose_view(data: Observations, counts: FloatArray, exponent: int) -> View:
    """Choose the view of data that were divided by 2**exponent; ``counts`` are sample weights."""
    if not counts.all():
        data, counts = data.select(np.flatnonzero(counts)), counts[counts > 0]
    values = data.layout.values
    whole = np.ldexp(values, exponent)
    integers = bool((whole == np.floor(whole)).all()) and _may_have_fractions(whole)
    dense = np.count_nonzero(values) >= SPARSE * max(float(np.prod(data.shape)), 1.0)
    counts_like = integers and _variation(data, counts) > UNEQUAL
    if dense and not counts_like and not _equal_lengths(data):
        return _standardising(data, counts)
    view = View("roots" if integers else "rows")
    rows = view.of(data)
    total = max(float(counts.sum()), 1e-300)
    mean = np.asarray(rows.T @ counts) / total
    norms = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    spread = float(norms @ counts) / total - float(mean @ mean)
    return View(view.kind, _root(spread))


def _may_have_fractions(values: FloatArray) -> bool:
    """Tell whether some value is small enough for floating point to store a fraction."""
    smallest = float(np.min(values, where=values > 0, initial=np.inf))
    return smallest < 1.0 / float(np.finfo(values.dtype).eps) or not values.any()


def _variation(data: Observations, counts: FloatArray) -> float:
    """Return the coefficient of variation of the samples' totals."""
    totals = np.asarray(_stored(data).sum(axis=1)).ravel()
    mean = float(np.average(totals, weights=counts))
    return float(np.sqrt(np.average((totals - mean) ** 2, weights=counts))) / max(mean, 1e-300)


def _equal_lengths(data: Observations) -> bool:
    """Tell whether all samples have the same length, or none, as rows of tf-idf do."""
    rows = _stored(data)
    squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    squares = squares[squares > 0]
    return bool(len(squares)) and bool(np.allclose(squares, squares[0], rtol=1e-4, atol=0.0))


def _standardising(data: Observations, counts: FloatArray) -> View:
    cells, known = _filled(data)
    weights = known * counts[:, None]
    total = np.maximum(weights.sum(axis=0), 1e-300)
    mean = (weights * cells).sum(axis=0) / total
    variance = (weights * (cells - mean) ** 2).sum(axis=0) / total
    sd = np.sqrt(variance)
    spread = sd + (float(np.median(sd[sd > 0])) if sd.any() else 1.0)
    return View("columns", _root(float((variance / spread**2).sum())), mean, spread)


def _root(square: float) -> float:
    return float(np.sqrt(square)) if square > 1e-12 else 1.0


def _filled(data: Observations) -> tuple[FloatArray, FloatArray]:
    """Return all cells as an array, and which of them are known."""
    folded = relative(data)
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
    layout = relative(data).layout.nonzero()
    values = layout.values.astype(np.float64)
    return csr_array((values, layout.column_numbers(), layout.start), data.shape)


def relative(data: Observations) -> Observations:
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
    rows.data = rows.data / np.repeat(np.sqrt(square) * scale, lengths)
    return rows
