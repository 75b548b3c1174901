"""Units: data are divided by a power of two so that squares neither over- nor underflow; results
are scaled back, exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cofactor.engine.factors import Factors
from cofactor.engine.observations import Observations
from cofactor.priors import Penalty

LARGEST = 100  # λ inside stays within 2**±100, where one of the terms has long stopped to matter


def exponent(observations: Observations, counts=None, literal: bool = False) -> int:
    """Return the exponent of the largest value of positive weight."""
    return exponent_of(observations.largest(counts), literal=literal)


def exponent_of(largest: float, *, literal: bool) -> int:
    """Return e with 2**(e−1) ≤ largest < 2**e; a literal solver is only scaled where it must be."""
    e = int(np.frexp(largest)[1]) if largest > 0 else 0
    return 0 if literal and abs(e) < LARGEST else e


def shift(value, e: int):
    """Return value·2**e."""
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(value, e)


@dataclass(frozen=True)
class Units:
    """Exponents of the data and the targets, and how the terms' divergences scale."""

    data: int
    target: int = 0
    data_degree: int = 1
    target_degree: int = 1

    @property
    def objective(self) -> int:
        """Exponent of the whole objective."""
        return self.data * self.data_degree

    def factors(self, factors: Factors, sign: int = 1) -> Factors:
        """Scale factors back to the user's units (sign = 1) or into ours (sign = −1)."""
        B = factors.targets
        return Factors(
            factors.samples,
            shift(factors.features, sign * self.data),
            None if B is None else shift(B, sign * self.target),
        )

    def supervision(self, weight: float) -> float:
        """Return the user's λ in our units."""
        return float(shift(weight, self.target * self.target_degree - self.objective))

    def supervision_outside(self, weight: float) -> float:
        """Return our λ in the user's units."""
        return float(shift(weight, self.objective - self.target * self.target_degree))

    def penalty(self, name: str, penalty: Penalty) -> Penalty:
        """Return a prior in our units."""
        e = self._exponent(name)
        return Penalty(
            shift(penalty.up, e - self.objective),
            shift(penalty.square, 2 * e - self.objective),
            shift(penalty.barrier, -self.objective),
        )

    def constant(self, name: str, penalty: Penalty, shape) -> float:
        """Return what a prior's logarithms lose by our units: Σ barrier·log(2**e) over a factor."""
        barrier = np.sum(np.broadcast_to(penalty.barrier, shape))
        return float(barrier * self._exponent(name) * np.log(2.0))

    def _exponent(self, name: str) -> int:
        return {"samples": 0, "features": self.data, "targets": self.target}[name]

    def history(self, objective, terms, constant=0.0) -> dict[str, list[float]]:
        """Return the history in the user's units."""
        exponents = {"data": self.objective, "target": self.target * self.target_degree}
        parts = {name: shift(np.array(v), exponents[name]).tolist() for name, v in terms.items()}
        total = shift(np.array(objective), self.objective) - constant
        return {"objective": total.tolist(), **parts}


def clipped(weight: float) -> float:
    """Keep λ where arithmetic is safe; 0 stays 0."""
    return float(np.clip(weight, 2.0**-LARGEST, 2.0**LARGEST)) if weight > 0 else 0.0
