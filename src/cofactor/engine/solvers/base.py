"""What the loop knows of a solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from cofactor._types import FactorName
from cofactor.engine.factors import Factors, PaddedFactor
from cofactor.engine.objective import Objective, Value
from cofactor.engine.subproblem.problem import Better, RowProblem
from cofactor.engine.threads import Threads


@dataclass(frozen=True)
class State:
    """Where a solver stands: factors, their objective, and whatever the solver remembers."""

    factors: Factors
    value: Value
    optimal: bool = False
    """Whether no further step can lower the objective."""
    memory: Any = None


def update_each(
    objective: Objective,
    factors: Factors,
    threads: Threads,
    update: Callable[[FactorName, RowProblem, PaddedFactor, bool], Better],
) -> tuple[Factors, Value, bool]:
    """Update every free factor in turn; return the factors, their value and whether all rows are
    finished.

    ``update(name, problem, V, costs)`` returns a better V and how many rows are unfinished; it
    notes the costs of its entries if asked to.
    """
    problem, unfinished = None, 0
    for name in objective.free:
        problem = objective.problem(name, factors, threads)
        costs = name == objective.free[-1] == "samples"
        V, rows = update(name, problem, factors.padded(name), costs)
        factors, unfinished = factors.with_padded(name, V), unfinished + rows
    reuse = problem if objective.free[-1] == "samples" else None
    return factors, objective.value(factors, threads, reuse), unfinished == 0


class Solver(Protocol):
    """One iteration at a time; states are never changed in place."""

    def start(self, objective: Any, factors: Factors, threads: Threads) -> State:
        """Evaluate the start."""
        ...

    def step(self, objective: Any, state: State, threads: Threads) -> State:
        """Update every free factor once."""
        ...
