"""`WordVectorizer`: from documents to a matrix of weighted words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import normalize
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cofactor.estimators.validation import checks_parameters
from cofactor.text.documents import each_document
from cofactor.text.vectorizer.analyzer import Analyzer, make_analyzer, tidy
from cofactor.text.vectorizer.frequencies import Frequencies, choose, count, tally
from cofactor.text.vectorizer.stopwords import LANGUAGES

SMALL, LARGE = 50, 1000  # numbers of documents at which the automatic limits change


class WordVectorizer(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Turns documents into tf-idf rows of length one, with defaults for real text.

    A word is a run of letters, digits and marks of any script, in lower case. It starts with a
    letter and has at least two characters: "mp3" and "don't" are words, numbers are not. Texts in
    scripts without spaces need another vectorizer.

    Parameters
    ----------
    stop_words : {"english"}, iterable of str or None, default="english"
        Words to leave out. "english" stands for grammatical words, see
        ``cofactor.text.vectorizer.stopwords.ENGLISH``. For other languages, pass a list. None
        leaves out nothing.
    min_df : int, float or "auto", default="auto"
        Leave out words in fewer documents than this; a float is a share. "auto" is 1 below 50
        documents, 2 below 1,000 documents and 5 otherwise.
    max_df : int, float or "auto", default="auto"
        Leave out words in more documents than this. "auto" is half of the documents; below 50
        documents there is no limit.
    max_features : int or None, default=20000
        Maximum number of words: the most frequent, and among equals the first in the alphabet.
    ngram_range : tuple of int, default=(1, 1)
        Lengths of word sequences; (1, 2) adds pairs of neighbouring words.
    sublinear_tf : bool, default=True
        Give a word that occurs n times the weight 1 + log n.
    vocabulary : iterable of str, or dict of str to float, optional
        The words to use; ``min_df``, ``max_df`` and ``max_features`` then have no effect. Their
        weights are learned, unless a dict holds them, such as
        ``dict(zip(other.words_, other.idf_))``.

    Attributes
    ----------
    words_ : ndarray of str
        The words, in alphabetical order.
    idf_ : ndarray
        Weight of an occurrence of each word: its inverse document frequency.

    Examples
    --------
    >>> from cofactor.text import WordVectorizer
    >>> vectorizer = WordVectorizer().fit(["The moon, the MOON!", "42 naïve cafés"])
    >>> vectorizer.words_.tolist()
    ['cafés', 'moon', 'naïve']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
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
        stop_words: str | Iterable[str] | None = "english",
        min_df: float | str = "auto",
        max_df: float | str = "auto",
        max_features: int | None = 20000,
        ngram_range: tuple[int, int] = (1, 1),
        sublinear_tf: bool = True,
        vocabulary: Iterable[str] | Mapping[str, float] | None = None,
    ) -> None:
        self.stop_words = stop_words
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.ngram_range = ngram_range
        self.sublinear_tf = sublinear_tf
        self.vocabulary = vocabulary

    @checks_parameters
    def fit(self, documents: Iterable[Any], y: Any = None) -> Self:
        """Choose the words in one pass over the documents, which may exceed memory.

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

    @checks_parameters
    def fit_transform(self, documents: Iterable[Any], y: Any = None) -> sp.csr_array:
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
        """Set the words and their weights; return the indices of the words among all."""
        if not found.documents:
            raise ValueError("documents is empty; pass at least one document.")
        chosen: np.ndarray = np.arange(len(found.words))
        if self.vocabulary is None:
            chosen = choose(found, **self._limits(found.documents), most=self.max_features)
        self.words_ = found.words[chosen]
        self.idf_ = np.log((1 + found.documents) / (1 + found.documents_with[chosen])) + 1.0
        if isinstance(self.vocabulary, Mapping):
            weights = {tidy(word): float(weight) for word, weight in self.vocabulary.items()}
            self.idf_ = np.array([weights[word] for word in self.words_])
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
            for word, weight in self.vocabulary.items():
                if not (isinstance(weight, Real) and 0 < float(weight) < np.inf):
                    raise ValueError(f"vocabulary[{word!r}]={weight!r} must be a positive number.")
        return words

    def transform(self, documents: Iterable[Any]) -> sp.csr_array:
        """Return the matrix of new documents; words that ``fit`` did not choose are ignored.

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
        """Return the function that splits a text into its words."""
        words = self.stop_words
        words = LANGUAGES[words] if isinstance(words, str) else words
        return make_analyzer(() if words is None else words, self.ngram_range)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
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

    def _weigh(self, counts: Any) -> sp.csr_array:
        X = sp.csr_array(counts, dtype=np.float64)
        X.sort_indices()  # so that sums over a row do not depend on the order of counting
        if self.sublinear_tf:
            X.data = 1.0 + np.log(X.data)
        X.data *= self.idf_[X.indices]
        return sp.csr_array(normalize(X, copy=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags
