"""A trial: do grammatical words help to predict?

In short texts, "how many" and "who" may reveal what is asked, or nothing: they help with questions
and cost accuracy on news headlines (``benchmarks/results/short_texts.md``). So a vectorizer with
``keep_grammar="auto"`` only proposes such words. `fitting.vectorise` runs this trial on its first
matrix, before any estimator is fitted: linear models predict held-out labels with and without the
words, which stay only if the labels become clearly more likely.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse as sp
from scipy.special import log_softmax
from sklearn.preprocessing import normalize

from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.engine.observations import observe
from cofactor.engine.threads import Threads
from cofactor.linear.pool import held_out_scores
from cofactor.targets.reading import is_matrix, known_labels, read_column, readable
from cofactor.text.describe.topic_words import even_rows

MAX_LABELLED, MAX_UNLABELLED = 1500, 1500
"""Maximum number of documents in a trial."""
MIN_GAIN = 2.0
"""Keep the words only if the gain exceeds this many standard errors."""


def class_numbers(y: Any, n: int) -> IntArray | None:
    """Return the class of each of n documents as a number, −1 where it is unknown.

    None if y has several columns, fewer than two classes, or labels that the fit will reject.
    """
    if y is None or is_matrix(readable(y, "y")):
        return None
    labels, known = known_labels(read_column(readable(y, "y")), None)
    try:
        names, places = np.unique(labels, return_inverse=True)
    except TypeError:  # labels that cannot be sorted
        return None
    if len(known) != n or len(names) < 2:
        return None
    classes = np.full(n, -1)
    classes[known] = places
    return classes


def grammar_helps(
    X: Any,
    grammar: BoolArray | None,
    classes: IntArray | None,
    n_jobs: int | None,
    most: int = MAX_LABELLED,
) -> bool:
    """Return whether grammatical (or other) words make held-out labels clearly more likely.

    Parameters
    ----------
    X : CSR array of shape (n_documents, n_words)
        Rows of length one.
    grammar : array of bool (n_words,) or None
        The columns of grammatical words; None if there are no such words.
    classes : array of int (n_documents,) or None
        From `class_numbers`. None: nothing to predict, so they do not help.
    n_jobs : int or None
        Number of threads.
    most : int
        Maximum number of labelled documents in the trial.
    """
    if grammar is None or classes is None:
        return False
    labelled, others = np.flatnonzero(classes >= 0), np.flatnonzero(classes < 0)
    labelled = labelled[even_rows(len(labelled), most)]
    others = others[even_rows(len(others), MAX_UNLABELLED)]
    rows = np.sort(np.concatenate([labelled, others]))
    X, classes = X[rows], classes[rows]
    without = sp.csr_array(normalize(X[:, ~grammar]))
    with Threads(n_jobs) as threads:
        before, after = (_log_likelihoods(each, classes, threads) for each in (without, X))
    gain = (after - before)[np.isfinite(before)]
    return bool(gain.sum() > MIN_GAIN * np.sqrt(gain @ gain))


def _log_likelihoods(X: Any, classes: IntArray, threads: Threads) -> FloatArray:
    """Return the held-out log-likelihood of each label; NaN for unlabelled documents."""
    shares = (classes[:, None] == np.arange(classes.max() + 1)).astype(float)
    scores = held_out_scores(observe(X), np.ones(len(classes)), shares, classes >= 0, threads)
    return np.asarray(log_softmax(scores, axis=1)[np.arange(len(classes)), np.maximum(classes, 0)])
