"""Topic models in model selection: documents become a matrix once, and many fits use it."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from cofactor.estimators.base import ending_at_interrupts
from cofactor.estimators.validation import as_divergence
from cofactor.model_selection.problem import Problem, settled_labels, vary_start
from cofactor.model_selection.stability import stability_interval, topic_stability
from cofactor.targets.classes import listed, read_targets
from cofactor.targets.reading import is_matrix, readable
from cofactor.text.class_names import descriptions_of, task_of
from cofactor.text.describe.predictions import has_head
from cofactor.text.describe.table import Table
from cofactor.text.documents import DocumentRows, FittedDocuments, document_matrix, read_documents
from cofactor.text.fitting import FitPlan, draw_seed, fit_estimator, fit_side, plan_fit, vectorise


@dataclass(frozen=True)
class TopicStability:
    """How stable a topic is in bootstrap samples of documents and labels."""

    topic: int
    name: str
    stability: float  # mean cosine of the topic and its match
    low: float  # 95 % of the samples are between low and high
    high: float


def measure_stability(
    model: Any,
    documents: Any,
    y: Any,
    runs: int,
    random_state: Any,
    progress: Callable[[int], None] = lambda done: None,
) -> np.ndarray:
    """Refit on bootstrap samples; return the similarity of each topic to its match in each sample.

    Parameters are those of ``TopicModel.stability``; ``progress`` is called with the number of
    finished fits.
    """
    if y is None and has_head(model.estimator_) and not descriptions_of(model):
        raise ValueError("y is None, but the model was fitted with labels; pass them.")
    texts, estimator = read_documents(documents), model.estimator_
    X = document_matrix(model.vectorizer_, texts)
    known, side = FittedDocuments.known(model, texts), None
    if y is None and has_head(estimator):  # names of classes give labels
        earlier, vectorizer = model.fitted.further, model.vectorizer_
        side = fit_side(
            model, vectorizer, texts, X, None, "classes", known=known, earlier=earlier
        ).side
    rows = DocumentRows(X, side)
    classes = getattr(estimator, "classes_", None)
    y = None if y is None or not has_head(estimator) else read_targets(y, classes)
    seed = model.seed_ if random_state is None else draw_seed(random_state)
    again = copy.copy(model).set_callbacks()

    def refit(counts: np.ndarray, own_seed: int) -> np.ndarray:
        given = {"sample_weight": counts, **rows.given}
        found, _ = fit_estimator(again, model.vectorizer_, X, y, seed=own_seed, **given)
        return np.asarray(found.components_)

    with ending_at_interrupts(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return topic_stability(
            estimator, X, y, runs=runs, random_state=seed, refit=refit, progress=progress
        )


def stability_table(names: list[str], similarities: np.ndarray) -> Table[TopicStability]:
    """Return the stability of topics with its interval, as a table."""
    columns = zip(names, *(part.tolist() for part in stability_interval(similarities)), strict=True)
    return Table([TopicStability(k, *row) for k, row in enumerate(columns)], TopicStability)


# ---- cofactor.model_selection.choose


def matrix_problem(model: Any, documents: Any, y: Any) -> Problem:
    """Vectorise documents; return them with a function that plans a fit to some of the rows."""
    texts, y = read_documents(documents), read_targets(listed(y))
    task = task_of(model, y)
    labels, known = None, np.zeros(len(texts), dtype=bool)
    if task != "topics" and y is not None:
        is_matrix(readable(y, "y"), len(texts))  # compares the numbers of rows
        labels, known = settled_labels(y, numbers=task == "numbers")
    unfitted = clone(model)
    if task == "numbers":  # a subset of the numbers may be all whole
        unfitted.set_params(task=task)
    vectorizer, X = vectorise(model, texts, y)
    return Problem(
        X,
        labels,
        known,
        partial(_plan, unfitted, vectorizer, bool(known.any())),
        as_divergence("data_loss", model.data_loss),
        model.random_state,
        model.n_jobs,
        counts=sp.csc_array(X),
        numbers=task == "numbers",
        min_topics=max(len(model.seeds or ()), 1),
    )


def _plan(
    model: Any,
    vectorizer: Any,
    labelled: bool,
    X: Any,
    y: Any,
    seed: int,
    vary: bool,
    **parameters: Any,
) -> FitPlan:
    """Plan a fit of a model with other parameters, in one thread."""
    other = clone(model).set_params(n_jobs=1, **parameters)
    plan = plan_fit(other, vectorizer, X, y, seed=seed)
    if vary:
        vary_start(plan.estimator, labelled or plan.weak)
    return plan
