"""What a fitted model says of topics, documents and classes, as tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cofactor.metrics import npmi_coherence, top_words
from cofactor.metrics.topics import top_places

COHERENCE_WORDS = 10


@dataclass(frozen=True)
class Topic:
    """One topic."""

    topic: int
    name: str
    words: tuple[str, ...]  # most probable first
    weights: tuple[float, ...]  # their shares in the topic
    share: float  # of the corpus, each document counting alike
    label: Any  # the class that the topic speaks for most; None without a target
    label_weight: float | None  # its part of what the topic says on classes; for numbers, its value
    coherence: float  # mean NPMI of the words in the training documents


@dataclass(frozen=True)
class Document:
    """One document."""

    document: int
    topic: int  # the strongest; −1 for a document without known words
    name: str
    share: float  # of that topic in the document
    prediction: Any
    confidence: float | None  # probability of the prediction; None for numbers


@dataclass(frozen=True)
class TopicClass:
    """One class, or numeric target."""

    label: Any
    keywords: tuple[str, ...]  # words that it has more of than the corpus
    topics: tuple[float, ...]  # parts of the topics in its scores over the corpus; sum to one


def describe(estimator: Any, X: Any, words: Any, seeded: dict[int, str]) -> dict[str, Any]:
    """Return what a topic model keeps of its training documents X, by attribute."""
    names = topic_names(estimator.components_, np.asarray(words, dtype=object), seeded)
    return {
        "document_topics_": estimator.transform(X),
        "coherence_": coherence(estimator.components_, X),
        "topic_names_": names,
    }


def topic_names(components: np.ndarray, words: np.ndarray, seeded: dict[int, str]) -> list[str]:
    """Return the topics' names: those of seeds, or the three first words."""
    return [
        seeded.get(k) or ", ".join(words[top_places(topic, 3)])
        for k, topic in enumerate(components)
    ]


def coherence(components: np.ndarray, X: Any) -> np.ndarray:
    """Return how well the first words of each topic go together in documents X."""
    return npmi_coherence(top_words(components, COHERENCE_WORDS), X)


def profiles(components: np.ndarray) -> np.ndarray:
    """Return topics as distributions over words."""
    return components / np.maximum(components.sum(axis=1), 1e-300)[:, None]


def proportions(S: np.ndarray, components: np.ndarray) -> np.ndarray:
    """Return the share of each topic in each document; rows of empty documents are 0."""
    mass = S * components.sum(axis=1)
    total = mass.sum(axis=1, keepdims=True)
    return np.divide(mass, total, out=np.zeros_like(mass), where=total > 0)


def corpus_shares(S: np.ndarray, components: np.ndarray) -> np.ndarray:
    """Return the mean share of each topic over the documents that have any."""
    shares = proportions(S, components)
    filled = shares[shares.sum(axis=1) > 0]
    return filled.mean(axis=0) if len(filled) else np.zeros(len(components))


def topic_labels(components: np.ndarray, head: np.ndarray) -> np.ndarray:
    """Return what a document that is all topic k and of mass one scores for each class (r × k)."""
    return head / np.maximum(components.sum(axis=1), 1e-300)[:, None]


def class_topics(S: np.ndarray, head: np.ndarray) -> np.ndarray:
    """Return the part of each topic in each class's scores over the corpus (k × r)."""
    parts = (S.sum(axis=0)[:, None] * head).T
    total = parts.sum(axis=1, keepdims=True)
    return np.divide(parts, total, out=np.zeros_like(parts), where=total > 0)


def keyword_scores(parts: np.ndarray, shares: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Return how much more of each word a class has than the corpus (k × m).

    ``words`` are the topics as distributions. The score is a word's term in the Kullback–Leibler
    divergence of class and corpus.
    """
    of_class, of_corpus = parts @ words, shares @ words
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = of_class * np.log(of_class / of_corpus)
    return np.where((of_class > 0) & (of_corpus > 0), scores, 0.0)


def topic_rows(words, components, S, names, coherence, labels, label_weights, n) -> list[Topic]:
    """Return the topics as rows."""
    P, shares = profiles(components), corpus_shares(S, components)
    tops = [top_places(profile, n) for profile in P]
    return [
        Topic(k, name, tuple(map(str, words[top])), tuple(P[k, top].tolist()), *rest)
        for k, (name, top, *rest) in enumerate(
            zip(
                names, tops, shares.tolist(), labels, label_weights, coherence.tolist(), strict=True
            )
        )
    ]


def document_rows(S, components, names, predictions, confidences) -> list[Document]:
    """Return documents as rows."""
    shares = proportions(S, components)
    best = np.where(shares.sum(axis=1) > 0, shares.argmax(axis=1), -1)
    return [
        Document(d, int(k), names[k] if k >= 0 else "", float(shares[d, max(k, 0)]), *said)
        for d, (k, *said) in enumerate(zip(best, predictions, confidences, strict=True))
    ]
