"""The head that predicts: estimated on representations that saw no labels, of equal mass."""

import numpy as np
import pytest

from cofactor import SSNMFClassifier, SSNMFRegressor
from cofactor.estimators.heads import with_mean_mass


@pytest.fixture(scope="module")
def problem():
    """Samples of two classes, made of three topics."""
    random = np.random.default_rng(0)
    A = random.gamma(0.3, size=(30, 3)) + 1e-3
    S = random.dirichlet([0.5, 0.5, 0.5], size=80)
    y = (S[:, 0] > 0.4).astype(int)
    return S @ A.T, y


def fit(X, y, estimator=SSNMFClassifier, **options):
    return estimator(3, max_iter=300, tol=1e-8, random_state=0, **options).fit(X, y)


@pytest.mark.parametrize("loss", ["kullback-leibler", "frobenius"])
def test_the_head_is_the_best_one_for_shares(problem, loss):
    """No other nonnegative head fits the labels better on representations of equal mass."""
    X, y = problem
    model = fit(X, y, data_loss=loss)
    S = model.transform(X)
    mass = S @ model.components_.sum(axis=1)
    S, Y = S * (mass.mean() / mass)[:, None], np.eye(2)[y]

    def cost(B):
        P = S @ B + 1e-12
        return float(np.sum(P - Y * np.log(P)))

    best, random = cost(model.target_components_), np.random.default_rng(1)
    for _ in range(50):
        other = model.target_components_ * np.exp(0.05 * random.normal(size=(3, 2)))
        assert best <= cost(other) * (1 + 1e-9)


def test_long_samples_do_not_outvote_short_ones(problem):
    X, y = problem
    model = fit(X, y)
    S, lengths = model.transform(X), np.random.default_rng(2).uniform(0.1, 10, size=(len(X), 1))
    one, two = (with_mean_mass(V, model.components_.T, None) for V in (S, lengths * S))
    np.testing.assert_allclose(two / two.sum(), one / one.sum(), rtol=1e-9)
    np.testing.assert_allclose(one / one.sum(axis=1, keepdims=True), S / S.sum(axis=1)[:, None])


def test_empty_samples_stay_empty(problem):
    X, y = problem
    model = fit(X, y)
    S = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 0.0]])
    found = with_mean_mass(S, model.components_.T, None)
    np.testing.assert_array_equal(found[0], 0)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(with_mean_mass(0 * S, model.components_.T, None), 0)


def test_values_and_labels_that_are_read_one_by_one_keep_their_lengths(problem):
    """Their heads are the best ones for representations as they are."""
    X, y = problem
    Y = np.column_stack([y, 1 - y, np.ones_like(y)])
    for model, targets in (
        (fit(X, Y), Y),
        (fit(X, y.astype(float), SSNMFRegressor, target_loss="kullback-leibler"), y[:, None]),
    ):
        S = model.transform(X)

        def cost(B, S=S, targets=targets):
            P = S @ B + 1e-12
            return float(np.sum(P - targets * np.log(P)))

        best, random = cost(model.target_components_), np.random.default_rng(1)
        for _ in range(50):
            noise = random.normal(size=model.target_components_.shape)
            assert best <= cost(model.target_components_ * np.exp(0.05 * noise)) * (1 + 1e-9)


def test_copies_count_like_weights(problem):
    X, y = problem
    counts = np.random.default_rng(3).integers(1, 4, size=len(X))
    weighted = SSNMFClassifier(3, random_state=0).fit(X, y, sample_weight=counts)
    repeated = SSNMFClassifier(3, random_state=0).fit(np.repeat(X, counts, 0), np.repeat(y, counts))
    np.testing.assert_allclose(
        weighted.target_components_, repeated.target_components_, rtol=1e-5, atol=1e-8
    )
