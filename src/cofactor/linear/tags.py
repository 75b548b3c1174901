"""Several labels a sample: which tags a sample has, by one logistic regression for each tag.

Held-out scores choose the penalty, the threshold of each tag and the curve of the probabilities.
They are kept as histograms, so that memory does not grow with samples times tags.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from cofactor._types import BoolArray, FloatArray
from cofactor.linear.linear import LinearModel
from cofactor.linear.logistic import logistic_regressions
from cofactor.linear.matrix import Matrix, with_one_blas_thread
from cofactor.linear.pool import ExpectedScore, wilson_interval

PENALTIES = (0.3, 0.1, 0.03, 0.01)
"""Penalties that held-out log loss chooses from, in this order until it rises."""
USUAL_PENALTY = 0.1
"""The penalty where nothing is held out."""
FOLDS = 3
MANY = 3000
"""Above this many samples one fold chooses the penalty."""
SMOOTHING = 10.0
"""Number of imagined tags that pull the threshold of a rare tag to that of all tags."""
EDGES = np.arange(-10.0, 8.01, 0.04)
"""Scores that thresholds are chosen from."""
SCORED = 512
"""Number of samples that are scored together."""


class Curve(NamedTuple):
    """The probability that belongs to a score (beta calibration, Kull et al. 2017).

    ``below`` and ``above`` are its slopes, in log odds, far below and far above a score of 0;
    ``shift`` is added. Both slopes 1 and shift 0 give the logistic function.
    """

    below: float = 1.0
    above: float = 1.0
    shift: float = 0.0

    def of(self, scores: FloatArray) -> FloatArray:
        """Return the probabilities of scores."""
        return np.asarray(expit(self.log_odds(scores)))

    def log_odds(self, z: FloatArray) -> FloatArray:
        return np.asarray(
            self.above * np.logaddexp(0.0, z) - self.below * np.logaddexp(0.0, -z) + self.shift
        )


@dataclass(frozen=True, eq=False)
class TagModel:
    """Scores of tags, linear in the view.

    Parameters
    ----------
    model : LinearModel
        Scores of k tags from m features.
    thresholds : array (k,)
        A sample has a tag if its score is at least this.
    curve : Curve
        Turns scores into probabilities.
    penalty : float
    expected : ExpectedScore or None
        Micro-F1 to expect on new samples; None if no tag was held out.
    """

    model: LinearModel
    thresholds: FloatArray
    curve: Curve
    penalty: float
    expected: ExpectedScore | None

    def decide(self, scores: FloatArray) -> BoolArray:
        """Return which tags samples have."""
        return np.asarray(scores >= self.thresholds)


@with_one_blas_thread
def fit_tags(X: Matrix, Y: Any, counts: FloatArray, known: BoolArray | None = None) -> TagModel:
    """Fit a logistic regression for each tag.

    Parameters
    ----------
    X : Matrix (n, m)
        View of distinct labelled samples, in the order of their content.
    Y : csr_array (n, k)
        One where a sample has a tag; unknown cells are zero.
    counts : array (n,)
        How often each sample counts, more than 0.
    known : array (n, k) or None
        Which cells of Y are known; None means all.
    """
    if len(counts) < FOLDS:
        model = logistic_regressions(X, Y, counts, USUAL_PENALTY, known)
        return TagModel(model, np.zeros(Y.shape[1]), Curve(), USUAL_PENALTY, None)
    penalty, held_out = _Folds(X, Y, counts, known).held_out()
    model = logistic_regressions(X, Y, counts, penalty, known)
    pooled = sum(held_out[1:], held_out[0])
    thresholds = above_base(choose_thresholds(pooled), model.base)
    return TagModel(model, thresholds, fit_curve(pooled), penalty, _expected(held_out))


@dataclass(frozen=True, eq=False)
class Histogram:
    """Held-out scores between edges; scores below the first edge are in column 0.

    Parameters
    ----------
    all : array (k, edges + 1)
        Weight of the samples of each tag.
    yes : array (k, edges + 1)
        Weight of those that have the tag.
    """

    all: FloatArray
    yes: FloatArray

    def __add__(self, other: Histogram) -> Histogram:
        return Histogram(self.all + other.all, self.yes + other.yes)

    def above(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return for each edge the tags given, those given rightly, and all true tags."""
        given = np.cumsum(self.all[:, :0:-1], axis=1)[:, ::-1]
        right = np.cumsum(self.yes[:, :0:-1], axis=1)[:, ::-1]
        return given, right, self.yes.sum(axis=1)


def above_base(thresholds: FloatArray, base: FloatArray) -> FloatArray:
    """Raise thresholds so that a sample that says nothing has only tags that most samples have."""
    return np.where(base < 0, np.maximum(thresholds, np.nextafter(base, np.inf)), thresholds)


