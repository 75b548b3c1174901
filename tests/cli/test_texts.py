"""Markup and languages at the command line: corrections are reported and can be switched off."""

import numpy as np
import pytest

from cofactor import load_model
from cofactor.text.vectorizer.languages import grammatical_words
from cofactor.text.word_blocks import _vectorizer, open_word_blocks
from commands import WORDS, answer, cofactor, make_rows, read_table, write_table

READ = ("--text", "body", "--label", "team")
GRAMMAR = [
    "das",
    "ist",
    "nicht",
    "der",
    "und",
    "wir",
    "haben",
    "oder",
    "wurde",
    "auch",
    "für",
    "sie",
    "mit",
    "dem",
    "von",
    "den",
    "aus",
]
FOOTER = "Diese Nachricht ist vertraulich und nur für den Empfänger bestimmt."


def dirty(body, i):
    """A text with entities, tags, a URL and an address."""
    first, *rest = body.split()
    link = f'<a href="http://example.org/{i}">www.example.org/{i}</a>'
    return f"<p>{first}&nbsp;&quot;{'&nbsp;'.join(rest)}&quot;<br/>{link} me{i}@example.org</p>"


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder, rows = tmp_path_factory.mktemp("tables"), make_rows()
    write_table(folder / "clean.csv", rows)
    marked = [[i, dirty(body, i) if int(i) % 5 < 2 else body, team] for i, body, team in rows]
    write_table(folder / "dirty.csv", [*marked, ["90", "<br>&nbsp;<p></p>", ""]])
    random = np.random.default_rng(0)
    spoken = [
        [i, f"{body} {' '.join(random.choice(GRAMMAR, 6))}\n{FOOTER}", team]
        for i, body, team in rows
    ]
    write_table(folder / "german.csv", spoken)
    return folder


def topics(model):
    return [word for topic in answer("topics", model)["topics"] for word in topic["words"]]


def test_check_counts_markup_and_shows_a_row(tables):
    found = answer("check", tables / "dirty.csv", *READ)
    pieces = {"tags": 5 * 36 + 3, "entities": 10 * 36 + 1, "URLs": 36, "e-mail addresses": 36}
    assert found["markup"]["pieces"] == pieces
    assert found["markup"]["texts"] == 37
    assert found["only_markup"] == {"count": 1, "rows": [92]}
    example = found["markup"]["example"]
    assert example["row"] == 2
    assert "&nbsp;" in example["before"]
    assert not set("<&") & set(example["after"])
    said = " ".join(cofactor("check", tables / "dirty.csv", *READ).stdout.split())
    assert "tags (183)" in said
    assert "is read as" in said
    assert "Markup is left out of the texts (--raw keeps it)." in said
    assert "Nothing but markup is in 1 of the texts (row 92)" in said
    assert not answer("check", tables / "clean.csv", *READ)["markup"]["pieces"]


def test_check_names_rows_that_lose_text(tmp_path):
    cut = [["90", 'moon <a href="/x and the rest', ""], ["91", "x" * 10**6, ""]]
    table = write_table(tmp_path / "a.csv", [*make_rows(), *cut])
    assert answer("check", table, *READ)["unclosed_tags"] == {"count": 1, "rows": [92]}
    said = " ".join(cofactor("check", table, *READ).stdout.split())
    assert "A tag never closes in 1 of the texts (row 92), so what follows it is left out" in said
    assert "Words of more than 100 characters are in 1 of the texts (row 93)" in said


def test_markup_is_no_topic_word_unless_it_is_kept(tables, tmp_path):
    for name in ("clean", "dirty"):
        cofactor("fit", tables / f"{name}.csv", *READ, "-k", 3, "-o", tmp_path / name)
    assert topics(tmp_path / "dirty") == topics(tmp_path / "clean")
    cofactor("fit", tables / "dirty.csv", *READ, "-k", 3, "--raw", "-o", tmp_path / "raw")
    assert {"nbsp", "quot", "href"} <= set(load_model(tmp_path / "raw").vectorizer_.words_)
    cofactor("predict", tmp_path / "dirty", tables / "dirty.csv", "-o", tmp_path / "out.csv")
    header, rows = read_table(tmp_path / "out.csv")
    assert rows[-1][header.index("prediction")] == ""  # nothing but markup
    assert rows[0][header.index("prediction")] == "space"


