"""Topics in further documents: old ones stay, new ones explain what is left.

Old topics are rows whose entries are fixed. New words may enter an old topic, and ``move`` may set
its words free; in both cases the topic keeps a cosine with its old self that is guaranteed: a topic
that has gone too far goes back along the straight line between the two.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse as sp
from sklearn.exceptions import ConvergenceWarning

from cofactor._types import BoolArray, FloatArray
from cofactor.engine.factors import Factors
from cofactor.estimators import NMF
from cofactor.estimators.edits import masses
from cofactor.estimators.missing_cells import products
from cofactor.estimators.validation import as_divergence
from cofactor.priors import GammaPrior
from cofactor.text.interrupts import ending_at_interrupts

NEW_WORDS = 0.0025
"""New words may lower the cosine of an old topic with its old self by this much, whatever ``move``
is."""
HALVINGS = 60
"""Steps of the search for the furthest point that is near enough."""
HELD_OUT = 0.1
"""Share of the stored cells that tell whether a new topic pays."""
TRIAL_DOCUMENTS, TRIAL_STEPS = 3000, 30
"""Maximum number of documents and of iterations that choose the number of topics."""
MOST_NEW = 30
"""Maximum number of topics that "auto" adds."""
UNSEEN = 1e-3
"""Share of the probability that every word has, whatever the topics say."""


@dataclass(frozen=True, eq=False)
class OldTopics:
    """The topics of a model in the words of the further documents.

    Parameters
    ----------
    components : array (r, m)
        Zero for words that the model did not know.
    settled : array (r, m) of bool
        Entries that never move: frozen topics, pinned and banned words.
    mass : array (r,)
        Sum of the representations of the documents that are gone.
    n_words : int
        Number of words that the model knew.
    move : float
    """

    components: FloatArray
    settled: BoolArray
    mass: FloatArray
    n_words: int
    move: float

    @property
    def fixed(self) -> BoolArray:
        """Entries that the fit leaves alone."""
        known = np.arange(self.components.shape[1]) < self.n_words
        return self.settled | known if self.move == 0 else self.settled

    @property
    def least(self) -> float:
        """Least cosine of a topic with its old self."""
        return 1.0 - max(self.move, NEW_WORDS)

    def within_reach(self, components: FloatArray) -> FloatArray:
        """Bring topics that have gone too far back towards their old selves.

        Topics without fixed entries get their old mass, too, which their targets refer to.
        """
        old = self.components
        size = np.where(self.fixed.any(axis=1), 1.0, masses(old) / masses(components))
        new = np.where(self.fixed, old, components * size[:, None])
        near, far = np.zeros(len(old)), np.ones(len(old))
        gone = _cosines(old, new) < self.least
        for _ in range(HALVINGS):
            middle = (near + far) / 2
            good = _cosines(old, _between(old, new, middle)) >= self.least
            near, far = np.where(good, middle, near), np.where(good, far, middle)
        back = np.where(self.fixed, old, _between(old, new, near))
        return np.asarray(np.where(gone[:, None], back, new))


def _between(old: FloatArray, new: FloatArray, part: FloatArray) -> FloatArray:
    return old + part[:, None] * (new - old)


def _cosines(one: FloatArray, other: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return np.asarray((one * other).sum(axis=1) / np.maximum(lengths, 1e-300))


def find_topics(
    estimator: Any, X: Any, old: OldTopics, number: int | str, seed: int, callbacks: Any = ()
) -> Any:
    """Return a fitted NMF of the documents X: the old topics, then new ones.

    Parameters
    ----------
    estimator : estimator
        Of the model; its losses and limits are used.
    X : sparse array (n, m)
    old : OldTopics
    number : int or "auto"
        Number of new topics.
    seed : int
    callbacks : sequence
        Callbacks that watch the fit.
    """
    with ending_at_interrupts():
        if number == "auto":
            number = choose_number(estimator, X, old, seed)
        A = np.vstack([old.components, _start(estimator, X, old.components, int(number), seed)])
        fitted = _fit(estimator, X, A, old, seed, callbacks=callbacks)
        kept = old.within_reach(fitted.components_[: len(old.components)])
        if np.array_equal(kept, fitted.components_[: len(kept)]):
            return fitted
        A = np.vstack([kept, fitted.components_[len(kept) :]])
        still = replace(old, components=kept, settled=np.ones_like(old.settled))
        return _fit(estimator, X, A, still, seed)


def _fit(
    estimator: Any,
    X: Any,
    A: FloatArray,
    old: OldTopics,
    seed: int,
    steps: int | None = None,
    callbacks: Any = (),
) -> Any:
    """Go on from topics with the fixed entries of the old ones."""
    r = len(old.components)
    fixed = np.vstack([old.fixed, np.zeros((len(A) - r, A.shape[1]), dtype=bool)])
    A = np.where(fixed, A, np.maximum(A, _least_entries(A, X)))
    nmf = NMF(
        len(A),
        data_loss=estimator.data_loss,
        solver=estimator.solver,
        tol=estimator.tol,
        init=Factors.of_topics(np.ascontiguousarray(A.T)),
        fixed={"features": fixed},
        max_iter=steps or estimator.max_iter,
        n_jobs=estimator.n_jobs,
        random_state=seed,
        priors=_priors(estimator, A, X, old),
    )
    with warnings.catch_warnings():
        if steps is not None:
            warnings.simplefilter("ignore", ConvergenceWarning)
        return nmf.set_callbacks(*callbacks).fit(X).set_callbacks()


def _least_entries(A: FloatArray, X: Any) -> FloatArray:
    """Return small starts of free entries, because multiplicative updates keep a zero."""
    words = np.asarray(X.sum(axis=0), dtype=np.float64).ravel()
    return np.asarray(1e-3 * masses(A)[:, None] * words / max(float(words.sum()), 1e-300))


def _priors(estimator: Any, A: FloatArray, X: Any, old: OldTopics) -> dict[str, Any]:
    """Return the priors of the model that are numbers, and what the memory says of old topics."""
    given = {
        name: [
            prior
            for prior in (some if isinstance(some, list | tuple) else [some])
            if prior.penalty.uniform and np.ndim(prior.penalty.square) == 0
        ]
        for name, some in (estimator.priors or {}).items()
        if name in ("samples", "features")
    }
    if as_divergence("data_loss", estimator.data_loss).degree == 1:
        given["features"] = [*given.get("features", []), _memory(A, X, old)]
    return given


def _memory(A: FloatArray, X: Any, old: OldTopics) -> GammaPrior:
    """Return how the documents that are gone hold the old topics.

    What a topic explained of them is its old words times its mass there. They may have had new
    words, too, too seldom to be learned: each is thought to have occurred once. The
    Kullback–Leibler divergence of that from a moved topic is a Gamma prior. (It is an upper bound
    of the divergence of the documents: topics might stand in for each other.)
    """
    r, mass = len(old.components), old.mass[:, None]
    pull = np.zeros(A.shape)
    if old.move > 0:  # else the old words are fixed
        pull[:r] = np.where(old.fixed, 0.0, old.components * mass)
    once = float(X.data.mean()) if X.nnz else 0.0
    pull[:r, old.n_words :] += once * mass / max(float(mass.sum()), 1e-300)
    pull[:r][old.settled] = 0.0
    rate = np.broadcast_to(np.pad(mass, ((0, len(A) - r), (0, 0))), A.shape)
    return GammaPrior(np.ascontiguousarray(1.0 + pull.T), np.ascontiguousarray(rate.T))


def _start(estimator: Any, X: Any, A: FloatArray, number: int, seed: int) -> FloatArray:
    """Return topics of what others leave unexplained."""
    if number == 0:
        return np.zeros((0, A.shape[1]), dtype=A.dtype)
    rest = _unexplained(estimator, X, A)
    parts = NMF(
        number,
        data_loss=estimator.data_loss,
        max_iter=TRIAL_STEPS,
        random_state=seed,
        n_jobs=estimator.n_jobs,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = parts.fit(rest).components_
    size = float(np.median(masses(A)))
    return np.asarray(found * (size / masses(found))[:, None], dtype=A.dtype)


def _unexplained(estimator: Any, X: Any, A: FloatArray) -> Any:
    """Return the part of each stored cell that topics do not explain."""
    S = represented(estimator, X, A)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    fitted = products(S, A.T, rows, X.indices)
    rest = np.maximum(X.data - fitted, 0.0)
    if not rest.any():
        rest = X.data
    return sp.csr_array((rest, X.indices, X.indptr), shape=X.shape)


def represented(estimator: Any, X: Any, A: FloatArray) -> FloatArray:
    """Return the representations of documents by topics."""
    plain = NMF(
        len(A),
        data_loss=estimator.data_loss,
        max_iter=1,
        n_jobs=estimator.n_jobs,
        init=Factors.of_topics(np.ascontiguousarray(A.T)),
        fixed={"features": np.ones(len(A), dtype=bool)},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(plain.fit(X).transform(X))


# ---- how many


def choose_number(estimator: Any, X: Any, old: OldTopics, seed: int) -> int:
    """Return how many new topics pay for themselves on held-out cells.

    One topic is added after the other, as long as it makes the held-out cells more likely by more
    than a standard error over the documents.
    """
    random = np.random.default_rng(seed)
    rows = random.permutation(X.shape[0])[:TRIAL_DOCUMENTS]
    X = sp.csr_array(X[np.sort(rows)])
    out = random.random(X.nnz) < HELD_OUT
    known, held = _only(X, ~out), _only(X, out)
    if not known.nnz or not held.nnz:
        return 0
    A = _trial(estimator, known, old.components, old, seed)
    best = _likelihoods(estimator, known, held, A)
    for number in range(MOST_NEW):
        A = np.vstack([A, _start(estimator, known, A, 1, seed)])
        A = _trial(estimator, known, A, old, seed)
        found = _likelihoods(estimator, known, held, A)
        gain = found - best
        if not gain.mean() > gain.std() / np.sqrt(len(gain)):
            return number
        best = found
    return MOST_NEW


def _only(X: Any, cells: BoolArray) -> Any:
    """Return a matrix with some of the stored cells."""
    part = X.copy()
    part.data = np.where(cells, X.data, 0.0)
    part.eliminate_zeros()
    return part


def _trial(estimator: Any, X: Any, A: FloatArray, old: OldTopics, seed: int) -> FloatArray:
    return np.asarray(_fit(estimator, X, A, old, seed, TRIAL_STEPS).components_)


def _likelihoods(estimator: Any, known: Any, held: Any, A: FloatArray) -> FloatArray:
    """Return the log-likelihood of the held-out cells of each document that has some."""
    S = represented(estimator, known, A)
    rows = np.repeat(np.arange(held.shape[0]), np.diff(held.indptr))
    fitted = products(S, A.T, rows, held.indices)
    total = np.maximum(S @ masses(A), 1e-300)[rows]
    p = (1.0 - UNSEEN) * fitted / total + UNSEEN / held.shape[1]
    sums = np.bincount(rows, held.data * np.log(p), minlength=held.shape[0])
    return np.asarray(sums[np.diff(held.indptr) > 0])
