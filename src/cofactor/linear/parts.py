"""Parts: the linear models of one view that a pool weighs.

Naive Bayes, alone and with expectation maximisation; softmax regression; a model of labels that
spread over a graph of neighbours. Vectors have Gaussians that share a covariance in place of naive
Bayes. All are fitted to weighted soft labels (`Labels`) and have one
form (`LinearModel`): scores are sums over the features, so each feature has its part in them.

Several labellings of the same samples, such as those with the labels of one fold hidden, stand on
further axes between samples and classes (here "…"): their models are fitted side by side, and each
product with the samples serves all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.special import softmax

from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.linear.lbfgs import LBFGS
from cofactor.linear.penalties import USUAL_PENALTY
from cofactor.linear.views import Axes, Matrix

UNLABELLED_WEIGHT = 0.1
"""Weight of an unlabelled sample; a labelled one has 1."""
SMOOTHING = 0.01
"""Added to each feature's sum in each class."""
EM_ROUNDS = 12
"""Number of rounds of expectation maximisation."""
MAX_SOFTMAX_ITERATIONS = 200
"""Maximum number of iterations of softmax regression."""
MIN_SOFTMAX_SLOPE = 1e-3
"""Softmax regression stops at a slope below this times the root of the total weight."""
MIN_SOFTMAX_DECREASE = 1e-8
"""Softmax regression stops when a step lowers the cost by less than this share."""
MAX_ROTATED_ROWS = 1000
"""Up to this many samples, if they have more features, are rotated to their principal axes."""
N_NEIGHBOURS = 10
"""Number of neighbours of each sample."""
SPREAD_STEPS = 25
"""Number of steps that labels spread."""
OWN_SHARE = 0.1
"""Share of a sample's own label in each step."""
COSINE_PRECISION = 2.0**26
"""Cosines count as equal if they are when multiplied by this and rounded."""
COSINES_TOGETHER = 32
"""Number of samples whose neighbours are sought together: few, so that they stay in the cache."""
MAX_GRAPH_ROWS = 5000
"""Maximum number of samples in the graph of neighbours."""
GAUSSIAN_AXES = 32
"""Number of axes that Gaussians see: those along which samples vary most."""
EVEN_COVARIANCE = 0.2
"""Share of the covariance of Gaussians that is the same along all axes."""
GAUSSIAN_SCALE = 0.5
"""Scores by Gaussians are multiplied by this: real classes overlap more, so they are too sure."""
BAYES, FLAT, SOFTMAX, SPREAD = "naive Bayes", "naive Bayes, equal shares", "softmax", "neighbours"
MIXTURE = "mixture"
MIN_AGREEMENT = 0.02
"""Added to the agreement of two parts."""


class LinearModel(NamedTuple):
    """Scores of the classes, linear in the features.

    Parameters
    ----------
    weights : array (m, …, c)
        What each feature adds to the score of each class.
    base : array (…, c)
        The score of an empty sample.
    """

    weights: FloatArray
    base: FloatArray

    def scores(self, X: Matrix) -> FloatArray:
        """Return the scores of samples."""
        return X.times(self.weights) + self.base


