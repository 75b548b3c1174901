"""Sessions: labels and predictions stay apart, fits follow, edits can be tried and taken back."""

import threading
from dataclasses import replace

import numpy as np
import pytest

import cofactor
from app_corpus import TEXTS, TRUTH, answer, make_classes
from cofactor.app.decisions import LogLostError
from cofactor.app.page_data import elsewhere
from cofactor.app.session import Refitter, StaleError
from cofactor.app.text_queue import TextTable


def test_fits_follow_labels_and_the_model_is_saved(start):
    session = start(every=3)
    make_classes(session)
    assert session.now.documents[0].prediction is None
    labelled = answer(session, 6)
    assert session.refitter.trouble is None
    assert list(session.now.model.target_names_) == ["food", "space", "sport"]
    right = [d.prediction == t for d, t in zip(session.now.documents, TRUTH, strict=True)]
    assert np.mean(right) > 0.8
    assert not {row.document for row in session.now.queue} & set(labelled)
    saved = cofactor.load_model(session.folder)
    assert saved.topic_names_ == session.now.model.topic_names_
    assert saved.target_names_ == session.now.model.target_names_


def test_predictions_never_become_labels(start):
    session = start(every=3)
    make_classes(session)
    labelled = answer(session, 6)
    labels = session.table.labels(session.reviewed)
    assert [p for p, (_, source) in enumerate(labels) if source] == sorted(labelled)
    assert session.counts()["reviewed"] == 6
    assert sum(session.counts()["classes"].values()) == 6
    y = session.table.targets(session.reviewed)
    assert sum(map(bool, y)) == 6


def test_decisions_note_what_was_predicted_before(start):
    session = start(every=3)
    make_classes(session)
    answer(session, 4)
    place = session.next("me")
    said = session.now.documents[place]
    noted = session.decide("label", "me", place, labels=["food"]).content
    assert (noted["prediction"], noted["confidence"]) == ([said.prediction], said.confidence)
    assert noted["reason"] in ("close call", "first of its topic", "random check")
    place = session.next("me")
    why = session.said(session.now, place, "me")["reason"]
    session.refitter.request()  # the next queue may lack this document
    session.refitter.wait(30)
    assert session.decide("skip", "me", place).content["reason"] == why
    other = next(p for p in range(60) if p not in {row.document for row in session.now.queue})
    assert session.decide("skip", "me", other).content["reason"] == "chosen by hand"


def test_everything_is_there_after_a_new_start(start):
    session = start(every=3)
    make_classes(session)
    answer(session, 4)
    session.decide("flag", "me", 5, on=True)
    session.edit("me", "rename", {"topic": 1, "name": "mine"})
    before = session.counts()
    session.close()
    again = start(model=cofactor.load_model(session.folder), saved_decisions=0)
    again.refitter.wait(30)
    assert again.counts() == before
    assert again.now.model.topic_names_[1] == "mine"
    assert again.refitter.trouble is None


def test_undo_goes_back_without_limit(start):
    session = start(every=100)
    make_classes(session)
    for place in (1, 2, 3):
        session.decide("label", "me", place, labels=["food"])
    session.decide("label", "you", 4, labels=["food"])
    assert session.undo("me").content["document"] == session.table.keys[3]
    assert session.undo("you").content["document"] == session.table.keys[4]
    assert session.undo("new tab") is None  # others decided all that is left
    assert session.counts()["reviewed"] == 2
    for _ in range(5):
        session.undo("me")
    assert (session.class_names, session.undo("me")) == ([], None)


def test_two_processes_see_each_other(start):
    one, other = start(every=100), start(every=100)
    one.make_class("me", "a")
    other.hear()
    other.decide("label", "you", 3, labels=["a"])
    one.hear()
    assert one.table.label_of(3, one.reviewed) == (("a",), "reviewed")


