"""The log of decisions: nothing acknowledged is lost, and everybody sees everything."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cofactor
from cofactor.app.decisions import DecisionLog, LogLostError, Reviewed, log_path
from cofactor.io.errors import InputError


def label(log, document, *labels, by="me"):
    return log.add("label", by, document=document, labels=list(labels))[-1]


def replay(path, classes=()):
    reviewed = Reviewed(list(classes))
    reviewed.apply(DecisionLog(path).read())
    return reviewed


def labels_of(reviewed):
    return {document: reviewed.labels_of(document) for document in reviewed.reviews}


def classes_of(reviewed):
    return [*reviewed.classes.names.values()]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "decisions.jsonl"


def test_decisions_come_back_in_order(path):
    log = DecisionLog(path)
    written = [label(log, f"d{i}", "a", "b\n\u2028\x00\ud800") for i in range(3)]
    assert [one.number for one in written] == [0, 1, 2]
    again = DecisionLog(path).read()
    assert [(d.number, d.content["document"]) for d in again] == [(0, "d0"), (1, "d1"), (2, "d2")]
    assert path.read_bytes().count(b"\n") == 3
    assert path.stat().st_mode & 0o077 == 0  # texts of labels are the user's


def test_the_last_decision_wins_and_undo_is_a_line(path):
    log = DecisionLog(path)
    label(log, "d", "first")
    second = label(log, "d", "second")
    assert labels_of(replay(path)) == {"d": ("second",)}
    log.add("undo", "me", undoes=second.number)
    log.add("undo", "me", undoes=second.number)  # twice is once
    assert labels_of(replay(path)) == {"d": ("first",)}
    assert classes_of(replay(path)) == ["first"]
    log.add("undo", "me", undoes=0)
    assert labels_of(replay(path)) == {}
    assert path.read_bytes().count(b"\n") == 5


def test_skipping_is_not_labelling(path):
    log = DecisionLog(path)
    label(log, "none")
    log.add("skip", "me", document="skipped")
    log.add("flag", "me", document="skipped", on=True)
    assert labels_of(replay(path)) == {"none": (), "skipped": None}
    assert replay(path).flags == {"skipped"}


def test_renamed_classes_carry_their_labels(path):
    log = DecisionLog(path)
    label(log, "d1", "a", "b")
    log.add("rename class", "me", old="a", new="c")
    merge = log.add("rename class", "me", old="given", new="c")[-1]
    label(log, "d2", "given")  # the name is free again
    state = replay(path, ["given", "b"])
    assert classes_of(state) == ["b", "c", "given"]
    assert labels_of(state) == {"d1": ("c", "b"), "d2": ("given",)}
    assert (state.current_name("given"), state.current_name("b")) == ("c", "b")
    log.add("undo", "me", undoes=merge.number)
    assert replay(path, ["given", "b"]).current_name("given") == "given"


@pytest.mark.parametrize("left", [1, 10, -1])
def test_a_torn_last_line_is_passed_over_and_nothing_is_removed(path, left):
    log = DecisionLog(path)
    label(log, "d1", "a")
    whole = path.read_bytes()
    torn = b'{"kind":"label","by":"me","at":"now","document":"d2","labels":["b"]}'[:left]
    path.write_bytes(whole + torn)
    assert list(labels_of(replay(path))) == ["d1"]
    label(log, "d3", "c")
    assert path.read_bytes().startswith(whole + torn + b"\n")
    later = DecisionLog(path)
    assert [d.content["document"] for d in later.read()] == ["d1", "d3"]
    assert later.unreadable == 1
    assert label(later, "d4", "c").number == 3


@settings(max_examples=20)
@given(st.binary(max_size=60))
def test_damage_is_passed_over(tmp_path_factory, damage):
    path = tmp_path_factory.mktemp("log") / "decisions.jsonl"
    first, last = DecisionLog(path), DecisionLog(path)
    label(first, "d1", "a")
    with open(path, "ab") as file:
        file.write(damage)
    label(last, "d2", "b")
    found = labels_of(replay(path))
    assert (found["d1"], found["d2"]) == (("a",), ("b",))


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"document": 3, "labels": ["a"]},
        {"document": "d", "labels": "a"},
        {"document": "d", "labels": [1]},
        {"document": "d", "labels": None},
    ],
)
def test_lines_of_the_wrong_form_count_for_nothing(path, content):
    log = DecisionLog(path)
    for kind in ("label", "class", "rename class", "undo", "of a later version"):
        log.add(kind, "me", **content)
    state = replay(path)
    assert (labels_of(state), classes_of(state), state.undone) == ({}, [], set())


def test_two_logs_see_each_other(path):
    one, other = DecisionLog(path), DecisionLog(path)
    label(one, "d1", "a")
    assert [d.number for d in other.add("label", "you", document="d2", labels=["b"])] == [0, 1]
    assert [d.content["document"] for d in one.read()] == ["d2"]
    assert one.read() == other.read() == []


def test_a_file_that_shrinks_is_refused(path):
    log = DecisionLog(path)
    label(log, "d1", "a")
    path.write_bytes(b"")
    with pytest.raises(InputError, match="shorter"):
        log.read()


def test_very_long_decisions_are_refused(path):
    with pytest.raises(ValueError, match="limit"):
        label(DecisionLog(path), "d", "x" * 2**20)
    assert not path.exists()


WRITER = """
import sys
from pathlib import Path
from cofactor.app.decisions import DecisionLog
log = DecisionLog(Path(sys.argv[1]))
for i in range(100_000):
    log.add("label", sys.argv[2], document=f"{sys.argv[2]}-{i}", labels=["x" * (i % 50)])
    print(i, flush=True)
