"""Explanations add up to the prediction."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from sklearn.feature_extraction.text import CountVectorizer

from cofactor import NMF, TopicModel
from cofactor.divergences import DIVERGENCES
from cofactor.text.describe.explain import topic_parts
from subjects import LABELS, NOISE, SOME, SUBJECTS, TEXTS, UNSEEN

DIVERGENT = [(loss, target) for loss in DIVERGENCES for target in ("kullback-leibler", "frobenius")]


@pytest.mark.slow
@pytest.mark.parametrize("head", ["pooled", "refit"])
@pytest.mark.parametrize(("loss", "target"), DIVERGENT)
def test_explanations_add_up_for_every_loss(loss, target, head):
    model = TopicModel(
        4, data_loss=loss, target_loss=target, head=head, random_state=0, max_iter=15, tol=1e-2
    ).fit(TEXTS, SOME)
    for text in UNSEEN:
        found = check_sums(model, text)
        if head == "refit":
            assert (found.class_parts >= 0).all()
            assert not found.topic_scores.any()


def check_sums(model, text):
    """Words, topics and base add up to the scores, and these are what predict_proba reads."""
    found, expected = model.explain(text), model.predict_proba([text])[0]
    total = found.class_parts.sum(axis=0) + found.topic_scores.sum(axis=0) + found.base
    np.testing.assert_allclose(total, found.scores, atol=1e-9)
    pooled = model.estimator_.pooled_head is not None
    np.testing.assert_allclose(softmax(total) if pooled else total, expected, atol=1e-9)
    assert found.confidence == pytest.approx(expected.max())
    if pooled:  # of no word, and of no topic: what an empty document has
        np.testing.assert_allclose(found.base, model.estimator_.pooled_head.base, atol=1e-9)
    np.testing.assert_allclose(found.topics, model.transform([text])[0], atol=1e-12)
    through = found.through_topics.sum(axis=0) + found.beside_topics + found.base
    np.testing.assert_allclose(through, found.scores, atol=1e-9)
    if not pooled:  # then all words speak through the topics
        np.testing.assert_allclose(found.beside_topics, 0.0, atol=1e-9)
    if found.words:
        np.testing.assert_allclose(found.topic_parts.sum(axis=0), found.topics, atol=1e-9)
    assert (found.topic_parts >= 0).all()
    return found


@pytest.mark.parametrize("kind", ["rows", "roots"])
def test_words_speak_through_topics_as_far_as_topics_expect_them(kind):
    """x·Ω = Σ_k s_k (a_k·Ω) + (x − p)·Ω in the units of the document, for each topic."""
    vectorizer = CountVectorizer(ngram_range=(1, 3)) if kind == "roots" else None
    model = TopicModel(4, vectorizer=vectorizer, random_state=0, max_iter=15).fit(TEXTS, SOME)
    head, A = model.estimator_.pooled_head, model.estimator_.components_
    assert head.view.kind == kind
    for text in UNSEEN[:3]:
        found = model.explain(text)
        x, p = model.vectorizer_.transform([text]).toarray()[0], found.topics @ A
        root = np.sqrt if kind == "roots" else np.asarray
        length = np.linalg.norm(root(x)) * head.view.scale
        for k, s in enumerate(found.topics):
            share = np.divide(s * A[k], p, out=np.zeros_like(p), where=p > 0)
            words = (share * root(p)) @ head.weights / length
            np.testing.assert_allclose(found.through_topics[k], words + found.topic_scores[k])
        beside = (root(x) - root(p)) @ head.weights / length
        np.testing.assert_allclose(found.beside_topics, beside, atol=1e-9)


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(st.lists(st.sampled_from(" ".join([*SUBJECTS.values(), NOISE]).split()), max_size=30))
def test_explanations_add_up_for_any_text(model, words):
    text = " ".join(words)
    found = check_sums(model, text)
    assert set(found.words) == set(words)
    assert found.prediction == model.predict([text])[0]


def test_explanations_of_numbers_and_several_labels(model):
    y = np.where(LABELS == "space", 3.5, np.where(LABELS == "sport", -1.25, 0.5))
    numbers = TopicModel(3, random_state=0).fit(TEXTS, y)
    sets = pd.DataFrame({n: (n == LABELS).astype(int) for n in SUBJECTS})
    several, plain = (
        TopicModel(3, head=head, random_state=0).fit(TEXTS, sets) for head in ("pooled", "refit")
    )
    for text in UNSEEN:
        found = numbers.explain(text)
        total = found.class_parts.sum(axis=0) + found.topic_scores.sum(axis=0) + found.base
        np.testing.assert_allclose(total, numbers.predict([text]), atol=1e-9)
        for model in (several, plain):
            found = model.explain(text)
            total = found.class_parts.sum(axis=0) + found.topic_scores.sum(axis=0) + found.base
            np.testing.assert_allclose(found.scores, total, atol=1e-9)
        P = several.estimator_.probabilities(several.explain(text).scores[None])
        np.testing.assert_allclose(P, several.predict_proba([text]))
        np.testing.assert_allclose(np.clip(total, 1e-12, 1 - 1e-12), plain.predict_proba([text])[0])


def test_the_words_that_speak(model):
    found = model.explain("Rocket, moon and hockey people: quux 7")
    assert [row.word for row in found.table[:2]] == ["moon", "rocket"] or [
        row.word for row in found.table[:2]
    ] == ["rocket", "moon"]
    by_word = {row.word: row for row in found.table}
    assert by_word["hockey"].speaks_for == "sport"
    assert by_word["moon"].speaks_for == found.prediction == "space"
    assert found.unknown == ["quux"]
    assert repr(found).startswith("space (9")
    assert found.table.column("contribution") == sorted(
        found.table.column("contribution"), reverse=True
    )


def test_explanations_without_a_target(plain):
    found = plain.explain("moon rocket")
    assert found.prediction is None
    assert found.classes == []
    np.testing.assert_allclose(found.topic_parts.sum(axis=0), found.topics, atol=1e-12)
    assert {row.word for row in found.table} == {"moon", "rocket"}
    assert repr(plain.explain("")) == (
        "word  weight  topic  topic_part  speaks_for  contribution  difference"
    )


def test_parts_are_the_shares_of_the_optimum():
    """For Kullback–Leibler, part_jk = x_j · (a_jk s_k / p_j) / Σ_j a_jk."""
    random = np.random.default_rng(0)
    A, x = random.random((6, 3)), random.poisson(3.0, 6) + 1.0
    model = NMF(3, random_state=0).fit(random.random((9, 6)))
    model.amend(components=A.T.copy())
    s = model.transform(x[None])[0]
    p = A @ s
    expected = x[:, None] * A * s / p[:, None] / A.sum(axis=0)
    parts = topic_parts(x, A, s, DIVERGENCES["kullback-leibler"])
    np.testing.assert_allclose(parts, expected, rtol=1e-4, atol=1e-6)


def test_html_of_an_explanation(model):
    """Blue words speak for the class, orange ones against it; all words are text."""
    found = model.explain("<script> moon rocket puck <b>hidden</b> onerror=alert(1)")
    shown = found._repr_html_()
    assert shown.startswith(f"<p>{found.prediction} (")
    assert "<script" not in shown
    assert "<b>" not in shown
    spans = dict(re.findall(r'title="([^"]*)">(\w+)</span>', shown))
    assert sorted(spans.values()) == sorted(found.words)
    parts = dict(zip(found.words, found.contrast.words, strict=True))
    for title, word in spans.items():
        assert float(title) == pytest.approx(parts[word], rel=1e-2)
        colour = "31, 119, 220" if parts[word] >= 0 else "230, 110, 20"
        assert re.search(rf"rgba\({colour}, [0-9.]+\)[^>]*>{word}<", shown)
    assert found.table._repr_html_() in shown
    assert "not known: " in shown


@pytest.mark.parametrize("fitted", ["model", "plain"])
def test_html_of_an_explanation_without_words(fitted, request):
    shown = request.getfixturevalue(fitted).explain("&lt;i&gt; qqq")._repr_html_()
    assert "<i>" not in shown
    assert "<tbody></tbody>" in shown
