"""Small things that a new user meets: proposals, suggestions, standard input, narrow terminals."""

import json
import re
import warnings

import numpy as np
import pytest

from cofactor.cli._command import noted_warnings
from commands import answer, cofactor, make_rows, process, write_table


def table_of(folder, classes, each=4, name="many.csv"):
    """Write a table with this many classes."""
    rows = [
        [f"word{c}a word{c}b filler{(c * each + i) % 7} other{i}", f"class {c}"]
        for c in range(classes)
        for i in range(each)
    ]
    return write_table(folder / name, rows, ("text", "label"))


@pytest.mark.parametrize("classes", [8, 60])
def test_check_and_fit_propose_the_same_number_of_topics(tmp_path, classes):
    table_of(tmp_path, classes)
    read = [tmp_path / "many.csv", "--text", "text", "--label", "label"]
    proposed = re.search(r" -k (\d+) ", answer("check", *read)["next"])[1]
    said = cofactor("fit", *read, "-k", 3, "-o", tmp_path / "model").stderr
    assert re.search(r"-k (\d+) gives", said)[1] == proposed
    said = cofactor("fit", *read, "-k", proposed, "-o", tmp_path / "again").stderr
    assert "several classes share a topic" not in said


def test_a_weight_names_the_class_that_it_does_not_know(home):
    fit = ["fit", home / "posts.csv", "--text", "body", "--label", "team", "-o", home / "no"]
    done = cofactor(*fit, "--class-weight", "spce=3", code=2)
    assert "--class-weight has a weight for 'spce'" in done.stderr
    assert "Did you mean 'space'?" in done.stderr


def test_a_missing_file_suggests_no_other_kind_of_file(tmp_path):
    for name in ("predictions.csv", "model.csv", "topics.csv", "suggestions.csv"):
        (tmp_path / name).touch()
    done = cofactor("check", tmp_path / "nofile.csv", code=2)
    assert "Did you mean" not in done.stderr
    (tmp_path / "tickets.csv").touch()
    done = cofactor("check", tmp_path / "ticket.cvs", code=2)
    assert "tickets.csv'?" in done.stderr


def test_a_missing_model_suggests_models(home, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "modle.csv").touch()
    assert "Did you mean" not in cofactor("topics", "modl", code=2).stderr
    (tmp_path / "modell").mkdir()
    (tmp_path / "modell" / "manifest.json").touch()
    assert "Did you mean 'modell'?" in cofactor("topics", "modl", code=2).stderr


@pytest.mark.parametrize("jobs", [-5, 0])
def test_no_number_of_threads_is_refused(home, jobs):
    read = ["--text", "body", "--label", "team", "-o", home / "no"]
    done = cofactor("fit", home / "posts.csv", *read, "--jobs", jobs, code=2)
    assert f"--jobs {jobs} is no number of threads" in done.stderr


@pytest.mark.parametrize("form", ["lines", "array"])
def test_json_on_standard_input(form):
    rows = [{"body": row[1], "team": row[2]} for row in make_rows()]
    whole = "\n".join(map(json.dumps, rows)) if form == "lines" else json.dumps(rows)
    read = ["--text", "body", "--label", "team", "--json"]
    found = json.loads(process("check", "-", *read, input=whole.encode()).stdout)
    assert (found["rows"], found["format"]) == (len(rows), "jsonl" if form == "lines" else "json")


def test_long_names_of_classes_stay_whole_at_80_columns(tmp_path):
    names = ["comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware"]
    rows = [
        [f"{'window file' if i % 2 else 'drive disk'} w{i % 5}", names[i % 2]] for i in range(40)
    ]
    write_table(tmp_path / "t.csv", rows, ("text", "label"))
    read = ["--text", "text", "--label", "label", "-k", 2, "-o", tmp_path / "m"]
    cofactor("fit", tmp_path / "t.csv", *read)
    said = cofactor("explain", tmp_path / "m", "window drive file disk", env={"COLUMNS": "80"})
    lines = said.stdout.splitlines()
    table = lines[lines.index("") + 1 :][:5]
    assert [line.split()[:2] for line in table[:1]] == [["Lead", "Score"]]
    assert all(line.endswith(("Favours", *names)) for line in table)


