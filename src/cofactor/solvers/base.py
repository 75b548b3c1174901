"""What the loop knows of a solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from cofactor.objective import Factors, Objective, Value
from cofactor.threads import Threads


@dataclass(frozen=True)
class State:
    """Where a solver stands: factors, their objective, and whatever the solver remembers."""

    factors: Factors
    value: Value
    optimal: bool = False
    """Whether no further step can lower the objective."""
    memory: Any = None


class Solver(Protocol):
    """One iteration at a time; states are never changed in place."""

    def start(self, objective: Objective, factors: Factors, threads: Threads) -> State:
        """Evaluate the start."""
        ...

    def step(self, objective: Objective, state: State, threads: Threads) -> State:
        """Update every free factor once."""
        ...
