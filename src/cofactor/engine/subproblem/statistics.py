"""Statistics: a term as a function of the features or the targets, summed over samples.

An update of these factors needs nothing else (``ColumnProblem``).  Statistics add over blocks of
samples, so blocks may be in memory, on disk or on other machines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cofactor._types import BoolArray, FloatArray
from cofactor.divergences import Divergence
from cofactor.engine.factors import PaddedFactor
from cofactor.engine.kernels import Forms, Surrogate
from cofactor.engine.subproblem.problem import descend_quadratic, merge_forms
from cofactor.engine.subproblem.surrogate import multiply_by_surrogate, surrogate_of
from cofactor.engine.subproblem.terms import BoundTerm, form_value
from cofactor.engine.threads import Threads
from cofactor.priors import Penalty


@dataclass(frozen=True, eq=False)
class Statistics:
    """A term's form, the surrogate of its entries, and their cost, at one value of a factor.

    The first five fields are those of ``TermForm``; None is zero.
    """

    row_scale: FloatArray | None
    down: FloatArray | None
    up: FloatArray | None
    ups: FloatArray | None
    gram: FloatArray | None
    surrogate: Surrogate
    cost: float
    constant: float

    def plus(self, other: Statistics) -> Statistics:
        """Return the statistics of both blocks of samples."""
        return self._combine(other, lambda a, b: a + b)

    def mixed(self, other: Statistics, share: float) -> Statistics:
        """Return (1 − share) of these statistics plus ``share`` of the others."""
        return self._combine(other, lambda a, b: (1.0 - share) * a + share * b)

    def _combine(self, other: Statistics, combine: Callable[[Any, Any], Any]) -> Statistics:
        def each(a: FloatArray | None, b: FloatArray | None) -> FloatArray | None:
            if a is None and b is None:
                return None  # only one of two blocks may have missing cells
            return np.asarray(combine(0.0 if a is None else a, 0.0 if b is None else b))

        def coefficient(a: FloatArray, b: FloatArray) -> FloatArray:
            if not len(a) and not len(b):
                return a
            return np.asarray(combine(a if len(a) else 0.0, b if len(b) else 0.0))

        pairs = zip(self.surrogate, other.surrogate, strict=True)
        return replace(
            self,
            down=each(self.down, other.down),
            up=each(self.up, other.up),
            ups=each(self.ups, other.ups),
            gram=each(self.gram, other.gram),
            surrogate=Surrogate(*(coefficient(a, b) for a, b in pairs)),
            cost=combine(self.cost, other.cost),
            constant=combine(self.constant, other.constant),
        )

    def times(self, factor: float) -> Statistics:
        """Return the statistics of ``factor`` times the samples."""
        return self._combine(self, lambda a, _: factor * a)

    def detached_from(self, V: FloatArray) -> Statistics:
        """Return the statistics with coefficients of log v, v² and 1/v instead of those of t = v/V.

        V is the factor at which the surrogate was taken.  Detached coefficients can be averaged
        over time.
        """
        c, push, e, u = self.surrogate
        V, away = _with_inverse(V)
        return replace(self, surrogate=Surrogate(_by(c, V), _by(push, away), _by(e, V * V), u))

    def attached_to(self, V: FloatArray) -> Statistics:
        """Undo ``detached_from``, at another factor."""
        c, push, e, u = self.surrogate
        V, away = _with_inverse(V)
        return replace(
            self, surrogate=Surrogate(_by(c, away), _by(push, V), _by(e, away * away), u)
        )

    def weighted_surrogate(self, weight: float) -> Surrogate:
        """Return the coefficients of the surrogate times a term's weight."""
        if weight == 1.0:
            return self.surrogate
        return Surrogate(*(np.asarray(part * weight) for part in self.surrogate))

    def value(self, V: PaddedFactor, threads: Threads) -> float:
        """Return the term's divergence; V is the factor at which the statistics were taken."""
        return max(self.constant + self.cost + form_value(self, V, threads, self.row_scale), 0.0)


def _with_inverse(V: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return V in double precision, and 1/V with 0 where that would overflow."""
    V = V.astype(np.float64)
    away = np.divide(1.0, V, out=np.zeros(V.shape), where=np.finfo(np.float64).tiny <= V)
    return V, away


def _by(coefficient: FloatArray, V: FloatArray) -> FloatArray:
    return np.asarray(coefficient * V) if len(coefficient) else coefficient


def statistics_of(term: BoundTerm, V: PaddedFactor, threads: Threads, epsilon: float) -> Statistics:
    """Return the statistics of a term at V."""
    # These two come first: they read the other factor in order, and leave it in the cache.
    ups, gram = term.ups, term.gram
    surrogate, cost = surrogate_of(term, V, threads, epsilon, costs=True)
    return Statistics(
        term.row_scale, term.down, term.up, ups, gram, surrogate, cost, term.side.constant
    )


class ColumnProblem:
    """The row problem of the features or the targets, known by its statistics alone."""

    def __init__(
        self,
        statistics: Statistics,
        divergence: Divergence,
        weight: float,
        penalty: Penalty | None,
        fixed: BoolArray | None = None,
    ) -> None:
        self.statistics, self.weight = statistics, weight
        self.penalty, self.fixed = penalty, fixed
        self.losses = [(divergence, weight)]
        self._has_barrier = penalty is not None and penalty.has_barrier

    @property
    def quadratic(self) -> bool:
        """Whether every row is a quadratic problem."""
        return not self._has_barrier and not any(map(len, self.statistics.surrogate))

    def _forms(self, V: PaddedFactor) -> Forms:
        n, r = V.array.shape
        return merge_forms([self.statistics], [self.weight], self.penalty, self.fixed, (n, r))

    def descend(self, V: PaddedFactor, threads: Threads) -> PaddedFactor:
        """Sweep the topics once by coordinate descent; for quadratic problems."""
        return descend_quadratic(V, self._forms(V), 1, 0.0, threads).factor

    def multiply(self, V: PaddedFactor, threads: Threads, *, ridge: float = 0.0) -> PaddedFactor:
        """Make one multiplicative update."""
        surrogate, forms = self.statistics.weighted_surrogate(self.weight), self._forms(V)
        return multiply_by_surrogate(V, surrogate, forms, self._has_barrier, threads, ridge)
