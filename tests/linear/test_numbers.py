"""Numbers: mixtures of ridge regressions against scikit-learn."""

import warnings
from dataclasses import astuple

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.linear_model import Ridge

from cofactor.engine.threads import Threads
from cofactor.linear import numbers
from cofactor.linear.folds import distinct_rows
from cofactor.linear.numbers import (
    MAX_SIZE,
    TOPIC_MIX,
    CentredRows,
    Size,
    fit_numbers,
    fit_ridge,
    shrink,
)
from cofactor.linear.views import Matrix


class Data:
    def __init__(self, n=40, m=15, r=3, seed=0, sparse=False):
        rng = np.random.default_rng(seed)
        counts = rng.poisson(1.0, size=(n, m)).astype(float)
        self.totals = counts.sum(axis=1)
        cells = counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)
        self.cells = cells
        self.X = Matrix(csr_array(cells) if sparse else cells, Threads())
        self.topics = rng.dirichlet(np.ones(r), size=n)
        self.y = cells @ rng.normal(size=m) + self.topics @ rng.normal(size=r)
        self.y += 0.3 * rng.normal(size=n)
        self.counts = np.ones(n)

    def fit(self, Y=None, rows=None, counts=None):
        Y = self.y if Y is None else Y
        Y = Y[:, None] if Y.ndim == 1 else Y
        rows = np.arange(len(self.y)) if rows is None else rows
        counts = self.counts if counts is None else counts
        parts = self.X.select(rows), self.topics[rows], self.totals[rows], Y[rows], counts[rows]
        return fit_numbers(*parts)

    def predict(self, model):
        rest = model.scale.of(self.totals)[:, None] * model.size + model.base
        return self.X.times(model.words) + self.topics @ model.topics + rest


def sizes_of(totals, counts):
    logs = np.log(totals)
    mean = np.average(logs, weights=counts)
    return (logs - mean) / np.sqrt(np.average((logs - mean) ** 2, weights=counts))


def slow_parts(data, known, model, j=0):
    """Predictions and held-out predictions of both regressions, one Ridge per left-out row."""
    t = sizes_of(data.totals, data.counts)
    spread = np.maximum(data.topics.std(axis=0), np.median(data.topics.std(axis=0)))
    inputs = np.c_[data.cells, 0.3 * t], np.c_[data.topics / spread, 0.5 * t]
    y = data.y
    for Z, penalty in zip(inputs, model.penalties[j], strict=True):
        full = Ridge(penalty, solver="svd").fit(Z[known], y[known]).predict(Z)
        out = []
        for i in known:
            rest = known[known != i]
            out.append(Ridge(penalty, solver="svd").fit(Z[rest], y[rest]).predict(Z[[i]])[0])
        yield full, np.array(out)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_model_is_the_mixture_of_two_ridge_regressions(sparse):
    data = Data(sparse=sparse)
    Y = data.y.copy()
    Y[::3] = np.nan
    known = np.flatnonzero(~np.isnan(Y))
    model = data.fit(Y)
    (full1, out1), (full2, _) = slow_parts(data, known, model)
    y, mean = Y[known], Y[known].mean()
    others = (y.sum() - y) / (len(y) - 1)
    P = out1 - others

    def cost(b):
        return np.sum((y - others - P * b) ** 2) / y.var() + np.sum((b - 1.0) ** 2)

    first = minimize(cost, np.ones(1), bounds=[(0, None)], tol=1e-14).x[0]
    residual = y - others - P * first
    w = TOPIC_MIX * np.sum(residual**2) / np.sum((y - mean) ** 2)
    b = np.array([(1 - w) * first, w])
    assert_allclose(model.mix[0], b, atol=1e-5)
    predicted = mean + b[0] * (full1 - mean) + b[1] * (full2 - mean)
    assert_allclose(data.predict(model)[:, 0], predicted, atol=1e-5)
    rank = int(np.ceil(0.9 * (len(y) + 1)))
    assert_allclose(model.half_width[0], np.sort(np.abs(residual))[rank - 1], atol=1e-5)
    value = 1 - np.sum(residual**2) / np.sum((y - mean) ** 2)
    expected = numbers.score_of_numbers(y - model.held_out[known, 0], y, np.ones(len(y)))
    assert_allclose(expected.value, value, atol=1e-5)
    assert expected.low < value < expected.high <= 1.0
    assert expected.n_samples == len(y)


def test_a_regression_that_predicts_the_opposite_has_no_weight():
    y = np.array([1.0, 2.0, 3.0, 4.0])
    weight, predicted = shrink(-y, y, np.ones(4))
    assert weight == 0.0
    assert np.isfinite(predicted).all()


def test_targets_are_fitted_alone():
    data = Data()
    Y = np.c_[data.y, -data.y, data.y]
    Y[:10, 2] = np.nan
    model = data.fit(Y)
    for j in range(3):
        alone = data.fit(Y[:, j])
        assert_allclose(data.predict(model)[:, j], data.predict(alone)[:, 0], atol=1e-12)
    assert_allclose(model.words[:, 0], -model.words[:, 1], atol=1e-12)


