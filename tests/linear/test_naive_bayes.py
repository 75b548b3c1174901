"""Naive Bayes against scikit-learn, and expectation maximisation against a slow one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.special import log_softmax, softmax
from sklearn.naive_bayes import MultinomialNB

import oracles
from cofactor.engine.threads import Threads
from cofactor.linear.parts import SMOOTHING, Labels, em_naive_bayes, naive_bayes
from cofactor.linear.views import Matrix

N, M, K = 80, 20, 3


@pytest.fixture(scope="module")
def documents():
    random = np.random.default_rng(1)
    themes = random.dirichlet(np.full(M, 0.4), size=K) * 0.7 + 0.3 / M
    y = random.integers(0, K, size=N)
    return np.stack([random.multinomial(15, themes[c]) for c in y]).astype(float), y


def matrix(cells, storage="sparse"):
    return Matrix(csr_array(cells) if storage == "sparse" else cells, Threads())


def labels_of(y, known, weights=None):
    ones = np.ones(len(y)) if weights is None else weights
    shares = np.where(known[:, None], np.eye(K)[y], 0.0)
    return Labels(shares, np.where(known, ones, 0.0), ones)


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_labelled_samples_alone(documents, storage):
    cells, y = documents
    weights = np.random.default_rng(2).uniform(0.2, 2.0, size=N)
    model = naive_bayes(matrix(cells, storage), weights[:, None] * np.eye(K)[y]).model()
    peer = MultinomialNB(alpha=SMOOTHING).fit(cells, y, weights)
    assert_allclose(model.weights, peer.feature_log_prob_.T, rtol=1e-10)
    size = np.bincount(y, weights) + 1.0
    assert_allclose(model.base, np.log(size / size.sum()), rtol=1e-12)
    assert_allclose(
        model.scores(matrix(cells, storage)) - model.base,
        peer.predict_joint_log_proba(cells) - peer.class_log_prior_,
        rtol=1e-9,
    )


def test_flat_models_give_all_classes_the_same_share(documents):
    cells, y = documents
    sums = naive_bayes(matrix(cells), np.eye(K)[y])
    assert_array_equal(sums.model(flat=True).base, 0.0)
    assert_array_equal(sums.model(flat=True).weights, sums.model().weights)


@pytest.mark.parametrize("rounds", [0, 1, 12])
def test_expectation_maximisation(documents, rounds):
    cells, y = documents
    known = np.arange(N) < 9
    sums = em_naive_bayes(matrix(cells), labels_of(y, known), rounds)
    few = np.where(known, y, -1)
    # Scores of each word alone, and of none: they show every number of the oracle's model.
    found = sums.model()
    predicted = found.scores(matrix(cells)).argmax(axis=1)
    assert_array_equal(predicted, oracles.em_naive_bayes(cells, few, K, cells, n_iter=rounds))
    expected = slow_em(cells, few, rounds)
    assert_allclose(found.weights, expected[0], rtol=1e-8)
    assert_allclose(found.base, expected[1], rtol=1e-8)


def slow_em(cells, few, rounds, flat=False):
    """The same by loops over samples."""
    guesses = [np.eye(K)[c] if c >= 0 else np.zeros(K) for c in few]
    for step in range(rounds + 1):
        mass, size = np.full((M, K), 0.01), np.ones(K)
        for row, c, guess in zip(cells, few, guesses, strict=True):
            weight = 1.0 if c >= 0 else 0.1
            mass += weight * np.outer(row, guess)
            size += weight * guess
        weights = np.log(mass / mass.sum(axis=0))
        base = np.zeros(K) if flat else np.log(size / size.sum())
        if step < rounds:
            for i, row in enumerate(cells):
                if few[i] < 0:
                    guesses[i] = np.exp(log_softmax(row @ weights + base))
    return weights, base


def test_flat_expectation_maximisation(documents):
    cells, y = documents
    known = np.arange(N) < 9
    found = em_naive_bayes(matrix(cells), labels_of(y, known), 5, flat=True).model(flat=True)
    expected = slow_em(cells, np.where(known, y, -1), 5, flat=True)
    assert_allclose(found.weights, expected[0], rtol=1e-8)
    assert_array_equal(found.base, 0.0)


def test_weights_are_repeated_samples(documents):
    cells, y = documents
    counts = np.random.default_rng(3).integers(1, 4, size=N)
    known = np.arange(N) < 9
    weighted = em_naive_bayes(matrix(cells), labels_of(y, known, counts.astype(float)), 4)
    repeated = em_naive_bayes(
        matrix(np.repeat(cells, counts, axis=0)),
        labels_of(np.repeat(y, counts), np.repeat(known, counts)),
        4,
    )
    assert_allclose(weighted.mass, repeated.mass, rtol=1e-9)
    assert_allclose(weighted.count, repeated.count, rtol=1e-9)


def test_all_labelled_need_no_rounds(documents):
    cells, y = documents
    every = em_naive_bayes(matrix(cells), labels_of(y, np.ones(N, dtype=bool)), 12)
    assert_array_equal(every.mass, naive_bayes(matrix(cells), np.eye(K)[y]).mass)


def test_sums_of_earlier_samples_add(documents):
    cells, y = documents
    Y = np.eye(K)[y]
    first = naive_bayes(matrix(cells[:30]), Y[:30])
    both = naive_bayes(matrix(cells[30:]), Y[30:], first)
    every = naive_bayes(matrix(cells), Y)
    assert_allclose(both.mass, every.mass, rtol=1e-12)
    assert_allclose(both.count, every.count, rtol=1e-12)
    # Guesses of later samples use the earlier sums in every round.
    later = Labels(np.zeros((N - 30, K)), np.zeros(N - 30), np.ones(N - 30))
    sums = first
    for _ in range(4):
        Q = softmax(sums.model().scores(matrix(cells[30:])), axis=1)
        sums = naive_bayes(matrix(cells[30:]), 0.1 * Q, first)
    found = em_naive_bayes(matrix(cells[30:]), later, 4, earlier=first)
    assert_allclose(found.mass, sums.mass, rtol=1e-12)


def test_importance_moves_the_shares_of_classes_only(documents):
    """How much the labels of a class count says nothing about what its samples look like."""
    cells, y = documents
    importance = np.array([1.0, 5.0, 0.2])[y]
    labels = labels_of(y, np.ones(N, dtype=bool))
    plain = em_naive_bayes(matrix(cells), labels)
    found = em_naive_bayes(matrix(cells), labels._replace(importance=importance))
    assert_array_equal(found.mass, plain.mass)
    assert_allclose(found.count, plain.count * [1.0, 5.0, 0.2])
    size = np.bincount(y, importance) + 1.0
    assert_allclose(found.model().base, np.log(size / size.sum()), rtol=1e-12)


def test_guesses_have_no_importance(documents):
    """One round by hand: labels move the shares, guesses count as they are."""
    cells, y = documents
    known = np.arange(N) < 12
    importance = np.where(known, np.array([1.0, 5.0, 0.2])[y], 1.0)
    labels = labels_of(y, known)._replace(importance=importance)
    first = em_naive_bayes(matrix(cells), labels, rounds=0)
    Q = softmax(first.model().scores(matrix(cells)), axis=1)
    weighted = np.where(known[:, None], np.eye(K)[y], 0.1 * Q)
    found = em_naive_bayes(matrix(cells), labels, rounds=1)
    assert_allclose(found.mass, cells.T @ weighted)
    assert_allclose(found.count, importance @ weighted)
