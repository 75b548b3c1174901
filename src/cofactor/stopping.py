"""When to stop: rules over the history of the objective, each answering with a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Stop:
    """Why a fit ended; ``message`` is one sentence for the user.

    ``worrying`` says that the user should hear of it unasked.
    """

    message: str
    converged: bool = False
    worrying: bool = False

    def __str__(self) -> str:
        return self.message


class StoppingRule(Protocol):
    """Look at the objective after each iteration and say whether to stop."""

    def check(self, objectives: Sequence[float]) -> Stop | None: ...


@dataclass(frozen=True)
class RelativeDecrease:
    """Stop when (previous − current) / first falls below ``tol``.

    A rise is never convergence: with ``stop_on_rise`` it ends the fit and says so (the paper's
    rule), otherwise the fit goes on.
    """

    tol: float
    stop_on_rise: bool = False

    def check(self, objectives: Sequence[float]) -> Stop | None:
        if len(objectives) < 2 or not self.tol > 0:
            return None
        decrease = objectives[-2] - objectives[-1]
        if decrease < 0:
            return self._risen(objectives) if self.stop_on_rise else None
        if decrease < self.tol * abs(objectives[0]) or decrease == 0:
            return Stop(
                f"Converged after {len(objectives)} iterations: the last one lowered the "
                "objective by less than "
                f"tol={self.tol:g} of its first value.",
                converged=True,
            )
        return None

    @staticmethod
    def _risen(objectives: Sequence[float]) -> Stop:
        return Stop(
            f"Stopped after {len(objectives)} iterations without convergence: the objective rose "
            "from "
            f"{objectives[-2]:.6g} to {objectives[-1]:.6g}, which these updates do not rule out.",
            worrying=True,
        )


@dataclass(frozen=True)
class BelowTarget:
    """Stop when the objective reaches ``target``; for comparisons at equal quality."""

    target: float

    def check(self, objectives: Sequence[float]) -> Stop | None:
        if objectives[-1] <= self.target:
            return Stop(
                f"Reached the target objective {self.target:.6g} after {len(objectives)} "
                "iterations.",
                converged=True,
            )
        return None
