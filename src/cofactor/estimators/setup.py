"""Set-up: from an estimator's parameters and checked input to an objective and a start.

``Settings.of`` parses the parameters once. ``set_up`` then takes one step after the other: units,
guesses for unlabelled samples, terms, priors, λ, start.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from cofactor._types import FactorName, FloatArray
from cofactor._warnings import warn
from cofactor.divergences import Divergence
from cofactor.engine.factors import Factors
from cofactor.engine.fitting import History, Solver
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import Observations
from cofactor.engine.solvers import (
    BlockDescent,
    CoordinateDescent,
    MultiplicativeUpdates,
    PaperUpdates,
)
from cofactor.engine.stopping import RelativeDecrease
from cofactor.engine.threads import Threads, count_threads
from cofactor.estimators import validation
from cofactor.estimators.classification_or_regression import Coding, Task, counted_groups
from cofactor.estimators.exposure import exposed, exposures, mean_total
from cofactor.estimators.heads import LinearModels, ModelRequest, fit_linear_models
from cofactor.estimators.units import (
    Units,
    clipped,
    exponent_of,
    moderate,
    shift,
    unit_observations,
    unit_weights,
)
from cofactor.linear.guess import Classes, Guess, as_numbers, counted_guess, pooled_guess
from cofactor.linear.views import Side
from cofactor.noise import Noise, likelihood_supervision
from cofactor.outofcore import RowBlocks
from cofactor.priors import Penalty
from cofactor.starts import class_start, plain_start, start_from_topics
from cofactor.targets.matrix import Targets, complete

TOO_SMALL = 1e-6
"""Data below this are small beside the paper's epsilon, which then shows in the fourth digit."""
CONFIDENCE = 0.1
"""Weight of a guessed target, relative to a known one."""
SOLVERS: dict[str, Solver] = {
    "cd": CoordinateDescent(),
    "mu": MultiplicativeUpdates(),
    "mu-paper": PaperUpdates(),
}
BLOCK_SOLVERS: dict[str, Solver] = {**SOLVERS, "cd": BlockDescent()}


@dataclass(frozen=True)
class Settings:
    """The parameters of an estimator, parsed."""

    n_components: int
    data_loss: Divergence
    target_loss: Divergence | None
    supervision: float | None
    """The user's λ; None balances the two terms."""
    solver: str
    init: str | Factors
    rules: list[RelativeDecrease]
    priors: Any
    fixed: Any
    head: str
    exposed: bool
    """Whether the total of a sample is a scale, see `cofactor.estimators.exposure`."""
    log: str
    """Whether logarithms of numbers are learned: "yes", "no" or "auto"."""
    random_state: Any

    @classmethod
    def of(cls, estimator: Any) -> Settings:
        """Parse the parameters of an estimator; an NMF has no target loss."""
        count_threads(estimator.n_jobs)  # refuses 0
        literal = estimator.solver == "mu-paper"
        target_loss = getattr(estimator, "target_loss", None)
        return cls(
            int(estimator.n_components),
            validation.as_divergence("data_loss", estimator.data_loss),
            None if target_loss is None else validation.as_divergence("target_loss", target_loss),
            _supervision(estimator),
            estimator.solver,
            estimator.init,
            [RelativeDecrease(estimator.tol, literal=literal)] if estimator.tol else [],
            estimator.priors,
            estimator.fixed,
            getattr(estimator, "head", "joint"),
            getattr(estimator, "is_exposed", False),
            getattr(estimator, "log", "no"),
            estimator.random_state,
        )

    @property
    def literal(self) -> bool:
        """Whether the updates are the paper's literal ones, whose epsilon is absolute."""
        return self.solver == "mu-paper"

    @property
    def pooled(self) -> bool:
        """Whether predictions come from features and topics together."""
        return self.head == "pooled"

    @property
    def from_zero(self) -> bool:
        """Whether numbers are shifted so that the least is 0, which some losses do not allow."""
        return self.pooled and self.target_loss is not None and not self.target_loss.positive

    @property
    def guesses_labels(self) -> bool:
        """Whether unlabelled samples get guesses: not in a fit that starts from given samples."""
        if isinstance(self.init, Factors):
            return not self.init.has_samples
        return self.init in ("auto", "labels")

    @property
    def refits(self) -> bool:
        """Whether predictions come from a head that is estimated again after the joint fit."""
        return self.head != "joint"

    def solver_name(self, objective: Objective) -> str:
        """Return the name of the solver; "auto" depends on the losses."""
        if self.solver != "auto":
            return self.solver
        return "cd" if objective.coordinate_descent else "mu"

    def solver_of(self, objective: Objective, *, blocks: bool) -> Solver:
        """Return the solver for an objective, or for the ``blocks`` of one."""
        return (BLOCK_SOLVERS if blocks else SOLVERS)[self.solver_name(objective)]


