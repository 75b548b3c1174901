"""Topics and predictions from documents."""

from __future__ import annotations

import time
from numbers import Real
from typing import ClassVar

import numpy as np
from scipy import sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context, clone
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cofactor.estimators.base import LOSS
from cofactor.estimators.supervised import Supervised
from cofactor.text import predictions, summaries
from cofactor.text.assembling import draw_seed, explained_share, fit_estimator
from cofactor.text.describing import Descriptions
from cofactor.text.documents import fingerprint, read_documents
from cofactor.text.words import WordVectorizer


class TopicModel(Descriptions, TransformerMixin, BaseEstimator):
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
        The training documents as ``transform`` sees them.
    topic_names_ : list of str
        Names of seeds, or the three first words; yours to change.
    target_names_ : list
        Classes, or names of numeric targets.
    coherence_ : ndarray of shape (n_components,)
        Mean NPMI of each topic's first ten words in the training documents.
    seed_ : int
        Seed of the start.
    timings_ : dict of float
        Seconds that the steps of the fit took.
    fingerprint_ : str
        Digest of the documents and labels.

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
            Labels in any form that the estimators take, unknown ones marked as they say.
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
        vectorizer = WordVectorizer() if self.vectorizer is None else clone(self.vectorizer)
        counts = sp.csr_array(vectorizer.fit_transform(texts))
        vectorised = time.perf_counter()
        self.seed_ = draw_seed(self.random_state)
        estimator, seeded = fit_estimator(
            self, vectorizer.get_feature_names_out(), counts, y,
            sample_weight=sample_weight, target_weights=target_weights,
        )  # fmt: skip
        fitted = time.perf_counter()
        self.vectorizer_, self.estimator_ = vectorizer, estimator
        self.target_names_ = predictions.target_names(estimator, y)
        self.document_topics_ = estimator.transform(counts)
        self.coherence_ = summaries.coherence(estimator.components_, counts)
        self.topic_names_ = summaries.topic_names(estimator.components_, self._words(), seeded)
        self.fingerprint_ = fingerprint(texts, y)
        self.timings_ = {
            "vectorise": vectorised - started,
            "fit": fitted - vectorised,
            "describe": time.perf_counter() - fitted,
        }
        return self

    # ---- prediction

    def transform(self, X):
        """Represent documents in terms of the topics.

        Parameters
        ----------
        X : iterable of str
            Documents.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
        """
        matrix = self._matrix(X)
        return self.estimator_.transform(matrix)

    def predict(self, X):
        """Predict the class, the labels or the numbers of documents.

        Parameters
        ----------
        X : iterable of str
            Documents.

        Returns
        -------
        ndarray
        """
        return self._predictor("predict")(self._matrix(X))

    def predict_proba(self, X):
        """Return the probability of each class.

        Parameters
        ----------
        X : iterable of str
            Documents.

        Returns
        -------
        ndarray of shape (n_documents, n_classes)
        """
        return self._predictor("predict_proba")(self._matrix(X))

    def score(self, X, y=None, sample_weight=None):
        """Return the accuracy for classes, R² for numbers, both over known labels; without a
        target, the share of the documents' divergence from their mean that the topics explain.

        Parameters
        ----------
        X : iterable of str
            Documents.
        y : array-like, optional
            Their labels.
        sample_weight : array-like of shape (n_documents,), optional
            How often each document counts.

        Returns
        -------
        float
        """
        matrix = self._matrix(X)
        if not isinstance(self.estimator_, Supervised):
            return explained_share(self.estimator_, matrix, sample_weight)
        if y is None:
            raise ValueError("y is None, but this model predicts; pass the documents' labels.")
        return self.estimator_.score(matrix, y, sample_weight=sample_weight)

    def _predictor(self, method: str):
        check_is_fitted(self, "estimator_")
        if hasattr(self.estimator_, method):
            return getattr(self.estimator_, method)
        kind = type(self.estimator_).__name__
        raise ValueError(
            f"{method} needs {'classes' if method == 'predict_proba' else 'labels'}, but y was "
            f"fitted by {kind}; fit with such a y, or use transform."
        )

    def _matrix(self, X):
        check_is_fitted(self, "estimator_")
        return sp.csr_array(self.vectorizer_.transform(read_documents(X)))

    # ---- keeping

    def save(self, path, *, notes=None) -> None:
        """Write the model to a folder that :func:`cofactor.load_model` reads.

        Parameters
        ----------
        path : str or path
            The folder; a model that is there already is replaced, in one step.
        notes : dict, optional
            What should be kept with the model, in JSON; see :func:`cofactor.save`.
        """
        import cofactor

        cofactor.save(self, path, notes=notes)

    def report(self, path, documents=None, y=None, *, truth=None, text=True, **options):
        """Write a report: one HTML file that works offline. It needs ``cofactor[report]``.

        Parameters
        ----------
        path : str or path
            The file.
        documents : iterable of str, optional
            Documents to show and to test with, such as those of the fit; a model keeps none.
        y : array-like, optional
            Their labels, as for ``fit``.
        truth : array-like, optional
            Labels that the fit did not see, to test with.
        text : bool, default=True
            False leaves the documents' text out.
        **options
            ``title`` and ``source``, see :func:`cofactor.write_report`.

        Returns
        -------
        Path
            The file.
        """
        import cofactor

        return cofactor.write_report(self, path, documents, y, truth=truth, text=text, **options)

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
