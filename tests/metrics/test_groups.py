"""The clustering score by hand, and features that tell groups apart by the naive formula."""

import numpy as np
import pytest

from cofactor.metrics import clustering_score, specificity

# ---- clustering score


# Four samples of "a", two of "b", three topics.
GROUPS = np.array(["a", "a", "a", "a", "b", "b"])
S = np.array([[4, 1, 0], [3, 1, 0], [1, 2, 1], [0, 0, 0], [0, 1, 3], [2, 0, 2]], dtype=float)


def test_hard_scores_by_hand():
    # Largest topic of each sample: 0, 0, 1, none, 2, 0 (the first of equals).
    # Topic 0 has 2/4 of a and 1/2 of b (again the first), topic 1 1/4 of a, topic 2 1/2 of b.
    score = clustering_score(S, GROUPS)
    np.testing.assert_allclose(score.scores, [0.5, 0.25, 0.5])
    assert score.groups.tolist() == ["a", "a", "b"]
    assert score.mean == pytest.approx(1.25 / 3)


def test_soft_scores_by_hand():
    # Shares: (.8 .2 0), (.75 .25 0), (.25 .5 .25), 0, (0 .25 .75), (.5 0 .5).
    # Topic 0: a 1.8/4 = .45, b .5/2 = .25; topic 1: a .95/4, b .125; topic 2: a .25/4, b 1.25/2.
    score = clustering_score(S, GROUPS, assignment="soft")
    np.testing.assert_allclose(score.scores, [0.45, 0.2375, 0.625])
    assert score.groups.tolist() == ["a", "a", "b"]


def test_topics_that_are_the_groups_score_one_and_names_follow():
    groups = np.array([7, 3, 7, 5])
    score = clustering_score(np.eye(3)[[2, 0, 2, 1]], groups)
    np.testing.assert_array_equal(score.scores, np.ones(3))
    assert score.groups.tolist() == [3, 5, 7]


def test_a_topic_that_takes_everything_scores_one_and_an_empty_one_nothing():
    score = clustering_score(np.tile([1.0, 0.0], (6, 1)), GROUPS)
    assert score.scores.tolist() == [1.0, 0.0]


def test_scaling_a_sample_changes_nothing():
    scale = np.array([1, 10, 0.1, 5, 3, 7])[:, None]
    for assignment in ("hard", "soft"):
        one, other = (clustering_score(s, GROUPS, assignment=assignment) for s in (S, S * scale))
        np.testing.assert_allclose(one.scores, other.scores)


def test_group_sizes_divide():
    # Topic 0 gathers 3 of 100 in "big" and 2 of 2 in "small": small wins though big has more.
    groups = np.array(["big"] * 100 + ["small"] * 2)
    S = np.zeros((102, 2))
    S[:, 1] = 1
    S[[0, 1, 2, 100, 101]] = [1, 0]
    score = clustering_score(S, groups)
    assert score.groups.tolist() == ["small", "big"]
    np.testing.assert_allclose(score.scores, [1.0, 0.97])


@pytest.mark.parametrize(
    ("S", "groups", "assignment", "words"),
    [
        ([[1.0, -2.0]], ["a"], "hard", "representation has the entry -2"),
        ([[1.0, np.nan]], ["a"], "hard", "representation has the entry nan"),
        ([1.0, 2.0], ["a", "b"], "hard", r"representation has shape \(2,\)"),
        (np.empty((0, 2)), [], "hard", r"representation has shape \(0, 2\)"),
        ([[1.0, 2.0]], ["a", "b"], "hard", r"groups has shape \(2,\), but .* 1 samples"),
        ([[1.0, 2.0]], ["a"], "fuzzy", "assignment='fuzzy' is unknown; use 'hard' or 'soft'"),
    ],
)
def test_bad_input(S, groups, assignment, words):
    with pytest.raises(ValueError, match=words):
        clustering_score(S, groups, assignment=assignment)


# ---- specificity


def test_it_is_the_naive_formula():
    n = np.random.default_rng(0).integers(0, 50, (4, 9)).astype(float)
    found = specificity(n, doubt=3.0)
    for g in range(4):
        for j in range(9):
            excess = [(n[h, j] + 3) / (n[h].sum() * n[:, j].sum() / n.sum() + 3) for h in range(4)]
            rival = max(e for h, e in enumerate(excess) if h != g)
            assert found[g, j] == pytest.approx(np.log2(excess[g] / rival))


def test_frequent_features_and_groups_of_other_sizes_say_nothing():
    shares = np.array([0.5, 0.3, 0.2])
    assert np.allclose(specificity(np.outer([10.0, 1000.0, 90.0], shares)), 0)


def test_few_counts_are_doubted():
    few, many = (specificity([[4 * k, 100 * k], [k, 100 * k]])[0, 0] for k in (1, 1000))
    assert 0 < few < many / 3
    assert many == pytest.approx(2, abs=0.1)


def test_groups_of_one_kind_are_no_rivals():
    n = np.array([[90.0, 5, 5], [80, 15, 5], [5, 5, 90]])
    assert specificity(n)[0, 0] < 0.5
    assert specificity(n, ["a", "a", "b"])[0, 0] > 1


def test_bad_counts():
    with pytest.raises(ValueError, match="counts has shape"):
        specificity([1.0, 2.0])
    with pytest.raises(ValueError, match="kinds has 1 entries"):
        specificity(np.ones((2, 2)), ["a"])
