"""Units: data, targets and weights are divided by powers of two, so that squares neither overflow
nor underflow. Powers of two are exact, and results are scaled back."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, replace
from typing import Any

import numpy as np

from cofactor._fields import number
from cofactor._types import FactorName, FloatArray
from cofactor.engine.factors import Factors
from cofactor.engine.observations import Observations
from cofactor.priors import Penalty

LARGEST_EXPONENT = 100
"""λ stays within 2**±100; beyond that, one of the two terms no longer matters."""


def exponent_of(largest: float, *, literal: bool) -> int:
    """Return e with 2**(e−1) ≤ largest < 2**e.

    ``literal`` keeps the user's units (e = 0) unless ``largest`` lies beyond 2**±100: for solvers
    whose epsilon is absolute, and for divergences that are not homogeneous.
    """
    e = int(np.frexp(largest)[1]) if largest > 0 else 0
    return 0 if literal and abs(e) < LARGEST_EXPONENT else e


def shift(value: Any, e: Any) -> Any:
    """Return value·2**e."""
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(value, e)


def unit_weights(weights: FloatArray | None, *, literal: bool) -> tuple[FloatArray | None, int]:
    """Divide weights by 2**e so that the largest is at least 1 and below 2; return them and e.

    ``literal`` is that of ``exponent_of``.
    """
    if weights is None:
        return None, 0
    e = exponent_of(float(weights.max(initial=0.0)) / 2, literal=literal)
    return (weights, 0) if e == 0 else (np.asarray(shift(weights, -e)), e)


def unit_observations(observations: Observations, *, literal: bool) -> tuple[Observations, int]:
    """Bring the weights of a matrix into our units; return the matrix and their exponent."""
    cells, e = unit_weights(observations.weights, literal=literal)
    rows, f = unit_weights(observations.row_weights, literal=literal)
    columns, g = unit_weights(observations.column_weights, literal=literal)
    if not (e or f or g):
        return observations, 0
    scaled = replace(observations, weights=cells, row_weights=rows, column_weights=columns)
    return scaled, e + f + g


def weights_divided(observations: Observations, e: int) -> Observations:
    """Divide the weights of a matrix by 2**e, as those of an earlier matrix were."""
    if e == 0:
        return observations
    if observations.weights is not None:
        return replace(observations, weights=shift(observations.weights, -e))
    rows = observations.row_weights
    rows = np.ones(observations.shape[0], dtype=observations.dtype) if rows is None else rows
    return replace(observations, row_weights=shift(rows, -e))


def moderate(observations: Observations, counts: FloatArray | None) -> Observations:
    """Lower huge cells of samples without weight: they are not fitted, but must not overflow.

    They become 2**100 times the largest cell that counts.
    """
    values = observations.layout.values
    most = shift(observations.largest(counts) or 1.0, LARGEST_EXPONENT)
    if counts is None or counts.all() or not (values > most).any():
        return observations
    lowered = np.minimum(values, most).astype(values.dtype)
    return replace(observations, layout=observations.layout._replace(values=lowered))


def _exponent(default: Any = MISSING) -> Any:
    """Declare an exponent within the range of numbers that a fit can have."""
    return number(int, low=-5000, high=5000, default=default)


@dataclass(frozen=True)
class Units:
    """The exponents of a fit, and how the terms' divergences scale.

    Parameters
    ----------
    data, target : int
        X and Y are divided by 2 to these powers.
    data_degree, target_degree : int
        Degrees of the divergences: d(c·x, c·p) = c**degree · d(x, p).
    data_weights, target_weights, sample_weight : int
        The weights are divided by 2 to these powers.
    """

    data: int = _exponent()
    target: int = _exponent(0)
    data_degree: int = _exponent(1)
    target_degree: int = _exponent(1)
    data_weights: int = _exponent(0)
    target_weights: int = _exponent(0)
    sample_weight: int = _exponent(0)

    def for_new_samples(self, data_weights: int) -> Units:
        """Return the units of new samples, whose weights have another exponent."""
        return replace(self, data_weights=data_weights, sample_weight=0)

    @property
    def _sample(self) -> int:
        """Exponent of one sample's part of the objective."""
        return self.data * self.data_degree + self.data_weights

    @property
    def objective(self) -> int:
        """Exponent of the whole objective, and of its data term."""
        return self._sample + self.sample_weight

    @property
    def _target(self) -> int:
        """Exponent of one sample's target term."""
        return self.target * self.target_degree + self.target_weights

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
        return float(shift(weight, self._target - self._sample))

    def supervision_outside(self, weight: float) -> float:
        """Return our λ in the user's units."""
        return float(shift(weight, self._sample - self._target))

    def penalty(self, name: FactorName, penalty: Penalty) -> Penalty:
        """Return a prior in our units; the samples' prior counts with the sample weights."""
        e, whole = self._exponent(name), self._sample if name == "samples" else self.objective
        return Penalty(
            shift(penalty.up, e - whole),
            shift(penalty.square, 2 * e - whole),
            shift(penalty.barrier, -whole),
        )

    def constant(self, name: FactorName, penalty: Penalty, shape: tuple[int, int]) -> float:
        """Return Σ barrier·log(2**e) over a factor: what a prior's logarithms lose in our units."""
        barrier = np.sum(np.broadcast_to(penalty.barrier, shape))
        return float(barrier * self._exponent(name) * np.log(2.0))

    def _exponent(self, name: FactorName) -> int:
        return {"samples": 0, "features": self.data, "targets": self.target}[name]

    def history(
        self, objective: list[float], terms: dict[str, list[float]], constant: float = 0.0
    ) -> dict[str, list[float]]:
        """Return the history in the user's units."""
        exponents = {"data": self.objective, "target": self._target + self.sample_weight}
        parts = {name: shift(np.array(v), exponents[name]).tolist() for name, v in terms.items()}
        total = shift(np.array(objective), self.objective) - constant
        return {"objective": total.tolist(), **parts}


def clipped(weight: float) -> float:
    """Keep λ where arithmetic is safe; 0 stays 0."""
    return (
        float(np.clip(weight, 2.0**-LARGEST_EXPONENT, 2.0**LARGEST_EXPONENT)) if weight > 0 else 0.0
    )
