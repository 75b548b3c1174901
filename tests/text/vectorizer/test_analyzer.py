"""Words of any script, and pairs of letters where there are no spaces."""

import numpy as np
import pytest

from cofactor import TopicModel, load_model
from cofactor.text import WordVectorizer
from cofactor.text.vectorizer.analyzer import (
    MAX_WORD_LENGTH,
    find_tokens,
    find_words,
    make_analyzer,
)
from cofactor.text.vectorizer.stems import Stems


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
    assert find_tokens("moon " + "a" * MAX_WORD_LENGTH + " " + "b" * (MAX_WORD_LENGTH + 1)) == [
        "moon",
        "a" * MAX_WORD_LENGTH,
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


# ---- Forms of a word count as one, under the name of the most frequent form


TEXTS = [
    "Regierung Berlin",
    "Regierungen Paris",
    "Regierung Mond",
    "Rakete Mond",
    "Raketen Mondes",
    "Raketenstart Mond",
]


def test_forms_count_as_one():
    vectorizer = WordVectorizer(stem=6)
    X = vectorizer.fit_transform(TEXTS)
    assert vectorizer.words_.tolist() == [
        "berlin",
        "mond",
        "mondes",
        "paris",
        "rakete",
        "regierung",
    ]
    plain = WordVectorizer(stem=None).fit_transform(
        [
            text.replace("ungen", "ung")
            .replace("Raketenstart", "Rakete")
            .replace("Raketen", "Rakete")
            for text in TEXTS
        ]
    )
    np.testing.assert_array_equal(X.toarray(), plain.toarray())
    np.testing.assert_array_equal(vectorizer.transform(TEXTS).toarray(), X.toarray())
    np.testing.assert_array_equal(
        vectorizer.transform(["Regierungsbildung"]).toarray() > 0, [[0, 0, 0, 0, 0, 1]]
    )
    streamed = WordVectorizer(stem=6).fit(iter(TEXTS))
    assert streamed.words_.tolist() == vectorizer.words_.tolist()
    np.testing.assert_array_equal(streamed.idf_, vectorizer.idf_)


def test_the_analyzer_gives_the_names_of_columns():
    analyze = WordVectorizer(stem=6, ngram_range=(1, 2)).fit(TEXTS).build_analyzer()
    assert analyze("Regierungsbildung Paris Unbekannten") == [
        "regierung",
        "paris",
        "unbekannten",
        "regierungen paris",
        "paris unbekannten",
    ]


def test_letters_are_settled_by_the_language():
    german = ["Das ist nicht der Weg, den wir gehen.", "Wo ist das Haus und wer ist auch da?"]
    assert WordVectorizer().fit(german).stem_ == "language"
    assert WordVectorizer(stem=None).fit(german).stem_ is None
    assert WordVectorizer(vocabulary=["weg", "haus"]).fit(german).stem_ is None
    assert WordVectorizer().fit(["This is not the way that we go", "what is it?"]).stem_ is None
    with pytest.raises(ValueError, match="stem"):
        WordVectorizer(stem=0).fit(german)


def test_equally_frequent_forms_have_the_shortest_name():
    stems = Stems.of(4, (), ())
    for word, times in [("moonlight", 1), ("moons", 2), ("moonbeam", 2)]:
        stems.read(word, times=times)
    assert stems.names(["moon", "sun"]) == ["moons", "sun"]


def test_arabic_articles_do_not_count():
    stems = Stems.of(6, (), ())
    for word in ("حرب", "الحرب", "والحرب", "بالحرب", "للحرب"):
        assert stems.stem(word) == "حرب"
    assert stems.stem("ولد") == "ولد"  # "boy" begins with the letter of "and"
    assert stems.stem("المدرسة الجديدة") == "مدرسة جديدة"


def test_seeds_find_forms_and_pairs_of_letters():
    model = TopicModel(
        2, vectorizer=WordVectorizer(stem=6), seeds={"politik": ["Regierungschefs"]}, random_state=0
    ).fit(TEXTS)
    assert "regierung" in next(t.words for t in model.topics(3) if t.name == "politik")
    texts = ["人工智能 模型", "人工智能", "天气 下雨", "天气"] * 3
    model = TopicModel(2, seeds={"ai": ["人工智能"]}, random_state=0).fit(texts)
    assert "智能" in next(t.words for t in model.topics(10) if t.name == "ai")


def test_forms_are_explained_and_saved(tmp_path):
    model = TopicModel(2, vectorizer=WordVectorizer(stem=6), random_state=0)
    model.fit(TEXTS, ["p", "p", "p", "r", "r", "r"])
    told = model.explain("Regierungsbildung")
    assert (told.words, told.names) == (["regierungsbildung"], ["regierung"])
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    new = ["Regierungsbildung", "Raketenstarts"]
    np.testing.assert_array_equal(again.transform(new), model.transform(new))
    assert again.predict(new).tolist() == ["p", "r"]
    for name in ("languages_", "stop_words_", "stem_", "stems_"):
        assert getattr(again.vectorizer_, name) == getattr(model.vectorizer_, name)
