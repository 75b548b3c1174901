"""Tests a model on labels that it has not seen, and compares it with simple baselines.

Labels that the user held out test the model as it is. Otherwise the fit has held out labels itself,
and the report shows the predictions from which its expected score comes. A pooled head without an
expected score is not tested; models with another head are refitted for cross-validation. Baselines
learn from the same labels as the model, and are tested on the same documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import MultinomialNB

from cofactor.estimators.inference import topic_shares
from cofactor.linear.folds import assign_folds, distinct_rows
from cofactor.report.material import Material, is_known
from cofactor.report.refits import (
    Request,
    has_many_documents,
    iteration_limit,
    refit,
    training_labels,
    with_topics_of,
    without_labels,
)
from cofactor.report.score_tables import MODEL, PLAIN, Evaluation, Judges
from cofactor.text.describe.predictions import label_thresholds, predict_rows, predicted_kind

MAX_REPORT_FOLD_LABELS = 1500  # with more, one split into four parts is enough
MAX_BASELINE_CELLS = 2e6  # documents × labels; of more, logistic regressions are left out
Predictions = dict[str, np.ndarray]  # by method
PredictMethod = Callable[[Any, np.ndarray, Any], np.ndarray]


class Tested(NamedTuple):
    """The model's own predictions for tested documents."""

    rows: np.ndarray  # indices of the documents
    predicted: np.ndarray  # indices of classes, probabilities of labels, or numbers
    probabilities: np.ndarray | None = None  # of classes

    def ordered(self, rows: np.ndarray) -> Tested:
        """Return the predictions for these rows, which are the same in another order."""
        places = np.searchsorted(self.rows, rows)
        P = None if self.probabilities is None else self.probabilities[places]
        return Tested(rows, self.predicted[places], P)


def evaluate(material: Material) -> Evaluation | None:
    """Test the model; return None if the documents and labels do not allow it."""
    if material.X is None or material.kind == "topics":
        return None
    hidden = is_known(material.truth) & ~is_known(material.labels) & material.known_rows
    if material.from_fit and not material.is_sample:  # all labels of the fit are there to learn
        if not hidden.any():
            return _cross_validated(material)
        if is_known(material.labels).any():
            return _held_out(material, np.flatnonzero(hidden))
    known = is_known(material.known) & material.known_rows
    test = np.flatnonzero(hidden if material.is_sample else known)
    return _without_baselines(material, test) if len(test) else None


def _held_out(material: Material, test: np.ndarray) -> Evaluation:
    train = np.flatnonzero(is_known(material.labels))
    how = (
        f"Tested on {len(test):,} {material.nouns.samples} of the fit whose labels were held out; "
        f"every method was trained on the same {len(train):,} labels."
    )
    beside = [partial(_baselines, material, train, test)]
    [plain], [others] = refit(material, [without_labels(material, train)], beside)
    others |= _predict_plain(material, train, test, plain)
    return _of_model(material, test, f"{how}{_few_iterations(material)}", True, others, plain)


def _without_baselines(material: Material, test: np.ndarray) -> Evaluation:
    samples = material.nouns.samples
    where = f"{samples} of the fit" if material.from_fit else f"{samples} given for this report"
    how = (
        f"Tested on {len(test):,} {where}, assuming that the fit has not seen their labels. "
        f"There are no baselines, because they need the {samples} and labels of the fit."
    )
    others = dict([trivial(material.kind, material.known[test], len(test))])
    return _of_model(material, test, how, False, others, None)


def _of_model(
    material: Material, test: np.ndarray, how: str, fair: bool, others: Predictions, plain: Any
) -> Evaluation:
    """Return the evaluation of the fitted model itself, without a refit."""
    tested = Tested(test, *_predict(material.model.estimator_, material.scores[test]))
    methods = {MODEL: tested.predicted, **others}
    truth, P = material.known[test], tested.probabilities
    scale = _scale(material)
    return Evaluation(material.kind, how, fair, test, truth, methods, P, plain=plain, scale=scale)


