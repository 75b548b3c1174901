"""Our side, through the public loop, and the start that both sides get."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse as sp

from benchmarks import peers
from cofactor import NMF, Factors, SSNMFClassifier
from cofactor.divergences import DIVERGENCES
from cofactor.engine.fitting import Fit, Solver, minimise
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import dense, sparse
from cofactor.engine.solvers import CoordinateDescent, MultiplicativeUpdates, PaperUpdates
from cofactor.engine.stopping import Stop
from cofactor.engine.threads import Threads


@dataclass(frozen=True)
class BelowTarget:
    """Stop when the objective reaches ``target``; so solvers are compared at equal quality."""

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


def our_objective(X: sp.csr_matrix, loss: str, Y: np.ndarray | None = None) -> Objective:
    terms = [Term("data", "features", sparse(sp.csr_array(X)), DIVERGENCES[loss])]
    if Y is not None:
        terms.append(Term("target", "targets", dense(Y), DIVERGENCES[loss]))
    return Objective(tuple(terms))


def our_fit(
    objective: Objective,
    factors: Factors,
    solver: Solver,
    *,
    target: float | None = None,
    max_iter: int = 2000,
) -> Fit:
    rules = [] if target is None else [BelowTarget(target)]
    with Threads(1) as threads:
        return minimise(objective, factors, solver, max_iter=max_iter, rules=rules, threads=threads)


def our_default_fit(X: sp.csr_matrix, rank: int, loss: str, iterations: int) -> NMF:
    """Fit our NMF with default parameters for a number of iterations; the result is the same each
    time."""
    return NMF(rank, data_loss=loss, tol=0, max_iter=iterations, n_jobs=1, random_state=0).fit(X)


def as_factors(W: np.ndarray, H: np.ndarray, B: np.ndarray | None = None) -> Factors:
    return Factors(W, np.ascontiguousarray(H.T), B)


def warm_up() -> None:
    """Compile: once for each loss, solver and storage, on a few rows."""
    random = np.random.default_rng(0)
    X = sp.random(40, 30, 0.3, "csr", random_state=0)
    Y = np.eye(3)[random.integers(0, 3, 40)]
    W, H = start(X, 4)
    factors = as_factors(W, H, random.random((3, 4)))
    for loss in ("kullback-leibler", "frobenius"):
        for solver in (CoordinateDescent(), MultiplicativeUpdates(), PaperUpdates()):
            our_fit(our_objective(X, loss), factors, solver, max_iter=2)
            our_fit(our_objective(X, loss, Y), factors, solver, max_iter=2)
        NMF(4, data_loss=loss, tol=0, max_iter=2).fit_transform(X)
        peers.sklearn_fit(X, W.copy(), H.copy(), loss, 2)
    SSNMFClassifier(4, tol=0, max_iter=2).fit(X, Y.argmax(axis=1)).predict(X)
