"""The caller's arrays stay as they are, also if a fit is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from cofactor import Factors, SSNMFClassifier
from complaints import NAN, changed, complaint


def unsorted_csr(X):
    """Stored zeros, duplicates, indices out of order: what a tidy reader would repair in place."""
    X = sparse.coo_array(X)
    half = sparse.coo_array((np.r_[X.data, X.data] / 2, (np.r_[X.row, X.row], np.r_[X.col, X.col])))
    out = sparse.csr_array((60, 12))
    rows = [np.flatnonzero(half.row == i)[::-1] for i in range(60)]
    order = np.concatenate(rows)
    out = sparse.csr_array((60, 12))
    out.data, out.indices = half.data[order], half.col[order].astype(np.int32)
    out.indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int32)
    out.data[::9] = 0
    return out


def contents(thing):
    """Every byte of what may have been passed."""
    if thing is None:
        return None
    if isinstance(thing, Factors):
        return [contents(V) for V in thing.each()]
    if sparse.issparse(thing):
        return [contents(getattr(thing, name)) for name in ("data", "indices", "indptr")]
    if isinstance(thing, (pd.DataFrame, pd.Series)):
        return [contents(thing.to_numpy()), thing.index.tolist()]
    return (thing.dtype, thing.shape, thing.tobytes() if thing.dtype != object else thing.tolist())


PASSED = {
    "dense": lambda X: np.array(X),
    "Fortran order": lambda X: np.asfortranarray(X),
    "float32": lambda X: X.astype(np.float32),
    "integers": lambda X: X.astype(np.int16),
    "NaN": lambda X: changed(X, (3, 2), NAN),
    "pandas": lambda X: pd.DataFrame(X),
    "csr": unsorted_csr,
    "csr matrix": lambda X: sparse.csr_matrix(unsorted_csr(X)),
    "csc": lambda X: sparse.csc_array(X),
}


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "mu", "mu-paper"])
@pytest.mark.parametrize("form", PASSED)
def test_what_is_passed_stays_as_it_is(X, classes, form, solver):
    given = {
        "X": PASSED[form](X),
        "y": np.where(classes == 1, NAN, classes),
        "sample_weight": np.arange(60.0),
        "data_weights": np.where(X > 3, 0.0, 2.0),
        "target_weights": np.arange(60.0) % 4,
    }
    start = Factors(np.ones((60, 3)), np.ones((12, 3)), np.ones((2, 3)))
    before = {name: contents(thing) for name, thing in given.items()}, contents(start)
    for weights in (given["data_weights"], sparse.csr_array(given["data_weights"]), None):
        for init in (start, "labels", "nndsvd"):
            model = SSNMFClassifier(3, init=init, max_iter=3, tol=0, solver=solver, random_state=0)
            model.fit(**{**given, "data_weights": weights})
            model.predict(given["X"])
            if init is start:
                assert model.init is start
    assert ({name: contents(thing) for name, thing in given.items()}, contents(start)) == before


@pytest.mark.parametrize("form", PASSED)
def test_what_is_passed_stays_as_it_is_if_it_is_refused(X, classes, form):
    given = {
        "X": PASSED[form](X),
        "y": np.where(classes == 1, NAN, classes),
        "sample_weight": np.arange(60.0),
        "data_weights": np.full((60, 12), 2.0),
        "target_weights": np.arange(60.0) % 4,
    }
    start = Factors(np.ones((60, 3)), np.ones((12, 3)), -np.ones((2, 3)))
    before = {name: contents(thing) for name, thing in given.items()}, contents(start)
    with pytest.raises(ValueError, match=r"init\.targets"):
        SSNMFClassifier(3, init=start).fit(**given)
    assert ({name: contents(thing) for name, thing in given.items()}, contents(start)) == before


def test_a_refused_fit_leaves_no_half_fitted_model(X, classes):
    model = SSNMFClassifier(3)
    complaint(lambda: model.fit(X, classes, data_weights=-np.ones((60, 12))))
    with pytest.raises(NotFittedError):
        model.predict(X)
