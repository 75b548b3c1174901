"""The texts of a table: their labels, and the queue in which they are labelled."""

import json
from datetime import UTC, datetime, timedelta

from app_corpus import TEXTS, TRUTH, answer, make_classes
from cofactor.app.text_queue import HOLD, free_texts


def test_the_table_has_labels_of_its_own(start):
    given = [(TRUTH[i],) if i < 6 else () for i in range(60)]
    session = start(given)
    assert session.class_names == ["food", "space", "sport"]
    assert session.table.label_of(0, session.reviewed) == (("space",), "table")
    assert not {row.document for row in session.now.queue} & set(range(6))
    session.decide("label", "me", 0, labels=[])  # none of these
    assert session.table.label_of(0, session.reviewed) == ((), "reviewed")
    session.rename_class("me", "space", "cosmos")
    assert session.table.label_of(3, session.reviewed) == (("cosmos",), "table")
    assert session.table.targets(session.reviewed)[:4] == ["", "sport", "food", "cosmos"]
    session.decide("skip", "me", 3)
    assert session.table.label_of(3, session.reviewed) == (("cosmos",), "table")
    assert session.counts() == {
        "documents": 60,
        "table": 5,
        "reviewed": 1,
        "skipped": 1,
        "flagged": 0,
        "elsewhere": 0,
        "open": 54,
        "classes": {"food": 2, "cosmos": 1, "sport": 2},
    }


def test_keys_follow_texts_not_rows(start):
    session = start()
    session.make_class("me", "a")
    session.decide("label", "me", 7, labels=["a"])
    table = session.table
    moved = type(table)([*TEXTS[::-1], "new", "new"], [()] * 62, range(62))
    assert moved.label_of(52, session.reviewed) == (("a",), "reviewed")
    assert len(set(moved.keys)) == 62


def test_one_text_of_five_is_a_random_check(start):
    session = start(every=3)
    make_classes(session)
    answer(session, 15)
    labels = [d.content["reason"] for d in session.reviewed.counted() if d.kind == "label"]
    assert [i for i, reason in enumerate(labels) if reason == "random check"] == [4, 9, 14]


def test_two_tabs_get_different_documents(start):
    session = start()
    assert len({session.next(tab) for tab in ("a", "b", "c")}) == 3
    assert session.next("a") == session.next("a")


def test_many_tabs_and_processes_never_wait_and_never_share_a_text(start):
    one, other = start(every=100), start(every=100)
    shown = [[one, other][i % 2].next(f"tab {i}") for i in range(60)]
    assert sorted(shown) == list(range(60))  # the queue has only 40
    assert one.next("one more") is None
    is_free = free_texts(one.table, one.reviewed, "one more", datetime.now(UTC) + HOLD)
    assert all(map(is_free, range(60)))  # some minutes later they are free again
    one.make_class("tab 0", "a")
    one.decide("label", "tab 0", shown[0], labels=["a"])
    assert other.next("one more") is None  # what is labelled does not come again
    other.hear()
    assert other.next("tab 1") == shown[1]


def test_a_clock_that_is_ahead_holds_no_text_longer(start):
    session = start(every=100)
    ahead = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    shown = {"kind": "show", "by": "other", "at": ahead, "reason": "close call"}
    session.log.path.write_text(json.dumps(shown | {"document": session.table.keys[5]}) + "\n")
    session.hear()
    now = datetime.now(UTC)
    assert not free_texts(session.table, session.reviewed, "me", now)(5)
    assert free_texts(session.table, session.reviewed, "me", now + HOLD)(5)


def test_a_tab_holds_a_text_until_it_decides(start):
    session = start(every=100)
    session.make_class("me", "a")
    place = session.next("me")

    def is_free():
        return free_texts(session.table, session.reviewed, "other", datetime.now(UTC))(place)

    assert not is_free()
    session.decide("label", "other", place, labels=["a"])
    assert not is_free()  # it is still on the screen
    session.decide("label", "me", place, labels=["a"])
    session.decide("label", "other", place, labels=["a"])
    assert is_free()
    session.undo("me")
    assert not is_free()


def test_a_text_that_was_chosen_by_hand_is_no_random_check(start):
    session = start(every=100)
    session.make_class("me", "a")
    check = next(row.document for row in session.now.queue if row.reason == "random check")
    decision = session.decide("label", "me", check, labels=["a"])
    assert decision.content["reason"] == "chosen by hand"


def test_a_text_keeps_its_reason_after_an_undo(start):
    session = start(every=100)
    session.make_class("me", "a")
    for _ in range(5):
        place = session.next("me")
        last = session.decide("label", "me", place, labels=["a"])
    assert last.content["reason"] == "random check"
    session.undo("me")
    assert session.next("me") == place
    assert session.decide("label", "me", place, labels=["a"]).content["reason"] == "random check"
