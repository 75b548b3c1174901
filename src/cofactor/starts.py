"""Factors to start a fit from.

``plain_start``        topics without labels: random, or from singular vectors (NNDSVD)
``class_start``        topics from labelled and guessed samples of each class
``start_from_topics``  known topics

Random numbers are drawn per feature, target and topic, never per sample. So integer sample weights
equal repeated rows, permuted rows permute, and blocks of rows agree with one array. Samples start
constant, or from class responsibilities, and take a step on the data alone. No start has exact
zeros, because multiplicative updates could not leave them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import ndtr, softmax
from sklearn.utils.extmath import randomized_svd

from cofactor._types import FloatArray, IntArray
from cofactor.engine.factors import Factors
from cofactor.engine.fitting import minimise
from cofactor.engine.objective import Objective
from cofactor.engine.observations import Observations
from cofactor.engine.solvers import CoordinateDescent, MultiplicativeUpdates
from cofactor.engine.stopping import RelativeDecrease
from cofactor.engine.subproblem.problem import Multiplication
from cofactor.engine.threads import Threads
from cofactor.linear.guess import Guess, WeightedData, sample_lengths, weigh_data
from cofactor.linear.parts import normalised

POWER_STEPS = 4
"""Power iterations of the singular value decomposition; more cost time and change no fit's end."""
ROUNDING_ERRORS = 10.0
"""Vectors below this many times the rounding errors of the data, as a whole, are noise."""
MAX_SPLIT_STEPS = 8
"""Maximum number of steps that divide a class among its topics."""
MIN_DIFFERENCE = 0.02
"""Minimum difference between any two topics of a class: the root mean square of the difference of
their log-likelihoods, for a sample of mean length. Steps bring the topics of a class closer to
each other where features differ little, as in most dense data."""
MIN_TOPIC_SHARE = 0.1
"""Least number of samples of a topic if its class has several, relative to the mean topic."""
MIN_DISTANCE = 1e-9
"""Samples with a smaller value of 1 − cosine count as equal."""
MIN_START_SHARE = 1e-3
"""Zeros are lifted to this share of a mean."""
MIN_SETTLED_SHARE = 1e-6
"""The same, for samples after their first step."""
MAX_SETTLING = 10
"""Maximum number of iterations of the other factors before known topics may move."""
MIN_SETTLING_DECREASE = 1e-2
"""They end when one lowers the objective by less than this share of the decrease so far."""


# ---- without labels


def plain_start(
    objective: Objective, rank: int, random: np.random.RandomState, kind: str, threads: Threads
) -> Factors:
    """Return a start of the ``kind`` "random" or "nndsvd".

    Targets are random around their means; samples use all topics alike, before they settle.
    """
    data = weigh_data(objective.terms[0].observations, objective.sample_weight, threads)
    A = _profiles(data, rank, random, kind)
    S = positive_rows(even_representation(data.row_sums, A))
    B = None
    if len(objective.terms) > 1:
        size = float(np.average(S.sum(1), weights=data.counts))
        mean = positive(objective.terms[1].observations.column_means(data.counts)) / size
        B = mean[:, None] * random.uniform(0.5, 1.5, size=(len(mean), rank))
    return finish_start(objective, S, A, B, threads)


def _profiles(
    data: WeightedData, rank: int, random: np.random.RandomState, kind: str
) -> FloatArray:
    """Return positive topics (features × rank); columns sum to about the mean sample's sum."""
    means = positive(data.means)
    A = means[:, None] * random.uniform(size=(len(means), rank))
    if kind == "nndsvd":
        leading = leading_profiles(data, rank, random)
        A[:, : leading.shape[1]] = leading * (means.sum() / np.maximum(leading.sum(axis=0), 1e-12))
    return positive(A)


def leading_profiles(data: WeightedData, rank: int, random: np.random.RandomState) -> FloatArray:
    """Return the larger of the positive and the negative part of each right singular vector.

    There are at most ``rank`` of them, and no more than the numerical rank of the data: vectors
    beyond it are noise, which repeated samples and samples of weight zero would change.
    """
    layout, shape = data.observations.layout, data.observations.shape
    values = layout.values * np.sqrt(data.counts)[layout.row_numbers()]
    X = layout._replace(values=values).as_csr(shape[1])
    # It draws random numbers for each feature and returns fewer vectors if there are fewer.
    U, size, Vt = randomized_svd(X, rank, random_state=random, transpose=False, n_iter=POWER_STEPS)
    noise = ROUNDING_ERRORS * float(np.linalg.norm(values)) * np.finfo(data.observations.dtype).eps
    pairs = zip(U.T[size > noise], Vt[size > noise], strict=True)
    parts = [_larger_part(u, v) for u, v in pairs]
    return np.array(parts, dtype=np.float64).reshape(len(parts), shape[1]).T


