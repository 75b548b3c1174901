"""Stability of topics: how much of each topic is found again in bootstrap samples.

As many samples as there are are drawn with replacement, labelled and unlabelled ones separately, so
the number of labels stays the same. A sample that is drawn twice has weight 2, which equals two
copies of it. Each draw is fitted from its own start, and its topics are matched one to one with
those of the model. A topic that is in the data comes back; one that fits noise does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from cofactor._types import BoolArray, FloatArray
from cofactor.metrics.topics import match_topics
from cofactor.targets.reading import known_values, labelled_mask

Refit = Callable[[FloatArray, int], FloatArray]
"""Takes sample weights and a seed; returns the topics of a fit as rows."""


def topic_stability(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    runs: int = 20,
    random_state: int = 0,
    refit: Refit | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> FloatArray:
    """Return the similarity of each topic to its match in each of several bootstrap samples.

    Parameters
    ----------
    estimator : NMF, SSNMFClassifier or SSNMFRegressor
        A fitted estimator.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples it was fitted on, or similar ones.
    y : array-like, optional
        Their targets, as for ``fit``.
    runs : int, default=20
        Number of bootstrap samples; each is fitted.
    random_state : int, default=0
        Seed of the draws and of their fits.
    refit : callable, optional
        Fits a bootstrap sample; by default with a copy of the estimator and another seed.
    progress : callable, optional
        Called with the number of finished fits.

    Returns
    -------
    ndarray of shape (runs, n_components)
        Cosine similarities. The mean of a column is the stability of a topic; its quantiles give
        an interval.

    Examples
    --------
    >>> from cofactor import NMF
    >>> random = np.random.default_rng(0)
    >>> X = random.poisson(5 * random.dirichlet([0.1] * 2, 60) @ np.eye(2).repeat(4, axis=1))
    >>> found = topic_stability(NMF(2, random_state=0).fit(X), X, runs=5)
    >>> found.shape, bool((found.mean(axis=0) > 0.9).all())
    ((5, 2), True)
    """
    if not (isinstance(runs, int | np.integer) and runs > 0):
        raise ValueError(f"runs={runs!r} must be a whole number of at least 1.")
    labelled = _labelled(estimator, X, y)
    refit = refit or _make_refit(estimator, X, y)
    components = np.asarray(estimator.components_)
    words = range(components.shape[1])
    similarities = np.zeros((runs, len(components)))
    for run in range(runs):
        random = np.random.default_rng([random_state, run])
        counts = bootstrap_counts(labelled, random)
        others = refit(counts, int(random.integers(2**31 - 1)))
        for topic, _, similarity in match_topics(components, words, others, words):
            similarities[run, topic] = similarity
        progress(run + 1)
    return similarities


def bootstrap_counts(labelled: BoolArray, random: np.random.Generator) -> FloatArray:
    """Draw samples with replacement; return how often each was drawn.

    Parameters
    ----------
    labelled : array of bool
        Which samples are labelled; the numbers of labelled and unlabelled samples stay the same.
    random : Generator

    Examples
    --------
    >>> drawn = bootstrap_counts(np.arange(10) < 4, np.random.default_rng(0))
    >>> float(drawn[:4].sum()), float(drawn[4:].sum())
    (4.0, 6.0)
    """
    counts = np.zeros(len(labelled))
    for group in (np.flatnonzero(labelled), np.flatnonzero(~labelled)):
        if len(group):
            counts[group] = random.multinomial(len(group), np.full(len(group), 1 / len(group)))
    return counts


def stability_interval(similarities: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the stability of each topic, and the interval that holds 95 % of the draws."""
    low, high = np.quantile(similarities, [0.025, 0.975], axis=0)
    return similarities.mean(axis=0), low, high


def _labelled(estimator: Any, X: Any, y: Any) -> BoolArray:
    n = X.shape[0]
    if y is None:
        return np.zeros(n, dtype=bool)
    classes = getattr(estimator, "classes_", None)
    known = known_values(y) if classes is None else labelled_mask(y, classes=classes)
    if len(known) != n:
        raise ValueError(f"y has {len(known)} entries, but X has {n} rows; pass one for each.")
    return known


def _make_refit(estimator: Any, X: Any, y: Any) -> Refit:
    """Return a function that fits copies of the estimator."""

    def refit(counts: FloatArray, seed: int) -> FloatArray:
        copy = clone(estimator).set_params(random_state=seed)
        return np.asarray(copy.fit(X, y, sample_weight=counts).components_)

    return refit
