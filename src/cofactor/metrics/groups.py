"""Topics and features compared with known groups of samples.

`clustering_score` is the paper's score P: the largest share of a known group in each topic.
`specificity` finds features that tell groups apart: high in one group, and in no other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor._types import FloatArray


@dataclass(frozen=True, eq=False)
class ClusteringScore:
    """The score of each topic.

    Parameters
    ----------
    scores : array (n_topics,)
        P of each topic: the largest share of a group that belongs to the topic, from 0 to 1.
    groups : array (n_topics,)
        The group with this share.

    Examples
    --------
    >>> from cofactor.metrics import clustering_score
    >>> score = clustering_score([[1, 0], [1, 0], [0, 2]], ["a", "a", "b"])
    >>> score.scores.tolist(), score.groups.tolist(), score.mean
    ([1.0, 1.0], ['a', 'b'], 1.0)
    """

    scores: FloatArray
    groups: NDArray[Any]

    @property
    def mean(self) -> float:
        """The mean of P over topics, as in the paper's table."""
        return float(self.scores.mean())


def clustering_score(
    representation: ArrayLike, groups: ArrayLike, *, assignment: str = "hard"
) -> ClusteringScore:
    """Compare topics with known groups of samples by the paper's score P.

    Let Ŝ be the share of each sample that goes to each topic, and M the members of each group. P(ℓ)
    of topic ℓ is the largest share that it has of a group: the sum of Ŝ_ℓ over the members of the
    group, divided by their number. Topics do not compete: several may have the same group, and a
    topic that takes every sample scores one.

    Parameters
    ----------
    representation : array-like of shape (n_samples, n_topics)
        Nonnegative weights of the topics in each sample.
    groups : array-like of shape (n_samples,)
        The group of each sample.
    assignment : {"hard", "soft"}, default="hard"
        "hard" gives a sample to its largest topic (the first of equals), "soft" divides it in
        proportion to the weights. A sample without any weight goes to no topic.

    Returns
    -------
    ClusteringScore

    Examples
    --------
    >>> from cofactor.metrics import clustering_score
    >>> score = clustering_score([[3, 1], [2, 2], [0, 5]], ["a", "a", "b"])
    >>> score.scores, score.groups, score.mean
    (array([1., 1.]), array(['a', 'b'], dtype='<U1'), 1.0)
    >>> clustering_score([[3, 1], [2, 2], [0, 5]], ["a", "a", "b"], assignment="soft").scores
    array([0.625, 1.   ])
    """
    S = _check_representation(representation)
    names, members = np.unique(np.asarray(groups), return_inverse=True)
    if members.shape != (len(S),):
        raise ValueError(
            f"groups has shape {np.shape(groups)}, but representation has {len(S)} samples; pass "
            "one group for each."
        )
    M = np.eye(len(names))[members]
    share = _assign(S, assignment).T @ M / M.sum(axis=0)
    best = share.argmax(axis=1)
    return ClusteringScore(share[np.arange(len(best)), best], names[best])


def _check_representation(representation: ArrayLike) -> FloatArray:
    S = np.asarray(representation, dtype=np.float64)
    if S.ndim != 2 or 0 in S.shape:
        raise ValueError(
            f"representation has shape {S.shape}; pass a matrix of samples × topics, as transform "
            "returns it."
        )
    wrong = ~(np.isfinite(S) & (S >= 0))
    if wrong.any():
        raise ValueError(
            f"representation has the entry {S[wrong][0]:g}; make all finite and nonnegative."
        )
    return S


def _assign(S: FloatArray, assignment: str) -> FloatArray:
    """Return the share of each sample that goes to each topic."""
    total = S.sum(axis=1, keepdims=True)
    if assignment == "soft":
        return np.asarray(np.divide(S, total, out=np.zeros_like(S), where=total > 0))
    if assignment == "hard":
        return np.asarray(np.eye(S.shape[1])[S.argmax(axis=1)] * (total > 0))
    raise ValueError(f"assignment={assignment!r} is unknown; use 'hard' or 'soft'.")


def specificity(
    counts: ArrayLike, kinds: Sequence[Any] | None = None, *, doubt: float = 10.0
) -> FloatArray:
    """Return how specific each feature is to each group of samples.

    A feature's excess in a group is (n + d) / (e + d): n is its count there, e the count to expect
    if all groups had the same shares of features, and d stands for ``doubt``. This is the mean
    of the excess after the counts are seen, with a Gamma prior of mean 1 and shape d. So a feature
    with few counts stays near 1, and so does one that is frequent everywhere. Its specificity is
    log₂ of its excess in the group, divided by the largest excess in any other group.

    Parameters
    ----------
    counts : array-like of shape (n_groups, n_features)
        Total of each feature in each group, not negative.
    kinds : sequence of length n_groups, optional
        Kinds of the groups. Groups of the same kind are not compared with each other.
    doubt : float, default=10
        Number of expected counts at which half of the evidence is believed.

    Returns
    -------
    ndarray of shape (n_groups, n_features)
        Positive where the excess is larger than in every other group; 1 if it is twice as large.

    Examples
    --------
    A frequent feature, two markers, and a rare feature that was seen three times:

    >>> from cofactor.metrics import specificity
    >>> specificity([[900, 90, 10, 3], [900, 10, 90, 0]]).round(1)
    array([[-0. ,  2.3, -2.3,  0.4],
           [ 0. , -2.3,  2.3, -0.4]])
    """
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim != 2 or (table < 0).any() or not np.isfinite(table).all():
        raise ValueError(
            f"counts has shape {table.shape}; pass a matrix of groups × features whose entries are "
            "finite and not negative."
        )
    if kinds is not None and len(kinds) != len(table):
        raise ValueError(f"kinds has {len(kinds)} entries; pass one for each of {len(table)} rows.")
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / max(table.sum(), 1e-300)
    excess = np.log2((table + doubt) / (expected + doubt))
    own = list(range(len(table))) if kinds is None else list(kinds)
    return np.stack([excess[g] - _rivals(excess, own, g) for g in range(len(table))])


def _rivals(excess: FloatArray, kinds: list[Any], group: int) -> FloatArray:
    """Return the largest excess in groups of another kind; 0 if there are no such groups."""
    others = [g for g, kind in enumerate(kinds) if kind != kinds[group]]
    return np.asarray(excess[others].max(axis=0)) if others else np.zeros(excess.shape[1])
