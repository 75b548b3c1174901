"""How a report tests the model: folds, held-out labels, other documents."""

import copy
import threading

import numpy as np
import pytest

from cofactor import SSNMFClassifier, TopicModel
from cofactor.linear import pool
from cofactor.report import evaluation, refits
from cofactor.report.evaluation import _folds, baselines
from cofactor.report.material import read_material
from cofactor.report.page_content import prepare
from cofactor.report.score_tables import MODEL, PLAIN


def test_folds_deal_each_class_out_evenly():
    labels = np.array([0] * 10 + [1] * 5 + [2] + [-1] * 4)
    fold = _folds(labels, 5, seed=0)
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


@pytest.fixture(scope="module")
def joint(corpus, some):
    """A model without held-out labels of its own."""
    return TopicModel(3, head="joint", random_state=0).fit(corpus[0], some)


@pytest.fixture
def seen(monkeypatch):
    """The documents whose labels each refit sees."""
    found, whole = [], refits.fit_estimator

    def spy(model, vectorizer, X, y, **rest):
        found.append(np.flatnonzero([label is not None for label in y]))
        return whole(model, vectorizer, X, y, **rest)

    monkeypatch.setattr(refits, "fit_estimator", spy)
    return found


def test_the_score_is_the_one_that_the_fit_expects(model, corpus, some):
    found = evaluation.evaluate(read_material(model, corpus[0], some, None))
    expected = model.expected_score_
    assert found.scores[MODEL] == pytest.approx(expected.value)
    ends = found.interval(found.predictions[MODEL])
    assert (ends["low"], ends["high"]) == pytest.approx((expected.low, expected.high))
    assert len(found.tested) == expected.n_samples


def test_labels_beside_names_of_classes_were_not_held_out(corpus, some):
    names = {"space": "moon", "sport": "goal", "faith": "god"}
    model = TopicModel(3, classes=names, random_state=0).fit(corpus[0], some)
    assert model.expected_score_ is None
    assert evaluation.evaluate(read_material(model, corpus[0], some, None)) is None
    truth = read_material(model, corpus[0], some, corpus[1])
    assert len(evaluation.evaluate(truth).tested) == np.sum(some == "")


def test_the_model_is_said_to_predict_from_vectors(corpus, some):
    def encode(texts):
        return np.array([[text.count(word) for word in ["moon", "goal", "god"]] for text in texts])

    def how(**given):
        model = TopicModel(3, random_state=0, **given).fit(corpus[0], some)
        return evaluation.evaluate(read_material(model, corpus[0], some, None)).how

    assert "by models of the words that" in how()
    assert "by models of the words and of the encoder’s vectors that" in how(encoder=encode)


@pytest.mark.parametrize("head", ["pooled", "joint"])
def test_copies_are_tested_together(head):
    texts, _, rng = noisy(60)
    y = rng.permutation(["high", "low"] * 30).tolist()  # nothing to learn but the copies
    model = TopicModel(3, head=head, max_iter=5, tol=0, random_state=0).fit(texts * 3, y * 3)
    found = evaluation.evaluate(read_material(model, texts * 3, y * 3, None))
    assert len(found.tested) == 180
    assert max(found.scores.values()) < 0.75


def noisy(n=90):
    rng = np.random.default_rng(0)
    words = np.array(
        [
            "moon",
            "rocket",
            "orbit",
            "goal",
            "hockey",
            "puck",
            "god",
            "sin",
            "faith",
            "time",
            "day",
            "life",
        ]
    )
    places = rng.integers(12, size=(n, 6))
    return [" ".join(words[row]) for row in places], places, rng


@pytest.mark.parametrize(
    "kind", ["classes", "one split", "sets", "numbers", "ratings", "two numbers", "logs"]
)
def test_report_and_fit_have_one_score(kind, monkeypatch):
    texts, places, rng = noisy()
    if kind == "one split":
        monkeypatch.setattr(pool, "MAX_CROSS_VALIDATED_LABELS", 50)
    if kind in ("classes", "one split"):
        y = np.where(places.mean(axis=1) + rng.normal(size=90) > 5.5, "high", "low").tolist()
    elif kind == "sets":
        y = [{f"t{p // 4}" for p in row[:2]} for row in places]
    else:
        y = places.mean(axis=1) + rng.normal(size=90)
        y = np.exp(y) if kind == "logs" else y
        y = np.column_stack([y, rng.normal(size=90)]) if kind == "two numbers" else y
        y = np.clip(np.round(y), 5, 6) if kind == "ratings" else y
    settings = {"log": "yes" if kind == "logs" else "no", "max_iter": 5, "tol": 0}
    if "numbers" in kind or kind in ("logs", "ratings"):
        settings["task"] = "numbers"
    texts, y = [*texts, "???"], [*y, y[0]]
    model = TopicModel(3, random_state=0, **settings).fit(texts, y)
    found = evaluation.evaluate(read_material(model, texts, y, None))
    assert found.scores[MODEL] == pytest.approx(model.expected_score_.value)
    ends = found.interval(found.predictions[MODEL])
    expected = model.expected_score_
    assert (ends["low"], ends["high"]) == pytest.approx((expected.low, expected.high), abs=1e-6)
    assert 90 not in found.tested
    if kind == "logs":
        assert found.all_scores[MODEL][1] == pytest.approx(expected.natural[0])


