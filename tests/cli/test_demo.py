"""`cofactor demo`: what it computes, what it prints where, and how it refuses."""

import json
import math
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

from cofactor import TopicModel
from cofactor._version import __version__
from cofactor.cli import main
from cofactor.cli._terminal import as_typed
from cofactor.cli.demo import Demonstration, DemoTopic, _show, choose_labelled, describe_topics
from cofactor.text.fitted_topics import FittedTopics

pytestmark = pytest.mark.slow  # the fixture runs the whole demo


def run_python(*arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    report = tmp_path_factory.mktemp("demo") / "new" / "report.html"
    options = ["--json", "--seed", "1", "--report", str(report)]
    return CliRunner().invoke(main, ["demo", *options], catch_exceptions=False)


@pytest.fixture(scope="module")
def result(run):
    return json.loads(run.stdout)


def test_json_alone_goes_to_stdout_and_progress_to_stderr(run, result):
    assert run.exit_code == 0
    assert result["seed"] == 1
    assert "Reading" in run.stderr
    assert "Fitting the topics" in run.stderr


def test_the_report_has_the_accuracy_of_the_table(result):
    page = Path(result["report"]).read_text()
    assert page.lower().startswith("<!doctype html>")
    assert "Topics of numpy, scipy and scikit-learn" in page
    assert f"{100 * result['accuracy']['cofactor']:.1f} %" in page.replace("\u202f", " ")


def test_every_accuracy_is_that_of_the_report(result):
    page = Path(result["report"]).read_text()
    row = r"<td>([^<]+)</td>\s*<td class=\"number\">([\d.]+) %</td>"
    reported = {name: float(score) for name, score in re.findall(row, page)}
    names = {
        "this model": "cofactor",
        "majority": "largest class",
        "topics without labels": "cofactor, topics without labels",
    }
    printed = {name: round(100 * score, 1) for name, score in result["accuracy"].items()}
    assert len(reported) == 5
    assert {names.get(name, name): score for name, score in reported.items()} == printed


def test_one_document_in_ten_is_labelled(result):
    assert result["labelled"] + result["unlabelled"] == result["documents"] > 2000
    assert result["labelled"] / result["documents"] == pytest.approx(0.1, abs=0.01)


def test_topics_cover_the_corpus_and_speak_for_its_classes(result):
    topics = result["topics"]
    assert len(topics) == 24
    assert sum(topic["corpus_share"] for topic in topics) == pytest.approx(1, abs=0.01)
    assert all(0 < topic["label_share"] <= 1 for topic in topics)
    assert len({topic["label"] for topic in topics}) >= 15
    assert all(len(set(topic["words"])) == 8 for topic in topics)


def test_predictions_are_good(result):
    assert result["accuracy"]["cofactor"] > 0.8
    assert result["accuracy"]["largest class"] < 0.25


@pytest.mark.slow
def test_unlabelled_documents_help_where_labels_are_few():
    run = CliRunner().invoke(main, ["demo", "--json", "--labels", "0.02"], catch_exceptions=False)
    accuracy = json.loads(run.stdout)["accuracy"]
    assert accuracy["cofactor"] > accuracy["logistic regression"] + 0.02
    assert accuracy["cofactor"] > accuracy["naive Bayes"] + 0.02


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--labels", "0"], "0 is not a share"),
        (["--labels", "1.5"], "1.5 is not a share"),
        (["--labels", "nan"], "nan is not a share"),
        (["--labels", "few"], "'few' is not a valid float"),
        (["--topics", "0"], "'0' is not a whole number of at least 1"),
        (["-k", "many"], "'many' is not a whole number of at least 1"),
        (["--seed", "-1"], "'-1' is not a whole number from 0 to 4,294,967,295"),
        (["surplus"], "unexpected extra argument"),
    ],
)
def test_bad_options_are_refused_in_a_sentence(options, words):
    refused = CliRunner().invoke(main, ["demo", *options])
    assert refused.exit_code == 2
    assert words in refused.stderr
    assert refused.stdout == ""


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"], ["--version"]])
def test_help_and_version_load_no_numerical_library(arguments):
    code = (
        "import sys; from cofactor.cli import main; main(sys.argv[1:], standalone_mode=False);"
        "print(sorted({'numba', 'numpy', 'scipy', 'sklearn'} & sys.modules.keys()))"
    )
    answer = run_python("-c", code, *arguments)
    assert answer.stdout.endswith("[]\n"), answer.stdout + answer.stderr


def test_version():
    assert CliRunner().invoke(main, ["--version"]).stdout.split()[-1] == __version__


def test_without_docstrings_it_says_why():
    answer = run_python("-OO", "-c", "from cofactor.cli import main; main(['demo'])")
    assert answer.returncode == 1
    assert "-OO" in answer.stderr


@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 1.0])
def test_every_class_keeps_its_share_of_labels(share):
    labels = np.array(["rare"] * 7 + ["common"] * 90, dtype=object)
    known = choose_labelled(labels, share, seed=0)
    for label, size in (("rare", 7), ("common", 90)):
        assert known[labels == label].sum() == max(2, round(share * size))


