"""Divergences, noise models and priors: values, and messages that name parameter and value."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

import oracles
from cofactor import noise
from cofactor.divergences import DIVERGENCES, Divergence, Frobenius, ItakuraSaito, KullbackLeibler
from cofactor.engine.factors import Factors
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import dense
from cofactor.engine.solvers import CoordinateDescent, MultiplicativeUpdates
from cofactor.priors import L1, L2, Gamma, Prior
from strategies import SERIAL, STORAGES, observed

# ---------------------------------------------------------------- divergences


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


# ---------------------------------------------------------------- noise

NOISES = {"gaussian": noise.Gaussian, "poisson": lambda _: noise.Poisson()}


@pytest.mark.parametrize("rank", [1, 7])
@pytest.mark.parametrize(("data", "target"), [*product(NOISES, NOISES)])
def test_supervision_is_the_maximum_likelihood_one(data, target, rank):
    for sigma1, sigma2 in ((1.0, 1.0), (0.3, 2.0), (5.0, 0.01)):
        found = noise.likelihood_supervision(NOISES[data](sigma1), NOISES[target](sigma2), rank)
        expected = oracles.max_likelihood_lambda(data, target, rank, sigma1, sigma2)
        assert found == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("model", "logpdf", "draw"),
    [
        (noise.Gaussian(0.3), lambda x, p: stats.norm.logpdf(x, p, math.sqrt(4 * 0.3)), float),
        (noise.Poisson(), stats.poisson.logpmf, round),
        (noise.Gamma(2.5), lambda x, p: stats.gamma.logpdf(x, 2.5, scale=p / 2.5), float),
    ],
    ids=["gaussian", "poisson", "gamma"],
)
def test_minus_log_likelihood_is_the_divergence_over_the_dispersion(model, logpdf, draw):
    """Differences in p, since constants drop out; the rank is 4."""
    x, p, other = draw(3.2), 2.2, 5.1
    divergence = (model.divergence.value(x, p) - model.divergence.value(x, other)).item()
    expected = logpdf(x, other) - logpdf(x, p)
    assert divergence / model.dispersion(4) == pytest.approx(expected, rel=1e-12)


def test_noise_models_name_their_losses():
    losses = [model.divergence for model in (noise.Gaussian(), noise.Poisson(), noise.Gamma())]
    assert losses == [Frobenius, KullbackLeibler, ItakuraSaito]
    assert all(isinstance(m, noise.Noise) for m in (noise.Gaussian(), noise.Poisson()))
    assert not isinstance("kullback-leibler", noise.Noise)


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
@pytest.mark.parametrize(("model", "name"), [(noise.Gaussian, "variance"), (noise.Gamma, "shape")])
def test_noise_errors_name_parameter_and_value(model, name, value):
    message = f"{name}={value!r} of {model.__name__} noise must be positive and finite"
    with pytest.raises(ValueError, match=message):
        model(value)


# ---------------------------------------------------------------- priors

PRIORS = {"l1": (L1, (0.3,)), "l2": (L2, (0.7,)), "gamma": (Gamma, (2.5, 0.4))}


@pytest.mark.parametrize("kind", [*PRIORS])
def test_prior_is_the_oracles(kind):
    make, parameters = PRIORS[kind]
    V = np.random.default_rng(4).exponential(size=(6, 3))
    given = [(kind, *parameters)]
    prior = make(*parameters)
    assert isinstance(prior, Prior)
    assert prior.value(V) == pytest.approx(oracles.prior_value(V, given), rel=1e-12)
    weights = np.arange(6.0)
    weighted = prior.penalty.value(V, weights)
    assert weighted == pytest.approx(oracles.prior_value(V, given, weights), rel=1e-12)


def test_matrix_priors_are_entry_by_entry():
    rng = np.random.default_rng(5)
    V, shape, rate = rng.exponential(size=(3, 4, 2))
    shape = 1 + shape
    entries = [Gamma(shape[at], rate[at]).value(V[at][None, None]) for at in np.ndindex(V.shape)]
    assert Gamma(shape, rate).value(V) == pytest.approx(math.fsum(entries), rel=1e-12)


def test_a_prior_that_ends_at_shape_one_is_finite_at_zero():
    """Where the shape is 1 there is no logarithm, so a zero entry is nothing special."""
    assert Gamma(1.0, 0.5).value(np.zeros((2, 2))) == 0.0
    shape = np.array([[1.0, 2.0]])
    expected = 0.5 * 3.0 - math.log(3.0)
    assert Gamma(shape, 0.5).value(np.array([[0.0, 3.0]])) == pytest.approx(expected)


def test_a_gamma_prior_is_steepest_at_zero():
    """As large as a logarithm gets, and without a warning."""
    values = [Gamma(2.0, 0.5).value(np.array([[v]])) for v in (0.0, 1e-300, 1e-10, 1.0)]
    assert values == sorted(values, reverse=True)
    assert values[0] > 700


@pytest.mark.parametrize("solver", [MultiplicativeUpdates(), CoordinateDescent()], ids=repr)
@pytest.mark.parametrize("divergence", [Frobenius, KullbackLeibler], ids=lambda d: d.name)
def test_matrix_priors_are_descended(solver, divergence):
    """A Gamma prior per entry, in part without its logarithm: no rise, and what it favours."""
    rng = np.random.default_rng(6)
    X, r = rng.random((12, 8)), 3
    X[0] = 0.0
    shape = 1 + rng.exponential(size=(8, r)) * (rng.random((8, r)) < 0.5)
    rate = rng.exponential(size=(8, r))
    start = Factors(rng.random((12, r)) + 0.1, rng.random((8, r)) + 0.1)
    term = Term("data", "features", dense(X), divergence)
    objective = Objective((term,), {"features": Gamma(shape, rate).penalty})

    def value(factors):
        fit = oracles.objective(X, None, factors.features, None, factors.samples,
                                data_loss=divergence.name, epsilon=1e-12).data  # fmt: skip
        seen = shape > 1
        logs = np.sum((shape - 1)[seen] * np.log(factors.features[seen]))
        return fit + np.sum(rate * factors.features) - logs

    state = solver.start(objective, start, SERIAL)
    values = [value(state.factors)]
    for _ in range(60):
        state = solver.step(objective, state, SERIAL)
        values.append(value(state.factors))
        assert state.value.total == pytest.approx(values[-1], rel=1e-9)
    assert np.all(np.diff(values) <= 1e-10 * np.abs(values[:-1]))
    assert values[-1] < values[0]
    assert np.all(state.factors.features[shape > 1] > 0)


@pytest.mark.parametrize("shape", [1 + 1e-14, 1 + 1e-12, 1 + 1e-6, 1e6])
@pytest.mark.parametrize("divergence", [Frobenius, KullbackLeibler], ids=lambda d: d.name)
def test_extreme_gamma_priors_neither_blow_up_nor_stall(divergence, shape):
    """Large data make a prior small: Gamma(2, 0) and X of size 1e7 is a barrier of 1e-14."""
    rng = np.random.default_rng(7)
    X, start = rng.random((6, 5)), Factors(rng.random((6, 4)), rng.random((5, 4)))
    penalty = Gamma(shape, 1.0).penalty
    term = Term("data", "features", dense(X), divergence)
    objective = Objective((term,), {"samples": penalty, "features": penalty})
    ends = []
    for solver in (MultiplicativeUpdates(), CoordinateDescent()):
        state = solver.start(objective, start, SERIAL)
        for _ in range(60):
            new = solver.step(objective, state, SERIAL)
            assert new.value.total <= state.value.total + 1e-9 * abs(state.value.total)
            state = new
        ends.append(state.value.total)
    assert ends[1] <= ends[0] + 1e-4 * abs(ends[0])


@pytest.mark.parametrize("value", [-0.5, math.nan, math.inf, None, "much"])
@pytest.mark.parametrize(
    ("make", "name", "kind", "low"),
    [
        (L1, "weight", "L1", 0),
        (L2, "weight", "L2", 0),
        (lambda value: Gamma(value, 1.0), "shape", "Gamma", 1),
        (lambda value: Gamma(2.0, value), "rate", "Gamma", 0),
    ],
)
def test_prior_errors_name_parameter_and_value(make, name, kind, low, value):
    message = f"{name}={value!r} of the {kind} prior must be a finite number, at least {low}"
    with pytest.raises(ValueError, match=message):
        make(value)


def test_gamma_shape_below_one_is_refused():
    with pytest.raises(ValueError, match=r"shape=0\.5 of the Gamma prior .* at least 1"):
        Gamma(0.5, 1.0)
    with pytest.raises(ValueError, match=r"shape=.*at least 1"):
        Gamma(np.array([[2.0, 0.9]]), 1.0)


def test_penalties_of_some_rows():
    rng = np.random.default_rng(8)
    V, shape, rate = rng.exponential(size=(3, 5, 2))
    penalty, rows = Gamma(1 + shape, rate).penalty, np.array([3, 0])
    assert not penalty.uniform
    expected = Gamma(1 + shape[rows], rate[rows]).value(V[rows])
    assert penalty.rows(rows).value(V[rows]) == pytest.approx(expected, rel=1e-12)
    uniform = L2(0.3).penalty
    assert uniform.uniform
    assert uniform.rows(rows).value(V[rows]) == pytest.approx(L2(0.3).value(V[rows]), rel=1e-12)
