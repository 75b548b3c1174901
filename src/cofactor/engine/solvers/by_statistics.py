"""Iterations in which the other factors are updated from statistics of the samples."""

from __future__ import annotations

from dataclasses import dataclass

from cofactor.engine.factors import Factors, PaddedFactor
from cofactor.engine.fitting import State
from cofactor.engine.kernels import EPSILON
from cofactor.engine.objective import AdvanceResult, Improve, ObjectiveLike
from cofactor.engine.subproblem.problem import Descent
from cofactor.engine.subproblem.statistics import ColumnProblem
from cofactor.engine.threads import Threads


class ByStatistics:
    """Solvers that update features and targets from the statistics of the iteration before.

    Then they update the samples and take new statistics, which also give the objective.
    Statistics add over blocks of samples, so an objective may be one matrix or many blocks.
    """

    epsilon: float = EPSILON

    def start(self, objective: ObjectiveLike, factors: Factors, threads: Threads) -> State:
        result = objective.advance(factors, None, threads, self.epsilon)
        return self._state(objective, result, threads)

    def step(self, objective: ObjectiveLike, state: State, threads: Threads) -> State:
        factors = state.factors
        for name, statistics in state.memory.items():
            problem = objective.column_problem(name, statistics)
            V = self.improve_columns(problem, factors.padded(name), threads)
            factors = factors.with_padded(name, V)
        result = objective.advance(factors, self.improve, threads, self.epsilon)
        return self._state(objective, result, threads)

    def _state(self, objective: ObjectiveLike, result: AdvanceResult, threads: Threads) -> State:
        value = objective.value_of(result, threads)
        return State(result.factors, value, memory=result.statistics)

    @property
    def improve(self) -> Improve:
        """The update of the samples."""
        raise NotImplementedError

    def improve_columns(
        self, problem: ColumnProblem, V: PaddedFactor, threads: Threads
    ) -> PaddedFactor:
        """Return better features or targets."""
        raise NotImplementedError


@dataclass(frozen=True)
class BlockDescent(ByStatistics):
    """Coordinate descent for samples in blocks.

    The samples take safe coordinate steps.  The other factors also take them if their problem is
    quadratic, because statistics describe it completely.  Otherwise they make a multiplicative
    update, because coordinate steps would need every entry again and again.  None of these steps
    raises the objective, and nothing is extrapolated.
    """

    rounds: int = 1

    @property
    def improve(self) -> Improve:
        return Descent(self.rounds)

    def improve_columns(
        self, problem: ColumnProblem, V: PaddedFactor, threads: Threads
    ) -> PaddedFactor:
        return problem.descend(V, threads) if problem.quadratic else problem.multiply(V, threads)
