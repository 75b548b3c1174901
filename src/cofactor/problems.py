"""Row problems: all terms and priors that touch one factor, put together for the kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np

from cofactor import kernels
from cofactor.curved import Curved
from cofactor.divergences import Divergence
from cofactor.forms import merge, some_rows, sum_rows
from cofactor.kernels import EPSILON, Entries, Forms, Parts, Slopes
from cofactor.matrices import is_whole, whole_slopes, whole_surrogate
from cofactor.priors import Penalty
from cofactor.sides import Against
from cofactor.statistics import Statistics
from cofactor.threads import Threads, even_blocks
from cofactor.typing import FloatArray, IntArray
from cofactor.vectors import aligned, padded


class RowProblem:
    """Everything that touches one factor, ready for the kernels."""

    def __init__(
        self,
        parts: Sequence[Against],
        weights: Sequence[float],
        penalty: Penalty | None,
        stacked: Callable[[], Curved | None],
        shape: tuple[int, int],
        dtype: np.dtype[Any],
        passing: bool = False,
    ) -> None:
        self.parts, self.weights, self.penalty, self.shape = parts, weights, penalty, shape
        self._stacked, self._dtype, self._passing = stacked, dtype, passing
        barred = penalty is not None and bool(np.any(penalty.barrier))
        self._curving = [t for t, part in enumerate(parts) if part.side.curved is not None]
        self.quadratic = not self._curving and not barred
        logs = any(parts[t].side.divergence.log for t in self._curving)
        self._everything = not (logs or barred)
        self.logarithmic = barred or any(
            part.side.divergence.log and weight > 0
            for part, weight in zip(parts, weights, strict=True)
        )
        self.costs: dict[int, float] = {}
        """Curved costs of the parts after a descent, where they are known."""

    @property
    def losses(self) -> list[tuple[Divergence, float]]:
        """The terms' divergences and weights."""
        return [(p.side.divergence, w) for p, w in zip(self.parts, self.weights, strict=True)]

    @cached_property
    def curved(self) -> Curved:
        """The entries of all terms, side by side."""
        return self._stacked() or _no_entries(self.shape[0], self._dtype)

    @cached_property
    def F(self) -> FloatArray:
        """The rows that the entries point to."""
        return _joined([self.parts[t] for t in self._curving], padded(self.shape[1]))

    @cached_property
    def bounds(self) -> IntArray:
        return even_blocks(self.shape[0]) if self.quadratic else self.curved.bounds

    @cached_property
    def forms(self) -> Forms:
        return merge(self.parts, self.weights, self.penalty, self.shape)

    def descend(
        self, V: FloatArray, threads: Threads, *, rounds: int, sweeps: int, tolerance: float,
        costs: bool = False,
    ) -> int:  # fmt: skip
        """Run coordinate descent in place; return the number of rows that did not reach the
        tolerance.

        With ``costs``, note those of the curved entries, whose fitted values are at hand.
        """
        if self.quadratic:
            forms = self.forms
            return sum(threads.across(self.bounds, lambda low, high: int(
                kernels.descend_quadratic(
                    V[low:high], some_rows(forms, low, high), rounds * sweeps, tolerance
                ))))  # fmt: skip
        return self._descend_curved(V, (rounds, sweeps, tolerance), threads, costs)

    def multiply(
        self, V: FloatArray, threads: Threads, *, rounds: int, tolerance: float, epsilon: float,
        ridge: float,
    ) -> int:  # fmt: skip
        """Run multiplicative updates in place; return the number of rows that did not reach the
        tolerance."""
        if rounds == 1 and tolerance == 0.0 and self._apart:
            return self._multiply_apart(V, threads, epsilon, ridge)
        forms = merge(self.parts, self.weights, self.penalty, self.shape, sloped=False)
        slopes, barred = self._slopes(V.dtype), bool(np.any(forms.barrier))

        def block(low: int, high: int) -> int:
            return int(
                kernels.multiply_blocks(
                    V[low:high], self.curved.block(low, high), self.F, some_rows(forms, low, high),
                    tuple(
                        s._replace(start=s.start[low : high + 1], first=s.first[low:high])
                        for s in slopes
                    ),
                    barred, rounds, tolerance, epsilon, ridge,
                )
            )  # fmt: skip

        over = threads.across if self.curved.at_once else threads.over
        return sum(over(self.bounds, block))

    @property
    def _apart(self) -> bool:
        """Whether an update is faster with the terms one by one: they are whole matrices, or their
        entries would have to be put side by side for this update alone."""
        curved = [self.parts[t].side.curved for t in self._curving]
        lasting = not self._passing and all(c.at_once for c in curved if c is not None)
        return (len(curved) > 1 and not lasting) or all(map(is_whole, self.parts))

    def _multiply_apart(self, V: FloatArray, threads: Threads, epsilon: float, ridge: float) -> int:
        """Make one update from what each term has to say."""
        none = np.empty((0, V.shape[1]))
        if self.penalty is not None:  # the numbers are those of rows away from zero
            np.maximum(V, EPSILON, out=V, where=np.asarray(self.penalty.barrier) > 0)
        each = [_surrogate(part, V, threads, epsilon, costs=False)[0] for part in self.parts]
        sums = [
            sum_rows([a if len(a) else None for a in numbers], self.weights)
            for numbers in zip(*each, strict=True)
        ]
        down = sum_rows([_down(part, threads) for part in self.parts], self.weights)
        forms = merge(self.parts, self.weights, self.penalty, self.shape, sloped=False)
        forms = forms._replace(down=none if down is None else down)
        parts = Parts(*(none if total is None else total for total in sums))
        update_by_parts(V, parts, forms, threads, ridge)
        return len(V)

    def _slopes(self, dtype: np.dtype[Any]) -> tuple[Slopes, Slopes]:
        found = [part.slopes(w) for part, w in zip(self.parts, self.weights, strict=True)]
        first, second = [*filter(None, found), *([no_slopes(dtype)] * 2)][:2]
        return first, second

    def statistics(self, V: FloatArray, threads: Threads, epsilon: float) -> Statistics:
        """Return what the one term of this problem says of its factor, whose present rows are
        V."""
        (part,) = self.parts
        numbers, cost = _surrogate(part, V, threads, epsilon, costs=True)
        return Statistics(
            part.row_scale, _down(part, threads), part.up, part.ups, part.gram, numbers, cost,
            part.side.constant,
        )  # fmt: skip

    def _descend_curved(
        self, V: FloatArray, settings: tuple[float, ...], threads: Threads, costs: bool
    ) -> int:
        forms, counts = self.forms, self.parts[0].side.counts
        weights = np.empty(0) if counts is None else counts
        split = len(self.parts[self._curving[0]].other.array) if self._curving else 0
        noted = np.zeros((len(self.bounds) - 1, 2 * costs))

        def block(start: int, stop: int) -> int:
            low, high = self.bounds[start], self.bounds[stop]
            return int(
                kernels.descend_blocks(
                    V[low:high], self.curved.block(low, high), self.F,
                    some_rows(forms, low, high),
                    *settings, self._everything, weights[low:high], split,
                    self.bounds[start : stop + 1], noted[start:stop],
                )
            )  # fmt: skip

        over = threads.across if self.curved.at_once else threads.over
        unfinished = sum(over(range(len(self.bounds)), block))
        if costs and V.dtype == np.float64:  # others are rounded afterwards
            self._note(noted.sum(axis=0))
        return unfinished

    def _note(self, costs: FloatArray) -> None:
        """Remember the curved costs of the terms, without their weights."""
        for t, cost in zip(self._curving, costs.tolist(), strict=False):
            if self.weights[t] > 0:
                self.costs[t] = cost / self.weights[t]


