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

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse as sp
from sklearn.preprocessing import normalize

from cofactor._fields import array, strings
from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.errors import Parameter, ParameterError
from cofactor.text.vectorizer.counts import Frequencies, alphabetical, count_names, numbered
from cofactor.text.vectorizer.word_vectorizer import (
    WordVectorizer,
    choose_words,
    singles_limit,
    tf_idf,
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
    ) -> tuple[FurtherWords, sp.csr_array] | None:
        """Choose the further words of texts; return them, and the texts as rows of length one.

        None if no further word is frequent enough.
        """
        places = numbered()
        counts = _counts(texts, vectorizer, places)
        found = Frequencies.of(list(places), sp.csc_array(counts), np.arange(len(places)))
        is_sequence = np.array([name.startswith(CHARACTERS) for name in places], dtype=bool)
        kept = np.concatenate(
            [_chosen(found, ~is_sequence, MAX_GRAMMAR), _chosen(found, is_sequence, MAX_SEQUENCES)]
        )
        if not len(kept):
            return None
        further = cls(found.words[kept].tolist(), found.idf(kept))
        return further, further._weigh(counts[:, kept])

    def of(self, texts: list[str], vectorizer: WordVectorizer) -> sp.csr_array:
        """Return texts as rows of length one."""
        return self._weigh(_counts(texts, vectorizer, self.places))

    @cached_property
    def places(self) -> dict[str, int]:
        """The column of each name."""
        return {name: j for j, name in enumerate(self.names)}

    @cached_property
    def n_grammar(self) -> int:
        """Number of grammatical words and pairs."""
        return sum(not name.startswith(CHARACTERS) for name in self.names)

    def word_parts(
        self, text: str, vectorizer: WordVectorizer, weights: FloatArray
    ) -> dict[str, FloatArray]:
        """Return the part of each word of a text in ``row @ weights``; the parts add up to it.

        ``weights`` (w, k) are those of the further words.
        """
        words, grammar = further_reader(vectorizer)(text)
        row = self.of([text], vectorizer).toarray()[0]
        found: dict[str, FloatArray] = {}
        named = [(name, name.split(" ")) for name in grammar]
        named += [(one, [word]) for word in words for one in sequences(word)]
        often = Counter(name for name, _ in named)
        for name, owners in named:
            if (j := self.places.get(name)) is None:
                continue
            part = row[j] * weights[j] / (often[name] * len(owners))
            for word in owners:
                found[word] = found.get(word, 0.0) + part
        return found

    def _weigh(self, counts: sp.csr_array) -> sp.csr_array:
        """Return tf-idf of counts: grammatical words and sequences in rows of length one, then the
        whole."""
        ends = slice(self.n_grammar), slice(self.n_grammar, None)
        parts = [tf_idf(counts[:, own], self.idf[own]) for own in ends if len(self.idf[own])]
        return sp.csr_array(normalize(sp.hstack(parts, format="csr")))


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


def _counts(texts: list[str], vectorizer: WordVectorizer, places: dict[str, int]) -> sp.csr_array:
    """Count grammatical words, pairs and sequences; those that have a place, or get one."""
    pairs, words = [*map(further_reader(vectorizer), texts)], numbered()
    in_texts = count_names((own for own, _ in pairs), words)
    grammar = count_names((grammar for _, grammar in pairs), places)
    in_words = count_names(map(sequences, words), places)
    grammar.resize(len(texts), len(places))
    return sp.csr_array(grammar + in_texts @ in_words)


def _chosen(found: Frequencies, some: BoolArray, most: int) -> IntArray:
    """Return the places of the names to keep, in alphabetical order; one text is never enough."""
    own = np.flatnonzero(some)
    order = own[alphabetical(found.words[own].tolist())]
    least = 1 + singles_limit(found.documents)
    kept = choose_words(found.of_some(order), min_df=least, max_df=1.0, most=most, least=0)
    return np.asarray(order[kept])
