"""The models of section 3.2: each takes settings and a split, and returns an `Outcome`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import sparse as sp
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from cofactor import NMF, Factors, SSNMFClassifier
from cofactor._types import FloatArray
from cofactor.experiments.defaults import default_model
from cofactor.experiments.newsgroups.corpus import Split
from cofactor.experiments.paper import EPSILON, KL, MODELS, NAIVE_BAYES, NMF_SVM, SVM, F
from cofactor.experiments.trials import Settings, seed_of
from cofactor.priors import GammaPrior

STEPS = 20
"""Multiplicative steps that the authors' code takes to represent new documents."""


@dataclass(frozen=True, eq=False)
class Topics:
    """Topics of a fitted model: words, classes, and documents (training, then test)."""

    components: FloatArray
    head: FloatArray
    documents: FloatArray


@dataclass(frozen=True, eq=False)
class Outcome:
    """Test accuracies by method of inference, the model's own first, and its topics if any."""

    accuracy: dict[str, float]
    topics: Topics | None = None
    facts: dict[str, Any] = field(default_factory=dict)


def paper_procedure(settings: Settings, split: Split) -> Outcome:
    """Fit as the paper did: its updates and stopping rule, a random start, the joint head."""
    data_loss, target_loss = MODELS[settings["model"]]
    random = np.random.default_rng([settings["seed"], settings["trial"]])
    sizes = (*split.X.shape, len(np.unique(split.y)))
    model = SSNMFClassifier(
        settings["rank"],
        data_loss=data_loss,
        target_loss=target_loss,
        supervision=settings["supervision"],
        solver="mu-paper",
        init=Factors(*(random.random((size, settings["rank"])) for size in sizes)),
        head="joint",
        max_iter=settings["iterations"],
        tol=settings["tol"],
    ).fit(split.X, split.y)
    outcome = _supervised(model, split)
    if data_loss == F:  # here the authors use nonnegative least squares as well
        return outcome
    S = few_steps(split.X_test, model.components_.T, random)
    guessed = model.classes_[np.argmax(S @ model.target_components_, axis=1)]
    own = {"20 steps": float(np.mean(guessed == split.y_test))}
    return Outcome(own | outcome.accuracy, outcome.topics, outcome.facts)


def few_steps(X: sp.csr_array, A: FloatArray, random: Generator) -> FloatArray:
    """Represent documents by Kullback–Leibler steps from a random start, as the authors do."""
    S = random.random((X.shape[0], A.shape[1]))
    rows, columns = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), X.indices
    for _ in range(STEPS):
        fitted = np.einsum("er,er->e", S[rows], A[columns]) + EPSILON
        ratios = sp.csr_array((X.data / fitted, columns, X.indptr), shape=X.shape)
        S = S * (ratios @ A) / (A.sum(axis=0) + EPSILON)
    return S


def defaults(settings: Settings, split: Split) -> Outcome:
    """Fit with default parameters, except for the losses."""
    return _supervised(default_model(SSNMFClassifier, settings).fit(split.X, split.y), split)


def tuned(settings: Settings, split: Split) -> Outcome:
    """Fit our model with the λ and the prior on the samples chosen on the validation posts."""
    weight: float | str = "auto"
    if settings["share"] != 1.0:
        first = default_model(SSNMFClassifier, settings, head="joint", max_iter=1, tol=0)
        weight = settings["share"] * float(first.fit(split.X, split.y).supervision_)
    count = settings["pseudo_count"]
    priors = {"samples": GammaPrior(1.0 + count, count)} if count else None
    model = default_model(SSNMFClassifier, settings, supervision=weight, priors=priors)
    return _supervised(model.fit(split.X, split.y), split)


def _supervised(model: SSNMFClassifier, split: Split) -> Outcome:
    S = model.transform(split.X_test)
    guessed = model.classes_[np.argmax(S @ model.target_components_, axis=1)]
    documents = np.vstack([model.representation_, S])
    topics = Topics(model.components_, model.target_components_, documents)
    facts = {"iterations": int(model.n_iter_), "supervision": float(model.supervision_)}
    return Outcome({"exact": float(np.mean(guessed == split.y_test))}, topics, facts)


def nmf_and_svm(settings: Settings, split: Split) -> Outcome:
    """Find topics without labels, then classify documents by them."""
    random, rank = np.random.default_rng([settings["seed"], settings["trial"]]), settings["rank"]
    scale = np.sqrt(split.X.mean() / rank)  # scikit-learn's random start, which the paper took
    start = Factors(*(scale * np.abs(random.normal(size=(size, rank))) for size in split.X.shape))
    model = NMF(
        rank,
        data_loss=F if settings["model"] == NMF_SVM else KL,
        solver="mu",
        init=start,
        max_iter=settings["iterations"],
        tol=settings["tol"],
    ).fit(split.X)
    S, S_test = model.representation_, model.transform(split.X_test)
    classifier = _sgd(seed_of(settings), with_mean=True).fit(S, split.y)
    accuracy = {"exact": float(classifier.score(S_test, split.y_test))}
    head = np.maximum(classifier[-1].coef_, 0).T
    topics = Topics(model.components_, head, np.vstack([S, S_test]))
    return Outcome(accuracy, topics, {"iterations": int(model.n_iter_)})


def _sgd(seed: int, with_mean: bool) -> Any:
    """Return the classifier that the authors' scripts call SVM."""
    return make_pipeline(StandardScaler(with_mean=with_mean), SGDClassifier(random_state=seed))


CLASSIFIERS: dict[str, Callable[[int], Any]] = {
    SVM: lambda seed: _sgd(seed, with_mean=False),
    NAIVE_BAYES: lambda seed: MultinomialNB(),
    "linear SVM": lambda seed: LinearSVC(random_state=seed),
    "logistic regression": lambda seed: LogisticRegression(max_iter=1000),
}
"""Classifiers of the words themselves; only the first depends on its seed."""


def classifier(settings: Settings, split: Split) -> Outcome:
    """Classify documents by their words."""
    model = CLASSIFIERS[settings["model"]](seed_of(settings)).fit(split.X, split.y)
    return Outcome({"exact": float(model.score(split.X_test, split.y_test))})


PROCEDURES: dict[str, Callable[[Settings, Split], Outcome]] = {
    "paper": paper_procedure,
    "defaults": defaults,
    "tuned": tuned,
    "nmf": nmf_and_svm,
    "classifier": classifier,
}
