"""Stopping rules: each looks at the history of the objective and may end the fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cofactor.errors import Clause, ParameterWarning


@dataclass(frozen=True)
class Stop:
    """The reason why a fit ended, and what to do about it.

    ``worrying=True`` makes it a warning.
    """

    reason: Clause
    remedies: tuple[Clause, ...] = ()
    converged: bool = False
    worrying: bool = False

    def __str__(self) -> str:
        return str(ParameterWarning(self.reason, [*self.remedies]))


class StoppingRule(Protocol):
    """A rule that is asked after each iteration; it returns a ``Stop`` to end the fit."""

    def check(self, objectives: Sequence[float]) -> Stop | None: ...


MIN_GAIN_SHARE = 0.1
"""The gain that ``tol`` refers to is at least this share of the first objective."""


@dataclass(frozen=True)
class RelativeDecrease:
    """Stop when an iteration lowers the objective by less than ``tol`` of the gain so far.

    The gain is the decrease since the first iteration, but at least ``MIN_GAIN_SHARE`` of the
    objective after it.  A share of the objective itself would not do: no factorization brings it
    near zero, and a good start leaves little of it to gain.

    ``literal=True`` is the paper's rule: stop at less than ``tol`` of the first objective.  There
    a rise ends the fit too, without convergence.
    """

    tol: float
    literal: bool = False

    def check(self, objectives: Sequence[float]) -> Stop | None:
        if len(objectives) < 2 or not self.tol > 0:
            return None
        decrease = objectives[-2] - objectives[-1]
        if decrease < 0:
            return self._risen(objectives) if self.literal else None
        whole, name = self._reference(objectives)
        if decrease < self.tol * whole or decrease == 0:
            return Stop(
                f"Converged after {len(objectives)} iterations: the last one lowered the "
                f"objective by less than tol={self.tol:g} of {name}.",
                converged=True,
            )
        return None

    def _reference(self, objectives: Sequence[float]) -> tuple[float, str]:
        """Return the number that ``tol`` is a share of, and its name."""
        first, gained = abs(objectives[0]), objectives[0] - objectives[-1]
        if self.literal:
            return first, "its first value"
        if gained > MIN_GAIN_SHARE * first:
            return gained, "the decrease so far"
        return MIN_GAIN_SHARE * first, "a tenth of its first value"

    @staticmethod
    def _risen(objectives: Sequence[float]) -> Stop:
        return Stop(
            f"Stopped after {len(objectives)} iterations without convergence: the objective rose "
            f"from {objectives[-2]:.6g} to {objectives[-1]:.6g}. The paper's updates may raise it; "
            "solver='mu' or 'cd' never does.",
            worrying=True,
        )
