"""How well the model predicts: on labels that it has not seen, against simple baselines."""

from __future__ import annotations

import copy
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from cofactor.report.preparation.material import Material, is_known, kind_of, probabilities
from cofactor.report.preparation.refits import (
    LARGE,
    Request,
    patience,
    refit,
    with_topics_of,
    without_labels,
)
from cofactor.report.preparation.scores import method_scores

FOLDS, MANY = 5, 1500  # from MANY labels on, one split in four is enough
FEWER = 3  # folds of many documents
MODEL, PLAIN = "this model", "NMF + head (λ = 0)"
Said = dict[str, np.ndarray]  # predictions by method


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Predictions for documents whose labels the predictor has not seen."""

    kind: str  # what is predicted
    how: str  # in one sentence
    fair: bool  # whether every method saw the same labels
    tested: np.ndarray  # places of the documents
    truth: np.ndarray
    predictions: Said  # of sets, the probabilities of the labels
    probabilities: np.ndarray | None  # of the model's classes
    judges: list[Any]  # for each tested document, the model that judged it
    plain: Any = None  # the estimator with λ = 0
    rest: list[str] = field(default_factory=list)  # what could not be done

    def scores(self) -> dict[str, float]:
        """Return the first score of each method: accuracy, micro F1 or R²."""
        return {name: scores[0] or 0.0 for name, scores in self.all_scores().items()}

    def all_scores(self) -> dict[str, list[float | None]]:
        """Return the scores of each method."""
        given = self.predictions.items()
        return {name: method_scores(self.kind, self.truth, said) for name, said in given}


def evaluate(material: Material) -> Evaluation | None:
    """Test the model, as far as the documents and labels allow; None if they do not."""
    if material.X is None or material.kind == "topics":
        return None
    hidden = is_known(material.truth) & ~is_known(material.labels) & material.worded
    if hidden.any() and is_known(material.labels).any() and material.trained:
        return _held_out(material, np.flatnonzero(hidden))
    if material.trained and not hidden.any():
        return _cross_validated(material)
    known = np.flatnonzero(is_known(material.known) & material.worded)
    return _as_it_is(material, known) if len(known) else None


def _held_out(material: Material, test: np.ndarray) -> Evaluation:
    train = np.flatnonzero(is_known(material.labels))
    how = (
        f"Tested on {len(test):,} documents of the fit whose labels were held out; every method "
        f"was trained on the same {len(train):,} labels."
    )
    asked = [without_labels(material, train)]
    [plain], [said, _] = refit(material, asked, [partial(_simple, material, train, test), _charts])
    how = f"{how}{_hasty(material)}"
    return _own(material, test, how, True, said | _of_plain(material, test, plain), plain)


def _as_it_is(material: Material, test: np.ndarray) -> Evaluation:
    where = "the documents of the fit" if material.trained else "documents given for this report"
    how = (
        f"Tested on {len(test):,} {where} whose labels the fit is taken not to have seen. "
        "Baselines trained on the same labels need the documents and labels of the fit."
    )
    from cofactor.report.preparation.baselines import trivial

    others = dict([trivial(material.kind, material.known[test], len(test))])
    return _own(material, test, how, False, others, None)


def _own(material, test, how, fair, others, plain) -> Evaluation:
    """Return the evaluation of the model as it is."""
    P, said = _said(material.model.estimator_, material.S[test])
    judges = [material.model] * len(test)
    said_by = {MODEL: said, **others}
    truth = material.known[test]
    return Evaluation(material.kind, how, fair, test, truth, said_by, P, judges, plain)


def _said(estimator: Any, S: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """Return the probabilities of classes, if it predicts such, and its predictions."""
    if kind_of(estimator) == "numbers":
        said = estimator._coding.decode(S @ estimator.target_components_)
        return None, said.reshape(len(S), -1)
    P = probabilities(estimator, S)
    return (None, P) if kind_of(estimator) == "sets" else (P, P.argmax(axis=1))


def _cross_validated(material: Material) -> Evaluation | None:
    labelled = is_known(material.labels)
    n = int(labelled.sum())
    if len(np.unique(np.nan_to_num(material.labels[labelled], nan=-1.0), axis=0)) < 2:
        return None
    folds = 4 if n > MANY else FEWER if len(material.S) > LARGE else FOLDS
    fold = assign_folds(material.labels, folds, material.model.seed_)
    fold[~material.worded] = -1  # no method can tell
    tested = [f for f in range(1 if n > MANY else folds) if (fold == f).any()]
    if not tested:
        return None
    tests = [np.flatnonzero(fold == f) for f in tested]
    trains = [np.flatnonzero(labelled & (fold != f)) for f in tested]
    asked = [*(Request(train, {}) for train in trains), without_labels(material, trains[0])]
    pairs = zip(trains, tests, strict=True)
    simple = [partial(_simple, material, *pair) for pair in pairs]
    [*fitted, plain], [*said, _] = refit(material, asked, [*simple, _charts])
    others, _ = refit(material, [with_topics_of(plain, train) for train in trains[1:]])
    plains = [plain, *others]
    parts = [_fold(material, *each) for each in zip(tests, fitted, plains, said, strict=True)]
    how = _how(n, sum(len(part.tested) for part in parts), folds, n > MANY)
    return _pooled(parts, f"{how}{_hasty(material)}")


def _hasty(material: Material) -> str:
    """Say so if the fits had fewer iterations than the model's might have."""
    most = patience(material)
    return "" if most == material.model.max_iter else f" These fits had at most {most} iterations."


