"""Why one class and not the next one, and what a single word changes.

Scores add up over words, topics and a base, so the difference of two classes' scores does, too.
Where a document may have several labels, each label competes with its threshold instead of another
label, and the threshold is taken from the base.

A word is left out in the document's row: its cell becomes 0. A row of length one, as most
vectorizers make them, stays of length one. So the prediction is that of the text without the word;
pairs of words and sequences of characters count on their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from cofactor.errors import Parameter, ParameterError
from cofactor.io.errors import suggestion
from cofactor.text.describe.predictions import (
    label_thresholds,
    predict_rows,
    predicted_kind,
    read_predictions,
    scores_of,
)
from cofactor.text.describe.table import Table

SAME = 1e-5
"""Relative difference up to which a row is of length one."""


@dataclass(frozen=True, eq=False)
class Contrast:
    """What speaks for one class and against another: ``base``, ``words`` and ``topics`` add up to
    ``lead``.

    Parameters
    ----------
    target : object
        The class or label that is explained.
    rival : object
        The class that it is compared with; None for a label, which is compared with its threshold.
    lead : float
        Score of the target minus that of the rival, or minus the threshold.
    words : array (n_words,)
        Each word's contribution to the target minus that to the rival.
    topics : array (n_topics,)
        The same for the topics' own contributions.
    base : float
        The same for the part of no word.

    Examples
    --------
    >>> from cofactor import TopicModel
    >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
    >>> model = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""])
    >>> lead = model.explain("rocket or goal").contrast
    >>> lead.target, lead.rival, lead.lead > 0
    ('space', 'sport', True)
    """

    target: Any
    rival: Any
    lead: float
    words: np.ndarray
    topics: np.ndarray
    base: float


@dataclass(frozen=True)
class LeftOut:
    """What is predicted for a document without one of its words."""

    word: str
    prediction: Any
    probability: float | None  # of the class or label that is explained; None for numbers
    change: float  # of that probability, or of the number, by leaving out the word


def choose_pair(
    model: Any, scores: np.ndarray, target: Any = None, rival: Any = None
) -> tuple[int | None, int | None]:
    """Return the places of the target to explain and of the class to compare it with.

    The default target is the predicted class, the label that leads its threshold most, or the
    largest number; the default rival is the class with the highest score among the others.
    """
    kind, names = predicted_kind(model.estimator_), list(model.target_names_)
    if rival is not None and kind != "classes":
        raise ParameterError(
            (Parameter("rival", rival), " is given, but the model does not choose between classes"),
            "leave it out",
        )
    if kind == "topics":
        if target is not None:
            raise ParameterError(
                (Parameter("target", target), " is given, but the model has no labels"),
                "leave it out",
            )
        return None, None
    leads = scores - label_thresholds(model.estimator_)
    first = int(np.argmax(leads)) if target is None else _place(names, target, "target")
    others = [int(c) for c in np.argsort(-scores, kind="stable") if c != first]
    if kind != "classes" or not others:
        return first, None
    second = others[0] if rival is None else _place(names, rival, "rival")
    if second == first:
        raise ParameterError(
            (Parameter("rival", rival), " is the class itself"), "name another class"
        )
    return first, second


def _place(names: list[Any], wanted: Any, parameter: str) -> int:
    """Return the place of a name; names that are not text may be given as text, too."""
    for place, name in enumerate(names):
        if name == wanted or str(name) == wanted:
            return place
    known = suggestion(str(wanted), [str(name) for name in names])
    raise ParameterError((Parameter(parameter, wanted), " is not known to the model"), known)


def contrast_with(told: Any, estimator: Any, rival: int | None) -> Contrast | None:
    """Return what speaks for the explained target of an Explanation and against a rival, or for a
    label against its threshold; None where nothing competes."""
    kind, c = predicted_kind(estimator), told.explained
    if kind not in ("classes", "sets") or (kind == "classes" and rival is None):
        return None
    words, topics = told.class_parts[:, c], told.topic_scores[:, c]
    lead, base = told.scores[c], told.base[c]
    if rival is None:
        threshold = label_thresholds(estimator)[c]
        lead, base = lead - threshold, base - threshold
    else:
        words, topics = words - told.class_parts[:, rival], topics - told.topic_scores[:, rival]
        lead, base = lead - told.scores[rival], base - told.base[rival]
    name = None if rival is None else told.classes[rival]
    return Contrast(told.classes[c], name, float(lead), words, topics, float(base))


def leave_out(
    model: Any, X: Any, places: Sequence[int], words: Sequence[str], c: int
) -> Table[LeftOut]:
    """Predict a document without some of its words, one at a time.

    Parameters
    ----------
    model : TopicModel
        A fitted model.
    X : sparse array (1, n_words)
        The document's row of the matrix.
    places : sequence of int
        Columns of the words to leave out.
    words : sequence of str
        These words.
    c : int
        Place of the target whose probability is told.
    """
    if not len(places):
        return Table([], LeftOut)
    estimator, x = model.estimator_, np.asarray(X.toarray()[0])
    rows = csr_array(np.vstack([x, *(row_without(x, j) for j in places)]))
    scores = scores_of(estimator, rows, np.asarray(estimator.transform(rows)))
    P, numbers = predict_rows(estimator, scores)
    values = (numbers.reshape(len(scores), -1) if P is None else P)[:, c].tolist()
    predicted = read_predictions(estimator, scores, model.target_names_)[0]
    found = [
        LeftOut(word, predicted[i], None if P is None else values[i], values[i] - values[0])
        for i, word in enumerate(words, 1)
    ]
    return Table(found, LeftOut)


def row_without(x: np.ndarray, j: int) -> np.ndarray:
    """Return a row with cell j set to 0; a row of length one stays of length one.

    Examples
    --------
    >>> row_without(np.array([0.6, 0.8]), 0), row_without(np.array([2.0, 3.0]), 0)
    (array([0., 1.]), array([0., 3.]))
    """
    rest = x.copy()
    rest[j] = 0
    for order in (1, 2):
        length = np.linalg.norm(rest, order)
        if length > 0 and abs(np.linalg.norm(x, order) - 1) < SAME:
            return np.asarray(rest / length)
    return rest
