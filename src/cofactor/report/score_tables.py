"""Scores of predictions, and the page's tables of them.

`method_scores` scores one method on the tested documents; `evaluation_tables` makes the tables of
all methods and the details of the model's own predictions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score

from cofactor.linear.numbers import mean_score, score_of_numbers
from cofactor.metrics.accuracy import calibration_table, wilson_interval
from cofactor.report.material import natural_key

MODEL, PLAIN = "this model", "topics without labels"
OTHERS = "other classes"
MAX_PAIRS = 2000
BINS = 10
METRICS = {
    "classes": ["accuracy"],
    "sets": ["micro F1", "macro F1", "mean average precision"],
    "numbers": ["R²", "mean error"],
}
"""Names of the scores by what is predicted."""


Judges = Callable[[np.ndarray], list[Any]]
"""Returns for each of some tested documents an estimator that has not seen its label."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Predictions for documents whose labels the predictor has not seen."""

    kind: str  # what is predicted
    how: str  # how it was tested, for the page
    fair: bool  # whether every method saw the same labels
    tested: np.ndarray  # indices of the documents
    truth: np.ndarray
    predictions: dict[str, np.ndarray]  # by method; for sets, the probabilities of the labels
    probabilities: np.ndarray | None  # of the model's classes
    judges: Judges | None = None  # if the model itself was fitted with the tested labels
    plain: Any = None  # the estimator with λ = 0
    scale: Any = None  # of numbers: the model's `ValueCoding`

    @property
    def seen(self) -> bool:
        """Whether the model itself was fitted with the tested labels."""
        return self.judges is not None

    @property
    def logs(self) -> bool:
        """Whether the model learns logarithms of some numbers."""
        return self.scale is not None and bool(self.scale.logs.any())

    @property
    def metrics(self) -> list[str]:
        """Names of the scores; methods are ranked by the first."""
        return [*(["R² of logarithms"] if self.logs else []), *METRICS[self.kind]]

    @property
    def scores(self) -> dict[str, float]:
        """The first score of each method: accuracy, micro F1 or R²."""
        return {name: scores[0] or 0.0 for name, scores in self.all_scores.items()}

    @cached_property
    def all_scores(self) -> dict[str, list[float | None]]:
        """The scores of each method."""
        return {
            name: [*self._of_logs(predicted), *method_scores(self.kind, self.truth, predicted)]
            for name, predicted in self.predictions.items()
        }

    def _of_logs(self, predicted: np.ndarray) -> list[float | None]:
        if not self.logs:
            return []
        rows = number_tables(*(self.scale.scaled(one) for one in (self.truth, predicted)))
        return [_mean([row["r2"] for row in rows])]

    def interval(self, predicted: np.ndarray) -> dict[str, float | None]:
        """Return the 95 % interval of the first score of a method."""
        low, high = {"classes": _of_accuracy, "sets": _of_f1, "numbers": _of_r2}[self.kind](
            self, predicted
        )
        return {"low": low, "high": high}


def format_score(kind: str, score: float | None) -> str:
    """Return as text a score of the first metric of a kind."""
    if score is None:
        return ""
    return f"{100 * score:.1f} %" if kind == "classes" else f"{score:.3f}".replace("-", "−")


def format_interval(kind: str, row: dict[str, Any]) -> str:
    """Return the interval of a score as text."""
    ends = (row["low"], row["high"])
    if kind == "classes":
        return " – ".join(f"{100 * end:.1f}" for end in ends)
    return " – ".join(f"{end:.3f}".replace("-", "−") for end in ends)


def method_scores(kind: str, truth: np.ndarray, predicted: np.ndarray) -> list[float | None]:
    """Return the scores that `METRICS` lists; None for a score that is not defined.

    Parameters
    ----------
    kind : str
        What is predicted.
    truth : array
        Indices of classes; or a matrix of 0 and 1, or of numbers, NaN where unknown.
    predicted : array
        The predictions in the same form; for sets, the probabilities.
    """
    if kind == "classes":
        return [float(np.mean(truth == predicted))]
    if kind == "sets":
        tables = set_tables(truth, predicted)
        precisions = [row["average_precision"] for row in tables]
        return [_f1(truth, predicted), _mean([row["f1"] for row in tables]), _mean(precisions)]
    rows = number_tables(truth, predicted)
    error = rows[0]["mean_error"] if len(rows) == 1 else None
    return [_mean([row["r2"] for row in rows]), error]


