"""Topics that predict classes."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length

from cofactor._sklearn import StrOptions
from cofactor._types import BoolArray, FloatArray
from cofactor.engine.factors import Factors
from cofactor.engine.threads import Threads
from cofactor.estimators.base import blocks_of
from cofactor.estimators.classification_or_regression import Classification
from cofactor.estimators.fitted import shown
from cofactor.estimators.supervised import Supervised
from cofactor.linear.familiar import left_out
from cofactor.linear.pool import ExpectedCoverage
from cofactor.outofcore import RowBlocks
from cofactor.targets.classes import BALANCED
from cofactor.targets.reading import labelled_mask, read_cells, readable

MIN_PROBABILITY = 1e-12
"""Smallest distance of a label's probability from 0 and 1."""


def check_abstain(abstain: Any) -> None:
    """Refuse anything but a probability."""
    if not isinstance(abstain, Real) or not 0.0 <= float(abstain) <= 1.0:
        raise ValueError(f"abstain={abstain!r} must be a probability, from 0 to 1.")


def unsure_cells(P: FloatArray, abstain: float, several: bool) -> BoolArray:
    """Return which predictions are less probable than ``abstain``.

    Parameters
    ----------
    P : array (n, k)
        Probabilities of classes, or of labels.
    abstain : float
    several : bool
        Whether a sample may have several labels; then each label is judged, yes or no.

    Returns
    -------
    array of bool, (n,) or (n, k)
    """
    return np.asarray((np.maximum(P, 1 - P) if several else P.max(axis=1)) < abstain)


