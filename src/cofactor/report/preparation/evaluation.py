"""Tests a model on labels that it has not seen, and compares it with simple baselines."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from cofactor.report.preparation.baselines import baselines, trivial
from cofactor.report.preparation.material import Material, is_known
from cofactor.report.preparation.refits import (
    LARGE,
    Request,
    patience,
    refit,
    with_topics_of,
    without_labels,
)
from cofactor.report.preparation.scores import method_scores
from cofactor.text.describe.predictions import predict_rows, predicted_kind

FOLDS, FEWER = 5, 3  # usually, and for many documents
MANY = 1500  # with more labels, one split into four parts is enough
MODEL, PLAIN = "this model", "topics without labels"
Predictions = dict[str, np.ndarray]  # by method


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Predictions for documents whose labels the predictor has not seen."""

    kind: str  # what is predicted
    how: str  # how it was tested, for the page
    fair: bool  # whether every method saw the same labels
    tested: np.ndarray  # indices of the documents
    truth: np.ndarray
    predictions: Predictions  # of sets, the probabilities of the labels
    probabilities: np.ndarray | None  # of the model's classes
    judges: list[Any]  # for each tested document, the model that predicted its label
    plain: Any = None  # the estimator with λ = 0

    def scores(self) -> dict[str, float]:
        """Return the first score of each method: accuracy, micro F1 or R²."""
        return {name: scores[0] or 0.0 for name, scores in self.all_scores().items()}

    def all_scores(self) -> dict[str, list[float | None]]:
        """Return the scores of each method."""
        return {
            name: method_scores(self.kind, self.truth, predicted)
            for name, predicted in self.predictions.items()
        }


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
    judges = [material.model] * len(test)
    by_method = {MODEL: predicted, **others}
    truth = material.known[test]
    return Evaluation(material.kind, how, fair, test, truth, by_method, P, judges, plain)


def _predict(estimator: Any, scores: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """Return the probabilities of classes, None for other kinds, and the predictions: indices of
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
    folds = 4 if n > MANY else FEWER if len(material.S) > LARGE else FOLDS
    fold = assign_folds(material.labels, folds, material.model.seed_)
    fold[~material.has_words] = -1  # no method can predict them
    tested = [f for f in range(1 if n > MANY else folds) if (fold == f).any()]
    if not tested:
        return None
    tests = [np.flatnonzero(fold == f) for f in tested]
    trains = [np.flatnonzero(labelled & (fold != f)) for f in tested]
    requests = [*(Request(train, {}) for train in trains), without_labels(material, trains[0])]
    pairs = zip(trains, tests, strict=True)
    beside = [partial(_baselines, material, *pair) for pair in pairs]
    [*fitted, plain], simple = refit(material, requests, beside)
    others, _ = refit(material, [with_topics_of(plain, train) for train in trains[1:]])
    plains = [plain, *others]
    parts = [_fold(material, *each) for each in zip(tests, fitted, plains, simple, strict=True)]
    how = _how(n, sum(len(part.tested) for part in parts), folds, n > MANY)
    return _pooled(parts, f"{how}{_few_iterations(material)}")


def _few_iterations(material: Material) -> str:
    """Return a remark if these fits were allowed fewer iterations than the model."""
    most = patience(material)
    return "" if most == material.model.max_iter else f" These fits had at most {most} iterations."


def _how(n: int, tested: int, folds: int, single: bool) -> str:
    scheme = (
        f"one quarter of the {n:,} labels ({tested:,}) hidden"
        if single
        else f"{folds}-fold cross-validation over {tested:,} of {n:,} labels"
    )
    return (
        f"By {scheme}: every method, also this model with its settings, was fitted again without "
        "the hidden labels and had to predict them. Words were chosen once, from all documents."
    )


def assign_folds(labels: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """Distribute the labelled documents of each class over the folds; −1 is never tested.

    A class with a single label stays in training.
    """
    random, fold = np.random.default_rng(seed), np.full(len(labels), -1)
    known = np.flatnonzero(is_known(labels))
    groups = labels[known] if labels.dtype.kind == "i" else np.zeros(len(known), dtype=int)
    start = 0
    for group in np.unique(groups):
        members = random.permutation(known[groups == group])
        if len(members) > 1:
            fold[members] = (start + np.arange(len(members))) % folds
            start += len(members)
    return fold


def _fold(
    material: Material, test: np.ndarray, estimator: Any, plain: Any, simple: Predictions
) -> Evaluation:
    """Return the evaluation of estimators that have not seen the labels of ``test``."""
    P, predicted = _predict(estimator, estimator.scores(material.X[test]))
    if P is not None:
        P, predicted = _in_classes_of_model(material, estimator, P)
    names = material.model.target_names_ if P is None else estimator.classes_.tolist()
    state = replace(material.model.fitted, estimator=estimator, target_names=names)
    judge = copy.copy(material.model).set_fitted(state)
    truth = material.labels[test]
    judges = [judge] * len(test)
    by_method = {MODEL: predicted, **simple, **_predict_plain(material, test, plain)}
    return Evaluation(material.kind, "", True, test, truth, by_method, P, judges, plain)


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
    """Return probabilities and predictions among the model's classes; a fold may lack some."""
    places = {name: c for c, name in enumerate(material.model.estimator_.classes_.tolist())}
    whole = np.zeros((len(P), len(places)))
    whole[:, [places[name] for name in estimator.classes_.tolist()]] = P
    return whole, whole.argmax(axis=1)


def _pooled(parts: list[Evaluation], how: str) -> Evaluation:
    """Return the evaluations of all folds as one."""
    methods = parts[0].predictions
    P = [part.probabilities for part in parts if part.probabilities is not None]
    return Evaluation(
        parts[0].kind,
        how,
        True,
        np.concatenate([part.tested for part in parts]),
        np.concatenate([part.truth for part in parts]),
        {name: np.concatenate([part.predictions[name] for part in parts]) for name in methods},
        np.concatenate(P) if P else None,
        [judge for part in parts for judge in part.judges],
        parts[0].plain,
    )
