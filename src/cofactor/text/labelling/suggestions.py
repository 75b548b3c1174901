"""Documents to label next, each with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse as sp
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state

from cofactor.estimators.inference import topic_shares
from cofactor.targets.classes import read_targets
from cofactor.targets.reading import known_values, labelled_mask
from cofactor.text.describe.answers import answers_of, represent
from cofactor.text.describe.predictions import label_thresholds, predicted_kind
from cofactor.text.describe.support import topic_counts
from cofactor.text.describe.table import Table
from cofactor.text.documents import known_matrix, read_documents
from cofactor.text.labelling.choice import STRATEGIES, Candidates, choose_rows


@dataclass(frozen=True)
class ToLabel:
    """A document to label."""

    document: int
    reason: str
    prediction: Any  # what the model would say; None without labels
    confidence: float | None
    topic: int
    name: str  # of the topic


def suggest(
    model: Any, documents: Any, n: int, y: Any, strategy: str, random_state: Any
) -> Table[ToLabel]:
    """Choose documents to label; parameters are those of ``TopicModel.to_label``."""
    if strategy not in STRATEGIES:
        raise ValueError(
            f"strategy={strategy!r} must be one of {', '.join(map(repr, STRATEGIES))}."
        )
    if not (isinstance(n, int | np.integer) and n > 0):
        raise ValueError(f"n={n!r} must be a whole number of at least 1.")
    X = known_matrix(model, read_documents(documents))
    S, scores = represent(model, X)
    candidates = candidates_of(model, X, S, scores, y)
    seed = check_random_state(model.seed_ if random_state is None else random_state)
    random = np.random.default_rng(seed.randint(2**31 - 1))
    chosen = choose_rows(candidates, int(n), strategy, random)
    rows = [row for row, _ in chosen]
    told = answers_of(model, S[rows], scores[rows]).documents
    found = [
        ToLabel(row, reason, one.prediction, one.confidence, one.topic, one.name)
        for (row, reason), one in zip(chosen, told, strict=True)
    ]
    return Table(found, ToLabel)


def candidates_of(
    model: Any, X: sp.csr_array, S: np.ndarray, scores: np.ndarray, y: Any
) -> Candidates:
    """Return documents as `choose_rows` takes them."""
    shares = topic_shares(S, model.estimator_.components_)
    labelled = labelled_documents(model, y, X.shape[0])
    covered = getattr(model, "topic_support_", np.zeros(shares.shape[1])) > 0
    covered |= topic_counts(shares, labelled, labelled[:, None])["topic_support_"] > 0
    rows = sp.csr_array(normalize(X.astype(float)))
    margins, classes = close_calls(model.estimator_, scores)
    return Candidates(rows, shares, margins, classes, labelled, covered)


def labelled_documents(model: Any, y: Any, n: int) -> np.ndarray:
    """Tell which documents have a label."""
    if y is None:
        return np.zeros(n, dtype=bool)
    y = read_targets(y)
    classes = getattr(model.estimator_, "classes_", None)
    numbers = predicted_kind(model.estimator_) == "numbers"
    found = known_values(y) if numbers else labelled_mask(y, classes=classes)
    if len(found) != n:
        raise ValueError(
            f"y has {len(found)} entries, but there are {n} documents; pass one for each."
        )
    return found


def close_calls(
    estimator: Any, scores: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | tuple[None, None]:
    """Return how far the best class of each document is ahead of the next one, and that class.

    For several labels a document they are how far the closest label is from its threshold, and that
    label. None for numbers and without labels.
    """
    kind = predicted_kind(estimator)
    if kind not in ("classes", "sets") or scores.shape[1] < 2:
        return None, None
    if kind == "sets":
        distances = np.abs(scores - label_thresholds(estimator))
        return distances.min(axis=1), distances.argmin(axis=1)
    P = np.asarray(estimator.probabilities(scores))
    two = np.sort(P, axis=1)[:, -2:]
    return two[:, 1] - two[:, 0], P.argmax(axis=1)