def choose_thresholds(held_out: Histogram) -> FloatArray:
    """Choose the edge t with the largest (2·right + s·F(t)) / (given + true + s) for each tag.

    F(t) is the micro-F1 of all tags at t: tags with few samples follow the others. Of neighbouring
    edges with the same value the middle one is chosen.
    """
    given, right, true = held_out.above()
    together = 2 * right.sum(axis=0) / np.maximum(given.sum(axis=0) + true.sum(), 1e-300)
    value = (2 * right + SMOOTHING * together) / (given + true[:, None] + SMOOTHING)
    first = value.argmax(axis=1)
    less = value < value.max(axis=1, keepdims=True)
    less &= np.arange(len(EDGES)) > first[:, None]
    end = np.where(less.any(axis=1), less.argmax(axis=1), len(EDGES))
    return np.asarray(EDGES[(first + end - 1) // 2])


@dataclass(frozen=True, eq=False)
class _Folds:
    """Models of some folds that score the others."""

    X: Matrix
    Y: Any
    counts: FloatArray
    known: BoolArray | None

    def held_out(self) -> tuple[float, list[Histogram]]:
        """Choose the penalty; return it with the scores of each fold."""
        first = range(1 if len(self.counts) > MANY else FOLDS)
        starts: Sequence[LinearModel | None] = [None] * len(first)
        best, least, kept = USUAL_PENALTY, np.inf, []
        for penalty in PENALTIES:
            models = [self.model(fold, penalty, starts[fold]) for fold in first]
            scored = [self.compare(model, fold) for fold, model in enumerate(models)]
            starts = models
            loss = sum(loss for loss, _ in scored)
            if loss >= least:
                break
            best, least, kept = penalty, loss, [histogram for _, histogram in scored]
        for fold in range(len(first), FOLDS):
            kept.append(self.compare(self.model(fold, best), fold)[1])
        return best, kept

    def model(self, fold: int, penalty: float, start: LinearModel | None = None) -> LinearModel:
        """Fit the samples outside a fold."""
        rows = np.flatnonzero(np.arange(len(self.counts)) % FOLDS != fold)
        known = None if self.known is None else self.known[rows]
        part = self.X.select(rows), self.Y[rows], self.counts[rows]
        return logistic_regressions(*part, penalty, known, start)

    def compare(self, model: LinearModel, fold: int) -> tuple[float, Histogram]:
        """Return the log loss and the scores of a fold."""
        rows = np.arange(fold, len(self.counts), FOLDS)
        k, width = self.Y.shape[1], len(EDGES) + 1
        sums, loss = np.zeros((2, k * width)), 0.0
        for low in range(0, len(rows), SCORED):
            some = rows[low : low + SCORED]
            z, truth = model.scores(self.X.select(some)), self.Y[some].toarray()
            weights = np.broadcast_to(self.counts[some, None], z.shape)
            if self.known is not None:
                weights = weights * self.known[some]
            loss += float((weights * (np.logaddexp(0.0, z) - truth * z)).sum())
            place = (np.searchsorted(EDGES, z, side="right") + width * np.arange(k)).ravel()
            sums[0] += np.bincount(place, weights.ravel(), k * width)
            sums[1] += np.bincount(place, (weights * truth).ravel(), k * width)
        return loss, Histogram(*sums.reshape(2, k, width))


def fit_curve(held_out: Histogram) -> Curve:
    """Fit the curve that makes held-out tags most likely; scores count as the middle of their bin.

    Half the squared distance to the logistic function is added, for the sake of few samples.
    """
    middles = np.concatenate([EDGES[:1], (EDGES[:-1] + EDGES[1:]) / 2, EDGES[-1:]])
    total, yes = held_out.all.sum(axis=0), held_out.yes.sum(axis=0)
    usual = np.array(Curve())

    def cost(values: FloatArray) -> float:
        z = Curve(*values).log_odds(middles)
        apart = values - usual
        return float(total @ np.logaddexp(0.0, z) - yes @ z + apart @ apart / 2)

    found = minimize(cost, usual, bounds=[(0.05, 5.0), (0.05, 5.0), (-5.0, 5.0)], method="L-BFGS-B")
    return Curve(*found.x.tolist())


def _expected(held_out: list[Histogram]) -> ExpectedScore | None:
    """Return the micro-F1 of each fold at the thresholds of the others, with a 95 % interval.

    With J the share of right tags among those given or true, F1 is 2J / (1 + J); the interval is
    Wilson's of J.
    """
    right = union = 0.0
    for i, fold in enumerate(held_out):
        others = [other for j, other in enumerate(held_out) if j != i]
        place = np.searchsorted(EDGES, choose_thresholds(sum(others[1:], others[0])))
        given, hits, true = fold.above()
        rows = np.arange(len(true))
        right += float(hits[rows, place].sum())
        union += float((given[rows, place] - hits[rows, place] + true).sum())
    if union == 0.0:
        return None
    J = right / union
    value, low, high = (2 * x / (1 + x) for x in (J, *wilson_interval(J, union)))
    return ExpectedScore(value, low, high, union, "micro-F1")
