"""Tables of topics: words by relevance, typical documents, classes, changes due to labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from cofactor.metrics.topics import match_topics, top_places, topic_similarity, word_changes
from cofactor.report.document_tables import excerpt, told_class
from cofactor.report.material import Material, largest
from cofactor.text.describe import summaries
from cofactor.text.describe.topic_words import Words, profiles, shown_words
from cofactor.text.documents import Corpus
from cofactor.text.editing import Settled

CARD_WORDS, CARD_DOCUMENTS = 10, 3
MAX_SIMILAR, MIN_COSINE = 3, 0.3  # similar topics of a card
MAX_OPEN_CARDS, OPEN_CARDS = 12, 6  # up to 12 topics all have an open card, then only the largest 6
MAX_HEATMAP_TOPICS = 30
SLIDER_STEPS = np.linspace(0.0, 1.0, 11)  # of relevance


def topic_cards(material: Material) -> list[dict[str, Any]]:
    """Describe the topics, each with its first words and then those that some position of the
    slider shows."""
    model = material.model
    A = model.estimator_.components_
    shares = Corpus.of(material.S, A).shares
    shown = summaries.shown_topics(model)
    ranking = summaries.word_ranking(model, "coherence")
    first = [words.tolist() for words in shown_words(shown, ranking, CARD_WORDS)]
    words = relevant_words(summaries.model_words(model), shown, shares, first)
    typical, similar = typical_documents(material), similar_topics(A)
    settled = Settled.of(model)
    names = ["" if label is None else str(label) for label in summaries.topic_classes(model)[0]]
    labels = topic_labels(material, names)
    values = topic_values(material)
    open_cards = largest(shares, len(A) if len(A) <= MAX_OPEN_CARDS else OPEN_CARDS)
    return [
        {
            "topic": row.topic,
            "name": row.name,
            "share": float(shares[row.topic]),
            "label": "" if material.is_single_class else names[row.topic],
            "label_weight": row.label_weight,
            "coherence": finite(row.coherence),
            "words": words[row.topic],
            "typical": typical[row.topic],
            "similar": similar[row.topic],
            "first": row.topic in open_cards,
            "settled": settled.said(row.topic),
            "numbers": values[row.topic],
            **labels[row.topic],
            "stability": row.stability,
            "stability_interval": row.stability_interval,
        }
        for row in model.topics(CARD_WORDS)
    ]


def topic_values(material: Material) -> list[list[dict[str, Any]]]:
    """Return what is predicted for the documents of each topic, if the model predicts numbers."""
    if material.kind != "numbers":
        return [[] for _ in material.model.topic_names_]
    return [
        [
            {"name": name, "value": float(value), "shown": _shown(material, c, value)}
            for c, (name, value) in enumerate(zip(material.classes, row, strict=True))
        ]
        for row in material.links
    ]


def _shown(material: Material, c: int, value: float) -> str:
    return summaries.shown_number(material.model, c, float(value))


def topic_labels(material: Material, names: list[str]) -> list[dict[str, int | None]]:
    """Return for each topic the number of labels behind it, and how many of them are the class in
    ``names``; None if that is not known."""
    model = material.model
    told = material.kind in ("classes", "sets") and not material.is_single_class
    if not told or not hasattr(model, "topic_support_"):
        return [{"labelled": None, "of_label": None} for _ in names]
    places = [material.classes.index(name) for name in names]
    return [
        {"labelled": int(support), "of_label": int(labels[c])}
        for support, labels, c in zip(
            model.topic_support_, model.topic_labels_, places, strict=True
        )
    ]


def similar_topics(components: np.ndarray) -> list[list[dict[str, Any]]]:
    """Return for each topic the others that share many of its words, most similar first."""
    similarity = topic_similarity(components, components)
    np.fill_diagonal(similarity, 0.0)
    return [
        [
            {"topic": int(j), "similarity": float(row[j])}
            for j in top_places(row, MAX_SIMILAR)
            if row[j] >= MIN_COSINE
        ]
        for row in similarity
    ]


def finite(value: Any) -> float | None:
    """Return a number for JSON; None if it is not finite."""
    return float(value) if value is not None and np.isfinite(value) else None


def relevance(P: np.ndarray, corpus: np.ndarray, weight: float) -> np.ndarray:
    """Return weight · log p(word | topic) + (1 − weight) · log lift, as Sievert and Shirley do."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(P)
        score = log - (1.0 - weight) * np.log(corpus)
    return np.where(P > 0, score, -np.inf)


