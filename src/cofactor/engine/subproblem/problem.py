"""The row problem of one factor, the other factors fixed, and its updates.

``Plan`` holds the parts that stay constant during a fit; ``RowProblem`` adds the other factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import NamedTuple

import numpy as np

from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.divergences import Divergence
from cofactor.engine import kernels
from cofactor.engine.factors import PaddedFactor, aligned
from cofactor.engine.kernels import EPSILON, Entries, Forms, Slopes, Surrogate
from cofactor.engine.subproblem.entries import (
    AnyEntries,
    StackedEntries,
    entry_slices,
    no_entries,
    stack_entries,
)
from cofactor.engine.subproblem.surrogate import multiply_by_surrogate, no_surrogate, surrogate_of
from cofactor.engine.subproblem.terms import BoundTerm, TermForm, TermSide
from cofactor.engine.threads import Threads, even_slices
from cofactor.priors import Penalty


class Improved(NamedTuple):
    """The result of an update."""

    factor: PaddedFactor
    unfinished: int
    """Number of rows that did not reach the tolerance."""


@dataclass(frozen=True)
class Descent:
    """Coordinate descent on a row problem, as a function that improves a factor.

    Parameters
    ----------
    rounds : int
        Maximum number of times that the active topics of a row are found and swept.
    sweeps : int or None
        Sweeps over a row's active topics in each round; None means two where a logarithm takes
        part, else one.
    tolerance : float
        A row this close to its optimum is finished.
    """

    rounds: int = 1
    sweeps: int | None = None
    tolerance: float = 0.0

    def __call__(
        self, problem: RowProblem, V: PaddedFactor, threads: Threads, *, costs: bool = False
    ) -> Improved:
        """Return a better V for a row problem (see ``objective.Improve``)."""
        return problem.descend(V, threads, self, costs=costs)


@dataclass(frozen=True)
class Multiplication:
    """Multiplicative updates on a row problem, as a function that improves a factor.

    Parameters
    ----------
    rounds : int
        Maximum number of updates.
    tolerance : float
        A row is finished when an update moves it by at most this share of its sum.
    epsilon : float
        Added to fitted values.
    literal : bool
        Whether to use the paper's ratios instead of the minimum of the surrogate.
    """

    rounds: int = 1
    tolerance: float = 0.0
    epsilon: float = EPSILON
    literal: bool = False

    def __call__(
        self, problem: RowProblem, V: PaddedFactor, threads: Threads, *, costs: bool = False
    ) -> Improved:
        """Return a better V for a row problem; ``costs`` has no effect."""
        return problem.multiply(V, threads, self)

    def ridge(self, losses: Sequence[tuple[Divergence, float]]) -> float:
        """Return what is added to the divisors of the paper's ratios; 0 asks for the surrogate.

        The paper adds epsilon to a divisor after it has cancelled the factors that all parts of
        the ratio share: the 2 of Frobenius terms, the λ of a single target term.  Our ratios keep
        these factors, so epsilon is multiplied by them.
        """
        if not self.literal:
            return 0.0
        unit = 2.0 if all(divergence.square for divergence, _ in losses) else 1.0
        if len(losses) == 1:
            unit *= losses[0][1]
        return self.epsilon * unit


class Plan:
    """The parts of a factor's row problem that stay constant during a fit; computed once.

    Parameters
    ----------
    sides : sequence of TermSide
        The terms that touch the factor.
    weights : sequence of float
        Weight of each term.
    penalty : Penalty or None
        The factor's prior.
    fixed : bool array (n, r) or None
        Entries of the factor that updates leave alone.
    short_lived : bool
        Whether the plan serves one iteration only (see ``Objective``).
    """

    def __init__(
        self,
        sides: Sequence[TermSide],
        weights: Sequence[float],
        penalty: Penalty | None,
        fixed: BoolArray | None = None,
        short_lived: bool = False,
    ) -> None:
        self.sides, self.weights, self.penalty, self.fixed = sides, weights, penalty, fixed
        self._short_lived = short_lived
        self.has_barrier = penalty is not None and penalty.has_barrier

    @cached_property
    def entry_terms(self) -> list[int]:
        """Numbers of the terms that have entries."""
        return [t for t, side in enumerate(self.sides) if side.entries is not None]

    @cached_property
    def losses(self) -> list[tuple[Divergence, float]]:
        """The terms' divergences and weights."""
        return [(s.divergence, w) for s, w in zip(self.sides, self.weights, strict=True)]

    @cached_property
    def quadratic(self) -> bool:
        """Whether every row is a quadratic problem."""
        return not self.entry_terms and not self.has_barrier

    @cached_property
    def logarithmic(self) -> bool:
        """Whether a logarithm takes part, of a term or of the prior."""
        return self.has_barrier or any(d.log and weight > 0 for d, weight in self.losses)

    @cached_property
    def term_by_term(self) -> bool:
        """Whether a single update treats the terms one by one.

        Concatenating their entries pays off only if it is done once a fit.
        """
        entries = [side.entries for side in self.sides if side.entries is not None]
        once = not self._short_lived and all(isinstance(each, Entries) for each in entries)
        return len(entries) > 1 and not once

    @cached_property
    def entries(self) -> AnyEntries:
        """The weighted entries of all terms, side by side."""
        used = [(self.sides[t], self.weights[t]) for t in self.entry_terms]
        each = [side.entries if w == 1.0 else side.weighted_entries(w) for side, w in used]
        found = [entries for entries in each if entries is not None]
        if not found:
            observations = self.sides[0].observations
            return no_entries(observations.shape[0], observations.dtype)
        if len(found) == 1:
            return found[0]
        widths = [side.observations.shape[1] for side, _ in used[:-1]]
        offsets = np.cumsum([0, *widths]).tolist()
        whole = [entries for entries in found if isinstance(entries, Entries)]
        if len(whole) == len(found):
            return stack_entries(whole, offsets, 0, len(whole[0].places))
        return StackedEntries(found, offsets)

    @cached_property
    def bounds(self) -> IntArray:
        """Slices of rows of about the same work."""
        n = self.sides[0].observations.shape[0]
        return even_slices(n) if self.quadratic else entry_slices(self.entries)


