"""Samples that are unlike the labelled ones of their predicted class."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from cofactor.engine.threads import Threads
from cofactor.linear.familiar import (
    COMMON_LABELS,
    MAX_KEPT,
    MAX_PER_CLASS,
    FamiliarSamples,
    familiar_samples,
)
from cofactor.linear.parts import Labels
from cofactor.linear.views import Axes, Matrix


def drawn(n=60, k=3, m=12, spread=0.4, seed=0, middles=None):
    """Return samples around the middles of classes, and their classes."""
    random = np.random.default_rng(seed)
    middles = 3 * np.eye(m)[:k] if middles is None else middles
    y = np.arange(n) % len(middles)
    return middles[y] + spread * random.normal(size=(n, m)), y


def labels_of(y, labelled, k):
    shares = np.where(labelled[:, None], np.eye(k)[y], 0.0)
    return Labels(shares, labelled.astype(float), np.ones(len(y)))


def test_a_class_without_labels_is_unlike_all_others():
    X, y = drawn(n=400, k=4)
    labelled = (np.arange(400) < 120) & (y < 3)
    found = familiar_samples(Matrix(X, Threads()), labels_of(np.minimum(y, 2), labelled, 3))
    new, own = drawn(n=200, k=4, seed=1)
    unlike = found.unlike(new, np.minimum(own, 2), Threads())
    assert unlike[own == 3].min() > 0.99
    assert np.mean(unlike[own < 3] > 0.99) < 0.05
    assert 0.3 < np.mean(unlike[own < 3]) < 0.7


def test_the_share_is_that_of_the_t_distribution():
    random = np.random.default_rng(0)
    unit = random.normal(size=(7, 3))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    classes = np.array([0, 0, 0, 1, 1, 1, 1])
    kept = FamiliarSamples(Axes(np.eye(3), np.zeros(3)), unit, classes)
    new = random.normal(size=(5, 3))
    cosines = new / np.linalg.norm(new, axis=1, keepdims=True) @ unit.T
    near = [
        [np.mean([unit[i] @ unit[j] for j in np.flatnonzero(classes == c) if j != i])
         for i in np.flatnonzero(classes == c)] for c in (0, 1)
    ]  # fmt: skip
    every = np.concatenate(near)
    for c in (0, 1):
        n = len(near[c]) + COMMON_LABELS
        mean = (np.sum(near[c]) + COMMON_LABELS * every.mean()) / n
        square = np.sum((near[c] - mean) ** 2) + COMMON_LABELS * every.var()
        z = (cosines[:, classes == c].mean(axis=1) - mean) / np.sqrt(square / n)
        expected = stats.t.sf(z, n - 1)
        found = kept.unlike(new, np.full(5, c), Threads())
        assert_allclose(found, expected, rtol=1e-9)


def test_without_two_labels_of_a_class_nothing_is_known():
    X, y = drawn(n=9)
    one = familiar_samples(Matrix(X, Threads()), labels_of(y, np.arange(9) < 3, 3))
    assert np.isnan(one.unlike(X, y, Threads())).all()
    some = familiar_samples(Matrix(X, Threads()), labels_of(y, np.arange(9) < 5, 3))
    assert np.isfinite(some.unlike(X, y, Threads())).all()
    absent = some.unlike(X, np.full(9, 3), Threads())
    assert np.isnan(absent).all()


@pytest.mark.parametrize("k", [3, 500])
def test_what_is_kept_has_a_bound(k):
    n = 100 * k
    y = np.arange(n) % k
    X = np.random.default_rng(0).normal(size=(n, 5))
    found = familiar_samples(Matrix(X, Threads()), labels_of(y, np.ones(n, dtype=bool), k))
    sizes = np.bincount(found.classes)
    assert sizes.max() == min(MAX_PER_CLASS, MAX_KEPT // k)
    assert len(found.samples) <= MAX_KEPT
    assert len(sizes) == k


def test_further_samples_and_features():
    X, y = drawn(n=60)
    found = familiar_samples(Matrix(X, Threads()), labels_of(y, np.ones(60, dtype=bool), 3))
    far = 3 * np.eye(12)[5] + drawn(n=10, seed=3)[0] * 0.1
    assert found.unlike(far, np.zeros(10, dtype=int), Threads()).min() > 0.9
    known = found.with_samples(far, np.full(10, 3), Threads())
    again = known.unlike(far, np.full(10, 3), Threads())
    assert again.max() < 0.99
    order = np.array([3, 2, 1, 0])
    turned = known.renumbered(order).unlike(far, np.zeros(10, dtype=int), Threads())
    assert_allclose(turned, again)
    wide = np.hstack([X, np.ones((60, 2))])
    assert_allclose(found.wider(2).unlike(wide, y, Threads()), found.unlike(X, y, Threads()))
