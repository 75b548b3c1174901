"""From X, targets and parameters to an objective and a start."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

from sklearn.utils import check_random_state

from cofactor.engine.factors import Factors
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import Observations, observe
from cofactor.engine.stopping import RelativeDecrease
from cofactor.engine.threads import Threads
from cofactor.estimators import validation
from cofactor.estimators.blocks import Recipe
from cofactor.estimators.units import Units, clipped, exponent, exponent_of, shift
from cofactor.starts import Classes, Guess, class_start, guess_classes, plain_start
from cofactor.targets import Targets, complete

SMALL = 1e-6
"""Below this the paper's epsilon shows in the fourth digit."""
CONFIDENCE = 0.1
"""Weight of a target that a class-wise start guessed, relative to a known one."""


class Ready(NamedTuple):
    """What a fit starts from."""

    units: Units
    objective: Objective
    start: Factors
    guess: Guess | None
    targets: Targets | None


class Preparing:
    """The part of an estimator that reads its parameters: what is minimised, and from where."""

    n_components: Any
    data_loss: Any
    target_loss: Any
    init: Any
    solver: str
    tol: float
    priors: Any
    random_state: Any

    def _supervision(self, objective: Objective, units: Units, threads: Threads) -> float:
        """Return λ in our units."""
        raise NotImplementedError

    def _prepare(self, data, counts, targets, classes, threads: Threads, rows=None) -> Ready:
        """Return everything that the iterations need."""
        units, data = self._scaled(data, counts, rows)
        guess = self._guess(data, counts, classes, threads)
        if guess is not None:
            targets = complete(targets, guess.targets, CONFIDENCE)
        units, objective = self._objective(units, data, counts, targets)
        objective = self._weigh(objective, units, threads)
        start = self._start(objective, units, guess, threads)
        self._publish_constants(units, objective)
        return Ready(units, objective, start, guess, targets)

    def _rules(self) -> list[RelativeDecrease]:
        if not self.tol:
            return []
        return [RelativeDecrease(self.tol, literal=self.solver == "mu-paper")]

    def _scaled(self, data: Observations, counts, rows) -> tuple[Units, Observations]:
        loss = validation.as_divergence("data_loss", self.data_loss)
        e = self._exponent("X", data, counts)
        if rows is not None:  # scaling copies every block, so it is done only where it must be
            e = exponent_of(rows.largest, literal=self.solver == "mu-paper")
            e = 0 if -10 <= e <= 40 and not loss.positive else e
        units = Units(e, 0, loss.degree)
        return units, data.shifted(units.data)

    def _exponent(self, name: str, observations: Observations, counts) -> int:
        literal = self.solver == "mu-paper"
        e = exponent(observations, counts, literal=literal)
        if literal and e == 0 and 0 < (largest := observations.largest(counts)) < SMALL:
            warnings.warn(
                f"{name} is at most {largest:g}, which is small beside the 1e-10 that "
                "solver='mu-paper' adds to fitted values; scale it up, or use another solver.",
                stacklevel=5,
            )
        return e

    def _guess(self, data, counts, classes: Classes | None, threads: Threads) -> Guess | None:
        """Spread the labels over all samples, if the start is to be class-wise."""
        init = self.init if isinstance(self.init, str) else "given"
        if init == "labels" and classes is None:
            raise ValueError(
                "init='labels' needs labelled samples of one target; pass labels, or use "
                "init='auto' or 'random'."
            )
        if classes is None or init not in ("auto", "labels"):
            return None
        return guess_classes(data, counts, classes, threads)

    def _objective(self, units: Units, data, counts, targets) -> tuple[Units, Objective]:
        terms = [
            Term("data", "features", data, validation.as_divergence("data_loss", self.data_loss))
        ]
        if targets is not None and targets.labelled.any():
            Y = observe(targets.values, targets.cell_weights, row_weights=targets.row_weights)
            loss = validation.as_divergence("target_loss", self.target_loss)
            e = self._exponent("y", Y, counts)
            units = replace(units, target=e, target_degree=loss.degree)
            terms.append(Term("target", "targets", Y.shifted(e), loss))
        shapes = {"samples": (data.shape[0], self.n_components)}
        shapes |= {t.columns: (t.observations.shape[1], self.n_components) for t in terms}
        penalties = validation.as_penalties(self.priors, shapes, self.target_loss is not None)
        inside = {name: units.penalty(name, p) for name, p in penalties.items()}
        self._constant = sum(units.constant(n, p, shapes[n]) for n, p in penalties.items())
        objective = Objective(tuple(terms), inside, counts)
        if self.solver == "cd" and not objective.coordinate_descent:
            names = [t.divergence.name for t in terms if not t.divergence.coordinate_descent]
            raise ValueError(
                f"solver='cd' has no safe step for {' and '.join(names)}; use solver='mu' or "
                "'auto'."
            )
        return units, objective

    def _weigh(self, objective: Objective, units: Units, threads: Threads) -> Objective:
        """Give the target term its λ."""
        if len(objective.terms) == 1:
            return objective
        inside = self._supervision(objective, units, threads)
        self.supervision_ = units.supervision_outside(inside)
        data, target = objective.terms
        return replace(objective, terms=(data, replace(target, weight=clipped(inside))))

    def _solver_name(self, objective: Objective) -> str:
        if self.solver != "auto":
            return self.solver
        return "cd" if objective.coordinate_descent else "mu"

    def _recipe(self, objective: Objective, units: Units, guess: Guess | None) -> Recipe:
        """Return how further rows become objectives like that of the rows at hand."""
        return self._checked_recipe(Recipe(objective, units, None, None, CONFIDENCE))

    def _checked_recipe(self, recipe: Recipe) -> Recipe:
        """Refuse what is said of single rows, which other rows cannot have."""
        penalty = recipe.outline.priors.get("samples")
        if penalty is not None and not penalty.uniform:
            raise ValueError(
                "priors['samples'] is a matrix, which RowBlocks and partial_fit cannot use; pass "
                "one number."
            )
        return recipe

    def _start(
        self, objective: Objective, units: Units, guess: Guess | None, threads: Threads
    ) -> Factors:
        random = check_random_state(self.random_state)
        rank = int(self.n_components)
        if isinstance(self.init, Factors):
            return self._given_start(objective, units, random, threads)
        if guess is not None:
            targets = shift(guess.targets, -units.target)
            return class_start(objective, rank, guess, targets, random, threads)
        kind = "random" if self.init == "auto" else self.init
        return plain_start(objective, rank, random, kind, threads)

    def _given_start(self, objective, units, random, threads) -> Factors:
        rank = int(self.n_components)
        widths = [term.observations.shape[1] for term in objective.terms]
        samples = objective.terms[0].observations.shape[0]
        shapes = [(size, rank) for size in (samples, *widths)] + [None] * (2 - len(widths))
        dtype = objective.terms[0].observations.dtype
        given = units.factors(validation.check_factors(self.init, shapes, dtype), sign=-1)
        if shapes[2] is not None and given.targets is None:
            drawn = plain_start(objective, rank, random, "random", threads)
            given = Factors(given.samples, given.features, drawn.targets)
        return given

    def _publish_constants(self, units: Units, objective: Objective) -> None:
        self._units = units
        self._has_head = len(objective.terms) > 1
