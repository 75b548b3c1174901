"""Many blocks of samples, one objective: blocks work on their own, and their statistics add up.

``Blocks`` is to a solver what ``Objective`` is: ``advance`` improves the samples and returns
statistics, and the solver updates the other factors from these. Sums are taken over a binary tree
of block numbers, so that they do not depend on who computed what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from cofactor._types import FactorName, FloatArray, IntArray
from cofactor.engine.factors import Factors
from cofactor.engine.objective import Advance, Improve, Objective, Term, Value
from cofactor.engine.subproblem.problem import ColumnProblem
from cofactor.engine.subproblem.statistics import Statistics
from cofactor.engine.threads import Threads

T = TypeVar("T")


@dataclass(frozen=True)
class Sums:
    """What a block's samples say: statistics for each other factor, and the samples' prior."""

    statistics: Mapping[FactorName, Statistics]
    prior: float

    def plus(self, other: Sums) -> Sums:
        added = {name: own.plus(other.statistics[name]) for name, own in self.statistics.items()}
        return Sums(added, self.prior + other.prior)


@dataclass
class Tree(Generic[T]):
    """A sum over a binary tree of numbered leaves, in whatever order they come.

    Nodes are (level, number): leaves are at level 0, and the children of (l, k) are (l−1, 2k) and
    (l−1, 2k+1).
    """

    add: Callable[[T, T], T]
    nodes: dict[tuple[int, int], T] = field(default_factory=dict)

    def put(self, node: tuple[int, int], value: T) -> None:
        """Add a leaf, or a whole branch."""
        level, number = node
        while (sibling := (level, number ^ 1)) in self.nodes:
            other = self.nodes.pop(sibling)
            value = self.add(value, other) if number % 2 == 0 else self.add(other, value)
            level, number = level + 1, number // 2
        self.nodes[level, number] = value

    def total(self) -> T:
        """Return the sum of all; branches that have no sibling are added from the left."""
        nodes = sorted(self.nodes, key=lambda node: node[1] << node[0])
        values = [self.nodes[node] for node in nodes]
        total = values[0]
        for value in values[1:]:
            total = self.add(total, value)
        return total


def tree_of_sums() -> Tree[Sums]:
    return Tree(lambda a, b: a.plus(b))


@dataclass(eq=False)
class Outlined:
    """An objective known by its outline: terms, weights and priors, but not all of its samples.

    ``outline`` is the objective of some of the samples.
    """

    outline: Objective

    @property
    def terms(self) -> tuple[Term, ...]:
        return self.outline.terms

    @property
    def free(self) -> tuple[FactorName, ...]:
        return self.outline.free

    @property
    def all_free(self) -> bool:
        return self.outline.all_free

    @property
    def coordinate_descent(self) -> bool:
        return self.outline.coordinate_descent

    def column_problem(self, name: FactorName, statistics: Statistics) -> ColumnProblem:
        return self.outline.column_problem(name, statistics)

    def value_of(self, advance: Advance, threads: Threads) -> Value:
        return self.outline.value_of(advance, threads)


@dataclass(eq=False)
class Blocks(Outlined):
    """Blocks that are worked on one after the other, here.

    Parameters
    ----------
    outline : Objective
        Terms, weights and priors.
    bounds : array
        Where blocks begin and end.
    load : callable
        Returns the objective of block i.
    room : callable
        Returns an array of a shape and a dtype for new samples.
    """

    bounds: IntArray
    load: Callable[[int], Objective]
    room: Callable[[tuple[int, ...], np.dtype[Any]], FloatArray] = np.empty

    def advance(
        self, factors: Factors, improve: Improve | None, threads: Threads, epsilon: float
    ) -> Advance:
        """Let ``improve`` work on the samples of each block, and add up their statistics."""
        old = factors.samples
        samples = old if improve is None else self.room(old.shape, old.dtype)
        sums = tree_of_sums()
        for i, (low, high) in enumerate(spans(self.bounds)):
            local = factors.replace("samples", np.ascontiguousarray(old[low:high]))
            part = self.load(i).advance(local, improve, threads, epsilon)
            if improve is not None:
                samples[low:high] = part.factors.samples
            sums.put((0, i), Sums(part.statistics, part.prior))
        total = sums.total()
        return Advance(factors.replace("samples", samples), total.statistics, total.prior)


def spans(bounds: IntArray) -> Iterable[tuple[int, int]]:
    """Return consecutive pairs of bounds."""
    return zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
