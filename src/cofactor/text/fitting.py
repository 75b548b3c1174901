"""Fits a topic model: reads documents, chooses the estimator by the task, lets seeds pull it."""

from __future__ import annotations

import time
from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp
from sklearn.base import clone
from sklearn.utils import check_random_state

from cofactor.errors import Parameter, ParameterError
from cofactor.estimators import NMF
from cofactor.estimators.base import Factorization
from cofactor.estimators.validation import SAMPLE_CELLS, as_divergence, check_room
from cofactor.outofcore import RowBlocks
from cofactor.targets.sets import listed, read_targets
from cofactor.text.describe.predictions import ESTIMATORS, infer_task, scores_of, target_names
from cofactor.text.describe.summaries import describe
from cofactor.text.describe.support import count_labels
from cofactor.text.describe.words import Words
from cofactor.text.documents import Corpus, fingerprint, read_documents
from cofactor.text.grammar import fitted_words
from cofactor.text.interrupts import finish
from cofactor.text.seeds import (
    Mass,
    Seed,
    Seeds,
    choose_topics,
    read_seeds,
    seed_prior,
    seeded_start,
    weak_labels,
    weigh,
)
from cofactor.text.vectorizer.words import WordVectorizer

OF_OTHERS = (
    "_seeding",
    "_batch",
    "_corpus",
    "document_scores_",
    "topic_support_",
    "topic_labels_",
    "stability_",
    "drift_",
    "settled_",
    "learned_",
)
"""Attributes that not every fit has, or that are computed later; those of an earlier fit must not
stay."""
Fit = Callable[..., Any]
"""A function ``fit(estimator, X, y, **weights)`` that returns the fitted estimator."""


def fit_here(estimator: Any, X: Any, y: Any, **weights: Any) -> Any:
    """Fit an estimator in this process."""
    return estimator.fit(X, y, **weights)


def fit_documents(
    model: Any, documents: Any, y: Any = None, *, fit: Fit = fit_here, **weights: Any
) -> None:
    """Fit a topic model to documents in memory.

    Parameters
    ----------
    model : TopicModel
        The model; its callbacks are handed to the estimator.
    documents, y, **weights
        As in ``TopicModel.fit``.
    fit : callable
        Fits the estimator, see `Fit`.
    """
    started = time.perf_counter()
    texts = read_documents(documents)
    y = listed(y)
    digest, y = fingerprint(texts, y), read_targets(y)
    vectorizer, X = to_matrix(model, texts, y)
    words, seed = Words.of(vectorizer), draw_seed(model.random_state)
    vectorised = time.perf_counter()
    estimator, seeded = fit_estimator(model, vectorizer, X, y, seed=seed, fit=fit, **weights)
    fitted = time.perf_counter()
    described = finish(lambda: described_fit(estimator, X, words, seeded, y))
    corpus = Corpus(fingerprint(texts), X, estimator)
    publish(
        model,
        described,
        {"vectorise": started, "fit": vectorised, "describe": fitted},
        vectorizer_=vectorizer,
        estimator_=estimator,
        seed_=seed,
        fingerprint_=digest,
        target_names_=target_names(estimator, y),
        _corpus=corpus,
    )


def to_matrix(model: Any, texts: list[str], y: Any) -> tuple[Any, sp.csr_array]:
    """Return a vectorizer as the model asks for, fitted to texts with labels y, and the matrix."""
    return fitted_words(model, _new_vectorizer(model, y), texts, y)


def _new_vectorizer(model: Any, y: Any) -> Any:
    """Return an unfitted vectorizer; it keeps grammatical words only if there is y to predict."""
    predicts = y is not None and model.task != "topics"
    if model.vectorizer is None:
        return WordVectorizer(language=model.language, keep_grammar="auto" if predicts else False)
    if model.language != "auto":
        raise ValueError(
            f"language={model.language!r} is for the default vectorizer; pass it to yours, such as "
            f"vectorizer=WordVectorizer(language={model.language!r}, ...)."
        )
    own = clone(model.vectorizer)
    if isinstance(own, WordVectorizer) and own.keep_grammar == "auto" and not predicts:
        own.set_params(keep_grammar=False)
    return own


