"""Classes: labels become columns and come back; known classes of an earlier fit."""

from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from cofactor.targets.classes import ClassCoding, encode_classes
from cofactor.targets.reading import labelled_mask
from encoded import NAN, check_invariants, dense


@pytest.mark.parametrize(
    "y", [[0.5, 1.0, 2.0], np.array([0.1, NAN], dtype=np.float32), [1e300, 1.0]]
)
def test_continuous_labels(y):
    with pytest.raises(ValueError, match=r"Unknown label type: continuous\. Maybe you are trying"):
        encode_classes(y, n_samples=len(y))


@pytest.mark.parametrize("y", [["a", 1], ["a", -1, "b"], [True, "a"], [1, date(2020, 1, 1)]])
def test_labels_without_order(y):
    with pytest.raises(
        TypeError, match=r"y has labels of types that cannot be sorted.*None, NaN or ''"
    ):
        encode_classes(np.array(y, dtype=object), n_samples=len(y))
    with pytest.raises(TypeError, match="cannot be sorted"):
        encode_classes(y, n_samples=len(y))


def test_labels_that_are_not_classes():
    for labels in ([date(2020, 1, 1)], [object()], [Decimal(1)]):
        with pytest.raises(ValueError, match="Unknown label type"):
            encode_classes(np.array(labels, dtype=object), n_samples=1)
    with pytest.raises(ValueError, match="Complex data not supported"):
        encode_classes(np.array([1j, 2.0]), n_samples=2)
    with pytest.raises((TypeError, FutureWarning), match="bytes"):  # a warning before 1.7
        encode_classes(np.array([b"a", b"b"]), n_samples=2)
    nested = np.empty(2, dtype=object)
    nested[:] = [np.arange(2), np.arange(3)]
    with pytest.raises((TypeError, ValueError), match=r"y |label"):
        encode_classes(nested, n_samples=2)


def test_many_classes_do_not_warn():
    y = np.r_[np.arange(30), np.full(1000, -1)]
    targets, _ = encode_classes(y, n_samples=y.size)
    assert targets.n_targets == 30


LABELS = st.one_of(
    st.lists(st.one_of(st.none(), st.integers(-(2**40), 2**40).filter(lambda n: n != -1))),
    st.lists(st.one_of(st.none(), st.text())),
    st.lists(st.one_of(st.none(), st.booleans())),
    st.lists(st.one_of(st.just(NAN), st.integers(-(2**40), 2**40).map(float))),
)


@given(LABELS)
def test_round_trip(labels):
    y = np.empty(len(labels), dtype=object)
    y[:] = labels
    targets, coding = encode_classes(y, n_samples=y.size)
    check_invariants(targets)
    known = [label is not None and label == label and bool(str(label).strip()) for label in labels]
    assert_array_equal(targets.labelled, known)
    assert_array_equal(labelled_mask(y), known)
    assert_array_equal(dense(targets).sum(axis=1), known)
    if any(known):
        expected = y[known].tolist()
        assert coding.decode(dense(targets))[known].tolist() == expected
        assert coding.classes.tolist() == sorted(set(expected))


@pytest.mark.slow
@given(st.lists(st.integers(-1, 5), min_size=1).filter(lambda y: set(y) != {-1, 1}), st.randoms())
def test_permuted_samples_permute(y, random):
    order = list(range(len(y)))
    random.shuffle(order)
    targets, coding = encode_classes(y, n_samples=len(y))
    permuted, again = encode_classes([y[i] for i in order], n_samples=len(y))
    assert_array_equal(coding.classes, again.classes)
    assert_array_equal(dense(targets)[order], dense(permuted))
    assert_array_equal(targets.labelled[order], permuted.labelled)


def test_known_classes():
    _, coding = encode_classes(["a", "b", "c"], n_samples=3)
    targets, same = encode_classes(["c", None, "a", "c"], n_samples=4, coding=coding)
    assert same is coding
    assert_array_equal(dense(targets), [[0, 0, 1], [0, 0, 0], [1, 0, 0], [0, 0, 1]])


@pytest.mark.parametrize("y", [["c", "x", "y"], [1, 2, 3]])
def test_unseen_classes(y):
    _, coding = encode_classes(["a", "b", "c"], n_samples=3)
    with pytest.raises(ValueError, match=r"y has classes \['x', 'y'\]|y has classes \[1, 2, 3\]"):
        encode_classes(y, n_samples=3, coding=coding)


@pytest.mark.parametrize("y", [[-1, -1], [None, None], [NAN, NAN], ["", ""]])
def test_an_unlabelled_batch_fits_any_classes(y):
    for classes in (np.array(["a", "b"]), np.array([0, 1]), np.array([False, True])):
        targets, _ = encode_classes(y, n_samples=2, coding=ClassCoding("multiclass", classes))
        check_invariants(targets)
        assert targets.values.shape == (2, 2)
        assert not targets.labelled.any()


def test_known_classes_decide_what_minus_one_is():
    for classes, weights_ in (([0, 1], [0, 1]), ([-1, 1], None)):
        coding = ClassCoding("multiclass", np.array(classes))
        targets, _ = encode_classes([-1, 1], n_samples=2, coding=coding)
        assert targets.row_weights is None if weights_ is None else True
        assert targets.labelled.tolist() == [weights_ is None, True]


def test_whole_floats_match_integers():
    coding = ClassCoding("multiclass", np.array([1, 2]))
    targets, _ = encode_classes([2.0, NAN, 1.0], n_samples=3, coding=coding)
    assert_array_equal(dense(targets), [[0, 1], [0, 0], [1, 0]])
