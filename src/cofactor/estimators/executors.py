"""Fits over row blocks: how each block becomes a separate objective.

Start, λ and head are estimated on a sample of rows that fits in memory (on all rows if they fit);
the iterations see every row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array

from cofactor._types import FloatArray
from cofactor.engine.blockwise import Blocks, spans
from cofactor.engine.factors import Factors
from cofactor.engine.fitting import History, Hook
from cofactor.engine.objective import Objective
from cofactor.engine.observations import Observations, sparse
from cofactor.engine.threads import Threads
from cofactor.estimators.exposure import exposed
from cofactor.estimators.setup import CONFIDENCE, Input, Setup
from cofactor.estimators.units import Units, weights_divided
from cofactor.linear.guess import Guess
from cofactor.outofcore import Block, RowBlocks
from cofactor.outofcore.scratch import ScratchFiles, Shelf
from cofactor.starts import settled_samples
from cofactor.targets.matrix import Targets, complete


@dataclass(eq=False)
class Recipe:
    """Everything but the rows: how a block of rows becomes an objective.

    Parameters
    ----------
    outline : Objective
        Objective of the sample, with λ and priors; its rows are dropped.
    units : Units
    encode : callable or None
        Function from the y of a block to its targets; None without a target term.
    guess : Guess or None
        How unlabelled rows get guessed targets; None if they get none.
    mean_total : float or None
        The total of a sample of exposure 1; None if totals are not a scale.
    supervision : float or None
        λ in the user's units.
    constant : float
        Difference of the priors' logarithms between our units and the user's.
    """

    outline: Objective
    units: Units
    encode: Callable[[Any, int], Targets] | None
    guess: Guess | None
    mean_total: float | None = None
    supervision: float | None = None
    constant: float = 0.0

    @classmethod
    def of(cls, setup: Setup, given: Input) -> Recipe:
        """Return how further rows become objectives like that of the rows at hand."""
        penalty = setup.objective.priors.get("samples")
        if penalty is not None and not penalty.uniform:
            raise ValueError(
                "priors['samples'] is a matrix, which RowBlocks and partial_fit cannot use; pass "
                "one number."
            )
        encode = None
        if given.task is not None and len(setup.objective.terms) > 1:
            weights = given.class_weights
            encode = partial(given.task.encode_again, coding=given.coding, weights=weights)
        return cls(
            setup.objective,
            setup.units,
            encode,
            setup.guess,
            setup.mean_total,
            setup.supervision,
            setup.constant,
        )

    def __post_init__(self) -> None:  # workers receive it, so it must be small
        none = sparse(csr_array((0, 0)))
        terms = tuple(replace(term, observations=none) for term in self.outline.terms)
        self.outline = replace(self.outline, terms=terms, sample_weight=None)
        self.guess = None if self.guess is None else self.guess.without_samples()

    def shares(self, block: Block, threads: Threads) -> FloatArray | None:
        """Return each row's share in the classes, or None if there is nothing to guess."""
        if self.guess is None or self.encode is None:
            return None
        if self.encode(block.y, block.X.shape[0]).labelled.all():
            return None
        return self.guess.source.shares(block.X.shifted(self.units.data), threads)

    def targets(self, block: Block, shares: FloatArray | None = None) -> Targets | None:
        """Return the targets of a block, unlabelled rows completed by their shares in the
        classes."""
        if self.encode is None:
            return None
        return self.with_guesses(self.encode(block.y, block.X.shape[0]), shares)

    def with_guesses(self, targets: Targets, shares: FloatArray | None) -> Targets:
        """Return targets whose unlabelled rows are completed by their shares in the classes."""
        if shares is None or self.guess is None:
            return targets
        guessed = shares @ self.guess.prototypes
        return complete(targets, guessed, CONFIDENCE, known_weight=1.0)

    def objective(self, block: Block, shares: FloatArray | None = None) -> Objective:
        """Return the objective of a block."""
        return self.objective_of(block.X.shifted(self.units.data), self.targets(block, shares))

    def objective_of(self, data: Observations, targets: Targets | None) -> Objective:
        """Return the objective of data, in our units, and targets."""
        if targets is None:
            return self.assembled(data)
        Y = weights_divided(targets.observed(), self.units.target_weights)
        objective = self.assembled(data, Y.shifted(self.units.target))
        if self.mean_total is None:
            return objective
        return replace(objective, terms=exposed(objective.terms, self.mean_total))

    def assembled(self, data: Observations, Y: Observations | None = None) -> Objective:
        """Return the objective of matrices in our units."""
        terms = (
            replace(term, observations=matrix)
            for term, matrix in zip(self.outline.terms, (data, Y), strict=False)
            if matrix is not None
        )
        return replace(self.outline, terms=tuple(terms))


class Executor(Protocol):
    """Works on the samples of row blocks: in this process or on workers."""

    hooks: Sequence[Hook]
    history: History | None
    """History of iterations that an earlier run completed, or None."""

    def blocks(self, outline: Objective) -> Any:
        """Return the objective that a solver works on."""

    def start(self, start: Factors) -> Factors:
        """Return the start of all rows, given that of the sample."""


@dataclass(eq=False)
class LocalExecutor:
    """Loads row blocks in this process and caches what can be reused between iterations."""

    rows: RowBlocks
    recipe: Recipe
    threads: Threads
    hooks: Sequence[Hook] = ()
    history: History | None = None
    objectives: dict[int, Objective] = field(default_factory=dict)
    """Objectives of the blocks loaded so far, if the rows are in memory."""
    targets_on_disk: Shelf = field(default_factory=Shelf)
    """Targets of the blocks loaded so far, if the rows are on disk."""
    files: ScratchFiles = field(default_factory=ScratchFiles)
    """Files for representations that are not held in memory."""
    constants: dict[int, tuple[float, ...]] = field(default_factory=dict)

    @property
    def _new_samples(self) -> Callable[[Any, Any], Any]:
        return np.empty if self.rows.folder is None else self.files.matrix

    def load(self, i: int) -> Objective:
        """Return the objective of block i.

        It is cached if the rows are in memory; for rows on disk only the targets are.
        """
        if i in self.objectives:
            return self.objectives[i]
        block = self.rows.block(i)
        if self.rows.folder is None:
            first = self._first(block)
            return self.objectives.setdefault(i, first.as_block(first.constants))
        if i not in self.constants:
            first = self._first(block)
            if self.recipe.encode is not None:
                self.targets_on_disk.put(i, first.terms[1].observations)
            self.constants[i] = first.constants
        Y = self.targets_on_disk.get(i) if self.recipe.encode is not None else None
        return self.recipe.assembled(self._data(block), Y).as_block(self.constants[i])

    def _first(self, block: Block) -> Objective:
        return self.recipe.objective(block, self.recipe.shares(block, self.threads))

    def _data(self, block: Block) -> Observations:
        return block.X.shifted(self.recipe.units.data)

    def blocks(self, outline: Objective) -> Blocks:
        """Return what a solver works on."""
        return Blocks(outline, self.rows.bounds, self.load, self._new_samples)

    def start(self, start: Factors) -> Factors:
        """Return the start of all rows, given that of the sample."""
        samples = self._new_samples((self.rows.shape[0], start.rank), start.features.dtype)
        for i, (low, high) in enumerate(spans(self.rows.bounds)):
            samples[low:high] = self.settled(i, start)
        return Factors(samples, start.features, start.targets)

    def settled(self, i: int, start: Factors) -> FloatArray:
        """Return the samples of block i at the start."""
        return settled_samples(self.load(i), start, self.threads)