def _supervision(estimator: Any) -> float | None:
    """Return λ: the user's, that of maximum likelihood for two noise models, or None."""
    asked = getattr(estimator, "supervision", None)
    if asked is None or asked != "auto":
        return None if asked is None else float(asked)
    noises = estimator.data_loss, estimator.target_loss
    if all(isinstance(noise, Noise) for noise in noises):
        return likelihood_supervision(*noises, int(estimator.n_components))
    return None


class Input(NamedTuple):
    """What a fit was given: checked, and y encoded.

    Parameters
    ----------
    data : Observations
    counts : array (n,) or None
        Sample weights.
    task : Task or None
        What y holds; None without y.
    targets : Targets or None
    coding : Coding or None
        How y became targets.
    class_weights : array (k,) or None
        Weights of the classes; None where all are 1.
    rows : RowBlocks or None
        The row blocks of which ``data`` is a sample.
    all_groups : bool
        Whether classes without a sample of positive weight keep their group: later batches may
        have some.
    """

    data: Observations
    counts: FloatArray | None
    task: Task | None = None
    targets: Targets | None = None
    coding: Coding | None = None
    class_weights: FloatArray | None = None
    rows: RowBlocks | None = None
    scale_counts: bool = True
    """Whether sample weights may be scaled; not where further rows must have the same units."""
    all_groups: bool = False
    side: Side | None = None
    """What is known of the samples beside the data, for the linear models."""

    @property
    def kind(self) -> str:
        """What the targets hold: "classes", "sets" of labels, or "numbers"."""
        return "numbers" if self.task is None else self.task.kind(self.coding)


class Setup(NamedTuple):
    """What the iterations start from.

    Parameters
    ----------
    objective : Objective
    start : Factors
    guess : Guess or None
        How unlabelled samples get targets.
    targets : Targets or None
        The targets, completed by guesses.
    models : LinearModels
    units : Units
    supervision : float or None
        λ in the user's units; None without a target term.
    constant : float
        Difference of the priors' logarithms between our units and the user's.
    mean_total : float or None
        Mean total of the samples, which is exposure 1; None if totals are not a scale.
    """

    objective: Objective
    start: Factors
    guess: Guess | None
    targets: Targets | None
    models: LinearModels
    units: Units
    supervision: float | None
    constant: float
    mean_total: float | None

    def last_objective(self, history: History) -> float:
        """Return the last objective in the user's units."""
        return self.units.history(history.objective[-1:], {}, self.constant)["objective"][0]


