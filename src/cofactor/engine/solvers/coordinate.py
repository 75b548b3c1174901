"""Coordinate descent by rows, with extrapolation between iterations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cofactor.engine.factors import FACTOR_NAMES, Factors, PaddedFactor
from cofactor.engine.fitting import State
from cofactor.engine.objective import Objective
from cofactor.engine.subproblem.problem import Descent
from cofactor.engine.threads import Threads

ROUNDING = 1e-13
"""A decrease by less than this share of the objective may be rounding error, which must not decide
whether an extrapolation is kept."""


@dataclass(frozen=True)
class Momentum:
    """The length of the next extrapolation, its maximum, and the factors to extrapolate from."""

    previous: Factors
    length: float = 0.5
    cap: float = 1.0


@dataclass(frozen=True)
class CoordinateDescent:
    """Safe coordinate steps on every row of every free factor.

    An iteration sweeps from factors extrapolated along their last move.  If that does not lower
    the objective, the iteration makes a plain sweep instead, which cannot raise it.  So the
    recorded objective never rises.

    Parameters
    ----------
    sweeps : int or None
        Sweeps over a row's topics; None means two where a logarithm takes part, else one.
    rounds : int
        Maximum number of times that the active topics of a row are found and swept.
    tolerance : float
        A row this close to its optimum is finished.
    """

    sweeps: int | None = None
    rounds: int = 1
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise ValueError(f"rounds={self.rounds} must be at least 1.")

    def start(self, objective: Objective, factors: Factors, threads: Threads) -> State:
        return State(factors, objective.value(factors, threads), memory=Momentum(factors))

    def step(self, objective: Objective, state: State, threads: Threads) -> State:
        if len(objective.free) == 1:  # rows are convex and independent: no need to extrapolate
            return State(*objective.sweep(state.factors, self.improve, threads))
        momentum: Momentum = state.memory
        start = _extrapolate(state.factors, momentum.previous, momentum.length)
        factors, value, optimal = objective.sweep(start, self.improve, threads)
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
        factors, value, optimal = objective.sweep(state.factors, self.improve, threads)
        if not value.total <= state.value.total:  # rounding error: keep the factors before
            return State(state.factors, state.value, optimal, memory)
        return State(factors, value, optimal, memory)

    @property
    def improve(self) -> Descent:
        """The update of one factor (see ``objective.Improve``)."""
        return Descent(self.rounds, self.sweeps, self.tolerance)


def _extrapolate(factors: Factors, previous: Factors, length: float) -> Factors:
    """Return factors + length·(factors − previous), clipped at zero."""
    moved = factors
    for name in FACTOR_NAMES[: 2 if factors.targets is None else 3]:
        now, old = factors.padded(name), previous.padded(name)
        new = np.subtract(now.wide, old.wide, out=now.empty_rows())
        new *= length
        new += now.wide
        np.maximum(new, 0.0, out=new)
        moved = moved.with_padded(name, PaddedFactor.from_padded(new, now.array))
    return moved
