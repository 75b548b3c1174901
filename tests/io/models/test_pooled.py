"""Pooled heads in model folders: they come back, and damaged ones are refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import cofactor
from cofactor import NMF, SSNMFClassifier, TopicModel, load_model
from cofactor.io.models import save_load
from cofactor.linear.views import View
from model_folders import LABELS, TEXTS, refuse

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
GOLDEN = Path(__file__).parent / "golden"


def samples(kind):
    random = np.random.default_rng(0)
    rates = np.where(np.arange(12) // 4 == np.arange(30)[:, None] % 3, 4.0, 0.1)
    X = random.poisson(rates).astype(float)
    X[:, 0] += 1.0
    if kind == "rows":
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    if kind == "roots":
        X = np.hstack([X, np.zeros((30, 30))])
    return X if kind != "columns" else X + random.gamma(1.0, size=X.shape)


def fitted(kind):
    y = np.where(np.arange(30) < 12, np.arange(30) % 3, -1)
    return SSNMFClassifier(3, max_iter=20, random_state=0).fit(samples(kind), y)


@pytest.fixture(scope="module")
def dense():
    return fitted("columns")


@pytest.mark.parametrize("kind", ["rows", "roots", "columns"])
def test_predictions_come_back_bit_for_bit(kind, tmp_path):
    X, model = samples(kind), fitted(kind)
    cofactor.save(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.pooled_head.view.kind == model.pooled_head.view.kind == kind
    for rows in (X, 3 * X[:5], np.zeros_like(X[:1])):
        assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
        assert_array_equal(again.decision_function(rows), model.decision_function(rows))
    assert again.expected_score_ == model.expected_score_


def test_models_without_an_expected_score_come_back(tmp_path):
    X = samples("columns")
    y = np.where(np.arange(30) < 3, np.arange(30), -1)
    model = SSNMFClassifier(3, max_iter=20, random_state=0).fit(X, y)
    cofactor.save(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.expected_score_ is None is model.expected_score_
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def saved(model, tmp_path, monkeypatch):
    """Save a model without the checks; it cannot be saved with them."""
    with pytest.raises(ValueError, match="cannot be saved"):
        cofactor.save(model, tmp_path / "model")
    with monkeypatch.context() as patch:
        for name in ("_assemble", "read_manifest", "_expected", "_description"):
            patch.setattr(save_load, name, lambda *given: None)
        cofactor.save(model, tmp_path / "model")
    return tmp_path / "model"


def changed(array, value):
    array = array.copy()
    array.flat[0] = value
    return array


def with_view(**fields):
    return lambda head: replace(head, view=replace(head.view, **fields))


DAMAGES = {
    "weights of another shape": (lambda h: replace(h, weights=h.weights[:-1]), "weights"),
    "too many classes": (lambda h: replace(h, weights=h.weights[:, [0, 1, 2, 2]]), "base"),
    "NaN in weights": (lambda h: replace(h, weights=changed(h.weights, np.nan)), "weights"),
    "infinite base": (lambda h: replace(h, base=changed(h.base, np.inf)), "base"),
    "base of another shape": (lambda h: replace(h, base=h.base[:1]), "base"),
    "topics of another shape": (lambda h: replace(h, topics=h.topics[:2]), "topics"),
    "integers as topics": (lambda h: replace(h, topics=h.topics.astype(int)), "topics"),
    "weights that are a list": (lambda h: replace(h, weights=h.weights.tolist()), "weights"),
    "no base": (lambda h: replace(h, base=None), "base"),
    "an unknown kind": (with_view(kind="cubes"), "view"),
    "a kind that has no mean": (with_view(kind="rows"), "view"),
    "no mean": (with_view(mean=None), "view"),
    "neither mean nor spread": (with_view(mean=None, spread=None), "view"),
    "a scale of zero": (with_view(scale=0.0), "scale"),
    "a negative scale": (with_view(scale=-1.0), "scale"),
    "a scale that is not a number": (with_view(scale=float("nan")), "scale|NaN|nan"),
    "a scale that is text": (with_view(scale="1"), "scale"),
    "a mean of another shape": (lambda h: with_view(mean=h.view.mean[:2])(h), "mean|spread"),
    "NaN in the mean": (lambda h: with_view(mean=changed(h.view.mean, np.nan))(h), "mean"),
    "a negative spread": (lambda h: with_view(spread=changed(h.view.spread, -1.0))(h), "spread"),
    "a spread of zero": (lambda h: with_view(spread=changed(h.view.spread, 0.0))(h), "spread"),
    "a view alone": (lambda h: h.view, "_head"),
    "a head as its view": (lambda h: replace(h, view=h), "view"),
    "numbers": (lambda h: [1.0, 2.0], "_head"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_heads_are_refused(name, dense, tmp_path, monkeypatch):
    damage, match = DAMAGES[name]
    model = dense.with_fitted(replace(dense.fitted, head=damage(dense.pooled_head)))
    refuse(saved(model, tmp_path, monkeypatch), match)


@pytest.mark.parametrize("value", [0.5, "90%", View("rows")])
def test_damaged_expected_scores_are_refused(value, dense, tmp_path, monkeypatch):
    model = dense.with_fitted(replace(dense.fitted, expected_score=value))
    refuse(saved(model, tmp_path, monkeypatch), "expected_score_")


@pytest.mark.parametrize("field", ["value", "low", "high", "n_samples", "measure"])
@pytest.mark.parametrize("value", [None, ["90%"], float("inf")])
def test_expected_scores_are_numbers(field, value, dense, tmp_path, monkeypatch):
    score = replace(dense.expected_score_, **{field: value})
    model = dense.with_fitted(replace(dense.fitted, expected_score=score))
    refuse(saved(model, tmp_path, monkeypatch), "expected_score_|ExpectedScore")


@pytest.mark.parametrize("damage", ["shape", "NaN", "dtype", "list"])
def test_damaged_scores_of_documents_are_refused(damage, tmp_path, monkeypatch):
    model = TopicModel(2, random_state=0).fit(TEXTS, LABELS)
    scores = model.document_scores_
    damaged = {
        "shape": scores[:, :1],
        "NaN": changed(scores, np.nan),
        "dtype": scores.astype(int),
        "list": scores.tolist(),
    }[damage]
    model.amend(document_scores=damaged)
    refuse(saved(model, tmp_path, monkeypatch), "document_scores_")


def test_scores_of_documents_come_back(tmp_path):
    model = TopicModel(2, random_state=0).fit(TEXTS, LABELS)
    cofactor.save(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert_array_equal(again.document_scores_, model.document_scores_)
    assert again.documents() == model.documents()


def test_models_of_before_predict_by_their_topics():
    model = load_model(GOLDEN / "schema-1")
    estimator = model.estimator_
    assert estimator.pooled_head is None
    assert not hasattr(estimator, "decision_function")
    X = model.vectorizer_.transform([*TEXTS, ""])
    fitted_targets = estimator.transform(X) @ estimator.target_components_
    assert_allclose(estimator.scores(X), fitted_targets, rtol=1e-12)
    total = fitted_targets.sum(axis=1, keepdims=True)
    even = np.full_like(fitted_targets, 1 / fitted_targets.shape[1])
    expected = np.divide(fitted_targets, total, out=even, where=total > 0)
    assert_allclose(estimator.predict_proba(X), expected, rtol=1e-9)
    assert len(model.documents()) == len(estimator.representation_)


def test_an_infinite_supervision_comes_back(tmp_path):
    """λ in the user's units may be infinite where data and targets are of extreme sizes."""
    X, y = samples("columns"), np.arange(30) % 3
    model = SSNMFClassifier(3, data_loss="frobenius", max_iter=5, random_state=0).fit(X * 1e200, y)
    assert model.supervision_ == np.inf
    cofactor.save(model, tmp_path / "model")
    assert load_model(tmp_path / "model").supervision_ == np.inf


@pytest.mark.parametrize(
    "field", ["_head", "target_components_", "supervision_", "expected_score_"]
)
def test_an_nmf_has_no_targets(field, dense, tmp_path, monkeypatch):
    model = NMF(3, max_iter=5, random_state=0).fit(samples("columns"))
    name = field.strip("_")
    model.amend(**{name: getattr(dense.fitted, name)})
    refuse(saved(model, tmp_path, monkeypatch), "_coding")


def test_a_classifier_has_no_missing_cells(dense, tmp_path, monkeypatch):
    X = samples("columns")
    X[0, 0] = np.nan
    cells = NMF(2, max_iter=5, random_state=0).fit(X).cells_
    damaged = dense.with_fitted(replace(dense.fitted, cells=cells))
    refuse(saved(damaged, tmp_path, monkeypatch), "cells_")
