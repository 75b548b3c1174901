"""Heads: what predicts.

The target factor B turns representations into fitted targets ("joint", "refit"). The pooled head
adds up what the features and what the topics say, and what further vectors of the samples say, if
there are some ("side"). All its parts are linear, so explanations add up over features, vectors and
topics. Classes get the pool of linear models (`cofactor.linear.pool`), several
labels a logistic regression each (`cofactor.linear.multilabel`), numbers two ridge regressions
(`cofactor.linear.numbers`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.special import softmax

from cofactor._fields import FieldSizes, array, checked, instance, number
from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.engine.factors import Factors
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import Observations, observe
from cofactor.engine.threads import Threads
from cofactor.estimators.exposure import totals
from cofactor.estimators.inference import masses, represent, solve_rows, topic_means, topic_shares
from cofactor.estimators.units import exponent_of, shift, unit_weights
from cofactor.linear.calibration import ProbabilityCurve
from cofactor.linear.familiar import FamiliarSamples
from cofactor.linear.folds import Distinct, distinct_rows
from cofactor.linear.guess import Classes, as_numbers
from cofactor.linear.multilabel import TagModel, fit_tags, held_out_tags
from cofactor.linear.numbers import (
    Size,
    fit_numbers,
    held_out_numbers,
    mean_score,
    r_squared,
    score_of_numbers,
)
from cofactor.linear.pool import ExpectedScore, HeldOutLabels, PartlyLabelled, Pool, fit_pool
from cofactor.linear.views import (
    FURTHER,
    VECTORS,
    Matrix,
    Side,
    SideViews,
    VectorView,
    View,
    choose_view,
    row_products,
)
from cofactor.targets.matrix import Targets
from cofactor.targets.values import ValueCoding

TOPIC_WEIGHT = 0.1
"""Weight of the topics' part in the scores of classes."""
CLASS_SHARE_SMOOTHING = 0.02
"""Added to the share of each class in a topic, so that its logarithm stays moderate."""
MEASURED_SAMPLES = 300
"""Number of samples that show how far samples go towards the scores of their topics."""
MEASURED_WITH_SIDE = 2000
"""The same, if they also show what the side adds to the scores of each topic."""
ABSENT_SHARE = 0.1
"""Keep the earlier head while the stream lacks targets with more than this share of its labels."""
USUAL_LABELS = 500
"""Assumed number of labels behind a head that does not record it."""
ABSENT_CLASS_SCORE = -1e3
"""Score of a class without a labelled sample of positive weight."""


def refit_head(
    objective: Objective,
    factors: Factors,
    labelled: BoolArray,
    threads: Threads,
    *,
    equal_mass: bool,
) -> FloatArray:
    """Estimate B again on representations that have not seen the labels.

    Prediction sees such representations only. With ``equal_mass`` every sample gets the mean mass
    first. Fixed entries stay.
    """
    target, counts = objective.terms[1], objective.sample_weight
    rows = np.flatnonzero(labelled if counts is None else labelled & (counts > 0))
    counts = None if counts is None else counts[rows]
    S = _without_labels(objective, factors, rows, threads)
    if equal_mass:
        S = with_mean_mass(S, factors.features, counts)
    B, fixed = factors.get("targets"), objective.fixed.get("targets")
    lifted = np.maximum(B, 1e-3 * B.mean() + 1e-6)
    B = (lifted if fixed is None else np.where(fixed, B, lifted)).astype(S.dtype)
    refit = Objective(
        (
            Term(
                "target",
                "targets",
                target.observations.select(rows),
                target.divergence,
                target.weight or 1.0,
            ),
        ),
        {name: prior for name, prior in objective.priors.items() if name == "targets"},
        counts,
        free=("targets",),
        fixed={} if fixed is None else {"targets": fixed},
    )
    unused = np.zeros((1, S.shape[1]), dtype=S.dtype)  # the features' place
    return solve_rows(refit, Factors(S, unused, np.ascontiguousarray(B)), threads).get("targets")


def _without_labels(
    objective: Objective, factors: Factors, rows: IntArray, threads: Threads
) -> FloatArray:
    """Represent some samples of the objective by their data alone."""
    data, penalty = objective.terms[0], objective.priors.get("samples")
    own = None if penalty is None else penalty.rows(rows)
    return represent(
        data.observations.select(rows), factors.features, data.divergence, own, threads
    )


