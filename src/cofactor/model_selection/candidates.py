"""The fits of all candidates, one for each fold, in parallel threads.

A fit does not see the rows of its fold. So one fit shows how well labels and cells are predicted,
and the fits of all folds show how stable the topics are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from threading import Event
from typing import Any

import numpy as np

from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.callbacks import StopOnEvent
from cofactor.engine.threads import count_threads
from cofactor.metrics.topics import match_topics, npmi_coherence, top_words, topic_diversity
from cofactor.model_selection.held_out import HiddenCells, LabelCosts, deal_columns, label_costs
from cofactor.model_selection.partly_labelled import PartlyLabelledKFold
from cofactor.model_selection.problem import Problem

Parameters = Mapping[str, Any]
"""Parameters of a candidate by name."""
Progress = Callable[[int, int], object]
"""Called with the number of finished fits and the number of all fits."""


@dataclass(frozen=True, eq=False)
class Fold:
    """Rows to fit, and held-out rows with the labels and cells to predict."""

    train: IntArray
    test: IntArray
    labelled: IntArray
    """Held-out rows that have a label."""
    seed: int
    vary: bool
    """Whether to vary the start, see `cofactor.model_selection.problem.vary_start`."""
    hidden: list[HiddenCells]


@dataclass(frozen=True, eq=False)
class CandidateFit:
    """The results of one fit of a candidate."""

    cells: FloatArray
    """Cost of the cells of each held-out row; NaN where nothing could be predicted."""
    labels: LabelCosts | None
    components: FloatArray
    misfit: float
    """Divergence of the rows that were fitted."""
    coherence: float
    diversity: float
    seconds: float
    """Time of the fit alone."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """The results of all fits of a candidate; rows are in the order of the data.

    ``cells`` holds the cost of each row's hidden cells; ``labels`` and ``right`` the cost of each
    label and whether it is predicted (NaN for rows without one); ``stability`` the mean similarity
    of each fit's topics to those of the other fits; ``misfits`` the divergence of the rows that
    each fit saw.
    """

    parameters: Parameters
    cells: FloatArray
    labels: FloatArray
    right: FloatArray
    stability: FloatArray
    misfits: FloatArray
    coherence: float
    diversity: float
    seconds: float


def draw_folds(problem: Problem, runs: int, random: np.random.RandomState) -> list[Fold]:
    """Hold out every row once; labels are spread evenly over the folds."""
    folds = np.full(len(problem.known), -1)
    if problem.y is not None and problem.known.any():
        folds = PartlyLabelledKFold(runs, random_state=random).assign(problem.y, problem.known)
    others = random.permutation(np.flatnonzero(~problem.known))
    folds[others] = np.arange(len(others))[::-1] % runs
    parts, seeds = deal_columns(problem.X, random), random.randint(2**31 - 1, size=runs)
    return [
        _fold(problem, folds == number, parts, int(seed), number % 2 == 1)
        for number, seed in enumerate(seeds)
    ]


def _fold(problem: Problem, held_out: BoolArray, parts: IntArray, seed: int, vary: bool) -> Fold:
    train, test = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    data = problem.X[train], problem.X[test]
    hidden = [HiddenCells.of(*data, parts != part, problem.loss) for part in np.unique(parts)]
    labelled = np.flatnonzero(held_out & problem.known)
    return Fold(train, test, labelled, seed, vary, hidden)


def held_out_in(folds: Sequence[Fold]) -> IntArray:
    """Return the number of the fold that each row is held out in."""
    rows = np.empty(sum(len(fold.test) for fold in folds), dtype=np.int64)
    for number, fold in enumerate(folds):
        rows[fold.test] = number
    return rows


def usual_costs(problem: Problem, folds: Sequence[Fold]) -> FloatArray:
    """Return the cost of each row's cells if the mean row predicts them."""
    costs = np.full(problem.X.shape[0], np.nan)
    for fold in folds:
        costs[fold.test] = _over_parts(fold, [part.usual_costs() for part in fold.hidden])
    return costs


def _over_parts(fold: Fold, costs: Sequence[FloatArray]) -> FloatArray:
    """Add the costs of all parts of the columns; NaN for rows without any."""
    total = np.full(len(fold.test), np.nan)
    for part, each in zip(fold.hidden, costs, strict=True):
        total[part.rows] = np.nan_to_num(total[part.rows]) + each
    return total


