"""Samples drawn from memory have the sums, sizes and topics of those that they stand for."""

import numpy as np
from scipy.sparse import csr_array

from cofactor.estimators.updates import draw_samples


def test_drawn_samples_are_like_their_means():
    random = np.random.default_rng(0)
    A = random.random((3, 20)) * (random.random((3, 20)) > 0.4)
    S = np.repeat(0.2 * random.random((4, 3)), 500, axis=0)
    S[:500] = 0
    like = csr_array(np.full((2, 20), 0.05))  # the squared length of a row is 0.05
    drawn = draw_samples(S, A, like, 1.0, np.random.default_rng(1))
    means = S @ A
    numbers = np.ceil(means.sum(axis=1) ** 2 / 0.05)
    np.testing.assert_array_equal(drawn.sum(axis=1), numbers)
    for rows in np.split(np.arange(2000), 4)[1:]:
        found, wanted = drawn[rows].sum(axis=0), means[rows].sum(axis=0)
        total = found.sum()
        p = wanted / wanted.sum()
        np.testing.assert_allclose(found / total, p, atol=5 * np.sqrt(p.max() / total))
        assert not found[p == 0].any()
    short = draw_samples(S, A, like, 0.25, np.random.default_rng(1))
    np.testing.assert_array_equal(short.sum(axis=1), np.ceil(0.25 * means.sum(axis=1) ** 2 / 0.05))
