"""Weights of targets: of samples, of cells, and those that are refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from cofactor.targets.classes import encode_classes
from cofactor.targets.values import encode_values
from encoded import HOLES, NAN, check_invariants, fingerprint


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
