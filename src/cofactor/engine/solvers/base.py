"""The interface between the loop and its solvers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from cofactor.engine.factors import Factors
from cofactor.engine.objective import Value
from cofactor.engine.threads import Threads


@dataclass(frozen=True)
class State:
    """The state of a fit after an iteration: factors, their objective, the solver's memory."""

    factors: Factors
    value: Value
    optimal: bool = False
    """Whether no further step can lower the objective."""
    memory: Any = None


class Solver(Protocol):
    """A method that lowers an objective, one iteration at a time.  It never changes a state.

    Solvers also have ``improve`` (see ``objective.Improve``), which updates one factor.
    """

    def start(self, objective: Any, factors: Factors, threads: Threads) -> State:
        """Evaluate the start."""
        ...

    def step(self, objective: Any, state: State, threads: Threads) -> State:
        """Update every free factor once."""
        ...