def _larger_part(u: FloatArray, v: FloatArray) -> FloatArray:
    """Return the positive part of v, or of −v where that part of the pair weighs more."""
    plus, minus = (
        np.linalg.norm(np.maximum(sign * u, 0)) * np.linalg.norm(np.maximum(sign * v, 0))
        for sign in (1, -1)
    )
    return np.maximum(v if plus >= minus else -v, 0)


# ---- from labels: each class gets some topics, and its samples are divided among them


def class_start(
    objective: Objective,
    rank: int,
    guess: Guess,
    targets: FloatArray,
    random: np.random.RandomState,
    threads: Threads,
) -> Factors:
    """Divide the topics among the classes, and each class's samples among its topics.

    ``targets`` are the guessed targets in the units of the objective.
    """
    data = weigh_data(objective.terms[0].observations, objective.sample_weight, threads)
    X = data.to_mean_length_one()
    owners = _owners(guess.shares.T @ data.counts, rank)
    R, A = _split(X, guess, owners, random)
    mass = float(np.average(data.row_sums, weights=data.counts)) or 1.0
    S = positive_rows(R * (data.row_sums / mass)[:, None])
    weights = R * data.counts[:, None]
    owned = (weights.T @ targets) / np.maximum(weights.sum(axis=0), 1e-12)[:, None]
    B = positive(owned + 0.05 * owned.mean(axis=0)).T
    return finish_start(objective, S, A * mass, B, threads)


def _owners(size: FloatArray, rank: int) -> list[IntArray]:
    """Return the classes that own each topic.

    Every class owns at least one, if there are enough topics.
    """
    n_classes = len(size)
    order = np.argsort(-size, kind="stable")
    if rank >= n_classes:
        number = _numbers_of_topics(size, rank)
        return [np.array([c]) for c in range(n_classes) for _ in range(number[c])]
    groups: list[list[int]] = [[int(c)] for c in order[:rank]]
    for c in order[rank:]:  # the smallest groups take the remaining classes
        min(groups, key=lambda group: sum(size[group])).append(int(c))
    return [np.array(sorted(group)) for group in groups]


def _numbers_of_topics(size: FloatArray, rank: int) -> IntArray:
    """Divide the topics evenly among the classes, the spare ones among the largest.

    A class gets a further topic only if each of its topics still has `MIN_TOPIC_SHARE` of the mean
    number of samples of a topic: a class of a sample or two, such as a misspelt one, has one topic.
    """
    number = np.ones(len(size), dtype=np.int64)
    most = size / max(float(size.sum()), 1e-300) * rank / MIN_TOPIC_SHARE
    for _ in range(rank - len(size)):
        large = np.flatnonzero(number + 1 <= most)
        large = large if len(large) else np.arange(len(size))
        number[large[np.lexsort((-size[large], number[large]))[0]]] += 1
    return number


def _split(
    X: WeightedData, guess: Guess, owners: list[IntArray], random: np.random.RandomState
) -> tuple[FloatArray, FloatArray]:
    """Divide each class among its topics; return responsibilities (n × r) and topics (m × r).

    Steps end before they make two topics equal, because updates would keep them equal.
    """
    (n, m), lengths = X.observations.shape, sample_lengths(X.observations)
    R, A = np.zeros((n, len(owners))), np.zeros((m, len(owners)))
    for group in sorted({tuple(owner.tolist()) for owner in owners}):
        topics = np.array([t for t, owner in enumerate(owners) if tuple(owner.tolist()) == group])
        share = guess.shares[:, list(group)].sum(axis=1)
        mean = guess.profiles[:, list(group)].mean(axis=1)
        noise = random.standard_normal((m, len(topics)))
        centres = _spread_seeds(X, lengths, share, mean, noise)
        weight, evidence = share * X.counts, X.times(np.log(centres))
        for _ in range(MAX_SPLIT_STEPS if len(topics) > 1 else 0):
            within = softmax(evidence, axis=1) * weight[:, None]
            new = 0.5 * normalised(X.transposed_times(within)) + 0.5 * mean[:, None]
            renewed = X.times(np.log(new))
            if _least_difference(renewed, weight) < MIN_DIFFERENCE:
                break
            centres, evidence = new, renewed
        R[:, topics], A[:, topics] = softmax(evidence, axis=1) * share[:, None], centres
    return R, A


