"""What the loop knows of a solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from cofactor.objective import Factors, Objective, Value
from cofactor.problems import RowProblem
from cofactor.threads import Threads
from cofactor.typing import FactorName, FloatArray


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
    update: Callable[[FactorName, RowProblem, FloatArray, bool], int],
) -> tuple[Factors, Value, bool]:
    """Update every free factor in turn; return the factors, their value and whether all rows are
    finished.

    ``update(name, problem, V, costs)`` changes V in place, notes the costs of its entries if asked
    to, and returns how many rows are unfinished.
    """
    problem, unfinished = None, 0
    for name in objective.free:
        problem = objective.problem(name, factors, threads)
        V, costs = np.array(factors.get(name)), name == objective.free[-1] == "samples"
        unfinished += update(name, problem, V, costs)
        factors = factors.replace(name, V)
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
