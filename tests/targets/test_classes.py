"""Targets: what y may look like, and what it becomes."""

import hashlib
import pickle
from datetime import date
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from cofactor.targets import (
    ClassCoding,
    ValueCoding,
    encode_classes,
    encode_values,
    labelled_mask,
)

NAN = float("nan")


def dense(targets):
    values = targets.values
    return values.toarray() if sparse.issparse(values) else values


def weights(targets):
    """The full n × k table of weights."""
    rows = np.ones(targets.labelled.size) if targets.row_weights is None else targets.row_weights
    table = np.repeat(rows[:, None], targets.n_targets, axis=1)
    return table if targets.cell_weights is None else table * targets.cell_weights


def check_invariants(targets):
    cells = dense(targets)
    assert np.isfinite(cells).all()
    assert (cells >= 0).all()
    assert targets.row_weights is None or targets.cell_weights is None
    assert targets.n_targets == cells.shape[1]
    assert targets.labelled.dtype == bool
    if targets.n_targets:
        assert_array_equal(targets.labelled, (weights(targets) > 0).any(axis=1))


def fingerprint(data):
    if hasattr(data, "to_numpy"):  # pandas' pickles hold caches
        return repr((type(data), data.shape, data.to_numpy().tolist()))
    return hashlib.sha256(pickle.dumps(data)).hexdigest()


# --- multiclass: every way to write labels -------------------------------------------------------

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
    "object int with a class -1": (np.array([-1, None, 7, -1], dtype=object), [-1, 7]),
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
    assert encode_classes(y[:3], n_samples=3)[1].classes.tolist() == [-1, 0, 1]


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
    "y", [[0.5, 1.0, 2.0], np.array([0.1, NAN], dtype=np.float32), [1e300, 1.0]]
)
def test_continuous_labels(y):
    with pytest.raises(ValueError, match=r"Unknown label type: continuous\. Maybe you are trying"):
        encode_classes(y, n_samples=len(y))


@pytest.mark.parametrize("y", [["a", 1], ["a", -1, "b"], [True, "a"], [1, date(2020, 1, 1)]])
def test_labels_without_order(y):
    with pytest.raises(TypeError, match=r"y has labels of types without order.*None, NaN or ''"):
        encode_classes(np.array(y, dtype=object), n_samples=len(y))
    with pytest.raises(TypeError, match="without order"):
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
    st.lists(st.one_of(st.none(), st.integers(-(2**40), 2**40))),
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
    known = [label is not None and label != "" and label == label for label in labels]
    assert_array_equal(targets.labelled, known)
    assert_array_equal(labelled_mask(y), known)
    assert_array_equal(dense(targets).sum(axis=1), known)
    if any(known):
        expected = y[known].tolist()
        assert coding.decode(dense(targets))[known].tolist() == expected
        assert coding.classes.tolist() == sorted(set(expected))


@given(st.lists(st.integers(-1, 5), min_size=1).filter(lambda y: set(y) != {-1, 1}), st.randoms())
def test_permuted_samples_permute(y, random):
    order = list(range(len(y)))
    random.shuffle(order)
    targets, coding = encode_classes(y, n_samples=len(y))
    permuted, again = encode_classes([y[i] for i in order], n_samples=len(y))
    assert_array_equal(coding.classes, again.classes)
    assert_array_equal(dense(targets)[order], dense(permuted))
    assert_array_equal(targets.labelled[order], permuted.labelled)


# --- multiclass with known classes ---------------------------------------------------------------


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


# --- multi-label and soft ------------------------------------------------------------------------

