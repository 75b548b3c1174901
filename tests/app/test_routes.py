"""The routes: what the page reads, and what it changes."""

import csv
import io
import json
from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pytest

from app_corpus import TEXTS, TRUTH
from app_requests import send
from cofactor.app.page_data import coloured
from cofactor.app.progress import accuracy_curve, calibration, moved_predictions, wilson
from cofactor.app.routes import make_app
from cofactor.io.tables.writers import is_formula
from hostile import HOSTILE


@pytest.fixture
def page(start):
    """Functions that read and change, as the page does."""

    class Page:
        def begin(self, **options):
            self.session = start(**options)
            self.app = make_app(self.session)
            return self

        def read(self, name, status=200, /, **query):
            asked = "&".join(f"{key}={value}" for key, value in query.items())
            answer = send(self.app, "GET", f"/api/{name}?{asked}")
            assert answer.status == status, answer.content
            return answer if "." in name else answer.json()

        def change(self, name, status=200, /, **content):
            answer = send(self.app, "POST", f"/api/{name}", [], [json.dumps(content).encode()])
            assert answer.status == status, answer.content
            return answer.json()

    return Page()


def make_classes(page, *names):
    for name in names or ("space", "sport", "food"):
        page.change("make-class", tab="t", name=name)


def test_label_skip_flag_and_undo(page):
    page.begin(every=100)
    make_classes(page)
    first = page.read("next", tab="t")["document"]
    assert "".join(text for text, _ in first["segments"]) == TEXTS[first["document"]]
    assert (first["labels"], first["source"], first["prediction"]) == (None, None, None)
    state = page.change("label", tab="t", document=first["document"], labels=["food"])
    assert state["counts"]["classes"] == {"space": 0, "sport": 0, "food": 1}
    assert [one["document"] for one in state["last"]] == [first["document"]]
    second = page.read("next", tab="t")["document"]["document"]
    assert second != first["document"]
    assert page.change("skip", tab="t", document=second)["counts"]["skipped"] == 1
    assert page.change("flag", tab="t", document=second, on=True)["counts"]["flagged"] == 1
    assert page.read("document", place=second)["flagged"] is True
    for undone, document in (("flag", second), ("skip", second), ("label", first["document"])):
        done = page.change("undo", tab="t")
        assert (done["undone"], done["document"]) == (undone, document)
    assert done["counts"]["reviewed"] == 0
    assert page.change("label", 409, tab="t", document=1, labels=["gone"])["error"]


def test_words_are_coloured_by_what_they_say(page):
    given = [(TRUTH[i],) if i < 12 else () for i in range(60)]
    page.begin(given=given)
    page.session.refitter.request()
    page.session.refitter.wait(30)
    shown = page.read("document", place=20)
    assert shown["prediction"] == shown["leading"] == TRUTH[20]
    told = page.session.now.model.explain(TEXTS[20])
    parts = dict(zip(told.words, told.contrast.words, strict=True))
    levels = {text: level for text, level in shown["segments"] if text.strip()}
    strongest = max(parts, key=parts.get)
    assert levels[strongest] == 3
    for word, level in levels.items():
        assert level == 0 or np.sign(level) == np.sign(parts[word])
    assert shown["probabilities"][0]["label"] == TRUTH[20]
    assert sum(one["probability"] for one in shown["probabilities"]) == pytest.approx(1)


@pytest.mark.parametrize("text", [*HOSTILE, "", "moon", "  moon\n\nMOON, puck's ", "漢字moon"])
def test_coloured_pieces_add_up_to_the_text(text):
    parts = {"moon": 1.0, "puck": -0.5, "script": 0.3}
    pieces = list(coloured(text, parts, lambda word: [word.lower()]))
    assert "".join(piece for piece, _ in pieces) == text
    assert all(-3 <= level <= 3 for _, level in pieces)


def test_topics_are_edited(page):
    given = [(TRUTH[i],) if i < 12 else () for i in range(60)]
    page.begin(given=given)
    before = page.read("topics")["topics"]
    assert sum(one["documents"] for one in before) == 60
    trial = page.change("try-edit", edit="merge", arguments={"topics": [0, 1]})
    assert trial["documents"] > 0
    assert len(page.read("topics")["topics"]) == 4
    after = page.change("accept-edit", tab="t", trial=trial["trial"])
    assert (len(after["topics"]), after["edits"]) == (3, ["merge"])
    assert page.change("accept-edit", 409, tab="t", trial=trial["trial"])["error"]
    named = page.change("edit", tab="t", edit="rename", arguments={"topic": 0, "name": "<b>x</b>"})
    assert named["topics"][0]["name"] == "<b>x</b>"
    frozen = page.change("edit", tab="t", edit="freeze", arguments={"topic": 0})
    assert frozen["topics"][0]["frozen"] is True
    assert [page.change("undo-edit", tab="t")["undone"] for _ in range(4)] == [
        "freeze",
        "rename",
        "merge",
        None,
    ]
    assert len(page.read("topics")["topics"]) == 4


