"""Corrections of scores: known labels change nothing, new classes are learned."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import log_softmax, softmax

from cofactor.engine.threads import Threads
from cofactor.linear.corrections import ScoredRows, correct_scores
from cofactor.linear.parts import softmax_regression
from cofactor.linear.views import Matrix


@pytest.fixture
def threads():
    with Threads(1) as threads:
        yield threads


def make_rows(threads, n=60, seed=0):
    random = np.random.default_rng(seed)
    X = random.random((n, 6)) * (random.random((n, 6)) > 0.5)
    scores = X @ random.normal(size=(6, 3))
    return X, ScoredRows(Matrix(csr_array(X), threads), scores, softmax(scores, axis=1), np.ones(n))


def test_samples_that_say_what_is_known_change_nothing(threads):
    X, rows = make_rows(threads)
    found = correct_scores(rows, rows, np.zeros(3, dtype=bool))
    after = X @ found.added.weights + found.added.base
    np.testing.assert_allclose(after - after.mean(axis=1, keepdims=True), 0, atol=1e-6)
    np.testing.assert_array_equal([found.factor, found.base], [np.ones(3), np.zeros(3)])


def test_a_new_class_is_learned_and_the_old_ones_stay(threads):
    X, rows = make_rows(threads, 200)
    own = X[:, 0] > 0.3
    shares = np.where(
        own[:, None], [[0.0, 0.0, 1.0]], softmax(rows.scores[:, :2], axis=1) @ np.eye(2, 3)
    )
    scores = rows.scores * [1, 1, 0]
    rows = rows._replace(scores=scores, shares=shares)
    found = correct_scores(rows, rows, np.array([False, False, True]))
    after = (scores + X @ found.added.weights + found.added.base) * found.factor + found.base
    assert np.mean((after.argmax(axis=1) == 2) == own) > 0.95
    same = after[~own, :2].argmax(axis=1) == scores[~own, :2].argmax(axis=1)
    assert same.mean() > 0.9


def test_the_offset_is_part_of_the_scores(threads):
    X, rows = make_rows(threads)
    shares = np.eye(3)[np.arange(60) % 3]

    def cost(x):
        W = x.reshape(7, 3)
        log_p = log_softmax(X @ W[:-1] + W[-1] + rows.scores, axis=1)
        return -(shares * log_p).sum() + 0.25 * (W[:-1] ** 2).sum()

    model = softmax_regression(rows.X, shares, rows.weights, 0.5, offset=rows.scores)
    own = np.vstack([model.weights, model.base]).ravel()
    best = minimize(cost, np.zeros(21)).fun
    assert cost(own) == pytest.approx(best, rel=1e-5)
