"""Numbers predicted from the words, the topics and the size of the samples.

Two ridge regressions, one of the view and one of the topic shares, are mixed. Both see the size of
a sample, the logarithm of its total. The mixture is linear, so a prediction is a sum over words,
topics, size and base. Samples without any feature take part in the fit, but in no score and no
interval, because nothing is predicted for them.

Topics were fitted with the targets, so they predict held-out targets too well. Their weight follows
from what the regression of the view leaves unexplained, and the expected score is that of this
regression alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cofactor._types import FloatArray
from cofactor.linear.folds import assign_folds
from cofactor.linear.penalties import TOPIC_PENALTIES, WORD_PENALTIES
from cofactor.linear.pool import ExpectedScore
from cofactor.linear.views import Matrix

TOPIC_MIX = 0.4
"""Weight of the topics where words explain nothing."""
WORDS_SIZE, TOPICS_SIZE = 0.3, 0.5
"""Factors of the size beside the view and beside the topics."""
MAX_SIZE = 4.0
"""Sizes are clipped to this many standard deviations."""
COVERAGE = 0.9
"""Share of new targets that the interval should cover."""
MAX_EXACT_LENGTH = 2000
"""Maximum length of the shorter dimension of the matrix in an exact solution."""
MAX_EXACT_CELLS = 3e7
"""Maximum number of rows times shorter dimension in an exact solution."""
RIDGE_FOLDS = 5
"""Number of folds where the solution is iterative."""
MAX_RIDGE_STEPS = 60
"""Maximum number of steps of the iterative solution."""


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
        standard = np.where(totals > 0, (logs - self.mean) / self.sd, -MAX_SIZE)
        return np.clip(standard, -MAX_SIZE, MAX_SIZE)


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
        labels.
    held_out : array (n, k)
        Predictions of the regression of the view for the samples of the fit, each by a model that
        has not seen its target; NaN where the target is unknown or the sample has no features.
    """

    words: FloatArray
    topics: FloatArray
    size: FloatArray
    base: FloatArray
    scale: Size
    mix: FloatArray
    penalties: FloatArray
    half_width: FloatArray
    held_out: FloatArray


def fit_numbers(
    X: Matrix, topics: FloatArray, totals: FloatArray, Y: FloatArray, counts: FloatArray
) -> NumberModel:
    """Fit each target on its own.

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
    """
    scale = _fit_size(totals, counts)
    size, spread = scale.of(totals)[:, None], _spread(topics, counts)
    words = X.beside(WORDS_SIZE * size)
    shares = Matrix(topics / spread, X.threads).beside(TOPICS_SIZE * size)
    fits, held_out = [], np.full(Y.shape, np.nan)
    for y, predicted in zip(Y.T, held_out.T, strict=True):
        rows = np.flatnonzero(~np.isnan(y) & (counts > 0))
        parts = words.select(rows), shares.select(rows)
        scored = counts[rows] * X.filled_rows[rows]
        fit, tested = _fit_target(*parts, y[rows], counts[rows], scored)
        fits.append(fit)
        predicted[rows[scored > 0]] = tested[scored > 0]
    W, T, base, mix, penalties, half_width = zip(*fits, strict=True)
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
        held_out,
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


class _TargetFit(NamedTuple):
    """A model of one target; weights belong to the features with the size as last column."""

    words: FloatArray
    topics: FloatArray
    base: float
    mix: FloatArray
    penalties: FloatArray
    half_width: float


