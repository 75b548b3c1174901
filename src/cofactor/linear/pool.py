"""The pool: the parts of one or more views, weighted by how they predict held-out labels.

Held-out labels choose the penalty of softmax regression and the weights of the parts, which also
calibrate the probabilities. The first view is that of the features; others may be those of axes of
the features, of further features, and of vectors from outside. Each view chooses its own
penalty, then the parts of all views are weighed together, on the same folds. Weights of axes are
folded back to the features, so the pool has one linear model of the features, one of further
features, and one of vectors.

Where no label can be held out, views teach each other: parts that learn from unlabelled samples
are fitted once more, to what all views guess together.

Labels are often drawn evenly from classes that are not. Naive Bayes learns the shares of the
classes from unlabelled samples; a few labels in vectors do not show them. So the base of the
vectors' model is corrected, as far as guesses are right for held-out labels: vectors alone then
expect about the shares that all views guess together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_softmax, softmax

from cofactor._fields import FieldSizes, checked, instance, number
from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.engine.observations import Observations
from cofactor.engine.threads import Threads
from cofactor.linear.axes import principal_axes
from cofactor.linear.familiar import FamiliarSamples, familiar_samples, left_out, unlike_held_out
from cofactor.linear.folds import Distinct, assign_folds, distinct_rows
from cofactor.linear.lbfgs import LBFGS
from cofactor.linear.parts import (
    EM_ROUNDS,
    MIXTURE,
    SOFTMAX,
    Labels,
    LinearModel,
    ViewParts,
    softmax_path,
    softmax_regression,
)
from cofactor.linear.penalties import SOFTMAX_PENALTIES, USUAL_PENALTY
from cofactor.linear.views import FURTHER, VECTORS, Axes, Matrix, Side, SideViews, View, choose_view
from cofactor.metrics.accuracy import wilson_interval

MAX_TEN_FOLD_LABELS = 60
"""Up to this many labelled samples there are ten folds, then five."""
MAX_CROSS_VALIDATED_LABELS = 1500
"""Above this many labelled samples only one of five folds is held out."""
MAX_ROTATED_LENGTH = 2000
"""Dense data with more rows and columns than this are not rotated to their principal axes."""
MAX_TABLE_CELLS = 2**20
"""Folds are fitted side by side while a table of their scores or weights has fewer cells."""
FOLD_ROUNDS = 8
"""Number of rounds of expectation maximisation with some labels hidden."""
WEIGHING_GROUPS = 5
"""Number of groups of held-out labels that are predicted with weights that the others choose."""
MIN_PART_SHARE = 0.05
"""Minimum weight of a part, relative to its usual one: unlucky labels must not silence all."""
FEATURES, AXES = "", "axes "
"""Views of the features; they come before the names of their parts."""
VIEW_SHARES = {FEATURES: 0.5, AXES: 0.5, FURTHER: 0.25, VECTORS: 0.7}
"""Usual weights of the parts of each kind of view beside others, relative to those of the view
alone."""
VIEWS_STRENGTH = 10.0
"""How strongly the usual weights hold if there are several views."""
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
    of which nothing is known do not count, because nothing can be predicted for them. A class with
    a single label cannot be held out and does not count, so the score is too high if there are many
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
        return self.said()

    def said(self, names: Sequence[Any] = ()) -> str:
        """Return the score as text; several numbers are told apart by their names."""
        if self.measure != "R²":
            return f"{self.measure} {self.value:.0%} ({self.low:.0%} to {self.high:.0%})"
        score = f"R² {self.value:.2f} ({self.low:.2f} to {self.high:.2f})"
        if not self.targets:
            own = "".join(f"{one:.2f} in the units of the labels" for one in self.natural)
            return f"{score} of logarithms, {own}" if own else score
        natural = self.natural or self.targets
        names = names or range(len(self.targets))
        each = [_of_number(*one) for one in zip(names, self.targets, natural, strict=True)]
        return f"mean {score}; {'; '.join(each)}"


def _of_number(name: Any, score: float, natural: float) -> str:
    if isnan(score):
        return f"{name} unknown"
    own = "" if natural == score else f" of logarithms, {natural:.2f} in its units"
    return f"{name} {score:.2f}{own}"


@dataclass(frozen=True)
class ExpectedCoverage:
    """What to expect on new samples if uncertain predictions are left out, from held-out labels.

    It rests on the features' part of the head alone, as `ExpectedScore` does.

    Parameters
    ----------
    abstain : float
        Predictions less probable than this are left out, and those of samples that are unlike the
        labelled ones.
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
    def of(
        cls, held_out: FloatArray, unlike: FloatArray | None, abstain: float
    ) -> ExpectedCoverage:
        """Count held-out predictions; see `Pool.held_out` and `Pool.held_out_unlike`."""
        confidence, right, weight = held_out
        sure = ~left_out(confidence, unlike, abstain)
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
    held_out_unlike: FloatArray | None = None
    """How unlike the labelled samples of its predicted class each held-out one is (n,)."""
    side: SideViews = field(default_factory=SideViews)
    side_weights: dict[str, FloatArray] = field(default_factory=dict)
    """What each column of a view of the side adds to the score of each class, by the view."""
    familiar: FamiliarSamples | None = None
    """Labelled samples that new ones are compared with."""

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


