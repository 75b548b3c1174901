"""Tables of a fitted topic model: its topics, documents and classes, and the labels behind topics.

The support of a topic is the number of labelled documents with this main topic. Its link to a class
is the probability of the class in the topic's documents on average, whatever predicts it: words,
further words, vectors, or names of classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cofactor.estimators.inference import topic_shares
from cofactor.metrics import npmi_coherence
from cofactor.metrics.topics import top_places
from cofactor.model_selection.stability import stability_interval
from cofactor.targets.classes import encode_classes
from cofactor.targets.reading import read_numbers, readable, tall
from cofactor.text.describe.predictions import (
    blank_rows,
    has_head,
    number_decimals,
    predicted_kind,
    read_predictions,
    round_number,
    topic_links,
    unlike_of,
)
from cofactor.text.describe.table import Table
from cofactor.text.describe.topic_words import Words, profiles, rank_words, shown_words
from cofactor.text.seeds import Seed

COHERENCE_WORDS = 10
ORDERS = ("coherence", "probability")  # of the words of a topic


@dataclass(frozen=True)
class Topic:
    """One topic."""

    topic: int
    name: str
    words: tuple[str, ...]  # best first
    weights: tuple[float, ...]  # their probabilities in the topic
    share: float  # of the corpus; all documents count equally
    label: (
        Any  # the class that is most probable in its documents; None without one, or with several
    )
    label_weight: Any  # mean probability of that class; the value of a number, a tuple of several
    coherence: float  # mean NPMI of the first ten words in the training documents
    labels: int | None = None  # labelled documents with this main topic; None if unknown
    stability: float | None = None  # None if it was not measured
    stability_interval: tuple[float, float] | None = None  # contains 95 % of the samples


@dataclass(frozen=True)
class Document:
    """One document."""

    document: int
    topic: int  # the main topic; −1 for a document without words of topics
    name: str  # of that topic
    share: float  # of that topic in the document
    prediction: Any  # None if the model knows nothing of the document
    confidence: float | None  # probability of the prediction; None for numbers
    unlike: float | None = None  # share of the class nearer to its labelled documents; or unknown

    @property
    def is_blank(self) -> bool:
        """Whether the model knows nothing of the document."""
        return self.topic < 0 and self.prediction is None


@dataclass(frozen=True)
class TopicClass:
    """One class, or one numeric target."""

    label: Any
    keywords: tuple[str, ...]  # words more frequent in it than in the corpus
    topics: tuple[float, ...]  # each topic's part of its scores over the corpus; they sum to one


def describe_topics(
    estimator: Any, X: Any, words: Words, seeded: dict[int, Seed], ranking: np.ndarray | None = None
) -> dict[str, Any]:
    """Return the fields of `FittedTopics` that describe the training documents X.

    Scores (`scores_of`) are not among them, because streams compute them only when needed.
    ``ranking`` is the order of words to show; by default that of `rank_words`.
    """
    S, A = np.asarray(estimator.transform(X)), words.shown(estimator.components_)
    pinned = {k: seed.columns for k, seed in seeded.items()}
    ranking = rank_words(X, S, A, pinned) if ranking is None else ranking
    shown, probable = (shown_words(A, each, COHERENCE_WORDS) for each in (ranking, None))
    scores = npmi_coherence([*shown, *probable], X)
    return {
        "document_topics": S,
        "topic_words": ranking,
        "coherence": scores[: len(A)],
        "probable_coherence": scores[len(A) :],
        "topic_names": topic_names(shown, words.names, seeded),
    }


def topic_names(shown: list[Any], words: np.ndarray, seeded: dict[int, Seed]) -> list[str]:
    """Return the names of topics: those of seeds, or their first three words."""
    return [
        seeded[k].name if k in seeded else ", ".join(words[places[:3]])
        for k, places in enumerate(shown)
    ]


def class_topics(masses: np.ndarray, head: np.ndarray) -> np.ndarray:
    """Return the part of each topic in the scores of each class over the corpus (k × r)."""
    parts = (masses[:, None] * head).T
    total = parts.sum(axis=1, keepdims=True)
    return np.divide(parts, total, out=np.zeros_like(parts), where=total > 0)


def keyword_scores(parts: np.ndarray, shares: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Return scores of words that are more frequent in a class than in the corpus (k × m).

    ``words`` are the topics as distributions. The score of a word is its term in the
    Kullback–Leibler divergence of the class from the corpus.
    """
    of_class, of_corpus = parts @ words, shares @ words
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = of_class * np.log(of_class / of_corpus)
    return np.where((of_class > 0) & (of_corpus > 0), scores, 0.0)