def with_mean_mass(S: FloatArray, A: FloatArray, counts: FloatArray | None) -> FloatArray:
    """Scale every sample to the mean mass; empty samples stay empty."""
    mass = S @ A.sum(axis=0)
    mean = np.average(mass, weights=counts) if mass.any() else 1.0
    scale = np.divide(mean, mass, out=np.ones_like(mass), where=mass > 0)
    return np.ascontiguousarray(S * scale[:, None], dtype=S.dtype)


def _half_width_fault(value: Any, sizes: FieldSizes) -> str | None:
    """Half widths may be infinite, where no value was held out."""
    good = isinstance(value, np.ndarray) and value.shape == (sizes.get("k", len(value)),)
    return None if good and bool((value >= 0).all()) else "is not an array of widths"


@dataclass(frozen=True, eq=False)
class PooledHead:
    """Scores of samples: features, topics and size add up.

    Parameters
    ----------
    view : View
        What the linear model of the features sees.
    weights : array (m, k)
        What each feature of the view adds to the score of each target.
    base : array (k,)
        The score of an empty sample.
    topics : array (r, k)
        What a sample that is all one topic gets from that topic.
    size : array (k,) or None
        What the size of a sample adds, for numbers.
    size_mean, size_sd : float
        Mean and standard deviation of the logarithm of the samples' totals.
    thresholds : array (k,) or None
        A sample has a label if its score is at least this; for several labels per sample.
    curve : array (3,) or None
        How such scores become probabilities, see `cofactor.linear.calibration.ProbabilityCurve`.
    half_width : array (k,) or None
        A number plus and minus this covers nine of ten new values.
    reach : float
        How far samples go towards the features' scores of their topics, 0 … 1. Samples have other
        features, too, so a sample that is all one topic scores less than the topic's features
        alone.
    labels : array (k,) or None
        Number of labels of each target that the head was fitted on; None if it is not known.
    held_out : array (3, n) or None
        Predictions of held-out labels by the features' part: confidence, whether right, weight.
    held_out_unlike : array (n,) or None
        How unlike the labelled samples of its predicted class each held-out one is; NaN if it is
        not known.
    hard_length : float or None
        Length at which drawn samples are as hard to tell apart as real ones, see
        `cofactor.estimators.updates`; None if it was not measured.
    vectors : VectorView or None
        How the head sees vectors of the samples from outside; None if it needs none.
    vector_weights : array (d, k) or None
        What each axis of these vectors adds to the score of each target.
    further : View or None
        How the head sees further features of the samples; None if it needs none.
    further_weights : array (w, k) or None
        What each further feature adds to the score of each target.
    side_topics : array (r, k) or None
        What samples of each topic get from vectors and further features on average.
    familiar : FamiliarSamples or None
        Labelled samples that new ones are compared with; for classes.
    """

    view: View = instance(View)
    weights: FloatArray = array("m", "k")
    base: FloatArray = array("k")
    topics: FloatArray = array("r", "k")
    size: FloatArray | None = array("k", default=None)
    size_mean: float = number(default=0.0)
    size_sd: float = number(default=0.0)
    thresholds: FloatArray | None = array("k", default=None)
    curve: FloatArray | None = array(3, default=None)
    half_width: FloatArray | None = checked(_half_width_fault, default=None)
    reach: float = number(low=0, high=1, default=1.0)
    labels: FloatArray | None = array("k", default=None)
    held_out: FloatArray | None = array(3, "held-out labels", low=0, default=None)
    held_out_unlike: FloatArray | None = array("held-out labels", finite=False, default=None)
    hard_length: float | None = number(low=np.nextafter(0, 1), high=1, default=None)
    vectors: VectorView | None = instance(VectorView, name="side", default=None)
    vector_weights: FloatArray | None = array("d", "k", name="side_weights", default=None)
    further: View | None = instance(View, default=None)
    further_weights: FloatArray | None = array("w", "k", default=None)
    side_topics: FloatArray | None = array("r", "k", default=None)
    familiar: FamiliarSamples | None = instance(FamiliarSamples, default=None)

    def fault(self, sizes: FieldSizes) -> str | None:
        """Return what is wrong with the fields together, see `cofactor._fields`."""
        if (self.vectors is None) != (self.vector_weights is None):
            return "vectors and vector_weights need each other"
        if (self.further is None) != (self.further_weights is None):
            return "further and further_weights need each other"
        return None

    @property
    def needs_side(self) -> bool:
        """Whether the head sees more of samples than their features."""
        return self.vectors is not None or self.further is not None

    def without_side(self) -> PooledHead:
        """Return the head for samples of which nothing more is known than their features: they get
        what samples of their topics get from the side on average."""
        return replace(
            self,
            topics=self.all_topics,
            vectors=None,
            vector_weights=None,
            further=None,
            further_weights=None,
            side_topics=None,
        )

    @property
    def all_topics(self) -> FloatArray:
        """What a sample that is all one topic gets beside the part of its features."""
        return self.topics if self.side_topics is None else self.topics + self.side_topics

    def of_targets(self, change: Callable[[FloatArray], FloatArray]) -> PooledHead:
        """Return the head with all numbers of targets changed, which are along last axes."""
        held = {name: getattr(self, name) for name in _OF_TARGETS}
        parts: dict[str, Any] = {
            name: np.ascontiguousarray(change(part))
            for name, part in held.items()
            if part is not None
        }
        return replace(self, **parts)

    def of_topics(self, change: Callable[[FloatArray], FloatArray]) -> PooledHead:
        """Return the head with all numbers of topics changed, which are along first axes."""
        side = None if self.side_topics is None else change(self.side_topics)
        return replace(self, topics=change(self.topics), side_topics=side)

    def flattened(self, factor: float) -> PooledHead:
        """Return the head with all scores of classes multiplied by a factor."""
        return replace(self.of_targets(lambda part: factor * part), labels=self.labels)

    def topic_scores(self, components: FloatArray, threads: Threads) -> FloatArray:
        """Return the scores of a sample of usual size that is all one topic.

        Vectors and further features are those of the topic's samples on average.
        """
        return self.reach * self.feature_scores(components, threads) + self.all_topics + self.base

    def feature_scores(self, components: FloatArray, threads: Threads) -> FloatArray:
        """Return what the features of each topic alone say."""
        rows = np.asarray(components / masses(components)[:, None])
        if self.view.mean is not None:  # a standardised sample of mean mass
            rows = rows * self.view.mean.sum()
        return row_products(
            self.view.of(observe(np.ascontiguousarray(rows))), self.weights, threads
        )

    def scores(
        self,
        data: Observations,
        S: FloatArray,
        components: FloatArray,
        threads: Threads,
        side: Side | None = None,
    ) -> FloatArray:
        """Return the scores of samples, given their data in our units and representations.

        ``side`` is what is known of them beside the data, if the head needs it.
        """
        words = row_products(self.view.of(data), self.weights, threads)
        shares = np.ascontiguousarray(topic_shares(S, components), dtype=np.float64)
        scores = words + row_products(shares, self.topics, threads) + self.base
        if self.needs_side:
            scores = scores + self.side_scores(side, threads)
        if self.size is None:
            return scores
        sizes = Size(self.size_mean, self.size_sd).of(totals(data))
        return np.asarray(scores + sizes[:, None] * self.size)

    def side_scores(self, side: Side | None, threads: Threads) -> FloatArray:
        """Return what is added to the scores of samples by all but their features and topics."""
        weights: dict[str, Any] = {FURTHER: self.further_weights, VECTORS: self.vector_weights}
        seen = SideViews(self.further, self.vectors).of(side, threads)
        parts = [row_products(rows.values, weights[name], threads) for name, rows in seen.items()]
        return np.asarray(sum(parts))

    def unlike(self, data: Observations, scores: FloatArray, threads: Threads) -> FloatArray:
        """Return how unlike the labelled samples of its predicted class each sample is.

        See `cofactor.linear.familiar`; NaN if the head keeps no labelled samples.
        """
        if self.familiar is None:
            return np.full(len(scores), np.nan)
        return self.familiar.unlike(self.view.of(data), scores.argmax(axis=1), threads)

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Return the probabilities of classes or labels."""
        if self.curve is None:
            return np.asarray(softmax(scores, axis=1))
        return ProbabilityCurve(*self.curve.tolist()).of(scores)

    def outweighs(self, labels: FloatArray) -> bool:
        """Return whether the head knows more than those labels of each target.

        It does if it knows more labels, or many of targets that have none there.
        """
        if self.labels is None:
            return float(labels.sum()) < USUAL_LABELS
        more = float(self.labels.sum()) > float(labels.sum())
        absent = float(self.labels[labels == 0].sum())
        return more or absent > ABSENT_SHARE * float(self.labels.sum())

    def shifted(self, exponent: int) -> PooledHead:
        """Return the same head for data that are divided by 2**exponent."""
        size_mean = self.size_mean - exponent * float(np.log(2.0))
        return replace(self, view=self.view.shifted(exponent), size_mean=size_mean)


_OF_TARGETS = [
    "weights",
    "base",
    "topics",
    "labels",
    "vector_weights",
    "further_weights",
    "side_topics",
]


class ModelRequest(NamedTuple):
    """Which linear models a fit needs."""

    kind: str
    """What the targets hold: "classes", "sets" of labels, or "numbers"."""
    head: bool
    """Whether the head predicts with them."""
    guesses: bool
    """Whether they guess the labels of unlabelled samples."""
    rank: int
    exponent: int
    """The data were divided by 2**exponent."""
    exposed: bool = False
    """Whether the total of a sample is a scale."""


class LinearModels(NamedTuple):
    """Linear models of the features, which guess labels and are the features' part of the head.

    Parameters
    ----------
    pool : Pool or None
        Models that predict the classes; None if nothing needs them.
    scores : array (n, c) or None
        Scores of the samples by the pool.
    present : array (c, k) or None
        The pool's classes as rows of targets.
    tags : tuple or None
        The pooled head of several labels per sample, if it is needed, and its expected score.
    key : str
        Digest of what the models depend on; "" if nobody will use them again.
    """

    pool: Pool | None = None
    scores: Any = None
    present: FloatArray | None = None
    tags: tuple[PooledHead, ExpectedScore | None] | None = None
    key: str = ""


def fit_linear_models(
    asked: ModelRequest,
    data: Observations,
    counts: FloatArray | None,
    targets: Targets | None,
    groups: Classes | None,
    threads: Threads,
    *,
    earlier: LinearModels | None = None,
    keep: bool = False,
    side: Side | None = None,
) -> LinearModels:
    """Fit the linear models that the head or guesses need.

    Parameters
    ----------
    data, counts, targets
        Samples, their weights and their targets.
    groups : Classes or None
        The labelled samples in groups.
    earlier : LinearModels, optional
        Those of an earlier fit, which are returned if they depend on the same.
    keep : bool
        Whether to note what the models depend on, so that a later fit can use them again.
    side : Side, optional
        What is known of the samples beside the data, for classes.
    """
    key = _models_key(asked, data, counts, targets, side) if keep and targets is not None else ""
    if key and earlier is not None and earlier.key == key:
        return earlier
    pool, scores, tags = None, None, None
    if groups is not None and asked.kind == "classes":
        if asked.head or not groups.labelled.all():
            given = _partly_labelled(groups, data, counts, asked.exponent, side, asked.exposed)
            pool, scores = fit_pool(given, threads, keep_samples=asked.head)
    elif asked.kind == "sets" and asked.head and targets is not None and targets.labelled.any():
        tags = tag_head(data, counts, targets, asked, threads)
    present = None if groups is None else groups.prototypes
    return LinearModels(pool, scores, present, tags, key)


def _partly_labelled(
    groups: Classes,
    data: Observations,
    counts: FloatArray | None,
    exponent: int,
    side: Side | None,
    exposed: bool,
) -> PartlyLabelled:
    weights = np.ones(data.shape[0]) if counts is None else counts
    importance, _ = unit_weights(groups.importance, literal=True)
    known = groups.shares, groups.labelled, exponent, groups.confidence, importance
    return PartlyLabelled(data, weights, *known, side, exposed)


def _models_key(
    asked: ModelRequest,
    data: Observations,
    counts: FloatArray | None,
    targets: Targets,
    side: Side | None,
) -> str:
    """Return the digest of all that linear models depend on: equal digests mean equal models."""
    rank = asked.rank if asked.kind == "sets" else 0  # only these depend on it
    digest = hashlib.blake2b(repr((data.shape, asked._replace(rank=rank))).encode())
    layout, Y = data.layout, targets.values
    arrays: list[Any] = [
        layout.values,
        layout.indices,
        layout.start,
        data.weights,
        data.row_weights,
    ]
    arrays += [data.column_weights, counts, targets.labelled, targets.row_weights]
    arrays += [targets.cell_weights, targets.importance]
    for part in (Y, *(side.parts if side is not None else ())):
        arrays += [part.data, part.indices, part.indptr] if issparse(part) else [part]
    for part in arrays:
        held = np.zeros(0) if part is None else np.ascontiguousarray(part)
        digest.update(repr((part is None, held.dtype.str, held.shape)).encode())
        digest.update(held.tobytes())
    return digest.hexdigest()


def pooled_head(
    models: LinearModels,
    objective: Objective,
    factors: Factors,
    targets: Targets,
    exponent: int,
    threads: Threads,
    coding: Any = None,
    side: Side | None = None,
) -> tuple[PooledHead, ExpectedScore | None]:
    """Return the pooled head, and the score that it is expected to have.

    Data and targets of the objective are known; ``targets`` are those without guesses, ``coding``
    turns numbers back into y, and ``side`` is what is known of the samples beside the data.
    """
    if models.pool is not None:
        assert models.present is not None
        A, B = factors.features, factors.get("targets")
        head = class_head(models.pool, A, B, models.present)
        expected = models.pool.expected
    elif models.tags is not None:
        head, expected = models.tags
    else:
        of_numbers = coding if isinstance(coding, ValueCoding) else None  # not classes without mass
        head, expected = number_head(objective, factors, targets, exponent, threads, of_numbers)
    return _measured(head, objective, factors, threads, side), expected


def _measured(
    head: PooledHead, objective: Objective, factors: Factors, threads: Threads, side: Side | None
) -> PooledHead:
    """Measure on some samples what those of each topic score."""
    data = objective.terms[0].observations
    n = data.shape[0]
    counts = np.ones(n) if objective.sample_weight is None else objective.sample_weight
    V = head.view.of(data)
    found = distinct_rows(V, np.zeros((n, 1)), np.zeros(n, dtype=bool), counts, side)
    most = MEASURED_WITH_SIDE if head.needs_side else MEASURED_SAMPLES
    rows, weights = found.rows[:most], found.weights[:most, None]
    S, A = _without_labels(objective, factors, rows, threads), factors.features.T
    shares = topic_shares(np.asarray(S, dtype=np.float64), A)
    own = row_products(V[rows], head.weights, threads)
    reach = _reach(own, shares @ head.feature_scores(A, threads), weights)
    if side is None or not head.needs_side:
        return replace(head, reach=reach)
    scores = head.side_scores(side[rows], threads)
    return replace(head, reach=reach, side_topics=topic_means(scores, weights * shares))


def _reach(own: FloatArray, expected: FloatArray, weights: FloatArray) -> float:
    """Return how far samples go towards the scores of their topics."""
    e = exponent_of(float(np.abs(expected).max(initial=0.0)), literal=False)
    own, expected = shift(own, -e), shift(expected, -e)  # so that squares do not overflow
    square = float(np.sum(weights * expected**2))
    reach = float(np.sum(weights * own * expected)) / square if square > 0 else 1.0
    return float(np.clip(reach, 0.0, 1.0))


def class_head(pool: Pool, A: FloatArray, B: FloatArray, present: FloatArray) -> PooledHead:
    """Return the head of a pool and the topics' shares in the classes.

    ``present`` (c, k) are the pool's classes among the columns of the targets; others, which no
    sample of positive weight has, cannot be predicted.
    """
    topics = topic_log_shares(A, B, present)
    topics = TOPIC_WEIGHT * (topics - topics.mean(axis=1, keepdims=True))
    absent = np.where(present.any(axis=0), 0.0, ABSENT_CLASS_SCORE)
    weights, base = pool.model
    weights, base = weights - weights.mean(axis=1, keepdims=True), base - base.mean()
    side = {
        name: (own - own.mean(axis=1, keepdims=True)) @ present
        for name, own in pool.side_weights.items()
    }
    return PooledHead(
        pool.view,
        weights @ present,
        base @ present + absent,
        topics @ present,
        held_out=pool.held_out,
        held_out_unlike=pool.held_out_unlike,
        vectors=pool.side.vectors,
        vector_weights=side.get(VECTORS),
        further=pool.side.further,
        further_weights=side.get(FURTHER),
        familiar=None
        if pool.familiar is None
        else pool.familiar.renumbered(present.argmax(axis=1)),
    )


def topic_log_shares(A: FloatArray, B: FloatArray, present: FloatArray) -> FloatArray:
    """Return the logarithm of each topic's share in each class (r, c), from the factors A and B.

    ``present`` (c, k) are the classes among the columns of the targets.
    """
    shares = B.T / masses(A.T)[:, None]
    shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(np.log(shares @ present.T + CLASS_SHARE_SMOOTHING))


def tag_head(
    data: Observations,
    counts: FloatArray | None,
    targets: Targets,
    asked: ModelRequest,
    threads: Threads,
) -> tuple[PooledHead, ExpectedScore | None]:
    """Fit the head of several labels per sample; topics add nothing to it."""
    view, _, _, problem = _tag_problem(
        data, counts, targets, asked.exponent, threads, exposed=asked.exposed
    )
    model: TagModel = fit_tags(*problem)
    curve = np.array(model.curve, dtype=np.float64)
    topics = np.zeros((asked.rank, targets.n_targets))
    head = PooledHead(view, *model.model, topics, thresholds=model.thresholds, curve=curve)
    return head, model.expected


def _tag_problem(
    data: Observations,
    counts: FloatArray | None,
    targets: Targets,
    exponent: int,
    threads: Threads,
    *,
    exposed: bool = False,
) -> tuple[View, IntArray, Distinct, tuple[Any, ...]]:
    """Return the view, the labelled rows, the distinct ones of these, and what `fit_tags` takes."""
    view, rows, V, weights = _labelled_view(data, counts, targets, exponent, exposed=exposed)
    Y = targets.values[rows]
    Y = csr_array(Y) if issparse(Y) else csr_array(np.asarray(Y))
    known = None if targets.cell_weights is None else _known_cells(targets, rows)
    cells = Y if known is None else csr_array(np.where(known, Y.toarray(), 2.0))
    found = distinct_rows(V, cells, np.ones(len(rows), dtype=bool), weights)
    part = None if known is None else known[found.rows]
    X = Matrix(V[found.rows], threads)
    return view, rows, found, (X, Y[found.rows], found.weights, part)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What a fit predicts of labels that it has not seen: those from which it estimates its score.

    Parameters
    ----------
    predictions : array (n, k)
        Scores of classes; for several labels, scores minus thresholds; or numbers as targets. NaN
        where nothing was held out.
    labels : HeldOutLabels or None
        Those of classes.
    groups : Classes or None
        The classes.
    """

    predictions: FloatArray
    labels: HeldOutLabels | None = None
    groups: Classes | None = None

    def head_without(self, rows: IntArray, head: PooledHead, factors: Factors) -> PooledHead:
        """Return a head of classes whose linear models do not know the labels of some samples.

        The topics' part of ``head``, which factors give, stays.
        """
        assert self.labels is not None
        assert self.groups is not None
        with self.labels.threads:
            pool, present = self.labels.pool_without(rows), self.groups.prototypes
        found = class_head(pool, factors.features, factors.get("targets"), present)
        return replace(found, reach=head.reach, side_topics=head.side_topics)