def test_topics_that_another_process_edited_are_not_overwritten(start):
    given = [(TRUTH[i],) if i < 9 else () for i in range(60)]
    one, other = start(given, every=100), start(given, every=100)
    one.decide("label", "me", 20, labels=["food"])
    other.hear()
    assert not other.overtaken
    one.edit("me", "rename", {"topic": 0, "name": "mine"})
    other.decide("label", "you", 30, labels=["food"])
    assert (one.overtaken, other.overtaken) == (False, True)
    other.refitter.request()
    other.refitter.wait(30)
    assert cofactor.load_model(one.folder).topic_names_[0] == "mine"
    for change in (
        lambda: other.edit("you", "freeze", {"topic": 1}),
        lambda: other.undo_edit("you"),
    ):
        with pytest.raises(StaleError, match="start this one again"):
            change()
    one.hear()
    assert one.table.label_of(30, one.reviewed) == (("food",), "reviewed")
    again = start(given, model=cofactor.load_model(one.folder), saved_decisions=0)
    assert not again.overtaken


def test_classes_do_not_differ_in_case_only(start):
    session = start()
    session.make_class("me", "Sport")
    session.make_class("me", "food")
    for change in (
        lambda: session.make_class("me", "sport"),
        lambda: session.make_class("me", " SPORT "),
        lambda: session.rename_class("me", "food", "SPORT"),
    ):
        with pytest.raises(ValueError, match="The class 'Sport' already exists"):
            change()
    session.make_class("me", "Sport")  # it is there
    session.rename_class("me", "Sport", "sport")
    assert session.class_names == ["sport", "food"]
    session.rename_class("me", "food", "sport")  # which merges them
    assert session.class_names == ["sport"]


def test_labels_that_do_not_exist_are_refused(start):
    session = start()
    session.make_class("me", "a")
    session.make_class("me", "b")
    for place, labels in ((0, ["c"]), (0, ["a", "b"]), (60, ["a"]), (-1, ["a"])):
        with pytest.raises(ValueError, match=r"must be|does not exist|one label"):
            session.decide("label", "me", place, labels=labels)
    for name in ("", "  ", "x" * 201):
        with pytest.raises(ValueError, match="characters"):
            session.make_class("me", name)
    with pytest.raises(StaleError):
        session.rename_class("me", "gone", "new")
    assert session.counts()["reviewed"] == 0


def test_several_labels(start):
    session = start(several=True, every=2)
    make_classes(session)
    for place in range(6):
        session.decide("label", "me", place, labels=[TRUTH[place], "food"][: 1 + place % 2])
        session.refitter.wait(30)
    session.decide("label", "me", 7, labels=[])
    assert session.table.targets(session.reviewed)[7] == set()
    assert session.table.targets(session.reviewed)[8] is None
    assert session.refitter.trouble is None
    assert isinstance(session.now.documents[9].prediction, tuple)


def test_a_fit_that_fails_leaves_the_last_good_model(start, monkeypatch):
    session = start(every=3)
    make_classes(session)
    answer(session, 3)
    good = session.now

    def fail(*arguments, **options):
        raise MemoryError("no memory for 3 topics")

    monkeypatch.setattr(type(good.model), "refit", fail)
    answer(session, 3)
    assert session.refitter.trouble == "no memory for 3 topics"
    assert session.now is good
    assert cofactor.load_model(session.folder).topic_names_ == good.model.topic_names_
    monkeypatch.undo()
    session.refitter.request()
    session.refitter.wait(30)
    assert session.refitter.trouble is None
    assert session.now is not good


def test_an_edit_is_tried_accepted_and_taken_back(start):
    given = [(TRUTH[i],) if i < 9 else () for i in range(60)]
    session = start(given)
    session.refitter.request()
    session.refitter.wait(30)
    before = session.now
    trial = session.try_edit("merge", {"topics": [0, 1]})
    assert session.now is before
    assert len(trial.drift) == 3
    assert sum(row["came"] for row in trial.drift) > 0
    session.accept("me", trial.number)
    assert session.now.model is trial.after
    assert len(cofactor.load_model(session.folder).topic_names_) == 3
    with pytest.raises(StaleError):
        session.accept("me", trial.number)
    assert session.undo_edit("me") == "merge"
    session.refitter.wait(30)
    assert len(session.now.model.topic_names_) == 4
    assert len(cofactor.load_model(session.folder).topic_names_) == 4
    assert session.undo_edit("me") is None