def set_up(
    settings: Settings,
    given: Input,
    threads: Threads,
    *,
    earlier: LinearModels | None = None,
    keep_models: bool = False,
) -> Setup:
    """Return everything that the iterations need.

    Parameters
    ----------
    earlier : LinearModels, optional
        Those of an earlier fit, which are used again if samples and targets are the same.
    keep_models : bool
        Whether a later fit will ask for the models of this one.
    """
    validation.check_room(settings.n_components, given.data)
    units, data = _data_units(settings, given)
    units, counts = _count_units(units, given)
    groups = _groups(settings, given)
    numbers = as_numbers(counts) if given.scale_counts else counts
    asked = ModelRequest(
        given.kind,
        settings.pooled,
        settings.guesses_labels,
        settings.n_components,
        units.data,
        settings.exposed,
    )
    models = fit_linear_models(
        asked,
        data,
        numbers,
        given.targets,
        groups,
        threads,
        earlier=earlier,
        keep=keep_models,
        side=given.side,
    )
    guess = None
    if groups is not None and settings.guesses_labels:
        guess = (
            counted_guess(data, numbers, groups, threads)
            if models.pool is None
            else pooled_guess(data, numbers, groups, threads, models.pool, models.scores)
        )
    targets = given.targets
    if guess is not None and targets is not None:
        targets = complete(targets, guess.targets, CONFIDENCE)
    units, terms = _terms(settings, units, data, counts, targets)
    mean = mean_total(data, counts) if settings.exposed else None
    penalties, constant = _priors(settings, units, terms)
    supervision = None
    if len(terms) > 1:
        weight = clipped(_weight(settings, units, terms, counts, mean, threads))
        supervision = units.supervision_outside(weight)
        terms = terms[0], replace(terms[1], weight=weight)
        terms = terms if mean is None else exposed(terms, mean)
    fixed = validation.as_fixed(settings.fixed, _shapes(settings, terms), settings.init)
    objective = Objective(terms, penalties, counts, fixed=fixed)
    start = _start(settings, objective, units, guess, threads)
    return Setup(objective, start, guess, targets, models, units, supervision, constant, mean)


def _data_units(settings: Settings, given: Input) -> tuple[Units, Observations]:
    """Bring X and its weights into our units."""
    loss = settings.data_loss
    data, weights = unit_observations(given.data, literal=settings.literal)
    e = _value_exponent("X", data, given.counts, settings, loss)
    if given.rows is not None:  # scaling copies every block, so it happens only where it must
        largest = given.rows.largest
        e = exponent_of(largest, literal=settings.literal or not loss.homogeneous)
        e = 0 if -10 <= e <= 40 and not loss.positive else e
    return Units(e, data_degree=loss.degree, data_weights=weights), data.shifted(e)


def _count_units(units: Units, given: Input) -> tuple[Units, FloatArray | None]:
    """Bring extreme sample weights into our units.

    Others stay as they are: the class-wise start counts them as repeated samples.
    """
    if not given.scale_counts:
        return units, given.counts
    counts, e = unit_weights(given.counts, literal=True)
    return replace(units, sample_weight=e), counts


def _value_exponent(
    name: str,
    observations: Observations,
    counts: FloatArray | None,
    settings: Settings,
    loss: Divergence,
) -> int:
    largest = observations.largest(counts)
    e = exponent_of(largest, literal=settings.literal or not loss.homogeneous)
    if settings.literal and e == 0 and 0 < largest < TOO_SMALL:
        warn(
            f"{name} is at most {largest:g}, which is small beside the 1e-10 that "
            "solver='mu-paper' adds to fitted values; scale it up, or use another solver."
        )
    return e


def _groups(settings: Settings, given: Input) -> Classes | None:
    """Return the labelled samples in groups, or None where neither start nor head needs them."""
    wanted = settings.guesses_labels or (given.kind == "classes" and settings.pooled)
    groups = None
    if wanted and given.task is not None and given.targets is not None:
        find = given.task.groups if given.all_groups else partial(counted_groups, given.task)
        groups = find(given.targets, given.counts, settings.n_components)
    if groups is None and isinstance(settings.init, str) and settings.init == "labels":
        raise ValueError(
            "init='labels' needs labelled samples of one target; pass labels, or use "
            "init='auto' or 'random'."
        )
    return groups


def _terms(
    settings: Settings,
    units: Units,
    data: Observations,
    counts: FloatArray | None,
    targets: Targets | None,
) -> tuple[Units, tuple[Term, ...]]:
    """Return the data term, and the target term if there are labels."""
    terms = [Term("data", "features", data, settings.data_loss)]
    if targets is not None and targets.labelled.any() and settings.target_loss is not None:
        Y = moderate(targets.observed(), counts)
        Y, weights = unit_observations(Y, literal=settings.literal)
        loss = settings.target_loss
        e = _value_exponent("y", Y, counts, settings, loss)
        units = replace(units, target=e, target_degree=loss.degree, target_weights=weights)
        terms.append(Term("target", "targets", Y.shifted(e), loss))
    lacking = [t.divergence.name for t in terms if not t.divergence.coordinate_descent]
    if settings.solver == "cd" and lacking:
        raise ValueError(
            f"solver='cd' has no safe step for {' and '.join(lacking)}; use solver='mu' or 'auto'."
        )
    return units, tuple(terms)


