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
from cofactor.kernels import EPSILON, Forms, Parts, Slopes
from cofactor.matrices import is_whole, whole_slopes, whole_surrogate
from cofactor.priors import Penalty
from cofactor.seen import Seen
from cofactor.sides import Against
from cofactor.statistics import Statistics
from cofactor.threads import Threads, even_blocks
from cofactor.typing import FloatArray, IntArray
from cofactor.vectors import aligned

Better = tuple[Seen, int]
"""An improved factor, and how many of its rows are not at their best."""


class RowProblem:
    """Everything that touches one factor, ready for the kernels."""

    def __init__(
        self,
        parts: Sequence[Against],
        weights: Sequence[float],
        penalty: Penalty | None,
        stacked: Callable[[], Curved],
        shape: tuple[int, int],
        passing: bool = False,
    ) -> None:
        self.parts, self.weights, self.penalty, self.shape = parts, weights, penalty, shape
        self._stacked, self._passing = stacked, passing
        self._barred = penalty is not None and penalty.barred
        self.costs: dict[int, float] = {}
        """Curved costs of the parts after a descent, where they are known."""

    @cached_property
    def _curving(self) -> list[int]:
        """The terms with curved entries."""
        return [t for t, part in enumerate(self.parts) if part.side.curved is not None]

    @property
    def quadratic(self) -> bool:
        return not self._curving and not self._barred

    @property
    def logarithmic(self) -> bool:
        return self._barred or any(d.log and weight > 0 for d, weight in self.losses)

    @property
    def losses(self) -> list[tuple[Divergence, float]]:
        """The terms' divergences and weights."""
        return [(p.side.divergence, w) for p, w in zip(self.parts, self.weights, strict=True)]

    @cached_property
    def curved(self) -> Curved:
        """The entries of all terms, side by side."""
        return self._stacked()

    @cached_property
    def F(self) -> FloatArray:
        """The rows that the entries point to; if there are none, any that are as wide."""
        return _joined([self.parts[t].F for t in self._curving or [0]])

    @cached_property
    def bounds(self) -> IntArray:
        return even_blocks(self.shape[0]) if self.quadratic else self.curved.bounds

    @cached_property
    def forms(self) -> Forms:
        return merge(self.parts, self.weights, self.penalty, self.shape)

    def descend(
        self, V: Seen, threads: Threads, *, rounds: int, sweeps: int, tolerance: float,
        costs: bool = False,
    ) -> Better:  # fmt: skip
        """Run coordinate descent; return the factor, and how many rows did not reach the
        tolerance.

        With ``costs``, note those of the curved entries, whose fitted values are at hand.
        """
        new = np.array(V.array)
        if self.quadratic:
            forms = self.forms
            unfinished = sum(threads.across(self.bounds, lambda low, high: int(
                kernels.descend_quadratic(
                    new[low:high], some_rows(forms, low, high), rounds * sweeps, tolerance
                ))))  # fmt: skip
        else:
            unfinished = self._descend_curved(new, (rounds, sweeps, tolerance), threads, costs)
        return Seen(new), unfinished

    def multiply(
        self, V: Seen, threads: Threads, *, rounds: int, tolerance: float, epsilon: float,
        ridge: float,
    ) -> Better:  # fmt: skip
        """Run multiplicative updates; return the factor, and how many rows did not reach the
        tolerance."""
        if rounds == 1 and tolerance == 0.0 and self._apart:
            return self._multiply_apart(V, threads, epsilon, ridge), self.shape[0]
        forms = merge(self.parts, self.weights, self.penalty, self.shape, sloped=False)
        old, new, slopes = V.wide, V.room(), self._slopes(V.array.dtype)
        curved, F = self.curved, self.F

        def block(low: int, high: int) -> int:
            return int(
                kernels.multiply_blocks(
                    old[low:high], new[low:high], curved.block(low, high), F,
                    some_rows(forms, low, high), tuple(s.some(low, high) for s in slopes),
                    self._barred, rounds, tolerance, epsilon, ridge,
                )
            )  # fmt: skip

        over = threads.across if curved.at_once else threads.over
        unfinished = sum(over(self.bounds, block))
        return Seen.in_room(new, V.array), unfinished

    @property
    def _apart(self) -> bool:
        """Whether an update is faster with the terms one by one: they are whole matrices, or their
        entries would have to be put side by side for this update alone."""
        curved = [self.parts[t].side.curved for t in self._curving]
        lasting = not self._passing and all(c.at_once for c in curved if c is not None)
        return (len(curved) > 1 and not lasting) or all(map(is_whole, self.parts))

    def _multiply_apart(self, V: Seen, threads: Threads, epsilon: float, ridge: float) -> Seen:
        """Make one update from what each term has to say."""
        none = np.empty((0, self.shape[1]))
        if self.penalty is not None and self._barred:  # the numbers are those of rows that are > 0
            barrier = np.asarray(self.penalty.barrier)
            V = Seen(
                np.where(barrier > 0, np.maximum(V.array, V.array.dtype.type(EPSILON)), V.array)
            )
        each = [_surrogate(part, V, threads, epsilon, costs=False)[0] for part in self.parts]
        sums = [
            sum_rows([a if len(a) else None for a in numbers], self.weights)
            for numbers in zip(*each, strict=True)
        ]
        down = sum_rows([_down(part, threads) for part in self.parts], self.weights)
        forms = merge(self.parts, self.weights, self.penalty, self.shape, sloped=False)
        forms = forms._replace(down=none if down is None else down)
        parts = Parts(*(none if total is None else total for total in sums))
        return update_by_parts(V, parts, forms, self._barred, threads, ridge)

    def _slopes(self, dtype: np.dtype[Any]) -> tuple[Slopes, Slopes]:
        found = [part.slopes(w) for part, w in zip(self.parts, self.weights, strict=True)]
        first, second = [*filter(None, found), *([no_slopes(dtype)] * 2)][:2]
        return first, second

    def _descend_curved(
        self, V: FloatArray, settings: tuple[float, ...], threads: Threads, costs: bool
    ) -> int:
        forms, curved, F = self.forms, self.curved, self.F
        counts = self.parts[0].side.counts
        weights = np.empty(0) if counts is None else counts
        split = len(self.parts[self._curving[0]].other.array) if self._curving else 0
        logs = any(self.parts[t].side.divergence.log for t in self._curving)
        everything = not (logs or self._barred)
        noted = np.zeros((len(self.bounds) - 1, 2 * costs))

        def block(start: int, stop: int) -> int:
            low, high = self.bounds[start], self.bounds[stop]
            return int(
                kernels.descend_blocks(
                    V[low:high], curved.block(low, high), F,
                    some_rows(forms, low, high),
                    *settings, everything, weights[low:high], split,
                    self.bounds[start : stop + 1], noted[start:stop],
                )
            )  # fmt: skip

        over = threads.across if curved.at_once else threads.over
        unfinished = sum(over(range(len(self.bounds)), block))
        if costs and V.dtype == np.float64:  # others are rounded afterwards
            self._note(noted.sum(axis=0))
        return unfinished

    def _note(self, costs: FloatArray) -> None:
        """Remember the curved costs of the terms, without their weights."""
        for t, cost in zip(self._curving, costs.tolist(), strict=False):
            if self.weights[t] > 0:
                self.costs[t] = cost / self.weights[t]


