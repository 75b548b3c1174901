"""Fitted states with other topics: joined, dropped, replaced. No data are needed.

A topic's part in a sample is counted by its *mass*: the representation times the sum of the topic's
features. Masses add when topics are joined, and a joined topic's target values are the mean of
those of its sources, weighted by their mass in the training samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cofactor._types import FloatArray
from cofactor.estimators.fitted import Fitted
from cofactor.estimators.inference import masses


def join_topics(fitted: Fitted, groups: Sequence[Sequence[int]]) -> Fitted:
    """Return a state whose topics are groups of the topics of another.

    A group of one topic is that topic, to the bit; topics in no group are dropped. The mass of a
    group in each sample is the sum of its topics' masses.
    """
    A, S = fitted.components, fitted.representation
    mixing = group_weights(A, S, groups)
    size = masses(A)
    joined = [
        A[group[0]] if len(group) == 1 else (row / size) @ A * (row @ size)
        for group, row in zip(groups, mixing, strict=True)
    ]
    components = np.array(joined, dtype=A.dtype)
    return with_topics(fitted, components, add_masses(S, A, components, groups), mixing)


def group_weights(A: FloatArray, S: FloatArray, groups: Sequence[Sequence[int]]) -> FloatArray:
    """Return the part of each topic in each group, by mass (n_groups, n_topics)."""
    mass = S.sum(axis=0, dtype=np.float64) * masses(A)
    weights = np.zeros((len(groups), len(A)))
    for row, group in zip(weights, groups, strict=True):
        own = mass[list(group)]
        row[list(group)] = own / own.sum() if own.sum() > 0 else 1.0 / len(group)
    return weights


def add_masses(
    S: FloatArray, A: FloatArray, joined: FloatArray, groups: Sequence[Sequence[int]]
) -> FloatArray:
    """Return representations by joined topics: the masses of a group's topics add."""
    before, after = masses(A), masses(joined)
    columns = [
        S[:, group[0]] if len(group) == 1 else S[:, list(group)] @ before[list(group)] / size
        for group, size in zip(groups, after, strict=True)
    ]
    return np.ascontiguousarray(np.stack(columns, axis=1), dtype=S.dtype)


def without_data(fitted: Fitted) -> Fitted:
    """Return a state without what belongs to its stream or to its missing cells."""
    return replace(fitted, stream=None, reservoir=None, cells=None, cell_problem=None)


def with_topics(
    fitted: Fitted, components: FloatArray, representation: FloatArray, mixing: FloatArray
) -> Fitted:
    """Return a state with other topics.

    Parameters
    ----------
    components : array (n_new, n_features)
        The new topics.
    representation : array (n_samples, n_new)
        Samples in terms of them.
    mixing : array (n_new, n_topics)
        What each new topic says of the targets is this mean of what the topics said.
    """
    B, head, models = fitted.target_components, fitted.head, fitted.linear_models
    if B is not None:
        per_mass = B / masses(fitted.components)[:, None]
        new = (mixing @ per_mass) * masses(components)[:, None]
        kept = _kept(mixing, fitted.components, components)
        new[kept >= 0] = B[kept[kept >= 0]]
        B = np.ascontiguousarray(new, dtype=B.dtype)
    if models is not None and models.tags is not None:
        models = None  # the head of tags has a row for each topic
    return replace(
        without_data(fitted),
        components=components,
        representation=representation,
        target_components=B,
        head=None if head is None else head.of_topics(lambda rows: mixing @ rows),
        linear_models=models,
    )


def _kept(mixing: FloatArray, before: FloatArray, after: FloatArray) -> Any:
    """Return the topic that each new topic is, unchanged; −1 for the others."""
    source = mixing.argmax(axis=1)
    same = [np.array_equal(row, before[k]) for row, k in zip(after, source, strict=True)]
    return np.where((mixing.max(axis=1) == 1.0) & np.array(same, dtype=bool), source, -1)