def hold_out(
    kind: str,
    data: Observations,
    counts: FloatArray | None,
    targets: Targets,
    groups: Classes | None,
    exponent: int,
    threads: Threads,
    side: Side | None = None,
    *,
    exposed: bool = False,
) -> HeldOut:
    """Hold out the labels that a fit holds out; the parameters are those of its linear models."""
    n, k = data.shape[0], targets.n_targets
    out = np.full((n, k), np.nan)
    if kind == "classes":
        if groups is None:
            return HeldOut(out)
        given = _partly_labelled(groups, data, counts, exponent, side, exposed)
        labels = HeldOutLabels(given, threads, every=False)
        return HeldOut(_held_out_classes(groups, labels.scores()), labels, groups)
    if kind == "sets":
        _, rows, found, problem = _tag_problem(
            data, counts, targets, exponent, threads, exposed=exposed
        )
        tested = held_out_tags(*problem)
    else:
        _, rows, V, weights = _labelled_view(data, counts, targets, exponent)
        Y = np.asarray(targets.values, dtype=np.float64)[rows]
        Y = np.where(_known_cells(targets, rows), Y, np.nan)
        found = _distinct(V, Y, weights)
        X, sizes = Matrix(V[found.rows], threads), totals(data.select(rows))[found.rows]
        tested = held_out_numbers(X, sizes, Y[found.rows], found.weights)
    out[rows] = found.of_each(tested, len(rows))
    return HeldOut(out)


