"""Multiplicative updates by rows, and the root of their surrogate."""

from dataclasses import replace

import numpy as np
import pytest

import oracles
from cofactor.engine.factors import pad
from cofactor.engine.kernels import EPSILON, Surrogate, multiply_by_parts, surrogate_slices
from kernel_rows import (
    PARTS,
    everything,
    multiply_rows,
    random_rows,
    row_value,
    rows_with,
    shared_forms,
)


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


@pytest.mark.parametrize("epsilon", [EPSILON, 1e-3])
@pytest.mark.parametrize("parts", ["log", "square", "inverse", "all"])
@pytest.mark.parametrize("r", [3, 13, 20])
def test_the_surrogate_of_entries(r, parts, epsilon):
    """Its coefficients against naive numpy, and the costs, which know nothing of epsilon."""
    rng = np.random.default_rng(r)
    n, m = 13, 17
    entries, F = rows_with(rng, n, r, m, parts)
    V = rng.random((n, r)) + 0.1
    found, costs = Surrogate(*np.zeros((4, n, r))), np.full(2, np.nan)
    bounds = np.array([0, 5, n])
    surrogate_slices(pad(V), entries, F, epsilon, found, bounds, costs)
    places, expected = entries.places, Surrogate(*np.zeros((4, n, r)))
    for i in range(n):
        s, e = places.start[i : i + 2]
        f = F[places.indices[places.first[i] : places.first[i] + e - s], :r]
        bare = f @ V[i]
        p = bare + epsilon
        ratios = zip(entries.kinds, (1 / p, bare, p**-2, 1 / p), expected, strict=True)
        for coefficients, ratio, out in ratios:
            out[i] = (coefficients[s:e] * ratio) @ f if coefficients.size else 0.0
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    each = [row_value(V[i], i, entries, shared_forms(r), F)[0] for i in range(n)]
    np.testing.assert_allclose(costs, [sum(each[:5]), sum(each[5:])], rtol=1e-8)


def surrogate_roots(q, slope, c, e):
    """The ratios by which the kernel multiplies ones, four topics to a row."""
    push, slope, c, e = (
        np.append(part, np.ones(-len(part) % 4)).reshape(-1, 4) for part in (q, slope, c, e)
    )
    forms = replace(shared_forms(4), up=np.maximum(slope, 0.0), down=np.maximum(-slope, 0.0))
    new, ones = np.full(c.shape, np.nan), np.ones(c.shape)
    parts = Surrogate(c, push, e, np.zeros(c.shape))
    multiply_by_parts(ones, new, parts, forms, everything(new), has_barrier=False, ridge=0.0)
    return new.ravel()[: len(q)]


def test_surrogate_root_minimises_the_surrogate():
    """The one positive root of q t³ + (u − v) t² − c t − e, or the boundary where there is none."""
    rng = np.random.default_rng(12)
    numbers = 10 ** rng.uniform(-8, 8, (5, 20000)) * (rng.random((5, 20000)) < 0.7)
    numbers[1] = np.where(rng.random(20000) < 0.1, numbers[2], numbers[1])  # slopes of exactly 0
    q, u, v, c, e = numbers
    endless = (q == 0) & (u <= v) & ((c > 0) | (e > 0) | (u < v))  # no term of ours falls for ever
    q, u, v, c, e = numbers[:, ~endless]
    found = surrogate_roots(q, u - v, c, e)
    np.testing.assert_allclose(found, oracles.positive_root(q, u, v, c, e), 1e-8, 1e-12)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1.0, 1e30, 1e100])
def test_surrogate_root_against_numpy(scale):
    rng = np.random.default_rng(10)
    q, slope, c, e = np.exp(rng.standard_normal((4, 200)))
    slope *= rng.choice([-1.0, 1.0], 200)
    found = surrogate_roots(*(scale * x for x in (q, slope, c, e)))
    for *cubic, root in zip(q, slope, -c, -e, found, strict=True):
        roots = np.roots(cubic)
        assert root == pytest.approx(max(roots[np.abs(roots.imag) < 1e-9].real))
