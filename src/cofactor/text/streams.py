"""Fits a topic model to a stream of documents, batch by batch."""

from __future__ import annotations

import time
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from cofactor.estimators.validation import as_divergence
from cofactor.linear.views import Side
from cofactor.targets.classes import read_targets
from cofactor.text.class_names import refuse_classes
from cofactor.text.describe import predictions
from cofactor.text.describe.summaries import describe_topics
from cofactor.text.describe.topic_words import Words
from cofactor.text.documents import DocumentRows, fingerprint, read_documents
from cofactor.text.editing.settled import with_settled
from cofactor.text.encoders import refuse_encoder
from cofactor.text.fitted_topics import FittedTopics
from cofactor.text.fitting import (
    draw_seed,
    finish_fit,
    let_go,
    plan_fit,
    timed_state,
    vectorise,
    with_seeds,
)
from cofactor.text.further_words import refuse_further_words
from cofactor.text.seeds import Mass, Seeds, document_mass, leaning_topics, read_seeds


@dataclass(frozen=True)
class Seeding:
    """The seeds of a stream, their topics, and the mass of all documents so far."""

    seeds: Seeds
    topics: list[int]
    mass: Mass

    def plus(self, X: Any, loss: Any) -> Seeding:
        """Return the seeding with a batch added."""
        return replace(self, mass=self.mass.plus(document_mass(X, loss)))


class DocumentBatch(NamedTuple):
    """A batch as a matrix, and the estimator that will learn from it."""

    vectorizer: Any
    X: Any
    seeding: Seeding
    estimator: Any
    y: Any
    seed: int
    target_names: list[Any] | None  # None: known only after this batch


def fit_batch(model: Any, documents: Any, y: Any, classes: Any) -> FittedTopics:
    """Return the state of a topic model after one batch; see ``TopicModel.partial_fit``."""
    refuse_encoder(model, "partial_fit")
    refuse_further_words(model, "partial_fit")
    refuse_classes(model, "partial_fit")
    started = time.perf_counter()
    texts = read_documents(documents)
    digest = fingerprint(texts, y)
    read = _further_batch if hasattr(model, "estimator_") else _first_batch
    batch = read(model, texts, y, classes)
    vectorised, estimator = time.perf_counter(), batch.estimator
    let_go(model, estimator.partial_fit(batch.X, batch.y, **_classes(estimator, classes)))
    fitted, words = time.perf_counter(), Words.of(batch.vectorizer)
    seeded = batch.seeding.seeds.by_topic(batch.seeding.topics)
    described = finish_fit(lambda: describe_topics(estimator, batch.X, words, seeded))
    settled, further, side = None, None, None
    if hasattr(model, "estimator_"):
        settled, further = model.fitted.settled, model.fitted.further
    if further is not None:  # the earlier predictor may need it
        side = Side(further=further.of(texts, batch.vectorizer))
    if settled is not None:
        described = with_settled(described, settled, estimator.components_, words)
    names = batch.target_names
    return timed_state(
        described,
        {"vectorise": started, "fit": vectorised, "describe": fitted},
        vectorizer=batch.vectorizer,
        estimator=estimator,
        seed=batch.seed,
        fingerprint=digest,
        settled=settled,
        further=further,
        target_names=predictions.target_names(estimator, batch.y) if names is None else names,
        seeding=batch.seeding,
        batch=DocumentRows(batch.X, side),
    )


def _first_batch(model: Any, texts: list[str], y: Any, classes: Any) -> DocumentBatch:
    """Read the first batch, which determines the words, the task and the start."""
    y, seed = read_targets(y, classes), draw_seed(model.random_state)
    vectorizer, X = vectorise(model, texts, y, alone=True)
    plan = plan_fit(model, vectorizer, X, y, seed=seed, names_label=False)
    mass = document_mass(X, as_divergence("data_loss", model.data_loss))
    seeding = Seeding(plan.seeds, plan.topics, mass)
    return DocumentBatch(vectorizer, X, seeding, plan.estimator, plan.y, seed, None)


def _further_batch(model: Any, texts: list[str], y: Any, classes: Any) -> DocumentBatch:
    """Read a further batch for a fitted model; the estimator is a copy."""
    X, estimator = sp.csr_array(model.vectorizer_.transform(texts)), copy(model.estimator_)
    seeding = _seeding(model).plus(X, as_divergence("data_loss", model.data_loss))
    if seeding.seeds:
        priors = with_seeds(model, seeding.seeds, seeding.topics, seeding.mass)
        estimator.set_params(priors=priors)
    if (settled := model.fitted.settled) is not None:
        settled.hold(estimator, estimator.components_, model.vectorizer_.get_feature_names_out())
    names = model.target_names_
    y = _further_targets(estimator, None if model.task == "topics" else y, len(texts), len(names))
    return DocumentBatch(model.vectorizer_, X, seeding, estimator, y, model.seed_, names)


def _seeding(model: Any) -> Seeding:
    """Return the seeding of the stream so far, or of the fit that the stream continues."""
    found = model.fitted.seeding
    if found is not None:
        return found
    words = model.vectorizer_.get_feature_names_out()
    seeds = read_seeds(model.seeds, model.vectorizer_, model.n_components)
    topics = leaning_topics(seeds, model.estimator_) if seeds else []
    return Seeding(seeds, topics, Mass(np.zeros(len(words)), 0.0, 0.0))


def _classes(estimator: Any, classes: Any) -> dict[str, Any]:
    """Return the classes to expect: those of the estimator, or the given ones."""
    if not isinstance(estimator, predictions.ESTIMATORS["classes"]):
        return {}
    return {"classes": getattr(estimator, "classes_", classes)}


def _further_targets(estimator: Any, y: Any, n: int, width: int) -> Any:
    """Return the targets of a further batch for the estimator; all unknown if y is None."""
    if isinstance(estimator, predictions.ESTIMATORS["topics"]):
        if y is not None:
            raise ValueError(
                "y came too late: this stream began without labels; start a new model with a "
                "labelled batch, or leave y out."
            )
        return None
    if y is not None:
        return read_targets(y, getattr(estimator, "classes_", None))
    several = width > 1 and getattr(estimator.coding, "kind", "multilabel") != "multiclass"
    if several or isinstance(estimator, predictions.ESTIMATORS["numbers"]):
        return np.full((n, width) if several else n, np.nan)
    return np.full(n, None, dtype=object)
