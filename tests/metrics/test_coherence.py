"""Coherence and diversity against their definitions."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse as sp

from cofactor.metrics import npmi_coherence, topic_diversity


def by_hand(words, counts):
    """The definition, pair by pair of the words that occur."""
    seen, scores = np.asarray(counts) > 0, []
    for i, j in combinations([word for word in words if seen[:, word].any()], 2):
        p_i, p_j = seen[:, i].mean(), seen[:, j].mean()
        p = (seen[:, i] & seen[:, j]).mean()
        if p == 0:
            scores.append(-1.0)
        elif p == 1:
            scores.append(1.0)
        else:
            scores.append(math.log(p / (p_i * p_j)) / -math.log(p))
    return float(np.mean(scores)) if scores else math.nan


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.floats(0.05, 1.0))
def test_npmi_is_its_definition(seed, n, density):
    random = np.random.default_rng(seed)
    counts = random.poisson(2.0, (n, 8)) * (random.random((n, 8)) < density)
    topics = [random.permutation(8)[:k] for k in (2, 3, 8)]
    expected = [by_hand(topic, counts) for topic in topics]
    np.testing.assert_allclose(npmi_coherence(topics, counts), expected, atol=1e-12)
    assert not np.any(np.abs(npmi_coherence(topics, counts)) > 1 + 1e-12)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix, sp.coo_array, np.asarray, list])
def test_any_storage_will_do(kind):
    counts = np.array([[1, 2, 0], [0, 1, 1], [3, 0, 0], [1, 1, 0]])
    expected = [by_hand([0, 1], counts), by_hand([1, 2], counts)]
    np.testing.assert_allclose(npmi_coherence([[0, 1], [1, 2]], kind(counts)), expected)


def test_independent_words_score_nothing():
    counts = np.array([[1, 1], [1, 0], [0, 1], [0, 0]])
    assert npmi_coherence([[0, 1]], counts) == pytest.approx([0.0])


def test_short_topics_and_missing_words():
    counts = np.array([[1, 0, 1], [1, 0, 1]])
    found = npmi_coherence([[], [0], [0, 1], [0, 2], [0, 1, 2]], counts)
    assert np.isnan(found[:3]).all()
    assert found[3:].tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match=r"topics\[1\] has a word outside the 3 columns"):
        npmi_coherence([[0], [3]], counts)


def test_diversity():
    assert topic_diversity([[0, 1], [2, 3]]) == 1.0
    assert topic_diversity(np.array([[0, 1], [0, 1]])) == 0.5
    assert math.isnan(topic_diversity([]))
