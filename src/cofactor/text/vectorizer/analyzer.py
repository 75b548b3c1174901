"""Turns a text into its words: splits it, drops stop words and joins n-grams.

*Scripts without spaces.* Chinese, Japanese, Thai, Lao, Khmer and Burmese have no spaces between
words, and Korean words carry their particles. As in search engines, such runs become overlapping
pairs of letters, which find words without a dictionary. A letter includes its marks (vowel signs
and tones). A Chinese character is also a word by itself. A pair never mixes scripts, because words
often end where the script changes.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain, filterfalse, groupby, islice, pairwise

from cofactor._warnings import warn
from cofactor.text.vectorizer.cleaning import clean, normalise

# Python's \w stops at combining marks, which would cut Hindi, Thai, Arabic or Hebrew words apart.
COMBINING_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u0610-\u061a\u064b-\u065f"
    "\u0670\u06d6-\u06dc\u0730-\u074a\u0900-\u0963\u0966-\u0df3\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u0eb1\u0eb4-\u0ebc\u0f71-\u0f84\u102b-\u103e\u17b4-\u17d3\u200c\u200d"
)
# A word starts with a letter and has at least two characters; it may contain apostrophes.
WORD_PATTERN = (
    rf"(?<![\w{COMBINING_MARKS}])[^\W\d_][\w{COMBINING_MARKS}]++(?:'[\w{COMBINING_MARKS}]++)*+"
)
# The letters and marks of scripts without spaces between words.
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
END = "END"  # ends the words of a piece; no word of a text has capital letters
MAX_WORD_LENGTH = 100  # in characters; longer words are data, such as pictures in base64

_RUN = re.compile("|".join(f"[{letters}]+" for letters in UNSPACED.values()))
_UNSPACED = re.compile(f"[{''.join(UNSPACED.values())}]")  # a search for it is fast
_HAN = re.compile(f"[{UNSPACED['Han']}]")
_WRITTEN_LETTER = re.compile(
    "[\u0e40-\u0e44\u0ec0-\u0ec4]?"  # vowels that are written before their consonant
    # and consonants below another one
    f"[^{COMBINING_MARKS}](?:[{COMBINING_MARKS}]|(?<=[\u17d2\u1039]).)*"
    "|."
)
_WORD = re.compile(WORD_PATTERN)
_find_words = _WORD.findall
_ANY_WORD = re.compile(rf"[\w{COMBINING_MARKS}]++(?:'[\w{COMBINING_MARKS}]++)*+")
# ASCII characters that separate words
_PUNCTUATION = "".join(sorted(set(string.punctuation) - {"'", "_"}))
_PUNCTUATION_TO_SPACES = bytes.maketrans(_PUNCTUATION.encode(), b" " * len(_PUNCTUATION))

Analyzer = Callable[[str], list[str]]
Place = tuple[int, int]  # the start and the end of characters in a text
StopLists = Mapping[str, Iterable[str]]


# ---- words


def find_words(text: str) -> list[str]:
    """Return the words of a text in lower case; a run of an unspaced script counts as a word."""
    if text.isascii() and text.isalnum():  # most pieces of a text: faster than the pattern
        return [text] if len(text) > 1 and text[0].isalpha() else []
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
    runs = _RUN.findall(text) if _has_unspaced(text) else []
    words = find_words(_RUN.sub(" ", text) if runs else text)
    if len(text) > MAX_WORD_LENGTH:
        words = [word for word in words if len(word) <= MAX_WORD_LENGTH]
    for run in runs:
        words += _tokens_of(run)
    return words


def _tokens_of(run: str) -> list[str]:
    letters = _WRITTEN_LETTER.findall(run)
    pairs = [first + second for first, second in pairwise(letters)]
    return [*letters, *pairs] if _HAN.match(run) else pairs


def has_overlong_word(text: str) -> bool:
    """Return whether a text has a word that is dropped because of its length.

    Examples
    --------
    >>> [has_overlong_word(text) for text in ("a moon", "a " + "m" * 101, "好" * 101)]
    [False, True, False]
    """
    pieces = (piece for piece in text.split() if len(piece) > MAX_WORD_LENGTH)
    words = (word for piece in pieces for word in _find_words(_RUN.sub(" ", piece)))
    return any(len(word) > MAX_WORD_LENGTH for word in words)


def find_places(text: str) -> tuple[list[Place], list[list[Place]]]:
    """Return where the words of a text stand, and the letters of each unspaced run.

    Examples
    --------
    >>> find_places("Ok! 天气")
    ([(0, 2)], [[(4, 5), (5, 6)]])
    """
    text = text.replace("’", "'")
    runs = [found.span() for found in _RUN.finditer(text)]
    rest = _RUN.sub(lambda found: " " * len(found[0]), text) if runs else text
    words = [found.span() for found in _WORD.finditer(rest)]
    letters = [[found.span() for found in _WRITTEN_LETTER.finditer(text, *run)] for run in runs]
    return words, letters


def find_all_places(text: str) -> list[Place]:
    """Return where words stand in a text, also numbers and single letters."""
    return [found.span() for found in _ANY_WORD.finditer(text.replace("’", "'"))]


def _has_unspaced(text: str) -> bool:
    return not text.isascii() and _UNSPACED.search(text) is not None


def is_unspaced(token: str) -> bool:
    """Return whether a token is in a script without spaces."""
    return _RUN.match(token) is not None


def tidy(text: str) -> str:
    """Return text in lower case and composed form, with one kind of apostrophe.

    Examples
    --------
    >>> tidy("İstanbul’DA")  # Python's own lower case has a dot after the i
    "istanbul'da"
    """
    return normalise("NFC", text).replace("İ", "i").lower().replace("’", "'")


# What a text is split into, by the name that users give it.
TOKENS = {"auto": find_tokens, "words": find_words, "characters": find_words}


# ---- analyzers


def make_analyzer(
    stop_words: Iterable[str] | StopLists,
    ngram_range: tuple[int, int],
    *,
    tokens: str = "words",
    cleaned: bool = False,
    grammar: bool = False,
    languages: StopLists | None = None,
    drop: Callable[[str], str] | None = None,
) -> WordAnalyzer:
    """Return a function from a text to its words, without stop words, and their n-grams.

    Parameters
    ----------
    stop_words : iterable of str, or dict of iterables
        Words to drop. With several lists, each text uses the one that drops most of its words: the
        list of its language.
    ngram_range : tuple of int
        Lengths of word sequences; of character sequences if ``tokens`` is "characters".
    tokens : {"words", "auto", "characters"}
        What a text is split into; "auto" splits runs of unspaced scripts into pairs of letters.
    cleaned : bool
        Remove markup.
    grammar : bool
        Append stop words after the other words instead of dropping them; n-grams exclude them.
    languages : dict of iterables, optional
        The grammatical words that tell the language of a text, if these are not the stop words.
    drop : callable, optional
        Takes a text and returns what to read of it.

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
    tellers = caches if languages is None else _caches(languages, tokens)
    joins = longest > 1 and tokens != "characters"
    return WordAnalyzer(caches, tellers, grams, cleaned, every, drop, joins)


