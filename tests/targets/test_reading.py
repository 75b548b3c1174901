"""What classes and numbers share: lengths, missing y, memory, read-only input."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from cofactor.targets.classes import encode_classes
from cofactor.targets.values import encode_values
from encoded import NAN, check_invariants

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
    with pytest.raises(TypeError, match=r"y is a dask collection.*cofactor.distributed.*y.compute"):
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
