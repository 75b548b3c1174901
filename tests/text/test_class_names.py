"""Classes by their names: first labels without any label."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from cofactor import TopicModel
from cofactor.text.class_names import (
    NAMES_WORTH,
    ClassStart,
    NameLabels,
    name_labels,
    read_classes,
    starts_sentence,
    surest,
)
from cofactor.text.describe.predictions import UNCHECKED, UNCHECKED_UPDATE, unchecked
from static_models import subject_vectors
from subjects import LABELS, NOISE, SOME, SUBJECTS, TEXTS, UNSEEN

WIDTH = 6
VECTORS = subject_vectors(map(str.split, SUBJECTS.values()), NOISE.split(), WIDTH)
VECTORS |= {"cosmos": VECTORS["moon"], "athletics": VECTORS["goal"], "religion": VECTORS["god"]}
WORDS = {"space": "the moon and a rocket", "sport": ["hockey"], "faith": ["church", "god"]}


def encode(texts):
    rows = [[VECTORS[word] for word in text.split() if word in VECTORS] for text in texts]
    return np.array([np.mean(row, axis=0) if row else np.zeros(WIDTH) for row in rows])


def fit(y=None, texts=TEXTS, **given):
    given = {"classes": WORDS, "random_state": 0, **given}
    return TopicModel(4, **given).fit(texts, y)


# ---- what may be given


@pytest.mark.parametrize("classes", [["a b", "c"], ("a b", "c"), np.array(["a b", "c"])])
def test_names_describe_themselves(classes):
    assert read_classes(classes) == {"a b": ("a b",), "c": ("c",)}


def test_words_and_sentences_describe_names():
    given = {" a ": "one sentence", "b": ["two", "words"], "c": ("!", "three")}
    assert read_classes(given) == {"a": ("one sentence",), "b": ("two", "words"), "c": ("three",)}


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (["a"], "classes names fewer than two classes"),
        ([], "classes names fewer than two classes"),
        (["a", "a"], "classes names 'a' twice"),
        (["Sport", "sport "], "classes names 'sport' twice"),
        (["a", " "], "classes has a class without a name"),
        ({"a": "x", "": "y"}, "classes has a class without a name"),
        ({"a": "x", "b": ""}, r"classes\['b'\] has no words"),
        ({"a": "x", "b": []}, r"classes\['b'\] has no words"),
        ({"a": "x", "b": "?!"}, r"classes\['b'\] has no words"),
        ({"a": ["x", "y"], "b": ["x", "y"]}, r"classes\['b'\] has the same words as 'a'"),
    ],
)
def test_bad_classes_are_one_sentence(classes, message):
    with pytest.raises(ValueError, match=message) as error:
        fit(classes=classes)
    assert str(error.value).endswith(".")


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ("space,sport", "must be a list of names"),
        (3, "must be a list of names"),
        (["a", 3], "the name 3, which must be a text"),
        ({"a": "x", "b": 3}, r"classes\['b'\]=3 must be a list of words, or a sentence"),
        ({"a": "x", "b": ["y", None]}, "must be a list of words, or a sentence"),
    ],
)
def test_classes_of_other_types_are_one_sentence(classes, message):
    with pytest.raises(TypeError, match=message):
        fit(classes=classes)


def test_words_that_do_not_occur_are_named():
    with pytest.raises(ValueError, match=r"classes\['x'\] has no word of the texts: 'quark'"):
        fit(classes={"space": "moon", "x": "quark"})
    with pytest.raises(ValueError, match=r"classes\['x'\] has no word that the encoder knows"):
        fit(classes={"space": "moon", "x": "quark"}, encoder=encode)


def test_words_of_all_classes_say_nothing():
    with pytest.raises(ValueError, match=r"only one of the classes \['a', 'b'\]"):
        fit(classes={"a": "moon day", "b": "day moon"})


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: fit(task="numbers"), "classes names classes, but task='numbers'"),
        (lambda: fit(task="topics"), "leave out one of them"),
        (lambda: fit([{"a", "b"}] * 120), "y holds several labels"),
        (lambda: fit(np.arange(120) % 3), "names 'space', but the labels are numbers such as 0"),
        (
            lambda: TopicModel(4, classes=WORDS).partial_fit(TEXTS),
            "cannot be used with partial_fit",
        ),
    ],
)
def test_classes_are_refused_where_they_mean_nothing(act, message):
    with pytest.raises(ValueError, match=message):
        act()


# ---- the labels


def labels_of(X, words, classes, y=None, **given):
    class Vectorizer:
        def get_feature_names_out(self):
            return words

    model = TopicModel(classes=classes)
    return name_labels(model, Vectorizer(), csr_array(X), y, **given)


def test_documents_with_the_words_of_one_class_start_it():
    X = np.array([[3.0, 0, 0, 1], [1.0, 0, 2, 0], [0, 0, 5.0, 0], [0, 1.0, 0, 0], [0, 0, 0, 4.0]])
    classes = {"a": ["one", "two"], "b": ["three"]}
    found = labels_of(X, ["one", "two", "three", "four"], classes)
    assert found.labels.tolist() == [
        "a",
        "b",
        "b",
        "a",
        "a",
    ]  # words of the start speak for the rest
    assert_array_equal(found.weights, 1)
    # one document of a class has other words than descriptions
    assert [(row.label, row.nearest) for row in found.starts] == [("a", 1), ("b", 0)]
    assert not found.known


def test_known_labels_stay():
    X = np.array([[3.0, 0, 1], [2, 0, 0], [0, 4, 0], [0, 5.0, 1], [1, 0, 0], [0, 1, 0]])
    words, classes = ["one", "two", "three"], {"a": ["one"], "b": ["two"]}
    y = np.array(["b", "", "c", "", "", ""], dtype=object)
    found = labels_of(X, words, classes, y)
    assert found.known
    assert found.labels[[0, 2]].tolist() == ["b", "c"]
    assert set(found.labels[[1, 3, 4, 5]]) <= {"", "a", "b", "c"}
    trusted = labels_of(X, words, classes, y, target_weights=[2, 9, 4, 9, 9, 9])
    assert_array_equal(trusted.weights[[0, 2]], [2, 4])
    assert set(trusted.weights[trusted.labels == "a"]) == {1}


def test_names_count_as_much_as_some_labels_of_each_class(monkeypatch):
    X = np.array([[1.0, 0], [0, 1.0]] * 100)
    y = np.array(["a", "b", *[""] * 198], dtype=object)
    classes = {"a": ["one"], "b": ["two"]}
    found = labels_of(X, ["one", "two"], classes, y)
    assert_array_equal(found.weights[:2], 1)
    weak = (found.labels != "") & (np.arange(200) > 1)
    assert found.weights[weak].sum() == pytest.approx(2 * NAMES_WORTH)
    assert labels_of(X, ["one", "two"], classes).weights.min() == 1


def test_documents_without_words_or_vectors_get_no_label():
    texts = [*TEXTS, "", "zzz"]
    model = TopicModel(4, classes=WORDS, encoder=encode, random_state=0).fit(texts)
    rows = model.fitted.documents
    found = name_labels(model, model.vectorizer_, rows.X, None, None, rows.side.vectors)
    assert found.labels[-2:].tolist() == ["", ""]


@pytest.mark.parametrize("encoder", [None, encode], ids=["words", "meaning"])
def test_names_alone_make_a_classifier(encoder):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fit(encoder=encoder)
    assert model.score(TEXTS, LABELS) > 0.9
    assert model.predict(UNSEEN[:3]).tolist() == ["space", "sport", "faith"]
    assert model.target_names_ == sorted(WORDS)
    assert model.expected_score_ is None  # no true label was held out
    assert model.fitted.encoder is None  # words alone predict
    starts = model.class_starts_
    assert sorted(row.label for row in starts) == sorted(WORDS)
    assert 0.4 * len(TEXTS) < sum(row.documents for row in starts) <= len(TEXTS)
    assert min(row.agreement for row in starts) > 0.9
    again = model.refit(TEXTS)
    assert again.score(TEXTS, LABELS) > 0.9
    assert again.class_starts_ == starts
    assert model.refit(TEXTS, sample=60).score(TEXTS, LABELS) > 0.8
    assert len(model.stability(TEXTS, runs=2)) == 4
    assert model.refit(TEXTS, SOME).expected_score_ is None


def test_meaning_finds_names_that_no_text_holds():
    names = {"space": "cosmos", "sport": "athletics", "faith": "religion"}
    assert fit(classes=names, encoder=encode).score(TEXTS, LABELS) > 0.9


def test_unknown_labels_count_as_no_labels():
    none = fit([""] * len(TEXTS), encoder=encode)
    assert none.fitted.encoder is None
    assert_allclose(none.predict_proba(UNSEEN), fit(encoder=encode).predict_proba(UNSEEN))


@pytest.mark.parametrize("encoder", [None, encode], ids=["words", "meaning"])
def test_known_labels_outweigh_wrong_names(encoder):
    wrong = {"space": ["hockey", "goal"], "sport": ["moon", "rocket"], "faith": ["church", "god"]}
    model = fit(np.where(np.arange(120) < 60, LABELS, ""), classes=wrong, encoder=encoder)
    assert model.score(TEXTS, LABELS) > 0.9
    assert (model.fitted.encoder is None) == (encoder is None)  # true labels weigh the vectors


def test_labels_may_name_further_classes_and_lack_some():
    y = np.where(LABELS == "faith", "belief", "")
    model = fit(y, classes={"space": "moon rocket orbit", "sport": "hockey goal puck"})
    assert model.target_names_ == ["belief", "space", "sport"]
    assert model.score(TEXTS, np.where(LABELS == "faith", "belief", LABELS)) > 0.9


def test_codes_of_classes_can_be_described():
    y = np.where(np.arange(120) < 30, np.searchsorted(sorted(SUBJECTS), LABELS), -1)
    model = fit(y, classes={"0": WORDS["faith"], "1": WORDS["space"], "2": WORDS["sport"]})
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict(UNSEEN[:3]).tolist() == [1, 2, 0]


def test_seeds_attract_topics_beside_classes():
    model = fit(seeds={"week": ["day", "year"]})
    assert "week" in model.topic_names_
    assert model.predict(UNSEEN[:3]).tolist() == ["space", "sport", "faith"]


def test_a_class_without_any_document_warns():
    def far(texts):
        known = {"moon": [1, 0.5], "rocket": [1, -0.5], "far": [-1, 0]}
        sides = {"space": [1, 0.5], "sport": [1, -0.5], "faith": [1, -0.4]}
        labels = dict(zip(TEXTS, LABELS, strict=True))
        return np.array([known.get(text) or sides[labels[text]] for text in texts], dtype=float)

    with pytest.warns(UserWarning, match=r"classes\['x'\] labels no document"):
        labels_by(far, {"a": "moon", "b": "rocket", "x": "far"})


def labels_by(encoder, classes):
    model = TopicModel(classes=classes, encoder=encoder)
    words = TopicModel(2, random_state=0).fit(TEXTS)
    X = words.fitted.documents.X
    return name_labels(model, words.vectorizer_, X, None, None, encoder(TEXTS))


def test_the_sentence_about_the_start():
    rows = [ClassStart("a", 1200, 1500, 0.9), ClassStart("b", 20, 500, 0.5)]
    assert starts_sentence(rows, 2000) == (
        "Names gave 1,220 of 2,000 documents a first label; other words agree with names on 80 % "
        "of the 2,000 documents nearest to a class, least on 'b' (50 %)."
    )
    rows = [ClassStart("a", 3, 0, 0.0), ClassStart("b", 2, 4, 0.5)]
    assert starts_sentence(rows, 5).endswith("least on 'b' (50 %).")
    assert starts_sentence(rows[:1], 5) == (
        "Names gave 3 of 5 documents a first label; none of them has other words that could agree "
        "with names."
    )


def test_classes_are_saved_with_the_model(tmp_path):
    from cofactor import load_model

    model = fit()
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.classes == WORDS
    assert not hasattr(again, "class_starts_")
    assert_array_equal(again.predict_proba(TEXTS), model.predict_proba(TEXTS))
    assert again.refit(TEXTS).score(TEXTS, LABELS) > 0.9


def test_texts_are_not_said_to_be_unlike_labels_that_nobody_gave():
    model = fit()
    rows = model.annotate([*TEXTS, *UNSEEN, "moon hockey god"])
    assert not [row for row in rows if row["unlike"] or "labelled" in (row["reason"] or "")]
    assert any(row["unlike"] for row in fit(SOME, classes=None).annotate(TEXTS))


# ---- confidences that no label has checked


MIXED = [
    f"{text} {' '.join(more.split()[::2])}"
    for text, more in zip(TEXTS, np.random.default_rng(0).permutation(TEXTS), strict=True)
]
CHANCE = [  # names say nothing about the other words
    f"{name} {' '.join(words)}"
    for name, words in zip(
        ["moon", "hockey", "church"] * 40,
        np.random.default_rng(0).choice(NOISE.split(), (120, 4)),
        strict=True,
    )
]


def mean_confidence(model, texts):
    return model.predict_proba(texts).max(axis=1).mean()


def without_flattening(monkeypatch, *args, **given):
    with monkeypatch.context() as patch:
        patch.setattr(NameLabels, "confidence", 1.0)
        return fit(*args, **given)


def shown_agreement(model):
    """Return the share that `starts_sentence` shows."""
    rows = model.class_starts_
    return sum(row.nearest * row.agreement for row in rows) / sum(row.nearest for row in rows)


def test_names_alone_are_as_sure_as_is_shown_to_users(monkeypatch):
    model = fit(texts=MIXED)
    assert 1 / 3 < shown_agreement(model) < 0.95
    assert mean_confidence(model, MIXED) == pytest.approx(shown_agreement(model), abs=1e-6)
    sure = without_flattening(monkeypatch, texts=MIXED)
    assert mean_confidence(sure, MIXED) > shown_agreement(model) + 0.03


@pytest.mark.parametrize("texts", [TEXTS, MIXED, CHANCE], ids=["clear", "mixed", "chance"])
@pytest.mark.parametrize("encoder", [None, encode], ids=["words", "meaning"])
def test_flattening_changes_no_prediction(texts, encoder, monkeypatch):
    sure = without_flattening(monkeypatch, texts=texts, encoder=encoder)
    model = fit(texts=texts, encoder=encoder)
    assert len({*sure.predict(texts)}) == 3
    assert_array_equal(model.predict(texts), sure.predict(texts))
    assert mean_confidence(model, texts) <= mean_confidence(sure, texts)


def test_too_few_documents_say_nothing_about_names():
    texts = ["cat", "dog"]
    model = TopicModel(2, classes=texts, random_state=0).fit(texts)
    assert model.predict(texts).tolist() == texts
    assert mean_confidence(model, texts) > 0.9


@pytest.mark.parametrize("encoder", [None, encode], ids=["words", "meaning"])
def test_few_known_labels_leave_doubts_about_names(encoder):
    def mean(n):
        y = np.where(np.arange(len(MIXED)) < n, LABELS, "")
        return mean_confidence(fit(y, texts=MIXED, encoder=encoder), MIXED)

    none, one, many = mean(0), mean(1), mean(60)
    assert one == pytest.approx(none, abs=0.05)
    assert one + 0.03 < many


@pytest.mark.parametrize("encoder", [None, encode], ids=["words", "meaning"])
def test_confidences_do_not_depend_on_the_order_of_documents(encoder, monkeypatch):
    monkeypatch.setattr("cofactor.text.class_names.MAX_COMPARED", 30)
    texts = [*MIXED, *MIXED[:40], "moon", "hockey"]
    order = np.random.default_rng(0).permutation(len(texts))
    other = fit(texts=[texts[i] for i in order], encoder=encoder)
    model = fit(texts=texts, encoder=encoder)
    assert model.class_starts_ == other.class_starts_
    assert_allclose(other.predict_proba(texts), model.predict_proba(texts), rtol=0, atol=1e-9)


def test_documents_with_the_same_lead_are_equally_sure():
    lead = np.array([3.0, 1.0, 1.0, 2.0, 1.0, 0.5, 0.0, 9.0])
    among = np.arange(8) < 7
    found = surest(np.zeros(8, dtype=int), lead, among)
    assert_array_equal(found, [True, True, True, True, True, False, False, False])


def test_the_folder_of_a_model_of_names_says_that_nothing_was_checked(tmp_path):
    fit().save(tmp_path / "names")
    assert UNCHECKED.split(",")[0] in (tmp_path / "names" / "README.md").read_text()
    model = TopicModel(4, random_state=0).fit(TEXTS, LABELS)
    assert unchecked(model) is None
    assert unchecked(model.update(TEXTS[:9], LABELS[:9])) == UNCHECKED_UPDATE
    assert unchecked(TopicModel(4, random_state=0).fit(TEXTS)) is None
