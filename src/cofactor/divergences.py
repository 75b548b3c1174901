"""Divergences: the cost d(x, p) of fitting an observed x by p.

A divergence is given by six coefficients:

    d(x, p) = constant(x) − log·x·log p + up·p − down·x·p + ½ square·p²
              + inverse·x/p + concave·log p

The objective, the multiplicative rule and coordinate descent need nothing else.  The parts with
``log``, ``square``, ``inverse`` and ``up`` are convex, and the surrogate bounds them by Jensen's
inequality; it bounds the part with ``concave`` by a tangent (see ``engine.subproblem.surrogate``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import xlogy

from cofactor._fields import instance, number
from cofactor._types import FloatArray

__all__ = ["DIVERGENCES", "Divergence", "Frobenius", "ItakuraSaito", "KullbackLeibler"]

FLOOR = 1e-6
"""Stands for zero, relative to the largest value, where a divergence needs positive data."""


@dataclass(frozen=True)
class Divergence:
    """A cost per cell, given by six coefficients; ``DIVERGENCES`` lists the instances by name.

    ``d(x, p) = constant(x) − log·x·log p + up·p − down·x·p + ½ square·p² + inverse·x/p +
    concave·log p``, with the constant that makes d(x, x) = 0.

    Parameters
    ----------
    name : str
        The name that users pass, for example as ``data_loss``.
    degree : int
        d(c·x, c·p) = c**degree · d(x, p). A sum of divergences of several degrees has none; give
        any of theirs. The data of such a sum are fitted in their own units, because its parts weigh
        differently in others.
    log, up, down, square, inverse, concave : float
        The coefficients.
    positive : bool
        Whether d is infinite at x = 0; zeros are then read as ``FLOOR`` of the largest value.
    description : str
        The formula as text.

    Examples
    --------
    A new divergence is one row of coefficients:

    >>> from cofactor import NMF, Divergence
    >>> half = Divergence("half-squares", 2, square=1.0, down=1.0, description="½ (x − p)²")
    >>> NMF(1, data_loss=half, random_state=0).fit([[1.0, 2.0], [2.0, 4.0]]).stop_reason_[:9]
    'Converged'
    """

    name: str = instance(str)
    degree: int = number(int)
    log: float = number(float, int, finite=False, default=0.0)
    up: float = number(float, int, finite=False, default=0.0)
    down: float = number(float, int, finite=False, default=0.0)
    square: float = number(float, int, finite=False, default=0.0)
    inverse: float = number(float, int, finite=False, default=0.0)
    concave: float = number(float, int, finite=False, default=0.0)
    positive: bool = False
    description: str = field(default="", repr=False, compare=False)

    def constant(self, x: FloatArray) -> FloatArray:
        """Return the part of d(x, p) that does not depend on p; it makes d(x, x) = 0."""
        return -self._variable(x, x)

    def _variable(self, x: FloatArray, p: FloatArray) -> FloatArray:
        total = (self.up - self.down * x) * p + 0.5 * self.square * p * p - self.log * xlogy(x, p)
        if self.inverse or self.concave:
            total = total + self.inverse * x / p + self.concave * np.log(p)
        return np.asarray(total)

    def value(self, x: FloatArray, p: FloatArray) -> FloatArray:
        """Return d(x, p) for each cell.

        Examples
        --------
        >>> from cofactor.divergences import Frobenius
        >>> Frobenius.value([1.0, 2.0], [1.0, 5.0]).tolist()
        [0.0, 9.0]
        """
        x, p = np.asarray(x, float), np.asarray(p, float)
        return self.constant(x) + self._variable(x, p)

    def curvature(self, p: float) -> float:
        """Return the second derivative of d(x, p) by p, where x = p."""
        return self.log / p + self.square + (2 * self.inverse - self.concave) / p**2

    @property
    def homogeneous(self) -> bool:
        """Whether it scales by its degree, so that the units of the data do not matter."""
        used = {
            0: self.inverse or self.concave,
            1: self.log or self.up,
            2: self.square or self.down,
        }
        return all(degree == self.degree for degree, part in used.items() if part)

    @property
    def coordinate_descent(self) -> bool:
        """Whether coordinate descent has a safe step for it."""
        return self.inverse == 0.0 and self.concave == 0.0


Frobenius = Divergence("frobenius", 2, square=2.0, down=2.0, description="(x − p)²")
"""(x − p)²: Gaussian noise, dense data."""
KullbackLeibler = Divergence(
    "kullback-leibler", 1, log=1.0, up=1.0, description="x log(x/p) − x + p"
)
"""x log(x/p) − x + p: Poisson noise, counts and tf-idf."""
ItakuraSaito = Divergence(
    "itakura-saito", 0, inverse=1.0, concave=1.0, positive=True, description="x/p − log(x/p) − 1"
)
"""x/p − log(x/p) − 1: multiplicative noise, such as that of powers and spectra."""

DIVERGENCES = {d.name: d for d in (Frobenius, KullbackLeibler, ItakuraSaito)}
"""The divergences that can be named, by name."""