def statistics_of(part: Against, V: Seen, threads: Threads, epsilon: float) -> Statistics:
    """Return what a term says of one factor, which is V."""
    # These first: they read the other factor in order, and leave it in the cache.
    ups, gram = part.ups, part.gram
    numbers, cost = _surrogate(part, V, threads, epsilon, costs=True)
    return Statistics(
        part.row_scale, _down(part, threads), part.up, ups, gram, numbers, cost, part.side.constant
    )


def _surrogate(
    part: Against, V: Seen, threads: Threads, epsilon: float, *, costs: bool
) -> tuple[Parts, float]:
    """Return a term's numbers of the surrogate at V, and the cost of its entries if asked for."""
    shape = V.array.shape
    none = np.empty((0, shape[1]))
    curved, d = part.side.curved, part.side.divergence
    if curved is None:
        return Parts(none, none, none, none), 0.0
    if is_whole(part):
        c, cost = whole_surrogate(part, V.wide, threads, epsilon, costs=costs)
        return Parts(c, none, none, none), cost
    squares = d.square and not part.side.observations.zeros
    used = d.log, squares, d.inverse, d.concave
    parts = Parts(*(np.empty(shape) if use else none for use in used))
    wide, bounds, noted = V.wide, curved.bounds, np.zeros(len(curved.bounds) - 1)

    def block(start: int, stop: int) -> None:
        low, high = bounds[start], bounds[stop]
        kernels.surrogate_blocks(
            wide[low:high], curved.block(low, high), part.F, epsilon, bounds[start : stop + 1],
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
        self._barred = penalty is not None and penalty.barred

    @property
    def quadratic(self) -> bool:
        return not self._barred and not any(len(part) for part in self.statistics.parts)

    def _forms(self, V: Seen) -> Forms:
        n, r = V.array.shape
        return merge([self.statistics], [self.weight], self.penalty, (n, r))

    def descend(self, V: Seen, threads: Threads) -> Seen:
        """Sweep the topics once; for quadratic problems."""
        forms, new = self._forms(V), np.array(V.array)
        threads.across(even_blocks(len(new)), lambda low, high: kernels.descend_quadratic(
            new[low:high], some_rows(forms, low, high), 1, 0.0))  # fmt: skip
        return Seen(new)

    def multiply(self, V: Seen, threads: Threads, *, ridge: float = 0.0) -> Seen:
        """Make one multiplicative update."""
        parts = self.statistics.weighted(self.weight)
        return update_by_parts(V, parts, self._forms(V), self._barred, threads, ridge)


def update_by_parts(
    V: Seen, parts: Parts, forms: Forms, barred: bool, threads: Threads, ridge: float
) -> Seen:
    """Make one multiplicative update, by numbers of the surrogate that are known."""
    old, new = V.wide, V.room()
    threads.across(even_blocks(len(new)), lambda low, high: kernels.multiply_by_parts(
        old[low:high], new[low:high], Parts(*(a[low:high] for a in parts)),
        some_rows(forms, low, high), barred, ridge))  # fmt: skip
    return Seen.in_room(new, V.array)


def _joined(factors: Sequence[FloatArray]) -> FloatArray:
    """Return padded factors one below the other."""
    if len(factors) == 1:
        return factors[0]
    return np.concatenate(factors, out=aligned(sum(map(len, factors)), factors[0].shape[1]))


@cache
def no_slopes(dtype: np.dtype[Any]) -> Slopes:
    none = np.empty(0, np.int64)
    return Slopes(np.empty(0, dtype), np.empty(0, np.int32), none, none, aligned(0, 4), 0.0)
