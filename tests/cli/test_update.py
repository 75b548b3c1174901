"""update: a model learns from a table of new documents."""

import json

from cofactor import load_model
from commands import answer, cofactor, write_table

NEW = [
    ["flour yeast dough", "kitchen"],
    ["dough oven flour", "kitchen"],
    ["oven bread yeast", ""],
    ["bread dough oven flour", "kitchen"],
] * 3


def test_new_words_topics_and_classes_are_told(home, model, tmp_path):
    write_table(tmp_path / "more.csv", NEW, ("body", "team"))
    found = answer("update", model, tmp_path / "more.csv", "-o", tmp_path / "m2", "--new-topics", 1)
    assert found["new_words"] == ["bread", "dough", "yeast"]  # others are known
    assert found["new_classes"] == ["kitchen"]
    assert len(found["new_topics"]) == 1
    assert [row["before"] for row in found["drift"]] == [0, 1, 2, 3, 4, 5, None]
    updated = load_model(tmp_path / "m2")
    assert updated.predict(["fresh dough"]).tolist() == ["kitchen"]
    noted = json.loads((tmp_path / "m2" / "manifest.json").read_text())["notes"]
    assert noted["updated"]["path"] == str(model)
    assert noted["input"]["text"] == "body"
    done = cofactor("verify", tmp_path / "m2", code=2)
    assert "by cofactor update, which cannot be repeated" in done.stderr


def test_many_new_words_are_told_in_part(home, model, tmp_path):
    words = ["bread", "dough", "yeast", "violin", "piano", "concert", "tulip", "daisy", "maple"]
    write_table(tmp_path / "more.csv", [[" ".join(words)]] * 4, ("body",))
    said = cofactor("update", model, tmp_path / "more.csv", "-o", tmp_path / "m2").stderr
    told = ", ".join(sorted(words)[:8])
    assert f"9 new words: {told}, ...\n" in said


def test_another_spelling_of_a_class_is_told(home, model, tmp_path):
    rows = [["rocket to the moon", "Space"], ["garlic sauce", "food"], ["a new orbit", "spcae"]] * 4
    write_table(tmp_path / "more.csv", rows, ("body", "team"))
    asked = ["update", model, tmp_path / "more.csv", "-o", tmp_path / "m2"]
    said = cofactor(*asked).stderr
    assert "The class 'Space' is new, and probably 'space' of the model" in said
    assert "--relabel Space=space merges them" in said
    assert "--relabel spcae=space" in said
    done = answer(*asked, "--relabel", "Space=space", "--relabel", "spcae=space")
    assert done["new_classes"] == []


def test_reports_do_not_test_with_learned_labels(home, model, tmp_path):
    """They are tested by fits that have not seen them, as those of a fit are."""
    write_table(tmp_path / "more.csv", NEW * 2, ("body", "team"))
    cofactor("update", model, tmp_path / "more.csv", "-o", tmp_path / "m2", "--new-topics", 1)
    for table in ([], ["--data", home / "posts.csv"]):
        cofactor("report", tmp_path / "m2", *table, "-o", tmp_path / "r.html", "--force")
        assert "has not seen their labels" not in (tmp_path / "r.html").read_text()
    done = cofactor("refit", tmp_path / "m2", "-o", tmp_path / "m3")
    assert "learned from several tables" in done.stderr
    again = cofactor("update", model, tmp_path / "more.csv", "-o", tmp_path / "m2")
    assert "in place of the one there" in again.stderr


def test_labels_may_be_missing(home, model, tmp_path):
    done = cofactor("update", model, home / "new.csv", "-o", tmp_path / "m2", "--move", 0.1)
    assert "has no label column 'team', so no label is learned" in done.stderr
    assert "30 new documents." in done.stderr
    assert "0 new topics." in done.stderr
    assert "Similar" in done.stdout
    assert len(load_model(tmp_path / "m2").document_topics_) == 90 + 30


def test_refusals_write_nothing(home, model, tmp_path):
    write_table(tmp_path / "none.csv", [["1 2"], ["3"]], ("body",))
    for options in (
        [tmp_path / "none.csv"],
        [home / "new.csv", "--move", 2],
        [home / "new.csv", "--new-topics", -1],
    ):
        cofactor("update", model, *options, "-o", tmp_path / "m2", code=2)
    assert not (tmp_path / "m2").exists()