def _held_out_classes(groups: Classes, scores: FloatArray) -> FloatArray:
    """Return held-out scores of all classes; classes without labels have the lowest."""
    out = np.full((len(scores), groups.prototypes.shape[1]), ABSENT_CLASS_SCORE)
    out[:, groups.prototypes.argmax(axis=1)] = scores
    out[np.isnan(scores).any(axis=1)] = np.nan
    return out


def number_head(
    objective: Objective,
    factors: Factors,
    targets: Targets,
    exponent: int,
    threads: Threads,
    coding: ValueCoding | None,
) -> tuple[PooledHead, ExpectedScore | None]:
    """Fit the head of numbers on representations that have not seen them."""
    data, counts = objective.terms[0].observations, objective.sample_weight
    view, rows, V, weights = _labelled_view(data, counts, targets, exponent)
    S = _without_labels(objective, factors, rows, threads)
    shares = topic_shares(np.asarray(S, dtype=np.float64), factors.features.T)
    Y = np.asarray(targets.values, dtype=np.float64)[rows]
    Y = np.where(_known_cells(targets, rows), Y, np.nan)
    found = _distinct(V, Y, weights)
    places, weights = found.rows, found.weights
    model = fit_numbers(
        Matrix(V[places], threads),
        shares[places],
        totals(data.select(rows))[places],
        Y[places],
        weights,
    )
    head = PooledHead(
        view,
        model.words,
        model.base,
        model.topics,
        model.size,
        *model.scale,
        half_width=model.half_width,
    )
    return head, _expected_of_numbers(coding, Y[places], model.held_out, weights)