def relevant_words(
    words: np.ndarray, components: np.ndarray, shares: np.ndarray, shown: list[list[int]]
) -> list[list[dict[str, Any]]]:
    """Return for each topic the words of ``shown``, in their order, then by probability the other
    words that are among the first at some position of the slider."""
    P = profiles(components)
    # Words with almost no weight in a topic are noise, however exclusive they are.
    least = 1e-3 * P.max(axis=1, keepdims=True)
    heavy = np.where(least <= P, P, 0.0)
    corpus = np.maximum(shares, 1e-12) @ P
    chosen: list[set[int]] = [set() for _ in P]
    for weight in SLIDER_STEPS:
        score = relevance(heavy, corpus, weight)
        for k, row in enumerate(score):
            first = np.argpartition(-row, min(CARD_WORDS, len(row) - 1))[:CARD_WORDS]
            chosen[k].update(first[np.isfinite(row[first])].tolist())
    return [
        [
            {"word": str(words[j]), "p": float(P[k, j]), "corpus": float(corpus[j])}
            for j in [*first, *sorted(places.difference(first), key=lambda j: (-P[k, j], j))]
        ]
        for k, (first, places) in enumerate(zip(shown, chosen, strict=True))
    ]


def typical_documents(material: Material) -> list[list[dict[str, Any]]]:
    """Return for each topic its strongest documents, strongest first."""
    shares = material.shares
    if material.X is None:
        return [[] for _ in range(shares.shape[1])]
    weight = shares * topic_strengths(material)
    return [
        [
            {
                "document": material.number(d),
                "share": float(shares[d, k]),
                "text": excerpt(material, d) or told_class(material, d),
            }
            for d in top_places(weight[:, k], CARD_DOCUMENTS)
        ]
        for k in range(shares.shape[1])
    ]


def topic_strengths(material: Material) -> np.ndarray:
    """Return how much of each document each topic explains, less for documents with few words.

    Shares alone do not rank documents, because many have a single topic. A topic's part of a
    document is the length of its vector there, relative to that of the document.
    """
    X, A = material.X, material.model.estimator_.components_
    parts = material.S * np.linalg.norm(A, axis=1)
    length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    words = np.minimum(1.0, np.diff(X.indptr) / 20.0)
    return parts * (words / np.maximum(length, 1e-300))[:, None]


def heatmap(material: Material) -> list[dict[str, Any]]:
    """Return topic × class: the mean probability of each class in the topic's documents."""
    if material.kind not in ("classes", "sets"):
        return []
    return [
        {"topic": k, "class": name, "share": float(material.links[k, c])}
        for k in range(len(material.links))
        for c, name in enumerate(material.classes)
    ]


def chart_topics(material: Material) -> list[int]:
    """Return the topics that charts of classes show: all, or those that predict the charted classes
    best; topics of the same class are together."""
    if material.kind not in ("classes", "sets"):
        return []
    links = material.links[:, material.chart_classes]
    kept = largest(links.max(axis=1, initial=0.0), MAX_HEATMAP_TOPICS)
    return sorted(kept, key=lambda k: (int(links[k].argmax()), -float(links[k].max())))


def match(material: Material, other: Any) -> list[dict[str, Any]]:
    """Match the model's topics with those of another estimator of the documents, and list the
    words kept, gained and lost."""
    model, X = material.model, material.X
    words, ours, others = Words.of(model.vectorizer_), model.estimator_, other.components_
    ranking, shown = summaries.word_ranking(model, "coherence"), words.shown(others)
    again = None if ranking is None else material.rank(X, np.asarray(other.transform(X)), shown)
    before = _first_words(words.names, shown, again)
    after = _first_words(words.names, words.shown(ours.components_), ranking)
    return [
        {"topic": k, "similarity": similarity, **word_changes(before[j], after[k])}
        for k, j, similarity in match_topics(ours.components_, words.names, others, words.names)
    ]


def _first_words(words: np.ndarray, components: np.ndarray, ranking: Any) -> list[list[str]]:
    return [list(map(str, words[top])) for top in shown_words(components, ranking, CARD_WORDS)]
