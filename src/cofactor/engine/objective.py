"""The objective: terms that factor matrices together, and priors on the factors.

    F = Σ_terms weight · Σ_ij W_ij d(X_ij, (S Vᵀ)_ij) + priors,      V the term's column factor

Every sample (its data, its targets, its prior) counts ``sample_weight`` times.  So integer weights
equal repeated rows, and the best representation of a sample does not depend on its weight.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, Protocol

from cofactor._types import BoolArray, FactorName, FloatArray
from cofactor.divergences import Divergence
from cofactor.engine.factors import Factors, PaddedFactor
from cofactor.engine.observations import Observations
from cofactor.engine.subproblem.problem import Improved, Plan, RowProblem
from cofactor.engine.subproblem.statistics import ColumnProblem, Statistics, statistics_of
from cofactor.engine.subproblem.terms import BoundTerm, TermSide
from cofactor.engine.threads import Threads
from cofactor.priors import Penalty


@dataclass(frozen=True, eq=False)
class Term:
    """One matrix to be explained by the samples and one other factor."""

    name: str
    columns: FactorName
    observations: Observations
    divergence: Divergence
    weight: float = 1.0
    constant: float | None = None
    """The part of the term's value that does not depend on the factors, if already known."""


@dataclass(frozen=True)
class Value:
    """An objective and its parts; ``terms`` are without their weights."""

    total: float
    terms: Mapping[str, float]
    priors: float = 0.0


class Improve(Protocol):
    """The ``improve`` method of a solver: return a better V for a row problem.

    ``costs=True`` asks it to note the costs of the entries at the new V in ``problem.costs``, if
    it knows them.
    """

    def __call__(
        self, problem: RowProblem, V: PaddedFactor, threads: Threads, *, costs: bool = False
    ) -> Improved: ...


class SweepResult(NamedTuple):
    """The result of ``Objective.sweep``."""

    factors: Factors
    value: Value
    finished: bool
    """Whether every row of every free factor reached the solver's tolerance."""


@dataclass(frozen=True, eq=False)
class AdvanceResult:
    """The result of ``Objective.advance``: new factors, and statistics for the next update."""

    factors: Factors
    statistics: Mapping[FactorName, Statistics]
    """Of each free factor other than the samples."""
    prior: float = 0.0
    """Value of the samples' prior."""


class ObjectiveLike(Protocol):
    """The part of an objective that a solver by statistics needs.

    ``Objective`` holds its samples in memory; others hold them in blocks, on disk or on workers.
    """

    @property
    def terms(self) -> tuple[Term, ...]: ...
    @property
    def free(self) -> tuple[FactorName, ...]: ...
    @property
    def all_free(self) -> bool: ...

    def advance(
        self, factors: Factors, improve: Improve | None, threads: Threads, epsilon: float
    ) -> AdvanceResult: ...

    def column_problem(self, name: FactorName, statistics: Statistics) -> ColumnProblem: ...

    def value_of(self, result: AdvanceResult, threads: Threads) -> Value: ...


