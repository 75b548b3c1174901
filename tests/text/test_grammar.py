"""Grammatical words of short texts: kept if held-out labels are more likely with them.

So several labels per document are predicted, streams, and models without further words.
"""

import warnings

import numpy as np
import pytest
from scipy import sparse as sp
from sklearn.preprocessing import normalize

from cofactor import TopicModel, load_model
from cofactor.text import WordVectorizer, grammar
from cofactor.text.describe.topic_words import Words
from cofactor.text.vectorizer.languages import ENGLISH
from short_questions import ASKED, THINGS, questions


@pytest.fixture(scope="module")
def model():
    return TopicModel(3, further_words="no", random_state=0).fit(*questions(150))


def test_they_predict_what_nothing_else_tells(model):
    texts, truth = questions(60, seed=1)
    plain = TopicModel(3, vectorizer=WordVectorizer(), further_words="no", random_state=0)
    plain.fit(*questions(150))
    assert np.mean(model.predict(texts) == truth) == 1.0
    assert np.mean(plain.predict(texts) == truth) < 0.6
    assert {"where", "how", "who"} <= set(model.vectorizer_.grammatical_)
    assert "who" in model.explain("who was on the river").words


def test_no_topic_shows_them(model, tmp_path):
    hidden = set(model.vectorizer_.grammatical_)
    for by in ("coherence", "probability"):
        shown = {word for topic in model.topics(20, by=by) for word in topic.words}
        assert shown <= set(THINGS)
    assert not hidden & {word for one in model.class_summaries(10) for word in one.keywords}
    assert not hidden & set(", ".join(model.topic_names_).split(", "))
    assert not hidden & set(model.merge([0, 1]).topics(9)[0].words)
    dates = [f"2026-0{1 + i % 2}-01" for i in range(60)]
    rows = model.over_time(questions(60)[0], dates, "month")
    assert not hidden & {word for row in rows for word in (*(row.words or ()), *(row.rising or ()))}


def test_they_are_saved_with_the_model(model, tmp_path):
    model.save(tmp_path / "m")
    loaded, texts = load_model(tmp_path / "m"), questions(30, seed=2)[0]
    assert loaded.predict(texts).tolist() == model.predict(texts).tolist()
    assert loaded.vectorizer_.grammatical_ == model.vectorizer_.grammatical_


@pytest.mark.parametrize("case", ["useless", "long", "no labels", "few texts", "given"])
def test_they_stay_out_where_they_do_not_help(case):
    texts, y = questions(30 if case == "few texts" else 150)
    settings = {"further_words": "no"}
    if case == "useless":  # each class has its own word
        own = dict(zip(ASKED, ["whale", "tulip", "piano"], strict=True))
        texts = [
            f"who and where is the {own[name]} {text.split()[-1]}"
            for text, name in zip(texts, y, strict=True)
        ]
    if case == "long":
        texts = [
            f"{text} {' '.join(f'w{i * j % 97}' for j in range(9, 29))}"
            for i, text in enumerate(texts)
        ]
    if case == "given":
        settings["vectorizer"] = WordVectorizer(stop_words=sorted(ENGLISH), keep_grammar="auto")
    fitted = TopicModel(3, random_state=0, **settings).fit(
        texts, None if case == "no labels" else y
    )
    assert fitted.vectorizer_.grammatical_ is None
    assert not set(fitted.vectorizer_.words_) & {"who", "where", "how", "many"}


def test_content_has_the_same_weights_with_and_without_them():
    texts = questions(90)[0]
    kept, plain = WordVectorizer(keep_grammar=True).fit(texts), WordVectorizer().fit(texts)
    content = ~np.isin(kept.words_.astype(str), kept.grammatical_)
    assert kept.words_[content].tolist() == plain.words_.tolist()
    X = normalize(kept.transform(texts)[:, content])
    np.testing.assert_allclose(X.toarray(), plain.transform(texts).toarray())
    assert kept.known_share(texts) == plain.known_share(texts) == 1.0
    assert kept.known_share_ == plain.known_share_


