"""Row problems: all terms and priors that touch one factor, put together for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np

from cofactor._types import FloatArray
from cofactor.divergences import Divergence
from cofactor.engine import kernels
from cofactor.engine.factors import PaddedFactor
from cofactor.engine.kernels import EPSILON, Forms, Parts, Slopes
from cofactor.engine.kernels.vectors import aligned
from cofactor.engine.subproblem.forms import merge, some_rows, sum_rows
from cofactor.engine.subproblem.plan import Plan
from cofactor.engine.subproblem.statistics import Statistics
from cofactor.engine.subproblem.terms import BoundTerm
from cofactor.engine.threads import Threads, even_slices
from cofactor.priors import Penalty

Better = tuple[PaddedFactor, int]
"""An improved factor, and how many of its rows are not at their best."""


class RowProblem:
    """Everything that touches one factor, ready for the kernels: what is given, and the terms
    together with the other factors."""

    def __init__(self, given: Plan, parts: Sequence[BoundTerm], shape: tuple[int, int]) -> None:
        self.plan, self.parts, self.shape = given, parts, shape
        self.costs: dict[int, float] = {}
        """Curved costs of the parts after a descent, where they are known."""

    @property
    def losses(self) -> list[tuple[Divergence, float]]:
        """The terms' divergences and weights."""
        return self.plan.losses

    @property
    def logarithmic(self) -> bool:
        return self.plan.logarithmic

    @cached_property
    def F(self) -> FloatArray:
        """The rows that the entries point to; if there are none, any that are as wide."""
        return _joined([self.parts[t].F for t in self.plan.curving or [0]])

    def _forms(self, *, sloped: bool = True) -> Forms:
        given = self.plan
        return merge(self.parts, given.weights, given.penalty, self.shape, sloped=sloped)

    def descend(
        self, V: PaddedFactor, threads: Threads, *, rounds: int, sweeps: int, tolerance: float,
        costs: bool = False,
    ) -> Better:  # fmt: skip
        """Run coordinate descent; return the factor, and how many rows did not reach the
        tolerance.

        With ``costs``, note those of the curved entries, whose fitted values are at hand.
        """
        new = np.array(V.array)
        if self.plan.quadratic:
            forms = self._forms()
            unfinished = sum(threads.across(self.plan.bounds, lambda low, high: int(
                kernels.descend_quadratic(
                    new[low:high], some_rows(forms, low, high), rounds * sweeps, tolerance
                ))))  # fmt: skip
        else:
            unfinished = self._descend_curved(new, (rounds, sweeps, tolerance), threads, costs)
        return PaddedFactor(new), unfinished

    def multiply(
        self, V: PaddedFactor, threads: Threads, *, rounds: int, tolerance: float, epsilon: float,
        ridge: float,
    ) -> Better:  # fmt: skip
        """Run multiplicative updates; return the factor, and how many rows did not reach the
        tolerance."""
        if rounds == 1 and tolerance == 0.0 and self.plan.scattered:
            return self._multiply_apart(V, threads, epsilon, ridge), self.shape[0]
        old, new, slopes = V.wide, V.room(), self._slopes(V.array.dtype)
        given, forms, F = self.plan, self._forms(sloped=False), self.F
        curved = given.curved

        def block(low: int, high: int) -> int:
            return int(
                kernels.multiply_slices(
                    old[low:high], new[low:high], curved.block(low, high), F,
                    some_rows(forms, low, high), tuple([s.some(low, high) for s in slopes]),
                    given.barred, rounds, tolerance, epsilon, ridge,
                )
            )  # fmt: skip

        over = threads.across if curved.at_once else threads.over
        unfinished = sum(over(given.bounds, block))
        return PaddedFactor.in_room(new, V.array), unfinished

    def _multiply_apart(
        self, V: PaddedFactor, threads: Threads, epsilon: float, ridge: float
    ) -> PaddedFactor:
        """Make one update from what each term has to say."""
        penalty, weights = self.plan.penalty, self.plan.weights
        if penalty is not None and penalty.barred:  # the numbers are those of rows that are > 0
            barrier = np.asarray(penalty.barrier)
            V = PaddedFactor(
                np.where(barrier > 0, np.maximum(V.array, V.array.dtype.type(EPSILON)), V.array)
            )
        each = [_surrogate(part, V, threads, epsilon, costs=False)[0] for part in self.parts]
        sums = [
            sum_rows([a if len(a) else None for a in numbers], weights)
            for numbers in zip(*each, strict=True)
        ]
        down = sum_rows([part.down for part in self.parts], weights)
        none, forms = no_parts(self.shape[1]), self._forms(sloped=False)
        forms = forms if down is None else forms._replace(down=down)
        parts = Parts(*(a if a is not None else b for a, b in zip(sums, none, strict=True)))
        return update_by_parts(V, parts, forms, self.plan.barred, threads, ridge)

    def _slopes(self, dtype: np.dtype[Any]) -> tuple[Slopes, Slopes]:
        found = [part.slopes(w) for part, w in zip(self.parts, self.plan.weights, strict=True)]
        first, second = [*filter(None, found), *([no_slopes(dtype)] * 2)][:2]
        return first, second

    def _descend_curved(
        self, V: FloatArray, settings: tuple[float, ...], threads: Threads, costs: bool
    ) -> int:
        given, forms, F = self.plan, self._forms(), self.F
        curved, bounds, counts = given.curved, given.bounds, given.sides[0].counts
        weights = np.empty(0) if counts is None else counts
        split = len(self.parts[given.curving[0]].other.array) if given.curving else 0
        logs = any(given.sides[t].divergence.log for t in given.curving)
        everything = not (logs or given.barred)
        noted = np.zeros((len(bounds) - 1, 2 * costs))

        def block(start: int, stop: int) -> int:
            low, high = bounds[start], bounds[stop]
            return int(
                kernels.descend_slices(
                    V[low:high], curved.block(low, high), F,
                    some_rows(forms, low, high),
                    *settings, everything, weights[low:high], split,
                    bounds[start : stop + 1], noted[start:stop],
                )
            )  # fmt: skip

        over = threads.across if curved.at_once else threads.over
        unfinished = sum(over(range(len(bounds)), block))
        if costs and V.dtype == np.float64:  # others are rounded afterwards
            self._note(noted.sum(axis=0))
        return unfinished

    def _note(self, costs: FloatArray) -> None:
        """Remember the curved costs of the terms, without their weights."""
        weights = self.plan.weights
        for t, cost in zip(self.plan.curving, costs.tolist(), strict=False):
            if weights[t] > 0:
                self.costs[t] = cost / weights[t]


