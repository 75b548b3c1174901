"""Further words: what short texts say beyond the words that topics are made of.

Topics are made of content words. In a short text, grammatical words ("who", "how many") may reveal
what is asked, and parts of words ("-ing", a misspelt name) what whole words do not share. So short
texts have a second view for the linear models that predict classes: grammatical words, pairs of
neighbouring words with one of them, and sequences of characters at any place of a word. Held-out
labels weigh this view against that of the content words (`cofactor.linear.pool`); topics do not
see it.

A text is a row of tf-idf: its grammatical part and its characters each have length one, then the
row. Scores are linear in it, so each word has its part: that of its sequences, of itself if it is
grammatical, and half of that of its pairs.
"""

from __future__ import annotations

from array import array as array_of
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from cofactor._fields import array, strings
from cofactor._types import BoolArray, FloatArray
from cofactor.errors import Parameter, ParameterError
from cofactor.text.vectorizer.counts import Frequencies, alphabetical, numbered
from cofactor.text.vectorizer.word_vectorizer import (
    LIMITS_FROM,
    SHORT_TEXT,
    SINGLES_DROPPED_FROM,
    WordVectorizer,
    choose_words,
)

CHARACTERS = "…"
"""Comes before a sequence of characters, so that it is no word."""
SHORTEST, LONGEST = 3, 5
"""Lengths of sequences; a space stands for the beginning or the end of a word."""
MAX_SEQUENCES = 20_000
"""Maximum number of sequences: the most frequent."""
MAX_GRAMMAR = 10_000
"""Maximum number of grammatical words and pairs: the most frequent."""
Reader = Callable[[str], tuple[list[str], list[str]]]
"""Returns the words of a text, numbers too, and its grammatical words and pairs with one."""


@dataclass(frozen=True, eq=False)
class FurtherWords:
    """The further words of a fit.

    Parameters
    ----------
    names : list of str
        Grammatical words and pairs, then sequences of characters, which begin with an ellipsis.
    idf : array (w,)
        Inverse document frequency of each.
    """

    names: list[str] = strings("w")
    idf: FloatArray = array("w", low=0)

    @classmethod
    def fitted(
        cls, texts: list[str], vectorizer: WordVectorizer
    ) -> tuple[FurtherWords, sp.csr_array]:
        """Choose the further words of texts; return them, and the texts as rows of length one."""
        found = _counts(texts, further_reader(vectorizer))
        limits = MAX_GRAMMAR, MAX_SEQUENCES
        grammar, characters = (_chosen(*one, most) for one, most in zip(found, limits, strict=True))
        further = cls([*grammar.names, *characters.names], np.r_[grammar.idf, characters.idf])
        return further, further._weigh([grammar.counts, characters.counts])

    def of(self, texts: list[str], vectorizer: WordVectorizer) -> sp.csr_array:
        """Return texts as rows of length one."""
        found = _counts(texts, further_reader(vectorizer), self)
        return self._weigh([counts for _, counts in found])

    def word_parts(
        self, text: str, vectorizer: WordVectorizer, weights: FloatArray
    ) -> dict[str, FloatArray]:
        """Return the part of each word of a text in ``row @ weights``; the parts add up to it.

        ``weights`` (w, k) are those of the further words.
        """
        read = further_reader(vectorizer)
        words, grammar = read(text)
        row = self.of([text], vectorizer).toarray()[0]
        places = {name: j for j, name in enumerate(self.names)}
        found: dict[str, FloatArray] = {}
        named = [(name, name.split(" ")) for name in grammar]
        named += [(one, [word]) for word in words for one in sequences(word)]
        often = Counter(name for name, _ in named)
        for name, owners in named:
            if (j := places.get(name)) is None:
                continue
            part = row[j] * weights[j] / (often[name] * len(owners))
            for word in owners:
                found[word] = found.get(word, 0.0) + part
        return found

    @property
    def _is_sequence(self) -> BoolArray:
        return np.array([name.startswith(CHARACTERS) for name in self.names], dtype=bool)

    def _weigh(self, counts: list[sp.csr_array]) -> sp.csr_array:
        """Return tf-idf of counts of words and of sequences, in rows of length one."""
        ends = np.split(self.idf, [counts[0].shape[1]])
        parts = [_tf_idf(*part) for part in zip(counts, ends, strict=True)]
        return _of_length_one(sp.csr_array(sp.hstack(parts)))


