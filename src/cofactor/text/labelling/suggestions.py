"""Suggests documents to label next, each with a reason.

Four kinds of documents are worth a label:

- the first document of a topic without labels: a label says what the topic means;
- documents that are typical of many others without a label like them: they show what there is. A
  model of few labels cannot tell which of its calls are close;
- close calls, whose prediction is doubtful: a label moves the border. They are drawn: the chance of
  a document is the square of its doubt, the probability that its prediction is wrong. A model that
  knows nothing doubts everything alike, so it asks for random documents; the more it knows, the
  more it asks for hard ones. Classes with few labels have better chances;
- documents drawn at random: they reveal what the model is wrongly sure of, and their labels are a
  fair test.

A mixture prefers first documents of topics, then typical ones until there are twice as many labels
as topics, then close calls: what looks like a close call may belong to a class that the model does
not know yet. Near-duplicates of labelled or chosen documents are left out, since they add nothing.
Short documents count like others: where they belong to one class, as in questions, leaving them out
hides how frequent it is.

`choose_rows` works on matrices only; `suggest` applies it to documents.
"""

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
from cofactor.targets.classes import read_targets
from cofactor.targets.reading import known_values, labelled_mask
from cofactor.text.describe.answers import answers_of, represent_documents
from cofactor.text.describe.predictions import blank_rows, label_thresholds, predicted_kind
from cofactor.text.describe.summaries import topic_counts
from cofactor.text.describe.table import Table
from cofactor.text.documents import known_rows, read_documents

CLOSE, FIRST, RANDOM = "close call", "first of its topic", "random check"
TYPICAL = "typical of many"
STRATEGIES = ("mixed", "close", "topics", "random")
RANDOM_PART = 5  # one in this many rows is drawn at random
MAX_TRIED = 20  # rows of a topic that are tried in turn
MIN_DOUBT = 1e-6  # so that sure rows have a chance, too
MIN_DUPLICATE = 0.9  # cosine from which rows are near-duplicates
LABELS_PER_TOPIC = 2  # up to which typical rows are preferred to close calls
MAX_COMPARED = 1000  # rows that are compared with each other to find typical ones
LIKENESS_POWER = 4  # of the cosine: only rows that are much alike stand for each other


@dataclass(frozen=True, eq=False)
class Candidates:
    """Rows to choose from.

    Parameters
    ----------
    rows : csr_array (n, m)
        The rows, of length one or empty.
    shares : array (n, r)
        Share of each topic in each row.
    doubts : array (n,) or None
        The probability that the prediction of each row is wrong; None without classes.
    classes : array (n,) or None
        The index of the best class of each row.
    labelled : array (n,)
        Which rows are labelled; these are not chosen.
    covered : array (r,)
        Which topics have a label.
    side : array (n, d) or None
        Vectors of an encoder.
    n_labels : int
        Number of labels that the model knows, of these rows or of others.
    blank : array (n,) or None
        Which rows the model knows nothing of; these are not chosen. None: those without words.
    """

    rows: Any
    shares: np.ndarray
    doubts: np.ndarray | None
    classes: np.ndarray | None
    labelled: np.ndarray
    covered: np.ndarray
    side: np.ndarray | None = None
    n_labels: int = 0
    blank: np.ndarray | None = None


def choose_rows(
    candidates: Candidates, n: int, strategy: str, random: np.random.Generator
) -> list[tuple[int, str]]:
    """Choose up to n rows by a strategy of `STRATEGIES`; return each with its reason.

    In a mixture, other reasons fill up for a reason with too few rows. ``random`` draws random
    checks and close calls.
    """
    chosen = _ChosenRows(candidates)
    rankings = {
        CLOSE: _close_calls(candidates, random),
        FIRST: _first_of_topics(candidates),
        TYPICAL: _typical(candidates),
        RANDOM: ([row] for row in random.permutation(len(candidates.labelled)).tolist()),
    }
    for reason, end in _ends(strategy, n, candidates):
        chosen.take(rankings[reason], end, reason)
    return chosen.rows


def _ends(strategy: str, n: int, candidates: Candidates) -> list[tuple[str, int]]:
    """Return the reasons in order, each with the number of rows chosen by then."""
    if strategy != "mixed":
        return [({"close": CLOSE, "topics": FIRST, "random": RANDOM}[strategy], n)]
    chosen = n - n // RANDOM_PART
    lacking = LABELS_PER_TOPIC * candidates.shares.shape[1] - candidates.n_labels
    typical = min(chosen, max(0, lacking))
    return [(FIRST, chosen), (TYPICAL, typical), (CLOSE, chosen), (RANDOM, n)]


def _close_calls(candidates: Candidates, random: np.random.Generator) -> Iterator[list[int]]:
    """Yield rows as they are drawn, without replacement, with chances that grow with the doubt.

    The chance of a class is divided by the number of its labelled rows.
    """
    doubts, classes = candidates.doubts, candidates.classes
    if doubts is None or classes is None:
        return
    labelled = np.bincount(classes[candidates.labelled], minlength=classes.max() + 1)
    chances = np.maximum(doubts, MIN_DOUBT) ** 2 / (1 + labelled[classes])
    for row in np.argsort(random.exponential(size=len(chances)) / chances).tolist():
        yield [row]


