"""Several labels per document, at the command line."""

import json

import numpy as np
import pytest

from cofactor import load_model
from cofactor.io.models import read_facts
from commands import WORDS, answer, cofactor, make_rows, read_table, write_table


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A table with labels in every form."""
    folder = tmp_path_factory.mktemp("labels")
    rows = []
    for i, body, team in make_rows(120, every=2):
        kind = list(WORDS)[int(i) % 3]
        tags = f"{team}; {'out' if team != 'food' else 'in'}" if team else ""
        inside, space = (int(kind == "food"), int(kind == "space"))
        rows.append([i, body, tags, inside, space if team else "", 0.5 + inside, 2.5 * space])
    columns = ("id", "body", "tags", "inside", "space", "a", "b")
    write_table(folder / "posts.csv", rows, columns)
    return folder


def fit(home, name, *options):
    return answer("fit", home / "posts.csv", "--text", "body", *options, "-k", 6, "-o", home / name)


@pytest.fixture(scope="module")
def sets(home):
    found = fit(home, "sets", "--label", "tags", "--label-separator", ";")
    assert found["classes"] == ["food", "in", "out", "space", "sport"]
    return home / "sets"


def test_check_leads_to_sets(home):
    plain = answer("check", home / "posts.csv", "--text", "body", "--label", "tags")
    assert any("--label-separator ';'" in sentence for sentence in plain["advice"])
    found = answer(
        "check", home / "posts.csv", "--text", "body", "--label", "tags", "--label-separator", ";"
    )
    assert found["labels_are"] == "sets"
    assert found["classes"]["out"] == found["classes"]["space"] + found["classes"]["sport"]
    assert "--label tags --label-separator ';' -k" in found["next"]


def test_sets_are_written_back_as_they_were_read(home, sets, tmp_path):
    cofactor("predict", sets, home / "posts.csv", "-o", tmp_path / "out.csv")
    header, rows = read_table(tmp_path / "out.csv")
    assert header[-4:] == ["prediction", "confidence", "topic", "reason"]
    assert {row[7] for row in rows} <= {"food;in", "out;space", "out;sport", "out"}
    known = [(set(row[2].split("; ")), set(row[7].split(";"))) for row in rows if row[2]]
    assert np.mean([one == other for one, other in known]) > 0.9
    again = answer(
        "check",
        tmp_path / "out.csv",
        "--text",
        "body",
        "--label",
        "prediction",
        "--label-separator",
        ";",
    )
    assert set(again["classes"]) == {"food", "in", "out", "space", "sport"}


def test_the_manifest_remembers_the_form(home, sets):
    noted = read_facts(sets)["notes"]["input"]
    assert (noted["labels_are"], noted["label_separator"], noted["label"]) == ("sets", ";", "tags")
    assert answer("verify", sets)["identical"]
    found = answer("compare", sets, sets, "--data", home / "posts.csv")
    assert found["accuracy"]["first"] > 0.9
    done = cofactor("explain", sets, "rocket moon orbit")
    assert done.stdout.startswith("Prediction: out, space (")


@pytest.mark.slow
def test_columns_of_zeros_and_ones(home, tmp_path):
    found = fit(home, "columns", "--label", "inside", "--label", "space")
    assert found["classes"] == ["inside", "space"]
    assert found["input"]["labels_are"] == "columns"
    cofactor("predict", home / "columns", home / "posts.csv", "-o", tmp_path / "out.csv")
    header, rows = read_table(tmp_path / "out.csv")
    assert header[-5:] == ["prediction_inside", "prediction_space", "confidence", "topic", "reason"]
    assert np.mean([row[3] == row[7] for row in rows]) > 0.9
    assert answer("verify", home / "columns")["identical"]


def test_several_numbers(home, tmp_path):
    found = fit(home, "numbers", "--label", "a", "--label", "b")
    assert (found["classes"], found["input"]["task"]) == (["a", "b"], "numbers")
    cofactor("predict", home / "numbers", home / "posts.csv", "-o", tmp_path / "out.csv")
    header, rows = read_table(tmp_path / "out.csv")
    of_each = [f"{column}_{name}" for name in "ab" for column in ("prediction", "low", "high")]
    assert header[-8:] == [*of_each, "topic", "reason"]
    said = load_model(home / "numbers").predict([row[1] for row in rows])
    written = np.array(
        [row[7:11:3] for row in rows], dtype=float
    )  # with the digits that mean something
    assert np.allclose(written, said, rtol=0, atol=5e-4)
    done = cofactor("explain", home / "numbers", "rocket moon orbit")
    assert done.stdout.startswith("Prediction: a ")
    assert answer("verify", home / "numbers")["identical"]
    assert "Values" in cofactor("topics", home / "numbers").stdout


def test_lists_in_json_lines(home, tmp_path):
    _, rows = read_table(home / "posts.csv")
    lines = [{"body": row[1], "tags": row[2].split("; ") if row[2] else []} for row in rows]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    found = answer("fit", path, "--text", "body", "--label", "tags", "-k", 6, "-o", tmp_path / "m")
    assert found["input"]["labels_are"] == "sets"
    cofactor("predict", tmp_path / "m", path, "-o", tmp_path / "out.jsonl")
    first = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
    assert first["prediction"] == ["out", "space"]


def test_one_label_alone_is_a_class(home, tmp_path):
    path = write_table(tmp_path / "a.csv", [["moon orbit", "x"], ["moon", ""]] * 5, ("body", "t"))
    found = answer(
        "fit",
        path,
        "--text",
        "body",
        "--label",
        "t",
        "--label-separator",
        ";",
        "-k",
        1,
        "-o",
        tmp_path / "m",
    )
    assert found["input"]["labels_are"] == "classes"


def test_refusals(home, tmp_path):
    done = cofactor(
        "fit",
        home / "posts.csv",
        "--text",
        "body",
        "--label",
        "tags",
        "--label",
        "tags",
        "-o",
        tmp_path / "m",
        code=2,
    )
    assert "given twice" in done.stderr
    done = cofactor(
        "fit",
        home / "posts.csv",
        "--text",
        "body",
        "--label",
        "tags",
        "--task",
        "numbers",
        "-o",
        tmp_path / "m",
        code=2,
    )
    assert "row 2: the label 'space; out' is not a number" in " ".join(done.stderr.split())


def test_nothing_is_predicted_where_no_word_is_known(sets, tmp_path):
    path = write_table(tmp_path / "a.csv", [["qqq"], ["moon rocket"]], ("body",))
    done = cofactor("predict", sets, path, "-o", tmp_path / "out.csv")
    _, rows = read_table(tmp_path / "out.csv")
    assert rows[0] == ["qqq", "", "", "", "no known word"]
    assert all(rows[1][:4])
    assert rows[1][4] == ""
    assert "1 row has no word" in done.stderr
    assert "none; the model knows no word of the text" in cofactor("explain", sets, "qqq").stdout


@pytest.mark.slow
def test_seed_words_are_enough_for_classes(home, tmp_path):
    words = [f"--seed-words={name}={','.join(some[:2])}" for name, some in WORDS.items()]
    options = ("--text", "body", "--task", "classes", *words, "-k", 6, "-o", tmp_path / "m")
    found = answer("fit", home / "posts.csv", *options)
    assert sorted(found["classes"]) == sorted(WORDS)
    assert found["expected_score"] is None
    cofactor("verify", tmp_path / "m")
    header, rows = read_table(_predicted(home, tmp_path))
    right = [list(WORDS)[i % 3] == row[header.index("prediction")] for i, row in enumerate(rows)]
    assert np.mean(right) > 0.8
    refused = cofactor("fit", home / "posts.csv", *options[:4], "-o", tmp_path / "n", code=2)
    assert "or name the classes with --classes" in refused.stderr


@pytest.mark.slow
def test_seed_words_beside_labels_leave_these_what_they_are(home, tmp_path):
    """Only --task classes makes classes of the seeds."""
    options = ("--text", "body", "--label", "space", "-k", 6)
    seeds = f"--seed-words=1={WORDS['space'][0]}"
    seeded = answer("fit", home / "posts.csv", *options, seeds, "-o", tmp_path / "m")
    plain = answer("fit", home / "posts.csv", *options, "-o", tmp_path / "n")
    assert seeded["expected_score"] == plain["expected_score"] is not None


def _predicted(home, tmp_path):
    cofactor("predict", tmp_path / "m", home / "posts.csv", "-o", tmp_path / "out.csv")
    return tmp_path / "out.csv"
