"""A matrix of samples and its products, the same for dense and sparse samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from scipy.sparse import csr_array, hstack, issparse
from threadpoolctl import ThreadpoolController

from cofactor._types import FloatArray, IntArray
from cofactor.engine.factors import cross, pad
from cofactor.engine.observations import Layout, Observations, compressed_layout, full_layout
from cofactor.engine.threads import Threads

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def with_one_blas_thread(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Run a function with one thread of the linear algebra library.

    Its products are small, so more threads cost time, and they could change the last bits.
    """

    @wraps(function)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with _libraries().limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return run


def row_products(values: Any, F: FloatArray, threads: Threads) -> FloatArray:
    """Return values @ F; each row of the result has the same bits whatever the other rows are."""
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
        layout = data.layout.nonzero()
        values = layout.values.astype(np.float64, copy=False)
        return cls(csr_array((values, layout.column_numbers(), layout.start), data.shape), threads)

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[0], self.values.shape[1]

    @property
    def is_sparse(self) -> bool:
        return bool(issparse(self.values))

    def select(self, rows: IntArray) -> Matrix:
        """Return some rows."""
        return Matrix(self.values[rows], self.threads)

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


def _dense(values: Any) -> FloatArray:
    return np.asarray(values.toarray() if issparse(values) else values)
