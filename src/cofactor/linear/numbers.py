"""Numbers predicted from the words, the topics and the size of the samples.

Two ridge regressions, one of the view and one of the topic shares, are mixed by how they predict
held-out targets. Both see the size of a sample, the logarithm of its total. The mixture is linear,
so a prediction is a sum over words, topics, size and base.

Topics that were fitted with the targets fit held-out targets too well. Their weight then follows
from what the regression of the view leaves unexplained, and only that regression says how good the
predictions are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, hstack

from cofactor._types import FloatArray
from cofactor.linear.matrix import Matrix, with_one_blas_thread
from cofactor.linear.pool import ExpectedScore
from cofactor.linear.ridge import RidgeFit, fit_ridge, part_weights

USUAL_MIX = np.array([0.6, 0.4])
"""Usual weights of the regressions of the view and of the topics."""
TOPIC_MIX = 0.4
"""Weight of topics that were fitted with the targets, where words explain nothing."""
WORD_PENALTIES, TOPIC_PENALTIES = np.logspace(-1.5, 3, 10), np.logspace(1, 3, 5)
"""Penalties that held-out error chooses from."""
WORDS_SIZE, TOPICS_SIZE = 0.3, 0.5
"""Factors of the size beside the view and beside the topics."""
LARGEST_SIZE = 4.0
"""Sizes are clipped to this many standard deviations."""
LEVEL = 0.9
"""Share of new targets that the interval should cover."""


class Size(NamedTuple):
    """The logarithm of a sample's total, standardised.

    Parameters
    ----------
    mean, sd : float
        Of the logarithms of positive totals. With sd = 0 all sizes are 0.
    """

    mean: float
    sd: float

    def of(self, totals: FloatArray) -> FloatArray:
        """Return the sizes of samples; empty ones have the least."""
        logs = np.log(np.maximum(totals, np.finfo(float).tiny))
        if self.sd == 0.0:
            return np.zeros(len(logs))
        standard = np.where(totals > 0, (logs - self.mean) / self.sd, -LARGEST_SIZE)
        return np.clip(standard, -LARGEST_SIZE, LARGEST_SIZE)


@dataclass(frozen=True, eq=False)
class NumberModel:
    """Predictions of k targets, linear in the view, the topic shares and the size.

    Parameters
    ----------
    words : array (m, k)
        What a unit of each feature of the view adds.
    topics : array (r, k)
        What a unit of each topic's share adds.
    size : array (k,)
        What a unit of size adds.
    base : array (k,)
    scale : Size
    mix : array (k, 2)
        Weights of the regressions of the view and of the topics.
    penalties : array (k, 2)
    half_width : array (k,)
        A prediction plus and minus this covers 90 % of new targets; infinite if there are too few
        labels to say so.
    residual_sd : array (k,)
        Root mean square of the held-out residuals; NaN with one label.
    expected : tuple of ExpectedScore or None
        R² to expect on new samples; None if the labels are constant or only one.
    """

    words: FloatArray
    topics: FloatArray
    size: FloatArray
    base: FloatArray
    scale: Size
    mix: FloatArray
    penalties: FloatArray
    half_width: FloatArray
    residual_sd: FloatArray
    expected: tuple[ExpectedScore | None, ...]

    def predict(self, X: Matrix, topics: FloatArray, totals: FloatArray) -> FloatArray:
        """Return the predictions for the view X, topic shares and totals of samples."""
        return X.times(self.words) + topics @ self.topics + self.rest(totals)

    def rest(self, totals: FloatArray) -> FloatArray:
        """Return the part of the predictions that neither words nor topics explain."""
        return self.scale.of(totals)[:, None] * self.size + self.base


@with_one_blas_thread
def fit_numbers(
    X: Matrix,
    topics: FloatArray,
    totals: FloatArray,
    Y: FloatArray,
    counts: FloatArray,
    *,
    supervised: bool,
) -> NumberModel:
    """Fit one target after the other.

    Parameters
    ----------
    X : Matrix (n, m)
        View of distinct samples, in the order of their content.
    topics : array (n, r)
        Their shares in the topics.
    totals : array (n,)
        Their sums.
    Y : array (n, k)
        Their targets; unknown ones are NaN.
    counts : array (n,)
        How often each sample counts.
    supervised : bool
        Whether the topics were fitted with the targets.
    """
    scale = _fit_size(totals, counts)
    size = scale.of(totals)
    spread = _spread(topics, counts)
    words = _with_column(X, WORDS_SIZE * size)
    shares = _with_column(Matrix(topics / spread, X.threads), TOPICS_SIZE * size)
    fits = []
    for y in Y.T:
        rows = np.flatnonzero(~np.isnan(y) & (counts > 0))
        parts = words.select(rows), shares.select(rows)
        fits.append(_fit_target(*parts, y[rows], counts[rows], supervised))
    W, T, base, mix, penalties, half_width, residual_sd, expected = zip(*fits, strict=True)
    on_words, on_topics = np.stack(W, axis=1), np.stack(T, axis=1)
    on_size = WORDS_SIZE * on_words[-1] + TOPICS_SIZE * on_topics[-1]
    return NumberModel(
        on_words[:-1],
        on_topics[:-1] / spread[:, None],
        on_size,
        np.array(base),
        scale,
        np.stack(mix),
        np.stack(penalties),
        np.array(half_width),
        np.array(residual_sd),
        expected,
    )


def _fit_size(totals: FloatArray, counts: FloatArray) -> Size:
    used = (totals > 0) & (counts > 0)
    if not used.any():
        return Size(0.0, 0.0)
    logs, weights = np.log(totals[used]), counts[used]
    mean = float(np.average(logs, weights=weights))
    sd = float(np.sqrt(np.average((logs - mean) ** 2, weights=weights)))
    return Size(mean, sd if sd > 1e-6 else 0.0)  # rows that were normalised differ by rounding


def _spread(topics: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the standard deviation of each topic's share; the median for rare topics."""
    mean = counts @ topics / counts.sum()
    sd = np.sqrt(counts @ (topics - mean) ** 2 / counts.sum())
    spread = np.maximum(sd, np.median(sd))
    return np.where(spread > 1e-6, spread, 1.0)


