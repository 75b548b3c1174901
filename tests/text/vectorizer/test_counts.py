"""Counting pieces and expanding them finds the words of reading text by text, to the last count."""

import random
import re
from collections import Counter

import numpy as np
import pytest

from cofactor.text import WordVectorizer
from cofactor.text.vectorizer import counts as counting
from cofactor.text.vectorizer.analyzer import END, WORD_PATTERN, find_words, make_analyzer
from cofactor.text.vectorizer.counts import WordReading, count, tally
from cofactor.text.vectorizer.stems import Stems

_SIGNS = (
    "a b z A Z 0 9 _ ' ’ - . , ; : & < > / @ # [ ] \\ é ß İ ı ﬁ ² µ ё і и\u0306 e\u0301"
    " \u0301 \u200d ™ न ि ا ل ש ๅ ก ิ 天 气 々 あ ア ー 한 글 𠀀"
)
_SPACES_AND_CONTROLS = "\t\n \x00\x0b\x1c\x1f\x7f\x85\xa0\xad\u2028"
_WORDS = """
the a of and not moon moons don't isn't O'Brien rock'n'roll a'b'c 'tis mp3 3com R2D2 x_y _x END end
der die und nicht Weg Wege l'été où naïve café ПРИВЕТ не и мира 天气好 今天 カタカナ ひらがな 한국어
ภาษาไทย क्या है السلام &amp; &nbsp; nbsp quot; #39; <b> </b> <br/> <a href='x'> <!-- [/b] [url]
http://a.org/b www.c.org WWW.D.ORG a.org/b me@x.org \\n \\x41 www. @ :// x@y a&b 1/2 and/or
"""
ALPHABET = [*_SIGNS.split(), *_SPACES_AND_CONTROLS]
WORDS = [*_WORDS.split(), "w" * 101, "w" * 100, "天" * 101, "x" * 60, "'" * 30, "\u0301" * 40]


def _text(draw: random.Random) -> str:
    """Return a text of odd characters, of odd words, or of both."""
    signs = "".join(draw.choices(ALPHABET, k=draw.randrange(40)))
    words = draw.choice([" ", "", ", ", "\n"]).join(draw.choices(WORDS, k=draw.randrange(25)))
    return draw.choice([signs, words, signs + words, f"{words} {signs}"])


def _texts(seed: int, many: int = 200) -> list[str]:
    draw = random.Random(seed)
    return ["", " ", "END", *(_text(draw) for _ in range(many))]


ANALYZERS = {
    "plain": {"stop_words": {"the", "of", "end"}},
    "cleaned": {"stop_words": {"the", "of"}, "cleaned": True},
    "without stop words": {"stop_words": ()},
    "auto": {"stop_words": {"the", "天", "气"}, "tokens": "auto", "cleaned": True},
    "grammar": {"stop_words": {"the", "der"}, "tokens": "auto", "cleaned": True, "grammar": True},
    "pairs": {"stop_words": {"the"}, "ngram_range": (1, 2), "tokens": "auto"},
    "characters": {"stop_words": {"the"}, "ngram_range": (2, 4), "tokens": "characters"},
    "languages": {"stop_words": {"en": {"the", "of"}, "de": {"der", "und"}}, "cleaned": True},
    "tellers": {"stop_words": {"the"}, "languages": {"en": {"the"}, "de": {"der", "die"}}},
    "dropped": {"stop_words": {"the"}, "drop": lambda text: text[2:]},
}


def _reading(name: str, stem: int | str | None = None) -> WordReading:
    given = {"ngram_range": (1, 1), **ANALYZERS[name]}
    return WordReading(make_analyzer(**given), Stems.of(stem, ["german", "english"], ["english"]))


def _one_by_one(texts: list[str], reading: WordReading) -> list[Counter[str]]:
    """Read text by text and word by word, and count the forms."""
    found = []
    for text in texts:
        language, words = reading.analyzer.read(text)
        if reading.stems.active:
            words = [reading.stems.read(word, language) for word in words]
        found.append(Counter(words))
    return found


@pytest.mark.parametrize("batch", [1, 50, 2**22])
@pytest.mark.parametrize("stem", [None, 3, "language"])
@pytest.mark.parametrize("name", ANALYZERS)
def test_counts_are_those_of_reading_text_by_text(monkeypatch, name, stem, batch):
    monkeypatch.setattr(counting, "MAX_BATCH", batch)
    texts, ours, naive = _texts(batch), _reading(name, stem), _reading(name, stem)
    words, counts = tally(texts, ours, known=["orbit", "moon"])
    expected = _one_by_one(texts, naive)
    assert words[:2] == ["orbit", "moon"]
    assert counts.shape == (len(texts), len(words))
    rows = counts.tocsr()
    assert [
        {words[j]: n for j, n in zip(row.indices, row.data, strict=True)}
        for row in (rows[[i]] for i in range(len(texts)))
    ] == expected
    assert ours.stems.forms == naive.stems.forms


@pytest.mark.parametrize("batch", [1, 50, 2**22])
def test_sums_are_those_of_the_table(monkeypatch, batch):
    monkeypatch.setattr(counting, "MAX_BATCH", batch)
    texts = _texts(7)
    found, expected = (
        count(iter(texts), _reading("auto", 3)),
        _one_by_one(texts, _reading("auto", 3)),
    )
    assert found.documents == len(texts)
    assert found.occurrences == sum(expected, Counter())
    assert found.documents_with == Counter(word for one in expected for word in one)
    given = count(texts, _reading("auto"), given=["moon", "nowhere"])
    assert set(given.occurrences) == {"moon"}


def test_the_short_way_to_words_finds_those_of_the_pattern():
    for piece in " ".join(_texts(3, 1000)).lower().split():
        assert find_words(piece) == re.findall(WORD_PATTERN, piece)


def test_no_word_is_the_mark_at_the_end_of_a_piece():
    words, counts = tally(["END the END", "the end"], WordReading.plain())
    assert words == ["end", "the"]
    assert counts.toarray().tolist() == [[2, 1], [1, 1]]
    assert END not in words


def test_documents_without_words_have_empty_rows():
    X = WordVectorizer(min_df=1).fit_transform(["", "moon", "the", "moon base", ""])
    assert np.diff(X.indptr).tolist() == [0, 1, 0, 2, 0]
    assert WordVectorizer().fit(["moon"]).transform(["", ""]).shape == (2, 1)
