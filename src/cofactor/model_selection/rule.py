"""The one-standard-error rule, applied to one criterion after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cofactor._types import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class Criterion:
    """A cost of each candidate for each row, label or run.

    Parameters
    ----------
    name : str
    costs : array (candidates, rows)
    used : array of bool (candidates, rows), optional
        Which costs count; all by default.
    paired : bool
        Whether a candidate is judged by the standard error of its difference from the best one.
        Both have the same rows, which differ more among themselves than the candidates do; so
        small differences count. Otherwise the error is that of the best one's own mean, and
        differences do not count that are smaller than the doubt about the best.
    """

    name: str
    costs: FloatArray
    used: BoolArray | Literal[True] = True
    paired: bool = True

    @property
    def means(self) -> FloatArray:
        """Mean cost of each candidate, as if all had the same rows.

        Where candidates count different rows, each row's median over candidates is taken off.
        """
        usual = np.median(self.costs, axis=0)
        excess = np.mean(self.costs - usual, axis=1, where=self.used)
        return np.asarray(usual.mean() + excess)

    def errors(self, best: int) -> FloatArray:
        """Return the standard error by which each candidate is compared with the best one."""
        if not self.paired:
            return np.full(len(self.costs), sem(self.costs[best]))
        used = np.broadcast_to(self.used, self.costs.shape)
        pairs = zip(self.costs - self.costs[best], used & used[best], strict=True)
        return np.array([sem(differences[both]) for differences, both in pairs])

    def as_good_as_best(self, allowed: BoolArray) -> BoolArray:
        """Tell which of the allowed candidates the best one does not beat by a standard error."""
        places = np.flatnonzero(allowed)
        best = int(places[np.argmin(self.means[places])])
        return np.asarray(allowed & (self.means - self.means[best] <= self.errors(best)))


def sem(values: FloatArray) -> float:
    """Return the standard error of the mean; 0 for a single value."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


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
