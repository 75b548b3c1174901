"""Seed words: a prior on the features that attracts topics throughout the fit.

A seeded topic k adds Σ_j [rate·a_jk − c_jk log a_jk] to the objective, with c_jk > 0 for its seed
words j. The c_jk are pseudo-counts: ``strength`` times the word's mass in the corpus. The data do
not determine the topic's scale, so the rate sets it to the mass of an average document.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.exceptions import ConvergenceWarning

from cofactor._warnings import warn
from cofactor.divergences import Divergence
from cofactor.engine.factors import Factors
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import observe
from cofactor.engine.threads import Threads
from cofactor.errors import Parameter, ParameterError, ParameterWarning
from cofactor.estimators.base import ending_at_interrupts
from cofactor.estimators.inference import represent
from cofactor.priors import GammaPrior
from cofactor.starts import plain_start
from cofactor.text.vectorizer.analyzer import Analyzer, tidy


class Seed(NamedTuple):
    """The name of a seed and the columns of its words."""

    name: str
    columns: list[int]


@dataclass(frozen=True)
class Seeds:
    """Names of seeds and the columns of their words."""

    names: list[str]
    columns: list[list[int]]

    def by_topic(self, topics: list[int]) -> dict[int, Seed]:
        """Return the seeds by topic; ``topics`` holds the topic of each seed."""
        return dict(zip(topics, map(Seed, self.names, self.columns), strict=True))

    def __len__(self) -> int:
        return len(self.names)


def read_seeds(seeds: Any, vectorizer: Any, n_components: int) -> Seeds:
    """Find the columns of seed words among the words of a fitted vectorizer.

    The vectorizer's analyzer translates other seed words: it knows the common name of the forms of
    a word, and the pairs of letters of scripts without spaces.
    """
    if seeds is None:
        return Seeds([], [])
    if not isinstance(seeds, Mapping):
        raise TypeError(
            f"seeds={seeds!r} must be a dict of names and their words, such as "
            '{"billing": ["invoice", "refund"]}.'
        )
    if len(seeds) > n_components:
        raise ParameterError(
            (
                Parameter("seeds"),
                f" has {len(seeds)} names, but there are only {n_components} topics",
            ),
            ("raise ", Parameter("n_components"), " or merge seeds"),
        )
    places = {word: j for j, word in enumerate(vectorizer.get_feature_names_out())}
    analyze = vectorizer.build_analyzer() if hasattr(vectorizer, "build_analyzer") else None
    return Seeds([str(n) for n in seeds], [_columns(n, seeds[n], places, analyze) for n in seeds])


def _columns(name: Any, given: Any, places: dict[str, int], analyze: Analyzer | None) -> list[int]:
    if isinstance(given, str) or not all(isinstance(word, str) for word in given):
        raise TypeError(f"seeds[{name!r}]={given!r} must be a list of words.")
    found = {word: places_of(word, places, analyze) for word in given}
    missing = [word for word, columns in found.items() if not columns]
    hint = "they are not among the model's words, which leave out stop words and rare words"
    if len(missing) == len(found):
        raise ParameterError(
            (Parameter("seeds", key=name), f" has no usable word of {missing}: {hint}"),
            "add others",
        )
    if missing:
        ignored = (Parameter("seeds", key=name), f": {missing} are ignored: {hint}")
        warn(ParameterWarning(ignored))
    return sorted({place for columns in found.values() for place in columns})


def places_of(word: str, places: dict[str, int], analyze: Analyzer | None) -> list[int]:
    """Return the columns of a word, after conversion to the form of the model's words."""
    for name in (word, tidy(word)):
        if name in places:
            return [places[name]]
    if analyze is None or len(word.split()) != 1:
        return []
    return [places[name] for name in analyze(word) if name in places]


class Mass(NamedTuple):
    """Mass of documents: per word and in total, and the number of documents."""

    words: np.ndarray
    total: float
    documents: float

    def plus(self, other: Mass) -> Mass:
        """Return the mass of both collections."""
        words, total, documents = other
        return Mass(self.words + words, self.total + total, self.documents + documents)


def document_mass(X: Any, loss: Divergence, counts: Any = None) -> Mass:
    """Return the mass of documents in the units of the loss; ``counts`` repeats documents."""
    one = np.ones(X.shape[0]) if counts is None else np.asarray(counts, dtype=float)
    powers = X**loss.degree if loss.degree else X.astype(bool).astype(float)
    return Mass(powers.T @ one, float((X.T @ one).sum()), float(one.sum()))


def seed_prior(
    seeds: Seeds, topics: list[int], strength: float, mass: Mass, rank: int
) -> GammaPrior:
    """Return the prior that attracts ``topics`` to their seeds."""
    pull = np.zeros((len(mass.words), rank))
    for topic, columns in zip(topics, seeds.columns, strict=True):
        pull[columns, topic] = strength * mass.words[columns]
    rate = np.zeros_like(pull)
    rate[:] = pull.sum(axis=0) / max(mass.total / mass.documents, 1e-300)
    return GammaPrior(1.0 + pull, rate)


def seeded_start(seeds: Seeds, X: Any, loss: Divergence, estimator: Any) -> Factors:
    """Return a plain start whose first topics are means of the documents with the seed words.

    A random topic may be too far from a seed for the prior to move it there.
    """
    data, rank = observe(X), estimator.n_components
    random = np.random.RandomState(estimator.random_state)
    kind = "random" if estimator.init == "auto" else estimator.init
    with Threads(estimator.n_jobs) as threads:
        objective = Objective((Term("data", "features", data, loss),))
        A = plain_start(objective, rank, random, kind, threads).features
        mean = A.mean(axis=1)
        for topic, columns in enumerate(seeds.columns):
            found = X.T @ X[:, columns].sum(axis=1)
            A[:, topic] = 0.9 * found * (mean.sum() / found.sum()) + 0.1 * mean
        S = represent(data, A, loss, None, threads)
    return Factors(np.maximum(S, 1e-3 * S.mean()), A)


def choose_topics(seeds: Seeds, estimator: Any, X: Any, y: Any, **weights: Any) -> list[int]:
    """Return the topic that is closest to each seed after one iteration."""
    with ending_at_interrupts(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.set_params(max_iter=1)
        estimator.fit(X, y, **weights)
    return leaning_topics(seeds, estimator)


def leaning_topics(seeds: Seeds, estimator: Any) -> list[int]:
    """Return the topic of a fitted estimator that is closest to each seed."""
    A = estimator.components_ / np.maximum(estimator.components_.sum(axis=1), 1e-300)[:, None]
    A = A / np.maximum(A.mean(axis=0), 1e-300)
    leaning = np.array([A[:, columns].mean(axis=1) for columns in seeds.columns])
    leaning = leaning / np.maximum(leaning.sum(axis=1, keepdims=True), 1e-300)
    leaning += _namesakes(seeds.names, estimator)
    return [int(topic) for topic in linear_sum_assignment(-leaning)[1]]


def _namesakes(names: list[str], estimator: Any) -> np.ndarray:
    """Return each topic's part in the class with the seed's name; 0 without such a class."""
    classes = [str(c) for c in getattr(estimator, "classes_", ())]
    part = np.zeros((len(names), len(estimator.components_)))
    if hasattr(estimator, "target_components_"):
        B = estimator.target_components_
        B = B / np.maximum(B.sum(axis=1, keepdims=True), 1e-300)
        for i, name in enumerate(names):
            if name in classes:
                part[i] = B[:, classes.index(name)]
    return part
