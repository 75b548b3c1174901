"""Documents on a plane: neighbours have alike topics."""

from __future__ import annotations

import numpy as np

from cofactor.text.describe.summaries import profiles

MOST = 3000  # points on the map
POWER = 1.25  # shares are sharpened, so that mixtures do not all meet in the middle


def choose_points(n: int, seed: int, most: int = MOST) -> np.ndarray:
    """Return the places of the documents on the map: all, or a random sample in order."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def likeness(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return how alike topics are: the Bhattacharyya coefficient, from 0 to 1."""
    # A small product: starting the threads of BLAS would take longer.
    return np.einsum("kj,lj->kl", np.sqrt(profiles(some)), np.sqrt(profiles(others)))


def circle_order(components: np.ndarray) -> list[int]:
    """Order topics around a circle so that alike ones are neighbours.

    The shortest tour from nearest to nearest, improved by turning stretches around.
    """
    far = 1.0 - likeness(components, components)
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
    """Return the places of the topics on the unit circle."""
    order = circle_order(components)
    angle = np.empty(len(order))
    angle[order] = np.pi / 2 - 2 * np.pi * np.arange(len(order)) / len(order)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def place(shares: np.ndarray, components: np.ndarray, seed: int) -> np.ndarray:
    """Place documents between the topics they are made of.

    Parameters
    ----------
    shares : array (n, r)
        Share of each topic in each document.
    components : array (r, m)
        The topics.
    seed : int
        Of the scatter that keeps documents with the same topics apart.

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