def refuse_further_words(model: Any, what: str) -> None:
    """Refuse further words where not all documents are in memory at once."""
    if model.further_words == "yes":
        raise ParameterError(
            (
                Parameter("further_words", "yes"),
                f" cannot be used with {what}, which keeps content words only",
            ),
            "fit all documents at once, or leave it out",
        )


def are_short(X: sp.csr_array) -> bool:
    """Return whether texts have so few words on average that further ones help."""
    return X.shape[0] >= LIMITS_FROM and X.nnz < SHORT_TEXT * X.shape[0]


def further_reader(vectorizer: WordVectorizer) -> Reader:
    """Return the function that reads a text as a fitted vectorizer does, but leaves out nothing."""
    read = vectorizer.build_reader()

    def words_and_grammar(text: str) -> tuple[list[str], list[str]]:
        words, is_grammatical = read(text)
        marks = [is_grammatical(word) for word in words]
        grammar = [word for word, mark in zip(words, marks, strict=True) if mark]
        pairs = zip(pairwise(words), pairwise(marks), strict=True)
        return words, grammar + [f"{a} {b}" for (a, b), both in pairs if any(both)]

    return words_and_grammar


def sequences(word: str) -> list[str]:
    """Return the sequences of characters of a word.

    Examples
    --------
    >>> sequences("moo")
    ['… mo', '…moo', '…oo ', '… moo', '…moo ', '… moo ']
    """
    whole = f" {word} "
    return [
        CHARACTERS + whole[i : i + n]
        for n in range(SHORTEST, min(LONGEST, len(whole)) + 1)
        for i in range(len(whole) - n + 1)
    ]


def _counts(
    texts: list[str], read: Reader, known: FurtherWords | None = None
) -> list[tuple[list[str], sp.csr_array]]:
    """Count grammatical words and pairs, and sequences; those that are known, if some are given."""
    pairs = [read(text) for text in texts]
    split = 0 if known is None else int(np.count_nonzero(~known._is_sequence))
    names = ([], []) if known is None else (known.names[:split], known.names[split:])
    grammar = _tally((grammar for _, grammar in pairs), names[0], known is not None)
    words, in_texts = _tally((words for words, _ in pairs), [], False)
    sequenced, in_words = _tally(map(sequences, words), names[1], known is not None)
    return [grammar, (sequenced, sp.csr_array(in_texts @ in_words))]


def _tally(
    lists: Iterable[list[str]], known: list[str], closed: bool
) -> tuple[list[str], sp.csr_array]:
    """Count names in lists; if the known names are all that count, leave out others."""
    places = numbered(known)
    found, ends = array_of("q"), [0]
    for names in lists:
        found.extend(map(places.__getitem__, names))
        ends.append(len(found))
    counts = sp.csr_array(
        (np.ones(len(found)), np.array(found, dtype=np.int64), ends),
        shape=(len(ends) - 1, len(places)),
    )
    counts.sum_duplicates()
    return (known, counts[:, : len(known)]) if closed else (list(places), counts)


class _Chosen(NamedTuple):
    """Names in alphabetical order, their weights, and how often each text has them."""

    names: list[str]
    idf: FloatArray
    counts: sp.csr_array


def _chosen(names: list[str], counts: sp.csr_array, most: int) -> _Chosen:
    """Return the names to keep."""
    order = alphabetical(names)
    found = Frequencies.of(names, sp.csc_array(counts), order)
    least = 2 if found.documents < SINGLES_DROPPED_FROM else 3
    kept = choose_words(found, min_df=least, max_df=1.0, most=most, least=0)
    idf = np.log((1 + found.documents) / (1 + found.documents_with[kept])) + 1.0
    return _Chosen(found.words[kept].tolist(), idf, sp.csr_array(counts[:, order[kept]]))


def _tf_idf(counts: sp.csr_array, idf: FloatArray) -> sp.csr_array:
    rows = sp.csr_array(counts, copy=True)
    rows.sort_indices()  # so that sums over a row do not depend on the order of counting
    rows.data = (1.0 + np.log(rows.data)) * idf[rows.indices]
    return _of_length_one(rows)


def _of_length_one(rows: sp.csr_array) -> sp.csr_array:
    squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    rows.data = rows.data / np.repeat(np.sqrt(squares), np.diff(rows.indptr))
    return rows
