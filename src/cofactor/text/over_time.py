"""Topics and classes over time: their shares in each period, and the words of topics then.

*Periods* are days, weeks, months, quarters or years. They have no gaps, so that a period without
documents is visible. A date counts as written: time zones do not move it to another day.

*Shares.* The topics themselves do not change. The share of a topic in a period is its mean share in
the period's documents with known words; that of a class is its mean probability, a better estimate
than the number of predictions; for a number it is the mean prediction. A period without such
documents has the share None, not 0.

*Words.* One multiplicative update of the features, from those of the model, with the
representations of the period's documents fixed: for Kullback–Leibler

    a_jk ← a_jk Σ_d (x_dj / p_dj) s_dk / Σ_d s_dk,     p = S Aᵀ, d over the period's documents,

the words that these documents assign to the topic. The update treats all topics alike; a sweep of
coordinate descent would give the first topics most of what a document contains. A single update
cannot turn a few documents into a new topic, and words with no weight in a topic stay out of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, NamedTuple

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
from cofactor.io.errors import InputError, suggestion
from cofactor.io.tables.dates import read_dates
from cofactor.metrics.accuracy import wilson_interval
from cofactor.metrics.topics import top_places
from cofactor.targets.missing import is_missing
from cofactor.targets.reading import as_frame
from cofactor.text.describe.predictions import predict_rows, predicted_kind, scores_of
from cofactor.text.describe.summaries import word_ranking
from cofactor.text.describe.table import Table
from cofactor.text.describe.topic_words import Words, profiles
from cofactor.text.documents import document_rows, read_documents

MAX_PERIODS = 10_000  # one wrong century must not give a million days
MAX_DRAWN, MIN_DOCUMENTS = 60, 20  # periods in a chart, and documents per period, see suitable_unit
MIN_RISE = 3.0  # a word is rising if its documents exceed expectation by this many standard errors
SHARE_KINDS = {"classes": "class", "sets": "class", "numbers": "number"}


class Unit(NamedTuple):
    """A length of periods: the number of a day's period, its first day, and its name."""

    number: Callable[[date], int]
    start: Callable[[int], date]
    name: Callable[[date], str]


def _week_name(start: date) -> str:
    year, week, _ = start.isocalendar()
    return f"{year:04}-W{week:02}"


