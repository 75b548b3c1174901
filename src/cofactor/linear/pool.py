"""The pool: the parts of one or more views, weighted by how they predict held-out labels.

Held-out labels choose the penalty of softmax regression and the weights of the parts, which also
calibrate the probabilities. The first view is that of the features; a second one may be that of
vectors from outside ("side"). Each view chooses its own penalty, then the parts of all views are
weighed together, on the same folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_softmax, softmax

from cofactor._fields import FieldSizes, checked, instance, number
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
from cofactor.linear.views import Matrix, SideView, View, choose_view, one_blas_thread
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
VIEW_SHARES = (0.5, 0.7)
"""Usual weights of the features' parts and of the side's, relative to those of a view alone, if
there are many labels."""
DOUBTED_LABELS = 20.0
"""With this many labels, the usual weights are half way from the features alone to that."""
ONE_LABEL_SHARES = (0.75, 0.75)
"""The same where no label can be held out."""
VIEWS_STRENGTH = 10.0
"""How strongly the usual weights hold if there are several views."""
SIDE = "side "
"""Comes before the names of the parts of the side."""
GUESS_CONFIDENCE = 0.6
"""Guesses are sharpened until their mean confidence is this."""
MIN_GUESSED_SHARE = 0.02
"""Smaller guessed shares, relative to the largest, become zero, so that guesses stay sparse."""


def _numbers_fault(value: Any, sizes: FieldSizes) -> str | None:
    good = isinstance(value, tuple) and all(type(one) is float for one in value)
    return None if good else "is not a tuple of numbers"


@dataclass(frozen=True)
class ExpectedScore:
    """The score to expect on new samples like those of the fit, from held-out labels.

    It is the score of the features' part of the head; the topics' part usually adds to it. Samples
    without any feature do not count, because nothing can be predicted for them. A class with a
    single label cannot be held out and does not count, so the score is too high if there are many
    such classes.

    Parameters
    ----------
    value : float
        The score on held-out labels.
    low, high : float
        Its 95 % interval.
    n_samples : float
        Number of held-out labels, counted with their weights.
    measure : {"accuracy", "micro-F1", "R²"}
        What is measured; of several numbers, the mean R².
    targets : tuple of float
        R² of each number, if there are several.
    natural : tuple of float
        R² of each number in its own units, if logarithms are learned; ``value`` is then that of the
        logarithms.
    """

    value: float = number()
    low: float = number()
    high: float = number()
    n_samples: float = number()
    measure: str = instance(str, default="accuracy")
    targets: tuple[float, ...] = checked(_numbers_fault, default=())
    natural: tuple[float, ...] = checked(_numbers_fault, default=())

    def __str__(self) -> str:
        if self.measure == "R²":
            score = f"R² {self.value:.2f} ({self.low:.2f} to {self.high:.2f})"
            units = ", ".join(f"{value:.2f}" for value in self.natural)
            if self.targets:
                score = f"mean {score}; each: {', '.join(f'{one:.2f}' for one in self.targets)}"
                return f"{score}; in the units of the labels: {units}" if units else score
            return f"{score} of logarithms, {units} in the units of the labels" if units else score
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
    """The weighted sum of the parts, which is a linear model of each view, and how it came about.

    The base of ``model`` is that of all views.
    """

    view: View
    model: LinearModel
    sharpness: float
    parts: dict[str, float]
    """Weight of each part."""
    penalty: float
    expected: ExpectedScore | None = None
    held_out: FloatArray | None = None
    """Held-out predictions: confidence, whether right, and weight of each (3, n)."""
    side: SideView | None = None
    side_weights: FloatArray | None = None
    """What each axis of the side adds to the score of each class (d, c)."""

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
    side: FloatArray | None = None,
) -> tuple[Pool, FloatArray]:
    """Fit the pool; return it and the scores of all samples.

    ``shares`` are the classes of the labelled samples and ``confidence`` their weights, up to 1;
    ``importance`` are the weights of their classes. The data were divided by 2**exponent. ``side``
    (n, d) are further vectors of the samples.
    """
    with one_blas_thread():
        view = choose_view(data, counts, exponent)
        V = view.of(data)
        found, labels, _ = _distinct_samples(
            V,
            counts,
            shares,
            labelled,
            threads,
            confidence=confidence,
            importance=importance,
            side=side,
        )
        rotated = [_rotated(X) for X in found.matrices]
        fit = _fit_parts([ViewParts(X, labels) for X, _ in rotated])
        W = [
            weights if basis is None else basis @ weights
            for weights, (_, basis) in zip(fit.weights, rotated, strict=True)
        ]
        model = LinearModel(W[0], fit.base)
        scores = model.scores(Matrix(V, threads))
        if found.side is not None and side is not None:
            scores = scores + Matrix(found.side.of(side), threads).times(W[1])
        sharpness = _sharpness(scores[~labelled & (counts > 0)])
        expected = None if fit.held_out is None else _expected(fit.held_out)
    pool = Pool(
        view,
        model,
        sharpness,
        fit.parts,
        fit.penalty,
        expected,
        fit.held_out,
        found.side,
        None if found.side is None else W[1],
    )
    return pool, scores


def held_out_scores(
    data: Observations,
    counts: FloatArray,
    shares: FloatArray,
    labelled: BoolArray,
    threads: Threads,
    side: FloatArray | None = None,
    *,
    exponent: int = 0,
    confidence: FloatArray | None = None,
    importance: FloatArray | None = None,
    every: bool = True,
) -> FloatArray:
    """Return scores of the labelled samples by pools that do not know their labels.

    Equal samples with equal labels are held out together. Rows of other samples, and of classes
    with a single label, are NaN. Parameters are those of `fit_pool`; without ``every``, only those
    labels are held out that `fit_pool` holds out, and the expected score is that of these rows.
    """
    with one_blas_thread():
        V = choose_view(data, counts, exponent).of(data)
        samples, labels, distinct = _distinct_samples(
            V,
            counts,
            shares,
            labelled,
            threads,
            confidence=confidence,
            importance=importance,
            side=side,
        )
        views = [ViewParts(_rotated(X)[0], labels) for X in samples.matrices]
        found = np.full(labels.shares.shape, np.nan)
        if (weighed := _weigh(views, every=every)) is not None:
            found[weighed.out] = weighed.scores
    return distinct.of_each(found, len(shares))


class _Samples(NamedTuple):
    """Distinct samples as each view shows them, and the view of the side if there is one."""

    matrices: list[Matrix]
    side: SideView | None


def _distinct_samples(
    V: Any,
    counts: FloatArray,
    shares: FloatArray,
    labelled: BoolArray,
    threads: Threads,
    confidence: FloatArray | None = None,
    importance: FloatArray | None = None,
    side: FloatArray | None = None,
) -> tuple[_Samples, Labels, Distinct]:
    """Return the samples that are distinct in all views, and their labels."""
    distinct = distinct_rows(V, shares, labelled, counts, side)
    rows = distinct.rows
    known = labelled[rows]
    Y = np.where(known[:, None], shares[rows], 0.0)
    trusted = counts if confidence is None else counts * confidence
    weights = np.where(known, distinct.total(trusted), 0.0)
    X = Matrix(V[rows], threads)
    costs = None if importance is None else importance[rows]
    labels = Labels(Y, weights, distinct.weights, costs, X.filled_rows)
    if side is None:
        return _Samples([X], None), labels, distinct
    # The distinct samples come in an order of their own, so the sums are the same for permuted
    # rows.
    vectors = np.asarray(side[rows], dtype=np.float64)
    view = SideView.fitted(vectors, distinct.weights)
    return _Samples([X, Matrix(view.of(vectors), threads)], view), labels, distinct


def _rotated(X: Matrix) -> tuple[Matrix, FloatArray | None]:
    """Rotate dense samples to their principal axes, so that few steps of regression suffice."""
    return X.rotated() if not X.is_sparse and min(X.shape) <= MAX_ROTATED_SIDE else (X, None)


class _PartsFit(NamedTuple):
    """The fitted parts of all views: weights of each view, their base, and how they came about."""

    weights: list[FloatArray]
    base: FloatArray
    parts: dict[str, float]
    penalty: float
    held_out: FloatArray | None


def _fit_parts(views: Sequence[ViewParts]) -> _PartsFit:
    """Fit the parts of all views and weigh them."""
    labels = views[0].labels
    models = [parts.fit(labels, EM_ROUNDS) for parts in views]
    if (weighed := _weigh(views)) is None:
        betas, penalties, record = _unweighed(views, models), [USUAL_PENALTY] * len(views), None
    else:
        betas, penalties, out, scores = weighed
        record = judged(scores, labels.shares[out], labels.weights[out])
    weights: list[FloatArray] = []
    bases: list[FloatArray] = []
    named: dict[str, float] = {}
    for place, (parts, own, beta, penalty) in enumerate(
        zip(views, models, betas, penalties, strict=True)
    ):
        own[SOFTMAX] = softmax_regression(parts.X, labels.shares, labels.costs, penalty)
        found = dict(zip(parts.names, beta.tolist(), strict=True))
        weights.append(sum(found[name] * own[name].weights for name in parts.names))
        bases.append(sum(found[name] * own[name].base for name in parts.names))
        named |= {f"{SIDE if place else ''}{name}": weight for name, weight in found.items()}
    return _PartsFit(weights, np.asarray(sum(bases)), named, penalties[0], record)


class _Weighed(NamedTuple):
    """Weights of the parts and penalty of each view; held-out samples and their scores."""

    betas: list[FloatArray]
    penalties: list[float]
    out: IntArray
    scores: FloatArray


def _weigh(views: Sequence[ViewParts], every: bool = False) -> _Weighed | None:
    """Choose penalties and weights by held-out labels; None if no label can be held out.

    ``every`` holds out all labels.
    """
    alone = [_weigh_view(parts, every) for parts in views]
    if alone[0] is None:
        return None
    if len(views) == 1:
        beta, penalty, out, Z = alone[0]
        return _Weighed([beta], [penalty], out, Z @ beta)
    labels = views[0].labels
    priors = _shared(_view_shares(labels), [parts.usual_weights()[0] for parts in views])
    found = [view for view in alone if view is not None]
    # Which folds are fitted side by side depends on the number of columns, so views have other
    # orders of the same held-out samples.
    out = np.sort(found[0].out)
    Z = np.concatenate([view.Z[np.argsort(view.out)] for view in found], axis=2)
    beta, _ = _part_weights(
        Z, labels.shares[out], labels.costs[out], np.concatenate(priors), VIEWS_STRENGTH
    )
    ends = np.cumsum([len(prior) for prior in priors])[:-1]
    return _Weighed(np.split(beta, ends), [view.penalty for view in found], out, Z @ beta)


def _view_shares(labels: Labels) -> tuple[float, float]:
    """Return the usual weights of the two views: few labels do not tell whether the side helps."""
    n = float(labels.weights.sum())
    sure = n / (n + DOUBTED_LABELS)
    return 1.0 - sure * (1.0 - VIEW_SHARES[0]), sure * VIEW_SHARES[1]


def _unweighed(
    views: Sequence[ViewParts], models: list[dict[str, LinearModel]]
) -> list[FloatArray]:
    """Return the weights of the parts where no label can be held out."""
    pairs = zip(views, models, strict=True)
    usual = [parts.weights_without_held_out(own) for parts, own in pairs]
    return usual if len(usual) == 1 else _shared(ONE_LABEL_SHARES, usual)


def _shared(shares: Sequence[float], weights: list[FloatArray]) -> list[FloatArray]:
    return [share * weight for share, weight in zip(shares, weights, strict=True)]


class _WeighedView(NamedTuple):
    """Weights and penalty of one view alone; held-out samples and the parts' scores of them."""

    beta: FloatArray
    penalty: float
    out: IntArray
    Z: FloatArray


def _weigh_view(parts: ViewParts, every: bool) -> _WeighedView | None:
    """Choose penalty and weights of one view by held-out labels."""
    if (held := _held_out(parts, every)) is None:
        return None
    out, Z = held
    truth, weight = parts.labels.shares[out], parts.labels.costs[out]
    tried = {p: _part_weights(z, truth, weight, *parts.usual_weights()) for p, z in Z.items()}
    penalty = min(tried, key=lambda p: tried[p][1])
    return _WeighedView(tried[penalty][0], penalty, out, Z[penalty])


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
    """Return the fold of each sample and their number.

    Samples without features and classes with one label are not held out.
    """
    n_folds = 10 if np.count_nonzero(labels.known) <= MAX_TEN_FOLD_LABELS else 5
    scored = labels.known if labels.filled is None else labels.known & labels.filled
    classes = np.where(scored, labels.shares.argmax(axis=1), -1)
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
