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


LEAST = 0.1
"""A fit that starts near its end is measured by this share of its first objective instead."""


@dataclass(frozen=True)
class RelativeDecrease:
    """Stop when an iteration lowers the objective by less than ``tol`` of what was gained so far.

    What was gained counts from the first iteration's objective and is at least ``LEAST`` of it.
    The objective itself would be no measure: no factorization brings it near zero, and a good
    start leaves little of it to gain.  ``literal`` is the paper's rule nevertheless: less than
    ``tol`` of the first objective, and a rise, which is never convergence, ends the fit.
    """

    tol: float
    literal: bool = False

    def check(self, objectives: Sequence[float]) -> Stop | None:
        if len(objectives) < 2 or not self.tol > 0:
            return None
        decrease = objectives[-2] - objectives[-1]
        if decrease < 0:
            return self._risen(objectives) if self.literal else None
        whole, of = self._whole(objectives)
        if decrease < self.tol * whole or decrease == 0:
            return Stop(
                f"Converged after {len(objectives)} iterations: the last one lowered the "
                f"objective by less than tol={self.tol:g} of {of}.",
                converged=True,
            )
        return None

    def _whole(self, objectives: Sequence[float]) -> tuple[float, str]:
        """Return what ``tol`` is a share of, and what it is called."""
        first, gained = abs(objectives[0]), objectives[0] - objectives[-1]
        if self.literal:
            return first, "its first value"
        if gained > LEAST * first:
            return gained, "all that was gained"
        return LEAST * first, "a tenth of its first value"

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
