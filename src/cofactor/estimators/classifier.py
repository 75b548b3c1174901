"""Topics that predict classes."""

from __future__ import annotations

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_consistent_length

from cofactor.estimators.supervised import Supervised
from cofactor.starts import Classes
from cofactor.targets import encode_classes, labelled_mask
from cofactor.targets.missing import read_cells
from cofactor.targets.reading import readable

TINY = 1e-12  # no label is impossible or certain


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
        λ, the weight of the target term. "auto" makes the two terms equal for the model that knows
        only column means, whatever the scale of X and the share of labelled samples.
    solver : {"auto", "cd", "mu", "mu-paper"}, default="auto"
        "cd" is safe coordinate descent, "mu" are monotone multiplicative updates, "mu-paper" the
        literal ones of the paper. "auto" is "cd" where the losses allow it.
    init : {"auto", "random", "nndsvd", "labels"} or Factors, default="auto"
        Start; "labels" gives each class its topics, and "auto" is "labels" where there are any.
    max_iter : int, default=200
        Iterations at most.
    tol : float, default=1e-4
        Stop when an iteration lowers the objective by less than ``tol`` of all that the fit has
        gained so far, or of a tenth of its first value if that is more; 0 never does.  With
        ``solver="mu-paper"`` it is the paper's rule: less than ``tol`` of the first objective.
    priors : dict, optional
        Priors of :mod:`cofactor.priors` on "samples", "features" or "targets", one or a list each.
    head : {"refit", "joint"}, default="refit"
        "refit" re-estimates the classes' topics on representations that have not seen labels,
        which is what prediction works with (for exclusive classes scaled to equal mass, because
        prediction reads shares); "joint" keeps those of the joint fit, as the paper
        does.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the start.

    Attributes
    ----------
    classes_ : ndarray
        Class labels, or columns of a 2-D ``y``.
    components_ : ndarray of shape (n_components, n_features)
        Topics.
    target_components_ : ndarray of shape (n_components, n_classes)
        The topics' part in each class.
    representation_ : ndarray of shape (n_samples, n_components)
        Training samples in terms of the topics, labels seen.
    history_ : dict of lists
        ``objective``, ``data`` and ``target`` after each iteration.
    supervision_ : float
        λ as used.
    n_iter_ : int
        Iterations made.
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

    def _encode(self, y, X, counts, target_weights):
        targets, coding = encode_classes(
            y, n_samples=X.shape[0], target_weights=target_weights, dtype=X.dtype
        )
        self.classes_ = coding.classes
        return targets, coding

    def _first_targets(self, y, X, counts, classes):
        """Return the targets of a stream's first batch, and how to read the others."""
        coding = None
        if classes is not None and np.ndim(y) != 2:
            _, coding = encode_classes(np.asarray(classes), n_samples=len(classes))
        return encode_classes(y, n_samples=X.shape[0], dtype=X.dtype, coding=coding)

    def _read_as(self, coding) -> None:
        super()._read_as(coding)
        self.classes_ = coding.classes

    @staticmethod
    def _encode_again(y, n_samples, coding):
        return encode_classes(y, n_samples=n_samples, coding=coding)[0]

    def _constants(self) -> dict:
        return {**super()._constants(), "classes_": self.classes_}

    def _classes(self, targets, counts) -> Classes | None:
        Y = targets.values
        Y = np.asarray(Y.toarray() if hasattr(Y, "toarray") else Y, dtype=np.float64)
        mass = Y.sum(axis=1)
        labelled = targets.labelled & (mass > 0)
        if not labelled.any():
            return None
        return Classes(Y / np.where(mass > 0, mass, 1.0)[:, None], labelled, np.eye(Y.shape[1]))

    def _comparable(self, S, A, counts):
        """Give every sample the mean mass: of exclusive classes, prediction reads shares only, so
        that long documents must not outvote short ones."""
        if self._coding.kind == "multilabel":
            return S
        mass = S @ A.sum(axis=0)
        mean = np.average(mass, weights=counts) if mass.any() else 1.0
        scale = np.divide(mean, mass, out=np.ones_like(mass), where=mass > 0)
        return np.ascontiguousarray(S * scale[:, None], dtype=S.dtype)

    def predict_proba(self, X, *, data_weights=None):
        """Return the probability of each class, or of each label of a multi-label ``y``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Nonnegative data; NaN is missing.
        data_weights : array-like or sparse matrix, optional
            Weights of the cells of X, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to one, except for multi-label targets. A sample that says nothing (an empty
            document) gets every class alike.
        """
        return self._probabilities(self._scores(X, data_weights))

    def _probabilities(self, scores):
        """Return probabilities for fitted targets."""
        scores = np.asarray(scores, dtype=np.float64)
        if self._coding.kind == "multilabel":
            return np.clip(scores, TINY, 1.0 - TINY)
        total = scores.sum(axis=1, keepdims=True)
        even = np.full(scores.shape, 1.0 / scores.shape[1])
        return np.divide(scores, total, out=even, where=total > 0)

    def predict(self, X, *, data_weights=None):
        """Return the most probable class of each sample, or the label indicator of a multi-label
        ``y``.

        Parameters are those of ``predict_proba``.
        """
        probabilities = self.predict_proba(X, data_weights=data_weights)
        return self._coding.decode(probabilities)

    def score(self, X, y, sample_weight=None):
        """Return the accuracy on the labelled samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Nonnegative data.
        y : as in ``fit``
            Samples and cells marked as unknown are not counted.
        sample_weight : array-like of shape (n_samples,), optional
            How often each sample counts.

        Returns
        -------
        float
        """
        check_consistent_length(X, y)
        known = labelled_mask(y, classes=getattr(self, "classes_", None))
        if not known.any():
            raise ValueError("y has no labelled sample, so there is nothing to score.")
        predicted = self.predict(X)
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        if np.ndim(predicted) == 2:
            true, known_cells = read_cells(readable(y, "y"))
            true = true.toarray() if issparse(true) else true
            right = np.all((predicted == true) | ~known_cells, axis=1)[known]
            return float(np.average(right, weights=weights))
        truth = np.asarray(y)
        soft = truth.ndim == 2 and truth.shape[1] > 1
        truth = self.classes_[np.argmax(truth, axis=1)] if soft else truth.ravel()
        return float(np.average(predicted[known] == truth[known], weights=weights))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.poor_score = True
        return tags
