"""Starts.  Random numbers are drawn per feature, target and topic, never per sample.

So integer sample weights equal repeated rows, permuted rows permute, and blocks of rows agree with
one array.  Samples start constant (or from class responsibilities) and take a step that sees the
data only.  No start has exact zeros, which multiplicative updates could not leave.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse as sp
from scipy.special import ndtr, softmax
from sklearn.utils.extmath import randomized_svd

from cofactor.objective import Factors, Objective
from cofactor.observations import Observations
from cofactor.seen import cross, pad
from cofactor.solvers import MultiplicativeUpdates
from cofactor.threads import Threads
from cofactor.typing import BoolArray, FloatArray, IntArray

SMALL = 1e-3  # share of the mean that stands in for a zero


@dataclass(frozen=True)
class Classes:
    """What the class-wise start knows of the labels.

    Parameters
    ----------
    shares : array (n, c)
        Each labelled sample's share in the classes; rows sum to one.
    labelled : array (n,)
        Which samples are labelled.
    prototypes : array (c, k)
        The target row that stands for each class: the identity for classes, the bin's mean for
        regression.
    """

    shares: FloatArray
    labelled: BoolArray
    prototypes: FloatArray


@dataclass(frozen=True)
class Guess:
    """What the labels suggest for every sample, labelled or not.

    Parameters
    ----------
    shares : array (n, c)
        Each sample's share in the classes; those of labelled samples are given.
    profiles : array (m, c)
        Distribution of the features in each class.
    targets : array (n, k)
        The target row that a sample's shares stand for.
    prototypes : array (c, k)
        The target row that stands for each class.
    mass : array (m, c)
        What the profiles are made of: the features' sums in each class.
    count : array (c,)
        Samples of each class.
    scale : float
        Mean length of the samples, which the profiles' evidence is measured in.
    """

    shares: FloatArray
    profiles: FloatArray
    targets: FloatArray
    prototypes: FloatArray
    mass: FloatArray
    count: FloatArray
    scale: float

    def without_samples(self) -> Guess:
        """Return what can be said of other samples."""
        none = np.empty((0, 0))
        return replace(self, shares=none, targets=none)

    @property
    def prior(self) -> FloatArray:
        """Logarithm of each class's share in the samples."""
        return np.asarray(np.log((self.count + 1) / (self.count + 1).sum()))


@dataclass(frozen=True)
class _Data:
    """The first term's matrix with the sample weights, for sums over listed cells."""

    observations: Observations
    counts: FloatArray
    means: FloatArray
    threads: Threads

    def times(self, F: FloatArray) -> FloatArray:
        """Return X @ F."""
        return cross(self.observations.layout, pad(F), F.shape[1], self.threads)

    def transposed_times(self, V: FloatArray) -> FloatArray:
        """Return Xᵀ @ V."""
        layout = self.observations.transposed.layout
        return cross(layout, pad(V), V.shape[1], self.threads)

    @property
    def row_sums(self) -> FloatArray:
        return self.times(np.ones((self.observations.shape[1], 1)))[:, 0]


def _positive(V: FloatArray) -> FloatArray:
    """Lift zeros to a small share of the mean."""
    mean = float(V.mean()) if V.size else 0.0
    return np.maximum(V, SMALL * mean if mean > 0 else SMALL)


def _positive_rows(S: FloatArray, share: float = SMALL) -> FloatArray:
    """Lift zeros to a small share of their row's mean; rows do not know of each other."""
    mean = S.mean(axis=1, keepdims=True)
    return np.maximum(S, np.where(mean > 0, share * mean, SMALL).astype(S.dtype))


def _profiles(data: _Data, rank: int, random: np.random.RandomState, kind: str) -> FloatArray:
    """Return topics (features × rank) whose columns have the corpus' mass."""
    means = _positive(data.means)
    A = means[:, None] * random.uniform(size=(len(means), rank))
    if kind == "nndsvd":
        leading = _leading_profiles(data, min(rank, *data.observations.shape), random)
        A[:, : leading.shape[1]] = leading * (means.sum() / np.maximum(leading.sum(axis=0), 1e-12))
    return _positive(A)