class Labels(NamedTuple):
    """Soft labels with weights.

    Parameters
    ----------
    shares : array (n, …, c)
        Share of each labelled sample in each class; rows sum to one, others are zero.
    weights : array (n, …)
        Weight of each labelled sample; 0 stands for an unlabelled one.
    counts : array (n,)
        How often each sample counts, labelled or not.
    importance : array (n, …) or None
        Weight of each label by its class, 1 for unlabelled samples; None stands for 1. It
        multiplies the cost of a wrong prediction and the share of a class, but does
        not change what the samples of a class look like.
    filled : array (n,) or None
        Which samples some view shows; the others are not held out. None stands for all.
    """

    shares: FloatArray
    weights: FloatArray
    counts: FloatArray
    importance: FloatArray | None = None
    filled: BoolArray | None = None

    @property
    def known(self) -> BoolArray:
        return np.asarray(self.weights > 0)

    @property
    def usable(self) -> BoolArray:
        """Which samples have a label and are shown by some view."""
        return self.known if self.filled is None else self.known & self.filled

    @property
    def weighted(self) -> FloatArray:
        """Weight of each labelled sample in each class."""
        return self.shares * self.weights[..., None]

    @property
    def costs(self) -> FloatArray:
        """Weight of each labelled sample in the cost of a fit."""
        return self.weights if self.importance is None else self.weights * self.importance

    @property
    def mass(self) -> FloatArray:
        """Total weight of each class."""
        return np.asarray(self.weighted.sum(axis=0))

    def select(self, rows: IntArray) -> Labels:
        """Return the labels of some samples."""
        importance = None if self.importance is None else self.importance[rows]
        return Labels(self.shares[rows], self.weights[rows], self.counts[rows], importance)

    def with_guesses(self, guessed: FloatArray) -> FloatArray:
        """Return weights in the classes; unlabelled samples count a little, as guessed."""
        counts = self.counts.reshape(-1, *[1] * (guessed.ndim - 1))
        return np.where(self.known[..., None], self.weighted, UNLABELLED_WEIGHT * counts * guessed)

    def without(self, hidden: BoolArray) -> Labels:
        """Hide some labels, given as (n, …); the remaining ones of their classes count for them."""
        shape = (slice(None), *[None] * (hidden.ndim - 1))
        weights = np.where(hidden, 0.0, self.weights[shape])
        shares = np.where(weights[..., None] > 0, self.shares[shape], 0.0)
        left = (shares * weights[..., None]).sum(axis=0)
        factor = np.divide(self.mass, left, out=np.ones_like(left), where=left > 0)
        importance = self.importance
        if importance is not None:
            importance = np.where(weights > 0, importance[shape], 1.0)
        weights = weights * (shares * factor).sum(axis=-1)
        return Labels(shares, weights, self.counts, importance)


# ---- naive Bayes


@dataclass(frozen=True, eq=False)
class ClassSums:
    """What naive Bayes learns from samples; the sums of several sets of samples add.

    Parameters
    ----------
    mass : array (m, …, c)
        Sum of each feature in each class.
    count : array (…, c)
        Weight of the samples of each class, times their importance.
    """

    mass: FloatArray
    count: FloatArray

    def __add__(self, other: ClassSums) -> ClassSums:
        return ClassSums(self.mass + other.mass, self.count + other.count)

    def model(self, *, flat: bool = False) -> LinearModel:
        """Return the model; with ``flat`` all classes have the same share."""
        size = self.count + 1.0
        base = np.zeros_like(size) if flat else np.log(size / size.sum(axis=-1, keepdims=True))
        return LinearModel(np.log(normalised(self.mass)), base)


def normalised(mass: FloatArray, smoothing: float = SMOOTHING) -> FloatArray:
    """Smooth the columns, and scale them to sum to one."""
    smoothed = mass + smoothing
    return np.asarray(smoothed / smoothed.sum(axis=0))


def naive_bayes(
    X: Matrix,
    weighted: FloatArray,
    earlier: ClassSums | None = None,
    importance: FloatArray | None = None,
) -> ClassSums:
    """Fit multinomial naive Bayes; ``weighted`` holds each sample's weight in each class.

    ``importance`` is a further weight of each sample in the shares of the classes only.
    """
    mass = X.transposed_times(weighted)
    important = weighted if importance is None else weighted * importance[..., None]
    sums = ClassSums(mass, important.sum(axis=0))
    return sums if earlier is None else earlier + sums


def em_naive_bayes(
    X: Matrix,
    labels: Labels,
    rounds: int = EM_ROUNDS,
    *,
    flat: bool = False,
    earlier: ClassSums | None = None,
    guessed: FloatArray | None = None,
) -> ClassSums:
    """Fit naive Bayes to the labelled samples, then repeatedly also to guesses for the others.

    Expectation maximisation moves the classes' shares with the guesses and can lose a class; with
    ``flat`` it cannot. ``earlier`` are the sums of earlier samples. If shares of all samples are
    ``guessed`` already, it starts from them.
    """
    start = labels.weighted if guessed is None else labels.with_guesses(guessed)
    sums = naive_bayes(X, start, earlier, labels.importance)
    for _ in range(0 if labels.known.all() else rounds):
        weighted = labels.with_guesses(softmax(sums.model(flat=flat).scores(X), axis=-1))
        sums = naive_bayes(X, weighted, earlier, labels.importance)
    return sums


# ---- softmax regression


