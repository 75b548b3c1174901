"""`TopicModel`: topics and predictions from documents.

The methods are short; `fitting`, `streams`, `describe`, `editing` and `labelling` do the work.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from cofactor._sklearn import CallbackSupportMixin, HasMethods, Interval, StrOptions
from cofactor.estimators import NMF, SSNMFClassifier
from cofactor.estimators.fitted import shown
from cofactor.estimators.validation import checks_parameters
from cofactor.model_selection.problem import Problem
from cofactor.targets.classes import read_targets
from cofactor.targets.values import LOG_CHOICES, tell_of_logarithms
from cofactor.text.describe import predictions, summaries
from cofactor.text.describe.answers import annotate, answer_documents
from cofactor.text.describe.explain import Explanation, explain_row, unknown_words
from cofactor.text.describe.table import Table
from cofactor.text.documents import document_matrix, document_rows, is_in_parts, refuse_given
from cofactor.text.editing import edits
from cofactor.text.editing.refits import refit
from cofactor.text.editing.updates import update
from cofactor.text.fitted_topics import FittedTopics
from cofactor.text.fitting import FitFunction, callbacks_of, fit_documents, fit_here, warn_of_labels
from cofactor.text.labelling.doubts import DoubtfulLabel, doubtful_labels
from cofactor.text.labelling.suggestions import ToLabel, suggest
from cofactor.text.over_time import PeriodShare, over_time, warn_of
from cofactor.text.selection import (
    TopicStability,
    matrix_problem,
    measure_stability,
    stability_table,
)
from cofactor.text.streams import fit_batch
from cofactor.text.word_blocks import WordBlocks, fit_blocks

_CONSTRAINTS = SSNMFClassifier._parameter_constraints


class TopicModel(CallbackSupportMixin, TransformerMixin, BaseEstimator):
    """Learn topics from documents, and predict labels if some are known.

    Documents are a list, generator, array, Series or single-column table of strings; None and NaN
    count as empty documents. Labels are optional, and some may be missing. The model vectorises the
    documents and fits an :class:`NMF`, :class:`SSNMFClassifier` or :class:`SSNMFRegressor`.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics.
    task : {"auto", "topics", "classes", "numbers"}, default="auto"
        What y holds. "auto" means "topics" if y is None, "numbers" for a column with fractions or
        with more than ten different whole numbers that do not count from 0, else "classes".
        "topics" ignores y.
    vectorizer : object, optional
        Turns documents into a nonnegative matrix; by default a
        :class:`~cofactor.text.WordVectorizer`. It needs the methods of scikit-learn's vectorizers:
        ``fit_transform``, ``transform``, ``get_feature_names_out`` and ``get_params``.
    encoder : str, callable or object with a method ``encode``, optional
        Turns a list of texts into vectors that say what they mean, one row for each: a function, an
        object such as a SentenceTransformer, or the name of a static model: a folder in the form of
        model2vec, or "wordllama" (English) if that package is installed. The vectors help to
        predict classes, most of all with few labels; topics are made of words alone. Predictions
        need the same encoder.
    further_words : {"auto", "yes", "no"}, default="auto"
        Whether classes are also predicted from grammatical words ("how many") and from sequences of
        three to five characters of any word; topics are made of content words alone. Held-out
        labels weigh both. "auto": if there are at least 50 documents, with fewer than 20 different
        content words on average. It needs a :class:`~cofactor.text.WordVectorizer`.
    language : "auto", str, iterable of str or None, default="auto"
        The language of the documents, such as "german", as in
        :class:`~cofactor.text.WordVectorizer`.
    classes : list of str, or dict of str to str or list of str, optional
        Names of classes, or names with a sentence or words about each:
        ``{"billing": "Questions about invoices and refunds"}``. ``fit`` without y then predicts
        these names. The first labels come from documents nearest in meaning to one description if
        there is an encoder, else from documents with its words, and from what their words have in
        common. Known labels in y outweigh them. ``class_starts_`` says how it went.
    seeds : dict of str to list of str, optional
        Words that attract a topic, by the topic's name: ``{"billing": ["invoice", "refund"]}``.
        The attraction is part of the objective, so it lasts throughout the fit. A seed with the
        name of a class attracts one of the topics of that class. With ``task="classes"`` and
        without ``classes``, seeds are also the classes.
    seed_strength : float, default=1.0
        Weight of a seed word relative to its occurrences in the documents.
    data_loss, supervision, solver, init, max_iter, tol, priors, head, class_weight, n_jobs
        As in :class:`SSNMFClassifier`. ``class_weight`` applies to classes only.
    log : {"auto", "yes", "no"}, default="auto"
        Whether the logarithms of numbers are learned, as in :class:`SSNMFRegressor`. "auto" says so
        in a warning.
    target_loss : as in :class:`SSNMFClassifier`, optional
        None stands for the estimator's default: "kullback-leibler" for classes, "frobenius" for
        numbers.
    random_state : int, RandomState or None, default=None
        Seed of the start; ``seed_`` is the number that was used.

    Attributes
    ----------
    estimator_ : NMF, SSNMFClassifier or SSNMFRegressor
        The fitted estimator.
    vectorizer_ : object
        The fitted vectorizer.
    document_topics_ : ndarray of shape (n_documents, n_components)
        Representations of the training documents, or of the last batch, as from ``transform``.
    document_scores_ : ndarray of shape (n_documents, n_targets)
        Scores of the same documents, which predictions derive from.
    topic_names_ : list of str
        Names of seeds, or the first three words. ``rename`` changes one permanently.
    topic_words_ : ndarray of shape (n_components, n_ranked)
        Columns of the words that describe each topic, best first, padded with −1. These words
        are specific to the topic and occur together in its documents; see ``topics``.
    target_names_ : list
        Classes, or names of numeric targets.
    coherence_ : ndarray of shape (n_components,)
        Mean NPMI of each topic's first ten words in the training documents.
    probable_coherence_ : ndarray of shape (n_components,)
        The same for the ten most probable words.
    topic_support_ : ndarray of shape (n_components,)
        Number of labelled documents whose main topic it is. Not available after streams; a model
        of blocks counts the documents that it describes.
    topic_labels_ : ndarray of shape (n_components, n_targets)
        Number of those documents with each label, or with a number.
    class_starts_ : Table
        If names of classes gave labels: how many documents each class had as first labels, and for
        how many of those nearest to it their words agree. Not saved.
    stability_ : ndarray of shape (runs, n_components)
        Similarity of each topic to its match in each bootstrap sample; set by ``stability``.
    seed_ : int
        Seed of the start.
    timings_ : dict of float
        Duration of each step of the fit, in seconds.
    fingerprint_ : str
        Digest of the training documents and their labels.

    Examples
    --------
    Most of these tickets have no label; the model predicts them from two.

    >>> from cofactor import TopicModel
    >>> tickets = [
    ...     "the invoice shows a wrong amount",
    ...     "please refund the second invoice",
    ...     "charged twice, refund the amount",
    ...     "the app crashes after the update",
    ...     "login fails since the update",
    ...     "app frozen at login",
    ... ]
    >>> teams = ["billing", "", "", "support", "", ""]
    >>> model = TopicModel(2, random_state=0).fit(tickets, teams)
    >>> for topic in model.topics(3):
    ...     print(topic.label, topic.words)
    billing ('amount', 'invoice', 'refund')
    support ('app', 'login', 'update')
    >>> model.predict(["no refund yet", "crash at login"]).tolist()
    ['billing', 'support']

    Every prediction can be explained, here by what would change without a word:

    >>> for row in model.explain("refund after the update").left_out:
    ...     print(row.word, row.prediction, f"{row.probability:.2f}")
    update billing 0.08
    refund support 1.00

    Edits return a new model, and a refit keeps them:

    >>> edited = model.rename(0, "payments").pin(0, "charged").refit(tickets, teams)
    >>> edited.topics(3)[0].name, edited.topics(3)[0].words
    ('payments', ('charged', 'refund', 'invoice'))

    The examples of most methods continue with this model.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_CONSTRAINTS,
        "target_loss": [*_CONSTRAINTS["target_loss"], None],
        "task": [StrOptions({"auto", *predictions.ESTIMATORS})],
        "vectorizer": [HasMethods(["fit_transform", "transform", "get_feature_names_out"]), None],
        "encoder": [str, callable, HasMethods(["encode"]), None],
        "further_words": [StrOptions({"auto", "yes", "no"})],
        "language": [str, Iterable, None],
        "classes": "no_validation",
        "seeds": "no_validation",
        "seed_strength": [Interval(Real, 0, None, closed="neither")],
        "log": [StrOptions({*LOG_CHOICES})],
    }

    _fitted: FittedTopics

    estimator_ = shown("estimator", "The fitted estimator.")
    vectorizer_ = shown("vectorizer", "The fitted vectorizer.")
    topic_names_ = shown("topic_names", "Names of the topics.")
    topic_words_ = shown(
        "topic_words", "Columns of the words that describe each topic, best first."
    )
    target_names_ = shown("target_names", "Classes, or names of numeric targets.")
    coherence_ = shown("coherence", "Mean NPMI of each topic’s first ten words.")
    probable_coherence_ = shown("probable_coherence", "The same for the ten most probable words.")
    topic_support_ = shown("topic_support", "Number of labelled documents behind each topic.")
    topic_labels_ = shown("topic_labels", "Number of those documents with each label.")
    stability_ = shown(
        "stability", "Similarity of each topic to its match in each bootstrap sample."
    )
    seed_ = shown("seed", "Seed of the start.")
    timings_ = shown("timings", "Seconds that each step took.")
    fingerprint_ = shown("fingerprint", "Digest of the documents and their labels.")
    settled_ = shown("settled", "What the user decided about the topics.")
    learned_ = shown("learned", "Digests of the documents that updates added.")
    class_starts_ = shown("class_starts", "How names of classes gave the first labels.")
    drift_ = shown("drift", "How a refit or an update changed the topics.")

    def __init__(
        self,
        n_components: int = 10,
        *,
        task: str = "auto",
        vectorizer: Any = None,
        encoder: Any = None,
        further_words: str = "auto",
        language: str | Iterable[str] | None = "auto",
        classes: Iterable[str] | Mapping[str, str | Iterable[str]] | None = None,
        seeds: Mapping[str, Iterable[str]] | None = None,
        seed_strength: float = 1.0,
        data_loss: Any = "kullback-leibler",
        target_loss: Any = None,
        supervision: float | str = "auto",
        solver: str = "auto",
        init: Any = "auto",
        max_iter: int = 200,
        tol: float = 1e-4,
        priors: Mapping[str, Any] | None = None,
        head: str = "pooled",
        class_weight: dict[Any, float] | str | None = None,
        log: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.task = task
        self.vectorizer = vectorizer
        self.encoder = encoder
        self.further_words = further_words
        self.language = language
        self.classes = classes
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
        self.class_weight = class_weight
        self.log = log
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")

    @property
    def fitted(self) -> FittedTopics:
        """Everything that the last fit left."""
        if not hasattr(self, "_fitted"):
            check_is_fitted(self)  # which raises scikit-learn's error
        return self._fitted

    def set_fitted(self, fitted: FittedTopics) -> Self:
        """Give the model another state."""
        self._fitted = fitted
        return self

    def amend(self, **changes: Any) -> Self:
        """Change fields of the state."""
        return self.set_fitted(replace(self.fitted, **changes))

    # ---- learning

    @checks_parameters
    def fit(
        self,
        X: Iterable[Any] | WordBlocks,
        y: Any = None,
        *,
        sample_weight: Any = None,
        target_weights: Any = None,
        fit_with: FitFunction | None = None,
    ) -> Self:
        """Learn topics from documents, and from labels if there are any.

        Parameters
        ----------
        X : iterable of str, WordBlocks, or dask collection
            Documents, or documents on disk with their labels, as `cofactor blocks` writes them. A
            bag or a column of a dask dataframe is fitted on the cluster of the default client; see
            `cofactor.distributed.fit_texts`.
        y : array-like, optional
            Labels in any form that the estimators accept, with unknown ones marked as described
            there. For several labels per document, pass a set or list for each, None if unknown.
        sample_weight : array-like of shape (n_documents,), optional
            Weight of each document.
        target_weights : array-like, optional
            Confidence in the labels.
        fit_with : callable, optional
            Fits the estimator, for example on a cluster: ``fit_with(estimator, X, y, **weights)``
            returns it fitted. By default its own ``fit``.

        Returns
        -------
        self

        Examples
        --------
        Without labels, names of classes and words about them are enough:

        >>> from cofactor import TopicModel
        >>> texts = [
        ...     "wrong invoice",
        ...     "refund the invoice",
        ...     "login fails",
        ...     "the app crashes at login",
        ... ]
        >>> classes = {"billing": "invoice and payment", "support": ["login"]}
        >>> model = TopicModel(2, classes=classes, random_state=0).fit(texts)
        >>> model.predict(["my refund", "app crashes"]).tolist()
        ['billing', 'support']
        """
        fit = fit_with or fit_here
        weights = {"sample_weight": sample_weight, "target_weights": target_weights}
        if is_in_parts(X):
            from cofactor.distributed.texts import fit_collection

            refuse_given("a dask collection", fit_with=fit_with, **weights)
            return fit_collection(self, X, y)
        if isinstance(X, WordBlocks):
            refuse_given("documents on disk, which have their labels", y=y, **weights)
            return self.set_fitted(fit_blocks(self, X, fit=fit))
        if self.classes is None:
            warn_of_labels(read_targets(y), self.task, self.n_components)
        self.set_fitted(fit_documents(self, X, y, fit=fit, **weights))
        if self.log == "auto" and predictions.predicted_kind(self.estimator_) == "numbers":
            tell_of_logarithms(self.estimator_.coding, self.target_names_)
        return self

    @checks_parameters
    def partial_fit(self, documents: Iterable[Any], y: Any = None, *, classes: Any = None) -> Self:
        """Learn from one batch of a stream of documents.

        The first batch determines the words and their weights, the task and the start of the
        topics. It should be large and, if there is a target, must have labels. To determine the
        words beforehand, pass ``vectorizer=WordVectorizer(vocabulary=...)``. Later batches refine
        the topics with decaying weight. After ``fit``, or on a loaded model, a stream continues
        with the words and topics of the model, without the documents of that fit. The earlier
        predictor stays in use until the stream has seen as many labels as that fit.

        With ``head="pooled"`` the stream keeps labelled documents and a sample of the others as
        rows of numbers, up to 2**21 stored cells (about 25 MB); ``save`` keeps them, too. The head
        is fitted to them when it is first used after a batch.

        ``documents()``, ``document_topics_``, shares, ``topic_words_``, ``coherence_`` and
        ``fingerprint_`` describe the last batch. A topic that hardly occurs in it lists its words
        by probability. A batch that fails leaves the model unchanged.

        Parameters
        ----------
        documents : iterable of str
            Documents.
        y : array-like, optional
            Their labels, as in ``fit``. None for a batch without labels.
        classes : array-like, optional
            All classes of the stream, if some are missing from the first batch; ignored after the
            first call.

        Returns
        -------
        self

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> january = [
        ...     "wrong invoice",
        ...     "refund the invoice",
        ...     "login fails",
        ...     "the app crashes at login",
        ... ]
        >>> february = ["the app fails", "refund a wrong amount"]
        >>> model = TopicModel(2, random_state=0).partial_fit(
        ...     january, ["billing", "", "support", ""]
        ... )
        >>> model.partial_fit(february).predict(["wrong refund", "it crashes"]).tolist()
        ['billing', 'support']
        """
        return self.set_fitted(fit_batch(self, documents, y, classes))

    @property
    def callbacks(self) -> tuple[Any, ...]:
        """Callbacks given to ``set_callbacks``; they watch the fits of the estimator."""
        return callbacks_of(self)

    @property
    def classes_(self) -> np.ndarray:
        """Classes, under scikit-learn's name for them."""
        return self.estimator_.classes_

    @property
    def expected_score_(self) -> Any:
        """The score to expect on similar new documents, estimated from held-out labels, or None."""
        return getattr(self.estimator_, "expected_score_", None)

    def expected_coverage(self, abstain: float) -> Any:
        """Return what to expect of ``predict(X, abstain=abstain)`` on similar new documents.

        Parameters
        ----------
        abstain : float
            Predictions less probable than this are left out.

        Returns
        -------
        ExpectedCoverage or None
            The share of documents that get a prediction, and the share of these that are right,
            estimated from held-out labels; None if unknown, as in :class:`SSNMFClassifier`.

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> labels = ["billing", "billing", "billing", "support", "support", "support"]
        >>> model = TopicModel(2, random_state=0).fit(tickets * 3, labels * 3)
        >>> model.expected_coverage(0.9).coverage
        1.0
        """
        check_is_fitted(self, "estimator_")
        expected = getattr(self.estimator_, "expected_coverage", None)
        return None if expected is None else expected(abstain)

    @property
    def document_topics_(self) -> np.ndarray:
        """Representations of the documents, of shape (n_documents, n_components)."""
        fitted: FittedTopics | None = getattr(self, "_fitted", None)
        if fitted is None:
            raise AttributeError("document_topics_ is available only after a fit.")
        if fitted.document_topics is None:
            raise ValueError(
                "This model has forgotten its documents, which this needs; fit it again and keep "
                "them, or pass the documents."
            )
        return fitted.document_topics

    @property
    def document_scores_(self) -> np.ndarray:
        """Scores of the documents in ``document_topics_``; after a batch of a stream they are
        computed when first used."""
        fitted: FittedTopics | None = getattr(self, "_fitted", None)
        if fitted is None or (fitted.document_scores is None and fitted.batch is None):
            raise AttributeError("document_scores_ is available only after a fit.")
        if fitted.document_scores is not None:
            return fitted.document_scores
        assert fitted.batch is not None
        X, side = fitted.batch
        scores = predictions.scores_of(fitted.estimator, X, self.document_topics_, side)
        if self._fitted is fitted:  # another thread may have brought a newer state
            self._fitted = replace(fitted, document_scores=scores)
        return scores

    @property
    def n_iter_(self) -> int:
        """Number of iterations."""
        return self.estimator_.n_iter_

    # ---- new documents

    def transform(self, X: Iterable[Any]) -> np.ndarray:
        """Represent documents in terms of the topics.

        Parameters
        ----------
        X : iterable of str
            Documents.

        Returns
        -------
        ndarray of shape (n_documents, n_components)

        Examples
        --------
        >>> model.transform(["login", "refund"]).argmax(axis=1).tolist()
        [1, 0]
        """
        check_is_fitted(self, "estimator_")
        matrix = document_matrix(self.vectorizer_, X)
        return np.asarray(self.estimator_.transform(matrix))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of ``transform``: topic0, topic1, ...

        Parameters
        ----------
        input_features : ignored
            For scikit-learn's interface.

        Returns
        -------
        ndarray of str

        Examples
        --------
        >>> model.get_feature_names_out().tolist()
        ['topic0', 'topic1']
        """
        check_is_fitted(self, "estimator_")
        return np.array([f"topic{k}" for k in range(len(self.topic_names_))], dtype=object)

    def predict(self, X: Iterable[Any], *, abstain: float = 0.0) -> np.ndarray:
        """Predict the class, the labels or the numbers of documents.

        Parameters
        ----------
        X : iterable of str
            Documents.
        abstain : float, default=0
            Minimum probability of a prediction; less probable classes become None, and less
            probable labels of several NaN. See ``expected_coverage``.

        Returns
        -------
        ndarray

        Examples
        --------
        With ``abstain``, a text between two classes gets no prediction:

        >>> model.predict(["refund", "invoice in the app"], abstain=0.9).tolist()
        ['billing', None]
        """
        check_is_fitted(self, "estimator_")
        predict = predictions.predictor(self.estimator_, "predict")
        asked = {"abstain": abstain} if abstain else {}
        if abstain:
            predictions.predictor(self.estimator_, "predict_proba")  # numbers have no probability
        rows = document_rows(self, X)
        return predict(rows.X, **asked, **rows.given)

    def predict_proba(self, X: Iterable[Any]) -> np.ndarray:
        """Return the probability of each class.

        Parameters
        ----------
        X : iterable of str
            Documents.

        Returns
        -------
        ndarray of shape (n_documents, n_classes)

        Examples
        --------
        >>> model.classes_.tolist(), model.predict_proba(["invoice"]).round(2).tolist()
        (['billing', 'support'], [[0.99, 0.01]])
        """
        check_is_fitted(self, "estimator_")
        predict_proba = predictions.predictor(self.estimator_, "predict_proba")
        rows = document_rows(self, X)
        return predict_proba(rows.X, **rows.given)

    def score(self, X: Iterable[Any], y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy for classes, or R² for numbers, over the known labels.

        Without a target, return the share that the topics explain of the documents' divergence
        from their mean.

        Parameters
        ----------
        X : iterable of str
            Documents.
        y : array-like, optional
            Their labels.
        sample_weight : array-like of shape (n_documents,), optional
            Weight of each document.

        Returns
        -------
        float

        Examples
        --------
        Documents without a label do not count:

        >>> model.score(["wrong invoice", "app frozen", "???"], ["billing", "support", ""])
        1.0
        """
        check_is_fitted(self, "estimator_")
        rows = document_rows(self, X)
        if isinstance(self.estimator_, NMF):
            return predictions.explained_share(self.estimator_, rows.X, sample_weight)
        if y is None:
            raise ValueError("y is None, but this model predicts; pass the documents' labels.")
        y = read_targets(y, getattr(self.estimator_, "classes_", None))
        return self.estimator_.score(rows.X, y, sample_weight=sample_weight, **rows.given)

    # ---- descriptions

    def topics(self, n_words: int = 10, *, by: str = "coherence") -> Table[summaries.Topic]:
        """Describe the topics.

        Parameters
        ----------
        n_words : int, default=10
            Number of words per topic.
        by : {"coherence", "probability"}, default="coherence"
            Which words come first. "coherence" prefers words that are specific to the topic and
            occur together in its documents; it changes neither the topics nor predictions. Words
            after the first 40, and all words of topics without support in the documents, are in
            order of probability. "probability" shows the largest entries of ``components_``.

        Returns
        -------
        Table
            topic, name, words, weights (probabilities of the words), share of the corpus, label
            (the class that is most probable in its documents) and its weight, coherence of the
            first ten words, labels (number of labelled documents with this main topic), and
            stability with its interval, if measured. The weight of a label is its mean probability
            in the documents, which count by their shares in the topic.

        Examples
        --------
        >>> for topic in model.topics(2):
        ...     print(topic.name, topic.words, topic.share, topic.label, topic.labels)
        amount, invoice, refund ('amount', 'invoice') 0.5 billing 1
        app, login, update ('app', 'login') 0.5 support 1
        """
        check_is_fitted(self, "estimator_")
        return summaries.topic_table(self, n_words, by)

    def documents(self, X: Iterable[Any] | None = None) -> Table[summaries.Document]:
        """Describe documents: main topic and its share, prediction and confidence.

        A document of which the model knows nothing has no prediction.

        Parameters
        ----------
        X : iterable of str, optional
            Documents; by default those of the fit.

        Returns
        -------
        Table

        Examples
        --------
        >>> model.documents(["a late refund"])
        document  topic  name                     share  prediction  confidence  unlike
               0      0  amount, invoice, refund      1  billing          0.923
        """
        check_is_fitted(self, "estimator_")
        if X is not None:
            return answer_documents(self, X).documents
        scores, kept = predictions.document_scores(self), self.fitted.documents
        words = None if kept is None or kept.estimator is not self.estimator_ else kept.X
        return summaries.document_table(self, self.document_topics_, scores, words)

    def annotate(
        self,
        X: Any,
        text: str | None = None,
        *,
        all_classes: bool = False,
        topics: bool = False,
        top: int = 0,
        abstain: float = 0.0,
        whole: bool = False,
    ) -> Any:
        """Return a table with prediction, confidence, topic and reason beside its rows.

        The columns are those of the command ``cofactor predict``. ``reason`` says why a prediction
        is missing or doubtful: the text has no known word, no label reaches its threshold (then the
        nearest one is given), the prediction is less probable than ``abstain``, or the text is
        unlike the labelled ones. For classes, ``unlike`` is the share of texts of the predicted
        class that are nearer to its labelled texts; from 0.95 on, with ``abstain``, nothing is
        predicted. Numbers have no confidence, but the columns ``low`` and ``high``: nine of ten new
        values lie between them.

        Parameters
        ----------
        X : table, column or iterable of str
            Documents: a table or a column from pandas, polars, pyarrow, DuckDB or another library
            that narwhals supports, or any iterable.
        text : str, optional
            Name of the column that holds the texts; not needed if there is only one.
        all_classes : bool, default=False
            Add the probability of every class.
        topics : bool, default=False
            Add the number and share of the main topic, and the shares of all topics.
        top : int, default=0
            Number of most probable classes to add, with their probabilities.
        abstain : float, default=0
            Minimum probability of a prediction; ``expected_coverage`` says what to expect.
        whole : bool, default=False
            Round predicted numbers to whole numbers.

        Returns
        -------
        table
            Of the same kind as X, with the new columns last; a list of dicts if X is an iterable.

        Examples
        --------
        >>> for row in model.annotate(["no refund", "???"]):
        ...     print(row["text"], row["prediction"], row["reason"])
        no refund billing None
        ??? None no known word
        """
        check_is_fitted(self, "estimator_")
        asked = {"all_classes": all_classes, "topics": topics, "top": top, "abstain": abstain}
        return annotate(self, X, text, {**asked, "whole": whole})

    def class_summaries(self, n_words: int = 10) -> Table[summaries.TopicClass]:
        """Describe the classes: their keywords, and the contribution of each topic.

        Parameters
        ----------
        n_words : int, default=10
            Number of keywords per class.

        Returns
        -------
        Table
            Empty without a target.

        Examples
        --------
        >>> model.class_summaries(2)
        label    keywords        topics
        billing  amount invoice  0.998 0.00157
        support  app login       0.00396 0.996
        """
        check_is_fitted(self, "estimator_")
        return summaries.class_table(self, n_words)

    def explain(
        self, text: str, *, target: Any = None, rival: Any = None, n_left_out: int = 5
    ) -> Explanation:
        """Explain a prediction: which words indicate which topic and class, and why this class was
        predicted rather than the next one.

        Parameters
        ----------
        text : str
        target : object, optional
            Class, label or number to explain. The default is the predicted class, the label
            furthest above its threshold, or the largest number.
        rival : object, optional
            Class to compare it with, by default the most probable other class. A label is compared
            with its threshold.
        n_left_out : int, default=5
            Number of words to leave out, one at a time, to see what changes.

        Returns
        -------
        Explanation
            Its parts add up to the representation and to the score of the prediction; the parts of
            its ``contrast`` add up to the lead over the rival or the threshold.

        Examples
        --------
        >>> model.explain("refund after the update")
        support (90.5%); support leads billing by 2.25
        word    weight  topic                    topic_part  speaks_for  contribution  difference
        update   0.707  app, login, update            0.381  support             1.86        3.73
        refund   0.707  amount, invoice, refund       0.381  billing           -0.739       -1.48
        """
        if not isinstance(text, str):
            raise TypeError(f"text is of type {type(text).__name__}; pass one string.")
        check_is_fitted(self, "estimator_")
        return explain_row(
            self,
            document_rows(self, [text]),
            unknown_words(self, text),
            text=text,
            target=target,
            rival=rival,
            n_left_out=n_left_out,
        )

    def over_time(
        self, documents: Iterable[Any], dates: Any, every: str = "month", *, n_words: int = 10
    ) -> Table[PeriodShare]:
        """Describe the topics and classes of documents in each period.

        The topics themselves do not change. Periods have no gaps: one without documents has 0
        documents and the share None. Documents without a date are left out, with a warning.

        Parameters
        ----------
        documents : iterable of str
            Documents of the fit, or others.
        dates : iterable
            Their dates, or strings in one format such as 2024-12-31; None if unknown.
        every : {"day", "week", "month", "quarter", "year"}, default="month"
            Length of a period.
        n_words : int, default=10
            Maximum number of words per topic and period.

        Returns
        -------
        Table
            A row for each period and topic, class or number: period, its first day, its number of
            documents, kind ("topic", "class" or "number"), number of the topic, name, share with a
            95 % interval, words of the topic in this period, and rising words, which are more
            frequent in the topic than in all periods together, beyond chance. The share of a class
            is its mean probability; for a number it is the mean prediction.

        Examples
        --------
        >>> dates = [
        ...     "2024-01-09",
        ...     "2024-01-30",
        ...     "2024-01-31",
        ...     "2024-03-01",
        ...     "2024-03-08",
        ...     "2024-03-09",
        ... ]
        >>> for row in model.over_time(tickets, dates):
        ...     if row.name == "support":
        ...         print(row.period, row.documents, row.share and round(row.share))
        2024-01 3 0
        2024-02 0 None
        2024-03 3 1
        """
        check_is_fitted(self, "estimator_")
        return warn_of(over_time(self, documents, dates, every, n_words))

    # ---- editing: each method returns a new model and leaves this one unchanged

    def rename(self, topic: int | str, name: str) -> Self:
        """Return the model with a new name for a topic, which later fits keep.

        Parameters
        ----------
        topic : int or str
            Number or name.
        name : str
            The new name.

        Returns
        -------
        TopicModel

        Examples
        --------
        >>> model.rename("app, login, update", "sign-in").topic_names_
        ['amount, invoice, refund', 'sign-in']
        """
        check_is_fitted(self, "estimator_")
        return edits.rename(self, topic, name)

    def merge(self, topics: Iterable[int | str], name: str | None = None) -> Self:
        """Return the model with some topics merged into one, at the place of the first.

        The mass of the new topic in each document is the sum of the masses of the old ones; its
        link to the classes is their mean, weighted by mass. Later topics are renumbered.

        Parameters
        ----------
        topics : iterable of int or str
            At least two numbers or names.
        name : str, optional
            Its name; by default the first name that a user gave to one of them, or its words.

        Returns
        -------
        TopicModel

        Examples
        --------
        >>> model.merge([0, 1], "tickets").topic_names_
        ['tickets']
        """
        check_is_fitted(self, "estimator_")
        return edits.merge(self, topics, name)

    def drop(self, topics: int | str | Iterable[int | str]) -> Self:
        """Return the model without some topics; later topics are renumbered.

        Parameters
        ----------
        topics : int, str or an iterable of them
            Numbers or names.

        Returns
        -------
        TopicModel

        Examples
        --------
        >>> model.drop(0).topic_names_
        ['app, login, update']
        """
        check_is_fitted(self, "estimator_")
        return edits.drop(self, topics)

    def split(self, topic: int | str, documents: Iterable[Any], into: int = 2) -> Self:
        """Return the model with one topic split into several, at its place.

        Parameters
        ----------
        topic : int or str
            Number or name.
        documents : iterable of str
            Documents to split it by; the new model describes these documents.
        into : int, default=2
            Number of parts.

        Returns
        -------
        TopicModel

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = [
        ...     "wrong invoice",
        ...     "refund the invoice",
        ...     "login fails",
        ...     "the app crashes at login",
        ... ]
        >>> model = TopicModel(1, random_state=0).fit(texts)
        >>> [topic.words[0] for topic in model.split(0, texts).topics()]
        ['invoice', 'login']
        """
        check_is_fitted(self, "estimator_")
        return edits.split(self, topic, documents, into)

    def freeze(self, topics: int | str | Iterable[int | str]) -> Self:
        """Return the model with some topics frozen: later fits leave them unchanged.

        Parameters
        ----------
        topics : int, str or an iterable of them
            Numbers or names.

        Returns
        -------
        TopicModel

        Examples
        --------
        >>> model.freeze(0).refit(tickets, teams).drift_[0].similarity
        1.0
        """
        check_is_fitted(self, "estimator_")
        return edits.freeze(self, topics, True)

    def thaw(self, topics: int | str | Iterable[int | str]) -> Self:
        """Return the model with some topics no longer frozen.

        Parameters
        ----------
        topics : int, str or an iterable of them
            Numbers or names.

        Returns
        -------
        TopicModel

        Examples
        --------
        >>> model.freeze([0, 1]).thaw(1).settled_.frozen
        [True, False]
        """
        check_is_fitted(self, "estimator_")
        return edits.freeze(self, topics, False)

    def pin(self, topic: int | str, words: str | Iterable[str]) -> Self:
        """Return the model with some words pinned to a topic.

        They get at least the weight of the topic's tenth word, and later fits keep that weight.

        Parameters
        ----------
        topic : int or str
            Number or name.
        words : str or iterable of str
            Words of the model.

        Returns
        -------
        TopicModel

        Examples
        --------
        >>> model.pin(0, "second").topics(3)[0].words
        ('second', 'amount', 'invoice')
        """
        check_is_fitted(self, "estimator_")
        return edits.pin(self, topic, words)

    def ban(self, topic: int | str, words: str | Iterable[str]) -> Self:
        """Return the model with some words banned from a topic, also in later fits.

        Parameters
        ----------
        topic : int or str
            Number or name.
        words : str or iterable of str
            Words of the model.

        Returns
        -------
        TopicModel

        Examples
        --------
        >>> model.ban(0, "amount").topics(3)[0].words
        ('invoice', 'refund', 'charged')
        """
        check_is_fitted(self, "estimator_")
        return edits.ban(self, topic, words)

    def refit(
        self,
        documents: Iterable[Any],
        y: Any = None,
        *,
        iterations: int | None = None,
        sample: int | None = None,
    ) -> Self:
        """Return a model that continues the fit from these topics and respects all edits.

        Frozen topics, pinned and banned words and given names stay. The vocabulary and its weights
        are those of this model. Labels of unlabelled documents are guessed as in ``fit``.

        Parameters
        ----------
        documents : iterable of str
            Documents: those of the fit, or similar ones.
        y : array-like, optional
            Their labels, as in ``fit``.
        iterations : int, optional
            Maximum number of iterations; by default ``max_iter``.
        sample : int, optional
            Maximum number of documents to fit on: all labelled ones, even if they are more, and a
            random sample of the others. Every document is still represented and predicted. By
            default the fit uses all documents; a sample shows the effect of new labels sooner.

        Returns
        -------
        TopicModel
            Its ``drift_`` is a table with a row for each topic: similarity to the old topic, words
            gained and lost, documents and predictions that changed.

        Examples
        --------
        >>> edited = model.freeze(0).rename(1, "sign-in").ban(1, "update")
        >>> again = edited.refit(tickets, teams)
        >>> again.topics(3)[1].name, again.topics(3)[1].words
        ('sign-in', ('app', 'login', 'frozen'))
        >>> again.drift_[0].similarity  # a frozen topic stays as it is
        1.0
        """
        check_is_fitted(self, "estimator_")
        return refit(self, documents, y, iterations=iterations, sample=sample)

    # ---- model selection

    def matrix_problem(self, documents: Iterable[Any], y: Any = None) -> Problem:
        """Vectorise documents for :func:`cofactor.model_selection.choose`, which calls this method.

        Parameters
        ----------
        documents : iterable of str
            Documents.
        y : array-like, optional
            Their labels, as in ``fit``.

        Returns
        -------
        Problem
        """
        return matrix_problem(self, documents, y)

    # ---- trust

    def to_label(
        self,
        documents: Iterable[Any],
        n: int = 10,
        *,
        strategy: str = "mixed",
        y: Any = None,
        random_state: Any = None,
    ) -> Table[ToLabel]:
        """Suggest which documents to label next, with a reason for each.

        Documents without known words, and near-duplicates of labelled or chosen ones, are left
        out. Label the documents, then fit again with all labels.

        Parameters
        ----------
        documents : iterable of str
            Documents to choose from.
        n : int, default=10
            Number of documents.
        strategy : {"mixed", "close", "topics", "random"}, default="mixed"
            "mixed" draws one in five at random. The others are central documents of topics without
            a label, then documents typical of many, then close calls: documents with doubtful
            predictions, drawn with chances that grow with the doubt. Each of the other strategies
            uses only one of these reasons.
        y : array-like, optional
            Labels of the documents, as in ``fit``; labelled ones are not chosen.
        random_state : int, RandomState or None, default=None
            Seed of the random choice; None means ``seed_``.

        Returns
        -------
        Table
            document (its index), reason ("close call", "typical of many", "first of its topic" or
            "random check"), prediction and its confidence, topic and its name.

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["wrong invoice", "login fails", "no refund", "app crash", "invoice in the app"]
        >>> labels = ["billing", "support", "", "", ""]
        >>> model = TopicModel(3, random_state=0).fit(texts, labels)
        >>> for row in model.to_label(texts, 3, y=labels):
        ...     print(texts[row.document], "-", row.reason)
        app crash - first of its topic
        invoice in the app - typical of many
        no refund - typical of many
        """
        check_is_fitted(self, "estimator_")
        return suggest(self, documents, n, y, strategy, random_state)

    def doubtful_labels(self, documents: Iterable[Any], y: Any) -> Table[DoubtfulLabel]:
        """Find labels that look wrong.

        Each label is compared with the prediction of models that were fitted without it: linear
        models of the words, each leaving out a tenth or a fifth of the labels. A class with a
        single label cannot be judged.

        Parameters
        ----------
        documents : iterable of str
            Documents.
        y : array-like
            Their labels, one class per document; unknown ones marked as in ``fit``.

        Returns
        -------
        Table
            document (its index), label, suggestion (the class that seems right), and the
            probabilities of both; the most doubtful label comes first. Only labels that differ
            from the prediction are listed.

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["wrong invoice", "unpaid invoice", "login fails", "no login"] * 5
        >>> labels = ["billing", "billing", "support", "support"] * 5
        >>> labels[2] = "billing"
        >>> model = TopicModel(2, random_state=0).fit(texts, labels)
        >>> for row in model.doubtful_labels(texts, labels):
        ...     print(row.document, texts[row.document], row.label, row.suggestion)
        2 login fails billing support
        """
        check_is_fitted(self, "estimator_")
        return doubtful_labels(self, documents, y)

    def stability(
        self, documents: Iterable[Any], y: Any = None, *, runs: int = 20, random_state: Any = None
    ) -> Table[TopicStability]:
        """Refit on bootstrap samples of documents and labels, and measure how stable each topic is.

        Each refit has a different start; labelled and unlabelled documents are sampled separately.
        A topic that fits noise is not found again. This takes as long as ``runs`` fits. Afterwards
        ``topics``, reports and the card of a saved model show the result.

        Parameters
        ----------
        documents : iterable of str
            Documents, such as those of the fit.
        y : array-like, optional
            Their labels, as in ``fit``.
        runs : int, default=20
            Number of bootstrap samples.
        random_state : int, optional
            Seed of the sampling; None means ``seed_``.

        Returns
        -------
        Table
            topic, name, stability (mean cosine of the topic and its match, from 0 to 1), and the
            interval that contains 95 % of the samples.

        Examples
        --------
        >>> [round(row.stability, 1) for row in model.stability(tickets, teams, runs=5)]
        [0.8, 0.8]
        """
        check_is_fitted(self, "estimator_")
        self.amend(stability=measure_stability(self, documents, y, runs, random_state))
        return stability_table(self.topic_names_, self.stability_)

    def update(
        self,
        documents: Iterable[Any],
        y: Any = None,
        *,
        new_topics: int | str = 0,
        move: float = 0.0,
    ) -> Self:
        """Return a model that has also learned from new documents, without needing the old ones.

        Topics stay as they are, and new ones explain what is left. New words are appended to those
        of the model, unless its vectorizer is not a :class:`~cofactor.text.WordVectorizer`. A new
        word may enter an old topic, which keeps a cosine of at least 0.9975 with its former self.
        Names, frozen topics, pinned and banned words stay.

        New classes in ``y`` are added to the classes. Samples from the model's memory stand in for
        the old documents, with the weight of their labels. Predictions of numbers, and of several
        labels per document, do not change. ``expected_score_`` is None afterwards.

        ``document_topics_`` and ``document_scores_`` hold the old documents, then the new ones; the
        scores of old documents for new classes are estimated from their topics.

        Parameters
        ----------
        documents : iterable of str
            New documents.
        y : array-like, optional
            Their labels, as in ``fit``.
        new_topics : int or "auto", default=0
            Number of topics to add. "auto" adds topics as long as they improve the likelihood of
            held-out cells of the new documents.
        move : float, default=0.0
            How far topics may move: each keeps a cosine of at least 1 − ``move`` with its former
            self, and frozen ones do not move at all.

        Returns
        -------
        TopicModel
            Its ``drift_`` is a table as after ``refit``, computed on the new documents.

        Examples
        --------
        >>> more = ["parcel lost in delivery", "late delivery of a parcel", "damaged parcel"]
        >>> wider = model.update(more, ["shipping", "", ""], new_topics=1)
        >>> wider.predict(["late parcel", "login"]).tolist()
        ['shipping', 'support']
        >>> [(row.name, row.before) for row in wider.drift_][1:]
        [('app, login, update', 1), ('parcel, delivery, damaged', None)]
        """
        check_is_fitted(self, "estimator_")
        return update(self, documents, y, new_topics=new_topics, move=move)

    # ---- pictures and files: made by layers above this one, so the methods import them when called

    def plot_topics(
        self,
        *,
        topics: int | str | Iterable[int | str] | None = None,
        n_words: int = 8,
        by: str = "coherence",
    ) -> np.ndarray:
        """Draw the words of each topic with their probabilities. Requires ``cofactor[plot]``.

        Parameters
        ----------
        topics : int, str or an iterable of them, optional
            Numbers or names; by default the twelve largest topics in order of size.
        n_words : int, default=8
            Number of words per topic.
        by : {"coherence", "probability"}, default="coherence"
            Which words, and in which order, as in ``topics``.

        Returns
        -------
        ndarray of matplotlib axes
            One for each topic, on a new figure.

        Examples
        --------
        >>> [ax.get_title("left") for ax in model.plot_topics(n_words=3)]
        ['amount, invoice, refund', 'app, login, update']
        """
        check_is_fitted(self, "estimator_")
        from cofactor.report import plot_topics

        return plot_topics(self, topics=topics, n_words=n_words, by=by)

    def plot_classes(self, *, ax: Any = None) -> Any:
        """Draw topics × classes: the mean probability of each class in the documents of a topic.
        Requires ``cofactor[plot]``.

        Topics of the same class are grouped. At most the 30 largest topics and 25 largest classes
        are drawn.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        matplotlib axes

        Examples
        --------
        >>> [label.get_text() for label in model.plot_classes().get_xticklabels()]
        ['billing', 'support']
        """
        check_is_fitted(self, "estimator_")
        from cofactor.report import plot_classes

        return plot_classes(self, ax=ax)

    def plot_over_time(
        self,
        documents: Iterable[Any],
        dates: Any,
        every: str | None = None,
        *,
        kind: str = "topic",
        names: Any = None,
        ax: Any = None,
    ) -> Any:
        """Draw the shares of topics or classes over time, with 95 % intervals. Requires
        ``cofactor[plot]``.

        Lines have a gap at a period without documents. ``over_time`` returns the numbers.

        Parameters
        ----------
        documents : iterable of str
            Documents of the fit, or others.
        dates : iterable
            Their dates, as in ``over_time``.
        every : {"day", "week", "month", "quarter", "year"}, optional
            Length of a period; by default the shortest one with enough documents.
        kind : {"topic", "class", "number"}, default="topic"
            What to draw: shares of topics, shares of classes, or mean predictions of numbers.
        names : iterable, optional
            Topics (numbers or names), classes or numbers to draw; by default up to six of those
            that changed most.
        ax : matplotlib axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        matplotlib axes

        Examples
        --------
        >>> dates = [
        ...     "2024-01-09",
        ...     "2024-01-30",
        ...     "2024-01-31",
        ...     "2024-03-01",
        ...     "2024-03-08",
        ...     "2024-03-09",
        ... ]
        >>> ax = model.plot_over_time(tickets, dates, "month", kind="class", names=["support"])
        >>> ax.lines[0].get_ydata().round(1)
        array([ 0., nan,  1.])
        """
        check_is_fitted(self, "estimator_")
        from cofactor.report import plot_over_time

        return plot_over_time(self, documents, dates, every=every, kind=kind, names=names, ax=ax)

    def plot_stability(self, *, ax: Any = None) -> Any:
        """Draw the result of ``stability``, the most stable topic first. Requires
        ``cofactor[plot]``.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        matplotlib axes

        Examples
        --------
        >>> _ = model.stability(tickets, teams, runs=3)
        >>> ax = model.plot_stability()
        """
        check_is_fitted(self, "estimator_")
        from cofactor.report import plot_stability

        return plot_stability(self, ax=ax)

    def plot_choice(self, choice: Any) -> np.ndarray:
        """Draw the result of :func:`cofactor.model_selection.choose`, with this model marked.
        Requires ``cofactor[plot]``.

        Parameters
        ----------
        choice : Choice
            The result of ``choose``. Its ``figure`` method draws the same without a model.

        Returns
        -------
        ndarray of matplotlib axes
            One for each criterion, on a new figure. A solid line marks the chosen number of topics,
            a dotted one that of this model if it differs.

        Examples
        --------
        >>> from cofactor.model_selection import choose
        >>> choice = choose(model, tickets * 3, n_components=[1, 2, 3], runs=2)
        >>> len(model.plot_choice(choice))
        4
        """
        from cofactor.report import plot_choice

        return plot_choice(self, choice)

    def show(
        self,
        documents: Iterable[Any] | None = None,
        y: Any = None,
        *,
        height: int = 700,
        **options: Any,
    ) -> Any:
        """Show the report in a notebook. Requires ``cofactor[report]``.

        Parameters
        ----------
        documents : iterable of str, optional
            Documents to show and to test on, such as those of the fit; the model does not keep
            them.
        y : array-like, optional
            Their labels, as in ``fit``.
        height : int, default=700
            Height in pixels.
        **options
            ``truth``, ``text``, ``title``, ``source``, ``rows``, ``dates`` and ``every``, as in
            :func:`cofactor.write_report`.

        Returns
        -------
        ShownReport
            As the last line of a cell it is shown in an isolated frame that makes no requests.
            Elsewhere, its ``save`` writes the same file as ``report``.

        Examples
        --------
        >>> model.show()
        A report of ... MB: a notebook shows it here; elsewhere use save('report.html') and open
        that file in a browser.
        """
        check_is_fitted(self, "estimator_")
        from cofactor.report import show_report

        return show_report(self, documents, y, height=height, **options)

    def save(self, path: str | os.PathLike[str], *, notes: dict[str, Any] | None = None) -> None:
        """Write the model to a folder that :func:`cofactor.load_model` reads.

        Parameters
        ----------
        path : str or path
            The folder. An older model there is replaced atomically.
        notes : dict, optional
            JSON data to keep with the model; see :func:`cofactor.save`.

        Examples
        --------
        >>> import cofactor, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/model")
        ...     cofactor.load_model(f"{folder}/model").predict(["my refund"]).tolist()
        ['billing']
        """
        from cofactor.io.models import save

        save(self, path, notes=notes)

    def forget_documents(self) -> TopicModel:
        """Return a copy of the model without the topics and scores of each document of its fit.

        Its predictions are the same. What describes the documents one by one is gone:
        ``documents()`` without an argument, ``document_topics_``, edits, updates and refits. What
        predictions of classes need of labelled documents stays, without their numbers: up to 2,000
        of them as their class and their place along 40 axes (for ``unlike``), and of each held-out
        label the confidence, whether it was right, its weight and ``unlike`` (for
        ``expected_coverage``).

        Returns
        -------
        TopicModel

        Examples
        --------
        >>> small = model.forget_documents()
        >>> small.predict(["my refund"]).tolist()
        ['billing']
        """
        check_is_fitted(self, "estimator_")
        links = predictions.topic_links(self) if predictions.has_head(self.estimator_) else None
        return copy.copy(self).set_fitted(self.fitted.without_documents(links))

    def report(
        self,
        path: str | os.PathLike[str],
        documents: Iterable[Any] | None = None,
        y: Any = None,
        *,
        truth: Any = None,
        text: bool = True,
        **options: Any,
    ) -> Path:
        """Write a report: one HTML file that works offline. Requires ``cofactor[report]``.

        Parameters
        ----------
        path : str or path
            The file.
        documents : iterable of str, optional
            Documents to show and to test on, such as those of the fit; the model does not keep
            them.
        y : array-like, optional
            Their labels, as in ``fit``.
        truth : array-like, optional
            Labels that the fit did not see, to test on.
        text : bool, default=True
            False leaves out the text of the documents.
        **options
            ``title``, ``source``, ``rows``, ``dates`` and ``every``, see
            :func:`cofactor.write_report`.

        Returns
        -------
        Path
            The file.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.report(f"{folder}/report.html", tickets, teams).name
        'report.html'
        """
        from cofactor.report import write_report

        return write_report(self, path, documents, y, truth=truth, text=text, **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor" if self.task == "numbers" else "classifier"
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.target_tags.required = False
        return tags
