"""What the classifier and the regressor share."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cofactor.engine.factors import Factors
from cofactor.engine.objective import Objective
from cofactor.estimators import validation
from cofactor.estimators.base import LOSS, Factorization
from cofactor.estimators.blocks import Recipe
from cofactor.estimators.setup import CONFIDENCE
from cofactor.noise import Noise, likelihood_supervision


class Supervised(Factorization):
    """A factorization of data and targets together."""

    _parameter_constraints: ClassVar[dict] = {
        **Factorization._parameter_constraints,
        "target_loss": LOSS,
        "supervision": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "init": [StrOptions({"auto", "random", "nndsvd", "labels"}), Factors],
        "head": [StrOptions({"refit", "joint"})],
    }

    def __init__(
        self,
        n_components=10,
        *,
        data_loss="kullback-leibler",
        target_loss="kullback-leibler",
        supervision="auto",
        solver="auto",
        init="auto",
        max_iter=200,
        tol=1e-4,
        priors=None,
        head="refit",
        n_jobs=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.data_loss = data_loss
        self.target_loss = target_loss
        self.supervision = supervision
        self.solver = solver
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.priors = priors
        self.head = head
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, sample_weight=None, data_weights=None, target_weights=None):
        """Learn topics that explain X and predict y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or RowBlocks
            Nonnegative data; NaN is missing, zeros are observed.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets, unknown ones marked as the class's documentation says. RowBlocks may have
            their own.
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
        """
        rows, X, y, sample_weight = validation.take_rows(
            X,
            y,
            sample_weight,
            self._known,
            data_weights=data_weights,
            target_weights=target_weights,
        )
        X = validation.check_data(self, X, reset=True)
        counts = validation.check_counts(sample_weight, X)
        targets, self._coding = self._encode(y, X, counts, target_weights)
        for name in ("target_components_", "supervision_"):
            self.__dict__.pop(name, None)
        classes = self._classes(targets, counts)
        self._fit(X, data_weights, counts, targets, classes, y, rows)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, *, classes=None, sample_weight=None):
        """Learn from one batch of a stream.

        The first batch starts the topics, and must have labels; later ones refine them with a
        share that decays. Unlabelled samples get guesses from all labels seen so far. One batch is
        one iteration of ``fit``; ``representation_`` is that of the last batch.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Nonnegative data.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets, as in ``fit``.
        classes : array-like, optional
            All classes there will be, if the first batch does not show each of them; ignored
            after the first call.
        sample_weight : array-like of shape (n_samples,), optional
            How often each sample counts.

        Returns
        -------
        self
        """
        goes_on, known = "_stream" in vars(self), vars(self).get("_has_head", False)
        X = validation.check_data(self, X, reset=not known)
        counts = validation.check_counts(sample_weight, X)
        if known:
            targets, coding = self._encode_again(y, X.shape[0], self._coding), self._coding
        else:
            targets, coding = self._first_targets(y, X, counts, classes)
        if not goes_on and not targets.labelled.any():
            raise ValueError(
                "y has no labelled sample; the first batch of a stream must have some, because "
                "the topics start from it."
            )
        self._read_as(coding)
        further = self._further_classes if goes_on else self._classes
        self._absorb(X, y, counts, targets, further(targets, counts))
        return self

    def _further_classes(self, targets, counts):
        """Return the classes of a stream's later batch."""
        return self._classes(targets, counts)

    def _read_as(self, coding) -> None:
        """Remember how targets are read."""
        self._coding = coding

    def fit_transform(self, X, y, *, sample_weight=None, data_weights=None, target_weights=None):
        """Fit, then represent the samples without their labels: ``fit(X, y).transform(X)``.

        Parameters are those of ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        self.fit(
            X,
            y,
            sample_weight=sample_weight,
            data_weights=data_weights,
            target_weights=target_weights,
        )
        return self.transform(X, data_weights=data_weights)

    def _recipe(self, objective, units, guess) -> Recipe:
        encode = Encoding(type(self), self._coding) if len(objective.terms) > 1 else None
        return self._checked_recipe(Recipe(objective, units, encode, guess, CONFIDENCE))

    def _supervision(self, objective: Objective, units, threads) -> float:
        """Return λ in our units.

        "auto" weighs the terms so that explaining the targets no better than by their means costs
        as much as doing so with the data. With two noise models it is the λ of maximum likelihood.
        """
        if self.supervision != "auto":
            return units.supervision(float(self.supervision))
        if isinstance(self.data_loss, Noise) and isinstance(self.target_loss, Noise):
            rank = int(self.n_components)
            return units.supervision(likelihood_supervision(self.data_loss, self.target_loss, rank))
        value = objective.value(_mean_model(objective), threads).terms
        return value["data"] / value["target"] if value["target"] > 0 < value["data"] else 1.0

    def _comparable(self, S, A, counts):
        """Return the representations that the head is estimated on."""
        return S

    def _constants(self) -> dict:
        names = ("_coding", "supervision_")
        return {**super()._constants(), **{n: vars(self)[n] for n in names if n in vars(self)}}

    def _scores(self, X, data_weights=None):
        """Return fitted targets of new samples."""
        check_is_fitted(self, "components_")
        if not self._has_head:
            raise ValueError(
                f"This {type(self).__name__} was fitted without a single labelled sample, so it "
                "cannot predict; "
                "fit it with labels, or use transform."
            )
        return np.asarray(self._inferred(X, data_weights) @ self.target_components_)


@dataclass(frozen=True)
class Encoding:
    """From y of some rows to targets, as the estimator learned to read it."""

    kind: Any
    coding: Any

    def __call__(self, y, n_samples: int):
        return self.kind._encode_again(y, n_samples, self.coding)


def _mean_model(objective: Objective) -> Factors:
    """Return rank-one factors: every sample has the mean of each column."""
    n = objective.terms[0].observations.shape[0]
    means = [t.observations.column_means(objective.sample_weight) for t in objective.terms]
    return Factors(np.ones((n, 1)), *(mean[:, None] for mean in means))
