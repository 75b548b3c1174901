"""Priors on factors: penalties that the objective adds for every entry v of a factor.

A penalty is up·v + ½ square·v² − barrier·log v with coefficients ≥ 0.  Each coefficient is one
number for the whole factor or a matrix of its shape.

>>> from cofactor.priors import GammaPrior, L1
>>> L1(0.5).value(np.array([[1.0, 3.0]]))
2.0
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor._warnings import warn

__all__ = ["L1", "L2", "GammaPrior", "Penalty", "Prior"]


@dataclass(frozen=True)
class Penalty:
    """The coefficients of a prior.

    Examples
    --------
    >>> from cofactor.priors import Penalty
    >>> Penalty(up=0.5).value([[1.0, 3.0]])
    2.0
    """

    up: float | FloatArray = 0.0
    square: float | FloatArray = 0.0
    barrier: float | FloatArray = 0.0

    def value(self, V: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the penalty of factor V; ``weights`` are weights of its rows.

        Examples
        --------
        >>> from cofactor.priors import Penalty
        >>> Penalty(square=2.0).value([[1.0, 3.0]])
        10.0
        """
        V = np.asarray(V, np.float64)
        cells = self.up * V + 0.5 * self.square * V * V
        if self.has_barrier:
            logs = np.log(np.maximum(V, np.finfo(np.float64).tiny))
            cells = cells - np.where(np.asarray(self.barrier) > 0, self.barrier * logs, 0.0)
        return float(np.sum(cells if weights is None else cells * weights[:, None]))

    def rows(self, rows: IntArray) -> Penalty:
        """Return the penalty for some rows of the factor."""
        up, barrier = (p[rows] if isinstance(p, np.ndarray) else p for p in (self.up, self.barrier))
        return Penalty(up, self.square, barrier)

    def spared(self, entries: BoolArray) -> Penalty:
        """Return the penalty without the logarithms of some entries, which may then be zero."""
        return Penalty(self.up, self.square, np.where(entries, 0.0, self.barrier))

    @cached_property
    def has_barrier(self) -> bool:
        """Whether a logarithm keeps any entry away from zero."""
        return bool(np.any(self.barrier))

    @property
    def uniform(self) -> bool:
        """Whether all rows of the factor have the same penalty."""
        return np.ndim(self.up) == 0 and np.ndim(self.barrier) == 0


@runtime_checkable
class Prior(Protocol):
    """Any object with a ``penalty``.

    Examples
    --------
    Any class with a ``penalty`` is a prior:

    >>> from cofactor.priors import Penalty, Prior
    >>> class ElasticNet:
    ...     penalty = Penalty(up=0.1, square=0.2)
    >>> isinstance(ElasticNet(), Prior)
    True
    """

    @property
    def penalty(self) -> Penalty:
        """The coefficients of the prior."""
        ...


class _PenaltyPrior:
    @property
    def penalty(self) -> Penalty:
        """The coefficients of the prior."""
        raise NotImplementedError

    def value(self, V: FloatArray) -> float:
        """Return the prior's part of the objective for factor V.

        Examples
        --------
        >>> from cofactor.priors import L1
        >>> L1(0.5).value([[1.0, 3.0]])
        2.0
        """
        return self.penalty.value(V)


def _check(prior: object, name: str, value: float | FloatArray, low: float = 0.0) -> None:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if not (np.all(np.isfinite(array)) and np.all(array >= low)):
        kind = type(prior).__name__.removesuffix("Prior")
        raise ValueError(
            f"{name}={value!r} of the {kind} prior must be a finite number, at least {low:g}."
        )


@dataclass(frozen=True)
class L1(_PenaltyPrior):
    """``weight·v``: favours few large entries (an exponential prior).

    Parameters
    ----------
    weight : float
        At least 0.

    Examples
    --------
    >>> from cofactor import NMF
    >>> from cofactor.priors import L1
    >>> model = NMF(2, priors={"features": L1(0.1)}, random_state=0)
    """

    weight: float

    def __post_init__(self) -> None:
        _check(self, "weight", self.weight)

    @property
    def penalty(self) -> Penalty:
        return Penalty(up=self.weight)


@dataclass(frozen=True)
class L2(_PenaltyPrior):
    """``weight/2·v²``: favours many small entries (a half-normal prior).

    Parameters
    ----------
    weight : float
        At least 0.

    Examples
    --------
    >>> from cofactor import NMF
    >>> from cofactor.priors import L2
    >>> model = NMF(2, priors={"samples": L2(0.1)}, random_state=0)
    """

    weight: float

    def __post_init__(self) -> None:
        _check(self, "weight", self.weight)

    @property
    def penalty(self) -> Penalty:
        return Penalty(square=self.weight)


@dataclass(frozen=True)
class GammaPrior(_PenaltyPrior):
    """``rate·v − (shape − 1)·log v``: a Gamma prior, pseudo-counts for Poisson noise.

    Parameters
    ----------
    shape : float or array of the factor's shape
        At least 1.
    rate : float or array of the factor's shape
        At least 0.

    Examples
    --------
    >>> from cofactor import SSNMFClassifier
    >>> from cofactor.priors import GammaPrior, L1
    >>> priors = {"features": [L1(0.1), GammaPrior(1.5, 0)], "targets": GammaPrior(2, 1)}
    >>> model = SSNMFClassifier(2, priors=priors, random_state=0)
    """

    shape: float | FloatArray
    rate: float | FloatArray

    def __post_init__(self) -> None:
        _check(self, "shape", self.shape, 1.0)
        _check(self, "rate", self.rate)

    @property
    def penalty(self) -> Penalty:
        return Penalty(up=self.rate, barrier=np.asarray(self.shape, dtype=float) - 1.0)


def __getattr__(name: str) -> Any:
    if name != "Gamma":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warn("cofactor.priors.Gamma is now called GammaPrior; use that name.", FutureWarning)
    return GammaPrior
