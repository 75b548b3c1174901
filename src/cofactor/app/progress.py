"""How good the predictions are: judged by documents that were chosen at random."""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict
from typing import Any

from cofactor.app.decisions import Decision
from cofactor.app.session import Session
from cofactor.report.preparation.evaluation import evaluate
from cofactor.report.preparation.material import read_material
from cofactor.text.labelling.suggestions import RANDOM

RECENT = 50
"""Accuracy is that of the last so many random checks: older ones judge older models."""
STEP, FEW = 20, 0.01
"""Labelling can stop when so many labels have changed less than this share of the predictions."""
BINS = ((0.0, 0.5), (0.5, 0.7), (0.7, 0.85), (0.85, 0.95), (0.95, 1.0 + 1e-9))


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
    """Return the share of predictions that the last labels changed; None if there are too few.

    The accuracy cannot have changed by more than this share. Later labels usually change less, so
    a small share says that labelling can stop.
    """
    if not snapshots:
        return None
    labels, now = snapshots[-1]
    earlier = [one for one in snapshots if one[0] <= labels - STEP]
    if not earlier:
        return None
    before, predictions = earlier[-1]
    moved = sum(one != other for one, other in zip(predictions, now, strict=True))
    return {"labels": labels - before, "share": moved / len(now), "stop": moved < FEW * len(now)}


def compare_methods(session: Session) -> dict[str, Any]:
    """Return the scores of the model and of simple methods on the same labels, cross-validated."""
    y = session.corpus.targets(session.reviewed)
    if y is None:
        raise ValueError("A comparison needs labels of two classes.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        material = read_material(session.now.model, session.corpus.texts, y, None)
        found = evaluate(material)
    if found is None or not found.fair:
        raise ValueError("The labels do not allow a comparison yet; label some more texts.")
    return {"scores": found.scores(), "how": found.how}


def random_checks(decisions: list[Decision], session: Session) -> list[dict[str, Any]]:
    """Return the decisions about randomly chosen documents, with what was predicted before.

    A document counts once, with its last label; ``labels`` is the number of labels by then.
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
    """Return the accuracy after each check, over the last checks, with its interval of 95 %."""
    points = []
    for end in range(1, len(checks) + 1):
        some = checks[max(end - RECENT, 0) : end]
        right = sum(one["right"] for one in some)
        low, high = wilson(right, len(some))
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
    rows = []
    for low, high in BINS:
        some = [c for c in checks if c["confidence"] is not None and low <= c["confidence"] < high]
        if some:
            rows.append(
                {
                    "low": low,
                    "high": min(high, 1.0),
                    "checks": len(some),
                    "confidence": sum(c["confidence"] for c in some) / len(some),
                    "right": sum(c["right"] for c in some) / len(some),
                }
            )
    return rows


def wilson(right: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """Return Wilson's interval of a share.

    Examples
    --------
    >>> wilson(9, 10)
    (0.5958, 0.9821)
    """
    share, wide = right / n, z * z / n
    middle = (share + wide / 2) / (1 + wide)
    half = z / (1 + wide) * math.sqrt(share * (1 - share) / n + wide / (4 * n))
    return max(middle - half, 0.0), min(middle + half, 1.0)
