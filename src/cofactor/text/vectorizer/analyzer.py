"""Splits a text into words."""

from __future__ import annotations

import re
import string
import unicodedata
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain

# Python's \w stops at combining marks, which would cut Hindi, Thai, Arabic or Hebrew words apart.
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u0610-\u061a\u064b-\u065f"
    "\u0670\u06d6-\u06dc\u0730-\u074a\u0900-\u0963\u0966-\u0df3\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u0eb1\u0eb4-\u0ebc\u0f71-\u0f84\u102b-\u103e\u17b4-\u17d3\u200c\u200d"
)
WORD = rf"(?<![\w{_MARKS}])[^\W\d_][\w{_MARKS}]++(?:'[\w{_MARKS}]++)*+"
"""A word starts with a letter and has two characters or more; apostrophes inside belong to it."""

BREAKS = {ord(sign): " " for sign in set(string.punctuation) - {"'", "_"}}
"""Replaces ASCII signs that no word contains by spaces."""

LONG, MANY = 50, 2**18  # longest token in the cache, in characters; most tokens in the cache

Analyzer = Callable[[str], list[str]]


def tidy(text: str) -> str:
    """Return text in lower case and composed form, with one kind of apostrophe."""
    return unicodedata.normalize("NFC", text).lower().replace("’", "'")


def make_analyzer(stop_words: Iterable[str], ngram_range: tuple[int, int]) -> Analyzer:
    """Return a function from a text to its words, without stop words, and their n-grams.

    Examples
    --------
    >>> make_analyzer({"of"}, (1, 2))("Pride of lions")
    ['pride', 'lions', 'pride lions']
    """
    shortest, longest = ngram_range
    if not 1 <= shortest <= longest:
        raise ValueError(
            f"ngram_range={ngram_range!r} must be two numbers of at least 1, the smaller one first."
        )
    cache = _TokenCache({tidy(word) for word in stop_words})
    return partial(_analyze, cache, shortest, longest)


def _analyze(cache: _TokenCache, shortest: int, longest: int, text: str) -> list[str]:
    text = tidy(text)
    tokens = (text.translate(BREAKS) if text.isascii() else text).split()
    words = list(chain.from_iterable(map(cache.__getitem__, tokens)))
    return words if longest == 1 else _ngrams(words, shortest, longest)


class _TokenCache(dict[str, tuple[str, ...]]):
    """Caches the words of each whitespace-separated token, since tokens repeat."""

    def __init__(self, stop_words: set[str]) -> None:
        self._find, self._stop = re.compile(WORD).findall, stop_words
        parts = {part for word in stop_words for part in self._find(word)} - stop_words
        if parts:
            warnings.warn(
                f"stop_words has entries that are not single words; add {sorted(parts)} to leave "
                "out their parts too.",
                stacklevel=4,
            )

    def __missing__(self, token: str) -> tuple[str, ...]:
        words = tuple(word for word in self._find(token) if word not in self._stop)
        if len(token) <= LONG and len(self) < MANY:
            self[token] = words
        return words


def _ngrams(words: list[str], shortest: int, longest: int) -> list[str]:
    return [
        " ".join(words[i : i + n])
        for n in range(shortest, longest + 1)
        for i in range(len(words) - n + 1)
    ]
