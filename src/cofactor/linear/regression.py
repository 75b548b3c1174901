"""Softmax regression on weighted soft labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cofactor._types import FloatArray
from cofactor.linear.lbfgs import minimise
from cofactor.linear.linear import LinearModel
from cofactor.linear.matrix import Matrix

ITERATIONS = 200
"""Maximum number of iterations of L-BFGS."""
TOLERANCE = 1e-3
"""L-BFGS stops at a slope below this times the root of the total weight."""
DECREASE = 1e-8
"""L-BFGS stops when a step lowers the cost by less than this times the cost."""
FEW_ROWS = 1000
"""Up to this many samples, if they have more features, are rotated to their principal axes."""


def softmax_regression(
    X: Matrix,
    shares: FloatArray,
    weights: FloatArray,
    penalty: float,
    *,
    offset: FloatArray | None = None,
) -> LinearModel:
    """Minimise Σ weight · cross-entropy + penalty/2 · |W|²; the base is not penalised.

    Samples of weight 0 are left out. Several labellings, shares (n, …, c) and weights (n, …), are
    fitted as one problem whose parts do not meet. The model is added to the scores ``offset``
    (n, …, c), if there are any.
    """
    problem = _Problem(X, shares, weights, offset)
    return problem.model(problem.solve(penalty, np.zeros(problem.shape)))


def softmax_path(
    X: Matrix, shares: FloatArray, weights: FloatArray, penalties: Sequence[float]
) -> dict[float, LinearModel]:
    """Return the regression for each penalty; each one starts from the one before."""
    problem = _Problem(X, shares, weights)
    table = np.zeros(problem.shape)
    models = {}
    for penalty in penalties:
        table = problem.solve(penalty, table)
        models[penalty] = problem.model(table)
    return models


class _Problem:
    """Softmax regression of the samples that have a weight, on the features that they use.

    Fewer samples than features span a small space in which the solution lies; coordinates along
    its axes stand for the features then.
    """

    def __init__(
        self, X: Matrix, shares: FloatArray, weights: FloatArray, offset: FloatArray | None = None
    ) -> None:
        rows = np.flatnonzero(weights.reshape(len(weights), -1).any(axis=1))
        part = X.select(rows)
        self.n_features, self.used = X.shape[1], part.used_columns
        self.X, self.basis = part.columns(self.used), None
        if 2 * len(rows) < len(self.used) and len(rows) <= FEW_ROWS:
            self.X, self.basis = self.X.rotated()
        self.shares, self.weights = shares[rows], weights[rows]
        self.offset = 0.0 if offset is None else offset[rows]
        self.total = self.weights.sum(axis=0)
        self.curvature = self.X.squares().T @ self.weights / 4
        self.shape = (self.X.shape[1] + 1, *shares.shape[1:])

    def solve(self, penalty: float, start: FloatArray) -> FloatArray:
        """Return the weights, with the base as the last row."""
        # Variables in units of their curvature: L-BFGS then needs few steps.
        curvature = np.concatenate([self.curvature + penalty, self.total[None] / 4])
        unit = 1.0 / np.sqrt(curvature)[..., None]

        def cost(flat: FloatArray) -> tuple[float, FloatArray]:
            value, slope = self.cost(flat.reshape(self.shape) * unit, penalty)
            return value, (slope * unit).ravel()

        least = TOLERANCE * np.sqrt(self.total.min())
        settings = {"iterations": ITERATIONS, "slope": least, "decrease": DECREASE}
        found = minimise(cost, (start / unit).ravel(), **settings)
        return np.asarray(found.reshape(self.shape) * unit)

    def cost(self, table: FloatArray, penalty: float) -> tuple[float, FloatArray]:
        """Return what is minimised and its slope."""
        W = table[:-1]
        z = self.X.times(W) + table[-1] + self.offset
        z -= z.max(axis=-1, keepdims=True)
        P = np.exp(z)
        sums = P.sum(axis=-1)
        loss = np.sum(self.weights * (np.log(sums) - (self.shares * z).sum(axis=-1)))
        P /= sums[..., None]
        residual = (P - self.shares) * self.weights[..., None]
        slope = np.empty(self.shape)
        slope[:-1] = self.X.transposed_times(residual) + penalty * W
        slope[-1] = residual.sum(axis=0)
        return float(loss + penalty / 2 * np.sum(W**2)), slope

    def model(self, table: FloatArray) -> LinearModel:
        own = table[:-1]
        W = np.zeros((self.n_features, *self.shape[1:]))
        W[self.used] = own if self.basis is None else np.tensordot(self.basis, own, axes=1)
        return LinearModel(W, table[-1].copy())
