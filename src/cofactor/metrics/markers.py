"""Features that tell groups apart: high in one group, and in no other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cofactor._types import FloatArray

DOUBT = 10.0
"""Number of counts, expected by chance, at which half of what a feature says is believed."""
TINY = 1e-300


def specificity(
    counts: ArrayLike, kinds: Sequence[Any] | None = None, *, doubt: float = DOUBT
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
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / max(table.sum(), TINY)
    excess = np.log2((table + doubt) / (expected + doubt))
    own = list(range(len(table))) if kinds is None else list(kinds)
    return np.stack([excess[g] - _rivals(excess, own, g) for g in range(len(table))])


def _rivals(excess: FloatArray, kinds: list[Any], group: int) -> FloatArray:
    """Return the largest excess in groups of another kind; 0, which is none, without such."""
    others = [g for g, kind in enumerate(kinds) if kind != kinds[group]]
    return np.asarray(excess[others].max(axis=0)) if others else np.zeros(excess.shape[1])
