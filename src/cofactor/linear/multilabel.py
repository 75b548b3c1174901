"""Several labels per sample: one logistic regression for each label, here called a tag.

Held-out scores choose the penalty, the threshold of each tag and the curve of the probabilities
(`cofactor.linear.calibration`). They are kept as histograms, so that memory does not grow with
samples × tags. Thresholds belong to the scores of the pooled head; the other heads fit targets
of 0 and 1 and hold out nothing, so `cofactor.targets.classes` decides at 0.5 for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.linear.calibration import ProbabilityCurve, fit_curve
from cofactor.linear.folds import assign_folds
from cofactor.linear.lbfgs import LBFGS
from cofactor.linear.parts import LinearModel
from cofactor.linear.penalties import LOGISTIC_PENALTIES, USUAL_PENALTY
from cofactor.linear.pool import ExpectedScore
from cofactor.linear.views import Matrix
from cofactor.metrics.accuracy import wilson_interval

MAX_CROSS_VALIDATED_ROWS = 3000
"""Up to this many samples there are five folds, which all choose the penalty; of more samples, one
of three folds does."""
TAG_SMOOTHINGS = (10.0, 30.0, 100.0, 300.0)
"""Numbers of imaginary tags that pull the threshold of a rare tag towards that of all tags."""
SCORE_EDGES = np.arange(-10.0, 8.01, 0.04)
"""Scores that thresholds are chosen from."""
SCORED_TOGETHER = 512
"""Number of samples that are scored together."""
TAGS_TOGETHER = 16
"""Number of tags that are solved together, as one separable problem."""
MAX_LOGISTIC_ITERATIONS = 200
"""Maximum number of iterations of a regression."""
MIN_LOGISTIC_DECREASE = 1e-6
"""A regression stops when a step lowers the cost by less than this share."""


@dataclass(frozen=True, eq=False)
class TagModel:
    """Scores of tags, linear in the view.

    Parameters
    ----------
    model : LinearModel
        Scores of k tags from m features.
    thresholds : array (k,)
        A sample has a tag if its score is at least this.
    curve : ProbabilityCurve
        Turns scores into probabilities.
    penalty : float
    expected : ExpectedScore or None
        Micro-F1 to expect on new samples; None if no tag was held out.
    """

    model: LinearModel
    thresholds: FloatArray
    curve: ProbabilityCurve
    penalty: float
    expected: ExpectedScore | None


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
    if len(counts) < _folds_of(len(counts)):
        model = logistic_regressions(X, Y, counts, USUAL_PENALTY, known)
        return TagModel(model, np.zeros(Y.shape[1]), ProbabilityCurve(), USUAL_PENALTY, None)
    penalty, held_out, _ = _CrossValidation(X, Y, counts, known).held_out()
    model = logistic_regressions(X, Y, counts, penalty, known)
    pooled = sum(held_out[1:], held_out[0])
    rule = best_rule(held_out)
    thresholds = above_base(SCORE_EDGES[rule.places(pooled)], model.base)
    return TagModel(model, thresholds, pooled.curve(), penalty, expected_of(held_out, rule))


# ---- logistic regressions


def logistic_regressions(
    X: Matrix,
    Y: Any,
    counts: FloatArray,
    penalty: float,
    known: BoolArray | None = None,
    start: LinearModel | None = None,
) -> LinearModel:
    """Minimise Σ count · log loss + penalty/2 · |W|² for each tag.

    The bases are not penalised. An empty row that is half yes and half no is added to each tag, so
    that bases stay finite. Parameters are those of `fit_tags`; ``start`` is a model to start from.
    """
    used = X.used_columns
    part = X.columns(used)
    squares = Matrix(csr_array(part.squares()) if X.is_sparse else part.squares(), X.threads)
    weighted = csr_array(Y.multiply(counts[:, None]))
    order = np.argsort(-np.asarray(weighted.sum(axis=0)).ravel(), kind="stable")
    table = np.zeros((X.shape[1] + 1, Y.shape[1]))
    rows = np.append(used, X.shape[1])
    for low in range(0, len(order), TAGS_TOGETHER):
        some = order[low : low + TAGS_TOGETHER]
        cells = counts[:, None] if known is None else counts[:, None] * known[:, some]
        problem = _Logistic(part, squares, weighted[:, some].toarray(), cells, penalty)
        first = problem.rates
        if start is not None:
            first = np.vstack([start.weights[np.ix_(used, some)], start.base[some]])
        table[np.ix_(rows, some)] = problem.solve(first)
    return LinearModel(table[:-1], table[-1].copy())


class _Logistic:
    """Logistic regressions of some tags, minimised as one problem.

    Parameters
    ----------
    X, squares : Matrix (n, m)
    Y : array (n, k)
        Weight of the samples that have each tag.
    cells : array (n, k) or (n, 1)
        Weight of each cell; 0 where a cell is unknown.
    """

    def __init__(
        self, X: Matrix, squares: Matrix, Y: FloatArray, cells: FloatArray, penalty: float
    ) -> None:
        self.X, self.squares, self.cells, self.penalty = X, squares, cells, penalty
        # the sum of the features over the samples that have a tag, and the number of these samples
        self.moment = np.vstack([X.transposed_times(Y), Y.sum(axis=0) + 0.5])

    @property
    def rates(self) -> FloatArray:
        """The model that knows only how frequent the tags are."""
        out = np.zeros_like(self.moment)
        total = self.cells.sum(axis=0) + 1.0
        out[-1] = np.log(self.moment[-1] / (total - self.moment[-1]))
        return out

    def solve(self, first: FloatArray) -> FloatArray:
        """Return the weights, with the bases as the last row."""
        unit = 1.0 / np.sqrt(self.curvature(first))  # L-BFGS then needs few steps
        start = (first / unit).ravel()
        search = LBFGS(
            start, iterations=MAX_LOGISTIC_ITERATIONS, slope=1e-6, decrease=MIN_LOGISTIC_DECREASE
        )
        while not search.done:
            cost, slope = self.cost(search.point.reshape(first.shape) * unit)
            search.update(cost, (slope * unit).ravel())
        return np.asarray(search.point.reshape(first.shape) * unit)

    def cost(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return what is minimised and its slope."""
        z = self.X.times(x[:-1])
        z += x[-1]
        np.maximum(z, -500.0, out=z)  # so that exp does not overflow
        odds = np.exp(-z)
        odds += 1.0
        z += np.log(odds)  # log loss of "no"
        z *= self.cells
        value = z.sum() + np.logaddexp(0.0, x[-1]).sum()
        value += self.penalty / 2 * np.sum(x[:-1] ** 2) - np.sum(x * self.moment)
        weighted = np.divide(self.cells, odds, out=odds)
        slope = np.vstack([self.X.transposed_times(weighted), weighted.sum(axis=0) + expit(x[-1])])
        slope -= self.moment
        slope[:-1] += self.penalty * x[:-1]
        return float(value), slope

    def curvature(self, x: FloatArray) -> FloatArray:
        """Return the second derivative by each variable."""
        p, empty = expit(self.X.times(x[:-1]) + x[-1]), expit(x[-1])
        weighted = self.cells * p * (1.0 - p)
        base = weighted.sum(axis=0) + empty * (1.0 - empty)
        return np.vstack([self.squares.transposed_times(weighted) + self.penalty, base])


