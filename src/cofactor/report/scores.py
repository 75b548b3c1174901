"""Scores of predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

BINS = 10


def confusion(truth: np.ndarray, predicted: np.ndarray, k: int) -> np.ndarray:
    """Count documents by true class (rows) and prediction (columns)."""
    return np.bincount(truth * k + predicted, minlength=k * k).reshape(k, k)


def class_scores(matrix: np.ndarray, classes: list[str]) -> list[dict[str, Any]]:
    """Return precision, recall and F1 of each class that was tested or predicted."""
    hits, tested, said = np.diag(matrix), matrix.sum(axis=1), matrix.sum(axis=0)
    precision, recall = _ratio(hits, said), _ratio(hits, tested)
    f1 = _ratio(2 * hits, said + tested)
    return [
        {"class": name, "documents": int(tested[c]), "precision": float(precision[c]),
         "recall": float(recall[c]), "f1": float(f1[c])}
        for c, name in enumerate(classes) if tested[c] or said[c]
    ]  # fmt: skip


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.divide(above, below, out=np.zeros(len(above)), where=below > 0)


def calibration(truth: np.ndarray, P: np.ndarray) -> tuple[list[dict[str, Any]], float]:
    """Compare confidence with accuracy, in ten bins, and return their mean difference too."""
    confidence, right = P.max(axis=1), P.argmax(axis=1) == truth
    place = np.minimum((confidence * BINS).astype(int), BINS - 1)
    count = np.bincount(place, minlength=BINS)
    mean = _ratio(np.bincount(place, confidence, BINS), count)
    hit = _ratio(np.bincount(place, right, BINS), count)
    error = float(np.sum(count * np.abs(mean - hit)) / max(len(truth), 1))
    rows = [
        {"confidence": float(mean[b]), "accuracy": float(hit[b]), "documents": int(count[b])}
        for b in np.flatnonzero(count)
    ]
    return rows, error


def interval(score: float, n: int, kind: str) -> dict[str, Any]:
    """Return the 95 % Wilson interval of an accuracy; nothing for numbers."""
    if kind == "numbers":
        return {"low": None, "high": None}
    z = 1.96
    middle = (score + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(score * (1 - score) / n + z * z / (4 * n * n))
    return {"low": float(max(middle - half, 0.0)), "high": float(min(middle + half, 1.0))}
