"""Choose hyperparameters on the validation posts: from the paper's grids, and from one of ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from cofactor.experiments import Options, paper
from cofactor.experiments.newsgroups.models import validate
from cofactor.experiments.newsgroups.splits import PaperSplits
from cofactor.experiments.run import Run
from cofactor.experiments.trials import TrialSettings

UNSUPERVISED = (paper.NMF_SVM, "KL-NMF + SVM")
SHARES = (1 / 3, 1.0)
"""Our values of λ, relative to the one that "auto" finds."""
PSEUDO_COUNTS = (0.0, 0.05, 0.5)
"""Pseudo-counts that our prior on the samples adds to each topic of each post."""
OWN_TRIALS = 3
Point = tuple[str, Any, Any]
"""A model and two hyperparameters: the paper's tolerance and λ, or our share and pseudo-count."""
Chosen = dict[str, tuple[Any, Any]]
"""The two hyperparameters of each model."""
Grid = dict[Point, float]
"""The validation accuracy of each point."""


@dataclass(frozen=True)
class Choices:
    """The chosen hyperparameters of the paper's procedure and of ours, and the grids searched."""

    literal: Chosen
    ours: Chosen
    literal_grid: Grid
    own_grid: Grid


def literal(
    options: Options, model: str, tol: float, weight: float | None, n: int
) -> TrialSettings:
    """Return trial n of the paper's procedure, or of a model without labels."""
    supervised = model in paper.MODELS
    iterations = paper.ITERATIONS if supervised else paper.NMF_ITERATIONS
    return {
        **plain(options, "paper" if supervised else "nmf", model, n),
        "tol": tol,
        "supervision": weight,
        "iterations": min(iterations, 30) if options.quick else iterations,
    }


def own(options: Options, model: str, share: float, pseudo_count: float, n: int) -> TrialSettings:
    """Return trial n of our procedure with chosen hyperparameters."""
    chosen = {"share": share, "pseudo_count": pseudo_count}
    return {**plain(options, "tuned", model, n), **chosen}


def plain(options: Options, procedure: str, model: str, n: int) -> TrialSettings:
    """Return trial n of a procedure without hyperparameters."""
    base = {"rank": paper.RANK, "seed": options.seed, "trial": n}
    return {**base, "procedure": procedure, "model": model}


def choose(run: Run, splits: PaperSplits) -> Choices:
    """Return the best point of every model."""
    points: list[Point] = [*product(paper.MODELS, paper.TOLERANCES, paper.SUPERVISIONS)]
    points += [(m, tol, None) for m, tol in product(UNSUPERVISED, paper.NMF_TOLERANCES)]
    label = "choosing hyperparameters"
    theirs = _score(run, splits, label, points, literal, paper.SELECTION_TRIALS)
    points = [*product(paper.MODELS, SHARES, PSEUDO_COUNTS)]
    ours = _score(run, splits, "choosing ours", points, own, OWN_TRIALS)
    return Choices(_best(theirs), _best(ours), theirs, ours)


def _score(
    run: Run,
    splits: PaperSplits,
    label: str,
    points: Sequence[Point],
    settings: Callable[..., TrialSettings],
    max_trials: int,
) -> Grid:
    """Return the mean validation accuracy of each point over trials."""
    count = 1 if run.options.quick else min(run.options.count(paper.TRIALS), max_trials)
    groups = {p: [settings(run.options, *p, n) for n in range(count)] for p in points}
    results = run.trials(label, validate, groups, splits)
    return {p: float(np.mean([each["accuracy"] for each in results[p]])) for p in points}


def _best(grid: Grid) -> Chosen:
    models = dict.fromkeys(point[0] for point in grid)
    top = {m: max((p for p in grid if p[0] == m), key=grid.__getitem__) for m in models}
    return {model: (one, two) for model, (_, one, two) in top.items()}