def _fit_target(
    words: Matrix, shares: Matrix, y: FloatArray, counts: FloatArray, scored: FloatArray
) -> tuple[_TargetFit, FloatArray]:
    """Return the model of a target, and held-out predictions of its known values.

    ``scored`` are the counts of the samples that have features, 0 for the others.
    """
    unit = float(np.abs(y).max(initial=0.0)) or 1.0
    y = y / unit  # so that squares do not overflow
    mean = float(np.average(y, weights=counts)) if len(y) else 0.0
    if len(y) < 2 or np.ptp(y) == 0.0:
        value = unit * mean
        return _constant(words, shares, value, scored), np.full(len(y), value)
    of_words, first, held_out = _fit_words(words, y, counts)
    fits = [of_words, fit_ridge(shares, y, counts, TOPIC_PENALTIES)]
    residual = y - held_out
    explained = r_squared(residual, y, scored)
    unexplained = 1.0 if explained is None else 1.0 - explained
    topics = TOPIC_MIX * min(unexplained, 1.0)
    mix = np.array([(1 - topics) * first, topics])
    base = mean + sum(b * (fit.base - mean) for b, fit in zip(mix, fits, strict=True))
    found = _TargetFit(
        unit * mix[0] * fits[0].weights,
        unit * mix[1] * fits[1].weights,
        unit * base,
        mix,
        np.array([fit.penalty for fit in fits]),
        unit * _half_width(np.abs(residual), scored),
    )
    return found, unit * held_out


def _fit_words(
    words: Matrix, y: FloatArray, counts: FloatArray
) -> tuple[RidgeFit, float, FloatArray]:
    """Return the regression of the view, its weight, and its held-out predictions."""
    fit = fit_ridge(words, y, counts, WORD_PENALTIES)
    return fit, *shrink(fit.held_out, y, counts)


def held_out_numbers(
    X: Matrix, totals: FloatArray, Y: FloatArray, counts: FloatArray
) -> FloatArray:
    """Return the held-out predictions of `fit_numbers`, without fitting the rest."""
    out = np.full(Y.shape, np.nan)
    size = _fit_size(totals, counts).of(totals)[:, None]
    words = X.beside(WORDS_SIZE * size)
    for y, predicted in zip(Y.T, out.T, strict=True):
        rows = np.flatnonzero(~np.isnan(y) & (counts > 0))
        tested = rows[X.filled_rows[rows]]
        known = y[rows]
        unit = float(np.abs(known).max(initial=0.0)) or 1.0
        told = np.full(len(known), np.average(known, weights=counts[rows]) if len(rows) else 0)
        if len(known) > 1 and np.ptp(known) > 0:
            told = unit * _fit_words(words.select(rows), known / unit, counts[rows])[2]
        predicted[tested] = told[X.filled_rows[rows]]
    return out


def _constant(words: Matrix, shares: Matrix, value: float, counts: FloatArray) -> _TargetFit:
    """Return the model that always predicts one value."""
    return _TargetFit(
        np.zeros(words.shape[1]),
        np.zeros(shares.shape[1]),
        value,
        np.zeros(2),
        np.full(2, np.inf),
        _half_width(np.zeros(len(counts)), counts),
    )


def shrink(held_out: FloatArray, y: FloatArray, counts: FloatArray) -> tuple[float, FloatArray]:
    """Return a nonnegative weight for a regression, and its weighted held-out predictions.

    A regression predicts deviations from the mean. The weight minimises the squared held-out error
    plus var(y) · (weight − 1)².
    """
    total = counts.sum()
    mean = float(counts @ y / total)
    rest = np.maximum(total - counts, 1e-15 * total)
    others = mean - counts * (y - mean) / rest  # mean of the other rows
    deviation = held_out - others
    scaled = deviation * counts / float(counts @ (y - mean) ** 2 / total)
    weight = max(float(scaled @ (y - others)) + 1.0, 0.0) / (float(scaled @ deviation) + 1.0)
    return weight, others + weight * deviation


def _half_width(sizes: FloatArray, counts: FloatArray) -> float:
    """Return the ⌈.9 (n + 1)⌉-th smallest size; infinite if there are fewer."""
    order = np.argsort(sizes, kind="stable")
    reached = np.cumsum(counts[order])
    rank = np.ceil(COVERAGE * (counts.sum() + 1) - 1e-9)
    enough = np.flatnonzero(reached >= rank - 1e-9)
    return float(sizes[order[enough[0]]]) if len(enough) else np.inf


def r_squared(residual: FloatArray, y: FloatArray, counts: FloatArray) -> float | None:
    """Return R²; None if y is constant or nothing counts."""
    total = float(counts.sum())
    apart = y - counts @ y / total if total else y
    whole = float(counts @ apart**2)
    return 1.0 - float(counts @ residual**2) / whole if whole > 0 else None


