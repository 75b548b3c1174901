"""Progress of labelling: the score on randomly chosen documents, and whether to stop."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from typing import Any

from cofactor.app.decisions import Decision
from cofactor.app.session import Session
from cofactor.metrics.accuracy import calibration_table, wilson_interval
from cofactor.report.evaluation import evaluate
from cofactor.report.material import read_material
from cofactor.text.labelling.suggestions import RANDOM

RECENT_CHECKS = 50  # earlier random checks judge earlier models
STOP_LABELS, STOP_SHARE = 20, 0.01
"""Labelling can stop when this many labels changed less than this share of the predictions."""
CONFIDENCE_EDGES = (0.0, 0.5, 0.7, 0.85, 0.95, 1.0)
"""Accuracy is compared with confidence between two of these."""


def progress(session: Session) -> dict[str, Any]:
    """Return accuracy on random checks, calibration, labels per class and the expected score."""
    session.hear()
    checks = random_checks(session.reviewed.counted(), session)
    expected = session.now.model.expected_score_
    return {
        "accuracy": accuracy_curve(checks),
        "calibration": calibration(checks),
        "expected": None if expected is None else asdict(expected),
        "moved": moved_predictions(list(session.snapshots)),
        **session.counts(),
    }


def moved_predictions(snapshots: list[tuple[int, list[Any]]]) -> dict[str, Any] | None:
    """Return the share of predictions that the last labels changed; None with too few labels.

    The accuracy cannot have changed by more than this share. Later labels usually change less, so
    labelling can stop when the share is small.
    """
    if not snapshots:
        return None
    labels, now = snapshots[-1]
    earlier = [one for one in snapshots if one[0] <= labels - STOP_LABELS]
    if not earlier:
        return None
    before, predictions = earlier[-1]
    moved = sum(one != other for one, other in zip(predictions, now, strict=True))
    return {
        "labels": labels - before,
        "share": moved / len(now),
        "stop": moved < STOP_SHARE * len(now),
    }


def compare_methods(session: Session) -> dict[str, Any]:
    """Return cross-validated scores of the model and of simple methods on the same labels."""
    y = session.table.targets(session.reviewed)
    if y is None:
        raise ValueError("A comparison needs labels of two classes.")
    with warnings.catch_warnings(action="ignore"):
        material = read_material(session.now.model, session.table.texts, y, None)
        found = evaluate(material)
    if found is None or not found.fair:
        raise ValueError("The labels do not allow a comparison yet; label some more texts.")
    return {"scores": found.scores(), "how": found.how}


def random_checks(decisions: list[Decision], session: Session) -> list[dict[str, Any]]:
    """Return the decisions about randomly chosen documents, with the earlier predictions.

    A document counts once, with its last label; ``labels`` is the number of labels at that time.
    """
    reviews = session.reviewed.reviews
    found: dict[str, dict[str, Any]] = {}
    labelled: set[str] = set()
    for decision in decisions:
        key = decision.content.get("document")
        if decision.kind != "label" or not isinstance(key, str) or key not in reviews:
            continue
        labelled.add(key)
        predicted, truth = decision.content.get("prediction"), reviews[key].labels
        if decision.content.get("reason") == RANDOM and predicted is not None and truth:
            guess = predicted if isinstance(predicted, list) else [predicted]
            found.setdefault(
                key,
                {
                    "labels": len(labelled),
                    "right": {*map(str, guess)} == {*truth},
                    "confidence": decision.content.get("confidence"),
                },
            )
    return list(found.values())


def accuracy_curve(checks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the accuracy after each check, over the most recent ones, with its 95 % interval."""
    points = []
    for end in range(1, len(checks) + 1):
        some = checks[max(end - RECENT_CHECKS, 0) : end]
        right = sum(one["right"] for one in some)
        low, high = wilson_interval(right / len(some), len(some))
        points.append(
            {
                "labels": checks[end - 1]["labels"],
                "checks": len(some),
                "accuracy": right / len(some),
                "low": low,
                "high": high,
            }
        )
    return points


def calibration(checks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how often predictions of similar confidence were right."""
    sure = [check for check in checks if check["confidence"] is not None]
    confidence, right = ([check[name] for check in sure] for name in ("confidence", "right"))
    return [
        {
            "low": row.low,
            "high": row.high,
            "checks": row.count,
            "confidence": row.confidence,
            "right": row.accuracy,
        }
        for row in calibration_table(confidence, right, CONFIDENCE_EDGES)
    ]