def _surrogate(
    part: Against, V: FloatArray, threads: Threads, epsilon: float, *, costs: bool
) -> tuple[Parts, float]:
    """Return a term's numbers of the surrogate at V, and the cost of its entries if asked for."""
    none = np.empty((0, V.shape[1]))
    curved, d = part.side.curved, part.side.divergence
    if curved is None:
        return Parts(none, none, none, none), 0.0
    if is_whole(part):
        c, cost = whole_surrogate(part, V, threads, epsilon, costs=costs)
        return Parts(c, none, none, none), cost
    squares = d.square and not part.side.observations.zeros
    used = d.log, squares, d.inverse, d.concave
    parts = Parts(*(np.empty(V.shape) if use else none for use in used))
    bounds, noted = curved.bounds, np.zeros(len(curved.bounds) - 1)

    def block(start: int, stop: int) -> None:
        low, high = bounds[start], bounds[stop]
        kernels.surrogate_blocks(
            V[low:high], curved.block(low, high), part.F, epsilon, bounds[start : stop + 1],
            Parts(*(a[low:high] for a in parts)), noted[start : stop if costs else start],
        )  # fmt: skip

    over = threads.across if curved.at_once else threads.over
    over(range(len(bounds)), block)
    return parts, float(noted.sum())


def _down(part: Against, threads: Threads) -> FloatArray | None:
    """Return a term's downward slopes."""
    return whole_slopes(part, threads) if is_whole(part) else part.down


