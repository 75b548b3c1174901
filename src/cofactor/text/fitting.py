"""The estimator inside a topic model: chosen by the task, pulled by the seeds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from cofactor.engine.factors import Factors
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import observe
from cofactor.engine.threads import Threads
from cofactor.estimators import NMF
from cofactor.estimators.base import Factorization
from cofactor.estimators.blocks import SAMPLE_CELLS
from cofactor.estimators.validation import as_divergence
from cofactor.outofcore import RowBlocks
from cofactor.text.describe.predictions import ESTIMATORS, infer_task
from cofactor.text.seeds import (
    Mass,
    Seeds,
    choose_topics,
    read_seeds,
    seed_prior,
    seeded_start,
    weigh,
)


def _fit_here(estimator, X, y, **weights):
    return estimator.fit(X, y, **weights)


_FIT: ContextVar[Callable[..., Any]] = ContextVar("fit", default=_fit_here)


@contextmanager
def fitted_by(fit: Callable[..., Any]) -> Iterator[None]:
    """Let ``fit(estimator, X, y)`` fit the estimators of topic models, elsewhere for instance."""
    before = _FIT.set(fit)
    try:
        yield
    finally:
        _FIT.reset(before)


_WATCHING: ContextVar[tuple[Any, ...]] = ContextVar("watching", default=())


@contextmanager
def watched_by(*callbacks: Any) -> Iterator[None]:
    """Let callbacks watch the fits of the estimators of topic models."""
    before = _WATCHING.set(callbacks)
    try:
        yield
    finally:
        _WATCHING.reset(before)


def draw_seed(random_state: Any) -> int:
    """Return a seed as a number, so that the fit can be repeated."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


class Assembled(NamedTuple):
    """An estimator that is ready to fit, and the topics that seeds pull."""

    estimator: Any
    y: Any
    seeds: Seeds
    topics: list[int]

    @property
    def names(self) -> dict[int, str]:
        """Names of the seeded topics."""
        return dict(zip(self.topics, self.seeds.names, strict=True))


def fit_estimator(
    model, words, X, y, *, seed, callbacks=(), **weights
) -> tuple[Factorization, dict[int, str]]:
    """Fit the estimator that ``model`` asks for; return it and the names of seeded topics."""
    weights = {name: weight for name, weight in weights.items() if weight is not None}
    ready = assemble(model, words, X, y, seed=seed, **weights)
    if watching := (*callbacks, *_WATCHING.get()):
        ready.estimator.set_callbacks(*watching)
    fitted = _FIT.get()(ready.estimator, X, ready.y, **weights)
    return restored(model, fitted.set_callbacks() if watching else fitted), ready.names


def assemble(model, words, X, y, *, seed, **weights) -> Assembled:
    """Choose the estimator and let the seeds pull it; X may be RowBlocks with targets of its own,
    if the model has a task."""
    task = infer_task(y) if model.task == "auto" else model.task
    y = None if task == "topics" else y
    if task == "topics" and "target_weights" in weights:
        raise ValueError("target_weights needs y; pass labels or leave the weights out.")
    seeds = read_seeds(model.seeds, words, model.n_components)
    estimator = _estimator(model, task, seed)
    topics = _seed(model, estimator, seeds, X, y, weights) if seeds else []
    return Assembled(estimator, y, seeds, topics)


def restored(model, estimator):
    """Drop the seeds' prior and start, arrays as large as the topics that can be made anew."""
    return estimator.set_params(priors=model.priors, init=model.init)


def publish(
    model, described: dict[str, Any], begun: dict[str, float], *, seeding=None, **learned: Any
) -> None:
    """Give a model all that was learned at once: a fit that is given up leaves it as it was.

    ``begun`` says when each step began; the last one ends now. ``seeding`` is that of a stream.
    """
    ends = [*list(begun.values())[1:], time.perf_counter()]
    pairs = zip(begun.items(), ends, strict=True)
    model.__dict__.pop("_seeding", None)
    if seeding is not None:
        learned["_seeding"] = seeding
    model.__dict__.update(
        described, **learned, timings_={step: end - start for (step, start), end in pairs}
    )


def _estimator(model, task: str, seed: int):
    kind = ESTIMATORS[task]
    given = {n: v for n, v in model.get_params(deep=False).items() if n in kind._get_param_names()}
    if given.get("target_loss", ...) is None:
        del given["target_loss"]
    return kind(**{**given, "random_state": seed})


def _seed(model, estimator, seeds: Seeds, X, y, weights) -> list[int]:
    """Give the estimator the seeds' prior and, where no labels start it, their start."""
    loss = as_divergence("data_loss", model.data_loss)
    some, _, counts = X.sample(SAMPLE_CELLS) if isinstance(X, RowBlocks) else (X, None, None)
    if isinstance(estimator, NMF) and isinstance(model.init, str):
        topics = list(range(len(seeds)))
        estimator.set_params(init=seeded_start(seeds, some, loss, estimator))
    else:
        topics = choose_topics(seeds, clone(estimator), X, y, **weights)
    estimator.set_params(priors=with_seeds(model, seeds, topics, weigh(some, loss, counts)))
    return topics


def with_seeds(model, seeds: Seeds, topics: list[int], mass: Mass) -> dict[str, Any]:
    """Return the model's priors and that of the seeds."""
    prior = seed_prior(seeds, topics, model.seed_strength, mass, model.n_components)
    given = (model.priors or {}).get("features", [])
    together = [*(given if isinstance(given, list | tuple) else [given]), prior]
    return {**(model.priors or {}), "features": together}


def explained_share(estimator, X, sample_weight=None) -> float:
    """Return the share of the samples' divergence from their mean that the topics explain."""
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
    data, loss = observe(X), as_divergence("data_loss", estimator.data_loss)
    objective = Objective((Term("data", "features", data, loss),), sample_weight=weights)
    A = np.ascontiguousarray(estimator.components_.T)
    mean = data.column_means(weights)[:, None]
    with Threads(estimator.n_jobs) as threads:
        cost = objective.value(Factors(estimator.transform(X), A), threads).total
        even = objective.value(Factors(np.ones((X.shape[0], 1)), mean), threads).total
    return 1.0 - cost / even if even > 0 else 0.0