def test_a_fit_does_not_swallow_an_edit(start):
    given = [(TRUTH[i],) if i < 9 else () for i in range(60)]
    session = start(given)
    trial = session.try_edit("ban", {"topic": 0, "word": "moon"})
    session.refitter.request()
    session.refitter.wait(30)  # the trial came from an older model
    session.accept("me", trial.number)
    session.refitter.request()
    session.refitter.wait(30)
    k = list(session.now.model.vectorizer_.get_feature_names_out()).index("moon")
    assert session.now.model.estimator_.components_[0, k] == 0
    assert session.edits == ["ban"]


def test_an_edit_during_a_fit_is_kept(start, monkeypatch):
    session = start([(TRUTH[i],) if i < 9 else () for i in range(60)])
    kind = type(session.now.model)
    fit = kind.refit

    def edited_meanwhile(model, *arguments, **options):
        if not session.edits:
            session.edit("me", "rename", {"topic": 0, "name": "mine"})
        return fit(model, *arguments, **options)

    monkeypatch.setattr(kind, "refit", edited_meanwhile)
    session.refitter.request()
    session.refitter.wait(30)
    assert session.now.model.topic_names_[0] == "mine"
    assert list(session.now.model.target_names_) == ["food", "space", "sport"]
    assert cofactor.load_model(session.folder).topic_names_[0] == "mine"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("fit", {}),
        ("merge", {"topics": [1]}),
        ("merge", {"topics": [1, 9]}),
        ("drop", {}),
        ("drop", {"topic": True}),
        ("drop", {"topic": "0"}),
        ("split", {"topic": 0, "into": 99}),
        ("pin", {"topic": 0, "word": "unknownword"}),
        ("rename", {"topic": 0, "name": ""}),
        ("save", {"path": "/etc"}),
        (None, None),
    ],
)
def test_bad_edits_are_refused(start, name, arguments):
    session = start()
    with pytest.raises((ValueError, TypeError)):
        session.try_edit(name, arguments)
    assert session.edits == []


def test_requests_during_a_fit_lead_to_one_more():
    runs, began, go_on = [], threading.Event(), threading.Event()

    def fit():
        runs.append(1)
        began.set()
        go_on.wait(10)

    refitter = Refitter(fit, quiet=0.0)
    refitter.request()
    began.wait(10)
    for _ in range(5):
        refitter.request()
    go_on.set()
    assert refitter.wait(10)
    assert len(runs) == 2
    refitter.close()


# ---- classes with identities, a log that is lost, texts that changed


def test_predictions_carry_the_new_name_before_the_next_fit(start, monkeypatch):
    session = start(every=3)
    make_classes(session)
    answer(session, 9)
    monkeypatch.setattr(session.refitter, "request", lambda: None)  # the old model stays
    places = [p for p in range(60) if session.prediction(p) == ["food"]]
    session.rename_class("me", "food", "cooking")
    assert [p for p in range(60) if session.prediction(p) == ["cooking"]] == places
    session.decide("label", "me", places[-1], labels=session.prediction(places[-1]))
    session.rename_class("me", "cooking", "sport")  # a merge
    assert all(session.prediction(p) == ["sport"] for p in places)


def test_a_saved_model_knows_classes_by_their_former_names(start):
    session = start(every=3)
    make_classes(session)
    answer(session, 9)
    known = len(session.reviewed.decisions)
    session.close()
    session.rename_class("me", "food", "cooking")
    again = start(model=cofactor.load_model(session.folder), saved_decisions=known)
    shown = {name for p in range(60) for name in again.prediction(p)}
    assert shown == {"space", "sport", "cooking"}
    again.refitter.wait(30)
    assert again.now.model.target_names_ == ["cooking", "space", "sport"]


