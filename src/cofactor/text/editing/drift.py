"""What moved between a model and the model that came out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cofactor.estimators.inference import topic_shares
from cofactor.metrics.topics import topic_similarity, word_changes
from cofactor.text.describe.answers import represent
from cofactor.text.describe.compare import common_order
from cofactor.text.describe.predictions import read_predictions
from cofactor.text.describe.summaries import model_words
from cofactor.text.describe.table import Table


@dataclass(frozen=True)
class TopicDrift:
    """How one topic moved: a row of ``drift_``, which ``refit`` and ``update`` leave.

    Parameters
    ----------
    topic : int
        Number in the new model.
    name : str
        Name in the new model.
    before : int or None
        Number before; None for a new topic.
    similarity : float or None
        Cosine with the topic before, over the words of both.
    gained, lost : tuple of str
        Words that came, and words that went.
    documents : int
        Documents whose main topic it is.
    came : int
        Documents whose main topic was another one before.
    went : int
        Documents whose main topic it was, and is no longer.
    predictions : int
        Documents with this main topic whose prediction changed.

    Examples
    --------
    >>> from cofactor import TopicModel
    >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
    >>> model = TopicModel(2, random_state=0).fit(texts)
    >>> wider = model.update(["flour and yeast", "yeast and dough"] * 2, new_topics=1)
    >>> [(row.topic, row.before) for row in wider.drift_]
    [(0, 0), (1, 1), (2, None)]
    """

    topic: int
    name: str
    before: int | None
    similarity: float | None
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    documents: int
    came: int
    went: int
    predictions: int


def measure_drift(
    before: Any, after: Any, sources: Sequence[int | None], old_X: Any, X: Any, n_words: int = 10
) -> Table[TopicDrift]:
    """Return how each topic of ``after`` moved.

    Parameters
    ----------
    before, after : TopicModel
    sources : sequence of int or None
        The topic of ``before`` that each topic of ``after`` was.
    old_X, X : sparse arrays
        The same documents in the words of either model.
    n_words : int
        Number of words that are compared.
    """
    by = common_order(before, after)
    old_words, words = (m.topics(n_words, by=by).column("words") for m in (before, after))
    similarity = topic_similarity(
        before.estimator_.components_,
        after.estimator_.components_,
        model_words(before),
        model_words(after),
    )
    (old_main, old_predicted), (main, predicted) = _answers(before, old_X), _answers(after, X)
    target = {k: new for new, k in enumerate(sources) if k is not None}
    was = np.array([target.get(k, -1) for k in old_main.tolist()])
    pairs = zip(old_predicted, predicted, strict=True)
    changed = np.array([one != other for one, other in pairs], dtype=bool)
    rows = []
    for new, k in enumerate(sources):
        change = word_changes(() if k is None else old_words[k], words[new])
        rows.append(
            TopicDrift(
                new,
                after.topic_names_[new],
                k,
                None if k is None else float(similarity[k, new]),
                change["gained"],
                change["lost"],
                int((main == new).sum()),
                int(((main == new) & (was != new)).sum()),
                int(((main != new) & (was == new)).sum()),
                int((changed & (main == new)).sum()),
            )
        )
    return Table(rows, TopicDrift)


def _answers(model: Any, X: Any) -> tuple[np.ndarray, list[Any]]:
    """Return the strongest topic of each document, −1 where there is none, and its prediction."""
    estimator = model.estimator_
    S, scores = represent(model, X)
    shares = topic_shares(S, estimator.components_)
    main = np.where(shares.sum(axis=1) > 0, shares.argmax(axis=1), -1)
    return main, read_predictions(estimator, scores, model.target_names_)[0]