def _first_of_topics(candidates: Candidates) -> Iterator[list[int]]:
    """Yield the most central rows of each topic without labels, the largest topic first.

    A row is central if it consists of this topic and resembles other rows of it.
    """
    X, shares = candidates.rows, candidates.shares
    central = np.asarray((X @ (X.T @ shares)) * shares)
    for k in np.argsort(-shares.sum(axis=0), kind="stable"):
        if not candidates.covered[k]:
            yield top_places(central[:, k], MAX_TRIED).tolist()


def _typical(candidates: Candidates) -> Iterator[list[int]]:
    """Yield rows that resemble many rows which no labelled or earlier row resembles.

    This is the greedy choice for facility location. Of many rows it takes a sample with even steps.
    """
    known = np.flatnonzero(np.diff(candidates.rows.indptr) > 0)
    if len(known) == 0:
        return
    step = -(-len(known) // MAX_COMPARED)
    rows, labelled = known[::step], np.flatnonzero(candidates.labelled)
    likeness = _likeness(candidates, rows, rows)
    covered = _likeness(candidates, rows, labelled).max(axis=1, initial=0.0)
    free = ~candidates.labelled[rows]
    while free.any():
        gains = np.maximum(likeness - covered, 0.0).sum(axis=1)
        best = int(np.where(free, gains, -1.0).argmax())
        free[best] = False
        covered = np.maximum(covered, likeness[best])
        yield [int(rows[best])]


def _likeness(candidates: Candidates, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return how much rows are alike in their topics and, if there are some, their vectors."""
    views = [np.sqrt(candidates.shares)]
    if candidates.side is not None:
        views.append(np.asarray(candidates.side, dtype=float))
    cosines = [normalize(view[rows]) @ normalize(view[others]).T for view in views if len(others)]
    if not cosines:
        return np.zeros((len(rows), 0))
    return np.asarray(np.clip(np.mean(cosines, axis=0), 0.0, 1.0) ** LIKENESS_POWER)


@dataclass(eq=False)
class _ChosenRows:
    """The rows chosen so far, with their reasons."""

    candidates: Candidates
    rows: list[tuple[int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        blank = self.candidates.blank
        blank = np.diff(self.candidates.rows.indptr) == 0 if blank is None else blank
        self.known = self.candidates.labelled | blank  # labelled, blank or chosen

    def take(self, ranked: Iterator[list[int]], end: int, reason: str) -> None:
        """Choose one row from each of the next groups, until there are ``end`` rows."""
        while len(self.rows) < end and (group := next(ranked, None)) is not None:
            if (row := next(filter(self._is_new, group), None)) is not None:
                self.rows.append((row, reason))
                self.known[row] = True

    def _is_new(self, row: int) -> bool:
        """Return whether a row is not blank and does not nearly repeat a labelled or chosen one."""
        X = self.candidates.rows
        if self.known[row]:
            return False
        likeness = (X @ X[[row]].T).toarray()[:, 0]
        return not bool((likeness[self.known] >= MIN_DUPLICATE).any())


@dataclass(frozen=True)
class ToLabel:
    """A document to label."""

    document: int
    reason: str
    prediction: Any  # None without labels
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
    documents = known_rows(model, read_documents(documents))
    S, scores = represent_documents(model, documents)
    vectors = None if documents.side is None else documents.side.vectors
    candidates = candidates_of(model, documents.X, S, scores, y, vectors)
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
    model: Any,
    X: sp.csr_array,
    S: np.ndarray,
    scores: np.ndarray,
    y: Any,
    side: np.ndarray | None = None,
) -> Candidates:
    """Return documents as candidates for `choose_rows`."""
    shares = topic_shares(S, model.estimator_.components_)
    labelled = labelled_documents(model, y, X.shape[0])
    support = getattr(model, "topic_support_", np.zeros(shares.shape[1]))
    n_labels = max(int(np.sum(support)), int(np.count_nonzero(labelled)))
    covered = support > 0
    covered |= topic_counts(shares, labelled, labelled[:, None])["topic_support"] > 0
    rows = sp.csr_array(normalize(X.astype(float)))
    doubts, classes = doubtful_predictions(model.estimator_, scores)
    blank = blank_rows(model.estimator_, S, scores)
    return Candidates(rows, shares, doubts, classes, labelled, covered, side, n_labels, blank)


def labelled_documents(model: Any, y: Any, n: int) -> np.ndarray:
    """Return which documents are labelled."""
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


def doubtful_predictions(
    estimator: Any, scores: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | tuple[None, None]:
    """Return the probability that each document's best class is wrong, and that class's index.

    For several labels per document: how close a label is to its threshold (from 0 to 1), and that
    label. None for numbers and without labels.
    """
    kind = predicted_kind(estimator)
    if kind not in ("classes", "sets") or scores.shape[1] < 2:
        return None, None
    if kind == "sets":
        distances = np.abs(scores - label_thresholds(estimator))
        return np.maximum(1.0 - 2.0 * distances.min(axis=1), 0.0), distances.argmin(axis=1)
    P = np.asarray(estimator.probabilities(scores))
    return 1.0 - P.max(axis=1), P.argmax(axis=1)