def test_only_empty_classes_are_deleted(start):
    session = start(every=100)
    make_classes(session)
    session.decide("label", "me", 3, labels=["food"])
    with pytest.raises(ValueError, match="has labels"):
        session.delete_class("me", "food")
    session.delete_class("me", "sport")
    assert session.class_names == ["space", "food"]
    session.undo("me")
    assert session.class_names == ["space", "sport", "food"]


def test_classes_of_texts_that_are_not_in_the_table_are_not_deleted(start):
    session = start(every=100)
    make_classes(session)
    session.decide("label", "me", 3, labels=["food"])
    session.table = replace(session.table, texts=["x" + text for text in TEXTS])
    session._counted = (-1, {})
    with pytest.raises(ValueError, match="has labels of texts that are not in the table"):
        session.delete_class("me", "food")
    session._add("delete class", "me", id="food", name="food")  # by an earlier version
    (row,) = elsewhere(session)["rows"]
    assert (row["labels"], row["document"]) == ((), None)
    with pytest.raises(StaleError, match="was deleted"):
        session.take_over("me", {row["key"]: 3})
    assert session.table.label_of(3, session.reviewed) == (None, None)


def test_random_checks_are_judged_before_they_are_shown(start, monkeypatch):
    session = start(every=100)
    make_classes(session)
    answer(session, 9)
    before, during = session.checks, []

    def judge(*given):
        during.append(session.checks)
        return ["judged"]

    monkeypatch.setattr("cofactor.app.session.judge_checks", judge)
    monkeypatch.setattr("cofactor.app.session.earlier_predictions", lambda *given: ["other"])
    session.refitter.request()
    session.refitter.wait(30)
    assert during == [before]
    assert session.checks == ["judged"]


def test_an_edit_that_was_not_logged_is_not_applied(start, monkeypatch):
    session = start()
    before, names = session.now, list(session.now.model.topic_names_)

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.write", full)
    with pytest.raises(OSError, match="no room for"):
        session.edit("me", "rename", {"topic": 0, "name": "mine"})
    monkeypatch.undo()
    assert session.now is before
    assert session.edits == []
    assert cofactor.load_model(session.folder).topic_names_ == names


def test_a_log_that_was_lost_between_two_runs_comes_back(start):
    session = start(every=3)
    make_classes(session)
    answer(session, 9)
    labels = session.table.targets(session.reviewed)
    session.close()
    whole = session.log.path.read_bytes()
    session.log.path.write_bytes(b"".join(whole.splitlines(keepends=True)[:4]))
    again = start(model=cofactor.load_model(session.folder), saved_decisions=12)
    lost = [d.kind for d in again.lacking]
    assert lost == ["label"] * len(lost)
    assert len(lost) >= 8
    again.decide("label", "you", 3, labels=["food"])
    again.refitter.request()
    again.refitter.wait(30)
    assert again.lacking  # the copy is not overwritten before somebody decides
    again.restore_log()
    assert again.lacking == []
    found = again.table.targets(again.reviewed)
    assert found == [*labels[:3], "food", *labels[4:]]


def test_a_log_that_was_lost_without_any_fit_comes_back(start):
    session = start(every=100)
    make_classes(session)
    session.decide("label", "me", 3, labels=["food"])
    session.close()
    session.log.path.unlink()
    again = start(model=cofactor.load_model(session.folder), saved_decisions=0)
    assert [one.kind for one in again.lacking] == ["class"] * 3 + ["label"]
    again.restore_log()
    assert again.counts()["reviewed"] == 1


def test_a_lost_log_stops_decisions_until_it_is_restored(start):
    session = start(every=100)
    make_classes(session)
    session.log.path.unlink()
    session.hear()
    assert "was deleted" in session.lost
    with pytest.raises(LogLostError):
        session.decide("label", "me", 3, labels=["food"])
    session.restore_log()
    assert session.lost is None
    assert session.class_names == ["space", "sport", "food"]
    session.decide("label", "me", 3, labels=["food"])


