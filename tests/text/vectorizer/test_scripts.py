"""Words of any script, and pairs of letters where there are no spaces."""

import pytest

from cofactor.text import WordVectorizer
from cofactor.text.vectorizer.analyzer import make_analyzer
from cofactor.text.vectorizer.scripts import LONGEST, find_tokens, find_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("das wetter", ["das", "wetter"]),
        ("天气好", ["天", "气", "好", "天气", "气好"]),
        ("日本のラジオ", ["日", "本", "日本", "ラジ", "ジオ"]),
        ("한국어 말", ["한국", "국어"]),
        ("ภาษาไทย", ["ภา", "าษ", "ษา", "าไท", "ไทย"]),  # vowels before and above a consonant
        ("เด็กที่", ["เด็ก", "กที่"]),
        ("ភាសាខ្មែរ", ["ភាសា", "សាខ្មែ", "ខ្មែរ"]),  # consonants below others
        ("မြန်မာ", ["မြန်", "န်မာ"]),
        ("iphone手机 mp3播放", ["iphone", "mp3", "手", "机", "手机", "播", "放", "播放"]),
        ("हिन्दी में बच्चों", ["हिन्दी", "में", "बच्चों"]),
        ("كِتَاب بالبحار", ["كِتَاب", "بالبحار"]),
        ("שָׁלוֹם עולם", ["שָׁלוֹם", "עולם"]),
        ("தமிழ் மொழி", ["தமிழ்", "மொழி"]),
        ("2024年", ["年"]),
        ("", []),
    ],
)
def test_tokens(text, expected):
    assert find_tokens(text) == expected


def test_words_may_stay_whole():
    assert find_words("天气好 ok") == ["天气好", "ok"]
    assert WordVectorizer(tokens="words").build_analyzer()("ภาษาไทย") == ["ภาษาไทย"]


def test_data_in_a_text_are_not_words():
    assert find_tokens("moon " + "a" * LONGEST + " " + "b" * (LONGEST + 1)) == [
        "moon",
        "a" * LONGEST,
    ]


def test_pairs_of_letters_are_not_joined_again():
    analyze = make_analyzer((), (1, 2), tokens="auto")
    expected = ["new", "moon", "new moon", "月", "光", "月光", "far", "away", "far away"]
    assert analyze("New moon 月光 far away") == expected


def test_pairs_of_grammatical_letters_are_left_out():
    analyze = make_analyzer({"的", "是"}, (1, 1), tokens="auto")
    assert analyze("月是的光") == ["月", "光", "月是", "的光"]
    assert make_analyzer({"a", "b"}, (1, 1), tokens="auto")("ab") == ["ab"]


def test_characters_in_place_of_words():
    settings = {"tokens": "characters", "ngram_range": (2, 3)}
    assert WordVectorizer(**settings).build_analyzer()("the moon ox") == [
        "mo",
        "oo",
        "on",
        "moo",
        "oon",
        "ox",
    ]
    vectorizer = WordVectorizer(**settings).fit(["Regierung", "Regierungen"])
    assert vectorizer.stem_ is None
    assert "reg" in vectorizer.words_