def grammatical(stop_words: StopLists, words: Iterable[str]) -> list[str]:
    """Return those words that are stop words in any of the lists."""
    caches = _caches(stop_words, "auto")
    return [word for word in words if any(cache.leaves_out(word) for cache in caches)]


def _caches(stop_words: Iterable[str] | StopLists, tokens: str) -> list[_TokenCache]:
    lists = [*stop_words.values()] if isinstance(stop_words, Mapping) else [stop_words]
    return [_TokenCache({tidy(word) for word in one}, TOKENS[tokens]) for one in lists or [()]]


class WordAnalyzer:
    """Splits a text into its words; made by `make_analyzer`."""

    def __init__(
        self,
        caches: list[_TokenCache],
        tellers: list[_TokenCache],
        grams: Callable[[list[str]], list[str]] | None,
        cleaned: bool,
        every: _TokenCache | None,
        drop: Callable[[str], str] | None,
        joins: bool,
    ) -> None:
        self._caches, self._tellers, self._drop = caches, tellers, drop
        self._grams, self._cleaned, self._every = grams, cleaned, every
        # Whether the words of a text are those of its pieces, one by one.
        self._reads_pieces = len(tellers) == 1 and not joins

    def __call__(self, text: str) -> list[str]:
        """Return the words of a text and their n-grams; grammatical words, if kept, come last."""
        return self.read(text)[1]

    def read(self, text: str) -> tuple[int, list[str]]:
        """Return the place of the text's language, and the words of the text."""
        return self._read(self._pieces(text))

    def split(self, text: str) -> tuple[int, list[str]]:
        """Return the place of the text's language, and the units that `expand` turns into words.

        Units are the pieces between spaces or, if the words of a text depend on more than one
        piece, the words. All in all, a text has the words of `read`, in another order.
        """
        pieces = self._pieces(text)
        return (0, pieces) if self._reads_pieces else self._read(pieces)

    def expand(self, units: Sequence[str]) -> list[str]:
        """Return the words of units, and `END` after those of each unit."""
        if not self._reads_pieces:
            return [word for unit in units for word in (unit, END)]
        joined = "".join([f"{unit} {END} " for unit in units])
        if self._grams is None and self._every is None and self._caches[0].finds_in_order(joined):
            return self._caches[0].find(joined)
        return [word for unit in units for word in (*self._read([unit])[1], END)]

    def _read(self, pieces: list[str]) -> tuple[int, list[str]]:
        language, words = self._best_reading(pieces)
        words = words if self._grams is None else self._grams(words)
        if self._every is None:
            return language, words
        found = chain.from_iterable(map(self._every.__getitem__, pieces))
        return language, [*words, *filter(self._cache(language).leaves_out, found)]

    def stop_list(self, text: str) -> tuple[int, Callable[[str], bool]]:
        """Return the place of the text's language, and which words are stop words in it."""
        language = self._best_reading(self._pieces(text))[0]
        return language, self._cache(language).leaves_out

    def read_all(self, text: str) -> tuple[list[str], Callable[[str], bool]]:
        """Return all words of a text in order, also grammatical ones, numbers and single letters,
        and which words are grammatical in its language."""
        pieces = self._pieces(text)
        words = [word for piece in pieces for word in _ANY_WORD.findall(piece)]
        language = 0 if len(self._tellers) == 1 else self._best_reading(pieces)[0]
        return words, self._cache(language).leaves_out

    def _cache(self, language: int) -> _TokenCache:
        return self._caches[min(language, len(self._caches) - 1)]

    def _pieces(self, text: str) -> list[str]:
        text = clean(text) if self._cleaned else text
        text = tidy(text if self._drop is None else self._drop(text))
        if text.isascii():  # bytes are faster
            text = text.encode().translate(_PUNCTUATION_TO_SPACES).decode()
        return text.split()

    def _best_reading(self, pieces: list[str]) -> tuple[int, list[str]]:
        """Return the place of the language whose list drops most words, and the words left."""
        if len(self._tellers) == 1:
            return 0, _words(self._caches[0], pieces)
        found = [_words(teller, pieces) for teller in self._tellers]
        fewest = min(map(len, found))
        best = [i for i, words in enumerate(found) if len(words) == fewest]
        if len(best) > 1 and (script := main_script(pieces)):
            best = [i for i in best if self._tellers[i].script == script] or best
        language, own = best[0], self._caches is self._tellers
        return language, found[language] if own else _words(self._cache(language), pieces)


