"""What users can get wrong: each error is one sentence with a remedy, and the exit code is 2."""

import json

import pytest

STORY = {"text": "wheat and grain", "labels": ["grain"]}
REVIEW = {"text": "a fine film", "rating": 4}


def refused(reproduce, *arguments):
    return reproduce(*arguments, code=2).stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["paper"], "'paper' is not one of 'synthetic', 'newsgroups', 'reuters', 'ratings'"),
        (["synthetic", "--trials", "0"], "'0' is not a whole number of at least 1"),
        (["synthetic", "--trials", "many"], "'many' is not a whole number of at least 1"),
        (["synthetic", "--draws", "0"], "'0' is not a whole number of at least 1"),
        (["synthetic", "--seed", "-1"], "'-1' is not a whole number from 0 to 4,294,967,295"),
        (["synthetic", "--jobs", "0"], "'0' is not a whole number of at least 1"),
        (["synthetic", "--iterations", "0"], "'0' is not a whole number of at least 1"),
        (["synthetic", "--solver", "newton"], "'newton' is not one of 'auto', 'cd', 'mu'"),
        (["newsgroups", "--draws", "5"], "--draws is for the synthetic experiment"),
        (["reuters", "--solver", "mu"], "--solver is for the synthetic experiment"),
        (["ratings", "--iterations", "5"], "--iterations is for the synthetic experiment"),
    ],
)
def test_options(reproduce, tmp_path, arguments, words):
    assert words in refused(reproduce, *arguments, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_out_is_needed(reproduce):
    assert "Missing option '--out'" in refused(reproduce, "synthetic")


def test_out_that_is_a_file(reproduce, tmp_path):
    file = tmp_path / "file"
    file.write_text("mine")
    assert f"--out '{file}' is a file" in refused(reproduce, "synthetic", "--quick", "--out", file)
    assert file.read_text() == "mine"


def test_out_with_other_files(reproduce, tmp_path):
    (tmp_path / "synthetic").mkdir()
    (tmp_path / "synthetic" / "thesis.tex").write_text("mine")
    message = refused(reproduce, "synthetic", "--quick", "--out", tmp_path)
    assert (
        "has files that `cofactor reproduce` did not write; choose another folder for --out"
        in message
    )


@pytest.mark.parametrize("experiment", ["newsgroups", "all"])
def test_missing_newsgroups(reproduce, tmp_path, experiment):
    home = tmp_path / "home"
    message = refused(reproduce, experiment, "--out", tmp_path / "out", "--data-home", home)
    assert f"20 Newsgroups is not in {home}" in message
    assert "20news-bydate_py3.pkz" in message
    assert not (tmp_path / "out" / "synthetic").exists()  # refused before the work


@pytest.mark.parametrize("experiment", ["reuters", "ratings"])
def test_missing_files(reproduce, tmp_path, experiment):
    out = tmp_path / "out"
    message = refused(reproduce, experiment, "--out", out)
    assert f"{experiment}.jsonl is needed" in message
    assert "--data-home" in message
    message = refused(reproduce, experiment, "--out", out, "--data-home", tmp_path)
    assert f"{experiment}.jsonl (or {experiment}.jsonl.gz) is not in {tmp_path}" in message


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read (No such file or directory)"),
        (b"", "it is empty"),
        (b"\n\n", "it is empty"),
        (b"\xff\xfe\x00t", "is not a text file"),
        (b"der\ndie\ndas\n", "its 3 words lack 'the'"),
        (b"the a an of and\n", "has the line 'the a an of and'"),
    ],
)
def test_wrong_stop_words(reproduce, tmp_path, content, words):
    file = tmp_path / "words.txt"
    if content is not None:
        file.write_bytes(content)
    arguments = ("newsgroups", "--quick", "--out", tmp_path / "out", "--stopwords", file)
    message = refused(reproduce, *arguments)
    assert f"--stopwords '{file}'" in message
    assert words in message
    assert "one English stop word on each line" in message


@pytest.mark.slow
@pytest.mark.parametrize(
    ("experiment", "lines", "words"),
    [
        ("reuters", [""], "is empty"),
        ("reuters", ["{text: 1}"], "line 1 is not JSON"),
        ("reuters", [json.dumps(STORY), "[]"], "line 2 holds a list, not an object"),
        ("reuters", [json.dumps(STORY), "{}"], "line 2 has no text"),
        ("reuters", [json.dumps({"text": "a"})], "line 1 has no labels"),
        ("reuters", [json.dumps({**STORY, "labels": "grain"})], "has labels 'grain', which is not"),
        ("reuters", [json.dumps({**STORY, "unknown": [1]})], "has unknown [1], which is not"),
        ("reuters", [json.dumps({**STORY, "split": "dev"})], "neither 'train' nor 'test'"),
        ("reuters", [json.dumps({**STORY, "labels": None})] * 9, "documents with known targets"),
        ("reuters", [json.dumps(STORY)] * 9, "cannot be counted"),
        ("ratings", [json.dumps({"text": "a"})], "line 1 has no rating"),
        ("ratings", [json.dumps({**REVIEW, "rating": "4"})], "has rating '4', which is not a num"),
        ("ratings", [json.dumps({**REVIEW, "rating": True})], "has rating True"),
        ("ratings", ['{"text": "a", "rating": NaN}'], "has rating nan, which is not a number"),
        ("ratings", [json.dumps(REVIEW)] * 2, "documents with known targets"),
    ],
)
def test_wrong_files(reproduce, stop_words, tmp_path, experiment, lines, words):
    (tmp_path / f"{experiment}.jsonl").write_text("\n".join(lines))
    message = refused(
        reproduce,
        experiment,
        "--out",
        tmp_path / "out",
        "--data-home",
        tmp_path,
        "--stopwords",
        stop_words,
    )
    assert words in message


def test_broken_gzip(reproduce, tmp_path):
    (tmp_path / "ratings.jsonl.gz").write_bytes(b"no gzip")
    message = refused(reproduce, "ratings", "--out", tmp_path / "o", "--data-home", tmp_path)
    assert "is a damaged gzip file" in message
