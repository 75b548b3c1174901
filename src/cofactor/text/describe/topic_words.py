"""The words that describe a topic: specific to it, and occurring together in its documents.

The most probable words of a topic are often common to all topics ("use", "one", "know"). So a fit
ends with a better order of words (`rank_words`), which the model stores because it depends on the
documents. Everything that shows words of topics calls `shown_words`. The topics do not change.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.engine.threads import one_blas_thread
from cofactor.estimators.inference import topic_shares
from cofactor.metrics.topics import top_places

MAX_RANKED_WORDS = 40  # per topic; others follow by probability
MAX_RANKING_DOCUMENTS = 50_000  # documents that words are ranked with
SETTLING_SWEEPS = 3  # from the fitted topics; more change nothing that is shown
EXPONENT = 0.2  # 0 prefers frequent words, 1 prefers words that hardly occur elsewhere
MIN_RIVAL_SHARE = 0.5  # a word's share in its topic, relative to its largest share in any topic
PAIR_DOUBT = 4.0  # a pair of words counts half if this many documents, and one more, contain it
MAX_OVERLAP = 0.5  # words with a larger Jaccard index are parts of one phrase or footer
MAX_UNSEEN = 0.1  # part of a topic's mass on words that are in no document
FIRST_WORDS = 10  # words that a reader sees
MIN_FAITHFUL = 0.6  # correlation with the topic's documents, relative to that of probable words
RANKING_ROUNDS = 2
MIN_TOTAL = 1e-300


class Words(NamedTuple):
    """The words of a model's columns, and which of them are hidden."""

    names: np.ndarray
    hidden: BoolArray | None = None

    @classmethod
    def of(cls, vectorizer: Any) -> Words:
        """Return the words of a fitted vectorizer; grammatical words are hidden."""
        names = np.asarray(vectorizer.get_feature_names_out(), dtype=object)
        kept = set(getattr(vectorizer, "grammatical_", None) or ())
        hidden = np.array([name in kept for name in names], dtype=bool) if kept else None
        return cls(names, hidden)

    def shown(self, components: FloatArray) -> FloatArray:
        """Return topics without the weights of hidden words, unless a topic has no others."""
        if self.hidden is None:
            return components
        rest = np.where(self.hidden, 0.0, components)
        return np.where(rest.any(axis=1, keepdims=True), rest, components)

    def of_columns(self, columns: IntArray) -> Words:
        """Return the words of some columns."""
        hidden = None if self.hidden is None else self.hidden[columns]
        return Words(self.names[columns], hidden)


def even_rows(n: int, most: int) -> IntArray:
    """Return the indices of all n rows, or of ``most`` evenly spaced ones."""
    return np.linspace(0, n - 1, min(n, most)).round().astype(np.int64)


def profiles(components: FloatArray) -> FloatArray:
    """Return topics as distributions over words."""
    return components / np.maximum(components.sum(axis=1), MIN_TOTAL)[:, None]


def shown_words(components: FloatArray, ranking: IntArray | None, n: int) -> list[IntArray]:
    """Return the columns of each topic's first n words: the ranked ones, then the most probable.

    Parameters
    ----------
    components : ndarray of shape (n_topics, n_words)
        Topics.
    ranking : ndarray of shape (n_topics, width) or None
        From `rank_words`; None shows words by probability.
    n : int
        Maximum number of words per topic; words without weight are not shown.
    """
    tops = [top_places(topic, n) for topic in components]
    if ranking is None:
        return tops
    return [_joined(row[row >= 0], top, n) for row, top in zip(ranking, tops, strict=True)]


@one_blas_thread()
def rank_words(
    X: Any, S: FloatArray, components: FloatArray, pinned: dict[int, list[int]] | None = None
) -> IntArray:
    """Return for each topic the columns of the words that describe it, best first.

    Candidates are the words with the largest weights in a least-squares fit of X by S, relative to
    a power of their frequency in X. They must correlate with the topic's strength over the
    documents, and no other topic may have more than twice their share. Two rounds then weight each
    candidate by its NPMI with the others, so that words that occur together come first.

    Parameters
    ----------
    X : sparse matrix of shape (n_documents, n_words)
        Documents of the fit, or some of them: an even sample of row blocks, the last batch of a
        stream. All count equally, even if the fit weighted them. At most
        `MAX_RANKING_DOCUMENTS` evenly spaced ones are used.
    S : ndarray of shape (n_documents, n_topics)
        Their representations.
    components : ndarray of shape (n_topics, n_words)
        Topics.
    pinned : dict of int to list of int, optional
        Columns of words by topic, such as seeds. They come first if they are among the ten most
        probable words of the topic.

    Returns
    -------
    ndarray of shape (n_topics, at most `MAX_RANKED_WORDS`)
        Rows are padded with −1. A row of −1 alone means that the topic's words are shown by
        probability, for one of these reasons: it has no candidates; no two of them occur together;
        words in no document hold more than a tenth of its mass; or its first ten words find its
        documents much worse than its ten most probable words.
    """
    rows = even_rows(len(S), MAX_RANKING_DOCUMENTS)
    X = sp.csc_array(sp.csr_array(X, dtype=np.float64)[rows])
    X.eliminate_zeros()
    S = np.asarray(S, dtype=np.float64)[rows]
    occurs = sp.csc_array((np.ones(X.nnz), X.indices, X.indptr), X.shape)
    distinct, shares = _distinct_rows(occurs), topic_shares(S, components)
    ranking = np.full((len(components), min(MAX_RANKED_WORDS, X.shape[1])), -1, dtype=np.int64)
    for k, weights in enumerate(_candidate_weights(X, S, components)):
        row, probable = _rank(weights, distinct), top_places(components[k], FIRST_WORDS)
        if not _is_faithful(row[:FIRST_WORDS], probable, occurs, shares[:, k]):
            row = row[:0]
        row = _joined(probable[np.isin(probable, (pinned or {}).get(k, []))], row, MAX_RANKED_WORDS)
        ranking[k, : len(row)] = row
    return ranking


