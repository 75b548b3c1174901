"""refit: a fit that goes on from edited topics, and what it tells."""

import json
import os

import numpy as np
import pytest

from cofactor import load_model
from commands import answer, cofactor, make_rows, write_table

ROWS = make_rows()
TEXTS, LABELS = [row[1] for row in ROWS], [row[2] for row in ROWS]


@pytest.fixture(scope="module")
def edited(home, tmp_path_factory):
    folder = tmp_path_factory.mktemp("edited")
    (folder / "posts.csv").write_bytes((home / "posts.csv").read_bytes())
    fit = ["fit", folder / "posts.csv", "--text", "body", "--label", "team"]
    cofactor(*fit, "-k", "6", "-o", folder / "model")
    edits = ["--merge", "1,4", "--name", "1=both", "--freeze", "5", "--ban", "3=orbit"]
    cofactor("edit", folder / "model", *edits, "-o", folder / "edited")
    return folder / "edited"


def test_refit_goes_on_from_the_topics(edited, tmp_path):
    found = answer("refit", edited, "--iterations", 5, "-o", tmp_path / "m")
    before, after = load_model(edited), load_model(tmp_path / "m")
    wanted = before.refit(TEXTS, LABELS, iterations=5)
    assert np.array_equal(after.estimator_.components_, wanted.estimator_.components_)
    assert after.settled_ == before.settled_
    assert found["drift"] == json.loads(json.dumps(wanted.drift_.to_records()))
    assert found["iterations"] == wanted.n_iter_ <= 5
    assert found["expected_score_before"]["value"] == before.expected_score_.value
    assert found["expected_score"]["value"] == wanted.expected_score_.value
    frozen = after.estimator_.components_[4]
    assert np.array_equal(frozen, before.estimator_.components_[4])


def test_refits_are_noted_and_verified(edited, tmp_path):
    output = edited.parent / "noted"
    cofactor("refit", edited, "--iterations", 3, "-o", output)
    notes = json.loads((output / "manifest.json").read_text())["notes"]
    assert [step["step"] for step in notes["history"]] == ["fit", "edit", "refit"]
    assert notes["history"][-1]["model"]["path"] == "../edited"
    assert notes["input"]["path"] == "../posts.csv"
    card = (output / "README.md").read_text()
    assert "Fitted again from the topics of edited on 90 documents" in card
    found = answer("verify", output)
    assert (found["step"], found["identical"], found["same_data"]) == ("refit", True, True)
    other = write_table(tmp_path / "other.csv", make_rows(seed=5))
    assert not answer("verify", output, "--data", other, code=1)["same_data"]


@pytest.mark.parametrize("width", [80, 100])
def test_the_drift_fits_the_terminal(edited, tmp_path, width):
    done = cofactor(
        "refit", edited, "--iterations", 3, "-o", tmp_path / "m", env={"COLUMNS": str(width)}
    )
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= width
    head = "Topic Name Similar New words Lost words Texts Moved Changed"
    assert " ".join(lines[0].split()) == head
    similar = [
        float(line[lines[0].index("Similar") :].split()[0])
        for line in lines[1:]
        if line[:5].strip()
    ]
    assert len(similar) == 5
    assert similar == sorted(similar)
    assert "texts have another main topic than before" in done.stderr
    assert "; before: accuracy" in done.stderr


def test_more_labels_and_other_columns(home, edited, tmp_path):
    rows = [[row[0], row[1], row[2] or "space"] for row in make_rows(60, seed=2)]
    table = write_table(tmp_path / "more.csv", rows, ("id", "text", "group"))
    found = answer(
        "refit",
        edited,
        table,
        "--text",
        "text",
        "--label",
        "group",
        "--iterations",
        2,
        "-o",
        tmp_path / "m",
    )
    assert found["input"]["labelled"] == found["input"]["rows"] == 60
    assert len(load_model(tmp_path / "m").documents()) == 60


def test_labels_may_be_new_to_a_model(home, tmp_path):
    cofactor("fit", home / "posts.csv", "--text", "body", "-k", 3, "-o", tmp_path / "plain")
    done = cofactor("refit", tmp_path / "plain", "--label", "team", "-o", tmp_path / "m")
    assert "Changed" not in done.stdout  # nothing was predicted before
    assert load_model(tmp_path / "m").target_names_ == ["food", "space", "sport"]
    assert answer("verify", tmp_path / "m")["identical"]


def test_seeds_that_are_classes_label_again(home, tmp_path):
    seeds = ["--seed-words", "space=moon,orbit", "--seed-words", "food=oven,sugar"]
    cofactor(
        "fit",
        home / "posts.csv",
        "--text",
        "body",
        "--task",
        "classes",
        *seeds,
        "-k",
        3,
        "-o",
        tmp_path / "seeds",
    )
    assert "Name" in cofactor("topics", tmp_path / "seeds").stdout
    cofactor("refit", tmp_path / "seeds", "-o", tmp_path / "m")
    found = load_model(tmp_path / "m")
    assert found.target_names_ == ["food", "space"]
    assert found.expected_score_ is None
    assert found.predict(["oven sugar", "moon orbit"]).tolist() == ["food", "space"]


def test_ctrl_c_keeps_the_model_of_the_last_iteration(edited, tmp_path, monkeypatch):
    from cofactor.cli import _models as fits

    told = []
    real = fits.WatchedFit.reporter

    def interrupting(self):
        callback = real(self)
        self.progress = lambda far: told.append(far) or _raise_at(told)
        return callback

    monkeypatch.setattr(fits.WatchedFit, "reporter", interrupting)
    (tmp_path / "m").mkdir()
    cofactor("edit", edited, "--name", "0=a", "-o", tmp_path / "m")
    kept = (tmp_path / "m" / "manifest.json").read_bytes()
    done = cofactor("refit", edited, "-o", tmp_path / "m", code=130)
    assert told == ["iteration 1", "iteration 2"]
    assert done.stderr.count("Stopping; saving the model ...") == 1
    assert f"Wrote the model to {tmp_path / 'm-unfinished'}." in done.stderr
    assert load_model(tmp_path / "m-unfinished").n_iter_ == 2
    assert (tmp_path / "m" / "manifest.json").read_bytes() == kept


def _raise_at(told):
    if len(told) == 2:
        raise KeyboardInterrupt


REFUSED = {
    "no labels": ("body,team\nmoon,\norbit,\n", [], "has no labels, but the model learned from"),
    "no label column": ("body\nmoon\norbit\n", [], "--label 'team' is not a column"),
    "no known word": ("body,team\nqqq,a\nrrr,b\n", [], "No document has a word of the model"),
    "iterations": ("body,team\nmoon,a\n", ["--iterations", "0"], "'0' is not a whole number"),
    "no text column": ("text,team\nmoon,a\n", [], "'body' is not a column"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_refits_end_with_two(edited, tmp_path, case):
    content, options, said = REFUSED[case]
    (tmp_path / "a.csv").write_text(content)
    done = cofactor("refit", edited, tmp_path / "a.csv", *options, "-o", tmp_path / "m", code=2)
    assert said in " ".join(done.stderr.split())
    assert done.stdout == ""
    assert os.listdir(tmp_path) == ["a.csv"]


def test_the_model_itself_is_never_replaced(edited):
    assert "is the model itself" in cofactor("refit", edited, "-o", edited, code=2).stderr
