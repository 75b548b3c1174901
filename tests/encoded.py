"""Checks of encoded targets that several files share."""

import hashlib
import pickle

import numpy as np
from numpy.testing import assert_array_equal
from scipy import sparse

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


TABLE = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0]])


HOLES = TABLE.astype(float)
HOLES[0, 1] = HOLES[3, 1] = NAN
MARKED = np.where(np.isnan(HOLES), -1, HOLES).astype(int)
