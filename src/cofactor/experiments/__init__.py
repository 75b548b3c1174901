"""The paper's experiments, repeated with the public estimators: `cofactor reproduce`.

``paper``
    the paper's models, hyperparameter grids and printed results
``synthetic``
    section 3.1: data drawn from known factors
``newsgroups``
    section 3.2 and the appendix: its splits, models, hyperparameters and tables
``reuters``, ``ratings``
    multi-label news and ratings of reviews, which the paper does not have
``documents``
    stop words, tf-idf, documents from JSON lines files, made-up documents
``run``, ``trials``
    runs experiments, stores finished trials and writes the results
``tables``, ``figures``
    the formats of the results

Each experiment is a module with two functions: ``prepare(options)`` reads its data;
``run(run, data)`` computes trials and writes tables and figures with a `Run`.

The command line imports this module for its options, so it imports nothing heavy.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cofactor.errors import ParameterError

PAPER_EXPERIMENTS = ("synthetic", "newsgroups")
EXPERIMENTS = (*PAPER_EXPERIMENTS, "reuters", "ratings")
SOLVER_NAMES = ("auto", "cd", "mu", "mu-paper")


class MissingData(ParameterError):
    """A file that an experiment needs does not exist; the message says where to put it."""


@dataclass(frozen=True)
class Options:
    """Settings of a run.

    Parameters
    ----------
    out : Path
        Output folder, with a subfolder for each experiment.
    trials : int, optional
        Number of trials of each model; by default as many as in the paper, or two if quick.
    draws : int
        Number of independent draws of factors and noise in the synthetic experiment.
    seed : int
        Random seed of data, splits and starts.
    quick : bool
        Use small synthetic data and few iterations, to check that everything works.
    solver : str
        Solver of the synthetic experiment.
    iterations : int, optional
        Number of iterations of the synthetic fits; by default they run until they converge.
    updates : int, optional
        Also fit by this many multiplicative updates in the synthetic experiment, to compare.
    data_home : Path, optional
        Folder that holds the data.
    stopwords : Path, optional
        File of stop words, one on each line.
    jobs : int
        Number of parallel processes; the results do not depend on it.
    """

    out: Path
    trials: int | None = None
    draws: int = 1
    seed: int = 0
    quick: bool = False
    solver: str = "auto"
    iterations: int | None = None
    updates: int | None = None
    data_home: Path | None = None
    stopwords: Path | None = None
    jobs: int = 1

    def count(self, usual: int) -> int:
        """Return the number of trials, where the paper has ``usual``."""
        return self.trials or (min(usual, 2) if self.quick else usual)