def softmax_regression(
    X: Matrix,
    shares: FloatArray,
    weights: FloatArray,
    penalty: float,
    *,
    offset: FloatArray | None = None,
) -> LinearModel:
    """Minimise Σ weight · cross-entropy + penalty/2 · |W|²; the base is not penalised.

    Samples of weight 0 are left out. Several labellings, shares (n, …, c) and weights (n, …), are
    fitted as one separable problem. If ``offset`` (n, …, c) is given, the model's scores are added
    to it.
    """
    problem = _Softmax(X, shares, weights, offset)
    return problem.model(problem.solve(penalty, np.zeros(problem.shape)))


def softmax_path(
    X: Matrix, shares: FloatArray, weights: FloatArray, penalties: Sequence[float]
) -> dict[float, LinearModel]:
    """Return the regression for each penalty; each one starts from the one before."""
    problem = _Softmax(X, shares, weights)
    table = np.zeros(problem.shape)
    models = {}
    for penalty in penalties:
        table = problem.solve(penalty, table)
        models[penalty] = problem.model(table)
    return models


class _Softmax:
    """Softmax regression of the samples that have a weight, on the features that they use.

    Fewer samples than features span a small space in which the solution lies; coordinates along
    its axes stand for the features then.
    """

    def __init__(
        self, X: Matrix, shares: FloatArray, weights: FloatArray, offset: FloatArray | None = None
    ) -> None:
        rows = np.flatnonzero(weights.reshape(len(weights), -1).any(axis=1))
        part = X.select(rows)
        self.n_features, self.used = X.shape[1], part.used_columns
        self.X, self.basis = part.columns(self.used), None
        if 2 * len(rows) < len(self.used) and len(rows) <= MAX_ROTATED_ROWS:
            self.X, self.basis = self.X.rotated()
        self.shares, self.weights = shares[rows], weights[rows]
        self.offset = 0.0 if offset is None else offset[rows]
        self.total = self.weights.sum(axis=0)
        self.curvature = self.X.squares().T @ self.weights / 4
        self.shape = (self.X.shape[1] + 1, *shares.shape[1:])

    def solve(self, penalty: float, start: FloatArray) -> FloatArray:
        """Return the weights, with the base as the last row."""
        # Variables in units of their curvature: L-BFGS then needs few steps.
        curvature = np.concatenate([self.curvature + penalty, self.total[None] / 4])
        unit = 1.0 / np.sqrt(curvature)[..., None]
        least = MIN_SOFTMAX_SLOPE * np.sqrt(self.total.min())
        search = LBFGS(
            (start / unit).ravel(),
            iterations=MAX_SOFTMAX_ITERATIONS,
            slope=least,
            decrease=MIN_SOFTMAX_DECREASE,
        )
        while not search.done:
            cost, slope = self.cost(search.point.reshape(self.shape) * unit, penalty)
            search.update(cost, (slope * unit).ravel())
        return np.asarray(search.point.reshape(self.shape) * unit)

    def cost(self, table: FloatArray, penalty: float) -> tuple[float, FloatArray]:
        """Return what is minimised and its slope."""
        W = table[:-1]
        z = self.X.times(W) + table[-1] + self.offset
        z -= z.max(axis=-1, keepdims=True)
        P = np.exp(z)
        sums = P.sum(axis=-1)
        loss = np.sum(self.weights * (np.log(sums) - (self.shares * z).sum(axis=-1)))
        P /= sums[..., None]
        residual = (P - self.shares) * self.weights[..., None]
        slope = np.empty(self.shape)
        slope[:-1] = self.X.transposed_times(residual) + penalty * W
        slope[-1] = residual.sum(axis=0)
        return float(loss + penalty / 2 * np.sum(W**2)), slope

    def model(self, table: FloatArray) -> LinearModel:
        own = table[:-1]
        W = np.zeros((self.n_features, *self.shape[1:]))
        W[self.used] = own if self.basis is None else np.tensordot(self.basis, own, axes=1)
        return LinearModel(W, table[-1].copy())


# ---- labels spread over neighbours


