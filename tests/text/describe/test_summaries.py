"""Labels behind topics, and their links to classes."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from cofactor import TopicModel, load_model
from cofactor.estimators.inference import topic_shares
from cofactor.text import WordVectorizer
from subjects import LABELS, SOME, TEXTS


def main_topics(model):
    return topic_shares(model.document_topics_, model.estimator_.components_).argmax(axis=1)


def test_labels_are_counted_by_main_topic(model):
    main = main_topics(model)
    for k, topic in enumerate(model.topics()):
        behind = SOME[(main == k) & (SOME != "")]
        assert topic.labels == len(behind)
        expected = [(behind == name).sum() for name in model.target_names_]
        assert_array_equal(model.topic_labels_[k], expected)


def test_links_are_the_mean_predictions_of_the_documents_of_a_topic(model):
    S = model.document_topics_ * model.estimator_.components_.sum(axis=1)
    shares = S / S.sum(axis=1, keepdims=True)
    P = model.predict_proba(TEXTS)
    for k, topic in enumerate(model.topics()):
        mean = np.average(P, axis=0, weights=shares[:, k])
        assert topic.label == model.target_names_[mean.argmax()]
        assert topic.label_weight == pytest.approx(mean.max(), rel=1e-6)
    small = model.forget_documents()
    assert small.topics() == model.topics()
    assert small.class_summaries() == model.class_summaries()


@pytest.mark.parametrize("kind", ["further words", "vectors"])
def test_links_say_what_is_predicted_whatever_predicts_it(kind):
    """The words of topics say nothing about the classes."""
    random = np.random.default_rng(0)
    things = ["river lake shore", "castle tower wall", "bread cheese oven"]
    y = np.arange(300) % 3
    asked = np.array(["where is the", "how many are in the", "who was on the"])[y]
    texts = [f"{a} {things[random.integers(3)]}" for a in asked]
    names = np.array(["place", "number", "person"])[y]

    def encode(texts):
        words = "where", "how", "who", *(one.split()[0] for one in things)
        return np.array([[word in text for word in words] for text in texts], dtype=float) + 0.01

    settings = {"further_words": "yes"}
    if kind == "vectors":
        settings = {"encoder": encode, "further_words": "no", "vectorizer": WordVectorizer()}
    model = TopicModel(3, random_state=0, **settings)
    model.fit(texts, [name if i < 90 else "" for i, name in enumerate(names)])
    assert np.mean(model.predict(texts) == names) > 0.95
    main = model.document_topics_.argmax(axis=1)
    for topic in model.topics():
        own = names[main == topic.topic]
        assert topic.label_weight == pytest.approx(np.mean(own == topic.label), abs=0.1)


def test_other_targets():
    sets = [{label, "text"} if i % 2 else None for i, label in enumerate(LABELS)]
    model = TopicModel(3, random_state=0).fit(TEXTS, sets)
    assert sum(model.topics().column("labels")) == len(TEXTS) // 2
    assert_array_equal(
        model.topic_labels_[:, model.target_names_.index("text")], model.topic_support_
    )
    numbers = TopicModel(2, random_state=0).fit(
        TEXTS[:30], np.r_[np.linspace(0.5, 2, 20), [np.nan] * 10]
    )
    assert sum(numbers.topics().column("labels")) == 20
    plain = TopicModel(2, random_state=0).fit(TEXTS[:30])
    assert plain.topics().column("labels") == [None, None]


def test_a_saved_model_keeps_them_and_a_stream_has_none(tmp_path):
    model = TopicModel(3, random_state=0).fit(TEXTS, SOME)
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert loaded.topics() == model.topics()
    card = (tmp_path / "m" / "README.md").read_text()
    assert "| labels |" in card
    loaded.partial_fit(TEXTS, SOME)
    assert set(loaded.topics().column("labels")) == {None}
