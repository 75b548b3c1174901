"""Data drawn from known factors with known noise (section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng
from scipy.special import gammaln, xlogy

from cofactor import Factors
from cofactor._types import FloatArray
from cofactor.experiments.paper import EPSILON, MODELS

DENSITY = 0.5

# Each purpose has its own stream of random numbers, so that none depends on the others.
FACTORS, NOISE, START = range(3)


def stream(seed: int, *path: int) -> Generator:
    """Return random numbers for one purpose."""
    return default_rng(SeedSequence(seed, spawn_key=path))


@dataclass(frozen=True)
class Scatter:
    """Noise around a mean: Gaussian with a variance, or Poisson if ``variance`` is None."""

    variance: float | None = None

    def draw(self, mean: FloatArray, random: Generator) -> FloatArray:
        """Return one observation of each entry; the authors take absolute values of Gaussians."""
        if self.variance is None:
            return random.poisson(mean).astype(np.float64)
        return np.abs(random.normal(mean, np.sqrt(self.variance)))

    def surprise(self, x: FloatArray, mean: FloatArray) -> float:
        """Return minus the log-likelihood; a Poisson mean is at least epsilon."""
        if self.variance is None:
            p = mean + EPSILON
            return float(np.sum(p - xlogy(x, p) + gammaln(x + 1)))
        constant = x.size * np.log(2 * np.pi * self.variance) / 2
        return float(np.sum((x - mean) ** 2) / (2 * self.variance) + constant)


@dataclass(frozen=True)
class Experiment:
    """The noise of data and targets, its maximum-likelihood model, and the paper's number of it."""

    data: Scatter
    target: Scatter
    model: str
    number: int

    @property
    def losses(self) -> tuple[str, str]:
        """The losses that relative errors are measured with."""
        return MODELS[self.model]


def experiments(rank: int) -> dict[int, Experiment]:
    """Return the paper's four experiments, and the second and third as they must have been run.

    The text gives Gaussian noise the variance 1/2r; the printed figures come out only if 1/2r is
    the standard deviation.
    """
    half = 1 / (2 * rank)
    poisson, wide, narrow, narrower = Scatter(), Scatter(1.0), Scatter(half), Scatter(half**2)
    return {
        1: Experiment(wide, wide, "(F, F)", 1),
        2: Experiment(narrow, poisson, "(F, KL)", 2),
        3: Experiment(poisson, narrow, "(KL, F)", 3),
        4: Experiment(poisson, poisson, "(KL, KL)", 4),
        5: Experiment(narrower, poisson, "(F, KL)", 2),
        6: Experiment(poisson, narrower, "(KL, F)", 3),
    }


@lru_cache(maxsize=8)
def true_factors(size: int, rank: int, seed: int, draw: int) -> Factors:
    """Draw the factors: topics are uniform; half of the other two factors is zero."""
    random = stream(seed, FACTORS, draw)
    topics = random.random((size, rank))
    samples, targets = (_sparse(size, rank, random) for _ in range(2))
    return Factors(samples, topics, targets)


def _sparse(rows: int, columns: int, random: Generator) -> FloatArray:
    cells = np.zeros(rows * columns)
    support = random.choice(cells.size, round(DENSITY * cells.size), replace=False)
    cells[support] = random.random(support.size)
    return cells.reshape(rows, columns)


def products(factors: Any) -> tuple[FloatArray, FloatArray]:
    """Return the data and the targets that factors reproduce."""
    return factors.samples @ factors.features.T, factors.samples @ factors.targets.T


def observe(
    factors: Factors, experiment: int, seed: int, draw: int
) -> tuple[FloatArray, FloatArray]:
    """Draw data and targets around the products of the true factors."""
    scatter = experiments(factors.rank)[experiment]
    random = stream(seed, NOISE, draw, experiment)
    data, target = products(factors)
    return scatter.data.draw(data, random), scatter.target.draw(target, random)


def start(size: int, rank: int, seed: int, number: int) -> Factors:
    """Draw a start, uniform on [0, 1); all models and experiments share it."""
    random = stream(seed, START, number)
    return Factors(*(random.random((size, rank)) for _ in range(3)))