def test_the_seed_chooses_the_labelled_documents():
    labels = np.array(["a", "b"] * 100, dtype=object)
    first, same, other = (choose_labelled(labels, 0.1, seed) for seed in (0, 0, 1))
    assert (first == same).all()
    assert (first != other).any()


def test_topics_are_described_by_weight_link_and_mass():
    model = TopicModel(2)
    estimator = SimpleNamespace(
        components_=np.array([[1.0, 3.0, 0.0], [0.0, 0.0, 2.0]]),
        target_components_=np.array([[3.0, 1.0], [0.0, 0.0]]),
        coding=SimpleNamespace(kind="multiclass"),
        pooled_head=None,
        probabilities=lambda scores: np.array([[0.6, 0.4], [0.75, 0.25], [0.5, 0.5], [0.2, 0.8]]),
    )
    model.set_fitted(
        FittedTopics(
            estimator=estimator,
            vectorizer=SimpleNamespace(get_feature_names_out=lambda: ["one", "two", "three"]),
            document_topics=np.array([[0.0, 1.0], [1.0, 2.0], [0.0, 0.0], [0.0, 5.0]]),
            topic_names=["a", "b"],
            coherence=np.zeros(2),
            target_names=["x", "y"],
            seed=0,
            timings={},
            fingerprint="",
        )
    )
    large, small = describe_topics(model)
    assert small == DemoTopic(["two", "one"], "x", 0.75, pytest.approx(0.5 / 3))
    of_y = (0.4 + 0.5 * 0.25 + 0.8) / 2.5  # documents count by their shares, half of the second
    assert (large.label_share, large.corpus_share) == (pytest.approx(of_y), pytest.approx(2.5 / 3))


def test_topics_are_those_of_the_command_topics():
    texts = ["moon rocket orbit", "puck goal", "rocket moon", "goal hockey"] * 3
    model = TopicModel(2, random_state=0).fit(texts, ["a", "b", "", ""] * 3)
    rows = sorted(model.topics(8), key=lambda row: -row.share)
    shown = [(t.words, t.label, t.label_share, t.corpus_share) for t in describe_topics(model)]
    assert shown == [(list(r.words), r.label, r.label_weight, r.share) for r in rows]


def a_result(**changes):
    topic = DemoTopic(["frequency", "[filter]", ":wave:", "signal"] * 4, "scipy.signal", 0.9, 0.5)
    values = {
        "documents": 3000,
        "classes": ["scipy.signal", "scipy.stats"],
        "labelled": 300,
        "unlabelled": 2700,
        "words": 1000,
        "topics": [topic, topic],
        "accuracy": {"cofactor": 0.9, "naive Bayes": 0.8},
        "how": "Tested on 2,700 documents.",
        "seed": 0,
        "iterations": 12,
        "stop_reason": "[Converged] at last.",
        "versions": {"cofactor": "1", "numpy": "2"},
    }
    return Demonstration(**{**values, **changes})


def shown(result, width):
    console = Console(width=width, markup=False, emoji=False, highlight=False)
    with console.capture() as captured:
        _show(result, console)
    return captured.get()


@pytest.mark.parametrize("width", [30, 40, 60, 80, 200])
def test_the_page_fits_the_terminal_and_its_encoding(width):
    page = shown(a_result(), width)
    assert max(map(len, page.splitlines())) <= width
    assert page.isascii()


def test_the_page_takes_words_literally():
    page = shown(a_result(), 80)
    assert "frequency [filter] :wave:" in page
    assert "[Converged] at last." in page


def test_the_page_counts_iterations_where_no_reason_is_given():
    assert "12 iterations" in shown(a_result(stop_reason=None), 80)


def test_the_page_says_how_it_was_tested():
    assert "Tested on 2,700 documents." in shown(a_result(), 80)
    assert "too few labels to test" in shown(a_result(accuracy={}, how=""), 80)


def test_without_hidden_labels_some_are_hidden_for_the_test():
    run = CliRunner().invoke(main, ["demo", "--json", "--labels", "1"], catch_exceptions=False)
    result = json.loads(run.stdout)
    assert result["unlabelled"] == 0
    assert "labels, which the fit itself held out" in result["how"]
    assert result["accuracy"]["cofactor"] > 0.9


def test_json_has_null_in_place_of_nan(monkeypatch):
    @dataclass
    class Result:
        accuracy: dict

    monkeypatch.setattr("cofactor.cli.demo.demonstrate", lambda *_: Result({"a": math.nan}))
    run = CliRunner().invoke(main, ["demo", "--json"], catch_exceptions=False)
    assert json.loads(run.stdout, parse_constant=pytest.fail) == {"accuracy": {"a": None}}


def test_the_next_command_works_as_typed(monkeypatch, tmp_path):
    script = tmp_path / "cofactor"
    script.touch(mode=0o755)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "argv", [str(script), "demo"])
    assert as_typed("demo", "--labels", 0.02) == f"{script} demo --labels 0.02"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert as_typed("topics", "a model") == "cofactor topics 'a model'"
    monkeypatch.setattr(sys, "argv", ["lib/cofactor/__main__.py", "demo"])
    assert as_typed("doctor") == "cofactor doctor"
    monkeypatch.setenv("PATH", "")
    assert as_typed("doctor") == f"{sys.executable} -m cofactor doctor"
