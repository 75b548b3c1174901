"""Statistics: what a term says of the features or the targets, summed over samples.

They are all that an update of these factors needs, and they add over blocks of samples; so blocks
may be in memory, on disk or on other machines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cofactor._types import FloatArray
from cofactor.engine.factors import PaddedFactor
from cofactor.engine.kernels import Parts
from cofactor.engine.subproblem.terms import linear_value
from cofactor.engine.threads import Threads


@dataclass(frozen=True, eq=False)
class Statistics:
    """Linear and quadratic parts of a term, its surrogate's numbers, and the cost of its entries
    at the present factor."""

    row_scale: FloatArray | None
    down: FloatArray | None
    up: FloatArray | None
    ups: FloatArray | None
    gram: FloatArray | None
    parts: Parts
    cost: float
    constant: float

    def plus(self, other: Statistics) -> Statistics:
        """Return the statistics of both blocks of samples."""
        return self._combine(other, lambda a, b: a + b)

    def mixed(self, other: Statistics, share: float) -> Statistics:
        """Return these statistics with ``share`` of them replaced by others."""
        return self._combine(other, lambda a, b: (1.0 - share) * a + share * b)

    def _combine(self, other: Statistics, combine: Callable[[Any, Any], Any]) -> Statistics:
        def each(a: FloatArray | None, b: FloatArray | None) -> FloatArray | None:
            if a is None and b is None:
                return None  # what is absent is zero: another block may have missing cells
            return np.asarray(combine(0.0 if a is None else a, 0.0 if b is None else b))

        def part(a: FloatArray, b: FloatArray) -> FloatArray:
            if not len(a) and not len(b):
                return a
            return np.asarray(combine(a if len(a) else 0.0, b if len(b) else 0.0))

        return replace(
            self,
            down=each(self.down, other.down),
            up=each(self.up, other.up),
            ups=each(self.ups, other.ups),
            gram=each(self.gram, other.gram),
            parts=Parts(*(part(a, b) for a, b in zip(self.parts, other.parts, strict=True))),
            cost=combine(self.cost, other.cost),
            constant=combine(self.constant, other.constant),
        )

    def times(self, factor: float) -> Statistics:
        """Return the statistics of so many times the samples."""
        return self._combine(self, lambda a, _: factor * a)

    def apart_from(self, V: FloatArray) -> Statistics:
        """Return the statistics with a surrogate that no longer refers to V, the factor it was
        taken at: its numbers are then those of v², log v and 1/v, and can be averaged over time."""
        c, push, e, u = self.parts
        away = np.divide(1.0, V, out=np.zeros(V.shape), where=V > 0)
        return replace(self, parts=Parts(_by(c, V), _by(push, away), _by(e, V * V), u))

    def seen_from(self, V: FloatArray) -> Statistics:
        """Undo ``apart_from`` for another factor."""
        c, push, e, u = self.parts
        away = np.divide(1.0, V, out=np.zeros(V.shape), where=V > 0)
        return replace(self, parts=Parts(_by(c, away), _by(push, V), _by(e, away * away), u))

    def weighted(self, weight: float) -> Parts:
        """Return the surrogate's numbers times a term's weight."""
        if weight == 1.0:
            return self.parts
        return Parts(*(np.asarray(part * weight) for part in self.parts))

    def value(self, rows_of: PaddedFactor, threads: Threads) -> float:
        """Return the term's divergence at the factor that the statistics were taken at."""
        return max(self.constant + self.cost + linear_value(self, rows_of, threads), 0.0)


def _by(part: FloatArray, V: FloatArray) -> FloatArray:
    return np.asarray(part * V) if len(part) else part
