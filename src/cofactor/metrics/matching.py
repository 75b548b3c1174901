"""Similarity of topics, pairs of similar topics, and the difference of two classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from cofactor._types import FloatArray


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


@dataclass(frozen=True)
class Difference:
    """Accuracy of two classifiers on the same documents, and the interval of the difference."""

    documents: int
    first: float  # accuracy
    second: float
    difference: float  # second minus first
    low: float
    high: float
    level: float  # of confidence


def accuracy_difference(first: Any, second: Any, level: float = 0.95) -> Difference:
    """Compare two classifiers on the same documents.

    The interval is that of Agresti and Min for matched pairs (Statistics in Medicine, 2005): Wald's
    interval after adding half a document to each of the four cells. It keeps its level for few
    documents.

    Parameters
    ----------
    first, second : array of bool
        Whether each classifier got each document right.
    level : float
        Level of confidence.

    Returns
    -------
    Difference

    Examples
    --------
    >>> found = accuracy_difference([True] * 80 + [False] * 20, [True] * 90 + [False] * 10)
    >>> print(f"{found.difference:.2f} ({found.low:.3f} to {found.high:.3f})")
    0.10 (0.037 to 0.159)
    """
    one, other = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    n = len(one)
    if n == 0 or other.shape != one.shape:
        raise ValueError(
            f"first has {n} documents, second {len(other)}; pass the same documents, at least one."
        )
    lost, won = float((one & ~other).sum()), float((other & ~one).sum())
    middle = (won - lost) / (n + 2)
    spread = np.sqrt((won + lost + 1) - (won - lost) ** 2 / (n + 2)) / (n + 2)
    reach = NormalDist().inv_cdf((1 + level) / 2) * float(spread)
    low, high = max(-1.0, middle - reach), min(1.0, middle + reach)
    return Difference(n, float(one.mean()), float(other.mean()), (won - lost) / n, low, high, level)