def test_a_proposal_that_is_rejected_changes_nothing():
    """A word may be grammatical in one language and not in the other."""
    random = np.random.default_rng(0)
    english = [f"the old man and the {' '.join(random.choice(THINGS, 3))} die" for _ in range(90)]
    german = [f"die Frau und der Hund {' '.join(random.choice(['Haus', 'Baum'], 2))}"] * 40
    y = ["a", "b"] * 65
    languages = {"language": ["english", "german"], "stem": None}
    both = [
        TopicModel(
            2,
            vectorizer=WordVectorizer(keep_grammar=keep, **languages),
            further_words="no",
            random_state=0,
        )
        .fit([*english, *german], y)
        .vectorizer_.words_.tolist()
        for keep in (False, "auto")
    ]
    assert both[0] == both[1]


def test_a_topic_of_grammatical_words_alone_shows_them():
    words = Words(np.array(["the", "moon"], dtype=object), np.array([True, False]))
    shown = words.shown(np.array([[3.0, 1.0], [2.0, 0.0]]))
    assert shown.tolist() == [[0.0, 1.0], [2.0, 0.0]]


def test_they_are_in_no_pair_of_words():
    kept = WordVectorizer(keep_grammar=True, ngram_range=(1, 2)).fit(questions(90)[0])
    pairs = [word for word in kept.words_ if " " in word]
    assert pairs
    assert not {part for pair in pairs for part in pair.split()} & set(kept.grammatical_)


def test_an_update_knows_new_ones(model):
    texts, _ = questions(40, seed=3)
    new = [f"whose {text.split()[-1]}" for text in texts]
    after = model.update([*texts, *texts, *new], [""] * 80 + ["owner"] * 40)
    assert "whose" in after.vectorizer_.grammatical_
    assert "whose" not in {word for topic in after.topics(20) for word in topic.words}


def test_a_stream_keeps_them_if_they_help():
    texts, y = questions(150)
    model = TopicModel(3, random_state=0).partial_fit(texts, y)
    assert "who" in model.vectorizer_.grammatical_
    assert model.fitted.further is None
    new, truth = questions(60, seed=1)
    assert np.mean(model.predict(new) == truth) == 1.0


# ---- several labels per document


def tagged(n, seed=0):
    """Questions, every fourth one followed by another; their grammatical words tell the labels."""
    texts, y = questions(n, seed)
    more, also = questions(n, seed + 100)
    order = np.random.default_rng(seed + 200).permutation(n)
    both = [
        (f"{texts[i]} {more[j]}", {y[i], also[j]}) if i % 4 == 0 else (texts[i], {y[i]})
        for i, j in enumerate(order)
    ]
    return [text for text, _ in both], [labels for _, labels in both]


def test_they_help_to_predict_several_labels():
    texts, y = tagged(150)
    model = TopicModel(3, random_state=0).fit(texts, y)
    assert {"where", "how", "who"} <= set(model.vectorizer_.grammatical_)
    new, truth = tagged(60, seed=1)
    told = [set(row) for row in model.documents(new).column("prediction")]
    assert np.mean([found == true for found, true in zip(told, truth, strict=True)]) > 0.9


def test_they_stay_out_where_they_say_nothing_about_several_labels():
    texts, _ = tagged(150)
    y = [{thing for thing in THINGS[:4] if thing in text} for text in texts]
    assert TopicModel(3, random_state=0).fit(texts, y).vectorizer_.grammatical_ is None


def test_words_that_were_cut_off_are_judged_without_linear_models(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a linear model was fitted")

    monkeypatch.setattr(grammar, "held_out_scores", refuse)
    texts = [f"goal {'puck' if i % 2 else 'bat'} w{i % 7}" for i in range(400)]
    y = ["hockey" if i % 2 else "baseball" for i in range(400)]
    for words, is_said in ((1, True), (3, False)):
        model = TopicModel(2, vectorizer=WordVectorizer(max_features=words, max_df=1.0), max_iter=2)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(texts, y)
        assert is_said == any("rarer ones help" in str(one.message) for one in caught)


def test_words_that_were_cut_off_are_judged_for_several_labels():
    X = sp.csr_array(np.eye(3)[np.arange(60) % 3])
    cells = sp.csr_array(np.eye(3)[np.arange(60) % 3] + np.eye(3)[[0] * 60] > 0, dtype=float)
    assert not grammar.rare_words_help(X, 1, cells)  # the first label is always right
    assert grammar.rare_words_help(X, 1, cells[:, 1:])