def test_lines_in_memory_are_written_back_before_those_of_the_copy(start):
    session = start(every=3)
    make_classes(session)
    answer(session, 9)
    session.close()
    session.log.path.unlink()
    again = start(model=cofactor.load_model(session.folder), saved_decisions=12)
    again.decide("label", "you", 3, labels=["food"], create=True)
    lacking = again.lacking
    again.log.path.unlink()
    again.hear()
    again.restore_log()
    assert [d.content for d in again.lacking] == [d.content for d in lacking]
    again.refitter.wait(30)
    assert len(again.lacking) == len(lacking)  # the copy was not overwritten
    again.restore_log()
    assert again.lacking == []
    kept = {review.document for review in session.reviewed.history}
    assert again.reviewed.reviews.keys() == kept | {again.table.keys[3]}


def test_labels_of_changed_texts_are_taken_over(start):
    session = start(every=100)
    make_classes(session)
    for place in (1, 2, 3):
        session.decide("label", "me", place, labels=["food"])
    texts = [*TEXTS]
    texts[1] = texts[1].upper()  # the same letters
    texts[2] = "x" + texts[2]  # the same row, almost the same text
    texts[3] = "nothing of the kind"
    session.table = replace(session.table, texts=texts)
    session._counted = (-1, {})
    assert session.counts()["elsewhere"] == 3
    rows = elsewhere(session)["rows"]
    assert [row["document"] for row in rows] == [1, 2, None]
    session.take_over("me", {row["key"]: row["document"] for row in rows[:2]})
    assert session.table.label_of(2, session.reviewed) == (("food",), "reviewed")
    assert session.counts()["elsewhere"] == 1
    session.undo("me")
    assert session.counts()["elsewhere"] == 2
    with pytest.raises(StaleError):
        session.take_over("me", {rows[0]["key"]: 5})


def test_folders_keep_their_permissions(start):
    session = start(every=3)
    make_classes(session)
    session.folder.chmod(0o700)
    answer(session, 6)
    assert session.folder.stat().st_mode & 0o777 == 0o700
    assert (session.folder / "decisions.jsonl").stat().st_mode & 0o777 == 0o600


# ---- grammatical words


@pytest.fixture
def questions(start):
    """Begin a session on short questions, whose label only their first words tell."""
    random = np.random.default_rng(0)
    nouns = [f"noun{i}" for i in range(40)]
    asked = {"person": "who was the", "place": "where was the"}
    truth = [[*asked][i % 2] for i in range(200)]
    texts = [f"{asked[one]} {' '.join(random.choice(nouns, 3))}" for one in truth]

    def begin(several, **options):
        table = TextTable(texts, [()] * 200, [*range(200)], several=several)
        model = cofactor.TopicModel(3, language="english", random_state=0).fit(texts)
        return start(table=table, model=model, every=1000, **options), truth

    return begin


def _label_first(session, truth, n):
    for place in range(n):
        session.decide("label", "t", place, labels=[truth[place]], create=True)
    session.refitter.request()
    assert session.refitter.wait(60)
    assert session.refitter.trouble is None


@pytest.mark.parametrize("several", [False, True])
def test_labels_show_that_grammatical_words_help(questions, several):
    session, truth = questions(several=several)
    assert not session.now.model.vectorizer_.keeps_grammar
    _label_first(session, truth, 60)
    model = session.now.model
    assert model.vectorizer_.keeps_grammar if several else model.fitted.further is not None
    right = [session.prediction(place) == [truth[place]] for place in range(60, 200)]
    assert np.mean(right) > 0.9


def test_edited_topics_are_not_fitted_anew(questions):
    session, truth = questions(several=True)
    session.edit("t", "rename", {"topic": 0, "name": "kept"})
    _label_first(session, truth, 60)
    assert not session.now.model.vectorizer_.keeps_grammar
    assert session.now.model.topic_names_[0] == "kept"


def test_a_model_that_was_there_before_is_not_fitted_anew(questions):
    session, truth = questions(several=True, saved_decisions=0)
    _label_first(session, truth, 60)
    assert not session.now.model.vectorizer_.keeps_grammar
