"""TopicModel: documents in, topics and predictions out."""

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse as sp
from scipy.special import softmax
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from cofactor import NMF, SSNMFClassifier, SSNMFRegressor, TopicModel
from cofactor._fields import saved_fields
from cofactor.callbacks import ReportIterations
from cofactor.metrics import npmi_coherence
from cofactor.report.evaluation import evaluate
from cofactor.report.material import read_material
from cofactor.text.describe.predictions import infer_task
from cofactor.text.fitted_topics import FittedTopics
from subjects import LABELS, SOME, SUBJECTS, TEXTS, UNSEEN

# --- fitting and prediction ----------------------------------------------------------------------


def test_few_labels_are_enough(model):
    assert model.score(TEXTS, LABELS) > 0.97
    assert model.predict(UNSEEN[:3]).tolist() == ["space", "sport", "faith"]
    assert isinstance(model.estimator_, SSNMFClassifier)
    np.testing.assert_allclose(model.predict_proba(UNSEEN).sum(axis=1), 1.0)
    empty = softmax(model.estimator_.pooled_head.base)
    np.testing.assert_allclose(model.predict_proba([""])[0], empty)
    assert model.classes_.tolist() == ["faith", "space", "sport"]


def test_it_is_the_vectorizer_and_the_estimator():
    model = TopicModel(4, further_words="no", random_state=0).fit(TEXTS, SOME)
    X = model.vectorizer_.transform(TEXTS)
    direct = SSNMFClassifier(4, random_state=0).fit(X, SOME)
    assert np.array_equal(direct.components_, model.estimator_.components_)
    assert np.array_equal(direct.predict_proba(X), model.predict_proba(TEXTS))
    assert np.array_equal(direct.transform(X), model.transform(TEXTS))
    assert np.array_equal(model.document_topics_, model.transform(TEXTS))
    again = TopicModel(4, further_words="no", random_state=0)
    assert np.array_equal(again.fit_transform(TEXTS, SOME), model.document_topics_)


@pytest.mark.parametrize(
    "form", [iter, pd.Series, pl.Series, np.array, lambda t: pd.DataFrame({"body": t})]
)
def test_documents_in_any_form_give_the_same_model(model, form):
    again = TopicModel(4, random_state=0).fit(form(TEXTS), pd.Series(SOME))
    assert again.topics() == model.topics()
    assert again.fingerprint_ == model.fingerprint_


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (None, "topics"),
        (["a", "", None], "classes"),
        ([0, 1, -1], "classes"),
        ([0.0, 1.0, np.nan], "classes"),
        ([0.5, 1.0, np.nan], "numbers"),
        ([0.5, None, 1], "numbers"),
        ([[0, 1], [1, 0], [1, 1]], "classes"),
        ([[0.5, 0.5], [1, 0], [1, 0]], "classes"),
        (pd.Series([1, None, 2], dtype="Int64"), "classes"),
        (pl.Series([0.5, None, 2.0]), "numbers"),
        (sp.csr_array(np.eye(3)), "classes"),
        (["", "", ""], "classes"),
    ],
)
def test_what_y_asks_for(y, task):
    assert infer_task(y) == task


def test_numbers():
    y = np.where(LABELS == "space", 3.5, np.where(LABELS == "sport", -1.25, 0.5))
    y[::3] = np.where(np.arange(40) < 20, y[::3], np.nan)
    series = pd.Series(y, name="price")
    model = TopicModel(3, random_state=0).fit(TEXTS, series)
    assert isinstance(model.estimator_, SSNMFRegressor)
    assert model.score(TEXTS, y) > 0.9
    assert model.target_names_ == ["price"]
    assert model.documents(UNSEEN).column("confidence") == [None] * 6
    told = model.documents(UNSEEN).column("prediction")
    assert [one is None for one in told] == [row.topic < 0 for row in model.documents(UNSEEN)]
    known = [d for d, one in enumerate(told) if one is not None]
    np.testing.assert_allclose([told[d] for d in known], model.predict(UNSEEN)[known])
    with pytest.raises(ValueError, match="predict_proba needs classes"):
        model.predict_proba(UNSEEN)
    whole = TopicModel(3, task="numbers", random_state=0).fit(TEXTS, np.arange(120))
    assert isinstance(whole.estimator_, SSNMFRegressor)