def _leading_profiles(data: _Data, rank: int, random: np.random.RandomState) -> FloatArray:
    """Return the dominant nonnegative part of each leading right singular vector (NNDSVD)."""
    layout, shape = data.observations.layout, data.observations.shape
    values = layout.values * np.sqrt(data.counts)[layout.rows()]
    X = sp.csr_array((values, layout.columns(), layout.start), shape=shape)
    U, _, Vt = randomized_svd(X, rank, random_state=random, transpose=False, n_iter=7)
    A = np.empty((shape[1], rank))
    for t in range(rank):
        plus = np.linalg.norm(np.maximum(U[:, t], 0)) * np.linalg.norm(np.maximum(Vt[t], 0))
        minus = np.linalg.norm(np.minimum(U[:, t], 0)) * np.linalg.norm(np.minimum(Vt[t], 0))
        A[:, t] = np.maximum(Vt[t], 0) if plus >= minus else np.maximum(-Vt[t], 0)
    return A


def _settle(objective: Objective, factors: Factors, threads: Threads) -> FloatArray:
    """Take one step on the samples that sees only the data; zeros are lifted."""
    restricted = objective.only_samples()
    solver = MultiplicativeUpdates()
    problem = restricted.problem("samples", factors, threads)
    S, _ = solver.improve(problem, factors.seen("samples"), threads)
    return _positive_rows(S.array, 1e-6)


def even_representation(row_sums: FloatArray, A: FloatArray) -> FloatArray:
    """Return rows that use all topics alike and have the mass of their sample."""
    mass = float(A.sum(dtype=np.float64))
    return np.tile((row_sums / mass if mass > 0 else row_sums)[:, None], (1, A.shape[1]))


def plain_start(
    objective: Objective, rank: int, random: np.random.RandomState, kind: str, threads: Threads
) -> Factors:
    """``random`` or ``nndsvd`` topics, even samples, random targets."""
    data = _weighed(objective.terms[0].observations, objective.sample_weight, threads)
    A = _profiles(data, rank, random, kind)
    S = _positive_rows(even_representation(data.row_sums, A))
    B = None
    if len(objective.terms) > 1:
        size = float(np.average(S.sum(1), weights=data.counts))
        mean = _positive(objective.terms[1].observations.column_means(data.counts)) / size
        B = mean[:, None] * random.uniform(0.5, 1.5, size=(len(mean), rank))
    return _finish(objective, S, A, B, threads)


def _finish(
    objective: Objective, S: FloatArray, A: FloatArray, B: FloatArray | None, threads: Threads
) -> Factors:
    dtype = objective.terms[0].observations.dtype
    cast = Factors(S, A, B).map(lambda V: np.ascontiguousarray(V, dtype=dtype))
    return Factors(_settle(objective, cast, threads), cast.features, cast.targets)


def _weighed(observations: Observations, counts: FloatArray | None, threads: Threads) -> _Data:
    weights = np.ones(observations.shape[0]) if counts is None else counts
    return _Data(observations.folded(), weights, observations.column_means(counts), threads)


UNLABELLED_WEIGHT, SMOOTHING, CLASS_STEPS, TOPIC_STEPS = 0.1, 0.01, 12, 8
TOLD_APART = 0.02
"""Evidence that a class's topics keep between them. Where features differ little, as in most dense
data, samples are never sure of a topic, and each step brings the topics closer to their mean."""
SAME = 1e-9
"""1 − cosine of samples that do not differ."""