# Lengths of periods by name, the shortest first.
UNITS = {
    "day": Unit(date.toordinal, date.fromordinal, date.isoformat),
    "week": Unit(
        lambda day: (day.toordinal() - 1) // 7,
        lambda i: date.fromordinal(7 * i + 1),  # day 1 of the calendar is a Monday
        _week_name,
    ),
    "month": Unit(
        lambda day: 12 * day.year + day.month - 1,
        lambda i: date(i // 12, i % 12 + 1, 1),
        lambda start: f"{start.year:04}-{start.month:02}",
    ),
    "quarter": Unit(
        lambda day: 4 * day.year + (day.month - 1) // 3,
        lambda i: date(i // 4, 3 * (i % 4) + 1, 1),
        lambda start: f"{start.year:04}-Q{(start.month + 2) // 3}",
    ),
    "year": Unit(lambda day: day.year, lambda i: date(i, 1, 1), lambda start: f"{start.year:04}"),
}


@dataclass(frozen=True, eq=False)
class Periods:
    """Consecutive periods, from the first date to the last.

    Parameters
    ----------
    every : str
        Length of a period: a key of `UNITS`.
    starts : list of date
        Their first days.
    places : array (n_documents,)
        The index of each document's period; −1 without a date.
    """

    every: str
    starts: list[date]
    places: IntArray

    @property
    def names(self) -> list[str]:
        """Names of the periods, such as 2024-03."""
        return [UNITS[self.every].name(start) for start in self.starts]

    @property
    def undated(self) -> int:
        """Number of documents without a date."""
        return int((self.places < 0).sum())


def read_days(dates: Any, n: int) -> list[date | None]:
    """Return the day of each of n documents; None without a date.

    Parameters
    ----------
    dates : iterable
        Dates, or strings in one format; a list, an array or a column of any library. None, NaN, NaT
        and "" are missing.
    n : int
        Number of documents.
    """
    if isinstance(dates, str | bytes | date):
        raise TypeError(f"dates is one {type(dates).__name__}; pass one date for each document.")
    cells = [None if is_missing(cell) else _plain(cell) for cell in _cells(dates)]
    if len(cells) != n:
        raise ValueError(
            f"dates has {len(cells):,} entries, but there are {n:,} documents; pass one for each, "
            "None where it is not known."
        )
    return as_days(read_dates(None, "dates", enumerate(cells)).values)


def as_days(values: Iterable[datetime | None]) -> list[date | None]:
    """Return the days of dates with a time."""
    return [None if value is None else value.date() for value in values]


def _cells(dates: Any) -> list[Any]:
    frame: Any = as_frame(dates)
    if frame is None:
        return list(dates)
    if len(frame.shape) == 2:
        raise ValueError(f"dates is a table with the columns {frame.columns}; pass one of them.")
    return list(frame.to_list())


def _plain(cell: Any) -> Any:
    """Return a date of numpy as Python has it."""
    return cell.astype("datetime64[us]").item() if isinstance(cell, np.datetime64) else cell


def check_unit(every: Any) -> None:
    """Raise an error if there is no such length of periods."""
    if every not in UNITS:
        raise InputError(f"every={every!r} is not a period. {suggestion(str(every), list(UNITS))}")


def divide(days: Sequence[date | None], every: str) -> Periods:
    """Return the periods of documents.

    Examples
    --------
    >>> found = divide([date(2024, 1, 31), None, date(2024, 3, 1)], "month")
    >>> found.names, found.places.tolist()
    (['2024-01', '2024-02', '2024-03'], [0, -1, 2])
    """
    check_unit(every)
    unit = UNITS[every]
    known = [day for day in days if day is not None]
    if not known:
        raise InputError("dates holds no date; pass the dates of the documents.")
    first, last = min(known), max(known)
    start, count = unit.number(first), unit.number(last) - unit.number(first) + 1
    if count > MAX_PERIODS:
        raise InputError(
            f"every={every!r} gives {count:,} periods, from {first} to {last}; choose a longer "
            "period, such as 'year', or correct the dates."
        )
    places = [-1 if day is None else unit.number(day) - start for day in days]
    return Periods(every, [unit.start(start + i) for i in range(count)], np.array(places))


def suitable_unit(days: Sequence[date | None]) -> str:
    """Return the shortest length of periods for a readable chart: at most `MAX_DRAWN` periods with
    `MIN_DOCUMENTS` documents on average; else the longest that gives two periods.

    Examples
    --------
    >>> suitable_unit([date(2024, 1 + i % 12, 1) for i in range(600)])
    'month'
    """
    known = [day for day in days if day is not None]
    several = ["year"]
    for every, unit in UNITS.items():
        count = unit.number(max(known)) - unit.number(min(known)) + 1 if known else 0
        if 1 < count <= MAX_DRAWN and len(known) >= MIN_DOCUMENTS * count:
            return every
        several += [every] if count > 1 else []
    return several[-1]


@dataclass(frozen=True)
class PeriodShare:
    """One topic, class or number in one period."""

    period: str  # such as 2024-03
    start: date  # its first day
    documents: int  # in the period
    kind: str  # "topic", "class" or "number"
    topic: int | None  # number of the topic
    name: Any  # of the topic, the class or the number
    share: float | None  # mean over the documents; numbers: mean prediction; None without documents
    low: float | None  # 95 % interval of the share; None for numbers
    high: float | None
    words: tuple[str, ...] = ()  # of the topic in this period, most probable first
    rising: tuple[str, ...] = ()  # more frequent in the topic than in all periods


@dataclass(frozen=True, eq=False)
class OverTime:
    """Topics and classes in consecutive periods; ``table`` has the periods in order."""

    table: Table[PeriodShare]
    periods: Periods

    def doubts(self) -> Iterator[str]:
        """Yield sentences about what the table leaves out or cannot show."""
        names, n = self.periods.names, len(self.periods.places)
        if undated := self.periods.undated:
            yield f"{undated:,} of {n:,} documents have no date and are in no period."
        if len(names) == 1:
            yield (
                f"All dates are in one period, {names[0]}, so nothing changes over time; choose a "
                "shorter period."
            )


def over_time(model: Any, documents: Any, dates: Any, every: str, n_words: int) -> OverTime:
    """Return the topics and classes of a TopicModel over time; see its method `over_time`."""
    check_unit(every)
    texts = read_documents(documents)
    periods = divide(read_days(dates, len(texts)), every)
    rows = document_rows(model, texts)
    S = np.asarray(model.estimator_.transform(rows.X))
    scores = scores_of(model.estimator_, rows.X, S, rows.side)
    return describe_periods(model, rows.X, S, scores, periods, n_words)


def warn_of(found: OverTime) -> Table[PeriodShare]:
    """Warn of what the table leaves out, and return it."""
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
        Maximum number of words per topic and period.
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
    """Values to average over the documents of a period: a column per topic, class or number."""

    kind: str
    names: Sequence[Any]
    values: FloatArray  # (n_documents, n_columns)

    def about(self, c: int) -> tuple[str, int | None, Any]:
        """Return kind, number of the topic and name of a column."""
        return self.kind, c if self.kind == "topic" else None, self.names[c]

    def mean(self, rows: IntArray, c: int) -> tuple[float | None, float | None, float | None]:
        """Return the mean over some documents, and the interval of a share; None without documents.

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
    return [topics, Measure(SHARE_KINDS[kind], model.target_names_, values)]


# ---- words


def words_in_periods(
    model: Any, X: Any, S: FloatArray, members: Sequence[IntArray], n_words: int
) -> list[list[tuple[tuple[str, ...], ...]]]:
    """Return the words, and the rising words, of each topic in each period.

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
            columns = np.unique(X[rows].indices)  # the others have no weight in this period
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
    update of the features A to documents X with fixed representations S; 0 for absent topics."""
    if not X.nnz:
        return np.zeros(A.T.shape)
    objective = Objective((Term("data", "features", observe(X), loss),), free=("features",))
    found = objective.sweep(Factors(S, A), MultiplicativeUpdates().improve, threads).factors
    return profiles(found.features.T * np.asarray(S.any(axis=0))[:, None])


def word_rates(X: Any, shares: FloatArray) -> FloatArray:
    """Return the share of each topic's documents (rows) that contain each word (columns);
    documents are weighted by their share of the topic."""
    return _counts(X, shares) / np.maximum(shares.sum(axis=0), 1e-300)[:, None]


def _counts(X: Any, shares: FloatArray) -> FloatArray:
    occurs = sp.csr_array((np.ones(X.nnz), X.indices, X.indptr), X.shape)
    return np.asarray((occurs.T @ shares).T)


def risen(X: Any, shares: FloatArray, rates: FloatArray) -> Any:
    """Return which words are in more documents of a topic in a period than chance explains.

    With e documents expected from all periods, the standard error is √(e + 1), because √e is too
    small for words of a few documents.
    """
    count, expected = _counts(X, shares), rates * shares.sum(axis=0)[:, None]
    return count - expected >= MIN_RISE * np.sqrt(expected + 1.0)


def _rise(own: FloatArray, whole: FloatArray, more: Any) -> FloatArray:
    """Return the terms of the Kullback–Leibler divergence of a period from the whole for rising
    words, 0 for others."""
    up = more & (own > whole) & (whole > 0)
    return own * np.log(np.divide(own, whole, out=np.ones_like(own), where=up))


def _usual(own: FloatArray, ranking: IntArray | None, columns: IntArray) -> FloatArray:
    """Return the weights of the words that describe each topic, or of all if there are none."""
    if ranking is None:
        return own
    known = [row[row >= 0] for row in ranking]
    shown = np.array([np.isin(columns, row) if len(row) else columns >= 0 for row in known])
    return np.where(shown, own, 0.0)