@dataclass(frozen=True, eq=False)
class PartlyLabelled:
    """Samples of which some have known classes.

    Parameters
    ----------
    data : Observations
        Features, divided by 2**exponent.
    counts : array (n,)
        Sample weights.
    shares : array (n, k)
        Classes of the labelled samples.
    labelled : array (n,) of bool
    exponent : int, default=0
    confidence : array (n,), optional
        Weights of the labels, up to 1.
    importance : array (n,), optional
        Weights of their classes.
    side : Side, optional
        What is known of the samples beside the data.
    exposed : bool, default=False
        Whether totals are scales: principal axes of the features take their place.
    """

    data: Observations
    counts: FloatArray
    shares: FloatArray
    labelled: BoolArray
    exponent: int = 0
    confidence: FloatArray | None = None
    importance: FloatArray | None = None
    side: Side | None = None
    exposed: bool = False


def fit_pool(
    given: PartlyLabelled, threads: Threads, keep_samples: bool = False
) -> tuple[Pool, FloatArray]:
    """Fit the pool; return it and the scores of all samples.

    ``keep_samples``: keep labelled samples, so that others can be compared with them.
    """
    problem = _prepare(given, threads)
    samples, labels, views = problem.samples, problem.labels, problem.views
    familiar, fit = threads.both(
        lambda: familiar_samples(samples, labels) if keep_samples else None,
        lambda: _fit_parts(views, _weigh(views), labels),
    )
    model, of_side = _folded(views, fit)
    scores = model.scores(Matrix(problem.V, threads))
    for name, rows in problem.side.of(given.side, threads).items():
        scores = scores + rows.times(of_side[name])
    sharpness = _sharpness(scores[~given.labelled & (given.counts > 0)])
    held_out = expected = unlike = None
    if (weighed := fit.weighed) is not None:
        held_out = _judged(weighed, labels)
        expected = _expected(held_out)
        if familiar is not None:
            unlike = unlike_held_out(familiar, samples, labels, weighed.out, weighed.unseen)
    pool = Pool(
        problem.view,
        model,
        sharpness,
        fit.parts,
        fit.penalty,
        expected,
        held_out,
        unlike,
        problem.side,
        of_side,
        familiar,
    )
    return pool, scores