def _priors(
    settings: Settings, units: Units, terms: tuple[Term, ...]
) -> tuple[dict[FactorName, Penalty], float]:
    """Return the priors in our units, and the constant that their logarithms lose by that."""
    shapes = _shapes(settings, terms)
    penalties = validation.as_penalties(
        settings.priors, shapes, targeted=settings.target_loss is not None
    )
    inside = {name: units.penalty(name, penalty) for name, penalty in penalties.items()}
    constant = sum(units.constant(name, p, shapes[name]) for name, p in penalties.items())
    return inside, constant


def _shapes(settings: Settings, terms: tuple[Term, ...]) -> dict[FactorName, tuple[int, int]]:
    """Return the shape of each factor."""
    rank = settings.n_components
    shapes: dict[FactorName, tuple[int, int]] = {"samples": (terms[0].observations.shape[0], rank)}
    return shapes | {term.columns: (term.observations.shape[1], rank) for term in terms}


def _weight(
    settings: Settings,
    units: Units,
    terms: tuple[Term, ...],
    counts: FloatArray | None,
    mean: float | None,
    threads: Threads,
) -> float:
    """Return λ in our units.

    Without a number, both terms cost the same for the model that knows only column means, and the
    samples' exposures where they have some. ``terms`` are not exposed yet.
    """
    if settings.supervision is not None:
        return units.supervision(settings.supervision)
    n = terms[0].observations.shape[0]
    means = [term.observations.column_means(counts)[:, None] for term in terms]
    S = np.ones(n) if mean is None else exposures(terms[0].observations, mean)
    mean_model = Factors(S[:, None], *means)
    terms = terms if mean is None else exposed(terms, mean)
    value = Objective(terms, {}, counts).value(mean_model, threads).terms
    return value["data"] / value["target"] if value["target"] > 0 < value["data"] else 1.0


def _start(
    settings: Settings, objective: Objective, units: Units, guess: Guess | None, threads: Threads
) -> Factors:
    random, rank = check_random_state(settings.random_state), settings.n_components
    if isinstance(settings.init, Factors):
        return _given_start(settings.init, objective, units, rank, random, threads)
    if guess is not None:
        targets = shift(guess.targets, -units.target)
        return class_start(objective, rank, guess, targets, random, threads)
    kind = _plain_kind(settings, objective) if settings.init == "auto" else settings.init
    return plain_start(objective, rank, random, kind, threads)


def _plain_kind(settings: Settings, objective: Objective) -> str:
    """Return what init="auto" means where labels do not start the fit.

    Singular vectors need every cell, and cells that count alike. They are mostly near zero, which
    multiplicative updates leave slowly.
    """
    descends = settings.solver_name(objective) == "cd"
    return "nndsvd" if descends and objective.terms[0].observations.uniform else "random"


def _given_start(
    init: Factors,
    objective: Objective,
    units: Units,
    rank: int,
    random: np.random.RandomState,
    threads: Threads,
) -> Factors:
    """Return the user's factors in our units; targets that are not given are drawn, samples are
    fitted."""
    widths = [term.observations.shape[1] for term in objective.terms]
    samples = objective.terms[0].observations.shape[0]
    shapes = [(size, rank) for size in (samples, *widths)] + [None] * (2 - len(widths))
    dtype = objective.terms[0].observations.dtype
    given = units.factors(validation.check_factors(init, shapes, dtype), sign=-1)
    if shapes[2] is not None and given.targets is None:
        drawn = plain_start(objective, rank, random, "random", threads)
        given = Factors(given.samples, given.features, drawn.targets)
    return given if given.has_samples else start_from_topics(objective, given, threads)
