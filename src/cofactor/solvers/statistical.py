"""Iterations in which the samples work on their own, and the other factors follow statistics."""

from __future__ import annotations

import numpy as np

from cofactor.kernels import EPSILON
from cofactor.objective import Advance, Factors, Goal
from cofactor.problems import ColumnProblem, RowProblem
from cofactor.solvers.base import State
from cofactor.threads import Threads
from cofactor.typing import FloatArray


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
            V = np.array(factors.get(name))
            self.renew(objective.column_problem(name, statistics), V, threads)
            factors = factors.replace(name, V)
        return self._state(
            objective, objective.advance(factors, self.improve, threads, self.epsilon), threads
        )

    def _state(self, objective: Goal, advance: Advance, threads: Threads) -> State:
        value = objective.value_of(advance, threads)
        return State(advance.factors, value, memory=advance.statistics)

    def improve(self, problem: RowProblem, S: FloatArray, threads: Threads) -> int:
        """Improve samples in place; return how many are not at their best."""
        raise NotImplementedError

    def renew(self, problem: ColumnProblem, V: FloatArray, threads: Threads) -> None:
        """Improve the features or the targets in place."""
        raise NotImplementedError
