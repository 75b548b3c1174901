"""edit: several edits at once, by the numbers of the model; names of a report; refusals."""

import json
import os
import shutil

import numpy as np
import pytest

from cofactor import load_model
from cofactor.text.editing.changes import topics_digest
from commands import answer, cofactor, make_rows, write_table

EVERYTHING = [
    "--merge",
    "1,4",
    "--name",
    "4=one of two",
    "--drop",
    "2",
    "--freeze",
    "5",
    "--pin",
    "0=goal,oven",
    "--ban",
    "3=orbit",
]


@pytest.fixture(scope="module")
def edited(model, tmp_path_factory):
    """A model with merged, dropped, named, frozen, pinned and banned topics, one of them split."""
    folder = tmp_path_factory.mktemp("edited")
    shutil.copytree(model, folder / "model")
    shutil.copy(model.parent / "posts.csv", folder / "posts.csv")
    cofactor("edit", folder / "model", *EVERYTHING, "-o", folder / "first")
    cofactor("edit", folder / "first", "--split", "2", "-o", folder / "edited")
    return folder / "edited"


@pytest.fixture(scope="module")
def model(home):
    return home / "model"


def same_topics(one, other):
    assert np.array_equal(one.estimator_.components_, other.estimator_.components_)
    assert one.topic_names_ == other.topic_names_
    assert one.settled_ == other.settled_


def test_all_numbers_are_those_of_the_model(model, edited):
    before = load_model(model)
    after = before.pin(0, ["goal", "oven"]).ban(3, "orbit").freeze(5)
    after = after.merge([1, 4], "one of two").drop(2)
    same_topics(load_model(edited.parent / "first"), after)


def test_what_is_said_of_a_merged_topic_holds_for_the_whole(model, tmp_path):
    cofactor(
        "edit",
        model,
        "--merge",
        "1,4",
        "--freeze",
        "4",
        "--ban",
        "1=moon",
        "--name",
        "4=both",
        "-o",
        tmp_path / "m",
    )
    found = load_model(tmp_path / "m")
    assert found.settled_.names[1] == found.topic_names_[1] == "both"
    assert found.settled_.frozen[1]
    assert found.settled_.banned[1] == ["moon"]
    moon = list(found.vectorizer_.get_feature_names_out()).index("moon")
    assert found.estimator_.components_[1, moon] == 0


def test_names_of_topics_stand_for_numbers(model, tmp_path):
    names = load_model(model).topic_names_
    assert "," in names[1]
    found = answer(
        "edit", model, "--drop", f"{names[1]},3", "--name", f"{names[0]}=a=b", "-o", tmp_path / "m"
    )
    assert found["changes"] == {"names": {"0": "a=b"}, "drops": [1, 3]}
    assert [row["topic"] for row in found["topics"] if row["given_name"] == "a=b"] == [0]


def test_edits_are_told_and_noted(model, edited):
    said = cofactor("edit", model, *EVERYTHING, "-o", edited.parent / "again")
    names = load_model(model).topic_names_
    assert f"Wrote the model to {edited.parent / 'again'}.\n" in said.stderr
    again = cofactor("edit", model, "--name", "0=a", "-o", edited.parent / "again")
    assert "in place of the one there." in again.stderr
    assert f"Topic 2 ({names[2]}) is dropped." in said.stderr
    assert "Topics 1 and 4 are merged into topic 1 (one of two)." in said.stderr
    assert f"'goal' and 'oven' are pinned to topic 0 ({names[0]})." in said.stderr
    assert "The topics have new numbers." in said.stderr
    manifest = json.loads((edited / "manifest.json").read_text())
    fit, first, second = manifest["notes"]["history"]
    assert (fit["step"], first["step"], second["step"]) == ("fit", "edit", "edit")
    assert first["model"]["path"] == "../model"
    assert (
        second["model"]["digest"]
        == json.loads((edited.parent / "first" / "manifest.json").read_text())["digest"]
    )
    card = (edited / "README.md").read_text()
    assert "merged into topic 1" in card
    assert "pinned: goal, oven" in card
    assert "history" not in card


