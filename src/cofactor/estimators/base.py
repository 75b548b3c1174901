"""What the estimators share: one fit from input to fitted attributes, streams, and inference.

``Factorization._fit`` is the whole fit: check the input, encode y, set up an objective and a start
(``setup``), minimise, estimate the head (``heads``), publish. ``tasks`` holds what depends on the
kind of y.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cofactor._types import FloatArray
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
from cofactor.estimators.heads import PooledHead, pooled_head, refit_head
from cofactor.estimators.hooks import bridge
from cofactor.estimators.inference import represent, row_exponents
from cofactor.estimators.reservoir import Reservoir
from cofactor.estimators.setup import (
    CONFIDENCE,
    Conversion,
    Input,
    Settings,
    Setup,
    feature_models,
    set_up,
)
from cofactor.estimators.streaming import STEPS, Batch, Stream
from cofactor.estimators.tasks import Coding, Task
from cofactor.estimators.units import moderate, shift, unit_observations, unit_weights
from cofactor.guesses.guess import Classes
from cofactor.guesses.pool import ExpectedScore
from cofactor.noise import Noise
from cofactor.outofcore import RowBlocks
from cofactor.outofcore.rowblocks import as_csr
from cofactor.priors import Penalty
from cofactor.targets import (
    ClassCoding,
    Targets,
    class_weights,
    refuse_weightless,
    weigh_classes,
)

SOLVERS: dict[str, Solver] = {
    "cd": CoordinateDescent(),
    "mu": MultiplicativeUpdates(),
    "mu-paper": PaperUpdates(),
}
BLOCK_SOLVERS: dict[str, Solver] = {**SOLVERS, "cd": BlockDescent()}
OF_SOME_FITS = (
    "_stream", "_reservoir", "n_samples_seen_", "target_components_", "supervision_", "_head",
    "expected_score_", "cells_", "_models",
)  # fmt: skip
"""Attributes that a fit may lack; those of an earlier fit must not stay."""
FACTORS = ("components", "representation", "target_components")
NOT_FINITE = (
    "The fit gave numbers that are not finite, so there is no model; check X, y, priors, "
    "supervision, data_weights, target_weights and sample_weight for extreme values, and scale "
    "them."
)
LOSS = [StrOptions(set(DIVERGENCES)), Divergence, Noise]


class FitInterruptedWarning(UserWarning):
    """A fit was interrupted; the estimator holds the last complete iteration."""


class Factorization(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
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
        """Fit: check the input, set up, minimise, estimate the head, publish."""
        settings, task = Settings.of(self), self._task
        rows, X, y, sample_weight = validation.take_rows(
            X, y, sample_weight, task, data_weights=data_weights, target_weights=target_weights
        )
        X = validation.check_data(self, X, reset=True)
        counts = validation.check_counts(sample_weight, X)
        W = validation.check_weights("data_weights", data_weights, X.shape)
        given = Input(moderate(validation.observed_data(X, W), counts), counts)
        given = given._replace(known_models=self.__dict__.pop("_models_to_reuse", None))
        coding: Coding | None = None
        weights: FloatArray | None = None
        if task is not None:
            from_zero = settings.from_zero and rows is None
            read = y, X.shape[0], counts, target_weights, X.dtype
            targets, coding = task.encode(*read, from_zero=from_zero)
            weights = self._class_weights(targets, coding, counts)
            targets = _counted(targets, counts)
            given = _with_targets(
                given,
                refuse_weightless(targets, weigh_classes(targets, weights)),
                task,
                coding,
                settings.n_components,
            )
        with Threads(self.n_jobs) as threads:
            if rows is None:
                setup = set_up(settings, given, threads)
                work: Executor = WholeMatrix()
            else:
                setup = set_up(settings, given._replace(scale_counts=False), threads, rows.largest)
                recipe = _recipe(setup, task, coding, weights)
                work = (rows.executor or LocalExecutor)(rows, recipe, threads)
            self.__dict__.pop("cells_", None)  # callbacks must not publish those of an earlier fit
            publish = partial(self._published, setup, coding, threads)
            last = partial(_last_objective, setup.conversion)
            hooks = bridge(self, self.max_iter, publish, last, X, y)
            solvers = SOLVERS if rows is None else BLOCK_SOLVERS
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
            self._keep(fit, _attributes(setup.conversion, coding, fit.factors, fit.history))
            self._keep_head(publish, fit)
            self._models = setup.known_models
            if task is None and rows is None and not fit.interrupted:
                self._keep_cells(settings, setup, threads)
            for hook in hooks:
                hook.close(fit.factors, fit.history)

    def _class_weights(
        self, targets: Targets, coding: Coding | None, counts: FloatArray | None
    ) -> FloatArray | None:
        """Return the weights of the classes; None where all are 1, or there are no classes."""
        return class_weights(getattr(self, "class_weight", None), targets, coding, counts)

    def _published(
        self, setup: Setup, coding: Coding | None, threads: Threads, factors: Factors,
        history: History,
    ) -> dict[str, Any]:  # fmt: skip
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
        return {**_attributes(setup.conversion, coding, factors, history), **own}

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
        exposed = getattr(self, "exposure", None) is not None
        return self._task.kind(coding) == "classes" and not exposed

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
            warnings.warn(self.stop_reason_, kind, stacklevel=5)

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
        warnings.warn(message, FitInterruptedWarning, stacklevel=6)

    def _doubt(self) -> None:
        """Warn of numbers that cannot be predicted."""
        expected = vars(self).get("expected_score_")
        if expected is not None and expected.measure == "R²" and not expected.value > 0:
            warnings.warn(
                f"The R² to expect on new samples is {expected.value:.2f}, which is not above 0: "
                "predictions are no better than the mean of y; add known targets, or features that "
                "say more about y.",
                stacklevel=6,
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
        attributes = _attributes(stream.conversion, coding, Factors(S, A, B), stream.history)
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
        # Without a prior each row has a scale of its own.
        e = np.full(data.shape[0], self._units.data) if penalty else row_exponents(data)
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


class Supervised(Factorization):
    """A factorization of data and targets together."""

    _parameter_constraints: ClassVar[dict] = {
        **Factorization._parameter_constraints,
        "target_loss": LOSS,
        "supervision": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "init": [StrOptions({"auto", "random", "nndsvd", "labels"}), Factors],
        "head": [StrOptions({"pooled", "refit", "joint"})],
        "exposure": [StrOptions({"total"}), None],
    }
    _task: ClassVar[Task]

    def __init__(
        self,
        n_components: int = 10,
        *,
        data_loss: Any = "kullback-leibler",
        target_loss: Any = "kullback-leibler",
        supervision: float | str = "auto",
        solver: str = "auto",
        init: str | Factors = "auto",
        max_iter: int = 200,
        tol: float = 1e-4,
        priors: dict[str, Any] | None = None,
        fixed: dict[str, Any] | None = None,
        head: str = "pooled",
        exposure: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.data_loss = data_loss
        self.target_loss = target_loss
        self.supervision = supervision
        self.solver = solver
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.priors = priors
        self.fixed = fixed
        self.head = head
        self.exposure = exposure
        self.n_jobs = n_jobs
        self.random_state = random_state

    @validation.checks_parameters
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        data_weights: Any = None,
        target_weights: Any = None,
    ) -> Self:
        """Learn topics that explain X and predict y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or RowBlocks
            Nonnegative data; NaN is missing, zeros are observed.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets; the class's documentation says how unknown ones are marked. RowBlocks may
            have their own.
        sample_weight : array-like of shape (n_samples,), optional
            How often each sample counts.
        data_weights : array-like or sparse matrix, optional
            Weight of each cell of X, shape (n_samples, n_features), or of rows (n_samples, 1) or
            columns (1, n_features). Of a sparse matrix only the stored cells are observed.
        target_weights : array-like, optional
            Confidence in each label, shape (n_samples,), or in each cell of the targets.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor import SSNMFClassifier
        >>> X = np.array([[3, 0, 1], [4, 0, 2], [0, 5, 1], [0, 4, 0]])
        >>> y = np.array(["cat", "", "dog", ""], dtype=object)
        >>> SSNMFClassifier(2, random_state=0).fit(X, y).predict(X).tolist()
        ['cat', 'cat', 'dog', 'dog']
        """
        self._fit(X, y, sample_weight, data_weights, target_weights)
        return self

    @validation.checks_parameters
    def partial_fit(
        self, X: Any, y: Any, *, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from one batch of a stream.

        The first batch starts the topics and must have labels. Later batches refine the topics;
        their influence decays. Unlabelled samples get guesses from all labels seen so far. One
        batch is one iteration of ``fit``; ``representation_`` is that of the last batch.

        With ``head="pooled"`` the stream keeps labelled samples and, where room is left, an even
        sample of the others, together up to 2**21 stored cells (about 25 MB). The head is fitted on
        them at its first use after a batch, so predicting after every batch is slow. If a ``fit``
        came before, or a saved model was loaded, that model's head goes on until the stream has
        seen as many labels as it, and one of each of its classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Nonnegative data.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets, as in ``fit``.
        classes : array-like, optional
            All classes of the stream, if the first batch does not show each of them. Later calls
            ignore it.
        sample_weight : array-like of shape (n_samples,), optional
            How often each sample counts.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor import SSNMFClassifier
        >>> X = np.array([[3, 0, 1], [4, 0, 2], [0, 5, 1], [0, 4, 0]])
        >>> y = np.array(["cat", "", "dog", ""], dtype=object)
        >>> model = SSNMFClassifier(2, random_state=0)
        >>> for _ in range(3):  # a new batch each time
        ...     model = model.partial_fit(X, y)
        >>> model.predict([[1, 0, 0]]).tolist(), model.n_samples_seen_
        (['cat'], 12)
        """
        _refuse_balanced(getattr(self, "class_weight", None))
        known = vars(self).get("_has_head", False)
        X = validation.check_data(self, X, reset=not known)
        counts = validation.check_counts(sample_weight, X)
        if known:
            coding, signed = self._coding, self.head == "pooled"
            targets = self._task.encode_again(y, X.shape[0], coding, signed=signed)
        else:
            targets, coding = self._task.encode_first_batch(
                y, X.shape[0], counts, classes, X.dtype, from_zero=Settings.of(self).from_zero
            )
        if "_stream" not in vars(self) and not targets.labelled.any():
            raise ValueError(
                "y has no labelled sample; the first batch of a stream must have some, because "
                "the topics start from it."
            )
        weighed = weigh_classes(targets, self._class_weights(targets, coding, counts))
        if "_stream" not in vars(self):
            refuse_weightless(targets, weighed)
        self._learn(X, counts, weighed, coding)
        return self

    def fit_transform(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        data_weights: Any = None,
        target_weights: Any = None,
    ) -> Any:
        """Fit, then represent the samples without their labels: ``fit(X, y).transform(X)``.

        Parameters are those of ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_components)

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor import SSNMFClassifier
        >>> X = np.array([[3, 0, 1], [4, 0, 2], [0, 5, 1], [0, 4, 0]])
        >>> y = np.array(["cat", "", "dog", ""], dtype=object)
        >>> SSNMFClassifier(2, random_state=0).fit_transform(X, y).shape
        (4, 2)
        """
        self.fit(
            X,
            y,
            sample_weight=sample_weight,
            data_weights=data_weights,
            target_weights=target_weights,
        )
        return self.transform(X, data_weights=data_weights)

    @property
    def coding(self) -> Any:
        """How y became columns of targets, and how predictions turn back into y."""
        check_is_fitted(self, "components_")
        return self._coding

    @property
    def pooled_head(self) -> PooledHead | None:
        """The head that sees features and topics; None where ``target_components_`` predicts.

        That of a stream is fitted at its first use after a batch.
        """
        if "_head" not in vars(self) and self._is_pooled:
            self.__dict__.update(self._stream_head())
        return vars(self).get("_head")

    @property
    def _is_pooled(self) -> bool:
        """Whether predictions come from a pooled head, fitted or not yet."""
        reservoir: Reservoir | None = vars(self).get("_reservoir")
        return "_head" in vars(self) or (reservoir is not None and bool(reservoir.labels.any()))

    @cached_property
    def expected_score_(self) -> ExpectedScore | None:
        """The score to expect on new samples, which a stream estimates together with its head."""
        if self.pooled_head is None:
            raise AttributeError("expected_score_ needs head='pooled' and labels.")
        return vars(self).get("expected_score_")

    def forget_held_out(self) -> None:
        """Forget what held-out labels said about new samples: these labels were not known ones."""
        self.expected_score_ = None
        if (head := self.pooled_head) is not None:
            self._head = replace(head, held_out=None)

    def _stream_head(self) -> dict[str, Any]:
        """Fit the pooled head of a stream on the rows that it has gathered."""
        task, units, rank = self._task, self._units, len(self.components_)
        settings = replace(Settings.of(self), head="pooled", n_components=rank)
        data, targets, counts = self._reservoir.sample()
        data, counts = data.shifted(units.data), unit_weights(counts, literal=True)[0]
        groups = _present_groups(task, targets, counts, rank)
        given = Input(data, counts, targets, kind=task.kind(self._coding))
        outside = self.representation_, self.components_.T, self.target_components_.T
        factors = units.factors(Factors(*outside), -1)
        objective = replace(self._stream.recipe.assembled(data), sample_weight=counts)
        e = units.data
        with Threads(self.n_jobs) as threads:
            models, _ = feature_models(settings, given, groups, data, counts, e, threads)
            head, expected = pooled_head(models, objective, factors, targets, e, threads)
        head = replace(head, labels=self._reservoir.labels)
        return {"_head": head, "expected_score_": expected}

    def scores(
        self, X: Any, *, representation: FloatArray | None = None, data_weights: Any = None
    ) -> FloatArray:
        """Return the numbers that predictions are read from.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or RowBlocks
            Nonnegative data; NaN is missing.
        representation : array of shape (n_samples, n_components), optional
            ``transform(X)``, if it is known.
        data_weights : array-like or sparse matrix, optional
            Weights of the cells of X, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_targets)
        """
        check_is_fitted(self, "components_")
        if not self._has_head:
            raise ValueError(
                f"This {type(self).__name__} was fitted without a single labelled sample, so it "
                "cannot predict; fit it with labels, or use transform."
            )
        S = self._represent(X, data_weights) if representation is None else representation
        if self.pooled_head is None:
            return np.asarray(S @ self.target_components_)
        if isinstance(X, RowBlocks):
            parts = zip(blocks_of(X), np.split(S, X.bounds[1:-1]), strict=True)
            blocks = [self._pooled(self.pooled_head, *part, None) for part in parts]
            return np.concatenate(blocks)
        return self._pooled(self.pooled_head, X, S, data_weights)

    def view(self, X: Any) -> Any:
        """Return samples as the pooled head sees them, a matrix of the shape of X.

        ``view(X) @ pooled_head.weights + pooled_head.base`` is what the features add to the scores.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Nonnegative data; NaN is missing.
        """
        if self.pooled_head is None:
            raise ValueError("This model has no pooled head; fit it with head='pooled' and labels.")
        return self.pooled_head.view.of(self.own_units(X, None))

    def _pooled(self, head: PooledHead, X: Any, S: FloatArray, data_weights: Any) -> FloatArray:
        data = self.own_units(X, data_weights)
        with Threads(self.n_jobs) as threads:
            return head.scores(data, S, self.components_, threads)

    def topic_scores(self) -> FloatArray:
        """Return the scores of a sample of usual size that is all one topic.

        Returns
        -------
        ndarray of shape (n_components, n_targets)
            With another head than "pooled", fitted targets of a sample of mass one.
        """
        check_is_fitted(self, "components_")
        if self.pooled_head is None:
            mass = self.components_.sum(axis=1, keepdims=True, dtype=np.float64)
            return np.asarray(self.target_components_ / np.maximum(mass, 1e-300))
        with Threads(self.n_jobs) as threads:
            return self.pooled_head.topic_scores(self.components_, threads)

    def own_units(self, X: Any, data_weights: Any = None) -> Observations:
        """Check samples, and bring them into the units of the fit."""
        X = validation.check_data(self, X, reset=False)
        W = validation.check_weights("data_weights", data_weights, X.shape)
        data, _ = unit_observations(validation.observed_data(X, W), literal=True)
        return data.shifted(self._units.data)


