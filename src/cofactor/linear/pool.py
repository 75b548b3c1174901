"""The pool: linear models of the classes, weighted by how they predict held-out labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from cofactor._fields import instance, number
from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.engine.observations import Observations
from cofactor.engine.threads import Threads
from cofactor.linear.linear import Labels, LinearModel
from cofactor.linear.matrix import Matrix, with_one_blas_thread
from cofactor.linear.naive_bayes import EM_ROUNDS, UNLABELLED_WEIGHT, em_naive_bayes, naive_bayes
from cofactor.linear.neighbours import neighbour_graph, spread_labels
from cofactor.linear.regression import softmax_path, softmax_regression
from cofactor.linear.rows import Distinct, distinct_rows
from cofactor.linear.views import View, choose_view

PENALTIES = (1.0, 0.1, 0.01, 0.001)
"""Penalties of softmax regression that held-out labels choose from."""
USUAL_PENALTY = 0.1
"""The one without held-out labels, and that of regression on spread labels."""
FEW = 60
"""Up to this many labelled samples there are ten folds, then five."""
MANY = 1500
"""Above this many labelled samples only one of five folds is held out."""
GRAPH_ROWS = 5000
"""Maximum number of samples in the graph of neighbours."""
ROTATED = 2000
"""Dense data with more rows and columns than this are not rotated to their principal axes."""
TOGETHER = 2**20
"""Folds are fitted side by side while a table of their scores or weights has fewer cells."""
FOLD_ROUNDS = 8
"""Number of rounds of expectation maximisation with some labels hidden."""
LEAST = 0.05
"""Least weight of a part, relative to its usual one: unlucky labels must not silence all parts."""
SURE = 0.6
"""Guesses are sharpened until their mean confidence is this."""
NEGLIGIBLE = 0.02
"""Guessed shares below this become zero, so that guesses stay sparse."""
BAYES, FLAT, SOFTMAX, SPREAD = "naive Bayes", "naive Bayes, equal shares", "softmax", "neighbours"


@dataclass(frozen=True)
class ExpectedScore:
    """The score to expect on new samples like those of the fit, from held-out labels.

    It is the score of the features' part of the head; the topics' part usually adds to it. A class
    with a single label cannot be held out and does not count, so the score of data with many such
    classes is too high.

    Parameters
    ----------
    value : float
        The score on held-out labels.
    low, high : float
        Its interval of 95 %.
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
    """What to expect on new samples if unsure predictions are left out, from held-out labels.

    It rests on the features' part of the head alone, as `ExpectedScore` does.

    Parameters
    ----------
    abstain : float
        Predictions less probable than this are left out.
    coverage : float
        Share of samples that get a prediction.
    accuracy : float or None
        Share of these predictions that are right; None if there are none.
    low, high : float
        Its interval of 95 %.
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
    """A linear model of what a view shows, and how it came about."""

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
        """Return sharpened shares in the few classes that matter."""
        Q = softmax(self.sharpness * scores, axis=1)
        least = NEGLIGIBLE * Q.max(axis=1, keepdims=True)
        Q = np.where(least > Q, 0.0, Q)
        return np.asarray(Q / Q.sum(axis=1, keepdims=True))


@with_one_blas_thread
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
    view = choose_view(data, counts, exponent)
    V = view.of(data)
    X, labels, _ = _distinct_samples(
        V, counts, shares, labelled, threads, confidence=confidence, importance=importance
    )
    X, basis = _rotated(X)
    model, parts, penalty, held_out = _Work(X, labels).fit()
    if basis is not None:
        model = LinearModel(basis @ model.weights, model.base)
    scores = model.scores(Matrix(V, threads))
    sharpness = _sharpness(scores[~labelled & (counts > 0)])
    expected = None if held_out is None else _expected(held_out)
    return Pool(view, model, sharpness, parts, penalty, expected, held_out), scores


@with_one_blas_thread
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
    V = choose_view(data, counts, 0).of(data)
    X, labels, distinct = _distinct_samples(V, counts, shares, labelled, threads)
    work = _Work(_rotated(X)[0], labels)
    found = np.full(shares.shape, np.nan)
    if (held := work.held_out(every=True)) is not None:
        of_distinct = np.full(labels.shares.shape, np.nan)
        of_distinct[held[0]] = work.weighed(*held).scores
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
    return X.rotated() if not X.is_sparse and min(X.shape) <= ROTATED else (X, None)


class _Weighed(NamedTuple):
    """Weights of the parts, the penalty of softmax regression, and scores of held-out samples."""

    beta: FloatArray
    penalty: float
    scores: FloatArray


@dataclass(eq=False)
class _Work:
    """Fits of the parts on distinct samples, some labels hidden or none."""

    X: Matrix
    labels: Labels
    graph_rows: IntArray = field(init=False)
    graph: Matrix | None = field(init=False)

    def __post_init__(self) -> None:
        known = self.labels.known
        some = np.r_[np.flatnonzero(known), np.flatnonzero(~known)][:GRAPH_ROWS]
        self.graph_rows = np.sort(some)
        self.near = self.X.select(self.graph_rows)
        use = not known.all() and len(some) > 2
        self.graph = neighbour_graph(self.near) if use else None

    @property
    def names(self) -> tuple[str, ...]:
        names = (BAYES, FLAT, SOFTMAX) if self.X.is_sparse else (SOFTMAX,)
        return names if self.graph is None else (*names, SPREAD)

    def prior(self) -> tuple[FloatArray, float]:
        """Return the usual weight of each part, and how strongly it holds."""
        usual = {BAYES: 0.35, FLAT: 0.35, SOFTMAX: 1.0, SPREAD: 0.0 if self.X.is_sparse else 0.3}
        return np.array([usual[name] for name in self.names]), 10.0 if self.X.is_sparse else 1.0

    def part(self, name: str, labels: Labels, rounds: int) -> LinearModel:
        if name == SPREAD:
            return self.spread(labels)
        flat = name == FLAT
        return em_naive_bayes(self.X, labels, rounds, flat=flat).model(flat=flat)

    def spread(self, labels: Labels) -> LinearModel:
        assert self.graph is not None
        near = labels.select(self.graph_rows)
        Q = spread_labels(self.graph, near)
        weighted = near.beside(Q, UNLABELLED_WEIGHT)
        if self.X.is_sparse:
            return naive_bayes(self.near, weighted, None, near.importance).model()
        costs = weighted.sum(axis=-1)
        costs = costs if near.importance is None else costs * near.importance
        return softmax_regression(self.near, Q, costs, USUAL_PENALTY)

    def fit(self) -> tuple[LinearModel, dict[str, float], float, FloatArray | None]:
        """Return the model, the weights of its parts, the penalty and held-out predictions."""
        models = {
            name: self.part(name, self.labels, EM_ROUNDS) for name in self.names if name != SOFTMAX
        }
        held = self.held_out()
        record = None
        if held is None:
            beta, penalty = self.without_held_out(models)
        else:
            beta, penalty, scores = self.weighed(*held)
            out = held[0]
            record = judged(scores, self.labels.shares[out], self.labels.weights[out])
        labels = self.labels
        models[SOFTMAX] = softmax_regression(self.X, labels.shares, labels.costs, penalty)
        chosen = [models[name] for name in self.names]
        model = LinearModel(
            sum(b * part.weights for b, part in zip(beta, chosen, strict=True)),
            sum(b * part.base for b, part in zip(beta, chosen, strict=True)),
        )
        return model, dict(zip(self.names, beta.tolist(), strict=True)), penalty, record

    def weighed(self, out: IntArray, Z: dict[float, FloatArray]) -> _Weighed:
        """Choose penalty and weights by held-out labels; arguments are what `held_out` returns."""
        truth, weight = self.labels.shares[out], self.labels.costs[out]
        tried = {p: _part_weights(z, truth, weight, *self.prior()) for p, z in Z.items()}
        penalty = min(tried, key=lambda p: tried[p][1])
        beta = tried[penalty][0]
        return _Weighed(beta, penalty, Z[penalty] @ beta)

    def without_held_out(self, models: dict[str, LinearModel]) -> tuple[FloatArray, float]:
        usual = {BAYES: 0.5, FLAT: 0.0, SOFTMAX: 1.0, SPREAD: 0.3}
        if not self.X.is_sparse and self.graph is not None:  # one label says less than neighbours
            usual |= {SOFTMAX: 0.3, SPREAD: 1.0}
        if self.X.is_sparse and self.graph is not None and self.drifts(models):
            usual[BAYES], usual[FLAT] = 0.0, 0.5
        return np.array([usual[name] for name in self.names]), USUAL_PENALTY

    def drifts(self, models: dict[str, LinearModel]) -> bool:
        """Tell whether expectation maximisation has lost classes that neighbours find."""
        bayes, spread = self.evenness(models[BAYES]), self.evenness(models[SPREAD])
        return bayes < 0.7 * spread and spread > 0.6

    def evenness(self, model: LinearModel) -> float:
        P = softmax(model.scores(self.X), axis=1)
        sizes = np.bincount(P.argmax(axis=1), self.labels.counts, minlength=P.shape[1])
        p = sizes[sizes > 0] / sizes.sum()
        return float(np.exp(-(p * np.log(p)).sum()) / P.shape[1])

    def held_out(self, every: bool = False) -> tuple[IntArray, dict[float, FloatArray]] | None:
        """Return the held-out samples, and the parts' scores of them for each penalty.

        Of many samples one fold suffices to weigh the parts; ``every`` holds out all.
        """
        place, n_folds = _folds(self.labels)
        one = np.count_nonzero(self.labels.known) > MANY and not every
        folds = [fold for fold in range(1 if one else n_folds) if (place == fold).any()]
        if not folds:
            return None
        variables = max(self.X.shape) * self.labels.shares.shape[1]
        step = max(1, TOGETHER // variables)
        groups = [folds[i : i + step] for i in range(0, len(folds), step)]
        out = np.concatenate([np.flatnonzero(np.isin(place, group)) for group in groups])
        found = [self.scores_without(place, group) for group in groups]
        Z = {p: np.concatenate([scores[p] for scores in found]) for p in PENALTIES}
        return out, Z

    def scores_without(self, place: IntArray, folds: list[int]) -> dict[float, FloatArray]:
        """Return scores of the samples in some folds by parts that do not know the fold's labels.

        They have shape (samples, classes, parts), for each penalty of softmax regression.
        """
        rest = self.without(place[:, None] == folds)
        out = np.flatnonzero(np.isin(place, folds))
        new, own = self.X.select(out), np.searchsorted(folds, place[out])

        def scores(model: LinearModel) -> FloatArray:
            return np.asarray(model.scores(new)[np.arange(len(out)), own])

        known = {
            name: scores(self.part(name, rest, FOLD_ROUNDS))
            for name in self.names
            if name != SOFTMAX
        }
        Z = {}
        for penalty, model in softmax_path(self.X, rest.shares, rest.costs, PENALTIES).items():
            each = known | {SOFTMAX: scores(model)}
            Z[penalty] = np.stack([each[name] for name in self.names], axis=2)
        return Z

    def without(self, hidden: BoolArray) -> Labels:
        """Hide some labels, given as (n, …); the remaining ones of their classes count for them."""
        shape = (slice(None), *[None] * (hidden.ndim - 1))
        weights = np.where(hidden, 0.0, self.labels.weights[shape])
        shares = np.where(weights[..., None] > 0, self.labels.shares[shape], 0.0)
        left = (shares * weights[..., None]).sum(axis=0)
        factor = np.divide(self.labels.mass, left, out=np.ones_like(left), where=left > 0)
        importance = self.labels.importance
        if importance is not None:
            importance = np.where(weights > 0, importance[shape], 1.0)
        weights = weights * (shares * factor).sum(axis=-1)
        return Labels(shares, weights, self.labels.counts, importance)


def _folds(labels: Labels) -> tuple[IntArray, int]:
    """Return the fold of each sample, −1 where it is never held out.

    The samples of a class go round the folds. A class with one label is not held out.
    """
    known = np.flatnonzero(labels.known)
    n_folds = 10 if len(known) <= FEW else 5
    place = np.full(len(labels.weights), -1)
    best, shift = labels.shares[known].argmax(axis=1), 0
    for c in range(labels.shares.shape[1]):
        rows = known[best == c]
        if len(rows) > 1:
            place[rows] = (shift + np.arange(len(rows))) % n_folds
        shift += len(rows)
    return place, n_folds


def _part_weights(
    Z: FloatArray, truth: FloatArray, weight: FloatArray, prior: FloatArray, strength: float
) -> tuple[FloatArray, float]:
    """Return nonnegative weights of the parts that make held-out labels likely, and the cost."""

    def cost(beta: FloatArray) -> tuple[float, FloatArray]:
        log_p = log_softmax(Z @ beta, axis=1)
        slope = np.einsum("i,ic,icp->p", weight, np.exp(log_p) - truth, Z)
        apart = beta - prior
        value = -weight @ (truth * log_p).sum(axis=1) + strength / 2 * apart @ apart
        return float(value), slope + strength * apart

    found = minimize(
        cost, prior + 1e-3, jac=True, method="L-BFGS-B", bounds=[(LEAST * b, None) for b in prior]
    )
    return found.x, float(found.fun)


def judged(scores: FloatArray, truth: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the confidence of each prediction, whether it is right, and its weight (3, n)."""
    right = truth.argmax(axis=1) == scores.argmax(axis=1)
    return np.stack([softmax(scores, axis=1).max(axis=1), right, weight])


def _expected(held_out: FloatArray) -> ExpectedScore:
    """Return the accuracy on held-out labels with Wilson's 95 % interval."""
    _, right, weight = held_out
    p, n = float(np.average(right, weights=weight)), float(weight.sum())
    return ExpectedScore(p, *wilson_interval(p, n), n)


def wilson_interval(p: float, n: float) -> tuple[float, float]:
    """Return Wilson's interval of 95 % for a share p of n."""
    z = 1.96
    centre, half = (p + z * z / (2 * n)), z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = ((centre + sign * half) / (1 + z * z / n) for sign in (-1, 1))
    return float(np.clip(low, 0.0, p)), float(np.clip(high, p, 1.0))


def _sharpness(scores: FloatArray) -> float:
    """Return the least factor 1.3^j that makes the guesses sure enough."""
    if not len(scores):
        return 1.0
    for j in range(16):
        if softmax(1.3**j * scores, axis=1).max(axis=1).mean() >= SURE:
            return float(1.3**j)
    return 64.0