class RowProblem:
    """Everything that one factor is updated from.

    Parameters
    ----------
    plan : Plan
    terms : sequence of BoundTerm
        The plan's terms, bound to the other factors.
    shape : tuple of int
        Rows and topics of the factor.

    Attributes
    ----------
    costs : dict
        Costs of the terms' entries after a descent, by term number, where they are known.
    """

    def __init__(self, plan: Plan, terms: Sequence[BoundTerm], shape: tuple[int, int]) -> None:
        self.plan, self.terms, self.shape = plan, terms, shape
        self.costs: dict[int, float] = {}

    @cached_property
    def F(self) -> FloatArray:
        """The padded rows that the entries' indices refer to."""
        rows = [self.terms[t].F for t in self.plan.entry_terms or [0]]
        if len(rows) == 1:
            return rows[0]
        return np.concatenate(rows, out=aligned(sum(map(len, rows)), rows[0].shape[1]))

    def _forms(self, *, down: bool = True) -> Forms:
        plan = self.plan
        return merge_forms(
            self.terms, plan.weights, plan.penalty, plan.fixed, self.shape, down=down
        )

    # ---- coordinate descent

    def descend(
        self, V: PaddedFactor, threads: Threads, how: Descent, *, costs: bool = False
    ) -> Improved:
        """Run coordinate descent from V.

        ``costs=True`` notes the costs of the entries at the new factor, which the kernel can
        compute from its fitted values.
        """
        plan = self.plan
        sweeps = how.sweeps if how.sweeps is not None else 2 if plan.logarithmic else 1
        if plan.quadratic:
            return descend_quadratic(V, self._forms(), how.rounds * sweeps, how.tolerance, threads)
        new, entries = V.copied_rows(), plan.entries
        logs = any(plan.sides[t].divergence.log for t in plan.entry_terms)
        run = partial(
            kernels.descend_slices,
            new,
            entries,
            self.F,
            self._forms(),
            rounds=how.rounds,
            sweeps=sweeps,
            tolerance=how.tolerance,
            all_topics=not (logs or plan.has_barrier),
            weights=plan.sides[0].counts,
            split=len(self.terms[plan.entry_terms[0]].other.array) if plan.entry_terms else 0,
        )
        # costs are those of rows before rounding
        noted = (
            np.zeros((len(plan.bounds) - 1, 2)) if costs and V.array.dtype == new.dtype else None
        )
        unfinished = threads.over(plan.bounds, run, noted, join=isinstance(entries, Entries))
        if noted is not None:
            self._note(noted.sum(axis=0))
        return Improved(PaddedFactor.from_padded(new, V.array), sum(unfinished))

    def _note(self, costs: FloatArray) -> None:
        """Remember the costs of the terms' entries, without the terms' weights."""
        weights = self.plan.weights
        for t, cost in zip(self.plan.entry_terms, costs.tolist(), strict=False):
            if weights[t] > 0:
                self.costs[t] = cost / weights[t]

    # ---- multiplicative updates

    def multiply(self, V: PaddedFactor, threads: Threads, how: Multiplication) -> Improved:
        """Make multiplicative updates from V."""
        plan, ridge = self.plan, how.ridge(self.plan.losses)
        if how.rounds == 1 and how.tolerance == 0.0 and plan.term_by_term:
            new_factor = self._multiply_term_by_term(V, threads, how.epsilon, ridge)
            return Improved(new_factor, self.shape[0])
        new, entries = V.empty_rows(), plan.entries
        run = partial(
            kernels.multiply_slices,
            V.wide,
            new,
            entries,
            self.F,
            self._forms(down=False),
            self._slopes(),
            has_barrier=plan.has_barrier,
            rounds=how.rounds,
            tolerance=how.tolerance,
            epsilon=how.epsilon,
            ridge=ridge,
        )
        unfinished = threads.over(plan.bounds, run, join=isinstance(entries, Entries))
        return Improved(PaddedFactor.from_padded(new, V.array), sum(unfinished))

    def _slopes(self) -> list[Slopes]:
        """Return the downward slopes of the terms that have some."""
        found = [term.slopes(w) for term, w in zip(self.terms, self.plan.weights, strict=True)]
        return [slopes for slopes in found if slopes is not None and slopes.values.size]

    def _multiply_term_by_term(
        self, V: PaddedFactor, threads: Threads, epsilon: float, ridge: float
    ) -> PaddedFactor:
        """Make one update from the sum of the terms' surrogates."""
        penalty, weights = self.plan.penalty, self.plan.weights
        if penalty is not None and penalty.has_barrier:  # surrogates need rows that are > 0
            barrier = np.asarray(penalty.barrier)
            V = PaddedFactor(
                np.where(barrier > 0, np.maximum(V.array, V.array.dtype.type(EPSILON)), V.array)
            )
        each = [surrogate_of(term, V, threads, epsilon, costs=False)[0] for term in self.terms]
        sums = [
            weighted_sum([a if len(a) else None for a in coefficients], weights)
            for coefficients in zip(*each, strict=True)
        ]
        down = weighted_sum([term.down for term in self.terms], weights)
        none, forms = no_surrogate(self.shape[1]), self._forms(down=False)
        forms = forms if down is None else replace(forms, down=down)
        total = Surrogate(*(a if a is not None else b for a, b in zip(sums, none, strict=True)))
        return multiply_by_surrogate(V, total, forms, self.plan.has_barrier, threads, ridge)


