"""Fitted states that learn from further samples without the earlier ones.

``widen`` adds features and topics; what a state says of earlier samples stays.
``learn_labels`` adds what labels of the further samples say. The earlier samples are gone, so
samples drawn from memory stand for them, with the weight of the labels that the head knows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.sparse import vstack as stack_sparse
from scipy.special import softmax

from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.engine.factors import Factors
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import observe
from cofactor.engine.threads import Threads
from cofactor.estimators.edits import without_data
from cofactor.estimators.fitted import Fitted
from cofactor.estimators.heads import TOPIC_WEIGHT, PooledHead, topic_log_shares, with_mean_mass
from cofactor.estimators.inference import masses, solve_rows, topic_shares
from cofactor.estimators.validation import as_divergence
from cofactor.linear.corrections import ScoredRows, correct_scores
from cofactor.linear.familiar import FamiliarSamples
from cofactor.linear.views import Matrix, Side, row_products
from cofactor.targets.classes import ClassCoding, label_shares
from cofactor.targets.matrix import Targets

LENGTHS = (0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 1.0)
"""Lengths of drawn samples to choose from; one makes them as hard to tell apart as real samples
that no fit has seen."""
USUAL_LENGTH = 0.3
"""That length if nobody has measured how hard real samples are."""
MAX_DRAWN_SAMPLES = 6000
"""Maximum number of samples that are drawn from memory."""
MIN_RELATIVE_START = 1e-6
"""Entries of the targets start at least here, relative to their mean, so that they can grow."""


# ---- features and topics


def widen(fitted: Fitted, components: FloatArray, representation: FloatArray) -> Fitted:
    """Return a state with further features, topics and samples.

    Parameters
    ----------
    components : array (n_topics, n_features)
        Topics; the first ones and the first features are those of ``fitted``.
    representation : array (n_samples, n_topics)
        The further samples.

    Notes
    -----
    The earlier samples have nothing of the new topics. A new feature does not
    change the targets. A new topic predicts the average of the earlier samples.
    """
    r, m = fitted.components.shape
    before = np.pad(fitted.representation, ((0, 0), (0, len(components) - r)))
    B, head = fitted.target_components, fitted.head
    if B is not None:
        mixing = _average(fitted, len(components) - r)
        per_mass = mixing @ (B / masses(fitted.components)[:, None])
        rows = per_mass * masses(components[r:])[:, None]
        B = np.concatenate([B, rows]).astype(B.dtype)
        head = None if head is None else _wider_head(head, components.shape[1] - m, mixing)
    return replace(
        without_data(fitted),
        components=components,
        representation=np.concatenate([before, representation]).astype(before.dtype),
        target_components=B,
        head=head,
    )


def _average(fitted: Fitted, n: int) -> FloatArray:
    """Return n rows with the part of each topic in the mass of the samples."""
    mass = fitted.representation.sum(axis=0, dtype=np.float64) * masses(fitted.components)
    total = mass.sum()
    share = mass / total if total > 0 else np.full(len(mass), 1.0 / len(mass))
    return np.repeat(share[None], n, axis=0)


def _wider_head(head: PooledHead, n_features: int, mixing: FloatArray) -> PooledHead:
    return replace(
        head.of_topics(lambda rows: np.vstack([rows, mixing @ rows])),
        weights=np.pad(head.weights, ((0, n_features), (0, 0))),
        familiar=None if head.familiar is None else head.familiar.wider(n_features),
    )


# ---- labels


class Labelled(NamedTuple):
    """Further samples with labels.

    Parameters
    ----------
    X : sparse or dense matrix (n, m)
    S : array (n, r)
        Their representations by the topics, which have not seen the labels.
    targets : Targets
        Those of all classes, the new ones last.
    weights : array (n,)
        Weight of each label by its class.
    side : Side or None
        What is known of them beside X, if the head needs it.
    """

    X: Any
    S: FloatArray
    targets: Targets
    weights: FloatArray
    side: Side | None = None


class RememberedSamples(NamedTuple):
    """What is known of the samples that are gone.

    Parameters
    ----------
    S : array (n, r)
        Their representations.
    scores : array (n, k)
        Their scores.
    """

    S: FloatArray
    scores: FloatArray


def learn_labels(
    estimator: Any, coding: ClassCoding, further: Labelled, memory: RememberedSamples, seed: int
) -> Fitted:
    """Return the state of an estimator that has learned from labels of further samples.

    Parameters
    ----------
    estimator : SSNMFClassifier
        With the topics and features of the further samples, see `widen`.
    coding : ClassCoding
        Its classes come first, then new ones. The result has them in their order.
    further : Labelled
    memory : RememberedSamples
    seed : int
        Of the draws.
    """
    known = further.targets.labelled & (further.weights > 0)
    further = _select(further, np.flatnonzero(known))
    fitted = estimator.completed()
    P = np.asarray(estimator.probabilities(memory.scores))
    n_labels = _number_of_labels(fitted.head, len(P))
    with Threads(estimator.n_jobs) as threads:
        B = _targets(estimator, further, memory.S, P, n_labels / max(len(P), 1), threads)
        B = np.ascontiguousarray(B, dtype=fitted.components.dtype)
        head = fitted.head
        if head is not None:
            head = _with_classes(head, fitted.components, B, fitted.coding.n_targets)
            head = _corrected(head, estimator, further, memory, n_labels, seed, threads)
    return _in_order(replace(fitted, target_components=B, head=head), coding)


def _select(further: Labelled, rows: Any) -> Labelled:
    return Labelled(
        further.X[rows],
        further.S[rows],
        further.targets.select(rows),
        further.weights[rows],
        None if further.side is None else further.side[rows],
    )


def _number_of_labels(head: PooledHead | None, n: int) -> float:
    return float(n) if head is None or head.labels is None else float(head.labels.sum())


def _targets(
    estimator: Any, further: Labelled, S: FloatArray, P: FloatArray, weight: float, threads: Threads
) -> FloatArray:
    """Estimate the targets of all topics and classes on earlier and further samples."""
    Y = np.vstack([_padded(P, further.targets.n_targets), label_shares(further.targets)])
    counts = np.r_[np.full(len(P), max(weight, 1e-12)), further.weights]
    A = estimator.components_
    samples = with_mean_mass(np.vstack([S, further.S]).astype(np.float64), A.T, counts)
    old = _padded(estimator.target_components_, Y.shape[1]).T.astype(np.float64)
    start = np.ascontiguousarray(np.maximum(old, 1e-3 * old.mean() + MIN_RELATIVE_START))
    loss = as_divergence("target_loss", estimator.target_loss)
    objective = Objective(
        (Term("target", "targets", observe(Y), loss),), {}, counts, free=("targets",)
    )
    factors = Factors(samples, np.zeros((1, samples.shape[1])), start)
    return solve_rows(objective, factors, threads).get("targets").T


def _padded(values: FloatArray, width: int) -> FloatArray:
    return np.pad(values, ((0, 0), (0, width - values.shape[1])))


def _with_classes(head: PooledHead, A: FloatArray, B: FloatArray, old: int) -> PooledHead:
    """Return a head with columns for new classes; what topics say of known classes stays."""
    logs = TOPIC_WEIGHT * topic_log_shares(A.T, B.T, np.eye(B.shape[1]))
    logs = logs - logs[:, :old].mean(axis=1, keepdims=True)
    n_new = B.shape[1] - old
    wider = head.of_targets(lambda own: np.pad(own, [(0, 0)] * (own.ndim - 1) + [(0, n_new)]))
    return replace(wider, topics=np.hstack([head.topics, logs[:, old:]]))


def _corrected(
    head: PooledHead,
    estimator: Any,
    further: Labelled,
    memory: RememberedSamples,
    n_labels: float,
    seed: int,
    threads: Threads,
) -> PooledHead:
    """Correct the scores by the labels of the further samples.

    A class that the head knows by name only, without a label, is as new as one without a name.
    """
    random = np.random.default_rng(seed)
    rows = some_rows(len(memory.S), random)
    found, old = label_shares(further.targets), memory.scores.shape[1]
    new = np.arange(found.shape[1]) >= old
    if head.labels is not None:
        new |= (head.labels == 0) & (found.sum(axis=0) > 0)
    head, S = replace(head, base=np.where(new, 0.0, head.base)), memory.S[rows]
    weight = n_labels / max(len(S), 1)
    hard = head.hard_length or _hard_length(
        head, estimator, further.X, S, memory.scores[rows], random, threads
    )
    long, short = (
        _rows(head, estimator, further, S, new, weight, length, random, threads)
        for length in (1.0, hard or USUAL_LENGTH)
    )
    change = correct_scores(long, short, new)
    labels = None if head.labels is None else head.labels + (found > 0).sum(axis=0)
    weights, base = head.weights + change.added.weights, head.base + change.added.base
    scaled = replace(head, weights=weights, base=base).of_targets(lambda own: own * change.factor)
    return replace(
        scaled,
        base=scaled.base + change.base,
        labels=labels,
        hard_length=hard,
        familiar=_more_familiar(head, estimator, further, threads),
    )


def _more_familiar(
    head: PooledHead, estimator: Any, further: Labelled, threads: Threads
) -> FamiliarSamples | None:
    """Return the labelled samples that a head keeps, with further ones."""
    if head.familiar is None:
        return None
    classes = label_shares(further.targets).argmax(axis=1)
    return head.familiar.with_samples(
        head.view.of(estimator.own_units(further.X)), classes, threads
    )


def _hard_length(
    head: PooledHead,
    estimator: Any,
    like: Any,
    S: FloatArray,
    scores: FloatArray,
    random: np.random.Generator,
    threads: Threads,
) -> float | None:
    """Return the length at which the head is right about drawn samples as often as expected.

    The expected score is that of the features' part of the head. None if there is none.
    """
    expected = estimator.fitted.expected_score
    if expected is None or scores.shape[1] < 2 or head.view.mean is not None:
        return None
    A, own = estimator.components_, scores.argmax(axis=1)
    right = []
    for length in LENGTHS:
        drawn = draw_samples(S, A, like, length, random)
        V = head.view.of(estimator.own_units(drawn))
        found = row_products(V, head.weights, threads) + head.base
        right.append(float(np.mean(found[:, : scores.shape[1]].argmax(axis=1) == own)))
    rising = np.maximum.accumulate(right)
    return float(np.exp(np.interp(expected.value, rising, np.log(LENGTHS))))


def _rows(
    head: PooledHead,
    estimator: Any,
    further: Labelled,
    S: FloatArray,
    new: BoolArray,
    weight: float,
    length: float,
    random: np.random.Generator,
    threads: Threads,
) -> ScoredRows:
    """Return the further samples, then samples drawn from memory with the shares they score."""
    A = estimator.components_
    drawn: Any = (
        S @ A if head.view.mean is not None else draw_samples(S, A, further.X, length, random)
    )
    parts = [(further.X, further.S, further.side), (drawn, S, None)]
    V, Z = zip(*(_scored(head, estimator, *part, threads) for part in parts), strict=True)
    shares = [label_shares(further.targets), softmax(np.where(new, -np.inf, Z[1]), axis=1)]
    weights = np.r_[further.weights, np.full(len(S), weight)]
    values = csr_array(stack_sparse(V)) if issparse(V[0]) else np.vstack(V)
    return ScoredRows(Matrix(values, threads), np.vstack(Z), np.vstack(shares), weights)


def _scored(
    head: PooledHead, estimator: Any, X: Any, S: FloatArray, side: Side | None, threads: Threads
) -> tuple[Any, FloatArray]:
    """Return the view of samples and their scores."""
    data = estimator.own_units(X)
    seen = head if side is not None else head.without_side()
    return head.view.of(data), seen.scores(data, S, estimator.components_, threads, side)


def _in_order(fitted: Fitted, coding: ClassCoding) -> Fitted:
    """Bring the columns of the classes into the order of the classes."""
    order = (
        np.argsort(coding.classes, kind="stable") if coding.kind == "multiclass" else slice(None)
    )
    B, head = fitted.target_components, fitted.head
    if head is not None:
        head = replace(
            head.of_targets(lambda own: own[..., order]),
            familiar=None
            if head.familiar is None
            else head.familiar.renumbered(np.argsort(np.arange(len(head.base))[order])),
        )
    return replace(
        fitted,
        coding=replace(coding, classes=coding.classes[order]),
        target_components=None if B is None else np.ascontiguousarray(B[:, order]),
        head=head,
    )


# ---- scores of samples that are gone


def remembered_scores(before: Any, after: Any, S: FloatArray, scores: FloatArray) -> FloatArray:
    """Return the scores of earlier samples after an update, as far as their topics determine them.

    Parameters
    ----------
    before, after : estimators
    S : array (n, r)
        Representations of the samples by the topics of ``after``.
    scores : array (n, k)
        Their scores by ``before``.
    """
    if after.pooled_head is None:
        return np.asarray(S @ after.target_components_)
    shares = topic_shares(np.asarray(S, dtype=np.float64), after.components_)
    new = _expected_scores(after, shares)
    known = _expected_scores(before, shares[:, : len(before.components_)])
    places = {label: k for k, label in enumerate(after.classes_.tolist())}
    for k, label in enumerate(before.classes_.tolist()):
        new[:, places[label]] += scores[:, k] - known[:, k]
    return np.asarray(new)


def _expected_scores(estimator: Any, shares: FloatArray) -> FloatArray:
    """Return what topics say of samples with these shares; one without topics has the base."""
    base = estimator.pooled_head.base
    return np.asarray(shares @ (estimator.topic_scores() - base) + base)


# ---- rehearsal: samples that are drawn from the memory of the samples that are gone
#
# A model keeps the representations S of its training samples and the topics A, so it knows the mean
# S A of each sample. A drawn sample has features of that mean, as many as a sample of that size
# has. Sums over drawn samples are those of the training samples, up to chance: a fit with the
# Kullback–Leibler loss keeps the sum of every feature.


def some_rows(n: int, random: np.random.Generator) -> IntArray:
    """Return the rows of the memory that are drawn, at most `MAX_DRAWN_SAMPLES`."""
    return (
        np.arange(n)
        if n <= MAX_DRAWN_SAMPLES
        else np.sort(random.choice(n, MAX_DRAWN_SAMPLES, replace=False))
    )


def draw_samples(
    S: FloatArray, A: FloatArray, like: Any, length: float, random: np.random.Generator
) -> csr_array:
    """Draw a sample for each representation.

    Parameters
    ----------
    S : array (n, r)
        Representations.
    A : array (r, m)
        Topics.
    like : sparse or dense matrix (·, m)
        Samples that show how large one feature of a sample is.
    length : float
        Number of features of a drawn sample, relative to a sample of its size. Shorter ones are
        harder to tell apart.
    random : Generator
    """
    numbers = _numbers(S @ masses(A), like)
    counts = np.ceil(length * numbers).astype(np.int64)
    shares = topic_shares(np.asarray(S, dtype=np.float64), A)
    parts = _divide(counts, shares, random)
    rows, columns = [], []
    for k, topic in enumerate(A):
        rows.append(np.repeat(np.arange(len(S)), parts[:, k]))
        edges = np.cumsum(topic, dtype=np.float64)
        drawn = np.searchsorted(edges, random.random(len(rows[-1])) * edges[-1], side="right")
        columns.append(np.minimum(drawn, len(topic) - 1))
    cells = np.concatenate(rows), np.concatenate(columns)
    drawn = csr_array((np.ones(len(cells[0])), cells), shape=(len(S), A.shape[1]))
    drawn.sum_duplicates()
    return drawn


def _numbers(mass: FloatArray, like: Any) -> FloatArray:
    """Return the number of equal features that samples of some mass have.

    n equal features of a sample of length l have the mass l √n.
    """
    squares = np.asarray((like.multiply(like) if issparse(like) else like**2).sum(axis=1)).ravel()
    squares = squares[squares > 0]
    mean = float(squares.mean()) if len(squares) else 1.0
    return np.minimum(mass**2 / max(mean, 1e-300), 10.0 * like.shape[1])


def _divide(counts: IntArray, shares: FloatArray, random: np.random.Generator) -> IntArray:
    """Divide the number of features of each sample among its topics by chance."""
    counts = np.where(shares.sum(axis=1) > 0, counts, 0)
    rest = np.clip(1.0 - shares[:, 1:].sum(axis=1, keepdims=True), 0.0, 1.0)
    return np.asarray(random.multinomial(counts, np.hstack([rest, shares[:, 1:]])))
