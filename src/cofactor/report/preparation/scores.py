"""Scores of predictions: accuracy, F1, R², calibration and intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from cofactor.metrics.accuracy import calibration_table, wilson_interval

BINS = 10
METRICS = {
    "classes": ["accuracy"],
    "sets": ["micro F1", "macro F1", "mean average precision"],
    "numbers": ["R²", "mean error"],
}
"""Names of the scores by what is predicted; methods are ranked by the first."""


def format_score(kind: str, score: float | None) -> str:
    """Return a score of the first kind in `METRICS` as text."""
    if score is None:
        return ""
    return f"{100 * score:.1f} %" if kind == "classes" else f"{score:.3f}".replace("-", "−")


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
    hits, true, yes = _counts(truth, predicted)
    precision, recall, f1 = _ratio(hits, yes), _ratio(hits, true), _ratio(2 * hits, yes + true)
    return [
        {
            "documents": int(true[c]),
            "precision": float(precision[c]),
            "recall": float(recall[c]),
            "f1": float(f1[c]),
            "average_precision": _average_precision(truth[:, c], predicted[:, c]),
        }
        for c in range(truth.shape[1])
    ]


def _average_precision(truth: np.ndarray, predicted: np.ndarray) -> float | None:
    from sklearn.metrics import average_precision_score  # slow to import, for sets only

    known = ~np.isnan(truth)
    if not (truth == 1).any():
        return None
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
    hits, tested, predicted = np.diag(matrix), matrix.sum(axis=1), matrix.sum(axis=0)
    precision, recall = _ratio(hits, predicted), _ratio(hits, tested)
    f1 = _ratio(2 * hits, predicted + tested)
    return [
        {
            "class": name,
            "documents": int(tested[c]),
            "precision": float(precision[c]),
            "recall": float(recall[c]),
            "f1": float(f1[c]),
        }
        for c, name in enumerate(classes)
        if tested[c] or predicted[c]
    ]


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.divide(above, below, out=np.zeros(len(above)), where=below > 0)


def calibration(truth: np.ndarray, P: np.ndarray) -> tuple[list[dict[str, Any]], float]:
    """Compare confidence with accuracy in ten bins; return the bins and the mean difference."""
    table = calibration_table(P.max(axis=1), P.argmax(axis=1) == truth, np.arange(BINS + 1) / BINS)
    apart = sum(row.count * abs(row.confidence - row.accuracy) for row in table)
    rows = [
        {"confidence": row.confidence, "accuracy": row.accuracy, "documents": row.count}
        for row in table
    ]
    return rows, apart / max(len(truth), 1)


def interval(score: float, n: int, kind: str) -> dict[str, Any]:
    """Return the 95 % Wilson interval of an accuracy; None for other scores."""
    if kind != "classes":
        return {"low": None, "high": None}
    low, high = wilson_interval(score, n)
    return {"low": low, "high": high}