def _with_column(X: Matrix, column: FloatArray) -> Matrix:
    if not X.is_sparse:
        return Matrix(np.column_stack([X.values, column]), X.threads)
    return Matrix(csr_array(hstack([X.values, column[:, None]], format="csr")), X.threads)


class _TargetFit(NamedTuple):
    """A model of one target; weights belong to the features with the size as last column."""

    words: FloatArray
    topics: FloatArray
    base: float
    mix: FloatArray
    penalties: FloatArray
    half_width: float
    residual_sd: float
    expected: ExpectedScore | None


def _fit_target(
    words: Matrix, shares: Matrix, y: FloatArray, counts: FloatArray, supervised: bool
) -> _TargetFit:
    unit = float(np.abs(y).max(initial=0.0)) or 1.0
    y = y / unit  # so that squares do not overflow
    mean = float(np.average(y, weights=counts)) if len(y) else 0.0
    if len(y) < 2 or np.ptp(y) == 0.0:
        return _constant(words, shares, unit * mean, counts)
    fits = [
        fit_ridge(words, y, counts, WORD_PENALTIES),
        fit_ridge(shares, y, counts, TOPIC_PENALTIES),
    ]
    mix, held_out = _mix(fits, y, counts, supervised)
    residual = y - held_out
    base = mean + sum(b * (fit.base - mean) for b, fit in zip(mix, fits, strict=True))
    return _TargetFit(
        unit * mix[0] * fits[0].weights,
        unit * mix[1] * fits[1].weights,
        unit * base,
        mix,
        np.array([fit.penalty for fit in fits]),
        unit * _half_width(np.abs(residual), counts),
        unit * float(np.sqrt(np.average(residual**2, weights=counts))),
        _expected(residual, y - mean, counts),
    )


def _constant(words: Matrix, shares: Matrix, value: float, counts: FloatArray) -> _TargetFit:
    """Return the model that always predicts one value."""
    return _TargetFit(
        np.zeros(words.shape[1]),
        np.zeros(shares.shape[1]),
        value,
        np.zeros(2),
        np.full(2, np.inf),
        _half_width(np.zeros(len(counts)), counts),
        0.0 if len(counts) > 1 else np.nan,
        None,
    )


def _mix(
    fits: list[RidgeFit], y: FloatArray, counts: FloatArray, supervised: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the weights of the regressions, and the mixed held-out predictions."""
    held_out = np.stack([fit.held_out for fit in fits], axis=1)
    if not supervised:
        return part_weights(held_out, y, counts, USUAL_MIX)
    first, predicted = part_weights(held_out[:, :1], y, counts, np.ones(1))
    mean = np.average(y, weights=counts)
    unexplained = (counts @ (y - predicted) ** 2) / (counts @ (y - mean) ** 2)
    topics = TOPIC_MIX * min(float(unexplained), 1.0)
    return np.array([(1 - topics) * first[0], topics]), predicted


def _half_width(sizes: FloatArray, counts: FloatArray) -> float:
    """Return the ⌈.9 (n + 1)⌉-th smallest size; infinite if there are not so many."""
    order = np.argsort(sizes, kind="stable")
    reached = np.cumsum(counts[order])
    rank = np.ceil(LEVEL * (counts.sum() + 1) - 1e-9)
    enough = np.flatnonzero(reached >= rank - 1e-9)
    return float(sizes[order[enough[0]]]) if len(enough) else np.inf


def _expected(residual: FloatArray, deviation: FloatArray, counts: FloatArray) -> ExpectedScore:
    """Return the held-out R² with a 95 % interval from the spread of the squares."""
    e, d = residual**2, deviation**2
    whole = float(counts @ d)
    lost = float(counts @ e) / whole
    error = 1.96 * float(np.sqrt(counts @ (e - lost * d) ** 2)) / whole
    low, high = 1 - lost - error, min(1 - lost + error, 1.0)
    return ExpectedScore(1 - lost, low, high, float(counts.sum()), "R²")
