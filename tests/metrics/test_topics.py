"""Coherence and diversity on cases small enough to work out by hand."""

import numpy as np
import pytest
from scipy import sparse as sp

from cofactor.metrics import npmi_coherence, top_words, topic_diversity

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
