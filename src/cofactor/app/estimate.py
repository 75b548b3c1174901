"""How often the current model is right, from labels that it did not choose and did not know.

Texts that the queue chooses are hard ones, so their labels say nothing about the others. Only texts
that were drawn at random count (random checks). Linear models, which were fitted without the label
of a check and with almost all others, predict it; they are the main part of the model's head.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cofactor.app.decisions import Review, Reviewed
from cofactor.app.text_queue import TextTable
from cofactor.metrics.accuracy import wilson_interval
from cofactor.text import TopicModel
from cofactor.text.documents import known_rows
from cofactor.text.labelling.doubts import judge_labels
from cofactor.text.labelling.suggestions import RANDOM

MIN_CHECKS = 20
"""With fewer checks no accuracy is shown, because its interval would be wider than 40 points."""
STOP_LABELS, STOP_SHARE = 20, 0.01
"""Labelling can stop when this many labels changed less than this share of the predictions."""


@dataclass(frozen=True)
class Check:
    """A random check, and what a model predicts that does not know its label."""

    document: str  # its key
    predicted: tuple[str | None, ...]  # identities of classes
    confidence: float | None


@dataclass(frozen=True)
class Estimate:
    """Share of texts for which the model is right, with its 95 % interval."""

    measure: str
    value: float
    low: float
    high: float
    n: int
    source: str  # "random checks" or "labels of the table"


def random_reviews(reviewed: Reviewed, table: TextTable) -> list[Review]:
    """Return the first label of each document that was drawn at random."""
    found: dict[str, Review] = {}
    for review in reviewed.history:
        key, drawn = review.document, review.decision.content.get("reason") == RANDOM
        if drawn and key in table.places and reviewed.labels_of(key) is not None:
            found.setdefault(key, review)
    return list(found.values())


def judge_checks(
    reviews: list[Review],
    model: TopicModel,
    table: TextTable,
    y: list[Any],
    identities: dict[str, str],
) -> list[Check]:
    """Return what the labels in y, without that of the check, predict for each random check."""
    if len(reviews) < MIN_CHECKS:
        return []
    classes = sorted({label for label in y if label})
    numbers = {name: number for number, name in enumerate(classes)}
    labels = np.array([numbers.get(label, -1) for label in y])
    rows = known_rows(model, table.texts)
    log_p = judge_labels(rows.X, labels, model.n_jobs, rows.side)
    checks = []
    for review in reviews:
        found = None if log_p is None else log_p[table.places[review.document]]
        if found is None or np.isnan(found).any():  # nothing else is labelled so: not predictable
            checks.append(Check(review.document, (None,), None))
        else:
            best = int(found.argmax())
            predicted = (identities.get(classes[best]),)
            checks.append(Check(review.document, predicted, float(np.exp(found[best]))))
    return checks


def earlier_predictions(reviews: list[Review], reviewed: Reviewed) -> list[Check]:
    """Return what the model predicted for random checks before it had their labels.

    These are checks since the number of labels was half of what it is now; they judge models that
    were no better than the current one. Only several labels per text need them.
    """
    labelled = [review for review in reviewed.history if review.labels is not None]
    first = labelled[len(labelled) // 2].decision.number if labelled else 0
    return [
        Check(one.document, one.predicted, one.decision.content.get("confidence"))
        for one in reviews
        if one.predicted is not None and one.decision.number >= first
    ]


def judged_checks(checks: list[Check], reviewed: Reviewed) -> list[dict[str, Any]]:
    """Return truth and prediction of each check by the current names, and whether it is right.

    A text that belongs to none of the classes counts as wrong, unless no class was predicted.
    """
    found = []
    for check in checks:
        truth = reviewed.labels_of(check.document)
        if truth is not None:
            predicted = reviewed.classes.shown(check.predicted)
            found.append(
                {
                    "document": check.document,
                    "truth": truth,
                    "predicted": predicted,
                    "right": set(truth) == set(predicted) and None not in check.predicted,
                    "confidence": check.confidence,
                }
            )
    return found


def estimate(
    checks: list[Check], reviewed: Reviewed, expected: Any, table: TextTable
) -> Estimate | None:
    """Return the accuracy of the current model on texts like these; None if none is fair.

    ``expected`` is the score that the fit expects from all labels. It is fair only if no label was
    chosen because of a prediction.
    """
    judged = judged_checks(checks, reviewed)
    if len(judged) >= MIN_CHECKS:
        share = float(np.mean([one["right"] for one in judged]))
        low, high = wilson_interval(share, len(judged))
        return Estimate("accuracy", share, low, high, len(judged), "random checks")
    chosen = any(
        review.labels and review.decision.content.get("reason") != RANDOM
        for key, review in reviewed.reviews.items()
        if key in table.places
    )
    if expected is None or chosen or expected.n_samples < MIN_CHECKS:
        return None
    n = round(expected.n_samples)
    return Estimate(
        expected.measure, expected.value, expected.low, expected.high, n, "labels of the table"
    )


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