def _scale(material: Material) -> Any:
    return material.model.estimator_.coding if material.kind == "numbers" else None


def _predict(estimator: Any, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the predictions (indices of classes, numbers, or for labels how sure they are, at
    least 0.5 if given), and the probabilities of classes, None for other kinds."""
    kind = predicted_kind(estimator)
    if kind == "sets":
        return expit(scores - label_thresholds(estimator)), None
    P, predicted = predict_rows(estimator, scores)
    if P is None:
        return predicted.reshape(len(scores), -1), None
    return P.argmax(axis=1), P


def _cross_validated(material: Material) -> Evaluation | None:
    labelled = is_known(material.labels)
    n = int(labelled.sum())
    if len(np.unique(np.nan_to_num(material.labels[labelled], nan=-1.0), axis=0)) < 2:
        return None
    head = material.model.estimator_.pooled_head
    pooled = head is not None
    known = pooled and material.model.expected_score_ is not None
    found_by_fit = _tested_by_fit(material) if known else None
    if found_by_fit is not None:
        tested, judges = found_by_fit
        testable = np.isin(np.arange(len(labelled)), tested.rows)
    elif pooled:
        return None
    else:
        testable = labelled & material.known_rows
    splits, folds = _splits(material, testable, n)
    if not splits:
        return None
    trains, tests = zip(*splits, strict=True)
    requests = [without_labels(material, trains[0])]
    requests += [] if pooled else [Request(train, {}) for train in trains]
    beside = [partial(_baselines, material, *each) for each in splits]
    [plain, *fitted], simple = refit(material, requests, beside)
    others, _ = refit(material, [with_topics_of(plain, train) for train in trains[1:]])
    found = [
        each | _predict_plain(material, *split, topics)
        for each, split, topics in zip(simple, splits, [plain, *others], strict=True)
    ]
    rows = np.concatenate(tests)
    joined = {name: np.concatenate([each[name] for each in found]) for name in found[0]}
    if pooled:
        own = tested.ordered(rows)
    else:
        own, judges = _of_refits(material, tests, fitted), partial(_judges_of, tests, fitted)
    alone = Evaluation(
        material.kind,
        "",
        True,
        rows,
        material.labels[rows],
        {MODEL: own.predicted},
        own.probabilities,
        judges=judges,
        plain=plain,
        scale=_scale(material),
    )
    own_score = alone.scores[MODEL] if pooled else None
    how = _how(material, n, len(rows), folds if len(splits) > 1 else 1, own_score)
    how = f"{how}{_few_iterations(material)}"
    return replace(alone, how=how, predictions={**alone.predictions, **joined})


def _judges_of(
    tests: Sequence[np.ndarray], fitted: Sequence[Any], documents: np.ndarray
) -> list[Any]:
    """Return for each document the estimator of the fold that held out its label."""
    return [fitted[next(i for i, test in enumerate(tests) if d in test)] for d in documents]


def _tested_by_fit(material: Material) -> tuple[Tested, Judges] | None:
    """Return the predictions that the fit made for labels that it held out, and who judges these
    documents."""
    estimator, labelled = material.model.estimator_, is_known(material.labels)
    y = training_labels(material, np.flatnonzero(labelled))
    if material.kind == "classes" and estimator.coding.kind == "soft":
        y = np.where(labelled[:, None], np.eye(len(material.classes))[material.labels], np.nan)
    head = estimator.pooled_head
    side = None if head is None or not head.needs_side else material.side
    held_out = estimator.hold_out(material.X, y, side=side)
    rows = np.flatnonzero(~np.isnan(held_out.predictions).all(axis=1))
    if not len(rows):
        return None
    scores, P = held_out.predictions[rows], None
    if material.kind == "classes":
        P = np.asarray(softmax(scores, axis=1))
        predicted = P.argmax(axis=1)
    elif material.kind == "sets":
        predicted = expit(scores)
    else:
        predicted = estimator.coding.decode(scores).reshape(len(rows), -1)
    return Tested(rows, predicted, P), partial(_judges_without, estimator, held_out)


def _judges_without(estimator: Any, held_out: Any, documents: np.ndarray) -> list[Any]:
    """Return for each document an estimator that has not seen its label."""
    groups = held_out.labels.in_groups(documents)
    judges = {g: estimator.without_labels(held_out, documents[groups == g]) for g in set(groups)}
    return [judges[g] for g in groups]


def _splits(
    material: Material, testable: np.ndarray, n: int
) -> tuple[list[tuple[np.ndarray, np.ndarray]], int]:
    """Return the documents that methods learn from and are tested on, and the number of folds.

    If the fit has held out a part of many labels, there is one split. Equal documents are tested
    together, as in the fit, so that no method has seen a copy.
    """
    labelled = is_known(material.labels)
    if 2 * testable.sum() < (_in_shared_classes(material) & material.known_rows).sum():
        return [(np.flatnonzero(labelled & ~testable), np.flatnonzero(testable))], 1
    pooled = material.model.estimator_.pooled_head is not None
    single = n > MAX_REPORT_FOLD_LABELS and not pooled
    hasty = has_many_documents(material) or n > MAX_REPORT_FOLD_LABELS
    folds = 4 if single else 3 if hasty else 5
    first = _first_copies(material, np.flatnonzero(labelled))
    labels = material.labels.copy()
    labels[first != np.arange(len(first))] = -1 if labels.dtype.kind == "i" else np.nan
    fold = _folds(labels, folds, material.model.seed_, keep=pooled)[first]
    fold[~testable] = -1  # no method can predict them
    tested = [f for f in range(1 if single else folds) if (fold == f).any()]
    return [(np.flatnonzero(labelled & (fold != f)), np.flatnonzero(fold == f)) for f in tested], (
        folds
    )


def _in_shared_classes(material: Material) -> np.ndarray:
    """Return which documents have a label, and if it is a class, not the only one of it."""
    labelled = is_known(material.labels)
    if material.kind != "classes":
        return labelled
    return labelled & (np.bincount(material.labels[labelled])[material.labels] > 1)


def _few_iterations(material: Material) -> str:
    """Return a remark if these fits had a lower limit on iterations than the model."""
    most = iteration_limit(material)
    return "" if most == material.model.max_iter else f" These fits had at most {most} iterations."


def _how(material: Material, n: int, tested: int, folds: int, score: float | None) -> str:
    """Say how the model was tested; ``score`` is that of labels that a fit holds out."""
    nouns = material.nouns
    chosen = f"{nouns.features.capitalize()} were chosen once, from all {nouns.samples}."
    if score is not None:
        return f"{_how_held_out(material, n, tested, score)} {chosen}"
    scheme = (
        f"one quarter of the {n:,} labels ({tested:,}) hidden"
        if folds == 1
        else f"{folds}-fold cross-validation over {tested:,} of {n:,} labels"
    )
    return (
        f"By {scheme}: every method, including this model with its settings, was refitted without "
        f"the hidden labels and had to predict them. {chosen}"
    )


def _how_held_out(material: Material, n: int, tested: int, score: float) -> str:
    nouns, model = material.nouns, material.model
    with_vectors = model.estimator_.pooled_head.vectors is not None
    seen = "words and of the encoder’s vectors" if with_vectors else nouns.features
    expected = model.expected_score_
    new = f"on new {nouns.samples} like these"
    if np.isclose(score, expected.value, atol=1e-5):
        source, means = "the fit itself held out", f", and this is the score to expect {new}"
    else:
        source = "were held out again, all with the same weight"
        means = f". The fit, with its own weights or with further labels, expects {expected} {new}"
    return (
        f"On {tested:,} of the {n:,} labels, which {source}: each was predicted by models of the "
        f"{seen} that had not seen it{means}. The other methods learned from the labels that "
        "remained."
    )


def _first_copies(material: Material, rows: np.ndarray) -> np.ndarray:
    """Return for each document the first one that is equal to it, of the given ones."""
    first, n = np.arange(len(material.labels)), len(rows)
    side = None if material.side is None else material.side[rows]
    alone = np.zeros((n, 1)), np.zeros(n, dtype=bool), np.ones(n)
    found = distinct_rows(material.X[rows], *alone, side)
    first[rows] = rows[found.rows[found.places(n)]]
    return first


def _folds(labels: np.ndarray, n_folds: int, seed: int, keep: bool = False) -> np.ndarray:
    """Return the fold in which each document is tested; −1 is never tested.

    A class with a single label stays in training, unless ``keep`` says that all are tested.
    """
    classes = labels if labels.dtype.kind == "i" else np.zeros(len(labels), dtype=int)
    groups = np.where(is_known(labels), classes, -1)
    least = 1 if keep else 2
    return assign_folds(groups, n_folds, min_size=least, random=np.random.default_rng(seed))


def _of_refits(material: Material, tests: tuple[np.ndarray, ...], fitted: list[Any]) -> Tested:
    """Return the predictions of estimators that have not seen the labels of their fold."""
    side = {} if material.side is None else {"side": material.side}
    parts = []
    for test, estimator in zip(tests, fitted, strict=True):
        given = {name: vectors[test] for name, vectors in side.items()}
        predicted, P = _predict(estimator, estimator.scores(material.X[test], **given))
        if P is not None:
            P, predicted = _in_classes_of_model(material, estimator, P)
        parts.append((predicted, P))
    P = None if parts[0][1] is None else np.concatenate([P for _, P in parts])
    return Tested(np.concatenate(tests), np.concatenate([said for said, _ in parts]), P)


def _baselines(material: Material, train: np.ndarray, test: np.ndarray) -> Predictions:
    """Return the predictions of simple methods for the tested documents."""
    X = material.X if material.normalised is None else material.normalised
    if material.side is not None and material.side.further is not None:
        X = sp.csr_array(sp.hstack([X, material.side.further]))
    y = _learned(material, material.labels)
    said = dict(baselines(material.kind, X[train], y[train], X[test]))
    return {name: _given_back(material, each) for name, each in said.items()}


def _learned(material: Material, labels: np.ndarray) -> np.ndarray:
    """Return numbers on the scale on which the model learns them; other labels as they are."""
    return material.model.estimator_.coding.scaled(labels) if material.kind == "numbers" else labels


def _given_back(material: Material, said: np.ndarray) -> np.ndarray:
    """Return predicted numbers in the units of the labels, within what these can be."""
    if material.kind != "numbers":
        return said
    coding = material.model.estimator_.coding
    return coding.decode(said - coding.offset).reshape(said.shape)


def _predict_plain(
    material: Material, train: np.ndarray, test: np.ndarray, plain: Any
) -> Predictions:
    """Return predictions from topics that were found without labels.

    For classes and labels, the estimator with λ = 0 predicts; numbers come from a ridge regression
    on the shares of its topics.
    """
    if material.kind == "numbers":
        shares = topic_shares(np.asarray(plain.transform(material.X)), plain.components_)
        said = _each(
            shares[train], _learned(material, material.labels)[train], shares[test], _ridge
        )
        return {PLAIN: _given_back(material, said)}
    predicted, P = _predict(plain, plain.scores(material.X[test]))
    return {PLAIN: predicted if P is None else _in_classes_of_model(material, plain, P)[1]}


def _in_classes_of_model(
    material: Material, estimator: Any, P: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities and predictions over the model's classes; a fold may lack some."""
    places = {name: c for c, name in enumerate(material.model.estimator_.classes_.tolist())}
    whole = np.zeros((len(P), len(places)))
    whole[:, [places[name] for name in estimator.classes_.tolist()]] = P
    return whole, whole.argmax(axis=1)


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
        if y.size <= MAX_BASELINE_CELLS:
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
    solver = "auto" if isinstance(X, np.ndarray) else "sparse_cg"
    return np.asarray(Ridge(solver=solver).fit(X, y).predict(new))


def _probability(classifier: Any) -> PredictMethod:
    return lambda X, y, new: classifier.fit(X, y).predict_proba(new)[:, 1]