TABLE = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0]])
MATRICES = {
    **{
        np.dtype(kind).name: TABLE.astype(kind)
        for kind in (bool, np.int8, np.int64, np.uint8, np.float16, np.float32, np.float64)
    },
    "list": TABLE.tolist(),
    "object": TABLE.astype(object),
    "fortran": np.asfortranarray(TABLE),
    "strided": np.repeat(TABLE, 2, axis=1)[:, ::2],
    "pandas": pd.DataFrame(TABLE, columns=["a", "b", "c"]),
    "pandas Int64": pd.DataFrame(TABLE, columns=["a", "b", "c"]).astype("Int64"),
    "pandas boolean": pd.DataFrame(TABLE, columns=["a", "b", "c"]).astype("boolean"),
    "polars": pl.DataFrame(TABLE, schema=["a", "b", "c"]),
    "polars bool": pl.DataFrame(TABLE.astype(bool), schema=["a", "b", "c"]),
    **{
        f"sparse {form}": sparse.coo_array(TABLE).asformat(form)
        for form in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
    },
    "csr_matrix": sparse.csr_matrix(TABLE),
    "sparse bool": sparse.csr_array(TABLE.astype(bool)),
}


@pytest.mark.parametrize("y", MATRICES.values(), ids=MATRICES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_multilabel(y, dtype):
    before = fingerprint(y)
    targets, coding = encode_classes(y, n_samples=4, dtype=dtype)
    assert fingerprint(y) == before
    check_invariants(targets)
    assert coding.kind == "multilabel"
    assert targets.values.dtype == dtype
    assert sparse.issparse(targets.values) == sparse.issparse(y)
    assert_array_equal(dense(targets), TABLE)
    assert targets.row_weights is None
    assert targets.cell_weights is None
    assert targets.labelled.all()
    assert labelled_mask(y).all()
    names = ["a", "b", "c"] if hasattr(y, "columns") else [0, 1, 2]
    assert coding.classes.tolist() == names
    decoded = coding.decode(0.9 * dense(targets))
    assert decoded.dtype == int
    assert_array_equal(decoded, TABLE)


HOLES = TABLE.astype(float)
HOLES[0, 1] = HOLES[3, 1] = NAN
MARKED = np.where(np.isnan(HOLES), -1, HOLES).astype(int)
WITH_HOLES = {
    "nan": HOLES,
    "int": MARKED,
    "int8": MARKED.astype(np.int8),
    "list": [[None if cell != cell else cell for cell in row] for row in HOLES.tolist()],
    "pandas": pd.DataFrame(HOLES),
    "pandas Int64": pd.DataFrame(HOLES).astype("Int64"),
    "pandas Int64, -1": pd.DataFrame(MARKED).astype("Int64"),
    "polars": pl.DataFrame(HOLES),
    "polars null": pl.DataFrame(HOLES).fill_nan(None).cast(pl.Int8),
    "polars bool": pl.DataFrame(HOLES).fill_nan(None).cast(pl.Int8).cast(pl.Boolean),
    "sparse nan": sparse.csr_array(HOLES),
    "sparse int": sparse.csc_array(MARKED),
}


@pytest.mark.parametrize("y", WITH_HOLES.values(), ids=WITH_HOLES)
def test_unknown_cells(y):
    before = fingerprint(y)
    targets, coding = encode_classes(y, n_samples=4)
    assert fingerprint(y) == before
    check_invariants(targets)
    assert coding.kind == "multilabel"
    assert_array_equal(dense(targets), np.nan_to_num(HOLES))
    assert targets.row_weights is None
    assert_array_equal(targets.cell_weights, ~np.isnan(HOLES))
    assert targets.labelled.all()
    if sparse.issparse(y):
        assert targets.values.nnz == np.nansum(HOLES)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, pd.DataFrame, pl.DataFrame])
def test_unknown_rows_stay_structured(form):
    y = HOLES.copy()
    y[[0, 3]] = NAN
    targets, _ = encode_classes(form(y), n_samples=4)
    assert targets.cell_weights is None
    assert_array_equal(targets.row_weights, [0, 1, 1, 0])
    assert_array_equal(labelled_mask(form(y)), [False, True, True, False])


