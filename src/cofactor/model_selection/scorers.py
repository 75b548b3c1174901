"""Scores that count labelled samples only."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_regressor
from sklearn.metrics import get_scorer

from cofactor._types import BoolArray, IntArray
from cofactor._warnings import warn
from cofactor.model_selection.labels import settled_labels, take
from cofactor.targets.missing import known_values, labelled_mask
from cofactor.targets.reading import is_matrix, readable


class LabelledScorer:
    """A scorer that drops unlabelled samples and asks another one; see `labelled_scorer`."""

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
        rows = np.flatnonzero(_counted(y, classes, is_regressor(estimator)))
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

    scikit-learn's scorers take -1, None and "" for classes, which no prediction meets.

    Parameters
    ----------
    scoring : str or callable
        A name that scikit-learn knows, such as "accuracy", or a scorer
        ``scorer(estimator, X, y)``.

    Returns
    -------
    callable
        A scorer for ``scoring=`` of scikit-learn's tools. It warns if a test part holds classes
        that the training part lacks, because the folds were not stratified.

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


def _counted(y: Any, classes: Any, numbers: bool) -> BoolArray:
    """Tell which samples count: labelled ones, and of a matrix the rows without unknown cells."""
    if is_matrix(readable(y, "y")):
        return np.asarray(~np.isnan(settled_labels(y, numbers=numbers)[0]).any(axis=1))
    return known_values(y) if numbers else labelled_mask(y, classes=classes)


def plain_labels(y: Any, rows: IntArray) -> Any:
    """Return the labels of some samples as scikit-learn's measures read them."""
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