def test_several_labels():
    Y = pd.DataFrame({name: (name == LABELS).astype(int) for name in SUBJECTS})
    model = TopicModel(3, random_state=0).fit(TEXTS, Y)
    assert model.score(TEXTS, Y) > 0.9
    rows = model.documents(UNSEEN)
    assert rows[0].prediction == ("space",)
    assert rows[3].prediction is None  # nothing is known of it
    assert 0 < rows[0].confidence <= 1
    assert [row.label for row in model.class_summaries()] == list(SUBJECTS)


def test_without_labels(plain):
    assert isinstance(plain.estimator_, NMF)
    assert 0.05 < plain.score(TEXTS) < 1
    assert plain.score(TEXTS) > TopicModel(1, random_state=0).fit(TEXTS).score(TEXTS)
    with pytest.raises(ValueError, match="predict needs labels"):
        plain.predict(TEXTS)
    assert plain.class_summaries() == TopicModel(2).fit(TEXTS).class_summaries()
    assert len(plain.class_summaries()) == 0
    assert {row.prediction for row in plain.documents()} == {None}
    ignored = TopicModel(3, task="topics", random_state=0).fit(TEXTS, LABELS)
    assert ignored.topics() == plain.topics()


def test_weights_reach_the_estimator():
    weights = np.arange(len(TEXTS)) // 3 % 3
    X = TopicModel(3, random_state=0).fit(TEXTS).vectorizer_
    repeated = [i for i, w in enumerate(weights) for _ in range(w)]
    one = TopicModel(
        3, vectorizer=CountVectorizer(dtype=float, vocabulary=list(X.words_)), random_state=0
    )
    weighted = clone(one).fit(TEXTS, LABELS, sample_weight=weights)
    longer = clone(one).fit([TEXTS[i] for i in repeated], LABELS[repeated])
    np.testing.assert_allclose(
        weighted.estimator_.components_, longer.estimator_.components_, rtol=1e-5, atol=1e-8
    )
    trust = np.linspace(0, 1, len(TEXTS))
    unsure = clone(one).fit(TEXTS, LABELS, target_weights=trust).estimator_
    direct = SSNMFClassifier(3, random_state=0)
    direct.fit(weighted.vectorizer_.transform(TEXTS), LABELS, target_weights=trust)
    assert np.array_equal(unsure.target_components_, direct.target_components_)
    with pytest.raises(ValueError, match="target_weights needs y"):
        clone(one).fit(TEXTS, target_weights=weights)


def test_seeds_of_the_start():
    one, other = (TopicModel(3).fit(TEXTS, SOME) for _ in range(2))
    assert one.seed_ != other.seed_
    again = TopicModel(3, random_state=one.seed_).fit(TEXTS, SOME)
    assert np.array_equal(again.estimator_.components_, one.estimator_.components_)


@pytest.mark.parametrize("method", ["fit", "partial_fit", "predict", "transform", "documents"])
def test_no_documents_at_all(method):
    model = TopicModel(2, random_state=0, max_iter=2, tol=0)
    model.fit(["rocket moon", "oven butter", "rocket nasa", "oven flour"], ["a", "b", "a", "b"])
    with pytest.raises(ValueError, match=r"^documents is empty; pass at least one document\.$"):
        getattr(model, method)([])


@pytest.mark.parametrize("settings", [{}, {"seeds": {"kitchen": ["oven"]}}])
def test_more_topics_than_the_memory_holds(settings):
    texts, y = ["rocket moon", "oven butter", "rocket nasa", "oven flour"], ["a", "b", "a", "b"]
    for labels in (None, y):
        with pytest.raises(ValueError, match="n_components=999999999999 asks for too many"):
            TopicModel(999_999_999_999, **settings).fit(texts, labels)


