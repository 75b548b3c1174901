"""The models of section 3.2, and the trials that fit and score them."""

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
from cofactor.experiments.newsgroups.splits import PaperSplits, PostPool, Split, other_split
from cofactor.experiments.paper import KL, MODELS, NAIVE_BAYES, NMF_SVM, PAPER_EPSILON, SVM, F
from cofactor.experiments.tables import as_cell
from cofactor.experiments.trials import TrialResult, TrialSettings, make_model, seed_of
from cofactor.metrics import clustering_score, npmi_coherence, top_words, topic_diversity
from cofactor.priors import GammaPrior

INFERENCE_STEPS = 20
"""Multiplicative steps that the authors' code takes to represent new documents."""
KEYWORDS = 10
"""Keywords per topic, as in the paper."""


@dataclass(frozen=True, eq=False)
class FoundTopics:
    """Topics of a fitted model by words, classes and documents (training, then test)."""

    components: FloatArray
    head: FloatArray
    documents: FloatArray


@dataclass(frozen=True, eq=False)
class FittedModel:
    """Test accuracies by method of inference (the model's own first), and its topics, if any."""

    accuracy: dict[str, float]
    topics: FoundTopics | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def own_accuracy(self) -> float:
        return next(iter(self.accuracy.values()))


def paper_procedure(settings: TrialSettings, split: Split) -> FittedModel:
    """Fit as the paper did: its updates and stopping rule, a random start, the joint head."""
    random = np.random.default_rng([settings["seed"], settings["trial"]])
    sizes = (*split.X.shape, len(np.unique(split.y)))
    model = make_model(
        SSNMFClassifier,
        settings,
        supervision=settings["supervision"],
        solver="mu-paper",
        init=Factors(*(random.random((size, settings["rank"])) for size in sizes)),
        head="joint",
        max_iter=settings["iterations"],
        tol=settings["tol"],
    ).fit(split.X, split.y)
    outcome = _supervised(model, split)
    if MODELS[settings["model"]][0] == F:  # here the authors solve exactly, too
        return outcome
    S = few_steps(split.X_test, model.components_.T, random)
    guessed = model.classes_[np.argmax(S @ model.target_components_, axis=1)]
    own = {"20 steps": float(np.mean(guessed == split.y_test))}
    return FittedModel(own | outcome.accuracy, outcome.topics, outcome.facts)


def few_steps(X: sp.csr_array, A: FloatArray, random: Generator) -> FloatArray:
    """Represent documents by Kullback–Leibler steps from a random start, as the authors do."""
    S = random.random((X.shape[0], A.shape[1]))
    rows, columns = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), X.indices
    for _ in range(INFERENCE_STEPS):
        fitted = np.einsum("er,er->e", S[rows], A[columns]) + PAPER_EPSILON
        ratios = sp.csr_array((X.data / fitted, columns, X.indptr), shape=X.shape)
        S = S * (ratios @ A) / (A.sum(axis=0) + PAPER_EPSILON)
    return S


def defaults(settings: TrialSettings, split: Split) -> FittedModel:
    """Fit with default parameters apart from the losses."""
    return _supervised(make_model(SSNMFClassifier, settings).fit(split.X, split.y), split)


def tuned(settings: TrialSettings, split: Split) -> FittedModel:
    """Fit our model with the λ and the prior on the samples chosen on the validation posts."""
    weight: float | str = "auto"
    if settings["share"] != 1.0:
        first = make_model(SSNMFClassifier, settings, head="joint", max_iter=1, tol=0)
        weight = settings["share"] * float(first.fit(split.X, split.y).supervision_)
    count = settings["pseudo_count"]
    priors = {"samples": GammaPrior(1.0 + count, count)} if count else None
    model = make_model(SSNMFClassifier, settings, supervision=weight, priors=priors)
    return _supervised(model.fit(split.X, split.y), split)


def _supervised(model: SSNMFClassifier, split: Split) -> FittedModel:
    S = model.transform(split.X_test)
    guessed = model.classes_[np.argmax(S @ model.target_components_, axis=1)]
    documents = np.vstack([model.representation_, S])
    topics = FoundTopics(model.components_, model.target_components_, documents)
    facts = {"iterations": int(model.n_iter_), "supervision": float(model.supervision_)}
    return FittedModel({"exact": float(np.mean(guessed == split.y_test))}, topics, facts)


def nmf_and_svm(settings: TrialSettings, split: Split) -> FittedModel:
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
    topics = FoundTopics(model.components_, head, np.vstack([S, S_test]))
    return FittedModel(accuracy, topics, {"iterations": int(model.n_iter_)})


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


def classifier(settings: TrialSettings, split: Split) -> FittedModel:
    """Classify documents by their words."""
    model = CLASSIFIERS[settings["model"]](seed_of(settings)).fit(split.X, split.y)
    return FittedModel({"exact": float(model.score(split.X_test, split.y_test))})


PROCEDURES: dict[str, Callable[[TrialSettings, Split], FittedModel]] = {
    "paper": paper_procedure,
    "defaults": defaults,
    "tuned": tuned,
    "nmf": nmf_and_svm,
    "classifier": classifier,
}


def validate(settings: TrialSettings, splits: PaperSplits) -> TrialResult:
    """Learn from the training posts; return the accuracy on the validation posts."""
    return {"accuracy": _fit(settings, splits.selection).own_accuracy}


def final_trial(settings: TrialSettings, splits: PaperSplits) -> TrialResult:
    """Learn from training and validation posts; describe topics and accuracy on the test posts."""
    fitted = _fit(settings, splits.final)
    accuracies = {"accuracy": fitted.own_accuracy, "accuracies": fitted.accuracy}
    described = {} if fitted.topics is None else describe(fitted.topics, splits)
    return {**accuracies, **fitted.facts, **described}


def other_split_trial(settings: TrialSettings, pool: PostPool) -> TrialResult:
    """Draw and split the posts again and fit every model once."""
    data = other_split(pool, settings["split"])
    return {
        f"{each['procedure']}: {each['model']}": _fit(each, data).own_accuracy
        for each in settings["models"]
    }


def _fit(settings: TrialSettings, split: Split) -> FittedModel:
    return PROCEDURES[settings["procedure"]](settings, split)


def describe(topics: FoundTopics, splits: PaperSplits) -> dict[str, Any]:
    """Return words, classes, groups and measures of each topic, as plain lists."""
    words = np.array(splits.final.words)
    total = topics.head.sum(axis=1, keepdims=True)
    shares = np.divide(topics.head, total, out=np.zeros_like(topics.head), where=total > 0)
    top = top_words(topics.components, KEYWORDS)
    scaled = topics.documents * topics.components.sum(axis=1)  # gives topics equal mass
    return {
        "words": [words[columns].tolist() for columns in top],
        "shares": shares.tolist(),
        "classes": np.unique(splits.final.y).tolist(),
        **{kind: _clusters(topics.documents, splits, kind) for kind in ("hard", "soft")},
        **{f"{kind}_scaled": _clusters(scaled, splits, kind) for kind in ("hard", "soft")},
        "coherence": [as_cell(value) for value in npmi_coherence(top, splits.final.X)],
        "diversity": topic_diversity(top),
    }


def _clusters(documents: FloatArray, splits: PaperSplits, assignment: str) -> dict[str, Any]:
    score = clustering_score(documents, splits.groups, assignment=assignment)
    return {"scores": score.scores.tolist(), "groups": score.groups.tolist()}
