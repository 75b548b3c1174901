"""predict and explain: the numbers they give."""

import gzip
import json

import numpy as np
import pytest
from scipy.special import softmax

from cofactor import load_model
from cofactor.io.models import read_facts
from commands import WORDS, answer, cofactor, make_rows, read_table, write_table


def test_predict_adds_columns(home, model, tmp_path):
    cofactor("predict", model, home / "new.csv", "-o", tmp_path / "out.csv")
    header, rows = read_table(tmp_path / "out.csv")
    _, new = read_table(home / "new.csv")
    assert header == ["id", "body", "prediction", "confidence", "topic", "reason", "unlike"]
    assert [row[:2] for row in rows] == new
    said = load_model(model).documents([row[1] for row in new])
    assert [row[2] for row in rows] == said.column("prediction")
    assert [float(row[3]) for row in rows] == pytest.approx(said.column("confidence"), rel=1e-4)
    assert max(len(row[3]) for row in rows) <= len("0.12345")
    assert [row[4] for row in rows] == said.column("name")
    assert [float(row[6]) for row in rows] == pytest.approx(said.column("unlike"), rel=1e-4)
    right = [row[2] == list(WORDS)[i % 3] for i, row in enumerate(rows)]
    assert np.mean(right) > 0.9


def test_texts_unlike_those_of_the_fit_are_told(home, model, tmp_path):
    like = cofactor("predict", model, home / "new.csv", "-o", tmp_path / "like.csv")
    assert "would know" not in like.stderr
    rows = [
        [str(i), f"a painter with brushes in the {WORDS['space'][i % 10]} light"] for i in range(40)
    ]
    other = write_table(tmp_path / "other.csv", rows, ("id", "body"))
    said = cofactor("predict", model, other, "-o", tmp_path / "out.csv").stderr
    facts = json.loads((tmp_path / "out.csv.manifest.json").read_text())
    assert facts["known_words"] == 1 / 4
    assert "the model knows 25% of the words of these texts" in said
    few = write_table(tmp_path / "few.csv", rows[:3], ("id", "body"))
    assert "would know" not in cofactor("predict", model, few, "-o", tmp_path / "f.csv").stderr


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e5])
def test_numbers_have_the_digits_that_mean_something(tmp_path, unit):
    random = np.random.default_rng(0)
    table = [
        [i, body, repr(unit * (1000 + 10 * (int(i) % 3) + random.normal()))]
        for i, body, _ in make_rows()
    ]
    path = write_table(tmp_path / "t.csv", table)
    cofactor(
        "fit",
        path,
        "--text",
        "body",
        "--label",
        "team",
        "-k",
        3,
        "--iterations",
        5,
        "-o",
        tmp_path / "m",
    )
    cofactor("predict", tmp_path / "m", path, "--keep", "id", "-o", tmp_path / "out.csv")
    said = [row[2] for row in read_table(tmp_path / "out.csv")[1]]
    model = load_model(tmp_path / "m")
    width = float(model.estimator_.pooled_head.half_width[0])
    error = np.abs(model.predict([row[1] for row in table]) - np.array(said, dtype=float))
    assert 0 < error.max() <= width / 200 * (1 + 1e-9)
    assert max(len(cell.removesuffix(".0").strip("0.")) for cell in said) <= 7  # such as 1003.42
    assert len(set(said)) > 30


def test_predict_says_that_a_model_has_no_labels(home, model, tmp_path):
    said = "fitted without labels, so the columns prediction and confidence stay empty; only topic"
    cofactor("fit", home / "posts.csv", "--text", "body", "-k", 3, "-o", tmp_path / "m")
    done = cofactor("predict", tmp_path / "m", home / "new.csv", "-o", tmp_path / "out.csv")
    assert done.stderr.count(said) == 1
    header, rows = read_table(tmp_path / "out.csv")
    assert header[-4:] == ["prediction", "confidence", "topic", "reason"]
    assert {tuple(row[-4:-2]) for row in rows} == {("", "")}
    assert all(row[-2] for row in rows)
    assert {row[-1] for row in rows} == {"the fit had no labels"}
    assert said not in cofactor("predict", model, home / "new.csv").stderr


def test_predictions_come_with_a_manifest(home, model, tmp_path):
    cofactor("predict", model, home / "new.csv", "-o", tmp_path / "out.csv")
    made = json.loads((tmp_path / "out.csv.manifest.json").read_text())
    assert made["model"]["digest"] == read_facts(model)["digest"]
    assert made["rows"] == 30
    assert made["input"]["text"] == "body"


