"""Random problems for the tests of the oracles."""

import itertools

import numpy as np

from oracles import FACTORS, FROBENIUS, IS, KL, LOSSES, surrogate_updates

PAIRS = list(itertools.product(LOSSES, LOSSES))
PAPER_PAIRS = list(itertools.product((FROBENIUS, KL), (FROBENIUS, KL)))


def positive(rng, shape, spread=1.0):
    return np.exp(spread * rng.standard_normal(shape))


def random_priors(rng):
    """One to three priors per factor, some factors without."""
    choices = [
        lambda: ("l1", rng.exponential()),
        lambda: ("l2", rng.exponential()),
        lambda: ("gamma", 1 + rng.exponential(), rng.exponential()),
    ]
    priors = {}
    for name in FACTORS:
        kinds = rng.choice(3, size=rng.integers(0, 4), replace=False)
        if len(kinds):
            priors[name] = [choices[kind]() for kind in kinds]
    return priors


def random_problem(rng, data_loss, target_loss, spread=1.0, shape=None):
    """A whole problem as keyword arguments of ``objective``, real weights with missing cells."""
    n, m, k, r = shape or rng.integers(1, 7, size=4)
    X, Y = positive(rng, (n, m), spread), positive(rng, (n, k), spread)
    if data_loss != IS:
        X[rng.random(X.shape) < 0.3] = 0
    if target_loss != IS:
        Y[rng.random(Y.shape) < 0.3] = 0
    W = rng.exponential(size=X.shape) * (rng.random(X.shape) < 0.8)
    L = rng.exponential(size=Y.shape) * (rng.random((n, 1)) < 0.7)
    return {
        "X": np.where(W > 0, X, np.nan),
        "Y": np.where(L > 0, Y, np.nan),
        "A": positive(rng, (m, r), spread),
        "B": positive(rng, (k, r), spread),
        "S": positive(rng, (n, r), spread),
        "W": W,
        "L": L,
        "data_loss": data_loss,
        "target_loss": target_loss,
        "lam": rng.exponential(),
        "priors": random_priors(rng),
        "sample_weight": rng.exponential(size=n) * (rng.random(n) < 0.9),
    }


def step(problem, name, eps):
    """The problem after one surrogate step of one factor."""
    A, B, S, _ = surrogate_updates(**problem, eps=eps, factors=(name,))
    return problem | {"A": A, "B": B, "S": S}


LETTER = {"features": "A", "targets": "B", "samples": "S"}
