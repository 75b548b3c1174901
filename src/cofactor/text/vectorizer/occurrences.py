"""Where the words of a model stand in a text, and the text coloured by what they contribute.

A word of a model covers the characters of each of its forms. A pair of letters in a script without
spaces covers both letters, and an n-gram its words; each of them gets an equal part. So a letter or
word is coloured by the sum of all words that it belongs to.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from cofactor.text.vectorizer.analyzer import Place, find_all_places, find_places, tidy

# Shares of the strongest place from which a place has colour 1, 2 or 3.
COLOUR_LEVELS = (0.08, 0.25, 0.6)


class Occurrence(NamedTuple):
    """A word of a model, and the places in a text that one of its occurrences covers."""

    word: str
    places: tuple[Place, ...]

    def form(self, text: str) -> str:
        """Return what stands in the text; words of an n-gram have one space between them."""
        end, found = self.places[0][0], ""
        for place in self.places:
            found += (" " if place[0] > end else "") + text[slice(*place)]
            end = place[1]
        return found


def find_occurrences(text: str, vectorizer: Any) -> list[Occurrence]:
    """Return where the words of a fitted vectorizer stand in a text; words come before n-grams.

    Empty if the vectorizer has no ``build_analyzer``.

    Examples
    --------
    >>> from cofactor.text import WordVectorizer
    >>> vectorizer = WordVectorizer(stem=4).fit(["the moons of the moon", "a moon base"])
    >>> find_occurrences("Moonlight at the base", vectorizer)
    [Occurrence(word='moon', places=((0, 9),)), Occurrence(word='base', places=((17, 21),))]
    """
    name = _namer(text, vectorizer)
    if name is None:
        return []
    words, runs = find_places(text)
    if getattr(vectorizer, "tokens", "words") != "auto":  # a run of letters is a word
        words, runs = sorted(words + [(run[0][0], run[-1][1]) for run in runs]), []
    hidden = frozenset(getattr(vectorizer, "grammatical_", None) or ())
    named = [(place, name(text[slice(*place)])) for place in words]
    content = [place for place, names in named if names and hidden.isdisjoint(names)]
    found = [Occurrence(one, (place,)) for place, names in named for one in names]
    found += _sequences(text, content, name, _longest(vectorizer), " ")
    for run in runs:
        found += _sequences(text, run, name, 2, "", shortest=1)
    return found


def find_forms(text: str, words: Iterable[str]) -> list[Occurrence]:
    """Return where words in lower case stand in a text, numbers and single letters, too.

    Examples
    --------
    >>> find_forms("How many moons?", ["many", "moons", "how"])[:2]
    [Occurrence(word='how', places=((0, 3),)), Occurrence(word='many', places=((4, 8),))]
    """
    wanted = frozenset(words)
    found = ((tidy(text[slice(*place)]).casefold(), place) for place in find_all_places(text))
    return [Occurrence(word, (place,)) for word, place in found if word in wanted]


def _namer(text: str, vectorizer: Any) -> Callable[[str], list[str]] | None:
    if hasattr(vectorizer, "build_namer"):
        return vectorizer.build_namer(text)
    if not hasattr(vectorizer, "build_analyzer"):
        return None
    return vectorizer.build_analyzer()


def _longest(vectorizer: Any) -> int:
    """Return the number of words in the longest n-gram."""
    letters = getattr(vectorizer, "tokens", getattr(vectorizer, "analyzer", "word"))
    return 1 if "char" in str(letters) else getattr(vectorizer, "ngram_range", (1, 1))[1]


def _sequences(
    text: str,
    places: list[Place],
    name: Callable[[str], list[str]],
    longest: int,
    between: str,
    shortest: int = 2,
) -> Iterator[Occurrence]:
    """Yield the occurrences of neighbouring places, joined as the vectorizer joins them."""
    for n in range(shortest, longest + 1):
        for i in range(len(places) - n + 1):
            some = tuple(places[i : i + n])
            for one in name(between.join(text[slice(*place)] for place in some)):
                if not between or one.count(between) == n - 1:  # not the words by themselves
                    yield Occurrence(one, some)


def forms(text: str, occurrences: Iterable[Occurrence]) -> dict[str, str]:
    """Return the most frequent form of each word in a text, in lower case.

    Examples
    --------
    >>> forms("Moons, moons and the moon", [Occurrence("moon", ((0, 5),))])
    {'moon': 'moons'}
    """
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for one in occurrences:
        found[one.word][tidy(one.form(text))] += 1
    return {word: counts.most_common(1)[0][0] for word, counts in found.items()}


def coloured(
    text: str, occurrences: Iterable[Occurrence], parts: Mapping[str, float]
) -> list[tuple[str, int]]:
    """Return the pieces of a text in order, each with its colour.

    Parameters
    ----------
    text : str
    occurrences : iterable of Occurrence
        Where words stand in the text.
    parts : mapping of str to float
        What words contribute. Positive parts have the colours 1 to 3, negative ones −1 to −3, and
        the rest 0.

    Returns
    -------
    list of (str, int)
        The pieces add up to the text.

    Examples
    --------
    >>> there = [Occurrence("moon", ((4, 8),)), Occurrence("puck", ((14, 18),))]
    >>> coloured("the moon or a puck", there, {"moon": 1.0, "puck": -0.3})
    [('the ', 0), ('moon', 3), (' or a ', 0), ('puck', -2)]
    """
    sums: defaultdict[Place, float] = defaultdict(float)
    for word, places in dict.fromkeys(occurrences):
        for place in places:
            sums[place] += parts.get(word, 0.0) / len(places)
    most = max(map(abs, sums.values()), default=0.0) or 1.0
    pieces: list[tuple[str, int]] = []
    end = 0
    for place in sorted(sums):
        pieces += [(text[end : place[0]], 0), (text[slice(*place)], _level(sums[place] / most))]
        end = place[1]
    return _merged([*pieces, (text[end:], 0)])


def _level(part: float) -> int:
    return int(np.sign(part) * np.searchsorted(COLOUR_LEVELS, abs(part), side="right"))


def _merged(pieces: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return pieces without empty ones; neighbours of one colour become one piece."""
    filled = groupby((piece for piece in pieces if piece[0]), itemgetter(1))
    return [("".join(text for text, _ in group), level) for level, group in filled]


def cut_pieces(pieces: Iterable[tuple[str, int]], most: int) -> list[tuple[str, int]]:
    """Return the pieces up to a number of characters; an ellipsis shows that some are missing.

    Examples
    --------
    >>> cut_pieces([("the ", 0), ("moon", 3), (" base", 0)], 6)
    [('the ', 0), ('mo', 3), ('…', 0)]
    """
    found: list[tuple[str, int]] = []
    for text, level in pieces:
        found.append((text[:most], level))
        if len(text) > most:
            return [*found, ("…", 0)]
        most -= len(text)
    return found
