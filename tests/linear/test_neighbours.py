"""Graphs of neighbours against brute force, and spread labels against dense matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from cofactor.engine.threads import Threads
from cofactor.linear import neighbours
from cofactor.linear.parts import NEIGHBOURS, STAY, STEPS, Labels, neighbour_graph, spread_labels
from cofactor.linear.views import Matrix


def brute_force(cells, k):
    """The normalised graph, sample by sample."""
    n = len(cells)
    norms = np.linalg.norm(cells, axis=1)
    G = np.zeros((n, n))
    for i in range(n):
        cosines = {}
        for j in range(n):
            if j != i:
                length = norms[i] * norms[j]
                cosines[j] = cells[i] @ cells[j] / length if length else 0.0
        for j in sorted(cosines, key=cosines.get)[-k:]:
            G[i, j] = max(cosines[j], 0.0)
    G = np.maximum(G, G.T)
    degree = G.sum(axis=1)
    root = np.where(degree > 0, 1 / np.sqrt(np.where(degree > 0, degree, 1.0)), 0.0)
    return root[:, None] * G * root


def samples(n=70, m=9, seed=0):
    random = np.random.default_rng(seed)
    return random.gamma(0.5, size=(n, m)), random


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("together", [256, 7])
def test_the_graph(storage, signed, together, monkeypatch):
    monkeypatch.setattr(neighbours, "TOGETHER", together)
    cells, random = samples()
    if signed:
        cells = random.normal(size=cells.shape)
    X = Matrix(csr_array(cells) if storage == "sparse" else cells, Threads())
    assert_allclose(neighbour_graph(X).values.toarray(), brute_force(cells, NEIGHBOURS), atol=1e-10)


@pytest.mark.parametrize("n", [2, 3, 8])
def test_fewer_samples_than_neighbours(n):
    cells, _ = samples(n)
    found = neighbour_graph(Matrix(cells, Threads())).values.toarray()
    assert_allclose(found, brute_force(cells, n - 1), atol=1e-12)


def test_empty_samples_have_no_neighbours():
    cells, _ = samples(12)
    cells[[2, 5]] = 0.0
    for X in (cells, csr_array(cells)):
        found = neighbour_graph(Matrix(X, Threads())).values.toarray()
        assert np.isfinite(found).all()
        assert_array_equal(found[[2, 5]], 0.0)
        assert_allclose(found, found.T, rtol=1e-12)


def some_labels(n, random, k=3):
    y, known = np.arange(n) % k, random.random(n) < 0.2
    known[:k] = True
    weights = random.uniform(0.5, 2.0, size=n)
    shares = np.where(known[:, None], np.eye(k)[y], 0.0)
    return Labels(shares, np.where(known, weights, 0.0), weights)


def squared_shares(F):
    return F**2 / (F**2).sum(axis=1, keepdims=True)


def test_labels_spread():
    cells, random = samples()
    graph, labels = neighbour_graph(Matrix(cells, Threads())), some_labels(70, random)
    M, Y = graph.values.toarray(), labels.shares * labels.weights[:, None]
    start = Y / Y.sum(axis=0)
    F = start
    for _ in range(STEPS):
        F = (1 - STAY) * M @ F + STAY * start
    found, known = spread_labels(graph, labels), labels.known
    assert_allclose(found[~known], squared_shares(F)[~known], rtol=1e-9)
    assert_array_equal(found[known], labels.shares[known])
    assert_allclose(found.sum(axis=1), 1.0)


def test_the_limit_of_many_steps(monkeypatch):
    monkeypatch.setattr(neighbours, "STEPS", 400)
    cells, random = samples()
    graph, labels = neighbour_graph(Matrix(cells, Threads())), some_labels(70, random)
    Y = labels.shares * labels.weights[:, None]
    M, a = graph.values.toarray(), 1 - STAY
    F = (1 - a) * np.linalg.solve(np.eye(70) - a * M, Y / Y.sum(axis=0))
    found, known = spread_labels(graph, labels), labels.known
    assert_allclose(found[~known], squared_shares(F)[~known], rtol=1e-8)


def test_samples_that_no_label_reaches_have_equal_shares():
    cells = np.kron(np.eye(2), np.ones((20, 3)))  # two groups that share no word
    labels = Labels(np.zeros((40, 2)), np.zeros(40), np.ones(40))
    labels.shares[0, 1] = labels.weights[0] = 1.0
    found = spread_labels(neighbour_graph(Matrix(csr_array(cells), Threads())), labels)
    assert_array_equal(found[20:], 0.5)
    assert_array_equal(found[0], [0, 1])
    assert (found[1:20, 1] > 0.5).any()


def test_classes_with_many_labels_do_not_outvote_others():
    cells, random = samples()
    labels = some_labels(70, random)
    graph = neighbour_graph(Matrix(cells, Threads()))
    heavy = labels._replace(weights=labels.weights * np.where(labels.shares[:, 0] > 0, 100.0, 1.0))
    assert_allclose(spread_labels(graph, heavy), spread_labels(graph, labels), rtol=1e-10)
