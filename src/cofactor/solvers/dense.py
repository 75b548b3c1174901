"""Multiplicative updates of small dense problems, without lists of cells.

The paper's synthetic experiment makes 100,000 updates of 500 × 500 matrices, rank 5.  Lists of
cells and row problems cost more there than the arithmetic, so plain problems of that kind have
kernels of their own; iterates are those of the row problems but for rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cofactor import kernels
from cofactor.objective import Factors, Objective, Term, Value
from cofactor.sides import Side
from cofactor.typing import FactorName, FloatArray

MOST_CELLS = 1 << 20
"""Larger matrices are worth several threads, which this way does without."""
FEWEST_NONZEROS = 0.1
"""With fewer, a list without the zeros is faster."""
HIGHEST_RANK = 16


@dataclass(frozen=True, eq=False)
class _Matrix:
    """A term as arrays: its cells by rows and by columns, its loss, λ and constant part."""

    name: str
    columns: FactorName
    rows: FloatArray
    turned: FloatArray
    logarithmic: bool
    weight: float
    constant: float

    @classmethod
    def of(cls, term: Term) -> _Matrix:
        values, d = term.observations.layout.values, term.divergence
        X = values.reshape(term.observations.shape)
        constant = Side(term.observations, d).constant
        turned = np.ascontiguousarray(X.T)
        return cls(term.name, term.columns, X, turned, bool(d.log), term.weight, constant)

    def products(self, name: FactorName, F: FloatArray) -> FloatArray:
        """Return the matrix, seen from a factor, times the other one, which is turned."""
        X = self.rows if name == "samples" else self.turned
        out = np.empty((len(X), len(F)))
        kernels.dense_products(X, F, out)
        return out

    def ratios(self, name: FactorName, F: FloatArray, V: FloatArray, epsilon: float) -> FloatArray:
        """Return the same of the matrix divided by what V and F make of it."""
        X = self.rows if name == "samples" else self.turned
        out = np.empty_like(V)
        kernels.dense_ratios(X, F, V, epsilon, out)
        return out

    def value(self, S: FloatArray, F: FloatArray, crossed: FloatArray | None) -> float:
        """Return the divergence, without λ; F is turned, ``crossed`` the products if known."""
        if self.logarithmic:
            slopes = float(S.sum(axis=0) @ F.sum(axis=1))
            logarithms = float(kernels.dense_logarithms(self.rows, F, S))
            return max(self.constant + slopes - logarithms, 0.0)
        crossed = self.products("samples", F) if crossed is None else crossed
        squares = float(np.sum(_gram(_turned(S)) * _gram(F)))
        return max(self.constant - 2.0 * float(np.sum(S * crossed)) + squares, 0.0)


@dataclass(frozen=True, eq=False)
class DenseProblem:
    """All terms of an objective that is nothing but small dense matrices."""

    matrices: tuple[_Matrix, ...]
    free: tuple[FactorName, ...]

    @classmethod
    def of(cls, objective: Objective, factors: Factors) -> DenseProblem | None:
        """Return the problem, or None if the objective is not of this kind."""
        plain = not objective.priors and objective.sample_weight is None
        double = all(V is None or V.dtype == np.float64 for V in factors.each())
        if plain and double and factors.rank <= HIGHEST_RANK and all(map(_fits, objective.terms)):
            return cls(tuple(_Matrix.of(term) for term in objective.terms), objective.free)
        return None

    def step(
        self, factors: Factors, epsilon: float, ridge: Callable[[FactorName], float]
    ) -> tuple[Factors, Value]:
        """Update every free factor once, in turn."""
        crossed: dict[str, FloatArray] = {}
        for name in self.free:
            V, crossed = self._update(name, factors, epsilon, ridge(name))
            factors = factors.replace(name, V)
        known = crossed if self.free[-1] == "samples" else {}
        S = np.ascontiguousarray(factors.samples)
        values = {
            m.name: m.value(S, _turned(factors.get(m.columns)), known.get(m.name))
            for m in self.matrices
        }
        total = sum(m.weight * values[m.name] for m in self.matrices)
        return factors, Value(float(total), values)

    def _update(
        self, name: FactorName, factors: Factors, epsilon: float, ridge: float
    ) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Return the updated factor, and the products of matrices and other factors."""
        V = np.ascontiguousarray(factors.get(name))
        r = V.shape[1]
        c, down, up, gram = np.zeros_like(V), np.zeros_like(V), np.zeros(r), np.zeros((r, r))
        crossed: dict[str, FloatArray] = {}
        for matrix in self.matrices:
            if name not in ("samples", matrix.columns):
                continue
            F = _turned(factors.get(matrix.columns if name == "samples" else "samples"))
            if matrix.logarithmic:
                c += matrix.weight * matrix.ratios(name, F, V, epsilon)
                up += matrix.weight * F.sum(axis=1)
            else:
                crossed[matrix.name] = matrix.products(name, F)
                down += 2.0 * matrix.weight * crossed[matrix.name]
                gram += 2.0 * matrix.weight * _gram(F)
        out = np.empty_like(V)
        kernels.dense_multiply(V, c, down, up, gram, ridge, out)
        return out, crossed


def _fits(term: Term) -> bool:
    X, d = term.observations, term.divergence
    weights = (X.weights, X.row_weights, X.column_weights)
    return bool(
        X.zeros
        and all(w is None for w in weights)
        and X.dtype == np.float64
        and d.name in ("frobenius", "kullback-leibler")
        and X.n_listed == np.prod(X.shape) <= MOST_CELLS
        and np.count_nonzero(X.layout.values) >= FEWEST_NONZEROS * X.n_listed
    )


def _turned(V: FloatArray) -> FloatArray:
    return np.ascontiguousarray(V.T)


def _gram(F: FloatArray) -> FloatArray:
    """Return F @ F.T, whatever the number of threads."""
    out = np.empty((len(F), len(F)))
    kernels.dense_products(F, F, out)
    return out