def neighbour_graph(X: Matrix) -> Matrix:
    """Return the graph of the nearest neighbours by cosine, normalised by the roots of degrees.

    An edge's weight is the cosine; edges hold in both directions.
    """
    n = X.shape[0]
    norms = X.row_norms()
    scale = np.divide(1.0, norms, out=np.zeros(n), where=norms > 0).astype(X.values.dtype)
    unit = diags_array(scale) @ X.values if X.is_sparse else X.values * scale[:, None]
    X = Matrix(csr_array(unit) if X.is_sparse else unit, X.threads)
    k = min(N_NEIGHBOURS, n - 1)
    found = X.threads.map(
        lambda low: _nearest(X, low, min(low + COSINES_TOGETHER, n), k),
        range(0, n, COSINES_TOGETHER),
    )
    columns = np.concatenate([columns for columns, _ in found])
    values = np.concatenate([values for _, values in found]).astype(np.float64)
    graph = csr_array((values.ravel(), columns.ravel(), np.arange(n + 1) * k), shape=(n, n))
    graph = csr_array(graph.maximum(graph.T))
    degree = np.asarray(graph.sum(axis=1)).ravel()
    root = diags_array(np.divide(1.0, np.sqrt(degree), out=np.zeros(n), where=degree > 0))
    return Matrix(csr_array(root @ graph @ root), X.threads)


def _nearest(X: Matrix, low: int, high: int, k: int) -> tuple[IntArray, FloatArray]:
    """Return the nearest neighbours of some samples and their cosines, at least 0."""
    some = X.values[low:high]
    cosines = X.times(np.asarray(some.toarray() if X.is_sparse else some).T).T
    cosines[np.arange(high - low), np.arange(low, high)] = -1.0  # not the sample itself
    steps = np.rint(-COSINE_PRECISION * cosines)  # so that rounding does not decide between equals
    columns = np.argpartition(steps, max(k - 1, 0), axis=1)[:, :k]
    return columns, np.maximum(np.take_along_axis(cosines, columns, axis=1), 0.0)


def spread_labels(graph: Matrix, labels: Labels) -> FloatArray:
    """Return the shares of all samples in the classes after labels have spread.

    Each class starts with the same total; squaring sharpens the shares. Labelled samples keep
    their labels; samples that no label reaches have equal shares.
    """
    start = labels.weighted / np.maximum(labels.mass, 1e-300)
    F = start
    for _ in range(SPREAD_STEPS):
        F = (1 - OWN_SHARE) * graph.times(F) + OWN_SHARE * start
    squares = (F / np.maximum(F.max(axis=-1, keepdims=True), 1e-300)) ** 2
    mass = squares.sum(axis=-1, keepdims=True)
    even = np.full_like(squares, 1.0 / squares.shape[-1])
    Q = np.divide(squares, mass, out=even, where=mass > 0)
    return np.where(labels.known[..., None], labels.shares, Q)


# ---- Gaussians


def scatter(X: Matrix, weights: FloatArray) -> FloatArray:
    """Return Σ weight · x xᵀ of dense samples for each labelling (…, m, m)."""
    each = weights.reshape(len(weights), -1).T
    found = np.stack([(X.values.T * own) @ X.values for own in each])
    return found.reshape(*weights.shape[1:], *found.shape[1:])


def class_means(X: Matrix, weighted: FloatArray) -> FloatArray:
    """Return the mean of each class (…, m, c); ``weighted`` are the samples' weights in it."""
    sums = np.moveaxis(X.transposed_times(weighted), 0, -2)
    return np.asarray(sums / np.maximum(weighted.sum(axis=0), 1e-9)[..., None, :])


def within_classes(X: Matrix, weighted: FloatArray, squares: FloatArray) -> FloatArray:
    """Return the covariance within classes (…, m, m); ``squares`` is the `scatter` of all."""
    means, sizes = class_means(X, weighted), weighted.sum(axis=0)
    between = (means * sizes[..., None, :]) @ means.swapaxes(-1, -2)
    return np.asarray((squares - between) / np.maximum(sizes.sum(axis=-1), 1e-9)[..., None, None])