def descend_quadratic(
    V: PaddedFactor, forms: Forms, sweeps: int, tolerance: float, threads: Threads
) -> Improved:
    """Run coordinate descent from V on rows without entries."""
    new = V.copied_rows()
    run = partial(kernels.descend_quadratic, new, forms, sweeps=sweeps, tolerance=tolerance)
    unfinished = threads.over(even_slices(len(new)), run, join=True)
    return Improved(PaddedFactor.from_padded(new, V.array), sum(unfinished))


# ---- linear and quadratic parts of all terms and the prior, put together for the kernels


def merge_forms(
    parts: Sequence[TermForm],
    weights: Sequence[float],
    penalty: Penalty | None,
    fixed: BoolArray | None,
    shape: tuple[int, int],
    *,
    down: bool = True,
) -> Forms:
    """Add up the forms of the terms and the prior, and say which entries are fixed.

    ``down=False`` leaves the downward slopes out; a kernel then sums them up itself.
    """
    n, r = shape
    shared = [t for t, part in enumerate(parts) if part.row_scale is None]
    shared_weights = [weights[t] for t in shared]
    slopes = weighted_sum([part.down for part in parts], weights) if down else None
    up = weighted_sum([part.up for part in parts], weights)
    ups = weighted_sum([parts[t].ups for t in shared], shared_weights)
    gram = weighted_sum([parts[t].gram for t in shared], shared_weights)
    none = _no_forms(r)
    forms = replace(
        none,
        down=none.down if slopes is None else slopes,
        up=none.up if up is None else up,
        ups=none.ups if ups is None else ups[None],
        grams=none.grams if gram is None else gram[None],
        fixed=none.fixed if fixed is None else fixed,
    )
    if len(shared) < len(parts):
        scaled = [(parts[t], weights[t]) for t in range(len(parts)) if t not in shared]
        forms = _with_scaled(forms, scaled, n)
    return forms if penalty is None else _with_prior(forms, penalty, n)


