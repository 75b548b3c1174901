"""Which words count, and how much."""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer

from cofactor import TopicModel, load_model
from cofactor.text import WordVectorizer, read_documents
from cofactor.text.documents import fingerprint
from cofactor.text.vectorizer import analyzer as analyzing
from cofactor.text.vectorizer.analyzer import WORD, make_analyzer, tidy
from cofactor.text.vectorizer.languages import ENGLISH

TEXTS = ["One red apple", "two RED apples, 3 pears", "Apple pie"]


def words(text, **settings):
    return WordVectorizer(**settings).build_analyzer()(text)


@pytest.mark.parametrize(
    "form",
    [
        list,
        tuple,
        iter,
        lambda t: (x for x in t),
        np.array,
        pd.Series,
        pl.Series,
        lambda t: np.array(t, dtype=object),
        lambda t: pd.Series(t, index=[7, 3, 5]),
        lambda t: pd.DataFrame({"body": t}),
        lambda t: pl.DataFrame({"body": t}),
        lambda t: np.array(t)[:, None],
        lambda t: pd.Series(t, dtype="string"),
        lambda t: pd.Series(t, dtype="category"),
        lambda t: dict.fromkeys(t).keys(),
    ],
)
def test_documents_in_any_form(form):
    found = read_documents(form(TEXTS))
    assert found == TEXTS
    assert all(type(text) is str for text in found)


def test_missing_documents_are_empty():
    series = pd.Series(["a", None, pd.NA, np.nan])
    assert read_documents(series) == ["a", "", "", ""]
    assert read_documents(pl.Series(["a", None])) == ["a", ""]


@pytest.mark.parametrize(
    ("documents", "kind", "match"),
    [
        ("one text", TypeError, r"letter by letter; pass a list: \[text\]"),
        (b"bytes", TypeError, "one bytes"),
        (5, TypeError, "documents has type int"),
        (["a", 5], TypeError, r"documents\[1\] is of type int"),
        (["a", b"b"], TypeError, r"documents\[1\] is of type bytes.*decode"),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), ValueError, r"2 columns, \['a', 'b'\]"),
    ],
)
def test_what_are_no_documents(documents, kind, match):
    with pytest.raises(kind, match=match):
        read_documents(documents)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, HELLO hello!", ["hello", "hello", "hello"]),
        ("3 42 1e5 mp3 x86 b2b", ["mp3", "x86", "b2b"]),
        ("naïve café Straße ÉTÉ", ["naïve", "café", "straße", "été"]),
        ("cafe\u0301", ["café"]),  # decomposed
        ("हिन्दी में कहानी", ["हिन्दी", "में", "कहानी"]),
        ("Привет мир", ["привет", "мир"]),
        ("isn’t o'clock dogs' 'quoted'", ["clock", "dogs", "quoted"]),
        ("l'homme d’accord", ["homme", "accord"]),
        ("foo_bar _foo well-known a.b.c", ["foo_bar", "well", "known"]),
        ("", []),
    ],
)
def test_words(text, expected):
    assert words(text) == expected


SIGNS = "ab3_'’ .-\n\té\u0301\u0915\u093f\u200dΣİ\u00a0\u2028\x1c"


@given(st.lists(st.text(st.sampled_from(SIGNS) | st.characters(codec="utf-8")), max_size=8))
def test_texts_are_read_piece_by_piece_as_if_at_once(texts):
    analyze = make_analyzer((), (1, 1))
    for text in [*texts, " ".join(texts), "".join(texts)]:
        assert analyze(text) == re.findall(WORD, tidy(text))


def test_pieces_that_are_not_remembered(monkeypatch):
    monkeypatch.setattr(analyzing._TokenCache, "MAX_PIECE_LENGTH", 4)
    monkeypatch.setattr(analyzing._TokenCache, "MAX_PIECES", 1)
    assert words("moons moon sun MOONS moon") == ["moons", "moon", "sun", "moons", "moon"]


def test_ngrams():
    text = "one two three"
    assert words(text, ngram_range=(1, 2)) == ["one", "two", "three", "one two", "two three"]
    assert words(text, ngram_range=(2, 3)) == ["one two", "two three", "one two three"]
    assert words("one", ngram_range=(2, 3)) == []
    for wrong in [(2, 1), (0, 1)]:
        with pytest.raises(ValueError, match=r"ngram_range=\(.* the smaller one first"):
            WordVectorizer(ngram_range=wrong).fit(TEXTS)


