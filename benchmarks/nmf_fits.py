"""NMF fits of both sides, cofactor and scikit-learn, from the same start."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse as sp
from sklearn import decomposition
from sklearn.exceptions import ConvergenceWarning

from cofactor import NMF, Factors
from cofactor.divergences import DIVERGENCES
from cofactor.engine.fitting import Fit, minimise
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import sparse
from cofactor.engine.solvers import CoordinateDescent
from cofactor.engine.stopping import Stop
from cofactor.engine.threads import Threads

MIN_FITTED = 1e-12  # before a logarithm, for factors that fit a stored entry as exactly 0
MAX_CELLS = 1 << 22  # of a temporary array


def loss_value(X: sp.csr_matrix, W: np.ndarray, H: np.ndarray, loss: str) -> float:
    """Return Σ d(X, W H) without forming W H; the same measure for both sides."""
    cells = sp.coo_matrix(X)
    if loss == "frobenius":  # Σ x² − 2 Σ x·p + Σ p²
        cross = np.sum(W * (X @ H.T))
        return float(np.sum(cells.data**2) - 2 * cross + np.sum((W.T @ W) * (H @ H.T)))
    fitted = np.maximum(_fitted(cells, W, H), MIN_FITTED)
    logs = np.sum(cells.data * np.log(cells.data / fitted))
    return float(logs - np.sum(cells.data) + W.sum(axis=0) @ H.sum(axis=1))


def _fitted(cells: sp.coo_matrix, W: np.ndarray, H: np.ndarray) -> np.ndarray:
    """Return W H at the listed cells."""
    step, columns = max(1, MAX_CELLS // W.shape[1]), np.ascontiguousarray(H.T)
    parts = [
        np.einsum("ek,ek->e", W[cells.row[e : e + step]], columns[cells.col[e : e + step]])
        for e in range(0, cells.nnz, step)
    ]
    return np.concatenate(parts)


def sklearn_nmf(rank: int, loss: str, max_iter: int, tol: float = 0.0) -> decomposition.NMF:
    """Return scikit-learn's NMF for a given start, with the solver it has for the loss."""
    solver = {"frobenius": "cd", "kullback-leibler": "mu"}[loss]
    return decomposition.NMF(
        rank, init="custom", solver=solver, beta_loss=loss, max_iter=max_iter, tol=tol
    )


def sklearn_fit(
    X: sp.csr_matrix, W: np.ndarray, H: np.ndarray, loss: str, max_iter: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return scikit-learn's factors after ``max_iter`` iterations; it overwrites the start."""
    model = sklearn_nmf(W.shape[1], loss, max_iter)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit_transform(X, W=W, H=H), model.components_


def sklearn_default_fit(
    X: sp.csr_matrix, rank: int, loss: str, max_iter: int = 200, tol: float = 1e-4
) -> tuple[np.ndarray, decomposition.NMF]:
    """Fit scikit-learn's NMF from its own default start (NNDSVDa); return W and the model."""
    model = sklearn_nmf(rank, loss, max_iter, tol).set_params(init=None, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit_transform(X), model


def sklearn_transformer(
    X: sp.csr_matrix, components: np.ndarray, max_iter: int, tol: float
) -> decomposition.NMF:
    """Return a fitted scikit-learn NMF (Kullback-Leibler) that has the given components."""
    rank = len(components)
    model = sklearn_nmf(rank, "kullback-leibler", max_iter=1)
    model.fit(X, W=np.ones((X.shape[0], rank)), H=components.copy())
    model.components_ = components
    return model.set_params(max_iter=max_iter, tol=tol)


@dataclass(frozen=True)
class BelowTarget:
    """Stop when the objective reaches ``target``, to compare solvers at equal quality."""

    target: float

    def check(self, objectives: Sequence[float]) -> Stop | None:
        if objectives[-1] <= self.target:
            return Stop(
                f"Reached the target objective {self.target:.6g} after {len(objectives)} "
                "iterations.",
                converged=True,
            )
        return None


def start(X: sp.csr_matrix, rank: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return W and H as scikit-learn's init="random" draws them."""
    random, scale = np.random.default_rng(seed), np.sqrt(X.mean() / rank)
    n, m = X.shape
    W = scale * np.abs(random.standard_normal((n, rank)))
    return W, scale * np.abs(random.standard_normal((rank, m)))


def our_fit(X: sp.csr_matrix, loss: str, factors: Factors, target: float) -> Fit:
    """Fit by coordinate descent until the objective reaches the target."""
    data = Term("data", "features", sparse(sp.csr_array(X)), DIVERGENCES[loss])
    rules = [BelowTarget(target)]
    with Threads(1) as threads:
        return minimise(
            Objective((data,)),
            factors,
            CoordinateDescent(),
            max_iter=2000,
            rules=rules,
            threads=threads,
        )


def our_default_fit(X: sp.csr_matrix, rank: int, loss: str, iterations: int) -> NMF:
    """Fit our NMF with default parameters for a number of iterations."""
    return NMF(rank, data_loss=loss, tol=0, max_iter=iterations, n_jobs=1, random_state=0).fit(X)


def as_factors(W: np.ndarray, H: np.ndarray) -> Factors:
    return Factors(W, np.ascontiguousarray(H.T))