def mean_score(each: Sequence[ExpectedScore | None]) -> ExpectedScore | None:
    """Return the mean R² of several targets, with the mean of their intervals.

    That interval is too wide, because errors of different targets partly cancel.
    """
    known = [one for one in each if one is not None]
    if len(each) <= 1 or not known:
        return known[0] if known else None
    value, low, high, n = (
        float(np.mean([getattr(one, name) for one in known]))
        for name in ("value", "low", "high", "n_samples")
    )
    targets = tuple(float("nan") if one is None else one.value for one in each)
    return ExpectedScore(value, low, high, n, "R²", targets)


def score_of_numbers(
    residual: FloatArray, y: FloatArray, counts: FloatArray
) -> ExpectedScore | None:
    """Return the held-out R² with a 95 % interval from the spread of the squares."""
    if (value := r_squared(residual, y, counts)) is None:
        return None
    e, d = residual**2, (y - counts @ y / counts.sum()) ** 2
    whole, lost = float(counts @ d), 1.0 - value
    error = 1.96 * float(np.sqrt(counts @ (e - lost * d) ** 2)) / whole
    return ExpectedScore(value, value - error, min(value + error, 1.0), float(counts.sum()), "R²")


# ---- ridge regressions


class RidgeFit(NamedTuple):
    """A linear model of one target, and how such models predict held-out rows.

    Parameters
    ----------
    weights : array (m,)
    base : float
        Prediction of a row of zeros.
    held_out : array (n,)
        Prediction of each row by a model that has not seen the row's target.
    penalty : float
    """

    weights: FloatArray
    base: float
    held_out: FloatArray
    penalty: float


def fit_ridge(X: Matrix, y: FloatArray, counts: FloatArray, penalties: FloatArray) -> RidgeFit:
    """Minimise Σ count · (y − base − Xv)² + penalty · |v|²; held-out error chooses the penalty.

    Each row is left out together with its repetitions. With many rows and columns, five folds by
    position are left out instead, so the order of the rows must not depend on the targets.
    """
    rows = CentredRows(X, counts)
    mean = rows.average(y)
    exact = min(X.shape) <= MAX_EXACT_LENGTH and X.shape[0] * min(X.shape) <= MAX_EXACT_CELLS
    tried = (
        rows.leave_one_out(y - mean, penalties)
        if exact
        else _leave_folds_out(X, y - mean, counts, penalties)
    )
    errors = counts @ (tried - (y - mean)[:, None]) ** 2
    best = np.flatnonzero(errors <= errors.min() * (1 + 1e-9))[-1]  # of equals the largest penalty
    penalty = float(penalties[best])
    v = rows.solve(y - mean, penalty) if exact else rows.iterate(y - mean, penalties)[:, best]
    return RidgeFit(v, mean - float(rows.mean @ v), tried[:, best] + mean, penalty)


def _leave_folds_out(
    X: Matrix, target: FloatArray, counts: FloatArray, penalties: FloatArray
) -> FloatArray:
    """Predict each fold by the other ones; one column per penalty."""
    out = np.empty((len(target), len(penalties)))
    folds = assign_folds(np.zeros(len(target), dtype=np.int64), RIDGE_FOLDS)
    for fold in range(RIDGE_FOLDS):
        left, rest = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        rows = CentredRows(X.select(rest), counts[rest])
        mean = rows.average(target[rest])
        V = rows.iterate(target[rest] - mean, penalties)
        out[left] = X.select(left).times(V) - rows.mean @ V + mean
    return out


