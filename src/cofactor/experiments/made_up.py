"""Small made-up documents, for quick runs and tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

COMMON = [f"the{letter}" for letter in "abcdefghijklmnopqrst"]


def own_words(name: str, count: int = 12) -> list[str]:
    """Return the words of one subject: its name and a letter."""
    return [f"{name.lower()}{chr(ord('a') + i)}" for i in range(count)]


def document(
    subjects: Sequence[str], others: Sequence[str], random: Generator, length: int = 24
) -> str:
    """Return words of the given subjects, some of other subjects, and common ones."""
    own, stray = ([w for name in names for w in own_words(name)] for names in (subjects, others))
    parts = (own, length // 4), (stray, length // 4), (COMMON, length - 2 * (length // 4))
    return " ".join(word for pool, count in parts for word in random.choice(pool, count))


def shuffled(documents: Sequence[str], random: Generator) -> list[int]:
    """Return a random order of documents."""
    return [int(i) for i in random.permutation(np.arange(len(documents)))]
