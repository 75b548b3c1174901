"""One term seen from one of its two factors.

``Side`` holds everything that does not change during a fit: the coefficients of the listed cells.
``Side.against`` adds what depends on the other factor: linear and quadratic parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cofactor import kernels
from cofactor.curved import Curved, Expanded, curved_entries, listed, scale
from cofactor.divergences import FLOOR, Divergence
from cofactor.observations import Observations
from cofactor.observations.base import times
from cofactor.seen import Seen, cross, inner
from cofactor.threads import Threads, balanced_blocks
from cofactor.typing import FloatArray, IntArray


@dataclass(frozen=True)
class Against:
    """A side together with the other factor: its linear and quadratic parts."""

    side: Side
    F: FloatArray
    down: FloatArray | None
    up: FloatArray | None
    ups: FloatArray
    gram: FloatArray

    def value(self, rows_of: Seen, threads: Threads, cost: float | None = None) -> float:
        """Return the term's divergence; ``cost``, if known, is that of its curved entries."""
        side, weights, V = self.side, self.side.counts, rows_of.array
        rows = times(side.row_scale, weights)
        total = side.constant
        if self.gram.any():
            total += 0.5 * float(np.sum(rows_of.gram(rows, threads) * self.gram))
        if self.ups.any():
            total += float(rows_of.sums(rows, threads) @ self.ups)
        for part, sign in ((self.up, 1.0), (self.down, -1.0)):
            if part is not None:
                total += sign * inner(V, part, weights, threads)
        if cost is not None:
            total += cost
        elif side.curved is not None:
            total += self._curved(side.curved, V, threads)
        return max(total, 0.0)

    def _curved(self, curved: Curved, V: FloatArray, threads: Threads) -> float:
        w = np.empty(0) if self.side.counts is None else self.side.counts

        if curved.at_once:
            entries = curved.entries
            return float(
                threads.total(
                    curved.bounds,
                    (),
                    lambda bounds, out: kernels.value_blocks(V, entries, self.F, w, bounds, out),
                )
            )

        def block(low: int, high: int) -> float:
            part = curved.block(low, high)
            return float(kernels.curved_value(V[low:high], part, self.F, w[low:high]))

        return sum(threads.over(curved.bounds, block))


class Side:
    """One term seen from the factor that its rows belong to; ``counts`` says how often each row
    counts in its value."""

    def __init__(
        self, observations: Observations, divergence: Divergence, counts: FloatArray | None = None
    ) -> None:
        self.observations, self.divergence, self.counts = observations, divergence, counts
        self.row_scale = observations.row_weights if observations.zeros else None
        self._everywhere = observations.zeros and (divergence.inverse or divergence.concave)
        self._is_full = len(observations.layout.values) == np.prod(observations.shape)

    @cached_property
    def curved(self) -> Curved | None:
        return self.weighted_curved(1.0)

    def weighted_curved(self, weight: float) -> Curved | None:
        """Return the curved entries times ``weight``, or None where there are none."""
        d = self.divergence
        if self._everywhere and not self._is_full:
            return Expanded(self.observations, d, weight)
        if d.log or d.inverse or d.concave or (d.square and not self.observations.zeros):
            return Curved(curved_entries(self.observations, d, weight))
        return None

    @cached_property
    def _linear(self) -> tuple[FloatArray | None, FloatArray | None]:
        """Per-cell slopes (down, up); observed zeros make the upward one structured."""
        d = self.divergence
        if not (d.down or (d.up and not self.observations.zeros)):
            return None, None
        products, weights = listed(self.observations, d)
        up = None
        if d.up and not self.observations.zeros:
            up = scale(np.ones_like(products) if weights is None else weights, d.up)
        return (scale(products, d.down) if d.down else None), up

    def against(self, other: Seen, threads: Threads) -> Against:
        """Add the other factor."""
        d, columns, r = self.divergence, self.observations.column_weights, other.array.shape[1]
        down, up = (self._cross(part, other.wide, r, threads) for part in self._linear)
        structured = self.observations.zeros
        return Against(
            self,
            other.wide,
            down,
            up,
            other.sums(columns, threads) * d.up if d.up and structured else np.zeros(r),
            other.gram(columns, threads) * d.square
            if d.square and structured
            else np.zeros((r, r)),
        )

    def _cross(
        self, values: FloatArray | None, F: FloatArray, r: int, threads: Threads
    ) -> FloatArray | None:
        if values is None:
            return None
        return cross(self.observations.layout, values, F, r, threads, self._bounds)

    @cached_property
    def _bounds(self) -> IntArray:
        return balanced_blocks(self.observations.layout.start)

    @cached_property
    def constant(self) -> float:
        """Σ weight·(the part of the divergence that no factor changes)."""
        obs, d = self.observations, self.divergence
        values = np.asarray(obs.layout.values, np.float64)
        if d.positive:
            values = np.maximum(values, FLOOR)
        weights = obs.cell_weights(self.counts)
        parts = d.constant(values)
        total = float(np.sum(parts if weights is None else parts * weights))
        if self._everywhere and not self._is_full:
            n, m = obs.shape
            rows = times(obs.row_weights, self.counts)
            cells = float(n if rows is None else rows.sum()) * float(
                m if obs.column_weights is None else obs.column_weights.sum()
            )
            cells -= float(len(values) if weights is None else weights.sum())
            total += cells * float(d.constant(np.array([FLOOR]))[0])
        return total
