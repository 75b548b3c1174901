"""Coordinate descent by rows, with extrapolation between iterations and a guard on the
objective."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cofactor._types import FactorName, FloatArray
from cofactor.engine.factors import Factors, PaddedFactor
from cofactor.engine.objective import Objective, Value
from cofactor.engine.solvers.base import State, update_each
from cofactor.engine.subproblem.problem import Better, RowProblem
from cofactor.engine.threads import Threads

ROUNDING = 1e-13
"""A decrease by less than this share of the objective may be none; the factors, whose scale is
free, must not follow such luck."""


@dataclass(frozen=True)
class Momentum:
    """How far to extrapolate, how far at most, and from where."""

    previous: Factors
    length: float = 0.5
    cap: float = 1.0


@dataclass(frozen=True)
class CoordinateDescent:
    """Safe coordinate steps on every row of every free factor.

    An iteration sweeps from factors extrapolated along their last move.  If that did not lower the
    objective, it is undone and a plain sweep, which cannot raise it, is made instead; so the
    recorded objective never rises.

    Parameters
    ----------
    sweeps : int or None
        Sweeps over a row's topics; None takes two where logarithms are involved and one elsewhere.
    rounds : int
        How often the active topics of a row are found anew.
    tolerance : float
        Rows this close to optimal are left alone.
    """

    sweeps: int | None = None
    rounds: int = 1
    tolerance: float = 0.0

    def start(self, objective: Objective, factors: Factors, threads: Threads) -> State:
        return State(factors, objective.value(factors, threads), memory=Momentum(factors))

    def step(self, objective: Objective, state: State, threads: Threads) -> State:
        if len(objective.free) == 1:  # rows are convex and do not know each other: just descend
            return State(*self._sweep(objective, state.factors, threads))
        momentum: Momentum = state.memory
        start = _extrapolate(state.factors, momentum.previous, momentum.length)
        factors, value, optimal = self._sweep(objective, start, threads)
        if value.total < state.value.total - ROUNDING * abs(state.value.total):
            grown = Momentum(
                state.factors,
                min(momentum.cap, 1.05 * momentum.length),
                min(1.0, 1.01 * momentum.cap),
            )
            return State(factors, value, optimal, grown)
        shorter = Momentum(state.factors, momentum.length / 1.5, max(momentum.length, 0.1))
        return self._plain(objective, state, threads, shorter)

    def _plain(
        self, objective: Objective, state: State, threads: Threads, memory: Momentum
    ) -> State:
        factors, value, optimal = self._sweep(objective, state.factors, threads)
        if not value.total <= state.value.total:  # rounding: what was reached is as good as it gets
            return State(state.factors, state.value, optimal, memory)
        return State(factors, value, optimal, memory)

    def _sweep(
        self, objective: Objective, factors: Factors, threads: Threads
    ) -> tuple[Factors, Value, bool]:
        def update(_: FactorName, problem: RowProblem, V: PaddedFactor, costs: bool) -> Better:
            return problem.descend(
                V, threads, rounds=self.rounds, sweeps=self._sweeps(problem),
                tolerance=self.tolerance, costs=costs,
            )  # fmt: skip

        return update_each(objective, factors, threads, update)

    def _sweeps(self, problem: RowProblem) -> int:
        if self.sweeps is not None:
            return self.sweeps
        return 2 if problem.logarithmic else 1


def _extrapolate(factors: Factors, previous: Factors, length: float) -> Factors:
    def move(V: FloatArray, old: FloatArray) -> FloatArray:
        new = V - old
        new *= V.dtype.type(length)
        new += V
        return np.maximum(new, 0, out=new)

    B, old = factors.targets, previous.targets
    return Factors(
        move(factors.samples, previous.samples),
        move(factors.features, previous.features),
        None if B is None or old is None else move(B, old),
    )
