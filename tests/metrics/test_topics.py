"""Coherence and diversity against their definitions; matched topics are the best match."""

import math
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse as sp

from cofactor.metrics import match_topics, npmi_coherence, top_words, topic_diversity

# ---- by hand


# Words 0 and 1 always together, 2 in half of their documents, 3 alone, 4 everywhere, 5 nowhere.
DOCUMENTS = np.array(
    [[1, 2, 1, 0, 1, 0], [3, 1, 1, 0, 1, 0], [1, 1, 0, 0, 2, 0], [2, 1, 0, 0, 1, 0]]
    + [[0, 0, 0, 1, 1, 0]] * 4
)


def coherence(*words):
    return npmi_coherence([words], DOCUMENTS)[0]


def test_extremes():
    assert coherence(0, 1) == pytest.approx(1)
    assert coherence(0, 3) == -1
    assert coherence(0, 4) == pytest.approx(0)  # a word of every document says nothing


def test_value_by_hand():
    # p0 = 1/2, p2 = 1/4, p02 = 1/4: log(2) / log(4) = 1/2; the mean with pair (0, 1) is 3/4.
    assert coherence(0, 2) == pytest.approx(0.5)
    # pairs (0,1) = 1, (0,2) = (1,2) = 1/2
    assert coherence(0, 1, 2) == pytest.approx(2 / 3)


def test_words_of_every_document_are_as_together_as_can_be():
    assert npmi_coherence([[0, 1]], np.ones((3, 2))).tolist() == [1.0]


def test_words_that_never_occur_do_not_count_and_a_lone_word_has_no_coherence():
    assert coherence(0, 5, 2) == pytest.approx(0.5)
    assert np.isnan(coherence(0, 5))


def test_sparse_and_explicit_zeros():
    stored = sp.csr_array(DOCUMENTS.astype(float))
    stored.data[0] = 0.0  # word 0 leaves the first document
    dense = DOCUMENTS.copy()
    dense[0, 0] = 0
    topics = [[0, 1, 2], [3, 4]]
    np.testing.assert_allclose(npmi_coherence(topics, stored), npmi_coherence(topics, dense))


def test_top_words_are_sorted_and_positive():
    found = top_words([[0, 5, 1, 5], [0, 0, 2, 0]], n_words=3)
    assert [words.tolist() for words in found] == [[1, 3, 2], [2]]


def test_diversity_counts_distinct_words():
    assert topic_diversity([[0, 1, 2], [2, 3, 4]]) == pytest.approx(5 / 6)


def test_bad_input():
    with pytest.raises(ValueError, match="n_words=0 must be at least 1"):
        top_words([[1, 2]], n_words=0)
    with pytest.raises(ValueError, match=r"components has shape \(2,\)"):
        top_words([1, 2])


# ---- by definition


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


# ---- two models


def test_no_other_match_is_better():
    random = np.random.default_rng(0)
    for _ in range(20):
        A, B = random.random((4, 7)) ** 4, random.random((5, 7)) ** 4
        words = [f"w{j}" for j in range(7)]
        cosines = A @ B.T / np.outer(np.linalg.norm(A, axis=1), np.linalg.norm(B, axis=1))
        best = max(sum(cosines[range(4), list(p)]) for p in permutations(range(5), 4))
        found = match_topics(A, words, B, words)
        assert sum(cosine for _, _, cosine in found) == pytest.approx(best)


def test_words_are_matched_by_name_and_missing_ones_count_as_zero():
    found = match_topics(np.array([[3.0, 4.0]]), ["a", "b"], np.array([[1.0, 5.0]]), ["c", "b"])
    assert found == [(0, 0, pytest.approx(0.8 * 5 / np.sqrt(26)))]


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_scale_and_dead_topics_do_no_harm(scale):
    topics = scale * np.array([[1.0, 0.0], [0.0, 0.0]])
    assert match_topics(topics, ["a", "b"], topics, ["a", "b"]) == [(0, 0, 1.0), (1, 1, 0.0)]
