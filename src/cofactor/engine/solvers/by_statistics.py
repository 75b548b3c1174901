"""Iterations in which the samples work on their own, and the other factors follow statistics."""

from __future__ import annotations

from cofactor.engine.factors import Factors, PaddedFactor
from cofactor.engine.kernels import EPSILON
from cofactor.engine.objective import Advance, Goal
from cofactor.engine.solvers.base import State
from cofactor.engine.subproblem.problem import Better, ColumnProblem, RowProblem
from cofactor.engine.threads import Threads


class ByStatistics:
    """Features and targets are updated from statistics that the samples left behind; then the
    samples are updated and leave new ones, which also give the value.

    Statistics add over blocks of samples, so an ``objective`` may be one matrix or many blocks.
    """

    epsilon: float = EPSILON

    def start(self, objective: Goal, factors: Factors, threads: Threads) -> State:
        return self._state(
            objective, objective.advance(factors, None, threads, self.epsilon), threads
        )

    def step(self, objective: Goal, state: State, threads: Threads) -> State:
        factors = state.factors
        for name, statistics in state.memory.items():
            problem = objective.column_problem(name, statistics)
            factors = factors.with_padded(name, self.renew(problem, factors.padded(name), threads))
        return self._state(
            objective, objective.advance(factors, self.improve, threads, self.epsilon), threads
        )

    def _state(self, objective: Goal, advance: Advance, threads: Threads) -> State:
        value = objective.value_of(advance, threads)
        return State(advance.factors, value, memory=advance.statistics)

    def improve(self, problem: RowProblem, S: PaddedFactor, threads: Threads) -> Better:
        """Improve the samples."""
        raise NotImplementedError

    def renew(self, problem: ColumnProblem, V: PaddedFactor, threads: Threads) -> PaddedFactor:
        """Improve the features or the targets."""
        raise NotImplementedError