def test_a_true_number_without_a_logarithm_does_not_count_on_that_scale():
    texts, places, rng = noisy()
    y = np.exp(places.mean(axis=1) + rng.normal(size=90))
    known = np.where(np.arange(90) < 60, y, np.nan)
    model = TopicModel(3, task="numbers", log="yes", random_state=0).fit(texts, known)
    truth, others = np.r_[y[:89], 0.0], np.r_[y[:89], np.nan]
    tested, without = (
        evaluation.evaluate(read_material(model, texts, known, one)) for one in (truth, others)
    )
    assert tested.all_scores[MODEL][0] == pytest.approx(without.all_scores[MODEL][0])
    assert tested.all_scores[MODEL][1] != without.all_scores[MODEL][1]
    assert tested.interval(tested.predictions[MODEL]) == without.interval(
        without.predictions[MODEL]
    )


def test_topics_without_labels_predict_numbers_about_as_well_as_the_mean():
    texts, _, rng = noisy()
    y = 90 + rng.normal(size=90)
    model = TopicModel(3, task="numbers", random_state=0, max_iter=5, tol=0)
    with pytest.warns(UserWarning, match="R² to expect"):
        model.fit(texts, y)
    scores = evaluation.evaluate(read_material(model, texts, y, None)).scores
    assert set(scores) == {MODEL, PLAIN, "mean", "ridge regression"}
    assert -0.5 < scores[PLAIN] < 0.3
    assert -0.2 < scores["mean"] < 0.05


def test_mistakes_are_explained_by_a_model_that_has_not_seen_them(monkeypatch):
    texts, places, rng = noisy()
    y = np.where(places.mean(axis=1) + rng.normal(size=90) > 5.5, "high", "low").tolist()
    model = TopicModel(3, random_state=0, max_iter=5, tol=0).fit(texts, y)
    hidden, without = [], SSNMFClassifier.without_labels
    monkeypatch.setattr(
        SSNMFClassifier,
        "without_labels",
        lambda estimator, held_out, rows: hidden.extend(rows) or without(estimator, held_out, rows),
    )
    prepared = prepare(model, texts, y)
    shown = [row["document"] for row in prepared.mistaken]
    assert shown
    assert set(shown) <= set(hidden)
    for row in prepared.mistaken:
        assert row["sides"][0]["class"] != row["truth"] == y[row["document"]]


@pytest.mark.parametrize("n_labels", [4, 6, 8])
def test_mistakes_are_explained_with_few_labels(n_labels):
    """Hiding all mistakes at once would leave no label, or none of a class."""
    texts, _, rng = noisy()
    mistakes = 0
    for _ in range(6):
        y = np.where(np.arange(90) < n_labels, rng.permutation(["high", "low"] * 45), "").tolist()
        model = TopicModel(3, random_state=0, max_iter=5, tol=0).fit(texts, y)
        for row in prepare(model, texts, y).mistaken:
            mistakes += 1
            assert all(0 < side["probability"] < 1 for side in row["sides"])
    assert mistakes > 6


def test_a_score_that_weights_change_is_not_called_that_of_the_fit():
    texts, places, rng = noisy()
    y = np.where(places.mean(axis=1) + rng.normal(size=90) > 5.5, "high", "low").tolist()
    weights = np.where(np.arange(90) % 2, 5.0, 0.2)
    for given, said in ((None, "which the fit itself held out"), (weights, "held out again")):
        model = TopicModel(3, random_state=0, max_iter=5, tol=0)
        model.fit(texts, y, sample_weight=given)
        how = evaluation.evaluate(read_material(model, texts, y, None)).how
        assert said in how
        assert (f"expects {model.expected_score_}" in how) == (given is not None)


