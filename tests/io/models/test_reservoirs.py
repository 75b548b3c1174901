"""Streams in model folders: their rows come back, and damaged ones are refused."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse as sp

import cofactor
from cofactor import SSNMFClassifier, SSNMFRegressor, TopicModel, load_model
from cofactor.estimators import reservoir
from cofactor.io.models import reservoirs, save_load
from model_folders import LABELS, TEXTS, refuse

RANDOM = np.random.default_rng(0)
RATES = np.where(np.arange(12) // 4 == np.arange(90)[:, None] % 3, 3.0, 0.2)
X = RANDOM.poisson(RATES).astype(float)
Y = np.where(np.arange(90) % 2 == 0, np.arange(90) % 3, -1)
SETS = np.where((Y < 0)[:, None], np.nan, np.stack([Y == 0, Y < 2], axis=1))
SETS[0, 1] = np.nan
TARGETS = {
    "classes": (SSNMFClassifier, Y),
    "sets": (SSNMFClassifier, SETS),
    "numbers": (SSNMFRegressor, np.where(Y < 0, np.nan, Y * 1.5 - 1.0)),
}
STORAGES = {
    "sparse": sp.csr_array(X),
    "dense": X,
    "masked": np.where(RANDOM.random(X.shape) < 0.1, np.nan, X + 1.0),
}


def streamed(kind="classes", storage="sparse", rows=60, **given):
    model, y = TARGETS[kind]
    model = model(3, random_state=0, **given)
    for low in range(0, rows, 30):
        some = slice(low, low + 30)
        model.partial_fit(STORAGES[storage][some], y[some], sample_weight=1.0 + np.arange(30) % 2)
    return model


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("bound", [None, 400])
def test_rows_of_a_stream_come_back(kind, storage, bound, tmp_path, monkeypatch):
    if bound is not None:
        monkeypatch.setattr(reservoir, "SAMPLE_CELLS", bound)
        monkeypatch.setattr(reservoir, "MIN_ROWS", 5)
    model, rest = streamed(kind, storage), slice(60, 90)
    cofactor.save(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    samples, y = STORAGES[storage], TARGETS[kind][1]
    assert_array_equal(again.scores(samples), model.scores(samples))
    assert again.expected_score_ == model.expected_score_
    for one in (model, again):
        one.partial_fit(samples[rest], y[rest])
    a, b = (one.fitted.reservoir.sample() for one in (model, again))
    assert len(a[2]) == len(b[2]) == 90 if bound is None else len(a[2]) < 90
    for left, right in (
        (a[0].layout.values, b[0].layout.values),
        (a[0].layout.column_numbers(), b[0].layout.column_numbers()),
        (a[1].labelled, b[1].labelled),
        (np.asarray(a[1].values.sum(axis=1)), np.asarray(b[1].values.sum(axis=1))),
        (a[2], b[2]),
        (model.fitted.reservoir.labels, again.fitted.reservoir.labels),
    ):
        assert_array_equal(left, right)
    assert again.pooled_head.labels.tolist() == model.pooled_head.labels.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("weight", [0.0, 30.0])
def test_class_weights_of_a_stream_come_back(weight, tmp_path):
    model = streamed(class_weight={1: weight})
    assert model.fitted.reservoir.sample()[1].importance.max() == max(weight, 1.0)
    assert (model.scores(X) != streamed().scores(X)).any()
    cofactor.save(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert_array_equal(again.scores(X), model.scores(X))
    for one in (model, again):
        one.partial_fit(X[60:], Y[60:])
    a, b = (one.fitted.reservoir.sample()[1] for one in (model, again))
    assert_array_equal(a.importance, b.importance)
    assert_array_equal(a.labelled, b.labelled)


def test_models_of_fits_hold_no_rows(tmp_path):
    model = SSNMFClassifier(3, random_state=0).fit(X, Y)
    cofactor.save(model, tmp_path / "model")
    assert load_model(tmp_path / "model").fitted.reservoir is None


def test_streams_of_documents_come_back(tmp_path):
    model = TopicModel(2, random_state=0)
    for _ in range(2):
        model.partial_fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert_array_equal(again.document_scores_, model.document_scores_)
    assert_array_equal(again.predict_proba(TEXTS), model.predict_proba(TEXTS))
    assert again.documents() == model.documents()
    again.partial_fit(TEXTS, LABELS)
    assert again.estimator_.pooled_head.labels.tolist() == [3.0, 3.0]


MODEL = pickle.dumps(streamed())


def changed(name, place, value):
    def change(parts):
        parts[name] = parts[name].copy()
        parts[name].flat[place] = value

    return change


def put(name, value):
    return lambda parts: parts.update({name: value})


def swapped(parts):
    parts["columns"] = parts["columns"].copy()
    parts["columns"][0, :2] = parts["columns"][0, 1::-1]


DAMAGES = {
    "a column beyond the words": (changed("columns", 0, 12), "columns"),
    "a negative column": (changed("columns", 0, -1), "columns"),
    "columns out of order": (swapped, "columns"),
    "a row too long": (changed("lengths", 0, 50), "lengths"),
    "a negative length": (changed("lengths", 0, -1), "lengths"),
    "a cell that is not a number": (changed("cells", 0, np.nan), "cells"),
    "an infinite cell": (changed("cells", 0, np.inf), "cells"),
    "a negative cell": (changed("cells", 0, -1.0), "cells"),
    "a target beyond the classes": (changed("target_columns", 0, 3), "target_columns"),
    "a target that is not a number": (changed("targets", 0, np.nan), "targets"),
    "a negative class": (changed("targets", 0, -1.0), "targets"),
    "a weight of zero": (changed("counts", 0, 0.0), "counts"),
    "a weight that is not a number": (changed("counts", 0, np.nan), "counts"),
    "negative confidence": (changed("row_weights", 0, -1.0), "row_weights"),
    "a negative class weight": (put("importance", -np.ones(60)), "importance"),
    "fewer class weights": (put("importance", np.ones(59)), "importance"),
    "a key twice": (lambda parts: changed("keys", 0, parts["keys"][0, 1])(parts), "keys"),
    "fewer counts": (lambda parts: put("counts", parts["counts"][:-1])(parts), "lengths"),
    "counts as a list": (put("counts", [1.0]), "counts"),
    "no labels": (put("labels", None), "labels"),
    "other labels": (put("labels", np.ones(2)), "target|labels"),
    "negative labels": (changed("labels", 0, -1.0), "labels"),
    "a negative mass": (changed("mass", 0, -1.0), "mass"),
    "fewer rows seen than kept": (put("seen", 3), "seen"),
    "rows seen as text": (put("seen", "90"), "seen"),
    "a limit beyond all keys": (put("limit", 2**64), "limit"),
    "a limit that is a fraction": (put("limit", 0.5), "limit"),
    "another width": (put("width", 11), "columns|width|features"),
    "a wider matrix": (put("width", 13), "features"),
    "no width": (put("width", None), "width"),
    "zeros as a number": (put("zeros", 1), "zeros"),
    "both weights": (put("cell_weights", np.ones((60, 3))), "both given"),
    "a missing part": (lambda parts: parts.pop("keys"), "lacks"),
}


def damaged(tmp_path, monkeypatch, model, change):
    """Save a model whose rows are damaged; it cannot be saved with the checks."""
    take = reservoirs.take_reservoir

    def spoiled(kept):
        parts = take(kept)
        change(parts)
        return parts

    form = save_load.CODEC.forms["Reservoir"]
    forms = {**save_load.CODEC.forms, "Reservoir": copy.copy(form)}
    object.__setattr__(forms["Reservoir"], "take", spoiled)
    with monkeypatch.context() as patch:
        patch.setattr(save_load.CODEC, "forms", forms)
        with pytest.raises(ValueError, match="cannot be saved"):
            cofactor.save(model, tmp_path / "model")
        for name in ("_assemble", "read_manifest"):
            patch.setattr(save_load, name, lambda *given: None)
        cofactor.save(model, tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_rows_are_refused(name, tmp_path, monkeypatch):
    change, match = DAMAGES[name]
    refuse(damaged(tmp_path, monkeypatch, pickle.loads(MODEL), change), match)


def test_labels_need_a_head(tmp_path, monkeypatch):
    model = pickle.loads(MODEL)
    with monkeypatch.context() as patch:
        patch.setattr(SSNMFClassifier, "completed", lambda model: model.fitted)
        for name in ("_assemble", "read_manifest", "_expected"):
            patch.setattr(save_load, name, lambda *given: None)
        cofactor.save(model, tmp_path / "model")
    refuse(tmp_path / "model", "_head")