def test_the_analyzer_can_be_sent_to_another_process():
    analyze = pickle.loads(pickle.dumps(WordVectorizer(ngram_range=(1, 2)).build_analyzer()))
    assert analyze("The moon's orbit") == ["moon's", "orbit", "moon's orbit"]


def test_stop_words_that_are_no_words():
    with pytest.warns(UserWarning, match=r"stop_words .* add \['roll'\] to leave out"):
        assert words("Rock and roll", stop_words=["rock", "rock-roll"]) == ["and", "roll"]


def test_stop_words():
    assert words("the cat is on the mat") == ["cat", "mat"]
    assert words("the cat is on the mat", stop_words=None)[0] == "the"
    assert words("The cat CAT", stop_words=["Cat"]) == ["the"]
    assert words("I've seen what I'll do: can't, won't") == ["seen"]
    content = {"computer", "system", "bill", "fire", "cry", "one", "interest", "mine's", "new"}
    assert not ENGLISH & content


def documents_with(*numbers, documents=100):
    """Documents whose words are in as many of them as the numbers say."""
    words = [f"w{j}" for j in range(len(numbers))]
    return [
        " ".join(word for word, n in zip(words, numbers, strict=True) if i < n)
        for i in range(documents)
    ]


@pytest.mark.parametrize(
    ("numbers", "rarest"),
    [
        ([27, 27] + [1] * 6, 5),  # 54 of 60 words stay: 90 %
        ([27, 26] + [1] * 6, 1),
        ([45, 45] + [4] * 2 + [1] * 2, 5),  # 90 of 100
        ([45, 44] + [4] * 2 + [1] * 2, 2),  # 89 of 99
        ([45, 44, 99] + [4] * 2 + [1] * 2, 2),  # a word in most documents does not count
        ([50] * 100 + [1] * 2000, 5),  # 50 words a text stay
        ([50] * 99 + [49] + [1] * 2000, 1),
    ],
)
def test_rare_words_stay_if_texts_would_lose_many(numbers, rarest):
    kept = WordVectorizer().fit(documents_with(*numbers))
    frequent = [n for n in numbers if rarest <= n <= 50]
    assert len(kept.words_) == len(frequent)
    assert len(WordVectorizer(min_df=2).fit(documents_with(*numbers)).words_) == sum(
        2 <= n <= 50 for n in numbers
    )


@pytest.mark.parametrize(("documents", "words"), [(1999, 21), (2000, 1)])
def test_in_many_documents_words_of_one_are_left_out(documents, words):
    """Half of the words that texts have, on average, are in one text only."""
    texts = documents_with(20, *[1] * 20, documents=documents)
    assert len(WordVectorizer().fit(texts).words_) == words


def test_in_few_documents_no_word_is_rare_or_common():
    few = documents_with(49, 30, 30, 1, documents=49)
    assert len(WordVectorizer().fit(few).words_) == 4
    assert len(WordVectorizer().fit([*few, "w0 w1 w2"]).words_) == 1  # only the rare one


def test_the_matrix_is_scikit_learns():
    X = WordVectorizer(sublinear_tf=False).fit_transform(TEXTS)
    expected = TfidfVectorizer(token_pattern="[a-z]{2,}").fit_transform(TEXTS)
    np.testing.assert_allclose(X.toarray(), expected.toarray(), rtol=1e-12)


def test_fit_and_transform_agree():
    vectorizer = WordVectorizer(ngram_range=(1, 2))
    X = vectorizer.fit_transform(iter(TEXTS))
    again = vectorizer.transform(TEXTS)
    assert (again != X).nnz == 0
    assert "red apple" in vectorizer.get_feature_names_out()
    np.testing.assert_allclose(X.multiply(X).sum(axis=1), 1.0)
    assert vectorizer.transform(["", "unknown"]).nnz == 0
    assert clone(vectorizer).get_params() == vectorizer.get_params()


