"""Topics from a stream of documents, batch by batch."""

from __future__ import annotations

import time
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse as sp
from sklearn.base import _fit_context, clone

from cofactor.estimators.validation import as_divergence
from cofactor.targets.sets import read_targets
from cofactor.text.describe import predictions
from cofactor.text.describe.summaries import describe
from cofactor.text.documents import fingerprint, read_documents
from cofactor.text.fitting import assemble, draw_seed, publish, restored, with_seeds
from cofactor.text.interrupts import finish
from cofactor.text.seeds import Mass, Seeds, leaning_topics, read_seeds, weigh
from cofactor.text.vectorizer.words import WordVectorizer


@dataclass(frozen=True)
class Seeding:
    """Which topics of a stream seeds pull, and what its documents weigh so far."""

    seeds: Seeds
    topics: list[int]
    mass: Mass

    @property
    def names(self) -> dict[int, str]:
        """Names of the seeded topics."""
        return dict(zip(self.topics, self.seeds.names, strict=True))

    def plus(self, X: Any, loss: Any) -> Seeding:
        """Return it with a batch added."""
        return replace(self, mass=self.mass.plus(weigh(X, loss)))


class Streaming:
    """The part of :class:`TopicModel` that learns from streams."""

    task: str
    vectorizer: Any
    vectorizer_: Any
    estimator_: Any
    target_names_: list
    random_state: Any
    data_loss: Any
    seeds: Any
    n_components: int
    seed_: int

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, documents, y=None, *, classes=None):
        """Learn from one batch of a stream of documents.

        The first batch settles the words, what they are worth, the task and the start of the
        topics, so it should be large and, for a target, must have labels. Words and their worth
        can be settled before: ``vectorizer=WordVectorizer(vocabulary=...)``. Later batches refine
        the topics with a share that decays. After ``fit``, or on a loaded model, a stream begins
        with the words and topics that are there, and what they were learned from has no further
        weight.

        ``documents()``, ``document_topics_``, shares, ``coherence_`` and ``fingerprint_`` are
        those of the last batch. A batch that fails leaves the model as it was.

        Parameters
        ----------
        documents : iterable of str
            Documents.
        y : array-like, optional
            Their labels, as in ``fit``. None is a batch without labels.
        classes : array-like, optional
            All classes there will be, if the first batch does not show each of them; ignored
            after the first call.

        Returns
        -------
        self
        """
        started = time.perf_counter()
        texts = read_documents(documents)
        digest = fingerprint(texts, y)
        begin = self._go_on if hasattr(self, "estimator_") else self._begin
        vectorizer, X, seeding, estimator, y, seed = begin(texts, y, classes)
        vectorised = time.perf_counter()
        restored(self, estimator.partial_fit(X, y, **_known(estimator, classes)))
        fitted = time.perf_counter()
        words = vectorizer.get_feature_names_out()
        described = finish(lambda: describe(estimator, X, words, seeding.names))
        publish(
            self, described, {"vectorise": started, "fit": vectorised, "describe": fitted},
            vectorizer_=vectorizer, estimator_=estimator, seed_=seed, fingerprint_=digest,
            target_names_=self._target_names(estimator, y), seeding=seeding,
        )  # fmt: skip
        return self

    def _begin(self, texts, y, classes):
        """Return what the first batch settles."""
        vectorizer = WordVectorizer() if self.vectorizer is None else clone(self.vectorizer)
        X = sp.csr_array(vectorizer.fit_transform(texts))
        y, seed = read_targets(y, classes), draw_seed(self.random_state)
        words = vectorizer.get_feature_names_out()
        ready = assemble(self, words, X, y, seed=seed)
        loss = as_divergence("data_loss", self.data_loss)
        seeding = Seeding(ready.seeds, ready.topics, weigh(X, loss))
        return vectorizer, X, seeding, ready.estimator, ready.y, seed

    def _go_on(self, texts, y, classes):
        """Return what a further batch goes on with; the estimator is a copy."""
        X, estimator = sp.csr_array(self.vectorizer_.transform(texts)), copy(self.estimator_)
        seeding = self._seeded().plus(X, as_divergence("data_loss", self.data_loss))
        if seeding.seeds:
            priors = with_seeds(self, seeding.seeds, seeding.topics, seeding.mass)
            if hasattr(estimator, "_stream"):
                estimator._stream = estimator._stream.with_priors(priors)
            estimator.set_params(priors=priors)
        y = None if self.task == "topics" else y
        y = _further_targets(estimator, y, len(texts), len(self.target_names_))
        return self.vectorizer_, X, seeding, estimator, y, self.seed_

    def _seeded(self) -> Seeding:
        """Return the seeds of the stream so far, or of the fit that it goes on from."""
        found = vars(self).get("_seeding")
        if found is not None:
            return found
        words = self.vectorizer_.get_feature_names_out()
        seeds = read_seeds(self.seeds, words, self.n_components)
        topics = leaning_topics(seeds, self.estimator_) if seeds else []
        return Seeding(seeds, topics, Mass(np.zeros(len(words)), 0.0, 0.0))

    def _target_names(self, estimator, y) -> list[Any]:
        """Return the names of the targets; later batches need not know them."""
        if hasattr(self, "estimator_"):
            return self.target_names_
        return predictions.target_names(estimator, y)


def _known(estimator: Any, classes: Any) -> dict[str, Any]:
    """Return the classes to expect: those that the estimator has, or those announced."""
    if not isinstance(estimator, predictions.ESTIMATORS["classes"]):
        return {}
    return {"classes": getattr(estimator, "classes_", classes)}


def _further_targets(estimator: Any, y: Any, n: int, width: int) -> Any:
    """Return y of a further batch as the estimator reads it; None says that nothing is known."""
    if isinstance(estimator, predictions.ESTIMATORS["topics"]):
        if y is not None:
            raise ValueError(
                "y has come late: this stream began without labels; begin a new model with a "
                "batch that has some, or leave y out."
            )
        return None
    if y is not None:
        return read_targets(y, getattr(estimator, "classes_", None))
    several = width > 1 and getattr(estimator._coding, "kind", "multilabel") != "multiclass"
    if several or predictions.is_numeric(estimator):
        return np.full((n, width) if several else n, np.nan)
    return np.full(n, None, dtype=object)
