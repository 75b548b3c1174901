"""Fits over streams: each batch is seen once.

A stream keeps statistics of past batches, a window of the latest rows, and the counts of naive
Bayes for the rows before that window. The unlabelled rows of a new batch are guessed together with
the window, and its samples are solved for the present topics. Then the topics are updated from the
statistics of past and batch.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from cofactor._types import FloatArray
from cofactor.engine.factors import Factors, PaddedFactor
from cofactor.engine.fitting import History, Solver
from cofactor.engine.objective import Objective
from cofactor.engine.observations import Observations
from cofactor.engine.observations import stack as stack_rows
from cofactor.engine.solvers.online import Past, absorb
from cofactor.engine.threads import Threads
from cofactor.estimators.classification_or_regression import Task, counted_groups
from cofactor.estimators.executors import Recipe
from cofactor.estimators.fitted import Fitted
from cofactor.estimators.heads import ModelRequest, fit_linear_models, pooled_head, refit_head
from cofactor.estimators.reservoir import Reservoir
from cofactor.estimators.setup import Input, Settings, set_up
from cofactor.estimators.units import unit_weights
from cofactor.estimators.validation import as_fixed, as_penalties
from cofactor.linear.guess import Classes, Counted, as_numbers, counted_guess
from cofactor.linear.pool import Pool
from cofactor.starts import settled_samples
from cofactor.targets.matrix import Targets, joined, stack

WINDOW_ROWS = 4096
"""Number of latest rows that guesses and the head are estimated on."""
SETTLING_ROUNDS = 10
"""Number of improvements of a new batch's samples before its statistics count."""
STEPS_PER_BATCH = 5
"""Number of iterations on a batch after the first."""


class Batch(NamedTuple):
    """A batch of rows in the units of the stream, its labelled rows in groups."""

    data: Observations
    targets: Targets | None
    classes: Classes | None
    counts: Any


@dataclass
class Stream:
    """The state of a stream after a batch."""

    recipe: Recipe
    factors: Factors
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
        """Return a copy that goes on with the priors and fixed entries of ``settings``."""
        units, stream = self.recipe.units, self.copy()
        penalties = as_penalties(settings.priors)
        inside = {name: units.penalty(name, penalty) for name, penalty in penalties.items()}
        shapes = {name: V.shape for name, V in self.factors.named().items()}
        fixed = as_fixed(settings.fixed, shapes, settings.init)
        stream.recipe.outline = replace(stream.recipe.outline, priors=inside, fixed=fixed)
        return stream

    def resume(self, A: FloatArray, B: FloatArray | None) -> None:
        """Go on with the published factors of an earlier fit, where their shapes still fit."""
        old = self.recipe.units.factors(Factors(self.factors.samples, A, B), -1)
        same: list[Any] = [
            V if V is not None and new is not None and V.shape == new.shape else new
            for V, new in zip(old.each(), self.factors.each(), strict=True)
        ]
        self.factors = Factors(*same).compact()

    def take(self, batch: Batch, threads: Threads) -> Objective:
        """Take a further batch into the window and return its objective."""
        if batch.classes is None and self.recipe.guess is not None:  # nothing is labelled
            P, n = self.recipe.guess.prototypes, batch.data.shape[0]
            none = Classes(np.zeros((n, len(P))), np.zeros(n, dtype=bool), P)
            batch = batch._replace(classes=none)
        self.keep(batch, threads)
        self._admit(batch)
        shares = self._shares(threads)
        targets = self._with_guesses(batch, None if shares is None else shares[-1])
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
        while sum(later.data.shape[0] for later in self.window[1:]) > WINDOW_ROWS:
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

    def _with_guesses(self, batch: Batch, shares: FloatArray | None) -> Targets | None:
        return None if batch.targets is None else self.recipe.with_guesses(batch.targets, shares)

    def settle(self, objective: Objective, solver: Any, threads: Threads) -> None:
        """Improve the samples of a new batch before their statistics count."""
        S = PaddedFactor(settled_samples(objective, self.factors, threads))
        problem = objective.problem("samples", self.factors.with_padded("samples", S), threads)
        for _ in range(SETTLING_ROUNDS):
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

    def head(self, *, equal_mass: bool, threads: Threads) -> FloatArray:
        """Return the target factor that is estimated again on the window, see `refit_head`."""
        shares = self._shares(threads) or [None] * len(self.window)
        parts = map(self._with_guesses, self.window, shares)
        targets = stack([part for part in parts if part is not None])
        data = stack_rows([kept.data for kept in self.window])
        objective = replace(self.recipe.objective_of(data, targets), sample_weight=self._counts())
        return refit_head(objective, self.factors, targets.labelled, threads, equal_mass=equal_mass)


