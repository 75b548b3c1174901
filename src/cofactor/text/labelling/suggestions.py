"""Documents to label next, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse as sp
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state

from cofactor.estimators.inference import topic_shares
from cofactor.metrics.topics import top_places
from cofactor.targets.missing import known_values, labelled_mask
from cofactor.targets.sets import read_targets
from cofactor.text.describe.answers import answers_of, represent
from cofactor.text.describe.predictions import label_thresholds, predicted_kind
from cofactor.text.describe.summaries import topic_counts
from cofactor.text.describe.table import Table
from cofactor.text.documents import known_matrix, read_documents

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


@dataclass(frozen=True)
class ToLabel:
    """A document to label."""

    document: int
    reason: str
    prediction: Any  # what the model would say; None without labels
    confidence: float | None
    topic: int
    name: str  # of the topic


def suggest(
    model: Any, documents: Any, n: int, y: Any, strategy: str, random_state: Any
) -> Table[ToLabel]:
    """Choose documents to label; parameters are those of ``TopicModel.to_label``."""
    if strategy not in STRATEGIES:
        raise ValueError(
            f"strategy={strategy!r} must be one of {', '.join(map(repr, STRATEGIES))}."
        )
    if not (isinstance(n, int | np.integer) and n > 0):
        raise ValueError(f"n={n!r} must be a whole number of at least 1.")
    X = known_matrix(model, read_documents(documents))
    S, scores = represent(model, X)
    candidates = candidates_of(model, X, S, scores, y)
    seed = check_random_state(model.seed_ if random_state is None else random_state)
    random = np.random.default_rng(seed.randint(2**31 - 1))
    chosen = choose_rows(candidates, int(n), strategy, random)
    rows = [row for row, _ in chosen]
    told = answers_of(model, S[rows], scores[rows]).documents
    found = [
        ToLabel(row, reason, one.prediction, one.confidence, one.topic, one.name)
        for (row, reason), one in zip(chosen, told, strict=True)
    ]
    return Table(found, ToLabel)


def candidates_of(
    model: Any, X: sp.csr_array, S: np.ndarray, scores: np.ndarray, y: Any
) -> Candidates:
    """Return documents as `choose_rows` takes them."""
    shares = topic_shares(S, model.estimator_.components_)
    labelled = labelled_documents(model, y, X.shape[0])
    covered = getattr(model, "topic_support_", np.zeros(shares.shape[1])) > 0
    covered |= topic_counts(shares, labelled, labelled[:, None])["topic_support_"] > 0
    rows = sp.csr_array(normalize(X.astype(float)))
    margins, classes = close_calls(model.estimator_, scores)
    return Candidates(rows, shares, margins, classes, labelled, covered)


def labelled_documents(model: Any, y: Any, n: int) -> np.ndarray:
    """Tell which documents have a label."""
    if y is None:
        return np.zeros(n, dtype=bool)
    y = read_targets(y)
    classes = getattr(model.estimator_, "classes_", None)
    numbers = predicted_kind(model.estimator_) == "numbers"
    found = known_values(y) if numbers else labelled_mask(y, classes=classes)
    if len(found) != n:
        raise ValueError(
            f"y has {len(found)} entries, but there are {n} documents; pass one for each."
        )
    return found


def close_calls(
    estimator: Any, scores: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | tuple[None, None]:
    """Return how far the best class of each document is ahead of the next one, and that class.

    For several labels a document they are how far the closest label is from its threshold, and that
    label. None for numbers and without labels.
    """
    kind = predicted_kind(estimator)
    if kind not in ("classes", "sets") or scores.shape[1] < 2:
        return None, None
    if kind == "sets":
        distances = np.abs(scores - label_thresholds(estimator))
        return distances.min(axis=1), distances.argmin(axis=1)
    P = np.asarray(estimator.probabilities(scores))
    two = np.sort(P, axis=1)[:, -2:]
    return two[:, 1] - two[:, 0], P.argmax(axis=1)
