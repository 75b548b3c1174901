"""Divergences against the oracles: values, scaling, zeros."""

import math

import numpy as np
import pytest

import oracles
from cofactor.divergences import DIVERGENCES, Divergence, ItakuraSaito, KullbackLeibler
from cofactor.engine.factors import Factors
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import dense
from cofactor.engine.solvers import CoordinateDescent, MultiplicativeUpdates
from strategies import SERIAL, STORAGES, observed


@pytest.mark.parametrize("divergence", [*DIVERGENCES.values()], ids=lambda d: d.name)
def test_divergence_is_the_oracles(divergence):
    rng = np.random.default_rng(0)
    x, p = np.exp(3 * rng.standard_normal((2, 500)))
    x[::5] = 0.0 if divergence.name != oracles.IS else 1e-6
    expected = oracles.entry_divergence(divergence.name, x, p)
    size = x + p + x * p + np.abs(x * np.log(p)) + x / p + p**2 + x**2
    assert np.all(np.abs(divergence.value(x, p) - expected) <= 1e-14 * size + 1e-12 * expected)
    assert np.all(np.abs(divergence.value(p, p)) <= 1e-14 * (1 + p**2))


@pytest.mark.parametrize("divergence", [*DIVERGENCES.values()], ids=lambda d: d.name)
@pytest.mark.parametrize("c", [2.0**-20, 3.0, 2.0**20])
def test_degree_says_how_a_divergence_scales(divergence, c):
    x, p = np.exp(np.random.default_rng(1).standard_normal((2, 50)))
    scaled = c**divergence.degree * divergence.value(x, p)
    np.testing.assert_allclose(divergence.value(c * x, c * p), scaled, rtol=1e-9)


def test_which_divergences_coordinate_descent_knows():
    names = {d.name for d in DIVERGENCES.values() if d.coordinate_descent}
    assert names == {oracles.FROBENIUS, oracles.KL}
    assert not Divergence("made up", 0, inverse=1.0).coordinate_descent


@pytest.mark.parametrize("solver", [MultiplicativeUpdates(), CoordinateDescent()], ids=repr)
@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e-100, 1e-300, 5e-324])
def test_kl_is_never_negative(solver, scale):
    """Tiny and denormal data: the reported divergence is ≥ 0 and finite, factors are finite."""
    rng = np.random.default_rng(2)
    X = rng.integers(0, 4, (12, 9)) * scale
    start = Factors(rng.random((12, 3)) + 0.1, rng.random((9, 3)) + 0.1)
    objective = Objective((Term("data", "features", dense(X), KullbackLeibler),))
    state = solver.start(objective, start, SERIAL)
    for _ in range(10):
        state = solver.step(objective, state, SERIAL)
        assert 0 <= state.value.total < math.inf
        assert all(np.all(np.isfinite(V)) for V in state.factors.each()[:2])


def test_kl_of_an_exact_fit_is_zero_not_below():
    rng = np.random.default_rng(3)
    S, A = rng.random((30, 3)), rng.random((20, 3))
    for scale in (1.0, 1e-3, 1e-6):
        X = scale * S @ A.T
        objective = Objective((Term("data", "features", dense(X), KullbackLeibler),))
        value = objective.value(Factors(scale * S, A), SERIAL).total
        assert 0 <= value <= 1e-10 * X.size


def test_objective_reads_zeros_as_the_floor_where_it_must():
    X = np.array([[0.0, 1.0]])
    factors = Factors(np.ones((1, 1)), np.array([[0.5], [0.5]]))
    objective = Objective((Term("data", "features", dense(X), ItakuraSaito),))
    expected = oracles.divergence(oracles.IS, np.array([[1e-6, 1.0]]), np.full((1, 2), 0.5))
    assert objective.value(factors, SERIAL).total == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("storage", STORAGES)
def test_a_divergence_may_have_logarithms_and_squares(storage):
    """A row of the user's own: Kullback–Leibler plus Frobenius, with zeros that count."""
    both = Divergence("both", 1, log=1.0, up=1.0, down=2.0, square=2.0)
    given = observed(np.random.default_rng(4), storage, (9, 7), weighted=False)
    rng = np.random.default_rng(5)
    start = Factors(rng.random((9, 3)) + 0.1, rng.random((7, 3)) + 0.1)
    objective = Objective((Term("data", "features", given.engine, both),))
    for solver in (MultiplicativeUpdates(), CoordinateDescent()):
        state = solver.start(objective, start, SERIAL)
        for _ in range(5):
            P = state.factors.samples @ state.factors.features.T
            parts = [
                oracles.divergence(loss, given.values, P, given.weights)
                for loss in (oracles.KL, oracles.FROBENIUS)
            ]
            assert state.value.total == pytest.approx(sum(parts), rel=1e-9)
            new = solver.step(objective, state, SERIAL)
            assert new.value.total < state.value.total
            state = new