def statistics_of(part: BoundTerm, V: PaddedFactor, threads: Threads, epsilon: float) -> Statistics:
    """Return what a term says of one factor, which is V."""
    # These first: they read the other factor in order, and leave it in the cache.
    ups, gram = part.ups, part.gram
    numbers, cost = _surrogate(part, V, threads, epsilon, costs=True)
    return Statistics(
        part.row_scale, part.down, part.up, ups, gram, numbers, cost, part.side.constant
    )


def _surrogate(
    part: BoundTerm, V: PaddedFactor, threads: Threads, epsilon: float, *, costs: bool
) -> tuple[Parts, float]:
    """Return a term's numbers of the surrogate at V, and the cost of its entries if asked for."""
    shape = V.array.shape
    curved, d, none = part.side.curved, part.side.divergence, no_parts(shape[1])
    if curved is None:
        return none, 0.0
    squares = d.square and not part.side.observations.zeros
    used = zip((d.log, squares, d.inverse, d.concave), none, strict=True)
    parts = Parts(*(np.empty(shape) if use else empty for use, empty in used))
    wide, bounds, noted = V.wide, curved.bounds, np.zeros(len(curved.bounds) - 1)

    def block(start: int, stop: int) -> None:
        low, high = bounds[start], bounds[stop]
        kernels.surrogate_slices(
            wide[low:high], curved.block(low, high), part.F, epsilon, bounds[start : stop + 1],
            parts.some(low, high), noted[start : stop if costs else start],
        )  # fmt: skip

    over = threads.across if curved.at_once else threads.over
    over(range(len(bounds)), block)
    return parts, float(noted.sum())


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

    def _forms(self, V: PaddedFactor) -> Forms:
        n, r = V.array.shape
        return merge([self.statistics], [self.weight], self.penalty, (n, r))

    def descend(self, V: PaddedFactor, threads: Threads) -> PaddedFactor:
        """Sweep the topics once; for quadratic problems."""
        forms, new = self._forms(V), np.array(V.array)
        threads.across(even_slices(len(new)), lambda low, high: kernels.descend_quadratic(
            new[low:high], some_rows(forms, low, high), 1, 0.0))  # fmt: skip
        return PaddedFactor(new)

    def multiply(self, V: PaddedFactor, threads: Threads, *, ridge: float = 0.0) -> PaddedFactor:
        """Make one multiplicative update."""
        parts = self.statistics.weighted(self.weight)
        return update_by_parts(V, parts, self._forms(V), self._barred, threads, ridge)


def update_by_parts(
    V: PaddedFactor, parts: Parts, forms: Forms, barred: bool, threads: Threads, ridge: float
) -> PaddedFactor:
    """Make one multiplicative update, by numbers of the surrogate that are known."""
    old, new = V.wide, V.room()
    threads.across(even_slices(len(new)), lambda low, high: kernels.multiply_by_parts(
        old[low:high], new[low:high], parts.some(low, high),
        some_rows(forms, low, high), barred, ridge))  # fmt: skip
    return PaddedFactor.in_room(new, V.array)


def _joined(factors: Sequence[FloatArray]) -> FloatArray:
    """Return padded factors one below the other."""
    if len(factors) == 1:
        return factors[0]
    return np.concatenate(factors, out=aligned(sum(map(len, factors)), factors[0].shape[1]))


@cache
def no_parts(r: int) -> Parts:
    none = np.empty((0, r))
    return Parts(none, none, none, none)


@cache
def no_slopes(dtype: np.dtype[Any]) -> Slopes:
    none = np.empty(0, np.int64)
    return Slopes(np.empty(0, dtype), np.empty(0, np.int32), none, none, aligned(0, 4), 0.0)
