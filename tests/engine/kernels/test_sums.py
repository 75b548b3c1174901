"""Sums over rows against naive numpy."""

import numpy as np
import pytest

from cofactor.engine.factors import pad
from cofactor.engine.kernels import cross_rows, gram_rows, sum_rows
from kernel_rows import padded_factor


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 200])
@pytest.mark.parametrize("weighted", [False, True], ids=["ones", "weights"])
def test_gram_and_sums(n, weighted, dtype):
    rng = np.random.default_rng(n)
    V = rng.random((n, 5)).astype(dtype)
    weights = rng.random(n) if weighted else np.empty(0)
    w = weights if weighted else np.ones(n)
    gram, total = np.full((5, 5), np.nan), np.full(5, np.nan)
    wide = V.astype(float)
    gram_rows(pad(V), weights, gram)
    sum_rows(V, weights, total)
    np.testing.assert_allclose(gram, wide.T @ (w[:, None] * wide), rtol=1e-12)
    np.testing.assert_allclose(total, w @ wide, rtol=1e-12)
    assert np.array_equal(gram, gram.T)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("r", [1, 5, 8])
def test_cross_rows(r, dtype):
    """A CSR matrix, and a dense one whose rows share their indices, times a factor."""
    rng = np.random.default_rng(r)
    X = (rng.random((6, 9)) * (rng.random((6, 9)) < 0.5)).astype(dtype)
    F = padded_factor(rng, 9, r)
    rows, columns = np.nonzero(X)
    start = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=6))])
    out = np.full((6, r), np.nan)
    cross_rows(X[rows, columns], columns.astype(np.int32), start, start[:-1], F, out)
    np.testing.assert_allclose(out, X.astype(float) @ F[:, :r], rtol=1e-12)
    shared = np.arange(9, dtype=np.int32)
    start, first = np.arange(7) * 9, np.zeros(6, np.int64)
    cross_rows(X.ravel(), shared, start, first, F, out)
    np.testing.assert_allclose(out, X.astype(float) @ F[:, :r], rtol=1e-12)
