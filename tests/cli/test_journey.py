"""Whole journeys: from a table to a model and its answers."""

import csv

import numpy as np
import pytest

from cofactor import load_model
from cofactor.io.models import read_facts
from commands import answer, cofactor, make_rows, read_table, write_table


def test_doctor_finds_everything_well():
    found = answer("doctor")
    assert found["kernels"]["error"] is None
    assert found["packages"]["numpy"] == np.__version__
    assert "export --to anndata" in found["extras"]
    assert "kernels" in cofactor("doctor").stdout
    fits = answer("doctor", "--fit")["fits"]
    assert fits["error"] is None
    assert fits["first_seconds"] > 0


@pytest.mark.parametrize("option", [[], ["--fit"]])
def test_the_doctor_reports_kernels_with_wrong_results(monkeypatch, option):
    monkeypatch.setattr("cofactor.engine.self_check.MAX_RELATIVE_ERROR", -1.0)
    done = cofactor("doctor", *option, code=1)
    assert "do not work: ArithmeticError" in done.stdout


def test_a_model_without_labels_answers_everything(home, tmp_path):
    model = tmp_path / "m"
    cofactor("fit", home / "posts.csv", "--text", "body", "-k", 3, "-o", model)
    assert "Class" not in cofactor("topics", model).stdout
    assert "Prediction" not in cofactor("explain", model, "rocket moon").stdout
    assert answer("explain", model, "rocket moon")["prediction"] is None
    cofactor("predict", model, home / "new.csv", "-o", tmp_path / "out.csv")
    _, rows = read_table(tmp_path / "out.csv")
    assert all(row[2] == row[3] == "" and row[4] for row in rows)
    cofactor("export", model, "-o", tmp_path / "tables")
    cofactor("export", model, "--to", "topicwizard", "-o", tmp_path / "w")
    assert answer("verify", model)["same_predictions"] is None


def test_a_model_made_in_python_needs_the_column_named(home, tmp_path):
    from cofactor import TopicModel

    texts = [row[1] for row in make_rows()]
    TopicModel(2, random_state=0).fit(texts).save(tmp_path / "m")
    done = cofactor("predict", tmp_path / "m", home / "new.csv", code=2)
    assert "--text is missing" in done.stderr
    cofactor("predict", tmp_path / "m", home / "new.csv", "--text", "body")
    assert answer("verify", tmp_path / "m", "--data", home / "new.csv", "--text", "body", code=1)


def test_several_labels_and_numbers_a_document(home, tmp_path):
    from cofactor import TopicModel

    rows = make_rows(every=1)
    texts = [row[1] for row in rows]
    both = np.array([[row[2] == "space", row[2] != "food"] for row in rows], dtype=float)
    TopicModel(3, random_state=0).fit(texts, both).save(tmp_path / "m")
    done = cofactor("predict", tmp_path / "m", home / "new.csv", "--text", "body")
    _, *out = csv.reader(done.stdout.splitlines())
    assert {row[2] for row in out} <= {"", "0", "1", "0; 1"}
    assert out[0][2] == "0; 1"
    assert cofactor("explain", tmp_path / "m", "rocket moon").exit_code == 0
    assert cofactor("topics", tmp_path / "m").exit_code == 0


def test_an_empty_document_gets_no_topic(model, tmp_path):
    path = write_table(tmp_path / "a.csv", [["1", ""], ["2", "qqq"]], ("id", "body"))
    cofactor("predict", model, path, "-o", tmp_path / "out.csv")
    _, rows = read_table(tmp_path / "out.csv")
    assert [row[4] for row in rows] == ["", ""]
    assert cofactor("explain", model, "qqq").exit_code == 0


def test_how_the_table_was_opened_is_remembered(tmp_path):
    rows = [f'{i}#"{body} Привет мир\n' for i, body, _ in make_rows(40)]
    path = tmp_path / "a.csv"
    path.write_bytes("".join(["id#body\n", *rows]).encode("koi8-r"))
    how = ["--encoding", "koi8-r", "--separator", "#", "--no-quotes"]
    next_command = answer("check", path, "--text", "body", *how)["next"]
    assert "--encoding koi8-r --separator '#' --no-quotes" in next_command
    cofactor("fit", path, "--text", "body", "-k", 3, "-o", tmp_path / "m", *how)
    assert answer("verify", tmp_path / "m")["identical"]
    assert answer("verify", tmp_path / "m", "--data", path)["identical"]
    assert "привет" in load_model(tmp_path / "m").vectorizer_.words_
    assert "Привет мир" in cofactor("predict", tmp_path / "m", path).stdout


def test_the_card_tells_warnings_and_where_the_model_came_from(home, tmp_path):
    done = cofactor(
        "fit",
        home / "posts.csv",
        "--text",
        "body",
        "--label",
        "team",
        "-k",
        3,
        "-o",
        tmp_path / "m",
        "--iterations",
        1,
        "--seed-words",
        "x=moon,zzz",
    )
    card = (tmp_path / "m" / "README.md").read_text()
    assert "## Warnings of the fit" in card
    assert "--seed-words 'x': \\['zzz'\\] are ignored" in card
    assert "- Stopped after 1 iteration, before the fit converged" in card
    assert "| input rows | 90 |" in card
    assert "| input label | team |" in card
    warned = read_facts(tmp_path / "m")["notes"]["warnings"]
    assert len(warned) == 2
    assert all(one in " ".join(done.stderr.split()) for one in warned)
    cofactor("fit", home / "posts.csv", "--text", "body", "-k", 2, "-o", tmp_path / "m")
    assert "## Warnings" not in (tmp_path / "m" / "README.md").read_text()
