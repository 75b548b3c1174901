"""A tiny problem with a known solution, which shows whether the kernels work on this machine."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from cofactor.divergences import KullbackLeibler
from cofactor.engine.factors import Factors
from cofactor.engine.fitting import Solver, minimise
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import observe
from cofactor.engine.solvers import CoordinateDescent, MultiplicativeUpdates
from cofactor.engine.threads import Threads

COUNTS = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0], [2.0, 2.0, 0.0], [4.0, 0.0, 5.0]])
MAX_RELATIVE_ERROR = 1e-6


def check_kernels() -> None:
    """Factor a small table of counts with each solver; raise an error if a result is wrong.

    The best single topic for counts is the product of their row and column sums.
    """
    solution = np.outer(COUNTS.sum(axis=1), COUNTS.sum(axis=0)) / COUNTS.sum()
    for solver in (CoordinateDescent(), MultiplicativeUpdates()):
        error = float(np.max(np.abs(_fitted(solver) / solution - 1)))
        if not error <= MAX_RELATIVE_ERROR:
            raise ArithmeticError(
                f"{type(solver).__name__} misses a known solution by a factor of {1 + error:.3g}; "
                "install cofactor again."
            )


def _fitted(solver: Solver) -> np.ndarray:
    """Return the counts as one topic explains them."""
    n, m = COUNTS.shape
    term = Term("data", "features", observe(csr_array(COUNTS)), KullbackLeibler)
    start = Factors(samples=np.ones((n, 1)), features=np.ones((m, 1)))
    threads = Threads()
    fit = minimise(Objective((term,)), start, solver, max_iter=20, threads=threads)
    return fit.factors.samples @ fit.factors.features.T
