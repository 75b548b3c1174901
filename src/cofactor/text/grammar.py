"""A trial: do grammatical words help to predict?

In short texts, "how many" and "who" may reveal what is asked, or nothing. So a vectorizer with
``keep_grammar="auto"`` only proposes such words; fits with further words
(`cofactor.text.further_words`) need no trial. `fitting.vectorise` runs this trial on its first
matrix, before any estimator is fitted: linear models predict held-out labels with and without the
words, which stay only if the labels become clearly more likely. Documents may have several labels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp
from scipy.special import log_softmax
from sklearn.preprocessing import normalize

from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.engine.observations import observe
from cofactor.engine.threads import Threads
from cofactor.linear.multilabel import held_out_log_likelihoods
from cofactor.linear.pool import PartlyLabelled, held_out_scores
from cofactor.linear.views import Matrix
from cofactor.targets.classes import encode_classes
from cofactor.targets.reading import is_matrix, known_labels, read_column, readable
from cofactor.text.describe.topic_words import even_rows

MAX_LABELLED, MAX_UNLABELLED = 1500, 1500
"""Maximum number of documents in a trial."""
MAX_TRIAL_TAGS = 50
"""Maximum number of labels in a trial, if documents have several; the most frequent ones."""
SMOOTHING = 0.1  # that naive Bayes adds to the weight of a word in a label
MIN_GAIN = 2.0
"""Keep the words only if the gain exceeds this many standard errors."""


class TrialLabels(NamedTuple):
    """The labels of documents, as a trial needs them."""

    cells: Any
    """CSR array (n, k): one where a document has a label."""
    labelled: BoolArray
    several: bool
    """Whether a document may have any number of labels."""
    known: BoolArray | None = None
    """Which cells are known (n, k); None means all."""

    def select(self, rows: IntArray) -> TrialLabels:
        """Return the labels of some documents."""
        known = None if self.known is None else self.known[rows]
        return TrialLabels(self.cells[rows], self.labelled[rows], self.several, known)


def trial_labels(y: Any, n: int) -> TrialLabels | None:
    """Return the labels of n documents.

    None if there are fewer than two classes, shares in classes, or labels that the fit will reject.
    """
    if y is None:
        return None
    try:
        return _tags(y, n) if is_matrix(readable(y, "y")) else _classes(y, n)
    except (TypeError, ValueError):  # the fit says what is wrong with them
        return None


def _classes(y: Any, n: int) -> TrialLabels | None:
    labels, known = known_labels(read_column(readable(y, "y")), None)
    names, places = np.unique(labels, return_inverse=True)
    if len(known) != n or len(names) < 2:
        return None
    rows = np.flatnonzero(known)
    cells = sp.csr_array((np.ones(len(rows)), (rows, places)), shape=(n, len(names)))
    return TrialLabels(cells, np.asarray(known), several=False)


def _tags(y: Any, n: int) -> TrialLabels | None:
    targets, coding = encode_classes(y, n_samples=n)
    if coding.kind != "multilabel" or not targets.labelled.any():
        return None
    cells = sp.csr_array(targets.values)
    frequent = np.argsort(-np.asarray(cells.sum(axis=0)).ravel(), kind="stable")[:MAX_TRIAL_TAGS]
    weights = targets.cell_weights
    known = None if weights is None else np.asarray(weights[:, frequent] > 0)
    return TrialLabels(cells[:, frequent], targets.labelled, several=True, known=known)


def grammar_helps(
    X: Any, grammar: BoolArray | None, labels: TrialLabels | None, n_jobs: int | None
) -> bool:
    """Return whether grammatical words make held-out labels clearly more likely.

    Parameters
    ----------
    X : CSR array of shape (n_documents, n_words)
        Rows of length one.
    grammar : array of bool (n_words,) or None
        The columns of grammatical words; None if there are no such words.
    labels : TrialLabels or None
        From `trial_labels`. None: nothing to predict, so they do not help.
    n_jobs : int or None
        Number of threads.
    """
    if grammar is None or labels is None:
        return False
    labelled, others = np.flatnonzero(labels.labelled), np.flatnonzero(~labels.labelled)
    labelled = labelled[even_rows(len(labelled), MAX_LABELLED)]
    others = others[even_rows(len(others), 0 if labels.several else MAX_UNLABELLED)]
    rows = np.sort(np.concatenate([labelled, others]))
    X, labels = X[rows], labels.select(rows)
    without = sp.csr_array(normalize(X[:, ~grammar]))
    likelihoods = _of_tags if labels.several else _of_classes
    with Threads(n_jobs) as threads:
        before, after = (likelihoods(each, labels, threads) for each in (without, X))
    return _is_clear((after - before)[np.isfinite(before) & np.isfinite(after)])


def rare_words_help(X: Any, kept: int, cells: Any) -> bool:
    """Return whether the words after the first ``kept`` clearly help to predict held-out labels.

    Naive Bayes predicts the labels of each half of the documents from the other half. It costs
    little beside a fit, and linear models agree with it unless the gain is below a point.

    Parameters
    ----------
    X : CSR array of shape (n_documents, n_words)
        Rows of length one.
    kept : int
    cells : CSR array of shape (n_documents, n_labels)
        Ones where a document has a label.

    Examples
    --------
    >>> X = sp.csr_array(np.eye(2)[[0, 0, 1, 1] * 5])
    >>> rare_words_help(X, 1, X), rare_words_help(X, 2, X)
    (True, False)
    """
    X, Y = sp.csr_array(X), sp.csr_array(cells)
    without = sp.csr_array(normalize(X[:, :kept]))
    return _is_clear(_found_by_halves(X, Y) - _found_by_halves(without, Y))


def _found_by_halves(X: Any, Y: Any) -> FloatArray:
    """Return for each document whether the likeliest label, by the other half, is one of its."""
    cells = Y.toarray()
    main = cells.argmax(axis=1)[:, None]
    even = np.take_along_axis(cells.cumsum(axis=0), main, axis=1)[:, 0] % 2 == 0  # half of each
    found = np.zeros(len(cells))
    for half in (even, ~even):
        sums = X[~half].T @ Y[~half]
        total = np.log(sums.sum(axis=0) + SMOOTHING * X.shape[1])
        sums.data = np.log1p(sums.data / SMOOTHING)  # a word without weight in a label adds nothing
        scores = (X[half] @ sums).toarray() - np.outer(X[half].sum(axis=1), total)
        scores += np.log(cells[~half].sum(axis=0) + 1)
        found[half] = np.take_along_axis(cells[half], scores.argmax(axis=1)[:, None], axis=1)[:, 0]
    return found


def _is_clear(gain: FloatArray) -> bool:
    return bool(gain.sum() > MIN_GAIN * np.sqrt(gain @ gain))


def _of_classes(X: Any, labels: TrialLabels, threads: Threads) -> FloatArray:
    """Return the held-out log-likelihood of each label; NaN for unlabelled documents."""
    shares = labels.cells.toarray()
    given = PartlyLabelled(observe(X), np.ones(len(shares)), shares, labels.labelled)
    scores = held_out_scores(given, threads)
    return np.asarray(log_softmax(scores, axis=1)[np.arange(len(shares)), shares.argmax(axis=1)])


def _of_tags(X: Any, labels: TrialLabels, threads: Threads) -> FloatArray:
    """Return the held-out log-likelihood of the labels of each document."""
    return held_out_log_likelihoods(Matrix(sp.csr_array(X), threads), labels.cells, labels.known)
