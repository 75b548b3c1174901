"""The options of the experiments. Imports nothing heavy, since the command line reads them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cofactor.io.errors import InputError

EXPERIMENTS = {
    "synthetic": "Section 3.1: four noise models, four losses.",
    "newsgroups": "Section 3.2 and the appendix: 20 Newsgroups.",
    "reuters": "Multi-label news, beyond the printed paper.",
    "ratings": "Ratings from reviews, beyond the printed paper.",
}
SOLVERS = ("auto", "cd", "mu", "mu-paper")


class MissingData(InputError):
    """A file that an experiment needs does not exist; the message says where to put it."""


@dataclass(frozen=True)
class Options:
    """Settings of a run.

    Parameters
    ----------
    out : Path
        Folder for the results; each experiment has its own folder in it.
    trials : int, optional
        Number of trials of each model; by default that of the paper, or two if quick.
    draws : int
        Number of independent draws of factors and noise in the synthetic experiment.
    seed : int
        Random seed of data, splits and starts.
    quick : bool
        Whether to use small made-up data and few iterations, to see that everything works.
    solver : str
        Solver of the synthetic experiment.
    iterations : int, optional
        Number of iterations of the synthetic fits; by default until they converge.
    updates : int, optional
        Number of multiplicative updates of further synthetic fits to compare with.
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
        """Return the number of trials; ``usual`` is that of the paper."""
        return self.trials or (min(usual, 2) if self.quick else usual)