def model_words(model: Any) -> np.ndarray:
    """Return the words of a fitted topic model, in the order of its columns."""
    return np.asarray(model.vectorizer_.get_feature_names_out(), dtype=object)


def topic_classes(model: Any) -> tuple[list[Any], list[Any]]:
    """Return the class that is most probable in the documents of each topic, and its mean
    probability; None without a target.

    A number has its name in place of a class, and its value. Several numbers are not comparable, so
    a topic has the values of all of them and none of the names.
    """
    estimator = model.estimator_
    none: list[Any] = [None] * len(estimator.components_)
    if not has_head(estimator):
        return none, none
    links = topic_links(model)
    best = links.argmax(axis=1)
    if predicted_kind(estimator) == "numbers" and links.shape[1] > 1:
        return none, [tuple(row) for row in links.tolist()]
    return [model.target_names_[c] for c in best], links[np.arange(len(best)), best].tolist()


def topic_trust(model: Any) -> list[tuple[int | None, float | None, tuple[float, float] | None]]:
    """Return the labels behind each topic, its stability and the interval; None if unknown."""
    r = len(model.estimator_.components_)
    support: list[Any] = [None] * r
    stable: list[Any] = [(None, None)] * r
    if has_head(model.estimator_) and hasattr(model, "topic_support_"):
        support = model.topic_support_.tolist()
    if (similarities := getattr(model, "stability_", None)) is not None:
        mean, low, high = (part.tolist() for part in stability_interval(similarities))
        stable = list(zip(mean, zip(low, high, strict=True), strict=True))
    return [(labels, *found) for labels, found in zip(support, stable, strict=True)]


def shown_link(model: Any, topic: Topic) -> str:
    """Return a topic's link as text: a percentage for classes, else the value, or all values with
    their names."""
    if topic.label_weight is None:
        return ""
    if hasattr(model.estimator_, "classes_"):
        return f"{topic.label_weight:.0%}"
    if not isinstance(topic.label_weight, tuple):
        return shown_number(model, 0, topic.label_weight)
    values = enumerate(zip(model.target_names_, topic.label_weight, strict=True))
    return ", ".join(f"{name} {shown_number(model, c, value)}" for c, (name, value) in values)


def shown_number(model: Any, target: int, value: float) -> str:
    """Return a predicted number with the digits that mean something."""
    decimals = number_decimals(model)[target]
    number = round_number(value, decimals)
    places = max(decimals, 0) if decimals is not None else 0 if abs(number) >= 100 else 2
    text = f"{number:,.{places}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def shown_stability(topic: Topic) -> str:
    """Return a topic's stability and its interval as text."""
    if topic.stability is None or topic.stability_interval is None:
        return ""
    low, high = topic.stability_interval
    return f"{topic.stability:.2f} ({low:.2f}–{high:.2f})"


def word_ranking(model: Any, by: str) -> np.ndarray | None:
    """Return the order of a model's words for `shown_words`.

    None shows words by probability, the default for models saved by cofactor 0.1.
    """
    if by not in ORDERS:
        raise ValueError(f"by={by!r} must be {' or '.join(map(repr, ORDERS))}.")
    return getattr(model, "topic_words_", None) if by == "coherence" else None


def shown_topics(model: Any) -> np.ndarray:
    """Return the topics without the weights of hidden words, such as "how"."""
    return Words.of(model.vectorizer_).shown(model.estimator_.components_)


def topic_table(model: Any, n_words: int, by: str) -> Table[Topic]:
    """Return the topics of a fitted model, each with its first words."""
    A, words, ranking = shown_topics(model), model_words(model), word_ranking(model, by)
    P, shares = profiles(A), model.fitted.corpus.shares
    tops, scores = shown_words(A, ranking, n_words), model.coherence_
    if ranking is None:
        scores = getattr(model, "probable_coherence_", scores)
    columns = zip(
        model.topic_names_,
        tops,
        topic_trust(model),
        shares.tolist(),
        *topic_classes(model),
        scores.tolist(),
        strict=True,
    )
    rows = [
        Topic(k, name, tuple(map(str, words[top])), tuple(P[k, top].tolist()), *rest, *trust)
        for k, (name, top, trust, *rest) in enumerate(columns)
    ]
    return Table(rows, Topic)


