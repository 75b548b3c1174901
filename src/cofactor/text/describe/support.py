"""Labels behind topics: how many there are, and how far a topic's link to a class can be trusted.

The support of a topic is the number of labelled documents that are mostly of it. A link is the
probability of a class for a document that is all one topic. It is shown shrunk: as if every topic
had `IMAGINED` more labels, which have the classes in the shares of all labels. (This is the mean of
a Dirichlet posterior, in which the labels behind the topic speak for what the link says.) If a
fifth of all labels have the class, 98 % from a single label becomes 46 %, and 95 % from fifty.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cofactor.estimators.inference import topic_shares
from cofactor.targets.classes import encode_classes
from cofactor.targets.reading import read_numbers, readable, tall
from cofactor.text.describe.predictions import has_head, predicted_kind

SUPPORT = ("topic_support_", "topic_labels_")
"""Attributes of a model that hold the labels behind its topics; streams and older models lack
them."""
IMAGINED = 2.0
"""Number of imagined labels of each topic."""


def count_labels(estimator: Any, S: np.ndarray, y: Any) -> dict[str, np.ndarray]:
    """Count the labels behind each topic.

    Parameters
    ----------
    estimator : NMF, SSNMFClassifier or SSNMFRegressor
        A fitted estimator.
    S : array (n_documents, n_topics)
        Representations of documents.
    y : array-like or None
        Their labels, as the estimator reads them.

    Returns
    -------
    dict
        ``topic_support_`` (n_topics,), the labelled documents that are mostly of each topic, and
        ``topic_labels_`` (n_topics, n_targets), those among them that have each label, or a number.
    """
    k = estimator.target_components_.shape[1] if has_head(estimator) else 0
    if k == 0 or y is None:
        labelled, cells = np.zeros(len(S), dtype=bool), np.zeros((len(S), k), dtype=bool)
    else:
        labelled, cells = _known_cells(estimator, y, len(S))
    return topic_counts(topic_shares(S, estimator.components_), labelled, cells)


def topic_counts(
    shares: np.ndarray, labelled: np.ndarray, cells: np.ndarray
) -> dict[str, np.ndarray]:
    """Count labels by the main topics of documents with these shares; see `count_labels`."""
    rows = np.flatnonzero(labelled & shares.any(axis=1))
    main, r = shares[rows].argmax(axis=1), shares.shape[1]
    counts = np.zeros((r, cells.shape[1]), dtype=np.int64)
    np.add.at(counts, main, cells[rows])
    return {"topic_support_": np.bincount(main, minlength=r), "topic_labels_": counts}


def _known_cells(estimator: Any, y: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which documents are labelled, and which labels they have."""
    if predicted_kind(estimator) == "numbers":
        known = ~np.isnan(tall(read_numbers(readable(y, "y"), "y")))
        return np.asarray(known.any(axis=1)), known
    targets, _ = encode_classes(y, n_samples=n, coding=estimator.coding)
    values = targets.values
    return targets.labelled, (values.toarray() if hasattr(values, "toarray") else values) > 0


def shrink_links(links: np.ndarray, support: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Shrink links to the shares of the classes among all labels (n_topics × n_classes).

    Parameters
    ----------
    links : array (n_topics, n_classes)
        Probabilities of the classes, or of the labels, for each topic.
    support, labels : array (n_topics,) and (n_topics, n_classes)
        What `count_labels` returns.

    Examples
    --------
    >>> links = np.array([[0.98, 0.02], [0.02, 0.98]])
    >>> shrink_links(links, np.array([1, 99]), np.array([[1, 0], [0, 99]])).round(2)
    array([[0.33, 0.67],
           [0.02, 0.98]])
    """
    total, own = support.sum(), support[:, None]
    shares = labels.sum(axis=0) / total if total else np.full(links.shape[1], 1 / links.shape[1])
    return np.asarray((own * links + IMAGINED * shares) / (own + IMAGINED))
