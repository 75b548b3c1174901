"""The whole preparation, for every kind of target and for what is missing."""

import numpy as np
import pytest

from cofactor import TopicModel
from cofactor.report.preparation import evaluation
from cofactor.report.preparation.evaluation import MODEL, PLAIN
from cofactor.report.preparation.material import read_material
from cofactor.report.preparation.prepare import prepare


def test_without_labels(corpus):
    prepared = prepare(TopicModel(3, random_state=0).fit(corpus[0]), corpus[0])
    assert prepared.kind == "topics"
    assert prepared.evaluation is None
    assert prepared.heatmap == []
    assert {row["term"] for row in prepared.curves} == {"data"}


def test_numbers(corpus):
    y = np.where(corpus[1] == "space", 2.5, 0.5)
    model = TopicModel(3, random_state=0).fit(corpus[0], y)
    prepared = prepare(model, corpus[0], y)
    table = {row["method"]: row["score"] for row in prepared.evaluation["methods"]}
    assert table[MODEL] > 0.8
    assert table["mean"] == pytest.approx(0.0, abs=0.1)
    assert "ridge regression" in table


@pytest.fixture(scope="module")
def sets(corpus):
    """Two labels a document, known for every other one."""
    return [
        {str(label), "known" if label != "faith" else "other"} if i % 2 else None
        for i, label in enumerate(corpus[1])
    ]


@pytest.mark.slow
def test_several_labels(corpus, sets):
    prepared = prepare(TopicModel(4, random_state=0).fit(corpus[0], sets), corpus[0], sets)
    assert prepared.kind == "sets"
    assert prepared.classes == ["faith", "known", "other", "space", "sport"]
    table = {row["method"]: row for row in prepared.evaluation["methods"]}
    assert set(table) == {MODEL, PLAIN, "majority", "naive Bayes", "logistic regression"}
    assert table[MODEL]["score"] > 0.9 > table["majority"]["score"]
    assert prepared.evaluation["metric"] == "micro F1"
    assert prepared.evaluation["more"] == ["macro F1", "mean average precision"]
    assert table[MODEL]["low"] is None
    rows = {row["class"]: row for row in prepared.evaluation["per_label"]}
    assert rows["known"]["documents"] == rows["space"]["documents"] + rows["sport"]["documents"]
    own = prepared.evaluation["by_method"].index(MODEL)
    assert all(row["by_method"][own] == row["average_precision"] > 0.8 for row in rows.values())
    assert {row["class"] for row in prepared.points} >= {"", "known, space", "faith, other"}
    assert prepared.changes["metric"] == "micro F1"


def test_labels_held_out_of_sets(corpus, sets):
    model = TopicModel(4, random_state=0).fit(corpus[0], sets)
    truth = [{str(label), "known" if label != "faith" else "other"} for label in corpus[1]]
    found = evaluation.evaluate(read_material(model, corpus[0], sets, truth))
    assert len(found.tested) == 60
    assert "held out" in found.how
    P = model.predict_proba([corpus[0][d] for d in found.tested])
    np.testing.assert_allclose(found.predictions[MODEL], P)


def test_indicators_in_any_form_are_read_alike(corpus, sets):
    model = TopicModel(4, random_state=0).fit(corpus[0], sets)
    one = read_material(model, corpus[0], sets, None).labels
    known = ~np.isnan(one)
    whole = np.where(known, one, -1).astype(int)
    objects = np.where(known, one.astype(object), None)
    marked = whole.astype(object)
    for other in (one, whole, objects, marked, [tuple(s) if s else None for s in sets]):
        np.testing.assert_array_equal(read_material(model, corpus[0], other, None).labels, one)
    single = read_material(model, corpus[0], corpus[1], None)
    assert single.labels.sum() == 120
    strange = read_material(model, corpus[0], [{"chess"}, *sets[1:]], None)
    assert strange.unknown_labels == ["chess"]
    with pytest.raises(ValueError, match="2 columns, but the model has 5 targets"):
        read_material(model, corpus[0], np.zeros((120, 2)), None)
    for predicts in (model, TopicModel(3, random_state=0, max_iter=2, tol=0).fit(*corpus)):
        with pytest.raises(ValueError, match=r"labels has a negative cell, -0\.5"):
            read_material(predicts, corpus[0], np.full((120, 3), -0.5), None)


def test_minus_one_is_a_number_where_the_model_predicts_numbers(corpus):
    y = np.column_stack([np.arange(120) % 3 - 1, np.arange(120) % 2])
    model = TopicModel(3, task="numbers", random_state=0).fit(corpus[0], y)
    np.testing.assert_array_equal(read_material(model, corpus[0], y, None).labels, y)


def test_several_numbers(corpus):
    y = np.column_stack([np.where(corpus[1] == "space", 2.5, 0.5), np.arange(120.0)])
    y[::7, 0], y[3, :] = np.nan, np.nan
    model = TopicModel(3, task="numbers", random_state=0).fit(corpus[0], y)
    found = prepare(model, corpus[0], y).evaluation
    assert [row["documents"] for row in found["per_target"]] == [101, 119]
    first = dict(zip(found["by_method"], found["per_target"][0]["by_method"], strict=True))
    assert first[MODEL]["r2"] > 0.8 > first["mean"]["r2"]
    assert first[MODEL]["mean_error"] < first["mean"]["mean_error"]
    assert found["more"] == []
    assert "pairs" not in found


def test_warnings(corpus):
    few = np.where(np.arange(120) < 6, corpus[1], "")
    with pytest.warns(match="max_iter"):
        model = TopicModel(3, random_state=0, max_iter=1).fit(corpus[0], few)
    said = " ".join(row["text"] for row in prepare(model, corpus[0], few).notices)
    assert "Few labels: faith (2), space (2) and sport (2)" in said
    assert "raise max_iter" in said


def test_labels_without_documents(model, corpus):
    with pytest.raises(ValueError, match="pass documents too"):
        prepare(model, labels=corpus[1])
    with pytest.raises(ValueError, match="119 entries, but there are 120 documents"):
        prepare(model, corpus[0], corpus[1][:-1])


def test_documents_of_the_fit_are_not_inferred_again(model, corpus, some, monkeypatch):
    again = read_material(model, corpus[0], corpus[1], None)  # other labels
    assert again.from_fit
    assert again.digest != model.fingerprint_
    np.testing.assert_array_equal(again.S, model.document_topics_)
    monkeypatch.setattr(type(model.estimator_), "transform", None)
    same = read_material(model, corpus[0], some, None)
    assert same.from_fit
    assert same.digest == model.fingerprint_
    assert same.S is model.document_topics_


def test_reproduction(held, model):
    assert held.reproduction["call"] == "TopicModel(4, random_state=0).fit(documents, labels)"
    assert held.reproduction["facts"]["data of this report"] == "the same"
    assert held.reproduction["facts"]["seed"] == "0"
