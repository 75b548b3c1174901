"""Chooses what is shown where not everything fits: the largest classes, the largest topics, and as
much of each text as the file has room for."""

from __future__ import annotations

from typing import Any

import numpy as np

from cofactor.report.preparation.material import Material, is_known

CLASSES = 25  # in charts
COLUMNS = 30  # topics in the heatmap
ALL_CARDS, CARDS = 12, 6  # topics that all have a card shown; cards shown of more topics
ROOM = 4_000_000  # bytes for the texts of all documents
ESCAPED = "<>&\n"  # letters that take more bytes in the page


def largest(sizes: Any, most: int) -> list[int]:
    """Return the places of the largest sizes, in their old order.

    Examples
    --------
    >>> largest([5, 1, 7, 5], 2)
    [0, 2]
    """
    return sorted(np.argsort(-np.asarray(sizes, dtype=float), kind="stable")[:most].tolist())


def class_sizes(material: Material) -> np.ndarray:
    """Return how many documents have each class: by their labels, or by predictions if none are
    known."""
    n = len(material.classes)
    if material.kind == "sets":
        return np.nansum(material.known, axis=0).astype(int)
    if material.kind != "classes":
        return np.zeros(n, dtype=int)
    known = material.known[is_known(material.known)]
    if not len(known) and material.probabilities is not None:
        known = material.probabilities.argmax(axis=1)
    return np.bincount(known, minlength=n)


def fitting_texts(texts: list[str], room: int = ROOM) -> tuple[list[str], bool]:
    """Cut long texts so that all fit into the room; return them and whether any was cut.

    Short texts stay whole: what they leave of their equal part goes to the longer ones.
    """
    sizes = np.array([_bytes(text) for text in texts])
    most = _limit(sizes, room)
    cut = [
        text if size <= most else f"{text[: int(len(text) * most / size)]}…"
        for text, size in zip(texts, sizes.tolist(), strict=True)
    ]
    return cut, bool((sizes > most).any())


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace")) + 5 * sum(text.count(sign) for sign in ESCAPED)


def _limit(sizes: np.ndarray, room: int) -> float:
    """Return the largest limit for which the sum of min(size, limit) fits into the room."""
    left = float(room)
    for place, size in enumerate(np.sort(sizes).tolist()):
        part = left / (len(sizes) - place)
        if size > part:
            return part
        left -= size
    return float("inf")
