"""From documents to a matrix: which words count, and how much."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.preprocessing import normalize
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cofactor.text.documents import each_document
from cofactor.text.vectorizer.analyzer import Analyzer, make_analyzer, tidy
from cofactor.text.vectorizer.frequencies import Frequencies, choose, count, tally
from cofactor.text.vectorizer.stopwords import LANGUAGES

SMALL, LARGE = 50, 1000  # documents: where rare and common words start to be left out


class WordVectorizer(TransformerMixin, BaseEstimator):
    """Documents to tf-idf rows of length one, with defaults for real text.

    Words are runs of letters, digits and marks of any script that start with a letter and have at
    least two characters, in lower case; so numbers are left out and "mp3" and "don't" are words.
    Texts in scripts without spaces need a vectorizer of their own.

    Parameters
    ----------
    stop_words : {"english"}, iterable of str or None, default="english"
        Words to leave out. "english" are grammatical words only, see
        ``cofactor.text.vectorizer.stopwords.ENGLISH``; they seldom matter in other languages, for
        which you can pass a list of your own. None leaves out nothing.
    min_df : int, float or "auto", default="auto"
        Leave out words in fewer documents than this (a float is a share). "auto" is 1 below 50
        documents, 2 below 1,000 and 5 from there on.
    max_df : int, float or "auto", default="auto"
        Leave out words in more documents than this. "auto" is half of the documents, and no limit
        below 50 of them.
    max_features : int or None, default=20000
        Keep the most frequent words only; of equally frequent ones the first in the alphabet.
    ngram_range : tuple of int, default=(1, 1)
        (1, 2) takes pairs of neighbouring words too.
    sublinear_tf : bool, default=True
        Count a word that occurs n times 1 + log n times.
    vocabulary : iterable of str, or dict of str to float, optional
        The words to use, so that none is chosen: ``min_df``, ``max_df`` and ``max_features`` then
        have no effect. What they are worth is still learned, unless a dict says it, such as
        ``dict(zip(other.words_, other.idf_))``.

    Attributes
    ----------
    words_ : ndarray of str
        The words, in alphabetical order.
    idf_ : ndarray
        What an occurrence of each word is worth.

    Examples
    --------
    >>> from cofactor.text import WordVectorizer
    >>> vectorizer = WordVectorizer().fit(["The moon, the MOON!", "42 naïve cafés"])
    >>> vectorizer.words_.tolist()
    ['cafés', 'moon', 'naïve']
    """

    _parameter_constraints: ClassVar[dict] = {
        "stop_words": [StrOptions(set(LANGUAGES)), Iterable, None],
        "min_df": [
            StrOptions({"auto"}),
            Interval(Real, 0, 1, closed="both"),
            Interval(Integral, 1, None, closed="left"),
        ],
        "max_df": [
            StrOptions({"auto"}),
            Interval(Real, 0, 1, closed="right"),
            Interval(Integral, 1, None, closed="left"),
        ],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "ngram_range": [tuple],
        "sublinear_tf": ["boolean"],
        "vocabulary": [Iterable, None],
    }

    def __init__(
        self,
        *,
        stop_words="english",
        min_df="auto",
        max_df="auto",
        max_features=20000,
        ngram_range=(1, 1),
        sublinear_tf=True,
        vocabulary=None,
    ):
        self.stop_words = stop_words
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.ngram_range = ngram_range
        self.sublinear_tf = sublinear_tf
        self.vocabulary = vocabulary

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, documents, y=None):
        """Choose the words, in one pass that keeps words only: documents may be more than memory
        holds.

        Parameters
        ----------
        documents : iterable of str
        y : ignored

        Returns
        -------
        self
        """
        found = count(each_document(documents), self.build_analyzer(), self._given())
        self._learn(found)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, documents, y=None):
        """Choose the words and return the documents' matrix.

        Parameters
        ----------
        documents : iterable of str
        y : ignored

        Returns
        -------
        sparse matrix of shape (n_documents, n_words)
        """
        given = self._given()
        words, counts = tally(each_document(documents), self.build_analyzer(), given or ())
        order = np.arange(len(given)) if given else np.argsort(np.array(words, dtype=object))
        found = Frequencies.of(words, counts, order)
        return self._weigh(counts[:, order[self._learn(found)]])

    def _learn(self, found: Frequencies) -> np.ndarray:
        """Keep the words to use and what they are worth; return their places among all."""
        if not found.documents:
            raise ValueError("documents is empty; pass at least one document.")
        chosen: np.ndarray = np.arange(len(found.words))
        if self.vocabulary is None:
            chosen = choose(found, **self._limits(found.documents), most=self.max_features)
        self.words_ = found.words[chosen]
        self.idf_ = np.log((1 + found.documents) / (1 + found.present[chosen])) + 1.0
        if isinstance(self.vocabulary, Mapping):
            worth = {tidy(word): float(value) for word, value in self.vocabulary.items()}
            self.idf_ = np.array([worth[word] for word in self.words_])
        return chosen

    def _given(self) -> list[str] | None:
        if self.vocabulary is None:
            return None
        if isinstance(self.vocabulary, str):
            raise ValueError(f"vocabulary={self.vocabulary!r} is one string; pass a list of words.")
        words = sorted({tidy(word) for word in self.vocabulary})
        if not words:
            raise ValueError("vocabulary is empty; pass some words, or None to choose them.")
        if isinstance(self.vocabulary, Mapping):
            for word, worth in self.vocabulary.items():
                if not (isinstance(worth, Real) and 0 < float(worth) < np.inf):
                    raise ValueError(f"vocabulary[{word!r}]={worth!r} must be a positive number.")
        return words

    def transform(self, documents):
        """Return the matrix of new documents; words that ``fit`` did not choose do not count.

        Parameters
        ----------
        documents : iterable of str

        Returns
        -------
        sparse matrix of shape (n_documents, n_words)
        """
        check_is_fitted(self, "words_")
        _, counts = tally(each_document(documents), self.build_analyzer(), self.words_)
        return self._weigh(counts[:, : len(self.words_)])

    def build_analyzer(self) -> Analyzer:
        """Return a function from a text to its words."""
        words = self.stop_words
        words = LANGUAGES[words] if isinstance(words, str) else words
        return make_analyzer(() if words is None else words, self.ngram_range)

    def get_feature_names_out(self, input_features=None):
        """Return the words.

        Parameters
        ----------
        input_features : ignored
        """
        check_is_fitted(self, "words_")
        return self.words_

    def _limits(self, n_documents: int) -> dict[str, Any]:
        rare = 1 if n_documents < SMALL else 2 if n_documents < LARGE else 5
        common = 1.0 if n_documents < SMALL else 0.5
        return {
            "min_df": rare if self.min_df == "auto" else self.min_df,
            "max_df": common if self.max_df == "auto" else self.max_df,
        }

    def _weigh(self, counts) -> sp.csr_array:
        X = sp.csr_array(counts, dtype=np.float64)
        X.sort_indices()  # so that sums over a row do not depend on how it was counted
        if self.sublinear_tf:
            X.data = 1.0 + np.log(X.data)
        X.data *= self.idf_[X.indices]
        return sp.csr_array(normalize(X, copy=False))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags
