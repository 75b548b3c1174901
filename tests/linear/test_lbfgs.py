"""L-BFGS against scipy and exact minima."""

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from cofactor.linear.lbfgs import LBFGS

FINE = {"iterations": 500, "slope": 1e-9, "decrease": 0.0}


def minimise(cost, start, **settings):
    search = LBFGS(start, **settings)
    while not search.done:
        search.update(*cost(search.point))
    return search.point


@pytest.mark.parametrize("n", [1, 3, 40])
def test_a_quadratic_is_solved(n):
    rng = np.random.default_rng(n)
    root, b = rng.standard_normal((n, n)), rng.standard_normal(n)
    H = root @ root.T + np.eye(n)
    found = minimise(lambda x: (0.5 * x @ H @ x - b @ x, H @ x - b), np.zeros(n), **FINE)
    np.testing.assert_allclose(found, np.linalg.solve(H, b), rtol=1e-6, atol=1e-8)


def test_it_finds_what_scipy_finds():
    """Logistic regression, whose minimum is unique, with about as many evaluations."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 30)), rng.choice([-1.0, 1.0], 80)
    calls = []

    def cost(w):
        calls.append(1)
        margin = -y * (X @ w)
        slope = -X.T @ (y / (1 + np.exp(-margin))) + 0.1 * w
        return float(np.logaddexp(0, margin).sum() + 0.05 * w @ w), slope

    options = {"gtol": 1e-6, "ftol": 0.0}
    expected = minimize(cost, np.zeros(30), jac=True, method="L-BFGS-B", options=options)
    calls.clear()
    found = minimise(cost, np.zeros(30), iterations=500, slope=1e-6, decrease=0.0)
    np.testing.assert_allclose(found, expected.x, atol=1e-4)
    assert len(calls) < 1.5 * expected.nfev


def test_a_valley_is_followed():
    """Not convex: the search still ends lower than it began, at the minimum."""
    start = np.array([-1.2, 1.0, -0.5, 2.0])
    found = minimise(lambda x: (float(rosen(x)), rosen_der(x)), start, **FINE)
    np.testing.assert_allclose(found, 1.0, atol=1e-5)


def test_it_stops_where_it_is_told_to():
    calls = []

    def cost(x):
        calls.append(1)
        return float(x @ x), 2 * x

    start = np.full(3, 1e-3)
    assert minimise(cost, start, iterations=9, slope=1.0, decrease=0.0) is start
    assert len(calls) == 1
    assert minimise(cost, start, iterations=0, slope=0.0, decrease=0.0) is start
    one = minimise(cost, start, iterations=1, slope=0.0, decrease=0.0)
    again = minimise(cost, start, iterations=9, slope=0.0, decrease=0.5)
    np.testing.assert_array_equal(again, one)  # a step whose decrease is too small to go on


@pytest.mark.parametrize("seed", range(20))
def test_bounds_hold_and_the_minimum_is_scipys(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    root, b = rng.standard_normal((n, n)), 3 * rng.standard_normal(n)
    H = root @ root.T + 0.1 * np.eye(n)
    low, high = -rng.random(n), np.where(rng.random(n) < 0.5, rng.random(n), np.inf)

    def cost(x):
        assert (low <= x).all()
        assert (x <= high).all()
        return 0.5 * x @ H @ x - b @ x, H @ x - b

    found = minimise(cost, np.zeros(n), bounds=(low, high), **FINE)
    tight = {"ftol": 0.0, "gtol": 1e-10, "maxiter": 1000}
    bounds = list(zip(low, high, strict=True))
    best = minimize(cost, np.zeros(n), jac=True, method="L-BFGS-B", bounds=bounds, options=tight)
    assert cost(found)[0] == pytest.approx(best.fun, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(found, best.x, atol=1e-4)
