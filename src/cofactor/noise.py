"""Noise models, which can be passed instead of losses (section 2.1 of the paper).

If X and Y scatter independently around S Aᵀ and S Bᵀ, the negative log-likelihood is, up to
constants,

    data divergence / data dispersion + target divergence / target dispersion.

So the maximum-likelihood factors minimise an objective with λ = data dispersion / target
dispersion.  The paper's four results follow: σ1/σ2, 2rσ1, 1/(2rσ2) and 1.

>>> from cofactor import noise
>>> noise.likelihood_supervision(noise.Gaussian(0.5), noise.Poisson(), rank=5)
5.0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from cofactor.divergences import Divergence, Frobenius, ItakuraSaito, KullbackLeibler

__all__ = ["Gamma", "Gaussian", "Noise", "Poisson", "likelihood_supervision"]


@runtime_checkable
class Noise(Protocol):
    """The interface of a noise model.

    Examples
    --------
    >>> from cofactor import noise
    >>> isinstance(noise.Poisson(), noise.Noise)
    True
    """

    @property
    def divergence(self) -> Divergence:
        """The loss that the negative log-likelihood is proportional to."""
        ...

    def dispersion(self, rank: int) -> float:
        """Return the scale of the divergence in the negative log-likelihood.

        Examples
        --------
        >>> from cofactor import noise
        >>> noise.Gaussian(variance=0.5).dispersion(rank=3)
        3.0
        """
        ...


def _check_positive(noise: object, name: str, value: float) -> None:
    if not 0 < value < float("inf"):
        raise ValueError(
            f"{name}={value!r} of {type(noise).__name__} noise must be positive and finite."
        )


@dataclass(frozen=True)
class Gaussian(Noise):
    """Gaussian noise.

    Parameters
    ----------
    variance : float
        Variance of each of the r summands of a cell, σ in the paper; the cell's own variance is
        r·σ.

    Examples
    --------
    >>> from cofactor import NMF, noise
    >>> model = NMF(2, data_loss=noise.Gaussian(variance=0.1))
    >>> noise.Gaussian().divergence.name
    'frobenius'
    """

    variance: float = 1.0

    def __post_init__(self) -> None:
        _check_positive(self, "variance", self.variance)

    @property
    def divergence(self) -> Divergence:
        return Frobenius

    def dispersion(self, rank: int) -> float:
        return 2.0 * rank * self.variance


@dataclass(frozen=True)
class Poisson(Noise):
    """Poisson noise, for counts.

    Examples
    --------
    >>> from cofactor import NMF, noise
    >>> model = NMF(2, data_loss=noise.Poisson())
    >>> noise.Poisson().divergence.name
    'kullback-leibler'
    """

    @property
    def divergence(self) -> Divergence:
        return KullbackLeibler

    def dispersion(self, rank: int) -> float:
        return 1.0


@dataclass(frozen=True)
class Gamma(Noise):
    """Gamma (multiplicative) noise.

    Parameters
    ----------
    shape : float
        Shape of the Gamma distribution; a cell's relative variance is 1/shape.

    Examples
    --------
    >>> from cofactor import NMF, noise
    >>> model = NMF(2, data_loss=noise.Gamma(shape=3))
    >>> noise.Gamma().divergence.name
    'itakura-saito'
    """

    shape: float = 1.0

    def __post_init__(self) -> None:
        _check_positive(self, "shape", self.shape)

    @property
    def divergence(self) -> Divergence:
        return ItakuraSaito

    def dispersion(self, rank: int) -> float:
        return 1.0 / self.shape


def likelihood_supervision(data: Noise, target: Noise, rank: int) -> float:
    """Return the λ that makes the objective a negative log-likelihood.

    Parameters
    ----------
    data, target : Noise
        Noise models of the data and the targets.
    rank : int
        Number of topics.

    Returns
    -------
    float

    Examples
    --------
    >>> from cofactor import noise
    >>> noise.likelihood_supervision(noise.Gaussian(0.5), noise.Poisson(), rank=5)
    5.0
    """
    return data.dispersion(rank) / target.dispersion(rank)
