"""Turns a text into its words: without markup, without stop words, with n-grams."""

from __future__ import annotations

import re
import string
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, groupby, pairwise

from cofactor.text.vectorizer.cleaning import clean, normalise

# Python's \w stops at combining marks, which would cut Hindi, Thai, Arabic or Hebrew words apart.
MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u0610-\u061a\u064b-\u065f"
    "\u0670\u06d6-\u06dc\u0730-\u074a\u0900-\u0963\u0966-\u0df3\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u0eb1\u0eb4-\u0ebc\u0f71-\u0f84\u102b-\u103e\u17b4-\u17d3\u200c\u200d"
)
WORD = rf"(?<![\w{MARKS}])[^\W\d_][\w{MARKS}]++(?:'[\w{MARKS}]++)*+"
"""A word starts with a letter and has two characters or more; apostrophes inside belong to it."""

UNSPACED = {
    "Han": "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af",
    "Hiragana": "\u3041-\u3096\u309d-\u309f",
    "Katakana": "\u30a1-\u30fa\u30fc-\u30ff",
    "Hangul": "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3",
    "Thai": "\u0e01-\u0e3a\u0e40-\u0e4e",
    "Lao": "\u0e81-\u0ebd\u0ec0-\u0ece\u0edc-\u0edf",
    "Khmer": "\u1780-\u17d3\u17dc\u17dd",
    "Myanmar": "\u1000-\u103f\u104e-\u108f\u109a-\u109f",
}
"""The letters and marks of scripts without spaces between words."""

_RUN = re.compile("|".join(f"[{letters}]+" for letters in UNSPACED.values()))
_HAN = re.compile(f"[{UNSPACED['Han']}]")
_LETTER = re.compile(
    "[\u0e40-\u0e44\u0ec0-\u0ec4]?"  # vowels that are written before their consonant
    f"[^{MARKS}](?:[{MARKS}]|(?<=[\u17d2\u1039]).)*"  # and consonants below another one
    "|."
)
LONGEST = 100
"""Length of the longest word, in characters; longer ones are data, such as pictures in base64."""

_find_words = re.compile(WORD).findall


def find_words(text: str) -> list[str]:
    """Return the words of a text in lower case; runs of scripts without spaces are words, too."""
    return _find_words(text)


def find_tokens(text: str) -> list[str]:
    """Return the words of a text in lower case, and the pairs of letters of unspaced runs.

    Examples
    --------
    >>> find_tokens("das wetter")
    ['das', 'wetter']
    >>> find_tokens("天气好 ok")
    ['ok', '天', '气', '好', '天气', '气好']
    """
    runs = [] if text.isascii() else _RUN.findall(text)
    words = _find_words(_RUN.sub(" ", text) if runs else text)
    if len(text) > LONGEST:
        words = [word for word in words if len(word) <= LONGEST]
    return [*words, *(token for run in runs for token in _tokens_of(run))]


def has_overlong_word(text: str) -> bool:
    """Tell whether a text has a word that is left out because it is longer than `LONGEST`.

    Examples
    --------
    >>> (
    ...     has_overlong_word("a moon"),
    ...     has_overlong_word("a " + "m" * 101),
    ...     has_overlong_word("好" * 101),
    ... )
    (False, True, False)
    """
    pieces = (piece for piece in text.split() if len(piece) > LONGEST)
    words = (word for piece in pieces for word in _find_words(_RUN.sub(" ", piece)))
    return any(len(word) > LONGEST for word in words)


def _tokens_of(run: str) -> list[str]:
    letters = _LETTER.findall(run)
    pairs = [first + second for first, second in pairwise(letters)]
    return [*letters, *pairs] if _HAN.match(run) else pairs


def is_unspaced(token: str) -> bool:
    """Tell whether a token comes from a script without spaces."""
    return _RUN.match(token) is not None


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
            warnings.warn(
                f"stop_words has entries that are not single words; add {sorted(parts)} to leave "
                "out their parts too.",
                stacklevel=4,
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


# ---- Lets words that differ in their endings count as one

LETTERS = 6
"""Number of letters in which the forms of a word agree."""

_ARTICLE = re.compile("^(?:و?(?:ال|بال|كال|فال|لل)(?=..)|و(?=...))")  # leaves two letters or more


class Stems(dict[str, str]):
    """From a word, or an n-gram of words, to its first letters; None letters keep the word."""

    def __init__(self, letters: int | None) -> None:
        self.letters = letters
        self.forms: Counter[str] = Counter()

    def __missing__(self, word: str) -> str:
        stem = word
        if self.letters is not None:
            parts = (_ARTICLE.sub("", part)[: self.letters] for part in word.split(" "))
            stem = " ".join(parts)
        self[word] = stem
        return stem

    def read(self, words: Iterable[str]) -> Iterator[str]:
        """Return the stems of words, and count the words."""
        if self.letters is None:
            return iter(words)
        words = list(words)
        self.forms.update(words)
        return map(self.__getitem__, words)

    def names(self, stems: Iterable[str]) -> list[str]:
        """Return the most frequent word of each stem; of equally frequent ones, the shortest.

        Examples
        --------
        >>> stems = Stems(3)
        >>> list(stems.read(["moons", "moon", "moons", "sun"]))
        ['moo', 'moo', 'moo', 'sun']
        >>> stems.names(["moo", "sun"])
        ['moons', 'sun']
        """
        best: dict[str, str] = {}
        for word in sorted(self.forms, key=lambda word: (-self.forms[word], len(word), word)):
            best.setdefault(self[word], word)
        return [best.get(stem, stem) for stem in stems]
