"""L-BFGS against scipy and exact minima."""

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from cofactor.linear.lbfgs import minimise

FINE = {"iterations": 500, "slope": 1e-9, "decrease": 0.0}


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
