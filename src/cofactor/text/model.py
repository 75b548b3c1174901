"""`TopicModel`: topics and predictions from documents."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from cofactor.estimators import NMF, SSNMFClassifier
from cofactor.estimators.validation import checks_parameters
from cofactor.model_selection.problem import Problem
from cofactor.targets.sets import read_targets
from cofactor.text.annotations import annotate
from cofactor.text.blocks import WordBlocks, fit_blocks
from cofactor.text.choosing import matrix_problem
from cofactor.text.describe import predictions, summaries
from cofactor.text.describe.answers import answer_documents
from cofactor.text.describe.explain import Explanation, explain_row, unknown_words
from cofactor.text.describe.table import Table
from cofactor.text.documents import document_matrix
from cofactor.text.editing import edits
from cofactor.text.editing.refits import refit
from cofactor.text.editing.updates import update
from cofactor.text.fitting import Fit, fit_documents, fit_here
from cofactor.text.label_doubts import warn_of_labels
from cofactor.text.labelling.doubts import DoubtfulLabel, doubtful_labels
from cofactor.text.labelling.suggestions import ToLabel, suggest
from cofactor.text.over_time import PeriodShare, over_time, warn_of
from cofactor.text.stability import TopicStability, measure_stability, stability_table
from cofactor.text.streams import fit_batch

_CONSTRAINTS = SSNMFClassifier._parameter_constraints


class TopicModel(CallbackSupportMixin, TransformerMixin, BaseEstimator):
    """Documents in, topics and predictions out.

    Documents are a list, generator, array, Series or single-column table of strings; None and NaN
    are empty documents. Labels are optional and may be partly known. The work is done by an
    :class:`NMF`, :class:`SSNMFClassifier` or :class:`SSNMFRegressor`.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics.
    task : {"auto", "topics", "classes", "numbers"}, default="auto"
        What y holds. "auto" takes None for "topics", one column with fractions for "numbers" and
        anything else for "classes"; pass "numbers" if the numbers are whole. "topics" ignores y.
    vectorizer : object, optional
        Turns documents into a nonnegative matrix. It needs ``fit_transform``, ``transform``,
        ``get_feature_names_out`` and ``get_params``, as scikit-learn's have. By default
        :class:`~cofactor.text.WordVectorizer`.
    language : "auto", str, iterable of str or None, default="auto"
        The language of the documents, such as "german", as in
        :class:`~cofactor.text.WordVectorizer`.
    seeds : dict of str to list of str, optional
        Words that pull a topic, by the topic's name: ``{"billing": ["invoice", "refund"]}``.
        The pull is part of the objective, so it lasts throughout the fit. A seed that has the name
        of a class pulls one of the topics of that class. With ``task="classes"`` seeds are classes:
        documents that speak for one seed get its name as a label of little weight, also without
        any y; known labels outweigh them.
    seed_strength : float, default=1.0
        Pull of a seed word relative to its occurrences in the documents.
    data_loss, supervision, solver, init, max_iter, tol, priors, head, class_weight, n_jobs
        As in :class:`SSNMFClassifier`. ``class_weight`` is for classes only.
    target_loss : as in :class:`SSNMFClassifier`, optional
        None is the estimator's default: "kullback-leibler" for classes, "frobenius" for numbers.
    random_state : int, RandomState or None, default=None
        Seed of the start; ``seed_`` is the number that was used.

    Attributes
    ----------
    estimator_ : NMF, SSNMFClassifier or SSNMFRegressor
        The fitted estimator.
    vectorizer_ : object
        The fitted vectorizer.
    document_topics_ : ndarray of shape (n_documents, n_components)
        Representations of the training documents, or of the last batch, as ``transform`` returns
        them.
    document_scores_ : ndarray of shape (n_documents, n_targets)
        Scores of the same documents, from which predictions are read.
    topic_names_ : list of str
        Names of seeds, or the first three words. ``rename`` changes one for good.
    topic_words_ : ndarray of shape (n_components, n_ranked)
        Columns of the words that describe each topic, best first; −1 where there are no more.
        Words belong to the topic and occur together in its documents; see ``topics``.
    target_names_ : list
        Classes, or names of numeric targets.
    coherence_ : ndarray of shape (n_components,)
        Mean NPMI of each topic's first ten words in the training documents.
    probable_coherence_ : ndarray of shape (n_components,)
        The same for the ten most probable words.
    topic_support_ : ndarray of shape (n_components,)
        Number of labelled documents that are mostly of each topic. Streams lack it; a model of
        blocks counts the documents that it describes.
    topic_labels_ : ndarray of shape (n_components, n_targets)
        Number of those documents that have each label, or a number.
    stability_ : ndarray of shape (runs, n_components)
        Similarity of each topic to its match in each draw; known after ``stability``.
    seed_ : int
        Seed of the start.
    timings_ : dict of float
        Seconds that each step of the fit took.
    fingerprint_ : str
        Digest of the training documents and their labels.

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
    space moon rocket orbit
    sport puck goal goalie
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_CONSTRAINTS,
        "target_loss": [*_CONSTRAINTS["target_loss"], None],
        "task": [StrOptions({"auto", *predictions.ESTIMATORS})],
        "vectorizer": [HasMethods(["fit_transform", "transform", "get_feature_names_out"]), None],
        "language": [str, Iterable, None],
        "seeds": "no_validation",
        "seed_strength": [Interval(Real, 0, None, closed="neither")],
    }

    estimator_: Any
    vectorizer_: Any
    document_topics_: np.ndarray
    topic_names_: list[str]
    target_names_: list[Any]
    topic_words_: np.ndarray
    coherence_: np.ndarray
    probable_coherence_: np.ndarray
    topic_support_: np.ndarray
    topic_labels_: np.ndarray
    stability_: np.ndarray
    seed_: int
    timings_: dict[str, float]
    fingerprint_: str

    def __init__(
        self,
        n_components: int = 10,
        *,
        task: str = "auto",
        vectorizer: Any = None,
        language: str | Iterable[str] | None = "auto",
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
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.task = task
        self.vectorizer = vectorizer
        self.language = language
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
        self.n_jobs = n_jobs
        self.random_state = random_state

    # ---- learning

    @checks_parameters
    def fit(
        self,
        X: Iterable[Any] | WordBlocks,
        y: Any = None,
        *,
        sample_weight: Any = None,
        target_weights: Any = None,
        fit_with: Fit | None = None,
    ) -> Self:
        """Learn topics from documents, and from labels if there are any.

        Parameters
        ----------
        X : iterable of str, or WordBlocks
            Documents, or documents on disk with their labels, as `cofactor blocks` writes them.
        y : array-like, optional
            Labels in any form that the estimators take, with unknown ones marked as they describe.
            For several labels a document, pass a set or list for each, None where unknown.
        sample_weight : array-like of shape (n_documents,), optional
            How often each document counts.
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
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
        >>> model.predict(["a puck", "the moon"]).tolist()
        ['sport', 'space']
        """
        fit = fit_with or fit_here
        if isinstance(X, WordBlocks):
            fit_blocks(self, X, fit=fit)
            return self
        warn_of_labels(read_targets(y), self.task, self.n_components)
        weights = {"sample_weight": sample_weight, "target_weights": target_weights}
        fit_documents(self, X, y, fit=fit, **weights)
        return self

    @checks_parameters
    def partial_fit(self, documents: Iterable[Any], y: Any = None, *, classes: Any = None) -> Self:
        """Learn from one batch of a stream of documents.

        The first batch settles the words and their weights, the task and the start of the topics.
        It should be large and, for a target, must have labels. To settle the words and their
        weights before, pass ``vectorizer=WordVectorizer(vocabulary=...)``. Later batches refine the
        topics with a share that decays. After ``fit``, or on a loaded model, a stream starts from
        the words and topics of the model; the documents they were learned from have no further
        weight. Their head goes on until the stream has seen as many labels.

        With ``head="pooled"`` the stream keeps labelled documents and a sample of the others, as
        rows of numbers, up to 2**21 stored cells (about 25 MB); ``save`` keeps them, too. The head
        is fitted on them at its first use after a batch.

        ``documents()``, ``document_topics_``, shares, ``topic_words_``, ``coherence_`` and
        ``fingerprint_`` describe the last batch; a topic that the batch hardly shows has its words
        by probability. A batch that fails leaves the model as it was.

        Parameters
        ----------
        documents : iterable of str
            Documents.
        y : array-like, optional
            Their labels, as in ``fit``. None is a batch without labels.
        classes : array-like, optional
            All classes of the stream, if the first batch does not show each of them; ignored
            after the first call.

        Returns
        -------
        self

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> model = TopicModel(2, random_state=0)
        >>> for _ in range(3):  # a new batch each time
        ...     model = model.partial_fit(texts, ["sport", "", "space", ""])
        >>> model.predict(["a puck", "the moon"]).tolist()
        ['sport', 'space']
        """
        fit_batch(self, documents, y, classes)
        return self

    @property
    def callbacks(self) -> tuple[Any, ...]:
        """Callbacks that watch the fits of the estimator, as ``set_callbacks`` was given them."""
        return tuple(getattr(self, "_skl_callbacks", ()))

    @property
    def classes_(self) -> np.ndarray:
        """Classes, under the name that scikit-learn's tools look for."""
        return self.estimator_.classes_

    @property
    def expected_score_(self) -> Any:
        """The score to expect on new documents like these, from held-out labels, or None."""
        return getattr(self.estimator_, "expected_score_", None)

    def expected_coverage(self, abstain: float) -> Any:
        """Return what to expect of ``predict(X, abstain=abstain)`` on new documents like these.

        Parameters
        ----------
        abstain : float
            Predictions less probable than this are left out.

        Returns
        -------
        ExpectedCoverage or None
            The share of documents that get a prediction, and of these that are right, from held-out
            labels; None if it is not known, as in :class:`SSNMFClassifier`.

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"] * 5
        >>> model = TopicModel(2, random_state=0).fit(
        ...     texts, ["sport", "sport", "space", "space"] * 5
        ... )
        >>> model.expected_coverage(0.5).coverage
        1.0
        """
        check_is_fitted(self, "estimator_")
        expected = getattr(self.estimator_, "expected_coverage", None)
        return None if expected is None else expected(abstain)

    @cached_property
    def document_scores_(self) -> np.ndarray:
        """Scores of the documents that ``document_topics_`` represents; a stream's are computed at
        their first use after a batch."""
        if "_batch" not in vars(self):
            raise AttributeError("document_scores_ is known only after a fit.")
        return predictions.scores_of(self.estimator_, self._batch, self.document_topics_)

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
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
        >>> model.transform(["moon", "goal"]).argmax(axis=1).tolist()
        [0, 1]
        """
        matrix = self._matrix(X)
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
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
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
            Predict only classes, or labels, that are at least so probable; others are None, or NaN
            among several labels. See ``expected_coverage``.

        Returns
        -------
        ndarray

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
        >>> model.predict(["moon", "goal"]).tolist()
        ['space', 'sport']
        >>> model.predict(["moon", "goal on the moon"], abstain=0.9).tolist()
        ['space', None]
        """
        check_is_fitted(self, "estimator_")
        predict = predictions.predictor(self.estimator_, "predict")
        if not abstain:
            return predict(self._matrix(X))
        predictions.predictor(self.estimator_, "predict_proba")  # numbers have no probability
        return predict(self._matrix(X), abstain=abstain)

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
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
        >>> model.classes_.tolist(), model.predict_proba(["moon"]).round(1).tolist()
        (['space', 'sport'], [[1.0, 0.0]])
        """
        check_is_fitted(self, "estimator_")
        return predictions.predictor(self.estimator_, "predict_proba")(self._matrix(X))

    def score(self, X: Iterable[Any], y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy for classes, or R² for numbers, over the known labels.

        Without a target, return the share of the documents' divergence from their mean that the
        topics explain.

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

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
        >>> model.score(["a puck", "the moon", "the goal"], ["sport", "space", ""])
        1.0
        """
        matrix = self._matrix(X)
        if isinstance(self.estimator_, NMF):
            return predictions.explained_share(self.estimator_, matrix, sample_weight)
        if y is None:
            raise ValueError("y is None, but this model predicts; pass the documents' labels.")
        y = read_targets(y, getattr(self.estimator_, "classes_", None))
        return self.estimator_.score(matrix, y, sample_weight=sample_weight)

    def _matrix(self, X: Iterable[Any]) -> Any:
        check_is_fitted(self, "estimator_")
        return document_matrix(self.vectorizer_, X)

    # ---- descriptions

    def topics(self, n_words: int = 10, *, by: str = "coherence") -> Table[summaries.Topic]:
        """Describe the topics.

        Parameters
        ----------
        n_words : int, default=10
            Words of each topic.
        by : {"coherence", "probability"}, default="coherence"
            Which words come first. "coherence" prefers words that belong to the topic and occur
            together in its documents; it changes neither the topics nor predictions. Words after
            the first 40, and all words of topics that the documents do not support, come by
            probability. "probability" shows the largest entries of ``components_``.

        Returns
        -------
        Table
            topic, name, words, weights (probabilities of the words), share of the corpus, label
            (the class it speaks for most) and its weight, coherence of the first ten words, labels
            (number of labelled documents that are mostly of the topic), and stability with its
            interval, if it was measured. The weight of a label is its probability for a document
            of this topic alone, shrunk by the labels behind the topic: as if each topic had two
            more labels, divided as all labels are.

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
        >>> for topic in model.topics(2):
        ...     print(topic.name, topic.words, topic.label, round(topic.share, 1))
        moon, rocket ('moon', 'rocket') space 0.5
        goal, hockey, puck ('goal', 'hockey') sport 0.5
        """
        check_is_fitted(self, "estimator_")
        return summaries.topic_table(self, n_words, by)

    def documents(self, X: Iterable[Any] | None = None) -> Table[summaries.Document]:
        """Describe documents: main topic and its share, prediction and confidence.

        Parameters
        ----------
        X : iterable of str, optional
            Documents; by default those that the model was fitted on.

        Returns
        -------
        Table

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
        >>> model.documents()[3].prediction
        'space'
        >>> model.documents(["a hockey goal"])[0].name
        'goal, hockey, puck'
        """
        check_is_fitted(self, "estimator_")
        if X is not None:
            return answer_documents(self, X).documents
        scores = predictions.document_scores(self)
        return summaries.document_table(self, self.document_topics_, scores)

    def annotate(
        self,
        X: Any,
        text: str | None = None,
        *,
        all_classes: bool = False,
        topics: bool = False,
        top: int = 0,
        abstain: float = 0.0,
    ) -> Any:
        """Return a table with prediction, confidence, topic and reason beside its rows.

        The columns are those that ``cofactor predict`` writes. ``reason`` says why a prediction is
        missing or doubtful: the text has no known word, no label reaches its threshold (then the
        nearest one is given), or the prediction is less probable than ``abstain``.

        Parameters
        ----------
        X : table, column or iterable of str
            Documents: a table or a column of pandas, polars, pyarrow, DuckDB or another library
            that narwhals knows, or any iterable.
        text : str, optional
            Name of the column that holds the texts; not needed if there is only one.
        all_classes : bool, default=False
            Add the probability of every class.
        topics : bool, default=False
            Add number and share of the main topic, and the shares of all topics.
        top : int, default=0
            Add so many of the most probable classes with their probabilities.
        abstain : float, default=0
            Predict only what is at least so probable; ``expected_coverage`` says what to expect.

        Returns
        -------
        table
            Of the same kind as X, with the new columns at its end; a list of dicts for an iterable.

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
        >>> for row in model.annotate(["a rocket", "???"]):
        ...     print(row["text"], row["prediction"], row["reason"])
        a rocket space None
        ??? None no known word
        """
        check_is_fitted(self, "estimator_")
        asked = {"all_classes": all_classes, "topics": topics, "top": top, "abstain": abstain}
        return annotate(self, X, text, asked)

    def classes(self, n_words: int = 10) -> Table[summaries.TopicClass]:
        """Describe the classes: keywords, and each topic's part in them.

        Parameters
        ----------
        n_words : int, default=10
            Keywords of each class.

        Returns
        -------
        Table
            Empty without a target.

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
        >>> for one in model.classes(2):
        ...     print(one.label, one.keywords)
        space ('moon', 'rocket')
        sport ('goal', 'hockey')
        """
        check_is_fitted(self, "estimator_")
        return summaries.class_table(self, n_words)

    def explain(
        self, text: str, *, target: Any = None, rival: Any = None, n_left_out: int = 5
    ) -> Explanation:
        """Show which words of a text speak for which topic and which class, and why the prediction
        is this class and not the next one.

        Parameters
        ----------
        text : str
        target : object, optional
            Class, label or number to explain. The default is the predicted class, the label that
            leads its threshold most, or the largest number.
        rival : object, optional
            Class to compare it with. The default is the most probable other class. A label is
            compared with its threshold.
        n_left_out : int, default=5
            Number of words to leave out, one at a time, to see what changes.

        Returns
        -------
        Explanation
            Its parts add up to the representation and to the score of the prediction; those of its
            ``contrast`` add up to the lead over the rival or the threshold.

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
        >>> told = model.explain("rocket or goal")
        >>> told.prediction, told.contrast.rival
        ('space', 'sport')
        >>> for row in told.left_out:  # what is predicted without a word
        ...     print(row.word, row.prediction)
        rocket sport
        goal space
        """
        if not isinstance(text, str):
            raise TypeError(f"text is of type {type(text).__name__}; pass one string.")
        return explain_row(
            self,
            self._matrix([text]),
            unknown_words(self, text),
            target=target,
            rival=rival,
            n_left_out=n_left_out,
        )

    def over_time(
        self, documents: Iterable[Any], dates: Any, every: str = "month", *, n_words: int = 10
    ) -> Table[PeriodShare]:
        """Describe the topics and classes of documents in each period.

        The topics stay as they are. Periods follow one another without a gap: one without documents
        has 0 documents, and None as shares. Documents without a date are left out, with a warning.

        Parameters
        ----------
        documents : iterable of str
            Documents of the fit, or others.
        dates : iterable
            Their dates: dates or texts in one format such as 2024-12-31; None where not known.
        every : {"day", "week", "month", "quarter", "year"}, default="month"
            Length of a period.
        n_words : int, default=10
            Maximum number of words of a topic in a period.

        Returns
        -------
        Table
            A row for each period and topic, class or number: period, its first day, its number of
            documents, kind ("topic", "class" or "number"), number of the topic, name, share with an
            interval of 95 %, words of the topic in this period, and rising words: those that the
            topic has more often than in all periods, by more than chance explains. The share of a
            class is its mean probability; for a number it is the mean prediction.

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
        >>> table = model.over_time(texts, ["2024-01-09", "2024-01-30", "2024-03-01", "2024-03-08"])
        >>> for row in table:
        ...     if row.kind == "class" and row.name == "space":
        ...         print(row.period, row.documents, row.share and round(row.share))
        2024-01 2 0
        2024-02 0 None
        2024-03 2 1
        """
        check_is_fitted(self, "estimator_")
        return warn_of(over_time(self, documents, dates, every, n_words))

    # ---- editing: each returns a new model, and this one stays as it is

    def rename(self, topic: int | str, name: str) -> Self:
        """Return the model with another name of a topic, which later fits keep.

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
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
        >>> model.rename(0, "in space").topic_names_
        ['in space', 'goal, hockey, puck']
        """
        check_is_fitted(self, "estimator_")
        return edits.rename(self, topic, name)

    def merge(self, topics: Iterable[int | str], name: str | None = None) -> Self:
        """Return the model with some topics joined in the place of the first of them.

        The mass of the new topic in each document is the sum of the masses of the old ones; what it
        says of the classes is their mean, weighted by mass. Later topics get lower numbers.

        Parameters
        ----------
        topics : iterable of int or str
            At least two numbers or names.
        name : str, optional
            Its name. By default the first name that a user gave to one of them, or its words.

        Returns
        -------
        TopicModel

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
        >>> model.merge([0, 1], "all of it").topic_names_
        ['all of it']
        """
        check_is_fitted(self, "estimator_")
        return edits.merge(self, topics, name)

    def drop(self, topics: int | str | Iterable[int | str]) -> Self:
        """Return the model without some topics. Later topics get lower numbers.

        Parameters
        ----------
        topics : int, str or an iterable of them
            Numbers or names.

        Returns
        -------
        TopicModel

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
        >>> model.drop(0).topic_names_
        ['goal, hockey, puck']
        """
        check_is_fitted(self, "estimator_")
        return edits.drop(self, topics)

    def split(self, topic: int | str, documents: Iterable[Any], into: int = 2) -> Self:
        """Return the model with one topic divided into several, which stand in its place.

        Parameters
        ----------
        topic : int or str
            Number or name.
        documents : iterable of str
            Documents that show how; the new model describes them.
        into : int, default=2
            Number of parts.

        Returns
        -------
        TopicModel

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = [
        ...     "puck and goal",
        ...     "goal and puck",
        ...     "hockey ice",
        ...     "ice hockey",
        ...     "moon rocket",
        ... ] * 2
        >>> model = TopicModel(2, random_state=0).fit(texts)
        >>> model.topic_names_
        ['hockey, ice, moon', 'goal, puck']
        >>> model.split(0, texts).topic_names_
        ['hockey, ice', 'moon, rocket', 'goal, puck']
        """
        check_is_fitted(self, "estimator_")
        return edits.split(self, topic, documents, into)

    def freeze(self, topics: int | str | Iterable[int | str]) -> Self:
        """Return the model with topics whose words and weights later fits leave alone.

        Parameters
        ----------
        topics : int, str or an iterable of them
            Numbers or names.

        Returns
        -------
        TopicModel

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
        >>> again = model.freeze("moon, rocket").refit(texts, ["sport", "", "space", ""])
        >>> again.drift_[0].similarity
        1.0
        """
        check_is_fitted(self, "estimator_")
        return edits.freeze(self, topics, True)

    def thaw(self, topics: int | str | Iterable[int | str]) -> Self:
        """Return the model with topics that are no longer frozen.

        Parameters
        ----------
        topics : int, str or an iterable of them
            Numbers or names.

        Returns
        -------
        TopicModel

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
        >>> frozen = model.freeze([0, 1])
        >>> model = frozen.thaw(1)  # later fits leave topic 0 alone, and move topic 1
        """
        check_is_fitted(self, "estimator_")
        return edits.freeze(self, topics, False)

    def pin(self, topic: int | str, words: str | Iterable[str]) -> Self:
        """Return the model with words that belong to a topic.

        They get at least the weight of the topic's tenth word. Later fits leave that weight alone.

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
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
        >>> model.pin(0, "goal").topics(3)[0].words
        ('goal', 'moon', 'rocket')
        """
        check_is_fitted(self, "estimator_")
        return edits.pin(self, topic, words)

    def ban(self, topic: int | str, words: str | Iterable[str]) -> Self:
        """Return the model with words that a topic does not have, also after later fits.

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
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
        >>> model.ban(0, "moon").topics(3)[0].words
        ('rocket',)
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
        """Return a model whose fit goes on from these topics, with all edits in force.

        Frozen topics, pinned and banned words and given names stay. Words and their weights are
        those of this model. Unlabelled documents are guessed as in ``fit``.

        Parameters
        ----------
        documents : iterable of str
            Documents: those of the fit, or others of their kind.
        y : array-like, optional
            Their labels, as in ``fit``.
        iterations : int, optional
            Maximum number of iterations; by default ``max_iter``.
        sample : int, optional
            Fit on at most so many documents: the labelled ones, even if they are more, and a random
            draw of the others. All documents are represented and predicted. By default the fit
            goes through all; a sample shows sooner what new labels change.

        Returns
        -------
        TopicModel
            Its ``drift_`` is a table with a row for each topic: the similarity to before, words
            that came and went, documents and predictions that moved.

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["goal and puck", "puck and ice", "moon and rocket", "rocket and orbit"] * 3
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""] * 3)
        >>> again = model.rename(0, "in space").ban(0, "orbit").freeze(1).refit(texts)
        Traceback (most recent call last):
        ValueError: y is None, but this model predicts; pass the documents' labels.
        >>> again = model.freeze(1).refit(texts, ["sport", "", "space", ""] * 3)
        >>> again.drift_[1].similarity
        1.0
        """
        check_is_fitted(self, "estimator_")
        return refit(self, documents, y, iterations=iterations, sample=sample)

    # ---- choosing

    def matrix_problem(self, documents: Iterable[Any], y: Any = None) -> Problem:
        """Vectorise documents for :func:`cofactor.model_selection.choose`, which calls this.

        Parameters
        ----------
        documents : iterable of str
            Documents.
        y : array-like, optional
            Their labels, as for ``fit``.

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
        """Say which documents to label next, and why.

        Near-duplicates of labelled or chosen documents, and documents without known words, are
        left out. Label the documents and fit again with all labels.

        Parameters
        ----------
        documents : iterable of str
            Documents to choose from.
        n : int, default=10
            Number of documents.
        strategy : {"mixed", "close", "topics", "random"}, default="mixed"
            "mixed" takes one of five at random. The others are the first documents of topics
            without a label, then close calls, whose two best classes are almost equally probable;
            the classes take turns, and documents with few words come last. The other strategies
            have one of these reasons only.
        y : array-like, optional
            Labels of the documents, as for ``fit``; labelled ones are not chosen.
        random_state : int, RandomState or None, default=None
            Seed of the random choice; None stands for ``seed_``.

        Returns
        -------
        Table
            document (its index), reason ("close call", "first of its topic" or "random check"),
            prediction and its confidence, topic and its name.

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "moon orbit", "hockey puck", "moon rocket", "goal or orbit"]
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "space", "", "", ""])
        >>> model.to_label(texts[2:], 1).column("reason")
        ['close call']
        """
        check_is_fitted(self, "estimator_")
        return suggest(self, documents, n, y, strategy, random_state)

    def doubtful_labels(self, documents: Iterable[Any], y: Any) -> Table[DoubtfulLabel]:
        """Find labels that look wrong.

        Each label is compared with the prediction of models that do not know it: linear models of
        the words, fitted without a tenth or a fifth of the labels. A class with a single label
        cannot be judged.

        Parameters
        ----------
        documents : iterable of str
            Documents.
        y : array-like
            Their labels, one class a document; unknown ones marked as for ``fit``.

        Returns
        -------
        Table
            document (its index), label, suggestion (the class that looks right), and the
            probabilities of both; the most doubtful label comes first. Labels that are predicted
            are not listed.

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"] * 3
        >>> labels = ["sport", "sport", "space", "space"] * 2 + ["sport", "sport", "space", "sport"]
        >>> model = TopicModel(2, random_state=0).fit(texts, labels)
        >>> for row in model.doubtful_labels(texts, labels):
        ...     print(texts[row.document], row.label, row.suggestion)
        rocket to the moon sport space
        """
        check_is_fitted(self, "estimator_")
        return doubtful_labels(self, documents, y)

    def stability(
        self, documents: Iterable[Any], y: Any = None, *, runs: int = 20, random_state: Any = None
    ) -> Table[TopicStability]:
        """Measure how much of each topic is found again in other draws of documents and labels.

        Documents are drawn with replacement and fitted again, each time from another start;
        labelled and unlabelled ones are drawn apart. A topic that fits noise does not come back.
        It takes as long as ``runs`` fits. Afterwards ``topics``, reports and the card of a saved
        model show the result.

        Parameters
        ----------
        documents : iterable of str
            Documents, such as those of the fit.
        y : array-like, optional
            Their labels, as for ``fit``.
        runs : int, default=20
            Number of draws.
        random_state : int, optional
            Seed of the draws; None stands for ``seed_``.

        Returns
        -------
        Table
            topic, name, stability (the mean cosine of the topic and its match, from 0 to 1), and
            the interval that holds 95 % of the draws.

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"] * 3
        >>> model = TopicModel(2, random_state=0).fit(texts)
        >>> [row.stability > 0.9 for row in model.stability(texts, runs=3)]
        [True, True]
        """
        check_is_fitted(self, "estimator_")
        self.stability_ = measure_stability(self, documents, y, runs, random_state)
        return stability_table(self.topic_names_, self.stability_)

    def update(
        self,
        documents: Iterable[Any],
        y: Any = None,
        *,
        new_topics: int | str = 0,
        move: float = 0.0,
    ) -> Self:
        """Return a model that has learned from new documents, too, without the old ones.

        Topics stay as they are, and new ones are found in what they do not explain. New words come
        after those of the model; a vectorizer other than :class:`~cofactor.text.WordVectorizer`
        keeps its words. A new word may enter an old topic, which keeps a cosine of at least 0.9975
        with its old self. Names, frozen topics, pinned and banned words stay.

        New classes in ``y`` join the classes. Documents that the model draws from its memory of the
        old ones stand for these, with the weight of their labels. Predictions of numbers, and of
        several labels a document, stay as they are. ``expected_score_`` is None afterwards.

        ``document_topics_`` and ``document_scores_`` hold the old documents, then the new ones; the
        scores that new classes have in old documents are estimates by their topics.

        Parameters
        ----------
        documents : iterable of str
            New documents.
        y : array-like, optional
            Their labels, as in ``fit``.
        new_topics : int or "auto", default=0
            Number of topics to add. "auto" adds topics as long as they make held-out cells of the
            new documents more likely.
        move : float, default=0.0
            How far topics may move: each keeps a cosine of at least 1 − ``move`` with its old self,
            and frozen ones do not move at all.

        Returns
        -------
        TopicModel
            Its ``drift_`` is a table with a row for each topic, as after ``refit``, for the new
            documents.

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["goal and puck", "puck and ice", "moon and rocket", "rocket and orbit"] * 3
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""] * 3)
        >>> more = ["flour and yeast", "yeast and dough", "dough and flour"] * 2
        >>> wider = model.update(more, ["baking"] * 6, new_topics=1)
        >>> wider.classes_.tolist()
        ['baking', 'space', 'sport']
        >>> wider.predict(["fresh dough", "the moon"]).tolist()
        ['baking', 'space']
        """
        check_is_fitted(self, "estimator_")
        return update(self, documents, y, new_topics=new_topics, move=move)

    # ---- pictures and files: the modules that make them are layers above this one, so they are
    # reached through the public names of the package

    def plot_topics(
        self,
        *,
        topics: int | str | Iterable[int | str] | None = None,
        n_words: int = 8,
        by: str = "coherence",
    ) -> np.ndarray:
        """Draw the words of each topic with their probabilities. It needs ``cofactor[plot]``.

        Parameters
        ----------
        topics : int, str or an iterable of them, optional
            Numbers or names; by default the twelve largest topics, the largest first.
        n_words : int, default=8
            Words of each topic.
        by : {"coherence", "probability"}, default="coherence"
            Which words, and their order, as in ``topics``: those of the name come first.

        Returns
        -------
        ndarray of matplotlib axes
            One for each topic, on a new figure.

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
        >>> [ax.get_title("left") for ax in model.plot_topics(n_words=3)]
        ['moon, rocket', 'goal, hockey, puck']
        """
        check_is_fitted(self, "estimator_")
        import cofactor

        return cofactor.report.plot_topics(self, topics=topics, n_words=n_words, by=by)

    def plot_classes(self, *, ax: Any = None) -> Any:
        """Draw topics × classes: the probability of each class for a document that is all one
        topic. It needs ``cofactor[plot]``.

        A probability is shrunk by the labels behind the topic, as the link in ``topics``: as if
        each topic had two more labels, divided as all labels are. Topics of the same class stand
        together. Of more than 30 topics and 25 classes the largest are drawn.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        matplotlib axes

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
        >>> [label.get_text() for label in model.plot_classes().get_xticklabels()]
        ['space', 'sport']
        """
        check_is_fitted(self, "estimator_")
        import cofactor

        return cofactor.report.plot_classes(self, ax=ax)

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
        """Draw the shares of topics or classes in periods, with their intervals of 95 %. It needs
        ``cofactor[plot]``.

        A period without documents breaks the lines. ``over_time`` returns the numbers.

        Parameters
        ----------
        documents : iterable of str
            Documents of the fit, or others.
        dates : iterable
            Their dates, as for ``over_time``.
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
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
        >>> dates = ["2024-01-09", "2024-01-30", "2024-03-01", "2024-03-08"]
        >>> ax = model.plot_over_time(texts, dates, "month", kind="class", names=["space"])
        >>> ax.lines[0].get_ydata().round(1)
        array([ 0., nan,  1.])
        """
        check_is_fitted(self, "estimator_")
        import cofactor

        return cofactor.report.plot_over_time(
            self, documents, dates, every=every, kind=kind, names=names, ax=ax
        )

    def plot_stability(self, *, ax: Any = None) -> Any:
        """Draw how much of each topic ``stability`` found again, the steadiest topic first. It
        needs ``cofactor[plot]``.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        matplotlib axes

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"] * 5
        >>> model = TopicModel(2, random_state=0).fit(texts)
        >>> _ = model.stability(texts, runs=3)
        >>> ax = model.plot_stability()
        """
        check_is_fitted(self, "estimator_")
        import cofactor

        return cofactor.report.plot_stability(self, ax=ax)

    def plot_choice(self, choice: Any) -> np.ndarray:
        """Draw what :func:`cofactor.model_selection.choose` found, and where this model stands. It
        needs ``cofactor[plot]``.

        Parameters
        ----------
        choice : Choice
            The result of ``choose``. Its own ``figure`` draws the same without a model.

        Returns
        -------
        ndarray of matplotlib axes
            One for each criterion, on a new figure. A line marks the number of topics that was
            chosen, a dotted one that of this model, if it is another one.

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> from cofactor.model_selection import choose
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"] * 5
        >>> model = TopicModel(2, random_state=0)
        >>> choice = choose(model, texts, n_components=[1, 2, 3], runs=2)
        >>> axes = model.plot_choice(choice)
        >>> len(axes)
        4
        """
        import cofactor

        return cofactor.report.plot_choice(self, choice)

    def show(
        self,
        documents: Iterable[Any] | None = None,
        y: Any = None,
        *,
        height: int = 700,
        **options: Any,
    ) -> Any:
        """Show the report in a notebook. It needs ``cofactor[report]``.

        Parameters
        ----------
        documents : iterable of str, optional
            Documents to show and to test with, such as those of the fit. The model keeps none.
        y : array-like, optional
            Their labels, as for ``fit``.
        height : int, default=700
            Height in pixels.
        **options
            ``truth``, ``text``, ``title``, ``source``, ``rows``, ``dates`` and ``every``, as in
            :func:`cofactor.write_report`.

        Returns
        -------
        ShownReport
            The last line of a notebook's cell shows it, in a frame that sends no request and reads
            nothing of the notebook. Elsewhere its ``save`` writes the file that ``report`` writes.

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
        >>> model.show()
        A report of ... MB: a notebook shows it here; elsewhere save('report.html') writes it, and
        any browser opens that file.
        """
        check_is_fitted(self, "estimator_")
        import cofactor

        return cofactor.report.show_report(self, documents, y, height=height, **options)

    def save(self, path: str | os.PathLike[str], *, notes: dict[str, Any] | None = None) -> None:
        """Write the model to a folder that :func:`cofactor.load_model` reads.

        Parameters
        ----------
        path : str or path
            The folder. An older model there is replaced in one step.
        notes : dict, optional
            JSON to keep with the model; see :func:`cofactor.save`.

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
        >>> import cofactor, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/model")
        ...     cofactor.load_model(f"{folder}/model").predict(["moon"]).tolist()
        ['space']
        """
        import cofactor

        cofactor.save(self, path, notes=notes)

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
        """Write a report: one HTML file that works offline. It needs ``cofactor[report]``.

        Parameters
        ----------
        path : str or path
            The file.
        documents : iterable of str, optional
            Documents to show and to test with, such as those of the fit. The model keeps none.
        y : array-like, optional
            Their labels, as for ``fit``.
        truth : array-like, optional
            Labels that the fit did not see, to test with.
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
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.report(f"{folder}/report.html").name
        'report.html'
        """
        import cofactor

        return cofactor.write_report(self, path, documents, y, truth=truth, text=text, **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor" if self.task == "numbers" else "classifier"
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.target_tags.required = False
        return tags
