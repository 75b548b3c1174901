"""Stems by the rules of the language of each text."""

import numpy as np
import pytest

from cofactor import TopicModel
from cofactor.text import WordVectorizer
from cofactor.text.vectorizer import stems as stems_module
from cofactor.text.vectorizer.languages import CODES, FEW_ENDINGS
from cofactor.text.vectorizer.stems import STEMMERS, Stems, whole_stem

GERMAN = [
    "Der Bundeskanzler spricht mit der Gemeinde über die Untersuchung",
    "Die Bundesliga und die Gemeinden sind auf Unterstützung nicht angewiesen",
    "Sie haben das gemeinsam mit dem Bundeskanzler und der Regierung beschlossen",
    "Die Regierungen werden das in der Bundesliga nicht mehr unterstützen",
]
SPANISH = [
    "El museo de la ciudad y los museos de las otras se reunieron ayer",
    "La ciudad no tiene más que un museo para los ciudadanos de este país",
]
RUSSIAN = ["Он не видел этих городов и того города, где они были", "В городе не было его друзей"]


def test_unrelated_compounds_are_not_merged():
    vectorizer = WordVectorizer().fit(GERMAN)
    assert vectorizer.stem_ == "language"
    words = set(vectorizer.words_)
    assert {"bundeskanzler", "bundesliga", "gemeinsam", "untersuchung"} <= words
    assert len(words & {"gemeinde", "gemeinden"}) == 1
    assert len(words & {"regierung", "regierungen"}) == 1
    assert len(words & {"unterstützung", "unterstützen"}) == 1


def test_every_text_has_the_rules_of_its_language():
    vectorizer = WordVectorizer().fit([*GERMAN, *SPANISH, *RUSSIAN])
    assert set(vectorizer.languages_) == {"german", "spanish", "russian"}
    analyze = vectorizer.build_analyzer()
    for one, other in (("museo", "museos"), ("города", "городов")):
        assert analyze(one) == analyze(other)
        assert len({one, other} & set(vectorizer.words_)) == 1
    X = vectorizer.transform([SPANISH[0], RUSSIAN[0], GERMAN[0]])
    alone = [WordVectorizer().fit(some) for some in (SPANISH, RUSSIAN, GERMAN)]
    for row, (one, text) in zip(
        X, zip(alone, (SPANISH[0], RUSSIAN[0], GERMAN[0]), strict=True), strict=True
    ):
        assert row.nnz == one.transform([text]).nnz


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_the_order_of_languages_does_not_matter(order):
    english = ["They are not in the cities that he has seen", "The city was his and not theirs"]
    texts = [*english, *SPANISH, *RUSSIAN][order]
    words = set(WordVectorizer().fit(texts).words_)
    assert len(words & {"museo", "museos"}) == 1
    assert {"city", "cities"} <= words  # English has few endings


def test_a_form_names_one_stem():
    """In two languages, one form may have different stems; words stay distinct."""
    stems = Stems.of("language", ["german", "spanish"], ())
    for word, language in [("informationen", 0), ("information", 0), ("information", 1)]:
        stems.read(word, language)
    stems.read("informacion", 1)
    found = sorted({stems.stem("information", 0), stems.stem("information", 1)})
    names = stems.names(found)
    assert len(set(names)) == len(found)


def test_a_name_is_the_form_that_most_occurrences_have():
    """Forms of one word add up before the cut: four governments outweigh three palaces."""
    stems = Stems.of("language", ["german"], ())
    words = ["regierungschef"] * 3 + ["regierungssprecher"] * 2 + ["regierungssprechers"] * 2
    (stem,) = {stems.read(word) for word in words}
    assert stems.names([stem]) == ["regierungssprecher"]


def test_a_word_of_any_language_has_a_stem():
    assert set(CODES) >= STEMMERS
    for language in CODES:
        if language not in FEW_ENDINGS:
            assert whole_stem(language, "regierungen")


def test_rare_words_are_judged_in_their_language(monkeypatch):
    monkeypatch.setattr("cofactor.text.vectorizer.word_vectorizer.SINGLES_DROPPED_FROM", 60)
    singles = [" ".join(f"wort{i}{letter}" for letter in "abcdefgh") for i in range(30)]
    spanish = WordVectorizer(language=["german", "spanish"], stem=None)
    assert "wort1a" not in WordVectorizer(language="german").fit([*singles, *GERMAN * 10]).words_
    assert "wort1a" in spanish.fit([*singles, *SPANISH * 20]).words_


def test_explanations_and_edits_know_all_forms():
    model = TopicModel(2, random_state=0).fit(GERMAN * 4, ["a", "b", "a", "b"] * 4)
    told = model.explain("Die Gemeinden und der Bundeskanzler werden das nicht mehr haben")
    assert sorted(told.words) == ["bundeskanzler", "gemeinden"]
    assert [text for text, level in told.coloured_text if level] <= ["Bundeskanzler", "Gemeinden"]
    assert set(told.names) <= set(model.vectorizer_.words_)


def test_the_stemmer_is_always_the_same(monkeypatch):
    """PyStemmer, if installed, is another release of Snowball; it is not used."""
    monkeypatch.setitem(__import__("sys").modules, "Stemmer", None)
    stems_module._stemmer.cache_clear()
    assert whole_stem("german", "häuser") == "haus"


def test_columns_add_up_over_forms():
    vectorizer = WordVectorizer(sublinear_tf=False).fit(GERMAN)
    one, two = vectorizer.transform(["Gemeinde und nicht", "Gemeinden und nicht"]).toarray()
    np.testing.assert_array_equal(one, two)


def test_unrelated_german_compounds_are_words_apart():
    stems = Stems.of("language", ["german"], ())
    for one, other in (
        ("unterschied", "unterschrift"),
        ("untersuchung", "unterstützung"),
        ("überraschung", "übertragung"),
        ("bundeskanzler", "bundesliga"),
        ("landesregierung", "landesgericht"),
    ):
        assert stems.stem(one) != stems.stem(other)
    assert stems.stem("bundeskanzlers") == stems.stem("kanzler")
    assert stems.stem("unterschiede") == stems.stem("unterschied")
    assert stems.stem("verkehrsfluss") == stems.stem("verkehr")
