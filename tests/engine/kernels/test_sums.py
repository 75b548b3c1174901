"""Sums over rows against naive numpy."""

from itertools import pairwise

import numpy as np
import pytest

from cofactor.engine.factors import pad, padded_width
from cofactor.engine.kernels import (
    Places,
    Slopes,
    cross_slices,
    gram_slices,
    inner_slices,
    sum_slices,
)
from kernel_rows import padded_factor

WIDTHS = [1, 3, 4, 5, 8, 12, 13, 16, 20, 31, 32, 36, 64, 100]  # every branch of the unrolled loops


@pytest.mark.parametrize("width", WIDTHS)
def test_padded_is_the_next_multiple(width):
    assert padded_width(width) % 4 == 0
    assert 0 <= padded_width(width) - width < 4


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("width", WIDTHS)
def test_padded_rows_end_with_zeros(width, dtype):
    F = np.random.default_rng(0).random((7, width)).astype(dtype)
    wide = pad(F)
    assert wide.shape == (7, padded_width(width))
    assert wide.ctypes.data % 64 == 0
    np.testing.assert_array_equal(wide[:, :width], F)
    assert not wide[:, width:].any()


@pytest.mark.parametrize("n", [0, 1, 63, 64, 200])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("weighted", [False, True], ids=["ones", "weights"])
def test_gram_sums_and_inner_products(n, width, weighted):
    """Each slice gets its own; some may be empty."""
    rng = np.random.default_rng(n)
    V, other = rng.random((2, n, width))
    weights = rng.random(n) if weighted else None
    w = np.ones(n) if weights is None else weights
    bounds = np.array([0, n // 3, n // 3, n])
    gram, total = np.full((3, width, width), np.nan), np.full((3, width), np.nan)
    inner = np.full(3, np.nan)
    gram_slices(pad(V), weights, bounds, gram)
    sum_slices(pad(V), weights, bounds, total)
    inner_slices(pad(V), other, weights, bounds, inner)
    for t, (low, high) in enumerate(pairwise(bounds)):
        some, of = V[low:high], w[low:high]
        np.testing.assert_allclose(gram[t], some.T @ (of[:, None] * some), rtol=1e-12)
        np.testing.assert_allclose(total[t], of @ some, rtol=1e-12)
        expected = (of[:, None] * some * other[low:high]).sum()
        np.testing.assert_allclose(inner[t], expected, rtol=1e-12)
        assert np.array_equal(gram[t], gram[t].T)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("r", WIDTHS)
def test_cross_slices(r, dtype):
    """A CSR matrix, and a dense one whose rows share their indices, times a factor."""
    rng = np.random.default_rng(r)
    X = (rng.random((6, 9)) * (rng.random((6, 9)) < 0.5)).astype(dtype)
    F = padded_factor(rng, 9, r)
    rows, columns = np.nonzero(X)
    start = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=6))])
    sparse = Places(columns.astype(np.int32), start, start[:-1])
    start = np.arange(7) * 9
    dense = Places(np.arange(9, dtype=np.int32), start, np.zeros(6, np.int64))
    expected = 0.25 * X.astype(float) @ F[:, :r]
    for values, places in ((X[rows, columns], sparse), (X.ravel(), dense)):
        out = np.full((6, r), np.nan)
        cells = Slopes(values, places, F, 0.25)
        cross_slices(cells, out, np.array([1, 3, 5]))
        assert np.isnan(out[[0, 5]]).all()
        cross_slices(cells, out, np.array([0, 1]))
        cross_slices(cells, out, np.array([5, 6]))
        np.testing.assert_allclose(out, expected, rtol=1e-12)