def guess_classes(
    observations: Observations,
    counts: FloatArray | None,
    classes: Classes,
    threads: Threads,
    earlier: Guess | None = None,
) -> Guess:
    """Spread the labels over the unlabelled samples: naive Bayes with expectation maximisation.

    ``earlier`` is the guess for other samples of the same classes, whose evidence is added.
    """
    data = _weighed(observations, counts, threads)
    scale = _mean_length(data) if earlier is None else earlier.scale
    X = replace(data, observations=_divided(data.observations, scale))
    mass, count = (0.0, 0.0) if earlier is None else (earlier.mass, earlier.count)
    weight = X.counts * np.where(classes.labelled, 1.0, UNLABELLED_WEIGHT)
    Q = np.where(classes.labelled[:, None], classes.shares, 0.0)

    def guessed(weight: FloatArray) -> Guess:
        weighted = Q * weight[:, None]
        total = mass + X.transposed_times(weighted)
        return Guess(
            Q, _normalised(total), Q @ classes.prototypes, classes.prototypes,
            total, count + weighted.sum(axis=0), scale,
        )  # fmt: skip

    guess = guessed(X.counts)
    for _ in range(CLASS_STEPS if not classes.labelled.all() else 0):
        evidence = X.times(np.log(guess.profiles)) + guess.prior
        Q = np.where(classes.labelled[:, None], classes.shares, softmax(evidence, axis=1))
        guess = guessed(weight)
    return guess


def counted(classes: Classes, counts: FloatArray | None) -> Classes:
    """Leave out classes whose samples do not count."""
    weights = classes.labelled if counts is None else classes.labelled * counts
    seen = (classes.shares * weights[:, None]).sum(axis=0) > 0
    if seen.all() or not seen.any():
        return classes
    labelled = classes.labelled & (classes.shares[:, seen].sum(axis=1) > 0)
    return Classes(classes.shares[:, seen], labelled, classes.prototypes[seen])


def spread_classes(observations: Observations, guess: Guess, threads: Threads) -> FloatArray:
    """Return the shares of further samples in the classes, as the guess for others has them."""
    layout = observations.folded().layout
    logs = np.log(guess.profiles)
    evidence = cross(layout, pad(logs / guess.scale), logs.shape[1], threads)
    return np.asarray(softmax(evidence + guess.prior, axis=1))


def settled_samples(objective: Objective, start: Factors, threads: Threads) -> FloatArray:
    """Return samples for topics that others started: even ones, after a step that sees the data
    only."""
    data = _weighed(objective.terms[0].observations, objective.sample_weight, threads)
    even = _positive_rows(even_representation(data.row_sums, start.features))
    S = np.ascontiguousarray(even, dtype=start.features.dtype)
    return _settle(objective, replace(start, samples=S), threads)


def class_start(
    objective: Objective,
    rank: int,
    guess: Guess,
    targets: FloatArray,
    random: np.random.RandomState,
    threads: Threads,
) -> Factors:
    """Divide the topics among the classes and each class among its topics.

    ``targets`` are the guessed ones in the units of the objective.
    """
    data = _weighed(objective.terms[0].observations, objective.sample_weight, threads)
    X, norms = _normal_size(data)
    owners = _owners(guess.shares.T @ data.counts, rank)
    R, A = _split(X, norms, guess, owners, random)
    mass = float(np.average(data.row_sums, weights=data.counts)) or 1.0
    S = _positive_rows(R * (data.row_sums / mass)[:, None])
    weights = R * data.counts[:, None]
    owned = (weights.T @ targets) / np.maximum(weights.sum(axis=0), 1e-12)[:, None]
    return _finish(objective, S, A * mass, _positive(owned + 0.05 * owned.mean(axis=0)).T, threads)


def _normal_size(data: _Data) -> tuple[_Data, FloatArray]:
    """Return the data scaled to rows of mean length one, and the rows' lengths."""
    norms, scale = _row_norms(data.observations), _mean_length(data)
    return replace(data, observations=_divided(data.observations, scale)), norms / scale


def _mean_length(data: _Data) -> float:
    return float(np.average(_row_norms(data.observations), weights=data.counts)) or 1.0


def _row_norms(observations: Observations) -> FloatArray:
    layout = observations.layout
    squares = np.asarray(layout.values, np.float64) ** 2
    return np.sqrt(np.bincount(layout.rows(), squares, minlength=observations.shape[0]))


def _divided(observations: Observations, scale: float) -> Observations:
    values = observations.layout.values / observations.dtype.type(scale)
    return replace(observations, layout=observations.layout._replace(values=values))


def _normalised(profiles: FloatArray) -> FloatArray:
    """Smooth and scale columns to sum to one."""
    smoothed = profiles + SMOOTHING
    return np.asarray(smoothed / smoothed.sum(axis=0))