"""


def test_killed_writers_lose_nothing_that_they_acknowledged(path, tmp_path):
    source = str(Path(cofactor.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source}
    acknowledged = set()
    for round_ in range(3):
        writers = {
            f"{round_}{name}": subprocess.Popen(
                [sys.executable, "-c", WRITER, str(path), f"{round_}{name}"],
                stdout=subprocess.PIPE,
                env=environment,
                text=True,
            )
            for name in "ab"
        }
        for name, writer in writers.items():
            acknowledged.add(f"{name}-{writer.stdout.readline().strip()}")
        time.sleep(0.05 * round_)
        for name, writer in writers.items():
            writer.send_signal(signal.SIGKILL)
            lines = [line for line in writer.communicate()[0].split("\n")[:-1] if line]
            acknowledged |= {f"{name}-{line}" for line in lines}
    assert acknowledged <= replay(path).reviews.keys()
    whole = path.read_bytes().split(b"\n")[:-1]
    numbers = [d.number for d in DecisionLog(path).read()]
    assert len(numbers) >= len(whole) - 6  # at most one torn line for each that was killed
    assert all(json.loads(whole[n])["kind"] == "label" for n in numbers)


# ---- identities of classes


def test_labels_and_predictions_follow_a_class_through_its_names(path):
    log = DecisionLog(path)
    log.add("class", "me", name="a")
    guess = {"prediction": "a", "reason": "random check"}
    log.add("label", "me", document="d1", labels=["a"], **guess)  # a line of an earlier version
    log.add("rename class", "me", old="a", new="b")
    log.add("label", "me", document="d2", labels=["a"], ids=["a"], predicted=["a"], **guess)
    state = replay(path)
    assert labels_of(state) == {"d1": ("b",), "d2": ("b",)}  # d2 was decided before it heard
    assert [state.classes.shown(one.predicted) for one in state.history] == [("b",), ("b",)]
    log.add("class", "me", name="a")  # another class of that name
    log.add("label", "me", document="d3", labels=["a"], **guess)
    state = replay(path)
    assert labels_of(state)["d3"] == ("a",)
    assert labels_of(state)["d2"] == ("b",)
    assert state.classes.shown(state.history[-1].predicted) == ("a",)


def test_a_deleted_class_comes_back_with_a_label(path):
    log = DecisionLog(path)
    log.add("class", "me", name="a")
    log.add("delete class", "me", name="a", id="a")
    assert classes_of(replay(path)) == []
    log.add("label", "you", document="d", labels=["a"], ids=["a"])  # decided before it heard
    assert labels_of(replay(path)) == {"d": ("a",)}
    assert classes_of(replay(path)) == ["a"]


def test_one_line_labels_many_documents(path):
    log = DecisionLog(path)
    line = log.add("label", "me", documents=["d1", "d2"], labels=["a"])[-1]
    assert labels_of(replay(path)) == {"d1": ("a",), "d2": ("a",)}
    log.add("undo", "me", undoes=line.number)
    assert labels_of(replay(path)) == {}


# ---- a log that is not whole


def test_short_writes_are_completed(path, monkeypatch):
    log, write = DecisionLog(path), os.write
    monkeypatch.setattr("os.write", lambda file, data: write(file, data[:7]))
    label(log, "d1", "a")
    monkeypatch.undo()
    assert labels_of(replay(path)) == {"d1": ("a",)}


@pytest.mark.parametrize("written", [0, 7, -1])
def test_a_line_that_was_not_written_whole_is_never_read(path, monkeypatch, written):
    log, write = DecisionLog(path), os.write
    label(log, "d1", "a")
    before = path.read_bytes()

    def full(file, data):
        if len(data) > 10 and data[:written]:
            return write(file, data[:written])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.write", full)
    with pytest.raises(OSError, match="no room for"):
        label(log, "d2", "b")
    monkeypatch.undo()
    assert path.read_bytes() == before
    label(log, "d3", "c")
    assert list(labels_of(replay(path))) == ["d1", "d3"]


def test_a_log_that_is_no_file_is_refused_at_once(path):
    os.mkfifo(path)
    with pytest.raises(InputError, match="not a regular file"):
        DecisionLog(path).read()
    with pytest.raises(InputError, match="not a regular file"):
        label(DecisionLog(path), "d", "a")


@pytest.mark.parametrize("damage", ["deleted", "emptied", "cut", "replaced"])
def test_a_lost_log_is_noticed_and_restored(path, damage):
    log = DecisionLog(path)
    written = [label(log, f"d{i}", "a") for i in range(4)]
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    {
        "deleted": path.unlink,
        "emptied": lambda: path.write_bytes(b""),
        "cut": lambda: path.write_bytes(b"".join(lines[:2])),
        "replaced": lambda: path.write_bytes(b"x\n" * 2000),
    }[damage]()
    for use in (log.read, lambda: label(log, "d9", "a")):
        with pytest.raises(LogLostError, match="4 lines"):
            use()
    if damage == "cut":  # another process goes on in the meantime
        other = DecisionLog(path)
        fifth = label(other, "new", "b")
        other.add("undo", "you", undoes=0)
        other.add("undo", "you", undoes=fifth.number)
    log.restore(log.lines)
    assert path.read_bytes().startswith(whole)
    kept = {f"d{i}" for i in range(4)} - ({"d0"} if damage == "cut" else set())
    assert labels_of(replay(path)).keys() == kept
    assert log.read()[0] == written[0]
    label(log, "d5", "a")
    assert path.stat().st_mode & 0o077 == 0


def test_a_log_that_cannot_be_restored_stays_as_it_is(path, monkeypatch):
    log = DecisionLog(path)
    for i in range(4):
        label(log, f"d{i}", "a")
    path.write_bytes(b"other\n")
    lines = [*log.lines]
    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", Mock(side_effect=OSError(28, "No space left")))
        with pytest.raises(OSError, match="no room for"):
            log.restore(log.lines)
    assert log.lines == lines
    assert path.read_bytes() == b"other\n"
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    log.restore(log.lines)
    assert path.read_bytes() == b"\n".join([*lines, b"other", b""])


@pytest.mark.skipif(os.name == "nt", reason="links and permissions of POSIX")
def test_a_restored_log_keeps_its_link_and_permissions(path):
    shared = path.with_name("shared.jsonl")
    shared.touch(0o660)
    shared.chmod(0o660)
    path.symlink_to(shared)
    log = DecisionLog(path)
    label(log, "d0", "a")
    shared.write_bytes(b"other\n")
    log.restore(log.lines)
    assert path.is_symlink()
    assert shared.stat().st_mode & 0o777 == 0o660
    assert shared.read_bytes().endswith(b"other\n")
    assert labels_of(replay(path)).keys() == {"d0"}


def test_the_log_is_beside_the_model_folder(tmp_path, monkeypatch):
    assert log_path(Path("a/model")) == Path("a/model.decisions.jsonl")
    (tmp_path / "model/b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "model")
    assert log_path(Path()) == log_path(Path("b/..")) == tmp_path / "model.decisions.jsonl"


def test_nobody_adds_to_a_log_that_was_replaced(path):
    log, other = DecisionLog(path), DecisionLog(path)
    label(log, "d0", "a")
    path.write_bytes(b"")
    with log.locked(may_lack=True):
        waiting = Thread(target=label, args=(other, "d1", "b"))
        waiting.start()
        time.sleep(0.2)
        path.rename(path.with_name("old"))  # what `restore` does
        path.write_bytes(log.lines[0] + b"\n")
    waiting.join()
    assert list(labels_of(replay(path))) == ["d0", "d1"]


def test_a_log_that_lacks_nothing_is_not_written_again(path, monkeypatch):
    """It would be shorter for a moment, in which other processes read it or this one is killed."""
    log = DecisionLog(path)
    written = [label(log, f"d{i}", "a") for i in range(4)]
    for call in ("ftruncate", "replace"):
        monkeypatch.setattr(os, call, lambda *given: pytest.fail("the log was written"))
    for lines in ([], log.lines[:2], log.lines):
        log.restore([*lines])
        assert log.read() == written


def test_many_undos_are_read_in_one_pass(path):
    lines = []
    for i in range(3000):
        lines.append({"kind": "label", "by": "me", "at": "", "document": f"d{i}", "labels": ["a"]})
        lines.append({"kind": "undo", "by": "me", "at": "", "undoes": 2 * i})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    start = time.process_time()
    assert labels_of(replay(path)) == {}
    assert time.process_time() - start < 2


def test_others_never_see_half_of_the_reviews_during_an_undo(monkeypatch, path):
    log, reviewed, seen, review = DecisionLog(path), Reviewed(), [], Reviewed._review
    reviewed.apply([label(log, f"d{i}", "sport") for i in range(5)])

    def watched(self, one):
        seen.append(len(reviewed.reviews))
        review(self, one)

    monkeypatch.setattr(Reviewed, "_review", watched)
    reviewed.apply(log.add("undo", "me", undoes=2))
    assert seen == [5] * 4
    assert [*reviewed.reviews] == ["d0", "d1", "d3", "d4"]
