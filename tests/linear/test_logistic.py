"""Logistic regressions of many labels against scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from cofactor.engine.threads import Threads
from cofactor.linear import logistic
from cofactor.linear.multilabel import logistic_regressions
from cofactor.linear.views import Matrix


def problem(n=60, m=12, k=5, seed=0, sparse=True):
    rng = np.random.default_rng(seed)
    cells = rng.random((n, m)) * (rng.random((n, m)) < 0.3)
    cells[:, 3] = 0.0
    Y = (cells @ rng.normal(size=(m, k)) + rng.normal(size=(n, k)) * 0.3 > 0.4).astype(float)
    X = Matrix(csr_array(cells) if sparse else cells, Threads())
    return X, cells, Y, rng.integers(1, 4, size=n).astype(float)


def slow(cells, y, counts, penalty):
    """One label by scikit-learn, with an empty row that is half yes and half no."""
    Z = np.vstack([cells, np.zeros((2, cells.shape[1]))])
    weights = np.r_[counts, 0.5, 0.5]
    model = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=10000)
    model.fit(Z, np.r_[y, 0, 1], weights)
    return model.coef_[0], model.intercept_[0]


@pytest.fixture(autouse=True)
def tight(monkeypatch):
    monkeypatch.setattr(logistic, "TOLERANCE", 1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("penalty", [0.01, 1.0])
@pytest.mark.parametrize("together", [2, 64])
def test_each_label_is_scikit_learns(monkeypatch, sparse, penalty, together):
    monkeypatch.setattr(logistic, "TOGETHER", together)
    X, cells, Y, counts = problem(sparse=sparse)
    model = logistic_regressions(X, csr_array(Y), counts, penalty)
    for j in range(Y.shape[1]):
        weights, base = slow(cells, Y[:, j], counts, penalty)
        assert_allclose(model.weights[:, j], weights, atol=2e-4)
        assert_allclose(model.base[j], base, atol=2e-4)


def test_unknown_cells_do_not_count():
    X, cells, Y, counts = problem()
    known = np.random.default_rng(1).random(Y.shape) < 0.7
    model = logistic_regressions(X, csr_array(Y * known), counts, 0.1, known)
    for j in range(Y.shape[1]):
        rows = known[:, j]
        weights, base = slow(cells[rows], Y[rows, j], counts[rows], 0.1)
        assert_allclose(model.weights[:, j], weights, atol=2e-4)
        assert_allclose(model.base[j], base, atol=2e-4)


def test_counts_are_repeated_rows():
    X, _, Y, counts = problem()
    again = np.repeat(np.arange(len(counts)), counts.astype(int))
    once = logistic_regressions(X, csr_array(Y), counts, 0.1)
    ones = np.ones(len(again))
    repeated = logistic_regressions(X.select(again), csr_array(Y[again]), ones, 0.1)
    assert_allclose(once.weights, repeated.weights, atol=1e-5)


def test_the_start_does_not_matter():
    X, _, Y, counts = problem()
    cold = logistic_regressions(X, csr_array(Y), counts, 0.1)
    first = logistic_regressions(X, csr_array(Y), counts, 3.0)
    warm = logistic_regressions(X, csr_array(Y), counts, 0.1, start=first)
    assert_allclose(warm.weights, cold.weights, atol=1e-4)
    assert_allclose(warm.weights[3], 0.0)


def test_labels_on_all_or_no_rows_stay_finite():
    X, _, Y, counts = problem()
    Y[:, 0], Y[:, 1] = 1.0, 0.0
    model = logistic_regressions(X, csr_array(Y), counts, 0.1)
    assert np.isfinite(model.weights).all()
    assert model.base[0] > 2
    assert model.base[1] < -2


def test_large_values_do_not_overflow():
    _, cells, Y, counts = problem()
    large = Matrix(csr_array(cells * 1e4), Threads())
    model = logistic_regressions(large, csr_array(Y), counts, 0.1)
    assert np.isfinite(model.weights).all()
    assert np.mean((model.scores(large) > 0) == Y) > 0.8
