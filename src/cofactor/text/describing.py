"""What a fitted topic model says of itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cofactor.estimators.validation import as_divergence
from cofactor.metrics.topics import top_places
from cofactor.text.describe import predictions, summaries
from cofactor.text.describe.explain import Explanation, topic_parts
from cofactor.text.describe.table import Table


class Descriptions:
    """The part of :class:`TopicModel` that describes; it needs a fitted model."""

    estimator_: Any
    vectorizer_: Any
    document_topics_: np.ndarray
    topic_names_: list[str]
    target_names_: list
    coherence_: np.ndarray
    data_loss: Any

    def topics(self, n_words=10) -> Table[summaries.Topic]:
        """Describe the topics.

        Parameters
        ----------
        n_words : int, default=10
            Words of each topic.

        Returns
        -------
        Table
            topic, name, words, weights, share of the corpus, label (the class it speaks for most)
            and its weight, coherence.
        """
        check_is_fitted(self, "estimator_")
        rows = summaries.topic_rows(
            self._words(), self.estimator_.components_, self.document_topics_, self.topic_names_,
            self.coherence_, *self._links(), n_words,
        )  # fmt: skip
        return Table(rows, summaries.Topic)

    def _links(self) -> tuple[list, list]:
        """Return the class of each topic, and how much the topic says so."""
        model = self.estimator_
        if not predictions.has_head(model):
            return [None] * len(model.components_), [None] * len(model.components_)
        B = summaries.topic_labels(model.components_, model.target_components_)
        best = B.argmax(axis=1)
        weight = B.max(axis=1)
        if not predictions.is_numeric(model):
            weight = weight / np.maximum(B.sum(axis=1), 1e-300)
        return [self.target_names_[c] for c in best], weight.tolist()

    def documents(self, X=None) -> Table[summaries.Document]:
        """Describe documents: main topic and its share, prediction and confidence.

        Parameters
        ----------
        X : iterable of str, optional
            Documents; by default those that the model was fitted on.

        Returns
        -------
        Table
        """
        check_is_fitted(self, "estimator_")
        S = self.document_topics_ if X is None else self.transform(X)  # type: ignore[attr-defined]
        said = predictions.read_scores(self.estimator_, S, self.target_names_)
        rows = summaries.document_rows(S, self.estimator_.components_, self.topic_names_, *said)
        return Table(rows, summaries.Document)

    def classes(self, n_words=10) -> Table[summaries.TopicClass]:
        """Describe the classes: keywords, and the part of each topic in them.

        Parameters
        ----------
        n_words : int, default=10
            Keywords of each class.

        Returns
        -------
        Table
            Empty without a target.
        """
        check_is_fitted(self, "estimator_")
        model, words = self.estimator_, self._words()
        if not predictions.has_head(model):
            return Table([], summaries.TopicClass)
        parts = summaries.class_topics(self.document_topics_, model.target_components_)
        shares = summaries.corpus_shares(self.document_topics_, model.components_)
        scores = summaries.keyword_scores(parts, shares, summaries.profiles(model.components_))
        rows = [
            summaries.TopicClass(
                name, tuple(words[top_places(score, n_words)]), tuple(part.tolist())
            )
            for name, part, score in zip(self.target_names_, parts, scores, strict=True)
        ]
        return Table(rows, summaries.TopicClass)

    def explain(self, text) -> Explanation:
        """Tell which words of a text speak for which topic and which class.

        Parameters
        ----------
        text : str

        Returns
        -------
        Explanation
            Its parts add up to the representation and to the score of the prediction.
        """
        if not isinstance(text, str):
            raise TypeError(f"text is of type {type(text).__name__}; pass one string.")
        return self._explained(self._matrix([text]), self._unknown(text))  # type: ignore[attr-defined]

    def _explained(self, X, unknown: list[str]) -> Explanation:
        """Explain a document by its row in a matrix."""
        model, x = self.estimator_, X.toarray()[0]
        s, here = model.transform(X)[0].astype(float), np.flatnonzero(x)
        loss = as_divergence("data_loss", self.data_loss)
        parts = topic_parts(x[here], model.components_.T[here].astype(float), s, loss)
        return Explanation(
            list(self._words()[here]), x[here], list(self.topic_names_), s, parts,
            list(self.target_names_) if predictions.has_head(model) else [],
            *self._class_parts(s, parts),
            predictions.read_scores(model, s[None], self.target_names_)[0][0],
            unknown,
        )  # fmt: skip

    def _class_parts(self, s, parts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the scores, each word's part in them, and what no word has a part in."""
        if not predictions.has_head(self.estimator_):
            return np.zeros(0), np.zeros((len(parts), 0)), np.zeros(0)
        B = self.estimator_.target_components_.astype(float)
        scale, base = predictions.score_scale(self.estimator_, s @ B)
        wordless = np.where(parts.any(axis=0), 0.0, s)
        return scale * (s @ B) + base, scale * (parts @ B), base + scale * (wordless @ B)

    def _unknown(self, text) -> list[str]:
        if not hasattr(self.vectorizer_, "build_analyzer"):
            return []
        found, known = self.vectorizer_.build_analyzer()(text), set(self._words())
        return list(dict.fromkeys(word for word in found if word not in known))

    def _words(self) -> np.ndarray:
        return np.asarray(self.vectorizer_.get_feature_names_out(), dtype=object)
