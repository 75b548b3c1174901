"""Bad parameters, priors and starts: one sentence names the parameter, the value and the remedy."""

import re

import numpy as np
import pytest
from scipy import sparse

from cofactor import NMF, Factors, SSNMFClassifier, SSNMFRegressor
from cofactor.priors import L1, L2, GammaPrior
from complaints import INF, MODELS, NAN, assert_says, changed, fit

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
    ("exposure", "mean", "mean", "total"),
    ("max_iter", 0, "Got 0", r"\[1, inf\)"),
    ("tol", -1e-3, r"-0\.001", r"\[0\.0, inf\)"),
    ("tol", NAN, "nan", r"\[0\.0, inf\)"),
    ("n_jobs", 0, "n_jobs=0", "-1 for all cores"),
    ("n_jobs", 1.5, r"1\.5", "int"),
    ("priors", L1(1.0), "L1", "dict"),
    ("priors", {"words": L1(1.0)}, "'words'", "'features'"),
    ("priors", {"samples": 0.1}, r"0\.1", "L1, L2 or GammaPrior"),
    ("priors", {"samples": [L1(1.0), "L2"]}, "'L2'", "L1, L2 or GammaPrior"),
    ("priors", {"samples": GammaPrior(np.full((2, 2), 2.0), 1.0)}, r"\(2, 2\)", r"\(60, 3\)"),
    ("priors", {"features": GammaPrior(2.0, np.ones((12, 4)))}, r"\(12, 4\)", r"\(12, 3\)"),
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
        (lambda: GammaPrior(0.5, 1.0), "shape", r"0\.5", "at least 1"),
        (lambda: GammaPrior(1.0, -1.0), "rate", r"-1\.0", "at least 0"),
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
