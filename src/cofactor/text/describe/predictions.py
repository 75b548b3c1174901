"""Predictions of the estimator of a topic model: its task, its scores, and what they mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse as sp

from cofactor.engine.factors import Factors
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import observe
from cofactor.engine.threads import Threads
from cofactor.estimators import NMF, SSNMFClassifier, SSNMFRegressor
from cofactor.estimators.inference import topic_means, topic_shares
from cofactor.estimators.validation import as_divergence
from cofactor.targets.reading import cells_of, is_matrix, readable, table_of
from cofactor.targets.task import are_numbers

ESTIMATORS = {"topics": NMF, "classes": SSNMFClassifier, "numbers": SSNMFRegressor}

CHECKED = "Confidences are weighed by held-out labels."
UNCHECKED = (
    "No held-out label has checked the confidences of this model, so they may be far too high or "
    "too low."
)
UNCHECKED_UPDATE = (
    "An update holds no labels out, so the confidences of this model are unchecked since it was "
    "updated."
)


def unchecked(model: Any) -> str | None:
    """Return a sentence if no held-out label has checked a model's confidences as they are now.

    No score can be expected of it, such as where classes have names but no labels.
    """
    estimator = getattr(model, "estimator_", model)
    checked = getattr(estimator, "expected_score_", None) is not None
    if checked or predicted_kind(estimator) not in ("classes", "sets"):
        return None
    return UNCHECKED_UPDATE if getattr(model.fitted, "learned", None) else UNCHECKED


def on_confidences(model: Any) -> str:
    """Return a sentence about a model's confidences; "" if it has none."""
    if predicted_kind(getattr(model, "estimator_", model)) not in ("classes", "sets"):
        return ""
    return unchecked(model) or CHECKED


def infer_task(y: Any, asked: str = "auto") -> str:
    """Return the task of a fit: ``asked``, unless it is "auto"; then y decides.

    `cofactor.targets.task` tells numbers from classes.

    Examples
    --------
    >>> infer_task(None), infer_task(["a", ""]), infer_task([0, 1, -1]), infer_task([0.5, 2.0])
    ('topics', 'classes', 'classes', 'numbers')
    """
    if asked != "auto":
        return asked
    if y is None:
        return "topics"
    y = readable(y, "y")
    if is_matrix(y):
        return "classes"
    return "numbers" if are_numbers(cells_of(y).ravel().tolist()) else "classes"


def target_names(estimator: Any, y: Any) -> list[Any]:
    """Return the classes, or the names of numeric targets."""
    if hasattr(estimator, "classes_"):
        return [_plain(c) for c in estimator.classes_.tolist()]
    if not has_head(estimator):
        return []
    k = estimator.target_components_.shape[1]
    if (table := table_of(y)) is not None:
        return [str(name) for name in table.columns]
    name = str(getattr(y, "name", None) or "y")
    return [name] if k == 1 else [f"{name}[{j}]" for j in range(k)]


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float) else str(value)


def has_head(estimator: Any) -> bool:
    """Return whether the estimator can predict."""
    return hasattr(estimator, "target_components_")


def predicted_kind(estimator: Any) -> str:
    """Return what the estimator predicts: "topics" (nothing), "classes", "sets" or "numbers"."""
    if not has_head(estimator):
        return "topics"
    if isinstance(estimator, SSNMFRegressor):
        return "numbers"
    return "sets" if estimator.coding.kind == "multilabel" else "classes"


def predictor(estimator: Any, method: str) -> Callable[..., np.ndarray]:
    """Return a method of the estimator that predicts; raise an error if it has none."""
    if hasattr(estimator, method):
        return getattr(estimator, method)
    numeric = isinstance(estimator, SSNMFRegressor)
    had, needed = ("numbers", "classes") if numeric else ("no labels", "labels")
    raise ValueError(
        f"{method} needs {needed}, but the model was fitted with {had}; pass {needed} as y of "
        "fit, or use transform."
    )


