"""Weights of classes: what the parameter means, and what it does to targets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.class_weight import compute_class_weight

from cofactor.targets.classes import class_weights, encode_classes, refuse_weightless, weigh_classes
from cofactor.targets.matrix import complete, stack
from complaints import assert_says
from encoded import NAN, dense

Y = np.array([2, 0, -1, 0, 2, 0, 1, 0, -1, 0])
COUNTS = np.array([1.0, 2.0, 9.0, 1.0, 0.5, 1.0, 3.0, 0.0, 1.0, 1.0])


def encoded(y=Y, **options):
    return encode_classes(y, n_samples=len(y), **options)


def weights_of(asked, y=Y, counts=None, **options):
    return class_weights(asked, *encoded(y, **options), counts)


def test_balanced_is_that_of_scikit_learn_for_the_labelled_samples():
    known = Y >= 0
    for counts in (None, COUNTS, 1e300 * COUNTS, 1e-300 * COUNTS):
        weight = None if counts is None else np.minimum(COUNTS, 9.0)[known]
        expected = compute_class_weight(
            "balanced", classes=np.arange(3), y=Y[known], sample_weight=weight
        )
        assert_allclose(weights_of("balanced", counts=counts), expected)


def test_balanced_labels_have_the_same_total_in_each_class():
    weights = weights_of("balanced", counts=COUNTS)
    labelled = COUNTS * (Y >= 0)
    total = np.array([labelled[c == Y].sum() for c in range(3)])
    assert_allclose(total * weights, labelled.sum() / 3)


def test_a_class_without_weight_has_no_part_in_the_balance():
    counts = np.where(Y == 1, 0.0, 1.0)
    assert_allclose(weights_of("balanced", counts=counts), [7 / 10, 1.0, 7 / 4])


def test_a_dict_names_classes():
    assert_array_equal(weights_of({2: 5, 0: 0.5}), [0.5, 1.0, 5.0])
    names = np.array(["ham", "spam", ""], dtype=object)
    assert_array_equal(weights_of({"spam": 3}, names), [1.0, 3.0])
    assert_array_equal(weights_of({"spam": 3, "ham": 2, "eggs": 9}, names), [2.0, 3.0])
    assert weights_of(None) is None


@pytest.mark.parametrize(
    ("asked", "patterns"),
    [
        ({0: -1.0}, ["class_weight", "0", r"-1\.0", "at least 0"]),
        ({0: NAN}, ["class_weight", "nan", "finite"]),
        ({0: float("inf")}, ["class_weight", "inf", "finite"]),
        ({0: "much"}, ["class_weight", "'much'", "number"]),
        ({"0": 2.0}, ["class_weight", "'0'", "Did you mean 0"]),
    ],
)
def test_bad_weights(asked, patterns):
    assert_says(lambda: weights_of(asked), *patterns)


@pytest.mark.parametrize("asked", ["balanced", {0: 2.0}])
def test_several_labels_a_sample_have_no_weights(asked):
    tags = np.array([[1, 0], [1, 1], [0, 1]])
    assert_says(lambda: weights_of(asked, tags), "class_weight", "several labels", "leave")


def test_labels_count_with_the_weights_of_their_classes():
    weights = np.array([2.0, 3.0, 0.5])
    own = weights[Y] * (Y >= 0)
    given = np.linspace(0.1, 1.0, 10)
    for confidence in (None, given):
        targets, _ = encoded(target_weights=confidence)
        found = weigh_classes(targets, weights).observed()
        assert_allclose(found.row_weights, own * (1.0 if confidence is None else confidence))
    assert_array_equal(dense(targets), dense(weigh_classes(targets, weights)))
    assert weigh_classes(targets, None) is targets


def test_weights_of_cells_are_multiplied():
    cells = np.random.default_rng(0).uniform(0.1, 1.0, (10, 3)) * (Y >= 0)[:, None]
    targets, _ = encoded(target_weights=cells)
    found = weigh_classes(targets, np.array([2.0, 3.0, 0.5])).observed()
    expected = cells * np.where(Y >= 0, np.array([2.0, 3.0, 0.5])[Y], 1.0)[:, None]
    assert_allclose(found.cell_weights(), expected[Y >= 0].ravel())


def test_soft_labels_count_with_the_mean_weight_of_their_classes():
    soft = np.array([[0.5, 0.5, 0.0], [2.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    found = weigh_classes(encoded(soft)[0], np.array([1.0, 3.0, 8.0]))
    assert_allclose(found.importance, [2.0, (2 * 1 + 3 + 8) / 4, 1.0])
    assert_allclose(weights_of("balanced", soft), [2 / 3 / 1.0, 2 / 3 / 0.75, 2 / 3 / 0.25])


def test_weight_zero_hides_the_labels_of_a_class():
    targets = weigh_classes(encoded()[0], np.array([1.0, 1.0, 0.0]))
    assert_array_equal(targets.labelled, np.isin(Y, (0, 1)))
    nothing = weigh_classes(encoded()[0], np.zeros(3))
    assert not nothing.labelled.any()
    assert_says(lambda: refuse_weightless(encoded()[0], nothing), "class_weight", "positive weight")


def test_guesses_are_not_weighted():
    targets = weigh_classes(encoded()[0], np.array([10.0, 3.0, 0.0]))
    found = complete(targets, np.full((10, 3), 1 / 3), 0.1)
    expected = np.where(Y == 0, 10.0, np.where(Y == 1, 3.0, 0.1))
    assert_allclose(found.observed().row_weights, expected)
    assert_allclose(dense(found)[2], 1 / 3)


def test_batches_below_each_other_keep_their_weights():
    plain, _ = encoded()
    weighted = weigh_classes(plain, np.array([2.0, 3.0, 0.5]))
    assert stack([plain, plain]).importance is None
    together = stack([plain, weighted])
    assert_array_equal(together.importance, np.r_[np.ones(10), weighted.importance])


def test_float32_targets_keep_their_dtype():
    targets, coding = encoded(dtype=np.float32)
    weighted = weigh_classes(targets, class_weights("balanced", targets, coding))
    assert weighted.importance.dtype == np.float32
    too_much = np.array([1e300, 1.0, 1.0])
    assert_says(lambda: weigh_classes(targets, too_much), "class_weight", "too large")
