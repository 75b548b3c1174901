"""Topics and predictions from documents."""

from __future__ import annotations

import time
from numbers import Real
from typing import ClassVar

import numpy as np
from scipy import sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context, clone
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from cofactor.estimators.base import LOSS, Supervised
from cofactor.targets.sets import read_targets
from cofactor.text.describe import predictions
from cofactor.text.describe.summaries import describe
from cofactor.text.describing import Descriptions
from cofactor.text.documents import fingerprint, read_documents
from cofactor.text.fitting import draw_seed, fit_estimator, publish
from cofactor.text.interrupts import finish
from cofactor.text.keeping import Keeping
from cofactor.text.predicting import Predicting
from cofactor.text.streams import Streaming
from cofactor.text.vectorizer.words import WordVectorizer


class TopicModel(Predicting, Descriptions, Keeping, Streaming, TransformerMixin, BaseEstimator):
    """Documents in, topics and predictions out.

    Documents are a list, generator, array, Series or single-column table of strings; None and NaN
    are empty documents. Labels are optional, and may be partly known: see
    :class:`SSNMFClassifier` and :class:`SSNMFRegressor`, one of which does the work.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics.
    task : {"auto", "topics", "classes", "numbers"}, default="auto"
        What y holds. "auto": nothing if it is None, numbers if it is one column with fractions,
        classes otherwise (so say "numbers" for whole ones). "topics" ignores y.
    vectorizer : object, optional
        Turns documents into a nonnegative matrix; it needs ``fit_transform``, ``transform`` and
        ``get_feature_names_out``, such as scikit-learn's. By default :class:`WordVectorizer`.
    seeds : dict of str to list of str, optional
        Words that pull a topic, by the topic's name: ``{"billing": ["invoice", "refund"]}``.
        The pull is part of the objective, so it lasts throughout the fit. A seed with the name of
        a class pulls one of its topics.
    seed_strength : float, default=1.0
        Pull of a seed word relative to its occurrences in the documents.
    data_loss, supervision, solver, init, max_iter, tol, priors, head, n_jobs
        As in :class:`SSNMFClassifier`.
    target_loss : as in :class:`SSNMFClassifier`, optional
        None is the estimator's own: "kullback-leibler" for classes, "frobenius" for numbers.
    random_state : int, RandomState or None, default=None
        Seed of the start; ``seed_`` is the number used.

    Attributes
    ----------
    estimator_ : NMF, SSNMFClassifier or SSNMFRegressor
        The fitted estimator.
    vectorizer_ : object
        The fitted vectorizer.
    document_topics_ : ndarray of shape (n_documents, n_components)
        The training documents, or those of the last batch, as ``transform`` sees them.
    topic_names_ : list of str
        Names of seeds, or the three first words; yours to change.
    target_names_ : list
        Classes, or names of numeric targets.
    coherence_ : ndarray of shape (n_components,)
        Mean NPMI of each topic's first ten words in these documents.
    seed_ : int
        Seed of the start.
    timings_ : dict of float
        Seconds that the steps of the fit took.
    fingerprint_ : str
        Digest of these documents and their labels.

    Examples
    --------
    >>> from cofactor import TopicModel
    >>> texts = [
    ...     "the goalie saved the puck",
    ...     "a late goal won the hockey game",
    ...     "puck and goal",
    ...     "the orbit of the moon",
    ...     "a rocket to the moon",
    ...     "rocket fuel and orbit",
    ... ]
    >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "", "space", "", ""])
    >>> model.predict(["moon rocket", "hockey goal"]).tolist()
    ['space', 'sport']
    >>> for topic in model.topics(3):
    ...     print(topic.label, *topic.words)
    space moon orbit rocket
    sport puck goal goalie
    """

    _parameter_constraints: ClassVar[dict] = {
        **Supervised._parameter_constraints,
        "target_loss": [*LOSS, None],
        "task": [StrOptions({"auto", *predictions.ESTIMATORS})],
        "vectorizer": [HasMethods(["fit_transform", "transform", "get_feature_names_out"]), None],
        "seeds": "no_validation",
        "seed_strength": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components=10,
        *,
        task="auto",
        vectorizer=None,
        seeds=None,
        seed_strength=1.0,
        data_loss="kullback-leibler",
        target_loss=None,
        supervision="auto",
        solver="auto",
        init="auto",
        max_iter=200,
        tol=1e-4,
        priors=None,
        head="refit",
        n_jobs=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.task = task
        self.vectorizer = vectorizer
        self.seeds = seeds
        self.seed_strength = seed_strength
        self.data_loss = data_loss
        self.target_loss = target_loss
        self.supervision = supervision
        self.solver = solver
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.priors = priors
        self.head = head
        self.n_jobs = n_jobs
        self.random_state = random_state

    # ---- fitting

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, sample_weight=None, target_weights=None):
        """Learn topics from documents, and from labels if there are any.

        Parameters
        ----------
        X : iterable of str
            Documents.
        y : array-like, optional
            Labels in any form that the estimators take, unknown ones marked as they say; or, for
            several labels a document, a set or list of them each, None where unknown.
        sample_weight : array-like of shape (n_documents,), optional
            How often each document counts.
        target_weights : array-like, optional
            Confidence in the labels.

        Returns
        -------
        self
        """
        started = time.perf_counter()
        texts = read_documents(X)
        digest, y = fingerprint(texts, y), read_targets(y)
        vectorizer = WordVectorizer() if self.vectorizer is None else clone(self.vectorizer)
        counts = sp.csr_array(vectorizer.fit_transform(texts))
        words, seed = vectorizer.get_feature_names_out(), draw_seed(self.random_state)
        vectorised = time.perf_counter()
        estimator, seeded = fit_estimator(
            self, words, counts, y, seed=seed,
            sample_weight=sample_weight, target_weights=target_weights,
        )  # fmt: skip
        fitted = time.perf_counter()
        described = finish(lambda: describe(estimator, counts, words, seeded))
        publish(
            self, described, {"vectorise": started, "fit": vectorised, "describe": fitted},
            vectorizer_=vectorizer, estimator_=estimator, seed_=seed, fingerprint_=digest,
            target_names_=predictions.target_names(estimator, y),
        )  # fmt: skip
        return self

    @property
    def classes_(self) -> np.ndarray:
        """Classes, as scikit-learn's tools look for them."""
        return self.estimator_.classes_

    @property
    def n_iter_(self) -> int:
        """Iterations made."""
        return self.estimator_.n_iter_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor" if self.task == "numbers" else "classifier"
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.target_tags.required = False
        return tags
