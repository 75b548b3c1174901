"""The one-standard-error rule, applied to one criterion after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cofactor._types import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class Criterion:
    """A cost of each candidate for each row, label or run (candidates × these)."""

    name: str
    costs: FloatArray

    @property
    def means(self) -> FloatArray:
        """Mean cost of each candidate."""
        return np.asarray(self.costs.mean(axis=1))

    def errors(self, best: int) -> FloatArray:
        """Return the standard error of each candidate's difference from another one.

        Both are judged by the same rows, which differ more among themselves than the candidates
        do; so the error is that of the difference, not of either mean.
        """
        differences = self.costs - self.costs[best]
        n = differences.shape[1]
        return np.asarray(differences.std(axis=1, ddof=1) / np.sqrt(n)) if n > 1 else np.zeros(n)

    def as_good_as_best(self, allowed: BoolArray) -> BoolArray:
        """Tell which of the allowed candidates the best one does not beat by a standard error."""
        places = np.flatnonzero(allowed)
        best = int(places[np.argmin(self.means[places])])
        return np.asarray(allowed & (self.means - self.means[best] <= self.errors(best)))


@dataclass(frozen=True, eq=False)
class Decision:
    """The chosen candidate, and which candidates each criterion left, in their order."""

    chosen: int
    left: dict[str, BoolArray]

    def excluded_by(self, candidate: int) -> str | None:
        """Return the criterion that excluded a candidate; None if none did."""
        return next((name for name, left in self.left.items() if not left[candidate]), None)


def decide(criteria: Sequence[Criterion], sizes: Sequence[float]) -> Decision:
    """Choose the smallest of the candidates that every criterion in turn leaves.

    Parameters
    ----------
    criteria : sequence of Criterion
        The most important first.
    sizes : sequence of float
        What is smallest in the simplest candidate. Among equals, the first criterion decides.

    Examples
    --------
    >>> costs = np.array([[3.0, 3.0, 2.0], [1.0, 1.0, 2.0], [1.0, 2.0, 1.0], [1.0, 1.0, 1.8]])
    >>> decide([Criterion("cells", costs)], [2, 3, 4, 5]).chosen
    1
    """
    allowed, left = np.ones(len(sizes), dtype=bool), {}
    for criterion in criteria:
        allowed = left[criterion.name] = criterion.as_good_as_best(allowed)
    simplest = min(np.flatnonzero(allowed).tolist(), key=lambda c: (sizes[c], criteria[0].means[c]))
    return Decision(simplest, left)
