"""Several labels per sample, and soft labels: a y of rows and columns."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from cofactor.targets.classes import encode_classes
from cofactor.targets.reading import labelled_mask
from encoded import HOLES, MARKED, NAN, TABLE, check_invariants, dense, fingerprint

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
