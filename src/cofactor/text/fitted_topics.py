"""`FittedTopics`: everything that a fit of a topic model leaves.

``TopicModel`` shows its fields as attributes. Edits, updates and streams make a new state, as for
estimators (`cofactor.estimators.fitted`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cofactor._fields import (
    FieldSizes,
    FittedState,
    array,
    checked,
    instance,
    number,
    strings,
    unsaved,
)
from cofactor._types import FloatArray, IntArray
from cofactor.estimators.base import Factorization
from cofactor.text.describe.topic_words import MAX_RANKED_WORDS
from cofactor.text.documents import Corpus, DocumentRows, FittedDocuments
from cofactor.text.editing.settled import Settled
from cofactor.text.encoders import EncoderRecord
from cofactor.text.further_words import FurtherWords

if TYPE_CHECKING:
    from cofactor.text.class_names import ClassStart
    from cofactor.text.describe.compare import TopicDrift
    from cofactor.text.describe.table import Table
    from cofactor.text.streams import Seeding


def _estimator_fault(value: Any, sizes: FieldSizes) -> str | None:
    if not isinstance(value, Factorization):
        return "is not an estimator"
    if not hasattr(value, "components_"):
        return "is not fitted"
    sizes["r"], sizes["m"] = value.components_.shape
    B = value.fitted.target_components
    sizes["k"] = 0 if B is None else B.shape[1]
    return None


def _vectorizer_fault(value: Any, sizes: FieldSizes) -> str | None:
    if not hasattr(value, "get_feature_names_out"):
        return "is not a vectorizer"
    n = len(value.get_feature_names_out())
    return None if n == sizes["m"] else f"has {n} words for {sizes['m']} columns of components_"


def _targets_fault(value: Any, sizes: FieldSizes) -> str | None:
    good = isinstance(value, list) and (not sizes["k"] or len(value) == sizes["k"])
    return None if good else "are not the names of the targets"


def _ranking_fault(value: Any, sizes: FieldSizes) -> str | None:
    good = isinstance(value, np.ndarray) and value.dtype.kind == "i" and value.ndim == 2
    if not (good and len(value) == sizes["r"]):
        return "is not a list of columns for each topic"
    if value.shape[1] > MAX_RANKED_WORDS:
        return f"has more than {MAX_RANKED_WORDS} columns"
    if not bool(((value >= -1) & (value < sizes["m"])).all()):
        return f"has an entry outside the {sizes['m']} words"
    rows = (row[row >= 0] for row in value)
    return "names a word twice" if any(len(np.unique(r)) < len(r) for r in rows) else None


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedTopics(FittedState):
    """The state of a fitted topic model.

    Parameters
    ----------
    estimator : Factorization
        The fitted estimator.
    vectorizer : object
        The fitted vectorizer.
    document_topics : array (n, r) or None
        Representations of the documents that the model describes; None if it forgot them.
    topic_names : list of str
    target_names : list
        Classes, or names of numeric targets.
    coherence, probable_coherence : array (r,)
        Mean NPMI of each topic's shown words, and of its most probable ones; NaN if not known.
    seed : int
        Seed of the start.
    timings : dict
        Seconds that each step took.
    fingerprint : str
        Digest of documents and labels.
    document_scores : array (n, k) or None
        Scores of the documents; a stream computes them when they are first needed.
    topic_words : array (r, ≤ MAX_RANKED_WORDS) or None
        Columns of the words that describe each topic, then −1; None: the most probable ones do.
    topic_support, topic_labels : array (r,) and (r, k), or None
        Number of labelled documents behind each topic, and of each label.
    stability : array (runs, r) or None
        Similarity of each topic to its match in bootstrap samples.
    settled : Settled or None
        What the user decided about the topics; None if nothing.
    encoder : EncoderRecord or None
        What is kept of the encoder whose vectors predictions need; None if they need none.
    further : FurtherWords or None
        Further words that predictions need; None if they need none.
    n_undescribed : int
        Number of documents of the fit that the model does not describe.
    learned : list of str or None
        Digests of the documents that updates added.
    class_starts : Table or None
        How names of classes gave the first labels; None if they did not.
    drift : Table or None
        How a refit or an update changed the topics.
    seeding : Seeding or None
        Seeds of a stream.
    batch : DocumentRows or None
        The last batch of a stream.
    documents : FittedDocuments or None
        The matrix of the fit, for a later refit.
    forgotten : Corpus or None
        What is left of documents that were forgotten.
    """

    estimator: Factorization = checked(_estimator_fault, name="estimator_")
    vectorizer: Any = checked(_vectorizer_fault, name="vectorizer_")
    document_topics: FloatArray | None = array(
        "n", "r", low=0, name="document_topics_", default=None
    )
    topic_names: list[str] = strings("r", name="topic_names_")
    target_names: list[Any] = checked(_targets_fault, name="target_names_")
    coherence: FloatArray = array("r", finite=False, name="coherence_")
    seed: int = number(int, name="seed_")
    timings: dict[str, float] = instance(dict, name="timings_")
    fingerprint: str = instance(str, name="fingerprint_")
    document_scores: FloatArray | None = array("n", "k", name="document_scores_", default=None)
    topic_words: IntArray | None = checked(_ranking_fault, name="topic_words_", default=None)
    probable_coherence: FloatArray | None = array(
        "r", finite=False, name="probable_coherence_", default=None
    )
    topic_support: IntArray | None = array(
        "r", kind="i", low=0, name="topic_support_", default=None
    )
    topic_labels: IntArray | None = array(
        "r", "k", kind="i", low=0, name="topic_labels_", default=None
    )
    stability: FloatArray | None = array(
        "runs", "r", low=0, high=1, name="stability_", default=None
    )
    settled: Settled | None = instance(Settled, name="settled_", default=None)
    n_undescribed: int = number(int, low=0, name="n_undescribed_", default=0)
    learned: list[str] | None = strings(name="learned_", default=None)
    encoder: EncoderRecord | None = instance(EncoderRecord, name="encoder_", default=None)
    further: FurtherWords | None = instance(FurtherWords, name="further_words_", default=None)
    class_starts: Table[ClassStart] | None = unsaved()
    drift: Table[TopicDrift] | None = unsaved()
    seeding: Seeding | None = unsaved()
    batch: DocumentRows | None = unsaved()
    documents: FittedDocuments | None = unsaved()
    forgotten: Corpus | None = instance(Corpus, name="forgotten_", default=None)

    @cached_property
    def corpus(self) -> Corpus:
        """What the model knows of all its documents together."""
        S = self.document_topics
        if S is not None:
            found = Corpus.of(S, self.estimator.components_)
            return replace(found, n_documents=found.n_documents + self.n_undescribed)
        assert self.forgotten is not None  # as `fault` checks
        return self.forgotten

    def without_documents(self, links: FloatArray | None) -> FittedTopics:
        """Return the state without anything that is kept of each document but `Corpus.links`."""
        estimator = self.estimator.fitted
        bare = replace(estimator, representation=estimator.representation[:0])
        return replace(
            self,
            estimator=self.estimator.with_fitted(bare),
            document_topics=None,
            document_scores=None,
            documents=None,
            batch=None,
            forgotten=replace(self.corpus, links=links),
        )

    def fault(self, sizes: FieldSizes) -> str | None:
        """Return what is wrong with the fields together, see `cofactor._fields`."""
        if (self.topic_words is None) != (self.probable_coherence is None):
            return "topic_words_ and probable_coherence_ need each other"
        if (vars(self)["document_topics"] is None) == (self.forgotten is None):
            return "document_topics_ and forgotten_ disagree"
        if (self.topic_support is None) != (self.topic_labels is None):
            return "topic_support_ and topic_labels_ need each other"
        if self.stability is not None and not len(self.stability):
            return "stability_ is empty"
        head = getattr(self.estimator, "pooled_head", None)
        width = None if head is None or head.vectors is None else len(head.vectors.mean)
        if width != (None if self.encoder is None else self.encoder.width):
            return "encoder_ does not fit the head of estimator_"
        if head is not None and head.further_weights is not None:
            found = 0 if self.further is None else len(self.further.names)
            if found != len(head.further_weights):
                return "further_words_ do not fit the head of estimator_"
        return None
