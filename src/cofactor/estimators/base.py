"""What the estimators share: one fit from input to fitted attributes, streams, and inference.

``Factorization._fit`` is the whole fit: read the input, encode y, set up an objective and a start
(``setup``), minimise, estimate the head (``heads``), publish (``fitted``). ``tasks`` holds what
depends on the kind of y; ``supervised`` adds what estimators with targets have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cofactor._types import FloatArray
from cofactor._warnings import warn
from cofactor.divergences import DIVERGENCES, Divergence
from cofactor.engine.factors import Factors
from cofactor.engine.fitting import Fit, History, minimise
from cofactor.engine.objective import Objective
from cofactor.engine.observations import Observations
from cofactor.engine.solvers import (
    BlockDescent,
    CoordinateDescent,
    MultiplicativeUpdates,
    PaperUpdates,
    Solver,
)
from cofactor.engine.threads import Threads
from cofactor.estimators import validation
from cofactor.estimators.blocks import Executor, LocalExecutor, Recipe, WholeMatrix
from cofactor.estimators.cells import fit_cells, has_missing_cells
from cofactor.estimators.fitted import NOT_FINITE, OF_SOME_FITS, attributes_of, last_objective
from cofactor.estimators.heads import PooledHead, pooled_head, refit_head
from cofactor.estimators.hooks import bridge
from cofactor.estimators.inference import represent, row_exponents
from cofactor.estimators.reservoir import Reservoir
from cofactor.estimators.setup import CONFIDENCE, Input, Settings, Setup, set_up
from cofactor.estimators.streaming import STEPS, Batch, Stream
from cofactor.estimators.tasks import Coding, Task
from cofactor.estimators.units import moderate, shift, unit_observations
from cofactor.linear.guess import Classes
from cofactor.noise import Noise
from cofactor.outofcore import RowBlocks
from cofactor.outofcore.rowblocks import as_csr
from cofactor.priors import Penalty
from cofactor.targets import Targets, class_weights, refuse_weightless, weigh_classes

SOLVERS: dict[str, Solver] = {
    "cd": CoordinateDescent(),
    "mu": MultiplicativeUpdates(),
    "mu-paper": PaperUpdates(),
}
BLOCK_SOLVERS: dict[str, Solver] = {**SOLVERS, "cd": BlockDescent()}
LOSS = [StrOptions(set(DIVERGENCES)), Divergence, Noise]


class FitInterruptedWarning(UserWarning):
    """A fit was interrupted; the estimator holds the last complete iteration."""


class Read(NamedTuple):
    """What ``fit`` was given: checked, and y encoded."""

    X: Any
    y: Any
    rows: RowBlocks | None  # the blocks that X was taken from
    given: Input
    coding: Coding | None = None
    class_weights: FloatArray | None = None


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
        "fixed": [dict, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }
    _task: ClassVar[Task | None] = None
    """What y holds; None where there is no y."""

    # ---- fitting

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, data_weights: Any, target_weights: Any = None
    ) -> None:
        """Fit: read the input, set up, minimise, estimate the head, publish."""
        settings = Settings.of(self)
        read = self._read(settings, X, y, sample_weight, data_weights, target_weights)
        with Threads(self.n_jobs) as threads:
            setup, work = self._set_up(settings, read, threads)
            self.__dict__.pop("cells_", None)  # callbacks must not publish those of an earlier fit
            publish = partial(self._published, setup, read.coding, threads)
            last = partial(last_objective, setup.conversion)
            hooks = bridge(self, self.max_iter, publish, last, read.X, read.y)
            solvers = SOLVERS if read.rows is None else BLOCK_SOLVERS
            fit = minimise(
                work.blocks(setup.objective),
                work.start(setup.start),
                solvers[settings.solver_name(setup.objective)],
                max_iter=self.max_iter,
                rules=settings.rules,
                hooks=[*work.hooks, *hooks],
                threads=threads,
                history=work.history,
            )
            if not fit.history.objective:
                raise ValueError(NOT_FINITE)
            self._keep(fit, attributes_of(setup.conversion, read.coding, fit.factors, fit.history))
            self._keep_head(publish, fit)
            self._models = setup.known_models
            if self._task is None and read.rows is None and not fit.interrupted:
                self._keep_cells(settings, setup, threads)
            for hook in hooks:
                hook.close(fit.factors, fit.history)

    def _read(
        self,
        settings: Settings,
        X: Any,
        y: Any,
        sample_weight: Any,
        data_weights: Any,
        target_weights: Any,
    ) -> Read:
        """Check the input; encode y."""
        task = self._task
        rows, X, y, sample_weight = validation.take_rows(
            X, y, sample_weight, task, data_weights=data_weights, target_weights=target_weights
        )
        X = validation.check_data(self, X, reset=True)
        counts = validation.check_counts(sample_weight, X)
        W = validation.check_weights("data_weights", data_weights, X.shape)
        given = Input(moderate(validation.observed_data(X, W), counts), counts)
        given = given._replace(known_models=self.__dict__.pop("_models_to_reuse", None))
        if task is None:
            return Read(X, y, rows, given)
        from_zero = settings.from_zero and rows is None
        targets, coding = task.encode(
            y, X.shape[0], counts, target_weights, X.dtype, from_zero=from_zero
        )
        validation.check_exposure(self, task.kind(coding), given.data)
        weights = self._class_weights(targets, coding, counts)
        targets = _counted(targets, counts)
        weighed = refuse_weightless(targets, weigh_classes(targets, weights))
        given = _with_targets(given, weighed, task, coding, settings.n_components)
        return Read(X, y, rows, given, coding, weights)

    def _set_up(self, settings: Settings, read: Read, threads: Threads) -> tuple[Setup, Executor]:
        """Make the objective and the start, and say where the iterations run."""
        if read.rows is None:
            return set_up(settings, read.given, threads), WholeMatrix()
        given = read.given._replace(scale_counts=False)
        setup = set_up(settings, given, threads, read.rows.largest)
        recipe = _recipe(setup, self._task, read.coding, read.class_weights)
        return setup, (read.rows.executor or LocalExecutor)(read.rows, recipe, threads)

    def _class_weights(
        self, targets: Targets, coding: Coding | None, counts: FloatArray | None
    ) -> FloatArray | None:
        """Return the weights of the classes; None where all are 1, or there are no classes."""
        return class_weights(getattr(self, "class_weight", None), targets, coding, counts)

    def _published(
        self,
        setup: Setup,
        coding: Coding | None,
        threads: Threads,
        factors: Factors,
        history: History,
    ) -> dict[str, Any]:
        """Return the fitted attributes for the state after an iteration, the head included."""
        if factors.targets is not None and self._refits and setup.targets is not None:
            assert self._task is not None
            B = refit_head(
                setup.objective,
                factors,
                setup.targets.labelled,
                threads,
                equal_mass=self._equal_mass(coding),
            )
            factors = Factors(factors.samples, factors.features, B)
        # a copy of this estimator needs them
        names = ("n_features_in_", "feature_names_in_", "cells_")
        own = {name: vars(self)[name] for name in names if name in vars(self)}
        if factors.targets is not None and self.head == "pooled":
            own |= self._pooled_head(setup, factors, threads)
        return {**attributes_of(setup.conversion, coding, factors, history), **own}

    def _pooled_head(self, setup: Setup, factors: Factors, threads: Threads) -> dict[str, Any]:
        """Return the pooled head and the score that it is expected to have."""
        assert setup.known is not None
        assert self._task is not None
        objective, units = setup.objective, setup.conversion.units
        head, expected = pooled_head(
            setup.known_models.models, objective, factors, setup.known, units.data, threads
        )
        labels = self._task.labels(setup.known, objective.sample_weight).sum(axis=0)
        head = replace(head, labels=labels)
        return {"_head": head, "expected_score_": expected}

    def _equal_mass(self, coding: Coding | None) -> bool:
        """Whether the head is estimated on samples of equal mass; exposed targets need none."""
        assert self._task is not None
        return self._task.kind(coding) == "classes" and not Settings.of(self).exposed

    @property
    def _refits(self) -> bool:
        """Whether predictions come from a head that is estimated anew after the joint fit."""
        return getattr(self, "head", "joint") != "joint"

    def _keep(self, fit: Fit, attributes: dict[str, Any]) -> None:
        """Keep the joint fit, and say why it ended."""
        for name in OF_SOME_FITS:
            self.__dict__.pop(name, None)
        self.__dict__.update(attributes)
        self.stop_reason_ = str(fit.stop)
        if fit.stop.worrying:
            kind = FitInterruptedWarning if fit.interrupted else ConvergenceWarning
            warn(self.stop_reason_, kind)

    def _keep_head(self, publish: Callable[..., dict[str, Any]], fit: Fit) -> None:
        """Estimate and keep the head; an interruption leaves that of the joint fit."""
        try:
            self.__dict__.update(publish(fit.factors, fit.history))
        except KeyboardInterrupt:
            self._note("Interrupted after the last iteration: the head is that of the joint fit.")
        self._doubt()

    def _keep_cells(self, settings: Settings, setup: Setup, threads: Threads) -> None:
        """Fit and keep a model of the cells, if some are missing and no priors are given."""
        data, counts = setup.objective.terms[0].observations, setup.objective.sample_weight
        if settings.priors or not has_missing_cells(data, counts):
            return
        random = check_random_state(settings.random_state)
        loss, rank = settings.data_loss, settings.n_components
        try:
            cells = fit_cells(data, counts, loss, rank, self.max_iter, random, threads)
            self.cells_ = cells.scaled(setup.conversion.units.data)
        except KeyboardInterrupt:
            self._note("Interrupted after the last iteration: predict_cells uses the topics alone.")

    def _note(self, message: str) -> None:
        """Say that an interruption left something out."""
        self.stop_reason_ = f"{self.stop_reason_} {message}"
        warn(message, FitInterruptedWarning)

    def _doubt(self) -> None:
        """Warn of numbers that cannot be predicted."""
        expected = vars(self).get("expected_score_")
        if expected is not None and expected.measure == "R²" and not expected.value > 0:
            warn(
                f"The R² to expect on new samples is {expected.value:.2f}, which is not above 0: "
                "predictions are no better than the mean of y; add known targets, or features that "
                "say more about y."
            )

    def reuse_models(self, earlier: Factorization) -> Self:
        """Let the next fit take the models of the features from an earlier fit.

        They depend on X, y and the weights of both, not on the topics; where these differ, they
        are fitted anew.
        """
        if (known := vars(earlier).get("_models")) is not None:
            self._models_to_reuse = known
        return self

    # ---- streams

    def _learn(
        self, X: Any, counts: FloatArray | None, targets: Any = None, coding: Coding | None = None
    ) -> None:
        """Learn from one batch of a stream."""
        settings, task = Settings.of(self), self._task
        data = moderate(validation.observed_data(X), counts)
        if task is not None:
            validation.check_exposure(self, task.kind(coding), data)
        reservoir = self._gathered(data, targets, counts) if settings.pooled else None
        targets = None if targets is None else targets.nonnegative()
        old: Stream | None = vars(self).get("_stream")
        with Threads(self.n_jobs) as threads:
            if old is None:
                stream, objective, solver = self._open(
                    settings, data, counts, targets, coding, threads
                )
            else:
                stream = old.going_on(settings)
                groups = None
                if task is not None:
                    groups = task.further_groups(targets, counts, stream.recipe.guess)
                batch = Batch(data.shifted(stream.recipe.units.data), targets, groups, counts)
                objective = stream.take(batch, threads)
                solver = BLOCK_SOLVERS[settings.solver_name(objective)]
                stream.settle(objective, solver, threads)
            stream.learn(objective, solver, threads, 1 if old is None else STEPS)
            S, A, B = stream.factors.each()
            if B is not None and task is not None and self._refits:
                refit = partial(refit_head, equal_mass=self._equal_mass(coding))
                B = stream.head(refit, threads)
        attributes = attributes_of(stream.conversion, coding, Factors(S, A, B), stream.history)
        attributes |= self._going_on(reservoir, stream)
        for name in ("_reservoir", "_head", "expected_score_", "cells_", "_models"):
            self.__dict__.pop(name, None)
        self.__dict__.update(attributes)
        seen = stream.past.samples
        self.n_samples_seen_ = int(seen) if float(seen).is_integer() else seen
        self._stream = stream
        self.stop_reason_ = f"Learned from {self.n_iter_} batches of a stream."

    def _open(
        self,
        settings: Settings,
        data: Observations,
        counts: FloatArray | None,
        targets: Any,
        coding: Coding | None,
        threads: Threads,
    ) -> tuple[Stream, Objective, Any]:
        """Open a stream with its first batch; an earlier fit's topics go on."""
        settings = replace(settings, head="refit")  # which is what a stream predicts by
        given, task = Input(data, counts, targets, scale_counts=False), self._task
        groups = None
        if task is not None:
            groups = task.groups(targets, counts, settings.n_components)  # all: some come later
            given = given._replace(groups=lambda: groups, kind=task.kind(coding))
        setup = set_up(settings, given, threads)
        stream = Stream(_recipe(setup, task, coding), setup.start, setup.conversion)
        batch = Batch(data.shifted(setup.conversion.units.data), targets, groups, counts)
        stream.keep(batch, threads)
        solver = BLOCK_SOLVERS[settings.solver_name(setup.objective)]
        if "components_" in vars(self):
            A, B = self.components_.T, getattr(self, "target_components_", None)
            stream.resume(A, None if B is None else B.T)
            stream.settle(setup.objective, solver, threads)
        return stream, setup.objective, solver

    def _gathered(self, data: Observations, targets: Targets, counts: Any) -> Reservoir:
        """Return the rows that the pooled head of a stream is fitted on, after a batch."""
        assert self._task is not None
        before = vars(self).get("_reservoir") or Reservoir.empty(targets.n_targets)
        return before.plus(data, targets, counts, self._task.labels(targets, counts))

    def _going_on(self, reservoir: Reservoir | None, stream: Stream) -> dict[str, Any]:
        """Return what a stream predicts by.

        An earlier head goes on until the stream has seen as many labels as that head. Else the head
        is fitted when it is needed: see ``Supervised.pooled_head``.
        """
        if reservoir is None:
            return {}
        head: PooledHead | None = vars(self).get("_head")
        fits = head is not None and head.topics.shape[0] == stream.factors.rank
        if head is None or not fits or not head.outweighs(reservoir.labels):
            return {"_reservoir": reservoir}
        head = head.shifted(stream.conversion.units.data - self._units.data)
        expected = vars(self).get("expected_score_")
        return {"_reservoir": reservoir, "_head": head, "expected_score_": expected}

    # ---- use

    def transform(self, X: Any, *, data_weights: Any = None) -> Any:
        """Represent samples in terms of the topics, seeing the data only.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or RowBlocks
            Nonnegative data; NaN is missing.
        data_weights : array-like or sparse matrix, optional
            Weights of the cells of X, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The best representation of each sample. It does not depend on the other samples.

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor import NMF
        >>> X = np.outer([1.0, 2.0, 3.0], [1.0, 0.0, 2.0])
        >>> NMF(1, random_state=0).fit(X).transform(X).shape
        (3, 1)
        """
        return self._represent(X, data_weights)  # always an array, whatever set_output asks for

    def _represent(self, X: Any, data_weights: Any = None) -> FloatArray:
        """Represent new samples, those of RowBlocks block by block."""
        check_is_fitted(self, "components_")
        if isinstance(X, RowBlocks):
            if data_weights is not None:
                raise ValueError("data_weights cannot be used with RowBlocks; leave it out.")
            return np.concatenate([self._represent(block) for block in blocks_of(X)])
        X = validation.check_data(self, X, reset=False)
        W = validation.check_weights("data_weights", data_weights, X.shape)
        # Missing cells change how a row is solved, so rows that have some go apart; with weights
        # of single cells all rows are solved alike.
        by_cell = W is not None and W.shape == X.shape
        complete = None if by_cell else validation.complete_rows(X)
        if complete is None:
            return self._solve(validation.observed_data(X, W))
        S = np.empty((X.shape[0], len(self.components_)), dtype=X.dtype)
        for rows in (complete, ~complete):
            own = W if W is None or len(W) == 1 else W[rows]
            S[rows] = self._solve(validation.observed_data(X[rows], own))
        return S

    def _solve(self, data: Observations) -> FloatArray:
        A = shift(self.components_.T, -self._units.data)
        A = np.ascontiguousarray(A, dtype=data.dtype)
        loss = validation.as_divergence("data_loss", self.data_loss)
        data, weights = unit_observations(data, literal=True)  # extreme ones only
        penalty = self._sample_penalty(weights)
        # Without a prior each row has a scale of its own, if the loss has none.
        fixed = penalty is not None or not loss.homogeneous
        e = np.full(data.shape[0], self._units.data) if fixed else row_exponents(data)
        with Threads(self.n_jobs) as threads:
            S = represent(data.scaled_rows(e), A, loss, penalty, threads)
        S = np.asarray(shift(S, (e - self._units.data)[:, None]))
        if not np.isfinite(S).all():
            raise ValueError(
                "X is so much larger than the training data that its representation is not "
                f"finite in {S.dtype}; scale X like the training data."
            )
        return S

    def _sample_penalty(self, weights: int) -> Penalty | None:
        """Return the prior on new samples in our units; ``weights`` is their weights' exponent."""
        penalty = validation.as_penalties(self.priors).get("samples")
        if penalty is None:
            return None
        if not penalty.uniform:
            raise ValueError(
                "priors['samples'] is a matrix for the training samples; new samples have no rows "
                "in it, so use representation_, or fit with one number."
            )
        return self._units.for_new_samples(weights).penalty("samples", penalty)

    def inverse_transform(self, X: Any) -> FloatArray:
        """Return the data that representations stand for.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Representations.

        Returns
        -------
        ndarray of shape (n_samples, n_features)

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor import NMF
        >>> X = np.outer([1.0, 2.0, 3.0], [1.0, 0.0, 2.0])
        >>> model = NMF(1, random_state=0).fit(X)
        >>> bool(np.allclose(model.inverse_transform(model.transform(X)), X))
        True
        """
        check_is_fitted(self, "components_")
        X = check_array(X, dtype=[np.float64, np.float32])
        if X.shape[1] != len(self.components_):
            raise ValueError(
                f"X has {X.shape[1]} columns, but representations have n_components="
                f"{len(self.components_)} of them; pass what transform returned."
            )
        return np.asarray(X @ self.components_)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def blocks_of(rows: RowBlocks) -> Iterator[Any]:
    """Yield the data of each block."""
    return (as_csr(rows.block(i).X) for i in range(rows.n_blocks))


