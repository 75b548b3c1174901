"""What counts as unlabelled in a y of classes, however it is written."""

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from cofactor.targets.classes import encode_classes
from cofactor.targets.reading import known_values, labelled_mask
from encoded import NAN, check_invariants, dense, fingerprint

# name: (y, labelled, classes); labelled samples are classes 0, 1, 0 of classes at places 0, 2, 3
PARTLY_LABELLED = {
    "list of int": ([3, -1, 7, 3], [3, 7]),
    "list of int and None": ([3, None, 7, 3], [3, 7]),
    "list of int and nan": ([3, NAN, 7, 3], [3.0, 7.0]),
    "list of str and None": (["a", None, "b", "a"], ["a", "b"]),
    "list of str and nan": (["a", NAN, "b", "a"], ["a", "b"]),
    "list of str and empty": (["a", "", "b", "a"], ["a", "b"]),
    "list of bool and None": ([False, None, True, False], [False, True]),
    "tuple": ((3, -1, 7, 3), [3, 7]),
    "unicode": (np.array(["a", "", "b", "a"]), ["a", "b"]),
    "variable width strings": (
        np.array(["a", "", "b", "a"], dtype=np.dtypes.StringDType()),
        ["a", "b"],
    ),
    "object str": (np.array(["a", None, "b", "a"], dtype=object), ["a", "b"]),
    "object str and NA": (np.array(["a", pd.NA, "b", "a"], dtype=object), ["a", "b"]),
    "object int": (np.array([3, None, 7, 3], dtype=object), [3, 7]),
    "object int and -1": (np.array([3, -1, 7, 3], dtype=object), [3, 7]),
    "list of str and white space": (["a", " ", "b", "a"], ["a", "b"]),
    "unicode and white space": (np.array(["a", " \t", "b", "a"]), ["a", "b"]),
    "object float": (np.array([3.0, None, 7.0, 3.0], dtype=object), [3.0, 7.0]),
    "datetime": (
        np.array(["2020", "NaT", "2021", "2020"], "M8[D]"),
        [date(2020, 1, 1), date(2021, 1, 1)],
    ),
    **{
        f"{kind.__name__}": (np.array([3, -1, 7, 3], dtype=kind), [3, 7])
        for kind in (np.int8, np.int16, np.int32, np.int64)
    },
    **{
        f"{kind.__name__}": (np.array([-1, NAN, 7, -1], dtype=kind), [-1.0, 7.0])
        for kind in (np.float16, np.float32, np.float64)
    },
    "pandas int": (pd.Series([3, -1, 7, 3], index=[9, 8, 8, 1]), [3, 7]),
    "pandas Int64": (pd.Series([3, None, 7, 3], dtype="Int64"), [3, 7]),
    "pandas Int8, -1": (pd.Series([3, -1, 7, 3], dtype="Int8"), [3, 7]),
    "pandas Float64": (pd.Series([3, None, 7, 3], dtype="Float64"), [3.0, 7.0]),
    "pandas boolean": (pd.Series([False, None, True, False], dtype="boolean"), [False, True]),
    "pandas str": (pd.Series(["a", None, "b", "a"]), ["a", "b"]),
    "pandas string": (pd.Series(["a", None, "b", "a"], dtype="string"), ["a", "b"]),
    "pandas object": (pd.Series(["a", pd.NA, "b", "a"], dtype=object), ["a", "b"]),
    "pandas category of str": (pd.Series(["a", None, "b", "a"], dtype="category"), ["a", "b"]),
    "pandas category of int": (pd.Series([3, None, 7, 3], dtype="category"), [3, 7]),
    "pandas Categorical": (pd.Categorical(["a", None, "b", "a"], ["z", "b", "a"]), ["a", "b"]),
    "pandas Index": (pd.Index(["a", None, "b", "a"]), ["a", "b"]),
    "pandas array": (pd.array([3, pd.NA, 7, 3], dtype="Int32"), [3, 7]),
    "polars int": (pl.Series([3, -1, 7, 3]), [3, 7]),
    "polars int, null": (pl.Series([3, None, 7, 3]), [3, 7]),
    "polars UInt8": (pl.Series([3, None, 7, 3], dtype=pl.UInt8), [3, 7]),
    "polars float": (pl.Series([3.0, NAN, 7.0, 3.0]), [3.0, 7.0]),
    "polars float, null": (pl.Series([3.0, None, 7.0, 3.0]), [3.0, 7.0]),
    "polars str": (pl.Series(["a", None, "b", "a"]), ["a", "b"]),
    "polars empty str": (pl.Series(["a", "", "b", "a"]), ["a", "b"]),
    "polars bool": (pl.Series([False, None, True, False]), [False, True]),
    "polars Categorical": (pl.Series(["a", None, "b", "a"], dtype=pl.Categorical), ["a", "b"]),
    "polars Enum": (pl.Series(["a", None, "b", "a"], dtype=pl.Enum(["z", "b", "a"])), ["a", "b"]),
}


