"""`WordVectorizer`: from documents to a matrix of weighted words.

`counts` counts words, `choose_words` decides which to keep, and the class weighs them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from functools import partial
from itertools import chain
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from cofactor._sklearn import Interval, StrOptions
from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.errors import Parameter, ParameterError
from cofactor.estimators.validation import checks_parameters
from cofactor.text.documents import each_document
from cofactor.text.vectorizer.analyzer import (
    TOKENS,
    Analyzer,
    WordAnalyzer,
    grammatical,
    make_analyzer,
    tidy,
)
from cofactor.text.vectorizer.cleaning import clean, normalise
from cofactor.text.vectorizer.counts import (
    Frequencies,
    WordCounts,
    WordReading,
    alphabetical,
    count,
    tally,
)
from cofactor.text.vectorizer.languages import (
    CODES,
    FEW_ENDINGS,
    SAMPLE_TEXTS,
    detect_languages,
    grammatical_words,
    sample,
)
from cofactor.text.vectorizer.passages import RepeatedPassage, find_repeated, without_passages
from cofactor.text.vectorizer.stems import BY_LANGUAGE, Stems

# ``min_df="auto"`` is the first of these limits with which texts keep this share of their words, or
# this number of words, on average; see `rare_limit`.
RARE_LIMITS, MIN_KEPT_SHARE, MIN_KEPT_WORDS = (5, 2), 0.9, 50
SINGLES_DROPPED_FROM = 2000  # from this many documents of a language, drop words of a single one
LIMITS_FROM = 50  # from this many documents, frequency limits apply
WORDS_PER_LANGUAGE = 20_000  # that are kept with ``max_features="auto"``
SHORT_TEXT = 20  # texts with fewer words on average are short; grammatical ones do not count
MAX_LENGTH_SAMPLE = 500  # documents whose words are counted to find out

# Parameters that cofactor 0.1 did not have, with the values that reproduce it.
DEFAULTS_OF_OLDER_MODELS = {"clean": False, "language": None, "tokens": "words", "stem": None}
ADDED_ATTRIBUTES = ("languages_", "stop_words_", "stem_")  # fitted attributes that it did not have
# attributes of later versions, which may be None
LATER_ATTRIBUTES = ("grammatical_", "known_share_", "stems_", "repeated_", "repeated_words_")


# ---- the choice of words


def as_number(limit: Any, documents: int) -> float:
    """Return a limit as a number of documents; a float is a share of the documents."""
    return float(limit if isinstance(limit, Integral) else limit * documents)


def rare_limit(found: Frequencies, max_df: Any, languages: int = 1) -> int:
    """Return the largest minimum document frequency with which texts keep most of their words.

    Rare words slow down a fit and add little to long texts, which have many other words. Short
    texts consist largely of rare words and would lose their meaning without them. A word of a
    single document does not help to predict others; keep it only if the documents are few and most
    of them are labelled.

    Examples
    --------
    >>> found = count(["moon base"] * 4 + ["moon"], WordReading.plain()).frequencies()
    >>> rare_limit(found, max_df=1.0)
    2
    """
    high = as_number(max_df, found.documents)
    numbers = found.documents_with[found.documents_with <= high]
    enough = min(MIN_KEPT_SHARE * numbers.sum(), MIN_KEPT_WORDS * found.documents)
    for limit in RARE_LIMITS:
        if numbers[numbers >= limit].sum() >= enough:
            return limit
    return singles_limit(found.documents, languages)


def singles_limit(documents: int, languages: int = 1) -> int:
    """Return the minimum document frequency of words: 2 where documents are many."""
    return 1 if documents < SINGLES_DROPPED_FROM * languages else 2


def are_short(documents: int, words: int, counted: int | None = None) -> bool:
    """Return whether documents have few words on average.

    ``words`` is the number of words in the ``counted`` documents, by default in all.
    """
    return documents >= LIMITS_FROM and words < SHORT_TEXT * (counted or documents)


def tf_idf(counts: Any, idf: FloatArray, *, sublinear: bool = True) -> sp.csr_array:
    """Turn counts into tf-idf, in rows of length one."""
    X = sp.csr_array(counts, dtype=np.float64)
    X.sort_indices()  # so that sums over a row do not depend on the order of counting
    if sublinear:
        X.data = 1.0 + np.log(X.data)
    X.data *= idf[X.indices]
    return sp.csr_array(normalize(X, copy=False))


def share_known_to_others(found: Frequencies, chosen: IntArray, min_df: Any) -> float:
    """Return the share of a document's words that would also be chosen without the document.

    A word that just reaches ``min_df`` would not. So words of few documents show how many words of
    further documents are new, as in the Good–Turing estimate.

    Examples
    --------
    >>> found = count(["moon base", "moon orbit", "moon"], WordReading.plain()).frequencies()
    >>> share_known_to_others(found, np.arange(3), 1)
    0.6
    """
    least = max(as_number(min_df, found.documents), 1.0)
    enough = found.documents_with[chosen] - 1 >= least
    return float(found.occurrences[chosen][enough].sum()) / max(float(found.occurrences.sum()), 1.0)


def choose_words(
    found: Frequencies, *, min_df: Any, max_df: Any, most: int | None, least: int = 1
) -> IntArray:
    """Return the indices of the words to keep; raise an error if there are fewer than ``least``.

    A word must be in at least ``min_df`` and at most ``max_df`` documents; floats are shares of the
    documents. The ``most`` frequent of these words are kept.
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


