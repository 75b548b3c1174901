"""The value of rows, and its logarithm."""

import math

import numpy as np
import pytest

from cofactor.engine.kernels import Forms, Slopes, curved_value
from cofactor.engine.kernels.rows import _weighted_log
from cofactor.engine.subproblem.surrogate import no_surrogate
from kernel_rows import random_rows, row_value


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
