"""Coordinate descent for quadratic rows against scipy and the general kernel."""

import numpy as np
import pytest

import oracles
from cofactor.engine.kernels import Forms
from kernel_rows import descend_quadratic_rows, descend_rows, random_rows


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
        2 * own * (X @ A),
        np.empty((0, r)),
        np.zeros((len(grams), r)),
        grams,
        scales,
        np.zeros((1, r)),
        np.empty((0, r), bool),
    )
    V = np.ones((n, r))
    assert descend_quadratic_rows(V, forms, 20000, 1e-13) == 0
    np.testing.assert_allclose(V, oracles.nnls_rows(X, A), rtol=1e-6, atol=1e-7)


def test_quadratic_descent_equals_the_general_kernel():
    """Rows without curved entries: both kernels make the same sweep."""
    rng = np.random.default_rng(8)
    n, r = 70, 7
    entries, forms, F = random_rows(rng, n, r, 3, square=False, barrier=False, curved=False)
    V = rng.random((n, r)) + 0.1
    by_rows, by_batches = V.copy(), V.copy()
    descend_rows(by_rows, entries, F, forms, 1, 1, 0.0)
    descend_quadratic_rows(by_batches, forms, 1, 0.0)
    np.testing.assert_allclose(by_batches, by_rows, rtol=1e-9, atol=1e-12)