# ---- held-out scores


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
        """Return, for each edge, the number of tags given, of right ones, and of all true tags."""
        given = np.cumsum(self.all[:, :0:-1], axis=1)[:, ::-1]
        right = np.cumsum(self.yes[:, :0:-1], axis=1)[:, ::-1]
        return given, right, self.yes.sum(axis=1)

    def curve(self) -> ProbabilityCurve:
        """Return the probabilities of scores; those between two edges count as their middle."""
        middles = np.concatenate(
            [SCORE_EDGES[:1], (SCORE_EDGES[:-1] + SCORE_EDGES[1:]) / 2, SCORE_EDGES[-1:]]
        )
        return fit_curve(middles, self.all.sum(axis=0), self.yes.sum(axis=0))


def above_base(thresholds: FloatArray, base: FloatArray) -> FloatArray:
    """Raise thresholds so that an empty sample gets only the tags that most samples have."""
    return np.where(base < 0, np.maximum(thresholds, np.nextafter(base, np.inf)), thresholds)


class ThresholdRule(NamedTuple):
    """How thresholds follow from held-out scores.

    Parameters
    ----------
    smoothing : float
        How strongly the threshold of a tag is pulled towards that of all tags.
    matching : bool
        Whether all thresholds rise together until no more tags are given than are true.
    """

    smoothing: float
    matching: bool

    def places(self, held_out: Histogram) -> IntArray:
        """Return for each tag the edge t with the largest (2·right + s·F(t)) / (given + true + s).

        F(t) is the micro-F1 of all tags at t, and s the smoothing: tags with few samples follow the
        others. Of neighbouring edges with the same value the middle one is chosen.
        """
        given, right, true = held_out.above()
        together = 2 * right.sum(axis=0) / np.maximum(given.sum(axis=0) + true.sum(), 1e-300)
        s = self.smoothing
        value = (2 * right + s * together) / (given + true[:, None] + s)
        first = value.argmax(axis=1)
        less = value < value.max(axis=1, keepdims=True)
        less &= np.arange(len(SCORE_EDGES)) > first[:, None]
        end = np.where(less.any(axis=1), less.argmax(axis=1), len(SCORE_EDGES))
        places = np.asarray((first + end - 1) // 2)
        return raised(places, given, float(true.sum())) if self.matching else places


def raised(places: IntArray, given: FloatArray, most: float) -> IntArray:
    """Raise all places by the fewest steps after which at most ``most`` tags are given."""
    tags, last = np.arange(len(places)), given.shape[1] - 1
    for step in range(last):
        moved = np.minimum(places + step, last)
        if given[tags, moved].sum() <= most:
            return np.asarray(moved)
    return places


RULES = [ThresholdRule(s, matching) for matching in (False, True) for s in TAG_SMOOTHINGS]


def best_rule(held_out: list[Histogram]) -> ThresholdRule:
    """Return the rule with the largest micro-F1 if each fold gets the thresholds of the others."""
    return max(RULES, key=lambda rule: _shared_tags(held_out, rule)[0])


def _folds_of(n: int) -> int:
    return 5 if n <= MAX_CROSS_VALIDATED_ROWS else 3


@dataclass(frozen=True, eq=False)
class _CrossValidation:
    """Models of some folds that score the others; samples without features are not scored."""

    X: Matrix
    Y: Any
    counts: FloatArray
    known: BoolArray | None

    def folds(self) -> list[tuple[IntArray, IntArray]]:
        """Return the samples that train a model, and those that it scores, for each fold."""
        n = len(self.counts)
        folds = assign_folds(np.zeros(n, dtype=np.int64), _folds_of(n))
        filled = self.X.filled_rows
        return [
            (np.flatnonzero(folds != fold), np.flatnonzero((folds == fold) & filled))
            for fold in range(_folds_of(n))
        ]

    def held_out(self) -> tuple[float, list[Histogram], list[LinearModel]]:
        """Choose the penalty; return it with the scores and the model of each fold."""
        n = len(self.counts)
        trains, tests = zip(*self.folds(), strict=True)
        tried = 1 if n > MAX_CROSS_VALIDATED_ROWS else len(trains)
        models: Sequence[LinearModel | None] = [None] * tried
        best, least = USUAL_PENALTY, np.inf
        kept: list[Histogram] = []
        chosen: list[LinearModel] = []
        for penalty in LOGISTIC_PENALTIES:
            fitted = [
                self.model(rows, penalty, start)
                for rows, start in zip(trains, models, strict=False)
            ]
            scored = [self.compare(*pair) for pair in zip(fitted, tests, strict=False)]
            models, loss = fitted, sum(loss for loss, _ in scored)
            if loss >= least:
                break
            best, least, kept = penalty, loss, [histogram for _, histogram in scored]
            chosen = fitted
        for train, test in zip(trains[tried:], tests[tried:], strict=True):
            chosen.append(self.model(train, best))
            kept.append(self.compare(chosen[-1], test)[1])
        return best, kept, chosen

    def model(
        self, rows: IntArray, penalty: float, start: LinearModel | None = None
    ) -> LinearModel:
        """Fit some samples."""
        known = None if self.known is None else self.known[rows]
        part = self.X.select(rows), self.Y[rows], self.counts[rows]
        return logistic_regressions(*part, penalty, known, start)

    def compare(self, model: LinearModel, rows: IntArray) -> tuple[float, Histogram]:
        """Return the log loss and the scores of some samples."""
        k, width = self.Y.shape[1], len(SCORE_EDGES) + 1
        sums, loss = np.zeros((2, k * width)), 0.0
        for low in range(0, len(rows), SCORED_TOGETHER):
            some = rows[low : low + SCORED_TOGETHER]
            z, truth = model.scores(self.X.select(some)), self.Y[some].toarray()
            weights = np.broadcast_to(self.counts[some, None], z.shape)
            if self.known is not None:
                weights = weights * self.known[some]
            loss += float((weights * (np.logaddexp(0.0, z) - truth * z)).sum())
            place = (np.searchsorted(SCORE_EDGES, z, side="right") + width * np.arange(k)).ravel()
            sums[0] += np.bincount(place, weights.ravel(), k * width)
            sums[1] += np.bincount(place, (weights * truth).ravel(), k * width)
        return loss, Histogram(*sums.reshape(2, k, width))


def held_out_tags(
    X: Matrix, Y: Any, counts: FloatArray, known: BoolArray | None = None
) -> FloatArray:
    """Return held-out scores minus thresholds, as `fit_tags` judges them; NaN if none was held out.

    A tag is given where this is at least 0. Parameters are those of `fit_tags`.
    """
    leads = np.full(Y.shape, np.nan)
    if len(counts) < _folds_of(len(counts)):
        return leads
    cross = _CrossValidation(X, Y, counts, known)
    _, held_out, models = cross.held_out()
    rule = best_rule(held_out)
    for i, (_, test) in enumerate(cross.folds()):
        others = [other for j, other in enumerate(held_out) if j != i]
        thresholds = SCORE_EDGES[rule.places(sum(others[1:], others[0]))]
        leads[test] = models[i].scores(X.select(test)) - thresholds
    return leads


def held_out_log_likelihoods(X: Matrix, Y: Any, known: BoolArray | None = None) -> FloatArray:
    """Return how likely the tags of each sample are for a model that has not seen them.

    Parameters are those of `fit_tags`; all models have the usual penalty.
    """
    n = X.shape[0]
    out, folds = np.zeros(n), assign_folds(np.zeros(n, dtype=np.int64), _folds_of(n))
    for fold in range(folds.max(initial=-1) + 1):
        test, rest = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        some = None if known is None else known[rest]
        parts = X.select(rest), Y[rest], np.ones(len(rest))
        Z = logistic_regressions(*parts, USUAL_PENALTY, some).scores(X.select(test))
        gain = Y[test].toarray() * Z - np.logaddexp(0.0, Z)
        out[test] = (gain if known is None else gain * known[test]).sum(axis=1)
    return out


def _shared_tags(held_out: list[Histogram], rule: ThresholdRule) -> tuple[float, float]:
    """Return the share of right tags among those given or true, and the number of these.

    Each fold has the thresholds of the others.
    """
    right = union = 0.0
    for i, fold in enumerate(held_out):
        others = [other for j, other in enumerate(held_out) if j != i]
        place = rule.places(sum(others[1:], others[0]))
        given, hits, true = fold.above()
        rows = np.arange(len(true))
        right += float(hits[rows, place].sum())
        union += float((given[rows, place] - hits[rows, place] + true).sum())
    return (right / union if union else 0.0), union


def expected_of(held_out: list[Histogram], rule: ThresholdRule) -> ExpectedScore | None:
    """Return the micro-F1 of each fold at the thresholds of the others, with a 95 % interval.

    With J the share of right tags among those given or true, F1 is 2J / (1 + J); the interval is
    Wilson's of J.
    """
    J, union = _shared_tags(held_out, rule)
    if union == 0.0:
        return None
    value, low, high = (2 * x / (1 + x) for x in (J, *wilson_interval(J, union)))
    return ExpectedScore(value, low, high, union, "micro-F1")
