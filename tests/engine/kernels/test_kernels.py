"""The inner loops against naive numpy."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest

import oracles
from cofactor.engine import kernels
from cofactor.engine.factors import pad, padded_width
from cofactor.engine.kernels import (
    EPSILON,
    Entries,
    Forms,
    Slopes,
    cross_rows,
    curved_value,
    descend_quadratic,
    gram_rows,
    sum_rows,
)
from cofactor.engine.kernels.descent import ROOM
from cofactor.engine.kernels.rows import _weighted_log
from cofactor.engine.kernels.tiles import _surrogate_root
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
from cofactor.engine.subproblem.entries import no_entries
from cofactor.engine.subproblem.problem import no_slopes
from cofactor.engine.subproblem.surrogate import no_surrogate

WIDTHS = [1, 3, 4, 5, 8, 12, 13, 16, 20, 31, 32, 36, 64, 100]  # every branch of the unrolled loops
COUNTS = [0, 1, 3, 4, 5, 8, 17]


def descend_rows(V, entries, F, forms, rounds, sweeps, tolerance):
    all_topics = entries.log.size == 0 and not np.any(forms.barrier)
    settings = rounds, sweeps, tolerance, all_topics
    return all_at_once(kernels.descend_slices, V, entries, F, forms, *settings)


def multiply_rows(V, entries, F, forms, rounds, tolerance, epsilon, ridge):
    """Update rows in place, as the descent does; the kernel knows padded rows only, and takes
    downward slopes for entries."""
    none = no_slopes(V.dtype)
    down = as_entries(np.broadcast_to(forms.down, V.shape)) if len(forms.down) else none
    barred = bool(np.any(forms.barrier))
    old, new = pad(V), np.full((len(V), F.shape[1]), np.nan)
    settings = rounds, tolerance, epsilon, ridge
    unfinished = kernels.multiply_slices(
        old, new, entries, F, forms, (down, none), barred, *settings
    )
    assert not new[:, V.shape[1] :].any()
    V[:] = new[:, : V.shape[1]]
    return unfinished


def as_entries(down):
    """Return slopes as entries of the rows of a unit matrix, halved, with a weight of two."""
    n, r = down.shape
    indices, start = np.tile(np.arange(r), n).astype(np.int32), np.arange(n + 1) * r
    return Slopes(0.5 * down.ravel(), indices, start, start[:-1], pad(np.eye(r)), 2.0)


def all_at_once(kernel, V, *arguments):
    """Run a kernel on one slice of all rows, without weights and costs."""
    return kernel(V, *arguments, np.empty(0), 0, np.array([0, len(V)]), np.empty((1, 0)))


def padded_factor(rng, rows, width):
    F = np.zeros((rows, padded_width(width)))
    F[:, :width] = rng.random((rows, width))
    return F


# ---------------------------------------------------------------- vectors


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


# ---------------------------------------------------------------- sums


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


def test_weighted_log_is_accurate_over_the_whole_range():
    rng = np.random.default_rng(0)
    exponents = np.arange(-1022, 1024)
    for mantissa in (1.0, 1.25, np.sqrt(2), np.nextafter(np.sqrt(2), 2), 1.75, np.nextafter(2, 1)):
        p = np.ldexp(mantissa, exponents)
        ours = np.array([_weighted_log(np.ones(1), p[i : i + 1], 1) for i in range(len(p))])
        exact = np.array([math.log(value) for value in p])
        np.testing.assert_allclose(ours, exact, rtol=4e-16, atol=4e-16)
    p = np.exp(rng.uniform(-700, 700, 20000))
    x = rng.exponential(size=p.size)
    exact = math.fsum(x * np.log(p))
    assert _weighted_log(x, p, p.size) == pytest.approx(exact, abs=1e-15 * math.fsum(x * 700))
    near = 1 + rng.uniform(-1e-6, 1e-6, 500)  # where logarithms lose digits
    ours = np.array([_weighted_log(np.ones(1), near[i : i + 1], 1) for i in range(500)])
    np.testing.assert_allclose(ours, np.log(near), rtol=1e-14)
    assert _weighted_log(x, p, 0) == 0.0


# ---------------------------------------------------------------- rows


def random_rows(rng, n, r, m, *, square, barrier, curved=True, inverse=False):
    """Row problems with every part that is asked for."""
    lengths = rng.integers(0, m + 1, n) if curved else np.zeros(n, int)
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    indices = [rng.permutation(m)[:length] for length in lengths]
    size = int(start[-1])

    def part(wanted):
        return rng.exponential(size=size) * (rng.random(size) < 0.8) if wanted else np.empty(0)

    entries = Entries(
        part(curved), part(square), part(inverse), part(inverse),
        np.concatenate([*indices, []]).astype(np.int32), start, start[:-1],
    )  # fmt: skip
    roots = rng.random((2, r + 1, r)) * (rng.random((2, 1, 1)) < 0.7)
    forms = Forms(
        rng.exponential(size=(n, r)) if rng.random() < 0.5 else np.empty((0, r)),
        rng.exponential(size=(n, r)) if rng.random() < 0.5 else np.empty((0, r)),
        rng.exponential(size=(2, r)),
        np.array([root.T @ root + 1e-3 * np.eye(r) for root in roots]),
        rng.exponential(size=(n, 2)) if rng.random() < 0.5 else np.ones((1, 2)),
        rng.exponential(size=(n, r)) * (rng.random((n, r)) < 0.7) if barrier else np.zeros((1, r)),
    )
    F = padded_factor(rng, m, r) * np.exp(2 * rng.standard_normal((m, 1)))
    return entries, forms, F


def row_value(v, i, entries, forms, F, epsilon=EPSILON):
    """The objective of row i, literally."""
    s, e = entries.start[i], entries.start[i + 1]
    index = entries.indices[entries.first[i] : entries.first[i] + e - s]
    bare = F[index, : len(v)] @ v
    p = bare + epsilon
    scales = forms.scales[i if len(forms.scales) > 1 else 0]
    barrier = forms.barrier[i if len(forms.barrier) > 1 else 0]
    terms = [0.5 * t * v @ G @ v for t, G in zip(scales, forms.grams, strict=True)]
    terms += [t * up @ v for t, up in zip(scales, forms.ups, strict=True)]
    terms += [forms.up[i] @ v] if len(forms.up) else []
    terms += [-forms.down[i] @ v] if len(forms.down) else []
    terms += [*(-entries.log[s:e] * np.log(p))] if entries.log.size else []
    terms += [*(0.5 * entries.square[s:e] * bare**2)] if entries.square.size else []
    if entries.inverse.size:
        terms += [*(entries.inverse[s:e] / p + entries.concave[s:e] * np.log(p))]
    seen = barrier > 0
    terms += [*(-barrier[seen] * np.log(v[seen]))]
    return math.fsum(terms), math.fsum(map(abs, terms))


PARTS = pytest.mark.parametrize(
    ("square", "barrier", "curved"),
    [(s, b, c) for s in (False, True) for b in (False, True) for c in (True, False) if c or not s],
)


@PARTS
def test_descent_never_raises_a_row(square, barrier, curved):
    """Thousands of rows with quadratic parts, squares and barriers, sweep by sweep."""
    rng = np.random.default_rng(100 + 4 * square + 2 * barrier + curved)
    checked = fell = 0
    while checked < 1000:
        n, r, m = 20, int(rng.integers(1, 9)), int(rng.integers(1, 15))
        entries, forms, F = random_rows(rng, n, r, m, square=square, barrier=barrier, curved=curved)
        spread = rng.choice([2, 2 if barrier else 10])  # 10: steps that cancel
        V = np.exp(spread * rng.standard_normal((n, r)))
        V *= (rng.random((n, r)) < 0.8) if not barrier else 1.0
        before = [row_value(V[i], i, entries, forms, F) for i in range(n)]
        for sweeps in (1, 2):
            descend_rows(V, entries, F, forms, 1, sweeps, 0.0)
            after = [row_value(V[i], i, entries, forms, F) for i in range(n)]
            for (old, size), (new, _) in zip(before, after, strict=True):
                assert new <= old + 1e-12 * size
                fell += new < old
            before, checked = after, checked + n
        assert np.all(np.isfinite(V))
        assert V.min() >= 0
    assert fell > checked / 2


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("by_parts", [False, True])
def test_no_update_takes_a_barred_entry_below_epsilon(by_parts, rounds):
    """Best would be 1e-30; the topic without a barrier goes where it likes, and padding is zero."""
    n, none = 37, np.empty((0, 2))
    barrier = np.array([[1e-30, 0.0]])
    forms = Forms(none, none, np.ones((1, 2)), np.zeros((1, 2, 2)), np.ones((1, 1)), barrier)
    old, new = pad(np.full((n, 2), 1e-3)), np.full((n, 4), np.nan)
    if by_parts:
        surrogate = no_surrogate(2)
        for _ in range(rounds):
            kernels.multiply_by_parts(old, new, surrogate, forms, True, 0.0)
            old = new.copy()
    else:
        entries, slopes = no_entries(n, np.dtype(float)), no_slopes(np.dtype(float))
        settings = rounds, 0.0, EPSILON, 0.0
        kernels.multiply_slices(old, new, entries, old[:1], forms, (slopes,) * 2, True, *settings)
    np.testing.assert_array_equal(new, np.tile([EPSILON, 0.0, 0.0, 0.0], (n, 1)))


@pytest.mark.parametrize("size", [1e-14, 1e-6, 1.0])
@pytest.mark.parametrize("curved", [False, True])
def test_a_barrier_keeps_entries_off_zero(curved, size):
    """However weak it is: its logarithm would be infinite."""
    rng = np.random.default_rng(13)
    entries, forms, F = random_rows(rng, 30, 6, 8, square=False, barrier=True, curved=curved)
    forms = forms._replace(barrier=size * forms.barrier)
    for run in (
        lambda V: descend_rows(V, entries, F, forms, 3, 2, 0.0),
        lambda V: multiply_rows(V, entries, F, forms, 30, 0.0, EPSILON, 0.0),
    ):
        V = rng.random((30, 6))
        run(V)
        assert np.all(V[forms.barrier > 0] > 0)


@PARTS
def test_multiplication_never_raises_a_row(square, barrier, curved):
    rng = np.random.default_rng(200 + 4 * square + 2 * barrier + curved)
    for inverse in (False, True) if curved else (False,):
        for _ in range(20):
            n, r, m = 20, int(rng.integers(1, 9)), int(rng.integers(1, 15))
            entries, forms, F = random_rows(
                rng, n, r, m, square=square, barrier=barrier, curved=curved, inverse=inverse
            )
            V = np.exp(rng.standard_normal((n, r)))
            before = [row_value(V[i], i, entries, forms, F) for i in range(n)]
            multiply_rows(V, entries, F, forms, 1, 0.0, EPSILON, 0.0)
            after = [row_value(V[i], i, entries, forms, F) for i in range(n)]
            for (old, size), (new, _) in zip(before, after, strict=True):
                assert new <= old + 1e-12 * size


def test_descent_finds_the_minimum_and_says_so():
    """Enough rounds: no row is left over, and the KKT conditions hold."""
    rng = np.random.default_rng(7)
    n, r, m = 30, 5, 12
    entries, forms, F = random_rows(rng, n, r, m, square=True, barrier=False)
    V = np.ones((n, r))
    assert descend_rows(V, entries, F, forms, 0, 1, 1e-9) == n
    assert descend_rows(V, entries, F, forms, 500, 5, 1e-9) == 0
    for i in range(n):
        best, size = row_value(V[i], i, entries, forms, F)
        for k, step in [(k, step) for k in range(r) for step in (-1e-4, 1e-4)]:
            moved = V[i].copy()
            moved[k] = max(moved[k] + step, 0.0)
            assert row_value(moved, i, entries, forms, F)[0] >= best - 1e-9 * size


def test_fitted_values_survive_cancellation():
    """1e8 falls to 0 and leaves 1e-3, with a rounding error far above the 1e-9 to be fitted."""
    none, start = np.empty(0), np.array([0, 1])
    entries = Entries(np.array([1e-9]), none, none, none, np.zeros(1, np.int32), start, start[:-1])
    forms = Forms(np.empty((0, 2)), np.empty((0, 2)), np.array([[2.0, 1.0]]), np.zeros((1, 2, 2)),
                  np.ones((1, 1)), np.zeros((1, 2)))  # fmt: skip
    v = np.array([[1e8, 1e-3]])
    descend_rows(v, entries, np.array([[1.0, 1.0, 0.0, 0.0]]), forms, 1, 100, 0.0)
    np.testing.assert_allclose(v, [[0.0, 1e-9 - EPSILON]], rtol=1e-6)


def test_a_row_too_long_for_the_scratch_space_is_swept_in_groups():
    """600,000 entries and 8 topics: four topics at a time."""
    rng = np.random.default_rng(11)
    m, r = 600_000, 8
    assert ROOM // m < r
    F, v = rng.gamma(0.3, size=(m, r)), rng.random((1, r))
    x = F @ rng.random(r) * rng.random(m)
    none, start = np.empty(0), np.array([0, m])
    indices = np.arange(m, dtype=np.int32)
    entries = Entries(x, none, none, none, indices, start, start[:-1])
    forms = Forms(np.empty((0, r)), np.empty((0, r)), F.sum(0)[None], np.zeros((1, r, r)),
                  np.ones((1, 1)), np.zeros((1, r)))  # fmt: skip

    def value():
        return F.sum(0) @ v[0] - x @ np.log(F @ v[0] + EPSILON)

    values = [value()]
    for _ in range(5):
        descend_rows(v, entries, F, forms, 1, 1, 0.0)
        values.append(value())
    assert np.all(np.diff(values) <= 1e-12 * np.abs(values[:-1]))
    assert descend_rows(v, entries, F, forms, 20, 2, 1e-6) == 0
    gradient = F.sum(0) - (x / (F @ v[0] + EPSILON)) @ F
    assert np.abs(np.minimum(v[0], gradient / F.sum(0))).max() < 1e-5


@pytest.mark.parametrize("shared", [True, False], ids=["one form", "a form for each row"])
@pytest.mark.parametrize("n", [1, 63, 64, 65, 150])
def test_quadratic_descent_is_nnls(n, shared):
    rng = np.random.default_rng(n)
    r = 6
    A = rng.random((20, r))
    X = rng.random((n, r)) @ A.T * (rng.random((n, 20)) < 0.5)
    own = np.ones((n, 1)) if shared else rng.exponential(size=(n, 1)) + 0.1
    grams, scales = 2 * (A.T @ A)[None], np.ones((1, 1))
    if not shared:  # after a form for all
        grams, scales = np.concatenate([0 * grams, grams]), np.hstack([np.ones((n, 1)), own])
    forms = Forms(
        2 * own * (X @ A), np.empty((0, r)), np.zeros((len(grams), r)), grams, scales,
        np.zeros((1, r)),
    )  # fmt: skip
    V = np.ones((n, r))
    assert descend_quadratic(V, forms, 20000, 1e-13) == 0
    np.testing.assert_allclose(V, oracles.nnls_rows(X, A), rtol=1e-6, atol=1e-7)


def test_quadratic_descent_equals_the_general_kernel():
    """Rows without curved entries: both kernels make the same sweep."""
    rng = np.random.default_rng(8)
    n, r = 70, 7
    entries, forms, F = random_rows(rng, n, r, 3, square=False, barrier=False, curved=False)
    V = rng.random((n, r)) + 0.1
    by_rows, by_batches = V.copy(), V.copy()
    descend_rows(by_rows, entries, F, forms, 1, 1, 0.0)
    descend_quadratic(by_batches, forms, 1, 0.0)
    np.testing.assert_allclose(by_batches, by_rows, rtol=1e-9, atol=1e-12)


def test_coordinates_without_curvature_go_to_zero_or_stay():
    """Only a slope: a rising one sends the entry to zero, a flat one leaves it alone."""
    forms = Forms(
        np.empty((0, 2)), np.empty((0, 2)), np.array([[1.0, 0.0]]), np.zeros((1, 2, 2)),
        np.ones((1, 1)), np.zeros((1, 2)),
    )  # fmt: skip
    entries = random_rows(np.random.default_rng(0), 1, 2, 1, square=0, barrier=0, curved=0)[0]
    for descend in (
        lambda V: descend_quadratic(V, forms, 1, 0.0),
        lambda V: descend_rows(V, entries, np.zeros((1, 4)), forms, 1, 1, 0.0),
        lambda V: multiply_rows(V, entries, np.zeros((1, 4)), forms, 1, 0.0, EPSILON, 0.0),
    ):
        V = np.array([[3.0, 5.0]])
        descend(V)
        assert V.tolist() == [[0.0, 5.0]]


@pytest.mark.parametrize("parts", ["log", "square", "inverse", "all"])
def test_curved_value(parts):
    rng = np.random.default_rng(9)
    n, r, m = 12, 5, 10
    entries, _, F = random_rows(
        rng, n, r, m, square=parts in ("square", "all"), barrier=False,
        inverse=parts in ("inverse", "all"),
    )  # fmt: skip
    if parts in ("square", "inverse"):
        entries = entries._replace(log=np.empty(0))
    V = np.exp(rng.standard_normal((n, r)))
    none = Forms(np.empty((0, r)), np.empty((0, r)), np.zeros((1, r)), np.zeros((1, r, r)),
                 np.ones((1, 1)), np.zeros((1, r)))  # fmt: skip
    for weights in (np.empty(0), rng.exponential(size=n)):
        w = weights if weights.size else np.ones(n)
        rows = [row_value(V[i], i, entries, none, F) for i in range(n)]
        expected = math.fsum(w * [value for value, _ in rows])
        assert curved_value(V, entries, F, weights) == pytest.approx(expected, rel=1e-11)


# ---------------------------------------------------------------- the surrogate's root


def test_surrogate_root_minimises_the_surrogate():
    """The one positive root of q t³ + (u − v) t² − c t − e, or the boundary where there is none."""
    rng = np.random.default_rng(12)
    numbers = 10 ** rng.uniform(-8, 8, (5, 20000)) * (rng.random((5, 20000)) < 0.7)
    numbers[1] = np.where(rng.random(20000) < 0.1, numbers[2], numbers[1])  # slopes of exactly 0
    q, u, v, c, e = numbers
    endless = (q == 0) & (u <= v) & ((c > 0) | (e > 0) | (u < v))  # no term of ours falls for ever
    q, u, v, c, e = numbers[:, ~endless]
    found = [_surrogate_root(*four) for four in zip(q, u - v, c, e, strict=True)]
    np.testing.assert_allclose(found, oracles.positive_root(q, u, v, c, e), 1e-8, 1e-12)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1.0, 1e30, 1e100])
def test_surrogate_root_against_numpy(scale):
    rng = np.random.default_rng(10)
    for q, slope, c, e in np.exp(rng.standard_normal((200, 4))) * [1, 1, 1, 1]:
        slope *= rng.choice([-1.0, 1.0])
        roots = np.roots([q, slope, -c, -e])
        expected = max(roots[np.abs(roots.imag) < 1e-9].real)
        assert _surrogate_root(*(scale * x for x in (q, slope, c, e))) == pytest.approx(expected)


def test_machine_code_is_kept_and_loaded_without_the_compiler(tmp_path):
    code = (
        "import sys, numpy as np; from cofactor.engine.kernels import widen\n"
        "out = np.zeros((3, 4)); widen(np.ones((3, 2)), out)\n"
        "assert out[:, :2].all() and out.sum() == 6\n"
        "print(sum(widen.stats.cache_hits.values()), 'numba.np.linalg' in sys.modules)"
    )
    paths = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    said = [
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, **paths}, text=True,
            capture_output=True, check=True,
        ).stdout.split()
        for _ in range(2)
    ]  # fmt: skip
    assert said == [["0", "True"], ["1", "False"]]


def test_kernels_without_a_cache_warn_once():
    code = (
        "from numba.core.caching import FunctionCache\n"
        "def refuse(*_): raise RuntimeError('no folder for the cache')\n"
        "FunctionCache.__init__ = refuse\n"
        "import cofactor.engine.kernels"
    )
    said = subprocess.run(
        [sys.executable, "-W", "always", "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
        capture_output=True,
        check=True,
    ).stderr
    assert said.count("cofactor cannot keep its compiled kernels on disk") == 1
    assert "set NUMBA_CACHE_DIR" in said


def test_some_rows_are_those_of_the_whole():
    """Entries and forms of a slice of rows give the cost of these rows; forms may be shared."""
    rng = np.random.default_rng(14)
    entries, forms, F = random_rows(rng, 9, 3, 8, square=True, barrier=True)
    V = rng.random((9, 3)) + 0.1
    for low, high in ((0, 9), (2, 5), (8, 9), (4, 4)):
        some, own = entries.rows(low, high), forms.rows(low, high)
        for i in range(low, high):
            whole = row_value(V[i], i, entries, forms, F)
            assert row_value(V[i], i - low, some, own, F) == whole
    shared = Forms(*(array[:1] for array in forms))
    for array, same in zip(shared.rows(3, 7), shared, strict=True):
        assert np.array_equal(array, same)
    slopes = Slopes(entries.log, entries.indices, entries.start, entries.first, F, 2.0)
    few = slopes.rows(2, 5)
    assert few.start.tolist() == slopes.start[2:6].tolist()
    assert few.first.tolist() == slopes.first[2:5].tolist()
    surrogate = no_surrogate(3)._replace(c=V).rows(2, 5)
    assert np.array_equal(surrogate.c, V[2:5])
    assert len(surrogate.e) == 0
