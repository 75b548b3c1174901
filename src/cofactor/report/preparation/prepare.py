"""Turns a model and documents into plain tables: all content of the page, as JSON values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cofactor.report.preparation import documents as of_documents
from cofactor.report.preparation import topics as of_topics
from cofactor.report.preparation.evaluation import MODEL, PLAIN, Evaluation, evaluate
from cofactor.report.preparation.facts import reproduction, summary
from cofactor.report.preparation.material import Material, read_material
from cofactor.report.preparation.notices import notices
from cofactor.report.preparation.over_time import over_time
from cofactor.report.preparation.scores import (
    METRICS,
    calibration,
    class_scores,
    confusion,
    format_score,
    interval,
    number_tables,
    set_tables,
)
from cofactor.report.preparation.selection import CLASSES, class_sizes, largest
from cofactor.text import TopicModel
from cofactor.text.editing.changes import topics_digest


@dataclass(frozen=True)
class Prepared:
    """The content of the page; lists of dicts are tables."""

    title: str
    source: str
    kind: str  # "topics", "classes", "numbers" or "sets"
    text: bool
    number: str  # the word before the number of a document: "row", "id" or "document"
    classes: list[str]
    summary: list[dict[str, Any]]
    notices: list[dict[str, str]]
    topics: list[dict[str, Any]]  # by number
    topics_digest: str  # by which downloaded names are recognised
    order: list[int]  # in which topics are shown: the largest first
    heatmap: list[dict[str, Any]]
    class_sizes: list[int]  # documents of each class
    largest_classes: list[str]  # those that charts show
    points: list[dict[str, Any]]  # documents, each with its place on the map
    anchors: list[dict[str, Any]]  # positions of the topics on the map
    map_note: str
    evaluation: dict[str, Any] | None
    uncertain: list[dict[str, Any]]
    mistaken: list[dict[str, Any]]
    doubtful: list[dict[str, Any]]
    curves: list[dict[str, Any]]
    changes: dict[str, Any] | None
    reproduction: dict[str, Any]
    cut: bool  # whether long texts are cut in the table of documents
    over_time: dict[str, Any] | None = None  # shares and words in periods; None without dates
    pooled: bool = True  # whether a word multiplies the ratio of probabilities, or adds points
    plain: str = PLAIN  # the name of the method that finds its topics without labels


def prepare(
    model: Any,
    documents: Any = None,
    labels: Any = None,
    truth: Any = None,
    *,
    text: bool = True,
    title: str | None = None,
    source: str | None = None,
    rows: Any = None,
    dates: Any = None,
    every: str | None = None,
) -> Prepared:
    """Return the content of a report; parameters are those of `write_report`."""
    if not isinstance(model, TopicModel):
        raise TypeError(f"model is a {type(model).__name__}; a report needs a TopicModel.")
    check_is_fitted(model, "estimator_")
    material = read_material(model, documents, labels, truth, rows)
    timed = over_time(material, dates, every)  # first: it refuses bad dates before any fit
    found = evaluate(material)
    sizes, topics = class_sizes(material), of_topics.topic_cards(material, text)
    order = sorted(range(len(topics)), key=lambda k: -topics[k]["share"])
    points, cut = of_documents.document_rows(material, text)
    return Prepared(
        title=str(title or "Topic report"),
        source=str(source or ""),
        kind=material.kind,
        text=bool(text and material.texts),
        number="document" if rows is None else "id" if material.named else "row",
        classes=material.classes,
        summary=summary(material, found),
        notices=notices(material, found, text),
        topics=topics,
        topics_digest=topics_digest(model),
        order=order,
        heatmap=of_topics.heatmap(material),
        class_sizes=sizes.tolist(),
        largest_classes=[material.classes[c] for c in largest(sizes, CLASSES)],
        points=points,
        anchors=of_documents.map_anchors(material),
        map_note=of_documents.documents_note(material),
        evaluation=evaluation_tables(material, found),
        uncertain=of_documents.uncertain(material, text),
        mistaken=of_documents.mistaken(material, found, text),
        doubtful=of_documents.doubtful(material, text),
        curves=curves(model.estimator_),
        changes=changes(material, found, order),
        reproduction=reproduction(material),
        cut=cut,
        over_time=timed,
        pooled=getattr(model.estimator_, "pooled_head", None) is not None,
    )


def evaluation_tables(material: Material, found: Evaluation | None) -> dict[str, Any] | None:
    """Return the scores of all methods, and details on those of the model."""
    if found is None:
        return None
    tables = {"how": found.how, "fair": found.fair, **_methods(found)}
    return {**tables, **_DETAILS[found.kind](found, material.classes)}


def _methods(found: Evaluation) -> dict[str, Any]:
    """Return the methods, best first; a column of scores that none of them has is left out."""
    names, kind = METRICS[found.kind], found.kind
    rows = [
        {
            "method": name,
            "score": scores[0] or 0.0,
            "shown": format_score(kind, scores[0]),
            "more": scores[1:],
            "own": name == MODEL,
            **interval(scores[0] or 0.0, len(found.tested), kind),
        }
        for name, scores in found.all_scores().items()
    ]
    rows.sort(key=lambda row: -row["score"])
    told = [c for c in range(len(names) - 1) if any(row["more"][c] is not None for row in rows)]
    for row in rows:
        row["more"] = [_format_more(kind, row["more"][c]) for c in told]
    return {"metric": names[0], "more": [names[c + 1] for c in told], "methods": rows}


def _format_more(kind: str, score: float | None) -> str:
    return format_score(kind, score) if kind == "sets" or score is None else f"{score:.3g}"


def _of_classes(found: Evaluation, classes: list[str]) -> dict[str, Any]:
    assert found.probabilities is not None
    matrix = confusion(found.truth, found.predictions[MODEL], len(classes))
    bins, error = calibration(found.truth, found.probabilities)
    kept = largest(matrix.sum(axis=1) + matrix.sum(axis=0), CLASSES)
    return {
        "confusion": _cells(*_merged(matrix, classes, kept)),
        "confusion_pairs": _pairs(matrix, classes),
        "per_class": class_scores(matrix, classes),
        "calibration": bins,
        "calibration_error": error,
    }


def _of_sets(found: Evaluation, classes: list[str]) -> dict[str, Any]:
    """Return the model's scores of each label, and its average precision by every method."""
    tables = {name: set_tables(found.truth, each) for name, each in found.predictions.items()}
    rows = [
        {
            "class": label,
            **tables[MODEL][c],
            "by_method": [table[c]["average_precision"] for table in tables.values()],
        }
        for c, label in enumerate(classes)
    ]
    return {"per_label": rows, "by_method": list(tables)}


