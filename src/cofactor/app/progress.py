"""Progress of labelling: the accuracy on random checks, class by class, and other methods."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from itertools import combinations
from typing import Any

from cofactor.app.estimate import MIN_CHECKS, judged_checks
from cofactor.app.page_data import quality
from cofactor.app.session import Session
from cofactor.app.text_queue import disagreements
from cofactor.metrics.accuracy import calibration_table
from cofactor.metrics.agreement import cohen_kappa, krippendorff_alpha
from cofactor.report.evaluation import evaluate
from cofactor.report.material import read_material
from cofactor.text.class_names import NONE_HELD_OUT

MAX_CONFUSED = 30  # pairs of classes
CONFIDENCE_EDGES = (0.0, 0.5, 0.7, 0.85, 0.95, 1.0)
"""Accuracy is compared with confidence between two of these."""


def progress(session: Session) -> dict[str, Any]:
    """Return the accuracy, the random checks behind it, calibration and labels per class."""
    with session.lock:
        session.hear()
        judged = judged_checks(session.checks, session.reviewed)
        fair = judged if len(judged) >= MIN_CHECKS else []
        return {
            "needed": MIN_CHECKS,
            "calibration": calibration(fair),
            "by_class": scores_by_class(fair),
            "confused": confused_classes(fair),
            "agreement": agreement(session),
            **quality(session),
            **session.counts(),
        }


def compare_methods(session: Session) -> dict[str, Any]:
    """Return cross-validated scores of the model and of simple methods on the same labels."""
    y = session.table.targets(session.reviewed)
    if y is None:
        raise ValueError("A comparison needs labels of two classes.")
    with warnings.catch_warnings(action="ignore"):
        material = read_material(session.now.model, session.table.texts, y, None)
        found = evaluate(material)
    if found is None and session.now.model.fitted.class_starts is not None:
        raise ValueError(f"There is no comparison: {NONE_HELD_OUT}.")
    if found is None or not found.fair:
        raise ValueError("The labels do not allow a comparison yet; label some more texts.")
    return {"scores": found.scores, "how": found.how}


def agreement(session: Session) -> dict[str, Any] | None:
    """Return how far people agree about texts that several labelled; None if there are none."""
    reviewed = session.reviewed
    units = [
        {who: tuple(sorted(reviewed.classes.shown(r.labels or ()))) for who, r in people.items()}
        for key, people in reviewed.opinions.items()
        if len(people) > 1 and key in session.table.places
    ]
    if not units:
        return None
    people = sorted({who for unit in units for who in unit})
    pairs = []
    for one, other in combinations(people, 2):
        both = [(unit[one], unit[other]) for unit in units if one in unit and other in unit]
        if both:
            same = sum(a == b for a, b in both) / len(both)
            kappa = cohen_kappa(*zip(*both, strict=True))
            pairs.append(
                {
                    "one": one,
                    "other": other,
                    "texts": len(both),
                    "same": same,
                    "kappa": _told(kappa),
                }
            )
    alpha = krippendorff_alpha([[*unit.values()] for unit in units])
    open_ = len(disagreements(reviewed))
    return {"texts": len(units), "alpha": _told(alpha), "open": open_, "pairs": pairs}


def _told(value: float) -> float | None:
    return None if math.isnan(value) else value


def scores_by_class(judged: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return precision and recall of each class on random checks; None if nothing is known."""
    rows = []
    for name in sorted({name for one in judged for name in (*one["truth"], *one["predicted"])}):
        true = sum(name in one["truth"] for one in judged)
        said = sum(name in one["predicted"] for one in judged)
        both = sum(name in one["truth"] and name in one["predicted"] for one in judged)
        rows.append(
            {
                "class": name,
                "checks": true,
                "predicted": said,
                "recall": both / true if true else None,
                "precision": both / said if said else None,
            }
        )
    return rows


def confused_classes(judged: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return which label was predicted as which other one, the most frequent first."""
    pairs = Counter(
        (", ".join(one["truth"]), ", ".join(one["predicted"])) for one in judged if not one["right"]
    )
    return [
        {"truth": truth, "predicted": predicted, "checks": number}
        for (truth, predicted), number in pairs.most_common(MAX_CONFUSED)
    ]


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
