"""Looking at texts again: notes, other columns, texts unlike the labelled ones, guidelines."""

import csv
import io
from dataclasses import replace

import pytest

from app_corpus import TEXTS, TRUTH, answer, make_classes
from cofactor import TopicModel
from cofactor.app.guidelines import markdown_blocks
from cofactor.app.session import UNLIKE, name_classes
from cofactor.app.text_queue import TextTable
from cofactor.text.describe.predictions import UNCHECKED

NAMED = {"space": "rocket orbit", "sport": "hockey goal", "food": "recipe oven"}


def test_a_note_is_kept_shown_found_and_exported(page):
    page.begin(every=1000)
    page.change("note", tab="t", document=4, text="  ask Ada ")
    assert page.read("document", place=4)["note"] == "ask Ada"
    assert page.read("state")["noted"] == 1
    assert [row["document"] for row in page.read("documents", state="noted")["rows"]] == [4]
    rows = list(csv.DictReader(io.StringIO(page.read("table.csv").content.decode())))
    assert [row["note"] for row in rows] == ["ask Ada" if i == 4 else "" for i in range(60)]
    assert page.change("undo", tab="t")["undone"] == "note"
    assert page.read("document", place=4)["note"] == ""
    assert "note" not in page.read("table.csv").content.decode().split("\n")[0]


def test_a_note_can_be_replaced_and_removed(page):
    session = page.begin(every=1000).session
    for text in ("one", "two", ""):
        page.change("note", tab="t", document=4, text=text)
        assert session.reviewed.notes.get(session.table.keys[4], "") == text
    assert "at most 2000" in page.change("note", 422, tab="t", document=4, text="x" * 2001)["error"]
    assert session.reviewed.notes == {}


def test_other_columns_are_shown_beside_a_text(start, page):
    columns = {"title": [f"<b>{i}</b>" for i in range(60)], "day": [None, " ", *range(58)]}
    table = TextTable([*TEXTS], [()] * 60, [*range(60)], columns=columns)
    page.begin(table=table)
    assert page.read("document", place=0)["columns"] == [{"name": "title", "text": "<b>0</b>"}]
    assert page.read("document", place=3)["columns"][1] == {"name": "day", "text": "1"}


def test_guidelines_come_as_blocks(page):
    session = page.begin().session
    session.guidelines = markdown_blocks("# Rules")
    assert page.read("guidelines")["blocks"][0]["kind"] == "heading"


def test_texts_unlike_the_labelled_ones_are_a_queue(start, page):
    session = page.begin(every=1000).session
    make_classes(session)
    answer(session, 9)
    far = [p for p in range(60) if session.table.keys[p] not in session.reviewed.reviews][-3:]
    documents = [
        replace(one, unlike=0.96 + place / 1000 if place in far else 0.1)
        for place, one in enumerate(session.now.documents)
    ]
    session.now = replace(session.now, documents=documents)
    assert page.read("state")["unlike"] == 3
    rows = [row for page_ in (0, 1) for row in page.read("documents", page=page_)["rows"]]
    assert [row["document"] for row in rows if row["unlike"]] == far
    assert [page.read("document", place=p)["unlike"] for p in (*far, 0)] == [True] * 3 + [False]
    shown = page.read("next", tab="t", queue=UNLIKE.replace(" ", "%20"))["document"]
    assert (shown["document"], shown["reason"]) == (far[2], UNLIKE)
    page.change("label", tab="t", document=far[2], labels=["food"])
    assert page.read("state")["unlike"] == 2
    page.change("skip", tab="t", document=far[1])
    assert session.next("t", UNLIKE) == far[0]


def test_a_class_without_labels_is_in_the_queue(page):
    """Texts of a class that nobody has named are unlike the others."""
    session = page.begin(every=1000).session
    named = [place for place in range(60) if TRUTH[place] != "food"][:24]
    for place in named:
        session.decide("label", "t", place, labels=[TRUTH[place]], create=True)
    session.refitter.request()
    session.refitter.wait(30)
    found = [TRUTH[session.table.places[key]] for key in session.unlike_texts()]
    assert found
    assert set(found) == {"food"}


# ---- classes that have names at the start


@pytest.fixture
def named(start, tmp_path):
    def begin(**options):
        table = TextTable([*TEXTS], [()] * 60, [*range(60)])
        name_classes(table, tmp_path / "model", NAMED)
        model = TopicModel(4, classes=NAMED, random_state=0).fit(TEXTS)
        return start(table=table, model=model, **options)

    return begin


def test_names_suggest_classes_before_the_first_label(named):
    session = named(every=1000)
    assert session.class_names == [*NAMED]
    right = [session.prediction(place) == [TRUTH[place]] for place in range(60)]
    assert sum(right) > 50
    assert session.said(session.now, session.next("t"), "t")["prediction"] is not None
    assert session.counts()["reviewed"] == 0


def test_names_are_written_to_the_log_once(named, start, tmp_path):
    session = named()
    session.rename_class("t", "space", "astronomy")
    lines = len(session.log.lines)
    name_classes(session.table, tmp_path / "model", {**NAMED, "SPORT": "x"} | {"astronomy": "y"})
    assert len(session.log.lines) == lines
    assert session.reviewed.classes.descriptions["sport"] == "hockey goal"


def test_what_was_told_about_a_class_follows_its_name(named):
    session = named(every=1)
    session.rename_class("t", "space", "astronomy")
    session.delete_class("t", "food")
    for place in (0, 1, 3, 4):
        label = {"space": "astronomy"}.get(TRUTH[place], TRUTH[place])
        session.decide("label", "t", place, labels=[label])
        session.refitter.wait(30)
    assert session.refitter.trouble is None
    assert session.now.model.classes == {"astronomy": "rocket orbit", "sport": "hockey goal"}
    assert {*session.now.model.target_names_} == {"astronomy", "sport"}


def test_names_alone_follow_their_classes(start, tmp_path):
    table = TextTable([*TEXTS], [()] * 60, [*range(60)])
    words = ["orbit", "goal", "recipe"]
    name_classes(table, tmp_path / "model", {word: word for word in words})
    model = TopicModel(4, classes=words, random_state=0).fit(TEXTS)
    session = start(table=table, model=model, every=1)
    session.rename_class("t", "orbit", "space")
    session.decide("label", "t", 0, labels=["space"])
    session.decide("label", "t", 1, labels=["goal"])
    session.refitter.wait(30)
    assert session.refitter.trouble is None
    assert session.now.model.classes == {"space": "orbit", "goal": "goal", "recipe": "recipe"}


def test_names_show_no_accuracy_but_a_doubt_about_confidences(named):
    from cofactor.app.page_data import state

    found = state(named(every=1000))
    assert found["accuracy"] is None
    assert found["unchecked"] == UNCHECKED