# ---- the vectorizer


class WordVectorizer(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Turn documents into tf-idf rows of length one, with defaults for real text.

    A word is a run of letters, digits and marks of any script, in lower case. It starts with a
    letter and has at least two characters: "mp3" and "don't" are words, numbers are not. Text in
    scripts without spaces (Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese) becomes
    overlapping pairs of letters; Chinese characters also count individually.

    Parameters
    ----------
    clean : bool, default=True
        Remove markup: tags, URLs, e-mail addresses, control characters. Entities such as
        ``&nbsp;`` are decoded, and letters normalised (Unicode NFKC).
    drop_repeated : bool, default=False
        Leave out lines and sentences that at least 2 % of the documents contain word for word, such
        as signatures and disclaimers, unless these documents are alike in their other words, too.
        They are searched in 500 evenly spaced documents or, if documents are an iterator, in the
        first 500.
    language : "auto", str, iterable of str or None, default="auto"
        The language of the documents, such as "german", or several. "auto" detects languages by
        their grammatical words in 500 evenly spaced documents or, if documents are an iterator, in
        the first 500. See ``cofactor.text.vectorizer.languages.CODES`` for the names. None removes
        no grammatical words.
    stop_words : "auto", str, iterable of str or None, default="auto"
        Words to remove. "auto" removes the grammatical words of ``language``, or English ones if no
        language is detected. The name of a language removes its grammatical words. None removes
        nothing.
    keep_grammar : bool or "auto", default=False
        Keep grammatical words as features for predictions, but not in n-grams: in short documents
        "how many" and "who" show what is asked. `TopicModel` does not list them as words of topics.
        "auto" keeps them if documents have fewer than 20 other words on average, there are at least
        50 documents, and ``stem`` does not cut words; in a `TopicModel`, they must also make
        held-out labels more likely. Words of a list given as ``stop_words`` are never kept.
    tokens : {"auto", "words", "characters"}, default="auto"
        What documents are split into. "auto": words, and pairs of letters in scripts without
        spaces; "words": words, including whole runs of such scripts; "characters": sequences of
        characters inside words, of the lengths ``ngram_range``.
    stem : "auto", int or None, default="auto"
        The forms of a word count as one word, named by its most frequent form. "auto" finds the
        stem of a word by the rules of the language that the document is written in: a Snowball
        stemmer, or the first 6 letters if there is none. It has no effect in English and other
        languages with few endings. A number: words that agree in this many first letters count as
        one, in all languages. No effect with ``vocabulary`` or ``tokens="characters"``.
    min_df : int, float or "auto", default="auto"
        Minimum number of documents that a word must be in; a float is a share. "auto" is 5, 2 or 1:
        the largest number with which texts keep at least 90 % of their words, or 50 words, on
        average. It is 1 below 50 documents, and at least 2 for 2,000 documents or more.
    max_df : int, float or "auto", default="auto"
        Maximum number of documents that a word may be in; a float is a share. "auto" is half of the
        documents, and no limit below 50 documents.
    max_features : "auto", int or None, default="auto"
        Maximum number of words: the most frequent, in alphabetical order if equally frequent.
        "auto" is 20,000 for each language of the documents.
    ngram_range : tuple of int, default=(1, 1)
        Lengths of word sequences; (1, 2) adds pairs of neighbouring words. With
        ``tokens="characters"``, lengths of character sequences, such as (2, 4).
    sublinear_tf : bool, default=True
        Give a word that occurs n times the weight 1 + log n.
    vocabulary : iterable of str, or dict of str to float, optional
        The words to use, instead of those chosen by ``min_df``, ``max_df`` and ``max_features``.
        Their weights are learned, unless given by a dict such as
        ``dict(zip(other.words_, other.idf_))``.

    Attributes
    ----------
    words_ : ndarray of str
        The words in alphabetical order, followed by those that ``extend`` added.
    idf_ : ndarray
        Inverse document frequency of each word.
    languages_ : list of str
        The languages that were given or detected, the most frequent first.
    stop_words_ : dict of str to list of str
        The words to remove, by language. Each document uses one of these lists.
    stem_ : int, "language" or None
        The number of first letters in which the forms of a word agree, or "language" if documents
        have the rules of their languages.
    stems_ : list of str or None
        The stem of each word; None if words have no stems.
    grammatical_ : list of str or None
        The grammatical words in ``words_``; None if such words are removed.
    repeated_ : list of str
        The repeated lines and sentences that were found, in lower case, with 0 for any number.
    repeated_words_ : list of str
        Words that mostly occur in them; none if they are left out.
    known_share_ : float or None
        Expected share of the words of a similar new document that are in ``words_``, estimated by
        leaving out each document of the fit in turn. Grammatical words do not count. None if the
        vocabulary was given.

    Examples
    --------
    >>> from cofactor.text import WordVectorizer
    >>> vectorizer = WordVectorizer().fit(["The moon, the MOON!", "42 naïve cafés"])
    >>> vectorizer.words_.tolist()
    ['cafés', 'moon', 'naïve']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "clean": ["boolean"],
        "drop_repeated": ["boolean"],
        "language": [StrOptions({"auto", *CODES}), Iterable, None],
        "stop_words": [StrOptions({"auto", *CODES}), Iterable, None],
        "keep_grammar": ["boolean", StrOptions({"auto"})],
        "tokens": [StrOptions(set(TOKENS))],
        "stem": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left"), None],
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
        "max_features": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left"), None],
        "ngram_range": [tuple],
        "sublinear_tf": ["boolean"],
        "vocabulary": [Iterable, None],
    }

    def __init__(
        self,
        *,
        clean: bool = True,
        drop_repeated: bool = False,
        language: str | Iterable[str] | None = "auto",
        stop_words: str | Iterable[str] | None = "auto",
        keep_grammar: bool | str = False,
        tokens: str = "auto",
        stem: int | str | None = "auto",
        min_df: float | str = "auto",
        max_df: float | str = "auto",
        max_features: int | str | None = "auto",
        ngram_range: tuple[int, int] = (1, 1),
        sublinear_tf: bool = True,
        vocabulary: Iterable[str] | Mapping[str, float] | None = None,
    ) -> None:
        self.clean = clean
        self.drop_repeated = drop_repeated
        self.language = language
        self.stop_words = stop_words
        self.keep_grammar = keep_grammar
        self.tokens = tokens
        self.stem = stem
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

        Examples
        --------
        >>> from cofactor.text import WordVectorizer
        >>> WordVectorizer().fit(["the orbit of the moon", "a moon base"]).words_.tolist()
        ['base', 'moon', 'orbit']
        """
        return self.learn(self.count_words(self._read(documents)))

    def count_words(self, texts: Iterable[str]) -> WordCounts:
        """Count the words of texts, after `settle` or a fit has determined how they are read."""
        return count(texts, self._reading(self._stems()), self._given())

    def learn(self, counts: WordCounts) -> Self:
        """Choose the words from their counts."""
        stems = self._stems()
        stems.forms.update(counts.forms)
        self._learn(counts.frequencies(self._given()), stems)
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

        Examples
        --------
        >>> from cofactor.text import WordVectorizer
        >>> WordVectorizer().fit_transform(["the orbit of the moon", "a moon base"]).shape
        (2, 3)
        """
        given, texts = self._given(), self._read(documents)
        stems = self._stems()
        words, counts = tally(texts, self._reading(stems), given or ())
        order = np.arange(len(given)) if given else alphabetical(words)
        found = Frequencies.of(words, counts, order)
        return self._weigh(counts[:, order[self._learn(found, stems)]])

    def extend(self, documents: Iterable[Any], seen: int) -> Self:
        """Return a fitted vectorizer that also knows the words of further documents.

        The words of this one keep their columns and weights. New words are appended, chosen from
        the further documents as by ``fit``. A given ``vocabulary`` does not change.

        Parameters
        ----------
        documents : iterable of str
        seen : int
            Number of earlier documents. They are assumed not to contain the new words, and count in
            their weights.

        Returns
        -------
        WordVectorizer

        Examples
        --------
        >>> from cofactor.text import WordVectorizer
        >>> WordVectorizer().fit(["moon", "orbit"]).extend(["moon base"], 2).words_.tolist()
        ['moon', 'orbit', 'base']
        """
        check_is_fitted(self, "words_")
        stems = self._stems()
        known = self._known_stems(stems)
        words, counts = tally(each_document(documents), self._reading(stems), known)
        names = words[len(known) :]
        if self.vocabulary is not None or not names:
            return self
        order = alphabetical(names)
        new = Frequencies.of(names, counts[:, len(known) :], order)
        found = Frequencies.of(words, counts, np.arange(len(words)))
        limits = self._limits(found.of_some(~self._is_grammar(found.words, stems)))
        grammar = self._is_grammar(new.words, stems)
        chosen = self._choose(new, grammar, limits, least=0)
        wider, whole = copy(self), new._replace(documents=new.documents + seen)
        fresh = self._named(new.words[chosen], stems)
        wider.words_ = np.concatenate([self.words_, fresh])
        if stems.active:
            wider.stems_ = [*known, *new.words[chosen]]
        if wider.keeps_grammar:
            wider.grammatical_ = [*(self.grammatical_ or ()), *fresh[grammar[chosen]]]
        wider.idf_ = np.concatenate([self.idf_, whole.idf(chosen)])
        return wider

    def _read(self, documents: Iterable[Any]) -> Iterable[str]:
        """Return the texts; determine languages, stop words and stems from a sample of them."""
        texts: Iterable[str] = each_document(documents)
        if isinstance(documents, Iterator):  # may exceed memory
            some = sample(texts)
            texts = chain(some, texts)
        else:
            texts = list(texts)
            some = sample(texts)
        self.settle(some)
        return texts

    def settle(self, some: list[str]) -> None:
        """Determine languages, stop words, stems and repeated passages from a sample of texts."""
        self._settle_passages(some)
        self.languages_ = self._languages(some)
        self.stop_words_ = self._stop_lists(self.languages_)
        self.stem_ = self._letters(self.languages_)
        self.grammatical_: list[str] | None = [] if self._keeps_grammar(some) else None

    def _settle_passages(self, texts: list[str]) -> None:
        """Find the repeated passages of texts, unless the words are given."""
        if self.vocabulary is not None:
            self._passages: list[RepeatedPassage] = []
        else:
            cleaned = [clean(text) for text in texts] if self.clean else texts
            self._passages = find_repeated(cleaned, is_sample=len(texts) >= SAMPLE_TEXTS // 2)
        self.repeated_ = [key for found in self._passages for key in found.keys]
        self.repeated_words_: list[str] = []

    def _languages(self, texts: list[str]) -> list[str]:
        if self.language is None:
            return []
        if self.language == "auto":
            return [found.language for found in detect_languages(texts)]
        given = [self.language] if isinstance(self.language, str) else list(self.language)
        unknown = [name for name in given if name not in CODES]
        if unknown:
            raise ValueError(
                f"language={unknown[0]!r} is not known; give 'auto', None, or some of "
                f"{', '.join(CODES)}."
            )
        return given

    def _stop_lists(self, languages: list[str]) -> dict[str, list[str]]:
        if self.stop_words is None:
            return {}
        if not isinstance(self.stop_words, str):
            return {"given": list(self.stop_words)}
        names = [self.stop_words]
        if self.stop_words == "auto":
            names = languages or (["english"] if self.language == "auto" else [])
        elif self.stop_words not in CODES:
            raise ValueError(
                f"stop_words={self.stop_words!r} is not a language; give a list of words, 'auto', "
                f"None, or one of {', '.join(CODES)}."
            )
        return {name: sorted(grammatical_words(name)) for name in names}

    def _keeps_grammar(self, texts: list[str]) -> bool:
        """Return whether grammatical words become columns, too."""
        own = not isinstance(self.stop_words, str) or self.vocabulary is not None
        if own or not self.keep_grammar or self.tokens == "characters" or not self.stop_words_:
            return False
        if self.keep_grammar != "auto" or self.stem_ is not None:
            return self.keep_grammar != "auto"
        analyze = make_analyzer(self.stop_words_, (1, 1), tokens=self.tokens, cleaned=self.clean)
        some = texts[:: len(texts) // MAX_LENGTH_SAMPLE + 1]
        words = sum(len(analyze(text)) for text in some)
        return are_short(len(texts), words, len(some))

    def _letters(self, languages: list[str]) -> int | str | None:
        if self.vocabulary is not None or self.tokens == "characters":
            return None
        if self.stem != "auto":
            return self.stem
        return BY_LANGUAGE if not FEW_ENDINGS.issuperset(languages) else None

    def _stems(self) -> Stems:
        fitted = getattr(self, "stem_", None)  # vectorizers of cofactor 0.1 have none
        return Stems.of(fitted, getattr(self, "languages_", ()), FEW_ENDINGS)

    def _known_stems(self, stems: Stems) -> list[str]:
        """Return the stems of ``words_``; older vectorizers have no list of them, and wrote the
        lower case of the Turkish İ with a dot after it."""
        known = getattr(self, "stems_", None)
        if known is not None:
            return known
        words = self.words_.tolist()
        dotted = {word: word.replace("i\u0307", "i") for word in words if "i\u0307" in word}
        if dotted and not set(dotted.values()) & set(words):
            words = [dotted.get(word, word) for word in words]
        return [stems.stem(word) for word in words] if stems.active else words

    def _reading(self, stems: Stems) -> WordReading:
        """Return how texts become stems of words; it also counts the words."""
        return WordReading(self._analyzer(), stems)

    def _learn(self, found: Frequencies, stems: Stems) -> np.ndarray:
        """Set the words and their weights; return the indices of the chosen words."""
        if not found.documents:
            raise ValueError("documents is empty; pass at least one document.")
        chosen: np.ndarray = np.arange(len(found.words))
        grammar = self._is_grammar(found.words, stems)
        self.known_share_ = None
        if self.vocabulary is None:
            content = found.of_some(~grammar)
            limits = self._limits(content)
            chosen = self._choose(found, grammar, limits)
            kept = (np.cumsum(~grammar) - 1)[chosen[~grammar[chosen]]]  # places among the content
            self.known_share_ = share_known_to_others(content, kept, limits["min_df"])
            twice = self._choose(found, grammar, limits, times=2)
            self._next = self._next_words(found, np.setdiff1d(twice, chosen))
        self.words_ = self._named(found.words[chosen], stems)
        self.stems_ = found.words[chosen].tolist() if stems.active else None
        if self.keeps_grammar:
            self.grammatical_ = self.words_[grammar[chosen]].tolist()
        self.idf_ = found.idf(chosen)
        self.repeated_words_ = self._words_of_passages(found, chosen)
        if isinstance(self.vocabulary, Mapping):
            weights = {tidy(word): float(weight) for word, weight in self.vocabulary.items()}
            self.idf_ = np.array([weights[word] for word in self.words_])
        return chosen

    def _words_of_passages(self, found: Frequencies, chosen: IntArray) -> list[str]:
        """Return the words of which most occurrences are in repeated passages."""
        if self.drop_repeated or not getattr(self, "_passages", None):
            return []
        inside: defaultdict[str, float] = defaultdict(float)
        reading = self._reading(self._stems())
        for passage in self._passages:
            for word in reading.words_in(passage.text):
                inside[word] += passage.share * found.documents
        often = np.array([inside[word] for word in found.words[chosen]])
        return self.words_[2 * often > found.occurrences[chosen]].tolist()

    def _next_words(self, found: Frequencies, places: IntArray) -> tuple[np.ndarray, np.ndarray]:
        """Return the words that ``max_features`` cuts off first, and their weights."""
        return found.words[places], found.idf(places)

    def widened(self) -> Self | None:
        """Return a copy that also knows the words that ``max_features`` cut off first, as many as
        it kept; None if it cut off none, or if this was not fitted just now.

        Examples
        --------
        >>> from cofactor.text import WordVectorizer
        >>> vectorizer = WordVectorizer(max_features=1).fit(["moon moon orbit", "moon base"])
        >>> vectorizer.words_.tolist(), vectorizer.widened().words_.tolist()
        (['moon'], ['moon', 'base'])
        """
        words, idf = getattr(self, "_next", ((), ()))
        if not len(words):
            return None
        wider = copy(self)
        if (known := getattr(self, "stems_", None)) is not None:
            wider.stems_ = [*known, *words]
        wider.words_ = np.concatenate([self.words_, words])
        wider.idf_ = np.concatenate([self.idf_, idf])
        return wider

    def _named(
        self, words: np.ndarray, stems: Stems, known: Mapping[str, str] | None = None
    ) -> np.ndarray:
        return np.array(stems.names(words, known), dtype=object) if stems.active else words

    @property
    def keeps_grammar(self) -> bool:
        """Whether grammatical words are columns of this fitted vectorizer."""
        return getattr(self, "grammatical_", None) is not None  # older vectorizers have no list

    def is_grammatical(self, words: Iterable[str]) -> BoolArray:
        """Return which words are grammatical; none if such words are removed.

        Parameters
        ----------
        words : iterable of str

        Returns
        -------
        ndarray of bool

        Examples
        --------
        >>> from cofactor.text import WordVectorizer
        >>> vectorizer = WordVectorizer(keep_grammar=True).fit(["who is on the moon"])
        >>> vectorizer.is_grammatical(["who", "moon"]).tolist()
        [True, False]
        """
        words = list(words)
        known = set(grammatical(self.stop_words_, words)) if self.keeps_grammar else set()
        return np.fromiter((word in known for word in words), dtype=bool, count=len(words))

    def _is_grammar(
        self, words: np.ndarray, stems: Stems, known: Mapping[str, str] | None = None
    ) -> BoolArray:
        named = self._named(words, stems, known) if self.keeps_grammar else words
        return self.is_grammatical(named)

    def _names(self, stems: Stems) -> dict[str, str]:
        """Return the word of each known stem."""
        return dict(zip(self._known_stems(stems), self.words_, strict=True))

    def _choose(
        self,
        found: Frequencies,
        grammar: BoolArray,
        limits: dict[str, Any],
        least: int = 1,
        times: int = 1,
    ) -> IntArray:
        """Return the places of the words to keep; grammatical ones do not count as features.

        ``times`` multiplies the maximum number of words.
        """
        parts = []
        limit = None if self._most is None else times * self._most
        for mask, most, fewest in ((~grammar, limit, least), (grammar, None, 0)):
            some = choose_words(found.of_some(mask), **limits, most=most, least=fewest)
            parts.append(np.flatnonzero(mask)[some])
        return np.sort(np.concatenate(parts))

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

        Examples
        --------
        >>> from cofactor.text import WordVectorizer
        >>> vectorizer = WordVectorizer().fit(["the orbit of the moon", "a moon base"])
        >>> vectorizer.transform(["an orbit and a comet"]).nnz  # only one word is known
        1
        """
        check_is_fitted(self, "words_")
        _, counts = self._count(documents, self._stems())
        return self._weigh(counts[:, : len(self.words_)])

    def _count(self, documents: Iterable[Any], stems: Stems) -> tuple[list[str], sp.csc_array]:
        """Count the words of documents; words that are not in ``words_`` come last."""
        known = self._known_stems(stems)
        return tally(each_document(documents), self._reading(stems), known)

    def known_share(self, documents: Iterable[Any]) -> float:
        """Return the share of the words of documents that are in ``words_``.

        Grammatical words do not count. If the share is much smaller than ``known_share_``, the
        documents differ from those of the fit.

        Parameters
        ----------
        documents : iterable of str

        Returns
        -------
        float
            NaN if the documents have no words.

        Examples
        --------
        >>> from cofactor.text import WordVectorizer
        >>> WordVectorizer().fit(["the moon", "an orbit"]).known_share(["moon base", "orbit"])
        0.6666666666666666
        """
        check_is_fitted(self, "words_")
        stems = self._stems()
        words, counts = self._count(documents, stems)
        grammar = self._is_grammar(np.array(words, dtype=object), stems, self._names(stems))
        often = np.where(grammar, 0, counts.sum(axis=0))
        return float(often[: len(self.words_)].sum()) / (float(often.sum()) or np.nan)

    def build_analyzer(self) -> Analyzer:
        """Return the function that splits a text into its words.

        After a fit, the forms of a word are replaced by their name in ``words_``.

        Examples
        --------
        >>> from cofactor.text import WordVectorizer
        >>> vectorizer = WordVectorizer().fit(["the orbit of the moon", "a moon base"])
        >>> vectorizer.build_analyzer()("The <b>comet</b> and the moon!")
        ['comet', 'moon']
        """
        stems = self._stems()
        if not stems.active:
            return self._analyzer()
        return partial(_named, self._analyzer(), self._names(stems), stems)

    def build_namer(self, text: str) -> Callable[[str], list[str]]:
        """Return the function that names a word of a text, or an n-gram, as ``words_`` does.

        The name of a form is its word in ``words_``, or the form itself if the word is not known.
        Words that are left out of this text have no name; with ``tokens="characters"``, a word has
        the names of its sequences.

        Parameters
        ----------
        text : str

        Returns
        -------
        callable

        Examples
        --------
        >>> from cofactor.text import WordVectorizer
        >>> vectorizer = WordVectorizer(stem=4).fit(["the moons of the moon", "a moon base"])
        >>> name = vectorizer.build_namer("The moonlight and the moon!")
        >>> name("Moonlight"), name("the")
        (['moon'], [])
        """
        analyze, stems = self.build_analyzer(), self._stems()
        language, is_left_out = self._analyzer().stop_list(text)
        names = self._names(stems)

        def name(word: str) -> list[str]:
            if self.tokens == "characters":
                return analyze(word)
            word = tidy(normalise("NFKC", word) if self.clean else word)
            if is_left_out(word) and not self.keeps_grammar:
                return []
            return [names.get(stems.stem(word, language), word)]

        return name

    def build_reader(self) -> Callable[[str], tuple[list[str], Callable[[str], bool]]]:
        """Return the function from a text to all its words in order, and to which are grammatical.

        It leaves out neither grammatical words nor numbers, and cuts no endings.

        Examples
        --------
        >>> from cofactor.text import WordVectorizer
        >>> words, is_grammatical = WordVectorizer().build_reader()("Who won in <b>1998</b>?")
        >>> words, [is_grammatical(word) for word in words]
        (['who', 'won', 'in', '1998'], [True, False, True, False])
        """
        return self._analyzer().read_all

    def _analyzer(self) -> WordAnalyzer:
        lists = getattr(self, "stop_words_", None)
        if lists is None:  # not fitted, or fitted by cofactor 0.1
            lists = self._stop_lists(self._languages([]))
        return make_analyzer(
            lists,
            self.ngram_range,
            tokens=self.tokens,
            cleaned=self.clean,
            grammar=self.keeps_grammar,
            languages=self._tellers(lists),
            drop=self._drop,
        )

    @property
    def _drop(self) -> Callable[[str], str] | None:
        """The function that leaves repeated passages out of a text."""
        keys = getattr(self, "repeated_", None) if self.drop_repeated else None
        return partial(without_passages, frozenset(keys)) if keys else None

    def _tellers(self, lists: dict[str, list[str]]) -> dict[str, frozenset[str]] | None:
        """Return the words that tell the language of a text, if these are not the stop words."""
        languages = getattr(self, "languages_", [])
        if len(languages) < 2 or list(lists) == languages or not self._stems().active:
            return None
        return {name: grammatical_words(name) for name in languages}

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the words.

        Parameters
        ----------
        input_features : ignored

        Examples
        --------
        >>> from cofactor.text import WordVectorizer
        >>> vectorizer = WordVectorizer().fit(["the orbit of the moon", "a moon base"])
        >>> vectorizer.get_feature_names_out().tolist()
        ['base', 'moon', 'orbit']
        """
        check_is_fitted(self, "words_")
        return self.words_

    def _limits(self, found: Frequencies) -> dict[str, Any]:
        few = found.documents < LIMITS_FROM
        high = self.max_df if self.max_df != "auto" else 1.0 if few else 0.5
        if self.min_df != "auto":
            return {"min_df": self.min_df, "max_df": high}
        low = 1 if few else rare_limit(found, high, self._n_languages)
        return {"min_df": low, "max_df": high}

    @property
    def _n_languages(self) -> int:
        return max(len(getattr(self, "languages_", ())), 1)

    @property
    def _most(self) -> int | None:
        """The maximum number of words."""
        auto = self.max_features == "auto"
        return WORDS_PER_LANGUAGE * self._n_languages if auto else self.max_features  # type: ignore[return-value]

    def _weigh(self, counts: Any) -> sp.csr_array:
        return tf_idf(counts, self.idf_, sublinear=self.sublinear_tf)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags


def _named(analyze: WordAnalyzer, names: dict[str, str], stems: Stems, text: str) -> list[str]:
    """Return the words of a text under their names; a single word may be of any language."""
    language, words = analyze.read(text)
    if len(words) == 1:
        tried = (names.get(stems.stem(words[0], place)) for place in (language, *stems.places))
        return [next(filter(None, tried), words[0])]
    return [names.get(stems.stem(word, language), word) for word in words]
