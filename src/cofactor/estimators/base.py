"""What the estimators share: one fit from input to fitted state, streams, and inference.

``Factorization._fit`` is the whole fit: read the input and encode y, set up an objective and a
start (``setup``), minimise, estimate the head (``heads``), keep the state (``fitted``).
``classification_or_regression`` holds what depends on the kind of y, and ``supervised`` what
estimators with targets add.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from cofactor._sklearn import CallbackSupportMixin, Interval, StrOptions
from cofactor._types import FloatArray
from cofactor._warnings import warn
from cofactor.callbacks import CallbackHook
from cofactor.divergences import DIVERGENCES, Divergence
from cofactor.engine.blockwise import Blocks
from cofactor.engine.factors import Factors
from cofactor.engine.fitting import Fit, History, Hook, minimise
from cofactor.engine.objective import Objective
from cofactor.engine.threads import Threads
from cofactor.errors import ParameterWarning
from cofactor.estimators import validation
from cofactor.estimators.cell_prediction import CellProblem, has_missing_cells
from cofactor.estimators.classification_or_regression import Coding, Task
from cofactor.estimators.executors import LocalExecutor, Recipe
from cofactor.estimators.fitted import NOT_FINITE, Fitted, shown
from cofactor.estimators.heads import pooled_head, refit_head
from cofactor.estimators.inference import represent_samples
from cofactor.estimators.setup import SOLVERS, Input, Settings, Setup, set_up
from cofactor.estimators.streaming import learn_batch
from cofactor.estimators.units import moderate
from cofactor.noise import Noise
from cofactor.outofcore import RowBlocks
from cofactor.priors import Penalty
from cofactor.targets.classes import class_weights, refuse_weightless, weigh_classes
from cofactor.targets.matrix import Targets

LOSS = [StrOptions(set(DIVERGENCES)), Divergence, Noise]


class FitInterruptedWarning(ParameterWarning):
    """A fit was interrupted; the estimator holds the last complete iteration."""


class NotConvergedWarning(ParameterWarning, ConvergenceWarning):
    """A fit ended before it converged."""


@contextmanager
def ending_at_interrupts() -> Iterator[None]:
    """Make Ctrl-C raise KeyboardInterrupt during fits, where an unfinished fit is useless."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", FitInterruptedWarning)
        try:
            yield
        except FitInterruptedWarning:
            raise KeyboardInterrupt from None


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
    _fitted: Fitted

    components_ = shown("components", "Topics, of shape (n_components, n_features).")
    representation_ = shown(
        "representation",
        "Training samples in terms of the topics, of shape (n_samples, n_components).",
    )
    history_ = shown("history", "The objective and its terms after each iteration.")
    n_iter_ = shown("n_iter", "Number of iterations.")
    n_samples_seen_ = shown(
        "n_samples_seen", "Number of samples of a stream, counted with their weights."
    )
    stop_reason_ = shown("stop_reason", "Why the fit ended, in one sentence.")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")

    @property
    def fitted(self) -> Fitted:
        """Everything that the last fit left."""
        if not hasattr(self, "_fitted"):
            check_is_fitted(self)  # which raises scikit-learn's error
        return self._fitted

    def completed(self) -> Fitted:
        """Return the state after computing what is put off until it is needed."""
        return self.fitted

    def _put_off(self) -> set[str]:
        """Return the attributes whose first use computes something."""
        return set()

    def __dir__(self) -> list[str]:
        """List what is there, without computing it: displays ask for every attribute."""
        put_off = self._put_off()
        return [n for n in object.__dir__(self) if n not in put_off and hasattr(self, n)]

    def _settle(self, before: Fitted, after: Fitted) -> Fitted:
        """Keep what was put off, unless another thread has brought a newer state."""
        if self._fitted is before:
            self._fitted = after
        return after

    def with_fitted(self, fitted: Fitted) -> Self:
        """Return a copy of the estimator with another state; ``n_components`` follows it."""
        other = copy.copy(self)
        other._fitted = fitted
        if (rank := len(fitted.components)) != self.n_components:
            other.n_components = rank
        if (width := fitted.components.shape[1]) != getattr(self, "n_features_in_", None):
            other.n_features_in_ = width
            if hasattr(other, "feature_names_in_"):
                del other.feature_names_in_
        return other

    def amend(self, **changes: Any) -> None:
        """Change fields of the state."""
        self._fitted = replace(self.completed(), **changes)

    # ---- fitting

    @validation.checks_parameters
    def fit_after(
        self,
        earlier: Factorization,
        X: Any,
        y: Any = None,
        *,
        target_weights: Any = None,
        side: Any = None,
    ) -> Self:
        """Fit with the linear models of an earlier fit, where samples and targets are the same.

        They do not depend on the topics, so fits that differ in their topics can share them. Where
        samples or targets differ, they are fitted again. The result is that of ``fit``.
        """
        y = None if self._task is None else y
        self._fit(X, y, None, None, target_weights, side=side, earlier=earlier.fitted)
        return self

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        data_weights: Any,
        target_weights: Any = None,
        *,
        side: Any = None,
        earlier: Fitted | None = None,
    ) -> None:
        """Fit: read the input, set up, minimise, estimate the head, keep the state.

        With the state of an ``earlier`` fit, its linear models are used again if samples and
        targets are the same, and those of this fit are kept.
        """
        settings = Settings.of(self)
        rows, X, y, sample_weight = validation.take_rows(
            X,
            y,
            sample_weight,
            self._task,
            data_weights=data_weights,
            target_weights=target_weights,
            side=side,
        )
        X = validation.check_data(self, X, reset=True)
        given = self._read(settings, X, y, sample_weight, data_weights, target_weights, rows)
        if side is not None:
            validation.check_side_use(settings.head, given.kind)
            given = given._replace(side=validation.check_side(side, X.shape[0]))
        with Threads(self.n_jobs) as threads:
            setup = set_up(
                settings,
                given,
                threads,
                earlier=None if earlier is None else earlier.linear_models,
                keep_models=earlier is not None,
            )
            state = partial(self._state, settings, given, setup, threads)
            hooks = []
            if getattr(self, "_skl_callbacks", None):
                hooks = [CallbackHook(self, state, setup.last_objective, X, y)]
            fit = self._minimise(settings, given, setup, hooks, threads)
            self._fitted = self._state_without_head(settings, given, setup, fit)
            if fit.stop.worrying:
                kind = FitInterruptedWarning if fit.interrupted else NotConvergedWarning
                warn(kind(fit.stop.reason, [*fit.stop.remedies]))
            self._add_head(partial(state, fit.factors, fit.history))
            for hook in hooks:
                hook.close(self._fitted)

    def _read(
        self,
        settings: Settings,
        X: Any,
        y: Any,
        sample_weight: Any,
        data_weights: Any,
        target_weights: Any,
        rows: RowBlocks | None,
    ) -> Input:
        """Check the input and encode y; ``rows`` are the blocks of which X is a sample."""
        task = self._task
        counts = validation.check_counts(sample_weight, X)
        W = validation.check_weights("data_weights", data_weights, X.shape)
        given = Input(moderate(validation.observed_data(X, W), counts), counts)
        if rows is not None:
            given = given._replace(rows=rows, scale_counts=False)
        if task is None:
            return given
        whole = rows is None  # a sample of blocks shows neither the least number nor the limits
        targets, coding = task.encode(
            y,
            X.shape[0],
            counts,
            target_weights,
            X.dtype,
            from_zero=settings.from_zero and whole,
            log=settings.log,
            limited=whole,
        )
        validation.check_exposure(self, task.kind(coding), given.data)
        weights = self._class_weights(targets, coding, counts)
        targets = _counted(targets, counts)
        weighed = refuse_weightless(targets, weigh_classes(targets, weights))
        return given._replace(task=task, targets=weighed, coding=coding, class_weights=weights)

    def _class_weights(
        self, targets: Targets, coding: Coding | None, counts: FloatArray | None
    ) -> FloatArray | None:
        """Return the weights of the classes; None where all are 1, or there are no classes."""
        return class_weights(getattr(self, "class_weight", None), targets, coding, counts)

    def _minimise(
        self,
        settings: Settings,
        given: Input,
        setup: Setup,
        hooks: list[CallbackHook],
        threads: Threads,
    ) -> Fit:
        """Iterate, over the matrix in memory or over row blocks."""
        objective: Objective | Blocks = setup.objective
        start, history = setup.start, None
        all_hooks: list[Hook] = [*hooks]
        if (rows := given.rows) is not None:
            executor = (rows.executor or LocalExecutor)(rows, Recipe.of(setup, given), threads)
            objective, start = executor.blocks(setup.objective), executor.start(start)
            all_hooks, history = [*executor.hooks, *hooks], executor.history
        fit = minimise(
            objective,
            start,
            settings.solver_of(setup.objective, blocks=rows is not None),
            max_iter=self.max_iter,
            rules=settings.rules,
            hooks=all_hooks,
            threads=threads,
            history=history,
        )
        if not fit.history.objective:
            raise ValueError(NOT_FINITE)
        return fit

    def _state_without_head(
        self, settings: Settings, given: Input, setup: Setup, fit: Fit
    ) -> Fitted:
        """Return the state of the joint fit."""
        return Fitted.of(
            fit.factors,
            fit.history,
            setup.units,
            setup.supervision,
            setup.constant,
            given.coding,
            stop_reason=str(fit.stop),
            cell_problem=self._cell_problem(settings, given, setup),
            linear_models=setup.models if setup.models.key else None,
        )

    def _cell_problem(self, settings: Settings, given: Input, setup: Setup) -> CellProblem | None:
        """Return what a model of missing cells needs, if some are missing and there is no prior."""
        data, counts = setup.objective.terms[0].observations, setup.objective.sample_weight
        whole = given.rows is None and given.task is None
        if not whole or settings.priors or not has_missing_cells(data, counts):
            return None
        random = copy.deepcopy(check_random_state(settings.random_state))
        loss, rank = settings.data_loss, settings.n_components
        return CellProblem(data, counts, loss, rank, self.max_iter, random, setup.units.data)

    def _state(
        self,
        settings: Settings,
        given: Input,
        setup: Setup,
        threads: Threads,
        factors: Factors,
        history: History,
    ) -> Fitted:
        """Return the state after an iteration, the head included."""
        if factors.targets is not None and settings.refits and setup.targets is not None:
            B = refit_head(
                setup.objective,
                factors,
                setup.targets.labelled,
                threads,
                equal_mass=given.kind == "classes" and not settings.exposed,
            )
            factors = Factors(factors.samples, factors.features, B)
        parts: dict[str, Any] = {}
        if factors.targets is not None and settings.pooled:
            assert given.task is not None
            assert given.targets is not None
            objective, e = setup.objective, setup.units.data
            head, expected = pooled_head(
                setup.models,
                objective,
                factors,
                given.targets,
                e,
                threads,
                given.coding,
                given.side,
            )
            labels = given.task.labels(given.targets, objective.sample_weight).sum(axis=0)
            parts = {"head": replace(head, labels=labels), "expected_score": expected}
        return Fitted.of(
            factors, history, setup.units, setup.supervision, setup.constant, given.coding, **parts
        )

    def _add_head(self, state: Callable[[], Fitted]) -> None:
        """Add the head to the state; an interruption leaves that of the joint fit."""
        joint = self._fitted
        try:
            found = state()
        except KeyboardInterrupt:
            message = "Interrupted after the last iteration: the head is that of the joint fit."
            self._fitted = replace(joint, stop_reason=f"{joint.stop_reason} {message}")
            warn(message, FitInterruptedWarning)
            return
        self._fitted = replace(
            joint,
            target_components=found.target_components,
            head=found.head,
            expected_score=found.expected_score,
        )
        expected = found.expected_score
        if expected is not None and expected.measure == "R²" and not expected.value > 0:
            warn(
                f"The R² to expect on new samples is {expected.value:.2f}, which is not above 0: "
                "predictions are no better than the mean of y; add known targets, or features that "
                "say more about y."
            )

    def _learn(
        self, X: Any, counts: FloatArray | None, targets: Any = None, coding: Coding | None = None
    ) -> None:
        """Learn from one batch of a stream."""
        data = moderate(validation.observed_data(X), counts)
        given = Input(data, counts, self._task, targets, coding)
        if self._task is not None:
            validation.check_exposure(self, given.kind, data)
        with Threads(self.n_jobs) as threads:
            earlier = getattr(self, "_fitted", None)
            self._fitted = learn_batch(earlier, Settings.of(self), given, threads)

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
        return self._represent(
            X, data_weights
        )  # always an array, even if set_output asks for frames

    def _represent(self, X: Any, data_weights: Any = None) -> FloatArray:
        """Represent new samples, those of RowBlocks block by block."""
        components = self.fitted.components
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
        S = np.empty((X.shape[0], len(components)), dtype=X.dtype)
        for rows in (complete, ~complete):
            own = W if W is None or len(W) == 1 else W[rows]
            S[rows] = self._solve(validation.observed_data(X[rows], own))
        return S

    def _solve(self, data: Any) -> FloatArray:
        fitted, loss = self._fitted, validation.as_divergence("data_loss", self.data_loss)
        prior = self._sample_prior()
        with Threads(self.n_jobs) as threads:
            return represent_samples(data, fitted.components, fitted.units, loss, prior, threads)

    def _sample_prior(self) -> Penalty | None:
        """Return the prior on new samples."""
        penalty = validation.as_penalties(self.priors).get("samples")
        if penalty is not None and not penalty.uniform:
            raise ValueError(
                "priors['samples'] is a matrix for the training samples; new samples have no rows "
                "in it, so use representation_, or fit with one number."
            )
        return penalty

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
        components = self.fitted.components
        X = check_array(X, dtype=[np.float64, np.float32])
        if X.shape[1] != len(components):
            raise ValueError(
                f"X has {X.shape[1]} columns, but representations have n_components="
                f"{len(components)} of them; pass what transform returned."
            )
        return np.asarray(X @ components)

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
    return (rows.block(i).X.layout.as_csr(rows.shape[1]) for i in range(rows.n_blocks))


def _counted(targets: Targets, counts: FloatArray | None) -> Targets:
    """Return the targets without labels if only samples of weight zero have some."""
    if counts is None or (targets.labelled & (counts > 0)).any():
        return targets
    return replace(targets, labelled=np.zeros_like(targets.labelled))
