"""Multiplicative updates: the one monotone rule, and the paper's literal ratios."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cofactor._types import FactorName
from cofactor.engine.factors import Factors, PaddedFactor
from cofactor.engine.kernels import EPSILON
from cofactor.engine.objective import Goal
from cofactor.engine.solvers.base import State, update_each
from cofactor.engine.solvers.by_statistics import ByStatistics
from cofactor.engine.subproblem.problem import Better, ColumnProblem, RowProblem
from cofactor.engine.threads import Threads


@dataclass(frozen=True)
class MultiplicativeUpdates(ByStatistics):
    """Minimise the separable majoriser of each factor in turn; the objective never rises.

    Parameters
    ----------
    rounds : int
        Updates of a factor before the next one's turn; more than one is of use for inference.
    tolerance : float
        A row whose update moved it by no more than this share of its largest entry is left alone.
    """

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
        if not self._row_by_row(objective):
            return super().step(objective, state, threads)

        def update(_: FactorName, problem: RowProblem, V: PaddedFactor, costs: bool) -> Better:
            return self.improve(problem, V, threads)

        return State(*update_each(objective, state.factors, threads, update))

    def _row_by_row(self, objective: Goal) -> bool:
        """Whether statistics cannot do: they know no rounds, and every factor must be free."""
        return self.rounds > 1 or not objective.all_free

    def improve(self, problem: RowProblem, S: PaddedFactor, threads: Threads) -> Better:
        return problem.multiply(
            S, threads, rounds=self.rounds, tolerance=self.tolerance, epsilon=self.epsilon,
            ridge=self._ridge(problem),
        )  # fmt: skip

    def renew(self, problem: ColumnProblem, V: PaddedFactor, threads: Threads) -> PaddedFactor:
        return problem.multiply(V, threads, ridge=self._ridge(problem))

    def _ridge(self, problem: RowProblem | ColumnProblem) -> float:
        return 0.0


@dataclass(frozen=True)
class PaperUpdates(MultiplicativeUpdates):
    """The paper's Algorithms 1 to 3 (and Lee et al. for two Frobenius terms), epsilon included.

    The paper cancels factors that all parts of a ratio share (the 2 of a Frobenius term, the λ of
    a lone target term) before epsilon is added to the divisor; ``_ridge`` puts them back.
    """

    epsilon: float = 1e-10

    def _ridge(self, problem: RowProblem | ColumnProblem) -> float:
        losses = problem.losses
        unit = 2.0 if all(divergence.square for divergence, _ in losses) else 1.0
        if len(losses) == 1:
            unit *= losses[0][1]
        return self.epsilon * unit
