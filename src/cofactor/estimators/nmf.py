"""Nonnegative matrix factorization without targets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

from cofactor._sklearn import StrOptions
from cofactor._types import FloatArray
from cofactor.engine.factors import Factors
from cofactor.engine.threads import Threads
from cofactor.estimators import validation
from cofactor.estimators.base import Factorization
from cofactor.estimators.cell_prediction import MissingCells, fit_missing_cells, products
from cofactor.estimators.fitted import Fitted


class NMF(Factorization):
    """Nonnegative matrix factorization: topics that explain the data.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics.
    data_loss : {"kullback-leibler", "frobenius", "itakura-saito"}, Divergence or noise,
    default="kullback-leibler"
        Cost of the misfit. A noise model of :mod:`cofactor.noise` stands for its loss.
    solver : {"auto", "cd", "mu", "mu-paper"}, default="auto"
        "cd" is safe coordinate descent, "mu" uses monotone multiplicative updates, "mu-paper" the
        literal updates of the paper. "auto" is "cd" where the losses allow it.
    init : {"auto", "random", "nndsvd"} or Factors, default="auto"
        Start. "nndsvd" takes the topics from singular vectors. "auto" is "nndsvd" with coordinate
        descent on data whose cells are all observed and count alike, otherwise "random".
        ``Factors.of_topics(components.T)`` goes on from known topics.
    max_iter : int, default=200
        Maximum number of iterations.
    tol : float, default=1e-4
        The fit stops when an iteration lowers the objective by less than ``tol`` times the decrease
        so far (or times a tenth of the first objective, if that is more). 0 disables this rule.
        With ``solver="mu-paper"`` it is the paper's rule: less than ``tol`` times the first
        objective.
    priors : dict, optional
        Priors of :mod:`cofactor.priors` on "samples" or "features", one or a list each.
    fixed : dict, optional
        Entries that stay as they are in ``init``: ``{"features": mask}``, where ``mask`` is True
        for topics (n_components,) or for entries of the shape of ``components_``. A fixed zero bans
        a feature from a topic.
    n_jobs : int, optional
        Number of threads; the result is bit-identical for any number.
    random_state : int, RandomState or None, default=None
        Seed of the start.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Topics.
    representation_ : ndarray of shape (n_samples, n_components)
        Training samples in terms of the topics, as the fit left them.
    history_ : dict of lists
        ``objective`` and ``data`` after each iteration.
    n_iter_ : int
        Number of iterations.
    stop_reason_ : str
        Why the fit ended, in one sentence.
    cells_ : MissingCells
        The model behind ``predict_cells``, if cells were missing and ``priors`` were not given. It
        is fitted when it is first asked for, or saved; until then the estimator keeps the data.
        ``cells_.expected_rmse`` is the error to expect, from a tenth of the observed cells that
        were held out; ``cells_.strength`` is the strength of the prior that predicts these best.

    Examples
    --------
    >>> import numpy as np
    >>> from cofactor import NMF
    >>> X = np.outer([1.0, 2.0, 3.0], [1.0, 0.0, 2.0, 1.0])
    >>> model = NMF(1, random_state=0).fit(X)
    >>> np.round(model.inverse_transform(model.transform(X)), 4)
    array([[1., 0., 2., 1.],
           [2., 0., 4., 2.],
           [3., 0., 6., 3.]])

    Missing cells are filled by ``predict_cells``; here each row adds 1 and each column adds 2.

    >>> X = np.add.outer(np.arange(8.0), 2 * np.arange(8.0))
    >>> X[2, 3] = np.nan
    >>> model = NMF(2, random_state=0).fit(X)
    >>> np.round(model.predict_cells([2], [3]))
    array([8.])
    """

    _parameter_constraints: ClassVar[dict] = {
        **Factorization._parameter_constraints,
        "init": [StrOptions({"auto", "random", "nndsvd"}), Factors],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        data_loss: Any = "kullback-leibler",
        solver: str = "auto",
        init: str | Factors = "auto",
        max_iter: int = 200,
        tol: float = 1e-4,
        priors: dict[str, Any] | None = None,
        fixed: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.data_loss = data_loss
        self.solver = solver
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.priors = priors
        self.fixed = fixed
        self.n_jobs = n_jobs
        self.random_state = random_state

    @validation.checks_parameters
    def fit(
        self, X: Any, y: Any = None, *, sample_weight: Any = None, data_weights: Any = None
    ) -> Self:
        """Learn topics.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or RowBlocks
            Nonnegative data; NaN is missing, zeros are observed.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each sample counts.
        data_weights : array-like or sparse matrix, optional
            Weight of each cell, shape (n_samples, n_features), or of rows (n_samples, 1) or
            columns (1, n_features). Of a sparse matrix only the stored cells are observed.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor import NMF
        >>> X = np.outer([1.0, 2.0, 3.0], [1.0, 0.0, 2.0])
        >>> NMF(1, random_state=0).fit(X).components_.shape
        (1, 3)
        """
        self._fit(X, None, sample_weight, data_weights)
        return self

    @validation.checks_parameters
    def partial_fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Learn from one batch of a stream.

        The first batch starts the topics. Later batches refine them; their influence decays, so the
        order of batches matters little. One batch is one iteration of ``fit``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Nonnegative data.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How often each sample counts.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor import NMF
        >>> X = np.outer([1.0, 2.0, 3.0], [1.0, 0.0, 2.0])
        >>> model = NMF(1, random_state=0)
        >>> for batch in (X, 2 * X, 3 * X):
        ...     model = model.partial_fit(batch)
        >>> model.n_samples_seen_
        9
        """
        before: Fitted | None = getattr(self, "_fitted", None)
        first = before is None or before.stream is None
        X = validation.check_data(self, X, reset=first)
        self._learn(X, validation.check_counts(sample_weight, X))
        return self

    def fit_transform(
        self, X: Any, y: Any = None, *, sample_weight: Any = None, data_weights: Any = None
    ) -> Any:
        """Learn topics and represent the samples: the same as ``fit(X).transform(X)``.

        Parameters are those of ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_components)

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor import NMF
        >>> X = np.outer([1.0, 2.0, 3.0], [1.0, 0.0, 2.0])
        >>> NMF(1, random_state=0).fit_transform(X).shape
        (3, 1)
        """
        self.fit(X, sample_weight=sample_weight, data_weights=data_weights)
        return self.transform(X, data_weights=data_weights)

    def completed(self) -> Fitted:
        """Return the state; fit the model of missing cells first if some are missing."""
        fitted = self.fitted
        if fitted.cell_problem is not None:
            with Threads(self.n_jobs) as threads:
                cells = fit_missing_cells(fitted.cell_problem, threads)
            fitted = self._settle(fitted, replace(fitted, cells=cells, cell_problem=None))
        return fitted

    @property
    def cells_(self) -> MissingCells:
        """The model of missing cells, which is fitted at its first use."""
        if (cells := self.completed().cells) is None:
            raise AttributeError("cells_ needs a fit on data with missing cells, without priors.")
        return cells

    def _put_off(self) -> set[str]:
        fitted: Fitted | None = getattr(self, "_fitted", None)
        return {"cells_"} if fitted is not None and fitted.cell_problem is not None else set()

    def predict_cells(self, rows: Any, columns: Any) -> FloatArray:
        """Predict cells of the training data, such as missing ratings.

        Offsets of rows and columns and topics of what they leave predict together. A prior keeps
        the topics from fitting noise; its strength is the one that predicts held-out cells best
        (``cells_``). Predictions stay within the range of the observed cells.

        The first call fits this model. There is none after a fit on complete data, on RowBlocks or
        with ``priors``, and after ``partial_fit``, where ``rows`` are those of the last batch: then
        the topics alone predict, ``representation_ @ components_``.

        Parameters
        ----------
        rows : array-like of int, shape (n_cells,)
            Rows of the training data; the first is 0.
        columns : array-like of int, shape (n_cells,)
            Columns of the training data.

        Returns
        -------
        ndarray of shape (n_cells,)

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor import NMF
        >>> X = np.add.outer(np.arange(8.0), 2 * np.arange(8.0))
        >>> X[2, 3] = np.nan  # it was 2 + 2 · 3
        >>> NMF(2, random_state=0).fit(X).predict_cells([2], [3]).round()
        array([8.])
        """
        S, A = self.fitted.representation, self.fitted.components.T
        i = validation.check_indices("rows", rows, len(S), "rows")
        j = validation.check_indices("columns", columns, len(A), "columns")
        if len(i) != len(j):
            raise ValueError(
                f"rows has {len(i)} entries and columns has {len(j)}; pass one of each for a cell."
            )
        cells = self.completed().cells
        found = products(S, A, i, j) if cells is None else cells.predict(i, j)
        return found.astype(self.components_.dtype, copy=False)