def predict_rows(estimator: Any, scores: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """Return the probabilities of classes or labels (None for numbers), and the predictions, for
    rows of scores."""
    if isinstance(estimator, SSNMFRegressor):
        return None, estimator.read(scores)
    return np.asarray(estimator.probabilities(scores)), estimator.read(scores)


def scores_of(estimator: Any, X: Any, S: np.ndarray, side: Any = None) -> np.ndarray:
    """Return the scores of documents with representations S; zero columns without a target.

    ``side`` is what is known of them beside X; an estimator that was fitted without it does not
    need it.
    """
    if not has_head(estimator):
        return np.zeros((len(S), 0))
    head = estimator.pooled_head
    given = {} if head is None or not head.needs_side else {"side": side}
    return np.asarray(estimator.scores(X, representation=S, **given))


def blank_rows(estimator: Any, S: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return which documents the model knows nothing of, so that it predicts nothing.

    They have no topic and, if predictions rest on more than topics, the scores of an empty text.
    """
    blank, head = ~S.any(axis=1), getattr(estimator, "pooled_head", None)
    if head is not None and blank.any():
        blank &= (scores == _scores_of_empty(estimator)).all(axis=1)
    return np.asarray(blank)


def _scores_of_empty(estimator: Any) -> np.ndarray:
    """Return the scores of an empty text by the pooled head."""
    if estimator.pooled_head.needs_side:
        return np.asarray(estimator.pooled_head.base)  # an empty side adds nothing
    r, m = estimator.components_.shape
    return np.asarray(estimator.scores(sp.csr_array((1, m)), representation=np.zeros((1, r))))[0]


def unlike_of(estimator: Any, X: Any, scores: np.ndarray) -> list[float | None]:
    """Return how unlike the labelled documents of its class each document is; None if unknown."""
    if X is None or predicted_kind(estimator) != "classes" or estimator.pooled_head is None:
        return [None] * len(scores)
    found = estimator.unlike(X, scores=scores)
    return [None if math.isnan(one) else one for one in found.tolist()]


def label_thresholds(estimator: Any) -> np.ndarray:
    """Return the thresholds for scores of several labels; 0 for classes and numbers."""
    zeros = np.zeros(np.shape(estimator.target_components_)[1])
    if predicted_kind(estimator) != "sets":
        return zeros
    head = estimator.pooled_head
    return zeros + (0.5 if head is None or head.thresholds is None else head.thresholds)


def document_scores(model: Any) -> np.ndarray:
    """Return the scores of a model's training documents; older models do not store them."""
    estimator, S = model.estimator_, model.document_topics_
    if not has_head(estimator):
        return np.zeros((len(S), 0))
    kept = getattr(model, "document_scores_", None)
    return np.asarray(S @ estimator.target_components_ if kept is None else kept)


def topic_links(model: Any) -> np.ndarray:
    """Return what is predicted for the documents of each topic on average: probabilities of classes
    or labels, or numbers (n_topics × n_targets).

    Documents count by their shares in the topic. A model that forgot them has kept the result; in
    older folders it is missing, and a document that is all one topic takes their place.
    """
    estimator, kept = model.estimator_, model.fitted.forgotten
    if kept is not None and kept.links is not None:
        return np.asarray(kept.links)
    if kept is not None:
        return mean_predictions(
            estimator, np.eye(len(estimator.components_)), estimator.topic_scores()
        )
    return mean_predictions(estimator, model.document_topics_, document_scores(model))


def mean_predictions(estimator: Any, S: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return `topic_links` for documents with representations S and scores."""
    shares = topic_shares(S, estimator.components_)
    if predicted_kind(estimator) != "numbers":
        return topic_means(np.asarray(estimator.probabilities(scores)), shares)
    means = topic_means(scores, shares)  # of logarithms, if the scores are
    return np.asarray(estimator.read(means)).reshape(len(means), -1)


def read_predictions(estimator: Any, scores: np.ndarray, names: list[Any]) -> tuple[list, list]:
    """Return the prediction and the confidence for each row of scores, or None."""
    none, kind = [None] * len(scores), predicted_kind(estimator)
    if kind == "topics":
        return none, none
    P, predicted = predict_rows(estimator, scores)
    if P is None:
        return [tuple(row) if predicted.ndim > 1 else row for row in predicted.tolist()], none
    if kind == "classes":
        return predicted.tolist(), P.max(axis=1).tolist()
    labels = [tuple(n for n, yes in zip(names, row, strict=True) if yes) for row in predicted]
    return labels, np.maximum(P, 1 - P).min(axis=1).tolist()


def learns_logarithms(estimator: Any, target: int) -> bool:
    """Return whether the scores of a number are logarithms."""
    return predicted_kind(estimator) == "numbers" and bool(estimator.coding.logs[target])


def read_intervals(estimator: Any, scores: np.ndarray) -> np.ndarray | None:
    """Return the bounds of predicted numbers (n × k × 2) for rows of scores, NaN if unknown.

    None if the estimator predicts something else, or its head is not the pooled one.
    """
    if predicted_kind(estimator) != "numbers" or estimator.pooled_head is None:
        return None
    bounds = estimator.read_interval(scores).reshape(*np.shape(scores), 2)
    unknown = np.isinf(np.asarray(estimator.pooled_head.half_width))[:, None]
    return np.where(unknown, np.nan, bounds)


def number_decimals(model: Any) -> list[int | None]:
    """Return the number of meaningful decimals of each predicted number; negative for tens.

    The last decimal is a thousandth to a hundredth of the half-width of the 90 % interval or, if
    that is unknown, of the standard deviation of the fit's predictions. None for numbers that are
    learned as logarithms: three digits mean something there, whatever the size of the number.
    """
    head = getattr(model.estimator_, "pooled_head", None)
    logs = model.estimator_.coding.logs.tolist()
    widths = np.zeros(len(logs)) if head is None else np.asarray(head.half_width)
    unknown = ~(np.isfinite(widths) & (widths > 0))
    if unknown.any():  # a model that forgot its documents shows six decimals
        kept = model.fitted.forgotten is None
        widths = np.where(unknown, document_scores(model).std(axis=0) if kept else 0.0, widths)
    found = [2 - int(np.floor(np.log10(width))) if width > 0 else 6 for width in widths.tolist()]
    return [None if log else places for log, places in zip(logs, found, strict=True)]


def round_number(value: float, decimals: int | None) -> float:
    """Round a predicted number to the decimals of `number_decimals`.

    Examples
    --------
    >>> round_number(1234.567, 1), round_number(1234.567, None), round_number(0.0123456, None)
    (1234.6, 1230.0, 0.0123)
    """
    return float(f"{value:.3g}") if decimals is None else round(value, decimals)


def score_scale(estimator: Any, scores: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the factor and base that turn the fitted targets of a document into probabilities or
    numbers: factor × scores + base."""
    kind, zeros = predicted_kind(estimator), np.zeros(len(scores))
    if kind == "numbers":
        return 1.0, np.asarray(estimator.coding.offset, dtype=float)
    if kind == "sets":
        return 1.0, zeros
    total = scores.sum()
    return (1.0 / total, zeros) if total > 0 else (1.0, zeros + 1.0 / len(scores))


def explained_share(estimator: Any, X: Any, sample_weight: Any = None) -> float:
    """Return the share that the topics explain of the documents' divergence from their mean."""
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
    data, loss = observe(X), as_divergence("data_loss", estimator.data_loss)
    objective = Objective((Term("data", "features", data, loss),), sample_weight=weights)
    A = np.ascontiguousarray(estimator.components_.T)
    mean = data.column_means(weights)[:, None]
    with Threads(estimator.n_jobs) as threads:
        cost = objective.value(Factors(np.asarray(estimator.transform(X)), A), threads).total
        even = objective.value(Factors(np.ones((X.shape[0], 1)), mean), threads).total
    return 1.0 - cost / even if even > 0 else 0.0
