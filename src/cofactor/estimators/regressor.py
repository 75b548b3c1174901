"""Topics that predict numbers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length

from cofactor._sklearn import StrOptions
from cofactor._types import FloatArray
from cofactor.engine.factors import Factors
from cofactor.estimators.classification_or_regression import Regression
from cofactor.estimators.supervised import Supervised
from cofactor.targets.reading import read_numbers, readable, tall
from cofactor.targets.values import LOG_CHOICES


class SSNMFRegressor(RegressorMixin, Supervised):
    """Semi-supervised nonnegative matrix factorization: topics that explain the data and predict
    numbers.

    Unknown targets are NaN. The factorization needs nonnegative targets, so a column of ``y`` is
    shifted by its minimum, and predictions are shifted back; with heads other than "pooled" and
    with RowBlocks only if it has negative values. Later batches of a stream may have lower values:
    topics see the minimum in their place, the pooled head sees them as they are.

    Predictions stay within what ``y`` can be, unless it comes in batches or blocks: if no number is
    negative, no prediction is; if many numbers are equal to the least or the largest one, as in
    ratings from 1 to 10, predictions do not go beyond.

    Parameters
    ----------
    n_components, data_loss, supervision, solver, max_iter, tol, priors, fixed, head, n_jobs,
    random_state
        As in :class:`SSNMFClassifier`.
    target_loss : {"frobenius", "kullback-leibler", "itakura-saito"}, Divergence or noise,
    default="frobenius"
        Cost of the misfit of the targets.
    init : {"auto", "random", "nndsvd", "labels"} or Factors, default="auto"
        Start. "labels" treats quantile bins of a single target as classes; "auto" is "labels" for a
        single target with known values, else as in :class:`NMF`.
    log : {"no", "yes", "auto"}, default="no"
        Whether the logarithms of ``y`` are learned, for numbers that are not negative. "auto" does
        so for columns that are skewed (skewness above 1.5) if their logarithms are less so.
        Predictions are in the units of ``y``; with logarithms, they are medians.

    Attributes
    ----------
    components_, representation_, history_, supervision_, n_iter_, stop_reason_
        As in :class:`SSNMFClassifier`.
    target_components_ : ndarray of shape (n_components, n_targets)
        What each topic adds to the targets.
    expected_score_ : ExpectedScore or None
        With ``head="pooled"`` and one target: the R² to expect on new samples like these, and its
        interval. It is somewhat optimistic with few labels on few features.

    Examples
    --------
    >>> import numpy as np
    >>> from cofactor import SSNMFRegressor
    >>> X = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 2.0], [1.0, 1.0]])
    >>> y = np.array([1.0, 2.0, 3.0, np.nan, np.nan])
    >>> model = SSNMFRegressor(2, head="refit", init="random", random_state=0).fit(X, y)
    >>> model.predict(X).round(1)
    array([1., 2., 3., 6., 4.])
    """

    _parameter_constraints: ClassVar[dict] = {
        **Supervised._parameter_constraints,
        "log": [StrOptions({*LOG_CHOICES})],
    }
    _task = Regression()

    def __init__(
        self,
        n_components: int = 10,
        *,
        data_loss: Any = "kullback-leibler",
        target_loss: Any = "frobenius",
        supervision: float | str = "auto",
        solver: str = "auto",
        init: str | Factors = "auto",
        max_iter: int = 200,
        tol: float = 1e-4,
        priors: dict[str, Any] | None = None,
        fixed: dict[str, Any] | None = None,
        head: str = "pooled",
        log: str = "no",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.log = log
        super().__init__(
            n_components,
            data_loss=data_loss,
            target_loss=target_loss,
            supervision=supervision,
            solver=solver,
            init=init,
            max_iter=max_iter,
            tol=tol,
            priors=priors,
            fixed=fixed,
            head=head,
            n_jobs=n_jobs,
            random_state=random_state,
        )

    def predict(self, X: Any, *, data_weights: Any = None) -> FloatArray:
        """Predict targets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Nonnegative data; NaN is missing.
        data_weights : array-like or sparse matrix, optional
            Weights of the cells of X, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor import SSNMFRegressor
        >>> X = np.random.default_rng(0).random((30, 4))
        >>> y = X @ [1.0, 2.0, 0.0, 1.0]
        >>> y[::3] = np.nan  # not known
        >>> model = SSNMFRegressor(2, random_state=0).fit(X, y)
        >>> model.predict(X[:2]).shape
        (2,)
        """
        return self.read(self.scores(X, data_weights=data_weights))

    def read(self, scores: FloatArray) -> FloatArray:
        """Return the predictions that scores stand for.

        Parameters
        ----------
        scores : array of shape (n_samples, n_targets)
            What ``scores`` returns.
        """
        return self.coding.decode(scores)

    @available_if(lambda self: self._is_pooled)
    def predict_interval(self, X: Any, *, data_weights: Any = None) -> FloatArray:
        """Return bounds that nine of ten new values lie between, from held-out errors.

        Only available with ``head="pooled"``. Parameters are those of ``predict``.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, n_targets, 2)
            Infinite with fewer than nine known values, counted with their sample weights.
        """
        return self.read_interval(self.scores(X, data_weights=data_weights))

    def read_interval(self, scores: FloatArray) -> FloatArray:
        """Return the bounds around the predictions that scores stand for.

        Only available with ``head="pooled"``.

        Parameters
        ----------
        scores : array of shape (n_samples, n_targets)
            What ``scores`` returns.

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor import SSNMFRegressor
        >>> X = np.random.default_rng(0).random((30, 4))
        >>> model = SSNMFRegressor(2, random_state=0).fit(X, X @ [1.0, 2.0, 0.0, 1.0])
        >>> bounds = model.read_interval(model.scores(X))
        >>> bool((bounds[:, 0] <= model.predict(X)).all()), bounds.shape
        (True, (30, 2))
        """
        assert self.pooled_head is not None
        half = np.asarray(self.pooled_head.half_width)
        ends = [np.asarray(self.read(end)) for end in (scores - half, scores + half)]
        unknown = np.isinf(half) if ends[0].ndim > 1 else np.isinf(half[0])
        low, high = np.where(unknown, -np.inf, ends[0]), np.where(unknown, np.inf, ends[1])
        return np.stack([low, high], axis=-1)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean R² of the targets over their known values.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Nonnegative data.
        y : as in ``fit``
            Unknown values are not counted.
        sample_weight : array-like of shape (n_samples,), optional
            How often each sample counts.

        Returns
        -------
        float

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor import SSNMFRegressor
        >>> X = np.random.default_rng(0).random((30, 4))
        >>> y = X @ [1.0, 2.0, 0.0, 1.0]
        >>> y[::3] = np.nan  # not known
        >>> model = SSNMFRegressor(2, random_state=0).fit(X, y)
        >>> model.score(X, y) > 0.9  # of those that are known
        True
        """
        from sklearn.metrics import r2_score  # slow to import, as scikit-learn's own scores know

        check_consistent_length(X, y)
        true = tall(read_numbers(readable(y, "y"), "y"))
        predicted = np.asarray(self.predict(X)).reshape(len(true), -1)
        known = ~np.isnan(true)
        if not known.any():
            raise ValueError("y has no known value, so there is nothing to score.")
        weights = None if sample_weight is None else np.asarray(sample_weight)
        scores = [
            r2_score(
                true[k, j], predicted[k, j], sample_weight=None if weights is None else weights[k]
            )
            for j, k in enumerate(known.T)
            if k.any()
        ]
        return float(np.mean(scores))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = True
        return tags
