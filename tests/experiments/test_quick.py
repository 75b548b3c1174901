"""`cofactor reproduce all --quick`, end to end: what it writes, and that it can be interrupted."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from cofactor.experiments import EXPERIMENTS, paper

TABLES = {
    "synthetic": {"relative_error", "zeros", "fits", "wins", "updates"},
    "newsgroups": {
        "data",
        "accuracy",
        "hyperparameters",
        "own_hyperparameters",
        "clustering",
        "clustering_scaled",
        "topics",
        "validation",
        "own_validation",
        "splits",
    },
    "reuters": {"scores"},
    "ratings": {"scores", "r2"},
}
FIGURES = {
    "synthetic": {"relative_error"},
    "newsgroups": {"accuracy"},
    "reuters": {"roc"},
    "ratings": {"rmse"},
}
SUPERVISED = {"f_f", "f_kl", "kl_f", "kl_kl"}
DECOMPOSITIONS = {f"paper_{name}" for name in SUPERVISED | {"f_nmf_svm", "kl_nmf_svm"}}
DECOMPOSITIONS |= {f"ours_{name}" for name in SUPERVISED}


def table(out, experiment, name):
    return json.loads((out / experiment / "tables" / f"{name}.json").read_text())["rows"]


def tables(out):
    """Every table of a run, by path."""
    return {str(path.relative_to(out)): path.read_text() for path in sorted(out.glob("*/tables/*"))}


def test_every_experiment_is_finished_and_its_manifest_lists_what_is_there(quick):
    out, _ = quick
    for name in EXPERIMENTS:
        manifest = json.loads((out / name / "manifest.json").read_text())
        assert manifest["experiment"] == name
        assert manifest["options"]["seed"] == 1
        assert manifest["versions"]["cofactor"]
        assert manifest["machine"]["cores"] >= 1
        written = {
            str(path.relative_to(out / name))
            for path in (out / name).rglob("*")
            if path.is_file() and path.parent.name != "trials"
        }
        assert written == {*manifest["files"], "manifest.json"}
        kept = len(list((out / name / "trials").iterdir()))
        assert kept == sum(each["trials"] for each in manifest["trials"])
        assert all(each["found"] == 0 and each["cpu_seconds"] > 0 for each in manifest["trials"])


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_tables_come_in_three_forms_that_agree(quick, experiment):
    out, _ = quick
    names = {path.stem for path in (out / experiment / "tables").iterdir()}
    expected = TABLES[experiment]
    if experiment == "newsgroups":
        expected = expected | {f"keywords_{name}" for name in DECOMPOSITIONS}
    assert names == expected
    for name in names:
        rows = table(out, experiment, name)
        with open(out / experiment / "tables" / f"{name}.csv", newline="") as file:
            read = list(csv.DictReader(file))
        assert [[str(v) if v is not None else "" for v in row.values()] for row in rows] == [
            list(row.values()) for row in read
        ]
        lines = (out / experiment / "tables" / f"{name}.md").read_text().splitlines()
        assert sum(line.startswith("|") for line in lines) == len(rows) + 2


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_figures_are_pictures(quick, experiment):
    pytest.importorskip("matplotlib")
    out, _ = quick
    expected = FIGURES[experiment]
    if experiment == "newsgroups":
        expected = expected | {f"heatmap_{name}" for name in DECOMPOSITIONS}
    pictures = list((out / experiment / "figures").glob("*.png"))
    assert {path.stem for path in pictures} == expected
    for path in pictures:
        head = path.read_bytes()[:24]
        assert head.startswith(b"\x89PNG")
        assert int.from_bytes(head[16:20]) > 300 < int.from_bytes(head[20:24]) * 2


def test_pages_need_no_network(quick):
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    (page,) = (quick[0] / "newsgroups" / "figures").glob("*.html")
    text = page.read_text()
    assert page.stem == "topics"
    assert 'src="http' not in text
    assert "(KL, F), our defaults" in text


def test_the_paper_stands_beside_ours(quick):
    out, result = quick
    rows = {row["model"]: row for row in table(out, "synthetic", "relative_error")}
    for model, printed in paper.RELATIVE_ERROR.items():
        assert tuple(rows[model][f"{n}: paper"] for n in (1, 2, 3, 4)) == printed
    errors = {model: rows[model]["1: ours"] for model in paper.MODELS}
    assert rows["lowest"]["1: ours"] == min(errors, key=errors.get)
    assert rows["lowest"]["4: paper"] == "(KL, KL)"
    accuracy = {row["model"]: row for row in table(out, "newsgroups", "accuracy")}
    assert accuracy["(KL, F)"]["paper"] == 81.88
    assert accuracy["multinomial NB"]["paper"] == 82.28
    chosen = {row["model"]: row for row in table(out, "newsgroups", "hyperparameters")}
    assert (chosen["(KL, KL)"]["paper tol"], chosen["(KL, KL)"]["paper λ"]) == ("0.001", "1000")
    assert "| (KL, KL) | 0.2922 |" in result.stdout
    assert "quick run on small synthetic data" in (out / "newsgroups" / "report.md").read_text()


def test_models_learn_the_made_up_newsgroups(quick):
    for row in table(quick[0], "newsgroups", "accuracy"):
        if row["model"] in paper.MODELS:
            assert row["its procedure"] > 60
            assert row["our defaults"] > 80  # guessing gives 20
            assert row["ours, tuned"] > 80


def test_topics_are_made_of_the_words_of_their_class(quick):
    # A made-up word is the name of its class or group and a letter; words that begin with "the"
    # are common to all, and any topic may have them.
    from cofactor.experiments.newsgroups.splits import CLASSES

    names = {label: [label.lower(), *groups.values()] for label, groups in CLASSES.items()}
    fits = table(quick[0], "newsgroups", "keywords_ours_kl_kl")
    right = [
        any(word.startswith(name) for name in names[row["class"]])
        for row in fits
        for word in row["keywords"].split()
        if not word.startswith("the")
    ]
    assert len(fits) == paper.RANK
    assert len(right) > 3 * len(fits)  # not only common words
    assert np.mean(right) > 0.85  # by chance one in five; 0.92 to 1.0 for eight other seeds


def test_labels_help_with_stories_and_ratings(quick):
    stories = {row["model"]: row for row in table(quick[0], "reuters", "scores")}
    assert stories["(KL, KL)"]["micro-F1"] > 0.7
    assert stories["(KL, KL)"]["ROC AUC"] > 0.85
    reviews = {row["model"]: row for row in table(quick[0], "ratings", "scores")}
    assert reviews["(KL, F)"]["RMSE"] < 0.6 * reviews["mean rating"]["RMSE"]
    r2 = {row["model"]: row["R²"] for row in table(quick[0], "ratings", "r2")}
    assert r2["mean rating"] <= 0 < 0.5 < r2["ridge"]


def test_how_often_maximum_likelihood_wins_adds_up(quick):
    rows = table(quick[0], "synthetic", "wins")
    assert [row["maximum likelihood"] for row in rows[:4]] == list(paper.MODELS)
    for row in rows:
        for cell in list(row.values())[2:]:
            numbers = [
                int(word)
                for word in cell.replace("(", " ").replace(")", " ").replace(",", " ").split()
                if word.isdigit()
            ]
            assert sum(numbers) == 2


def no_process_left(group, seconds=60):
    """Whether all processes of a group end in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    os.killpg(group, signal.SIGKILL)
    return False