class SSNMFClassifier(ClassifierMixin, Supervised):
    """Semi-supervised nonnegative matrix factorization: topics that explain the data and predict
    classes.

    Unlabelled samples are marked by -1 in integer ``y``, None, NaN or "" in object ``y`` and NaN
    in float ``y``. A 2-D ``y`` is a multi-label indicator (NaN: unknown cell) or, with other
    values than 0 and 1, soft labels.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics.
    data_loss, target_loss : {"kullback-leibler", "frobenius", "itakura-saito"}, Divergence or noise
        Cost of the misfit of data and targets, by default "kullback-leibler". Noise models of
        :mod:`cofactor.noise` stand for their losses; with two of them ``supervision="auto"`` is
        the λ of maximum likelihood.
    supervision : float or "auto", default="auto"
        λ, the weight of the target term. "auto" makes both terms cost the same for a model that
        knows only column means, for any scale of X and any share of labelled samples.
    solver : {"auto", "cd", "mu", "mu-paper"}, default="auto"
        "cd" is safe coordinate descent, "mu" uses monotone multiplicative updates, "mu-paper" the
        literal updates of the paper. "auto" is "cd" where the losses allow it.
    init : {"auto", "random", "nndsvd", "labels"} or Factors, default="auto"
        Start; "labels" gives each class its topics, and "auto" is "labels" where there are any,
        otherwise as in :class:`NMF`. ``Factors.of_topics(components.T, target_components.T)`` goes
        on from known topics.
    max_iter : int, default=200
        Maximum number of iterations.
    tol : float, default=1e-4
        The fit stops when an iteration lowers the objective by less than ``tol`` times the decrease
        so far (or times a tenth of the first objective, if that is more). 0 disables this rule.
        With ``solver="mu-paper"`` it is the paper's rule: less than ``tol`` times the first
        objective.
    priors : dict, optional
        Priors of :mod:`cofactor.priors` on "samples", "features" or "targets", one or a list each.
    fixed : dict, optional
        Entries that stay as they are in ``init``: ``{"features": mask, "targets": mask}``. A mask
        is True for topics (n_components,), or for entries of the shape of ``components_`` or
        ``target_components_``. A fixed zero bans a feature or a class from a topic.
    head : {"pooled", "refit", "joint"}, default="pooled"
        What predicts. "pooled" adds the scores of linear models of the features, weighted by how
        they predict held-out labels, to those of the topics. "refit" predicts by
        ``target_components_``, estimated again after the fit on representations that have not seen
        labels, because predictions start from such representations. (For exclusive classes the
        samples are scaled to equal mass first.) "joint" keeps that of the joint fit, as the paper
        does.
    exposure : {"total"}, optional
        "total" makes the total of a sample a scale that does not depend on its classes, such as the
        depth to which a cell was sequenced: targets are compared with representations
        divided by the total. Without it, topics of one class tell short samples from long ones
        if totals differ much and there are more topics than classes. It needs all cells of X, and
        ``head="pooled"`` unless the classes exclude each other.
    class_weight : None, "balanced" or dict, default=None
        How much a label counts because of its class. "balanced" gives all classes the same total,
        n_labelled / (n_classes · labels of the class), counted with sample weights. A dict maps
        classes to weights; a class that it lacks has weight 1, and weight 0 hides the labels of a
        class. Fit and head follow: rare classes are predicted more often, and probabilities are
        those of data in which classes have these weights. Unlabelled samples are not weighted.
        Several labels per sample cannot be weighted; ``partial_fit`` needs a dict.
    n_jobs : int, optional
        Number of threads; the result is bit-identical for any number.
    random_state : int, RandomState or None, default=None
        Seed of the start.

    Attributes
    ----------
    classes_ : ndarray
        Class labels, or columns of a 2-D ``y``.
    components_ : ndarray of shape (n_components, n_features)
        Topics.
    target_components_ : ndarray of shape (n_components, n_classes)
        Share of each topic in each class.
    representation_ : ndarray of shape (n_samples, n_components)
        Training samples in terms of the topics, estimated with their labels.
    history_ : dict of lists
        ``objective``, ``data`` and ``target`` after each iteration.
    supervision_ : float
        λ that the fit used.
    expected_score_ : ExpectedScore or None
        With ``head="pooled"``: the accuracy (micro-F1 for several labels per sample) to expect on
        new samples like these, and its interval, from held-out labels. None if no class has two
        labels. It counts every held-out label alike, without ``class_weight``.
    n_iter_ : int
        Number of iterations.
    stop_reason_ : str
        Why the fit ended, in one sentence.

    Examples
    --------
    >>> import numpy as np
    >>> from cofactor import SSNMFClassifier
    >>> X = np.array([[3, 0, 1], [4, 0, 2], [0, 5, 1], [0, 4, 0], [3, 1, 1]])
    >>> y = np.array(["cat", "", "dog", "", ""], dtype=object)
    >>> SSNMFClassifier(2, random_state=0).fit(X, y).predict(X)
    array(['cat', 'cat', 'dog', 'dog', 'cat'], dtype=object)
    """

    _parameter_constraints: ClassVar[dict] = {
        **Supervised._parameter_constraints,
        "exposure": [StrOptions({"total"}), None],
        "class_weight": [dict, StrOptions({BALANCED}), None],
    }
    _task = Classification()

    classes_ = shown("classes", "The classes, in the order of the columns.")

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
        class_weight: dict[Any, float] | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
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
        self.exposure = exposure
        self.class_weight = class_weight

    def predict_proba(self, X: Any, *, data_weights: Any = None, side: Any = None) -> FloatArray:
        """Return the probability of each class, or of each label of a multi-label ``y``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Nonnegative data; NaN is missing.
        data_weights : array-like or sparse matrix, optional
            Weights of the cells of X, as in ``fit``.
        side : array-like or sparse matrix of shape (n_samples, n_columns), optional
            What a model fitted with ``side`` needs of the samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to one, except for multi-label targets. With ``head="pooled"`` an empty sample
            (a document without known words) gets about the shares of the classes, with the other
            heads the same probability for every class.

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor import SSNMFClassifier
        >>> X = np.array([[3, 0, 1], [4, 0, 2], [0, 5, 1], [0, 4, 0]])
        >>> y = np.array(["cat", "", "dog", ""], dtype=object)
        >>> model = SSNMFClassifier(2, random_state=0).fit(X, y)
        >>> model.classes_.tolist(), model.predict_proba([[1, 0, 0]]).round(1).tolist()
        (['cat', 'dog'], [[1.0, 0.0]])
        """
        return self.probabilities(self.scores(X, data_weights=data_weights, side=side))

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Return the probabilities that scores stand for.

        Parameters
        ----------
        scores : array of shape (n_samples, n_classes)
            What ``scores`` returns.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        scores = np.asarray(scores, dtype=np.float64)
        if self.pooled_head is not None:
            return self.pooled_head.probabilities(scores)
        if self.coding.kind == "multilabel":
            return np.clip(scores, MIN_PROBABILITY, 1.0 - MIN_PROBABILITY)
        total = scores.sum(axis=1, keepdims=True)
        even = np.full(scores.shape, 1.0 / scores.shape[1])
        return np.divide(scores, total, out=even, where=total > 0)

    @available_if(lambda self: self._is_pooled)
    def decision_function(
        self, X: Any, *, data_weights: Any = None, side: Any = None
    ) -> FloatArray:
        """Return the scores of the classes; for two classes, the lead of the second.

        The class with the highest score is predicted. For several labels per sample, a label is
        predicted where its value is at least 0; this need not be where its probability is 0.5.
        Only available with ``head="pooled"``. Parameters are those of ``predict_proba``.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
        """
        scores = self.scores(X, data_weights=data_weights, side=side)
        assert self.pooled_head is not None
        if self.pooled_head.thresholds is not None:
            return np.asarray(scores - self.pooled_head.thresholds)
        if self.coding.kind == "multiclass" and scores.shape[1] == 2:
            return np.asarray(scores[:, 1] - scores[:, 0])
        return scores

    @available_if(lambda self: self._is_pooled)
    def unlike(
        self,
        X: Any,
        *,
        scores: FloatArray | None = None,
        data_weights: Any = None,
        side: Any = None,
    ) -> FloatArray:
        """Return how unlike the labelled samples of its predicted class each sample is.

        A sample of a class that has no labels gets one of the other classes, often with a high
        probability. Its number here is near 1: few samples of the predicted class are as far
        from its labelled samples. Only available with ``head="pooled"``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or RowBlocks
            Nonnegative data; NaN is missing.
        scores : array of shape (n_samples, n_classes), optional
            ``scores(X)``, if they are known.
        data_weights : array-like or sparse matrix, optional
            Weights of the cells of X, as in ``fit``.
        side : array-like or sparse matrix of shape (n_samples, n_columns), optional
            What a model fitted with ``side`` needs of the samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            The share of samples of the predicted class that are nearer to its labelled samples,
            from 0 to 1. NaN if it is not known: several labels per sample, no class with two
            labels, or a model of an earlier version.

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor import SSNMFClassifier
        >>> rates = 5 * np.eye(3)[:2].repeat(20, axis=0) + 0.5
        >>> X = np.random.default_rng(0).poisson(rates)
        >>> model = SSNMFClassifier(2, random_state=0).fit(X, np.arange(40) // 20)
        >>> (model.unlike([[6, 0, 1], [0, 0, 6]]) > 0.95).tolist()
        [False, True]
        """
        if scores is None:
            scores = self.scores(X, data_weights=data_weights, side=side)
        if isinstance(X, RowBlocks):
            parts = zip(blocks_of(X), np.split(scores, X.bounds[1:-1]), strict=True)
            return np.concatenate([self.unlike(rows, scores=own) for rows, own in parts])
        assert self.pooled_head is not None
        with Threads(self.n_jobs) as threads:
            return self.pooled_head.unlike(self.own_units(X, data_weights), scores, threads)

    def predict(
        self, X: Any, *, data_weights: Any = None, side: Any = None, abstain: float = 0.0
    ) -> Any:
        """Return the most probable class of each sample, or the label indicator of a multi-label
        ``y``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Nonnegative data; NaN is missing.
        data_weights : array-like or sparse matrix, optional
            Weights of the cells of X, as in ``fit``.
        side : array-like or sparse matrix of shape (n_samples, n_columns), optional
            What a model fitted with ``side`` needs of the samples.
        abstain : float, default=0
            Predict only classes with at least this probability, and leave out samples that are
            unlike the labelled samples of their class (``unlike`` of 0.95 or more). Other classes
            are None, other cells of an indicator NaN, as unlabelled ones are in ``fit``.
            ``expected_coverage`` says how many predictions remain, and how many of them are right.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor import SSNMFClassifier
        >>> X = np.array([[3, 0, 1], [4, 0, 2], [0, 5, 1], [0, 4, 0]])
        >>> y = np.array(["cat", "", "dog", ""], dtype=object)
        >>> model = SSNMFClassifier(2, random_state=0).fit(X, y)
        >>> model.predict([[1, 0, 0], [1, 1, 1]], abstain=0.8).tolist()
        ['cat', None]
        """
        check_abstain(abstain)
        scores = self.scores(X, data_weights=data_weights, side=side)
        predicted = self.read(scores)
        if not abstain:
            return predicted
        P = self.probabilities(scores)
        if predicted.ndim > 1:
            return np.where(unsure_cells(P, abstain, several=True), np.nan, predicted)
        unlike = None
        if self._is_pooled:
            unlike = self.unlike(X, scores=scores, data_weights=data_weights)
        return np.where(left_out(P.max(axis=1), unlike, abstain), None, predicted)

    def expected_coverage(self, abstain: float) -> ExpectedCoverage | None:
        """Return what to expect of ``predict(X, abstain=abstain)`` on new samples like these.

        Parameters
        ----------
        abstain : float
            Predictions less probable than this are left out, and those of samples that are unlike
            the labelled ones, unless it is 0.

        Returns
        -------
        ExpectedCoverage or None
            The share of samples that get a prediction, and of these that are right, from held-out
            labels. None if no label was held out: without ``head="pooled"``, for several labels
            per sample, and if no class has two labels.

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor import SSNMFClassifier
        >>> X = np.random.default_rng(0).poisson(3 * np.eye(2).repeat(20, axis=0) + 0.1)
        >>> model = SSNMFClassifier(2, random_state=0).fit(X, np.arange(40) // 20)
        >>> model.expected_coverage(0.5).coverage
        1.0
        """
        check_abstain(abstain)
        head = self.pooled_head
        if head is None or head.held_out is None:
            return None
        return ExpectedCoverage.of(head.held_out, head.held_out_unlike, float(abstain))

    def read(self, scores: FloatArray) -> Any:
        """Return the predictions that scores stand for.

        Parameters
        ----------
        scores : array of shape (n_samples, n_classes)
            What ``scores`` returns.
        """
        head = self.pooled_head
        if head is not None and head.thresholds is not None:
            return (scores >= head.thresholds).astype(int)
        return self.coding.decode(self.probabilities(scores))

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, side: Any = None) -> float:
        """Return the accuracy on the labelled samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Nonnegative data.
        y : as in ``fit``
            Samples and cells marked as unknown are not counted.
        sample_weight : array-like of shape (n_samples,), optional
            How often each sample counts.
        side : array-like or sparse matrix of shape (n_samples, n_columns), optional
            What a model fitted with ``side`` needs of the samples.

        Returns
        -------
        float

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor import SSNMFClassifier
        >>> X = np.array([[3, 0, 1], [4, 0, 2], [0, 5, 1], [0, 4, 0]])
        >>> y = np.array(["cat", "", "dog", ""], dtype=object)
        >>> model = SSNMFClassifier(2, random_state=0).fit(X, y)
        >>> model.score(X, ["cat", "", "dog", "dog"])  # three labels are known
        1.0
        """
        check_consistent_length(X, y)
        known = labelled_mask(y, classes=getattr(self, "classes_", None))
        if not known.any():
            raise ValueError("y has no labelled sample, so there is nothing to score.")
        predicted = self.predict(X, side=side)
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        if np.ndim(predicted) == 2:
            true, known_cells = read_cells(readable(y, "y"), "y")
            true = true.toarray() if issparse(true) else true
            right = np.all((predicted == true) | ~known_cells, axis=1)[known]
            return float(np.average(right, weights=weights))
        truth = np.asarray(y)
        soft = truth.ndim == 2 and truth.shape[1] > 1
        truth = self.classes_[np.argmax(truth, axis=1)] if soft else truth.ravel()
        return float(np.average(predicted[known] == truth[known], weights=weights))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.poor_score = True
        return tags
