"""Divergences: what it costs to fit an observed x by p.

A divergence is a row of six coefficients.  With them

    d(x, p) = constant(x) − log·x·log p + up·p − down·x·p + ½ square·p² + inverse·x/p + concave·log
    p,

which is all that the objective, the multiplicative rule and coordinate descent need to know.
``log``, ``square``, ``inverse`` and ``up`` curve upwards and are majorised entry by entry;
``concave`` is bounded by its tangent (see ``kernels``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import xlogy

from cofactor._types import FloatArray

FLOOR = 1e-6
"""What a zero is read as, relative to the largest value, where a divergence needs positive data."""


@dataclass(frozen=True)
class Divergence:
    """A cost per entry; instances are the rows of the table below.

    Parameters
    ----------
    name : str
        How the divergence is asked for.
    degree : int
        d(c·x, c·p) = c**degree · d(x, p).
    log, up, down, square, inverse, concave : float
        Coefficients, see the module's head.
    positive : bool
        Whether d is infinite at x = 0; zeros are then read as ``FLOOR`` of the largest value.
    description : str
        The formula, for people.
    """

    name: str
    degree: int
    log: float = 0.0
    up: float = 0.0
    down: float = 0.0
    square: float = 0.0
    inverse: float = 0.0
    concave: float = 0.0
    positive: bool = False
    description: str = field(default="", repr=False, compare=False)

    def constant(self, x: FloatArray) -> FloatArray:
        """Return the part of d(x, p) that does not depend on p: minus the rest at p = x."""
        return -self._variable(x, x)

    def _variable(self, x: FloatArray, p: FloatArray) -> FloatArray:
        total = (self.up - self.down * x) * p + 0.5 * self.square * p * p - self.log * xlogy(x, p)
        if self.inverse or self.concave:
            total = total + self.inverse * x / p + self.concave * np.log(p)
        return np.asarray(total)

    def value(self, x: FloatArray, p: FloatArray) -> FloatArray:
        """Return d(x, p) entry by entry."""
        x, p = np.asarray(x, float), np.asarray(p, float)
        return self.constant(x) + self._variable(x, p)

    @property
    def coordinate_descent(self) -> bool:
        """Whether coordinate descent knows a safe step for it."""
        return self.inverse == 0.0 and self.concave == 0.0


Frobenius = Divergence("frobenius", 2, square=2.0, down=2.0, description="(x − p)²")
KullbackLeibler = Divergence(
    "kullback-leibler", 1, log=1.0, up=1.0, description="x log(x/p) − x + p"
)
ItakuraSaito = Divergence(
    "itakura-saito", 0, inverse=1.0, concave=1.0, positive=True, description="x/p − log(x/p) − 1"
)

DIVERGENCES = {d.name: d for d in (Frobenius, KullbackLeibler, ItakuraSaito)}
