"""The cost of rows, its logarithm, and products with rows of the other factor."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

from cofactor.engine.kernels import EPSILON, Places
from kernel_rows import (
    cost_of,
    entries_at,
    padded_factor,
    random_rows,
    row_value,
    rows_with,
    shared_forms,
)

WIDTHS = [1, 3, 4, 5, 8, 12, 13, 16, 20, 31, 32, 36, 64, 100]  # every branch of the unrolled loops
COUNTS = [0, 1, 3, 4, 5, 8, 17]


def test_the_logarithm_is_accurate_over_the_whole_range():
    """One entry a row, with the fitted value 1·p + EPSILON."""
    rng = np.random.default_rng(0)
    mantissas = 1.0, 1.25, np.sqrt(2), np.nextafter(np.sqrt(2), 2), 1.75, np.nextafter(2, 1)
    wide = np.concatenate([np.ldexp(m, np.arange(-39, 1020)) for m in mantissas])
    for p in (wide, np.exp(rng.uniform(-27, 700, 20000)), 1 + rng.uniform(-1e-6, 1e-6, 500)):
        F = np.zeros((len(p), 4))
        F[:, 0] = p - EPSILON
        fitted = F[:, 0] * 1.0 + EPSILON
        one = entries_at([0], np.array([0, 1]), log=-np.ones(1))
        ours = [cost_of(np.ones((1, 1)), one, F[i : i + 1]) for i in range(len(p))]
        np.testing.assert_allclose(ours, [math.log(v) for v in fitted], rtol=4e-16, atol=4e-16)
    x = rng.exponential(size=len(wide))
    F = np.zeros((len(wide), 4))
    F[:, 0] = wide
    entries = entries_at(np.arange(len(wide)), np.array([0, len(wide)]), log=x)
    exact = -math.fsum(x * np.log(wide + EPSILON))
    found = cost_of(np.ones((1, 1)), entries, F)
    assert found == pytest.approx(exact, abs=1e-15 * math.fsum(x * 700))


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("width", WIDTHS)
def test_fitted_values_of_all_widths(width, count):
    """Rows of every length and width; a square's cost shows the fitted value of each entry."""
    rng = np.random.default_rng(width)
    F, v = padded_factor(rng, 9, width), rng.random((1, width))
    indices, b = rng.integers(0, 9, count), rng.random(count)
    entries = entries_at(indices, np.array([0, count]), square=b)
    expected = 0.5 * b @ (F[indices, :width] @ v[0]) ** 2
    assert cost_of(v, entries, F) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("parts", ["log", "square", "inverse", "all"])
def test_curved_value(parts):
    rng = np.random.default_rng(9)
    n, r, m = 12, 5, 10
    entries, F = rows_with(rng, n, r, m, parts)
    V = np.exp(rng.standard_normal((n, r)))
    for weights in (None, rng.exponential(size=n)):
        w = np.ones(n) if weights is None else weights
        rows = [row_value(V[i], i, entries, shared_forms(r), F) for i in range(n)]
        expected = math.fsum(w * [value for value, _ in rows])
        assert cost_of(V, entries, F, weights) == pytest.approx(expected, rel=1e-11)


def test_some_rows_are_those_of_the_whole():
    """Entries of some rows give the costs of these rows."""
    rng = np.random.default_rng(14)
    entries, _, F = random_rows(rng, 9, 3, 8, square=True, barrier=False)
    V = rng.random((9, 3)) + 0.1
    each = [row_value(V[i], i, entries, shared_forms(3), F)[0] for i in range(9)]
    for low, high in ((0, 9), (2, 5), (8, 9), (4, 4)):
        part = entries.places.rows(low, high)
        some = replace(entries, places=replace(part, origin=0))
        assert part.origin == low
        assert len(part) == high - low
        assert cost_of(V[low:high], some, F) == pytest.approx(sum(each[low:high]), rel=1e-12)


def test_places_survive_a_pickle():
    """Workers of a cluster get them; the struct that C reads stays behind."""
    start = np.array([0, 2, 3])
    places = Places(np.array([1, 0, 2], np.int32), start, start[:-1], 5)
    assert places.native.origin == 5
    copy = pickle.loads(pickle.dumps(places))
    assert copy.origin == 5
    assert copy.indices.tolist() == [1, 0, 2]
    assert "native" not in vars(copy)
