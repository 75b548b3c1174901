"""Stopping rules."""

import math

import numpy as np
import pytest

from cofactor.engine.stopping import RelativeDecrease


@pytest.mark.parametrize(
    ("objectives", "tol"),
    [
        ([1.0], 0.5),  # nothing to compare with
        ([100.0, 50.0], 0.4),  # all that was gained so far
        ([100.0, 10.0, 9.0], 0.01),  # of the 91 that were gained, not of the first 100
        ([100.0, 99.998], 1e-4),  # a good start: a tenth of the objective counts, not all of it
        ([100.0, 99.999], 0.0),  # tol = 0 never stops
        ([100.0, 100.0], 0.0),
        ([100.0, 99.999], math.nan),
        ([100.0, 100.001], 0.5),  # a rise, however small
        ([100.0, math.nan], 0.5),
        ([math.nan, 100.0], 0.5),
        ([100.0, math.inf], 0.5),
        ([math.inf, 1.0], 0.5),
        ([100.0, 99.999], -1.0),
    ],
)
def test_not_converged(objectives, tol):
    assert RelativeDecrease(tol).check(objectives) is None


@pytest.mark.parametrize(
    ("objectives", "tol"),
    [
        ([100.0, 10.0, 9.0], 0.012),
        ([100.0, 50.0, 49.5], 0.01),
        ([100.0, 99.9995], 1e-4),
        ([5.0, 5.0], 1e-9),
        ([0.0, 0.0], 1e-4),
    ],
)
def test_converged(objectives, tol):
    stop = RelativeDecrease(tol).check(objectives)
    assert stop.converged
    assert f"after {len(objectives)} iterations" in str(stop)
    assert f"tol={tol:g}" in str(stop)


@pytest.mark.parametrize(
    "objectives", [[-100.0, -100.0001], [-1e-9, -2e-9, -2.00001e-9], [1e-3, -1.0, -1.0000001]]
)
def test_converged_below_zero(objectives):
    """A Gamma prior's density may exceed one, and the objective then starts or ends below zero."""
    assert RelativeDecrease(1e-3).check(objectives).converged


@pytest.mark.parametrize("shift", [0.0, 500.0, -99.0])
def test_a_constant_of_the_objective_changes_little(shift):
    """Divergences are defined up to a constant; what was gained is not."""
    objectives = np.array([100.0, 40.0, 30.0, 29.5]) + shift
    assert not RelativeDecrease(0.007).check(objectives)
    assert RelativeDecrease(0.0072).check(objectives).converged


@pytest.mark.parametrize(
    ("objectives", "of"),
    [([100.0, 50.0, 40.0], "the decrease so far"), ([100.0, 99.0], "a tenth of its first value")],
)
def test_the_sentence_says_what_was_measured(objectives, of):
    assert str(RelativeDecrease(0.5).check(objectives)).endswith(f"less than tol=0.5 of {of}.")


@pytest.mark.parametrize(("objectives", "stops"), [([100.0, 10.0, 9.0], True), ([1, 0.9], False)])
def test_the_papers_rule_is_literal(objectives, stops):
    assert bool(RelativeDecrease(0.0101, literal=True).check(objectives)) == stops


def test_a_rise_stops_the_papers_updates_without_convergence():
    stop = RelativeDecrease(1e-4, literal=True).check([30.5, 30.18, 30.4])
    assert not stop.converged
    assert stop.worrying
    assert "without convergence" in str(stop)
    assert "from 30.18 to 30.4" in str(stop)
