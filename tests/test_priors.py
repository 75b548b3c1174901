"""Priors: values, descent, and messages that name parameter and value."""

import math

import numpy as np
import pytest

import oracles
from cofactor import priors
from cofactor.divergences import Frobenius, KullbackLeibler
from cofactor.engine.factors import Factors
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import dense
from cofactor.engine.solvers import CoordinateDescent, MultiplicativeUpdates
from cofactor.priors import L1, L2, GammaPrior, Prior
from strategies import SERIAL

PRIORS = {"l1": (L1, (0.3,)), "l2": (L2, (0.7,)), "gamma": (GammaPrior, (2.5, 0.4))}


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
    entries = [
        GammaPrior(shape[at], rate[at]).value(V[at][None, None]) for at in np.ndindex(V.shape)
    ]
    assert GammaPrior(shape, rate).value(V) == pytest.approx(math.fsum(entries), rel=1e-12)


def test_a_prior_that_ends_at_shape_one_is_finite_at_zero():
    """Where the shape is 1 there is no logarithm, so a zero entry is nothing special."""
    assert GammaPrior(1.0, 0.5).value(np.zeros((2, 2))) == 0.0
    shape = np.array([[1.0, 2.0]])
    expected = 0.5 * 3.0 - math.log(3.0)
    assert GammaPrior(shape, 0.5).value(np.array([[0.0, 3.0]])) == pytest.approx(expected)


def test_a_gamma_prior_is_steepest_at_zero():
    """As large as a logarithm gets, and without a warning."""
    values = [GammaPrior(2.0, 0.5).value(np.array([[v]])) for v in (0.0, 1e-300, 1e-10, 1.0)]
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
    objective = Objective((term,), {"features": GammaPrior(shape, rate).penalty})

    def value(factors):
        fit = oracles.objective(
            X,
            None,
            factors.features,
            None,
            factors.samples,
            data_loss=divergence.name,
            epsilon=1e-12,
        ).data
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
    """Large data make a prior small: GammaPrior(2, 0) and X of size 1e7 is a barrier of 1e-14."""
    rng = np.random.default_rng(7)
    X, start = rng.random((6, 5)), Factors(rng.random((6, 4)), rng.random((5, 4)))
    penalty = GammaPrior(shape, 1.0).penalty
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
        (lambda value: GammaPrior(value, 1.0), "shape", "Gamma", 1),
        (lambda value: GammaPrior(2.0, value), "rate", "Gamma", 0),
    ],
)
def test_prior_errors_name_parameter_and_value(make, name, kind, low, value):
    message = f"{name}={value!r} of the {kind} prior must be a finite number, at least {low}"
    with pytest.raises(ValueError, match=message):
        make(value)


def test_gamma_shape_below_one_is_refused():
    with pytest.raises(ValueError, match=r"shape=0\.5 of the Gamma prior .* at least 1"):
        GammaPrior(0.5, 1.0)
    with pytest.raises(ValueError, match=r"shape=.*at least 1"):
        GammaPrior(np.array([[2.0, 0.9]]), 1.0)


def test_penalties_of_some_rows():
    rng = np.random.default_rng(8)
    V, shape, rate = rng.exponential(size=(3, 5, 2))
    penalty, rows = GammaPrior(1 + shape, rate).penalty, np.array([3, 0])
    assert not penalty.uniform
    expected = GammaPrior(1 + shape[rows], rate[rows]).value(V[rows])
    assert penalty.rows(rows).value(V[rows]) == pytest.approx(expected, rel=1e-12)
    uniform = L2(0.3).penalty
    assert uniform.uniform
    assert uniform.rows(rows).value(V[rows]) == pytest.approx(L2(0.3).value(V[rows]), rel=1e-12)


def test_the_old_name_of_the_gamma_prior_still_works() -> None:
    """Pickled estimators hold it, too."""
    with pytest.warns(FutureWarning, match="GammaPrior") as caught:
        from cofactor.priors import Gamma
    assert Gamma is GammaPrior
    assert caught[0].filename == __file__


def test_there_are_no_other_names() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Beta'"):
        priors.Beta  # noqa: B018
