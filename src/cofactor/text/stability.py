"""Stability of the topics of a topic model, and its table."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from cofactor.model_selection.stability import stability_interval, topic_stability
from cofactor.targets.classes import read_targets
from cofactor.text.describe.predictions import has_head
from cofactor.text.describe.table import Table
from cofactor.text.documents import document_matrix
from cofactor.text.fitting import draw_seed, fit_estimator
from cofactor.text.interrupts import ending_at_interrupts


@dataclass(frozen=True)
class TopicStability:
    """How much of a topic is found again in other draws of documents and labels."""

    topic: int
    name: str
    stability: float  # mean cosine of the topic and its match
    low: float  # 95 % of the draws are between low and high
    high: float


def measure_stability(
    model: Any,
    documents: Any,
    y: Any,
    runs: int,
    random_state: Any,
    progress: Callable[[int], None] = lambda done: None,
) -> np.ndarray:
    """Fit draws of documents and labels; return the similarity of each topic in each draw.

    The documents become a matrix once, in the words of the model. Parameters are those of
    ``TopicModel.stability``; ``progress`` is told the number of finished fits.
    """
    if y is None and has_head(model.estimator_) and not model.seeds:
        raise ValueError("y is None, but the model was fitted with labels; pass them.")
    X, estimator = document_matrix(model.vectorizer_, documents), model.estimator_
    classes = getattr(estimator, "classes_", None)
    y = None if y is None or not has_head(estimator) else read_targets(y, classes)
    seed = model.seed_ if random_state is None else draw_seed(random_state)
    again = copy.copy(model).set_callbacks()

    def refit(counts: np.ndarray, own_seed: int) -> np.ndarray:
        found, _ = fit_estimator(
            again, model.vectorizer_, X, y, seed=own_seed, sample_weight=counts
        )
        return np.asarray(found.components_)

    with ending_at_interrupts(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return topic_stability(
            estimator, X, y, runs=runs, random_state=seed, refit=refit, progress=progress
        )


def stability_table(names: list[str], similarities: np.ndarray) -> Table[TopicStability]:
    """Return the stability of topics with its interval."""
    columns = zip(names, *(part.tolist() for part in stability_interval(similarities)), strict=True)
    return Table([TopicStability(k, *row) for k, row in enumerate(columns)], TopicStability)