def _of_numbers(found: Evaluation, classes: list[str]) -> dict[str, Any]:
    """Return the scores of each target by every method; for a single target also the pairs."""
    tables = {name: number_tables(found.truth, each) for name, each in found.predictions.items()}
    rows = [
        {
            "class": name,
            "documents": tables[MODEL][c]["documents"],
            "by_method": [table[c] for table in tables.values()],
        }
        for c, name in enumerate(classes)
    ]
    scores: dict[str, Any] = {"per_target": rows, "by_method": list(tables)}
    if len(classes) == 1:
        pairs = zip(
            found.truth[:MOST_PAIRS, 0], found.predictions[MODEL][:MOST_PAIRS, 0], strict=True
        )
        scores["pairs"] = [{"truth": float(t), "prediction": float(p)} for t, p in pairs]
    return scores


_DETAILS = {"classes": _of_classes, "sets": _of_sets, "numbers": _of_numbers}
MOST_PAIRS = 2000


def _cells(matrix: np.ndarray, classes: list[str]) -> list[dict[str, Any]]:
    """Return a confusion matrix as rows of a table, with shares of the true class."""
    total = np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    return [
        {
            "truth": classes[i],
            "prediction": classes[j],
            "documents": int(matrix[i, j]),
            "share": float(matrix[i, j] / total[i, 0]),
        }
        for i in range(len(classes))
        if matrix[i].any()
        for j in range(len(classes))
    ]


OTHERS = "other classes"


def _merged(
    matrix: np.ndarray, classes: list[str], kept: list[int]
) -> tuple[np.ndarray, list[str]]:
    """Return a confusion matrix of the classes kept; all others count as one."""
    if len(kept) == len(classes):
        return matrix, classes
    place = np.full(len(classes), len(kept))
    place[kept] = np.arange(len(kept))
    merged = np.zeros((len(kept) + 1, len(kept) + 1), dtype=matrix.dtype)
    np.add.at(merged, (place[:, None], place), matrix)
    return merged, [*(classes[c] for c in kept), OTHERS]


def _pairs(matrix: np.ndarray, classes: list[str]) -> list[dict[str, Any]]:
    """Return the cells of a confusion matrix that are not 0, the largest first."""
    places = np.argwhere(matrix)
    order = np.argsort(-matrix[tuple(places.T)], kind="stable")
    return [
        {"truth": classes[i], "prediction": classes[j], "documents": int(matrix[i, j])}
        for i, j in places[order]
    ]


def curves(estimator: Any) -> list[dict[str, Any]]:
    """Return the terms of the objective after each iteration."""
    names = [name for name in ("data", "target") if name in estimator.history_]
    return [
        {"iteration": i + 1, "term": name, "value": float(value)}
        for name in names
        for i, value in enumerate(estimator.history_[name])
        if np.isfinite(value)
    ]


def changes(
    material: Material, found: Evaluation | None, order: list[int]
) -> dict[str, Any] | None:
    """Compare the topics, in this order, with those of the same seed and λ = 0."""
    if found is None or found.plain is None:
        return None
    scores, rows = found.scores(), of_topics.match(material.model, found.plain, material.X)
    return {
        "metric": METRICS[found.kind][0],
        "with_labels": scores[MODEL],
        "without": scores[PLAIN],
        "shown": [format_score(found.kind, scores[name]) for name in (PLAIN, MODEL)],
        "iterations": found.plain.n_iter_,
        "topics": sorted(rows, key=lambda row: order.index(row["topic"])),
    }