def _how(n: int, tested: int, folds: int, single: bool) -> str:
    scheme = (
        f"one quarter of the {n:,} labels ({tested:,}) hidden"
        if single
        else f"{folds}-fold cross-validation over {tested:,} of {n:,} labels"
    )
    return (
        f"By {scheme}: every method, this model's settings included, was fitted anew without the "
        "hidden labels and asked for them. Words were chosen once, from all documents."
    )


def assign_folds(labels: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """Deal the labelled documents of each class over the folds; −1 is never tested.

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


def _fold(material: Material, test, estimator: Any, plain: Any, simple: Said) -> Evaluation:
    """Ask estimators that saw the labels of some documents for those of others."""
    P, said = _said(estimator, estimator.transform(material.X[test]))
    if P is not None:
        P, said = _in_place(material, estimator, P)
    judge = copy.copy(material.model)
    judge.estimator_ = estimator
    if P is not None:
        judge.target_names_ = estimator.classes_.tolist()
    truth = material.labels[test]
    judges = [judge] * len(test)
    said_by = {MODEL: said, **simple, **_of_plain(material, test, plain)}
    return Evaluation(material.kind, "", True, test, truth, said_by, P, judges, plain)


def _simple(material: Material, train: np.ndarray, test: np.ndarray) -> Said:
    """Return what simple methods say of the tested documents."""
    from cofactor.report.preparation.baselines import (
        baselines,  # slow to import; the fits go on meanwhile
    )

    X, y = material.X, material.labels
    return dict(baselines(material.kind, X[train], y[train], X[test]))


def _charts() -> None:
    """Import what draws the charts, if it is there: it is slow, too."""
    with suppress(ImportError):
        import_module("cofactor.report.figures")


def _of_plain(material: Material, test: np.ndarray, plain: Any) -> Said:
    """Return what the estimator with λ = 0 says of them."""
    P, said = _said(plain, plain.transform(material.X[test]))
    return {PLAIN: said if P is None else _in_place(material, plain, P)[1]}


def _in_place(material: Material, estimator: Any, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Put the columns of a fold's classes in their places among the model's."""
    places = {name: c for c, name in enumerate(material.model.estimator_.classes_.tolist())}
    whole = np.zeros((len(P), len(places)))
    whole[:, [places[name] for name in estimator.classes_.tolist()]] = P
    return whole, whole.argmax(axis=1)


def _pooled(parts: list[Evaluation], how: str) -> Evaluation:
    methods = parts[0].predictions
    P = [part.probabilities for part in parts if part.probabilities is not None]
    return Evaluation(
        parts[0].kind, how, True,
        np.concatenate([part.tested for part in parts]),
        np.concatenate([part.truth for part in parts]),
        {name: np.concatenate([part.predictions[name] for part in parts]) for name in methods},
        np.concatenate(P) if P else None,
        [judge for part in parts for judge in part.judges],
        parts[0].plain,
    )  # fmt: skip