def blocks_of(rows: RowBlocks) -> Iterator[Any]:
    """Yield the data of each block."""
    return (as_csr(rows.block(i).X) for i in range(rows.n_blocks))


def _refuse_balanced(asked: Any) -> None:
    if isinstance(asked, str):
        raise ValueError(
            f"class_weight={asked!r} cannot be used with partial_fit, because the batches to come "
            "are not known; pass a dict of weights, such as those of "
            "sklearn.utils.class_weight.compute_class_weight for a sample of the stream."
        )


def _counted(targets: Targets, counts: FloatArray | None) -> Targets:
    """Return the targets without labels if only samples of weight zero have some."""
    if counts is None or (targets.labelled & (counts > 0)).any():
        return targets
    return replace(targets, labelled=np.zeros_like(targets.labelled))


def _with_targets(
    given: Input, targets: Targets, task: Task, coding: Coding | None, n_components: int
) -> Input:
    """Add targets, and how their samples form groups, to the input of a fit."""
    groups = partial(_present_groups, task, targets, given.counts, n_components)
    return given._replace(targets=targets, groups=groups, kind=task.kind(coding))


def _present_groups(
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


def _attributes(
    conversion: Conversion, coding: Coding | None, factors: Factors, history: History
) -> dict[str, Any]:
    """Return the fitted attributes for factors in our units."""
    units, supervision, constant = conversion
    outside = units.factors(factors)
    attributes: dict[str, Any] = {
        "components_": np.ascontiguousarray(outside.features.T),
        "representation_": np.asarray(outside.samples),
        "history_": units.history(history.objective, history.terms, constant),
        "n_iter_": len(history.objective),
        "_units": units,
        "_constant": constant,
        "_has_head": supervision is not None,
    }
    if outside.targets is not None:
        attributes["target_components_"] = np.ascontiguousarray(outside.targets.T)
        attributes["supervision_"] = supervision
    if coding is not None:
        attributes["_coding"] = coding
    if isinstance(coding, ClassCoding):
        attributes["classes_"] = coding.classes
    factors_out = (attributes.get(f"{name}_") for name in FACTORS)
    if not all(np.isfinite(V).all() for V in factors_out if V is not None):
        raise ValueError(NOT_FINITE)
    return attributes


def _last_objective(conversion: Conversion, history: History) -> float:
    """Return the last objective in the user's units."""
    units, _, constant = conversion
    return units.history(history.objective[-1:], {}, constant)["objective"][0]
