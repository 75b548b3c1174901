"""Counts words in one pass over documents, and chooses which words to keep."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from cofactor._types import BoolArray, IntArray
from cofactor.errors import Parameter, ParameterError

RARE, SHARE, ENOUGH = (5, 2), 0.9, 50
"""Limits for rare words, the one that leaves out most first. Texts must keep this share of their
words, or this number of words, on average; see `rare_limit`."""
MANY = 2000
"""From so many documents on, words of a single one are left out."""


class Frequencies(NamedTuple):
    """Words in alphabetical order with their frequencies."""

    words: np.ndarray
    documents_with: np.ndarray  # number of documents that have each word
    occurrences: np.ndarray  # number of times that each word occurs
    documents: int  # number of all documents

    @classmethod
    def of(cls, words: Sequence[str], counts: sp.csc_array, order: IntArray) -> Frequencies:
        """Return the frequencies from a matrix of counts; ``order`` sorts its columns."""
        names, total = np.array(words, dtype=object), np.asarray(counts.sum(axis=0))
        return cls(names[order], np.diff(counts.indptr)[order], total[order], counts.shape[0])

    def of_some(self, mask: BoolArray) -> Frequencies:
        """Return the frequencies of some of the words."""
        words, documents_with, occurrences, documents = self
        return Frequencies(words[mask], documents_with[mask], occurrences[mask], documents)


def tally(
    documents: Iterable[str], analyze: Callable[[str], Iterable[str]], known: Iterable[str] = ()
) -> tuple[list[str], sp.csc_array]:
    """Count the words of each document; return the words, the known ones first, and the counts.

    Examples
    --------
    >>> words, counts = tally(["b a b", "b"], str.split, known=["z"])
    >>> words, counts.toarray().tolist()
    (['z', 'b', 'a'], [[0, 2, 1], [0, 1, 0]])
    """
    places: defaultdict[str, int] = defaultdict(None, {word: j for j, word in enumerate(known)})
    places.default_factory = places.__len__  # a new word gets the next place
    found, ends = array("i"), [0]
    for text in documents:
        found.extend(map(places.__getitem__, analyze(text)))
        ends.append(len(found))
    small = sp.get_index_dtype(maxval=len(found))  # 32 bits if they suffice
    parts = np.ones(len(found), dtype=small), np.array(found, small), np.array(ends, small)
    counts = sp.csr_array(parts, shape=(len(ends) - 1, len(places))).tocsc()
    counts.sum_duplicates()
    return list(places), counts


def count(
    documents: Iterable[str],
    analyze: Callable[[str], Iterable[str]],
    given: Sequence[str] | None = None,
) -> Frequencies:
    """Count all words of documents, or only the given ones, without keeping any document.

    Examples
    --------
    >>> count(["b a b", "b"], str.split)._asdict()["occurrences"]
    array([1, 3])
    """
    present: Counter[str] = Counter()
    often: Counter[str] = Counter()
    known, n = None if given is None else frozenset(given), 0
    for text in documents:
        found = list(analyze(text))
        if known is not None:
            found = [word for word in found if word in known]
        often.update(found)
        present.update(set(found))
        n += 1
    words = sorted(often) if given is None else list(given)
    df, tf = (np.array([each[w] for w in words], dtype=np.int64) for each in (present, often))
    return Frequencies(np.array(words, dtype=object), df, tf, n)


def as_number(limit: Any, documents: int) -> float:
    """Return a limit as a number of documents; one that is not an integer is a share."""
    return float(limit if isinstance(limit, Integral) else limit * documents)


def rare_limit(found: Frequencies, max_df: Any) -> int:
    """Return the number of documents that a word needs so that texts keep most of their words.

    Rare words make a fit slow and say little in long texts, which have many others. Short texts
    consist of rare words to a large part, and would lose what they are about. A word of one
    document says nothing of others; it helps only where most of few documents are labelled.

    Examples
    --------
    >>> found = count(["a b"] * 4 + ["a"], str.split)
    >>> rare_limit(found, max_df=1.0), rare_limit(count(["a b", "a c"], str.split), max_df=1.0)
    (2, 1)
    """
    high = as_number(max_df, found.documents)
    numbers = found.documents_with[found.documents_with <= high]
    kept = (numbers[numbers >= limit].sum() for limit in RARE)
    enough = min(SHARE * numbers.sum(), ENOUGH * found.documents)
    least = 1 if found.documents < MANY else 2
    return next((limit for limit, rest in zip(RARE, kept, strict=True) if rest >= enough), least)


def share_known_to_others(found: Frequencies, chosen: IntArray, min_df: Any) -> float:
    """Return the share of a document's words that would have been chosen without the document.

    A word that just reaches ``min_df`` would not have been: so words of few documents tell how many
    words of further documents are new, as in the estimate of Good and Turing.

    Examples
    --------
    >>> found = count(["a b", "a c", "a"], str.split)
    >>> share_known_to_others(found, np.arange(3), 1)
    0.6
    """
    least = max(as_number(min_df, found.documents), 1.0)
    enough = found.documents_with[chosen] - 1 >= least
    return float(found.occurrences[chosen][enough].sum()) / max(float(found.occurrences.sum()), 1.0)


def choose(
    found: Frequencies, *, min_df: Any, max_df: Any, most: int | None, least: int = 1
) -> IntArray:
    """Return the indices of the words to keep; there must be at least ``least``.

    A word must be in at least ``min_df`` and at most ``max_df`` documents. Limits are numbers of
    documents or, if they are not integers, shares. Of these words, the ``most`` frequent are kept.
    """
    low, high = (as_number(limit, found.documents) for limit in (min_df, max_df))
    kept = np.flatnonzero((found.documents_with >= low) & (found.documents_with <= high))
    if len(kept) < least:
        many = len(found.words)
        why = f"{many} are in too few or too many of them" if many else "they have no words"
        every = Parameter("stop_words", None)
        raise ParameterError(
            f"No words are left of the {found.documents} documents ({why})",
            [
                "add texts",
                ("lower ", Parameter("min_df")),
                ("raise ", Parameter("max_df")),
                ("keep grammatical words with ", every),
            ]
            if many
            else ("are these the texts? If so, ", every, " keeps grammatical words"),
        )
    if most is not None and len(kept) > most:
        order = np.argsort(-found.occurrences[kept], kind="stable")  # the same on every machine
        kept = np.sort(kept[order[:most]])
    return kept