def _owners(size: FloatArray, rank: int) -> list[IntArray]:
    """Return for each topic the classes that own it: at least one each, spare topics to the
    largest classes."""
    n_classes = len(size)
    order = np.argsort(-size, kind="stable")
    if rank >= n_classes:
        number = np.full(n_classes, rank // n_classes)
        number[order[: rank % n_classes]] += 1
        return [np.array([c]) for c in range(n_classes) for _ in range(number[c])]
    groups: list[list[int]] = [[int(c)] for c in order[:rank]]
    for c in order[rank:]:  # more classes than topics: the smallest groups take the rest in
        min(groups, key=lambda group: sum(size[group])).append(int(c))
    return [np.array(sorted(group)) for group in groups]


def _split(
    X: _Data, norms: FloatArray, guess: Guess, owners: list[IntArray], random: np.random.RandomState
) -> tuple[FloatArray, FloatArray]:
    """Divide each class among its topics; return responsibilities (n × r) and topics (m × r).

    Steps end before they make topics the same: updates could not tell them apart again.
    """
    n, m = X.observations.shape
    R, A = np.zeros((n, len(owners))), np.zeros((m, len(owners)))
    for group in sorted({tuple(owner.tolist()) for owner in owners}):
        topics = np.array([t for t, owner in enumerate(owners) if tuple(owner.tolist()) == group])
        share = guess.shares[:, list(group)].sum(axis=1)
        mean = guess.profiles[:, list(group)].mean(axis=1)
        noise = random.standard_normal((m, len(topics)))
        centres = _spread_seeds(X, norms, share, mean, noise)
        weight, evidence = share * X.counts, X.times(np.log(centres))
        for _ in range(TOPIC_STEPS if len(topics) > 1 else 0):
            within = softmax(evidence, axis=1) * weight[:, None]
            new = 0.5 * _normalised(X.transposed_times(within)) + 0.5 * mean[:, None]
            renewed = X.times(np.log(new))
            if _margin(renewed, weight) < TOLD_APART:
                break
            centres, evidence = new, renewed
        R[:, topics], A[:, topics] = softmax(evidence, axis=1) * share[:, None], centres
    return R, A


def _margin(evidence: FloatArray, weight: FloatArray) -> float:
    """Return how much more the evidence is for a sample's best topic than for the next, on
    average."""
    best = np.partition(evidence, -2, axis=1)[:, -2:]
    return float((best[:, 1] - best[:, 0]) @ weight) / max(float(weight.sum()), 1e-300)


def _spread_seeds(
    X: _Data, norms: FloatArray, share: FloatArray, mean: FloatArray, noise: FloatArray
) -> FloatArray:
    """Choose samples far apart (k-means++ on the sphere) and return each mixed with the class mean.

    The draw is made with noise of the features, not of the samples: a sample's luck is a
    projection of itself.  When there are no more samples that differ, the noise disturbs the mean.
    """
    eligible = (share > 0.5) & (norms > 0) & (X.counts > 0)
    centres = np.tile(mean[:, None], (1, noise.shape[1]))
    if noise.shape[1] == 1:
        return centres
    safe = np.where(norms > 0, norms, 1.0)
    luck = -np.log(-np.log(np.clip(ndtr(X.times(noise) / safe[:, None]), 1e-12, 1 - 1e-12)))
    distance = np.ones(len(norms))
    for t in range(noise.shape[1]):
        candidates = np.flatnonzero(eligible & (distance > SAME))
        if len(candidates):
            score = np.log(distance[candidates]) + luck[candidates, t]
            seed = int(candidates[np.argmax(score)])
            row = _row(X.observations, seed)
            cosine = X.times((row / safe[seed])[:, None])[:, 0] / safe
            distance = np.minimum(distance, np.clip(1 - cosine, 0, 1))
        else:
            row = mean * np.exp(noise[:, t])
        centres[:, t] = 0.5 * row / max(row.sum(), 1e-300) + 0.5 * mean
    return centres


def _row(observations: Observations, i: int) -> FloatArray:
    part = observations.select(np.array([i]))
    out = np.zeros(observations.shape[1])
    out[part.layout.columns()] = part.layout.values
    return out
