"""Turns a text into its words: without markup, without stop words, with n-grams."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import chain, groupby

from cofactor._warnings import warn
from cofactor.text.vectorizer.cleaning import clean, normalise
from cofactor.text.vectorizer.scripts import find_tokens, find_words, is_unspaced

BREAKS = {ord(sign): " " for sign in set(string.punctuation) - {"'", "_"}}
"""Replaces ASCII signs that no word contains by spaces."""

LONG, MANY = 50, 2**18  # longest piece in the cache, in characters; most pieces in the cache

Analyzer = Callable[[str], list[str]]
Lists = Mapping[str, Iterable[str]]

TOKENS = {"auto": find_tokens, "words": find_words, "characters": find_words}
"""What a text is split into, by the name that users give it."""


def tidy(text: str) -> str:
    """Return text in lower case and composed form, with one kind of apostrophe."""
    return normalise("NFC", text).lower().replace("’", "'")


def make_analyzer(
    stop_words: Iterable[str] | Lists,
    ngram_range: tuple[int, int],
    *,
    tokens: str = "words",
    cleaned: bool = False,
    grammar: bool = False,
) -> Analyzer:
    """Return a function from a text to its words, without stop words, and their n-grams.

    Parameters
    ----------
    stop_words : iterable of str, or dict of iterables
        Words to leave out. Of several lists, a text is read with the one that leaves out most of
        its words: the list of its language.
    ngram_range : tuple of int
        Lengths of sequences of words; of characters inside a word if ``tokens`` is "characters".
    tokens : {"words", "auto", "characters"}
        What a text is split into; "auto" splits runs of unspaced scripts into pairs of letters.
    cleaned : bool
        Leave out markup.
    grammar : bool
        Do not leave out stop words: they come after the others, and are in no n-gram.

    Examples
    --------
    >>> make_analyzer({"of"}, (1, 2))("Pride of lions")
    ['pride', 'lions', 'pride lions']
    >>> make_analyzer({"of"}, (1, 2), grammar=True)("Pride of lions")
    ['pride', 'lions', 'pride lions', 'of']
    """
    shortest, longest = ngram_range
    if not 1 <= shortest <= longest:
        raise ValueError(
            f"ngram_range={ngram_range!r} must be two numbers of at least 1, the smaller one first."
        )
    caches = _caches(stop_words, tokens)
    every = _TokenCache(set(), TOKENS[tokens]) if grammar else None
    join = {"words": _ngrams, "auto": _spaced_ngrams, "characters": _inside}[tokens]
    grams = None if (longest == 1 and tokens != "characters") else partial(join, shortest, longest)
    return partial(_analyze, caches, grams, clean if cleaned else None, every)


def grammatical(stop_words: Lists, words: Iterable[str]) -> list[str]:
    """Return those of some words that are stop words in one of the lists."""
    caches = _caches(stop_words, "auto")
    return [word for word in words if any(cache.leaves_out(word) for cache in caches)]


def _caches(stop_words: Iterable[str] | Lists, tokens: str) -> list[_TokenCache]:
    lists = [*stop_words.values()] if isinstance(stop_words, Mapping) else [stop_words]
    return [_TokenCache({tidy(word) for word in one}, TOKENS[tokens]) for one in lists or [()]]


def _analyze(
    caches: list[_TokenCache],
    grams: Callable[[list[str]], list[str]] | None,
    clean_text: Callable[[str], str] | None,
    every: _TokenCache | None,
    text: str,
) -> list[str]:
    text = tidy(text if clean_text is None else clean_text(text))
    pieces = (text.translate(BREAKS) if text.isascii() else text).split()
    readings = [list(chain.from_iterable(map(cache.__getitem__, pieces))) for cache in caches]
    best = min(range(len(caches)), key=lambda i: len(readings[i]))
    words = readings[best] if grams is None else grams(readings[best])
    if every is None:
        return words
    found = chain.from_iterable(map(every.__getitem__, pieces))
    return [*words, *filter(caches[best].leaves_out, found)]


class _TokenCache(dict[str, tuple[str, ...]]):
    """Caches the words of each whitespace-separated piece, since pieces repeat."""

    def __init__(self, stop_words: set[str], find: Callable[[str], list[str]]) -> None:
        self._find, self._stop = find, stop_words
        parts = {part for word in stop_words for part in find_words(word)} - stop_words
        if parts:
            warn(
                f"stop_words has entries that are not single words; add {sorted(parts)} to leave "
                "out their parts too."
            )

    def __missing__(self, piece: str) -> tuple[str, ...]:
        words = tuple(word for word in self._find(piece) if not self.leaves_out(word))
        if len(piece) <= LONG and len(self) < MANY:
            self[piece] = words
        return words

    def leaves_out(self, word: str) -> bool:
        """Tell whether to leave out a word; a pair of grammatical letters is grammatical, too."""
        stop = self._stop
        if word in stop:
            return True
        return len(word) == 2 and word[0] in stop and word[1] in stop and is_unspaced(word)


def _ngrams(shortest: int, longest: int, words: list[str]) -> list[str]:
    return [
        " ".join(words[i : i + n])
        for n in range(shortest, longest + 1)
        for i in range(len(words) - n + 1)
    ]


def _spaced_ngrams(shortest: int, longest: int, words: list[str]) -> list[str]:
    """Return the n-grams of words; pairs of letters are n-grams already and stay as they are."""
    groups = ((unspaced, list(group)) for unspaced, group in groupby(words, is_unspaced))
    parts = (some if unspaced else _ngrams(shortest, longest, some) for unspaced, some in groups)
    return list(chain.from_iterable(parts))


def _inside(shortest: int, longest: int, words: list[str]) -> list[str]:
    """Return the sequences of characters inside words; a shorter word is a sequence itself."""
    return [
        word[i : i + n]
        for word in words
        for n in range(min(shortest, len(word)), min(longest, len(word)) + 1)
        for i in range(len(word) - n + 1)
    ]
