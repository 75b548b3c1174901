"""One term as a function of one of its two factors, the other one fixed.

``TermSide`` holds what stays constant during a fit: the coefficients of the listed cells.
``BoundTerm`` adds the other factor, and with it linear and quadratic parts.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import Protocol

import numpy as np

from cofactor._types import FloatArray, IntArray
from cofactor.divergences import FLOOR, Divergence
from cofactor.engine import kernels
from cofactor.engine.factors import PaddedFactor, cross
from cofactor.engine.kernels import Entries, Slopes
from cofactor.engine.observations import Layout, Observations, as_stored, times
from cofactor.engine.subproblem.entries import (
    AnyEntries,
    ExpandedEntries,
    entry_slices,
    list_entries,
    listed,
    scale,
)
from cofactor.engine.threads import Threads, balanced_slices


class TermForm(Protocol):
    """The linear and quadratic parts of a term as a function of one factor V; None is zero.

    Row i of V costs (up_i − down_i)·v + row_scale_i·(ups·v + ½ v'gram v).
    """

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


def form_value(
    form: TermForm,
    V: PaddedFactor,
    threads: Threads,
    row_scale: FloatArray | None,
    counts: FloatArray | None = None,
) -> float:
    """Return the value of a term's linear and quadratic parts.

    ``counts`` are the weights of the rows in the value, and ``row_scale`` is the form's own row
    scale times these.
    """
    total, gram, ups = 0.0, form.gram, form.ups
    if gram is not None:
        total += 0.5 * float((V.gram(row_scale, threads) * gram).sum())
    if ups is not None:
        total += float(V.sums(row_scale, threads) @ ups)
    for slopes, sign in ((form.up, 1.0), (form.down, -1.0)):
        if slopes is not None:
            total += sign * V.inner(slopes, counts, threads)
    return total


class BoundTerm:
    """A ``TermSide`` together with the other factor.  Its form is computed when asked for."""

    def __init__(self, side: TermSide, other: PaddedFactor, threads: Threads) -> None:
        self.side, self.other, self.threads = side, other, threads
        self.row_scale = side.row_scale
        self._crossed: list[FloatArray | None] = [None, None]

    @property
    def F(self) -> FloatArray:
        """The other factor's padded rows."""
        return self.other.wide

    @property
    def down(self) -> FloatArray | None:
        return self._cross(0)

    @property
    def up(self) -> FloatArray | None:
        return self._cross(1)

    @property
    def ups(self) -> FloatArray | None:
        d, observations = self.side.divergence, self.side.observations
        if not (d.up and observations.zeros):
            return None
        return self.other.sums(self.side.column_scale, self.threads) * d.up

    @property
    def gram(self) -> FloatArray | None:
        d, observations = self.side.divergence, self.side.observations
        if not (d.square and observations.zeros):
            return None
        return self.other.gram(self.side.column_scale, self.threads) * d.square

    def _cross(self, which: int) -> FloatArray | None:
        """Return the rows' downward (0) or upward (1) slopes, computed once."""
        slopes, known = self.side.slopes[which], self._crossed
        if slopes is not None and known[which] is None:
            width = self.other.array.shape[1]
            known[which] = cross(slopes, self.F, width, self.threads, self.side.cell_bounds)
        return known[which]

    def slopes(self, weight: float) -> Slopes | None:
        """Return the cells' downward slopes times ``weight``, for a kernel to sum up."""
        down, _ = self.side.slopes
        return None if down is None else Slopes(down.values, down.places, self.F, weight)

    def value(self, V: PaddedFactor, threads: Threads, cost: float | None = None) -> float:
        """Return the term's divergence; ``cost`` is that of its entries, if already known."""
        side = self.side
        total = side.constant + form_value(self, V, threads, side.counted_scale, side.counts)
        if cost is not None:
            total += cost
        elif side.entries is not None:
            total += self._entry_cost(side.entries, V.wide, threads)
        return max(total, 0.0)

    def _entry_cost(self, entries: AnyEntries, V: FloatArray, threads: Threads) -> float:
        run = partial(kernels.value_slices, V, entries, self.F, self.side.counts)
        in_memory = isinstance(entries, Entries)
        return float(threads.total(self.side.entry_bounds, (), run, join=in_memory))


class TermSide:
    """A term as a function of the factor that its rows belong to.

    Parameters
    ----------
    observations : Observations
        The matrix, transposed if the factor belongs to its columns.
    divergence : Divergence
    counts : array or None
        Sample weights of the rows, which count in the term's value.
    constant : float or None
        The part of the value that does not depend on the factors, if already known.
    """

    def __init__(
        self,
        observations: Observations,
        divergence: Divergence,
        counts: FloatArray | None = None,
        constant: float | None = None,
    ) -> None:
        self.observations, self.divergence, self.counts = observations, divergence, _wide(counts)
        self._constant = constant
        self.row_scale = _wide(observations.row_weights) if observations.zeros else None
        self.column_scale = _wide(observations.column_weights)
        self.counted_scale = times(self.row_scale, self.counts)
        self._zeros_are_entries = observations.zeros and (divergence.inverse or divergence.concave)
        self._is_full = len(observations.layout.values) == np.prod(observations.shape)

    @cached_property
    def entries(self) -> AnyEntries | None:
        return self.weighted_entries(1.0)

    def weighted_entries(self, weight: float) -> AnyEntries | None:
        """Return the entries times ``weight``; None if the term has no entries."""
        d = self.divergence
        if self._zeros_are_entries and not self._is_full:
            return ExpandedEntries(self.observations, d, weight)
        if d.log or d.inverse or d.concave or (d.square and not self.observations.zeros):
            return list_entries(self.observations, d, weight)
        return None

    @cached_property
    def entry_bounds(self) -> IntArray:
        """Slices of rows with about the same number of entries."""
        assert self.entries is not None
        return entry_slices(self.entries)

    @cached_property
    def cell_bounds(self) -> IntArray:
        """Slices of rows with about the same number of listed cells."""
        return balanced_slices(self.observations.layout.start)

    @cached_property
    def slopes(self) -> tuple[Layout | None, Layout | None]:
        """Slopes of the listed cells, down and up.

        Where zeros are observed, all cells have the same upward slope, and it is not listed.
        """
        d, up = self.divergence, None
        if not (d.down or (d.up and not self.observations.zeros)):
            return None, None
        products, weights = listed(self.observations, d)
        if d.up and not self.observations.zeros:
            up = scale(np.ones_like(products) if weights is None else weights, d.up)
        down = scale(products, d.down) if d.down else None
        return self._list_slopes(down), self._list_slopes(up)

    def _list_slopes(self, values: FloatArray | None) -> Layout | None:
        """List slopes; zeros are left out of a dense matrix that has mostly zeros."""
        if values is None:
            return None
        cells = self.observations.layout._replace(values=values)
        few = cells.is_shared and np.count_nonzero(values) < len(values) / 2
        return cells.nonzero() if few else cells

    @cached_property
    def constant(self) -> float:
        """Σ weight·(the part of the divergence that does not depend on the factors)."""
        if self._constant is not None:
            return self._constant
        obs, d = self.observations, self.divergence
        values = np.asarray(obs.layout.values, np.float64)
        if d.positive:
            values = np.maximum(values, FLOOR)
        weights = obs.cell_weights(self.counts)
        parts = d.constant(values)
        total = float(np.sum(parts if weights is None else parts * weights))
        if self._zeros_are_entries and not self._is_full:
            n, m = obs.shape
            rows = times(obs.row_weights, self.counts)
            cells = float(n if rows is None else rows.sum()) * float(
                m if obs.column_weights is None else obs.column_weights.sum()
            )
            cells -= float(len(values) if weights is None else weights.sum())
            total += cells * float(d.constant(np.array([FLOOR]))[0])
        return total


def _wide(weights: FloatArray | None) -> FloatArray | None:
    """Return weights as kernels read them."""
    return None if weights is None else as_stored(weights, np.float64)