def _expected_of_numbers(
    coding: ValueCoding | None, truth: FloatArray, held_out: FloatArray, weights: FloatArray
) -> ExpectedScore | None:
    """Return the R² of held-out predictions within the limits of y; of logarithms also in the
    units of y."""
    predicted = held_out if coding is None else coding.limited(held_out)
    each = _each_number(score_of_numbers, truth, predicted, weights)
    expected = mean_score(each)
    if expected is None or coding is None or not coding.logs.any():
        return expected
    true, told = (coding.decode(one).reshape(truth.shape) for one in (truth, predicted))
    of_logs = zip(coding.logs, _each_number(r_squared, true, told, weights), each, strict=True)
    own = [r2 if log or same is None else same.value for log, r2, same in of_logs]
    return replace(expected, natural=tuple(np.nan if r2 is None else r2 for r2 in own))


def _each_number(
    score: Callable[..., Any], truth: FloatArray, predicted: FloatArray, weights: FloatArray
) -> list[Any]:
    """Return a score of each column, from the rows that have a prediction."""
    found = []
    for y, p in zip(truth.T, predicted.T, strict=True):
        used = ~np.isnan(p)
        unit = float(np.abs(y[used]).max(initial=0.0)) or 1.0  # so that squares do not overflow
        found.append(score((y[used] - p[used]) / unit, y[used] / unit, weights[used]))
    return found


