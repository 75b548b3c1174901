"""A topic model as `cofactor.model_selection.choose` needs it: documents become a matrix once."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse as sp
from sklearn.base import clone

from cofactor.estimators.validation import as_divergence
from cofactor.model_selection.problem import Problem, settled_labels, vary_start
from cofactor.targets.reading import is_matrix, readable
from cofactor.targets.sets import listed, read_targets
from cofactor.text.describe.predictions import infer_task
from cofactor.text.documents import read_documents
from cofactor.text.fitting import FitPlan, plan_fit, to_matrix


def matrix_problem(model: Any, documents: Any, y: Any) -> Problem:
    """Vectorise documents; return them with a maker of estimators for some of their rows."""
    texts, y = read_documents(documents), read_targets(listed(y))
    task = infer_task(y) if model.task == "auto" else model.task
    labels, known = None, np.zeros(len(texts), dtype=bool)
    if task != "topics" and y is not None:
        is_matrix(readable(y, "y"), len(texts))  # which compares the numbers of rows
        labels, known = settled_labels(y, numbers=task == "numbers")
    copy = clone(model)
    if task == "numbers":  # some of the numbers may all be whole
        copy.set_params(task=task)
    vectorizer, X = to_matrix(model, texts, y)
    return Problem(
        X,
        labels,
        known,
        partial(_make, copy, vectorizer, bool(known.any())),
        as_divergence("data_loss", model.data_loss),
        model.random_state,
        model.n_jobs,
        counts=sp.csc_array(X),
        numbers=task == "numbers",
        min_topics=max(len(model.seeds or ()), 1),
    )


def _make(
    model: Any,
    vectorizer: Any,
    labelled: bool,
    X: Any,
    y: Any,
    seed: int,
    vary: bool,
    **parameters: Any,
) -> FitPlan:
    """Return the estimator of a model with other parameters, for one thread."""
    copy = clone(model).set_params(n_jobs=1, **parameters)
    plan = plan_fit(copy, vectorizer, X, y, seed=seed)
    if vary:
        vary_start(plan.estimator, labelled or plan.weak)
    return plan
