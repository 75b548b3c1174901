"""The tables of a report: values checked."""

import copy
import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import (
    average_precision_score,
    confusion_matrix,
    f1_score,
    mean_absolute_error,
    precision_recall_fscore_support,
    r2_score,
)

from cofactor import TopicModel
from cofactor.report.preparation import baselines, evaluation, layout, refits, scores, topics
from cofactor.report.preparation.evaluation import MODEL, PLAIN, assign_folds
from cofactor.report.preparation.material import read_material
from cofactor.report.preparation.prepare import prepare
from cofactor.text.describe.compare import compare_topics


@pytest.fixture(scope="module")
def held(model, corpus, some):
    return prepare(model, corpus[0], some, corpus[1])


@pytest.fixture(scope="module")
def crossed(model, corpus, some):
    return prepare(model, corpus[0], some)


# --- scores --------------------------------------------------------------------------------------


def test_confusion_and_class_scores_agree_with_scikit_learn():
    random = np.random.default_rng(0)
    truth, said = random.integers(0, 4, 200), random.integers(0, 4, 200)
    matrix = scores.confusion(truth, said, 4)
    np.testing.assert_array_equal(matrix, confusion_matrix(truth, said))
    rows = scores.class_scores(matrix, list("abcd"))
    expected = precision_recall_fscore_support(truth, said)
    for name, column in zip(("precision", "recall", "f1"), expected, strict=False):
        np.testing.assert_allclose([row[name] for row in rows], column)


def test_calibration():
    P = np.array([[0.9, 0.1], [0.9, 0.1], [0.6, 0.4], [0.0, 1.0]])
    rows, error = scores.calibration(np.array([0, 1, 0, 1]), P)
    assert [row["documents"] for row in rows] == [1, 3]
    assert rows[0] == {"confidence": 0.6, "accuracy": 1.0, "documents": 1}
    assert rows[1]["accuracy"] == pytest.approx(2 / 3)
    assert error == pytest.approx((0.4 + 3 * abs(2.8 / 3 - 2 / 3)) / 4)


def test_interval_is_wilsons():
    found = scores.interval(0.5, 100, "classes")
    assert (found["low"], found["high"]) == pytest.approx((0.4038, 0.5962), abs=1e-4)
    assert scores.interval(1.0, 10, "classes")["high"] == pytest.approx(1.0)


def test_scores_of_sets_agree_with_scikit_learn():
    random = np.random.default_rng(0)
    truth, said = random.integers(0, 2, (80, 3)).astype(float), random.random((80, 3))
    found = scores.method_scores("sets", truth, said)
    expected = [f1_score(truth, said >= 0.5, average=each) for each in ("micro", "macro")]
    np.testing.assert_allclose(found, [*expected, average_precision_score(truth, said)])
    truth[:40] = np.nan
    rest = scores.method_scores("sets", truth[40:], said[40:])
    assert scores.method_scores("sets", truth, said) == rest


def test_scores_of_numbers_agree_with_scikit_learn():
    random = np.random.default_rng(0)
    truth, said = random.random((50, 2)), random.random((50, 2))
    found = scores.method_scores("numbers", truth, said)
    assert found == [pytest.approx(r2_score(truth, said)), None]
    assert scores.method_scores("numbers", truth[:, :1], said[:, :1])[1] == pytest.approx(
        mean_absolute_error(truth[:, 0], said[:, 0])
    )
    rows = scores.number_tables(np.full((3, 1), np.nan), said[:3, :1])
    assert rows == [{"documents": 0, "r2": None, "mean_error": None}]


def test_baselines_know_the_labels_of_each_column_only():
    X = np.eye(4)[[0, 0, 1, 1, 2, 3]]
    y = np.array([[1, 1], [1, np.nan], [0, np.nan], [0, 1], [0, 1], [0, 1.0]])
    said = dict(baselines.baselines("sets", X, y, np.eye(4)))
    assert said["majority"].tolist() == [[0, 1]] * 4
    for name in ("naive Bayes", "logistic regression"):
        assert (said[name][:, 1] == 1).all()
        assert said[name][0, 0] > 0.5 > said[name][1, 0]
    numbers = dict(baselines.baselines("numbers", X, 3 * y, np.eye(4)))
    assert numbers["mean"][0].tolist() == [1, 3]
    assert (numbers["ridge regression"][:, 1] == 3).all()


