"""Which topics of two models belong together, and which of two classifiers is better."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment


def match_topics(
    first: np.ndarray, first_words: Any, second: np.ndarray, second_words: Any
) -> list[tuple[int, int, float]]:
    """Pair topics one to one so that the sum of their cosines is largest (the Hungarian method).

    Parameters
    ----------
    first, second : array (n_topics, n_words)
        Topics, as rows.
    first_words, second_words : sequence of str
        Their words; those that only one has count as 0 in the other.

    Returns
    -------
    list of (topic, topic, cosine)
        In the order of the first; topics of the larger model that are left over are not listed.

    Examples
    --------
    >>> match_topics(np.eye(2), ["moon", "goal"], np.eye(2), ["goal", "moon"])
    [(0, 1, 1.0), (1, 0, 1.0)]
    """
    here, there = _common(first_words, second_words)
    cosines = _unit(first)[:, here] @ _unit(second)[:, there].T
    rows, columns = linear_sum_assignment(cosines, maximize=True)
    found = cosines[rows, columns].clip(0.0, 1.0)
    return list(zip(rows.tolist(), columns.tolist(), found.tolist(), strict=True))


def _unit(topics: np.ndarray) -> Any:
    topics = np.asarray(topics, dtype=float)
    largest = np.maximum(topics.max(axis=1, initial=0.0, keepdims=True), 1e-300)
    scaled = topics / largest
    return scaled / np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), 1e-300)


def _common(first: Any, second: Any) -> tuple[list[int], list[int]]:
    """Return the places of the words that both have, in each."""
    places = {str(word): j for j, word in enumerate(second)}
    pairs = [(i, places[str(word)]) for i, word in enumerate(first) if str(word) in places]
    return [i for i, _ in pairs], [j for _, j in pairs]


@dataclass(frozen=True)
class Difference:
    """How much better the second of two classifiers is, on the same documents."""

    documents: int
    first: float  # accuracy
    second: float
    difference: float
    low: float
    high: float
    level: float


def accuracy_difference(first: Any, second: Any, level: float = 0.95) -> Difference:
    """Compare two classifiers on the same documents.

    The interval is Agresti and Min's for matched pairs (Statistics in Medicine, 2005): Wald's after
    half a document was added to each of the four cells, which keeps its level for few documents.

    Parameters
    ----------
    first, second : array of bool
        Whether each got a document right.
    level : float
        Of confidence.

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
        raise ValueError(f"first has {n} documents, second {len(other)}; pass the same, some.")
    lost, won = float((one & ~other).sum()), float((other & ~one).sum())
    middle = (won - lost) / (n + 2)
    spread = np.sqrt((won + lost + 1) - (won - lost) ** 2 / (n + 2)) / (n + 2)
    reach = NormalDist().inv_cdf((1 + level) / 2) * float(spread)
    low, high = max(-1.0, middle - reach), min(1.0, middle + reach)
    return Difference(n, float(one.mean()), float(other.mean()), (won - lost) / n, low, high, level)