@dataclass(frozen=True, eq=False)
class CentredRows:
    """The matrix A of rows minus their mean, times the roots of their counts."""

    X: Matrix
    counts: FloatArray

    @cached_property
    def roots(self) -> FloatArray:
        return np.sqrt(self.counts)

    @cached_property
    def mean(self) -> FloatArray:
        """The mean row."""
        return np.asarray(self.X.transposed_times(self.counts[:, None])[:, 0] / self.counts.sum())

    def average(self, y: FloatArray) -> float:
        return float(self.counts @ y / self.counts.sum())

    def times(self, v: FloatArray) -> FloatArray:
        return np.asarray(self.roots * (self.X.times(v[:, None])[:, 0] - self.mean @ v))

    def transposed_times(self, u: FloatArray) -> FloatArray:
        scaled = self.roots * u
        product = self.X.transposed_times(scaled[:, None])[:, 0]
        return np.asarray(product - self.mean * scaled.sum())

    @cached_property
    def rotated(self) -> tuple[FloatArray, FloatArray]:
        """A in the basis of its principal directions, and its squared singular values."""
        n, m = self.X.shape
        if self.X.is_sparse and n < m:
            values, U = np.linalg.eigh(self._sparse_gram())
        elif n < m:
            A = self._dense()
            values, U = np.linalg.eigh(A @ A.T)
        else:
            A = self._dense()
            values, V = np.linalg.eigh(A.T @ A)
            return A @ V, np.maximum(values, 0.0)
        values = np.maximum(values, 0.0)
        return U * np.sqrt(values), values

    def _dense(self) -> FloatArray:
        cells = self.X.values.toarray() if self.X.is_sparse else self.X.values
        return np.asarray((cells - self.mean) * self.roots[:, None])

    def _sparse_gram(self) -> FloatArray:
        """Return A times its transpose without a dense A."""
        gram = (self.X.values @ self.X.values.T).toarray()
        share = self.counts / self.counts.sum()
        means = gram @ share
        gram += share @ means - means[:, None] - means
        return np.asarray(gram * self.roots[:, None] * self.roots)

    def solve(self, target: FloatArray, penalty: float) -> FloatArray:
        """Return the weights of a centred target, exactly."""
        R, squares = self.rotated
        scaled = self.roots * target
        residual = scaled - R @ ((R.T @ scaled) / (squares + penalty))
        return self.transposed_times(residual / penalty)

    def leave_one_out(self, target: FloatArray, penalties: FloatArray) -> FloatArray:
        """Predict each row by all others; one column per penalty.

        A left-out residual is the usual residual divided by 1 − the row's influence on itself.
        """
        R, squares = self.rotated
        scale = 1.0 / (squares[:, None] + penalties)
        fitted = R @ ((R.T @ (self.roots * target))[:, None] * scale)
        residual = target[:, None] - fitted / self.roots[:, None]
        own = R**2 @ scale + (self.counts / self.counts.sum())[:, None]
        return np.asarray(target[:, None] - residual / np.maximum(1.0 - own, 1e-12))

    def iterate(self, target: FloatArray, penalties: FloatArray) -> FloatArray:
        """Return the weights of a centred target, one column per penalty.

        Golub and Kahan's bidiagonalisation serves all penalties at once: they are solved in the
        space of its first steps.
        """
        u = self.roots * target
        length = first = float(np.linalg.norm(u))
        U, V = np.empty((MAX_RIDGE_STEPS, len(u))), np.empty((MAX_RIDGE_STEPS, self.X.shape[1]))
        B = np.zeros((MAX_RIDGE_STEPS + 1, MAX_RIDGE_STEPS))
        size = 0
        while size < MAX_RIDGE_STEPS and length > 1e-10 * first:
            U[size] = u / length
            v = self.transposed_times(U[size]) - (B[size, size - 1] * V[size - 1] if size else 0.0)
            v -= V[:size].T @ (V[:size] @ v)
            B[size, size] = np.linalg.norm(v)
            if B[size, size] <= 1e-10 * max(B[0, 0], 1e-150):
                break
            V[size] = v / B[size, size]
            u = self.times(V[size]) - B[size, size] * U[size]
            u -= U[: size + 1].T @ (U[: size + 1] @ u)
            B[size + 1, size] = length = float(np.linalg.norm(u))
            size += 1
        P, s, Q = np.linalg.svd(B[: size + 1, :size], full_matrices=False)
        filtered = (s * P[0])[:, None] / (s[:, None] ** 2 + penalties)
        return np.asarray(first * (V[:size].T @ (Q.T @ filtered)))
