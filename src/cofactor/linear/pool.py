"""The pool: the parts of a view, weighted by how they predict held-out labels.

Held-out labels choose the penalty of softmax regression and the weights of the parts, which also
calibrate the probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_softmax, softmax

from cofactor._fields import instance, number
from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.engine.observations import Observations
from cofactor.engine.threads import Threads
from cofactor.linear.folds import Distinct, assign_folds, distinct_rows
from cofactor.linear.lbfgs import LBFGS
from cofactor.linear.parts import (
    EM_ROUNDS,
    SOFTMAX,
    Labels,
    LinearModel,
    ViewParts,
    softmax_path,
    softmax_regression,
)
from cofactor.linear.penalties import SOFTMAX_PENALTIES, USUAL_PENALTY
from cofactor.linear.views import Matrix, View, choose_view, one_blas_thread
from cofactor.metrics.accuracy import wilson_interval

MAX_TEN_FOLD_LABELS = 60
"""Up to this many labelled samples there are ten folds, then five."""
MAX_CROSS_VALIDATED_LABELS = 1500
"""Above this many labelled samples only one of five folds is held out."""
MAX_ROTATED_SIDE = 2000
"""Dense data with more rows and columns than this are not rotated to their principal axes."""
MAX_TABLE_CELLS = 2**20
"""Folds are fitted side by side while a table of their scores or weights has fewer cells."""
FOLD_ROUNDS = 8
"""Number of rounds of expectation maximisation with some labels hidden."""
MIN_PART_SHARE = 0.05
"""Minimum weight of a part, relative to its usual one: unlucky labels must not silence all."""
GUESS_CONFIDENCE = 0.6
"""Guesses are sharpened until their mean confidence is this."""
MIN_GUESSED_SHARE = 0.02
"""Smaller guessed shares, relative to the largest, become zero, so that guesses stay sparse."""


@dataclass(frozen=True)
class ExpectedScore:
    """The score to expect on new samples like those of the fit, from held-out labels.

    It is the score of the features' part of the head; the topics' part usually adds to it. A class
    with a single label cannot be held out and does not count, so the score is too high if there are
    many such classes.

    Parameters
    ----------
    value : float
        The score on held-out labels.
    low, high : float
        Its 95 % interval.
    n_samples : float
        Number of held-out labels, counted with their weights.
    measure : {"accuracy", "micro-F1", "R²"}
        What is measured.
    """

    value: float = number()
    low: float = number()
    high: float = number()
    n_samples: float = number()
    measure: str = instance(str, default="accuracy")

    def __str__(self) -> str:
        if self.measure == "R²":
            return f"R² {self.value:.2f} ({self.low:.2f} to {self.high:.2f})"
        return f"{self.measure} {self.value:.0%} ({self.low:.0%} to {self.high:.0%})"


@dataclass(frozen=True)
class ExpectedCoverage:
    """What to expect on new samples if uncertain predictions are left out, from held-out labels.

    It rests on the features' part of the head alone, as `ExpectedScore` does.

    Parameters
    ----------
    abstain : float
        Predictions less probable than this are left out.
    coverage : float
        Share of samples that get a prediction.
    accuracy : float or None
        Share of these predictions that are right; None without predictions.
    low, high : float
        Its 95 % interval.
    n_samples : float
        Number of held-out labels, counted with their weights.
    """

    abstain: float
    coverage: float
    accuracy: float | None
    low: float
    high: float
    n_samples: float

    @classmethod
    def of(cls, held_out: FloatArray, abstain: float) -> ExpectedCoverage:
        """Count held-out predictions; see `Pool.held_out`."""
        confidence, right, weight = held_out
        sure = confidence >= abstain
        total, kept = float(weight.sum()), float(weight[sure].sum())
        if kept == 0.0:
            return cls(abstain, 0.0, None, 0.0, 1.0, total)
        p = float(np.average(right[sure], weights=weight[sure]))
        return cls(abstain, kept / total, p, *wilson_interval(p, kept), total)

    def __str__(self) -> str:
        if self.accuracy is None:
            return "no prediction"
        reach = f"{self.low:.0%} to {self.high:.0%}"
        return f"a prediction for {self.coverage:.0%}, right for {self.accuracy:.0%} ({reach})"


@dataclass(frozen=True, eq=False)
class Pool:
    """The weighted sum of the parts of a view, which is a linear model, and how it came about."""

    view: View
    model: LinearModel
    sharpness: float
    parts: dict[str, float]
    """Weight of each part."""
    penalty: float
    expected: ExpectedScore | None = None
    held_out: FloatArray | None = None
    """Held-out predictions: confidence, whether right, and weight of each (3, n)."""

    def scores(self, data: Observations, threads: Threads) -> FloatArray:
        """Return the scores of the classes; softmax turns them into probabilities."""
        return self.model.scores(Matrix(self.view.of(data), threads))

    def shares(self, data: Observations, threads: Threads) -> FloatArray:
        """Return guessed shares of samples in the classes."""
        return self.guesses(self.scores(data, threads))

    def guesses(self, scores: FloatArray) -> FloatArray:
        """Return sharpened shares; negligible ones are zero."""
        Q = softmax(self.sharpness * scores, axis=1)
        least = MIN_GUESSED_SHARE * Q.max(axis=1, keepdims=True)
        Q = np.where(least > Q, 0.0, Q)
        return np.asarray(Q / Q.sum(axis=1, keepdims=True))


def fit_pool(
    data: Observations,
    counts: FloatArray,
    shares: FloatArray,
    labelled: BoolArray,
    threads: Threads,
    exponent: int = 0,
    confidence: FloatArray | None = None,
    importance: FloatArray | None = None,
) -> tuple[Pool, FloatArray]:
    """Fit the pool; return it and the scores of all samples.

    ``shares`` are the classes of the labelled samples and ``confidence`` their weights, up to 1;
    ``importance`` are the weights of their classes. The data were divided by 2**exponent.
    """
    with one_blas_thread():
        view = choose_view(data, counts, exponent)
        V = view.of(data)
        X, labels, _ = _distinct_samples(
            V, counts, shares, labelled, threads, confidence=confidence, importance=importance
        )
        X, basis = _rotated(X)
        model, weights, penalty, held_out = _fit_parts(ViewParts(X, labels))
        if basis is not None:
            model = LinearModel(basis @ model.weights, model.base)
        scores = model.scores(Matrix(V, threads))
        sharpness = _sharpness(scores[~labelled & (counts > 0)])
        expected = None if held_out is None else _expected(held_out)
    return Pool(view, model, sharpness, weights, penalty, expected, held_out), scores


def held_out_scores(
    data: Observations,
    counts: FloatArray,
    shares: FloatArray,
    labelled: BoolArray,
    threads: Threads,
) -> FloatArray:
    """Return scores of the labelled samples by pools that do not know their labels.

    Equal samples with equal labels are held out together. Rows of other samples, and of classes
    with a single label, are NaN. Parameters are those of `fit_pool`.
    """
    found = np.full(shares.shape, np.nan)
    with one_blas_thread():
        V = choose_view(data, counts, 0).of(data)
        X, labels, distinct = _distinct_samples(V, counts, shares, labelled, threads)
        parts = ViewParts(_rotated(X)[0], labels)
        if (held := _held_out(parts, every=True)) is not None:
            of_distinct = np.full(labels.shares.shape, np.nan)
            of_distinct[held[0]] = _weigh(parts, *held).scores
            lengths = np.diff(np.r_[distinct.starts, len(distinct.order)])
            found[distinct.order] = np.repeat(of_distinct, lengths, axis=0)
    return found


def _distinct_samples(
    V: Any,
    counts: FloatArray,
    shares: FloatArray,
    labelled: BoolArray,
    threads: Threads,
    confidence: FloatArray | None = None,
    importance: FloatArray | None = None,
) -> tuple[Matrix, Labels, Distinct]:
    """Return the distinct samples of a view and their labels."""
    distinct = distinct_rows(V, shares, labelled, counts)
    rows = distinct.rows
    known = labelled[rows]
    Y = np.where(known[:, None], shares[rows], 0.0)
    trusted = counts if confidence is None else counts * confidence
    weights = np.where(known, distinct.total(trusted), 0.0)
    labels = Labels(Y, weights, distinct.weights, None if importance is None else importance[rows])
    return Matrix(V[rows], threads), labels, distinct


def _rotated(X: Matrix) -> tuple[Matrix, FloatArray | None]:
    """Rotate dense samples to their principal axes, so that few steps of regression suffice."""
    return X.rotated() if not X.is_sparse and min(X.shape) <= MAX_ROTATED_SIDE else (X, None)


def _fit_parts(parts: ViewParts) -> tuple[LinearModel, dict[str, float], float, FloatArray | None]:
    """Return the model, the weights of its parts, the penalty and held-out predictions."""
    X, labels = parts.X, parts.labels
    models = parts.fit(labels, EM_ROUNDS)
    if (held := _held_out(parts)) is None:
        beta, penalty, record = parts.weights_without_held_out(models), USUAL_PENALTY, None
    else:
        beta, penalty, scores = _weigh(parts, *held)
        record = judged(scores, labels.shares[held[0]], labels.weights[held[0]])
    models[SOFTMAX] = softmax_regression(X, labels.shares, labels.costs, penalty)
    weights = dict(zip(parts.names, beta.tolist(), strict=True))
    model = LinearModel(
        sum(weights[name] * models[name].weights for name in parts.names),
        sum(weights[name] * models[name].base for name in parts.names),
    )
    return model, weights, penalty, record


class _Weighed(NamedTuple):
    """Weights of the parts, the penalty of softmax regression, and scores of held-out samples."""

    beta: FloatArray
    penalty: float
    scores: FloatArray


def _weigh(parts: ViewParts, out: IntArray, Z: dict[float, FloatArray]) -> _Weighed:
    """Choose penalty and weights by held-out labels; arguments are what `_held_out` returns."""
    truth, weight = parts.labels.shares[out], parts.labels.costs[out]
    tried = {p: _part_weights(z, truth, weight, *parts.usual_weights()) for p, z in Z.items()}
    penalty = min(tried, key=lambda p: tried[p][1])
    beta = tried[penalty][0]
    return _Weighed(beta, penalty, Z[penalty] @ beta)


def _held_out(
    parts: ViewParts, every: bool = False
) -> tuple[IntArray, dict[float, FloatArray]] | None:
    """Return the held-out samples, and the parts' scores of them for each penalty.

    Of many samples one fold suffices to weigh the parts; ``every`` holds out all.
    """
    place, n_folds = _folds(parts.labels)
    one = np.count_nonzero(parts.labels.known) > MAX_CROSS_VALIDATED_LABELS and not every
    folds = [fold for fold in range(1 if one else n_folds) if (place == fold).any()]
    if not folds:
        return None
    variables = max(parts.X.shape) * parts.labels.shares.shape[1]
    step = max(1, MAX_TABLE_CELLS // variables)
    groups = [folds[i : i + step] for i in range(0, len(folds), step)]
    out = np.concatenate([np.flatnonzero(np.isin(place, group)) for group in groups])
    found = [_scores_without(parts, place, group) for group in groups]
    return out, {p: np.concatenate([scores[p] for scores in found]) for p in SOFTMAX_PENALTIES}


def _folds(labels: Labels) -> tuple[IntArray, int]:
    """Return the fold of each sample and their number; a class with one label is not held out."""
    n_folds = 10 if np.count_nonzero(labels.known) <= MAX_TEN_FOLD_LABELS else 5
    classes = np.where(labels.known, labels.shares.argmax(axis=1), -1)
    return assign_folds(classes, n_folds, min_size=2), n_folds


def _scores_without(parts: ViewParts, place: IntArray, folds: list[int]) -> dict[float, FloatArray]:
    """Return scores of the samples in some folds by parts that do not know the fold's labels.

    They have shape (samples, classes, parts), for each penalty of softmax regression.
    """
    rest = parts.labels.without(place[:, None] == folds)
    out = np.flatnonzero(np.isin(place, folds))
    new, own = parts.X.select(out), np.searchsorted(folds, place[out])

    def scores(model: LinearModel) -> FloatArray:
        return np.asarray(model.scores(new)[np.arange(len(out)), own])

    known = {name: scores(model) for name, model in parts.fit(rest, FOLD_ROUNDS).items()}
    Z = {}
    path = softmax_path(parts.X, rest.shares, rest.costs, SOFTMAX_PENALTIES)
    for penalty, model in path.items():
        each = known | {SOFTMAX: scores(model)}
        Z[penalty] = np.stack([each[name] for name in parts.names], axis=2)
    return Z


def _part_weights(
    Z: FloatArray, truth: FloatArray, weight: FloatArray, usual: FloatArray, strength: float
) -> tuple[FloatArray, float]:
    """Return nonnegative weights of the parts that make held-out labels likely, and the cost."""
    bounds = MIN_PART_SHARE * usual, np.full(len(usual), np.inf)
    search = LBFGS(usual + 1e-3, iterations=200, slope=1e-5, decrease=1e-10, bounds=bounds)
    while not search.done:
        log_p = log_softmax(Z @ search.point, axis=1)
        slope = np.einsum("i,ic,icp->p", weight, np.exp(log_p) - truth, Z)
        apart = search.point - usual
        cost = -weight @ (truth * log_p).sum(axis=1) + strength / 2 * apart @ apart
        search.update(float(cost), slope + strength * apart)
    return search.point, search.cost


def judged(scores: FloatArray, truth: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the confidence of each prediction, whether it is right, and its weight (3, n)."""
    right = truth.argmax(axis=1) == scores.argmax(axis=1)
    return np.stack([softmax(scores, axis=1).max(axis=1), right, weight])


def _expected(held_out: FloatArray) -> ExpectedScore:
    """Return the accuracy on held-out labels with Wilson's 95 % interval."""
    _, right, weight = held_out
    p, n = float(np.average(right, weights=weight)), float(weight.sum())
    return ExpectedScore(p, *wilson_interval(p, n), n)


def _sharpness(scores: FloatArray) -> float:
    """Return the smallest factor 1.3^j at which the guesses are confident enough."""
    if not len(scores):
        return 1.0
    for j in range(16):
        if softmax(1.3**j * scores, axis=1).max(axis=1).mean() >= GUESS_CONFIDENCE:
            return float(1.3**j)
    return 64.0
