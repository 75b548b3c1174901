"""Rehearsal: samples that a fitted model draws from its memory of the samples that are gone.

A model keeps the representations S of its training samples and the topics A, so it knows the mean
S A of each sample. A drawn sample has features of that mean, in the number that a sample of that
size has. Sums over drawn samples are those of the training samples, up to chance: a fit with the
Kullback–Leibler loss keeps the sum of every feature.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from cofactor._types import FloatArray, IntArray
from cofactor.estimators.edits import masses
from cofactor.estimators.inference import topic_shares

MOST = 6000
"""Maximum number of samples that are drawn from memory."""


def some_rows(n: int, random: np.random.Generator) -> IntArray:
    """Return the rows of the memory that are drawn, at most `MOST`."""
    return np.arange(n) if n <= MOST else np.sort(random.choice(n, MOST, replace=False))


def draw_samples(
    S: FloatArray, A: FloatArray, like: Any, length: float, random: np.random.Generator
) -> csr_array:
    """Draw a sample for each representation.

    Parameters
    ----------
    S : array (n, r)
        Representations.
    A : array (r, m)
        Topics.
    like : sparse or dense matrix (·, m)
        Samples at hand; they tell how large one feature of a sample is.
    length : float
        Number of features of a drawn sample, relative to a sample of its size. Shorter ones are
        harder to tell apart.
    random : Generator
    """
    numbers = _numbers(S @ masses(A), like)
    counts = np.ceil(length * numbers).astype(np.int64)
    shares = topic_shares(np.asarray(S, dtype=np.float64), A)
    parts = _divide(counts, shares, random)
    rows, columns = [], []
    for k, topic in enumerate(A):
        rows.append(np.repeat(np.arange(len(S)), parts[:, k]))
        edges = np.cumsum(topic, dtype=np.float64)
        drawn = np.searchsorted(edges, random.random(len(rows[-1])) * edges[-1], side="right")
        columns.append(np.minimum(drawn, len(topic) - 1))
    cells = np.concatenate(rows), np.concatenate(columns)
    drawn = csr_array((np.ones(len(cells[0])), cells), shape=(len(S), A.shape[1]))
    drawn.sum_duplicates()
    return drawn


def _numbers(mass: FloatArray, like: Any) -> FloatArray:
    """Return the number of equal features that samples of some mass have.

    n equal features of a sample of length l have the mass l √n.
    """
    squares = np.asarray((like.multiply(like) if issparse(like) else like**2).sum(axis=1)).ravel()
    squares = squares[squares > 0]
    mean = float(squares.mean()) if len(squares) else 1.0
    return np.minimum(mass**2 / max(mean, 1e-300), 10.0 * like.shape[1])


def _divide(counts: IntArray, shares: FloatArray, random: np.random.Generator) -> IntArray:
    """Divide the number of features of each sample among its topics by chance."""
    counts = np.where(shares.sum(axis=1) > 0, counts, 0)
    rest = np.clip(1.0 - shares[:, 1:].sum(axis=1, keepdims=True), 0.0, 1.0)
    return np.asarray(random.multinomial(counts, np.hstack([rest, shares[:, 1:]])))
