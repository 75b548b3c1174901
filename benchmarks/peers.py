"""The other side, scikit-learn and ssnmf, and one yardstick for all."""

from __future__ import annotations

import importlib.util
import sys
import types
import warnings
from typing import Any

import numpy as np
from scipy import sparse as sp
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

FLOOR = 1e-12  # under a logarithm, for factors that fit a stored entry by exactly 0
CELLS = 1 << 22  # of a temporary array


def loss_value(X: sp.csr_matrix, W: np.ndarray, H: np.ndarray, loss: str) -> float:
    """Return Σ d(X, W H) without forming W H: the one yardstick for both sides."""
    cells = sp.coo_matrix(X)
    if loss == "frobenius":  # Σ x² − 2 Σ x·p + Σ p²
        cross = np.sum(W * (X @ H.T))
        return float(np.sum(cells.data**2) - 2 * cross + np.sum((W.T @ W) * (H @ H.T)))
    fitted = np.maximum(_fitted(cells, W, H), FLOOR)
    logs = np.sum(cells.data * np.log(cells.data / fitted))
    return float(logs - np.sum(cells.data) + W.sum(axis=0) @ H.sum(axis=1))


def _fitted(cells: sp.coo_matrix, W: np.ndarray, H: np.ndarray) -> np.ndarray:
    """Return W H at the listed cells."""
    step, columns = max(1, CELLS // W.shape[1]), np.ascontiguousarray(H.T)
    parts = [
        np.einsum("ek,ek->e", W[cells.row[e : e + step]], columns[cells.col[e : e + step]])
        for e in range(0, cells.nnz, step)
    ]
    return np.concatenate(parts)


def sklearn_nmf(rank: int, loss: str, max_iter: int, tol: float = 0.0) -> NMF:
    """Return scikit-learn's NMF with the solver it has for the loss, for a given start."""
    solver = {"frobenius": "cd", "kullback-leibler": "mu"}[loss]
    return NMF(rank, init="custom", solver=solver, beta_loss=loss, max_iter=max_iter, tol=tol)


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
) -> tuple[np.ndarray, NMF]:
    """Fit scikit-learn's NMF from its own default start (NNDSVDa); return W and the model."""
    model = sklearn_nmf(rank, loss, max_iter, tol).set_params(init=None, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit_transform(X), model


def sklearn_transformer(X: sp.csr_matrix, components: np.ndarray, max_iter: int, tol: float) -> NMF:
    """Return a fitted scikit-learn NMF (Kullback-Leibler) that has the given components."""
    rank = len(components)
    model = sklearn_nmf(rank, "kullback-leibler", max_iter=1)
    model.fit(X, W=np.ones((X.shape[0], rank)), H=components.copy())
    model.components_ = components
    return model.set_params(max_iter=max_iter, tol=tol)


def ssnmf_class() -> Any | None:
    """Return the numpy class of the ssnmf package, or None where it is not installed.

    The package imports torch, which its numpy class never uses: an empty module stands in where
    torch is missing.
    """
    if importlib.util.find_spec("ssnmf") is None:
        return None
    if importlib.util.find_spec("torch") is None:
        sys.modules["torch"] = types.ModuleType("torch")
    try:
        from ssnmf.ssnmf import SSNMF_N
    finally:
        if not getattr(sys.modules.get("torch"), "__file__", None):
            sys.modules.pop("torch", None)  # others may look whether there is a real one
    return SSNMF_N
