"""Matched topics are the best match there is; intervals hold what they promise."""

from itertools import permutations

import numpy as np
import pytest

from cofactor.metrics import accuracy_difference, match_topics


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


@pytest.mark.parametrize("n", [20, 100, 1000])
def test_the_interval_covers_the_difference(n):
    random, hits, repeats = np.random.default_rng(n), 0, 1000
    for _ in range(repeats):
        luck = random.random(n)
        first, second = luck < 0.7, np.where(random.random(n) < 0.6, luck, random.random(n)) < 0.8
        found = accuracy_difference(first, second)
        hits += found.low <= 0.1 <= found.high
    assert 0.93 <= hits / repeats <= 0.985


def test_the_difference_is_that_of_the_accuracies():
    found = accuracy_difference([True, True, False, False], [True, False, True, True])
    assert (found.first, found.second, found.difference) == (0.5, 0.75, 0.25)
    assert found.low < 0 < found.high


@pytest.mark.parametrize(("first", "second"), [([], []), ([True], [True, False])])
def test_nothing_to_compare(first, second):
    with pytest.raises(ValueError, match="pass the same documents"):
        accuracy_difference(first, second)
