"""Labels behind topics, and links that are shrunk by them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from cofactor import TopicModel, load_model
from cofactor.estimators.inference import topic_shares
from cofactor.text.describe.predictions import topic_links
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


def test_links_are_shrunk_to_the_shares_of_all_labels(model):
    shares = np.array([(name == SOME).sum() for name in model.target_names_]) / (SOME != "").sum()
    links = topic_links(model.estimator_)
    for topic, row in zip(model.topics(), links, strict=True):
        c = row.argmax()
        assert topic.label == model.target_names_[c]
        expected = (topic.labels * row[c] + 2 * shares[c]) / (topic.labels + 2)
        assert topic.label_weight == pytest.approx(expected)


def test_one_label_does_not_look_like_certainty():
    """Five classes, one label each: every link is a guess."""
    texts = [f"{name} {name}s {name}ing" for name in ("moon", "puck", "bible", "oven", "bank")] * 6
    y = [text.split()[0] if i < 5 else "" for i, text in enumerate(texts)]
    model = TopicModel(5, random_state=0).fit(texts, y)
    assert topic_links(model.estimator_).max(axis=1).min() > 0.5
    assert max(model.topics().column("label_weight")) < 0.5


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
