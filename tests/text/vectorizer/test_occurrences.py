"""Where words stand in a text, and the text coloured by them."""

from itertools import pairwise

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from cofactor.text import WordVectorizer
from cofactor.text.vectorizer.occurrences import coloured, cut_pieces, find_occurrences, forms
from hostile import HOSTILE


def standing(text, vectorizer):
    """Return what stands in the text for each word."""
    found = find_occurrences(text, vectorizer)
    return {word: {one.form(text) for one in found if one.word == word} for word, _ in found}


@pytest.mark.parametrize("text", [*HOSTILE, "", "moon", "  moon\n\nMOON, puck's ", "漢字moon"])
def test_coloured_pieces_add_up_to_the_text(text):
    vectorizer = WordVectorizer().fit(["moon puck's", "script 漢字"])
    parts = {"moon": 1.0, "puck's": -0.5, "script": 0.3, "漢字": -1.0}
    pieces = coloured(text, find_occurrences(text, vectorizer), parts)
    assert "".join(piece for piece, _ in pieces) == text
    assert all(-3 <= level <= 3 for _, level in pieces)
    assert all(one[1] != other[1] for one, other in pairwise(pieces))


def test_words_stand_in_a_text_in_any_form():
    vectorizer = WordVectorizer(stem=4).fit(["the moons of the moon", "a moon base"])
    text = "The MOON’S light, moonlight <b>&amp;</b> a base"
    assert standing(text, vectorizer) == {
        "moon": {"MOON’S", "moonlight"},
        "light": {"light"},
        "base": {"base"},
        "amp": {"amp"},
    }
    assert forms(text, find_occurrences(text, vectorizer))["moon"] == "moon's"


def test_letters_of_scripts_without_spaces_are_coloured_one_by_one():
    """A letter gets its own part and half of each pair that it belongs to."""
    texts = ["火星探测器", "火星飞船", "足球比赛", "足球明星"]
    vectorizer = WordVectorizer().fit(texts)
    text = "火星和足球ok"
    found = find_occurrences(text, vectorizer)
    parts = {"火": 1.0, "火星": 1.0, "星": 0.0, "足球": -1.0}
    assert coloured(text, found, parts) == [
        ("火", 3),
        ("星", 2),
        ("和", 0),
        ("足球", -2),
        ("ok", 0),
    ]


@pytest.mark.parametrize("language", ["hindi", "thai", "arabic"])
def test_marks_do_not_cut_words_apart(language):
    text = {"hindi": "मुझे मिट्टी पसंद", "thai": "ผู้ใหญ่บ้าน", "arabic": "الكِتَابُ والقَلَمُ"}[language]
    vectorizer = WordVectorizer(stop_words=None, stem=None).fit([text])
    found = find_occurrences(text, vectorizer)
    assert {one.word for one in found} >= set(vectorizer.words_)
    letters = {place for one in found for place in one.places}
    assert "".join(text[slice(*place)] for place in sorted(letters)) == text.replace(" ", "")


@pytest.mark.parametrize("kind", [WordVectorizer, TfidfVectorizer])
def test_ngrams_cover_their_words(kind):
    stop = ["of"]
    vectorizer = kind(ngram_range=(1, 2), stop_words=stop).fit(["pride of lions", "pride march"])
    found = standing("Pride of lions!", vectorizer)
    assert found == {"pride": {"Pride"}, "lions": {"lions"}, "pride lions": {"Pride lions"}}
    pieces = coloured(
        "Pride of lions!", find_occurrences("Pride of lions!", vectorizer), {"pride lions": 1.0}
    )
    assert pieces == [("Pride", 3), (" of ", 0), ("lions", 3), ("!", 0)]


@pytest.mark.parametrize(
    "vectorizer",
    [
        WordVectorizer(tokens="characters", ngram_range=(2, 3)),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3)),
    ],
)
def test_character_sequences_colour_their_word(vectorizer):
    vectorizer.fit(["moon puck", "moon base"])
    pieces = coloured("the moon!", find_occurrences("the moon!", vectorizer), {"oon": 1.0})
    assert pieces == [("the ", 0), ("moon", 3), ("!", 0)]


def test_a_text_is_read_in_its_own_language():
    """ "die" is a German article, but a word of an English text."""
    german = ["Die Katze und der Hund sind nicht im Haus", "Der Hund ist in dem Garten und bellt"]
    english = ["They die of the disease in the hospital", "The patients of this ward did die"]
    vectorizer = WordVectorizer(language=["german", "english"], stem=None).fit(german + english)
    assert "die" in standing(english[0], vectorizer)
    assert "die" not in {word.lower() for word in standing(german[0], vectorizer)}


def test_long_pieces_are_cut():
    pieces = [("abc", 0), ("def", 2)]
    assert cut_pieces(pieces, 6) == pieces
    assert cut_pieces(pieces, 5) == [("abc", 0), ("de", 2), ("…", 0)]


def test_pairs_of_letters_are_named_as_they_stand():
    vectorizer = WordVectorizer().fit(["火星探测器", "火星飞船"])
    assert forms("火星!", find_occurrences("火星!", vectorizer))["火星"] == "火星"
