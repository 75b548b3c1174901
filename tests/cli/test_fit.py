"""check, fit and topics: the numbers they give."""

import gzip
import json
import os
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from cofactor import load_model
from cofactor.io.models import read_facts
from commands import WORDS, answer, cofactor, make_rows, read_table, write_table


def test_check_counts_and_leads_to_fit(home):
    found = answer("check", home / "posts.csv", "--text", "body", "--label", "team")
    assert found["rows"] == 90
    assert found["labelled"] == sum(bool(row[2]) for row in make_rows())
    assert found["classes"] == {"space": 16, "food": 16, "sport": 16}
    assert found["encoding"] == "ascii"
    assert found["columns"] == ["id", "body", "team"]
    assert found["next"].startswith("cofactor fit ")
    assert found["next"].endswith("--text body --label team -k 9 -o model")


def test_fit_equals_python(home, model):
    from cofactor import TopicModel
    from cofactor.text import WordVectorizer

    loaded, rows = load_model(model), make_rows()
    ours = TopicModel(6, task="classes", vectorizer=WordVectorizer(), random_state=0)
    ours.fit([row[1] for row in rows], [row[2] for row in rows])
    assert np.array_equal(loaded.estimator_.components_, ours.estimator_.components_)
    assert loaded.fingerprint_ == ours.fingerprint_


def test_a_model_that_cannot_be_saved_is_one_sentence(home, tmp_path, monkeypatch):
    from cofactor.io.models import manifest

    monkeypatch.setattr(manifest, "MAX_MANIFEST_BYTES", 100)
    done = cofactor(
        "fit", home / "posts.csv", "--text", "body", "-k", 2, "-o", tmp_path / "m", code=2
    )
    assert "Error: The model cannot be saved: manifest.json has" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_manifest_remembers_the_table(model):
    noted = read_facts(model)["notes"]
    assert noted["input"]["path"] == "../posts.csv"
    assert (noted["input"]["text"], noted["input"]["label"]) == ("body", "team")
    assert (noted["input"]["rows"], noted["input"]["labelled"]) == (90, 48)
    assert len(noted["input"]["sha256"]) == 64
    assert noted["command"][0] == "cofactor"


def test_fit_tells_what_it_did(home, tmp_path):
    found = answer(
        "fit",
        home / "posts.csv",
        "--text",
        "body",
        "-k",
        2,
        "-o",
        tmp_path / "m",
        "--seed",
        3,
        "--iterations",
        5,
    )
    assert (found["topics"], found["classes"], found["seed"]) == (2, [], 3)
    assert found["input"]["task"] == "topics"
    assert found["iterations"] <= 5
    assert load_model(tmp_path / "m").n_components == 2


@pytest.mark.parametrize(
    ("labels", "always"),
    [
        (["a", "a", "b"], r"Always predicting 'a' (right for "),
        (["0.5", "1.5", "9"], "the mean may"),
    ],
)
def test_fit_says_if_texts_do_not_tell_the_labels(tmp_path, labels, always):
    random = np.random.default_rng(0)
    rows = [[i, body, random.choice(labels)] for i, body, _ in make_rows()]
    path = write_table(tmp_path / "a.csv", rows)
    done = cofactor("fit", path, "--text", "body", "--label", "team", "-k", 3, "-o", tmp_path / "m")
    expected = load_model(tmp_path / "m").expected_score_
    share = np.mean([row[2] == "a" for row in rows])
    assert expected.low <= share
    assert f"{expected}. Always predicting" in done.stderr
    assert always + (f"{share:.0%}" if share else "") in done.stderr
    assert "the texts do not predict these labels" in cofactor("topics", tmp_path / "m").stderr


def test_fit_ends_with_what_a_user_wants_to_know(home, tmp_path):
    fit = ["fit", home / "posts.csv", "--text", "body", "-k", 3, "-o", tmp_path / "m"]
    done = cofactor(*fit, "--label", "team")
    expected = load_model(tmp_path / "m").expected_score_
    *_, learned, score, written, following = done.stderr.splitlines()
    assert learned == "3 topics in 90 documents, 3 classes learned from 48 documents with labels."
    assert score == f"Expected on new texts like these: {expected}."
    assert written == f"Wrote the model to {tmp_path / 'm'}."
    assert following == f"Next: cofactor topics {tmp_path / 'm'}"
    assert "objective" not in done.stderr
    verbose = cofactor(*fit, "--label", "team", "--verbose").stderr
    reason = load_model(tmp_path / "m").estimator_.stop_reason_
    assert f"{reason} Time: vectorise" in verbose
    assert reason.split(":")[0] in (tmp_path / "m" / "README.md").read_text().replace("\\", "")
    done = cofactor(*fit)
    assert "3 topics in 90 documents, without predictions." in done.stderr
    assert "Expected on" not in done.stderr