NAMES = [f"w{chr(97 + k % 26)}{chr(97 + k // 26)}" for k in range(60)]
MANY = [
    " ".join(name for k, name in enumerate(NAMES) if (7 * i + k * k) % (k + 2) < 3)
    for i in range(120)
]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"max_features": 7},
        {"min_df": 3, "max_df": 40},
        {"min_df": 0.05, "max_df": 0.3},
        {"ngram_range": (1, 2), "max_features": 50},
        {"vocabulary": ["wca", "WBA", "zz"]},
        {"stop_words": ["wca"], "min_df": 1},
    ],
)
def test_one_pass_learns_what_a_matrix_shows(settings):
    streamed = WordVectorizer(**settings).fit(text for text in MANY)
    whole = WordVectorizer(**settings)
    X = whole.fit_transform(MANY)
    assert streamed.words_.tolist() == whole.words_.tolist()
    np.testing.assert_array_equal(streamed.idf_, whole.idf_)
    assert (streamed.transform(MANY) != X).nnz == 0


@pytest.mark.parametrize(
    "settings", [{}, {"min_df": 3, "max_df": 40}, {"min_df": 0.05, "max_df": 0.3}]
)
def test_words_are_chosen_as_scikit_learn_does(settings):
    ours = WordVectorizer(**settings)
    theirs = TfidfVectorizer(sublinear_tf=True, **(settings or {"min_df": 2, "max_df": 0.5}))
    X = theirs.fit_transform(MANY)
    np.testing.assert_allclose(ours.fit_transform(MANY).toarray(), X.toarray(), rtol=1e-12)
    assert ours.words_.tolist() == theirs.get_feature_names_out().tolist()


def test_the_most_frequent_words_stay():
    texts = ["bb bb bb aa", "cc dd", "dd aa", "cc ee"]
    assert WordVectorizer(max_features=3).fit(texts).words_.tolist() == ["aa", "bb", "cc"]


def test_words_may_be_given_with_what_they_are_worth(tmp_path):
    known = WordVectorizer().fit(MANY)
    given = WordVectorizer(vocabulary=dict(zip(known.words_, known.idf_, strict=True)))
    X = given.fit_transform(MANY[:3])
    np.testing.assert_array_equal(X.toarray(), known.transform(MANY[:3]).toarray())
    np.testing.assert_array_equal(given.fit(MANY[:1]).idf_, known.idf_)
    with pytest.raises(ValueError, match=r"vocabulary\['a'\]=-1 must be a positive number"):
        WordVectorizer(vocabulary={"a": -1}).fit(MANY)
    model = TopicModel(2, vectorizer=given, random_state=0).partial_fit(MANY[:40])
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.transform(MANY), model.transform(MANY))


def test_bad_vocabularies():
    with pytest.raises(ValueError, match="vocabulary='moon' is one string"):
        WordVectorizer(vocabulary="moon").fit(TEXTS)
    with pytest.raises(ValueError, match="vocabulary is empty"):
        WordVectorizer(vocabulary=[]).fit_transform(TEXTS)


def test_nothing_left():
    with pytest.raises(ValueError, match="documents is empty"):
        WordVectorizer().fit([])
    with pytest.raises(ValueError, match="No words are left of the 2 documents"):
        WordVectorizer().fit(["the", "12"])
    with pytest.raises(ValueError, match="min_df"):
        WordVectorizer(min_df=-1).fit(TEXTS)


def test_fingerprints_tell_data_apart():
    seen = {
        fingerprint(["a", "b"]),
        fingerprint(["ab"]),
        fingerprint(["b", "a"]),
        fingerprint(["a"], ["b"]),
        fingerprint(["a", "b"], ["x", None]),
        fingerprint(["a", "b"], ["x", "y"]),
    }
    assert len(seen) == 6
    assert fingerprint(["a"], ["x"]) == fingerprint(["a"], np.array(["x"], dtype=object))


@pytest.mark.parametrize("min_df", [1, 2])
def test_the_share_of_known_words_leaves_each_document_out(min_df):
    random = np.random.default_rng(0)
    names = [f"{a}{b}" for a in "abcdefgh" for b in "abcdefgh"]
    texts = [" ".join(random.choice(names, 6, p=np.arange(64, 0, -1) / 2080)) for _ in range(30)]
    settings = {"min_df": min_df, "max_df": 1.0, "stop_words": None, "language": None}
    known = total = 0
    for i, text in enumerate(texts):
        others = set(WordVectorizer(**settings).fit(texts[:i] + texts[i + 1 :]).words_)
        known += sum(word in others for word in text.split())
        total += len(text.split())
    fitted = WordVectorizer(**settings).fit(texts)
    assert fitted.known_share_ == pytest.approx(known / total)
    assert fitted.known_share(texts) > fitted.known_share_
    assert WordVectorizer(vocabulary=names).fit(texts).known_share_ is None