def test_an_explanation_of_a_number_does_not_repeat_its_name(tmp_path):
    random = np.random.default_rng(0)
    rows = [
        [f"{'good' if i % 2 else 'bad'} wine w{i % 5}", f"{80 + 9 * (i % 2) + random.random():.2f}"]
        for i in range(60)
    ]
    write_table(tmp_path / "t.csv", rows, ("text", "points"))
    read = ["--text", "text", "--label", "points", "-k", 2, "-o", tmp_path / "m"]
    cofactor("fit", tmp_path / "t.csv", *read)
    said = cofactor("explain", tmp_path / "m", "good wine").stdout
    table = said.split("\n\n")[1]
    assert "points" not in table
    assert "Score" in table.splitlines()[0]


def test_words_and_documents_are_limited(home):
    read = ["fit", home / "posts.csv", "--text", "body", "--label", "team", "-k", 3]
    few = answer(*read, "-o", home / "few", "--words", 10, "--json")
    assert few["words"] == 10
    common = answer(*read, "-o", home / "common", "--min-documents", 20, "--json")
    usual = answer(*read, "-o", home / "usual", "--json")
    assert common["words"] < usual["words"]


def test_repeated_passages_are_shown_with_their_rows_and_dropped(tmp_path):
    footer = "This message is confidential and only for the addressee."
    subjects = ["moon orbit rocket nasa", "puck goal hockey team", "god church bible faith"]
    rows = [
        [
            f"{subjects[i % 3]} {'abcdefghij'[i % 10] * (3 + i // 10)}. {'' if i % 5 else footer}",
            "x y z"[2 * (i % 3)],
        ]
        for i in range(300)
    ]
    write_table(tmp_path / "t.csv", rows, ("text", "label"))
    read = [tmp_path / "t.csv", "--text", "text"]
    (passage,) = answer("check", *read)["shared_passages"]
    assert (passage["passage"], passage["count"]) == (footer, 60)
    assert passage["rows"] == [2, 7, 12, 17, 22]
    said = cofactor("check", *read).stdout
    assert "in 20% of the texts (rows 2, 7, 12, 17, 22, …)" in " ".join(said.split())
    cofactor("fit", *read, "-k", 4, "-o", tmp_path / "m")
    done = cofactor("topics", tmp_path / "m")
    assert "repeated" in done.stdout
    assert "fit --drop-repeated leaves these out" in done.stderr
    cofactor("fit", *read, "-k", 4, "-o", tmp_path / "clean", "--drop-repeated")
    found = answer("topics", tmp_path / "clean")
    assert not any(topic["repeated"] for topic in found["topics"])
    assert "confidential" not in {word for topic in found["topics"] for word in topic["words"]}


def test_a_limit_that_cuts_off_telling_words_is_said(tmp_path):
    random = np.random.default_rng(0)
    fillers = [f"filler{letter}" for letter in "abcdefghij"]
    telling = {name: [f"{name}{letter}" for letter in "klmnopq"] for name in ("moon", "puck")}
    rows = [
        [" ".join([*random.choice(fillers, 8), *random.choice(telling[name], 2)]), name]
        for name in ["moon", "puck"] * 100
    ]
    write_table(tmp_path / "t.csv", rows, ("text", "label"))
    read = [tmp_path / "t.csv", "--text", "text", "--label", "label", "-k", 2]
    found = answer("fit", *read, "-o", tmp_path / "few", "--words", 4)
    assert "try --words 8" in " ".join(found["warnings"])
    found = answer("fit", *read, "-o", tmp_path / "all", "--words", 24)
    assert "--words" not in " ".join(found["warnings"])


def test_a_single_class_has_no_score_to_expect(tmp_path):
    rows = [[text, "only" if i % 3 else ""] for i, (_, text, *_) in enumerate(make_rows())]
    table = write_table(tmp_path / "a.csv", rows, ("text", "label"))
    fit = ("fit", table, "--text", "text", "--label", "label", "-k", 3, "-o", tmp_path / "m")
    said = cofactor(*fit).stderr
    assert ", 1 class learned from" in said
    assert "Expected" not in said


def test_warnings_for_programmers_are_not_noted(capsys):
    with noted_warnings() as told:
        warnings.warn("use another function", DeprecationWarning, stacklevel=1)
        warnings.warn("look at this", UserWarning, stacklevel=1)
    assert told == {"look at this": UserWarning}
    assert capsys.readouterr().err == "Note: look at this\n"