def test_documents_are_found(page):
    given = [(TRUTH[i],) if i < 12 else () for i in range(60)]
    page.begin(given=given, every=100)
    page.session.refitter.request()
    page.session.refitter.wait(30)
    found = page.read("documents", query="MOON orbit")
    expected = [i for i, text in enumerate(TEXTS) if "moon" in text and "orbit" in text]
    assert [row["document"] for row in found["rows"]] == expected[:50]
    assert found["found"] == len(expected)
    assert page.read("documents", state="labelled")["found"] == 12
    assert page.read("documents", state="open")["found"] == 48
    rows = page.read("documents", sort="confidence")["rows"]
    confidences = [row["confidence"] for row in rows]
    assert confidences == sorted(confidences)
    sure = sum(document.confidence < 0.7 for document in page.session.now.documents)
    assert page.read("documents", below=70)["found"] == sure
    sizes = [page.read("documents", topic=k)["found"] for k in range(4)]
    assert sum(sizes) == 60
    assert page.read("documents", page=1)["rows"][0]["document"] == 50
    assert page.read("documents", page=99)["rows"] == []
    wrong = next(i for i in range(12) if TRUTH[i] != "food")
    page.change("label-many", tab="t", documents=[wrong, 20], labels=["food"])
    rows = page.read("documents", state="different")["rows"]
    assert wrong in [row["document"] for row in rows]
    assert page.session.counts()["reviewed"] == 2


def test_documents_are_found_by_date(page):
    page.begin()
    days = [date(2024, 1, 1) + timedelta(i) if i % 2 else None for i in range(60)]
    page.session.table = replace(page.session.table, dates=days)
    found = page.read("documents", since="2024-01-10", until="2024-01-20")["rows"]
    assert [row["document"] for row in found] == [9, 11, 13, 15, 17, 19]
    assert [row["date"] for row in found][:1] == ["2024-01-10"]
    assert page.read("documents", until="2024-01-04")["found"] == 2
    rows = page.read("documents", sort="date")["rows"]
    assert [row["document"] for row in rows][:3] == [1, 3, 5]


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
    make_classes(page)
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


def test_progress_counts_random_checks_only(page):
    page.begin(every=3)
    make_classes(page)
    for _ in range(20):
        page.session.refitter.wait(30)
        place = page.read("next", tab="t")["document"]["document"]
        page.change("label", tab="t", document=place, labels=[TRUTH[place]])
    decisions = [d.content for d in page.session.reviewed.counted() if d.kind == "label"]
    checks = [d for d in decisions if d["reason"] == "random check" and d["prediction"]]
    right = [d["prediction"] == d["labels"][0] for d in checks]
    shown = page.read("progress")
    assert len(shown["accuracy"]) == len(checks) >= 3
    assert shown["accuracy"][-1]["accuracy"] == pytest.approx(np.mean(right))
    assert shown["accuracy"][-1]["labels"] == 20
    assert sum(row["checks"] for row in shown["calibration"]) == len(checks)


def test_intervals_and_windows():
    checks = [{"labels": i, "right": i > 50, "confidence": 0.6} for i in range(1, 101)]
    last = accuracy_curve(checks)[-1]
    assert (last["accuracy"], last["checks"], last["labels"]) == (1.0, 50, 100)
    assert calibration(checks) == [
        {"low": 0.5, "high": 0.7, "checks": 100, "confidence": pytest.approx(0.6), "right": 0.5}
    ]
    for right, n in ((0, 1), (1, 1), (5, 10), (499, 500)):
        low, high = wilson(right, n)
        assert 0 <= low <= right / n <= high <= 1


def test_predictions_that_stay_say_that_labelling_can_stop():
    assert moved_predictions([]) is None
    early, late = ["a"] * 50 + ["b"] * 150, ["a"] * 49 + ["b"] * 151
    assert moved_predictions([(5, early), (24, late)]) is None
    found = moved_predictions([(2, late), (5, early), (20, late), (25, late)])
    assert found == {"labels": 20, "share": 1 / 200, "stop": True}
    assert moved_predictions([(5, early[::-1]), (25, late)])["stop"] is False


def test_stability_and_rivals(page):
    page.begin(given=[(TRUTH[i],) if i < 30 else () for i in range(60)])
    page.session.refitter.request()
    page.session.refitter.wait(30)
    shown = page.change("stability")["topics"]
    assert [one["stability"] for one in shown] == page.session.now.model.topics().column(
        "stability"
    )
    assert sum(one["stability"] for one in shown) > 2
    compared = page.change("compare")
    assert {"this model", "naive Bayes", "logistic regression"} <= compared["scores"].keys()
    assert compared["scores"]["this model"] > compared["scores"]["majority"]


def test_rivals_need_labels(page):
    page.begin()
    assert "labels of two classes" in page.change("compare", 422)["error"]


def test_the_report_describes_the_reviewed_labels(page):
    pytest.importorskip("altair")
    given = [(TRUTH[i],) if i < 12 else () for i in range(60)]
    page.begin(given=given)
    answer = page.read("report.html")
    assert answer.headers["content-disposition"] == 'attachment; filename="posts-report.html"'
    assert b"<!doctype html>" in answer.content[:100].lower()


def test_a_full_disk_is_said(page, monkeypatch):
    page.begin()

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.write", full)
    answer = page.change("make-class", 507, tab="t", name="a")
    assert "No space left" in answer["error"]
    monkeypatch.undo()
    assert page.change("make-class", tab="t", name="a")["counts"]["classes"] == {"a": 0}
