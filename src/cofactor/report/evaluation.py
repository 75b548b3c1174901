"""Tests a model on labels that it has not seen, and compares it with simple baselines.

Labels that the user held out test the model as it is. Otherwise the model is refitted for
cross-validation. Baselines learn from the same labels as the model.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import MultinomialNB

from cofactor.linear.folds import assign_folds
from cofactor.report.material import Material, is_known
from cofactor.report.refits import (
    Request,
    has_many_documents,
    iteration_limit,
    refit,
    with_topics_of,
    without_labels,
)
from cofactor.report.score_tables import MODEL, PLAIN, Evaluation
from cofactor.text.describe.predictions import predict_rows, predicted_kind

MAX_REPORT_FOLD_LABELS = 1500  # with more, one split into four parts is enough
Predictions = dict[str, np.ndarray]  # by method
PredictMethod = Callable[[Any, np.ndarray, Any], np.ndarray]


def evaluate(material: Material) -> Evaluation | None:
    """Test the model; return None if the documents and labels do not allow it."""
    if material.X is None or material.kind == "topics":
        return None
    hidden = is_known(material.truth) & ~is_known(material.labels) & material.has_words
    if hidden.any() and is_known(material.labels).any() and material.from_fit:
        return _held_out(material, np.flatnonzero(hidden))
    if material.from_fit and not hidden.any():
        return _cross_validated(material)
    known = np.flatnonzero(is_known(material.known) & material.has_words)
    return _without_baselines(material, known) if len(known) else None


def _held_out(material: Material, test: np.ndarray) -> Evaluation:
    train = np.flatnonzero(is_known(material.labels))
    how = (
        f"Tested on {len(test):,} documents of the fit whose labels were held out; every method "
        f"was trained on the same {len(train):,} labels."
    )
    beside = [partial(_baselines, material, train, test)]
    [plain], [others] = refit(material, [without_labels(material, train)], beside)
    others |= _predict_plain(material, test, plain)
    return _of_model(material, test, f"{how}{_few_iterations(material)}", True, others, plain)


def _without_baselines(material: Material, test: np.ndarray) -> Evaluation:
    where = "the documents of the fit" if material.from_fit else "documents given for this report"
    how = (
        f"Tested on {len(test):,} {where}, assuming that the fit has not seen their labels. "
        "There are no baselines, because they need the documents and labels of the fit."
    )
    others = dict([trivial(material.kind, material.known[test], len(test))])
    return _of_model(material, test, how, False, others, None)


def _of_model(
    material: Material, test: np.ndarray, how: str, fair: bool, others: Predictions, plain: Any
) -> Evaluation:
    """Return the evaluation of the fitted model itself, without a refit."""
    P, predicted = _predict(material.model.estimator_, material.scores[test])
    methods, judges = {MODEL: predicted, **others}, [material.model] * len(test)
    truth = material.known[test]
    return Evaluation(material.kind, how, fair, test, truth, methods, P, judges, plain)


def _predict(estimator: Any, scores: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """Return the probabilities of classes (None for other kinds) and the predictions: indices of
    classes, probabilities of labels, or numbers."""
    P, predicted = predict_rows(estimator, scores)
    if P is None:
        return None, predicted.reshape(len(scores), -1)
    return (None, P) if predicted_kind(estimator) == "sets" else (P, P.argmax(axis=1))


def _cross_validated(material: Material) -> Evaluation | None:
    labelled = is_known(material.labels)
    n = int(labelled.sum())
    if len(np.unique(np.nan_to_num(material.labels[labelled], nan=-1.0), axis=0)) < 2:
        return None
    single = n > MAX_REPORT_FOLD_LABELS
    folds = 4 if single else 3 if has_many_documents(material) else 5
    fold = _folds(material.labels, folds, material.model.seed_)
    fold[~material.has_words] = -1  # no method can predict them
    tested = [f for f in range(1 if single else folds) if (fold == f).any()]
    if not tested:
        return None
    tests = [np.flatnonzero(fold == f) for f in tested]
    trains = [np.flatnonzero(labelled & (fold != f)) for f in tested]
    requests = [*(Request(train, {}) for train in trains), without_labels(material, trains[0])]
    beside = [
        partial(_baselines, material, train, test)
        for train, test in zip(trains, tests, strict=True)
    ]
    [*fitted, plain], simple = refit(material, requests, beside)
    others, _ = refit(material, [with_topics_of(plain, train) for train in trains[1:]])
    folded = zip(tests, fitted, [plain, *others], simple, strict=True)
    parts = [_fold(material, *each) for each in folded]
    how = _how(n, sum(len(part.tested) for part in parts), folds, single)
    return _pooled(parts, f"{how}{_few_iterations(material)}")


def _few_iterations(material: Material) -> str:
    """Return a remark if these fits had a lower limit on iterations than the model."""
    most = iteration_limit(material)
    return "" if most == material.model.max_iter else f" These fits had at most {most} iterations."


def _how(n: int, tested: int, folds: int, single: bool) -> str:
    scheme = (
        f"one quarter of the {n:,} labels ({tested:,}) hidden"
        if single
        else f"{folds}-fold cross-validation over {tested:,} of {n:,} labels"
    )
    return (
        f"By {scheme}: every method, including this model with its settings, was refitted without "
        "the hidden labels and had to predict them. Words were chosen once, from all documents."
    )


def _folds(labels: np.ndarray, n_folds: int, seed: int) -> np.ndarray:
    """Return the fold in which each document is tested; −1 is never tested.

    A class with a single label stays in training.
    """
    classes = labels if labels.dtype.kind == "i" else np.zeros(len(labels), dtype=int)
    groups = np.where(is_known(labels), classes, -1)
    return assign_folds(groups, n_folds, min_size=2, random=np.random.default_rng(seed))


def _fold(
    material: Material, test: np.ndarray, estimator: Any, plain: Any, simple: Predictions
) -> Evaluation:
    """Return the evaluation of estimators that have not seen the labels of ``test``."""
    side = {} if material.side is None else {"side": material.side[test]}
    P, predicted = _predict(estimator, estimator.scores(material.X[test], **side))
    if P is not None:
        P, predicted = _in_classes_of_model(material, estimator, P)
    names = material.model.target_names_ if P is None else estimator.classes_.tolist()
    state = replace(material.model.fitted, estimator=estimator, target_names=names)
    judge = copy.copy(material.model).set_fitted(state)
    methods = {MODEL: predicted, **simple, **_predict_plain(material, test, plain)}
    truth, judges = material.labels[test], [judge] * len(test)
    return Evaluation(material.kind, "", True, test, truth, methods, P, judges, plain)


def _baselines(material: Material, train: np.ndarray, test: np.ndarray) -> Predictions:
    """Return the predictions of simple methods for the tested documents."""
    X, y = material.X, material.labels
    return dict(baselines(material.kind, X[train], y[train], X[test]))


def _predict_plain(material: Material, test: np.ndarray, plain: Any) -> Predictions:
    """Return the predictions of the estimator with λ = 0 for the tested documents."""
    P, predicted = _predict(plain, plain.scores(material.X[test]))
    return {PLAIN: predicted if P is None else _in_classes_of_model(material, plain, P)[1]}


def _in_classes_of_model(
    material: Material, estimator: Any, P: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities and predictions over the model's classes; a fold may lack some."""
    places = {name: c for c, name in enumerate(material.model.estimator_.classes_.tolist())}
    whole = np.zeros((len(P), len(places)))
    whole[:, [places[name] for name in estimator.classes_.tolist()]] = P
    return whole, whole.argmax(axis=1)


