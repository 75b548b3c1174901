"""Bad input: one sentence names the parameter, the value and the remedy; nothing is written to."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from cofactor import NMF, Factors, SSNMFClassifier, SSNMFRegressor
from cofactor.noise import Gaussian
from cofactor.priors import L1, L2, Gamma

NAN, INF = float("nan"), float("inf")
MODELS = [NMF, SSNMFClassifier, SSNMFRegressor]
SUPERVISED = MODELS[1:]


class Dask:
    """As much of a dask array as is needed to be taken for one."""

    shape, ndim, dtype = (60, 12), 2, np.dtype(float)

    def __dask_graph__(self):
        return {}


def fit(kind, X, y, parameters=None, **weights):
    return kind(**{"n_components": 3, "random_state": 0, **(parameters or {})}).fit(X, y, **weights)


def complaint(call):
    """The one sentence (or two) that a user gets to see."""
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    message = str(caught.value)
    assert len(message) < 400, "the message prints the data"
    return message


def assert_says(call, *patterns):
    message = complaint(call)
    for pattern in patterns:
        assert re.search(pattern, message), f"{pattern!r} is not in: {message}"


def changed(X, cell, value, dtype=float):
    X = np.array(X, dtype=dtype)
    X[cell] = value
    return X


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
    "words": (
        lambda X: changed(X, (0, 0), "word", object),
        [r"\bX\b", "word", "number|float"],
    ),
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
            "data_weights", f"shape {shape}", r"\(60, 12\) or \(60, 1\) or \(1, 12\)",
        )  # fmt: skip


def test_a_class_of_noise_is_no_noise(X, classes):
    for name in ("data_loss", "target_loss"):
        assert_says(
            lambda name=name: fit(SSNMFClassifier, X, classes, {name: Gaussian}),
            name, "class Gaussian", r"Gaussian\(\)",
        )  # fmt: skip


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


# --- parameters ----------------------------------------------------------------------------------

PARAMETERS = [
    ("n_components", 0, r"Got 0", r"\[1, inf\)"),
    ("n_components", 2.5, r"Got 2.5", "int"),
    ("n_components", "auto", "Got 'auto'", "int"),
    ("data_loss", "poisson", "poisson", "kullback-leibler"),
    ("data_loss", None, "None", "kullback-leibler"),
    ("target_loss", "poisson", "poisson", "kullback-leibler"),
    ("supervision", -0.1, r"-0\.1", r"\[0\.0, inf\)"),
    ("supervision", NAN, "nan", r"\[0\.0, inf\)"),
    ("supervision", INF, "inf", r"\[0\.0, inf\)"),
    ("supervision", "much", "much", "auto"),
    ("solver", "sgd", "sgd", "mu-paper"),
    ("init", "k-means", "k-means", "nndsvd"),
    ("init", (np.ones((60, 3)), np.ones((12, 3))), r"Got \(array", "Factors"),
    ("head", "none", "none", "refit"),
    ("max_iter", 0, "Got 0", r"\[1, inf\)"),
    ("tol", -1e-3, r"-0\.001", r"\[0\.0, inf\)"),
    ("tol", NAN, "nan", r"\[0\.0, inf\)"),
    ("n_jobs", 0, "n_jobs=0", "-1 for all cores"),
    ("n_jobs", 1.5, r"1\.5", "int"),
    ("priors", L1(1.0), "L1", "dict"),
    ("priors", {"words": L1(1.0)}, "'words'", "'features'"),
    ("priors", {"samples": 0.1}, r"0\.1", "L1, L2 or Gamma"),
    ("priors", {"samples": [L1(1.0), "L2"]}, "'L2'", "L1, L2 or Gamma"),
    ("priors", {"samples": Gamma(np.full((2, 2), 2.0), 1.0)}, r"\(2, 2\)", r"\(60, 3\)"),
    ("priors", {"features": Gamma(2.0, np.ones((12, 4)))}, r"\(12, 4\)", r"\(12, 3\)"),
    ("priors", {"features": L2(np.ones((12, 3)))}, "L2", "one number"),
    ("random_state", "lucky", "lucky", "int"),
]


@pytest.mark.parametrize(
    ("kind", "name", "value", "shown", "remedy"),
    [(kind, *row) for kind in MODELS for row in PARAMETERS if row[0] in kind().get_params()],
)
def test_parameters(X, classes, kind, name, value, shown, remedy):
    with pytest.raises((ValueError, TypeError)) as caught:
        fit(kind, X, classes, {name: value})
    for pattern in (name, shown, remedy):
        assert re.search(pattern, str(caught.value)), str(caught.value)


def test_parameters_that_do_not_go_together(X, classes):
    for name in ("data_loss", "target_loss"):
        parameters = {"solver": "cd", name: "itakura-saito"}
        assert_says(
            lambda parameters=parameters: fit(SSNMFClassifier, X, classes, parameters),
            "solver='cd'",
            "itakura-saito",
            "solver='mu' or 'auto'",
        )
    remedy = "init='auto' or 'random'"
    assert_says(
        lambda: fit(SSNMFClassifier, X, np.full(60, -1), {"init": "labels"}), "'labels'", remedy
    )
    two = np.c_[classes, classes].astype(float)
    assert_says(lambda: fit(SSNMFRegressor, X, two, {"init": "labels"}), "'labels'", remedy)
    assert_says(lambda: fit(NMF, X, None, {"init": "labels"}), "init.*'labels'", "'random'")
    assert_says(lambda: fit(NMF, X, None, {"priors": {"targets": L1(1.0)}}), "priors", "'targets'")


@pytest.mark.parametrize(
    ("make", "name", "value", "least"),
    [
        (lambda: L1(-1.0), "weight", r"-1\.0", "at least 0"),
        (lambda: L1(INF), "weight", "inf", "finite"),
        (lambda: L1("a"), "weight", "'a'", "finite|number"),
        (lambda: L2(NAN), "weight", "nan", "finite"),
        (lambda: Gamma(0.5, 1.0), "shape", r"0\.5", "at least 1"),
        (lambda: Gamma(1.0, -1.0), "rate", r"-1\.0", "at least 0"),
    ],
)
def test_priors(make, name, value, least):
    assert_says(make, name, value, least)


STARTS = {
    "too few samples": (lambda S, A, B: (S[1:], A, B), ["samples", r"\(59, 3\)", r"\(60, 3\)"]),
    "too few features": (lambda S, A, B: (S, A[1:], B), ["features", r"\(11, 3\)", r"\(12, 3\)"]),
    "too few targets": (lambda S, A, B: (S, A, B[1:]), ["targets", r"\(2, 3\)", r"\(3, 3\)"]),
    "too few topics": (
        lambda S, A, B: (S[:, 1:], A[:, 1:], B[:, 1:]),
        [r"\(60, 2\)", r"\(60, 3\)", "n_components"],
    ),
    "one-dimensional": (lambda S, A, B: (S[:, 0], A, B), ["samples", r"\(60,\)", r"\(60, 3\)"]),
    "negative": (
        lambda S, A, B: (S, changed(A, 3, -2.5), B),
        ["features", r"-2\.5", "nonnegative"],
    ),
    "NaN": (lambda S, A, B: (changed(S, 3, NAN), A, B), ["samples", "(?i)nan", "finite"]),
    "infinite": (lambda S, A, B: (S, A, changed(B, 1, INF)), ["targets", "inf", "finite"]),
    "words": (lambda S, A, B: (np.full(S.shape, "x"), A, B), ["samples", "number|float"]),
    "complex": (lambda S, A, B: (S, A * 1j, B), ["features", "complex"]),
    "no samples": (lambda S, A, B: (None, A, B), ["samples", "None"]),
    "no features": (lambda S, A, B: (S, None, B), ["features", "None"]),
    "zeros": (lambda S, A, B: (S, 0 * A, B), ["features", "zero everywhere", "positive"]),
    "sparse": (lambda S, A, B: (sparse.csr_array(S), A, B), ["samples", "sparse", "toarray"]),
}


@pytest.mark.parametrize(("spoil", "patterns"), STARTS.values(), ids=STARTS)
@pytest.mark.filterwarnings("ignore:Casting complex")
def test_starts(X, classes, spoil, patterns):
    start = spoil(np.ones((60, 3)), np.ones((12, 3)), np.ones((3, 3)))
    assert_says(
        lambda: fit(SSNMFClassifier, X, classes, {"init": Factors(*start)}), "init", *patterns
    )


# --- the caller's arrays -------------------------------------------------------------------------


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
