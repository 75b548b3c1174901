"""Comparison of two models, and of a model with its own refit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from cofactor.metrics.accuracy import Difference, accuracy_difference
from cofactor.metrics.topics import match_topics, word_changes
from cofactor.text.describe.predictions import has_head, predicted_kind
from cofactor.text.describe.summaries import model_words, word_ranking
from cofactor.text.describe.table import Table
from cofactor.text.interrupts import ending_at_interrupts


@dataclass(frozen=True)
class TopicPair:
    """A topic of one model and its counterpart in another; None for a topic without one."""

    first: int | None
    second: int | None
    similarity: float | None  # cosine
    kept: tuple[str, ...]  # words among the first of both
    gained: tuple[str, ...]  # words among the first of the second only
    lost: tuple[str, ...]  # words among the first of the first only


def compare_topics(first: Any, second: Any, n_words: int = 10) -> Table[TopicPair]:
    """Match the topics of two models and show how their words differ.

    Parameters
    ----------
    first, second : TopicModel
        Fitted models.
    n_words : int, default=10
        Words of each topic.

    Returns
    -------
    Table
        Most similar pairs first, then topics without a counterpart.
    """
    by = common_order(first, second)
    before, after = (model.topics(n_words, by=by).column("words") for model in (first, second))
    found = match_topics(
        first.estimator_.components_,
        model_words(first),
        second.estimator_.components_,
        model_words(second),
    )
    found.sort(key=lambda pair: -pair[2])
    left = sorted(set(range(len(before))) - {one for one, _, _ in found})
    new = sorted(set(range(len(after))) - {two for _, two, _ in found})
    pairs: list[tuple[int | None, int | None, float | None]] = [
        *found,
        *((one, None, None) for one in left),
        *((None, two, None) for two in new),
    ]
    rows = [
        TopicPair(
            one,
            two,
            similarity,
            **word_changes(() if one is None else before[one], () if two is None else after[two]),
        )
        for one, two, similarity in pairs
    ]
    return Table(rows, TopicPair)


def common_order(*models: Any) -> str:
    """Return the order in which all models can show their words."""
    ranked = all(word_ranking(model, "coherence") is not None for model in models)
    return "coherence" if ranked else "probability"


def compare_accuracy(
    first: Any, second: Any, documents: list[str], labels: list[Any]
) -> Difference:
    """Compare the predictions of two models on labelled documents.

    Parameters
    ----------
    first, second : TopicModel
        Models that predict classes or sets of labels. A set counts as right if all of it is.
    documents : list of str
    labels : list of str or of tuple
        Known classes or sets of labels; documents with "" or None are ignored.
    """
    pairs = zip(documents, labels, strict=True)
    known = [(text, label) for text, label in pairs if label not in ("", None)]
    if not known:
        raise ValueError("labels are all empty; pass documents whose class is known.")
    texts, classes = [text for text, _ in known], [label for _, label in known]
    return accuracy_difference(_right(first, texts, classes), _right(second, texts, classes))


def _right(model: Any, texts: list[str], classes: list[Any]) -> list[bool]:
    if predicted_kind(model.estimator_) not in ("classes", "sets"):
        raise ValueError("Accuracy needs models that predict classes; one of these does not.")
    predicted = model.documents(texts).column("prediction")
    return [_names(one) == _names(label) for one, label in zip(predicted, classes, strict=True)]


def _names(labels: Any) -> set[str]:
    """Return one label, or several, as a set of names."""
    return set(map(str, labels)) if isinstance(labels, tuple) else {str(labels)}


@dataclass(frozen=True)
class Refit:
    """Comparison of a model with one that was made in the same way."""

    same_data: bool  # documents and labels are those of the first fit
    identical: bool  # topics are bit-identical
    equal: bool  # topics agree to within ``tolerance``, and all predictions are the same
    topic_difference: float | None  # largest, relative to the largest weight; None: words differ
    same_predictions: float | None  # share of the training documents with the same prediction
    tolerance: float


def refit(model: Any, fit: Callable[[Any], Any], tolerance: float = 1e-6) -> Refit:
    """Fit again with the same settings and seed, and compare.

    Parameters
    ----------
    model : TopicModel
        A fitted model.
    fit : callable
        Fits an unfitted copy to the data of the first fit.
    tolerance : float
        Largest difference that counts as rounding by another processor or version.
    """
    with ending_at_interrupts():
        again = clone(model).set_params(random_state=model.seed_)
        fit(again)
    return compare_again(model, again, tolerance)


def compare_again(model: Any, again: Any, tolerance: float = 1e-6) -> Refit:
    """Compare a model with one that was made in the same way."""
    same_data = model.fingerprint_ == again.fingerprint_
    gap = _gap(model, again)
    agree = _agreement(model, again)
    equal = gap is not None and gap <= tolerance and agree in (None, 1.0)
    return Refit(same_data, gap == 0.0, equal, gap, agree, tolerance)


def _gap(model: Any, again: Any) -> float | None:
    """Return the largest difference of topics; None if the words or the shapes differ."""
    one, other = model.estimator_.components_, again.estimator_.components_
    if one.shape != other.shape or list(model_words(model)) != list(model_words(again)):
        return None
    if np.array_equal(one, other):
        return 0.0
    return float(np.abs(one - other).max() / max(np.abs(one).max(), 1e-300))


def _agreement(model: Any, again: Any) -> float | None:
    one, other = (each.documents().column("prediction") for each in (model, again))
    if len(one) != len(other):
        return 0.0
    if not one or not has_head(model.estimator_):
        return None
    return float(np.mean([a == b for a, b in zip(one, other, strict=True)]))
