"""Coordinate descent by rows: no rise, minima found, barriers and cancellation survived."""

from dataclasses import replace

import numpy as np
import pytest

from cofactor.engine import kernels
from cofactor.engine.factors import pad
from cofactor.engine.kernels import EPSILON
from cofactor.engine.subproblem.entries import no_entries
from cofactor.engine.subproblem.surrogate import no_surrogate
from kernel_rows import (
    PARTS,
    descend_quadratic_rows,
    descend_rows,
    entries_at,
    everything,
    multiply_rows,
    random_rows,
    row_value,
    shared_forms,
)

ROOM = 1 << 22  # of native/descent.c: maximum number of gathered doubles


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
    n = 37
    forms = replace(shared_forms(2, up=1.0), barrier=np.array([[1e-30, 0.0]]))
    old, new = pad(np.full((n, 2), 1e-3)), np.full((n, 4), np.nan)
    if by_parts:
        parts = no_surrogate(2)
        for _ in range(rounds):
            kernels.multiply_by_parts(
                old, new, parts, forms, everything(old), has_barrier=True, ridge=0.0
            )
            old = new.copy()
    else:
        settings = {"rounds": rounds, "tolerance": 0.0, "epsilon": EPSILON, "ridge": 0.0}
        rows = old, new, no_entries(n, np.dtype(float)), old[:1], forms, [], everything(old)
        kernels.multiply_slices(*rows, has_barrier=True, **settings)
    np.testing.assert_array_equal(new, np.tile([EPSILON, 0.0, 0.0, 0.0], (n, 1)))


@pytest.mark.parametrize("size", [1e-14, 1e-6, 1.0])
@pytest.mark.parametrize("curved", [False, True])
def test_a_barrier_keeps_entries_off_zero(curved, size):
    """However weak it is: its logarithm would be infinite."""
    rng = np.random.default_rng(13)
    entries, forms, F = random_rows(rng, 30, 6, 8, square=False, barrier=True, curved=curved)
    forms = replace(forms, barrier=size * forms.barrier)
    for run in (
        lambda V: descend_rows(V, entries, F, forms, 3, 2, 0.0),
        lambda V: multiply_rows(V, entries, F, forms, 30, 0.0, EPSILON, 0.0),
    ):
        V = rng.random((30, 6))
        run(V)
        assert np.all(V[forms.barrier > 0] > 0)


@pytest.mark.parametrize("size", [1e-16, 1e-14, 1e-12, 1e-9])
def test_weak_barriers_let_the_descent_converge(size):
    """A topic with a barrier is never taken for a remnant: its logarithm would be infinite."""
    rng = np.random.default_rng(17)
    n, r, m = 40, 5, 12
    entries, forms, F = random_rows(rng, n, r, m, square=False, barrier=False)
    forms = replace(forms, barrier=np.full((1, r), size))
    V = rng.random((n, r)) + 0.1
    V[:, -1] = 1e-14
    before = [row_value(V[i], i, entries, forms, F) for i in range(n)]
    for rounds in (1, 2, 5, 8):
        descend_rows(V, entries, F, forms, rounds, 2, 0.0)
        after = [row_value(V[i], i, entries, forms, F) for i in range(n)]
        for (old, total), (new, _) in zip(before, after, strict=True):
            assert new <= old + 1e-9 * total
        before = after
    assert np.isfinite(V).all()


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
    entries = entries_at([0], np.array([0, 1]), log=np.array([1e-9]))
    forms = shared_forms(2, up=[2.0, 1.0])
    v = np.array([[1e8, 1e-3]])
    descend_rows(v, entries, np.array([[1.0, 1.0, 0.0, 0.0]]), forms, 1, 100, 0.0)
    np.testing.assert_allclose(v, [[0.0, 1e-9 - EPSILON]], rtol=1e-6)


@pytest.mark.slow
def test_a_row_too_long_for_the_scratch_space_is_swept_in_groups():
    """600,000 entries and 8 topics: four topics at a time."""
    rng = np.random.default_rng(11)
    m, r = 600_000, 8
    assert ROOM // m < r
    F, v = rng.gamma(0.3, size=(m, r)), rng.random((1, r))
    x = F @ rng.random(r) * rng.random(m)
    entries = entries_at(np.arange(m), np.array([0, m]), log=x)
    forms = shared_forms(r, up=F.sum(0))

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


def test_coordinates_without_curvature_go_to_zero_or_stay():
    """Only a slope: a rising one sends the entry to zero, a flat one leaves it alone."""
    forms = shared_forms(2, up=[1.0, 0.0])
    entries = random_rows(np.random.default_rng(0), 1, 2, 1, square=0, barrier=0, curved=0)[0]
    for descend in (
        lambda V: descend_quadratic_rows(V, forms, 1, 0.0),
        lambda V: descend_rows(V, entries, np.zeros((1, 4)), forms, 1, 1, 0.0),
        lambda V: multiply_rows(V, entries, np.zeros((1, 4)), forms, 1, 0.0, EPSILON, 0.0),
    ):
        V = np.array([[3.0, 5.0]])
        descend(V)
        assert V.tolist() == [[0.0, 5.0]]