def repeated_topics(model: Any) -> list[int]:
    """Return the topics whose first words mostly come from passages that texts repeat."""
    words = set(getattr(model.vectorizer_, "repeated_words_", None) or ())
    if not words:
        return []
    return [
        topic.topic
        for topic in topic_table(model, COHERENCE_WORDS, "coherence")
        if 2 * sum(w for word, w in zip(topic.words, topic.weights, strict=True) if word in words)
        > sum(topic.weights)
    ]


def document_table(model: Any, S: np.ndarray, scores: np.ndarray, X: Any = None) -> Table[Document]:
    """Return the main topic, prediction and confidence of documents with representations S.

    Their words X, if they are given, tell how unlike the labelled documents they are.
    """
    estimator, names = model.estimator_, model.topic_names_
    shares = topic_shares(S, estimator.components_)
    best = np.where(shares.sum(axis=1) > 0, shares.argmax(axis=1), -1).tolist()
    predicted = read_predictions(estimator, scores, model.target_names_)
    columns = zip(best, *predicted, unlike_of(estimator, X, scores), strict=True)
    blank = blank_rows(estimator, S, scores)
    rows = [
        Document(
            d,
            k,
            names[k] if k >= 0 else "",
            float(shares[d, max(k, 0)]),
            *((None, None, None) if blank[d] else told),
        )
        for d, (k, *told) in enumerate(columns)
    ]
    return Table(rows, Document)


def class_table(model: Any, n_words: int) -> Table[TopicClass]:
    """Return the classes of a fitted model with keywords and topics; empty without a target."""
    estimator, words = model.estimator_, model_words(model)
    if not has_head(estimator):
        return Table([], TopicClass)
    B = estimator.target_components_  # used for numbers, whose links may be negative
    if predicted_kind(estimator) != "numbers":
        B = topic_links(model) * estimator.components_.sum(axis=1)[:, None]
    corpus = model.fitted.corpus
    parts = class_topics(corpus.masses, B)
    scores = keyword_scores(parts, corpus.shares, profiles(shown_topics(model)))
    rows = [
        TopicClass(name, tuple(words[top_places(score, n_words)]), tuple(part.tolist()))
        for name, part, score in zip(model.target_names_, parts, scores, strict=True)
    ]
    return Table(rows, TopicClass)


# ---- labels behind topics


def count_labels(estimator: Any, S: np.ndarray, y: Any) -> dict[str, np.ndarray]:
    """Count the labels behind each topic.

    Parameters
    ----------
    estimator : NMF, SSNMFClassifier or SSNMFRegressor
        A fitted estimator.
    S : array (n_documents, n_topics)
        Representations of documents.
    y : array-like or None
        Their labels, as the estimator takes them.

    Returns
    -------
    dict
        ``topic_support`` (n_topics,), the number of labelled documents with each main topic, and
        ``topic_labels`` (n_topics, n_targets), the number of those with each label, or a number.
    """
    k = estimator.target_components_.shape[1] if has_head(estimator) else 0
    if k == 0 or y is None:
        labelled, cells = np.zeros(len(S), dtype=bool), np.zeros((len(S), k), dtype=bool)
    else:
        labelled, cells = _known_cells(estimator, y, len(S))
    return topic_counts(topic_shares(S, estimator.components_), labelled, cells)


def topic_counts(
    shares: np.ndarray, labelled: np.ndarray, cells: np.ndarray
) -> dict[str, np.ndarray]:
    """Count labels by the main topics of documents with these shares; see `count_labels`."""
    rows = np.flatnonzero(labelled & shares.any(axis=1))
    main, r = shares[rows].argmax(axis=1), shares.shape[1]
    counts = np.zeros((r, cells.shape[1]), dtype=np.int64)
    np.add.at(counts, main, cells[rows])
    return {"topic_support": np.bincount(main, minlength=r), "topic_labels": counts}


def _known_cells(estimator: Any, y: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which documents are labelled, and which labels they have."""
    if predicted_kind(estimator) == "numbers":
        known = ~np.isnan(tall(read_numbers(readable(y, "y"), "y")))
        return np.asarray(known.any(axis=1)), known
    targets, _ = encode_classes(y, n_samples=n, coding=estimator.coding)
    values = targets.values
    return targets.labelled, (values.toarray() if hasattr(values, "toarray") else values) > 0
