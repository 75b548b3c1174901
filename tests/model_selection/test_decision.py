"""The one-standard-error rule."""

import numpy as np
from scipy.stats import sem

from cofactor.model_selection.decision import Criterion, advise, decide

RANDOM = np.random.default_rng(0)


def test_the_smallest_within_one_standard_error_of_the_best_is_chosen():
    smaller = 0
    for _ in range(20):
        rows = RANDOM.normal(0, 5, 400)  # rows differ more than candidates do
        gaps = np.array([1.0, 0.3, 0.0, 0.0, 0.1])
        costs = rows + gaps[:, None] + RANDOM.normal(0, 1, (5, 400))
        means = costs.mean(axis=1)
        best = means.argmin()
        good = [
            c
            for c in range(5)
            if c == best or means[c] - means[best] <= sem(costs[c] - costs[best])
        ]
        chosen = decide([Criterion("cells", costs)], [2, 3, 4, 5, 6]).chosen
        assert chosen == min(good) >= 2
        smaller += chosen < best
    assert 2 < smaller < 18


def test_rows_that_do_not_count_for_a_candidate_are_left_out_of_its_comparisons():
    costs = np.array([[1.0, 2.0, 3.0, 9.0], [1.5, 2.5, 3.4, 4.4], [2.0, 3.0, 4.0, 5.0]])
    used = np.array([[True, True, True, False], [True] * 4, [True] * 4])
    criterion = Criterion("cells", costs, used)
    usual = np.median(costs, axis=0)
    assert np.allclose(
        criterion.means,
        [
            usual.mean() + (costs[0] - usual)[:3].mean(),
            usual.mean() + (costs[1] - usual).mean(),
            usual.mean() + (costs[2] - usual).mean(),
        ],
    )
    assert criterion.errors(0)[2] == 0  # the difference is 1 in all three rows
    assert np.isclose(criterion.errors(0)[1], sem([0.5, 0.5, 0.4]))
    assert decide([criterion], [4, 3, 2]).chosen == 0


def test_criteria_narrow_in_turn():
    labels = np.array([[1.0, 1.1], [1.0, 1.1], [1.0, 1.1], [5.0, 5.1]])
    cells = np.array([[3.0, 3.1], [1.0, 1.1], [1.0, 1.1], [0.0, 0.1]])
    stability = np.array([[0.0, 0.0], [0.2, 0.21], [0.1, 0.11], [0.0, 0.0]])
    names = {"labels": labels, "cells": cells, "stability": stability}
    decision = decide([Criterion(*each) for each in names.items()], [2, 3, 4, 5])
    assert decision.chosen == 2
    assert [decision.excluded_by(c) for c in range(4)] == ["cells", "stability", None, "labels"]
    sentence = advise([{"n_components": k} for k in (2, 3, 4, 5)], decision)
    assert sentence == (
        "Take 4 topics: with 3, topics are less stable, and with 5, held-out labels are predicted "
        "worse."
    )
