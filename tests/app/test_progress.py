"""Progress: random checks, intervals, when to stop, and other methods."""

import numpy as np
import pytest

from app_corpus import TRUTH
from cofactor.app.progress import accuracy_curve, calibration, moved_predictions


def test_progress_counts_random_checks_only(page):
    page.begin(every=3)
    page.make_classes()
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
