"""Vector operations against naive numpy."""

import numpy as np
import pytest

from cofactor.engine.factors import pad, padded_width
from cofactor.engine.kernels.vectors import (
    LANES,
    add_rows,
    axpy,
    dots,
    gather,
    outer,
    products,
    put_rows,
    ratios,
)
from kernel_rows import padded_factor

WIDTHS = [1, 3, 4, 5, 8, 12, 13, 16, 20, 31, 32, 36, 64, 100]  # every branch of the unrolled loops
COUNTS = [0, 1, 3, 4, 5, 8, 17]


@pytest.mark.parametrize("width", WIDTHS)
def test_padded_is_the_next_multiple(width):
    assert padded_width(width) % LANES == 0
    assert 0 <= padded_width(width) - width < LANES


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("width", WIDTHS)
def test_widened_rows_end_with_zeros(width, dtype):
    F = np.random.default_rng(0).random((7, width)).astype(dtype)
    wide = pad(F)
    assert wide.shape == (7, padded_width(width))
    assert wide.ctypes.data % 64 == 0
    np.testing.assert_array_equal(wide[:, :width], F)
    assert not wide[:, width:].any()


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("width", WIDTHS)
def test_dots_and_axpy(width, count):
    rng = np.random.default_rng(width)
    F = padded_factor(rng, 9, width)
    indices = rng.integers(0, 9, count).astype(np.int32)
    v, p, x = rng.random(F.shape[1]), rng.random(count + 3), rng.random(count)
    expected = p.copy()
    expected[:count] += F[indices] @ v
    dots(v, indices, F, p)
    np.testing.assert_allclose(p, expected, rtol=1e-13)
    for dtype in (np.float64, np.float32):
        out = rng.random(F.shape[1])  # axpy writes, it does not add
        axpy(x.astype(dtype), indices, F, out)
        np.testing.assert_allclose(out, x.astype(dtype) @ F[indices], rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("width", WIDTHS)
def test_add_rows_and_put_rows(width, count, dtype):
    """Some entries of a list, with a weight; their neighbours do not count.  One adds to what is
    there, the other replaces it."""
    rng = np.random.default_rng(width)
    F = padded_factor(rng, 9, width)
    indices = rng.integers(0, 9, count + 4).astype(np.int32)
    x, out = rng.random(count + 5).astype(dtype), rng.random(F.shape[1])
    expected = out + 0.3 * (x[2 : 2 + count] @ F[indices[1 : 1 + count]])
    put = rng.random(F.shape[1])
    put_rows(0.3, x, 2, indices, 1, count, F, put)
    np.testing.assert_allclose(put, expected - out, rtol=1e-13, atol=1e-15)
    add_rows(0.3, x, 2, indices, 1, count, F, out)
    np.testing.assert_allclose(out, expected, rtol=1e-13)


@pytest.mark.parametrize("count", [0, 1, 2, 5, 16])
@pytest.mark.parametrize("width", WIDTHS)
def test_products(width, count):
    """Rows times a square matrix; what follows them is left alone."""
    rng = np.random.default_rng(width)
    F, V = padded_factor(rng, width, width), rng.random((count + 1, padded_width(width)))
    out = np.full(V.size, 7.0)
    products(V.ravel(), count, F, out)
    rows = out.reshape(V.shape)
    np.testing.assert_allclose(rows[:count], V[:count, :width] @ F, rtol=1e-13)
    np.testing.assert_array_equal(rows[count], 7.0)
    for row, v in zip(rows[:count], V, strict=False):  # by pairs or alone: slices end anywhere
        alone = np.empty_like(v)
        products(v, 1, F, alone)
        np.testing.assert_array_equal(row, alone)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("width", [1, 5, 9, 13, 17, 50])
@pytest.mark.parametrize("count", COUNTS)
def test_ratios(count, width, dtype):
    """Fitted values, quotients and their sum over rows; what follows them is left alone."""
    rng = np.random.default_rng(count + width)
    F = padded_factor(rng, 9, width)
    indices = rng.integers(0, 9, count).astype(np.int32)
    v, x, out = rng.random(F.shape[1]), rng.random(count).astype(dtype), np.full(F.shape[1], np.nan)
    p, q = np.full((2, count + 3), 7.0)
    ratios(v, x, indices, F, 0.25, p, q, out)
    fitted = 0.25 + F[indices] @ v
    np.testing.assert_allclose(p, [*fitted, 7, 7, 7], rtol=1e-14)
    np.testing.assert_allclose(q, [*(x / fitted), 7, 7, 7], rtol=1e-14)
    np.testing.assert_allclose(out, (x / fitted) @ F[indices], rtol=1e-13)


@pytest.mark.parametrize("width", [1, 5, 9, 13, 17, 50])
@pytest.mark.parametrize("n", [0, 1, 7])
def test_outer(n, width):
    """The upper triangle of a product, wide vectors or narrow."""
    rng = np.random.default_rng(n + width)
    L, F = padded_factor(rng, n, width), padded_factor(rng, n, width)
    out = np.full((F.shape[1], F.shape[1]), np.nan)
    outer(L, F, out)
    upper = np.triu_indices(F.shape[1])
    np.testing.assert_allclose(out[upper], (L.T @ F)[upper], rtol=1e-13)


@pytest.mark.parametrize("count", COUNTS)
def test_gather(count):
    rng = np.random.default_rng(count)
    F = padded_factor(rng, 9, 16)
    indices = rng.integers(0, 9, count).astype(np.int32)
    groups = np.array([8, 0, 4], dtype=np.int64)
    stride = -(-count // 8) * 8
    out = np.full(4 * 3 * stride, np.nan)
    gather(F, indices, groups, 2, stride, out)
    block = out.reshape(12, stride)
    for g, t in np.ndindex(2, 4):
        np.testing.assert_array_equal(block[4 * g + t, :count], F[indices, groups[g] + t])
    assert np.all(block[:8, count:] == 0)
    assert np.all(np.isnan(block[8:]))  # only as many groups as asked for
