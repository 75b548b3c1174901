"""Comparison of models: two models, a fit and its repetition, and before and after a change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from cofactor.estimators.base import ending_at_interrupts
from cofactor.estimators.inference import topic_shares
from cofactor.metrics.accuracy import Difference, accuracy_difference
from cofactor.metrics.topics import match_topics, topic_similarity, word_changes
from cofactor.text.describe.answers import represent_documents
from cofactor.text.describe.predictions import has_head, predicted_kind, read_predictions
from cofactor.text.describe.summaries import model_words, word_ranking
from cofactor.text.describe.table import Table
from cofactor.text.documents import DocumentRows


@dataclass(frozen=True)
class TopicPair:
    """A topic of one model and its counterpart in another; None for a topic without one."""

    first: int | None
    second: int | None
    similarity: float | None  # cosine
    kept: tuple[str, ...]  # first words of both topics
    gained: tuple[str, ...]  # first words of the second topic only
    lost: tuple[str, ...]  # first words of the first topic only


def compare_topics(first: Any, second: Any, n_words: int = 10) -> Table[TopicPair]:
    """Match the topics of two models and show how their words differ.

    Parameters
    ----------
    first, second : TopicModel
        Fitted models.
    n_words : int, default=10
        Number of words per topic.

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
    lost = sorted(set(range(len(before))) - {one for one, _, _ in found})
    new = sorted(set(range(len(after))) - {two for _, two, _ in found})
    rows = [
        *(TopicPair(i, j, near, **word_changes(before[i], after[j])) for i, j, near in found),
        *(TopicPair(one, None, None, **word_changes(before[one], ())) for one in lost),
        *(TopicPair(None, two, None, **word_changes((), after[two])) for two in new),
    ]
    return Table(rows, TopicPair)


def common_order(*models: Any) -> str:
    """Return the best order of words that all models can show."""
    ranked = all(word_ranking(model, "coherence") is not None for model in models)
    return "coherence" if ranked else "probability"


def compare_accuracy(
    first: Any, second: Any, documents: list[str], labels: list[Any]
) -> Difference:
    """Compare the predictions of two models on labelled documents.

    Parameters
    ----------
    first, second : TopicModel
        Models that predict classes or sets of labels. A set is right if all its labels are.
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
class Repetition:
    """Comparison of a model with a repetition of its fit or edit."""

    same_data: bool  # documents and labels are those of the first fit
    identical: bool  # topics are bit-identical
    equal: bool  # topics agree to within ``tolerance``, and all predictions are the same
    topic_difference: float | None  # largest, relative to the largest weight; None: words differ
    same_predictions: float | None  # share of the training documents with the same prediction
    tolerance: float


def repeat_fit(model: Any, fit: Callable[[Any], Any], tolerance: float = 1e-6) -> Repetition:
    """Fit again with the same settings and seed, and compare.

    Parameters
    ----------
    model : TopicModel
        A fitted model.
    fit : callable
        Fits an unfitted copy to the data of the first fit.
    tolerance : float
        Maximum difference that is attributed to rounding on another processor or version.
    """
    with ending_at_interrupts():
        again = clone(model).set_params(random_state=model.seed_)
        fit(again)
    return compare_repetition(model, again, tolerance)


def compare_repetition(model: Any, again: Any, tolerance: float = 1e-6) -> Repetition:
    """Compare a model with one that was made in the same way."""
    same_data = model.fingerprint_ == again.fingerprint_
    gap = _gap(model, again)
    agree = _agreement(model, again)
    equal = gap is not None and gap <= tolerance and agree in (None, 1.0)
    return Repetition(same_data, gap == 0.0, equal, gap, agree, tolerance)


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


# ---- drift: what a refit or an update changed


@dataclass(frozen=True)
class TopicDrift:
    """How one topic changed: a row of ``drift_``, which ``refit`` and ``update`` set.

    Parameters
    ----------
    topic : int
        Number in the new model.
    name : str
        Name in the new model.
    before : int or None
        Number in the old model; None for a new topic.
    similarity : float or None
        Cosine with the old topic, over the words of both models.
    gained, lost : tuple of str
        Words that were gained, and words that were lost.
    documents : int
        Number of documents with this main topic.
    came : int
        Number of those that had another main topic before.
    went : int
        Number of documents that had this main topic before and now have another.
    predictions : int
        Number of documents with this main topic whose prediction changed.

    Examples
    --------
    With the model of `TopicModel`'s example:

    >>> wider = model.update(["parcel lost", "late parcel", "damaged parcel"], new_topics=1)
    >>> [(row.topic, row.before) for row in wider.drift_]
    [(0, 0), (1, 1), (2, None)]
    """

    topic: int
    name: str
    before: int | None
    similarity: float | None
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    documents: int
    came: int
    went: int
    predictions: int


def measure_drift(
    before: Any,
    after: Any,
    sources: Sequence[int | None],
    old_rows: DocumentRows,
    rows: DocumentRows,
    n_words: int = 10,
) -> Table[TopicDrift]:
    """Return how each topic of ``after`` changed.

    Parameters
    ----------
    before, after : TopicModel
    sources : sequence of int or None
        The number in ``before`` of each topic of ``after``; None for a new topic.
    old_rows, rows : DocumentRows
        The same documents as each model sees them.
    n_words : int
        Number of words to compare.
    """
    by = common_order(before, after)
    old_words, words = (m.topics(n_words, by=by).column("words") for m in (before, after))
    similarity = topic_similarity(
        before.estimator_.components_,
        after.estimator_.components_,
        model_words(before),
        model_words(after),
    )
    (old_main, old_predicted), (main, predicted) = _answers(before, old_rows), _answers(after, rows)
    target = {k: new for new, k in enumerate(sources) if k is not None}
    was = np.array([target.get(k, -1) for k in old_main.tolist()])
    pairs = zip(old_predicted, predicted, strict=True)
    changed = np.array([one != other for one, other in pairs], dtype=bool)
    found = []
    for new, k in enumerate(sources):
        change = word_changes(() if k is None else old_words[k], words[new])
        found.append(
            TopicDrift(
                new,
                after.topic_names_[new],
                k,
                None if k is None else float(similarity[k, new]),
                change["gained"],
                change["lost"],
                int((main == new).sum()),
                int(((main == new) & (was != new)).sum()),
                int(((main != new) & (was == new)).sum()),
                int((changed & (main == new)).sum()),
            )
        )
    return Table(found, TopicDrift)


def _answers(model: Any, rows: DocumentRows) -> tuple[np.ndarray, list[Any]]:
    """Return the main topic of each document, −1 if it has none, and its prediction."""
    estimator = model.estimator_
    S, scores = represent_documents(model, rows)
    shares = topic_shares(S, estimator.components_)
    main = np.where(shares.sum(axis=1) > 0, shares.argmax(axis=1), -1)
    return main, read_predictions(estimator, scores, model.target_names_)[0]