@pytest.mark.parametrize(("y", "classes"), PARTLY_LABELLED.values(), ids=PARTLY_LABELLED)
def test_partly_labelled(y, classes):
    before = fingerprint(y)
    targets, coding = encode_classes(y, n_samples=4)
    assert fingerprint(y) == before
    check_invariants(targets)
    assert isinstance(targets.values, sparse.csr_array)
    assert coding.kind == "multiclass"
    assert coding.classes.tolist() == classes
    assert [type(label) for label in coding.classes.tolist()] == [type(label) for label in classes]
    assert_array_equal(dense(targets), [[1, 0], [0, 0], [0, 1], [1, 0]])
    assert_array_equal(targets.row_weights, [1, 0, 1, 1])
    assert targets.cell_weights is None
    assert_array_equal(targets.labelled, [True, False, True, True])
    assert_array_equal(labelled_mask(y), targets.labelled)
    decoded = coding.decode(dense(targets))
    assert decoded.dtype == coding.classes.dtype
    assert decoded[targets.labelled].tolist() == [classes[0], classes[1], classes[0]]


@pytest.mark.parametrize("kind", [bool, np.uint8, np.uint64, np.int8, np.float32, "U3", object])
def test_classes_keep_the_dtype_of_y(kind):
    y = np.array([1, 0, 1], dtype=kind) if kind != "U3" else np.array(["dog", "cat", "dog"])
    y = np.array(["dog", "cat", "dog"], dtype=object) if kind is object else y
    targets, coding = encode_classes(y, n_samples=3)
    assert coding.classes.dtype == y.dtype
    assert targets.row_weights is None
    assert targets.labelled.all()
    assert_array_equal(dense(targets), [[0, 1], [1, 0], [0, 1]])
    assert_array_equal(coding.decode(dense(targets)), y)


def test_objects_that_are_booleans_or_nothing():
    y = np.array([np.True_, None, np.False_], dtype=object)
    assert encode_classes(y, n_samples=3)[1].classes.dtype == bool
    assert encode_classes(y[1:2], n_samples=1)[1].classes.dtype == object


def test_integers_beyond_floats_survive_nulls():
    big = 2**53
    for y in (
        pl.Series([big + 1, None, big]),
        pd.Series([big + 1, None, big], dtype="Int64"),
        pl.DataFrame({"y": [big + 1, None, big]}),
        [big + 1, None, big],
    ):
        if isinstance(y, pl.DataFrame):
            with pytest.warns(DataConversionWarning):
                coding = encode_classes(y, n_samples=3)[1]
        else:
            coding = encode_classes(y, n_samples=3)[1]
        assert coding.classes.tolist() == [big, big + 1]


def test_both_marks_of_a_nullable_integer():
    for y in (pd.Series([-1, 0, 1, None], dtype="Int64"), pl.Series([-1, 0, 1, None])):
        targets, coding = encode_classes(y, n_samples=4)
        assert coding.classes.tolist() == [0, 1]
        assert_array_equal(targets.labelled, [False, True, True, False])


def test_polars_nulls_and_nans_are_both_unlabelled():
    assert_array_equal(labelled_mask(pl.Series([1.0, None, NAN, 2.0])), [1, 0, 0, 1])


