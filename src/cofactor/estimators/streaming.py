"""Fits over streams: each batch is seen once.

A stream keeps statistics of past batches, a window of the latest rows, and the counts of naive
Bayes for the rows before that window. The unlabelled rows of a new batch are guessed together with
the window, and its samples are solved for the present topics. Then the topics are updated from the
statistics of past and batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from cofactor._types import FloatArray
from cofactor.engine.factors import Factors, PaddedFactor
from cofactor.engine.fitting import History
from cofactor.engine.objective import Objective
from cofactor.engine.observations import Observations
from cofactor.engine.observations.base import stack as stack_rows
from cofactor.engine.solvers.online import Past, absorb
from cofactor.engine.threads import Threads
from cofactor.estimators.blocks import Recipe
from cofactor.estimators.setup import Conversion, Settings
from cofactor.estimators.validation import as_fixed, as_penalties
from cofactor.linear.guess import Classes, Counted, counted_guess
from cofactor.linear.pool import Pool
from cofactor.starts import settled_samples
from cofactor.targets.matrix import Targets, joined, stack

WINDOW = 4096
"""Number of latest rows that guesses and the head are estimated on."""
ROUNDS = 10
"""Number of improvements of a new batch's samples before its statistics count."""
STEPS = 5
"""Number of iterations on a batch after the first."""


class Batch(NamedTuple):
    """A batch of rows in the units of the stream."""

    data: Observations
    targets: Targets | None
    classes: Classes | None
    counts: Any


