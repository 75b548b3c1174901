"""Specificity: features that tell groups apart."""

import numpy as np
import pytest

from cofactor.metrics import specificity


def test_it_is_the_naive_formula():
    n = np.random.default_rng(0).integers(0, 50, (4, 9)).astype(float)
    found = specificity(n, doubt=3.0)
    for g in range(4):
        for j in range(9):
            excess = [(n[h, j] + 3) / (n[h].sum() * n[:, j].sum() / n.sum() + 3) for h in range(4)]
            rival = max(e for h, e in enumerate(excess) if h != g)
            assert found[g, j] == pytest.approx(np.log2(excess[g] / rival))


def test_frequent_features_and_groups_of_other_sizes_say_nothing():
    shares = np.array([0.5, 0.3, 0.2])
    assert np.allclose(specificity(np.outer([10.0, 1000.0, 90.0], shares)), 0)


def test_few_counts_are_doubted():
    few, many = (specificity([[4 * k, 100 * k], [k, 100 * k]])[0, 0] for k in (1, 1000))
    assert 0 < few < many / 3
    assert many == pytest.approx(2, abs=0.1)


def test_groups_of_one_kind_are_no_rivals():
    n = np.array([[90.0, 5, 5], [80, 15, 5], [5, 5, 90]])
    assert specificity(n)[0, 0] < 0.5
    assert specificity(n, ["a", "a", "b"])[0, 0] > 1


def test_errors():
    with pytest.raises(ValueError, match="counts has shape"):
        specificity([1.0, 2.0])
    with pytest.raises(ValueError, match="kinds has 1 entries"):
        specificity(np.ones((2, 2)), ["a"])