# --- evaluation ----------------------------------------------------------------------------------


def test_folds_deal_each_class_out_evenly():
    labels = np.array([0] * 10 + [1] * 5 + [2] + [-1] * 4)
    fold = assign_folds(labels, 5, seed=0)
    assert (fold[16:] == -1).all()
    assert fold[15] == -1  # the only one of its class stays in training
    assert np.bincount(fold[:10]).tolist() == [2] * 5
    assert sorted(fold[10:15]) == list(range(5))


def test_held_out_labels_test_the_model_as_it_is(held, model, corpus, some):
    table = {row["method"]: row["score"] for row in held.evaluation["methods"]}
    hidden = some == ""
    said = model.predict(np.array(corpus[0], dtype=object)[hidden])
    assert table[MODEL] == np.mean(said == corpus[1][hidden])
    assert set(table) == {MODEL, PLAIN, "majority", "naive Bayes", "logistic regression"}
    assert table["majority"] == pytest.approx(1 / 3, abs=0.02)
    assert "90 documents" in held.evaluation["how"]
    assert "same 30 labels" in held.evaluation["how"]


def test_cross_validation_hides_the_labels_it_asks_for(model, corpus, some, monkeypatch):
    seen = []
    whole = refits.fit_estimator

    def spy(model, words, X, y, **rest):
        seen.append(np.flatnonzero([label is not None for label in y]))
        return whole(model, words, X, y, **rest)

    monkeypatch.setattr(refits, "fit_estimator", spy)
    found = evaluation.evaluate(read_material(model, corpus[0], some, None))
    assert sorted(found.tested) == list(range(30))
    assert [len(rows) for rows in seen] == [24] * 10
    for f in range(5):
        tested = found.tested[6 * f : 6 * f + 6]
        assert not set(tested) & set(seen[f])
        assert not set(tested) & set(seen[5 + f])


def test_fits_side_by_side_are_those_one_by_one(model, corpus, some, monkeypatch):
    threaded = copy.copy(model).set_params(n_jobs=3)
    threads = set()
    whole = refits.fit_estimator

    def spy(model, *given, **rest):
        threads.add((threading.current_thread().name, model.n_jobs))
        return whole(model, *given, **rest)

    one = evaluation.evaluate(read_material(model, corpus[0], some, None))
    monkeypatch.setattr(refits, "fit_estimator", spy)
    several = evaluation.evaluate(read_material(threaded, corpus[0], some, None))
    assert len(threads) > 1
    assert {n_jobs for _, n_jobs in threads} == {1}
    for name, said in one.predictions.items():
        np.testing.assert_array_equal(several.predictions[name], said)
    np.testing.assert_array_equal(several.probabilities, one.probabilities)
    assert {judge.estimator_.n_jobs for judge in several.judges} == {3}

    monkeypatch.setattr(refits, "TOGETHER", 1)  # no room: one at a time, with all threads
    threads.clear()
    evaluation.evaluate(read_material(threaded, corpus[0], some, None))
    assert threads == {(threading.current_thread().name, 3)}


def test_cross_validation_is_said(crossed):
    assert "5-fold cross-validation over 30 of 30 labels" in crossed.evaluation["how"]
    assert any("Only 30 documents were tested" in row["text"] for row in crossed.notices)


def test_documents_without_known_words_are_not_tested_on(corpus):
    texts, labels = [*corpus[0], "17", ""], [*corpus[1], "space", "sport"]
    model = TopicModel(3, random_state=0).fit(texts, labels)
    found = evaluation.evaluate(read_material(model, texts, labels, None))
    assert sorted(found.tested) == list(range(120))
    assert "over 120 of 122 labels" in found.how
    found = evaluation.evaluate(read_material(model, ["17", texts[0]], labels[:2], None))
    assert found.tested.tolist() == [1]