@dataclass
class Stream:
    """The state of a stream after a batch."""

    recipe: Recipe
    factors: Factors
    conversion: Conversion
    past: Past = field(default_factory=Past)
    history: History = field(default_factory=History)
    window: list[Batch] = field(default_factory=list)
    before: Counted | None = None
    """Counts of naive Bayes for the rows before the window."""

    def copy(self) -> Stream:
        """Return a copy that can go on without changing this stream."""
        terms = {name: [*values] for name, values in self.history.terms.items()}
        history = History([*self.history.objective], terms)
        return replace(self, recipe=replace(self.recipe), history=history, window=[*self.window])

    def going_on(self, settings: Settings) -> Stream:
        """Return a copy that goes on with priors and fixed entries, which may be other ones than
        before."""
        units, stream = self.recipe.units, self.copy()
        penalties = as_penalties(settings.priors)
        inside = {name: units.penalty(name, penalty) for name, penalty in penalties.items()}
        shapes = {name: V.shape for name, V in self.factors.named().items()}
        fixed = as_fixed(settings.fixed, shapes, settings.init)
        stream.recipe.outline = replace(stream.recipe.outline, priors=inside, fixed=fixed)
        return stream

    def resume(self, A: FloatArray, B: FloatArray | None) -> None:
        """Go on with the published factors of an earlier fit, where their shapes still fit."""
        old = self.conversion.units.factors(Factors(self.factors.samples, A, B), -1)
        same: list[Any] = [
            V if V is not None and new is not None and V.shape == new.shape else new
            for V, new in zip(old.each(), self.factors.each(), strict=True)
        ]
        self.factors = Factors(*same).map(np.ascontiguousarray)

    def take(self, batch: Batch, threads: Threads) -> Objective:
        """Take a further batch into the window and return its objective."""
        if batch.classes is None and self.recipe.guess is not None:  # nothing is labelled
            P, n = self.recipe.guess.prototypes, batch.data.shape[0]
            none = Classes(np.zeros((n, len(P))), np.zeros(n, dtype=bool), P)
            batch = batch._replace(classes=none)
        self.keep(batch, threads)
        self._admit(batch)
        shares = self._shares(threads)
        targets = self._completed(batch, None if shares is None else shares[-1])
        objective = self.recipe.objective_of(batch.data, targets)
        return replace(objective, sample_weight=batch.counts)

    def _admit(self, batch: Batch) -> None:
        """Start features that no earlier batch had: updates cannot leave zero."""
        A, mean = self.factors.features, batch.data.column_means(batch.counts)
        new = (mean > 0) & ~A.any(axis=1)
        if new.any():
            fixed = self.recipe.outline.fixed.get("features", np.zeros((1, 1), bool))
            rows = np.outer(mean / mean.sum(), A.sum(axis=0)).astype(A.dtype)
            A = np.where(new[:, None] & ~fixed, rows, A)
            self.factors = self.factors.replace("features", A)

    def keep(self, batch: Batch, threads: Threads) -> None:
        """Add a batch to the window; the oldest ones leave when there are enough others."""
        self.window.append(batch)
        while sum(later.data.shape[0] for later in self.window[1:]) > WINDOW:
            old = self.window.pop(0)
            if self.recipe.guess is not None and old.classes is not None:
                found = counted_guess(old.data, old.counts, old.classes, threads, self.before)
                assert isinstance(found.source, Counted)
                self.before = found.source

    def _shares(self, threads: Threads) -> list[Any] | None:
        """Guess the classes of the window's rows; return those of each batch."""
        if self.recipe.guess is None or any(kept.classes is None for kept in self.window):
            return None
        classes = [kept.classes for kept in self.window if kept.classes is not None]
        first, source = len(classes) == 1 and self.before is None, self.recipe.guess.source
        if first and isinstance(source, Pool):  # as in a fit
            return [classes[0].with_guesses(source.shares(self.window[0].data, threads))]
        joint = Classes(
            np.concatenate([c.shares for c in classes]),
            np.concatenate([c.labelled for c in classes]),
            classes[0].prototypes,
            importance=joined([c.importance for c in classes], [len(c.labelled) for c in classes]),
        )
        counts = self._counts()
        data = stack_rows([kept.data for kept in self.window])
        guess = counted_guess(data, counts, joint, threads, self.before)
        self.recipe.guess = guess.without_samples()
        sizes = [kept.data.shape[0] for kept in self.window]
        return np.split(guess.shares, np.cumsum(sizes)[:-1])

    def _counts(self) -> Any:
        """Return how often each row of the window counts; None where all count alike."""
        if all(kept.counts is None for kept in self.window):
            return None
        return np.concatenate(
            [np.ones(k.data.shape[0]) if k.counts is None else k.counts for k in self.window]
        )

    def _completed(self, batch: Batch, shares: FloatArray | None) -> Targets | None:
        return None if batch.targets is None else self.recipe.completed(batch.targets, shares)

    def settle(self, objective: Objective, solver: Any, threads: Threads) -> None:
        """Improve the samples of a new batch before their statistics count."""
        S = PaddedFactor(settled_samples(objective, self.factors, threads))
        problem = objective.problem("samples", self.factors.with_padded("samples", S), threads)
        for _ in range(ROUNDS):
            S = solver.improve(problem, S, threads)[0]
        self.factors = self.factors.with_padded("samples", S).compact()

    def learn(self, objective: Objective, solver: Any, threads: Threads, steps: int = 1) -> None:
        """Update features and targets with a batch whose samples are in place."""
        counts, past = objective.sample_weight, self.past
        size = len(self.factors.samples) if counts is None else float(counts.sum())
        for _ in range(steps):
            state, self.past = absorb(past, objective, self.factors, solver, threads, size)
            self.factors = state.factors.compact()  # as it is when it comes back from a pickle
        self.history.record(state.value)

    def head(self, refit: Callable[..., FloatArray], threads: Threads) -> FloatArray:
        """Return the target factor that ``refit`` estimates on the window."""
        shares = self._shares(threads) or [None] * len(self.window)
        completed = map(self._completed, self.window, shares)
        targets = stack([part for part in completed if part is not None])
        data = stack_rows([kept.data for kept in self.window])
        objective = replace(self.recipe.objective_of(data, targets), sample_weight=self._counts())
        return refit(objective, self.factors, targets.labelled, threads)
