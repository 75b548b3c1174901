"""Folds and scores for partly labelled data."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_regressor
from sklearn.metrics import get_scorer
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length

from cofactor._types import BoolArray, IntArray
from cofactor._warnings import warn
from cofactor.errors import Parameter, ParameterError
from cofactor.linear.folds import assign_folds
from cofactor.model_selection.problem import settled_labels, take
from cofactor.targets.reading import is_matrix, known_values, labelled_mask, readable


class PartlyLabelledKFold(BaseCrossValidator):
    """K folds whose test parts hold labelled samples only.

    Unlabelled samples are in every training part. Each labelled sample is in exactly one test part;
    classes (and sets of labels, and low and high numbers) are spread evenly over the folds.

    So scikit-learn's scorers, which know nothing of unlabelled samples, count labelled ones only.
    Its own folds put unlabelled samples into test parts and, if y holds None, are not stratified.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    shuffle : bool, default=True
        Whether to assign samples to folds at random; otherwise by their order.
    random_state : int, RandomState or None, default=None
        Seed of the assignment.
    numbers : bool, default=False
        Whether y holds numbers to predict. Otherwise -1 in an integer y means unlabelled.

    Examples
    --------
    >>> import numpy as np
    >>> from cofactor.model_selection import PartlyLabelledKFold
    >>> y = np.array(["a", "", "b", "a", "", "b"], dtype=object)
    >>> for train, test in PartlyLabelledKFold(2, shuffle=False).split(y, y):
    ...     print(train, test)
    [1 3 4 5] [0 2]
    [0 1 2 4] [3 5]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = True,
        random_state: Any = None,
        numbers: bool = False,
    ) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state
        self.numbers = numbers

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the indices of the training and test samples of each fold.

        Parameters
        ----------
        X : anything with one row for each entry of y
        y : as in ``fit`` of the estimators
        groups : ignored

        Yields
        ------
        train, test : ndarray of int

        Examples
        --------
        >>> from cofactor.model_selection import PartlyLabelledKFold
        >>> y = ["a", "", "b", "a", "", "b"]
        >>> [test.tolist() for _, test in PartlyLabelledKFold(2, shuffle=False).split(y, y)]
        [[0, 2], [3, 5]]
        """
        if y is None:
            raise ValueError("y is None; PartlyLabelledKFold needs labels, pass them as y.")
        check_consistent_length(X, y)
        folds = self.assign(*settled_labels(y, numbers=self.numbers))
        for fold in range(self.n_splits):
            yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds.

        Examples
        --------
        >>> from cofactor.model_selection import PartlyLabelledKFold
        >>> PartlyLabelledKFold(3).get_n_splits()
        3
        """
        return self.n_splits

    def assign(self, labels: np.ndarray, known: BoolArray) -> IntArray:
        """Return the fold in which each sample is tested; -1 for unlabelled samples.

        Parameters are those that `settled_labels` returns.
        """
        check_folds("n_splits", self.n_splits, known)
        random = check_random_state(self.random_state)
        strata = np.full(len(known), -1)
        strata[known] = _strata(labels[known])
        return assign_folds(strata, self.n_splits, random=random if self.shuffle else None)


def _strata(labels: np.ndarray) -> IntArray:
    """Return the rank of each label among all; equal labels have the same rank."""
    if labels.ndim == 2:
        labels = np.nan_to_num(labels, nan=-1.0)
        return np.unique(labels, axis=0, return_inverse=True)[1].ravel()
    ranks = {label: rank for rank, label in enumerate(sorted(set(labels.tolist()), key=_order))}
    return np.array([ranks[label] for label in labels.tolist()], dtype=np.int64)


def _order(label: Any) -> Any:
    """Return a sort key: numbers by size, other labels by name."""
    return (0, label, "") if isinstance(label, int | float) else (1, 0, str(label))


def check_folds(name: str, folds: Any, known: BoolArray) -> None:
    """Reject a number of folds that is too small, or larger than the number of labels."""
    if not isinstance(folds, Integral) or folds < 2:
        raise ValueError(f"{name}={folds!r} must be a whole number of at least 2.")
    if known.sum() < folds:
        raise ParameterError(
            (
                Parameter(name, folds),
                " asks for more folds than there are labels: ",
                Parameter("y"),
                f" has {known.sum()} labelled samples",
            ),
            "use fewer folds, or add labels",
        )


