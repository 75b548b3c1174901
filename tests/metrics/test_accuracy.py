"""Intervals hold what they promise; calibration compares confidence with accuracy."""

import numpy as np
import pytest

from cofactor.metrics import accuracy_difference
from cofactor.metrics.accuracy import calibration_table, wilson_interval


@pytest.mark.parametrize(("right", "n"), [(0, 1), (1, 1), (5, 10), (499, 500)])
def test_an_interval_holds_its_share(right, n):
    low, high = wilson_interval(right / n, n)
    assert 0 <= low <= right / n <= high <= 1


@pytest.mark.parametrize(("right", "n"), [(0, 7), (3, 10), (10, 10), (499, 500)])
def test_the_interval_is_scipys(right, n):
    from scipy.stats import binomtest

    expected = binomtest(right, n).proportion_ci(0.95, method="wilson")
    assert wilson_interval(right / n, n) == pytest.approx((expected.low, expected.high), abs=1e-4)


def test_calibration_counts_every_prediction_once():
    random = np.random.default_rng(0)
    sure, edges = random.random(500), np.arange(11) / 10
    sure[:3] = 0.0, 0.3, 1.0
    right = random.random(500) < sure
    table = calibration_table(sure, right, edges)
    assert sum(row.count for row in table) == 500
    for row in table:
        inside = (sure >= row.low) & ((sure < row.high) | (row.high == 1.0))
        assert row.count == inside.sum()
        assert row.confidence == pytest.approx(sure[inside].mean())
        assert row.accuracy == pytest.approx(right[inside].mean())
    assert calibration_table([], [], edges) == []


@pytest.mark.parametrize("n", [20, 100, 1000])
def test_the_interval_covers_the_difference(n):
    random, hits, repeats = np.random.default_rng(n), 0, 1000
    for _ in range(repeats):
        luck = random.random(n)
        first, second = luck < 0.7, np.where(random.random(n) < 0.6, luck, random.random(n)) < 0.8
        found = accuracy_difference(first, second)
        hits += found.low <= 0.1 <= found.high
    assert 0.93 <= hits / repeats <= 0.985


def test_the_difference_is_that_of_the_accuracies():
    found = accuracy_difference([True, True, False, False], [True, False, True, True])
    assert (found.first, found.second, found.difference) == (0.5, 0.75, 0.25)
    assert found.low < 0 < found.high


@pytest.mark.parametrize(("first", "second"), [([], []), ([True], [True, False])])
def test_nothing_to_compare(first, second):
    with pytest.raises(ValueError, match="pass the same documents"):
        accuracy_difference(first, second)
