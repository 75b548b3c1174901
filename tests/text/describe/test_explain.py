"""Explanations add up to the prediction."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from cofactor import NMF, TopicModel
from cofactor.divergences import DIVERGENCES
from cofactor.text.describe.explain import explain_row, row_without, topic_parts
from cofactor.text.documents import DocumentRows, document_rows
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
    settings = {"vectorizer": vectorizer, "further_words": "no", "max_iter": 15}
    model = TopicModel(4, random_state=0, **settings).fit(TEXTS, SOME)
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
    assert repr(plain.explain("")) == "topic: none; the model knows no word of the text"


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
    words = dict(zip(found.words, found.contrast.words, strict=True))
    assert [text for text, level in found.coloured_text if level] == ["moon", "rocket", "puck"]
    for text, level in found.coloured_text:
        if level:
            colour = "31, 119, 220" if words[text] >= 0 else "230, 110, 20"
            assert re.search(rf"rgba\({colour}, [0-9.]+\)[^>]*>{text}<", shown)
    assert "".join(text for text, _ in found.coloured_text) == found.text
    assert found.table._repr_html_() in shown
    assert "not known: " in shown


@pytest.mark.parametrize("fitted", ["model", "plain"])
def test_html_of_an_explanation_without_words(fitted, request):
    shown = request.getfixturevalue(fitted).explain("&lt;i&gt; qqq")._repr_html_()
    assert "<i>" not in shown
    assert "<table>" not in shown


# ---- Why this class and not the next one: leads add up, and words that are left out are left out


MIXED = ["moon rocket puck game people", "God, the puck and the moon", "hockey goal faith", "zzz"]
SETS = [{label, "odd"} if i % 2 else {label} for i, label in enumerate(LABELS)]
NUMBERS = np.array([len(text) / 7 for text in TEXTS])


def fitted(y, **options):
    return TopicModel(4, random_state=0, tol=1e-3, **options).fit(TEXTS, y)


@pytest.fixture(scope="module")
def several():
    return fitted(SETS)


def total(contrast):
    return contrast.base + contrast.words.sum() + contrast.topics.sum()


def decision(model, text):
    rows = document_rows(model, [text])
    return model.estimator_.decision_function(rows.X, **rows.given)[0]


@pytest.mark.parametrize("text", MIXED)
def test_parts_add_up_to_the_lead_over_the_runner_up(model, text):
    lead, scores = model.explain(text).contrast, decision(model, text)
    second, first = np.sort(scores)[-2:]
    assert total(lead) == pytest.approx(first - second, abs=1e-9)
    assert lead.lead == pytest.approx(first - second, abs=1e-9)
    names = np.array(model.target_names_)[np.argsort(-scores)]
    assert [lead.target, lead.rival] == names[:2].tolist()
    assert lead.target == model.predict([text])[0]


def test_any_two_classes_are_compared(model):
    place = {name: c for c, name in enumerate(model.target_names_)}
    for text in MIXED:
        scores = decision(model, text)
        told = model.explain(text, target="faith", rival="space")
        assert total(told.contrast) == pytest.approx(
            scores[place["faith"]] - scores[place["space"]], abs=1e-9
        )
        parts = told.class_parts[:, place["faith"]]
        assert [row.contribution for row in told.table] == sorted(parts.tolist(), reverse=True)
        by_word = dict(zip(told.words, told.contrast.words.tolist(), strict=True))
        assert {row.word: row.difference for row in told.table} == by_word


def test_two_classes_and_one():
    two = fitted(np.where(SOME == "faith", "", SOME))
    lead, value = two.explain(MIXED[0]).contrast, decision(two, MIXED[0])
    sign = 1 if lead.target == two.target_names_[1] else -1
    assert total(lead) == pytest.approx(sign * value, abs=1e-9)
    with pytest.warns(UserWarning, match="class"):
        one = fitted(np.where(SOME == "space", SOME, ""))
    assert one.explain(MIXED[0]).contrast is None


@pytest.mark.parametrize("text", MIXED)
def test_a_label_is_compared_with_its_threshold(several, text):
    leads = decision(several, text)
    told = several.explain(text)
    assert told.contrast.target == several.target_names_[int(np.argmax(leads))]
    for c, name in enumerate(several.target_names_):
        lead = several.explain(text, target=name).contrast
        assert (lead.target, lead.rival) == (name, None)
        assert total(lead) == pytest.approx(leads[c], abs=1e-9)
        assert (lead.lead >= 0) == bool(several.predict([text])[0][c])


def test_heads_without_a_decision_function():
    for y, base in ((SOME, 0.0), (SETS, 0.5)):
        model = fitted(y, head="refit")
        told, P = model.explain(MIXED[0]), model.predict_proba([MIXED[0]])[0]
        first, second = np.sort(P)[::-1][:2]
        expected = first - (base or second)
        assert total(told.contrast) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    "vectorizer",
    [None, CountVectorizer(), TfidfVectorizer(norm="l1"), TfidfVectorizer(use_idf=False)],
    ids=["words", "counts", "l1", "l2"],
)
@pytest.mark.parametrize("y", [SOME, SETS, NUMBERS], ids=["classes", "sets", "numbers"])
def test_a_word_left_out_is_the_text_without_it(y, vectorizer):
    model = fitted(y, vectorizer=vectorizer)
    words = ["moon", "rocket", "rocket", "puck", "game", "people", "people", "day"]
    told = model.explain(" ".join(words), n_left_out=9)
    assert sorted(row.word for row in told.left_out) == sorted(set(words))
    for row in told.left_out:
        rest = " ".join(word for word in words if word != row.word)
        document, whole = model.documents([rest])[0], " ".join(words)
        if row.probability is None:
            expected = [model.predict([text])[0] for text in (rest, whole)]
            assert row.prediction == pytest.approx(expected[0], abs=1e-6)
        else:
            expected = model.predict_proba([rest, whole])[:, told.explained]
            assert row.prediction == document.prediction
            assert row.probability == pytest.approx(expected[0], abs=1e-6)
        assert row.change == pytest.approx(expected[0] - expected[1], abs=1e-6)


def test_the_words_that_matter_most_are_left_out(model):
    told = model.explain(MIXED[0], n_left_out=2)
    largest = np.argsort(-np.abs(told.contrast.words))[:2]
    assert [row.word for row in told.left_out] == [told.words[j] for j in largest]
    assert len(model.explain(MIXED[0], n_left_out=0).left_out) == 0
    assert "space leads sport by" in repr(told)


def test_rows_are_explained_without_their_text():
    model = fitted(LABELS, further_words="no")
    X = model.vectorizer_.transform(MIXED)
    for d, text in enumerate(MIXED):
        row, told = explain_row(model, DocumentRows(X[[d]]), n_left_out=5), model.explain(text)
        assert row.left_out == told.left_out
        np.testing.assert_array_equal(row.contrast.words, told.contrast.words)


def test_rows_of_other_lengths_keep_their_cells():
    np.testing.assert_allclose(row_without(np.array([0.6, 0.8, 0.0]), 1), [1.0, 0.0, 0.0])
    np.testing.assert_allclose(row_without(np.array([0.25, 0.25, 0.5]), 2), [0.5, 0.5, 0.0])
    assert row_without(np.array([2.0, 3.0]), 0).tolist() == [0.0, 3.0]
    assert row_without(np.array([1.0]), 0).tolist() == [0.0]


def test_refusals(model, several, plain):
    with pytest.raises(ValueError, match=r"target='sprot' is not known.*'sport'"):
        model.explain("moon", target="sprot")
    with pytest.raises(ValueError, match="rival='space' is the class itself"):
        model.explain("moon", rival="space")
    with pytest.raises(ValueError, match="does not choose between classes"):
        several.explain("moon", rival="space")
    with pytest.raises(ValueError, match="has no labels"):
        plain.explain("moon", target="space")


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (SOME, "prediction: none; the model knows no word of the text"),
        (None, "topic: none; the model knows no word of the text"),
    ],
)
def test_a_text_without_known_words_is_not_explained(y, sentence):
    model = TopicModel(3, random_state=0, max_iter=5).fit(TEXTS, y)
    told = model.explain("zzqx blorp")
    assert not told.is_known
    assert repr(told) == f"{sentence}\nnot known: zzqx blorp"
    assert told._repr_html_() == (
        f'<p>{sentence}</p><p><span dir="auto">zzqx blorp</span></p><p>not known: zzqx blorp</p>'
    )