def test_sparse_duplicates_and_stored_zeros():
    y = sparse.csr_array((np.array([1, 0, 1]), np.array([0, 1, 1]), np.array([0, 2, 3])), (2, 2))
    before = fingerprint(y)
    targets, coding = encode_classes(y, n_samples=2)
    assert fingerprint(y) == before
    assert coding.kind == "multilabel"
    assert targets.values.nnz == 2
    summed = sparse.csr_array((np.ones(3), np.array([0, 0, 1]), np.array([0, 2, 3])), (2, 2))
    targets, coding = encode_classes(summed, n_samples=2)
    assert coding.kind == "soft"
    assert_array_equal(dense(targets), [[2, 0], [0, 1]])


def test_one_hot_is_multilabel():
    assert encode_classes(np.eye(3), n_samples=3)[1].kind == "multilabel"


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, pl.DataFrame, pd.DataFrame])
def test_soft_labels(form):
    y = np.array([[0.25, 0.75], [NAN, NAN], [1.0, 0.0], [0.5, 3.0]])
    targets, coding = encode_classes(form(y), n_samples=4)
    check_invariants(targets)
    assert coding.kind == "soft"
    assert_array_equal(dense(targets), np.nan_to_num(y))
    assert_array_equal(targets.row_weights, [1, 0, 1, 1])
    assert targets.cell_weights is None
    decoded = coding.decode(dense(targets))
    assert decoded.tolist() == coding.classes[[1, 0, 0, 1]].tolist()


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([[0.5, -0.5], [1, 0]], "y has a negative cell, -0.5"),
        ([[-1.0, 1.0], [1, 0]], "y has a negative cell, -1: .*NaN"),
        ([[-1, 2], [1, 0]], "y has a negative cell, -1"),
        ([[-2, 1], [1, 0]], "y has a negative cell, -2"),
        ([[np.inf, 1], [1, 0]], "Input y contains infinity"),
        ([["a", "b"], ["c", "d"]], "Numbers expected: y has dtype <U1"),
        ([["a", None], ["c", "d"]], "y contains 'a', but numbers"),
        ([[1j, 0], [1, 0]], "Complex data not supported"),
        ([[1, 0], [1]], "y has rows of different lengths.*MultiLabelBinarizer"),
        (np.zeros((2, 0)), r"got an array of shape \(2, 0\)"),
        (np.zeros((2, 2, 2)), r"got an array of shape \(2, 2, 2\)"),
        ("ab", r"got an array of shape \(\)"),
        (1.0, r"got an array of shape \(\)"),
    ],
)
def test_matrices_that_are_no_targets(y, message):
    with pytest.raises(ValueError, match=message):
        encode_classes(y, n_samples=2)


@pytest.mark.parametrize(
    ("cell", "message"),
    [(-0.5, "negative cell"), (-1.0, "negative"), (np.inf, "infinity"), (1j, "Complex")],
)
def test_sparse_matrices_that_are_no_targets(cell, message):
    with pytest.raises(ValueError, match=message):
        encode_classes(sparse.csr_array(np.array([[cell, 0], [0, 1]])), n_samples=2)


def test_known_columns():
    frame = pd.DataFrame(TABLE, columns=["a", "b", "c"])
    _, coding = encode_classes(frame, n_samples=4)
    for y in (frame, TABLE, sparse.csr_array(TABLE), pl.DataFrame(TABLE, schema=["a", "b", "c"])):
        targets, same = encode_classes(y, n_samples=4, coding=coding)
        assert same is coding
        assert_array_equal(dense(targets), TABLE)
    with pytest.raises(ValueError, match=r"\['c', 'b', 'a'\], but \['a', 'b', 'c'\] are expected"):
        encode_classes(frame[["c", "b", "a"]], n_samples=4, coding=coding)
    with pytest.raises(ValueError, match="are expected"):
        encode_classes(TABLE[:, :2], n_samples=4, coding=coding)
    with pytest.raises(ValueError, match="1-D, but one column per class"):
        encode_classes([0, 1], n_samples=2, coding=coding)
    with pytest.raises(ValueError, match="other than 0 and 1"):
        encode_classes(TABLE / 2, n_samples=4, coding=coding)
    _, unnamed = encode_classes(TABLE / 2, n_samples=4)
    assert encode_classes(frame, n_samples=4, coding=unnamed)[1].kind == "soft"
    _, labels = encode_classes([0, 1, 2], n_samples=3)
    with pytest.raises(ValueError, match="one column of labels"):
        encode_classes(TABLE, n_samples=4, coding=labels)