def draw_seed(random_state: Any) -> int:
    """Return a seed as a number, so that the fit can be repeated."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def fit_estimator(
    model: Any, vectorizer: Any, X: Any, y: Any, *, seed: int, fit: Fit = fit_here, **weights: Any
) -> tuple[Factorization, dict[int, Seed]]:
    """Fit the estimator that ``model`` asks for; return it and the seeds by topic.

    ``vectorizer`` is the fitted one that made X. The model's callbacks watch the fit; the fitted
    estimator has none.
    """
    weights = {name: weight for name, weight in weights.items() if weight is not None}
    plan = plan_fit(model, vectorizer, X, y, seed=seed, **weights)
    plan.estimator.set_callbacks(*model.callbacks)
    fitted = fit(plan.estimator, X, plan.y, **plan.weights).set_callbacks()
    if plan.weak:  # held-out labels of seeds tell how seeds are found again, not what is true
        fitted.forget_held_out()
    return let_go(model, fitted), plan.seeds.by_topic(plan.topics)


class FitPlan(NamedTuple):
    """An unfitted estimator, its targets and weights, the seeds and the topic that each pulls."""

    estimator: Any
    y: Any
    weights: dict[str, Any]
    seeds: Seeds
    topics: list[int]
    weak: bool
    """Whether seeds gave labels."""


def plan_fit(
    model: Any,
    vectorizer: Any,
    X: Any,
    y: Any,
    *,
    seed: int,
    seeds_label: bool = True,
    **weights: Any,
) -> FitPlan:
    """Choose the estimator and let the seeds pull it.

    X may be RowBlocks that hold the targets, if the model has a task. With ``seeds_label`` the
    seeds of a model for classes label documents.
    """
    task = infer_task(y) if model.task == "auto" else model.task
    y = None if task == "topics" else y
    if task == "topics" and "target_weights" in weights:
        raise ValueError("target_weights needs y; pass labels or leave the weights out.")
    seeds = read_seeds(model.seeds, vectorizer, model.n_components)
    found = None
    if seeds_label:
        found = seed_labels(model, seeds, X, y, weights.get("target_weights"))
    if found is not None:
        y, weights["target_weights"] = found
    if task == "classes" and y is None and seeds and not isinstance(X, RowBlocks):
        raise ValueError(
            f"No document speaks for one of the seeds {seeds.names} only, so there are no classes "
            "to learn; give each seed words of its own, or pass labels as y."
        )
    estimator = new_estimator(model, task, seed)
    topics = _pull(model, estimator, seeds, X, y, weights) if seeds else []
    return FitPlan(estimator, y, weights, seeds, topics, found is not None)


def seed_labels(model: Any, seeds: Seeds, X: Any, y: Any, target_weights: Any = None) -> Any:
    """Return labels and weights as `weak_labels` does, or None if seeds do not label documents.

    They label documents in memory, with one label each or none, of a model for classes.
    """
    if not seeds or model.task != "classes" or isinstance(X, RowBlocks):
        return None
    if y is not None and np.ndim(y) != 1:
        return None
    return weak_labels(seeds, X, y, target_weights)


def let_go(model: Any, estimator: Any) -> Any:
    """Restore the estimator's priors and start, and fix nothing.

    The arrays of seeds and of fixed entries are as large as the topics and can be computed again.
    """
    return estimator.set_params(priors=model.priors, init=model.init, fixed=None)


def described_fit(
    estimator: Any, X: Any, words: Words, seeded: dict[int, Seed], y: Any
) -> dict[str, Any]:
    """Return the attributes that describe the documents of a fit: their scores and the labels
    behind each topic, too."""
    described = describe(estimator, X, words, seeded)
    S = described["document_topics_"]
    described |= count_labels(estimator, S, y)
    return {**described, "document_scores_": scores_of(estimator, X, S)}


def publish(model: Any, described: dict[str, Any], begun: dict[str, float], **learned: Any) -> None:
    """Set all fitted attributes of a model at once: a fit that fails leaves the model as it was.

    ``begun`` holds the time at which each step began; the last step ends now.
    """
    ends = [*list(begun.values())[1:], time.perf_counter()]
    pairs = zip(begun.items(), ends, strict=True)
    for name in OF_OTHERS:
        model.__dict__.pop(name, None)
    model.__dict__.update(
        described, **learned, timings_={step: end - start for (step, start), end in pairs}
    )


def new_estimator(model: Any, task: str, seed: int) -> Any:
    """Return an unfitted estimator for a task, with the settings of a topic model."""
    if model.class_weight is not None and task != "classes":
        raise ParameterError(
            (
                Parameter("class_weight", model.class_weight),
                f" needs labels that are classes, but the task of this fit is {task!r}",
            ),
            "leave it out, or give labels that are classes",
        )
    estimator = ESTIMATORS[task](random_state=seed)
    names = estimator.get_params(deep=False).keys() - {"random_state"}
    given = {n: v for n, v in model.get_params(deep=False).items() if n in names}
    if given.get("target_loss", ...) is None:
        del given["target_loss"]
    return estimator.set_params(**given)


def _pull(model: Any, estimator: Any, seeds: Seeds, X: Any, y: Any, weights: Any) -> list[int]:
    """Give the estimator the seeds' prior and, if no labels start it, their start."""
    loss = as_divergence("data_loss", model.data_loss)
    some, _, counts = X.sample(SAMPLE_CELLS) if isinstance(X, RowBlocks) else (X, None, None)
    check_room(model.n_components, some)
    if isinstance(estimator, NMF) and isinstance(model.init, str):
        topics = list(range(len(seeds)))
        estimator.set_params(init=seeded_start(seeds, some, loss, estimator))
    else:
        topics = choose_topics(seeds, clone(estimator), X, y, **weights)
    estimator.set_params(priors=with_seeds(model, seeds, topics, weigh(some, loss, counts)))
    return topics


def with_seeds(model: Any, seeds: Seeds, topics: list[int], mass: Mass) -> dict[str, Any]:
    """Return the model's priors together with the seeds' prior."""
    prior = seed_prior(seeds, topics, model.seed_strength, mass, model.n_components)
    given = (model.priors or {}).get("features", [])
    together = [*(given if isinstance(given, list | tuple) else [given]), prior]
    return {**(model.priors or {}), "features": together}
