"""Agreement of several people: published examples, and scikit-learn as a reference."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from cofactor.metrics.agreement import cohen_kappa, krippendorff_alpha

# K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), sections A to C
BINARY = ("0100000010", "1110010000")
NOMINAL = ("aabbdcccedda", "babbbccceddd")
FOUR = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")


def units(*people):
    return [[x for x in unit if x != "."] for unit in zip(*people, strict=True)]


def test_krippendorffs_examples():
    assert krippendorff_alpha(units(*BINARY)) == pytest.approx(0.095, abs=5e-4)
    assert krippendorff_alpha(units(*NOMINAL)) == pytest.approx(0.692, abs=5e-4)
    assert krippendorff_alpha(units(*FOUR)) == pytest.approx(0.743, abs=5e-4)


def test_kappa_of_a_table():
    """20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: κ = 0.4."""
    one = ["y"] * 25 + ["n"] * 25
    other = ["y"] * 20 + ["n"] * 5 + ["y"] * 10 + ["n"] * 15
    assert cohen_kappa(one, other) == pytest.approx(0.4, abs=1e-12)


def test_kappa_equals_that_of_scikit_learn():
    random = np.random.default_rng(0)
    for n, k in ((5, 2), (50, 3), (500, 20)):
        one = random.integers(k, size=n)
        other = np.where(random.random(n) < 0.6, one, random.integers(k, size=n))
        expected = cohen_kappa_score(one, other)
        assert cohen_kappa(one.tolist(), other.tolist()) == pytest.approx(expected, abs=1e-12)


def test_alpha_is_a_pairwise_count():
    """The definition: disagreement within units against that of all pairs of labels."""
    random = np.random.default_rng(1)
    found = [random.integers(4, size=random.integers(1, 5)).tolist() for _ in range(80)]
    paired = [unit for unit in found if len(unit) > 1]
    labels = [label for unit in paired for label in unit]
    n = len(labels)
    seen = sum(
        sum(a != b for i, a in enumerate(unit) for j, b in enumerate(unit) if i != j)
        / (len(unit) - 1)
        for unit in paired
    )
    chance = sum(labels[i] != labels[j] for i in range(n) for j in range(n)) / (n - 1)
    assert krippendorff_alpha(found) == pytest.approx(1 - seen / chance, abs=1e-12)


def test_what_nobody_can_tell_is_nan():
    assert np.isnan(cohen_kappa(["a", "a"], ["a", "a"]))
    assert np.isnan(cohen_kappa([], []))
    assert np.isnan(krippendorff_alpha([["a", "a"], ["b"]]))
