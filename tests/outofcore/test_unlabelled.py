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
    "a list with NaN": [("a", np.nan, "b")[i % 3] for i in range(N)],
    "a column": np.where(np.arange(N) == 317, 1, np.arange(N) % 2 * 2)[:, None],
    "a column of words": np.array(["a", None, "b", ""] * (N // 4), dtype=object)[:, None],
}


@pytest.mark.slow
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


@pytest.mark.slow
@forms
@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.float64, object])
def test_numbers(X, form, dtype, tmp_path, budget):
    """−1 is the lowest number, once, in a later block: it must be in every sample."""
    y = (np.arange(N) % 2 * 5).astype(dtype)
    y[317] = -1
    whole, parts = fit(SSNMFRegressor, X, y), fit(SSNMFRegressor, blocks_of(form, X, y, tmp_path))
    assert whole.coding.offset.tolist() == [-1.0]
    assert parts.coding.offset.tolist() == [-1.0]
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


# ---------------------------------------------------------------- frames and nulls


def frames(library):
    """Targets of a library: labels, and matrices with named columns."""
    made = pytest.importorskip(library)
    nulls = [1, 2, -1, None] * (N // 4)
    cells = {"sun": [0, 1] * (N // 2), "moon": [1, 1, 0, 0] * (N // 4)}
    unknown = {**cells, "moon": [1, None, 0, -1] * (N // 4)}
    marked = {**cells, "moon": [1, -1, 0, 1] * (N // 4)}
    if library == "polars":
        return {
            "nulls and -1": made.Series(nulls),
            "two classes": made.Series([1, -1, None, 1] * 100),
            "no null": made.Series([0, 2, -1, 1] * (N // 4)),
            "words": made.Series(["a", None] * 200),
            "indicator": made.DataFrame(cells),
        }
    return {
        "nulls and -1": made.Series(nulls, dtype="Int64"),
        "two classes": made.Series([1, -1, None, 1] * (N // 4), dtype="Int64"),
        "no null": made.Series([0, 2, -1, 1] * (N // 4), dtype="Int64"),
        "floats": made.Series([1.0, None, -1.0, 2.0] * (N // 4), dtype="Float64"),
        "switches": made.Series([True, None] * (N // 2), dtype="boolean"),
        "words": made.Series(["a", None, "b", "a"] * (N // 4), dtype="string"),
        "categories": made.Series(["a", None, "b", "a"] * (N // 4), dtype="category"),
        "a column": made.DataFrame({"kind": made.Series(nulls, dtype="Int64")}),
        "indicator": made.DataFrame(cells),
        "indicator with nulls": made.DataFrame(unknown, dtype="Int64"),
        "objects": made.DataFrame(unknown, dtype=object),
        "objects without nulls": made.DataFrame(marked, dtype=object),
    }


@pytest.mark.slow
@forms
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_are_read_as_in_arrays(X, library, form, tmp_path, budget):
    for name, y in frames(library).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            blocks, expected = blocks_of(form, X, y, tmp_path / name), labelled_mask(y)
        whole, parts = fit(SSNMFClassifier, X, y), fit(SSNMFClassifier, blocks)
        assert parts.classes_.tolist() == whole.classes_.tolist(), name
        assert parts.coding.kind == whole.coding.kind, name
        known = [labelled_mask(blocks.targets(i)) for i in range(blocks.n_blocks)]
        assert np.concatenate(known).tolist() == expected.tolist(), name


@pytest.mark.slow
@forms
def test_null_numbers(X, form, tmp_path):
    pandas = pytest.importorskip("pandas")
    for dtype in ("Int64", "Float64", "float"):
        y = pandas.Series([3, None, 5, 8] * (N // 4), dtype=dtype)
        blocks = blocks_of(form, X, y, tmp_path / dtype)
        known = np.concatenate([known_values(blocks.targets(i)) for i in range(blocks.n_blocks)])
        assert known.tolist() == known_values(y).tolist()
        assert np.isfinite(fit(SSNMFRegressor, blocks).predict(X)).all()


def test_a_mark_that_cannot_be_kept_is_named(X):
    pandas = pytest.importorskip("pandas")
    with pytest.warns(UserWarning, match="-1 and nulls among integers"):
        RowBlocks.split(X, pandas.Series([0, 1, -1, None] * (N // 4), dtype="Int64"), rows=60)


def test_batches_have_the_same_columns(X, tmp_path):
    pandas = pytest.importorskip("pandas")
    Y = pandas.DataFrame({"sun": np.arange(N) % 2, "moon": np.arange(N) % 3 == 0})
    pairs = [(X[:60], Y[:60]), (X[60:], Y[["moon", "sun"]][60:])]
    with pytest.raises(ValueError, match=r"columns.*'moon', 'sun'.*'sun', 'moon'"):
        RowBlocks.write(tmp_path / "b", pairs)
    assert list(tmp_path.iterdir()) == []


def test_masked_arrays_are_refused(X):
    with pytest.raises(TypeError, match="y is a masked array"):
        RowBlocks.split(X, np.ma.masked_equal(np.arange(N) % 3, 0), rows=60)


# ---------------------------------------------------------------- what a sample must show


@pytest.mark.slow
def test_more_classes_than_numbers_are_shown(X, monkeypatch):
    monkeypatch.setattr(validation, "SAMPLE_CELLS", 300)
    monkeypatch.setattr("cofactor.outofcore.sampling.MOST_FIRSTS", 20)
    for y in (np.arange(N) % 90, (np.arange(N) % 90).astype(float)):
        fitted = fit(SSNMFClassifier, RowBlocks.split(X, y, rows=60))
        assert fitted.classes_.tolist() == list(range(90))


def test_fractions_do_not_fill_the_sample(X, monkeypatch):
    """They are refused as classes, and need not be in memory for that."""
    monkeypatch.setattr("cofactor.outofcore.sampling.MOST_FIRSTS", 20)
    blocks = RowBlocks.split(X, np.arange(N) + 0.5, rows=60)
    assert blocks.sample(300, labelled_mask)[0].shape[0] < 100


@pytest.mark.slow
@forms
@pytest.mark.parametrize("place", [0, 117, N - 1])
def test_one_soft_cell(X, form, place, tmp_path, budget):
    Y = (np.arange(N)[:, None] % [2, 3, 5] == 0).astype(float)
    Y[place, 1] = 0.5
    assert fit(SSNMFClassifier, X, Y).coding.kind == "soft"
    assert fit(SSNMFClassifier, blocks_of(form, X, Y, tmp_path)).coding.kind == "soft"