class HeldOutLabels:
    """Labels that pools have held out: their scores, and pools that do not know some of them.

    Equal samples with equal labels are held out together. Without ``every``, only those labels are
    held out that `fit_pool` holds out, and the expected score is that of these rows.
    """

    def __init__(self, given: PartlyLabelled, threads: Threads, every: bool = True) -> None:
        self.n, self.problem, self.threads = len(given.shares), _prepare(given, threads), threads
        self.weighed = _weigh(self.problem.views, every)

    def scores(self) -> FloatArray:
        """Return scores of the samples by pools that do not know their labels.

        Rows of unlabelled samples, and of classes with a single label, are NaN.
        """
        views, labels, weighed = self.problem.views, self.problem.labels, self.weighed
        found = np.full(labels.shares.shape, np.nan)
        if weighed is not None and views[-1].vectors:  # only their correction needs final models
            weighed = _fit_parts(views, weighed, labels).weighed
        if weighed is not None:
            found[weighed.out] = weighed.unseen
        return self.problem.distinct.of_each(found, self.n)

    def in_groups(self, rows: IntArray) -> IntArray:
        """Return a group for each of some samples with held-out labels: those of one group can be
        hidden together.

        A group has at most a tenth of the labels of a class, or one, so models still know it.
        """
        labels, places = self.problem.labels, self.problem.distinct.places(self.n)[rows]
        classes = labels.shares.argmax(axis=1)
        most = np.maximum(1, np.bincount(classes[labels.known]) // 10)
        groups = np.empty(len(rows), dtype=np.int64)
        for c in set(classes[places]):
            _, rank = np.unique(places[classes[places] == c], return_inverse=True)
            groups[classes[places] == c] = rank // most[c]
        return groups

    def pool_without(self, rows: IntArray) -> Pool:
        """Return the pool that does not know the labels of some samples, but weighs its parts as
        all held-out labels tell."""
        problem, hidden = self.problem, np.zeros(len(self.problem.distinct.rows), dtype=bool)
        hidden[problem.distinct.places(self.n)[rows]] = True
        fit = _fit_parts(problem.views, self.weighed, problem.labels.without(hidden))
        model, of_side = _folded(problem.views, fit)
        return Pool(
            problem.view,
            model,
            1.0,
            fit.parts,
            fit.penalty,
            side=problem.side,
            side_weights=of_side,
        )


def held_out_scores(given: PartlyLabelled, threads: Threads) -> FloatArray:
    """Return scores of the labelled samples by pools that do not know their labels; see
    `HeldOutLabels`."""
    return HeldOutLabels(given, threads).scores()


class _PreparedViews(NamedTuple):
    """Distinct samples with their labels, as all views show them."""

    view: View
    V: Any
    """All samples, as the view of the features shows them."""
    distinct: Distinct
    samples: Matrix
    """The distinct samples in the same view."""
    labels: Labels
    views: list[ViewParts]
    side: SideViews


def _prepare(given: PartlyLabelled, threads: Threads) -> _PreparedViews:
    counts, shares = given.counts, given.shares
    confidence, importance = given.confidence, given.importance
    view = choose_view(given.data, counts, given.exponent, exposed=given.exposed)
    V = view.of(given.data)
    distinct = distinct_rows(V, shares, given.labelled, counts, given.side)
    X = Matrix(V[distinct.rows], threads)
    shown, of_side = _shown(X, distinct, given.side, given.exposed)
    known = given.labelled[distinct.rows]
    trusted = counts if confidence is None else counts * confidence
    labels = Labels(
        np.where(known[:, None], shares[distinct.rows], 0.0),
        np.where(known, distinct.total(trusted), 0.0),
        distinct.weights,
        None if importance is None else importance[distinct.rows],
        np.any([X.filled_rows, *(rows.filled_rows for rows, _ in shown.values())], axis=0),
    )
    usual = VIEW_SHARES if len(shown) > 1 else dict.fromkeys(shown, 1.0)
    views = [_view_parts(*shown[name], labels, name, usual[name]) for name in shown]
    return _PreparedViews(view, V, distinct, X, labels, views, of_side)


def _shown(
    X: Matrix, distinct: Distinct, side: Side | None, exposed: bool
) -> tuple[dict[str, tuple[Matrix, Axes | None]], SideViews]:
    """Return what each view shows of the distinct samples X, and how their side is seen."""
    shown: dict[str, tuple[Matrix, Axes | None]] = {FEATURES: (X, None)}
    if exposed:
        axes = principal_axes(X, distinct.weights)
        shown = {AXES: (axes.of(X), axes)}
    if side is None:
        return shown, SideViews()
    # The distinct samples come in an order of their own, so the sums are the same for permuted
    # rows.
    rows = side[distinct.rows]
    of_side = SideViews.fitted(rows, distinct.weights)
    shown |= {name: (seen, None) for name, seen in of_side.of(rows, X.threads).items()}
    return shown, of_side


def _view_parts(X: Matrix, axes: Axes | None, labels: Labels, name: str, share: float) -> ViewParts:
    """Rotate dense samples to their principal axes, so that few steps of regression suffice."""
    if not X.is_sparse and min(X.shape) <= MAX_ROTATED_LENGTH:
        X, basis = X.rotated()
        axes = Axes(basis, np.zeros(basis.shape[1])) if axes is None else axes.rotated(basis)
    return ViewParts(X, labels, name, share, axes, vectors=name == VECTORS, spreads=name != FURTHER)


def _folded(
    views: Sequence[ViewParts], fit: _PartsFit
) -> tuple[LinearModel, dict[str, FloatArray]]:
    """Return the model of the features with the base of all views, and the weights of the side."""
    models = {parts.name: parts.fold(model) for parts, model in zip(views, fit.models, strict=True)}
    base = np.sum([model.base for model in models.values()], axis=0)
    own = _sum([models.pop(name) for name in (FEATURES, AXES) if name in models])
    return LinearModel(own.weights, base), {name: model.weights for name, model in models.items()}


def _sum(models: Sequence[LinearModel]) -> LinearModel:
    """Return the sum of models of the same columns."""
    first, *rest = models
    for model in rest:
        first = LinearModel(first.weights + model.weights, first.base + model.base)
    return first


class _PartsFit(NamedTuple):
    """The weighted parts of each view, and how they came about."""

    models: list[LinearModel]
    parts: dict[str, float]
    penalty: float
    weighed: _Weighed | None


def _fit_parts(views: Sequence[ViewParts], weighed: _Weighed | None, labels: Labels) -> _PartsFit:
    """Fit the parts of all views to labels; those held out have chosen penalties and weights."""
    unused = (MIXTURE,) if weighed is None else ()
    penalties = [USUAL_PENALTY] * len(views) if weighed is None else weighed.penalties

    def fit(parts: ViewParts, penalty: float) -> dict[str, LinearModel]:
        others, regression = parts.X.threads.both(
            lambda: parts.fit(labels, EM_ROUNDS, but=unused),
            lambda: softmax_regression(parts.X, labels.shares, labels.costs, penalty),
        )
        return {**others, SOFTMAX: regression}

    fitted = [*map(fit, views, penalties)]
    betas = _unweighed(views, fitted) if weighed is None else weighed.betas
    models = _weighted(fitted, betas)
    if weighed is None and len(views) > 1:
        guessed = _guessed(views, models)
        for parts, own, beta in zip(views, fitted, betas, strict=True):
            idle = [name for name in parts.names if not beta.get(name)]
            own |= parts.fit(labels, EM_ROUNDS, guessed, but=idle)
        models = _weighted(fitted, betas)
    if weighed is not None and views[-1].vectors:
        models, weighed = _with_shares(views, models, weighed)
    named = {
        f"{parts.name}{name}": float(weight)
        for parts, beta in zip(views, betas, strict=True)
        for name, weight in beta.items()
    }
    return _PartsFit(models, named, penalties[0], weighed)


def _with_shares(
    views: Sequence[ViewParts], models: list[LinearModel], weighed: _Weighed
) -> tuple[list[LinearModel], _Weighed]:
    """Correct the base of the vectors' model, the last one, and the held-out scores.

    Probabilities by vectors are multiplied by the shares of the classes that all views guess, and
    divided by those that vectors guess alone; the power is the held-out accuracy above chance.
    """
    labels = views[0].labels
    each = [model.scores(parts.X) for parts, model in zip(views, models, strict=True)]
    together, alone = (labels.counts @ softmax(z, axis=1) + 1.0 for z in (sum(each), each[-1]))
    truth, weights = labels.shares[weighed.out], labels.weights[weighed.out]
    _, right, weight = judged(weighed.scores, truth, weights)
    chance = 1.0 / len(alone)
    above = max(0.0, float(np.average(right, weights=weight)) - chance)
    correction = above / max(1.0 - chance, chance) * np.log(together / alone)
    vectors = LinearModel(models[-1].weights, models[-1].base + correction)
    return [*models[:-1], vectors], weighed._replace(unseen=weighed.unseen + correction)


def _judged(weighed: _Weighed, labels: Labels) -> FloatArray:
    return judged(weighed.unseen, labels.shares[weighed.out], labels.weights[weighed.out])


def _weighted(
    fitted: Sequence[dict[str, LinearModel]], betas: Sequence[dict[str, float]]
) -> list[LinearModel]:
    """Return the weighted sum of the parts of each view."""
    return [
        _sum(
            [
                LinearModel(weight * own[name].weights, weight * own[name].base)
                for name, weight in beta.items()
            ]
        )
        for own, beta in zip(fitted, betas, strict=True)
    ]


def _guessed(views: Sequence[ViewParts], models: Sequence[LinearModel]) -> FloatArray:
    """Return what all views together guess of the samples; known shares stay."""
    labels = views[0].labels
    scores = sum(model.scores(parts.X) for parts, model in zip(views, models, strict=True))
    return np.where(labels.known[:, None], labels.shares, softmax(scores, axis=1))


class _Weighed(NamedTuple):
    """Weights of the parts and penalty of each view; held-out samples and their scores.

    Weights fit the labels that chose them. ``unseen`` are scores by weights that other held-out
    labels chose, which tell what to expect of new samples.
    """

    betas: list[dict[str, float]]
    penalties: list[float]
    out: IntArray
    scores: FloatArray
    unseen: FloatArray


def _weigh(views: Sequence[ViewParts], every: bool = False) -> _Weighed | None:
    """Choose penalties and weights by held-out labels; None if no label can be held out.

    ``every`` holds out all labels.
    """
    held = [found for parts in views if (found := _held_out(parts, every)) is not None]
    if not held:
        return None
    out = held[0][0]
    truth, costs = views[0].labels.shares[out], views[0].labels.costs[out]
    chosen = [
        _choose_penalty(parts, Z, truth, costs) for parts, (_, Z) in zip(views, held, strict=True)
    ]
    usual, strength = _usual_weights(views)
    Z = np.concatenate([scores for _, scores in chosen], axis=2)
    beta, _ = _part_weights(Z, truth, costs, usual, strength)
    each = np.split(beta, np.cumsum([len(parts.names) for parts in views])[:-1])
    betas = [
        dict(zip(parts.names, own.tolist(), strict=True))
        for parts, own in zip(views, each, strict=True)
    ]
    penalties = [penalty for penalty, _ in chosen]
    unseen = _unseen_scores(Z, truth, costs, usual, strength)
    return _Weighed(betas, penalties, out, Z @ beta, unseen)


def _usual_weights(views: Sequence[ViewParts]) -> tuple[FloatArray, float]:
    """Return the usual weights of the parts of all views, and how strongly they hold."""
    each = [parts.usual_weights() for parts in views]
    usual = [parts.share * weights for parts, (weights, _) in zip(views, each, strict=True)]
    return np.concatenate(usual), each[0][1] if len(views) == 1 else VIEWS_STRENGTH


def _unweighed(
    views: Sequence[ViewParts], models: list[dict[str, LinearModel]]
) -> list[dict[str, float]]:
    """Return the weights of the parts where no label can be held out.

    A view can be trusted as far as unlabelled samples confirm its labels (`ViewParts.agreement`).
    Vectors count beside words in the ratio of their agreements, and less where words agree anyway.
    """
    pairs = [*zip(views, models, strict=True)]
    trust = [parts.share for parts in views]
    if len(views) > 1 and views[-1].vectors and views[-1].graph is not None:
        words, vectors = (parts.agreement(own) for parts, own in (pairs[0], pairs[-1]))
        vectors *= 2 * (1 - words) ** 2  # hence as usual where words agree on three of ten
        total = (words + vectors) / 2
        trust[0], trust[-1] = trust[0] * words / total, trust[-1] * vectors / total
    return [
        {name: own * usual for name, usual in parts.weights_without_held_out(models).items()}
        for own, (parts, models) in zip(trust, pairs, strict=True)
    ]


def _choose_penalty(
    parts: ViewParts, tables: dict[float, FloatArray], truth: FloatArray, costs: FloatArray
) -> tuple[float, FloatArray]:
    """Return the penalty of one view that suits held-out labels, and its parts' scores of them."""
    tried = {
        penalty: _part_weights(Z, truth, costs, *parts.usual_weights())[1]
        for penalty, Z in tables.items()
    }
    best = min(tried, key=lambda penalty: tried[penalty])
    return best, tables[best]


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
    order = np.argsort(out)  # the same for all views, whatever folds are fitted side by side
    tables = {p: np.concatenate([scores[p] for scores in found]) for p in SOFTMAX_PENALTIES}
    return out[order], {penalty: Z[order] for penalty, Z in tables.items()}


def _folds(labels: Labels) -> tuple[IntArray, int]:
    """Return the fold of each sample and their number.

    Samples of which no view shows anything and classes with one label are not held out.
    """
    n_folds = 10 if np.count_nonzero(labels.known) <= MAX_TEN_FOLD_LABELS else 5
    classes = np.where(labels.usable, labels.shares.argmax(axis=1), -1)
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

    others, path = parts.X.threads.both(
        lambda: parts.fit(rest, FOLD_ROUNDS),
        lambda: softmax_path(parts.X, rest.shares, rest.costs, SOFTMAX_PENALTIES),
    )
    known = {name: scores(model) for name, model in others.items()}
    Z = {}
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


def _unseen_scores(
    Z: FloatArray, truth: FloatArray, costs: FloatArray, usual: FloatArray, strength: float
) -> FloatArray:
    """Return scores of each group of held-out samples by weights that the other groups choose."""
    groups = assign_folds(truth.argmax(axis=1), WEIGHING_GROUPS)
    found = np.empty(Z.shape[:2])
    for group in np.unique(groups):
        own = groups == group
        beta, _ = _part_weights(Z[~own], truth[~own], costs[~own], usual, strength)
        found[own] = Z[own] @ beta
    return found


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