def test_one_class_needs_no_word_on_held_out_labels(tmp_path):
    rows = [[i, body, "space"] for i, body, _ in make_rows(every=1)]
    table = write_table(tmp_path / "a.csv", rows)
    done = cofactor(
        *("fit", table, "--text", "body", "--label", "team", "-k", 2, "-o", tmp_path / "m")
    )
    assert "label some documents of other classes" in done.stderr
    assert "How well the model predicts" not in done.stderr


def test_fit_says_that_nothing_could_be_held_out(tmp_path):
    rows = [[i, body, team if i in ("0", "1") else ""] for i, body, team in make_rows(every=1)]
    table = write_table(tmp_path / "a.csv", rows)
    done = cofactor(
        "fit",
        table,
        "--text",
        "body",
        "--label",
        "team",
        "-k",
        2,
        "--iterations",
        2,
        "-o",
        tmp_path / "m",
    )
    assert load_model(tmp_path / "m").expected_score_ is None
    assert "How well the model predicts is not known: no labels could be held out" in done.stderr
    assert (
        "Note: Stopped after 2 iterations, before the fit converged; raise --iterations."
        in done.stderr
    )
    assert "Its README.md keeps the notes above." in done.stderr


def test_options_reach_the_model(home, tmp_path):
    stop = tmp_path / "stop.txt"
    stop.write_text("goal\npuck\n")
    cofactor(
        "fit",
        home / "posts.csv",
        "--text",
        "body",
        "--label",
        "team",
        "-k",
        4,
        "-o",
        tmp_path / "m",
        "--seed-words",
        "kitchen=oven,Butter",
        "--supervision",
        2.5,
        "--stop-words",
        stop,
        "--jobs",
        1,
    )
    found = load_model(tmp_path / "m")
    assert found.seeds == {"kitchen": ["oven", "Butter"]}
    assert found.supervision == 2.5
    assert not {"goal", "puck"} & set(found.vectorizer_.words_)
    assert "kitchen" in found.topic_names_


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--class-weight", "balanced"], "balanced"),
        (["--class-weight", "food=5", "--class-weight", "space = 0.5"], {"food": 5, "space": 0.5}),
    ],
)
def test_classes_have_weights(home, tmp_path, options, expected):
    cofactor(
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
        2,
        *options,
    )
    found = load_model(tmp_path / "m")
    assert found.class_weight == found.estimator_.class_weight == expected


def test_numbers_that_cannot_be_predicted_are_doubted(tmp_path):
    random = np.random.default_rng(1)
    rows = [[i, body, f"{random.normal():.3f}"] for i, body, _ in make_rows()]
    path = write_table(tmp_path / "a.csv", rows)
    done = cofactor(
        "fit",
        path,
        "--text",
        "body",
        "--label",
        "team",
        "-o",
        tmp_path / "m",
        "-k",
        3,
        "--iterations",
        20,
    )
    said = "Note: The R² to expect on new samples is"
    assert said in done.stderr
    assert "not above 0" in " ".join(read_facts(tmp_path / "m")["notes"]["warnings"])


def test_unlabelled_values_are_no_class(home, tmp_path):
    rows = [[i, body, team or "NA"] for i, body, team in make_rows()]
    path = write_table(tmp_path / "a.csv", rows)
    found = answer(
        "fit",
        path,
        "--text",
        "body",
        "--label",
        "team",
        "--unlabelled",
        "NA",
        "-o",
        tmp_path / "m",
        "-k",
        3,
    )
    assert found["classes"] == ["food", "space", "sport"]
    assert answer("verify", tmp_path / "m")["identical"]


def test_numbers_are_predicted_where_labels_are_fractions(tmp_path):
    rows = [[i, body, f"{3.5 if 'orbit' in body else 0.5}"] for i, body, _ in make_rows()]
    path = write_table(tmp_path / "a.csv", rows)
    cofactor("fit", path, "--text", "body", "--label", "team", "-o", tmp_path / "m", "-k", 3)
    cofactor("predict", tmp_path / "m", path, "-o", tmp_path / "out.csv")
    _, out = read_table(tmp_path / "out.csv")
    assert all(0.5 <= float(row[4]) <= float(row[3]) <= float(row[5]) <= 3.5 for row in out)
    assert "team" in cofactor("topics", tmp_path / "m").stdout
    assert answer("verify", tmp_path / "m")["identical"]


