"""Why this class and not the next one: leads add up, and words that are left out are left out."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from cofactor import TopicModel
from cofactor.text.describe.contrast import row_without
from cofactor.text.describe.explain import explain_row
from subjects import LABELS, SOME, TEXTS

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
    return model.estimator_.decision_function(model.vectorizer_.transform([text]))[0]


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


def test_rows_are_explained_without_their_text(model):
    X = model.vectorizer_.transform(MIXED)
    for d, text in enumerate(MIXED):
        row, told = explain_row(model, X[[d]], n_left_out=5), model.explain(text)
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
