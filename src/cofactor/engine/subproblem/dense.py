"""Terms that are nothing but a dense matrix: whole rows instead of lists of cells.

A multiplicative update needs two things of a term, the slopes X F and the numbers (X / P) F of the
surrogate. Where every cell counts and the rank is small, kernels that walk along rows of X compute
them several times as fast as those that walk over listed cells. Everything else stays the same.
"""

from __future__ import annotations

import numpy as np

from cofactor._types import FloatArray
from cofactor.engine import kernels
from cofactor.engine.subproblem.terms import BoundTerm
from cofactor.engine.threads import Threads, even_slices

HIGHEST_RANK = 16
FEWEST_ROWS = 64
"""With fewer rows, turning the other factor costs more than it gains."""


def is_whole(part: BoundTerm) -> bool:
    """Tell whether a term, seen from one factor, is nothing but a dense matrix."""
    X = part.side.matrix
    small = part.other.array.shape[1] <= HIGHEST_RANK
    return X is not None and small and len(X) >= FEWEST_ROWS


def whole_slopes(part: BoundTerm, threads: Threads) -> FloatArray | None:
    """Return the downward slopes of a term, as ``BoundTerm.down`` has them."""
    X, d = part.side.matrix, part.side.divergence
    if X is None or not d.down:
        return None
    F = _turned(part)
    out = np.empty((len(X), len(F)))
    threads.across(
        even_slices(len(X)), lambda low, high: kernels.dense_products(X[low:high], F, out[low:high])
    )
    out *= d.down
    return out


def whole_surrogate(
    part: BoundTerm, V: FloatArray, threads: Threads, epsilon: float, *, costs: bool
) -> tuple[FloatArray, float]:
    """Return the surrogate's numbers of a term's logarithms at padded V, and their cost if asked
    for."""
    X = part.side.matrix
    assert X is not None
    F, bounds = _turned(part), even_slices(len(V))
    out = np.empty((len(V), len(F)))
    cost = np.zeros(len(bounds) - 1)

    def block(start: int, stop: int) -> None:
        low, high = bounds[start], bounds[stop]
        kernels.dense_surrogate(
            X[low:high], F, V[low:high], epsilon, bounds[start : stop + 1], out[low:high],
            cost[start : stop if costs else start],
        )  # fmt: skip

    threads.across(range(len(bounds)), block)
    return out, float(cost.sum())


def _turned(part: BoundTerm) -> FloatArray:
    return np.ascontiguousarray(part.other.array.T, dtype=np.float64)
