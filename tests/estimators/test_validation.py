"""Bad data, weights and targets: one sentence names the parameter, the value and the remedy."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from cofactor import NMF, SSNMFClassifier, SSNMFRegressor
from cofactor.estimators import validation
from cofactor.noise import Gaussian
from complaints import INF, MODELS, NAN, SUPERVISED, Dask, assert_says, changed, complaint, fit

# --- X -------------------------------------------------------------------------------------------

DATA = {
    "negative": (lambda X: changed(X, (3, 2), -1.5), [r"\bX\b", r"-1\.5", "shift|clip"]),
    "negative, sparse": (
        lambda X: sparse.csr_array(changed(X, (3, 2), -1.5)),
        [r"\bX\b", r"-1\.5", "shift|clip"],
    ),
    "infinite": (lambda X: changed(X, (3, 2), INF), [r"\bX\b", "infinity|inf"]),
    "infinite, sparse": (
        lambda X: sparse.csr_array(changed(X, (3, 2), INF)),
        [r"\bX\b", "infinity|inf"],
    ),
    "too large for float32": (
        lambda X: np.array(X).astype(np.float32) * np.float32(1e38),
        [r"\bX\b", "infinity|inf", "float32"],
    ),
    "one-dimensional": (lambda X: X[0], ["1D array", r"reshape\(1, -1\)"]),
    "three-dimensional": (lambda X: X[None], [r"\bX\b|array", "3"]),
    "without samples": (lambda X: X[:0], [r"0 sample", r"\(0, 12\)", "minimum of 1"]),
    "without features": (lambda X: X[:, :0], [r"0 feature", r"\(60, 0\)", "minimum of 1"]),
    "words": (lambda X: changed(X, (0, 0), "word", object), [r"\bX\b", "word", "number|float"]),
    "a table with words": (
        lambda X: pd.DataFrame({"a": ["x"] * 60, "b": 1.0}),
        [r"\bX\b", "x", "number|float"],
    ),
    "complex": (lambda X: X * 1j, ["[Cc]omplex"]),
    "dask": (lambda X: Dask(), [r"\bX\b", "dask", "compute"]),
    "a row without data": (lambda X: changed(X, 7, NAN), [r"\bX\b", "row 7", "remove"]),
    "sparse with NaN": (
        lambda X: sparse.csr_array(changed(X, (3, 2), NAN)),
        [r"\bX\b", "1 stored NaN", "data_weights|dense"],
    ),
}


@pytest.mark.parametrize(("make", "patterns"), DATA.values(), ids=DATA)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_data(X, classes, kind, make, patterns):
    bad = make(X)
    y = classes[: bad.shape[0]] if bad.ndim == 2 else classes
    assert_says(lambda: fit(kind, bad, y), *patterns)


def test_errors_of_the_data_itself_stay_as_they_are():
    class Undecodable:
        shape, ndim = (60, 12), 2

        def __array__(self, *_, **__):
            b"\xff".decode("utf-8")

    for arguments in (
        {"X": Undecodable()},
        {"X": np.ones((60, 12)), "data_weights": Undecodable()},
    ):
        with pytest.raises(UnicodeDecodeError, match="can't decode byte 0xff"):
            NMF(1).fit(**arguments)


def test_a_column_named_dask_is_no_dask():
    X = pd.DataFrame({"dask": [1.0, 0.0, 2.0], "numba": [0.0, 1.0, 1.0]})
    assert NMF(1, tol=0, max_iter=2).fit(X).components_.shape == (1, 2)


@pytest.mark.parametrize("name", ["negative", "infinite", "words", "dask", "a row without data"])
@pytest.mark.parametrize("kind", MODELS)
def test_new_data(X, classes, kind, name):
    make, patterns = DATA[name]
    model = fit(kind, X, classes)
    assert_says(lambda: model.transform(make(X)), *patterns)
    if kind is not NMF:
        assert_says(lambda: model.predict(make(X)), *patterns)


def test_new_data_of_another_width(X, classes):
    model = fit(SSNMFClassifier, X, classes)
    for method in (model.transform, model.predict, model.predict_proba):
        assert_says(lambda method=method: method(X[:, 1:]), r"\bX\b", "11 features", "12 features")
    assert_says(lambda: model.inverse_transform(np.ones((2, 5))), r"\bX\b", r"5", r"3|n_components")
    assert_says(
        lambda: model.transform(X, data_weights=np.ones((60, 11))),
        "data_weights",
        r"\(60, 11\)",
        r"\(60, 12\)",
    )


def test_weights_of_another_shape(X, classes):
    for weights in (np.ones(60), np.ones((60, 12, 1)), 2.0):
        shape = re.escape(str(np.shape(weights)))
        assert_says(
            lambda weights=weights: fit(NMF, X, classes, data_weights=weights),
            "data_weights",
            f"shape {shape}",
            r"\(60, 12\) or \(60, 1\) or \(1, 12\)",
        )


def test_a_class_of_noise_is_no_noise(X, classes):
    for name in ("data_loss", "target_loss"):
        assert_says(
            lambda name=name: fit(SSNMFClassifier, X, classes, {name: Gaussian}),
            name,
            "class Gaussian",
            r"Gaussian\(\)",
        )


@pytest.mark.parametrize("kind", MODELS)
def test_before_fit(X, kind):
    methods = ["transform", "inverse_transform", "get_feature_names_out"]
    methods += [] if kind is NMF else ["predict"]
    for method in methods:
        with pytest.raises(NotFittedError, match=f"{kind.__name__}.*not fitted.*fit"):
            getattr(kind(), method)(*([] if method.startswith("get") else [X]))


# --- weights -------------------------------------------------------------------------------------

WEIGHTS = {
    "sample_weight": lambda value: np.full(60, value),
    "data_weights": lambda value: np.full((60, 12), value),
    "target_weights": lambda value: np.full(60, value),
}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (kind, name)
        for kind in MODELS
        for name in WEIGHTS
        if (kind, name) != (NMF, "target_weights")
    ],
)
@pytest.mark.parametrize(
    ("bad", "patterns"),
    [
        (lambda w: changed(w, 3, -2.5), [r"-2\.5", "at least 0|nonnegative|≥ 0"]),
        (lambda w: changed(w, 3, NAN), ["NaN|nan"]),
        (lambda w: changed(w, 3, INF), ["inf"]),
        (lambda w: w[1:], [r"\(59,( 12)?\)", r"\(60,( 12)?\)"]),
        (lambda w: np.ones((60, 5)), [r"\(60, 5\)|2D", "60"]),
        (lambda w: np.ones((60, 2, 2)), [r"\(60, 2, 2\)|\b3\b"]),
        (lambda w: np.full(w.shape, "much"), ["much|<U4", "float|number"]),
        (lambda w: w * 1j, ["[Cc]omplex"]),
        (lambda w: Dask(), ["dask", "compute"]),
    ],
    ids=["negative", "NaN", "inf", "short", "wide", "deep", "words", "complex", "dask"],
)
def test_weights(X, classes, kind, name, bad, patterns):
    weights = {name: bad(WEIGHTS[name](1.0))}
    said = "(?i)" + name.replace("_", "[_ ]")
    assert_says(lambda: fit(kind, X, classes, **weights), said, *patterns)


def test_weights_that_leave_nothing(X, classes):
    assert_says(
        lambda: fit(NMF, X, classes, sample_weight=np.zeros(60)),
        "(?i)sample.weight",
        "at least one",
    )
    assert_says(
        lambda: fit(NMF, X, classes, data_weights=np.zeros((60, 12))), "data_weights", "row 0"
    )


def test_sparse_weights_of_targets(X, classes):
    weights = sparse.csr_array(np.ones((60, 3)))
    assert_says(
        lambda: fit(SSNMFClassifier, X, classes, target_weights=weights),
        "target_weights",
        "sparse",
        "toarray",
    )


# --- y -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SUPERVISED)
@pytest.mark.parametrize(
    ("bad", "patterns"),
    [
        (lambda y: y[1:], ["60", "59", r"\by\b.*one entry per sample"]),
        (lambda y: None, [r"\by\b", "None"]),
        (lambda y: np.ones((60, 2, 2)), [r"\by\b", r"\(60, 2, 2\)", "1d array|matrix"]),
        (lambda y: np.ones((60, 0)), [r"\by\b", r"\(60, 0\)"]),
        (lambda y: y * 1j, ["(?i)complex|label type"]),
        (lambda y: np.array([object()] * 60), [r"\by\b", "object"]),
        (lambda y: Dask(), [r"\by\b", "dask", "compute"]),
    ],
    ids=["short", "None", "deep", "empty", "complex", "objects", "dask"],
)
def test_targets(X, classes, kind, bad, patterns):
    assert_says(lambda: fit(kind, X, bad(classes)), *patterns)


@pytest.mark.parametrize("kind", SUPERVISED)
def test_no_targets(X, kind):
    assert_says(lambda: kind().fit(X), r"requires y to be passed")


def test_labels(X, classes):
    refused = [
        (classes + 0.5, ["continuous", "regression"]),
        (np.array([1, "a", None] * 20, dtype=object), [r"\by\b", "int and str", "use one type"]),
        (np.where(np.eye(60)[:, :3], -0.5, 1), [r"\by\b", r"-0\.5", "nonnegative"]),
        (np.full((60, 2), INF), [r"\by\b", "inf", "unknown"]),
    ]
    for y, patterns in refused:
        assert_says(lambda y=y: fit(SSNMFClassifier, X, y), *patterns)


def test_numbers(X, classes):
    refused = [
        (changed(classes, 5, INF), [r"\by\b", "inf", "unknown"]),
        (np.array(["a"] * 60), [r"\by\b", "<U1|'a'", "float"]),
        (sparse.csr_array(np.ones((60, 2))), [r"\by\b", "sparse", "toarray"]),
    ]
    for y, patterns in refused:
        assert_says(lambda y=y: fit(SSNMFRegressor, X, y), *patterns)


def test_nothing_to_score(X, classes):
    model = fit(SSNMFClassifier, X, classes)
    assert_says(lambda: model.score(X, np.full(60, -1)), r"\by\b", "no labelled sample")
    assert_says(lambda: model.score(X, classes[1:]), "60", "59")
    model = fit(SSNMFRegressor, X, classes)
    assert_says(lambda: model.score(X, np.full(60, NAN)), r"\by\b", "no known value")
    assert_says(lambda: model.score(X, classes[1:]), "60", "59")


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_more_topics_than_the_memory_holds(kind, method):
    X, y = np.ones((30, 10)), np.arange(30) % 2
    given = (X,) if kind is NMF else (X, y)
    for n_components, dtype in ((10**12, "f8"), (2 * 10**12, "f4")):
        said = complaint(
            lambda n=n_components, d=dtype: getattr(kind(n), method)(given[0].astype(d), *given[1:])
        )
        assert said.startswith(f"n_components={n_components} asks for too many topics: their ")
        assert "need 1,600,000 GB of memory" in said
        assert "use a smaller number" in said


def test_memory_is_just_enough(monkeypatch):
    pages = {"SC_PHYS_PAGES": 5 * 3 * 40, "SC_PAGE_SIZE": 8}
    monkeypatch.setattr("os.sysconf", pages.get)
    validation.check_room(3, np.ones((30, 10)))
    validation.check_room(6, np.ones((30, 10), dtype=np.float32))
    with pytest.raises(ValueError, match="n_components=4 asks for too many topics"):
        validation.check_room(4, np.ones((30, 10)))
