"""Multiplicative updates by rows, and the root of their surrogate."""

import numpy as np
import pytest

import oracles
from cofactor.engine.kernels import EPSILON
from cofactor.engine.kernels.tiles import _surrogate_root
from kernel_rows import PARTS, multiply_rows, random_rows, row_value


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
