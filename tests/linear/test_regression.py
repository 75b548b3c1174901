"""Softmax regression against scikit-learn, and by the slope of its cost."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.special import logsumexp, softmax
from sklearn.linear_model import LogisticRegression

from cofactor.engine.threads import Threads
from cofactor.linear import regression
from cofactor.linear.parts import LinearModel, softmax_path, softmax_regression
from cofactor.linear.views import Matrix


@pytest.fixture
def exact(monkeypatch):
    """Solve to the end."""
    monkeypatch.setattr(regression, "TOLERANCE", 1e-8)
    monkeypatch.setattr(regression, "DECREASE", 0.0)
    monkeypatch.setattr(regression, "ITERATIONS", 5000)


def problem(n=60, m=8, k=3, seed=0):
    random = np.random.default_rng(seed)
    cells = random.gamma(0.7, size=(n, m)) * (random.random((n, m)) < 0.6)
    y = (cells @ random.normal(size=(m, k)) + random.normal(size=(n, k))).argmax(axis=1)
    return cells, y, random


def matrix(cells, storage):
    return Matrix(csr_array(cells) if storage == "sparse" else cells, Threads())


def cost(model, cells, shares, weights, penalty):
    z = cells @ model.weights + model.base
    loss = weights @ (logsumexp(z, axis=1) - (shares * z).sum(axis=1))
    return loss + penalty / 2 * (model.weights**2).sum()


def assert_like(found, cells, peer):
    """Scores agree up to a constant for each sample, as far as the solver goes."""
    z, expected = cells @ found.weights + found.base, peer.decision_function(cells)
    near = 0.015 * np.abs(expected).max()
    assert_allclose(z - z.mean(axis=1, keepdims=True), expected, atol=near)
    weights = found.weights - found.weights.mean(axis=1, keepdims=True)
    assert_allclose(weights, peer.coef_.T, atol=0.015 * np.abs(peer.coef_).max())


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("penalty", [1.0, 0.1, 10.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_logistic_regression(storage, penalty, weighted):
    cells, y, random = problem()
    weights = random.uniform(0.2, 3.0, size=len(y)) if weighted else np.ones(len(y))
    found = softmax_regression(matrix(cells, storage), np.eye(3)[y], weights, penalty)
    peer = LogisticRegression(C=1 / penalty, tol=1e-9, max_iter=5000).fit(cells, y, weights)
    assert_like(found, cells, peer)


def test_two_classes():
    """One vector of weights stands for two that are opposite, whose penalty is half."""
    cells, y, _ = problem(k=2)
    found = softmax_regression(matrix(cells, "dense"), np.eye(2)[y], np.ones(len(y)), 0.5)
    peer = LogisticRegression(C=2 / 0.5, tol=1e-9, max_iter=5000).fit(cells, y)
    assert_allclose(found.weights[:, 1] - found.weights[:, 0], peer.coef_[0], atol=0.02)
    assert_allclose(found.base[1] - found.base[0], peer.intercept_[0], atol=0.02)


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_soft_labels_are_split_samples(storage):
    cells, _, random = problem()
    shares = random.dirichlet(np.ones(3), size=len(cells))
    weights = random.uniform(0.5, 2.0, size=len(cells))
    found = softmax_regression(matrix(cells, storage), shares, weights, 0.3)
    peer = LogisticRegression(C=1 / 0.3, tol=1e-9, max_iter=5000).fit(
        np.repeat(cells, 3, axis=0),
        np.tile(np.arange(3), len(cells)),
        (shares * weights[:, None]).ravel(),
    )
    assert_like(found, cells, peer)


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_the_slope_is_small(storage):
    cells, y, random = problem(n=40)
    weights, Y = random.uniform(0.5, 2.0, size=40), np.eye(3)[y]
    found = softmax_regression(matrix(cells, storage), Y, weights, 0.1)
    residual = weights[:, None] * (softmax(cells @ found.weights + found.base, axis=1) - Y)
    assert_allclose(cells.T @ residual + 0.1 * found.weights, 0.0, atol=0.05)
    assert_allclose(residual.sum(axis=0), 0.0, atol=0.05)
    best = cost(found, cells, Y, weights, 0.1)
    for _ in range(20):
        near = [part + 0.05 * random.normal(size=part.shape) for part in found]
        assert best < cost(type(found)(*near), cells, Y, weights, 0.1)


def test_samples_of_weight_zero_are_left_out():
    cells, y, _ = problem()
    weights = (np.arange(len(y)) < 40).astype(float)
    bad = np.where(weights[:, None] > 0, cells, 1e200)
    found = softmax_regression(matrix(bad, "dense"), np.eye(3)[y], weights, 0.1)
    few = softmax_regression(matrix(cells[:40], "dense"), np.eye(3)[y[:40]], np.ones(40), 0.1)
    assert_array_equal(found.weights, few.weights)
    assert_array_equal(found.base, few.base)


def test_features_without_a_value_have_no_weight():
    cells, y, _ = problem()
    wide = np.insert(cells, [0, 4], 0.0, axis=1)
    found = softmax_regression(matrix(wide, "sparse"), np.eye(3)[y], np.ones(len(y)), 0.1)
    narrow = softmax_regression(matrix(cells, "sparse"), np.eye(3)[y], np.ones(len(y)), 0.1)
    assert_array_equal(found.weights[[0, 5]], 0.0)
    assert_allclose(np.delete(found.weights, [0, 5], axis=0), narrow.weights, atol=1e-10)


@pytest.mark.parametrize("storage", ["sparse", "dense"])
def test_a_path_holds_the_model_of_each_penalty(storage, exact):
    cells, y, _ = problem()
    X, Y, ones = matrix(cells, storage), np.eye(3)[y], np.ones(len(y))
    path = softmax_path(X, Y, ones, [1.0, 0.1])
    for penalty, found in path.items():
        alone = softmax_regression(X, Y, ones, penalty)
        assert_allclose(found.weights, alone.weights, atol=1e-4)
        assert_allclose(*(cost(m, cells, Y, ones, penalty) for m in (found, alone)), rtol=1e-9)


@pytest.mark.parametrize("storage", ["sparse", "dense"])
def test_labellings_side_by_side_are_fitted_as_if_alone(storage, exact):
    cells, y, random = problem()
    X, Y, weights = matrix(cells, storage), np.eye(3)[y], random.uniform(0.5, 2.0, len(y))
    hidden = np.stack([weights, np.where(np.arange(len(y)) % 3, weights, 0.0)], axis=1)
    both = softmax_regression(X, np.stack([Y, Y], axis=1), hidden, 0.1)
    assert both.weights.shape == (cells.shape[1], 2, 3)
    for i in range(2):
        found = LinearModel(both.weights[:, i], both.base[i])
        alone = softmax_regression(X, Y, hidden[:, i], 0.1)
        costs = (cost(m, cells, Y, hidden[:, i], 0.1) for m in (found, alone))
        assert_allclose(*costs, rtol=1e-9)
        assert_allclose(found.weights, alone.weights, atol=1e-4)


@pytest.mark.parametrize("storage", ["sparse", "dense"])
def test_fewer_samples_than_features_give_the_same_model(storage, exact, monkeypatch):
    """The solution lies in the space that the samples span."""
    cells, y, _ = problem()
    wide = np.hstack([cells[:25], cells[25:50] ** 2, cells[25:50], cells[:25] ** 2])
    wide = np.hstack([wide, np.random.default_rng(1).random((25, 60))])
    Y, ones = np.eye(3)[y[:25]], np.ones(25)
    found = softmax_regression(matrix(wide, storage), Y, ones, 0.1)
    monkeypatch.setattr(regression, "FEW_ROWS", 0)
    plain = softmax_regression(matrix(wide, storage), Y, ones, 0.1)
    assert_allclose(*(cost(m, wide, Y, ones, 0.1) for m in (found, plain)), rtol=1e-9)
    assert_allclose(found.weights, plain.weights, atol=1e-4)
