"""Ridge regressions of one weighted target, chosen and mixed by held-out error."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from cofactor._types import FloatArray
from cofactor.linear.matrix import Matrix

DENSE_SIDE = 2000
"""Maximum length of the shorter side of the matrix in an exact solution."""
DENSE_CELLS = 3e7
"""Maximum number of rows times shorter side in an exact solution."""
FOLDS = 5
"""Number of folds where the solution is iterative."""
STEPS = 60
"""Maximum number of steps of the iterative solution."""


class RidgeFit(NamedTuple):
    """A linear model of one target, and how such models predict held-out rows.

    Parameters
    ----------
    weights : array (m,)
    base : float
        Prediction of a row of zeros.
    held_out : array (n,)
        Prediction of each row by a model that has not seen the row's target.
    penalty : float
    """

    weights: FloatArray
    base: float
    held_out: FloatArray
    penalty: float


def fit_ridge(X: Matrix, y: FloatArray, counts: FloatArray, penalties: FloatArray) -> RidgeFit:
    """Minimise Σ count · (y − base − Xv)² + penalty · |v|²; held-out error chooses the penalty.

    Each row is left out together with its repetitions. If both sides of X are long, five folds by
    position are left out instead, so the order of the rows must not depend on the targets.
    """
    rows = CentredRows(X, counts)
    mean = rows.average(y)
    exact = min(X.shape) <= DENSE_SIDE and X.shape[0] * min(X.shape) <= DENSE_CELLS
    tried = (
        rows.leave_one_out(y - mean, penalties)
        if exact
        else _leave_folds_out(X, y - mean, counts, penalties)
    )
    errors = counts @ (tried - (y - mean)[:, None]) ** 2
    best = np.flatnonzero(errors <= errors.min() * (1 + 1e-9))[-1]  # of equals the largest penalty
    penalty = float(penalties[best])
    v = rows.solve(y - mean, penalty) if exact else rows.iterate(y - mean, penalties)[:, best]
    return RidgeFit(v, mean - float(rows.mean @ v), tried[:, best] + mean, penalty)


def _leave_folds_out(
    X: Matrix, target: FloatArray, counts: FloatArray, penalties: FloatArray
) -> FloatArray:
    """Predict each fold by the other ones; one column per penalty."""
    out = np.empty((len(target), len(penalties)))
    place = np.arange(len(target)) % FOLDS
    for fold in range(FOLDS):
        left, rest = np.flatnonzero(place == fold), np.flatnonzero(place != fold)
        rows = CentredRows(X.select(rest), counts[rest])
        mean = rows.average(target[rest])
        V = rows.iterate(target[rest] - mean, penalties)
        out[left] = X.select(left).times(V) - rows.mean @ V + mean
    return out


def part_weights(
    held_out: FloatArray, y: FloatArray, counts: FloatArray, usual: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return nonnegative weights of parts, and the sum of their weighted held-out predictions.

    Parts predict deviations from the mean. The weights minimise the squared held-out error plus
    var(y) · |weights − usual weights|².
    """
    total = counts.sum()
    mean = float(counts @ y / total)
    rest = np.maximum(total - counts, 1e-15 * total)
    others = mean - counts * (y - mean) / rest  # mean of the other rows
    P = held_out - others[:, None]
    scale = counts / float(counts @ (y - mean) ** 2 / total)
    gram = (P.T * scale) @ P + np.eye(len(usual))
    moment = (P.T * scale) @ (y - others) + usual
    root = np.linalg.cholesky(gram).T  # |root·b − root⁻ᵀ·moment|² is the same problem
    weights = nnls(root, np.linalg.solve(root.T, moment))[0]
    return weights, others + P @ weights


