"""Folds for partly labelled data."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length

from cofactor._types import BoolArray, IntArray
from cofactor.errors import Parameter, ParameterError
from cofactor.model_selection.labels import settled_labels


class PartlyLabelledKFold(BaseCrossValidator):
    """K folds whose test parts hold labelled samples only.

    Unlabelled samples are in every training part. Labelled samples are in exactly one test part;
    classes (and sets of labels, and low and high numbers) are spread evenly over the folds.

    So scikit-learn's scorers, which do not know what unlabelled means, count labelled samples only.
    Its own folds put unlabelled samples into test parts and, if y holds None, are not stratified.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    shuffle : bool, default=True
        Whether to draw which samples of a class go to which fold; False goes by their order.
    random_state : int, RandomState or None, default=None
        Seed of the draw.
    numbers : bool, default=False
        Whether y holds whole numbers to predict, of which -1 is one. Otherwise -1 in an integer y
        is unlabelled.

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
        """Yield the indices of the training and of the test samples of each fold.

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
        rows = np.flatnonzero(known)
        rows = random.permutation(rows) if self.shuffle else rows
        order = np.argsort(_strata(labels[rows]), kind="stable")
        folds = np.full(len(known), -1, dtype=np.int64)
        folds[rows[order]] = np.arange(len(rows)) % self.n_splits
        return folds


def _strata(labels: np.ndarray) -> IntArray:
    """Return the rank of each label among all; equal labels have the same rank."""
    if labels.ndim == 2:
        labels = np.nan_to_num(labels, nan=-1.0)
        return np.unique(labels, axis=0, return_inverse=True)[1].ravel()
    ranks = {label: rank for rank, label in enumerate(sorted(set(labels.tolist()), key=_order))}
    return np.array([ranks[label] for label in labels.tolist()], dtype=np.int64)


def _order(label: Any) -> Any:
    """Return what labels are sorted by: numbers by size, others by name."""
    return (0, label, "") if isinstance(label, int | float) else (1, 0, str(label))


def check_folds(name: str, folds: Any, known: BoolArray) -> None:
    """Refuse a number of folds that is too small, or larger than the number of labels."""
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
    """Refuse labels that are all of one class: any model predicts them."""
    if labels.ndim == 1 and len(found := set(labels[known].tolist())) == 1:
        raise ParameterError(
            (Parameter("y"), f" holds one class only, {found.pop()!r}, so labels tell nothing"),
            ("add labels of another class, or leave ", Parameter("y"), " out"),
        )
