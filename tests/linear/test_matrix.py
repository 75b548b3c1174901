"""Matrices of samples: dense and sparse ones give the same products."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from cofactor.engine.observations import masked, observe
from cofactor.engine.threads import Threads
from cofactor.linear.views import Matrix

RANDOM = np.random.default_rng(0)
CELLS = RANDOM.gamma(1.0, size=(30, 12)) * (RANDOM.random((30, 12)) < 0.4)
CELLS[3], CELLS[:, 5] = 0.0, 0.0


@pytest.fixture(params=["dense", "sparse"])
def X(request):
    return Matrix(csr_array(CELLS) if request.param == "sparse" else CELLS, Threads())


def test_products(X):
    F, V = RANDOM.normal(size=(12, 4)), RANDOM.normal(size=(30, 3))
    assert_allclose(X.times(F), CELLS @ F, atol=1e-12)
    assert_allclose(X.transposed_times(V), CELLS.T @ V, atol=1e-12)
    assert_allclose(X.row_norms(), np.linalg.norm(CELLS, axis=1))
    assert X.shape == CELLS.shape


def test_parts(X):
    rows, columns = np.array([7, 2, 2, 19]), np.array([1, 4, 9])
    F = RANDOM.normal(size=(3, 2))
    found = X.select(rows).columns(columns).times(F)
    assert_allclose(found, CELLS[np.ix_(rows, columns)] @ F, atol=1e-12)


def test_used_columns_hold_every_value(X):
    used = X.used_columns
    assert_array_equal(np.delete(CELLS, used, axis=1), 0.0)
    if X.is_sparse:
        assert 5 not in used


def test_bits_do_not_depend_on_threads():
    F, V = RANDOM.normal(size=(12, 4)), RANDOM.normal(size=(30, 3))
    found = []
    for n in (1, 2, 4):
        with Threads(n) as threads:
            X = Matrix(csr_array(CELLS), threads)
            found.append((X.times(F), X.transposed_times(V)))
    for times, transposed in found[1:]:
        assert_array_equal(times, found[0][0])
        assert_array_equal(transposed, found[0][1])


def test_missing_cells_are_zero():
    known = RANDOM.random(CELLS.shape) < 0.7
    data = masked(csr_array(np.where(known, CELLS + 1, 0.0)))
    assert_array_equal(Matrix.of(data, Threads()).values.toarray(), np.where(known, CELLS + 1, 0.0))
    assert_array_equal(Matrix.of(observe(CELLS), Threads()).values.toarray(), CELLS)


@pytest.mark.parametrize("shape", [(30, 6), (6, 30), (5, 5)])
def test_rotations_keep_inner_products_and_scores(shape):
    cells = RANDOM.normal(size=shape)
    cells[-1] = cells[0]  # not of full rank
    turned, basis = Matrix(cells, Threads()).rotated()
    assert_allclose(turned.values @ turned.values.T, cells @ cells.T, atol=1e-10)
    assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-10)
    assert turned.shape[1] <= min(shape)
    W = RANDOM.normal(size=(basis.shape[1], 3))
    assert_allclose(cells @ (basis @ W), turned.values @ W, atol=1e-10)
