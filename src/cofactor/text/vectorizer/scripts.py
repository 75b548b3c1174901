"""Splits a text into words, and runs of scripts without spaces into pairs of letters.

Chinese, Japanese, Thai, Lao, Khmer and Burmese texts have no spaces between words; Korean words
carry their particles. As in search engines, such runs become overlapping pairs of letters: these
find words without a dictionary. A letter includes its marks: vowel signs and tones. A Chinese
character is a word of its own as well. Scripts do not mix in a pair, because a change of script
often is the end of a word.
"""

from __future__ import annotations

import re
from itertools import pairwise

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
