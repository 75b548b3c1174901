"""Refits the model's estimator, with some of the labels or with λ = 0."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from threading import Event
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from cofactor.callbacks import StopOnEvent
from cofactor.engine.factors import Factors
from cofactor.engine.threads import Threads, count_threads
from cofactor.estimators.base import ending_at_interrupts
from cofactor.report.material import Material
from cofactor.text import TopicModel
from cofactor.text.fitting import fit_estimator, fit_here

MANY_DOCUMENTS, MAX_HASTY_ITERATIONS = 5000, 15  # more documents than this limit the iterations
MAX_PARALLEL_ENTRIES = 2**24  # stored entries of the fits that run at the same time


class Request(NamedTuple):
    """One fit to do."""

    train: np.ndarray  # indices of the documents whose labels it sees
    changes: dict[str, Any]  # settings that differ from the model's


def refit(
    material: Material, requests: Sequence[Request], beside: Sequence[Callable[[], Any]] = ()
) -> tuple[list[Any], list[Any]]:
    """Refit the model's estimator on all documents and some of their labels, once per request.

    Return the estimators and the results of the tasks ``beside``. Fits and tasks run at the same
    time and share the model's threads; the results do not depend on the number of threads. Ctrl-C
    ends each fit at its next iteration, and no further task begins.
    """
    threads, end = count_threads(material.model.n_jobs), _SharedEnd()
    affordable = MAX_PARALLEL_ENTRIES // max(1, material.X.nnz)
    aside = max(1, min(threads, affordable, len(requests)))
    fits = [partial(_fit, material, each, threads // aside, end.event) for each in requests]
    tasks: list[Callable[[], Any]] = [*fits, *beside]

    def run(task: Callable[[], Any]) -> Any:
        with end.of_all():
            return task()

    with ending_at_interrupts(), warnings.catch_warnings(), Threads(aside) as pool, end.of_all():
        warnings.simplefilter("ignore", ConvergenceWarning)
        done = pool.map(run, tasks)
        return done[: len(requests)], done[len(requests) :]


class _SharedEnd:
    """Stops all fits at the first exception in any of them, and raises it to the caller."""

    def __init__(self) -> None:
        self.event = Event()
        self._first: BaseException | None = None

    @contextmanager
    def of_all(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            self._first = self._first or error
            self.event.set()
            raise self._first from None


def _fit(material: Material, request: Request, n_jobs: int, ended: Event) -> Any:
    model = copy.copy(material.model)
    task = "numbers" if material.kind == "numbers" else "classes"
    settings = {
        "task": task,
        "n_jobs": n_jobs,
        "max_iter": iteration_limit(material),
        **request.changes,
    }
    model.set_params(**settings).set_callbacks(StopOnEvent(ended))
    y = training_labels(material, request.train)
    side: dict[str, Any] = {"side": material.side} if model.head == "pooled" else {}
    given = material.X, y
    estimator, _ = fit_estimator(
        model, model.vectorizer_, *given, seed=model.seed_, fit=_fit_function(model), **side
    )
    return estimator.set_params(n_jobs=material.model.n_jobs)


def _fit_function(model: TopicModel) -> Callable[..., Any]:
    """Return a function that fits an estimator; totals stay scales if they are for the model.

    They matter for a pooled head only: classes of the others do not depend on totals.
    """
    exposed = model.head == "pooled" and getattr(model.estimator_, "is_exposed", False)

    def fit(estimator: Any, X: Any, y: Any, **weights: Any) -> Any:
        return fit_here(estimator.set_params(exposure="total"), X, y, **weights)

    return fit if exposed else fit_here


def training_labels(material: Material, train: np.ndarray) -> np.ndarray:
    """Return the labels as ``fit`` takes them, all unknown except those of ``train``."""
    if material.kind == "classes":
        some = np.full(len(material.labels), None, dtype=object)
        some[train] = material.model.estimator_.classes_[material.labels[train]]
        return some
    y = np.full_like(material.labels, np.nan)
    y[train] = material.labels[train]
    return y.ravel() if y.shape[1] == 1 else y


def with_estimator(material: Material, estimator: Any) -> Any:
    """Return the model with another estimator, which may know fewer classes."""
    names = material.model.target_names_
    names = estimator.classes_.tolist() if material.kind == "classes" else names
    state = replace(material.model.fitted, estimator=estimator, target_names=names)
    return copy.copy(material.model).set_fitted(state)


def without_labels(material: Material, train: np.ndarray) -> Request:
    """Request a fit with λ = 0 whose start does not depend on labels; its topics alone predict."""
    start = {"init": "random"} if isinstance(material.model.init, str) else {}
    return Request(train, {"supervision": 0.0, "head": "refit", **start})


def has_many_documents(material: Material) -> bool:
    """Return whether refits must be hasty."""
    return len(material.S) > MANY_DOCUMENTS


def iteration_limit(material: Material) -> int:
    """Return the maximum number of iterations of a fit; fewer for many documents.

    The first iterations decide what a model predicts; the others refine its topics.
    """
    most = int(material.model.max_iter)
    return min(most, MAX_HASTY_ITERATIONS) if has_many_documents(material) else most


def with_topics_of(fitted: Any, train: np.ndarray) -> Request:
    """Request another head on the topics of a fit with λ = 0, which do not depend on labels."""
    topics = Factors(fitted.representation_, np.ascontiguousarray(fitted.components_.T))
    settings = {"supervision": 0.0, "head": "refit", "init": topics, "max_iter": 1}
    return Request(train, settings)