def test_killed_half_way_and_run_again_gives_the_same_numbers(
    quick, quick_arguments, reproduce, tmp_path
):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "cofactor", "reproduce", *map(str, quick_arguments)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with open(tmp_path / "log", "w") as log:
        process = subprocess.Popen(
            [*command, "--out", str(out), "--jobs", "2"],
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
        trials = out / "newsgroups" / "trials"
        deadline = time.monotonic() + 240
        while process.poll() is None and time.monotonic() < deadline:
            if trials.is_dir() and len(list(trials.glob("[!.]*.json"))) >= 5:  # whole ones
                break
            time.sleep(0.05)
        assert process.poll() is None, (tmp_path / "log").read_text()
        process.kill()  # the workers must notice by themselves
        process.wait()
    assert no_process_left(process.pid)
    assert (out / "synthetic" / "manifest.json").exists()
    assert not (out / "newsgroups" / "manifest.json").exists()
    assert not (out / "newsgroups" / "report.md").exists()
    reproduce(*quick_arguments, "--out", out, "--jobs", "1")
    assert tables(out) == tables(quick[0])
    manifest = json.loads((out / "newsgroups" / "manifest.json").read_text())
    assert manifest["trials"][0]["found"] >= 5
    # A file that a killed worker was writing stays hidden among the trials; nothing else does.
    assert {path.parent.name for path in out.rglob(".*")} <= {"trials"}


def test_headlines_as_json(quick, reproduce, common_arguments):
    """A second run finds its trials; its tables are those of the folder."""
    out, _ = quick
    result = reproduce("ratings", *common_arguments, "--out", out, "--json")
    (run,) = json.loads(result.stdout)
    assert run["experiment"] == "ratings"
    assert run["tables"][0]["rows"] == table(out, "ratings", "scores")