def _words(cache: _TokenCache, pieces: list[str]) -> list[str]:
    return list(chain.from_iterable(map(cache.__getitem__, pieces)))


def main_script(words: Iterable[str]) -> str:
    """Return the first word of the Unicode names of most letters, or "".

    Examples
    --------
    >>> main_script(["мир", "ok"]), main_script(["12"])
    ('CYRILLIC', '')
    """
    letters = islice((letter for word in words for letter in word if letter.isalpha()), 1000)
    counts = Counter(unicodedata.name(letter, "?").split()[0] for letter in letters)
    return counts.most_common(1)[0][0] if counts else ""


class _TokenCache(dict[str, tuple[str, ...]]):
    """Caches the words of each whitespace-separated piece, since pieces repeat."""

    MAX_PIECE_LENGTH, MAX_PIECES = 50, 2**18

    def __init__(self, stop_words: set[str], find: Callable[[str], list[str]]) -> None:
        self._find, self._stop = find, stop_words
        parts = {part for word in stop_words for part in find_words(word)} - stop_words
        if parts:
            warn(
                f"stop_words has entries that are not single words; add {sorted(parts)} to leave "
                "out their parts, too."
            )

    @cached_property
    def script(self) -> str:
        """The script of the stop words."""
        return main_script(sorted(self._stop))

    def __missing__(self, piece: str) -> tuple[str, ...]:
        words = tuple(self.find(piece))
        if len(piece) <= self.MAX_PIECE_LENGTH and len(self) < self.MAX_PIECES:
            self[piece] = words
        return words

    def find(self, text: str) -> list[str]:
        """Return the words of a text without stop words."""
        words = filterfalse(self._stop.__contains__, self._find(text))
        return [word for word in words if len(word) != 2 or not self._is_pair(word)]

    def finds_in_order(self, text: str) -> bool:
        """Return whether the words of a text are found in its order: runs of letters come last."""
        return self._find is not find_tokens or not _has_unspaced(text)

    def leaves_out(self, word: str) -> bool:
        """Return whether to drop a word; a pair of grammatical letters counts as grammatical."""
        return word in self._stop or (len(word) == 2 and self._is_pair(word))

    def _is_pair(self, word: str) -> bool:
        return word[0] in self._stop and word[1] in self._stop and is_unspaced(word)


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
    """Return the character sequences inside words; a shorter word is a sequence itself."""
    return [
        word[i : i + n]
        for word in words
        for n in range(min(shortest, len(word)), min(longest, len(word)) + 1)
        for i in range(len(word) - n + 1)
    ]