def test_edited_models_serve_all_commands(home, edited, tmp_path):
    before, after = (answer("topics", one)["topics"] for one in (home / "model", edited))
    assert sum(row["labels"] for row in after) == sum(row["labels"] for row in before) == 48
    shown = [
        cofactor("topics", edited).stdout,
        cofactor("explain", edited, "the moon and the oven").stdout,
        cofactor("compare", home / "model", edited, "--data", home / "posts.csv").stdout,
        cofactor("predict", edited, home / "new.csv", "--topics").stdout,
        (edited.parent / "first" / "README.md").read_text(),
    ]
    first = cofactor("topics", edited.parent / "first").stdout
    assert "–" in first  # the coherence that is not known
    assert "(pinned: goal, oven)" in first
    cofactor("export", edited.parent / "first", "-o", tmp_path / "tables")
    shown += [first, (tmp_path / "tables" / "topics.csv").read_text()]
    assert ",yes,," in shown[-1]  # the frozen topic
    for text in shown:
        assert "nan" not in text.lower().replace("explanation", "")
    rows = answer("topics", edited.parent / "first")["topics"]
    assert {row["topic"]: row["coherence"] is None for row in rows}[1]
    assert json.loads(cofactor("predict", edited, home / "new.csv", "--json").stdout.split("\n")[0])


def test_verify_repeats_edits(edited, tmp_path):
    assert answer("verify", edited)["identical"]
    first = edited.parent / "first"
    found = answer("verify", first)
    assert (found["step"], found["identical"], found["data"]) == ("edit", True, None)
    moved = tmp_path / "moved"
    shutil.copytree(first, moved)
    assert "--before" in cofactor("verify", moved, code=2).stderr
    assert answer("verify", moved, "--before", edited.parent / "model")["identical"]
    assert "is not the model" in cofactor("verify", moved, "--before", edited, code=2).stderr


def test_verify_notices_other_names_and_unknown_edits(edited, tmp_path):
    first = edited.parent / "first"
    notes = json.loads((first / "manifest.json").read_text())["notes"]
    changed = load_model(first).rename(0, "another")
    changed.save(edited.parent / "changed", notes=notes)
    found = answer("verify", edited.parent / "changed", code=1)
    assert found["identical"]
    assert not found["same_names"]
    changed.save(tmp_path / "m")
    assert "does not say how" in cofactor("verify", tmp_path / "m", code=2).stderr
    damaged = {**notes, "history": [*notes["history"][:-1], {**notes["history"][-1]}]}
    damaged["history"][-1]["changes"] = {"merges": {"a": 1}}
    changed.save(edited.parent / "changed", notes=damaged)
    assert "are damaged" in cofactor("verify", edited.parent / "changed", code=2).stderr


# ---- names of a report


def names_file(path, model, names, change=None):
    content = {"fingerprint": topics_digest(load_model(model)), "names": names, **(change or {})}
    path.write_text(json.dumps(content))
    return path


def test_names_of_a_report(model, tmp_path):
    old = load_model(model).topic_names_
    names = dict(enumerate(old)) | {1: " billing ", 4: "other"}
    path = names_file(tmp_path / "names.json", model, names)
    cofactor("edit", model, "--names", path, "--name", "4=mine", "-o", tmp_path / "m")
    found = load_model(tmp_path / "m")
    assert found.settled_.names == [None, "billing", None, None, "mine", None]
    assert found.topic_names_ == [old[0], "billing", *old[2:4], "mine", old[5]]
    same = names_file(tmp_path / "same.json", model, dict(enumerate(old)))
    assert (
        "nothing changes"
        in cofactor("edit", model, "--names", same, "-o", tmp_path / "x", code=2).stderr
    )
    found = load_model(model)
    assert topics_digest(found.rename(0, "x")) == topics_digest(found)  # names may come twice
    assert topics_digest(found.drop(0)) != topics_digest(found)


BAD_NAMES = {
    "of another model": ({"fingerprint": "0" * 32}, "belongs to a model other than"),
    "no fingerprint": ({"fingerprint": None}, "belongs to a model other than"),
    "unknown topic": ({"names": {"6": "a"}}, "topic '6' does not exist; the topics are 0 to 5."),
    "empty": ({"names": {"0": "  "}}, "the name of topic 0 is empty"),
    "no text": ({"names": {"0": 3}}, "no names of topics; it must hold an object"),
    "a list": ({"names": ["a"]}, "no names of topics; it must hold an object"),
}


@pytest.mark.parametrize("case", BAD_NAMES)
def test_bad_names_are_refused(model, tmp_path, case):
    change, said = BAD_NAMES[case]
    path = names_file(tmp_path / "names.json", model, {"0": "a"}, change)
    done = cofactor("edit", model, "--names", path, "-o", tmp_path / "m", code=2)
    assert said in done.stderr
    assert os.listdir(tmp_path) == ["names.json"]