def test_many_documents_make_fits_hasty(model, corpus, some, crossed, monkeypatch):
    assert "iterations" not in crossed.evaluation["how"]
    for module in (refits, evaluation):
        monkeypatch.setattr(module, "LARGE", 100)
    monkeypatch.setattr(refits, "ENOUGH", 2)
    found = evaluation.evaluate(read_material(model, corpus[0], some, None))
    assert found.how.startswith("By 3-fold")
    assert found.how.endswith("These fits had at most 2 iterations.")
    assert {judge.estimator_.n_iter_ for judge in found.judges} == {2}
    assert found.plain.n_iter_ <= 2


def test_many_labels_take_one_split(model, corpus, monkeypatch):
    monkeypatch.setattr(evaluation, "MANY", 100)
    found = evaluation.evaluate(read_material(model, corpus[0], corpus[1], None))
    assert len(found.tested) == 30
    assert "one quarter of the 120 labels (30) hidden" in found.how


def test_other_documents_test_the_model_without_rivals(model):
    texts, labels = ["moon rocket orbit", "hockey goal", "god sin"], ["space", "sport", "chess"]
    prepared = prepare(model, texts, labels)
    assert [row["method"] for row in prepared.evaluation["methods"]] == [MODEL, "majority"]
    assert prepared.evaluation["methods"][0]["score"] == 1.0
    assert prepared.changes is None
    said = " ".join(row["text"] for row in prepared.notices)
    assert "does not know: chess" in said
    assert "not those of the fit" in said


# --- topics --------------------------------------------------------------------------------------


def test_words_are_the_first_ones_at_every_place_of_the_slider(held, model):
    A = model.estimator_.components_
    P = A / A.sum(axis=1, keepdims=True)
    shares = np.array([card["share"] for card in held.topics])
    corpus = shares @ P
    words = model.vectorizer_.get_feature_names_out()
    for k, card in enumerate(held.topics):
        offered = [row["word"] for row in card["words"]]
        first = list(model.topics(10)[k].words)
        assert offered[: len(first)] == first
        for weight in (0.0, 0.3, 0.7):
            kept = np.flatnonzero(P[k] >= 1e-3 * P[k].max())
            p, score = P[k, kept], np.full(len(words), -np.inf)
            score[kept] = weight * np.log(p) + (1 - weight) * np.log(p / corpus[kept])
            best = [words[j] for j in np.argsort(-score)[:5] if np.isfinite(score[j])]
            assert set(best) <= set(offered)


def test_heatmap_columns_sum_to_one(held):
    for k in range(4):
        column = [row["share"] for row in held.heatmap if row["topic"] == k]
        assert sum(column) == pytest.approx(1.0)


def test_typical_documents_are_mostly_of_the_topic(held, model):
    shares = topics.summaries.proportions(model.document_topics_, model.estimator_.components_)
    for k, card in enumerate(held.topics):
        assert len(card["typical"]) == 3
        for document in card["typical"]:
            assert document["share"] == pytest.approx(shares[document["document"], k])
            assert document["share"] >= np.quantile(shares[:, k], 0.7)


def test_matching_a_permutation_finds_it(model):
    rows = topics.match(model, model.estimator_.components_[::-1] * 7.0)
    assert [row["topic"] for row in rows] == [0, 1, 2, 3]
    for row in rows:
        assert row["similarity"] == pytest.approx(1.0)
        assert not row["gained"] + row["lost"]


def test_report_and_compare_agree_on_topics(model, corpus):
    other = TopicModel(5, vectorizer=model.vectorizer_, random_state=3).fit(corpus[0])
    rows = topics.match(model, other.estimator_.components_)
    pairs = {pair.second: pair for pair in compare_topics(other, model) if pair.second is not None}
    assert len(rows) == len(pairs) == 4
    for row in rows:
        pair = pairs[row["topic"]]
        assert row["similarity"] == pytest.approx(pair.similarity, abs=1e-12)
        for name in ("kept", "gained", "lost"):
            assert row[name] == getattr(pair, name)
    A, B = model.estimator_.components_, other.estimator_.components_
    cosines = A @ B.T / np.outer(np.linalg.norm(A, axis=1), np.linalg.norm(B, axis=1))
    assert pairs[0].similarity == pytest.approx(cosines[0, pairs[0].first])


def test_labels_changed_something(held):
    assert held.changes["with_labels"] > 0.9
    assert 0 <= held.changes["without"] <= 1
    assert len(held.changes["topics"]) == 4


