"""What a user can ask of the experiments. Imports nothing heavy: the command line reads it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

EXPERIMENTS = {
    "synthetic": "Section 3.1: four noise models, four losses.",
    "newsgroups": "Section 3.2 and the appendix: 20 Newsgroups.",
    "reuters": "Multi-label news, beyond the printed paper.",
    "ratings": "Ratings from reviews, beyond the printed paper.",
}
SOLVERS = ("auto", "cd", "mu", "mu-paper")


class BadInput(Exception):
    """What the user gave cannot be used; the message says what to do about it."""


class MissingData(BadInput):
    """A file that an experiment needs is not there; the message says which, and where to put it."""


@dataclass(frozen=True)
class Options:
    """Settings of a run.

    Parameters
    ----------
    out : Path
        Folder for the results; each experiment has its own folder in it.
    trials : int, optional
        Trials of each model; by default as many as the paper made (or two, if quick).
    draws : int
        Independent draws of factors and noise in the synthetic experiment.
    seed : int
        Decides the data that are drawn, the split and every start.
    quick : bool
        Small made-up data and few iterations, to see that everything works.
    solver : str
        Solver of the synthetic experiment.
    iterations : int, optional
        Iterations of the synthetic fits; by default until they converge.
    updates : int, optional
        Multiplicative updates of further synthetic fits, whose objectives are compared.
    data_home : Path, optional
        Folder with the data.
    stopwords : Path, optional
        File of stop words, one a line.
    jobs : int
        Processes that work side by side; the results do not depend on it.
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
        """Return the number of trials, given the paper's."""
        return self.trials or (min(usual, 2) if self.quick else usual)