@dataclass(frozen=True, eq=False)
class CentredRows:
    """The matrix A of rows minus their mean, times the roots of their counts."""

    X: Matrix
    counts: FloatArray

    @cached_property
    def roots(self) -> FloatArray:
        return np.sqrt(self.counts)

    @cached_property
    def mean(self) -> FloatArray:
        """The mean row."""
        return np.asarray(self.X.transposed_times(self.counts[:, None])[:, 0] / self.counts.sum())

    def average(self, y: FloatArray) -> float:
        return float(self.counts @ y / self.counts.sum())

    def times(self, v: FloatArray) -> FloatArray:
        return np.asarray(self.roots * (self.X.times(v[:, None])[:, 0] - self.mean @ v))

    def transposed_times(self, u: FloatArray) -> FloatArray:
        scaled = self.roots * u
        product = self.X.transposed_times(scaled[:, None])[:, 0]
        return np.asarray(product - self.mean * scaled.sum())

    @cached_property
    def rotated(self) -> tuple[FloatArray, FloatArray]:
        """A in the basis of its principal directions, and its squared singular values."""
        n, m = self.X.shape
        if self.X.is_sparse and n < m:
            values, U = np.linalg.eigh(self._sparse_gram())
        elif n < m:
            A = self._dense()
            values, U = np.linalg.eigh(A @ A.T)
        else:
            A = self._dense()
            values, V = np.linalg.eigh(A.T @ A)
            return A @ V, np.maximum(values, 0.0)
        values = np.maximum(values, 0.0)
        return U * np.sqrt(values), values

    def _dense(self) -> FloatArray:
        cells = self.X.values.toarray() if self.X.is_sparse else self.X.values
        return np.asarray((cells - self.mean) * self.roots[:, None])

    def _sparse_gram(self) -> FloatArray:
        """Return A times its transpose without a dense A."""
        gram = (self.X.values @ self.X.values.T).toarray()
        share = self.counts / self.counts.sum()
        means = gram @ share
        gram += share @ means - means[:, None] - means
        return np.asarray(gram * self.roots[:, None] * self.roots)

    def solve(self, target: FloatArray, penalty: float) -> FloatArray:
        """Return the weights of a centred target, exactly."""
        R, squares = self.rotated
        scaled = self.roots * target
        residual = scaled - R @ ((R.T @ scaled) / (squares + penalty))
        return self.transposed_times(residual / penalty)

    def leave_one_out(self, target: FloatArray, penalties: FloatArray) -> FloatArray:
        """Predict each row by all others; one column per penalty.

        A left-out residual is the usual residual divided by 1 − the row's influence on itself.
        """
        R, squares = self.rotated
        scale = 1.0 / (squares[:, None] + penalties)
        fitted = R @ ((R.T @ (self.roots * target))[:, None] * scale)
        residual = target[:, None] - fitted / self.roots[:, None]
        own = R**2 @ scale + (self.counts / self.counts.sum())[:, None]
        return np.asarray(target[:, None] - residual / np.maximum(1.0 - own, 1e-12))

    def iterate(self, target: FloatArray, penalties: FloatArray) -> FloatArray:
        """Return the weights of a centred target, one column per penalty.

        Golub and Kahan's bidiagonalisation serves all penalties at once: they are solved in the
        space of its first steps.
        """
        u = self.roots * target
        length = first = float(np.linalg.norm(u))
        U, V = np.empty((STEPS, len(u))), np.empty((STEPS, self.X.shape[1]))
        B = np.zeros((STEPS + 1, STEPS))
        size = 0
        while size < STEPS and length > 1e-10 * first:
            U[size] = u / length
            v = self.transposed_times(U[size]) - (B[size, size - 1] * V[size - 1] if size else 0.0)
            v -= V[:size].T @ (V[:size] @ v)
            B[size, size] = np.linalg.norm(v)
            if B[size, size] <= 1e-10 * max(B[0, 0], 1e-150):
                break
            V[size] = v / B[size, size]
            u = self.times(V[size]) - B[size, size] * U[size]
            u -= U[: size + 1].T @ (U[: size + 1] @ u)
            B[size + 1, size] = length = float(np.linalg.norm(u))
            size += 1
        P, s, Q = np.linalg.svd(B[: size + 1, :size], full_matrices=False)
        filtered = (s * P[0])[:, None] / (s[:, None] ** 2 + penalties)
        return np.asarray(first * (V[:size].T @ (Q.T @ filtered)))
