"""--further-words: grammatical words and parts of words, from the command line."""

import csv

import pytest

from cofactor import load_model
from commands import answer, cofactor, write_table
from short_questions import questions

SAID = "Classes are also predicted from grammatical words and parts of words"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("further") / "questions.csv"
    return write_table(path, zip(*questions(150), strict=True), ("text", "label"))


def fit(table, folder, *options):
    return cofactor("fit", table, "--text", "text", "-k", 3, "-o", folder / "m", *options)


def test_short_texts_have_them(table, tmp_path):
    done = fit(table, tmp_path, "--label", "label", "--verbose")
    assert SAID in done.stderr
    assert "who" in load_model(tmp_path / "m").fitted.further.names
    told = answer("explain", tmp_path / "m", "who was on the bridge")
    assert told["prediction"] == "person"
    assert "who" in [word["word"] for word in told["words"]]
    assert answer("verify", tmp_path / "m")["equal"]


def test_no_leaves_them_out(table, tmp_path):
    done = fit(table, tmp_path, "--label", "label", "--verbose", "--further-words", "no")
    assert SAID not in done.stderr
    model = load_model(tmp_path / "m")
    assert model.fitted.further is None
    assert "who" in model.vectorizer_.grammatical_


def test_texts_without_content_words_are_predicted(table, tmp_path):
    fit(table, tmp_path, "--label", "label")
    path = write_table(tmp_path / "new.csv", [("who was that?",), ("??",)], ("text",))
    cofactor("predict", tmp_path / "m", path, "-o", tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(encoding="utf-8-sig") as file:
        first, second = csv.DictReader(file)
    assert (first["prediction"], first["topic"], first["reason"]) == ("person", "", "")
    assert (second["prediction"], second["reason"]) == ("", "no known word")
    told = cofactor("explain", tmp_path / "m", "who was that?")
    assert "person" in told.stdout + told.stderr


def test_parts_of_a_table_are_refused(table, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "a.csv").write_bytes(table.read_bytes())
    options = ("--label", "label", "--further-words", "yes")
    done = cofactor(
        "fit", folder / "*.csv", "--text", "text", "-o", tmp_path / "m", *options, code=2
    )
    assert "--further-words needs one file" in done.stderr
