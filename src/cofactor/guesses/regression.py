"""Softmax regression on weighted soft labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

from cofactor._types import FloatArray
from cofactor.guesses.linear import LinearModel
from cofactor.guesses.matrix import Matrix

ITERATIONS = 200
"""Maximum number of iterations of L-BFGS."""
TOLERANCE = 1e-3
"""L-BFGS stops at a slope below this times the root of the total weight."""


def softmax_regression(
    X: Matrix, shares: FloatArray, weights: FloatArray, penalty: float, start: Any = None
) -> LinearModel:
    """Minimise Σ weight · cross-entropy + penalty/2 · |W|²; the base is not penalised.

    Samples of weight 0 are left out. ``start`` is a model to start from.
    """
    rows = np.flatnonzero(weights > 0)
    part = X.select(rows)
    used = part.used_columns
    part = part.columns(used)
    Q, w = shares[rows], weights[rows]
    shape, total = (len(used) + 1, Q.shape[1]), float(w.sum())
    # Variables in units of their curvature: L-BFGS then needs few steps.
    curvature = np.append(part.squares().T @ w / 4 + penalty, total / 4)
    unit = 1.0 / np.sqrt(curvature)[:, None]

    def cost(flat: FloatArray) -> tuple[float, FloatArray]:
        table = flat.reshape(shape) * unit
        z = part.times(table[:-1]) + table[-1]
        z -= z.max(axis=1, keepdims=True)
        P = np.exp(z)
        total_of = P.sum(axis=1)
        loss = w @ (np.log(total_of) - (Q * z).sum(axis=1)) + penalty / 2 * np.sum(table[:-1] ** 2)
        P /= total_of[:, None]
        residual = (P - Q) * w[:, None]
        slope = np.empty(shape)
        slope[:-1] = part.transposed_times(residual) + penalty * table[:-1]
        slope[-1] = residual.sum(axis=0)
        return float(loss), (slope * unit).ravel()

    first = np.zeros(shape)
    if start is not None:
        first[:-1], first[-1] = start.weights[used], start.base
    found = minimize(
        cost, (first / unit).ravel(), jac=True, method="L-BFGS-B",
        options={"maxiter": ITERATIONS, "gtol": TOLERANCE * np.sqrt(total), "ftol": 1e-8},
    )  # fmt: skip
    table = found.x.reshape(shape) * unit
    W = np.zeros((X.shape[1], shape[1]))
    W[used] = table[:-1]
    return LinearModel(W, table[-1].copy())