def _pooled(parts: list[Evaluation], how: str) -> Evaluation:
    """Return the evaluations of all folds as one."""
    methods = parts[0].predictions
    P = [part.probabilities for part in parts if part.probabilities is not None]
    return replace(
        parts[0],
        how=how,
        tested=np.concatenate([part.tested for part in parts]),
        truth=np.concatenate([part.truth for part in parts]),
        predictions={n: np.concatenate([part.predictions[n] for part in parts]) for n in methods},
        probabilities=np.concatenate(P) if P else None,
        judges=[judge for part in parts for judge in part.judges],
    )


# ---- baselines


def trivial(kind: str, known: np.ndarray, n: int) -> tuple[str, np.ndarray]:
    """Return the name and the n predictions of a method that knows only other labels."""
    if kind == "classes":
        return "majority", np.full(n, np.bincount(known).argmax())
    mean = _column_means(known)
    if kind == "numbers":
        return "mean", np.tile(mean, (n, 1))
    # Predict the labels that at least half of the documents have, and always the most common one.
    return "majority", np.tile((mean >= min(0.5, mean.max())).astype(float), (n, 1))


def _column_means(known: np.ndarray) -> np.ndarray:
    count = (~np.isnan(known)).sum(axis=0)
    return np.divide(np.nansum(known, axis=0), count, out=np.zeros(len(count)), where=count > 0)


def baselines(kind: str, X: Any, y: np.ndarray, new: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name of each baseline, trained on X and y, and its predictions for new documents:
    indices of classes, probabilities of labels, or numbers."""
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


def _each(X: Any, y: np.ndarray, new: Any, method: PredictMethod) -> np.ndarray:
    """Apply a method to each column separately, trained on the documents where it is known."""
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


def _probability(classifier: Any) -> PredictMethod:
    return lambda X, y, new: classifier.fit(X, y).predict_proba(new)[:, 1]
