"""Summaries of a fitted topic model: its topics, documents and classes as tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cofactor.estimators.inference import topic_shares
from cofactor.metrics import npmi_coherence
from cofactor.metrics.topics import Topics, top_places
from cofactor.model_selection.stability import stability_interval
from cofactor.targets import encode_classes
from cofactor.targets.missing import read_numbers
from cofactor.targets.reading import readable, tall
from cofactor.text.describe.predictions import (
    has_head,
    predicted_kind,
    read_predictions,
    topic_links,
)
from cofactor.text.describe.table import Table
from cofactor.text.describe.topic_words import Words, profiles, rank_words, shown_words
from cofactor.text.seeds import Seed

COHERENCE_WORDS = 10
ORDERS = ("coherence", "probability")
"""Orders in which the words of a topic can be shown."""


@dataclass(frozen=True)
class Topic:
    """One topic."""

    topic: int
    name: str
    words: tuple[str, ...]  # best first
    weights: tuple[float, ...]  # their probabilities in the topic
    share: float  # of the corpus; every document counts alike
    label: Any  # the class that the topic speaks for most; None without a target
    label_weight: float | None  # probability of that class, shrunk if few labels; numbers: value
    coherence: float  # mean NPMI of the first ten words in the training documents
    labels: int | None = None  # labelled documents that are mostly of the topic; None if not known
    stability: float | None = None  # how much of it is found again; None if it was not measured
    stability_interval: tuple[float, float] | None = None  # 95 % of the draws are within


@dataclass(frozen=True)
class Document:
    """One document."""

    document: int
    topic: int  # the strongest; −1 for a document without known words
    name: str  # of that topic
    share: float  # of that topic in the document
    prediction: Any
    confidence: float | None  # probability of the prediction; None for numbers


@dataclass(frozen=True)
class TopicClass:
    """One class, or one numeric target."""

    label: Any
    keywords: tuple[str, ...]  # words that are more frequent in it than in the corpus
    topics: tuple[float, ...]  # each topic's part of its scores over the corpus; sum to one


def describe(estimator: Any, X: Any, words: Words, seeded: dict[int, Seed]) -> dict[str, Any]:
    """Return the attributes of a topic model that describe its training documents X.

    Their scores, which ``scores_of`` gives, are not among them: streams compute these when needed.
    """
    S, A = np.asarray(estimator.transform(X)), words.shown(estimator.components_)
    pinned = {k: seed.columns for k, seed in seeded.items()}
    ranking = rank_words(X, S, A, pinned)
    shown, probable = (shown_words(A, each, COHERENCE_WORDS) for each in (ranking, None))
    scores = coherence([*shown, *probable], X)
    return {
        "document_topics_": S,
        "topic_words_": ranking,
        "coherence_": scores[: len(A)],
        "probable_coherence_": scores[len(A) :],
        "topic_names_": topic_names(shown, words.names, seeded),
    }


def topic_names(shown: list[Any], words: np.ndarray, seeded: dict[int, Seed]) -> list[str]:
    """Return the topics' names: those of seeds, or the three first words."""
    return [
        seeded[k].name if k in seeded else ", ".join(words[places[:3]])
        for k, places in enumerate(shown)
    ]


def coherence(topics: Topics, X: Any) -> np.ndarray:
    """Return how well the words of each topic go together in the documents X."""
    return npmi_coherence(topics, X)


def corpus_shares(S: np.ndarray, components: np.ndarray) -> np.ndarray:
    """Return each topic's share of the corpus: its mean over the documents that have any topic."""
    shares = topic_shares(S, components)
    filled = shares[shares.sum(axis=1) > 0]
    return filled.mean(axis=0) if len(filled) else np.zeros(len(components))


def class_topics(S: np.ndarray, head: np.ndarray) -> np.ndarray:
    """Return the part of each topic in each class's scores over the corpus (k × r)."""
    parts = (S.sum(axis=0)[:, None] * head).T
    total = parts.sum(axis=1, keepdims=True)
    return np.divide(parts, total, out=np.zeros_like(parts), where=total > 0)


