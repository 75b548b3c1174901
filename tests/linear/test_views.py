"""Views depend on the kind of data; matrices multiply alike however they are stored."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfTransformer

from cofactor.engine.observations import masked, observe
from cofactor.engine.threads import Threads
from cofactor.linear.views import MAX_SPARSE_SHARE, Matrix, VectorView, View, choose_view

N = 40
RANDOM = np.random.default_rng(0)
FEW_WORDS = RANDOM.poisson(1.5, size=(N, 6)).astype(float)
FEW_WORDS[FEW_WORDS.sum(axis=1) == 0, 0] = 1.0
SPARSE_COUNTS = RANDOM.poisson(0.1, size=(N, 50)).astype(float)
SPARSE_COUNTS[:, 0] += 1.0
UNEQUAL = FEW_WORDS * RANDOM.choice([1, 40], size=(N, 1))
NUMBERS = RANDOM.gamma(3.0, size=(N, 6)) * [1, 10, 100, 1, 1, 0.01]
KINDS = {
    "tf-idf": (TfidfTransformer().fit_transform(SPARSE_COUNTS).toarray(), "rows"),
    "counts": (SPARSE_COUNTS, "roots"),
    "numbers": (NUMBERS, "columns"),
    "integers of like totals": (FEW_WORDS, "columns"),
    "integers of unequal totals": (UNEQUAL, "roots"),
    "tf-idf of few words": (TfidfTransformer().fit_transform(FEW_WORDS).toarray(), "rows"),
}


def view_of(cells, counts=None, exponent=0, weights=None):
    data = observe(cells, weights)
    counts = np.ones(data.shape[0]) if counts is None else counts
    view = choose_view(data, counts, exponent)
    return view, view.of(data)


def full(rows):
    return rows if isinstance(rows, np.ndarray) else rows.toarray()


@pytest.mark.parametrize("name", KINDS)
def test_the_kind_of_data_decides(name):
    cells, kind = KINDS[name]
    for stored in (cells, csr_array(cells)):
        view, rows = view_of(stored)
        assert view.kind == kind
        assert isinstance(rows, np.ndarray) == (kind == "columns")


@pytest.mark.parametrize("name", KINDS)
def test_storages_agree(name):
    cells, _ = KINDS[name]
    assert_allclose(full(view_of(csr_array(cells))[1]), full(view_of(cells)[1]), rtol=1e-12)


@pytest.mark.parametrize("filled", [MAX_SPARSE_SHARE - 0.02, MAX_SPARSE_SHARE + 0.02])
def test_a_quarter_of_the_cells_makes_dense_data(filled):
    cells = np.zeros(1000)
    cells[: int(filled * 1000)] = RANDOM.gamma(2.0, size=int(filled * 1000))
    view, _ = view_of(RANDOM.permutation(cells).reshape(50, 20))
    assert view.kind == ("rows" if filled < MAX_SPARSE_SHARE else "columns")


def test_counts_that_were_scaled_are_counts():
    data = observe(SPARSE_COUNTS * 2.0**-5)
    assert choose_view(data, np.ones(N), 5).kind == "roots"
    assert choose_view(data, np.ones(N), 4).kind == "rows"


@pytest.mark.parametrize(("dtype", "scale"), [(np.float64, 1e300), (np.float32, 1e30)])
def test_numbers_too_large_for_fractions_are_not_counts(dtype, scale):
    cells = KINDS["tf-idf"][0].astype(dtype)
    assert view_of(cells * dtype(scale))[0].kind == "rows"
    assert view_of(SPARSE_COUNTS.astype(dtype) * dtype(1e5))[0].kind == "roots"


@pytest.mark.parametrize("name", ["tf-idf", "counts", "integers of unequal totals"])
def test_rows_have_the_same_length(name):
    cells, kind = KINDS[name]
    cells = np.vstack([cells, np.zeros((1, cells.shape[1]))])
    view, rows = view_of(cells)
    lengths = np.linalg.norm(full(rows), axis=1)
    assert_allclose(lengths[:-1], 1 / view.scale, rtol=1e-12)
    assert lengths[-1] == 0.0
    values = np.sqrt(cells) if kind == "roots" else cells
    expected = values[:-1] / np.linalg.norm(values[:-1], axis=1, keepdims=True)
    assert_allclose(full(rows)[:-1] * view.scale, expected, rtol=1e-12)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_mean_square_distance_from_the_mean_is_one(name, weighted):
    counts = RANDOM.uniform(0.1, 3.0, size=N) if weighted else np.ones(N)
    rows = full(view_of(KINDS[name][0], counts)[1])
    mean = np.average(rows, axis=0, weights=counts)
    square = ((rows - mean) ** 2).sum(axis=1)
    assert_allclose(np.average(square, weights=counts), 1.0, rtol=1e-9)


@pytest.mark.parametrize("name", ["tf-idf", "counts"])
def test_lengths_of_samples_do_not_matter(name):
    cells, kind = KINDS[name]
    lengths = RANDOM.integers(1, 50, size=(N, 1))
    view, rows = view_of(cells)
    other, scaled = view_of(lengths * cells)
    assert other.kind == kind
    assert_allclose(full(scaled), full(rows), rtol=1e-12)
    assert_allclose(full(view.of(observe(1e-300 * cells))), full(rows), rtol=1e-9)
    assert_allclose(full(view.of(observe(1e300 * cells))), full(rows), rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_columns_are_standardised(weighted):
    counts = RANDOM.uniform(0.1, 3.0, size=N) if weighted else np.ones(N)
    view, rows = view_of(NUMBERS, counts)
    mean = np.average(NUMBERS, axis=0, weights=counts)
    sd = np.sqrt(np.average((NUMBERS - mean) ** 2, axis=0, weights=counts))
    expected = (NUMBERS - mean) / (sd + np.median(sd))
    assert_allclose(rows * view.scale, expected, rtol=1e-9, atol=1e-12)
    assert_allclose(np.average(rows, axis=0, weights=counts), 0.0, atol=1e-12)


def test_constant_columns_say_nothing():
    cells = NUMBERS.copy()
    cells[:, 2] = 7.0
    view, rows = view_of(cells)
    assert_array_equal(rows[:, 2], 0.0)
    sd = np.delete(cells, 2, axis=1).std(axis=0)
    assert_allclose(view.spread[2], np.median(sd))
    view, rows = view_of(np.full((N, 3), 7.0) * [1, 2, 3] + np.arange(N)[:, None] * 0.0)
    assert np.isfinite(full(rows)).all()


def test_missing_cells_stand_for_the_mean():
    cells = NUMBERS.copy()
    known = RANDOM.random(cells.shape) < 0.7
    cells[~known] = np.nan
    view, rows = view_of(cells)
    assert view.kind == "columns"
    assert_array_equal(rows[~known], 0.0)
    mean, sd = np.nanmean(cells, axis=0), np.nanstd(cells, axis=0)
    assert_allclose(view.mean, mean)
    assert_allclose(view.spread, sd + np.median(sd))
    expected = ((cells - mean) / (sd + np.median(sd)))[known]
    assert_allclose(rows[known] * view.scale, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("share", "kind"), [(0.5, "columns"), (0.1, "rows")])
def test_the_share_of_stored_cells_counts(share, kind):
    """Few known cells must not become a whole array."""
    cells = np.where(RANDOM.random((N, 20)) < share, NUMBERS[:, :1], np.nan)
    cells[:, 0] = NUMBERS[:, 1]
    assert view_of(cells)[0].kind == kind


def test_scores_stay_finite_far_away():
    view, _ = view_of(NUMBERS)
    rows = view.of(observe(np.full((2, 6), 1.7e308)))
    assert np.isfinite(rows @ np.full((6, 2), 1e100)).all()
    assert (rows > 1e90).all()


@pytest.mark.parametrize("name", KINDS)
def test_samples_of_weight_zero_change_nothing(name):
    cells, _ = KINDS[name]
    strange = np.vstack([cells, np.full((3, cells.shape[1]), 1e290 / 3)])
    view, _ = view_of(cells)
    other, _ = view_of(strange, np.r_[np.ones(N), np.zeros(3)])
    assert other.kind == view.kind
    assert other.scale == view.scale
    if view.kind == "columns":
        assert_array_equal(other.mean, view.mean)
        assert_array_equal(other.spread, view.spread)


@pytest.mark.parametrize("name", KINDS)
def test_weights_of_cells_do_not_depend_on_other_samples(name):
    cells, _ = KINDS[name]
    weights = RANDOM.uniform(0.1, 5.0, size=cells.shape)
    view, rows = view_of(cells, weights=weights)
    alone = np.vstack([full(view.of(observe(cells[[i]], weights[[i]]))) for i in range(N)])
    assert_allclose(alone, full(rows), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", KINDS)
def test_weights_of_samples_do_not_move_them(name):
    cells, _ = KINDS[name]
    for weights in (RANDOM.uniform(0.1, 5.0, size=(N, 1)), np.full(cells.shape, 3.0)):
        view, rows = view_of(cells, weights=weights)
        assert view.kind == KINDS[name][1]
        assert_allclose(full(rows), full(view_of(cells)[1]), rtol=1e-9, atol=1e-12)


def test_weights_of_columns_scale_them():
    weights = RANDOM.uniform(0.1, 5.0, size=(1, 50))
    cells = KINDS["tf-idf"][0]
    expected = cells * weights
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    for stored in (cells, csr_array(cells)):
        view, rows = view_of(stored, weights=weights)
        assert_allclose(full(rows) * view.scale, expected, rtol=1e-9, atol=1e-12)


def test_a_view_needs_no_fit_for_rows():
    assert_allclose(full(View("rows").of(observe(np.array([[3.0, 4.0]])))), [[0.6, 0.8]])
    assert_allclose(full(View("roots").of(observe(np.array([[9.0, 16.0]])))), [[0.6, 0.8]])


# ---- what a view shows


DRAWN = np.random.default_rng(0)
CELLS = DRAWN.gamma(1.0, size=(30, 12)) * (DRAWN.random((30, 12)) < 0.4)
CELLS[3], CELLS[:, 5] = 0.0, 0.0


@pytest.fixture(params=["dense", "sparse"])
def X(request):
    return Matrix(csr_array(CELLS) if request.param == "sparse" else CELLS, Threads())


def test_products(X):
    F, V = DRAWN.normal(size=(12, 4)), DRAWN.normal(size=(30, 3))
    assert_allclose(X.times(F), CELLS @ F, atol=1e-12)
    assert_allclose(X.transposed_times(V), CELLS.T @ V, atol=1e-12)
    assert_allclose(X.row_norms(), np.linalg.norm(CELLS, axis=1))
    assert X.shape == CELLS.shape


def test_parts(X):
    rows, columns = np.array([7, 2, 2, 19]), np.array([1, 4, 9])
    F = DRAWN.normal(size=(3, 2))
    found = X.select(rows).columns(columns).times(F)
    assert_allclose(found, CELLS[np.ix_(rows, columns)] @ F, atol=1e-12)


def test_used_columns_hold_every_value(X):
    used = X.used_columns
    assert_array_equal(np.delete(CELLS, used, axis=1), 0.0)
    if X.is_sparse:
        assert 5 not in used


def test_bits_do_not_depend_on_threads():
    F, V = DRAWN.normal(size=(12, 4)), DRAWN.normal(size=(30, 3))
    found = []
    for n in (1, 2, 4):
        with Threads(n) as threads:
            X = Matrix(csr_array(CELLS), threads)
            found.append((X.times(F), X.transposed_times(V)))
    for times, transposed in found[1:]:
        assert_array_equal(times, found[0][0])
        assert_array_equal(transposed, found[0][1])


def test_missing_cells_are_zero():
    known = DRAWN.random(CELLS.shape) < 0.7
    data = masked(csr_array(np.where(known, CELLS + 1, 0.0)))
    assert_array_equal(Matrix.of(data, Threads()).values.toarray(), np.where(known, CELLS + 1, 0.0))
    assert_array_equal(Matrix.of(observe(CELLS), Threads()).values.toarray(), CELLS)


@pytest.mark.parametrize("shape", [(30, 6), (6, 30), (5, 5)])
def test_rotations_keep_inner_products_and_scores(shape):
    cells = DRAWN.normal(size=shape)
    cells[-1] = cells[0]  # not of full rank
    turned, basis = Matrix(cells, Threads()).rotated()
    assert_allclose(turned.values @ turned.values.T, cells @ cells.T, atol=1e-10)
    assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-10)
    assert turned.shape[1] <= min(shape)
    W = DRAWN.normal(size=(basis.shape[1], 3))
    assert_allclose(cells @ (basis @ W), turned.values @ W, atol=1e-10)


# ---- vectors from outside


def test_vectors_are_centred_and_divided_by_one_number():
    vectors, counts = RANDOM.normal(3.0, 2.0, size=(N, 5)), RANDOM.integers(1, 4, size=N)
    view = VectorView.fitted(vectors, counts.astype(float))
    seen = view.of(np.repeat(vectors, counts, axis=0))
    assert_allclose(seen.mean(axis=0), 0.0, atol=1e-12)
    assert (seen**2).sum(axis=1).mean() == pytest.approx(1.0)
    assert_allclose(seen * view.scale + view.mean, np.repeat(vectors, counts, axis=0))


def test_the_unit_of_vectors_does_not_matter():
    vectors = RANDOM.normal(size=(N, 5))
    view = VectorView.fitted(vectors, np.ones(N))
    for unit in (1e-9, 1e9):
        other = VectorView.fitted(unit * vectors, np.ones(N))
        assert_allclose(other.of(unit * vectors), view.of(vectors), rtol=1e-9)


def test_equal_vectors_say_nothing():
    view = VectorView.fitted(np.ones((N, 3)), np.ones(N))
    assert_array_equal(view.of(np.ones((2, 3))), np.zeros((2, 3)))


def test_a_zero_vector_counts_as_the_mean():
    vectors = RANDOM.normal(1.0, size=(N, 5))
    view = VectorView.fitted(vectors, np.ones(N))
    padded = VectorView.fitted(np.vstack([vectors, np.zeros((9, 5))]), np.ones(N + 9))
    assert_allclose(padded.mean, view.mean)
    assert padded.scale == pytest.approx(view.scale)
    assert_array_equal(view.of(np.zeros((1, 5))), np.zeros((1, 5)))
