"""Multiplicative updates: the one monotone rule, and the paper's literal ratios."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from cofactor.engine.factors import Factors, PaddedFactor
from cofactor.engine.fitting import State
from cofactor.engine.kernels import EPSILON
from cofactor.engine.objective import ObjectiveLike
from cofactor.engine.solvers.by_statistics import ByStatistics
from cofactor.engine.subproblem.problem import Multiplication
from cofactor.engine.subproblem.statistics import ColumnProblem
from cofactor.engine.threads import Threads


@dataclass(frozen=True)
class MultiplicativeUpdates(ByStatistics):
    """Minimise the surrogate of each factor in turn; the objective never rises.

    Parameters
    ----------
    rounds : int
        Updates of a factor before the next factor's turn; inference uses more than one.
    tolerance : float
        A row is finished when an update moves it by at most this share of its sum.
    """

    literal: ClassVar[bool] = False
    rounds: int = 1
    tolerance: float = 0.0
    epsilon: float = EPSILON

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise ValueError(f"rounds={self.rounds} updates nothing; use at least 1.")

    def start(self, objective: Any, factors: Factors, threads: Threads) -> State:
        if self._row_by_row(objective):
            return State(factors, objective.value(factors, threads))
        return super().start(objective, factors, threads)

    def step(self, objective: Any, state: State, threads: Threads) -> State:
        if self._row_by_row(objective):
            return State(*objective.sweep(state.factors, self.improve, threads))
        return super().step(objective, state, threads)

    def _row_by_row(self, objective: ObjectiveLike) -> bool:
        """Whether statistics do not suffice: with several rounds, or with fixed factors."""
        return self.rounds > 1 or not objective.all_free

    @property
    def improve(self) -> Multiplication:
        """The update of one factor (see ``objective.Improve``)."""
        return Multiplication(self.rounds, self.tolerance, self.epsilon, self.literal)

    def improve_columns(
        self, problem: ColumnProblem, V: PaddedFactor, threads: Threads
    ) -> PaddedFactor:
        return problem.multiply(V, threads, ridge=self.improve.ridge(problem.losses))


@dataclass(frozen=True)
class PaperUpdates(MultiplicativeUpdates):
    """The paper's Algorithms 1 to 3 (and Lee et al. for two Frobenius terms), epsilon included."""

    literal: ClassVar[bool] = True
    epsilon: float = 1e-10
