"""The one-standard-error rule, and one sentence of advice about its decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cofactor._types import BoolArray, FloatArray

WORSE = {
    "labels": "held-out labels are predicted worse",
    "cells": "held-out cells are predicted worse",
    "stability": "topics are less stable",
    "": "nothing is gained",
}
"""Why a criterion excludes candidates; "" stands for none."""


@dataclass(frozen=True, eq=False)
class Criterion:
    """The costs of each candidate by row, label or run.

    Parameters
    ----------
    name : str
    costs : array (candidates, rows)
    used : array of bool (candidates, rows), optional
        Costs that count; all by default.
    paired : bool
        If True, a candidate is judged by the standard error of its difference from the best one.
        Both have the same rows, which vary more than the candidates do, so small differences
        count. Otherwise the standard error is that of the best one's mean, so differences smaller
        than its uncertainty do not count.
    """

    name: str
    costs: FloatArray
    used: BoolArray | Literal[True] = True
    paired: bool = True

    @property
    def means(self) -> FloatArray:
        """Mean cost of each candidate, as if all had the same rows.

        For that, each row's median over the candidates is subtracted first.
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
        """Return which allowed candidates are within one standard error of the best."""
        places = np.flatnonzero(allowed)
        best = int(places[np.argmin(self.means[places])])
        return np.asarray(allowed & (self.means - self.means[best] <= self.errors(best)))


def sem(values: FloatArray) -> float:
    """Return the standard error of the mean; 0 for a single value."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


@dataclass(frozen=True, eq=False)
class TopicDecision:
    """The chosen candidate, and which candidates each criterion left, in order of the criteria."""

    chosen: int
    left: dict[str, BoolArray]

    def excluded_by(self, candidate: int) -> str | None:
        """Return the criterion that excluded a candidate; None if none did."""
        return next((name for name, left in self.left.items() if not left[candidate]), None)


def decide(criteria: Sequence[Criterion], sizes: Sequence[float]) -> TopicDecision:
    """Apply the criteria in turn; choose the smallest candidate that is left.

    Parameters
    ----------
    criteria : sequence of Criterion
        The most important first.
    sizes : sequence of float
        Size of each candidate. Among equal sizes, the first criterion decides.

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
    return TopicDecision(simplest, left)


def advise(grid: Sequence[Mapping[str, Any]], decision: TopicDecision) -> str:
    """Return one sentence: what to take, and why not fewer or more topics."""
    sizes = [parameters["n_components"] for parameters in grid]
    chosen = sizes[decision.chosen]
    taken = f"Take {chosen} topic{'' if chosen == 1 else 's'}"
    if "supervision" in grid[decision.chosen]:
        taken += f" with supervision={grid[decision.chosen]['supervision']}"
    if len(set(sizes)) == 1:
        return f"{taken}: no other number was tried."
    fewer, more = [k for k in sizes if k < chosen], [k for k in sizes if k > chosen]
    not_fewer = "it is the smallest number that was tried"
    if fewer:
        not_fewer = f"with {max(fewer)}, {WORSE[_excluded_by(max(fewer), sizes, decision)]}"
    not_more = "it is the largest number that was tried, so try larger ones, too"
    if more:
        not_more = f"with {min(more)}, {WORSE[_excluded_by(min(more), sizes, decision)]}"
    return f"{taken}: {not_fewer}, and {not_more}."


def _excluded_by(k: int, sizes: Sequence[int], decision: TopicDecision) -> str:
    """Return the criterion that excluded the last of the candidates with k topics, or ""."""
    names = list(decision.left)
    found = [decision.excluded_by(int(c)) for c in np.flatnonzero(np.equal(sizes, k))]
    return max((name or "" for name in found), key=lambda n: names.index(n) if n else len(names))
