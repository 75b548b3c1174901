"""Topics that predict numbers."""

from __future__ import annotations

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_consistent_length

from cofactor.estimators.supervised import Supervised
from cofactor.starts import Classes
from cofactor.targets import encode_values

N_BINS = 10


class SSNMFRegressor(RegressorMixin, Supervised):
    """Semi-supervised nonnegative matrix factorization: topics that explain the data and predict
    numbers.

    Unknown targets are NaN. Targets must be nonnegative to be factored: a column of ``y`` with
    negative values is shifted by its minimum, and predictions are shifted back.

    Parameters
    ----------
    n_components, data_loss, supervision, solver, max_iter, tol, priors, head, n_jobs, random_state
        As in :class:`SSNMFClassifier`.
    target_loss : {"frobenius", "kullback-leibler", "itakura-saito"}, Divergence or noise,
    default="frobenius"
        Cost of the misfit of the targets.
    init : {"auto", "random", "nndsvd", "labels"} or Factors, default="auto"
        Start; "labels" treats quantile bins of a single target as classes, and "auto" is "labels"
        where that can be done.

    Attributes
    ----------
    components_, representation_, history_, supervision_, n_iter_, stop_reason_
        As in :class:`SSNMFClassifier`.
    target_components_ : ndarray of shape (n_components, n_targets)
        What each topic adds to the targets.

    Examples
    --------
    >>> import numpy as np
    >>> from cofactor import SSNMFRegressor
    >>> X = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 2.0], [1.0, 1.0]])
    >>> y = np.array([1.0, 2.0, 3.0, np.nan, np.nan])
    >>> SSNMFRegressor(2, random_state=0, init="random").fit(X, y).predict(X).round(1)
    array([1., 2., 3., 6., 4.])
    """

    def __init__(
        self,
        n_components=10,
        *,
        data_loss="kullback-leibler",
        target_loss="frobenius",
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
            head=head,
            n_jobs=n_jobs,
            random_state=random_state,
        )

    def _encode(self, y, X, counts, target_weights):
        return encode_values(
            y,
            n_samples=X.shape[0],
            sample_weight=counts,
            target_weights=target_weights,
            dtype=X.dtype,
        )

    @staticmethod
    def _encode_again(y, n_samples, coding):
        return encode_values(y, n_samples=n_samples, coding=coding)[0]

    def _first_targets(self, y, X, counts, classes):
        """Return the targets of a stream's first batch, and how to read the others."""
        return self._encode(y, X, counts, None)

    def _further_classes(self, targets, counts) -> Classes | None:
        """Return the classes of a stream's later batch: those of the first that are nearest."""
        guess = self._stream.recipe.guess
        used = targets.labelled if counts is None else targets.labelled & (counts > 0)
        if guess is None or not used.any():
            return None
        y, P = np.asarray(targets.values, dtype=np.float64), guess.prototypes
        nearest = np.abs(y - P[:, 0]).argmin(axis=1)
        return Classes(np.eye(len(P))[nearest], used, P)

    def _classes(self, targets, counts) -> Classes | None:
        """Return quantile bins of a single target as classes."""
        used = targets.labelled if counts is None else targets.labelled & (counts > 0)
        if targets.n_targets != 1 or not used.any():
            return None
        y = np.asarray(targets.values, dtype=np.float64)[:, 0]
        weights = np.ones(len(y)) if counts is None else counts
        levels = np.linspace(0, 1, min(N_BINS, int(self.n_components)) + 1)[1:-1]
        edges = np.unique(
            np.quantile(y[used], levels, weights=weights[used], method="inverted_cdf")
        )
        bins = np.searchsorted(edges, y, side="left")
        present, bins = np.unique(bins, return_inverse=True)
        shares = np.eye(len(present))[bins]
        mass = (shares[used] * weights[used, None]).sum(axis=0)
        total = (shares[used] * (weights * y)[used, None]).sum(axis=0)
        keep = mass > 0
        prototypes = (total[keep] / mass[keep])[:, None]
        return Classes(shares[:, keep], used, prototypes)

    def predict(self, X, *, data_weights=None):
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
        """
        scores = self._scores(X, data_weights)
        return self._coding.decode(scores)

    def score(self, X, y, sample_weight=None):
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
        """
        from sklearn.metrics import r2_score  # slow to import, as scikit-learn's own scores know

        check_consistent_length(X, y)
        true = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = True
        return tags