def test_shift_and_scale_of_targets():
    data = Data()
    plain = data.predict(data.fit())
    for shift, scale in ((1e6, 1.0), (-300.0, -2.0), (0.0, 1e-150), (0.0, 1e150)):
        moved = data.fit(shift + scale * data.y)
        assert_allclose(data.predict(moved), shift + scale * plain, rtol=1e-6)
        assert moved.half_width[0] > 0


def test_counts_are_repeated_rows():
    rng = np.random.default_rng(0)
    residual, deviation = rng.normal(size=(2, 20))
    counts = rng.integers(1, 4, size=20)
    for function in (
        lambda e, d, c: numbers._half_width(np.abs(e), c),
        lambda e, d, c: astuple(numbers.score_of_numbers(e, d, c))[:4],
    ):
        repeated = (np.repeat(part, counts) for part in (residual, deviation, np.ones(20)))
        assert_allclose(function(residual, deviation, counts), function(*repeated))


def test_repeated_and_permuted_rows_fit_like_counts():
    data = Data()
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 4, size=40)
    known = rng.random(40) < 0.8
    ranks = np.unique(data.y, return_inverse=True)[1].astype(float)

    def fit(rows, weights):
        labels = np.where(known, ranks, 0.0)[rows, None]
        distinct = distinct_rows(data.cells[rows], labels, known[rows], weights)
        Y = np.where(known, data.y, np.nan)
        every = np.zeros(40)
        every[rows[distinct.rows]] = distinct.weights
        return data.fit(Y, rows=rows[distinct.rows], counts=every)

    weighted = fit(np.arange(40), counts.astype(float))
    rows = rng.permutation(np.repeat(np.arange(40), counts))
    repeated = fit(rows, np.ones(len(rows)))
    assert_allclose(data.predict(repeated), data.predict(weighted), rtol=1e-12)
    assert repeated.half_width == weighted.half_width


def test_rows_of_weight_zero_do_not_count():
    data = Data()
    third = np.arange(40) == 3
    zero = data.fit(counts=np.where(third, 0.0, 1.0))
    without = data.fit(rows=np.flatnonzero(~third))
    assert_allclose(data.predict(zero), data.predict(without), rtol=1e-9)


@pytest.mark.parametrize(
    "y",
    [
        np.full(12, 7.0),
        np.r_[3.0, np.full(11, np.nan)],
        np.r_[3.0, -5.0, np.full(10, np.nan)],
        np.r_[1e6, np.linspace(0, 1, 11)],
        np.r_[1e308, -1e308, np.linspace(0, 1, 10)],
        np.zeros(12),
        np.full(12, np.nan),
    ],
    ids=["constant", "one", "two", "outlier", "huge", "zero", "none"],
)
@pytest.mark.parametrize("equal_rows", [False, True])
def test_hostile_targets_stay_finite(y, equal_rows):
    data = Data(n=12)
    if equal_rows:
        data.X = Matrix(np.tile(data.cells[:1], (12, 1)), Threads())
        data.topics = np.tile(data.topics[:1], (12, 1))
        data.totals = np.full(12, 4.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = data.fit(y)
        predicted = data.predict(model)
    assert np.isfinite(predicted).all()
    known = y[~np.isnan(y)]
    if len(set(known)) == 1:
        assert_allclose(predicted, known[0])
    if len(known) < 9:
        assert np.isinf(model.half_width[0])
    elif len(known) > 1:
        assert np.isfinite(model.half_width[0])


def test_iterative_and_exact_models_agree(monkeypatch):
    data = Data(n=200, m=30, sparse=True)
    exact = data.fit()
    monkeypatch.setattr(numbers, "MAX_EXACT_LENGTH", 0)
    iterative = data.fit()
    assert_allclose(data.predict(iterative), data.predict(exact), atol=0.1)
    for one, other in ((iterative, exact), (exact, iterative)):
        assert np.var(one.held_out - data.y[:, None]) < 1.1 * np.var(
            other.held_out - data.y[:, None]
        )


def test_a_rare_topic_does_not_run_away():
    data = Data()
    data.topics[:, 0] = 0.0
    data.topics[7, 0] = 1e-5
    data.topics /= data.topics.sum(axis=1, keepdims=True)
    model = data.fit()
    assert abs(model.topics[0, 0]) < 10 * np.ptp(data.y)


def test_sizes_are_clipped_and_empty_rows_are_the_smallest():
    size = Size(0.0, 1.0)
    assert_allclose(size.of(np.array([1.0, np.e, 0.0, 1e9])), [0, 1, -MAX_SIZE, MAX_SIZE])
    assert_allclose(Size(0.0, 0.0).of(np.array([0.0, 5.0])), 0.0)


def test_rows_that_were_normalised_have_no_size():
    data = Data()
    data.totals = 1.0 + 1e-15 * np.arange(40)
    assert data.fit().scale.sd == 0.0


# ---- ridge regressions


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
    monkeypatch.setattr(numbers, "MAX_EXACT_LENGTH", 0)
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
