"""Calibration: curves correct probabilities; factors and bases are the likeliest."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

from cofactor.linear.calibration import PRIOR_STRENGTH, ProbabilityCurve, flattening, scale_classes
from cofactor.linear.multilabel import SCORE_EDGES, Histogram


def test_the_curve_is_the_logistic_function_at_first_and_always_rises():
    z = np.linspace(-9, 9, 50)
    assert_allclose(ProbabilityCurve().of(z), expit(z))
    assert (np.diff(ProbabilityCurve(1.4, 0.05, 2.4).of(z)) > 0).all()


def test_the_curve_mends_probabilities():
    """Scores that are three times too large and shifted become honest."""
    rng = np.random.default_rng(0)
    honest = rng.normal(-2, 1.5, size=20000)
    yes = rng.random(20000) < expit(honest)
    scores = 3 * honest + 1
    place = np.searchsorted(SCORE_EDGES, scores, side="right")
    histogram = Histogram(
        *(np.bincount(place, w, len(SCORE_EDGES) + 1)[None] for w in (np.ones(20000), yes))
    )
    curve = histogram.curve()
    p = curve.of(scores)
    for low, high in ((0.0, 0.1), (0.1, 0.3), (0.3, 0.6), (0.6, 1.0)):
        some = (p >= low) & (p < high)
        assert abs(p[some].mean() - yes[some].mean()) < 0.04


def test_flattened_scores_keep_their_order_and_have_the_confidence():
    scores = np.random.default_rng(0).normal(scale=4.0, size=(200, 3))
    mean = softmax(flattening(scores, 0.6) * scores, axis=1).max(axis=1).mean()
    assert_allclose(mean, 0.6, atol=1e-9)
    assert flattening(scores, 0.99) == 1.0
    assert 0 < flattening(scores, 0.0) < 0.1


def test_factors_and_bases_are_the_most_likely():
    scores = np.random.default_rng(0).normal(size=(60, 3))
    shares = np.eye(3)[np.random.default_rng(1).integers(0, 3, 60)]
    which = np.array([False, True, True])

    def cost(x):
        fitted = scores * [1, *x[:2]] + [0, *x[2:]]
        return (
            PRIOR_STRENGTH / 2 * ((x[:2] - 1) ** 2).sum()
            - (shares * log_softmax(fitted, axis=1)).sum()
        )

    factor, base = scale_classes(scores, shares, np.ones(60), which)
    best = minimize(cost, [1, 1, 0, 0])
    np.testing.assert_allclose([*factor[1:], *base[1:]], best.x, atol=1e-3)
    assert factor[0] == 1
    assert base[0] == 0
