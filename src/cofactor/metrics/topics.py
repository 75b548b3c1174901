"""Measures of topics: coherence and diversity of their words, similarity, matched pairs.

Words are given by their columns in a documents × words matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse as sp
from scipy.optimize import linear_sum_assignment

from cofactor._types import FloatArray, IntArray

TopicWords = Sequence[Sequence[int]] | Sequence[IntArray] | IntArray


def top_words(components: ArrayLike, n_words: int = 10) -> list[IntArray]:
    """Return the columns of each topic's heaviest words, the heaviest first.

    Parameters
    ----------
    components : array-like of shape (n_topics, n_words_in_all)
        Nonnegative weights of the words in each topic.
    n_words : int, default=10
        Maximum number of words per topic; words without weight are not listed.

    Returns
    -------
    list of ndarray
        One array of columns per topic. Words of equal weight come in the order of columns.

    Examples
    --------
    >>> from cofactor.metrics import top_words
    >>> [columns.tolist() for columns in top_words([[3, 0, 1], [0, 2, 0]], 2)]
    [[0, 2], [1]]
    """
    if n_words < 1:
        raise ValueError(f"n_words={n_words!r} must be at least 1.")
    topics = np.asarray(components, dtype=np.float64)
    if topics.ndim != 2:
        raise ValueError(f"components has shape {topics.shape}; pass a matrix of topics × words.")
    return [top_places(topic, n_words) for topic in topics]


def top_places(weights: FloatArray, n: int) -> IntArray:
    """Return the indices of the n largest positive entries, largest first."""
    order = np.argsort(-weights, kind="stable")[:n]
    return np.asarray(order[weights[order] > 0])


def npmi_coherence(topics: TopicWords, counts: Any) -> FloatArray:
    """Return the mean normalised pointwise mutual information of each topic's pairs of words.

    Two words score log(p_ij / (p_i p_j)) / −log p_ij, where p are shares of documents: 1 if they
    only occur together, 0 if they are independent, −1 if they never occur together (Bouma 2009).

    Parameters
    ----------
    topics : sequence of sequences of int
        The columns of each topic's words.
    counts : array or sparse matrix of shape (n_documents, n_words)
        A positive entry means that the word occurs in the document.

    Returns
    -------
    ndarray of shape (n_topics,)
        NaN for a topic with fewer than two words that occur.

    Examples
    --------
    >>> from cofactor.metrics import npmi_coherence
    >>> counts = [[1, 1, 0], [2, 1, 0], [0, 0, 1], [0, 0, 3]]
    >>> npmi_coherence([[0, 1], [0, 2]], counts)
    array([ 1., -1.])
    """
    words = [np.asarray(topic, dtype=np.intp) for topic in topics]
    occurs = sp.csc_array(counts)
    _check_columns(words, occurs.shape[1])
    columns = np.unique(np.concatenate([np.empty(0, np.intp), *words]))
    together = _together(occurs[:, columns])
    places = [np.searchsorted(columns, topic) for topic in words]
    return np.array([_mean_npmi(together[np.ix_(p, p)], occurs.shape[0]) for p in places])


def topic_diversity(topics: TopicWords) -> float:
    """Return the share of distinct words among all words of the topics.

    Parameters
    ----------
    topics : sequence of sequences of int
        The columns of each topic's words.

    Returns
    -------
    float
        1 if no word occurs twice; NaN without words.

    Examples
    --------
    >>> from cofactor.metrics import topic_diversity
    >>> topic_diversity([[0, 1], [1, 2]])
    0.75
    """
    words = [int(word) for topic in topics for word in topic]
    return len(set(words)) / len(words) if words else float("nan")


def _check_columns(topics: Sequence[IntArray], width: int) -> None:
    for k, topic in enumerate(topics):
        if topic.size and not 0 <= topic.min() <= topic.max() < width:
            raise ValueError(
                f"topics[{k}] has a word outside the {width} columns of counts; "
                "pass columns of the matrix that the topics were learned from."
            )


def _together(occurs: Any) -> FloatArray:
    """Return the number of documents with each pair of words; the diagonal counts single words."""
    seen = sp.csc_array(occurs > 0, dtype=np.float64)
    return np.asarray((seen.T @ seen).toarray())


def _mean_npmi(together: FloatArray, n_documents: int) -> float:
    present = np.diag(together) > 0
    together = together[np.ix_(present, present)]
    i, j = np.triu_indices(len(together), 1)
    if not i.size:
        return float("nan")
    alone = np.diag(together)
    p, expected = together[i, j] / n_documents, alone[i] * alone[j] / n_documents**2
    score = np.where(p > 0, 1.0, -1.0)  # always together, never together
    usual = (p > 0) & (p < 1)
    score[usual] = np.log(p[usual] / expected[usual]) / -np.log(p[usual])
    return float(score.mean())


# ---- two models


def topic_similarity(
    first: ArrayLike, second: ArrayLike, first_words: Any = None, second_words: Any = None
) -> FloatArray:
    """Return the cosine of each topic of ``first`` with each of ``second``, from 0 to 1.

    Parameters
    ----------
    first, second : array (n_topics, n_words)
        Topics, as rows.
    first_words, second_words : sequence of str, optional
        Their words, if they differ; a word that only one has counts as 0 in the other.

    Returns
    -------
    array (n_topics of first, n_topics of second)

    Examples
    --------
    >>> from cofactor.metrics import topic_similarity
    >>> topic_similarity([[1, 0], [0, 2]], [[3, 0], [1, 1]]).round(2).tolist()
    [[1.0, 0.71], [0.0, 0.71]]
    """
    one, other = _unit(first), _unit(second)
    if first_words is not None:
        here, there = _common(first_words, second_words)
        one, other = one[:, here], other[:, there]
    return np.asarray((one @ other.T).clip(0.0, 1.0))


def match_topics(
    first: ArrayLike, first_words: Any, second: ArrayLike, second_words: Any
) -> list[tuple[int, int, float]]:
    """Pair topics one to one so that the sum of their similarities is largest (Hungarian method).

    Parameters are those of `topic_similarity`.

    Returns
    -------
    list of (topic, topic, similarity)
        In the order of the first; unpaired topics of the larger model are not listed.

    Examples
    --------
    >>> match_topics(np.eye(2), ["moon", "goal"], np.eye(2), ["goal", "moon"])
    [(0, 1, 1.0), (1, 0, 1.0)]
    """
    similarity = topic_similarity(first, second, first_words, second_words)
    rows, columns = linear_sum_assignment(similarity, maximize=True)
    found = similarity[rows, columns]
    return list(zip(rows.tolist(), columns.tolist(), found.tolist(), strict=True))


def word_changes(before: Sequence[str], after: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the words that two lists share, those only in the second, and those only in the first.

    Examples
    --------
    >>> word_changes(["moon", "orbit"], ["rocket", "moon"])
    {'kept': ('moon',), 'gained': ('rocket',), 'lost': ('orbit',)}
    """
    return {
        "kept": tuple(word for word in after if word in before),
        "gained": tuple(word for word in after if word not in before),
        "lost": tuple(word for word in before if word not in after),
    }


def _unit(topics: ArrayLike) -> FloatArray:
    """Return topics as vectors of length one."""
    rows = np.asarray(topics, dtype=float)
    largest = np.maximum(rows.max(axis=1, initial=0.0, keepdims=True), 1e-300)
    scaled = rows / largest
    return np.asarray(scaled / np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), 1e-300))


def _common(first: Any, second: Any) -> tuple[list[int], list[int]]:
    """Return the indices of the words that both have, in the first and in the second."""
    places = {str(word): j for j, word in enumerate(second)}
    pairs = [(i, places[str(word)]) for i, word in enumerate(first) if str(word) in places]
    return [i for i, _ in pairs], [j for _, j in pairs]
