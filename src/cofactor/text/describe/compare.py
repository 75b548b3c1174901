"""Two models side by side, and one model against its own repetition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from cofactor.metrics.matching import Difference, accuracy_difference, match_topics
from cofactor.text.describe.predictions import has_head, is_numeric
from cofactor.text.describe.table import Table
from cofactor.text.interrupts import ending_at_interrupts


@dataclass(frozen=True)
class TopicPair:
    """A topic of one model and its counterpart in another; None where there is none."""

    first: int | None
    second: int | None
    similarity: float | None  # cosine
    kept: tuple[str, ...]  # words that both have among their first
    out: tuple[str, ...]  # words that only the first has
    into: tuple[str, ...]  # words that only the second has


def compare_topics(first: Any, second: Any, n_words: int = 10) -> Table[TopicPair]:
    """Match the topics of two models and tell how their words differ.

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
    words = [[row.words for row in model.topics(n_words)] for model in (first, second)]
    pairs = match_topics(
        first.estimator_.components_, first.vectorizer_.get_feature_names_out(),
        second.estimator_.components_, second.vectorizer_.get_feature_names_out(),
    )  # fmt: skip
    pairs.sort(key=lambda pair: -pair[2])
    rows = [_pair(words, *pair) for pair in pairs]
    left = set(range(len(words[0]))) - {one for one, _, _ in pairs}
    new = set(range(len(words[1]))) - {other for _, other, _ in pairs}
    rows += [TopicPair(one, None, None, (), words[0][one], ()) for one in sorted(left)]
    rows += [TopicPair(None, other, None, (), (), words[1][other]) for other in sorted(new)]
    return Table(rows, TopicPair)


def _pair(words: list, one: int, other: int, similarity: float) -> TopicPair:
    before, after = words[0][one], words[1][other]
    return TopicPair(
        one, other, similarity,
        tuple(word for word in before if word in after),
        tuple(word for word in before if word not in after),
        tuple(word for word in after if word not in before),
    )  # fmt: skip


def compare_accuracy(first: Any, second: Any, documents: list[str], labels: list[Any]):
    """Compare the predictions of two models on labelled documents.

    Parameters
    ----------
    first, second : TopicModel
        Models that predict classes, or sets of labels, which count if they are right as a whole.
    documents : list of str
    labels : list of str or of tuple
        Known classes or sets of labels; documents with "" or None are left out.

    Returns
    -------
    Difference
    """
    pairs = zip(documents, labels, strict=True)
    known = [(text, label) for text, label in pairs if label not in ("", None)]
    if not known:
        raise ValueError("labels are all empty; pass documents whose class is known.")
    texts, classes = [text for text, _ in known], [label for _, label in known]
    return accuracy_difference(_right(first, texts, classes), _right(second, texts, classes))


def _right(model: Any, texts: list[str], classes: list[Any]) -> list[bool]:
    if not has_head(model.estimator_) or is_numeric(model.estimator_):
        raise ValueError("Accuracy needs models that predict classes; one of these does not.")
    said = model.documents(texts).column("prediction")
    return [_names(one) == _names(label) for one, label in zip(said, classes, strict=True)]


def _names(labels: Any) -> set[str]:
    """Return one label, or several, as a set of names."""
    return set(map(str, labels)) if isinstance(labels, tuple) else {str(labels)}


@dataclass(frozen=True)
class Refit:
    """How a model compares with its own repetition."""

    same_data: bool  # documents and labels are those of the first fit
    identical: bool  # topics equal to the bit
    equal: bool  # topics equal to within ``tolerance``, and so are predictions
    topic_difference: float | None  # largest, relative to the largest weight; None: other words
    same_predictions: float | None  # share of the training documents
    tolerance: float


def refit(model: Any, fit: Callable[[Any], Any], tolerance: float = 1e-6) -> Refit:
    """Fit again with the same settings and seed, and compare.

    Parameters
    ----------
    model : TopicModel
        A fitted model.
    fit : callable
        Fits an unfitted copy to what the model was fitted on.
    tolerance : float
        Other processors and versions may round differently by this much.

    Returns
    -------
    Refit
    """
    with ending_at_interrupts():
        again = clone(model).set_params(random_state=model.seed_)
        fit(again)
    same_data = model.fingerprint_ == again.fingerprint_
    gap = _gap(model, again)
    agree = _agreement(model, again)
    equal = gap is not None and gap <= tolerance and agree in (None, 1.0)
    return Refit(same_data, gap == 0.0, equal, gap, agree, tolerance)


def _gap(model: Any, again: Any) -> float | None:
    """Return the largest difference of topics; None if words or numbers of topics differ."""
    one, other = model.estimator_.components_, again.estimator_.components_
    names = model.vectorizer_.get_feature_names_out(), again.vectorizer_.get_feature_names_out()
    if one.shape != other.shape or list(names[0]) != list(names[1]):
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


__all__ = ["Difference", "Refit", "TopicPair", "compare_accuracy", "compare_topics", "refit"]