def _counted(targets: Targets, counts: FloatArray | None) -> Targets:
    """Return the targets without labels if only samples of weight zero have some."""
    if counts is None or (targets.labelled & (counts > 0)).any():
        return targets
    return replace(targets, labelled=np.zeros_like(targets.labelled))


def _with_targets(
    given: Input, targets: Targets, task: Task, coding: Coding | None, n_components: int
) -> Input:
    """Add targets, and how their samples form groups, to the input of a fit."""
    groups = partial(present_groups, task, targets, given.counts, n_components)
    return given._replace(targets=targets, groups=groups, kind=task.kind(coding))


def present_groups(
    task: Task, targets: Targets, counts: FloatArray | None, n_components: int
) -> Classes | None:
    """Return the labelled samples in groups, without groups whose samples do not count."""
    groups = task.groups(targets, counts, n_components)
    return None if groups is None else groups.counted(counts)


def _recipe(
    setup: Setup, task: Task | None, coding: Coding | None, weights: FloatArray | None = None
) -> Recipe:
    """Return how further rows become objectives like that of the rows at hand.

    ``weights`` are those of the classes.
    """
    penalty = setup.objective.priors.get("samples")
    if penalty is not None and not penalty.uniform:
        raise ValueError(
            "priors['samples'] is a matrix, which RowBlocks and partial_fit cannot use; pass "
            "one number."
        )
    encode = None
    if task is not None and len(setup.objective.terms) > 1:
        encode = partial(task.encode_again, coding=coding, weights=weights)
    units = setup.conversion.units
    return Recipe(setup.objective, units, encode, setup.guess, CONFIDENCE, setup.mean_total)
