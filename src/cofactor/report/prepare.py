"""From a model and documents to plain tables: everything that the page shows, as JSON would."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cofactor.report import documents as of_documents
from cofactor.report import topics as of_topics
from cofactor.report.evaluation import MODEL, PLAIN, Evaluation, evaluate
from cofactor.report.facts import reproduction, summary
from cofactor.report.material import Material, read_material
from cofactor.report.notices import notices
from cofactor.report.scores import calibration, class_scores, confusion, interval


@dataclass(frozen=True)
class Prepared:
    """What the page shows; lists of dicts are tables."""

    title: str
    source: str
    kind: str  # "topics", "classes", "numbers" or "sets"
    text: bool
    classes: list[str]
    summary: list[dict[str, Any]]
    notices: list[dict[str, str]]
    topics: list[dict[str, Any]]
    heatmap: list[dict[str, Any]]
    points: list[dict[str, Any]]
    anchors: list[dict[str, Any]]  # places of the topics on the map
    map_note: str
    evaluation: dict[str, Any] | None
    uncertain: list[dict[str, Any]]
    mistaken: list[dict[str, Any]]
    curves: list[dict[str, Any]]
    changes: dict[str, Any] | None
    reproduction: dict[str, Any]


def prepare(
    model, documents=None, labels=None, truth=None, *, text=True, title=None, source=None
) -> Prepared:
    """Make the tables of a report; parameters are those of `write_report`."""
    material = read_material(model, documents, labels, truth)
    found = evaluate(material)
    points, note = of_documents.map_points(material, text)
    return Prepared(
        title=str(title or "Topic report"),
        source=str(source or ""),
        kind=material.kind,
        text=bool(text and material.texts),
        classes=material.classes,
        summary=summary(material, found),
        notices=notices(material, found, text),
        topics=of_topics.topic_cards(material, text),
        heatmap=of_topics.heatmap(material),
        points=points,
        anchors=of_documents.map_anchors(material),
        map_note=note,
        evaluation=evaluation_tables(material, found),
        uncertain=of_documents.uncertain(material, text),
        mistaken=of_documents.mistaken(material, found, text),
        curves=curves(model.estimator_),
        changes=changes(material, found),
        reproduction=reproduction(material, documents, labels),
    )


def evaluation_tables(material: Material, found: Evaluation | None) -> dict[str, Any] | None:
    """Return scores by method and, for classes, confusion, scores by class and calibration."""
    if found is None:
        return None
    n, classes = len(found.tested), material.classes
    methods = [
        {"method": name, "score": score, "own": name == MODEL, **interval(score, n, material.kind)}
        for name, score in found.scores().items()
    ]
    methods.sort(key=lambda row: -row["score"])
    tables: dict[str, Any] = {"how": found.how, "fair": found.fair, "methods": methods}
    if found.probabilities is None:
        said = found.predictions[MODEL]
        tables["pairs"] = [
            {"truth": float(t), "prediction": float(p)}
            for t, p in zip(found.truth[:MOST_PAIRS], said[:MOST_PAIRS], strict=True)
        ]
        return tables
    matrix = confusion(found.truth, found.predictions[MODEL], len(classes))
    bins, error = calibration(found.truth, found.probabilities)
    return {
        **tables,
        "confusion": _cells(matrix, classes),
        "per_class": class_scores(matrix, classes),
        "calibration": bins,
        "calibration_error": error,
    }


MOST_PAIRS = 2000


def _cells(matrix: np.ndarray, classes: list[str]) -> list[dict[str, Any]]:
    """Return a confusion matrix as rows of a table, with shares of the true class."""
    total = np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    return [
        {"truth": classes[i], "prediction": classes[j], "documents": int(matrix[i, j]),
         "share": float(matrix[i, j] / total[i, 0])}
        for i in range(len(classes)) if matrix[i].any()
        for j in range(len(classes))
    ]  # fmt: skip


def curves(estimator: Any) -> list[dict[str, Any]]:
    """Return the terms of the objective after each iteration."""
    names = [name for name in ("data", "target") if name in estimator.history_]
    return [
        {"iteration": i + 1, "term": name, "value": float(value)}
        for name in names
        for i, value in enumerate(estimator.history_[name])
        if np.isfinite(value)
    ]


def changes(material: Material, found: Evaluation | None) -> dict[str, Any] | None:
    """Compare the topics with those of the same seed and λ = 0."""
    if found is None or found.plain is None:
        return None
    scores = found.scores()
    return {
        "with_labels": scores[MODEL],
        "without": scores[PLAIN],
        "iterations": found.plain.n_iter_,
        "topics": of_topics.match(material.model, found.plain.components_),
    }