class ColumnProblem:
    """The row problem of the features or the targets, known by its statistics alone."""

    def __init__(
        self,
        statistics: Statistics,
        divergence: Divergence,
        weight: float,
        penalty: Penalty | None,
    ) -> None:
        self.statistics, self.weight, self.penalty = statistics, weight, penalty
        self.losses = [(divergence, weight)]
        barred = penalty is not None and bool(np.any(penalty.barrier))
        self.quadratic = not barred and not any(len(part) for part in statistics.parts)

    def _forms(self, V: FloatArray) -> Forms:
        n, r = V.shape
        return merge([self.statistics], [self.weight], self.penalty, (n, r))

    def descend(self, V: FloatArray, threads: Threads) -> None:
        """Sweep the topics once, in place; for quadratic problems."""
        forms = self._forms(V)
        threads.across(even_blocks(len(V)), lambda low, high: kernels.descend_quadratic(
            V[low:high], some_rows(forms, low, high), 1, 0.0))  # fmt: skip

    def multiply(self, V: FloatArray, threads: Threads, *, ridge: float = 0.0) -> None:
        """Make one multiplicative update in place."""
        update_by_parts(V, self.statistics.weighted(self.weight), self._forms(V), threads, ridge)


def update_by_parts(
    V: FloatArray, parts: Parts, forms: Forms, threads: Threads, ridge: float
) -> None:
    """Make one multiplicative update in place, by numbers of the surrogate that are known."""
    slopes, barred = (no_slopes(V.dtype), no_slopes(V.dtype)), bool(np.any(forms.barrier))
    threads.across(even_blocks(len(V)), lambda low, high: kernels.multiply_by_parts(
        V[low:high], Parts(*(a[low:high] for a in parts)), some_rows(forms, low, high),
        slopes, barred, ridge))  # fmt: skip


def _joined(parts: Sequence[Against], width: int) -> FloatArray:
    """Return the terms' other factors one below the other, padded."""
    if len(parts) == 1:
        return parts[0].F
    arrays = [part.other.array for part in parts]
    out, end = aligned(max(1, sum(map(len, arrays))), width), 0
    for array in arrays:
        kernels.widen(array, out[end : end + len(array)])
        end += len(array)
    return out


def _no_entries(n: int, dtype: np.dtype[Any]) -> Curved:
    none = np.empty(0, dtype=dtype)
    starts = np.zeros(n + 1, dtype=np.int64)
    return Curved(Entries(none, none, none, none, np.empty(0, np.int32), starts, starts[:-1]))


@cache
def no_slopes(dtype: np.dtype[Any]) -> Slopes:
    none = np.empty(0, np.int64)
    return Slopes(np.empty(0, dtype), np.empty(0, np.int32), none, none, aligned(0, 4), 0.0)
