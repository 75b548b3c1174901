"""The content of the page, for every kind of target and for what is missing."""

import numpy as np
import pytest

from cofactor import TopicModel
from cofactor.report import evaluation
from cofactor.report.material import read_material
from cofactor.report.page_content import prepare
from cofactor.report.score_tables import MODEL, PLAIN


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
    assert table[MODEL]["low"] < table[MODEL]["score"] <= table[MODEL]["high"]
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
    said = model.predict([corpus[0][d] for d in found.tested])
    np.testing.assert_array_equal(found.predictions[MODEL] >= 0.5, said)


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
    assert "before it converged; allow more" in said


def test_labels_without_documents(model, corpus):
    with pytest.raises(ValueError, match="pass documents too"):
        prepare(model, labels=corpus[1])
    with pytest.raises(ValueError, match="119 entries, but there are 120 documents"):
        prepare(model, corpus[0], corpus[1][:-1])


def test_reproduction(held, model):
    assert held.reproduction["call"] == "TopicModel(4, random_state=0).fit(documents, labels)"
    assert held.reproduction["facts"]["data of this report"] == "the same"
    assert held.reproduction["facts"]["seed"] == "0"