def test_empty_documents_are_harmless():
    texts = [*TEXTS, "", None, "12 34"]
    model = TopicModel(3, random_state=0).fit(texts, [*SOME, "", "", ""])
    rows = model.documents()
    assert [row.topic for row in rows[-3:]] == [-1] * 3
    assert rows[-1].name == ""
    assert np.isfinite(model.estimator_.components_).all()
    assert sum(topic.share for topic in model.topics()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"n_components": 0}, "n_components"),
        ({"task": "words"}, "task"),
        ({"vectorizer": 3}, "vectorizer"),
        ({"seed_strength": 0}, "seed_strength"),
        ({"vectorizer": HashingVectorizer()}, "vectorizer"),
        ({"seeds": ["moon"]}, "seeds=.* must be a dict"),
        ({"seeds": {"a": "moon"}}, "must be a list of words"),
        ({"seeds": {"a": ["zzz", "the"]}}, r"seeds\['a'\] has no usable word"),
        ({"seeds": {n: ["moon"] for n in "abcdefghijk"}}, "11 names"),
    ],
)
def test_bad_parameters_are_named(settings, match):
    with pytest.raises((ValueError, TypeError), match=match):
        TopicModel(**settings).fit(TEXTS)


def test_not_fitted_and_other_mistakes(model):
    for method in ("transform", "predict", "documents"):
        with pytest.raises(NotFittedError):
            getattr(TopicModel(), method)(TEXTS)
    with pytest.raises(NotFittedError):
        TopicModel().topics()
    with pytest.raises(TypeError, match="pass a list"):
        model.predict("one text")
    with pytest.raises(TypeError, match="pass one string"):
        model.explain(["a", "b"])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        TopicModel().fit(TEXTS, LABELS[:5])
    with pytest.raises(ValueError, match="y is None, but this model predicts"):
        model.score(TEXTS)


# --- scikit-learn --------------------------------------------------------------------------------


def test_clone_pipeline_and_grid_search():
    model = TopicModel(3, seeds={"sky": ["moon"]}, vectorizer=TfidfVectorizer(), random_state=0)
    assert repr(clone(model)) == repr(model)
    strip = FunctionTransformer(lambda texts: [text.replace("moon", "luna") for text in texts])
    pipeline = Pipeline([("strip", strip), ("topics", TopicModel(3, random_state=0))])
    pipeline.fit(TEXTS, LABELS)
    assert "luna" in pipeline["topics"].vectorizer_.words_
    assert pipeline.score(TEXTS, LABELS) > 0.9
    grid = {"n_components": [1, 3], "vectorizer": [None, CountVectorizer()]}
    model = TopicModel(head="refit", random_state=0, max_iter=20, tol=1e-2)  # topics alone predict
    search = GridSearchCV(model, grid, cv=2)
    search.fit(TEXTS, LABELS)
    assert search.best_params_["n_components"] == 3
    assert search.best_score_ > 0.9
    assert search.predict(UNSEEN[:2]).tolist() == ["space", "sport"]


def test_cross_validation_by_kind():
    assert is_classifier(TopicModel())
    assert is_regressor(TopicModel(task="numbers"))
    scores = cross_val_score(TopicModel(3, random_state=0), TEXTS, LABELS, cv=3)
    assert min(scores) > 0.9
    scores = cross_val_score(TopicModel(3, random_state=0), TEXTS, cv=3)
    assert min(scores) > 0
    nested = TopicModel(vectorizer=TfidfVectorizer()).set_params(vectorizer__min_df=3)
    assert nested.vectorizer.min_df == 3


def test_parameters_are_documented():
    text = inspect.getdoc(TopicModel)
    for name in inspect.signature(TopicModel).parameters:
        assert name in text.split("Attributes")[0], name
    model = TopicModel(2).fit(TEXTS)
    for name in saved_fields(FittedTopics):
        if hasattr(model, name):
            assert name in text.split("Attributes")[1], name


# --- description ---------------------------------------------------------------------------------


def test_topics(model):
    topics, words = model.topics(8), model.vectorizer_.words_.tolist()
    assert [topic.topic for topic in topics] == [0, 1, 2, 3]
    assert sum(topic.share for topic in topics) == pytest.approx(1)
    for topic in topics:
        assert set(topic.words) & set(SUBJECTS[topic.label].split())
        profile = model.estimator_.components_[topic.topic]
        columns = [words.index(word) for word in topic.words]
        assert list(topic.weights) == pytest.approx(profile[columns] / profile.sum())
        assert 0.5 < topic.label_weight <= 1
        assert topic.name == ", ".join(topic.words[:3])
    X = model.vectorizer_.transform(TEXTS)
    places = {word: j for j, word in enumerate(model.vectorizer_.words_)}
    top = [[places[word] for word in topic.words] for topic in model.topics(10)]
    np.testing.assert_allclose(model.coherence_, npmi_coherence(top, X))
    assert model.topics().column("coherence") == model.coherence_.tolist()


