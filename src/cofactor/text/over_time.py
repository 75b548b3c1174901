"""Topics and classes over time: their shares in each period, and the words of topics then.

*Shares.* The topics stay as the model has them. The share of a topic in a period is its mean share
over the period's documents that have a known word; that of a class is its mean probability, which
estimates the share of the class better than the number of predictions does; for a number it is the
mean prediction. A period without such documents has no share: None, not 0.

*Words.* One multiplicative update of the features, started at those of the model, with the
representations of the period's documents fixed: for Kullback–Leibler

    a_jk ← a_jk Σ_d (x_dj / p_dj) s_dk / Σ_d s_dk,     p = S Aᵀ, d over the period's documents,

the words that these documents give to the topic. It treats all topics alike; a sweep of coordinate
descent would give the first topics most of what one document says. One update does not make a new
topic of a few documents, and words that the model does not give to a topic stay out of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from scipy import sparse as sp

from cofactor._types import FloatArray, IntArray
from cofactor._warnings import warn
from cofactor.divergences import Divergence
from cofactor.engine.factors import Factors
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import observe
from cofactor.engine.solvers import MultiplicativeUpdates
from cofactor.engine.threads import Threads
from cofactor.estimators.inference import topic_shares
from cofactor.estimators.validation import as_divergence
from cofactor.linear.pool import wilson_interval
from cofactor.metrics.topics import top_places
from cofactor.text.describe.predictions import predict_rows, predicted_kind, scores_of
from cofactor.text.describe.summaries import word_ranking
from cofactor.text.describe.table import Table
from cofactor.text.describe.words import Words, profiles
from cofactor.text.documents import document_matrix, read_documents
from cofactor.text.periods import Periods, check_unit, divide, read_days

SURE = 3.0
"""A word has risen if its documents are so many standard errors more than expected."""
KINDS = {"classes": "class", "sets": "class", "numbers": "number"}


@dataclass(frozen=True)
class PeriodShare:
    """One topic, class or number in one period."""

    period: str  # such as 2024-03
    start: date  # its first day
    documents: int  # of the period
    kind: str  # "topic", "class" or "number"
    topic: int | None  # number of the topic
    name: Any  # of the topic, the class or the number
    share: float | None  # mean over the documents; numbers: mean prediction; None without documents
    low: float | None  # interval of 95 % for the share; None for numbers
    high: float | None
    words: tuple[str, ...] = ()  # of the topic in this period, most probable first
    rising: tuple[str, ...] = ()  # that the topic has more often than in all periods


@dataclass(frozen=True, eq=False)
class OverTime:
    """Topics and classes in consecutive periods; ``table`` has the periods in order."""

    table: Table[PeriodShare]
    periods: Periods

    def doubts(self) -> Iterator[str]:
        """Say what the table leaves out or cannot show."""
        names, n = self.periods.names, len(self.periods.places)
        if undated := self.periods.undated:
            yield f"{undated:,} of {n:,} documents have no date; they are in no period."
        if len(names) == 1:
            yield (
                f"All dates are in one period, {names[0]}, so nothing changes over time; choose a "
                "shorter period."
            )


def over_time(model: Any, documents: Any, dates: Any, every: str, n_words: int) -> OverTime:
    """Return the topics and classes of a fitted TopicModel over time; see its `over_time`."""
    check_unit(every)
    texts = read_documents(documents)
    periods = divide(read_days(dates, len(texts)), every)
    X = document_matrix(model.vectorizer_, texts)
    S = np.asarray(model.estimator_.transform(X))
    return describe_periods(model, X, S, scores_of(model.estimator_, X, S), periods, n_words)


def warn_of(found: OverTime) -> Table[PeriodShare]:
    """Return the table; warn of what it leaves out."""
    for sentence in found.doubts():
        warn(sentence)
    return found.table


def describe_periods(
    model: Any, X: Any, S: FloatArray, scores: FloatArray, periods: Periods, n_words: int = 10
) -> OverTime:
    """Return topics and classes in periods.

    Parameters
    ----------
    model : TopicModel
        A fitted model.
    X : sparse matrix (n_documents, n_words)
        The documents.
    S : array (n_documents, n_topics)
        Their representations.
    scores : array (n_documents, n_targets)
        Their scores.
    periods : Periods
        Their periods.
    n_words : int
        Maximum number of words of a topic in a period.
    """
    X, S = sp.csr_array(X, dtype=np.float64, copy=True), np.asarray(S, dtype=np.float64)
    X.eliminate_zeros()
    known, names = np.asarray(S.any(axis=1)), periods.names
    members = [np.flatnonzero(periods.places == t) for t in range(len(names))]
    spoken = [rows[known[rows]] for rows in members]
    words, measures = words_in_periods(model, X, S, spoken, n_words), _measures(model, S, scores)
    table = [
        PeriodShare(
            names[t],
            periods.starts[t],
            len(members[t]),
            *measure.about(c),
            *measure.mean(rows, c),
            *(words[t][c] if measure.kind == "topic" else ()),
        )
        for t, rows in enumerate(spoken)
        for measure in measures
        for c in range(len(measure.names))
    ]
    return OverTime(Table(table, PeriodShare), periods)


@dataclass(frozen=True, eq=False)
class Measure:
    """What is averaged over the documents of a period: a column for each topic, class or number."""

    kind: str
    names: Sequence[Any]
    values: FloatArray  # (n_documents, n_columns)

    def about(self, c: int) -> tuple[str, int | None, Any]:
        """Return kind, number of the topic and name of a column."""
        return self.kind, c if self.kind == "topic" else None, self.names[c]

    def mean(self, rows: IntArray, c: int) -> tuple[float | None, float | None, float | None]:
        """Return the mean over some documents, and the interval of a share; None without any.

        Wilson's interval is for shares of documents; a mean of shares varies less.
        """
        if not len(rows):
            return None, None, None
        mean = float(self.values[rows, c].mean())
        low, high = (None, None) if self.kind == "number" else wilson_interval(mean, len(rows))
        return mean, low, high


def _measures(model: Any, S: FloatArray, scores: FloatArray) -> list[Measure]:
    estimator, kind = model.estimator_, predicted_kind(model.estimator_)
    topics = Measure("topic", model.topic_names_, topic_shares(S, estimator.components_))
    if kind == "topics":
        return [topics]
    P, numbers = predict_rows(estimator, scores)
    values = np.reshape(numbers, (len(S), -1)) if P is None else P
    return [topics, Measure(KINDS[kind], model.target_names_, values)]


# ---- words


def words_in_periods(
    model: Any, X: Any, S: FloatArray, members: Sequence[IntArray], n_words: int
) -> list[list[tuple[tuple[str, ...], ...]]]:
    """Return for each period and topic its words, and those that it has more often than in all.

    Parameters
    ----------
    model, X, S, n_words
        As in `describe_periods`.
    members : sequence of array of int
        The documents of each period.
    """
    loss: Divergence = as_divergence("data_loss", model.data_loss)
    A = np.ascontiguousarray(model.estimator_.components_.T, dtype=np.float64)
    words, ranking = Words.of(model.vectorizer_), word_ranking(model, "coherence")

    shares, dated = topic_shares(S, A.T), np.concatenate(members)
    rates = word_rates(X[dated], shares[dated])
    found = []
    with Threads(model.estimator_.n_jobs) as threads:
        whole = features_step(loss, X[dated], S[dated], A, threads)
        for rows in members:
            columns = np.unique(X[rows].indices)  # all others have no weight in this period
            part = X[rows][:, columns]
            own = features_step(loss, part, S[rows], A[columns], threads)
            more = risen(part, shares[rows], rates[:, columns])
            rise = _rise(own, whole[:, columns], more)
            here = words.of_columns(columns)
            usual, rise = here.shown(_usual(own, ranking, columns)), here.shown(rise)
            found.append(
                [
                    tuple(
                        tuple(map(str, here.names[top_places(weights, n_words)]))
                        for weights in pair
                    )
                    for pair in zip(usual, rise, strict=True)
                ]
            )
    return found


def features_step(
    loss: Divergence, X: Any, S: FloatArray, A: FloatArray, threads: Threads
) -> FloatArray:
    """Return the topics as distributions over words (n_topics × n_words) after one multiplicative
    update of the features A for documents X with fixed representations S; 0 for absent topics."""
    if not X.nnz:
        return np.zeros(A.T.shape)
    objective = Objective((Term("data", "features", observe(X), loss),), free=("features",))
    found = objective.sweep(Factors(S, A), MultiplicativeUpdates().improve, threads).factors
    return profiles(found.features.T * np.asarray(S.any(axis=0))[:, None])


def word_rates(X: Any, shares: FloatArray) -> FloatArray:
    """Return the share of each topic's documents (rows) that have each word (columns); a document
    counts by its share of the topic."""
    return _counts(X, shares) / np.maximum(shares.sum(axis=0), 1e-300)[:, None]


def _counts(X: Any, shares: FloatArray) -> FloatArray:
    occurs = sp.csr_array((np.ones(X.nnz), X.indices, X.indptr), X.shape)
    return np.asarray((occurs.T @ shares).T)


def risen(X: Any, shares: FloatArray, rates: FloatArray) -> Any:
    """Tell which words more documents of each topic have in a period than chance explains.

    With e documents expected, as often as in all periods, √(e + 1) is the standard error: e alone
    is too small for words of a few documents.
    """
    count, expected = _counts(X, shares), rates * shares.sum(axis=0)[:, None]
    return count - expected >= SURE * np.sqrt(expected + 1.0)


def _rise(own: FloatArray, whole: FloatArray, more: Any) -> FloatArray:
    """Return the terms of the Kullback–Leibler divergence of a period and the whole for the words
    that have risen, 0 for others."""
    up = more & (own > whole) & (whole > 0)
    return own * np.log(np.divide(own, whole, out=np.ones_like(own), where=up))


def _usual(own: FloatArray, ranking: IntArray | None, columns: IntArray) -> FloatArray:
    """Return the weights of the words that describe each topic, or of all if none do."""
    if ranking is None:
        return own
    known = [row[row >= 0] for row in ranking]
    shown = np.array([np.isin(columns, row) if len(row) else columns >= 0 for row in known])
    return np.where(shown, own, 0.0)
