"""Representations: transform equals fit_transform, in batches too, and is optimal."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import oracles
from cofactor import SSNMFClassifier
from fits import PAIRS, every_kind, every_model, make

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.slow
@every_model
@every_kind
def test_transform_is_fit_transform(X, classes, kind, losses, solver):
    model = make(kind, losses, solver)
    representation = model.fit_transform(X, classes)
    assert_array_equal(model.transform(X), representation)
    assert_array_equal(make(kind, losses, solver).fit(X, classes).transform(X), representation)


@pytest.mark.slow
@pytest.mark.parametrize("losses", PAIRS[::4], ids="-".join)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_batches_change_no_bit(X, classes, losses, form, dtype):
    X = X.astype(dtype)
    model = make(SSNMFClassifier, losses).fit(X, classes)
    whole, probabilities = model.transform(form(X)), model.predict_proba(form(X))
    for size in (1, 7, 59):
        batches = [form(X[i : i + size]) for i in range(0, 60, size)]
        assert_array_equal(np.vstack([model.transform(batch) for batch in batches]), whole)
        found = np.vstack([model.predict_proba(batch) for batch in batches])
        assert_allclose(found, probabilities, rtol=1e-6)
        assert_array_equal(np.hstack([model.predict(batch) for batch in batches]), model.predict(X))


@pytest.mark.parametrize("losses", PAIRS[::4], ids="-".join)
def test_representations_are_optimal(X, classes, losses):
    """No label seen, A fixed: a convex problem, whose optimality conditions hold."""
    data = X + 0.5
    model = make(SSNMFClassifier, losses, max_iter=50).fit(data, classes)
    S, A = model.transform(data), model.components_.T
    kkt = oracles.kkt_residual(data, None, A, None, S, data_loss=losses[0], factors=("samples",))
    assert kkt.relative < (1e-4 if losses[0] == "itakura-saito" else 1e-6)
