"""Places documents on a map: documents with similar topics are neighbours."""

from __future__ import annotations

import numpy as np

from cofactor.metrics.topics import topic_similarity

MOST = 3000  # points on the map
POWER = 1.25  # of the shares, so that mixtures do not all lie in the middle


def choose_points(n: int, seed: int, most: int = MOST) -> np.ndarray:
    """Return the indices of the documents on the map: all, or a sorted random sample."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def circle_order(components: np.ndarray) -> list[int]:
    """Order topics around a circle so that similar ones are neighbours.

    A tour that goes on to the nearest topic, then improved by reversing parts of it (2-opt).
    """
    far = 1.0 - topic_similarity(components, components)
    tour, left = [0], set(range(1, len(far)))
    while left:
        tour.append(min(left, key=lambda k: (far[tour[-1], k], k)))
        left.remove(tour[-1])
    return _shorten(tour, far)


def _shorten(tour: list[int], far: np.ndarray, rounds: int = 20) -> list[int]:
    n = len(tour)
    for _ in range(rounds):
        before = list(tour)
        for i in range(n - 1):
            for j in range(i + 2, n):
                a, b, c, d = tour[i], tour[i + 1], tour[j], tour[(j + 1) % n]
                if far[a, c] + far[b, d] < far[a, b] + far[c, d] - 1e-12:
                    tour[i + 1 : j + 1] = tour[i + 1 : j + 1][::-1]
        if tour == before:
            break
    return tour


def anchors(components: np.ndarray) -> np.ndarray:
    """Return the positions of the topics on the unit circle."""
    order = circle_order(components)
    angle = np.empty(len(order))
    angle[order] = np.pi / 2 - 2 * np.pi * np.arange(len(order)) / len(order)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def place(shares: np.ndarray, components: np.ndarray, seed: int) -> np.ndarray:
    """Place documents between their topics.

    Parameters
    ----------
    shares : array (n, r)
        Share of each topic in each document.
    components : array (r, m)
        The topics.
    seed : int
        Seed of the scatter that separates documents with the same topics.

    Returns
    -------
    ndarray of shape (n, 2)
        A document without topics is in the middle.
    """
    sharp = shares**POWER
    sharp = sharp / np.maximum(sharp.sum(axis=1, keepdims=True), 1e-300)
    random = np.random.default_rng(seed)
    scatter = random.standard_normal((len(shares), 2)) * 0.2 / np.sqrt(len(components))
    return sharp @ anchors(components) + scatter
