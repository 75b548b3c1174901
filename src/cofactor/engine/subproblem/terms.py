"""One term seen from one of its two factors.

``TermSide`` holds what stays constant during a fit: the coefficients of the listed cells.
``BoundTerm`` adds what depends on the other factor: linear and quadratic parts.
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np

from cofactor._types import FloatArray, IntArray
from cofactor.divergences import FLOOR, Divergence
from cofactor.engine import kernels
from cofactor.engine.factors import PaddedFactor, cross
from cofactor.engine.kernels import Slopes
from cofactor.engine.observations import Layout, Observations
from cofactor.engine.observations.base import times
from cofactor.engine.subproblem.entries import Curved, Expanded, curved_entries, listed, scale
from cofactor.engine.threads import Threads, balanced_slices


class Linear(Protocol):
    """The linear and quadratic parts of a term, seen from one factor."""

    @property
    def row_scale(self) -> FloatArray | None: ...
    @property
    def down(self) -> FloatArray | None: ...
    @property
    def up(self) -> FloatArray | None: ...
    @property
    def ups(self) -> FloatArray | None: ...
    @property
    def gram(self) -> FloatArray | None: ...


def linear_value(
    part: Linear, rows_of: PaddedFactor, threads: Threads, counts: FloatArray | None = None
) -> float:
    """Return the value of a term's linear and quadratic parts."""
    rows, total = times(part.row_scale, counts), 0.0
    gram, ups = part.gram, part.ups
    if gram is not None:
        total += 0.5 * float((rows_of.gram(rows, threads) * gram).sum())
    if ups is not None:
        total += float(rows_of.sums(rows, threads) @ ups)
    for slopes, sign in ((part.up, 1.0), (part.down, -1.0)):
        if slopes is not None:
            total += sign * rows_of.inner(slopes, counts, threads)
    return total


class BoundTerm:
    """A side together with the other factor; its parts are computed when asked for."""

    def __init__(self, side: TermSide, other: PaddedFactor, threads: Threads) -> None:
        self.side, self.other, self.threads = side, other, threads
        self.row_scale = side.row_scale
        self._crossed: list[FloatArray | None] = [None, None]

    @property
    def F(self) -> FloatArray:
        return self.other.wide

    @property
    def down(self) -> FloatArray | None:
        return self._cross(0)

    @property
    def up(self) -> FloatArray | None:
        return self._cross(1)

    @property
    def ups(self) -> FloatArray | None:
        d, seen = self.side.divergence, self.side.observations
        if not (d.up and seen.zeros):
            return None
        return self.other.sums(seen.column_weights, self.threads) * d.up

    @property
    def gram(self) -> FloatArray | None:
        d, seen = self.side.divergence, self.side.observations
        if not (d.square and seen.zeros):
            return None
        return self.other.gram(seen.column_weights, self.threads) * d.square

    def _cross(self, which: int) -> FloatArray | None:
        """Return the sums of downward or upward slopes, computed once."""
        slopes, known = self.side.slopes[which], self._crossed
        if slopes is not None and known[which] is None:
            width = self.other.array.shape[1]
            known[which] = cross(slopes, self.F, width, self.threads, self.side.bounds)
        return known[which]

    def slopes(self, weight: float) -> Slopes | None:
        """Return the downward slopes as entries, for a kernel to sum up."""
        down, _ = self.side.slopes
        return None if down is None else Slopes(*down, self.F, weight)

    def value(self, rows_of: PaddedFactor, threads: Threads, cost: float | None = None) -> float:
        """Return the term's divergence; ``cost``, if known, is that of its curved entries."""
        side = self.side
        total = side.constant + linear_value(self, rows_of, threads, side.counts)
        if cost is not None:
            total += cost
        elif side.curved is not None:
            total += self._curved(side.curved, rows_of.wide, threads)
        return max(total, 0.0)

    def _curved(self, curved: Curved, V: FloatArray, threads: Threads) -> float:
        w = np.empty(0) if self.side.counts is None else self.side.counts

        if curved.at_once:
            entries = curved.entries
            return float(
                threads.total(
                    curved.bounds,
                    (),
                    lambda bounds, out: kernels.value_slices(V, entries, self.F, w, bounds, out),
                )
            )

        def block(low: int, high: int) -> float:
            part = curved.block(low, high)
            return float(kernels.curved_value(V[low:high], part, self.F, w[low:high]))

        return sum(threads.over(curved.bounds, block))


class TermSide:
    """One term seen from the factor that its rows belong to; ``counts`` says how often each row
    counts in its value."""

    def __init__(
        self,
        observations: Observations,
        divergence: Divergence,
        counts: FloatArray | None = None,
        constant: float | None = None,
    ) -> None:
        self.observations, self.divergence, self.counts = observations, divergence, counts
        self._constant = constant
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
    def slopes(self) -> tuple[Layout | None, Layout | None]:
        """Per-cell slopes (down, up); observed zeros make the upward one structured."""
        d, up = self.divergence, None
        if not (d.down or (d.up and not self.observations.zeros)):
            return None, None
        products, weights = listed(self.observations, d)
        if d.up and not self.observations.zeros:
            up = scale(np.ones_like(products) if weights is None else weights, d.up)
        down = scale(products, d.down) if d.down else None
        return self._sloping(down), self._sloping(up)

    def _sloping(self, values: FloatArray | None) -> Layout | None:
        """List slopes; a dense matrix that is mostly zeros goes without them."""
        if values is None:
            return None
        cells = self.observations.layout._replace(values=values)
        few = cells.is_shared and np.count_nonzero(values) < len(values) / 2
        return cells.nonzero() if few else cells

    @cached_property
    def bounds(self) -> IntArray:
        return balanced_slices(self.observations.layout.start)

    @cached_property
    def constant(self) -> float:
        """Σ weight·(the part of the divergence that no factor changes)."""
        if self._constant is not None:
            return self._constant
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
