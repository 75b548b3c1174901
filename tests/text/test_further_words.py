"""Further words of short texts: a second view that predicts classes, beside that of the topics."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from cofactor import TopicModel, load_model
from cofactor.linear.views import Side
from cofactor.text import WordVectorizer
from cofactor.text.further_words import CHARACTERS, FurtherWords, sequences
from cofactor.text.vectorizer.word_vectorizer import are_short
from short_questions import THINGS, questions

TEXTS = ["Who won the 1998 cup?", "How many cups were won, and how many lost?", "It's the CUP", ""]


@pytest.fixture(scope="module")
def model():
    return TopicModel(3, further_words="auto", random_state=0).fit(*questions(150))


# ---- the words


def naive(texts, grammatical):
    """Return the row of each text as a dict, and the weights of names; words are given split."""
    parts = []
    for words in texts:
        marks = [word in grammatical for word in words]
        pairs = zip(pairwise(words), pairwise(marks), strict=True)
        grammar = [word for word, mark in zip(words, marks, strict=True) if mark]
        grammar += [" ".join(pair) for pair, both in pairs if any(both)]
        padded = [f" {word} " for word in words]
        characters = [
            CHARACTERS + word[i : i + n]
            for word in padded
            for n in (3, 4, 5)
            for i in range(len(word) - n + 1)
        ]
        parts.append((Counter(grammar), Counter(characters)))
    often = Counter(name for part in parts for one in part for name in one)
    idf = {name: np.log((1 + len(texts)) / (1 + df)) + 1 for name, df in often.items() if df > 1}
    rows = []
    for part in parts:
        blocks = [
            {name: (1 + np.log(n)) * idf[name] for name, n in one.items() if name in idf}
            for one in part
        ]
        blocks = [one for one in blocks if one]
        lengths = [np.sqrt(sum(v**2 for v in one.values())) for one in blocks]
        whole = np.sqrt(len(blocks))
        rows.append(
            {
                name: value / length / whole
                for one, length in zip(blocks, lengths, strict=True)
                for name, value in one.items()
            }
        )
    return rows, idf


def test_rows_equal_a_naive_computation():
    vectorizer = WordVectorizer().fit(TEXTS)
    further, rows = FurtherWords.fitted(TEXTS, vectorizer)
    split = [
        ["who", "won", "the", "1998", "cup"],
        ["how", "many", "cups", "were", "won", "and", "how", "many", "lost"],
        ["it's", "the", "cup"],
        [],
    ]
    grammatical = {"who", "the", "how", "many", "were", "and", "it's"}
    expected, idf = naive(split, grammatical)
    assert set(further.names) == set(idf)
    assert {"the", "the cup"} < set(idf) | {"the cup"}
    assert_allclose(further.idf, [idf[name] for name in further.names])
    for row, wanted in zip(rows.toarray(), expected, strict=True):
        assert_allclose(row, [wanted.get(name, 0.0) for name in further.names], atol=1e-12)
    assert_allclose(further.of(TEXTS, vectorizer).toarray(), rows.toarray(), atol=1e-12)
    assert further.of(["", "?!"], vectorizer).nnz == 0


def test_sequences_know_where_a_word_ends():
    assert CHARACTERS + "ing " in sequences("sing")
    assert CHARACTERS + "ing " not in sequences("singer")
    assert sequences("a") == [CHARACTERS + " a "]


def test_each_text_has_the_grammar_of_its_language():
    texts = [f"{text} with the old man" for text in questions(60)[0]]
    texts += [f"die Frau und der Hund {thing} in dem Haus" for thing in THINGS * 7]
    vectorizer = WordVectorizer(language=["english", "german"]).fit(texts)
    further, _ = FurtherWords.fitted([*texts, "to die", "to die"], vectorizer)
    assert {"die", "und", "with", "the old"} <= set(further.names)
    row = further.of(["we die with the old man"], vectorizer).toarray()[0]
    assert row[further.names.index("the")] > 0
    assert row[further.names.index("die")] == 0  # grammatical in German texts only


def test_only_short_texts_have_them():
    assert are_short(60, 60 * 19)
    assert not are_short(49, 49 * 19)
    assert not are_short(60, 60 * 20)


# ---- models


def test_classes_that_only_they_tell(model):
    texts, truth = questions(60, seed=1)
    assert np.mean(model.predict(texts) == truth) == 1.0
    plain = TopicModel(3, vectorizer=WordVectorizer(), further_words="no", random_state=0)
    assert np.mean(plain.fit(*questions(150)).predict(texts) == truth) < 0.6
    assert model.expected_score_.value > 0.95


def test_topics_are_made_of_other_words(model):
    assert set(model.vectorizer_.words_) == set(THINGS)
    assert model.estimator_.components_.shape == (3, len(THINGS))


def test_misspelt_words_are_predicted_by_their_parts():
    random = np.random.default_rng(0)
    words = {"bill": ["invoice", "payment", "refund"], "trip": ["airport", "luggage", "boarding"]}
    y = [*words] * 60
    texts = [f"{random.choice(words[one])} {random.choice(words[one])} please" for one in y]
    fitted = TopicModel(2, further_words="auto", random_state=0).fit(texts, y)
    wrong = ["invoise", "paymant", "refnud refun", "airprot airpo", "lugage", "bordings"]
    assert fitted.predict(wrong).tolist() == ["bill"] * 3 + ["trip"] * 3
    old = TopicModel(2, further_words="no", random_state=0).fit(texts, y)
    assert len(set(old.predict(wrong))) == 1  # nothing known: the same class for all


def total(told):
    return told.class_parts.sum(axis=0) + told.topic_scores.sum(axis=0) + told.base


def test_parts_of_words_add_up(model):
    text = "Who was on the river, who was on the RIVER bridge? 77 zebras"
    told = model.explain(text, target="person")
    assert_allclose(total(told), told.scores)
    S = model.transform([text])
    further = model.fitted.further.of([text], model.vectorizer_)
    head = model.estimator_.pooled_head
    part = model.fitted.further.word_parts(
        text, model.vectorizer_, head.further_weights / head.further.scale
    )
    unit = further.toarray()[0] / head.further.scale
    assert_allclose(sum(part.values()), unit @ head.further_weights, atol=1e-12)
    assert {"who", "was", "on", "the"} <= set(told.words)
    assert told.words.count("river") == 1
    side = Side(further=further)
    X = model.vectorizer_.transform([text])
    assert_allclose(told.scores, model.estimator_.scores(X, representation=S, side=side)[0])
    who = told.class_parts[told.words.index("who")]
    assert model.target_names_[int(who.argmax())] == "person"
    places = {one.form(text) for one in told.occurrences}
    assert {"Who", "RIVER", "was"} <= places


def test_a_word_that_is_left_out_counts_in_no_view(model):
    told = model.explain("who was on the river", target="person", n_left_out=5)
    found = {row.word: row for row in told.left_out}
    c = model.target_names_.index("person")
    with_it, without = model.predict_proba(["who was on the river", "was on the river"])[:, c]
    assert_allclose(found["who"].probability, without)
    assert_allclose(found["who"].change, without - with_it)
    assert without < with_it


def test_they_are_saved_with_the_model(model, tmp_path):
    model.save(tmp_path / "m")
    loaded, texts = load_model(tmp_path / "m"), questions(30, seed=2)[0]
    assert_array_equal(loaded.predict_proba(texts), model.predict_proba(texts))
    assert loaded.fitted.further.names == model.fitted.further.names
    again = loaded.refit(*questions(150))
    assert_allclose(again.predict_proba(texts), model.refit(*questions(150)).predict_proba(texts))


def test_a_refit_on_other_texts_keeps_them(model):
    texts, y = questions(90, seed=5)
    again = model.refit(texts, y)
    assert again.fitted.further is model.fitted.further
    new, truth = questions(60, seed=1)
    assert np.mean(again.predict(new) == truth) == 1.0


def test_labels_after_names_of_classes_are_predicted_from_them(tmp_path):
    """The first fit, by names alone, does not use them; the refit with labels does."""
    texts, _ = questions(150)
    named = TopicModel(
        3, classes={"river": "river", "lake": "lake"}, further_words="auto", random_state=0
    ).fit(texts)
    assert named.fitted.further is None
    again = named.refit(texts, ["river" if "river" in one else "lake" for one in texts])
    again.save(tmp_path / "m")
    assert "who" in load_model(tmp_path / "m").fitted.further.names


def test_edits_keep_them(model):
    new, truth = questions(60, seed=1)
    edited = model.merge([0, 1]).rename(0, "all")
    assert np.mean(edited.predict(new) == truth) > 0.95


def test_an_update_learns_labels_beside_them(model):
    texts, y = questions(60, seed=3)
    new = [f"whale {text.split()[-1]}" for text in texts]
    after = model.update([*texts, *new], [*y, *["animal"] * 60])
    assert after.estimator_.pooled_head.further_weights.shape[1] == 4
    told, truth = questions(60, seed=1)
    assert np.mean(after.predict(told) == truth) > 0.9
    assert set(after.predict(["whale", "a whale"]).tolist()) == {"animal"}


def test_a_stream_goes_on_from_a_model_with_them(model, tmp_path):
    texts, truth = questions(60, seed=1)
    stream = load_then_learn(model, tmp_path)
    assert np.mean(stream.predict(texts) == truth) > 0.95


def load_then_learn(model, folder):
    model.save(folder / "m")
    few, y = questions(12, seed=8)
    learned = load_model(folder / "m").partial_fit(few, y)
    learned.save(folder / "n")
    return load_model(folder / "n")


def test_doubts_see_them(model):
    texts, y = questions(150)
    wrong = ["person" if label != "person" else "place" for label in y[:3]]
    found = model.doubtful_labels(texts, [*wrong, *y[3:]])
    assert {row.document for row in found[:3]} == {0, 1, 2}
    assert len(found) < 10


def test_vectors_stand_beside_them():
    texts, y = questions(150)

    def encode(texts):
        return np.array([[len(text), text.count("e"), text.count("o")] for text in texts], float)

    fitted = TopicModel(3, encoder=encode, further_words="auto", random_state=0).fit(texts, y)
    head = fitted.estimator_.pooled_head
    if head.vectors is None:
        pytest.skip("the vectors do not fit the texts")
    told = fitted.explain(texts[0])
    assert_allclose(total(told), told.scores)


def test_without_labels_there_are_none():
    assert (
        TopicModel(3, further_words="auto", random_state=0).fit(questions(150)[0]).fitted.further
        is None
    )


def test_a_fit_forgets_the_further_words_of_the_fit_before(model):
    texts, y = questions(90, seed=3)
    again = TopicModel(3, further_words="auto", random_state=0)
    again.fit(*questions(150)).fit(texts, y)
    fresh = TopicModel(3, further_words="auto", random_state=0).fit(texts, y)
    assert list(again.fitted.further.names) == list(fresh.fitted.further.names)
    assert_array_equal(again.predict_proba(texts), fresh.predict_proba(texts))


def test_a_refit_follows_the_parameters_of_the_model():
    texts, y = questions(150)
    model = TopicModel(3, further_words="auto", random_state=0).fit(texts, y)
    without = model.set_params(further_words="no").refit(texts, y)
    assert without.fitted.further is None
    assert without.set_params(further_words="yes").refit(texts, y).fitted.further is not None


def test_short_texts_have_them_by_default():
    texts, y = questions(150)
    assert TopicModel(3, random_state=0).fit(texts, y).fitted.further is not None


def test_texts_without_a_frequent_one_have_none():
    texts = [chr(945 + i) * (3 + j) for i in range(20) for j in range(3)]  # each letter thrice
    single = [chr(0x4E00 + i) + chr(0x5000 + i) for i in range(60)]
    assert FurtherWords.fitted(single, WordVectorizer().fit(texts)) is None
    model = TopicModel(2, further_words="yes", random_state=0, vectorizer=WordVectorizer(min_df=1))
    assert model.fit(single, ["a", "b"] * 30).fitted.further is None


def test_one_text_does_not_build_the_index_again(model):
    further = model.fitted.further
    model.predict(["who was on the river"])
    before = further.places
    model.predict(["who was on the lake"])
    assert further.places is before


# ---- texts without content words


WORDLESS = "who was that?"


@pytest.fixture(scope="module")
def wordless():
    """Return a model, and texts whose labelled half has no content words."""
    texts, y = questions(120)
    asked = {"person": "who was that", "place": "where is it", "number": "how many are there"}
    texts, y = [*texts, *(asked[label] for label in y)], [*y, *y]
    return TopicModel(3, random_state=0).fit(texts, y), texts, y


def test_texts_that_some_view_shows_are_not_blank(wordless):
    model, _, _ = wordless
    new = [WORDLESS, "??", "who was on the river"]
    rows = model.annotate(new)
    assert [row["prediction"] for row in rows] == ["person", None, "person"]
    assert [row["reason"] for row in rows] == [None, "no known word", None]
    assert [row["topic"] is None for row in rows] == [True, True, False]
    assert rows[0]["confidence"] == pytest.approx(model.predict_proba(new)[0].max())
    told = model.documents(new)
    assert [row.is_blank for row in told] == [False, True, False]
    assert [row.topic for row in told][:2] == [-1, -1]


def test_texts_that_only_they_show_are_held_out(wordless):
    model, texts, y = wordless
    assert model.expected_score_.n_samples == len(texts)
    words_alone = TopicModel(3, random_state=0, vectorizer=WordVectorizer(), further_words="no")
    assert words_alone.fit(texts, y).expected_score_.n_samples == len(texts) / 2


def test_labels_of_texts_without_content_words_are_judged(wordless):
    model, texts, y = wordless
    wrong = [*y]
    wrong[-1] = "person" if y[-1] != "person" else "place"
    found = model.doubtful_labels(texts, wrong)
    assert found[0].document == len(texts) - 1


def test_updates_leave_blank_texts_blank(wordless):
    _, texts, y = wordless
    model = TopicModel(3, random_state=0).fit([*texts, "??"], [*y, ""])
    more, labels = questions(30, seed=5)
    new = model.update(more, labels)
    told = new.documents()
    assert [row.document for row in told if row.is_blank] == [len(texts)]
    assert told[len(texts) - 1].prediction == y[-1]


# ---- refusals


def test_yes_is_for_long_texts_too():
    texts, y = questions(150)
    long = [
        f"{text} {' '.join(f'w{i * j % 97}' for j in range(9, 29))}" for i, text in enumerate(texts)
    ]
    fits = [
        TopicModel(3, further_words=one, random_state=0).fit(long, y) for one in ("auto", "yes")
    ]
    assert [one.fitted.further is not None for one in fits] == [False, True]


@pytest.mark.parametrize("case", ["numbers", "sets", "head", "characters"])
def test_yes_is_refused_where_nothing_uses_it(case):
    texts, y = questions(60)
    settings = {"head": "refit"} if case == "head" else {}
    if case == "characters":
        settings["vectorizer"] = WordVectorizer(tokens="characters", ngram_range=(2, 3))
    if case == "numbers":
        y = np.linspace(0.5, 2.5, 60).tolist()
    if case == "sets":
        y = [{label} for label in y]
    asked = TopicModel(3, further_words="yes", random_state=0, **settings)
    with pytest.raises(ValueError, match="further_words='yes' helps the pooled head"):
        asked.fit(texts, y)
    assert asked.set_params(further_words="auto").fit(texts, y).fitted.further is None


def test_yes_is_refused_in_streams():
    with pytest.raises(ValueError, match="further_words='yes' cannot be used with partial_fit"):
        TopicModel(3, further_words="yes").partial_fit(*questions(60))


def test_a_cluster_has_none():
    texts, y = questions(150)

    def fit_with(estimator, X, y, **weights):
        assert not weights
        return estimator.fit(X, y)

    fitted = TopicModel(3, further_words="auto", random_state=0).fit(texts, y, fit_with=fit_with)
    assert fitted.fitted.further is None
    assert "who" in fitted.vectorizer_.grammatical_
    with pytest.raises(ValueError, match="further_words='yes' cannot be used with fit_with"):
        TopicModel(3, further_words="yes").fit(texts, y, fit_with=fit_with)


def test_words_and_heads_that_disagree_are_not_saved(model, tmp_path):
    for broken in (None, FurtherWords(["a"], np.ones(1))):
        with pytest.raises(ValueError, match="further_words_ do not fit the head"):
            TopicModel(3).set_fitted(replace(model.fitted, further=broken)).save(tmp_path / "m")
