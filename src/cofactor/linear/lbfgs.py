"""L-BFGS without bounds, for many variables.

scipy's L-BFGS-B keeps bounds in mind: on a million variables it takes four times as long as the
sparse regression that it minimises.  Without bounds an iteration makes some twenty passes over the
variables, and a default fit with few labels takes a little more than half the time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.linalg.blas import daxpy

from cofactor._types import FloatArray

MEMORY = 5
"""Number of past steps that shape the next one."""
SUFFICIENT = 1e-4
"""A step must bring this share of the decrease that the slope promises."""
HALVINGS = 30
FLAT = 1e-12
"""Steps along which the gradient turns by less than this share are forgotten."""

Memory: TypeAlias = deque[tuple[FloatArray, FloatArray, float, float]]
"""Past steps: the move, the change of the gradient, 1 / their product, and the usual curvature's
inverse."""


def minimise(
    cost: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    *,
    iterations: int,
    slope: float,
    decrease: float,
) -> FloatArray:
    """Return where a smooth convex cost is smallest.

    ``cost`` returns the value and the gradient.  Stops at a gradient whose entries are at most
    ``slope``, or after a step that lowers the cost by less than ``decrease`` times the cost.
    """
    x = start
    value, g = cost(x)
    memory: Memory = deque(maxlen=MEMORY)
    for _ in range(iterations):
        if np.abs(g).max() <= slope:
            break
        d = _direction(g, memory)
        found = _search(cost, x, value, d, float(g @ d))
        if found is None:
            break
        new_x, new_value, new_g = found
        moved, turned = new_x - x, new_g - g
        curvature, size = float(moved @ turned), float(turned @ turned)
        if curvature > FLAT * size:
            memory.append((moved, turned, 1.0 / curvature, curvature / size))
        done = value - new_value <= decrease * max(abs(value), abs(new_value), 1.0)
        x, value, g = new_x, new_value, new_g
        if done:
            break
    return x


def _direction(g: FloatArray, memory: Memory) -> FloatArray:
    """Return minus the gradient times the approximate inverse of the Hessian."""
    d, shares = -g, []
    for moved, turned, inverse, _ in reversed(memory):
        share = inverse * float(moved @ d)
        d = daxpy(turned, d, a=-share)
        shares.append(share)
    d *= memory[-1][3] if memory else 1.0 / max(1.0, float(np.sqrt(g @ g)))
    for (moved, turned, inverse, _), share in zip(memory, reversed(shares), strict=True):
        d = daxpy(moved, d, a=share - inverse * float(turned @ d))
    return d


def _search(
    cost: Callable[[FloatArray], tuple[float, FloatArray]],
    x: FloatArray,
    value: float,
    d: FloatArray,
    rise: float,
) -> tuple[FloatArray, float, FloatArray] | None:
    """Return the first point along d that is low enough; None if there is none."""
    length = 1.0
    if not rise < 0.0:
        return None
    for _ in range(HALVINGS):
        new_x = x + length * d
        new_value, g = cost(new_x)
        if new_value <= value + SUFFICIENT * length * rise:
            return new_x, new_value, g
        # the minimum of the parabola through both values and the slope
        best = -rise * length / (2.0 * (new_value - value - rise * length))
        length *= min(max(best, 0.1), 0.5)
    return None
