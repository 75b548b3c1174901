"""Ridge regression against scikit-learn and explicit leaving out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.linear_model import Ridge

from cofactor.engine.threads import Threads
from cofactor.linear import ridge
from cofactor.linear.numbers import CentredRows, fit_ridge
from cofactor.linear.views import Matrix

PENALTIES = np.array([0.1, 1.0, 10.0])


def problem(n, m, seed=0, sparse=False):
    rng = np.random.default_rng(seed)
    cells = rng.normal(size=(n, m)) * (rng.random((n, m)) < 0.4) + 0.3
    if sparse:
        cells = np.where(cells == 0.3, 0.0, cells)
    y = cells @ rng.normal(size=m) + rng.normal(size=n) + 5
    X = Matrix(csr_array(cells) if sparse else cells, Threads())
    return X, cells, y, rng.integers(1, 4, size=n).astype(float)


def left_out(cells, y, counts, penalty, rows):
    rest = np.setdiff1d(np.arange(len(y)), rows)
    model = Ridge(penalty).fit(cells[rest], y[rest], counts[rest])
    return model.predict(cells[rows])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shape", [(12, 5), (9, 30), (8, 8)])
def test_exact_fit_is_scikit_learns_and_leaves_each_row_out(shape, sparse):
    X, cells, y, counts = problem(*shape, sparse=sparse)
    fit = fit_ridge(X, y, counts, PENALTIES)
    tried = np.array(
        [
            [left_out(cells, y, counts, p, np.array([i]))[0] for i in range(len(y))]
            for p in PENALTIES
        ]
    )
    best = int(np.argmin((tried - y) ** 2 @ counts))
    assert fit.penalty == PENALTIES[best]
    assert_allclose(fit.held_out, tried[best], rtol=1e-8)
    oracle = Ridge(fit.penalty, solver="svd").fit(cells, y, counts)
    assert_allclose(fit.weights, oracle.coef_, rtol=1e-7, atol=1e-9)
    assert_allclose(fit.base, oracle.intercept_, rtol=1e-8)


@pytest.mark.parametrize("sparse", [False, True])
def test_iterative_fit_is_scikit_learns_and_leaves_five_folds_out(monkeypatch, sparse):
    X, cells, y, counts = problem(40, 25, sparse=sparse)
    monkeypatch.setattr(ridge, "DENSE_SIDE", 0)
    fit = fit_ridge(X, y, counts, PENALTIES)
    held_out = np.empty(40)
    for fold in range(5):
        rows = np.arange(fold, 40, 5)
        held_out[rows] = left_out(cells, y, counts, fit.penalty, rows)
    assert_allclose(fit.held_out, held_out, rtol=1e-7)
    oracle = Ridge(fit.penalty, solver="svd").fit(cells, y, counts)
    assert_allclose(fit.weights, oracle.coef_, rtol=1e-6, atol=1e-8)
    assert_allclose(fit.base, oracle.intercept_, rtol=1e-7)


def test_few_steps_suffice_for_a_long_sparse_matrix(monkeypatch):
    rng = np.random.default_rng(1)
    cells = rng.random((600, 900)) * (rng.random((600, 900)) < 0.02)
    cells /= np.maximum(np.linalg.norm(cells, axis=1, keepdims=True), 1e-9)
    y = cells @ rng.normal(size=900) + 0.1 * rng.normal(size=600)
    rows = CentredRows(Matrix(csr_array(cells), Threads()), np.ones(600))
    found = rows.iterate(y - y.mean(), PENALTIES)
    for penalty, v in zip(PENALTIES, found.T, strict=True):
        assert_allclose(v, rows.solve(y - y.mean(), penalty), atol=1e-6)


def test_of_equal_errors_the_largest_penalty_wins():
    X = Matrix(np.zeros((4, 2)), Threads())
    fit = fit_ridge(X, np.arange(4.0), np.ones(4), PENALTIES)
    assert fit.penalty == PENALTIES[-1]
    assert_allclose(fit.weights, 0.0)
    assert_allclose(fit.held_out, [2.0, 5 / 3, 4 / 3, 1.0])
