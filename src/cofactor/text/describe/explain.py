"""Which words speak for which topic and class; parts add up to the prediction.

At the best representation s of a document x, with p = As, what pulls each s_k > 0 up balances what
pushes it down:

    Σ_j pull_jk = push_k,   pull_jk = a_jk · (log·x_j/p_j + down·x_j + inverse·x_j/p_j²),

the numerator of the multiplicative rule, for any divergence; so s_k = Σ_j s_k · pull_jk / push_k:
each word has its part. For Kullback–Leibler that is x_j times topic k's share in p_j, per unit of
the topic. We divide by Σ_j pull_jk in place of push_k, so that the parts add up whatever the last
digit of s.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cofactor.divergences import Divergence
from cofactor.text.describe.table import Table


@dataclass(frozen=True)
class WordPart:
    """What one word of a document does."""

    word: str
    weight: float  # in the document, tf-idf
    topic: str  # the topic it speaks for most
    topic_part: float  # its part in that topic's strength in the document
    speaks_for: Any  # the class it speaks for most
    contribution: float  # to the score of the predicted class


@dataclass(frozen=True, eq=False)
class Explanation:
    """A prediction taken apart.

    ``topic_parts`` sum over words to ``topics``; ``class_parts`` sum over words, plus ``base``, to
    ``scores``. For classes the scores are probabilities, for numbers the predictions; of
    multi-label targets they are the fitted values, which ``predict_proba`` clips to 0 … 1.

    Parameters
    ----------
    words : list of str
        The document's words that the model knows.
    weights : array (n_words,)
        Their weights in the document.
    topic_names : list of str
        Names of the topics.
    topics : array (n_topics,)
        The document's representation.
    topic_parts : array (n_words, n_topics)
        Each word's part in it.
    classes : list
        Classes, or names of numeric targets; empty without a target.
    scores : array (n_classes,)
        What the prediction is read from.
    class_parts : array (n_words, n_classes)
        Each word's contribution to the scores.
    base : array (n_classes,)
        What no word contributes: the offset of numeric targets, equal shares for an empty document.
    prediction : object
        As ``predict`` gives it; None without a target.
    unknown : list of str
        Words that the model does not know.
    """

    words: list[str]
    weights: np.ndarray
    topic_names: list[str]
    topics: np.ndarray
    topic_parts: np.ndarray
    classes: list
    scores: np.ndarray
    class_parts: np.ndarray
    base: np.ndarray
    prediction: Any = None
    unknown: list[str] = field(default_factory=list)

    @property
    def predicted(self) -> int | None:
        """Place of the class with the highest score; None without a target."""
        return int(np.argmax(self.scores)) if len(self.classes) else None

    @property
    def table(self) -> Table[WordPart]:
        """The words, those that speak most for the prediction (or the main topic) first."""
        aim = self._aim()
        return Table([self._row(j, aim) for j in np.argsort(-aim, kind="stable")], WordPart)

    def _aim(self) -> np.ndarray:
        if self.predicted is not None:
            return self.class_parts[:, self.predicted]
        return self.topic_parts[:, int(np.argmax(self.topics))]

    def _row(self, j: int, aim: np.ndarray) -> WordPart:
        topic = int(np.argmax(self.topic_parts[j]))
        best = self.classes[int(np.argmax(self.class_parts[j]))] if self.classes else None
        return WordPart(
            self.words[j], float(self.weights[j]), self.topic_names[topic],
            float(self.topic_parts[j, topic]), best, float(aim[j]),
        )  # fmt: skip

    def __repr__(self) -> str:
        head = ""
        if self.predicted is not None:
            head = f"{self.prediction} (score {self.scores[self.predicted]:.3g})\n"
        unknown = f"\nnot known: {' '.join(self.unknown)}" if self.unknown else ""
        return f"{head}{self.table!r}{unknown}"


def topic_parts(x: np.ndarray, A: np.ndarray, s: np.ndarray, loss: Divergence) -> np.ndarray:
    """Divide a representation among the words of its document.

    Parameters
    ----------
    x : array (n_words,)
        Weights of the words in the document.
    A : array (n_words, n_topics)
        The topics, at these words.
    s : array (n_topics,)
        The representation.
    loss : Divergence
        That of the data.

    Returns
    -------
    ndarray of shape (n_words, n_topics)
        Columns sum to s, except for a topic that no word of the document belongs to: 0.
    """
    p = A @ s
    with np.errstate(divide="ignore", invalid="ignore"):
        pull = loss.log * x / p + loss.down * x + loss.inverse * x / p**2
    pull = np.where(p > 0, pull, 0.0)[:, None] * A * (s > 0)
    largest = pull.max(axis=0, initial=0.0)
    pull = pull / np.where(largest > 0, largest, 1.0)
    return pull * np.divide(s, pull.sum(axis=0), out=np.zeros_like(s), where=largest > 0)
