"""Counts the words of texts in one pass.

The words of a piece between spaces rarely depend on the rest of the text, and pieces repeat. So a
text costs one look-up per piece, which numbers the piece. Some documents later, `_NumberedUnits`
looks up the words of each different piece, and a product of sparse matrices turns the pieces of
documents into words. Where words do depend on the rest of the text (n-grams, several languages),
the words take the place of the pieces (`WordAnalyzer.split`).
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import count as whole_numbers
from itertools import repeat
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse as sp

from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.text.vectorizer.analyzer import END, WordAnalyzer, make_analyzer
from cofactor.text.vectorizer.stems import Form, Stems

MAX_BATCH = 2**22  # pieces of texts that are numbered before their words are counted


class Frequencies(NamedTuple):
    """Words in alphabetical order, with their frequencies."""

    words: np.ndarray
    documents_with: np.ndarray  # number of documents with each word
    occurrences: np.ndarray  # number of occurrences of each word
    documents: int  # number of all documents

    @classmethod
    def of(cls, words: Sequence[str], counts: sp.csc_array, order: IntArray) -> Frequencies:
        """Return the frequencies for a matrix of counts; ``order`` sorts its columns."""
        names, total = np.array(words, dtype=object), np.asarray(counts.sum(axis=0))
        return cls(names[order], np.diff(counts.indptr)[order], total[order], counts.shape[0])

    def idf(self, places: IntArray) -> FloatArray:
        """Return the inverse document frequencies of some words."""
        return np.asarray(np.log((1 + self.documents) / (1 + self.documents_with[places])) + 1.0)

    def of_some(self, some: BoolArray | IntArray) -> Frequencies:
        """Return the frequencies of some of the words."""
        words, documents_with, occurrences, documents = self
        return Frequencies(words[some], documents_with[some], occurrences[some], documents)


def alphabetical(words: Sequence[str]) -> IntArray:
    """Return the places of words in alphabetical order."""
    return np.array(sorted(range(len(words)), key=words.__getitem__), dtype=np.intp)


class WordReading(NamedTuple):
    """How texts become words: an analyzer splits them, and stems replace the words."""

    analyzer: WordAnalyzer
    stems: Stems

    @classmethod
    def plain(cls) -> Self:
        """Return the reading of all words as they are."""
        return cls(make_analyzer((), (1, 1)), Stems([]))

    def expand(self, language: int, units: Sequence[str], times: Iterable[int]) -> Iterable[str]:
        """Return the words of units, and `END` after those of each unit.

        Units occur several ``times``, which count for the forms of their words.
        """
        words = self.analyzer.expand(units)
        return self._stemmed(words, language, iter(times)) if self.stems.active else words

    def words_in(self, text: str) -> list[str]:
        """Return the words of a text, and count their forms."""
        language, units = self.analyzer.split(text)
        return [word for word in self.expand(language, units, repeat(1)) if word != END]

    def _stemmed(self, words: list[str], language: int, times: Iterator[int]) -> Iterator[str]:
        often = next(times, 0)
        for word in words:
            yield END if word == END else self.stems.read(word, language, often)
            often = next(times, 0) if word == END else often


class _NumberedUnits:
    """The units of some documents: each different one has a number."""

    def __init__(self) -> None:
        number = whole_numbers().__next__
        self._numbers: defaultdict[int, defaultdict[str, int]] = defaultdict(
            lambda: defaultdict(number)
        )
        self._found, self._ends = array("i"), array("q", [0])

    def add(self, language: int, units: Iterable[str]) -> None:
        """Number the units of a document, which is written in a language."""
        self._found.extend(map(self._numbers[language].__getitem__, units))
        self._ends.append(len(self._found))

    @property
    def is_full(self) -> bool:
        return len(self._found) >= MAX_BATCH

    def count(
        self, reading: WordReading, places: defaultdict[str, int], only: Collection[str] | None
    ) -> sp.csr_array:
        """Return the number of times that each document has each word."""
        found, ends = np.asarray(self._found), np.asarray(self._ends, dtype=np.int32)
        times, words, order = np.bincount(found), list[str](), list[int]()
        for language, numbers in self._numbers.items():
            places_of_units = [*numbers.values()]
            order += places_of_units
            words += reading.expand(language, [*numbers], times[places_of_units].tolist())
        if only is not None:
            words = [word for word in words if word in only or word == END]
        is_end = np.array([word == END for word in words], dtype=bool)
        unit = np.array(order, dtype=np.int32)[np.cumsum(is_end)[~is_end]]
        column = np.array([places[word] for word in words if word != END], dtype=np.int32)
        expansion = sp.coo_array((_ones(column), (unit, column)), (len(order), len(places)))
        units = sp.csr_array((_ones(found), found, ends), (len(ends) - 1, len(order)))
        return units @ expansion.tocsr()


def _ones(like: IntArray) -> IntArray:
    return np.ones(len(like), dtype=np.int32)


def _count_batches(
    documents: Iterable[str],
    reading: WordReading,
    places: defaultdict[str, int],
    only: Collection[str] | None = None,
) -> Iterator[sp.csr_array]:
    """Yield the counts of words for some documents at a time; number new words in ``places``."""
    batch = _NumberedUnits()
    for text in documents:
        batch.add(*reading.analyzer.split(text))
        if batch.is_full:
            yield batch.count(reading, places, only)
            batch = _NumberedUnits()
    yield batch.count(reading, places, only)


def numbered(words: Iterable[str] = ()) -> defaultdict[str, int]:
    """Return the places of words; a new word gets the next place."""
    places: defaultdict[str, int] = defaultdict(None, {word: j for j, word in enumerate(words)})
    places.default_factory = places.__len__
    return places


def tally(
    documents: Iterable[str], reading: WordReading, known: Iterable[str] = ()
) -> tuple[list[str], sp.csc_array]:
    """Count the words of each document; return the words, known ones first, and the counts.

    Examples
    --------
    >>> words, counts = tally(["moon base moon", "moon"], WordReading.plain(), known=["orbit"])
    >>> words, counts.toarray().tolist()
    (['orbit', 'moon', 'base'], [[0, 2, 1], [0, 1, 0]])
    """
    places = numbered(known)
    counts = list(_count_batches(documents, reading, places))
    for some in counts:  # later batches may have found more words
        some.resize(some.shape[0], len(places))
    return list(places), sp.vstack(counts).tocsc()


def count_names(lists: Iterable[Iterable[str]], places: dict[str, int]) -> sp.csr_array:
    """Count the names in each list; a name that has no place is left out, unless it gets one.

    Examples
    --------
    >>> places = numbered()
    >>> count_names([["moon", "base", "moon"], ["moon"]], places).toarray().tolist()
    [[2, 1], [1, 0]]
    >>> count_names([["moon", "orbit"]], dict(places)).toarray().tolist()
    [[1, 0]]
    """
    known = isinstance(places, defaultdict)
    found, ends = array("i"), array("i", [0])
    for names in lists:
        some = names if known else filter(places.__contains__, names)
        found.extend(map(places.__getitem__, some))
        ends.append(len(found))
    columns, starts = (np.asarray(one, dtype=np.int32) for one in (found, ends))
    counts = sp.csr_array((_ones(columns), columns, starts), (len(starts) - 1, len(places)))
    counts.sum_duplicates()
    return counts


class WordCounts(NamedTuple):
    """Counts of words that add up, so that parts of a corpus can be counted separately."""

    documents_with: Counter[str]
    occurrences: Counter[str]
    forms: Counter[Form]  # occurrences of each form of words that are cut to their stems
    documents: int

    def plus(self, other: WordCounts) -> WordCounts:
        """Return the counts of both corpora together."""
        return WordCounts(
            _added(self.documents_with, other.documents_with),
            _added(self.occurrences, other.occurrences),
            _added(self.forms, other.forms),
            self.documents + other.documents,
        )

    def frequencies(self, given: Sequence[str] | None = None) -> Frequencies:
        """Return the frequencies of all words, or of the given ones."""
        words = sorted(self.occurrences) if given is None else list(given)
        counts = self.documents_with, self.occurrences
        df, tf = (np.array([each[w] for w in words], dtype=np.int64) for each in counts)
        return Frequencies(np.array(words, dtype=object), df, tf, self.documents)


def _added(one: Counter[Any], other: Counter[Any]) -> Counter[Any]:
    """Return the sum of two counters; their own `+` is slower."""
    total = one.copy()
    total.update(other)
    return total


def count(
    documents: Iterable[str], reading: WordReading, given: Collection[str] | None = None
) -> WordCounts:
    """Count all words of documents, or only the given ones, without keeping any document.

    Examples
    --------
    >>> count(["moon base moon", "moon"], WordReading.plain()).frequencies().occurrences
    array([1, 3])
    """
    places, n = numbered(), 0
    only = None if given is None else frozenset(given)
    sums: IntArray = np.zeros((2, 0), dtype=np.int64)
    for counts in _count_batches(documents, reading, places, only):
        n += counts.shape[0]
        present = np.bincount(counts.indices, minlength=len(places))
        earlier, sums = sums, np.stack([present, counts.sum(axis=0)])
        sums[:, : earlier.shape[1]] += earlier
    pairs = (zip(places, row.tolist(), strict=True) for row in sums)
    documents_with, occurrences = (Counter(dict(each)) for each in pairs)
    return WordCounts(documents_with, occurrences, Counter(reading.stems.forms), n)