# --- weights -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, list, pd.Series, pl.Series])
def test_confidence_of_samples_stays_structured(form):
    confidence = form([0.5, 2.0, 0.0, 1.0])
    before = fingerprint(confidence)
    targets, coding = encode_classes(["a", None, "b", "a"], n_samples=4, target_weights=confidence)
    assert fingerprint(confidence) == before
    check_invariants(targets)
    assert_array_equal(targets.row_weights, [0.5, 0, 0, 1])
    assert targets.cell_weights is None
    assert_array_equal(targets.labelled, [True, False, False, True])
    assert coding.classes.tolist() == ["a", "b"]


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, pl.DataFrame, np.asfortranarray])
def test_confidence_of_cells(form):
    table = np.array([[1.0, 0.5], [2.0, 1.0], [0.0, 3.0]])
    targets, _ = encode_classes(["a", None, "b"], n_samples=3, target_weights=form(table))
    check_invariants(targets)
    assert targets.row_weights is None
    assert_array_equal(targets.cell_weights, [[1, 0.5], [0, 0], [0, 3]])
    assert_array_equal(targets.labelled, [True, False, True])


def test_cells_that_agree_along_rows_become_row_weights():
    table = np.array([[0.5, 0.5], [1.0, 1.0]])
    targets, _ = encode_classes([0, 1], n_samples=2, target_weights=table)
    assert targets.cell_weights is None
    assert_array_equal(targets.row_weights, [0.5, 1])
    assert encode_classes([0, 1], n_samples=2, target_weights=np.ones(2))[0].row_weights is None


def test_confidence_multiplies_known_cells():
    given_rows, _ = encode_classes(HOLES, n_samples=4, target_weights=[1, 2, 3, 4])
    check_invariants(given_rows)
    expected = ~np.isnan(HOLES) * np.array([1.0, 2, 3, 4])[:, None]
    assert_array_equal(given_rows.cell_weights, expected)
    cells = np.arange(12.0).reshape(4, 3)
    given_cells, _ = encode_classes(HOLES, n_samples=4, target_weights=cells, dtype=np.float32)
    assert_array_equal(given_cells.cell_weights, ~np.isnan(HOLES) * cells)
    assert given_cells.cell_weights.dtype == np.float32
    assert_array_equal(cells, np.arange(12.0).reshape(4, 3))


BAD_WEIGHTS = {
    "too short": (np.ones(2), r"has shape \(2,\), but \(3,\) or \(3, 2\) is expected"),
    "scalar": (1.0, r"has shape \(\), but \(3,\)"),
    "column": (np.ones((3, 1)), r"has shape \(3, 1\), but"),
    "row": (np.ones((1, 2)), r"has shape \(1, 2\), but"),
    "transposed": (np.ones((2, 3)), r"has shape \(2, 3\), but"),
    "cube": (np.ones((3, 2, 1)), r"has shape \(3, 2, 1\), but"),
    "negative": ([1, -0.5, 1], "contains -0.5, but must be nonnegative"),
    "nan": ([1, NAN, 1], "contains nan, but must be nonnegative"),
    "None": ([1, None, 1], "contains nan, but must be nonnegative"),
    "null": (pl.Series([1, None, 1]), "contains nan, but must be nonnegative"),
    "NA": (pd.Series([1, None, 1], dtype="Int64"), "contains nan, but must be nonnegative"),
    "infinite": ([1, np.inf, 1], "contains infinity"),
    "strings": (["1", "2", "3"], "has dtype <U1"),
    "complex": ([1j, 1, 1], "has dtype complex128"),
    "sparse": (sparse.csr_array(np.ones((3, 2))), "is sparse.*toarray"),
    "ragged": ([[1, 1], [1], [1, 1]], "has rows of different lengths"),
}


