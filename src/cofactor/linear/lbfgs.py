"""L-BFGS: the optimiser of all linear models.

scipy's L-BFGS-B takes four times as long on a million variables as the sparse regression that it
minimises, because it keeps track of bounds. Here an iteration without bounds makes some twenty
passes over the variables.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from scipy.linalg.blas import daxpy

from cofactor._types import BoolArray, FloatArray

MEMORY = 5
"""Number of past steps that shape the next one."""
SUFFICIENT_DECREASE = 1e-4
"""A step must bring this share of the decrease that the slope promises."""
MAX_SHORTENINGS = 30
MIN_CURVATURE = 1e-12
"""Steps along which the slope changes by less than this share are forgotten."""


class LBFGS:
    """Search for the minimum of a smooth convex cost.

    The caller computes the cost; the search says where, until it is done:

    >>> search = LBFGS(np.zeros(2), iterations=50, slope=1e-8, decrease=0.0)
    >>> while not search.done:
    ...     apart = search.point - [1.0, 2.0]
    ...     search.update(apart @ apart, 2 * apart)
    >>> search.point.round(6)
    array([1., 2.])

    Parameters
    ----------
    start : array (n,)
    iterations : int
        Maximum number of steps.
    slope : float
        Stop where no entry of the slope is larger.
    decrease : float
        Stop after a step that lowers the cost by less than this share of the cost.
    bounds : tuple of arrays (n,), optional
        Lower and upper bounds of the variables, for problems with few of them.

    Attributes
    ----------
    point : array (n,)
        Where to compute the cost next; the best point found when the search is done.
    cost : float
        The cost there, when the search is done.
    done : bool
    """

    def __init__(
        self,
        start: FloatArray,
        *,
        iterations: int,
        slope: float,
        decrease: float,
        bounds: tuple[FloatArray, FloatArray] | None = None,
    ) -> None:
        self.point, self.cost, self.done = start, np.inf, False
        self._left, self._min_slope, self._min_decrease = iterations, slope, decrease
        self._bounds = bounds
        self._x, self._slope, self._started = start, start, False
        # past steps: the move, the change of the slope, 1 / their product, and 1 / the curvature
        self._past: deque[tuple[FloatArray, FloatArray, float, float]] = deque(maxlen=MEMORY)

    def update(self, cost: float, slope: FloatArray) -> None:
        """Take the cost at `point` and its slope; move `point`, or end the search."""
        if self._started:
            if not cost <= self.cost + SUFFICIENT_DECREASE * self._length * self._rise:
                self._shorten(cost)
                return
            moved, turned = self.point - self._x, slope - self._slope
            product, square = float(moved @ turned), float(turned @ turned)
            if product > MIN_CURVATURE * square:
                self._past.append((moved, turned, 1.0 / product, product / square))
            least = self._min_decrease * max(abs(self.cost), abs(cost), 1.0)
            self.done = self.cost - cost <= least
        self._x, self.cost, self._slope, self._started = self.point, cost, slope, True
        if not self.done:
            self._step()

    def _step(self) -> None:
        """Choose a direction and go along it."""
        slope, held = self._slope, self._held()
        if held is not None:
            slope = np.where(held, 0.0, slope)
        if np.abs(slope).max() <= self._min_slope or self._left == 0:
            self.done = True
            return
        self._left -= 1
        self._direction = self._newton(slope)
        if held is not None:
            self._direction[held] = 0.0
        self._length, self._shortenings = 1.0, 0
        self._rise = float(slope @ self._direction)
        self.done = not self._rise < 0.0
        if not self.done:
            self._go()

    def _go(self) -> None:
        self.point = self._x + self._length * self._direction
        if self._bounds is not None:
            self.point = np.clip(self.point, *self._bounds)

    def _shorten(self, cost: float) -> None:
        """Go to the minimum of the parabola through both costs and the slope; give up at last."""
        self._shortenings += 1
        if self._shortenings == MAX_SHORTENINGS:
            self.point, self.done = self._x, True
            return
        promised = self._rise * self._length
        best = -promised / (2.0 * (cost - self.cost - promised))
        self._length *= min(max(best, 0.1), 0.5)
        self._go()

    def _held(self) -> BoolArray | None:
        """Return which variables the slope presses against their bounds."""
        if self._bounds is None:
            return None
        low, high = self._bounds
        x, slope = self._x, self._slope
        return np.asarray(((x <= low) & (slope > 0)) | ((x >= high) & (slope < 0)))

    def _newton(self, slope: FloatArray) -> FloatArray:
        """Return minus the slope times the approximate inverse of the Hessian."""
        d, shares = -slope, []
        for moved, turned, inverse, _ in reversed(self._past):
            share = inverse * float(moved @ d)
            d = daxpy(turned, d, a=-share)
            shares.append(share)
        d *= self._past[-1][3] if self._past else 1.0 / max(1.0, float(np.sqrt(slope @ slope)))
        for (moved, turned, inverse, _), share in zip(self._past, reversed(shares), strict=True):
            d = daxpy(moved, d, a=share - inverse * float(turned @ d))
        return d
