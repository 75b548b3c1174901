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
from typing import Any, Protocol

import numpy as np

from cofactor.divergences import Divergence
from cofactor.given import Given
from cofactor.observations import Observations
from cofactor.priors import Penalty
from cofactor.problems import Better, ColumnProblem, RowProblem, statistics_of
from cofactor.seen import Seen
from cofactor.sides import Against, Side
from cofactor.statistics import Statistics
from cofactor.threads import Threads
from cofactor.typing import FactorName, FloatArray


@dataclass(frozen=True, eq=False)
class Factors:
    """The factors, stored tall and named after what their rows index.

    Parameters
    ----------
    samples : array (n, r)
        Representation of the samples, the paper's S transposed.
    features : array (m, r)
        Topics, the paper's A.
    targets : array (k, r) or None
        Topics' part in each target, the paper's B.
    """

    samples: FloatArray
    features: FloatArray
    targets: FloatArray | None = None
    _seen: dict[FactorName, Seen] = field(default_factory=dict, init=False, repr=False)

    @property
    def rank(self) -> int:
        return int(self.features.shape[1])

    def copy(self) -> Factors:
        return self.map(np.array)

    def compact(self) -> Factors:
        """Return them without the gaps between rows that solvers may leave."""
        return self.map(_compact)

    def replace(self, name: FactorName, V: FloatArray) -> Factors:
        """Return these factors with another one in the place of ``name``."""
        return self.with_seen(name, Seen(V))

    def with_seen(self, name: FactorName, seen: Seen) -> Factors:
        """Return these factors with another one, of which more is known, in the place of
        ``name``."""
        arrays: dict[str, Any] = {"samples": self.samples, "features": self.features}
        arrays["targets"] = self.targets
        arrays[name] = seen.array
        new = Factors(**arrays)
        new._seen.update(self._seen)
        new._seen[name] = seen
        return new

    def seen(self, name: FactorName) -> Seen:
        """Return what the terms see of a factor; it must not change from then on."""
        if name not in self._seen:
            self._seen[name] = Seen(self.get(name))
        return self._seen[name]

    def map(self, function: Callable[[FloatArray], FloatArray]) -> Factors:
        """Apply a function to each factor."""
        targets = None if self.targets is None else function(self.targets)
        return Factors(function(self.samples), function(self.features), targets)

    def each(self) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        return self.samples, self.features, self.targets

    def get(self, name: FactorName) -> FloatArray:
        V: FloatArray | None = getattr(self, name)
        if V is None:
            raise ValueError(f"the factors have no {name!r}")
        return V


def _compact(V: FloatArray) -> FloatArray:
    gaps = isinstance(V, np.ndarray) and not V.flags.c_contiguous  # on disk there are none
    return np.ascontiguousarray(V) if gaps else V


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


Improve = Callable[[RowProblem, Seen, Threads], Better]
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
    def _given(self) -> dict[FactorName, Given]:
        """What is given of each factor's row problem."""
        own: list[Side] = []
        found: dict[FactorName, Given] = {}
        for term in self.terms:
            own.append(Side(term.observations, term.divergence, self.sample_weight, term.constant))
            if term.columns in self.free:
                turned = term.observations.transposed.weighted(columns=self.sample_weight)
                side = Side(turned, term.divergence, None, term.constant)
                found[term.columns] = self._given_of(term.columns, [side], [term.weight])
        found["samples"] = self._given_of("samples", own, [term.weight for term in self.terms])
        return found

    def _given_of(self, name: FactorName, sides: list[Side], weights: list[float]) -> Given:
        return Given(sides, weights, self.priors.get(name), self.passing)

    @cached_property
    def _term_of(self) -> dict[FactorName, Term]:
        return {term.columns: term for term in self.terms}

    def problem(self, name: FactorName, factors: Factors, threads: Threads) -> RowProblem:
        """Return the row problem of one factor, given the others."""
        n, r = factors.get(name).shape
        return RowProblem(self._given[name], self._parts(name, factors, threads), (n, r))

    def _parts(self, name: FactorName, factors: Factors, threads: Threads) -> list[Against]:
        """Return the terms that touch one factor, given the others."""
        sides = self._given[name].sides
        if name != "samples":
            return [Against(side, factors.seen("samples"), threads) for side in sides]
        return [
            Against(side, factors.seen(term.columns), threads)
            for term, side in zip(self.terms, sides, strict=True)
        ]

    def value(self, factors: Factors, threads: Threads, problem: RowProblem | None = None) -> Value:
        """Evaluate the objective; ``problem``, if given, is that of the samples with these
        factors."""
        problem = problem if problem is not None else self.problem("samples", factors, threads)
        parts = {
            term.name: part.value(factors.seen("samples"), threads, problem.costs.get(t))
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
            S, _ = improve(problem, factors.seen("samples"), threads)
            factors = factors.with_seen("samples", S)
        statistics = {}
        for name in self.columns:
            (part,) = self._parts(name, factors, threads)
            statistics[name] = statistics_of(part, factors.seen(name), threads, epsilon)
        return Advance(factors, statistics, self._sample_prior(factors))

    def value_of(self, advance: Advance, threads: Threads) -> Value:
        """Return the value of the factors that ``advance`` led to."""
        factors, parts = advance.factors, {}
        for term in self.terms:
            statistics = advance.statistics[term.columns]
            parts[term.name] = statistics.value(factors.seen(term.columns), threads)
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
        return tuple(side.constant for side in self._given["samples"].sides)

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
