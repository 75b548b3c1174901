"""Multiplicative updates: the one monotone rule, and the paper's literal ratios."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cofactor.divergences import Divergence
from cofactor.engine.factors import Factors, PaddedFactor
from cofactor.engine.kernels import EPSILON
from cofactor.engine.objective import ObjectiveLike
from cofactor.engine.solvers.base import State
from cofactor.engine.solvers.by_statistics import ByStatistics
from cofactor.engine.subproblem.problem import Improved, RowProblem
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

    def improve(
        self, problem: RowProblem, V: PaddedFactor, threads: Threads, *, costs: bool = False
    ) -> Improved:
        """Return a better V for a row problem; ``costs`` has no effect."""
        return problem.multiply(
            V,
            threads,
            rounds=self.rounds,
            tolerance=self.tolerance,
            epsilon=self.epsilon,
            ridge=self._ridge(problem.plan.losses),
        )

    def improve_columns(
        self, problem: ColumnProblem, V: PaddedFactor, threads: Threads
    ) -> PaddedFactor:
        return problem.multiply(V, threads, ridge=self._ridge(problem.losses))

    def _ridge(self, losses: list[tuple[Divergence, float]]) -> float:
        """Return the ridge of the paper's ratios; 0 asks for the monotone update."""
        return 0.0


@dataclass(frozen=True)
class PaperUpdates(MultiplicativeUpdates):
    """The paper's Algorithms 1 to 3 (and Lee et al. for two Frobenius terms), epsilon included.

    The paper adds epsilon to a divisor after it has cancelled the factors that all parts of the
    ratio share: the 2 of Frobenius terms, the λ of a single target term.  Our ratios keep these
    factors, so ``_ridge`` multiplies epsilon by them.
    """

    epsilon: float = 1e-10

    def _ridge(self, losses: list[tuple[Divergence, float]]) -> float:
        unit = 2.0 if all(divergence.square for divergence, _ in losses) else 1.0
        if len(losses) == 1:
            unit *= losses[0][1]
        return self.epsilon * unit
