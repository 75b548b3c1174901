"""Missing cells: predicted better than by offsets, the same for every storage, and never worse."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits

from cofactor import NMF, RowBlocks, SSNMFRegressor
from cofactor.divergences import DIVERGENCES
from cofactor.engine.fitting import minimise
from cofactor.engine.observations import observe
from cofactor.estimators import cell_prediction
from cofactor.estimators.cell_prediction import (
    DAMPING,
    Cells,
    MissingCells,
    Trials,
    damped_offsets,
    has_missing_cells,
)
from cofactor.priors import L2
from fits import LOSSES

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
KULLBACK, FROBENIUS = LOSSES[:2]


def ratings(seed=0, shape=(150, 120), share=0.3, noise=0.5, spread=0.6):
    """Return ratings from 1 to 5 with a fifth of the known cells hidden, and these cells."""
    random = np.random.default_rng(seed)
    n, m = shape
    rows, columns = 0.5 * random.normal(size=n), 0.5 * random.normal(size=m)
    taste = spread * random.normal(size=(n, 3)) @ random.normal(size=(3, m)) / np.sqrt(3)
    truth = 3.3 + rows[:, None] + columns + taste + noise * random.normal(size=shape)
    X = np.clip(np.round(truth), 1, 5)
    X[random.random(shape) > share] = np.nan
    X[:, 0] = np.where(np.isnan(X[:, 0]), 3.0, X[:, 0])
    known = np.argwhere(~np.isnan(X[:, 1:])) + np.array([0, 1])
    i, j = known[random.random(len(known)) < 0.2].T
    values = X[i, j]
    X[i, j] = np.nan
    return X, i, j, values


def rmse(predicted, values):
    return float(np.sqrt(np.mean((predicted - values) ** 2)))


def naive_offsets(X, weights=None, counts=None):
    """Damped offsets of a matrix, one row and column after the other."""
    n, m = X.shape
    W = np.where(np.isnan(X), 0.0, 1.0 if weights is None else weights)
    c = np.ones(n) if counts is None else np.asarray(counts, float)
    W, c = W / W[W > 0].mean(), c / c.mean()
    X = np.nan_to_num(X)
    mean = (W * c[:, None] * X).sum() / (W * c[:, None]).sum()
    rows, columns = np.zeros(n), np.zeros(m)
    for _ in range(5):
        for j in range(m):
            w = W[:, j] * c
            columns[j] = (w * (X[:, j] - mean - rows)).sum() / (DAMPING + w.sum())
        for i in range(n):
            rows[i] = (W[i] * (X[i] - mean - columns)).sum() / (DAMPING + W[i].sum())
    return mean + rows[:, None] + columns


def known(X):
    return np.clip(naive_offsets(X), np.nanmin(X), np.nanmax(X))


# --- better than offsets, and than topics alone --------------------------------------------------


@pytest.mark.parametrize("loss", [KULLBACK, FROBENIUS])
@pytest.mark.parametrize("rank", [2, 5, 10, 20])
def test_ratings_are_predicted_better_than_by_damped_offsets(loss, rank):
    X, i, j, values = ratings()
    model = NMF(rank, data_loss=loss, random_state=0).fit(X)
    topics = model.representation_ @ model.components_
    ours = rmse(model.predict_cells(i, j), values)
    assert ours < 0.96 * rmse(known(X)[i, j], values)
    assert ours < 0.98 * rmse(topics[i, j], values)
    assert 0.95 * ours < model.cells_.expected_rmse < 1.15 * ours  # of nine tenths of the cells


@pytest.mark.parametrize("loss", [KULLBACK, FROBENIUS])
def test_pure_offsets_and_noise_are_not_overfitted(loss):
    X, i, j, values = ratings(seed=1, share=0.15, noise=1.2, spread=0.0)
    model = NMF(20, data_loss=loss, random_state=0).fit(X)
    assert rmse(model.predict_cells(i, j), values) < 1.01 * rmse(known(X)[i, j], values)


@pytest.mark.slow
@pytest.mark.parametrize("loss", [KULLBACK, FROBENIUS])
@pytest.mark.parametrize("rank", [5, 20])
def test_images_with_holes_are_filled_better_than_by_topics_and_offsets(loss, rank):
    D = load_digits().data[:300]
    holes = np.random.default_rng(0).random(D.shape) < 0.3
    X = np.where(holes, np.nan, D)
    i, j = np.nonzero(holes)
    model = NMF(rank, data_loss=loss, random_state=0).fit(X)
    topics = model.representation_ @ model.components_
    ours = rmse(model.predict_cells(i, j), D[i, j])
    assert ours < rmse(topics[i, j], D[i, j])
    assert ours < rmse(known(X)[i, j], D[i, j])


@pytest.mark.parametrize("loss", LOSSES)
def test_products_without_noise_are_recovered(loss):
    random = np.random.default_rng(0)
    D = random.gamma(1.0, size=(60, 3)) @ random.gamma(1.0, size=(3, 40)) + 0.01
    holes = random.random(D.shape) < 0.3
    model = NMF(3, data_loss=loss, random_state=0).fit(np.where(holes, np.nan, D))
    assert rmse(model.predict_cells(*np.nonzero(holes)), D[holes]) < 0.05 * D.std()


# --- the parts -----------------------------------------------------------------------------------


def test_offsets_are_those_of_a_naive_computation():
    X = ratings(shape=(20, 12))[0]
    W = np.random.default_rng(0).uniform(0.5, 2.0, size=X.shape)
    counts = np.where(np.arange(20) < 5, 0.0, np.arange(20))
    listed = Cells.of(observe(X, np.where(np.isnan(X), 0.0, W)), counts)
    mean, rows, columns = damped_offsets(listed, listed.values)
    expected = naive_offsets(X, W, counts)
    assert_allclose(mean + rows[:, None] + columns, expected, rtol=1e-12)


@pytest.mark.parametrize("doubtful", [False, True])
def test_topics_count_by_least_squares_less_a_standard_error(doubtful):
    X, i, j, values = ratings(shape=(40, 30))
    W = np.random.default_rng(1).uniform(0.5, 2.0, size=len(i))
    first = Cells.of(observe(X), None)
    hidden = Cells(X.shape, i, j, values, W / W.mean(), np.ones(40))
    trials = Trials(first, hidden, (1.0, 5.0), 10)
    alone = naive_offsets(X)[i, j]
    gain = np.random.default_rng(2).normal(size=len(i)) + (0 if doubtful else values - alone)
    root = np.sqrt(W / W.mean())
    (slope,), (left,), _, _ = np.linalg.lstsq((root * gain)[:, None], root * (values - alone))
    slope -= np.sqrt(left / len(i) / np.sum(root**2 * gain**2))
    error, share = trials.score(alone + gain)
    assert_allclose(share, max(slope, 0.0), rtol=1e-9)
    assert (share > 0.3) != doubtful
    mixed = np.clip(alone + share * gain, 1, 5)
    assert_allclose(error, np.sqrt(np.average((mixed - values) ** 2, weights=W)))


def test_predictions_are_sums_within_the_range():
    X = ratings()[0]
    model = NMF(4, random_state=0).fit(X)
    found = model.cells_
    whole = found.mean + found.row_offsets[:, None] + found.column_offsets
    whole = whole + found.samples @ found.features.T
    i, j = np.indices(X.shape).reshape(2, -1)
    assert_allclose(model.predict_cells(i, j), np.clip(whole, 1, 5).ravel(), rtol=1e-12)
    assert whole.max() > 5  # so that there is something to clip


@pytest.mark.parametrize("loss", DIVERGENCES.values(), ids=DIVERGENCES)
def test_curvature_is_the_second_derivative(loss):
    h, p = 1e-4, 1.7
    x = np.array([p])
    difference = loss.value(x, x + h) - 2 * loss.value(x, x) + loss.value(x, x - h)
    assert_allclose(loss.curvature(p), difference[0] / h**2, rtol=1e-5)


def test_missing_cells_are_noticed():
    X = ratings()[0]
    mask = ~np.isnan(X)
    full = np.nan_to_num(X)
    assert has_missing_cells(observe(X))
    assert has_missing_cells(observe(sparse.csr_array(full), sparse.csr_array(mask * 1.0)))
    assert not has_missing_cells(observe(full))
    assert not has_missing_cells(observe(sparse.csr_array(full)))
    assert not has_missing_cells(observe(full, np.ones_like(full)))


# --- what must not matter ------------------------------------------------------------------------


def same(model, other, exact=True):
    for name in vars(model.cells_):
        one, two = getattr(model.cells_, name), getattr(other.cells_, name)
        if exact:
            assert_array_equal(one, two, name)
        else:
            assert_allclose(one, two, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_storages_agree(loss):
    X = ratings(shape=(60, 40))[0]
    mask = sparse.csr_array(~np.isnan(X) * 1.0)
    fit = NMF(3, data_loss=loss, random_state=0, max_iter=20).fit
    dense = NMF(3, data_loss=loss, random_state=0, max_iter=20).fit(X)
    same(fit(sparse.csr_array(np.nan_to_num(X)), data_weights=mask), dense, exact=False)
    same(fit(np.nan_to_num(X), data_weights=mask.toarray()), dense, exact=False)


@pytest.mark.slow
def test_threads_and_refits_give_the_same_bits():
    X = ratings(shape=(60, 40))[0]
    one = NMF(3, random_state=0, n_jobs=1).fit(X)
    same(NMF(3, random_state=0, n_jobs=3).fit(X), one)
    same(one, NMF(3, random_state=0).fit(X).fit(X))


@pytest.mark.parametrize("loss", [KULLBACK, FROBENIUS])
@pytest.mark.parametrize("factor", [2.0**-200, 2.0**300])
def test_scaled_cells_give_scaled_predictions(loss, factor):
    X, i, j, _ = ratings(shape=(60, 40))
    model = NMF(3, data_loss=loss, random_state=0).fit(X)
    scaled = NMF(3, data_loss=loss, random_state=0).fit(X * factor)
    assert_array_equal(scaled.predict_cells(i, j), model.predict_cells(i, j) * factor)
    assert scaled.cells_.expected_rmse == model.cells_.expected_rmse * factor
    assert scaled.cells_.strength == model.cells_.strength


def test_all_weights_alike_are_no_weights():
    X = ratings(shape=(60, 40))[0]
    plain = NMF(3, random_state=0).fit(X)
    same(NMF(3, random_state=0).fit(X, sample_weight=np.full(60, 4.0)), plain)
    same(NMF(3, random_state=0).fit(X, data_weights=np.full((60, 1), 4.0)), plain)


def test_samples_of_weight_zero_are_predicted_and_teach_nothing():
    X, i, j, values = ratings(seed=3)
    counts = np.where(np.arange(len(X)) < 40, 0.0, 1.0)
    strange = np.where(counts[:, None] == 0, 6 - X, X)
    predicted, other = (
        NMF(3, random_state=0).fit(data, sample_weight=counts).predict_cells(i, j)
        for data in (X, strange)
    )
    assert_array_equal(predicted[i >= 40], other[i >= 40])
    without = i < 40
    assert rmse(predicted[without], values[without]) < rmse(
        known(X)[i, j][without], values[without]
    )


def test_the_topics_are_those_of_before():
    X = ratings(shape=(60, 40))[0]
    model = NMF(3, random_state=0).fit(X)
    same_topics = SSNMFRegressor(3, random_state=0).fit(X, np.full(60, np.nan))
    assert_array_equal(model.components_, same_topics.components_)
    assert_array_equal(model.representation_, same_topics.representation_)
    assert not hasattr(same_topics, "cells_")


def test_float32_stays_float32():
    X, i, j, _ = ratings(shape=(60, 40))
    model = NMF(3, random_state=0).fit(X.astype(np.float32))
    assert model.predict_cells(i, j).dtype == np.float32
    assert model.cells_.samples.dtype == np.float32
    double = NMF(3, random_state=0).fit(X)
    assert_allclose(model.predict_cells(i, j), double.predict_cells(i, j), atol=0.2)


# --- without a model of cells --------------------------------------------------------------------


def reconstruction(model, i, j):
    return (model.representation_ @ model.components_)[i, j]


@pytest.mark.parametrize("case", ["complete", "priors", "blocks", "stream"])
def test_without_a_model_of_cells_the_topics_predict(case):
    X, i, j, _ = ratings(shape=(60, 40))
    priors = {"samples": L2(1.0)} if case == "priors" else None
    model = NMF(3, priors=priors, random_state=0).fit(X)
    if case == "complete":
        model.fit(np.nan_to_num(X))
    if case == "blocks":
        model.fit(RowBlocks.split(np.nan_to_num(X), rows=30))
    if case == "stream":
        model.partial_fit(X)
    assert not hasattr(model, "cells_")
    assert_allclose(model.predict_cells(i, j), reconstruction(model, i, j), rtol=1e-12)


@pytest.mark.parametrize("call", [1, 4])
def test_an_interruption_leaves_no_half_model(call, monkeypatch):
    X, i, j, _ = ratings(shape=(60, 40))
    expected = NMF(3, random_state=0).fit(X).predict_cells(i, j)
    model = NMF(3, random_state=0).fit(X)
    calls = []

    def interrupted(*given, **options):
        calls.append(given)
        fit = minimise(*given, **options)
        return replace(fit, interrupted=len(calls) == call)

    with monkeypatch.context() as patch:
        patch.setattr(cell_prediction, "minimise", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.predict_cells(i, j)
    assert len(calls) == call
    assert_array_equal(model.predict_cells(i, j), expected)


def test_the_model_of_cells_is_fitted_when_it_is_asked_for(monkeypatch):
    X, i, j, _ = ratings(shape=(60, 40))
    calls = []

    def counted(*given, **options):
        calls.append(given)
        return minimise(*given, **options)

    monkeypatch.setattr(cell_prediction, "minimise", counted)
    model = NMF(3, random_state=0).fit(X)
    assert not calls
    first = model.predict_cells(i, j)
    assert (n := len(calls)) > 0
    assert_array_equal(model.predict_cells(i, j), first)
    assert len(calls) == n
    assert model.fitted.cell_problem is None  # the data are no longer kept
    again = pickle.loads(pickle.dumps(NMF(3, random_state=0).fit(X)))
    assert_array_equal(again.predict_cells(i, j), first)


# --- odd data ------------------------------------------------------------------------------------

ODD = {
    "one missing": lambda X: np.where(np.indices(X.shape).sum(0) == 1, np.nan, np.nan_to_num(X)),
    "constant": lambda X: np.where(np.isnan(X), np.nan, 2.0),
    "zeros": lambda X: np.where(np.isnan(X), np.nan, 0.0),
    "two rows": lambda X: X[:2],
    "one column": lambda X: X[:, :1],
    "two cells": lambda X: np.array([[1.0, np.nan], [np.nan, 2.0]]),
    "a cell a row": lambda X: np.where(np.arange(X.shape[1]) == 0, X, np.nan),
    "an empty column": lambda X: np.where(np.arange(X.shape[1]) == 3, np.nan, X),
    "an outlier": lambda X: np.where(np.indices(X.shape).sum(0) == 0, 1e9, X),
    "more topics than cells": lambda X: X[:3, :3],
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ODD)
def test_odd_data_give_finite_predictions_within_the_range(name, loss):
    X = ODD[name](ratings(shape=(30, 20))[0])
    model = NMF(10, data_loss=loss, random_state=0, max_iter=20).fit(X)
    i, j = np.indices(X.shape).reshape(2, -1)
    predicted = model.predict_cells(i, j)
    assert np.isfinite(predicted).all()
    if hasattr(model, "cells_"):
        assert np.nanmin(X) <= predicted.min()
        assert predicted.max() <= np.nanmax(X)


def test_a_column_without_weight_is_missing():
    X, i, j, _ = ratings(shape=(60, 40))
    weights = np.ones((1, 40))
    weights[0, 5] = 0
    model = NMF(3, random_state=0).fit(X, data_weights=weights)
    assert model.cells_.column_offsets[5] == pytest.approx(0.0, abs=1e-12)
    assert np.isfinite(model.predict_cells(i, j)).all()
    nothing = NMF(3, random_state=0).fit(X, data_weights=0 * weights)
    assert not hasattr(nothing, "cells_")
    assert np.isfinite(nothing.predict_cells(i, j)).all()


WRONG = {
    "lengths": ([0, 1], [0], ValueError, "rows has 2 .*columns has 1"),
    "a row beyond": ([60], [0], ValueError, "rows holds 60, but the model has 60 rows"),
    "a negative row": ([-1], [0], ValueError, "rows holds -1.*from 0 to 59"),
    "a column beyond": ([0], [40], ValueError, "columns holds 40"),
    "a fraction": ([0.5], [0], TypeError, "rows holds 0.5; pass integers"),
    "a mask": ([0], [True], TypeError, "columns holds True; pass integers"),
    "words": (["a"], [0], TypeError, "rows holds 'a'"),
    "a matrix": ([[0]], [[0]], ValueError, "rows has shape"),
    "a number": (0, 0, ValueError, "rows has shape"),
}


@pytest.fixture(scope="module")
def fitted():
    return NMF(3, random_state=0, max_iter=5).fit(ratings(shape=(60, 40))[0])


@pytest.mark.parametrize("name", WRONG)
def test_wrong_indices_are_refused_in_one_sentence(name, fitted):
    rows, columns, error, match = WRONG[name]
    with pytest.raises(error, match=match):
        fitted.predict_cells(rows, columns)


def test_no_cells_have_no_predictions(fitted):
    assert fitted.predict_cells([], []).shape == (0,)
    assert isinstance(fitted.cells_, MissingCells)


@pytest.mark.parametrize("loss", ["kullback-leibler", "frobenius"])
@pytest.mark.parametrize("rank", [1, 2, 5])
def test_a_column_without_cells_is_predicted_like_the_others(loss, rank):
    random = np.random.default_rng(0)
    R = 3 + random.normal(0, 0.5, (40, 1)) + random.normal(0, 0.5, (1, 30))
    X = np.where(random.random(R.shape) < 0.5, R, np.nan)
    X[:, 7] = np.nan
    model = NMF(rank, data_loss=loss, random_state=0).fit(X)
    found = model.predict_cells(np.arange(40), np.full(40, 7))
    np.testing.assert_allclose(found, np.nanmean(X, axis=1), atol=0.4)


def test_samples_of_weight_zero_do_not_widen_the_range():
    random = np.random.default_rng(0)
    X = np.where(random.random((20, 12)) < 0.7, 1 + 3 * random.random((20, 12)), np.nan)
    X[3] = 1e6
    weights = np.where(np.arange(20) == 3, 0.0, 1.0)
    model = NMF(2, random_state=0).fit(X, sample_weight=weights)
    assert model.cells_.high == np.nanmax(np.delete(X, 3, axis=0))


def test_some_rows_choose_for_all(monkeypatch):
    """The choice costs no more for more rows, and predicts nearly as well."""
    random = np.random.default_rng(0)
    R = 3 + random.normal(0, 0.5, (300, 1)) + random.normal(0, 0.5, (1, 20))
    R = R + random.normal(size=(300, 2)) @ random.normal(size=(2, 20)) * 0.5
    seen = random.random(R.shape) < 0.6
    X = np.where(seen, np.maximum(R + 0.2 * random.normal(size=R.shape), 0.1), np.nan)

    def error():
        model = NMF(3, random_state=0).fit(X)
        return np.sqrt(np.mean((model.predict_cells(*np.nonzero(~seen)) - R[~seen]) ** 2))

    everything = error()
    monkeypatch.setattr(cell_prediction, "TRIAL_CELLS", 1000)
    some = cell_prediction._some_rows(Cells.of(observe(X), None), np.random.RandomState(0))
    assert 900 < len(some.values) <= 1000
    assert error() < 1.1 * everything


def test_showing_the_estimator_computes_nothing():
    X, i, j, _ = ratings(shape=(30, 20))
    model = NMF(3, random_state=0).fit(X)
    model._repr_html_()
    repr(model)
    assert model.fitted.cell_problem is not None
    model.predict_cells(i, j)
    assert "cells_" in dir(model)


def test_a_model_of_cells_does_not_undo_a_newer_fit():
    X, _, _, _ = ratings(shape=(30, 20))
    model = NMF(3, random_state=0).fit(X)
    before, newer = model.fitted, NMF(2, random_state=0).fit(X).fitted
    model._fitted = newer  # another thread
    assert model._settle(before, replace(before, cell_problem=None)).cell_problem is None
    assert model.fitted is newer
