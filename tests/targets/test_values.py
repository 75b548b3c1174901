"""Numbers as targets: shifted to be nonnegative, and back."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from cofactor.targets.values import ValueCoding, encode_values
from encoded import NAN, check_invariants, fingerprint

NUMBERS = [2.0, None, 0.0, 5.0]
VALUES = {
    "list": NUMBERS,
    "float32": np.array(NUMBERS, dtype=np.float32),
    "longdouble": np.array(NUMBERS, dtype=np.longdouble),
    "object": np.array(NUMBERS, dtype=object),
    "object of NA": np.array([2, pd.NA, 0, 5], dtype=object),
    "Decimal": [Decimal(2), None, Decimal(0), Decimal(5)],
    "pandas": pd.Series(NUMBERS),
    "pandas Int64": pd.Series(NUMBERS, dtype="Int64"),
    "pandas Float64": pd.Series(NUMBERS, dtype="Float64"),
    "polars": pl.Series(NUMBERS),
    "polars int": pl.Series([2, None, 0, 5]),
    "polars nan": pl.Series([2.0, NAN, 0.0, 5.0]),
}


@pytest.mark.parametrize("y", VALUES.values(), ids=VALUES)
def test_nonnegative_values_stay(y):
    before = fingerprint(y)
    targets, coding = encode_values(y, n_samples=4)
    assert fingerprint(y) == before
    check_invariants(targets)
    assert_array_equal(targets.values, [[2], [0], [0], [5]])
    assert_array_equal(targets.row_weights, [1, 0, 1, 1])
    assert targets.cell_weights is None
    assert_array_equal(coding.offset, [0])
    assert coding.one_dimensional
    assert_array_equal(coding.decode(targets.values), [2, 0, 0, 5])


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int8, np.int64, np.float16])
def test_values_of_every_dtype(kind):
    y = np.array([0, 1, 1], dtype=kind)
    targets, _ = encode_values(y, n_samples=3, dtype=np.float32)
    assert targets.values.dtype == np.float32
    assert_array_equal(targets.values.ravel(), [0, 1, 1])
    assert targets.row_weights is None


def test_minus_one_is_a_number():
    targets, coding = encode_values([-1, 0, 1], n_samples=3)
    assert targets.labelled.all()
    assert_array_equal(coding.offset, [-1])
    assert_array_equal(targets.values.ravel(), [0, 1, 2])


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, pl.DataFrame, np.ndarray.tolist])
def test_columns_are_shifted_one_by_one(form):
    y = np.array([[-2.0, 3.0, NAN], [1.0, 4.0, -7.0], [NAN, 5.0, NAN]])
    targets, coding = encode_values(form(y), n_samples=3)
    check_invariants(targets)
    assert_array_equal(coding.offset, [-2, 0, -7])
    assert_array_equal(targets.values, [[0, 3, 0], [3, 4, 0], [0, 5, 0]])
    assert_array_equal(targets.cell_weights, ~np.isnan(y))
    decoded = coding.decode(targets.values)
    assert_allclose(decoded[~np.isnan(y)], y[~np.isnan(y)])


def test_a_column_vector_stays_two_dimensional():
    targets, coding = encode_values(np.array([[-1.0], [1.0]]), n_samples=2)
    assert_array_equal(coding.decode(targets.values), [[-1], [1]])


@pytest.mark.parametrize(
    "weights_",
    [
        {"sample_weight": [1, 0, 1]},
        {"target_weights": [1, 0, 1]},
        {"target_weights": [[1], [0], [1]]},
        {"sample_weight": [1, 0, 1], "target_weights": [0.5, 1, 2]},
        {"sample_weight": pl.Series([1.0, 0.0, 1.0])},
    ],
)
def test_offset_ignores_samples_without_weight(weights_):
    targets, coding = encode_values([-1.0, -50.0, 3.0], n_samples=3, **weights_)
    check_invariants(targets)
    assert_array_equal(coding.offset, [-1])
    assert_array_equal(targets.values.ravel(), [0, 0, 4])


def test_sample_weight_is_not_a_target_weight():
    targets, _ = encode_values([1.0, 2.0], n_samples=2, sample_weight=[0.0, 3.0])
    assert targets.row_weights is None
    assert targets.labelled.all()


def test_offset_of_a_column_without_known_values():
    targets, coding = encode_values([NAN, NAN], n_samples=2)
    check_invariants(targets)
    assert_array_equal(coding.offset, [0])
    assert not targets.labelled.any()


def test_known_offset():
    coding = ValueCoding(np.array([-3.0]), True)
    targets, same = encode_values([-1.0, 2.0], n_samples=2, coding=coding)
    assert same is coding
    assert_array_equal(targets.values.ravel(), [2, 5])
    with pytest.warns(UserWarning, match="clipped at the minimum"):
        targets, _ = encode_values([-4.0, 2.0], n_samples=2, coding=coding)
    assert_array_equal(targets.values.ravel(), [0, 5])
    encode_values([-4.0, 2.0], n_samples=2, coding=coding, target_weights=[0, 1])  # silent
    with pytest.raises(ValueError, match="y has 2 columns, but 1 are expected"):
        encode_values(np.ones((2, 2)), n_samples=2, coding=coding)


@given(st.lists(st.floats(-1e6, 1e6) | st.just(NAN)))
def test_value_round_trip(y):
    targets, coding = encode_values(y, n_samples=len(y))
    check_invariants(targets)
    known = ~np.isnan(np.array(y, dtype=float))
    assert_array_equal(targets.labelled, known)
    assert_allclose(coding.decode(targets.values)[known], np.array(y)[known], atol=1e-9)


BAD_VALUES = {
    "inf": ([1.0, np.inf], "Input y contains infinity"),
    "-inf": ([1.0, -np.inf], "Input y contains infinity"),
    "object inf": (np.array([1, np.inf], dtype=object), "Input y contains infinity"),
    "range": ([1.7e308, -1.7e308], "Input y contains infinity or a value too large"),
    "huge integer": ([10**400, None], "numbers are expected"),
    "complex": (np.array([1j, 1]), "Complex data not supported"),
    "object complex": (np.array([1j, None], dtype=object), "y contains 1j, but numbers"),
    "str": (["a", "b"], "Numbers expected: y has dtype <U1"),
    "digits": (["1", "2"], "Numbers expected: y has dtype <U1"),
    "object str": ([1.0, "2"], "numbers are expected|contains '2'"),
    "objects": ([object(), 1], "y contains <object.*numbers are expected"),
    "dates": (
        np.array(["2020", "2021"], dtype="M8[D]"),
        "Numbers expected: y has dtype datetime64",
    ),
    "pandas str": (pd.Series(["a", "b"]), "y contains 'a', but numbers are expected"),
    "polars str": (pl.Series(["a", "b"]), "[Nn]umbers (are )?expected"),
    "sparse": (sparse.csr_array(np.eye(2)), "y is sparse.*dense.*toarray"),
    "cube": (np.zeros((2, 1, 1)), "got an array of shape"),
}


@pytest.mark.parametrize(("y", "message"), BAD_VALUES.values(), ids=BAD_VALUES)
def test_bad_values(y, message):
    with pytest.raises(ValueError, match=message):
        encode_values(y, n_samples=2)


def test_values_too_large_for_the_dtype():
    assert encode_values([1e300], n_samples=1)[0].values[0, 0] == 1e300
    with pytest.raises(ValueError, match=r"Input y contains .* too large for dtype\('float32'\)"):
        encode_values([1e300], n_samples=1, dtype=np.float32)
    with pytest.raises(ValueError, match=r"Input target_weights contains .* too large"):
        encode_values([1.0], n_samples=1, target_weights=[1e300], dtype=np.float32)


# ---- logarithms and limits


def skewed(n=200, seed=0, zeros=0):
    y = np.exp(np.random.default_rng(seed).normal(3.0, 1.0, size=n))
    y[:zeros] = 0.0
    return y


def symmetric(n=200, seed=0):
    return np.random.default_rng(seed).normal(50.0, 5.0, size=n)


def read(y, **settings):
    return encode_values(y, n_samples=len(y), **settings)[1]


@pytest.mark.parametrize(
    ("y", "yes"),
    [
        (skewed(), True),
        (skewed(zeros=5), True),
        (skewed(n=19), False),
        (symmetric(), False),
        (-skewed(), False),
        (np.tile([1.0, 2.0, 9.0, 10.0], 40), False),
        (np.full(50, 3.0), False),
        (1e200 * skewed(), True),
    ],
)
def test_auto_learns_logarithms_of_skewed_numbers_only(y, yes):
    assert read(y, log="auto").logs.tolist() == [yes]


def test_each_column_has_its_own_scale():
    coding = read(np.column_stack([skewed(), symmetric()]), log="auto")
    assert coding.logs.tolist() == [True, False]


@pytest.mark.parametrize("zeros", [0, 5])
@pytest.mark.parametrize("from_zero", [False, True])
def test_logarithms_turn_back_into_y(zeros, from_zero):
    y = skewed(zeros=zeros)
    targets, coding = encode_values(y, n_samples=len(y), log="yes", from_zero=from_zero)
    assert (np.asarray(targets.values) >= 0).all()
    assert_allclose(coding.decode(np.asarray(targets.values)), y, rtol=1e-12, atol=1e-12)


def test_a_further_batch_is_read_on_the_same_scale():
    y = skewed()
    coding = read(y, log="yes")
    again, same = encode_values(y, n_samples=len(y), coding=coding)
    assert same is coding
    assert_allclose(coding.decode(np.asarray(again.values)), np.maximum(y, 1.0))
    with pytest.raises(ValueError, match=r"y holds -2, which has no logarithm"):
        encode_values([1.0, -2.0], n_samples=2, coding=coding)


@pytest.mark.parametrize("y", [[1.0, -3.0, 2.0], [0.0, 0.0]])
def test_logarithms_of_negative_numbers_are_refused(y):
    with pytest.raises(
        ValueError, match=r"log='yes' needs numbers that are not negative.*log='no'"
    ):
        encode_values(y, n_samples=len(y), log="yes")


@pytest.mark.parametrize("seed", range(5))
def test_weights_choose_logarithms_and_limits_as_repeated_rows_do(seed):
    random = np.random.default_rng(seed)
    y = np.round(np.exp(random.normal(1.0, 0.8, size=30)), 1)
    counts = random.integers(0, 6, size=30)
    settings = {"log": "auto", "limited": True}
    weighted = read(y, sample_weight=counts.astype(float), **settings)
    repeated = read(np.repeat(y, counts), **settings)
    assert weighted.logs.tolist() == repeated.logs.tolist()
    assert (weighted.low, weighted.high) == (repeated.low, repeated.high)
    assert_allclose(weighted.offset, repeated.offset)


@pytest.mark.parametrize("scale", [1e-200, 0.01, 1.0, 1000.0])
def test_the_scale_of_fractional_weights_does_not_matter(scale):
    weights = scale * np.random.default_rng(0).uniform(0.3, 0.9, size=200)
    settings = {"log": "auto", "limited": True, "sample_weight": weights}
    assert read(skewed(), **settings).logs.tolist() == [True]
    stars = read(np.tile([1.0, 2.0, 5.0, 10.0], 50), **settings)
    assert (stars.low, stars.high) == (1.0, 10.0)
    few = settings | {"sample_weight": weights[:15]}
    assert read(skewed(15), **few).logs.tolist() == [False]


@pytest.mark.parametrize("bad", [0.0, -1.0])
def test_rows_without_weight_need_no_logarithm(bad):
    y = np.r_[skewed(), bad]
    weights = np.r_[np.ones(200), 0.0]
    targets, coding = encode_values(y, n_samples=201, log="yes", sample_weight=weights)
    without, same = encode_values(y[:-1], n_samples=200, log="yes")
    assert_allclose(np.asarray(targets.values)[:-1], np.asarray(without.values))
    assert (coding.offset, coding.started) == (same.offset, same.started)
    assert np.isfinite(np.asarray(targets.values)).all()


def test_numbers_without_a_logarithm_have_no_place_on_the_scale():
    coding = read(skewed(), log="yes")
    assert np.isnan(coding.scaled(np.array([[1.0], [0.0], [-2.0]]))).ravel().tolist() == [
        False,
        True,
        True,
    ]


def test_limits_are_where_numbers_pile_up():
    stars = np.tile([1.0, 2.0, 5.0, 10.0], 25)
    assert (read(stars, limited=True).low, read(stars, limited=True).high) == (1.0, 10.0)
    prices = read(skewed(), limited=True)
    assert (prices.low, prices.high) == (0.0, np.inf)
    signed = read(symmetric() - 50, limited=True)
    assert (signed.low, signed.high) == (-np.inf, np.inf)
    assert read(stars).low is None


def test_predictions_stay_within_the_limits():
    stars = np.tile([1.0, 2.0, 5.0, 10.0], 25)
    coding = read(stars, limited=True)
    assert coding.decode(np.array([[-8.6], [3.0], [99.0]])).tolist() == [1.0, 3.0, 10.0]
    assert coding.without_limits().decode(np.array([[99.0]])).tolist() == [99.0]
