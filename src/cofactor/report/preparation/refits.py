"""The model's estimator fitted again, with some of the labels, or with λ = 0."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from threading import Event
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from cofactor.callbacks import StopOnEvent
from cofactor.engine.factors import Factors
from cofactor.engine.threads import Threads, count_threads
from cofactor.report.preparation.material import Material
from cofactor.text.fitting import fit_estimator
from cofactor.text.interrupts import ending_at_interrupts

LARGE, ENOUGH = 5000, 15  # documents from which fits take long: then so many iterations
TOGETHER = 2**24  # entries of the fits that run side by side: beyond, memory is what counts


class Request(NamedTuple):
    """One fit."""

    train: np.ndarray  # places of the labels to be seen
    changes: dict[str, Any]  # of the model's settings


def refit(
    material: Material, requests: Sequence[Request], beside: Sequence[Callable[[], Any]] = ()
) -> tuple[list[Any], list[Any]]:
    """Fit the model's estimator again on all documents and some of their labels, once a request;
    return the estimators, and what came out of the tasks to do beside.

    Fits are independent, so they run side by side on the model's threads and share them; how many
    there are does not change a bit. Ctrl-C ends those under way at their next iteration,
    and the tasks beside when the one under way is done.
    """
    threads, end = count_threads(material.model.n_jobs), _End()
    room = max(1, TOGETHER // max(1, material.X.nnz))
    aside = max(1, min(threads, room, len(requests)))

    def fitting(request: Request) -> Callable[[], Any]:
        return partial(_fit, material, request, threads // aside, end.event)

    def run(place: int, _: int) -> Any:
        context, task = ready[place]
        with end.of_all():
            return context.run(task)

    with ending_at_interrupts(), warnings.catch_warnings(), Threads(aside) as pool:
        warnings.simplefilter("ignore", ConvergenceWarning)
        ready = [(copy_context(), task) for task in [*map(fitting, requests), *beside]]
        with end.of_all():
            done = pool.over(range(len(ready) + 1), run)
            return done[: len(requests)], done[len(requests) :]


class _End:
    """What ends one fit, or the wait for it, ends them all, and is what the caller hears of."""

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
    model.__dict__.update(settings)
    words, y = model.vectorizer_.get_feature_names_out(), _some(material, request.train)
    estimator, _ = fit_estimator(
        model, words, material.X, y, seed=model.seed_, callbacks=[StopOnEvent(ended)]
    )
    return estimator.set_params(n_jobs=material.model.n_jobs)


def _some(material: Material, train: np.ndarray) -> np.ndarray:
    """Return the labels as ``fit`` takes them, unknown but for ``train``."""
    if material.kind == "classes":
        some = np.full(len(material.labels), None, dtype=object)
        some[train] = material.model.estimator_.classes_[material.labels[train]]
        return some
    y = np.full_like(material.labels, np.nan)
    y[train] = material.labels[train]
    return y.ravel() if y.shape[1] == 1 else y


def without_labels(material: Material, train: np.ndarray) -> Request:
    """Ask for λ = 0: no labels in the start."""
    model = material.model
    changes: dict[str, Any] = {"supervision": 0.0}
    if isinstance(model.init, str):
        changes["init"] = "random"
    return Request(train, changes)


def patience(material: Material) -> int:
    """Return the iterations of a fit at most: many documents, less patience.  The first ones
    decide what a model predicts; the rest polishes its topics."""
    most = int(material.model.max_iter)
    return min(most, ENOUGH) if len(material.S) > LARGE else most


def with_topics_of(fitted: Any, train: np.ndarray) -> Request:
    """Ask for another head on topics of λ = 0, which do not depend on labels."""
    start = Factors(fitted.representation_, np.ascontiguousarray(fitted.components_.T))
    return Request(train, {"supervision": 0.0, "init": start, "max_iter": 1})
