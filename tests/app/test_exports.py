"""Exports: the table with its labels, the report, and code that makes the same model."""

import csv
import io
import json

import pytest

from app_corpus import TEXTS, TRUTH
from cofactor.io.tables.writers import is_formula
from hostile import HOSTILE


def test_the_table_comes_back_with_its_labels(page):
    given = [(TRUTH[i],) if i < 12 else () for i in range(60)]
    page.begin(given=given, every=3)
    for place, labels in ((0, ["food"]), (1, []), (20, [TRUTH[20]]), (21, [TRUTH[21]])):
        page.change("label", tab="t", document=place, labels=labels)
    page.session.refitter.wait(30)
    answer = page.read("table.csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="posts-labelled.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert [row["body"] for row in rows] == TEXTS
    expected = ["food", "", *TRUTH[2:12], *[""] * 8, TRUTH[20], TRUTH[21], *[""] * 38]
    assert [row["team"] for row in rows] == expected
    source = ["reviewed"] * 2 + ["table"] * 10 + [""] * 8 + ["reviewed"] * 2 + [""] * 38
    assert [row["label_source"] for row in rows] == source
    assert rows[30]["prediction"] == page.session.now.documents[30].prediction
    lines = page.read("table.jsonl").content.splitlines()
    assert [json.loads(line)["body"] for line in lines] == TEXTS
    assert json.loads(lines[20])["team"] == TRUTH[20]


def test_several_labels_in_the_table(page):
    page.begin(several=True, every=100)
    page.make_classes()
    page.change("label", tab="t", document=5, labels=["food", "space"])
    rows = list(csv.DictReader(io.StringIO(page.read("table.csv").content.decode())))
    assert rows[5]["team"] == "food;space"
    assert json.loads(page.read("table.jsonl").content.splitlines()[5])["team"] == ["food", "space"]


def test_hostile_names_are_only_names(page):
    page.begin(every=1000)
    names = [" ".join(name.split()) for name in HOSTILE]
    for place, name in enumerate(names):
        page.change("make-class", tab="t", name=name)
        page.change("label", tab="t", document=place, labels=[name])
    classes = page.read("state")["counts"]["classes"]
    assert {name.encode("utf-8", "replace") for name in classes} == {
        name.encode("utf-8", "replace") for name in names
    }
    rows = csv.DictReader(io.StringIO(page.read("table.csv").content.decode()))
    assert not any(is_formula(cell) for row in rows for cell in row.values())
    compile(page.read("code")["code"], "snippet", "exec")


def test_the_code_makes_the_same_edits(page, monkeypatch):
    given = [(TRUTH[i],) if i < 12 else () for i in range(60)]
    page.begin(given=given)
    for edit, arguments in (
        ("rename", {"topic": 0, "name": "a'b"}),
        ("ban", {"topic": 1, "word": "moon"}),
        ("split", {"topic": 2, "into": 2}),
        ("drop", {"topic": 3}),
    ):
        page.change("edit", tab="t", edit=edit, arguments=arguments)
    page.change("undo-edit", tab="t")
    for content in ({}, {"edit": "exec", "arguments": {}}, {"edit": "drop", "arguments": 3}):
        page.session.log.add("edit", "somebody else", **content)
    code = page.read("code")["code"]
    folder = page.session.folder.parent
    (folder / "posts-labelled.csv").write_bytes(page.read("table.csv").content)
    monkeypatch.chdir(folder)
    first, _, rest = code.partition("# or load the model")
    found = {}
    exec(first, found)
    assert len(found["model"].topic_names_) == 5
    assert found["model"].topic_names_[0] == "a'b"
    exec(f"import cofactor\n{rest.partition(chr(10))[2]}", found)
    assert found["model"].topic_names_ == page.session.now.model.topic_names_


def test_the_report_describes_the_reviewed_labels(page):
    pytest.importorskip("altair")
    given = [(TRUTH[i],) if i < 12 else () for i in range(60)]
    page.begin(given=given)
    answer = page.read("report.html")
    assert answer.headers["content-disposition"] == 'attachment; filename="posts-report.html"'
    assert b"<!doctype html>" in answer.content[:100].lower()