def gaussians(
    X: Matrix, weighted: FloatArray, covariance: FloatArray, importance: FloatArray | None = None
) -> LinearModel:
    """Fit a Gaussian to each class, all with one covariance, so that scores are linear.

    ``weighted`` holds each sample's weight in each class; ``importance`` is that of `naive_bayes`.
    """
    m, means = X.shape[1], class_means(X, weighted)
    counted = weighted.sum(axis=-1)  # the even part is that of all samples: classes may be tight
    even = np.tensordot(X.row_norms() ** 2, counted, axes=(0, 0)) / np.maximum(counted.sum(0), 1e-9)
    even = even[..., None, None] / m + 1e-12
    blend = (1 - EVEN_COVARIANCE) * covariance + EVEN_COVARIANCE * even * np.eye(m)
    W = np.linalg.solve(blend, means)
    important = weighted if importance is None else weighted * importance[..., None]
    shares = important.sum(axis=0) + 1.0
    base = np.log(shares / shares.sum(axis=-1, keepdims=True)) - (W * means).sum(axis=-2) / 2
    return LinearModel(np.moveaxis(W, -2, 0), base)


def em_gaussians(X: Matrix, labels: Labels, rounds: int = EM_ROUNDS) -> LinearModel:
    """Fit Gaussians to the labelled samples, then repeatedly also to guesses for the others.

    The first ones have the covariance of all samples, later ones that within classes.
    """
    spread = scatter(X, labels.counts) / labels.counts.sum()
    model = gaussians(X, labels.weighted, spread, labels.importance)
    squares = None
    for _ in range(1 if labels.known.all() else rounds):
        weighted = labels.with_guesses(softmax(model.scores(X), axis=-1))
        squares = scatter(X, weighted.sum(axis=-1)) if squares is None else squares
        covariance = within_classes(X, weighted, squares)
        model = gaussians(X, weighted, covariance, labels.importance)
    return model


# ---- all parts of a view