def weighted_sum(parts: Sequence[FloatArray | None], weights: Sequence[float]) -> FloatArray | None:
    """Return the weighted sum of the arrays; None is zero."""
    total: FloatArray | None = None
    for part, weight in zip(parts, weights, strict=True):
        if part is not None:
            weighted = part if weight == 1.0 else part * weight
            total = weighted if total is None else total + weighted
    return total


def _with_scaled(forms: Forms, scaled: Sequence[tuple[TermForm, float]], n: int) -> Forms:
    """Append the forms that have a scale for each row."""
    none = _no_forms(forms.ups.shape[1])
    ups, grams, scales = [forms.ups[0]], [forms.grams[0]], np.ones((n, 1 + len(scaled)))
    for t, (part, weight) in enumerate(scaled, 1):
        ups.append(none.ups[0] if part.ups is None else part.ups)
        grams.append(none.grams[0] if part.gram is None else part.gram)
        scales[:, t] = weight * np.asarray(part.row_scale)
    return replace(forms, ups=np.array(ups), grams=np.array(grams), scales=scales)


def _with_prior(forms: Forms, penalty: Penalty, n: int) -> Forms:
    up, ups, grams = forms.up, forms.ups.copy(), forms.grams.copy()
    r = ups.shape[1]
    if np.ndim(penalty.up) > 0:
        up = np.asarray(penalty.up) + up if len(up) else np.asarray(penalty.up)
    else:
        ups[0] += penalty.up
    grams[0] += np.eye(r) * penalty.square
    rows = n if np.ndim(penalty.barrier) else 1
    barrier = np.array(np.broadcast_to(penalty.barrier, (rows, r)), dtype=np.float64)
    return replace(forms, up=up, ups=ups, grams=grams, barrier=barrier)


@cache
def _no_forms(r: int) -> Forms:
    """Return the forms of no term, for r topics; they must not be changed."""
    none = np.empty((0, r))
    one, zeros = np.ones((1, 1)), np.zeros((1, r))
    return Forms(none, none, zeros, np.zeros((1, r, r)), one, zeros, np.empty((0, r), bool))
