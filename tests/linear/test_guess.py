"""Guesses for starts and targets: known labels stay, and weights count."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.special import softmax

import oracles
from cofactor.engine.observations import observe
from cofactor.engine.threads import Threads
from cofactor.linear.guess import Classes, counted_guess, pooled_guess
from cofactor.linear.pool import PartlyLabelled, fit_pool

N, M, K = 50, 15, 3
RANDOM = np.random.default_rng(0)
THEMES = RANDOM.dirichlet(np.full(M, 0.3), size=K) * 0.8 + 0.2 / M
Y = RANDOM.integers(0, K, size=N)
CELLS = np.stack([RANDOM.multinomial(10, THEMES[c]) for c in Y]).astype(float)
LABELLED = np.arange(N) < 12
CLASSES = Classes(np.eye(K)[Y], LABELLED, np.eye(K))


def pooled(counts=None, classes=CLASSES):
    data, weights = observe(CELLS), np.ones(N) if counts is None else counts
    given = PartlyLabelled(data, weights, classes.shares, classes.labelled)
    pool, scores = fit_pool(given, Threads())
    return pooled_guess(data, counts, classes, Threads(), pool, scores), pool, scores


def test_classes_without_weight_are_left_out():
    counts = np.where(Y == 1, 0.0, 1.0)
    found = CLASSES.counted(counts)
    assert_array_equal(found.prototypes, np.eye(K)[[0, 2]])
    assert_array_equal(found.labelled, LABELLED & (Y != 1))
    assert_array_equal(found.shares[found.labelled].sum(axis=1), 1.0)
    assert CLASSES.counted(None) is CLASSES
    assert CLASSES.counted(np.ones(N)) is CLASSES


def test_known_labels_stay():
    Q = RANDOM.dirichlet(np.ones(K), size=N)
    found = CLASSES.with_guesses(Q)
    assert_array_equal(found[LABELLED], np.eye(K)[Y[LABELLED]])
    assert_array_equal(found[~LABELLED], Q[~LABELLED])


def test_guesses_of_the_pool():
    guess, pool, scores = pooled()
    assert_array_equal(guess.shares[LABELLED], np.eye(K)[Y[LABELLED]])
    assert_array_equal(guess.shares[~LABELLED], pool.guesses(scores)[~LABELLED])
    assert_array_equal(guess.targets, guess.shares)
    assert guess.source is pool
    assert_allclose(guess.profiles.sum(axis=0), 1.0)


def test_profiles_are_those_of_naive_bayes():
    guess, _, _ = pooled()
    length = np.linalg.norm(CELLS, axis=1).mean()
    weights = np.where(LABELLED, 1.0, 0.1)[:, None]
    mass = (CELLS / length).T @ (weights * guess.shares) + 0.01
    assert_allclose(guess.profiles, mass / mass.sum(axis=0), rtol=1e-9)


def test_counted_guesses_are_those_of_expectation_maximisation():
    for cells in (CELLS, csr_array(CELLS)):
        guess = counted_guess(observe(cells), None, CLASSES, Threads())
        scaled = CELLS / np.linalg.norm(CELLS, axis=1).mean()
        few = np.where(LABELLED, Y, -1)
        expected = oracles.em_naive_bayes(scaled, few, K, scaled)
        assert_array_equal(guess.shares.argmax(axis=1)[~LABELLED], expected[~LABELLED])
        shares = guess.source.shares(observe(cells), Threads())
        assert_allclose(shares[~LABELLED], guess.shares[~LABELLED], rtol=1e-9)
        model = guess.source.sums.model()
        z = scaled @ model.weights + model.base
        assert_allclose(shares, softmax(z, axis=1), rtol=1e-9)


def test_streams_keep_the_first_scale():
    first = counted_guess(observe(CELLS[:25]), None, part(slice(25)), Threads())
    later = counted_guess(
        observe(100 * CELLS[25:]), None, part(slice(25, N)), Threads(), first.source
    )
    assert later.source.scale == first.source.scale
    assert later.source.sums.count.sum() > first.source.sums.count.sum()


def part(rows):
    return Classes(CLASSES.shares[rows], LABELLED[rows], CLASSES.prototypes)


@pytest.mark.parametrize("kind", ["pooled", "counted"])
def test_a_guess_without_its_samples_guesses_on(kind):
    guess = (
        pooled()[0] if kind == "pooled" else counted_guess(observe(CELLS), None, CLASSES, Threads())
    )
    small = guess.without_samples()
    assert small.shares.size == small.targets.size == 0
    found = small.source.shares(observe(CELLS), Threads())
    assert_allclose(found[~LABELLED], guess.shares[~LABELLED], rtol=1e-9, atol=1e-12)
