"""Chooses which rows to label next. It knows matrices only.

Three kinds of rows are worth a label, and each has its reason:

- the first row of a topic that has no label yet: a label says what the topic speaks for;
- close calls, whose two best classes are almost equally probable: a label moves the border. The
  classes take turns, so that a class that is hard to tell from others does not get all labels;
- rows drawn at random: they find what the model does not know that it does not know, and their
  labels test it fairly.

A mixture takes first rows of topics before close calls: what looks like a close call to a model
that does not know all classes may be a class of its own. Near-duplicates of labelled or
chosen rows are left out: they say nothing new. Rows with few words come last, but for random
checks: most of them are close calls, because they say little, and so does their label.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cofactor.metrics.topics import top_places

CLOSE, FIRST, RANDOM = "close call", "first of its topic", "random check"
RANDOM_PART = 5
"""One of so many rows is drawn at random."""
STRATEGIES = ("mixed", "close", "topics", "random")
TRIED = 20
"""Number of rows of a topic that are tried in turn, if the first ones are known."""
LAST = 1e-9
"""A factor that puts rows behind all others, in their own order."""
ALIKE = 0.9
"""Rows with at least this cosine are near-duplicates."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Rows to choose from.

    Parameters
    ----------
    rows : csr_array (n, m)
        The rows, each of length one, or empty.
    shares : array (n, r)
        Share of each topic in each row.
    margins : array (n,) or None
        How far the best class of each row is ahead of the next; None if there are no classes.
    classes : array (n,) or None
        The best class of each row, as a number.
    labelled : array (n,)
        Which rows have a label; they are not chosen.
    covered : array (r,)
        Which topics have a label.
    """

    rows: Any
    shares: np.ndarray
    margins: np.ndarray | None
    classes: np.ndarray | None
    labelled: np.ndarray
    covered: np.ndarray


def choose_rows(
    candidates: Candidates, n: int, strategy: str, random: np.random.Generator
) -> list[tuple[int, str]]:
    """Choose up to n rows; return each with its reason.

    Where a reason of a mixture has too few rows, the others have more.

    Parameters
    ----------
    candidates : Candidates
    n : int
    strategy : {"mixed", "close", "topics", "random"}
    random : Generator
        Draws the rows of the random checks.

    Returns
    -------
    list of (row, reason)
    """
    choice = _Choice(candidates)
    rankings = {
        CLOSE: _close_calls(candidates),
        FIRST: _first_of_topics(candidates),
        RANDOM: ([row] for row in random.permutation(len(candidates.labelled)).tolist()),
    }
    for reason, end in _ends(strategy, n):
        choice.take(rankings[reason], end, reason)
    return choice.chosen


def _ends(strategy: str, n: int) -> list[tuple[str, int]]:
    """Return the reasons in their order, and how many rows there are after each."""
    if strategy != "mixed":
        return [({"close": CLOSE, "topics": FIRST, "random": RANDOM}[strategy], n)]
    chosen = n - n // RANDOM_PART
    return [(FIRST, chosen), (CLOSE, chosen), (RANDOM, n)]


def _close_calls(candidates: Candidates) -> Iterator[list[int]]:
    """Yield rows of the classes in turn, those with the least margin first.

    A class waits as many turns as it has labelled rows.
    """
    margins, classes, labelled = candidates.margins, candidates.classes, candidates.labelled
    if margins is None or classes is None:
        return
    turns = np.zeros(len(margins), dtype=np.intp)
    short = _have_few_words(candidates.rows)
    for one in np.unique(classes):
        rows = np.flatnonzero((classes == one) & ~labelled)
        waits = np.count_nonzero(classes[labelled] == one)
        turns[rows[np.lexsort((margins[rows], short[rows]))]] = waits + np.arange(len(rows))
    for row in np.lexsort((margins, turns, short)).tolist():
        yield [row]


def _first_of_topics(candidates: Candidates) -> Iterator[list[int]]:
    """Yield the most central rows of each topic that has no label, the largest topic first.

    A row is central if it is all this topic and has much in common with other rows of it.
    """
    X, shares = candidates.rows, candidates.shares
    central = np.asarray((X @ (X.T @ shares)) * shares)
    central[_have_few_words(X)] *= LAST
    for k in np.argsort(-shares.sum(axis=0), kind="stable"):
        if not candidates.covered[k]:
            yield top_places(central[:, k], TRIED).tolist()


def _have_few_words(rows: Any) -> np.ndarray:
    """Tell which rows have fewer words than most of those that have any."""
    words = np.diff(rows.indptr)
    return np.asarray(words < np.median(words[words > 0])) if words.any() else words > 0


@dataclass(eq=False)
class _Choice:
    """The rows chosen so far."""

    candidates: Candidates
    chosen: list[tuple[int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.known = self.candidates.labelled.copy()  # labelled or chosen

    def take(self, ranked: Iterator[list[int]], end: int, reason: str) -> None:
        """Choose one row of each of the next groups, until there are ``end`` rows."""
        while len(self.chosen) < end and (group := next(ranked, None)) is not None:
            if (row := next(filter(self._is_new, group), None)) is not None:
                self.chosen.append((row, reason))
                self.known[row] = True

    def _is_new(self, row: int) -> bool:
        """Tell whether a row has words, and none that is labelled or chosen is almost the same."""
        X = self.candidates.rows
        if self.known[row] or X.indptr[row] == X.indptr[row + 1]:
            return False
        likeness = (X @ X[[row]].T).toarray()[:, 0]
        return not bool((likeness[self.known] >= ALIKE).any())