@dataclass(eq=False)
class ViewParts:
    """The parts of one view; softmax regression, which has a penalty, is fitted by itself.

    Parameters
    ----------
    X : Matrix
        What the view shows of distinct samples.
    labels : Labels
        All labels of the samples; parts may be fitted to some of them.
    name : str
        Comes before the names of the parts.
    share : float
        Usual weights of the parts, relative to those of the view alone.
    axes : Axes or None
        What the columns are made of; None if they are those of the samples.
    vectors : bool
        Whether samples are vectors from outside, whose classes are taken for Gaussians.
    spreads : bool
        Whether labels spread to neighbours.
    """

    X: Matrix
    labels: Labels
    name: str = ""
    share: float = 1.0
    axes: Axes | None = None
    vectors: bool = False
    spreads: bool = True
    graph_rows: IntArray = field(init=False)
    graph: Matrix | None = field(init=False)

    def __post_init__(self) -> None:
        known = self.labels.known
        some = np.r_[np.flatnonzero(known), np.flatnonzero(~known)][:MAX_GRAPH_ROWS]
        self.graph_rows = np.sort(some)
        self.near = self.X.select(self.graph_rows)
        use = self.spreads and not known.all() and len(some) > 2
        # Single precision suffices for cosines of vectors, and halves the time.
        near = self.near.single_precision() if self.vectors else self.near
        self.graph = neighbour_graph(near) if use else None

    @cached_property
    def main_axes(self) -> IntArray:
        """Columns that vary most."""
        squares = self.labels.counts @ self.X.squares()
        return np.sort(np.argsort(-squares, kind="stable")[:GAUSSIAN_AXES])

    @cached_property
    def main(self) -> Matrix:
        return self.X.columns(self.main_axes)

    @property
    def names(self) -> tuple[str, ...]:
        names = (BAYES, FLAT, SOFTMAX) if self.X.is_sparse else (SOFTMAX,)
        names = names if self.graph is None else (*names, SPREAD)
        return (*names, MIXTURE) if self.vectors else names

    def fold(self, model: LinearModel) -> LinearModel:
        """Return a model of the view as one of the samples' own columns."""
        return model if self.axes is None else LinearModel(*self.axes.fold(*model))

    def fit(
        self,
        labels: Labels,
        rounds: int,
        guessed: FloatArray | None = None,
        but: Sequence[str] = (),
    ) -> dict[str, LinearModel]:
        """Fit all parts but softmax regression, with some rounds of expectation maximisation.

        If shares of all samples are ``guessed`` already, parts learn from them. Parts named in
        ``but`` are not fitted, either.
        """
        each = (name for name in self.names if name not in (SOFTMAX, *but))
        return {name: self.fit_part(name, labels, rounds, guessed) for name in each}

    def fit_part(
        self, name: str, labels: Labels, rounds: int, guessed: FloatArray | None = None
    ) -> LinearModel:
        if name == SPREAD:
            return self._fit_spread(labels, guessed)
        if name == MIXTURE:
            return self._of_main_axes(em_gaussians(self.main, labels, rounds))
        flat = name == FLAT
        return em_naive_bayes(self.X, labels, rounds, flat=flat, guessed=guessed).model(flat=flat)

    def _fit_spread(self, labels: Labels, guessed: FloatArray | None) -> LinearModel:
        assert self.graph is not None
        near = labels.select(self.graph_rows)
        Q = spread_labels(self.graph, near) if guessed is None else guessed[self.graph_rows]
        weighted = near.with_guesses(Q)
        if self.X.is_sparse:
            return naive_bayes(self.near, weighted, None, near.importance).model()
        costs = weighted.sum(axis=-1)
        if self.vectors:
            X = self.main.select(self.graph_rows)
            covariance = within_classes(X, weighted, scatter(X, costs))
            return self._of_main_axes(gaussians(X, weighted, covariance, near.importance))
        costs = costs if near.importance is None else costs * near.importance
        return softmax_regression(self.near, Q, costs, USUAL_PENALTY)

    def _of_main_axes(self, model: LinearModel) -> LinearModel:
        """Return a model by Gaussians as one of all columns."""
        weights = np.zeros((self.X.shape[1], *model.weights.shape[1:]))
        weights[self.main_axes] = GAUSSIAN_SCALE * model.weights
        return LinearModel(weights, GAUSSIAN_SCALE * model.base)

    def usual_weights(self) -> tuple[FloatArray, float]:
        """Return the usual weight of each part, and how strongly it holds."""
        spread = 0.0 if self.X.is_sparse else 0.3
        regression = 0.3 if self.vectors else 1.0  # a few labels say little about vectors
        usual = {BAYES: 0.35, FLAT: 0.35, SOFTMAX: regression, SPREAD: spread, MIXTURE: 0.3}
        return np.array([usual[name] for name in self.names]), 10.0 if self.X.is_sparse else 1.0

    def weights_without_held_out(self, models: dict[str, LinearModel]) -> dict[str, float]:
        """Return the weight of each part where no label can be held out; no mixture is used."""
        usual = {BAYES: 0.5, FLAT: 0.0, SOFTMAX: 1.0, SPREAD: 0.3}
        if not self.X.is_sparse and self.graph is not None:  # one label says less than neighbours
            usual |= {SOFTMAX: 0.3, SPREAD: 1.0}
        # Without neighbours nobody notices that expectation maximisation loses classes.
        if self.X.is_sparse and (not self.spreads if self.graph is None else self.drifts(models)):
            usual[BAYES], usual[FLAT] = 0.0, 0.5
        return {name: usual[name] for name in self.names if name in usual}

    def agreement(self, models: dict[str, LinearModel]) -> float:
        """Return how often two parts that know the same labels agree, from 0 (by chance) to 1.

        Softmax regression knows little more than the nearest label; naive Bayes or, in dense views,
        labels of neighbours follow unlabelled samples. It is above 0, so that quotients exist.
        """
        follower = BAYES if self.X.is_sparse else SPREAD
        each = (models[name].scores(self.X) for name in (SOFTMAX, follower))
        near, far = (z.argmax(axis=1) for z in each)
        chance = 1.0 / self.labels.shares.shape[1]
        equal = float(np.average(near == far, weights=self.labels.counts))
        return float(max(equal - chance, 0.0) / max(1.0 - chance, chance) + MIN_AGREEMENT)

    def drifts(self, models: dict[str, LinearModel]) -> bool:
        """Return whether expectation maximisation has lost classes that neighbours find."""
        bayes, spread = self.evenness(models[BAYES]), self.evenness(models[SPREAD])
        return bayes < 0.7 * spread and spread > 0.6

    def evenness(self, model: LinearModel) -> float:
        """Return the effective number of predicted classes, relative to the number of classes."""
        P = softmax(model.scores(self.X), axis=1)
        sizes = np.bincount(P.argmax(axis=1), self.labels.counts, minlength=P.shape[1])
        p = sizes[sizes > 0] / sizes.sum()
        return float(np.exp(-(p * np.log(p)).sum()) / P.shape[1])