def keyword_scores(parts: np.ndarray, shares: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Return how much more frequent each word is in a class than in the corpus (k × m).

    ``words`` are the topics as distributions. The score of a word is its term in the
    Kullback–Leibler divergence of class and corpus.
    """
    of_class, of_corpus = parts @ words, shares @ words
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = of_class * np.log(of_class / of_corpus)
    return np.where((of_class > 0) & (of_corpus > 0), scores, 0.0)


def model_words(model: Any) -> np.ndarray:
    """Return the words of a fitted topic model, in the order of its columns."""
    return np.asarray(model.vectorizer_.get_feature_names_out(), dtype=object)


def topic_classes(model: Any) -> tuple[list[Any], list[float | None]]:
    """Return the class that each topic speaks for most, and its probability, shrunk by the labels
    behind the topic (see `support`); for numbers, the value. Without a target all are None."""
    estimator = model.estimator_
    if not has_head(estimator):
        return [None] * len(estimator.components_), [None] * len(estimator.components_)
    best, links = topic_links(estimator).argmax(axis=1), shown_links(model)
    return [model.target_names_[c] for c in best], links[np.arange(len(best)), best].tolist()


def shown_links(model: Any) -> np.ndarray:
    """Return what is shown of each topic's links (n_topics × n_targets): the probabilities of the
    classes, shrunk by the labels behind the topic (see `support`); for numbers, the values."""
    estimator = model.estimator_
    links = topic_links(estimator)
    if predicted_kind(estimator) == "numbers":
        return links
    if estimator.pooled_head is None:
        links = links / np.maximum(links.sum(axis=1, keepdims=True), 1e-300)
    support = getattr(model, "topic_support_", None)
    return links if support is None else shrink_links(links, support, model.topic_labels_)


def topic_trust(model: Any) -> list[tuple[int | None, float | None, tuple[float, float] | None]]:
    """Return the labels behind each topic, its stability and the interval; None if not known."""
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
    """Return a topic's link as text: per cent for classes, else the value."""
    if topic.label_weight is None:
        return ""
    form = ".0%" if hasattr(model.estimator_, "classes_") else ".3g"
    return f"{topic.label_weight:{form}}"


def shown_stability(topic: Topic) -> str:
    """Return a topic's stability and its interval as text."""
    if topic.stability is None or topic.stability_interval is None:
        return ""
    low, high = topic.stability_interval
    return f"{topic.stability:.2f} ({low:.2f}–{high:.2f})"


def word_ranking(model: Any, by: str) -> np.ndarray | None:
    """Return the order of a model's words as `shown_words` takes it.

    None shows words by probability, as models that were saved by cofactor 0.1 do by default.
    """
    if by not in ORDERS:
        raise ValueError(f"by={by!r} must be {' or '.join(map(repr, ORDERS))}.")
    return getattr(model, "topic_words_", None) if by == "coherence" else None


def shown_topics(model: Any) -> np.ndarray:
    """Return the topics without the weights of words that are not shown, such as "how"."""
    return Words.of(model.vectorizer_).shown(model.estimator_.components_)


def topic_table(model: Any, n_words: int, by: str) -> Table[Topic]:
    """Return the topics of a fitted model, each with its first words."""
    A, (words, _), ranking = (
        shown_topics(model),
        Words.of(model.vectorizer_),
        word_ranking(model, by),
    )
    P, shares = profiles(A), corpus_shares(model.document_topics_, model.estimator_.components_)
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


def document_table(model: Any, S: np.ndarray, scores: np.ndarray) -> Table[Document]:
    """Return documents by representations S and scores: main topic, prediction, confidence."""
    estimator, names = model.estimator_, model.topic_names_
    shares = topic_shares(S, estimator.components_)
    best = np.where(shares.sum(axis=1) > 0, shares.argmax(axis=1), -1).tolist()
    predicted = read_predictions(estimator, scores, model.target_names_)
    rows = [
        Document(d, k, names[k] if k >= 0 else "", float(shares[d, max(k, 0)]), *rest)
        for d, (k, *rest) in enumerate(zip(best, *predicted, strict=True))
    ]
    return Table(rows, Document)


def class_table(model: Any, n_words: int) -> Table[TopicClass]:
    """Return the classes of a fitted model with keywords and topics; no rows without a target."""
    estimator, words = model.estimator_, model_words(model)
    if not has_head(estimator):
        return Table([], TopicClass)
    B = estimator.target_components_  # for numbers, whose links may be negative
    if predicted_kind(estimator) != "numbers":
        B = topic_links(estimator) * estimator.components_.sum(axis=1)[:, None]
    parts = class_topics(model.document_topics_, B)
    shares = corpus_shares(model.document_topics_, estimator.components_)
    scores = keyword_scores(parts, shares, profiles(shown_topics(model)))
    rows = [
        TopicClass(name, tuple(words[top_places(score, n_words)]), tuple(part.tolist()))
        for name, part, score in zip(model.target_names_, parts, scores, strict=True)
    ]
    return Table(rows, TopicClass)


# ---- labels behind topics

SUPPORT = ("topic_support_", "topic_labels_")
"""Attributes of a model that hold the labels behind its topics; streams and older models lack
them."""
IMAGINED = 2.0
"""Number of imagined labels of each topic."""


def count_labels(estimator: Any, S: np.ndarray, y: Any) -> dict[str, np.ndarray]:
    """Count the labels behind each topic.

    Parameters
    ----------
    estimator : NMF, SSNMFClassifier or SSNMFRegressor
        A fitted estimator.
    S : array (n_documents, n_topics)
        Representations of documents.
    y : array-like or None
        Their labels, as the estimator reads them.

    Returns
    -------
    dict
        ``topic_support_`` (n_topics,), the labelled documents that are mostly of each topic, and
        ``topic_labels_`` (n_topics, n_targets), those among them that have each label, or a number.
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
    return {"topic_support_": np.bincount(main, minlength=r), "topic_labels_": counts}


def _known_cells(estimator: Any, y: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which documents are labelled, and which labels they have."""
    if predicted_kind(estimator) == "numbers":
        known = ~np.isnan(tall(read_numbers(readable(y, "y"), "y")))
        return np.asarray(known.any(axis=1)), known
    targets, _ = encode_classes(y, n_samples=n, coding=estimator.coding)
    values = targets.values
    return targets.labelled, (values.toarray() if hasattr(values, "toarray") else values) > 0


def shrink_links(links: np.ndarray, support: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Shrink links to the shares of the classes among all labels (n_topics × n_classes).

    Parameters
    ----------
    links : array (n_topics, n_classes)
        Probabilities of the classes, or of the labels, for each topic.
    support, labels : array (n_topics,) and (n_topics, n_classes)
        What `count_labels` returns.

    Examples
    --------
    >>> links = np.array([[0.98, 0.02], [0.02, 0.98]])
    >>> shrink_links(links, np.array([1, 99]), np.array([[1, 0], [0, 99]])).round(2)
    array([[0.33, 0.67],
           [0.02, 0.98]])
    """
    total, own = support.sum(), support[:, None]
    shares = labels.sum(axis=0) / total if total else np.full(links.shape[1], 1 / links.shape[1])
    return np.asarray((own * links + IMAGINED * shares) / (own + IMAGINED))
