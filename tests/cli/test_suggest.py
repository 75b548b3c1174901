"""suggest: texts to label and doubtful labels, in tables that can be fitted again."""

import shlex
import shutil

import pytest

from cofactor import load_model
from commands import WORDS, answer, cofactor, make_rows, read_table, write_table


def test_suggested_rows_are_those_of_the_model(home, model, tmp_path):
    found = answer("suggest", model, home / "posts.csv", "-n", 6, "-o", tmp_path / "a.csv")
    header, rows = read_table(tmp_path / "a.csv")
    assert header == ["id", "body", "team", "reason", "prediction", "confidence", "topic"]
    ids, texts, labels = zip(*make_rows(), strict=True)
    said = load_model(model).to_label(texts, 6, y=labels)
    assert [row[0] for row in rows] == [ids[one.document] for one in said]
    assert [row[3] for row in rows] == said.column("reason")
    assert {row[2] for row in rows} == {""}  # labelled texts are not suggested
    assert found["rows"] == 6 == sum(found["reasons"].values())


def test_a_filled_in_table_can_be_fitted(home, model, tmp_path):
    """A table without a label column gets one; with --all-rows all texts are there."""
    path = tmp_path / "a.csv"
    cofactor("suggest", model, home / "new.csv", "-n", 5, "--all-rows", "-o", path)
    header, rows = read_table(path)
    assert header[:3] == ["id", "body", "team"]
    assert sorted(int(row[0]) for row in rows) == list(range(30))
    assert [bool(row[3]) for row in rows] == [True] * 5 + [False] * 25
    filled = [[*row[:2], list(WORDS)[int(row[0]) % 3], *row[3:]] for row in rows]
    write_table(path, filled, header)
    facts = answer("fit", path, "--text", "body", "--label", "team", "-k", 3, "-o", tmp_path / "m")
    assert facts["input"]["labelled"] == 30


def test_a_wrong_label_is_found_with_the_right_class(home, model, tmp_path):
    rows = make_rows(every=1)
    wrong = {7: "food", 30: "sport"}  # make_rows gives them other classes
    rows = [[*row[:2], wrong.get(i, row[2])] for i, row in enumerate(rows)]
    table = write_table(tmp_path / "t.csv", rows)
    cofactor("suggest", model, table, "--doubtful", "-n", 2, "-o", tmp_path / "a.csv")
    header, found = read_table(tmp_path / "a.csv")
    assert header[3:] == ["reason", "prediction", "confidence", "label_probability"]
    assert {int(row[0]): row[4] for row in found} == {i: list(WORDS)[i % 3] for i in wrong}
    assert {row[3] for row in found} == {"doubtful label"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--doubtful", "--label", "id"], "two labels of one class"),
        (["--strategy", "best"], "'best' is not one of"),
        (["-n", "0"], "'0' is not a whole number"),
        (["--text", "nothing"], "nothing"),
    ],
)
def test_refusals(home, model, options, said):
    done = cofactor("suggest", model, home / "posts.csv", *options, code=2)
    assert said in done.stderr


def test_doubtful_needs_classes(home, tmp_path):
    cofactor("fit", home / "posts.csv", "--text", "body", "-k", 3, "-o", tmp_path / "m")
    done = cofactor("suggest", tmp_path / "m", home / "posts.csv", "--doubtful", code=2)
    assert "--doubtful needs labels that are classes" in done.stderr
    done = cofactor("suggest", tmp_path / "m", home / "posts.csv", "-n", 4)
    assert done.stdout.count("first of its topic") == 3


def test_nothing_to_suggest_is_said(tmp_path):
    rows = [row for row in make_rows() if row[2]]
    table = write_table(tmp_path / "a.csv", rows)
    read = ("--text", "body", "--label", "team")
    cofactor("fit", table, *read, "-k", 3, "-o", tmp_path / "m")
    said = cofactor("suggest", tmp_path / "m", table, "-o", tmp_path / "s.csv").stderr
    assert "Wrote 0 rows" in said
    assert "All texts are labelled; --doubtful" in said


def test_the_next_command_works_as_typed(home, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(model, "m")
    typed = ["suggest", "m", str(home / "posts.csv"), "-n", "5"]
    monkeypatch.setattr("sys.argv", ["cofactor", *typed])
    done = cofactor(*typed)
    for name in ("suggest", "fit"):
        [line] = [line for line in done.stderr.splitlines() if line.startswith("Next: ")]
        words = shlex.split(line)
        command = words[words.index(name) :]
        done = cofactor(*command)
    assert len(read_table(tmp_path / "label_me.csv")[1]) == 90
    assert load_model("m-2").target_names_ == sorted(WORDS)
