"""The objective: terms that factor matrices together, and priors on the factors.

    F = Σ_terms weight · Σ_ij W_ij d(X_ij, (S Vᵀ)_ij) + priors,      V the term's column factor

Every row of the samples (its data, its targets, its prior) counts ``sample_weight`` times; so
integer weights equal repeated rows, and the best representation of a sample does not depend on its
weight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

from cofactor._types import FactorName, FloatArray
from cofactor.divergences import Divergence
from cofactor.engine.factors import Factors, PaddedFactor
from cofactor.engine.observations import Observations
from cofactor.engine.subproblem.plan import Plan
from cofactor.engine.subproblem.problem import Better, ColumnProblem, RowProblem, statistics_of
from cofactor.engine.subproblem.statistics import Statistics
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
    """What no factor changes of its value, where that is known already."""


@dataclass(frozen=True)
class Value:
    """An objective and its parts; ``terms`` are without their weights."""

    total: float
    terms: Mapping[str, float]
    priors: float = 0.0


Improve = Callable[[RowProblem, PaddedFactor, Threads], Better]
"""Something that improves the samples."""


@dataclass(frozen=True, eq=False)
class Advance:
    """Where an improvement of the samples led: factors, and statistics of the others."""

    factors: Factors
    statistics: Mapping[FactorName, Statistics]
    prior: float = 0.0
    """Value of the samples' prior."""


class Goal(Protocol):
    """What a solver by statistics needs of an objective, wherever its samples are."""

    @property
    def terms(self) -> tuple[Term, ...]: ...
    @property
    def free(self) -> tuple[FactorName, ...]: ...
    @property
    def all_free(self) -> bool: ...

    def advance(
        self, factors: Factors, improve: Improve | None, threads: Threads, epsilon: float
    ) -> Advance: ...

    def column_problem(self, name: FactorName, statistics: Statistics) -> ColumnProblem: ...

    def value_of(self, advance: Advance, threads: Threads) -> Value: ...


@dataclass(frozen=True, eq=False)
class Objective:
    """Terms, priors and sample weights; ``free`` names the factors to be updated, in order.

    One that is ``passing`` is one of many blocks, wherever they are: made for an iteration if they
    are on disk, it does not put the entries of its terms side by side for a single update.
    """

    terms: tuple[Term, ...]
    priors: Mapping[FactorName, Penalty] = field(default_factory=dict)
    sample_weight: FloatArray | None = None
    free: tuple[FactorName, ...] = ("features", "targets", "samples")
    passing: bool = False

    def __post_init__(self) -> None:
        present = {"samples", *(term.columns for term in self.terms)}
        object.__setattr__(self, "free", tuple(name for name in self.free if name in present))

    @cached_property
    def _plans(self) -> dict[FactorName, Plan]:
        """What is given of each factor's row problem."""
        own: list[TermSide] = []
        found: dict[FactorName, Plan] = {}
        for term in self.terms:
            own.append(
                TermSide(term.observations, term.divergence, self.sample_weight, term.constant)
            )
            if term.columns in self.free:
                turned = term.observations.transposed.weighted(columns=self.sample_weight)
                side = TermSide(turned, term.divergence, None, term.constant)
                found[term.columns] = self._plan_of(term.columns, [side], [term.weight])
        found["samples"] = self._plan_of("samples", own, [term.weight for term in self.terms])
        return found

    def _plan_of(self, name: FactorName, sides: list[TermSide], weights: list[float]) -> Plan:
        return Plan(sides, weights, self.priors.get(name), self.passing)

    @cached_property
    def _term_of(self) -> dict[FactorName, Term]:
        return {term.columns: term for term in self.terms}

    def problem(self, name: FactorName, factors: Factors, threads: Threads) -> RowProblem:
        """Return the row problem of one factor, given the others."""
        n, r = factors.get(name).shape
        return RowProblem(self._plans[name], self._parts(name, factors, threads), (n, r))

    def _parts(self, name: FactorName, factors: Factors, threads: Threads) -> list[BoundTerm]:
        """Return the terms that touch one factor, given the others."""
        sides = self._plans[name].sides
        if name != "samples":
            return [BoundTerm(side, factors.padded("samples"), threads) for side in sides]
        return [
            BoundTerm(side, factors.padded(term.columns), threads)
            for term, side in zip(self.terms, sides, strict=True)
        ]

    def value(self, factors: Factors, threads: Threads, problem: RowProblem | None = None) -> Value:
        """Evaluate the objective; ``problem``, if given, is that of the samples with these
        factors."""
        problem = problem if problem is not None else self.problem("samples", factors, threads)
        parts = {
            term.name: part.value(factors.padded("samples"), threads, problem.costs.get(t))
            for t, (term, part) in enumerate(zip(self.terms, problem.parts, strict=True))
        }
        return self._total(parts, self._sample_prior(factors) + self._column_priors(factors))

    @cached_property
    def all_free(self) -> bool:
        """Whether every factor is free, the samples last."""
        every = {"samples", *(term.columns for term in self.terms)}
        return every == {*self.free} and self.free[-1] == "samples"

    @cached_property
    def columns(self) -> tuple[FactorName, ...]:
        """The free factors other than the samples."""
        return tuple(name for name in self.free if name != "samples")

    def advance(
        self, factors: Factors, improve: Improve | None, threads: Threads, epsilon: float
    ) -> Advance:
        """Let ``improve`` work on the samples, then sum up what they say of the other factors."""
        if improve is not None and "samples" in self.free:
            problem = self.problem("samples", factors, threads)
            S, _ = improve(problem, factors.padded("samples"), threads)
            factors = factors.with_padded("samples", S)
        statistics = {}
        for name in self.columns:
            (part,) = self._parts(name, factors, threads)
            statistics[name] = statistics_of(part, factors.padded(name), threads, epsilon)
        return Advance(factors, statistics, self._sample_prior(factors))

    def value_of(self, advance: Advance, threads: Threads) -> Value:
        """Return the value of the factors that ``advance`` led to."""
        factors, parts = advance.factors, {}
        for term in self.terms:
            statistics = advance.statistics[term.columns]
            parts[term.name] = statistics.value(factors.padded(term.columns), threads)
        return self._total(parts, advance.prior + self._column_priors(factors))

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

    def column_problem(self, name: FactorName, statistics: Statistics) -> ColumnProblem:
        """Return the row problem of the features or the targets that statistics describe."""
        term = self._term_of[name]
        return ColumnProblem(statistics, term.divergence, term.weight, self.priors.get(name))

    @property
    def constants(self) -> tuple[float, ...]:
        """What no factor changes of each term's value."""
        return tuple(side.constant for side in self._plans["samples"].sides)

    def as_block(self, constants: tuple[float, ...]) -> Objective:
        """Return the same objective as one of many; its constants are known."""
        pairs = zip(self.terms, constants, strict=True)
        terms = tuple(replace(term, constant=constant) for term, constant in pairs)
        return replace(self, terms=terms, passing=True)

    def only_samples(self) -> Objective:
        """Return the data term as a function of the samples alone: what inference minimises."""
        priors: dict[FactorName, Penalty] = {}
        if "samples" in self.priors:
            priors["samples"] = self.priors["samples"]
        return Objective(self.terms[:1], priors, None, ("samples",))

    @property
    def coordinate_descent(self) -> bool:
        """Whether every term has a safe coordinate step."""
        return all(term.divergence.coordinate_descent for term in self.terms)
