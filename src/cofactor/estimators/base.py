"""What the estimators share: from X (and encoded targets) to fitted attributes."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cofactor.divergences import DIVERGENCES, Divergence
from cofactor.engine.factors import Factors
from cofactor.engine.fitting import Fit, minimise
from cofactor.engine.solvers import (
    BlockDescent,
    CoordinateDescent,
    MultiplicativeUpdates,
    PaperUpdates,
    Solver,
)
from cofactor.engine.threads import Threads, count_threads
from cofactor.estimators import validation
from cofactor.estimators.blocks import Executor, Here, Whole
from cofactor.estimators.hooks import bridge
from cofactor.estimators.inference import estimate_head, represent, row_exponents
from cofactor.estimators.setup import Preparing, Ready
from cofactor.estimators.streaming import STEPS, Kept, Stream
from cofactor.estimators.units import shift
from cofactor.noise import Noise
from cofactor.outofcore import RowBlocks
from cofactor.outofcore.rowblocks import as_csr
from cofactor.starts import counted

SOLVERS: dict[str, Solver] = {
    "cd": CoordinateDescent(),
    "mu": MultiplicativeUpdates(),
    "mu-paper": PaperUpdates(),
}
BLOCKWISE: dict[str, Solver] = {**SOLVERS, "cd": BlockDescent()}
LOSS = [StrOptions(set(DIVERGENCES)), Divergence, Noise]


class FitInterruptedWarning(UserWarning):
    """A fit was interrupted; the estimator holds the last complete iteration."""


class Factorization(
    Preparing,
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
        X : array-like or sparse matrix of shape (n_samples, n_features), or RowBlocks
            Nonnegative data; NaN is missing.
        data_weights : array-like or sparse matrix, optional
            Weights of the cells of X, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The best representation of each sample, whatever the other samples are.
        """
        return self._inferred(X, data_weights)

    def _inferred(self, X, data_weights=None):
        """Represent new samples, those of RowBlocks block by block."""
        check_is_fitted(self, "components_")
        if not isinstance(X, RowBlocks):
            X = validation.check_data(self, X, reset=False)
            return self._represent(X, data_weights)
        if data_weights is not None:
            raise ValueError("data_weights cannot be used with RowBlocks; leave it out.")
        blocks = (as_csr(X.block(i).X) for i in range(X.n_blocks))
        return np.concatenate([self._inferred(block) for block in blocks])

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
