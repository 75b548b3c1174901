"""Multiplicative updates: the one monotone rule, and the paper's literal ratios."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from cofactor.kernels import EPSILON
from cofactor.objective import Factors, Objective
from cofactor.problems import RowProblem
from cofactor.solvers.base import State, update_each
from cofactor.solvers.dense import DenseProblem
from cofactor.threads import Threads
from cofactor.typing import FactorName, FloatArray


@dataclass(frozen=True)
class MultiplicativeUpdates:
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

    def start(self, objective: Objective, factors: Factors, threads: Threads) -> State:
        dense = DenseProblem.of(objective, factors) if self.rounds == 1 else None
        return State(factors, objective.value(factors, threads), memory=dense)

    def step(self, objective: Objective, state: State, threads: Threads) -> State:
        if state.memory is not None:
            ridge = partial(self._ridge, objective)
            factors, value = state.memory.step(state.factors, self.epsilon, ridge)
            return State(factors, value, memory=state.memory)

        def update(name: FactorName, problem: RowProblem, V: FloatArray, costs: bool) -> int:
            return problem.multiply(
                V, threads, rounds=self.rounds, tolerance=self.tolerance,
                epsilon=self.epsilon, ridge=self._ridge(objective, name), costs=costs,
            )  # fmt: skip

        return State(*update_each(objective, state.factors, threads, update))

    def _ridge(self, objective: Objective, name: FactorName) -> float:
        return 0.0


@dataclass(frozen=True)
class PaperUpdates(MultiplicativeUpdates):
    """The paper's Algorithms 1 to 3 (and Lee et al. for two Frobenius terms), epsilon included.

    The paper cancels factors that all parts of a ratio share (the 2 of a Frobenius term, the λ of
    a lone target term) before epsilon is added to the divisor; ``_ridge`` puts them back.
    """

    epsilon: float = 1e-10

    def _ridge(self, objective: Objective, name: FactorName) -> float:
        terms = [term for term in objective.terms if name in ("samples", term.columns)]
        unit = 2.0 if all(term.divergence.square for term in terms) else 1.0
        if len(terms) == 1:
            unit *= terms[0].weight
        return self.epsilon * unit