def refuse_one_class(labels: np.ndarray, known: BoolArray) -> None:
    """Reject labels that are all of one class, because any model predicts them."""
    if labels.ndim == 1 and len(found := set(labels[known].tolist())) == 1:
        raise ParameterError(
            (Parameter("y"), f" holds one class only, {found.pop()!r}, so it cannot be predicted"),
            ("add labels of another class, or leave ", Parameter("y"), " out"),
        )


class LabelledScorer:
    """A scorer that drops unlabelled samples and calls another one; see `labelled_scorer`."""

    def __init__(self, scorer: Any) -> None:
        self.scorer = scorer

    def __repr__(self) -> str:
        return f"labelled_scorer({self.scorer!r})"

    def __call__(self, estimator: Any, X: Any, y: Any, **weights: Any) -> float:
        """Return the score of an estimator on the labelled samples.

        Parameters
        ----------
        estimator : fitted estimator
        X, y : samples and their labels
        **weights
            Further arguments of the scorer, such as ``sample_weight``: one entry for each sample.
        """
        classes = getattr(estimator, "classes_", None)
        rows = np.flatnonzero(_scored(y, classes, is_regressor(estimator)))
        if not len(rows):
            raise ValueError(
                "y has no labelled sample, so there is nothing to score; "
                "PartlyLabelledKFold makes test folds that have some."
            )
        own = {name: take(each, rows) for name, each in weights.items() if each is not None}
        truth = plain_labels(y, rows)
        if classes is not None and len(truth.shape) == 1:
            _warn_of_unseen(truth, classes)
        return float(self.scorer(estimator, take(X, rows), truth, **own))


def labelled_scorer(scoring: Any) -> LabelledScorer:
    """Return a scorer that never counts an unlabelled sample.

    scikit-learn's scorers take -1, None and "" for classes that are never predicted.

    Parameters
    ----------
    scoring : str or callable
        A name that scikit-learn knows, such as "accuracy", or a scorer
        ``scorer(estimator, X, y)``.

    Returns
    -------
    callable
        A scorer for ``scoring=`` in scikit-learn. It warns if a test part holds classes that the
        training part lacks, because the folds were not stratified.

    Examples
    --------
    >>> import numpy as np
    >>> from cofactor import SSNMFClassifier
    >>> from cofactor.model_selection import labelled_scorer
    >>> X = np.array([[3, 0, 1], [4, 0, 2], [0, 5, 1], [0, 4, 0]])
    >>> model = SSNMFClassifier(2, random_state=0).fit(X, [0, -1, 1, -1])
    >>> labelled_scorer("accuracy")(model, X, np.array([0, -1, 1, -1]))
    1.0
    """
    return LabelledScorer(get_scorer(scoring))


def _scored(y: Any, classes: Any, numbers: bool) -> BoolArray:
    """Return which samples count: labelled ones, and rows of a matrix without unknown cells."""
    if is_matrix(readable(y, "y")):
        return np.asarray(~np.isnan(settled_labels(y, numbers=numbers)[0]).any(axis=1))
    return known_values(y) if numbers else labelled_mask(y, classes=classes)


def plain_labels(y: Any, rows: IntArray) -> Any:
    """Return the labels of some samples in the form that scikit-learn's metrics read."""
    labels = take(y, rows)
    if issparse(labels):
        return labels
    labels = np.asarray(labels)
    return np.array(labels.tolist()) if labels.dtype == object else labels


def _warn_of_unseen(labels: np.ndarray, classes: np.ndarray) -> None:
    unseen = sorted(set(labels.tolist()) - set(classes.tolist()), key=str)
    if unseen:
        warn(
            f"y holds {unseen[0]!r}, a class that the estimator was fitted without, so these "
            "samples count as wrong; scikit-learn does not stratify folds of a y that holds None: "
            "pass cv=PartlyLabelledKFold()."
        )