def test_topics_by_probability(model):
    profiles = model.estimator_.components_ / model.estimator_.components_.sum(axis=1)[:, None]
    words, X = model.vectorizer_.words_, model.vectorizer_.transform(TEXTS)
    for topic, profile in zip(model.topics(8, by="probability"), profiles, strict=True):
        top = np.argsort(-profile, kind="stable")[:8]
        assert topic.words == tuple(words[top])
        assert list(topic.weights) == pytest.approx(profile[top])
        assert list(topic.weights) == sorted(topic.weights, reverse=True)
        assert topic.name == model.topic_names_[topic.topic]
    tops = [np.argsort(-profile, kind="stable")[:10] for profile in profiles]
    expected = npmi_coherence(tops, X).tolist()
    assert model.topics(3, by="probability").column("coherence") == pytest.approx(expected)
    with pytest.raises(ValueError, match="by='weight' must be 'coherence' or 'probability'"):
        model.topics(by="weight")


def test_documents(model):
    rows = model.documents()
    assert len(rows) == len(TEXTS)
    assert rows == model.documents(iter(TEXTS))
    assert rows.column("prediction") == model.predict(TEXTS).tolist()
    np.testing.assert_allclose(rows.column("confidence"), model.predict_proba(TEXTS).max(axis=1))
    labels = model.topics().column("label")
    agree = [labels[row.topic] == row.prediction for row in rows]
    assert np.mean(agree) > 0.9


def test_classes(model):
    for row in model.class_summaries(5):
        assert set(row.keywords) <= set(SUBJECTS[row.label].split())
        assert sum(row.topics) == pytest.approx(1)
        assert model.topics()[int(np.argmax(row.topics))].label == row.label


# --- callbacks, and fits elsewhere ----------------------------------------------------------------


def test_callbacks_watch_the_fit_of_the_estimator():
    made = []
    model = (
        TopicModel(3, random_state=0).set_callbacks(ReportIterations(made.append)).fit(TEXTS, SOME)
    )
    assert made == list(range(1, model.n_iter_ + 1))
    assert np.array_equal(
        model.estimator_.components_,
        TopicModel(3, random_state=0).fit(TEXTS, SOME).estimator_.components_,
    )
    made.clear()
    model.estimator_.fit(model.vectorizer_.transform(TEXTS), SOME)  # it has no callbacks itself
    clone(model).set_callbacks().fit(TEXTS, SOME)
    assert made == []
    pipeline = Pipeline([("topics", clone(model))]).fit(TEXTS, SOME)  # clones keep callbacks
    assert made == list(range(1, pipeline["topics"].n_iter_ + 1))
    with pytest.raises(TypeError, match="callbacks"):
        TopicModel().set_callbacks(print)


@pytest.mark.slow
def test_a_report_does_not_call_the_callbacks_of_the_fit():
    made = []
    model = (
        TopicModel(3, random_state=0).set_callbacks(ReportIterations(made.append)).fit(TEXTS, SOME)
    )
    made.clear()
    assert evaluate(read_material(model, TEXTS, SOME, None)) is not None
    assert made == []


def test_a_given_function_fits_the_estimator():
    seen = []

    def fit(estimator, X, y, **weights):
        seen.append((type(estimator), X.shape, sorted(weights)))
        return estimator.fit(X, y, **weights)

    model, plain = TopicModel(3, random_state=0), TopicModel(3, random_state=0)
    model.fit(iter(TEXTS), SOME, fit_with=fit, sample_weight=np.ones(len(TEXTS)))
    assert seen == [(SSNMFClassifier, (120, len(model.vectorizer_.words_)), ["sample_weight"])]
    plain.fit(TEXTS, SOME, sample_weight=np.ones(len(TEXTS)))
    assert np.array_equal(model.document_topics_, plain.document_topics_)
    assert model.fingerprint_ == plain.fingerprint_
