"""−1 among targets: arrays and row blocks are read alike, by the rule of the estimator."""

import warnings

import numpy as np
import pytest
from scipy import sparse as sp

from cofactor import NMF, RowBlocks, SSNMFClassifier, SSNMFRegressor
from cofactor.estimators import validation
from cofactor.targets import known_values, labelled_mask

N = 400


@pytest.fixture(params=["all rows", "a sample"])
def budget(request, monkeypatch):
    """Whether starts see all rows, or some of them."""
    if request.param == "a sample":
        monkeypatch.setattr(validation, "SAMPLE_CELLS", 300)
    return request.param


@pytest.fixture(scope="module")
def X():
    draw = np.random.default_rng(0)
    subject = np.arange(N) % 2
    return sp.csr_array(draw.poisson(0.2 + 2.0 * (np.arange(12) % 2 == subject[:, None])) * 1.0)


def fit(kind, rows, y=None):
    settings = {"solver": "mu", "max_iter": 5, "tol": 0, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(3, **settings).fit(rows, y)


def blocks_of(form, X, y, path):
    if form == "folder":
        return RowBlocks.write(path / "b", [(X, y)], rows=60)
    if form == "memory":
        return RowBlocks.split(X, y, rows=60)
    return RowBlocks.split(X, rows=60).with_targets(y)


forms = pytest.mark.parametrize("form", ["folder", "memory", "other targets"])
CLASSES = {
    "two classes": np.where(np.arange(N) % 2, 1, -1),
    "two classes, the second in a later block": np.where(np.arange(N) < 300, 1, -1),
    "the mark in a later block": np.where(np.arange(N) < 300, np.arange(N) % 2, -1),
    "the mark beside 1 in the first block": np.where(
        np.arange(N) < 100, np.where(np.arange(N) % 2, 1, -1), np.arange(N) % 3
    ),
    "objects": np.where(np.arange(N) % 2, 1, -1).astype(object),
    "floats": np.where(np.arange(N) % 3, 1.0, -1.0),
}


@forms
@pytest.mark.parametrize("name", CLASSES)
def test_classes(X, name, form, tmp_path, budget):
    y = CLASSES[name]
    whole, parts = fit(SSNMFClassifier, X, y), fit(SSNMFClassifier, blocks_of(form, X, y, tmp_path))
    assert parts.classes_.tolist() == whole.classes_.tolist()
    assert parts.target_components_.shape == whole.target_components_.shape
    assert set(parts.predict(X).tolist()) <= set(whole.classes_.tolist())
    if name == "two classes":
        assert (parts.predict(X) == y).mean() > 0.9


@forms
@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.float64, object])
def test_numbers(X, form, dtype, tmp_path, budget):
    """−1 is the lowest number, once, in a later block: it must be in every sample."""
    y = (np.arange(N) % 2 * 5).astype(dtype)
    y[317] = -1
    whole, parts = fit(SSNMFRegressor, X, y), fit(SSNMFRegressor, blocks_of(form, X, y, tmp_path))
    assert whole._coding.offset.tolist() == [-1.0]
    assert parts._coding.offset.tolist() == [-1.0]
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), atol=2.0)


def test_a_sample_follows_the_rule(X):
    y = np.where(np.arange(N) % 2, 1, -1)
    y[100:] = np.arange(N - 100) % 3  # so −1 marks the unlabelled of the first hundred
    blocks = RowBlocks.split(X, y, rows=50)
    for known in (labelled_mask, known_values):
        _, some, weights = blocks.sample(X.nnz // 10, known)
        for value in np.unique(y):
            assert value in some
        assert weights[known(some)].sum() == pytest.approx(known(y).sum())
        assert weights.sum() == pytest.approx(N)


def test_targets_do_not_matter_to_an_estimator_without_them(X, monkeypatch):
    monkeypatch.setattr(validation, "SAMPLE_CELLS", 300)
    y = np.where(np.arange(N) % 7, -1, 1)
    with_targets, without = (fit(NMF, RowBlocks.split(X, t, rows=60)) for t in (y, None))
    np.testing.assert_array_equal(with_targets.components_, without.components_)


@forms
@pytest.mark.parametrize("kind", [SSNMFClassifier, SSNMFRegressor])
def test_integers_and_floats_are_sampled_alike(X, kind, form, tmp_path, monkeypatch):
    """Here −1 is a class, or a number, whatever the dtype; so the sample has the same rows."""
    monkeypatch.setattr(validation, "SAMPLE_CELLS", 300)
    y = np.where(np.arange(N) % 3, 1, -1)
    integers = fit(kind, blocks_of(form, X, y, tmp_path))
    floats = fit(kind, blocks_of(form, X, y.astype(float), tmp_path / "floats"))
    np.testing.assert_array_equal(integers.components_, floats.components_)
    np.testing.assert_array_equal(integers.predict(X), floats.predict(X))