def _mean(values: list[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    return float(np.mean(found)) if found else None


def _counts(truth: np.ndarray, predicted: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return for each label the number of hits, of true and of predicted occurrences."""
    known, yes = ~np.isnan(truth), predicted >= 0.5
    return (known & yes & (truth == 1)).sum(0), (truth == 1).sum(0), (known & yes).sum(0)


def _f1(truth: np.ndarray, predicted: np.ndarray) -> float:
    hits, true, yes = (int(count.sum()) for count in _counts(truth, predicted))
    return 2 * hits / (true + yes) if true + yes else 0.0


def set_tables(truth: np.ndarray, predicted: np.ndarray) -> list[dict[str, Any]]:
    """Return the scores of each label on the documents where it is known."""
    return [
        {**row, "average_precision": _average_precision(truth[:, c], predicted[:, c])}
        for c, row in enumerate(_class_rows(*_counts(truth, predicted)))
    ]


def _class_rows(hits: np.ndarray, true: np.ndarray, predicted: np.ndarray) -> list[dict[str, Any]]:
    """Return the number of documents, precision, recall and F1 of each class."""
    columns = {
        "precision": _ratio(hits, predicted),
        "recall": _ratio(hits, true),
        "f1": _ratio(2 * hits, predicted + true),
    }
    return [
        {"documents": int(n), **{name: float(column[c]) for name, column in columns.items()}}
        for c, n in enumerate(true)
    ]


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.divide(above, below, out=np.zeros(len(above)), where=below > 0)


def _average_precision(truth: np.ndarray, predicted: np.ndarray) -> float | None:
    if not (truth == 1).any():
        return None
    known = ~np.isnan(truth)
    return float(average_precision_score(truth[known] == 1, predicted[known]))


def number_tables(truth: np.ndarray, predicted: np.ndarray) -> list[dict[str, Any]]:
    """Return R² and mean absolute error of each target where it is known."""
    return [_numbers(truth[:, c], predicted[:, c]) for c in range(truth.shape[1])]


def _numbers(truth: np.ndarray, predicted: np.ndarray) -> dict[str, Any]:
    known = ~np.isnan(truth)
    t, p = truth[known], predicted[known]
    spread = float(np.sum((t - t.mean()) ** 2)) if len(t) else 0.0
    r2 = float(1.0 - np.sum((t - p) ** 2) / spread) if spread > 0 else None
    error = float(np.mean(np.abs(t - p))) if len(t) else None
    return {"documents": len(t), "r2": r2, "mean_error": error}


def confusion(truth: np.ndarray, predicted: np.ndarray, k: int) -> np.ndarray:
    """Count documents by true class (rows) and prediction (columns)."""
    return np.bincount(truth * k + predicted, minlength=k * k).reshape(k, k)


def class_scores(matrix: np.ndarray, classes: list[str]) -> list[dict[str, Any]]:
    """Return precision, recall and F1 of each class that was tested or predicted."""
    tested, predicted = matrix.sum(axis=1), matrix.sum(axis=0)
    rows = _class_rows(np.diag(matrix), tested, predicted)
    return [
        {"class": name, **row}
        for name, row, n in zip(classes, rows, tested + predicted, strict=True)
        if n
    ]


def calibration(truth: np.ndarray, P: np.ndarray) -> tuple[list[dict[str, Any]], float]:
    """Compare confidence with accuracy in ten bins; return the bins and the mean difference."""
    table = calibration_table(P.max(axis=1), P.argmax(axis=1) == truth, np.arange(BINS + 1) / BINS)
    apart = sum(row.count * abs(row.confidence - row.accuracy) for row in table)
    rows = [
        {"confidence": row.confidence, "accuracy": row.accuracy, "documents": row.count}
        for row in table
    ]
    return rows, apart / max(len(truth), 1)


def _of_accuracy(found: Evaluation, predicted: np.ndarray) -> tuple[float, float]:
    """Return Wilson's interval."""
    right = found.truth == predicted
    return wilson_interval(float(np.mean(right)), len(right))


def _of_f1(found: Evaluation, predicted: np.ndarray) -> tuple[float, float]:
    """Return the interval of micro F1, which is that of the share J of right labels among those
    given or true: F1 = 2J / (1 + J)."""
    hits, true, yes = (int(count.sum()) for count in _counts(found.truth, predicted))
    union = max(true + yes - hits, 1)
    low, high = wilson_interval(hits / union, union)
    return 2 * low / (1 + low), 2 * high / (1 + high)


def _of_r2(found: Evaluation, predicted: np.ndarray) -> tuple[float | None, float | None]:
    """Return the mean of the intervals of R² on the scale on which the model learns."""
    scaled = found.truth, predicted
    if found.scale is not None:
        scaled = tuple(found.scale.scaled(one) for one in scaled)
    each = []
    for truth, told in zip(scaled[0].T, scaled[1].T, strict=True):
        known = ~np.isnan(truth)
        y, p = truth[known], told[known]
        each.append(score_of_numbers(y - p, y, np.ones(len(y))))
    score = mean_score(each)
    return (None, None) if score is None else (score.low, score.high)


# ---- the tables of the page


def evaluation_tables(
    found: Evaluation | None, classes: list[str], charted: list[int]
) -> dict[str, Any] | None:
    """Return the scores of all methods, and the details of the model's; charts show some of the
    classes."""
    if found is None:
        return None
    tables = {"how": found.how, "fair": found.fair, **_methods(found)}
    if found.kind == "classes":
        return tables | _of_classes(found, classes, charted)
    details = {"sets": _of_sets, "numbers": _of_numbers}[found.kind]
    return {**tables, **details(found, classes)}


def _methods(found: Evaluation) -> dict[str, Any]:
    """Return the methods, best first, without the scores that no method has."""
    names, kind = found.metrics, found.kind
    rows: list[dict[str, Any]] = [
        {
            "method": name,
            "score": scores[0] or 0.0,
            "shown": format_score(kind, scores[0]),
            "more": scores[1:],
            "own": name == MODEL,
            **found.interval(found.predictions[name]),
        }
        for name, scores in found.all_scores.items()
    ]
    for row in rows:
        row["interval"] = "" if row["low"] is None else format_interval(kind, row)
    rows.sort(key=lambda row: -row["score"])
    told = [c for c in range(len(names) - 1) if any(row["more"][c] is not None for row in rows)]
    for row in rows:
        row["more"] = [_format_more(kind, names[c + 1], row["more"][c]) for c in told]
    return {"metric": names[0], "more": [names[c + 1] for c in told], "methods": rows}


def _format_more(kind: str, name: str, score: float | None) -> str:
    if kind == "sets" or name == "R²" or score is None:
        return format_score(kind, score)
    return f"{score:,.0f}" if abs(score) >= 100 else f"{score:.3g}"


def _of_classes(found: Evaluation, classes: list[str], charted: list[int]) -> dict[str, Any]:
    assert found.probabilities is not None
    matrix = confusion(found.truth, found.predictions[MODEL], len(classes))
    bins, error = calibration(found.truth, found.probabilities)
    return {
        "confusion": _cells(*_merged(matrix, classes, charted)),
        "confusion_pairs": _pairs(matrix, classes),
        "per_class": _in_order(class_scores(matrix, classes)),
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
    return {"per_label": _in_order(rows), "by_method": list(tables)}


def _in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows of classes in the order of their names."""
    return sorted(rows, key=lambda row: natural_key(row["class"]))


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
        pairs = np.hstack([found.truth, found.predictions[MODEL]])[:MAX_PAIRS].tolist()
        scores["pairs"] = [
            {
                "truth": truth,
                "prediction": predicted,
                "error": truth / predicted if found.logs and predicted else truth - predicted,
            }
            for truth, predicted in pairs
        ]
    return scores


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


def _merged(
    matrix: np.ndarray, classes: list[str], kept: list[int]
) -> tuple[np.ndarray, list[str]]:
    """Return a confusion matrix of the kept classes in their order; all others are one."""
    names = [classes[c] for c in kept] + [OTHERS] * (len(kept) < len(classes))
    place = np.full(len(classes), len(kept))
    place[kept] = np.arange(len(kept))
    merged = np.zeros((len(names), len(names)), dtype=matrix.dtype)
    np.add.at(merged, (place[:, None], place), matrix)
    return merged, names


def _pairs(matrix: np.ndarray, classes: list[str]) -> list[dict[str, Any]]:
    """Return the nonzero cells of a confusion matrix, largest first."""
    places = np.argwhere(matrix)
    order = np.argsort(-matrix[tuple(places.T)], kind="stable")
    return [
        {"truth": classes[i], "prediction": classes[j], "documents": int(matrix[i, j])}
        for i, j in places[order]
    ]