@pytest.mark.filterwarnings("ignore:n_components=3 is less", "ignore:The number of unique classes")
def test_classes_with_a_single_label_take_no_labels_from_other_methods():
    texts, places, _ = noisy()
    y = np.where(places.mean(axis=1) > 5.5, "high", "low").astype(object)
    y[12:] = None
    y[12:30] = [f"single {i}" for i in range(18)]
    model = TopicModel(3, random_state=0, max_iter=5, tol=0)
    model.fit(texts, y.tolist())
    found = evaluation.evaluate(read_material(model, texts, y.tolist(), None))
    assert len(found.tested) == 12
    assert found.scores["majority"] >= 0.5


def test_cross_validation_hides_the_labels_it_asks_for(joint, corpus, some, seen):
    found = evaluation.evaluate(read_material(joint, corpus[0], some, None))
    assert sorted(found.tested) == list(range(30))
    assert [len(rows) for rows in seen] == [24] * 10
    for f in range(5):
        tested = found.tested[6 * f : 6 * f + 6]
        assert not set(tested) & set(seen[1 + f])
    assert "5-fold cross-validation over 30 of 30 labels" in found.how


@pytest.mark.slow
def test_fits_side_by_side_are_those_one_by_one(joint, corpus, some, monkeypatch):
    threaded = copy.copy(joint).set_params(n_jobs=3)
    threads = set()
    whole = refits.fit_estimator

    def spy(model, *given, **rest):
        threads.add((threading.current_thread().name, model.n_jobs))
        return whole(model, *given, **rest)

    one = evaluation.evaluate(read_material(joint, corpus[0], some, None))
    monkeypatch.setattr(refits, "fit_estimator", spy)
    several = evaluation.evaluate(read_material(threaded, corpus[0], some, None))
    assert len(threads) > 1
    assert {n_jobs for _, n_jobs in threads} == {1}
    for name, said in one.predictions.items():
        np.testing.assert_array_equal(several.predictions[name], said)
    np.testing.assert_array_equal(several.probabilities, one.probabilities)

    monkeypatch.setattr(refits, "MAX_PARALLEL_ENTRIES", 1)  # one at a time, with all threads
    threads.clear()
    evaluation.evaluate(read_material(threaded, corpus[0], some, None))
    assert threads == {(threading.current_thread().name, 3)}


def test_the_test_is_said(crossed):
    assert "On 30 of the 30 labels, which the fit itself held out" in crossed.evaluation["how"]
    assert any("Only 30 documents were tested" in row["text"] for row in crossed.notices)


def test_documents_without_known_words_are_not_tested_on(corpus):
    texts, labels = [*corpus[0], "17", ""], [*corpus[1], "space", "sport"]
    model = TopicModel(3, random_state=0).fit(texts, labels)
    found = evaluation.evaluate(read_material(model, texts, labels, None))
    assert sorted(found.tested) == list(range(120))
    assert "On 120 of the 122 labels" in found.how
    found = evaluation.evaluate(read_material(model, ["17", texts[0]], labels[:2], None))
    assert found.tested.tolist() == [1]


def test_many_documents_make_fits_hasty(joint, corpus, some, crossed, monkeypatch):
    assert "iterations" not in crossed.evaluation["how"]
    monkeypatch.setattr(refits, "MANY_DOCUMENTS", 100)
    monkeypatch.setattr(refits, "MAX_HASTY_ITERATIONS", 2)
    found = evaluation.evaluate(read_material(joint, corpus[0], some, None))
    assert found.how.startswith("By 3-fold")
    assert found.how.endswith("These fits had at most 2 iterations.")
    assert found.plain.n_iter_ <= 2


def test_many_labels_take_one_split(corpus, monkeypatch):
    model = TopicModel(3, head="joint", random_state=0).fit(*corpus)
    monkeypatch.setattr(evaluation, "MAX_REPORT_FOLD_LABELS", 100)
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


def test_baselines_know_the_labels_of_each_column_only():
    X = np.eye(4)[[0, 0, 1, 1, 2, 3]]
    y = np.array([[1, 1], [1, np.nan], [0, np.nan], [0, 1], [0, 1], [0, 1.0]])
    said = dict(baselines("sets", X, y, np.eye(4)))
    assert said["majority"].tolist() == [[0, 1]] * 4
    for name in ("naive Bayes", "logistic regression"):
        assert (said[name][:, 1] == 1).all()
        assert said[name][0, 0] > 0.5 > said[name][1, 0]
    numbers = dict(baselines("numbers", X, 3 * y, np.eye(4)))
    assert numbers["mean"][0].tolist() == [1, 3]
    assert (numbers["ridge regression"][:, 1] == 3).all()