def _joined(first: IntArray, then: IntArray, n: int) -> IntArray:
    return np.concatenate([first, then[~np.isin(then, first)]])[:n]


def _distinct_rows(occurs: Any) -> Any:
    """Return the documents without duplicates, which add no evidence."""
    rows = sp.csr_array(occurs)
    rows.sort_indices()
    parts = np.split(rows.indices, rows.indptr[1:-1])
    first = {part.tobytes(): d for d, part in reversed(list(enumerate(parts)))}
    return sp.csc_array(rows[sorted(first.values())])


def _is_faithful(first: IntArray, probable: IntArray, occurs: Any, share: FloatArray) -> bool:
    """Return whether a topic's first words find its documents nearly as well as probable words."""
    found = _correlation(occurs[:, first].sum(axis=1), share)
    return found >= MIN_FAITHFUL * _correlation(occurs[:, probable].sum(axis=1), share)


def _correlation(one: FloatArray, other: FloatArray) -> float:
    one, other = one - one.mean(), other - other.mean()
    return float(one @ other / max(float(np.linalg.norm(one) * np.linalg.norm(other)), MIN_TOTAL))


def _candidate_weights(X: Any, S: FloatArray, components: FloatArray) -> FloatArray:
    """Return the weight of each word as a candidate for each topic; 0 for other words."""
    n, largest, peaks = X.shape[0], X.data.max(initial=MIN_TOTAL), S.max(axis=0, initial=MIN_TOTAL)
    X, S = X / largest, S / peaks  # so that no product overflows
    mass, strength = X.sum(axis=0), (X.T @ S).T
    P = profiles(_least_squares(S.T @ S, strength, components * (peaks / largest)[:, None]))
    correlated = n * strength > (1 + 1e-9) * np.outer(S.sum(axis=0), mass)
    good = correlated & (MIN_RIVAL_SHARE * P.max(axis=0) <= P) & (P > 0) & (components > 0)
    unseen = profiles(components)[:, mass == 0].sum(axis=1) > MAX_UNSEEN
    frequency = np.maximum(mass / max(mass.sum(), MIN_TOTAL), MIN_TOTAL)
    return np.where(good & ~unseen[:, None], P / frequency**EXPONENT, 0.0)


def _least_squares(gram: FloatArray, linear: FloatArray, A: FloatArray) -> FloatArray:
    """Return A ≥ 0 that minimises ‖X − S A‖², by sweeps over the topics."""
    alive = np.diag(gram) > 0
    A = np.where(alive[:, None], A, 0.0)
    for _ in range(SETTLING_SWEEPS):
        for k in np.flatnonzero(alive):
            A[k] = np.maximum(A[k] + (linear[k] - gram[k] @ A) / gram[k, k], 0.0)
    return A


def _rank(weights: FloatArray, occurs: Any) -> IntArray:
    """Return the candidates of one topic in order; empty if no two of them occur together."""
    places = top_places(_rounded(weights), MAX_RANKED_WORDS)
    start = weights[places] / max(weights[places].sum(), MIN_TOTAL)
    together, score = _npmi(occurs[:, places]), start
    for _ in range(RANKING_ROUNDS):
        score = start * (together @ score)
        score = score / max(score.sum(), MIN_TOTAL)
    if not score.any():
        return places[:0]
    return places[np.lexsort((np.arange(len(places)), -_rounded(score)))]


def _rounded(scores: FloatArray) -> FloatArray:
    """Return scores relative to the largest, rounded so that the order of sums does not matter."""
    return np.round(scores / max(scores.max(initial=0.0), MIN_TOTAL), 9)


def _npmi(occurs: Any) -> FloatArray:
    """Return the positive part of the NPMI of pairs of words, lowered for rare pairs.

    It is 0 for words that meet in a single document, and for words that hardly occur apart, such as
    those of a footer.
    """
    n, both = occurs.shape[0], (occurs.T @ occurs).toarray()
    alone = np.diag(both)
    either = alone[:, None] + alone - both
    usual = (both > 0) & (both < n) & (both <= MAX_OVERLAP * either)
    score = np.zeros_like(both)
    c, expected = both[usual], np.outer(alone, alone)[usual] / n
    score[usual] = np.log(c / expected) / -np.log(c / n) * (c - 1) / (c - 1 + PAIR_DOUBT)
    return np.maximum(score, 0.0)
