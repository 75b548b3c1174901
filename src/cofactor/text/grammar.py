"""Whether grammatical words predict: held-out labels decide.

In short texts "how many" and "who" may tell what is asked, or say nothing: they help with questions
and cost accuracy in sentences of the news (``benchmarks/results/short_texts.md``). So a vectorizer
that is to keep them where texts are short (``keep_grammar="auto"``) only proposes them, and they
stay if labels that were held out are more likely with them, by more than chance explains.

It imports `guesses`, whose pool is what predicts, and the vectorizer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse as sp
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.preprocessing import normalize

from cofactor._types import BoolArray, FloatArray, IntArray
from cofactor.engine.observations import observe
from cofactor.engine.threads import Threads
from cofactor.linear.pool import held_out_scores
from cofactor.targets.reading import is_matrix, known_labels, read_column, readable
from cofactor.text.describe.predictions import infer_task
from cofactor.text.describe.words import Words, even_rows

LABELLED, OTHERS = 1500, 1500
"""Maximum number of labelled and of other documents that decide."""
CLEAR = 2.0
"""A gain must be so many times its standard error."""


def fitted_words(model: Any, vectorizer: Any, texts: list[str], y: Any) -> tuple[Any, sp.csr_array]:
    """Fit a vectorizer, which has grammatical words only if they predict; return texts, too."""
    X = sp.csr_array(vectorizer.fit_transform(texts))
    proposed = getattr(vectorizer, "keeps_grammar", False)
    if not proposed or vectorizer.keep_grammar != "auto":
        return vectorizer, X
    hidden, classes = Words.of(vectorizer).hidden, _classes(model, y, len(texts))
    if (
        hidden is not None
        and classes is not None
        and grammar_helps(X, hidden, classes, model.n_jobs)
    ):
        return vectorizer, X
    plain = clone(vectorizer).set_params(keep_grammar=False)
    return plain, sp.csr_array(plain.fit_transform(texts))


def _classes(model: Any, y: Any, n: int) -> IntArray | None:
    """Return the class of each of n documents, −1 if it is not known; None if y has no classes."""
    task = infer_task(y) if model.task == "auto" else model.task
    if task != "classes" or y is None or is_matrix(readable(y, "y")):
        return None
    labels, known = known_labels(read_column(readable(y, "y")), None)
    try:
        names, places = np.unique(labels, return_inverse=True)
    except TypeError:  # labels without order, which the fit refuses
        return None
    if len(known) != n or len(names) < 2:
        return None
    classes = np.full(n, -1)
    classes[known] = places
    return classes


def grammar_helps(X: Any, hidden: BoolArray, classes: IntArray, n_jobs: int | None) -> bool:
    """Tell whether held-out labels are clearly more likely with all columns of X.

    Parameters
    ----------
    X : CSR array of shape (n_documents, n_words)
        Rows of length one.
    hidden : array of bool (n_words,)
        The columns in question.
    classes : array of int (n_documents,)
        The class of each document; −1 if it is not known.
    n_jobs : int or None
        Number of threads.
    """
    labelled, others = np.flatnonzero(classes >= 0), np.flatnonzero(classes < 0)
    rows = np.sort(
        np.concatenate(
            [labelled[even_rows(len(labelled), LABELLED)], others[even_rows(len(others), OTHERS)]]
        )
    )
    X, classes = X[rows], classes[rows]
    with Threads(n_jobs) as threads:
        without, whole = (
            _log_likelihoods(matrix, classes, threads) for matrix in (_without(X, hidden), X)
        )
    gain = (whole - without)[np.isfinite(without)]
    return bool(gain.sum() > CLEAR * np.sqrt(gain @ gain))


def _log_likelihoods(X: Any, classes: IntArray, threads: Threads) -> FloatArray:
    """Return the log-likelihood of each label by models that do not know it; NaN where none."""
    shares = (classes[:, None] == np.arange(classes.max() + 1)).astype(float)
    scores = held_out_scores(observe(X), np.ones(len(classes)), shares, classes >= 0, threads)
    return np.asarray(log_softmax(scores, axis=1)[np.arange(len(classes)), np.maximum(classes, 0)])


def _without(X: Any, hidden: BoolArray) -> sp.csr_array:
    return sp.csr_array(normalize(X[:, ~hidden]))