@dataclass(frozen=True, eq=False)
class Objective:
    """Terms, priors and sample weights.

    Parameters
    ----------
    terms : tuple of Term
        The data, and the targets if there are any.
    priors : mapping from factor name to Penalty
    sample_weight : array (n,) or None
    free : tuple of str
        Names of the factors to be updated, in this order.
    fixed : mapping from factor name to bool array
        Entries of the features or the targets that updates leave alone, to the bit.  A prior does
        not keep them away from zero.
    short_lived : bool
        Whether the objective serves one iteration on one block of rows.  Its terms are then
        updated separately, because concatenating their entries would not pay off.
    """

    terms: tuple[Term, ...]
    priors: Mapping[FactorName, Penalty] = field(default_factory=dict)
    sample_weight: FloatArray | None = None
    free: tuple[FactorName, ...] = ("features", "targets", "samples")
    fixed: Mapping[FactorName, BoolArray] = field(default_factory=dict)
    short_lived: bool = False

    def __post_init__(self) -> None:
        present = {"samples", *(term.columns for term in self.terms)}
        object.__setattr__(self, "free", tuple(name for name in self.free if name in present))

    # ---- one factor at a time

    def problem(self, name: FactorName, factors: Factors, threads: Threads) -> RowProblem:
        """Return the row problem of one factor, with the other factors fixed."""
        n, r = factors.get(name).shape
        return RowProblem(self._plans[name], self._bound_terms(name, factors, threads), (n, r))

    @cached_property
    def _plans(self) -> dict[FactorName, Plan]:
        """The constant parts of each factor's row problem."""
        own: list[TermSide] = []
        found: dict[FactorName, Plan] = {}
        for term in self.terms:
            own.append(
                TermSide(term.observations, term.divergence, self.sample_weight, term.constant)
            )
            if term.columns in self.free:
                turned = term.observations.transposed.weighted(columns=self.sample_weight)
                side = TermSide(turned, term.divergence, None, term.constant)
                found[term.columns] = self._plan(term.columns, [side], [term.weight])
        found["samples"] = self._plan("samples", own, [term.weight for term in self.terms])
        return found

    def _plan(self, name: FactorName, sides: list[TermSide], weights: list[float]) -> Plan:
        return Plan(sides, weights, self._prior(name), self.fixed.get(name), self.short_lived)

    def _prior(self, name: FactorName) -> Penalty | None:
        """Return the prior of a factor, as far as it concerns updates: fixed entries may be 0."""
        penalty, fixed = self.priors.get(name), self.fixed.get(name)
        return penalty if penalty is None or fixed is None else penalty.spared(fixed)

    def _bound_terms(self, name: FactorName, factors: Factors, threads: Threads) -> list[BoundTerm]:
        """Return the terms that touch one factor, bound to the other factors."""
        sides = self._plans[name].sides
        if name != "samples":
            return [BoundTerm(side, factors.padded("samples"), threads) for side in sides]
        return [
            BoundTerm(side, factors.padded(term.columns), threads)
            for term, side in zip(self.terms, sides, strict=True)
        ]

    # ---- a whole iteration

    def sweep(self, factors: Factors, improve: Improve, threads: Threads) -> SweepResult:
        """Improve every free factor in turn, and evaluate the result."""
        problem, unfinished = None, 0
        for name in self.free:
            problem = self.problem(name, factors, threads)
            reused = name == self.free[-1] == "samples"  # by the value, below
            V, rows = improve(problem, factors.padded(name), threads, costs=reused)
            factors, unfinished = factors.with_padded(name, V), unfinished + rows
        last = problem if self.free[-1] == "samples" else None
        return SweepResult(factors, self.value(factors, threads, last), unfinished == 0)

    def value(self, factors: Factors, threads: Threads, problem: RowProblem | None = None) -> Value:
        """Evaluate the objective.

        ``problem``, if given, is the row problem of the samples with the same other factors; what
        it knows is not computed again.
        """
        problem = problem if problem is not None else self.problem("samples", factors, threads)
        parts = {
            term.name: bound.value(factors.padded("samples"), threads, problem.costs.get(t))
            for t, (term, bound) in enumerate(zip(self.terms, problem.terms, strict=True))
        }
        return self._total(parts, self._sample_prior(factors) + self._column_priors(factors))

    def advance(
        self, factors: Factors, improve: Improve | None, threads: Threads, epsilon: float
    ) -> AdvanceResult:
        """Improve the samples, then sum up their statistics for the other free factors.

        ``improve=None`` leaves the samples as they are; ``epsilon`` is added to fitted values.
        """
        if improve is not None and "samples" in self.free:
            problem = self.problem("samples", factors, threads)
            S, _ = improve(problem, factors.padded("samples"), threads)
            factors = factors.with_padded("samples", S)
        statistics = {}
        for name in self.columns:
            (term,) = self._bound_terms(name, factors, threads)
            statistics[name] = statistics_of(term, factors.padded(name), threads, epsilon)
        return AdvanceResult(factors, statistics, self._sample_prior(factors))

    def column_problem(self, name: FactorName, statistics: Statistics) -> ColumnProblem:
        """Return the row problem of the features or the targets that ``statistics`` describe."""
        term = next(term for term in self.terms if term.columns == name)
        given = statistics, term.divergence, term.weight
        return ColumnProblem(*given, self._prior(name), self.fixed.get(name))

    def value_of(self, result: AdvanceResult, threads: Threads) -> Value:
        """Return the value of the factors that ``advance`` returned."""
        factors, parts = result.factors, {}
        for term in self.terms:
            statistics = result.statistics[term.columns]
            parts[term.name] = statistics.value(factors.padded(term.columns), threads)
        return self._total(parts, result.prior + self._column_priors(factors))

    def _sample_prior(self, factors: Factors) -> float:
        penalty = self.priors.get("samples")
        return 0.0 if penalty is None else penalty.value(factors.samples, self.sample_weight)

    def _column_priors(self, factors: Factors) -> float:
        return sum(
            penalty.value(factors.get(name))
            for name, penalty in self.priors.items()
            if name != "samples"
        )

    def _total(self, parts: Mapping[str, float], priors: float) -> Value:
        total = sum(term.weight * parts[term.name] for term in self.terms) + priors
        return Value(float(total), parts, float(priors))

    # ---- its properties and relatives

    @cached_property
    def all_free(self) -> bool:
        """Whether every factor is free, the samples last."""
        every = {"samples", *(term.columns for term in self.terms)}
        return every == {*self.free} and self.free[-1] == "samples"

    @cached_property
    def columns(self) -> tuple[FactorName, ...]:
        """The free factors other than the samples."""
        return tuple(name for name in self.free if name != "samples")

    @property
    def coordinate_descent(self) -> bool:
        """Whether every term has a safe coordinate step."""
        return all(term.divergence.coordinate_descent for term in self.terms)

    @property
    def constants(self) -> tuple[float, ...]:
        """The part of each term's value that does not depend on the factors."""
        return tuple(side.constant for side in self._plans["samples"].sides)

    def as_block(self, constants: tuple[float, ...]) -> Objective:
        """Return the objective as that of one of many blocks, whose constants are known."""
        pairs = zip(self.terms, constants, strict=True)
        terms = tuple(replace(term, constant=constant) for term, constant in pairs)
        return replace(self, terms=terms, short_lived=True)

    def only_samples(self) -> Objective:
        """Return the data term as a function of the samples alone: inference minimises it."""
        priors: dict[FactorName, Penalty] = {}
        if "samples" in self.priors:
            priors["samples"] = self.priors["samples"]
        return Objective(self.terms[:1], priors, None, ("samples",))