def fit_candidate(
    problem: Problem, fold: Fold, parameters: Parameters, ended: Event
) -> CandidateFit:
    """Fit a candidate outside a fold, and predict the rows of the fold."""
    X = problem.X[fold.train]
    y = None if problem.y is None else problem.y[fold.train]
    started = time.perf_counter()
    plan = problem.make(X, y, fold.seed, fold.vary, **parameters)
    model = plan.estimator.set_callbacks(StopOnEvent(ended))
    model.fit(X, plan.y, **plan.weights)
    seconds = time.perf_counter() - started
    if ended.is_set():
        raise KeyboardInterrupt
    labels = None
    if len(fold.labelled) and problem.y is not None:
        n_labels = int(problem.known[fold.train].sum())
        rows = fold.labelled
        labels = label_costs(model, problem.X[rows], problem.y[rows], n_labels)
    words = top_words(model.components_)
    coherence = np.nan
    if problem.counts is not None:
        coherence = float(np.nanmean(npmi_coherence(words, problem.counts)))
    cells = _over_parts(fold, [part.costs(model) for part in fold.hidden])
    misfit = float(model.history_["data"][-1])
    return CandidateFit(
        cells, labels, model.components_, misfit, coherence, topic_diversity(words), seconds
    )


def run_candidates(
    problem: Problem, folds: Sequence[Fold], grid: Sequence[Parameters], progress: Progress
) -> Iterator[Candidate]:
    """Yield each candidate when all its fits are done.

    The first error, or Ctrl-C, ends all fits and is raised; candidates yielded before are complete.
    """
    ended = Event()
    pool = ThreadPoolExecutor(count_threads(problem.n_jobs))
    places: dict[Future[CandidateFit], tuple[int, int]] = {}
    trials: dict[int, dict[int, CandidateFit]] = {}
    try:
        for c, parameters in enumerate(grid):
            for f, fold in enumerate(folds):
                places[pool.submit(fit_candidate, problem, fold, parameters, ended)] = c, f
        for done, future in enumerate(as_completed(places), 1):
            c, f = places.pop(future)
            trials.setdefault(c, {})[f] = future.result()
            progress(done, len(grid) * len(folds))
            if len(trials[c]) == len(folds):
                found = trials.pop(c)
                yield summarise(problem, folds, grid[c], [found[f] for f in range(len(folds))])
    finally:
        ended.set()
        pool.shutdown(cancel_futures=True)


def summarise(
    problem: Problem, folds: Sequence[Fold], parameters: Parameters, trials: Sequence[CandidateFit]
) -> Candidate:
    """Combine the fits of a candidate."""
    cells, labels, right = np.full((3, problem.X.shape[0]), np.nan)
    for fold, trial in zip(folds, trials, strict=True):
        cells[fold.test] = trial.cells
        if trial.labels is not None:
            labels[fold.labelled], right[fold.labelled] = trial.labels
    return Candidate(
        parameters,
        cells,
        labels,
        right,
        similarities([trial.components for trial in trials]),
        np.array([trial.misfit for trial in trials]),
        coherence=float(np.mean([trial.coherence for trial in trials])),
        diversity=float(np.mean([trial.diversity for trial in trials])),
        seconds=float(np.sum([trial.seconds for trial in trials])),
    )


def better_fits(candidates: Sequence[Candidate]) -> BoolArray:
    """Return which fits of each candidate are the better half (candidates × folds).

    A fit may get stuck, with two topics merged and another one split, for any number of topics.
    The divergence of the rows that it saw, relative to the median of the candidates, shows this.
    """
    misfits = np.log(np.maximum([candidate.misfits for candidate in candidates], 1e-300))
    places = np.argsort(np.argsort(misfits - np.median(misfits, axis=0), axis=1), axis=1)
    return np.asarray(places < (misfits.shape[1] + 1) // 2)


def similarities(topics: Sequence[FloatArray]) -> FloatArray:
    """Return the mean similarity of each fit's topics to the matching topics of the other fits."""
    runs = len(topics)
    found = np.zeros((runs, runs))
    for i in range(runs):
        for j in range(i):
            pairs = match_topics(topics[i], None, topics[j], None)
            found[i, j] = found[j, i] = np.mean([similarity for _, _, similarity in pairs])
    return np.asarray(found.sum(axis=1) / (runs - 1))
