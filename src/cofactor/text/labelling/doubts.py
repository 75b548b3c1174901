"""Labels that look wrong, because models fitted without them predict another class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax

from cofactor.engine.observations import observe
from cofactor.engine.threads import Threads
from cofactor.errors import Parameter, ParameterError
from cofactor.linear.pool import PartlyLabelled, held_out_scores
from cofactor.linear.views import Side
from cofactor.targets.classes import encode_classes, label_shares, read_targets
from cofactor.text.describe.table import Table
from cofactor.text.documents import DocumentRows, known_rows, read_documents


@dataclass(frozen=True)
class DoubtfulLabel:
    """A label that looks wrong."""

    document: int
    label: Any  # as it is given
    suggestion: Any  # the class that seems right
    probability: float  # of the suggestion
    label_probability: float  # of the given label


def doubtful_labels(model: Any, documents: Any, y: Any) -> Table[DoubtfulLabel]:
    """Return the labels that look wrong, the most doubtful first.

    Linear models of the words, and of whatever else the model predicts from, predict each label
    from the other folds. These are the models whose held-out predictions weight the parts of the
    pooled head. The fitted ``model`` only vectorises the documents; ``y`` has one class per
    document, unknown ones marked as in ``fit``.
    """
    rows = known_rows(model, read_documents(documents))
    X = rows.X
    targets, coding = encode_classes(read_targets(y), n_samples=X.shape[0])
    if coding.kind != "multiclass":
        raise ParameterError(
            (Parameter("y"), " holds several labels per document, whose doubts cannot be ranked"),
            "give one class for each document, such as a single column of 0 and 1",
        )
    shares = label_shares(targets)
    labels = np.where(targets.labelled, shares.argmax(axis=1), -1)
    log_p = judge_labels(X, labels, model.n_jobs, rows.side)
    if log_p is None:
        known = labels[labels >= 0]
        raise ValueError(
            "y needs at least two classes, and two labels of one class, to judge labels by the "
            f"others; it has {len(known)} labels of {len(np.unique(known))} classes. "
            "Add labels."
        )
    return rank_doubts(log_p, labels, coding.classes.tolist())


def judge_labels(
    X: Any,
    labels: np.ndarray,
    n_jobs: int | None = None,
    side: Side | None = None,
    *,
    exposed: bool = False,
) -> np.ndarray | None:
    """Return log-probabilities of the classes from models that were fitted without each label.

    Parameters
    ----------
    X : csr_array (n, m)
        Documents; those without words or a side are not judged.
    labels : array (n,)
        Indices of the classes; −1 is unlabelled.
    n_jobs : int, optional
        Number of threads.
    side : Side, optional
        Vectors and further words of the documents.
    exposed : bool, default=False
        Whether the total of a row is a scale.

    Returns
    -------
    array (n, k) or None
        Rows that are not judged are NaN. None if there are too few labels.
    """
    judged = (labels >= 0) & DocumentRows(X, side).filled
    sizes = np.bincount(labels[judged], minlength=max(1, int(labels.max()) + 1))
    if np.count_nonzero(sizes) < 2 or sizes.max() < 2:
        return None
    shares = np.eye(len(sizes))[np.maximum(labels, 0)]
    seen = sizes > 0
    found = np.full(shares.shape, -np.inf)
    with Threads(n_jobs) as threads:
        ones = np.ones(len(labels))
        given = PartlyLabelled(
            observe(X), ones, shares[:, seen], judged, side=side, exposed=exposed
        )
        scores = held_out_scores(given, threads)
    found[:, seen] = log_softmax(scores, axis=1)
    return found


def rank_doubts(log_p: np.ndarray, labels: np.ndarray, classes: list[Any]) -> Table[DoubtfulLabel]:
    """Return the labels that are not the most probable class, the least probable label first.

    Parameters are those of `judge_labels`, its result, and the names of the classes.
    """
    judged = np.flatnonzero(~np.isnan(log_p).any(axis=1))
    best, own = log_p[judged].argmax(axis=1), labels[judged]
    given = log_p[judged, own]
    P = np.exp(log_p[judged])
    rows = [
        DoubtfulLabel(
            int(judged[i]),
            classes[own[i]],
            classes[best[i]],
            float(P[i, best[i]]),
            float(P[i, own[i]]),
        )
        for i in np.argsort(given, kind="stable")
        if best[i] != own[i]
    ]
    return Table(rows, DoubtfulLabel)
