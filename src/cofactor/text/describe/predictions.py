"""From a target in any form to an estimator, and from its scores to what people read."""

from __future__ import annotations

from typing import Any

import numpy as np

from cofactor.estimators import NMF, SSNMFClassifier, SSNMFRegressor
from cofactor.targets.missing import is_missing
from cofactor.targets.reading import is_matrix, readable

ESTIMATORS = {"topics": NMF, "classes": SSNMFClassifier, "numbers": SSNMFRegressor}


def infer_task(y: Any) -> str:
    """Tell what y asks for.

    Examples
    --------
    >>> infer_task(None), infer_task(["a", ""]), infer_task([0, 1, -1]), infer_task([0.5, 2.0])
    ('topics', 'classes', 'classes', 'numbers')
    """
    if y is None:
        return "topics"
    y = readable(y, "y")
    if is_matrix(y):
        return "classes"
    return "numbers" if any(map(_is_fraction, np.asarray(y).ravel().tolist())) else "classes"


def _is_fraction(value: Any) -> bool:
    return isinstance(value, float) and not is_missing(value) and not value.is_integer()


def target_names(estimator: Any, y: Any) -> list[Any]:
    """Return the classes, or the names of numeric targets."""
    if hasattr(estimator, "classes_"):
        return [_plain(c) for c in estimator.classes_.tolist()]
    if not has_head(estimator):
        return []
    k = estimator.target_components_.shape[1]
    if hasattr(y, "columns"):
        return [str(name) for name in y.columns]
    name = str(getattr(y, "name", None) or "y")
    return [name] if k == 1 else [f"{name}[{j}]" for j in range(k)]


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float) else str(value)


def has_head(estimator: Any) -> bool:
    """Whether the estimator can predict."""
    return hasattr(estimator, "target_components_")


def is_numeric(estimator: Any) -> bool:
    """Whether it predicts numbers."""
    return isinstance(estimator, SSNMFRegressor)


def read_scores(estimator: Any, S: np.ndarray, names: list) -> tuple[list, list]:
    """Return the prediction and the confidence for each row of S; None where there is none."""
    if not has_head(estimator):
        return [None] * len(S), [None] * len(S)
    scores = S @ estimator.target_components_
    if is_numeric(estimator):
        return _rows(estimator._coding.decode(scores)), [None] * len(S)
    P = estimator._probabilities(scores)
    decided = estimator._coding.decode(P)
    if estimator._coding.kind != "multilabel":
        return decided.tolist(), P.max(axis=1).tolist()
    labels = [tuple(n for n, yes in zip(names, row, strict=True) if yes) for row in decided]
    return labels, np.maximum(P, 1 - P).min(axis=1).tolist()


def _rows(values: np.ndarray) -> list:
    return values.tolist() if values.ndim == 1 else [tuple(row) for row in values.tolist()]


def score_scale(estimator: Any, scores: np.ndarray) -> tuple[float, np.ndarray]:
    """Return factor and base with which fitted targets of one sample become what is predicted:
    probabilities or numbers."""
    if is_numeric(estimator):
        return 1.0, np.asarray(estimator._coding.offset, dtype=float)
    if estimator._coding.kind == "multilabel":
        return 1.0, np.zeros(len(scores))
    total = scores.sum()
    if total > 0:
        return 1.0 / total, np.zeros(len(scores))
    return 1.0, np.full(len(scores), 1.0 / len(scores))
