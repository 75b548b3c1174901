"""Scores of documents, and what topics alone predict."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from cofactor import TopicModel
from cofactor.estimators.inference import topic_shares
from cofactor.linear.familiar import UNLIKE_LEVEL
from cofactor.text.describe.predictions import document_scores, topic_links

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
TEXTS = [
    "the goalie saved the puck",
    "a late goal won the hockey game",
    "puck and goal",
    "the orbit of the moon",
    "a rocket to the moon",
    "rocket fuel and orbit",
] * 3
LABELS = ["sport", "sport", "", "space", "space", ""] * 3


@pytest.fixture(scope="module", params=["pooled", "refit", "joint"])
def model(request):
    return TopicModel(2, head=request.param, random_state=0).fit(TEXTS, LABELS)


def test_documents_keep_their_scores(model):
    estimator = model.estimator_
    X = model.vectorizer_.transform(TEXTS)
    S = model.document_topics_
    assert_allclose(document_scores(model), estimator.scores(X, representation=S), rtol=1e-9)
    predicted = estimator.classes_[document_scores(model).argmax(axis=1)]
    assert_array_equal(predicted, model.documents().column("prediction"))
    P = estimator.probabilities(document_scores(model))
    assert_allclose(P.max(axis=1), model.documents().column("confidence"), rtol=1e-9)


def test_models_that_keep_no_scores_read_their_topics(model):
    older = copy.copy(model).amend(document_scores=None)
    expected = model.document_topics_ @ model.estimator_.target_components_
    assert_array_equal(document_scores(older), expected)


def test_links_are_mean_predictions(model):
    estimator = model.estimator_
    found = topic_links(model)
    shares = topic_shares(model.document_topics_, estimator.components_)
    P = np.asarray(estimator.probabilities(document_scores(model)))
    assert_allclose(found, (shares.T @ P) / shares.sum(axis=0)[:, None], rtol=1e-9)
    assert_allclose(found.sum(axis=1), 1.0)


def test_models_without_classes_have_no_scores():
    model = TopicModel(2, random_state=0).fit(TEXTS)
    assert document_scores(model).shape == (len(TEXTS), 0)


def test_explanations_add_up_to_the_scores():
    model = TopicModel(2, random_state=0).fit(TEXTS, LABELS)
    found = model.explain("rocket to the puck")
    total = found.class_parts.sum(axis=0) + found.topic_scores.sum(axis=0) + found.base
    assert_allclose(total, found.scores, rtol=1e-9, atol=1e-12)
    X = model.vectorizer_.transform(["rocket to the puck"])
    assert_allclose(found.scores, model.estimator_.scores(X)[0], rtol=1e-9)
    assert np.isfinite(total).all()


def test_texts_of_a_class_without_labels_are_unlike_the_labelled_ones():
    random = np.random.default_rng(0)
    words = [[f"w{c}x{j}" for j in range(30)] for c in range(3)]
    common = [f"common{j}" for j in range(40)]
    y = np.arange(300) % 3
    texts = [" ".join([*random.choice(words[c], 12), *random.choice(common, 6)]) for c in y]
    labels = [str(c) if c < 2 and i < 90 else "" for i, c in enumerate(y)]
    model = TopicModel(3, random_state=0).fit(texts[:240], labels[:240])
    new, truth = texts[240:], y[240:]
    unlike = np.array(model.documents(new).column("unlike"))
    assert np.median(unlike[truth == 2]) > 0.9 > np.median(unlike[truth < 2])
    rows = model.annotate([*new, "???"], abstain=0.01)
    for row, far in zip(rows, unlike >= UNLIKE_LEVEL, strict=False):
        assert (row["prediction"] is None) == far
        assert row["reason"] == ("unlike the labelled texts" if far else None)
    assert rows[-1]["unlike"] is None
    of_fit = model.documents().column("unlike")
    assert np.allclose(of_fit, model.documents(texts[:240]).column("unlike"))
