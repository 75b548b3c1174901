"""Labels spread over a graph of neighbours."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, diags_array

from cofactor._types import FloatArray, IntArray
from cofactor.linear.linear import Labels
from cofactor.linear.matrix import Matrix

NEIGHBOURS = 10
"""Number of neighbours of each sample."""
STEPS = 25
"""Number of steps that labels spread."""
STAY = 0.1
"""Share of a sample's own label in each step."""
PRECISION = 2.0**26
"""Cosines count as equal if they are when multiplied by this and rounded."""
TOGETHER = 32
"""Number of samples whose neighbours are sought together: few, so that they stay in the cache."""


def neighbour_graph(X: Matrix) -> Matrix:
    """Return the graph of the nearest neighbours by cosine, normalised by the roots of degrees.

    An edge's weight is the cosine; edges hold in both directions.
    """
    n = X.shape[0]
    norms = X.row_norms()
    scale = np.divide(1.0, norms, out=np.zeros(n), where=norms > 0)
    unit = diags_array(scale) @ X.values if X.is_sparse else X.values * scale[:, None]
    X = Matrix(csr_array(unit) if X.is_sparse else unit, X.threads)
    k = min(NEIGHBOURS, n - 1)
    found = [_nearest(X, low, min(low + TOGETHER, n), k) for low in range(0, n, TOGETHER)]
    columns = np.concatenate([columns for columns, _ in found])
    values = np.concatenate([values for _, values in found])
    graph = csr_array((values.ravel(), columns.ravel(), np.arange(n + 1) * k), shape=(n, n))
    graph = csr_array(graph.maximum(graph.T))
    degree = np.asarray(graph.sum(axis=1)).ravel()
    root = diags_array(np.divide(1.0, np.sqrt(degree), out=np.zeros(n), where=degree > 0))
    return Matrix(csr_array(root @ graph @ root), X.threads)


def _nearest(X: Matrix, low: int, high: int, k: int) -> tuple[IntArray, FloatArray]:
    """Return the nearest neighbours of some samples and their cosines, at least 0."""
    some = X.values[low:high]
    cosines = X.times(np.asarray(some.toarray() if X.is_sparse else some).T).T
    cosines[np.arange(high - low), np.arange(low, high)] = -1.0  # not the sample itself
    steps = np.rint(-PRECISION * cosines)  # so that rounding errors do not decide between equals
    columns = np.argpartition(steps, max(k - 1, 0), axis=1)[:, :k]
    return columns, np.maximum(np.take_along_axis(cosines, columns, axis=1), 0.0)


def spread_labels(graph: Matrix, labels: Labels) -> FloatArray:
    """Return the shares of all samples in the classes after labels have spread.

    Each class starts with the same total; squares make the shares surer. Labelled samples keep
    their labels; samples that no label reaches have equal shares.
    """
    start = labels.weighted / np.maximum(labels.mass, 1e-300)
    F = start
    for _ in range(STEPS):
        F = (1 - STAY) * graph.times(F) + STAY * start
    squares = (F / np.maximum(F.max(axis=-1, keepdims=True), 1e-300)) ** 2
    mass = squares.sum(axis=-1, keepdims=True)
    even = np.full_like(squares, 1.0 / squares.shape[-1])
    Q = np.divide(squares, mass, out=even, where=mass > 0)
    return np.where(labels.known[..., None], labels.shares, Q)
