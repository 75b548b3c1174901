"""What the estimators share: from X (and encoded targets) to fitted attributes."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cofactor.callbacks import CallbackSupportMixin, bridge
from cofactor.divergences import DIVERGENCES, Divergence
from cofactor.estimators import validation
from cofactor.estimators.blockwise import Executor, Here, Recipe, Whole
from cofactor.estimators.inference import estimate_head, represent, row_exponents
from cofactor.estimators.scaling import Units, clipped, exponent, exponent_of, shift
from cofactor.estimators.streaming import STEPS, Kept, Stream
from cofactor.fitting import Fit, minimise
from cofactor.initialization import (
    Classes,
    Guess,
    class_start,
    counted,
    guess_classes,
    plain_start,
)
from cofactor.noise import Noise
from cofactor.objective import Factors, Objective, Term
from cofactor.observations import Observations, observe
from cofactor.solvers import (
    BlockDescent,
    CoordinateDescent,
    MultiplicativeUpdates,
    PaperUpdates,
    Solver,
)
from cofactor.stopping import RelativeDecrease
from cofactor.targets import Targets, complete
from cofactor.threads import Threads, count_threads

SOLVERS: dict[str, Solver] = {
    "cd": CoordinateDescent(),
    "mu": MultiplicativeUpdates(),
    "mu-paper": PaperUpdates(),
}
BLOCKWISE: dict[str, Solver] = {**SOLVERS, "cd": BlockDescent()}
LOSS = [StrOptions(set(DIVERGENCES)), Divergence, Noise]
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


class FitInterruptedWarning(UserWarning):
    """A fit was interrupted; the estimator holds the last complete iteration."""


class Factorization(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Base of the estimators."""

    _parameter_constraints: ClassVar[dict] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "data_loss": LOSS,
        "solver": [StrOptions({"auto", *SOLVERS})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "priors": [dict, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }
    target_loss = None  # estimators with targets have it as a parameter

    # ---- fitting

    def _fit(
        self, X, data_weights, sample_weight, targets=None, classes=None, y=None, rows=None
    ) -> None:
        """Fit; ``rows``, if given, are blocks of which X is a sample."""
        self.__dict__.pop("_stream", None)
        count_threads(self.n_jobs)
        data = validation.observed_data(X, data_weights)
        counts = validation.check_counts(sample_weight, X)
        if classes is not None:
            classes = counted(classes, counts)
        with Threads(self.n_jobs) as threads:
            ready = self._prepare(data, counts, targets, classes, threads, rows)
            units, objective, start, guess, targets = ready

            def attributes(factors, history):
                B = self._head(objective, factors, targets, threads)
                return self._attributes(Factors(factors.samples, factors.features, B), history)

            work: Executor = Whole()
            solvers = SOLVERS
            if rows is not None:
                recipe = self._recipe(objective, units, guess)
                work, solvers = (rows.executor or Here)(rows, recipe, threads), BLOCKWISE
            hooks = bridge(self, self.max_iter, attributes, self._last_objective, X, y)
            fit = minimise(
                work.blocks(objective),
                work.start(start),
                solvers[self._solver_name(objective)],
                max_iter=self.max_iter,
                rules=self._rules(),
                hooks=[*work.hooks, *hooks],
                threads=threads,
                history=work.history,
            )
            # The joint fit is usable as it is, should the head's refit be interrupted.
            self.__dict__.update(self._attributes(fit.factors, fit.history))
            self.stop_reason_ = str(fit.stop)
            self._report(fit)
            self._finish(attributes, fit)
            for hook in hooks:
                hook.close(fit.factors, fit.history)

    def _finish(self, attributes, fit: Fit) -> None:
        """Publish the head; an interruption leaves that of the joint fit."""
        try:
            self.__dict__.update(attributes(fit.factors, fit.history))
        except KeyboardInterrupt:
            said = "Interrupted after the last iteration: the head is that of the joint fit."
            self.stop_reason_ = f"{self.stop_reason_} {said}"
            warnings.warn(said, FitInterruptedWarning, stacklevel=4)

    def _absorb(self, X, y, sample_weight, targets=None, classes=None) -> None:
        """Learn from one batch of a stream."""
        data = validation.observed_data(X, None)
        counts = validation.check_counts(sample_weight, X)
        stream = vars(self).get("_stream")
        with Threads(self.n_jobs) as threads:
            if stream is None:
                ready = self._prepare(data, counts, targets, classes, threads)
                recipe = self._recipe(ready.objective, ready.units, ready.guess)
                stream, objective, steps = Stream(recipe, ready.start), ready.objective, 1
                stream.keep(Kept(data.shifted(ready.units.data), targets, classes, counts), threads)
                solver = BLOCKWISE[self._solver_name(objective)]
                if "components_" in vars(self):
                    self._resume(stream, ready)
                    stream.settle(objective, solver, threads)
            else:
                stream, steps = stream.copy(), STEPS
                batch = Kept(data.shifted(self._units.data), targets, classes, counts)
                objective = stream.take(batch, threads)
                solver = BLOCKWISE[self._solver_name(objective)]
                stream.settle(objective, solver, threads)
            stream.learn(objective, solver, threads, steps)
            S, A, B = stream.factors.each()
            if B is not None and self.head == "refit":
                B = stream.head(self._refit, threads)
        self.__dict__.update(self._attributes(Factors(S, A, B), stream.history))
        seen = stream.past.samples
        self.n_samples_seen_ = int(seen) if float(seen).is_integer() else seen
        self._stream = stream
        self.stop_reason_ = f"Learned from {self.n_iter_} batches of a stream."

    def _resume(self, stream: Stream, ready: Ready) -> None:
        """Let a stream begin with the topics of an earlier fit."""
        A, B = self.components_.T, getattr(self, "target_components_", None)
        old = self._units.factors(Factors(ready.start.samples, A, None if B is None else B.T), -1)
        same: list = [
            V if V is not None and new is not None and V.shape == new.shape else new
            for V, new in zip(old.each(), ready.start.each(), strict=True)
        ]
        stream.factors = Factors(*same).map(np.ascontiguousarray)

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
        return [RelativeDecrease(self.tol, stop_on_rise=self.solver == "mu-paper")]

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

    def _head(self, objective, factors, targets, threads):
        """Return the target factor that predicts: re-estimated, or that of the joint fit."""
        if factors.targets is None or self.head == "joint":
            return factors.targets
        return self._refit(objective, factors, targets.labelled, threads)

    def _refit(self, objective, factors, labelled, threads):
        """Re-estimate the head on representations that have not seen labels."""
        data, target = objective.terms
        counts = objective.sample_weight
        rows = np.flatnonzero(labelled if counts is None else labelled & (counts > 0))
        penalty = objective.priors.get("samples")
        S = represent(
            data.observations.select(rows), factors.features, data.divergence,
            None if penalty is None else penalty.rows(rows), threads,
        )  # fmt: skip
        start = np.maximum(factors.targets, 1e-3 * factors.targets.mean() + 1e-6).astype(S.dtype)
        counts = None if counts is None else counts[rows]
        return estimate_head(
            target.observations.select(rows), self._comparable(S, factors.features, counts), start,
            target.divergence, weight=target.weight or 1.0,
            penalty=objective.priors.get("targets"), counts=counts, threads=threads,
        )  # fmt: skip

    # ---- what is published

    def _publish_constants(self, units: Units, objective: Objective) -> None:
        self._units = units
        self._has_head = len(objective.terms) > 1

    def _attributes(self, factors: Factors, history) -> dict:
        """Return the fitted attributes for factors in our units."""
        outside = self._units.factors(factors)
        attributes = {
            "components_": np.ascontiguousarray(outside.features.T),
            "representation_": np.asarray(outside.samples),
            "history_": self._units.history(history.objective, history.terms, self._constant),
            "n_iter_": len(history.objective),
            **self._constants(),
        }
        if outside.targets is not None:
            attributes["target_components_"] = np.ascontiguousarray(outside.targets.T)
        return attributes

    def _last_objective(self, history) -> float:
        return self._units.history(history.objective[-1:], {}, self._constant)["objective"][0]

    def _constants(self) -> dict:
        """Return attributes that a copy of this estimator needs to predict."""
        names = ("_units", "_has_head", "_constant", "n_features_in_", "feature_names_in_")
        return {name: vars(self)[name] for name in names if name in vars(self)}

    def _report(self, fit: Fit) -> None:
        if fit.stop.worrying:
            kind = FitInterruptedWarning if fit.interrupted else ConvergenceWarning
            warnings.warn(self.stop_reason_, kind, stacklevel=4)

    # ---- use

    def transform(self, X, *, data_weights=None):
        """Represent samples in terms of the topics, seeing the data only.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Nonnegative data; NaN is missing.
        data_weights : array-like or sparse matrix, optional
            Weights of the cells of X, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The best representation of each sample, whatever the other samples are.
        """
        check_is_fitted(self, "components_")
        X = validation.check_data(self, X, reset=False)
        return self._represent(X, data_weights)

    def _represent(self, X, data_weights=None):
        data = validation.observed_data(X, data_weights)
        A = np.ascontiguousarray(shift(self.components_.T, -self._units.data), dtype=X.dtype)
        penalty = validation.as_penalties(self.priors).get("samples")
        loss = validation.as_divergence("data_loss", self.data_loss)
        if penalty is None:  # each row on its own scale, so that rows do not know of each other
            e = row_exponents(data)
        elif not penalty.uniform:
            raise ValueError(
                "priors['samples'] is a matrix for the training samples; new samples have no rows "
                "in it, so use representation_, or fit with one number."
            )
        else:
            e = np.full(data.shape[0], self._units.data)
            penalty = self._units.penalty("samples", penalty)
        with Threads(self.n_jobs) as threads:
            S = represent(data.scaled_rows(e), A, loss, penalty, threads)
        return shift(S, (e - self._units.data)[:, None])

    def inverse_transform(self, X):
        """Return the data that representations stand for.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Representations.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self, "components_")
        X = check_array(X, dtype=[np.float64, np.float32])
        if X.shape[1] != len(self.components_):
            raise ValueError(
                f"X has {X.shape[1]} columns, but representations have n_components="
                f"{len(self.components_)} of them; pass what transform returned."
            )
        return X @ self.components_

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