def _labelled_view(
    data: Observations,
    counts: FloatArray | None,
    targets: Targets,
    exponent: int,
    *,
    exposed: bool = False,
) -> tuple[View, Any, Any, FloatArray]:
    """Choose the view of all samples; return it, the labelled rows, their view and weights."""
    numbers = as_numbers(counts)
    weights = np.ones(data.shape[0]) if numbers is None else numbers
    view = choose_view(data, weights, exponent, exposed=exposed)
    confidence = targets.confidence
    if confidence is not None:
        weights = weights * (confidence / (float(confidence.max(initial=0.0)) or 1.0))
    rows = np.flatnonzero(targets.labelled & (weights > 0))
    return view, rows, view.of(data.select(rows)), weights[rows]


def _known_cells(targets: Targets, rows: Any) -> BoolArray:
    cells = targets.cell_weights
    if cells is None:
        return np.ones((len(rows), targets.n_targets), dtype=bool)
    return np.asarray(cells[rows] > 0)


def _distinct(V: Any, Y: FloatArray, weights: FloatArray) -> Distinct:
    """Find rows that are equal in view and targets, which are NaN where unknown."""
    numbers = np.unique(Y, return_inverse=True)[1].reshape(Y.shape)
    return distinct_rows(V, numbers + 1.0, np.ones(len(Y), dtype=bool), weights)