@pytest.mark.parametrize(
    "y", [[-1, 1, 1, -1], np.array([1, -1], dtype=np.int8), pl.Series([-1, 1])]
)
def test_minus_one_and_one_are_two_classes(y):
    with pytest.warns(UserWarning, match="two classes.*None or NaN.*strings"):
        targets, coding = encode_classes(y, n_samples=len(y))
    assert coding.classes.tolist() == [-1, 1]
    assert targets.row_weights is None
    assert labelled_mask(y).all()
    assert_array_equal(coding.decode(dense(targets)), np.asarray(y))


@pytest.mark.parametrize(
    "y",
    [
        [-1, 1, None],
        [-1.0, 1.0, NAN],
        np.array([-1, 1, None], dtype=object),
        pd.Series([-1, 1, None], dtype="Int64"),
        pl.Series([-1, 1, None]),
    ],
)
def test_the_remedy_for_two_classes_works_silently(y):
    targets, coding = encode_classes(y, n_samples=3)
    assert coding.classes.tolist() == [-1, 1]
    assert_array_equal(targets.labelled, [True, True, False])


@pytest.mark.parametrize("y", [[-1, 1, 0], [-1, 0, 0], [1, 1, 1], [-1, 2, 2]])
def test_minus_one_marks_unlabelled_beside_other_classes(y):
    assert_array_equal(labelled_mask(y), np.array(y) != -1)
    assert -1 not in encode_classes(y, n_samples=3)[1].classes


def test_a_fold_of_objects_is_read_as_the_whole():
    y = np.array([-1, 0, 1, None], dtype=object)
    for some in (y, y[:3]):
        assert encode_classes(some, n_samples=len(some))[1].classes.tolist() == [0, 1]


def test_labelled_mask_knows_the_classes_of_a_fit():
    assert_array_equal(labelled_mask([-1, -1]), [False, False])
    assert_array_equal(labelled_mask([-1, -1], classes=np.array([-1, 1])), [True, True])
    assert_array_equal(labelled_mask([-1, 1], classes=np.array([0, 1])), [False, True])


@pytest.mark.parametrize(
    "y",
    [
        [-1, -1, -1],
        [None, None, None],
        [NAN, NAN, NAN],
        ["", "", ""],
        pl.Series([None] * 3),
        pl.Series([None] * 3, dtype=pl.String),
        pd.Series([None] * 3, dtype="Int64"),
        pd.Series([None] * 3, dtype="category"),
    ],
)
@pytest.mark.parametrize("target_weights", [None, np.ones(3), np.ones((3, 0))])
def test_all_unlabelled(y, target_weights):
    targets, coding = encode_classes(y, n_samples=3, target_weights=target_weights)
    check_invariants(targets)
    assert targets.values.shape == (3, 0)
    assert coding.classes.shape == (0,)
    assert not targets.labelled.any()
    assert_array_equal(targets.row_weights, np.zeros(3))
    with pytest.raises(ValueError, match="no labelled sample"):
        coding.decode(np.zeros((3, 0)))


@pytest.mark.parametrize(
    "column",
    [
        np.array([[2], [0], [2]]),
        [[2], [0], [2]],
        pd.DataFrame({"y": [2, 0, 2]}),
        pl.DataFrame({"y": [2, 0, 2]}),
        sparse.csr_array(np.array([[2], [0], [2]])),
    ],
)
def test_column_vector(column):
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed when a 1d array"):
        targets, coding = encode_classes(column, n_samples=3)
    assert coding.classes.tolist() == [0, 2]
    assert_array_equal(coding.decode(dense(targets)), [2, 0, 2])


@pytest.mark.parametrize(
    ("y", "known"),
    [
        ([-1, 0, 3], [True, True, True]),
        (np.array([-1, 2], dtype=np.int8), [True, True]),
        ([-1.0, float("nan")], [True, False]),
        ([None, -1, 2.5], [False, True, True]),
        ([[-1.0, float("nan")], [float("nan")] * 2], [True, False]),
    ],
)
def test_known_values_of_numbers(y, known):
    """−1 is a number like any other."""
    assert known_values(y).tolist() == known