def test_grammatical_words_are_left_out_and_said(tables, tmp_path):
    found = answer("check", tables / "german.csv", *READ)
    assert found["languages"] == {"german": 1.0}
    (passage,) = found["shared_passages"]
    assert (passage["passage"], passage["share"], passage["count"]) == (FOOTER, 1.0, found["rows"])
    many = len(grammatical_words("german"))
    sentence = f"German texts: {many} grammatical words are left out (--language none keeps them)."
    assert found["advice"][0].startswith(sentence)
    assert "forms of a word count as one" in found["advice"][1]
    assert "is repeated word for word in 100% of the texts" in found["advice"][2]
    done = cofactor("fit", tables / "german.csv", *READ, "-k", 3, "-o", tmp_path / "model")
    assert sentence in done.stderr
    assert not set(topics(tmp_path / "model")) & {word.lower() for word in GRAMMAR}
    done = cofactor(
        "fit", tables / "german.csv", *READ, "-k", 3, "--language", "none", "-o", tmp_path / "all"
    )
    assert "German" not in done.stderr
    assert {"oder", "auch"} <= set(load_model(tmp_path / "all").vectorizer_.words_)
    cofactor("verify", tmp_path / "model")


def test_english_needs_no_sentence_and_no_language_one(tables, tmp_path):
    english = [
        [i, f"this is not about {body} which they will have", team]
        for i, body, team in make_rows(20)
    ]
    write_table(tmp_path / "english.csv", english)
    done = cofactor("fit", tmp_path / "english.csv", *READ, "-k", 3, "-o", tmp_path / "english")
    assert "grammatical" not in done.stderr
    done = cofactor("fit", tables / "clean.csv", *READ, "-k", 3, "-o", tmp_path / "none")
    assert "language of the texts was not recognised" in done.stderr
    done = cofactor(
        "fit",
        tables / "clean.csv",
        *READ,
        "-k",
        3,
        "--language",
        "english,german",
        "-o",
        tmp_path / "named",
    )
    assert "recognised" not in done.stderr
    assert load_model(tmp_path / "named").vectorizer_.languages_ == ["english", "german"]


def test_several_languages_are_said(tables, tmp_path):
    chinese = [[i, "这不是我们要找的路，但是没有水我们不能回家。", "space"] for i in range(20)]
    german = [[i, " ".join(GRAMMAR), "food"] for i in range(20)]
    write_table(tmp_path / "mixed.csv", [*chinese, *german])
    done = cofactor(
        "fit",
        tmp_path / "mixed.csv",
        *READ,
        "-k",
        2,
        "--stop-words",
        "none",
        "-o",
        tmp_path / "kept",
    )
    assert "grammatical words" not in done.stderr
    found = answer("check", tmp_path / "mixed.csv", *READ)
    assert found["languages"] == {"chinese": 0.5, "german": 0.5}
    assert found["advice"][0].startswith("Chinese and German texts: each text is read by the")
    assert "With several languages, topics often follow the languages" in found["advice"][1]


def test_words_pairs_and_characters(tables, tmp_path):
    fit = ("fit", tables / "clean.csv", *READ, "-k", 3)
    cofactor(*fit, "--bigrams", "-o", tmp_path / "pairs")
    assert any(" " in word for word in load_model(tmp_path / "pairs").vectorizer_.words_)
    cofactor(*fit, "--characters", "-o", tmp_path / "characters")
    words = load_model(tmp_path / "characters").vectorizer_.words_
    assert {len(word) for word in words} == {2, 3, 4}
    cofactor(*fit, "--stem", "2", "-o", tmp_path / "stems")
    found = load_model(tmp_path / "stems").vectorizer_.words_
    every = {word for words in WORDS.values() for word in words}
    assert len(found) == len({word[:2] for word in every}) < len(every)
    wrong = {
        ("--bigrams", "--characters"): "--bigrams and --characters cannot be combined",
        ("--language", "klingon"): "'klingon' is not a known language; there are",
        ("--stem", "-1"): "must be auto, none or a number of letters",
    }
    for options, sentence in wrong.items():
        assert sentence in " ".join(
            cofactor(*fit, *options, "-o", tmp_path / "x", code=2).stderr.split()
        )


def test_blocks_are_read_in_the_same_way(tables, tmp_path):
    done = cofactor("blocks", tables / "german.csv", *READ, "-o", tmp_path / "blocks")
    assert "German texts:" in done.stderr
    cofactor("fit", tables / "german.csv", *READ, "-k", 3, "-o", tmp_path / "model")
    ours, theirs = open_word_blocks(tmp_path / "blocks").vectorizer, load_model(tmp_path / "model")
    assert ours.words_.tolist() == theirs.vectorizer_.words_.tolist()
    assert (ours.stop_words_, ours.stem_) == (theirs.vectorizer_.stop_words_, "language")
    text = ["Der Mond &amp; die Rockets"]
    np.testing.assert_array_equal(
        ours.transform(text).toarray(), theirs.vectorizer_.transform(text).toarray()
    )


def test_blocks_of_before_are_read_as_before():
    parameters = {"stop_words": "english", "ngram_range": [1, 1], "sublinear_tf": True}
    vectorizer = _vectorizer(parameters, ["moon", "nbsp"], [1.0, 2.0])
    assert (vectorizer.clean, vectorizer.tokens, vectorizer.stem) == (False, "words", None)
    assert vectorizer.transform(["the moon&nbsp;"]).toarray().all()
