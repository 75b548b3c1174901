"""Decisions from files of other programs, and back to them."""

import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from app_corpus import TEXTS, TRUTH
from cofactor.app.imports import take_in
from cofactor.app.text_queue import TextTable
from cofactor.io.annotations import WRITTEN, read_annotations
from cofactor.io.errors import InputError


def lines(path, records):
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path


def choice(place, label, answer="accept", **more):
    return {"text": TEXTS[place], "accept": [label], "answer": answer, **more}


def test_labels_and_skipped_texts_are_taken_over(start, tmp_path):
    session = start(every=1000)
    rows = [choice(place, TRUTH[place]) for place in range(9)]
    rows += [choice(9, "food", "ignore"), choice(10, "food", "reject")]
    rows += [{"text": "a text of somebody else", "accept": ["food"], "answer": "accept"}]
    rows[1]["text"] = f"  {TEXTS[1]}\n"
    path = lines(tmp_path / "p.jsonl", rows)
    said = take_in(session, path)
    assert said.startswith("Took over 9 labels and 1 skipped text from")
    assert said.endswith("; 1 of its texts are not in the table.")
    keys, reviewed = session.table.keys, session.reviewed
    assert [reviewed.labels_of(keys[p]) for p in range(9)] == [(TRUTH[p],) for p in range(9)]
    assert reviewed.reviews[keys[9]].labels is None
    assert keys[10] not in reviewed.reviews
    assert session.counts()["reviewed"] == 9
    session.refitter.wait(30)
    assert session.prediction(30) is not None
    assert "was taken over before" in take_in(session, path)
    assert start(every=1000).counts()["reviewed"] == 9  # it is in the log


def test_a_correction_survives_the_same_command(start, tmp_path):
    session = start(every=1000)
    path = lines(tmp_path / "p.jsonl", [choice(place, TRUTH[place]) for place in range(6)])
    take_in(session, path)
    session.decide("label", "t", 0, labels=["a class of mine"], create=True)
    again = start(every=1000)
    take_in(again, path)
    assert again.reviewed.labels_of(again.table.keys[0]) == ("a class of mine",)


def test_a_file_with_an_unusable_label_changes_nothing_until_it_is_corrected(start, tmp_path):
    session = start(every=1000)
    rows = [choice(0, "Sport"), choice(1, "SPORT"), choice(2, "  ")]
    path = lines(tmp_path / "p.jsonl", rows)
    with pytest.raises(InputError, match=r"p.jsonl has the label '  '. .* 1 to 200 characters"):
        take_in(session, path)
    assert session.log.lines == []
    take_in(session, lines(path, rows[:2]))
    assert session.counts()["classes"] == {"Sport": 2}


def test_an_import_continues_where_the_disk_was_full(start, tmp_path, monkeypatch):
    session = start(every=1000)
    path = lines(tmp_path / "p.jsonl", [choice(p, TRUTH[p], _annotator_id="Ada") for p in range(9)])
    real, calls = session.decide_many, []

    def decide_many(*arguments, **content):
        calls.append(arguments)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        real(*arguments, **content)

    monkeypatch.setattr(session, "decide_many", decide_many)
    with pytest.raises(OSError, match="No space"):
        take_in(session, path)
    done = session.counts()["reviewed"]
    assert 0 < done < 9
    assert take_in(session, path).startswith(f"Took over {9 - done} labels")
    assert [session.reviewed.labels_of(key) for key in session.table.keys[:9]] == [
        (TRUTH[p],) for p in range(9)
    ]
    assert "was taken over before" in take_in(session, path)


def test_a_file_that_was_undone_may_come_again(start, tmp_path):
    session = start(every=1000)
    path = lines(tmp_path / "p.jsonl", [choice(0, "a"), choice(1, "b")])
    take_in(session, path)
    session.undo("import")
    assert "was taken over before" in take_in(session, path)  # one of two was undone
    session.undo("import")
    assert take_in(session, path).startswith("Took over 2 labels")


def test_a_pipe_is_read_once(start, tmp_path):
    session = start(every=1000)
    os.mkfifo(path := tmp_path / "pipe")
    for place in range(2):  # the second one is not taken for the first
        content = json.dumps(choice(place, "a"))
        with ThreadPoolExecutor() as pool:
            pool.submit(path.write_text, content)
            assert take_in(session, path).startswith("Took over 1 label")


def test_one_undo_takes_a_label_of_many_texts_back(start, tmp_path):
    session = start(every=1000)
    take_in(session, lines(tmp_path / "p.jsonl", [choice(p, "one") for p in range(5)]))
    session.undo("import")
    assert session.counts()["reviewed"] == 0


def test_classes_in_another_case_are_the_same(start, tmp_path):
    session = start(every=1000)
    session.make_class("t", "Sport")
    take_in(session, lines(tmp_path / "p.jsonl", [choice(0, "SPORT"), choice(1, "New  class")]))
    assert session.class_names == ["Sport", "New class"]


def test_people_keep_their_opinions(start, tmp_path):
    session = start(every=1000)
    rows = [choice(0, "a", _annotator_id="Ada"), choice(0, "b", _annotator_id="Bo")]
    take_in(session, lines(tmp_path / "p.jsonl", rows))
    people = session.reviewed.opinions[session.table.keys[0]]
    assert {who: one.labels for who, one in people.items()} == {"Ada": ("a",), "Bo": ("b",)}


def test_equal_texts_are_told_apart_by_ids_or_order(start, tmp_path):
    table = TextTable(TEXTS[:1] * 3 + TEXTS[1:], [()] * 62, [*range(2, 64)])
    session = start(every=1000, table=table)
    rows = [choice(0, "b", meta={"id": 4}), choice(0, "a")]
    take_in(session, lines(tmp_path / "p.jsonl", rows))
    found = [session.reviewed.labels_of(key) for key in table.keys[:4]]
    assert found == [None, ("a",), ("b",), None]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"text": TEXTS[0], "labels": ["a", "b"]}], "several labels; start the app for several"),
        ([{"text": "unknown", "label": "a"}], "no text with a label that is in the table"),
        ([{"text": TEXTS[0], "label": "x" * 201}], "1 to 200 characters"),
    ],
)
def test_what_cannot_be_taken_over_is_said_and_changes_nothing(start, tmp_path, rows, said):
    session = start(every=1000)
    with pytest.raises((InputError, ValueError), match=said):
        take_in(session, lines(tmp_path / "p.jsonl", rows))
    assert session.counts()["reviewed"] == 0


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("program", WRITTEN)
def test_labels_go_out_and_come_back(page, start, tmp_path, program, several):
    given = [(TRUTH[i],) if i < 6 else () for i in range(60)]
    session = page.begin(given=given, several=several, every=1000).session
    for place in range(10, 20):
        page.change("label", tab="t", document=place, labels=[TRUTH[place]])
    if several:
        page.change("label", tab="t", document=20, labels=["food", "space"])
    page.change("skip", tab="t", document=21)
    answer = page.read("labels.for", program=program)
    assert f"posts-{program}.json" in answer.headers["content-disposition"]
    (path := tmp_path / "out").write_bytes(answer.content)
    assert len(read_annotations(path)) in (16 + several, 17 + several)
    other = start(several=several, every=1000, folder=tmp_path / "other")
    take_in(other, path)
    ours, theirs = (
        [one.table.label_of(place, one.reviewed)[0] for place in range(60)]
        for one in (session, other)
    )
    assert ours == theirs


def test_an_unknown_program_is_refused(page):
    page.begin()
    assert "program must be one of" in page.read("labels.for", 422, program="x").content.decode()
