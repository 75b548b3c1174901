"""The class-wise start: each class gets some topics, and its samples are divided among them."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, softmax

from cofactor._types import FloatArray, IntArray
from cofactor.engine.factors import Factors
from cofactor.engine.objective import Objective
from cofactor.engine.observations import Observations
from cofactor.engine.threads import Threads
from cofactor.linear.guess import Guess, WeightedData, sample_lengths, weigh_data
from cofactor.linear.parts import normalised
from cofactor.starts.samples import finish_start, positive, positive_rows

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