@pytest.mark.parametrize("data", [b"", b"{", b'{"0": "a", "0": "b"}', b"\xff\x00", b"[" * 9000])
def test_damaged_names_are_refused(model, tmp_path, data):
    (tmp_path / "names.json").write_bytes(data)
    done = cofactor("edit", model, "--names", tmp_path / "names.json", "-o", tmp_path / "m", code=2)
    assert "has no names of topics" in done.stderr
    assert done.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == ["names.json"]


# ---- refusals

REFUSED = {
    "nothing": ([], "There is nothing to edit"),
    "no such topic": (["--merge", "2,6"], "--merge: topic '6' does not exist; the topics are 0"),
    "negative topic": (["--drop", "-1"], "topic '-1' does not exist"),
    "no such name": (["--freeze", "spac"], "topic 'spac' does not exist"),
    "one topic": (["--merge", "2"], "A merge needs two topics"),
    "one topic twice": (["--merge", "2,2"], "A merge needs two topics"),
    "two merges": (["--merge", "2,3", "--merge", "3,4"], "Topic 3 is in two merges"),
    "all topics": (["--drop", "0,1,2,3,4,5"], "the last one cannot be dropped"),
    "dropped and merged": (["--merge", "2,3", "--drop", "3"], "both dropped and merged"),
    "dropped and named": (["--name", "2=a", "--drop", "2"], "Topic 2 is dropped"),
    "dropped and split": (["--split", "2", "--drop", "2"], "both dropped and split"),
    "merged and split": (["--split", "2", "--merge", "2,3"], "both merged and split"),
    "split and named": (["--split", "2", "--name", "2=a"], "name the parts afterwards"),
    "two names": (["--name", "2=a", "--name", "2=b"], "--name contradicts"),
    "two names of one": (["--name", "2=a", "--name", "3=b", "--merge", "2,3"], "give one name"),
    "frozen and thawed": (["--freeze", "2", "--thaw", "2"], "--thaw contradicts"),
    "frozen and thawed in one": (
        ["--freeze", "2", "--thaw", "3", "--merge", "2,3"],
        "both frozen and thawed",
    ),
    "no name": (["--name", "2"], "must be a topic and its new name, like 2=billing"),
    "no word": (["--pin", "2="], "must be a topic and words, like 4=refund,invoice"),
    "unknown word": (["--pin", "2=zeppelin"], "'zeppelin' is not among the"),
    "unknown word to ban": (["--ban", "2=goal,zeppelin"], "'zeppelin' is not among the"),
    "pinned and banned": (["--ban", "2=goal", "--pin", "2=goal"], "both pinned and banned"),
    "few parts": (["--split", "2", "--into", "1"], "'1' is not a whole number of at least 2."),
    "many parts": (["--split", "2", "--into", "80"], "needs at least 80 documents"),
    "no text fits": (["--split", "0", "--table", "{far}"], "fits 0 of the documents"),
    "a table for nothing": (["--drop", "2", "--table", "{far}"], "--table is for --split only"),
    "the model itself": (["--drop", "2", "-o", "{model}"], "is the model itself"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_edits_end_with_two(model, tmp_path, case):
    arguments, said = REFUSED[case]
    far = write_table(tmp_path / "far.csv", [["1", "zeppelin"], ["2", "airship"]], ("id", "body"))
    before = (model / "manifest.json").read_bytes()
    given = [one.format(far=far, model=model) for one in arguments]
    output = [] if "-o" in given else ["-o", tmp_path / "m"]
    done = cofactor("edit", model, *given, *output, code=2)
    assert said in " ".join(done.stderr.split())
    assert done.stdout == ""
    assert os.listdir(tmp_path) == ["far.csv"]
    assert (model / "manifest.json").read_bytes() == before


def test_a_split_describes_the_table_it_was_given(home, model, tmp_path):
    table = write_table(tmp_path / "more.csv", make_rows(45, seed=3))
    cofactor("edit", model, "--split", "3", "--table", table, "-o", tmp_path / "m")
    assert len(load_model(tmp_path / "m").documents()) == 45
    found = answer("verify", tmp_path / "m")
    assert found["identical"]
    assert found["same_data"]
    cofactor("export", tmp_path / "m", "-o", tmp_path / "tables")


@pytest.mark.parametrize("width", [80, 100])
def test_lists_of_topics_fit_the_terminal(edited, width):
    done = cofactor("topics", edited.parent / "first", env={"COLUMNS": str(width)})
    assert max(map(len, done.stdout.splitlines())) <= width
    assert done.stdout.split()[:3] == ["Topic", "Name", "Share"]
