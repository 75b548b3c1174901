"""`cofactor choose`."""

import re
from contextlib import contextmanager

import pytest

from cofactor.cli.choose import Sizes
from commands import answer, cofactor, read_table


def test_choose_prints_a_table_and_one_sentence(home, tmp_path):
    table, figure = tmp_path / "table.csv", tmp_path / "figure.svg"
    done = cofactor(
        "choose",
        home / "posts.csv",
        "--text",
        "body",
        "--label",
        "team",
        "-k",
        "2:4",
        "--runs",
        3,
        "-o",
        table,
        "--figure",
        figure,
    )
    lines = done.stdout.splitlines()
    assert lines[0].split()[:4] == ["Topics", "Labels", "Score", "Cells"]
    assert [line[0] for line in lines[1:4]] == [" ", "*", " "]
    assert " ".join(lines[5:]).startswith("Take 3 topics: with 2, held-out")
    meanings = re.findall(r"(?:^|\. )([A-Z][a-z]+): ", done.stdout.split("\n\n")[2])
    assert meanings == ["Labels", "Score", "Cells", "Stability", "Coherence", "Diversity"]
    assert "-k 3 -o model" in done.stderr
    header, rows = read_table(table)
    assert [row[header.index("n_components")] for row in rows] == ["2", "3", "4"]
    assert [row[header.index("chosen")] for row in rows] == ["False", "True", "False"]
    assert "<svg" in figure.read_text()


def test_choose_without_labels_as_json(home):
    found = answer("choose", home / "posts.csv", "--text", "body", "-k", "3,2", "--runs", 2)
    assert [row["n_components"] for row in found["table"]] == [2, 3]
    assert found["n_components"] == 3
    assert "score" not in found["table"][0]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("4:40", [4, 5, 7, 9, 11, 14, 19, 24, 31, 40]),
        ("4:10:3", [4, 7, 10]),
        ("2:5", [2, 3, 4, 5]),
        ("20,5", [5, 20]),
        ("8", [8]),
    ],
)
def test_numbers_of_topics(given, expected):
    assert Sizes().convert(given, None, None) == expected


@pytest.mark.parametrize("given", ["9:4", "0:4", "a", "1:2:3:4", "", "3,-1"])
def test_numbers_of_topics_that_are_none(home, given):
    done = cofactor("choose", home / "posts.csv", "--text", "body", "-k", given, code=2)
    assert "holds no numbers of topics" in done.stderr


def test_refusals_come_before_the_work(home, tmp_path):
    start = ["choose", home / "posts.csv", "--text", "body"]
    assert "more than" in cofactor(*start, "-k", 500, code=2).stderr
    assert ".jsonl" in cofactor(*start, "-o", tmp_path / "out.txt", code=2).stderr
    assert ".svg" in cofactor(*start, "--figure", tmp_path / "out.gif", code=2).stderr
    one = tmp_path / "one.csv"
    one.write_text("body,team\n" + "moon rocket,space\n" * 9 + "orbit moon,\n" * 9)
    said = cofactor("choose", one, "--text", "body", "--label", "team", code=2).stderr
    assert "one class" in said


def test_ctrl_c_prints_and_writes_what_is_known(home, tmp_path, monkeypatch):
    @contextmanager
    def announce(sentence):
        def progress(far):
            if far == "fit 5 of 9":
                raise KeyboardInterrupt

        yield progress

    monkeypatch.setattr("cofactor.cli._models.announce", announce)
    arguments = ["--text", "body", "-k", "2:4", "--runs", 3, "--jobs", 1]
    start = ["choose", home / "posts.csv", *arguments, "-o", tmp_path / "table.csv"]
    done = cofactor(*start, code=130)
    assert "Stopped before all fits were done." in done.stdout
    assert "Take 2 topics: no other number was tried." in done.stdout
    assert len(read_table(tmp_path / "table.csv")[1]) == 1
