"""Predictions of simple methods that learn from the same labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import MultinomialNB


def trivial(kind: str, known: np.ndarray, n: int) -> tuple[str, np.ndarray]:
    """Return the name and the n predictions of a method that knows nothing but other labels."""
    if kind == "classes":
        return "majority", np.full(n, np.bincount(known).argmax())
    mean = _column_means(known)
    if kind == "numbers":
        return "mean", np.tile(mean, (n, 1))
    # Predict the labels that at least half of the documents have, and always the most frequent.
    return "majority", np.tile((mean >= min(0.5, mean.max())).astype(float), (n, 1))


def _column_means(known: np.ndarray) -> np.ndarray:
    count = (~np.isnan(known)).sum(axis=0)
    return np.divide(np.nansum(known, axis=0), count, out=np.zeros(len(count)), where=count > 0)


def baselines(kind: str, X: Any, y: np.ndarray, new: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name of each baseline and its predictions for new documents.

    Parameters
    ----------
    kind : {"classes", "sets", "numbers"}
        What is predicted; for sets, probabilities.
    X, new : sparse arrays
        Labelled and new documents.
    y : array
        Labels of X.
    """
    yield trivial(kind, y, new.shape[0])
    if kind == "numbers":
        yield "ridge regression", _each(X, y, new, _ridge)
    elif kind == "sets":
        yield "naive Bayes", _each(X, y, new, _probability(MultinomialNB(alpha=0.1)))
        yield "logistic regression", _each(X, y, new, _probability(_logistic("liblinear")))
    else:
        yield from _class_baselines(X, y, new)


def _class_baselines(X: Any, y: np.ndarray, new: Any) -> Iterator[tuple[str, np.ndarray]]:
    # No prior and no intercept: with few labels, they favour large classes by up to 20 points.
    yield "naive Bayes", MultinomialNB(alpha=0.03, fit_prior=False).fit(X, y).predict(new)
    if len(np.unique(y)) < 2:
        return
    logistic = _logistic("saga", fit_intercept=False, tol=1e-2, max_iter=50)
    yield "logistic regression", logistic.fit(X, y).predict(new)


def _logistic(solver: str, **settings: Any) -> LogisticRegression:
    return LogisticRegression(C=10.0, solver=solver, random_state=0, **settings)


Method = Callable[[Any, np.ndarray, Any], np.ndarray]


def _each(X: Any, y: np.ndarray, new: Any, method: Method) -> np.ndarray:
    """Apply a method to each column on its own, trained on the documents where it is known."""
    predicted = np.zeros((new.shape[0], y.shape[1]))
    for column, values in zip(predicted.T, y.T, strict=True):
        known = np.flatnonzero(~np.isnan(values))
        different = np.unique(values[known])
        if len(different) > 1:
            column[:] = method(X[known], values[known], new)
        elif len(different):
            column[:] = different[0]
    return predicted


def _ridge(X: Any, y: np.ndarray, new: Any) -> np.ndarray:
    return np.asarray(Ridge(solver="sparse_cg").fit(X, y).predict(new))


def _probability(classifier: Any) -> Method:
    return lambda X, y, new: classifier.fit(X, y).predict_proba(new)[:, 1]
