"""Progress: the accuracy in fair numbers only, classes that are confused, when to stop."""

import numpy as np
import pytest

from app_corpus import TEXTS, TRUTH, answer, make_classes
from cofactor import TopicModel
from cofactor.app.estimate import MIN_CHECKS, moved_predictions
from cofactor.app.page_data import accuracy
from cofactor.app.progress import calibration, confused_classes, scores_by_class
from cofactor.text.labelling.suggestions import RANDOM

NAMES = ["space", "sport", "food"]


def label_as(session, monkeypatch, places, reason, truth=TRUTH):
    """Label documents as if the queue had shown them for a reason."""
    said = type(session).said
    monkeypatch.setattr(
        type(session), "said", lambda self, *seen: said(self, *seen) | {"reason": reason}
    )
    for place in places:
        session.decide("label", "me", place, labels=[truth[place]])
    monkeypatch.undo()


def refit(session):
    session.refitter.request()
    assert session.refitter.wait(60)
    assert session.refitter.trouble is None


def test_close_calls_do_not_count(start, monkeypatch):
    """The labels of chosen texts are wrong on purpose; those of random texts are right."""
    session = start(every=1000)
    make_classes(session)
    wrong = [NAMES[(NAMES.index(name) + 1) % 3] for name in TRUTH]
    label_as(session, monkeypatch, range(30), RANDOM)
    label_as(session, monkeypatch, range(30, 40), "close call", wrong)
    refit(session)
    found = accuracy(session)
    assert (found["n"], found["source"]) == (30, "random checks")
    assert found["value"] > 0.8
    assert found["low"] < found["value"] <= found["high"]


def test_few_checks_say_nothing(start, monkeypatch):
    session = start(every=1000)
    make_classes(session)
    label_as(session, monkeypatch, range(MIN_CHECKS - 1), RANDOM)
    label_as(session, monkeypatch, range(30, 50), "close call")
    refit(session)
    assert accuracy(session) is None
    label_as(session, monkeypatch, [50], RANDOM)
    refit(session)
    assert accuracy(session)["n"] == MIN_CHECKS


def test_the_score_of_the_fit_is_fair_if_no_label_was_chosen(start, monkeypatch):
    given = [(TRUTH[i],) if i < 40 else () for i in range(60)]
    session = start(given, every=1000)
    refit(session)
    expected = session.now.model.expected_score_
    found = accuracy(session)
    assert (found["value"], found["n"]) == (expected.value, round(expected.n_samples))
    label_as(session, monkeypatch, [50], RANDOM)
    assert accuracy(session)["source"] == "labels of the table"
    label_as(session, monkeypatch, [51], "close call")
    assert accuracy(session) is None


def test_the_accuracy_is_that_of_the_current_model(start, monkeypatch):
    """Predictions at the time of a check do not count: the model had no label then."""
    session = start(every=1000)
    make_classes(session)
    label_as(session, monkeypatch, range(45), RANDOM)  # no fit: nothing was predicted
    assert all(one.predicted is None for one in session.reviewed.history)
    refit(session)
    assert accuracy(session)["value"] > 0.8


def test_a_label_does_not_judge_itself(start, monkeypatch):
    """Labels that no text can tell are guessed no better than by chance."""
    session = start(every=1000)
    make_classes(session)
    truth = np.random.default_rng(1).permutation(TRUTH).tolist()
    label_as(session, monkeypatch, range(60), RANDOM, truth)
    refit(session)
    assert accuracy(session)["low"] < 1 / 3 < accuracy(session)["high"]


def test_a_renamed_class_keeps_its_checks(start, monkeypatch):
    session = start(every=1000)
    make_classes(session)
    label_as(session, monkeypatch, range(40), RANDOM)
    refit(session)
    before = accuracy(session)
    session.rename_class("me", "food", "cooking")
    assert accuracy(session) == before
    assert session.refitter.wait(60)
    assert accuracy(session) == before


def test_checks_of_no_class_and_of_a_class_of_their_own_are_wrong(start, monkeypatch):
    session = start(every=1000)
    make_classes(session)
    session.make_class("me", "other")
    label_as(session, monkeypatch, range(38), RANDOM)
    label_as(session, monkeypatch, [38], RANDOM, ["other"] * 60)
    said = type(session).said
    monkeypatch.setattr(
        type(session), "said", lambda self, *seen: said(self, *seen) | {"reason": RANDOM}
    )
    session.decide("label", "me", 39, labels=[])
    refit(session)
    found = accuracy(session)
    assert found["n"] == 40
    assert found["value"] <= 38 / 40


def test_several_labels_count_later_checks(start):
    session = start(several=True, every=5)
    make_classes(session)
    answer(session, 40)
    assert all(check.predicted is not None for check in session.checks)
    numbers = {check.document: check for check in session.checks}
    assert 2 <= len(numbers) <= 6  # one in five of the later half


def test_scores_by_class_and_confused_classes():
    judged = [
        {"truth": ("a",), "predicted": ("a",), "right": True},
        {"truth": ("a",), "predicted": ("b",), "right": False},
        {"truth": ("b",), "predicted": ("b",), "right": True},
        {"truth": (), "predicted": ("b",), "right": False},
    ]
    a, b = scores_by_class(judged)
    assert (a["recall"], a["precision"], a["checks"]) == (0.5, 1.0, 2)
    assert (b["recall"], b["precision"], b["predicted"]) == (1.0, 1 / 3, 3)
    assert confused_classes(judged)[0] == {"truth": "a", "predicted": "b", "checks": 1}


def test_calibration():
    checks = [{"right": i > 50, "confidence": 0.6} for i in range(1, 101)]
    assert calibration(checks) == [
        {"low": 0.5, "high": 0.7, "checks": 100, "confidence": pytest.approx(0.6), "right": 0.5}
    ]


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


def test_a_model_that_held_no_label_out_is_not_compared(page):
    model = TopicModel(4, classes={"space": "rocket", "sport": "goal", "food": "oven"})
    page.begin(
        given=[(TRUTH[i],) if i < 30 else () for i in range(60)],
        model=model.fit(TEXTS, [TRUTH[i] if i < 30 else "" for i in range(60)]),
    )
    assert "names of classes gave labels" in page.change("compare", 422)["error"]