@pytest.mark.parametrize("name", ["out.tsv", "out.jsonl", "out.csv.gz", "out.jsonl.gz"])
def test_predict_writes_the_format_that_the_name_asks_for(home, model, tmp_path, name):
    cofactor("predict", model, home / "new.csv", "-o", tmp_path / name)
    data = (tmp_path / name).read_bytes()
    text = (gzip.decompress(data) if name.endswith("gz") else data).decode()
    first = text.splitlines()[1]
    if "jsonl" in name:
        assert list(json.loads(first)) == [
            "id",
            "body",
            "prediction",
            "confidence",
            "topic",
            "reason",
            "unlike",
        ]
    else:
        assert len(first.split("\t" if "tsv" in name else ",")) >= 5


def test_predict_without_output_prints_the_table_alone(home, model):
    done = cofactor("predict", model, home / "new.csv")
    assert done.stdout.splitlines()[0] == "id,body,prediction,confidence,topic,reason,unlike"
    assert len(done.stdout.splitlines()) == 31
    lines = cofactor("predict", model, home / "new.csv", "--json").stdout.splitlines()
    assert [json.loads(line)["id"] for line in lines] == [str(i) for i in range(30)]


def test_predict_keeps_columns_that_have_its_names(home, model, tmp_path):
    path = write_table(tmp_path / "a.csv", [["orbit", "mine"]], ("body", "prediction"))
    done = cofactor("predict", model, path, "-o", tmp_path / "out.csv")
    header, rows = read_table(tmp_path / "out.csv")
    assert header == [
        "body",
        "prediction",
        "prediction_2",
        "confidence",
        "topic",
        "reason",
        "unlike",
    ]
    assert rows[0][1:3] == ["mine", "space"]
    assert "prediction_2" in done.stderr


def test_batches_do_not_change_predictions(home, model, tmp_path, monkeypatch):
    cofactor("predict", model, home / "new.csv", "-o", tmp_path / "whole.csv")
    import cofactor.cli.predict as module

    monkeypatch.setattr(module, "BATCH_TEXTS", 7)
    cofactor("predict", model, home / "new.csv", "-o", tmp_path / "parts.csv")
    assert (tmp_path / "whole.csv").read_bytes() == (tmp_path / "parts.csv").read_bytes()


def test_predict_reads_folders(model, tmp_path):
    (tmp_path / "in" / "x").mkdir(parents=True)
    (tmp_path / "in" / "x" / "one.txt").write_text("rocket moon")
    cofactor("predict", model, tmp_path / "in", "-o", tmp_path / "out.csv")
    header, rows = read_table(tmp_path / "out.csv")
    assert header == [
        "file",
        "text",
        "label",
        "prediction",
        "confidence",
        "topic",
        "reason",
        "unlike",
    ]
    assert rows[0][:4] == ["x/one.txt", "rocket moon", "x", "space"]


def test_explain_says_why_it_is_not_the_next_class(model):
    found = answer("explain", model, "rocket rocket goal butter", "--against", "sport")
    lead = found["contrast"]
    scores = {score["class"]: score["value"] for score in found["scores"]}
    assert (lead["class"], lead["against"]) == (found["prediction"], "sport")
    assert lead["lead"] == pytest.approx(scores[lead["class"]] - scores["sport"], abs=1e-9)
    parts = [part["difference"] for part in [*found["words"], *found["topics"]]]
    assert lead["base"] + sum(parts) == pytest.approx(lead["lead"], abs=1e-9)
    for row in found["left_out"]:
        rest = "rocket rocket goal butter".replace(row["word"], "")
        assert answer("explain", model, rest)["prediction"] == row["prediction"]
    said = cofactor("explain", model, "rocket rocket goal butter", "--class", "space").stdout
    assert "Lead over " in said
    assert "Without one word:" in said
    assert answer("explain", model, "qqqq")["contrast"] is None
    done = cofactor("explain", model, "rocket", "--class", "foot", code=2)
    assert "Did you mean 'food'?" in done.stderr


def test_explanations_add_up(model):
    found = answer("explain", model, "rocket to the goal with butter qqqq")
    for c, (score, base) in enumerate(zip(found["scores"], found["base"], strict=True)):
        parts = [*found["words"], *found["topics"]]
        total = base["value"] + sum(part["classes"][c] for part in parts)
        assert total == pytest.approx(score["value"], abs=1e-9)
    assert found["unknown"] == ["qqqq"]
    best = max(found["scores"], key=lambda score: score["value"])
    assert found["prediction"] == best["class"]
    probabilities = softmax([score["value"] for score in found["scores"]])
    assert found["confidence"] == pytest.approx(probabilities.max())
    assert cofactor("explain", model, "-", input="rocket moon").stdout.startswith(
        "Prediction: space"
    )