# --- documents -----------------------------------------------------------------------------------


def test_pure_documents_lie_at_their_topics(model):
    A = model.estimator_.components_
    spots = layout.place(np.eye(4), A, seed=0)
    np.testing.assert_allclose(spots, layout.anchors(A), atol=0.4)
    np.testing.assert_allclose(np.hypot(*layout.anchors(A).T), 1.0)


def test_alike_topics_are_neighbours():
    A = np.eye(6) + 0.9 * np.roll(np.eye(6), 1, axis=1)
    A = A[[0, 3, 1, 4, 2, 5]]
    order = [[0, 3, 1, 4, 2, 5][k] for k in layout.circle_order(A)]
    steps = np.diff([*order, order[0]]) % 6
    assert set(steps) in ({1}, {5})


def test_map_is_a_sample_of_many_documents():
    chosen = layout.choose_points(10_000, 0, 500)
    assert len(np.unique(chosen)) == 500
    assert (np.diff(chosen) > 0).all()
    assert len(layout.choose_points(80, 0, 500)) == 80


def test_points(held, model, corpus):
    table = model.documents()
    assert len(held.points) == 120
    assert "All 120 documents of the fit" in held.map_note
    for row, document in zip(held.points, table, strict=True):
        assert row["topic"] == document.topic
        assert row["prediction"] == document.prediction
        assert row["confidence"] == pytest.approx(document.confidence, abs=1e-3)
        assert row["class"] == corpus[1][row["document"]]


def test_documents_are_called_by_their_rows(held, model, corpus, some):
    rows = list(range(102, 342, 2))
    numbered = prepare(model, corpus[0], some, corpus[1], rows=rows)
    assert (held.number, numbered.number) == ("document", "row")
    assert "Rows are those of the table" in numbered.map_note
    assert "Rows" not in held.map_note
    pairs = [
        (held.points, numbered.points), (held.uncertain, numbered.uncertain),
        (held.mistaken, numbered.mistaken),
        *((a["typical"], b["typical"]) for a, b in zip(held.topics, numbered.topics, strict=True)),
    ]  # fmt: skip
    for before, after in pairs:
        assert [row["document"] for row in after] == [rows[row["document"]] for row in before]
    shuffled = pd.Series(rows, index=range(len(rows))[::-1])  # places count, not its index
    assert prepare(model, corpus[0], some, corpus[1], rows=shuffled).points == numbered.points
    with pytest.raises(ValueError, match="rows has 3 entries, but there are 120 documents"):
        prepare(model, corpus[0], some, rows=[1, 2, 3])


def test_explanations_are_those_of_the_model(held, model, corpus):
    assert held.uncertain
    for row in held.uncertain:
        told = model.explain(corpus[0][row["document"]])
        first = row["sides"][0]
        place = told.classes.index(first["class"])
        assert first["probability"] == pytest.approx(told.scores[place])
        for word in first["words"]:
            part = told.class_parts[told.words.index(word["word"]), place]
            assert word["part"] == pytest.approx(part, abs=1e-3)


def test_mistaken_are_wrong(corpus, some):
    wrong = some.copy()
    wrong[:9] = ["faith", "space", "sport"] * 3
    model = TopicModel(3, random_state=0).fit(corpus[0], wrong)
    prepared = prepare(model, corpus[0], wrong)
    assert prepared.mistaken
    for row in prepared.mistaken:
        assert row["truth"] == wrong[row["document"]]
        assert row["sides"][0]["class"] != row["truth"]
        assert row["sides"][1]["class"] == row["truth"]


# --- other targets, and what is missing ----------------------------------------------------------


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
    for other in (one, whole, [tuple(s) if s else None for s in sets]):
        np.testing.assert_array_equal(read_material(model, corpus[0], other, None).labels, one)
    single = read_material(model, corpus[0], corpus[1], None)
    assert single.labels.sum() == 120
    strange = read_material(model, corpus[0], [{"chess"}, *sets[1:]], None)
    assert strange.unknown_labels == ["chess"]
    with pytest.raises(ValueError, match="2 columns, but the model has 5 targets"):
        read_material(model, corpus[0], np.zeros((120, 2)), None)


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
