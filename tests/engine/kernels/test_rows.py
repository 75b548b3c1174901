"""The value of rows, and its logarithm."""

import math

import numpy as np
import pytest

from cofactor.engine.kernels import Forms, curved_value
from cofactor.engine.kernels.rows import _weighted_log
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