def test_topics_are_sorted_and_speak_for_their_classes(model):
    found = answer("topics", model, "--words", 4)
    shares = [row["share"] for row in found["topics"]]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1)
    for row in found["topics"]:
        assert len(row["words"]) == 4
        assert sum(word in WORDS[row["label"]] for word in row["words"]) >= 2
    assert [row["label"] for row in found["classes"]] == ["food", "space", "sport"]


def test_topics_by_coherence_and_by_probability(model):
    loaded = load_model(model)
    for by in ("coherence", "probability"):
        found = answer("topics", model, "--words", 5, "--by", by)
        for row in found["topics"]:
            topic = loaded.topics(5, by=by)[row["topic"]]
            assert row["words"] == list(topic.words)
            assert row["coherence"] == pytest.approx(topic.coherence)
    assert answer("topics", model, "--words", 5)["topics"] != found["topics"]
    assert "'weight' is not one of" in cofactor("topics", model, "--by", "weight", code=2).stderr


def test_fit_tells_its_iterations(home, tmp_path, monkeypatch):
    told = []

    @contextmanager
    def announce(sentence):
        yield told.append

    monkeypatch.setattr("cofactor.cli._models.announce", announce)
    cofactor("fit", home / "posts.csv", "--text", "body", "-k", 2, "-o", tmp_path / "m")
    n = load_model(tmp_path / "m").n_iter_
    assert told == [f"iteration {i}" for i in range(1, n + 1)]


def test_stability_is_measured_saved_and_shown(home, tmp_path):
    fit = ["fit", home / "posts.csv", "--text", "body", "--label", "team", "-k", 3]
    cofactor(*fit, "--stability", 3, "-o", tmp_path / "m")
    rows = answer("topics", tmp_path / "m")["topics"]
    assert all(0.8 < row["stability"] <= 1.0 for row in rows)
    shown = cofactor("topics", tmp_path / "m").stdout
    assert f"{rows[0]['stability']:.2f} (" in shown
    assert "Stability" in shown.splitlines()[0]
    assert [row["labels"] for row in rows] == [16, 16, 16]  # make_rows labels 48 of 90


def test_a_model_can_forget_its_documents(home, model, tmp_path):
    fit = ["fit", home / "posts.csv", "--text", "body", "--label", "team", "-k", 6]
    small = tmp_path / "small"
    cofactor(*fit, "--forget-documents", "-o", small)
    ours = ["predict", small, home / "posts.csv", "-o", tmp_path / "small.csv"]
    others = ["predict", model, home / "posts.csv", "-o", tmp_path / "whole.csv"]
    cofactor(*ours)
    cofactor(*others)
    assert (tmp_path / "small.csv").read_text() == (tmp_path / "whole.csv").read_text()
    assert answer("topics", small)["topics"] == answer("topics", model)["topics"]
    assert read_facts(small)["data"]["samples"] == 90
    cofactor("report", small, "-o", tmp_path / "report.html")
    refused = cofactor("edit", small, "--merge", "0,1", "-o", tmp_path / "edited", code=2)
    assert "has forgotten its documents" in refused.stderr


def real_rows(name):
    """Some rows of a real table: a text and its label, which one in three lacks."""
    if name == "docstrings":
        from cofactor.datasets import docstring_corpus

        corpus = docstring_corpus()
        pairs = list(zip(corpus.texts, corpus.labels, strict=True))[::3]
    else:
        home = os.environ.get("COFACTOR_DATA_HOME")
        path = Path(home or ".", "20news-bydate-train.jsonl.gz")
        if not path.exists():
            pytest.skip("set COFACTOR_DATA_HOME to a folder with 20 Newsgroups")
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            pairs = [(post["text"], post["group"]) for post in map(json.loads, lines)][::16]
    return [["1", text, label if i % 3 else ""] for i, (text, label) in enumerate(pairs)]


@pytest.mark.parametrize("labels", [("--label", "team"), ()])
@pytest.mark.parametrize("name", ["docstrings", "20 newsgroups"])
def test_fit_seeks_as_many_topics_as_check_proposes(tmp_path, name, labels):
    table = write_table(tmp_path / "t.csv", real_rows(name))
    proposed = answer("check", table, "--text", "body", *labels)
    fitted = answer(
        "fit", table, "--text", "body", *labels, "--iterations", 1, "-o", tmp_path / "m"
    )
    assert fitted["topics"] == proposed["suggested_topics"]
    assert proposed["next"].endswith(f"-k {fitted['topics']} -o model")
    assert not labels or fitted["topics"] >= len(proposed["classes"]) > 10