def learn_batch(
    fitted: Fitted | None, settings: Settings, batch: Input, threads: Threads
) -> Fitted:
    """Return the state after one more batch of a stream.

    ``fitted`` is the state before: that of a stream, or of a fit whose topics go on.
    """
    reservoir = _gather(fitted, batch) if settings.pooled else None
    if batch.targets is not None:
        batch = batch._replace(targets=batch.targets.nonnegative())
    if fitted is None or fitted.stream is None:
        stream, objective, solver = _open(fitted, settings, batch, threads)
        stream.learn(objective, solver, threads)
    else:
        stream = fitted.stream.going_on(settings)
        objective = stream.take(_in_units(stream, batch), threads)
        solver = settings.solver_of(objective, blocks=True)
        stream.settle(objective, solver, threads)
        stream.learn(objective, solver, threads, STEPS_PER_BATCH)
    factors = stream.factors
    if factors.targets is not None and settings.refits:
        equal_mass = batch.kind == "classes" and not settings.exposed
        B = stream.head(equal_mass=equal_mass, threads=threads)
        factors = Factors(factors.samples, factors.features, B)
    recipe, history = stream.recipe, stream.history
    after = Fitted.of(
        factors,
        history,
        recipe.units,
        recipe.supervision,
        recipe.constant,
        batch.coding,
        stop_reason=f"Learned from {len(history.objective)} batches of a stream.",
        reservoir=reservoir,
        stream=stream,
    )
    return after if reservoir is None else _with_earlier_head(after, fitted, reservoir)


def _in_units(stream: Stream, given: Input) -> Batch:
    """Return a further batch in the units of the stream."""
    groups, targets = None, given.targets
    if given.task is not None and targets is not None:
        groups = given.task.further_groups(targets, given.counts, stream.recipe.guess)
    return Batch(given.data.shifted(stream.recipe.units.data), targets, groups, given.counts)


def _open(
    fitted: Fitted | None, settings: Settings, given: Input, threads: Threads
) -> tuple[Stream, Objective, Solver]:
    """Open a stream with its first batch; the topics of an earlier fit go on."""
    settings = replace(settings, head="refit")  # the pooled head of a stream is fitted later
    given = given._replace(scale_counts=False, all_groups=True)
    setup = set_up(settings, given, threads)
    groups, targets = None, given.targets
    if given.task is not None and targets is not None:
        groups = given.task.groups(targets, given.counts, settings.n_components)
    stream = Stream(Recipe.of(setup, given), setup.start)
    data = given.data.shifted(setup.units.data)
    stream.keep(Batch(data, targets, groups, given.counts), threads)
    solver = settings.solver_of(setup.objective, blocks=True)
    if fitted is not None:
        B = fitted.target_components
        stream.resume(fitted.components.T, None if B is None else B.T)
        stream.settle(setup.objective, solver, threads)
    return stream, setup.objective, solver


def _gather(fitted: Fitted | None, batch: Input) -> Reservoir:
    """Return the rows that the pooled head of a stream is fitted on, after a batch."""
    assert batch.task is not None
    assert batch.targets is not None
    before = None if fitted is None else fitted.reservoir
    before = Reservoir.empty(batch.targets.n_targets) if before is None else before
    labels = batch.task.labels(batch.targets, batch.counts)
    return before.plus(batch.data, batch.targets, batch.counts, labels)


def _with_earlier_head(after: Fitted, before: Fitted | None, reservoir: Reservoir) -> Fitted:
    """Keep the earlier head until the stream has seen as many labels as that head.

    Otherwise the head is fitted when it is needed, see `with_stream_head`.
    """
    head = None if before is None else before.head
    fits = head is not None and len(head.topics) == len(after.components)
    if before is None or head is None or not fits or not head.outweighs(reservoir.labels):
        return after
    head = head.shifted(after.units.data - before.units.data)
    return replace(after, head=head, expected_score=before.expected_score)


def with_stream_head(fitted: Fitted, settings: Settings, task: Task, threads: Threads) -> Fitted:
    """Fit the pooled head of a stream on the rows that it has gathered."""
    assert fitted.reservoir is not None
    assert fitted.stream is not None
    e, rank = fitted.units.data, len(fitted.components)
    data, targets, counts = fitted.reservoir.sample()
    data, (weights, _) = data.shifted(e), unit_weights(counts, literal=True)
    groups = counted_groups(task, targets, weights, rank)
    kind = task.kind(fitted.coding)
    asked = ModelRequest(kind, True, settings.guesses_labels, rank, e, settings.exposed)
    models = fit_linear_models(asked, data, as_numbers(weights), targets, groups, threads)
    objective = replace(fitted.stream.recipe.assembled(data), sample_weight=weights)
    head, expected = pooled_head(
        models, objective, fitted.inside(), targets, e, threads, fitted.coding
    )
    head = replace(head, labels=fitted.reservoir.labels)
    return replace(fitted, head=head, expected_score=expected)
