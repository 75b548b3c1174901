"""Fits the model's estimator again, with some of the labels or with λ = 0."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Event
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from cofactor.callbacks import StopOnEvent
from cofactor.engine.factors import Factors
from cofactor.engine.threads import Threads, count_threads
from cofactor.estimators.base import ending_at_interrupts
from cofactor.report.preparation.material import Material
from cofactor.text.fitting import fit_estimator

LARGE, ENOUGH = 5000, 15  # with more documents than LARGE, fits get at most ENOUGH iterations
TOGETHER = 2**24  # maximum number of stored entries of the fits that run at the same time


class Request(NamedTuple):
    """One fit to do."""

    train: np.ndarray  # indices of the documents whose labels it sees
    changes: dict[str, Any]  # settings that differ from the model's


def refit(
    material: Material, requests: Sequence[Request], beside: Sequence[Callable[[], Any]] = ()
) -> tuple[list[Any], list[Any]]:
    """Fit the model's estimator again on all documents and some of their labels, once a request.

    Return the estimators and the results of the tasks ``beside``. Fits and tasks run at the same
    time and share the model's threads; the results do not depend on the number of threads. Ctrl-C
    ends each fit at its next iteration, and the tasks after the one that is running.
    """
    threads, end = count_threads(material.model.n_jobs), _SharedEnd()
    room = max(1, TOGETHER // max(1, material.X.nnz))
    aside = max(1, min(threads, room, len(requests)))
    fits = [partial(_fit, material, each, threads // aside, end.event) for each in requests]
    tasks: list[Callable[[], Any]] = [*fits, *beside]

    def run(place: int, _: int) -> Any:
        with end.of_all():
            return tasks[place]()

    with ending_at_interrupts(), warnings.catch_warnings(), Threads(aside) as pool, end.of_all():
        warnings.simplefilter("ignore", ConvergenceWarning)
        done = pool.over(range(len(tasks) + 1), run)
        return done[: len(requests)], done[len(requests) :]


class _SharedEnd:
    """The first exception in any fit stops all others and is raised to the caller."""

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
    settings = {"task": task, "n_jobs": n_jobs, "max_iter": patience(material), **request.changes}
    model.set_params(**settings).set_callbacks(StopOnEvent(ended))
    y = _training_labels(material, request.train)
    estimator, _ = fit_estimator(model, model.vectorizer_, material.X, y, seed=model.seed_)
    return estimator.set_params(n_jobs=material.model.n_jobs)


def _training_labels(material: Material, train: np.ndarray) -> np.ndarray:
    """Return the labels as ``fit`` takes them, all unknown except those of ``train``."""
    if material.kind == "classes":
        some = np.full(len(material.labels), None, dtype=object)
        some[train] = material.model.estimator_.classes_[material.labels[train]]
        return some
    y = np.full_like(material.labels, np.nan)
    y[train] = material.labels[train]
    return y.ravel() if y.shape[1] == 1 else y


def without_labels(material: Material, train: np.ndarray) -> Request:
    """Request a fit with λ = 0 whose start does not depend on labels; its topics alone predict."""
    model = material.model
    changes: dict[str, Any] = {"supervision": 0.0, "head": "refit"}
    if isinstance(model.init, str):
        changes["init"] = "random"
    return Request(train, changes)


def patience(material: Material) -> int:
    """Return the maximum number of iterations of a fit; fewer for many documents.

    The first iterations decide what a model predicts; the others refine its topics.
    """
    most = int(material.model.max_iter)
    return min(most, ENOUGH) if len(material.S) > LARGE else most


def with_topics_of(fitted: Any, train: np.ndarray) -> Request:
    """Request another head on the topics of λ = 0, which do not depend on labels."""
    start = Factors(fitted.representation_, np.ascontiguousarray(fitted.components_.T))
    return Request(train, {"supervision": 0.0, "head": "refit", "init": start, "max_iter": 1})
