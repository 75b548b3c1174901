"""The objectives of many blocks of samples as one.

Solvers use ``Blocks`` like an ``Objective``: ``advance`` improves the samples of each block and
returns the sum of their statistics, from which the solver updates the other factors.  Sums are
taken over a binary tree of block numbers, so they do not depend on which process adds what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from cofactor._types import FactorName, FloatArray, IntArray
from cofactor.engine.factors import Factors
from cofactor.engine.objective import AdvanceResult, Improve, Objective, Term, Value
from cofactor.engine.subproblem.statistics import ColumnProblem, Statistics
from cofactor.engine.threads import Threads

T = TypeVar("T")


@dataclass(frozen=True)
class Sums:
    """The sums over a block's samples: statistics of each other factor, and the samples' prior."""

    statistics: Mapping[FactorName, Statistics]
    prior: float

    def plus(self, other: Sums) -> Sums:
        added = {name: own.plus(other.statistics[name]) for name, own in self.statistics.items()}
        return Sums(added, self.prior + other.prior)


@dataclass
class Tree(Generic[T]):
    """A sum over a binary tree of numbered leaves, which may come in any order.

    Nodes are (level, number): leaves are at level 0, and the children of (l, k) are (l−1, 2k) and
    (l−1, 2k+1).
    """

    add: Callable[[T, T], T]
    nodes: dict[tuple[int, int], T] = field(default_factory=dict)

    def put(self, node: tuple[int, int], value: T) -> None:
        """Add a leaf, or the sum of a whole branch."""
        level, number = node
        while (sibling := (level, number ^ 1)) in self.nodes:
            other = self.nodes.pop(sibling)
            value = self.add(value, other) if number % 2 == 0 else self.add(other, value)
            level, number = level + 1, number // 2
        self.nodes[level, number] = value

    def total(self) -> T:
        """Return the sum of all leaves; branches without a sibling are added from the left."""
        nodes = sorted(self.nodes, key=lambda node: node[1] << node[0])
        values = [self.nodes[node] for node in nodes]
        total = values[0]
        for value in values[1:]:
            total = self.add(total, value)
        return total


def tree_of_sums() -> Tree[Sums]:
    return Tree(lambda a, b: a.plus(b))


@dataclass(eq=False)
class BlockwiseObjective:
    """An objective whose samples lie in blocks.

    ``outline`` is the objective of some of the samples; it knows the terms, weights and priors.
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

    def value_of(self, result: AdvanceResult, threads: Threads) -> Value:
        return self.outline.value_of(result, threads)


@dataclass(eq=False)
class Blocks(BlockwiseObjective):
    """Blocks that this process works on, one after the other.

    Parameters
    ----------
    outline : Objective
        Its terms, weights and priors are those of all blocks.
    bounds : array
        The first row of each block, and the number of rows.
    load : callable
        Returns the objective of block i.
    make_samples : callable
        Returns an empty array of a given shape and dtype, for new samples.
    """

    bounds: IntArray
    load: Callable[[int], Objective]
    make_samples: Callable[[tuple[int, ...], np.dtype[Any]], FloatArray] = np.empty

    def advance(
        self, factors: Factors, improve: Improve | None, threads: Threads, epsilon: float
    ) -> AdvanceResult:
        """Improve the samples of each block, and add up their statistics."""
        old = factors.samples
        samples = old if improve is None else self.make_samples(old.shape, old.dtype)
        sums = tree_of_sums()
        for i, (low, high) in enumerate(spans(self.bounds)):
            local = factors.replace("samples", np.ascontiguousarray(old[low:high]))
            part = self.load(i).advance(local, improve, threads, epsilon)
            if improve is not None:
                samples[low:high] = part.factors.samples
            sums.put((0, i), Sums(part.statistics, part.prior))
        total = sums.total()
        return AdvanceResult(factors.replace("samples", samples), total.statistics, total.prior)


def spans(bounds: IntArray) -> Iterable[tuple[int, int]]:
    """Return consecutive pairs of bounds."""
    return zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