@pytest.mark.parametrize(("bad", "message"), BAD_WEIGHTS.values(), ids=BAD_WEIGHTS)
def test_bad_target_weights(bad, message):
    with pytest.raises(ValueError, match=f"target_weights {message}"):
        encode_classes([0, 1, 0], n_samples=3, target_weights=bad)
    with pytest.raises(ValueError, match=f"target_weights {message}"):
        encode_values(np.ones((3, 2)), n_samples=3, target_weights=bad)


@pytest.mark.parametrize("bad", [np.ones((3, 1)), np.ones(2), [1, -1, 1], 1.0, [1, NAN, 1]])
def test_bad_sample_weight(bad):
    with pytest.raises(ValueError, match=r"sample_weight (has shape|contains)"):
        encode_values([1.0, 2.0, 3.0], n_samples=3, sample_weight=bad)


# --- regression ----------------------------------------------------------------------------------

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


# --- what both share -----------------------------------------------------------------------------

BOTH = pytest.mark.parametrize("encode", [encode_classes, encode_values])


@BOTH
def test_no_y(encode):
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        encode(None, n_samples=2)


@BOTH
@pytest.mark.parametrize(
    "y", [[0, 1, 0], np.ones((3, 2)), pd.Series([1, 2, 3]), pl.Series([1, 2, 3])]
)
def test_length(encode, y):
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[2, 3\], y must"):
        encode(y, n_samples=2)


@BOTH
@pytest.mark.parametrize("y", [SimpleNamespace(dask={}), SimpleNamespace(__dask_graph__=dict)])
def test_dask(encode, y):
    with pytest.raises(TypeError, match=r"y is a dask collection.*compute.*cofactor.distributed"):
        encode(y, n_samples=2)
    with pytest.raises(TypeError, match="target_weights is a dask collection"):
        encode([1, 0], n_samples=2, target_weights=y)


@BOTH
def test_a_column_named_dask_is_no_dask(encode):
    frame = pd.DataFrame({"dask": [0, 1], "numba": [1, 1]})
    assert_array_equal(encode(frame, n_samples=2)[0].values, frame.to_numpy())


@BOTH
def test_masked_arrays_are_refused(encode):
    with pytest.raises(TypeError, match="y is a masked array"):
        encode(np.ma.masked_equal([0, 1, 2], 1), n_samples=3)


@BOTH
def test_no_samples(encode):
    targets, _ = encode(np.zeros(0), n_samples=0)
    assert targets.labelled.shape == (0,)


@BOTH
@pytest.mark.parametrize("y", [np.array([0.0, 1.0, NAN]), np.array([[0.0, 1.0], [NAN, 1], [1, 1]])])
def test_results_share_no_memory_with_the_input(encode, y):
    table = np.ones(y.shape)
    table[0] = 2
    targets, _ = encode(y, n_samples=3, target_weights=table if y.ndim == 2 else table.ravel())
    for array in (targets.row_weights, targets.cell_weights, targets.values):
        if isinstance(array, np.ndarray):
            assert not np.shares_memory(array, y)
            assert not np.shares_memory(array, table)


@BOTH
def test_read_only_input(encode):
    y = np.array([[0.0, 1.0], [NAN, 1.0]])
    y.flags.writeable = False
    check_invariants(encode(y, n_samples=2, target_weights=y[0:1].T.repeat(2, axis=1))[0])
