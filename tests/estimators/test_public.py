"""The public face: names, signatures, documentation, and what importing costs."""

import inspect
import os
import subprocess
import sys

import pytest

import cofactor
from cofactor import NMF, SSNMFClassifier, SSNMFRegressor, callbacks, divergences, noise, priors

PLAIN = {
    "n_components": 10,
    "data_loss": "kullback-leibler",
    "solver": "auto",
    "init": "auto",
    "max_iter": 200,
    "tol": 1e-4,
    "priors": None,
    "fixed": None,
    "n_jobs": None,
    "random_state": None,
}
SUPERVISED = {**PLAIN, "target_loss": "kullback-leibler", "supervision": "auto", "head": "pooled"}
SIGNATURES = {
    NMF: PLAIN,
    SSNMFClassifier: {**SUPERVISED, "exposure": None, "class_weight": None},
    SSNMFRegressor: {**SUPERVISED, "target_loss": "frobenius", "log": "no"},
}
WEIGHTS = ["sample_weight", "data_weights", "target_weights"]


@pytest.mark.parametrize("kind", SIGNATURES)
def test_parameters_and_defaults(kind):
    parameters = inspect.signature(kind).parameters
    assert {name: p.default for name, p in parameters.items()} == SIGNATURES[kind]
    first, *rest = parameters.values()
    assert first.kind is first.POSITIONAL_OR_KEYWORD
    assert all(p.kind is p.KEYWORD_ONLY for p in rest)
    assert kind().get_params() == SIGNATURES[kind]


@pytest.mark.parametrize("kind", SIGNATURES)
def test_fit_takes_weights_by_keyword_only(kind):
    weights = WEIGHTS[:2] if kind is NMF else (*WEIGHTS, "side")
    for method in ("fit", "fit_transform"):
        parameters = inspect.signature(getattr(kind, method)).parameters
        assert list(parameters) == ["self", "X", "y", *weights]
        assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in weights)
        assert all(parameters[name].default is None for name in weights)


def test_public_names():
    for name in ("NMF", "SSNMFClassifier", "SSNMFRegressor", "Factors", "Divergence"):
        assert name in cofactor.__all__
        assert inspect.isclass(getattr(cofactor, name))
    assert set(dir(cofactor)) >= set(cofactor.__all__)
    assert all(getattr(cofactor, name) is not None for name in cofactor.__all__)
    assert isinstance(cofactor.__version__, str)
    with pytest.raises(AttributeError, match="'cofactor' has no attribute 'SSNMF'"):
        cofactor.SSNMF  # noqa: B018


METHODS = {
    NMF: ["fit", "fit_transform", "transform", "inverse_transform"],
    SSNMFClassifier: [
        "fit",
        "fit_transform",
        "transform",
        "inverse_transform",
        "predict",
        "predict_proba",
        "score",
    ],
    SSNMFRegressor: ["fit", "fit_transform", "transform", "inverse_transform", "predict", "score"],
}
ATTRIBUTES = ["components_", "representation_", "history_", "n_iter_", "stop_reason_"]
LEARNED = {
    NMF: ATTRIBUTES,
    SSNMFClassifier: [
        *ATTRIBUTES,
        "target_components_",
        "classes_",
        "supervision_",
        "expected_score_",
    ],
    SSNMFRegressor: [*ATTRIBUTES, "target_components_", "supervision_", "expected_score_"],
}
OTHERS = [
    cofactor.Factors,
    divergences.Divergence,
    noise.Gaussian,
    noise.Gamma,
    noise.likelihood_supervision,
    priors.L1,
    priors.L2,
    priors.GammaPrior,
    callbacks.Checkpoint,
    callbacks.EarlyStop,
]


@pytest.mark.parametrize("thing", [*METHODS, *OTHERS], ids=lambda thing: thing.__name__)
def test_every_parameter_is_documented(thing):
    text = inspect.getdoc(thing)
    assert "Parameters\n----------" in text
    for name in inspect.signature(thing).parameters:
        assert name in text.split("Parameters\n----------")[1], name


@pytest.mark.parametrize(
    ("kind", "method"), [(kind, name) for kind, names in METHODS.items() for name in names]
)
def test_every_method_is_documented(kind, method):
    text = inspect.getdoc(getattr(kind, method))
    assert "Parameters" in text


@pytest.mark.parametrize("kind", LEARNED)
def test_every_fitted_attribute_is_documented_and_there(X, classes, kind):
    text = inspect.getdoc(kind).split("Attributes\n----------")[1]
    model = kind(3, random_state=0).fit(X, classes)
    names = {name for name in dir(model) if name.endswith("_") and not name.startswith("_")}
    public = {name for name in names if hasattr(model, name)}
    assert public - {"n_features_in_"} == set(LEARNED[kind])
    for name in LEARNED[kind]:
        assert name in text, name
    if "As in" in text:
        assert issubclass(kind, SSNMFRegressor)  # which points at the classifier


def test_examples_in_the_documentation():
    for kind in SIGNATURES:
        assert ">>> " in inspect.getdoc(kind)  # which --doctest-modules runs


# --- importing -----------------------------------------------------------------------------------


def run(code):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=True)


def test_importing_loads_nothing_heavy():
    heavy = "'sklearn', 'numba', 'scipy', 'pandas', 'polars', 'rich', 'numpy'"
    found = run(f"import cofactor, sys; print(sorted(set(sys.modules) & {{{heavy}}}))")
    assert found.stdout.strip() == "[]"


def test_importing_is_cheap():
    """Less than half of what scikit-learn's decompositions cost, at its best and in alternation."""
    timed = (
        "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
    )
    ours, theirs = [], []
    for _ in range(3):
        ours.append(float(run(timed.format("cofactor")).stdout))
        theirs.append(float(run(timed.format("sklearn.decomposition")).stdout))
    assert min(ours) < 0.5 * min(theirs)