def _least_difference(evidence: FloatArray, weight: FloatArray) -> float:
    """Return the difference in evidence between the two topics that differ least."""
    weighted = evidence.T * (weight / max(float(weight.sum()), 1e-300))
    products = weighted @ evidence
    squares = np.diag(products)
    pairs = np.triu_indices(len(products), 1)
    return float(np.sqrt(max((squares[:, None] + squares - 2 * products)[pairs].min(), 0.0)))


def _spread_seeds(
    X: WeightedData, lengths: FloatArray, share: FloatArray, mean: FloatArray, noise: FloatArray
) -> FloatArray:
    """Choose samples far apart (k-means++ on the sphere); return each mixed with the class mean.

    Random numbers belong to features, not to samples: the draw uses each sample's projection on
    them. When no more samples differ, the other topics are the mean, disturbed by the noise.
    """
    eligible = (share > 0.5) & (lengths > 0) & (X.counts > 0)
    centres = np.tile(mean[:, None], (1, noise.shape[1]))
    if noise.shape[1] == 1:
        return centres
    safe = np.where(lengths > 0, lengths, 1.0)
    luck = -np.log(-np.log(np.clip(ndtr(X.times(noise) / safe[:, None]), 1e-12, 1 - 1e-12)))
    distance = np.ones(len(lengths))
    for t in range(noise.shape[1]):
        candidates = np.flatnonzero(eligible & (distance > MIN_DISTANCE))
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
    out[part.layout.column_numbers()] = part.layout.values
    return out


# ---- samples, and known topics


def positive(V: FloatArray) -> FloatArray:
    """Lift entries to at least a small share of the mean."""
    mean = float(V.mean()) if V.size else 0.0
    return np.maximum(V, MIN_START_SHARE * mean if mean > 0 else MIN_START_SHARE)


def positive_rows(S: FloatArray, share: float = MIN_START_SHARE) -> FloatArray:
    """Lift entries to at least a share of their row's mean; rows are independent."""
    mean = S.mean(axis=1, keepdims=True)
    return np.maximum(S, np.where(mean > 0, share * mean, MIN_START_SHARE).astype(S.dtype))


def even_representation(row_sums: FloatArray, A: FloatArray) -> FloatArray:
    """Return a representation that uses all topics alike and fits the sums of the samples."""
    mass = float(A.sum(dtype=np.float64))
    return np.tile((row_sums / mass if mass > 0 else row_sums)[:, None], (1, A.shape[1]))


def settle(objective: Objective, factors: Factors, threads: Threads) -> FloatArray:
    """Return the samples after one update from the data alone, with zeros lifted."""
    problem = objective.only_samples().problem("samples", factors, threads)
    S, _ = problem.multiply(factors.padded("samples"), threads, Multiplication())
    return settled(S.array)


def settled(S: FloatArray) -> FloatArray:
    """Lift the zeros of samples that the data alone settled, so that updates can leave them."""
    return positive_rows(S, MIN_SETTLED_SHARE)


def finish_start(
    objective: Objective, S: FloatArray, A: FloatArray, B: FloatArray | None, threads: Threads
) -> Factors:
    """Return the start in the dtype of the data, with settled samples."""
    dtype = objective.terms[0].observations.dtype
    cast = Factors(S, A, B).cast(dtype)
    return Factors(settle(objective, cast, threads), cast.features, cast.targets)


def settled_samples(objective: Objective, start: Factors, threads: Threads) -> FloatArray:
    """Return samples for the topics of ``start``: even ones, after a step on the data alone."""
    data = weigh_data(objective.terms[0].observations, objective.sample_weight, threads)
    even = positive_rows(even_representation(data.row_sums, start.features))
    S = np.ascontiguousarray(even, dtype=start.features.dtype)
    return settle(objective, replace(start, samples=S), threads)


def start_from_topics(objective: Objective, topics: Factors, threads: Threads) -> Factors:
    """Return a start with these topics, and with samples and targets that fit them.

    Samples settle on the data alone; then samples and targets settle together. Without this the
    first iteration would fit the topics to samples that know nothing yet.
    """
    start = replace(topics, samples=settled_samples(objective, topics, threads))
    start = _settle(objective.only_samples(), start, threads)
    if len(objective.terms) > 1:
        start = _settle(replace(objective, free=("targets", "samples")), start, threads)
    return replace(start, samples=settled(start.samples))


def _settle(objective: Objective, start: Factors, threads: Threads) -> Factors:
    solver = CoordinateDescent() if objective.coordinate_descent else MultiplicativeUpdates()
    rules = [RelativeDecrease(MIN_SETTLING_DECREASE)]
    fit = minimise(objective, start, solver, max_iter=MAX_SETTLING, rules=rules, threads=threads)
    return fit.factors.compact()
