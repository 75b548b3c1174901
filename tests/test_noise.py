"""Noise models: losses, supervision, and messages that name parameter and value."""

import math
from itertools import product

import pytest
from scipy import stats

import oracles
from cofactor import noise
from cofactor.divergences import Frobenius, ItakuraSaito, KullbackLeibler

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
