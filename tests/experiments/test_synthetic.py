"""Synthetic data and errors, against scipy and by hand."""

import numpy as np
import pytest
from scipy import stats

from cofactor import Factors
from cofactor.experiments import paper, synthetic

SETTINGS = {
    "size": 30,
    "rank": 3,
    "seed": 4,
    "draw": 0,
    "start": 0,
    "experiment": 4,
    "model": "(KL, KL)",
    "solver": "auto",
    "iterations": 300,
    "tol": 1e-12,
}


def test_factors_are_half_zeros_and_depend_on_seed_and_draw():
    factors = synthetic.true_factors(40, 5, 1, 0)
    assert np.count_nonzero(factors.samples) == np.count_nonzero(factors.targets) == 100
    assert factors.features.min() > 0
    assert not np.array_equal(factors.samples, synthetic.true_factors(40, 5, 1, 1).samples)
    assert not np.array_equal(factors.samples, synthetic.true_factors(40, 5, 2, 0).samples)


def test_noise_has_the_variance_of_the_text_and_of_the_printed_figures():
    mean = np.full((300, 300), 5.0)
    for number, expected in ((2, 0.1), (5, 0.01)):
        noise = synthetic.experiments(5)[number].data
        drawn = noise.draw(mean, np.random.default_rng(0))
        assert drawn.var() == pytest.approx(expected, rel=0.03)
        assert drawn.mean() == pytest.approx(5, abs=0.01)
    counts = synthetic.experiments(5)[4].data.draw(mean, np.random.default_rng(0))
    assert counts.var() == pytest.approx(5, rel=0.03)
    assert np.array_equal(counts, counts.round())


def test_gaussian_data_are_folded_to_be_nonnegative():
    drawn = synthetic.EntryNoise(1.0).draw(np.zeros((200, 200)), np.random.default_rng(0))
    assert drawn.min() >= 0
    assert drawn.mean() == pytest.approx(np.sqrt(2 / np.pi), rel=0.02)  # clipped: half of it


def test_surprise_is_minus_the_log_likelihood():
    random = np.random.default_rng(0)
    mean, x = random.random((4, 5)) + 0.5, random.poisson(1.0, (4, 5)).astype(float)
    expected = -stats.norm.logpdf(x, mean, np.sqrt(0.3)).sum()
    assert synthetic.EntryNoise(0.3).surprise(x, mean) == pytest.approx(expected)
    assert synthetic.EntryNoise().surprise(x, mean) == pytest.approx(
        -stats.poisson.logpmf(x, mean).sum()
    )


def test_relative_error_by_hand():
    one = np.ones((1, 1))
    truth, first, last = (Factors(one, a * one, b * one) for a, b in ((2, 3), (4, 1), (2, 0)))
    squares = synthetic.errors({**SETTINGS, "rank": 1, "experiment": 1}, truth, first, last)
    assert squares["relative"] == pytest.approx((0 + 9) / (4 + 4))
    # The target is estimated as zero: 3 log(3/ε) − 3 + ε for each floor ε.
    informative = synthetic.errors({**SETTINGS, "rank": 1, "experiment": 4}, truth, first, last)
    before = 2 * np.log(2 / 4) - 2 + 4 + 3 * np.log(3) - 3 + 1
    expected = [(3 * np.log(3 / floor) - 3 + floor) / before for floor in (1e-10, 1e-6, 1e-3)]
    np.testing.assert_allclose(informative["by_floor"], expected)
    assert informative["relative"] == informative["by_floor"][0]
    assert (informative["lost_cells"], informative["lost_share"]) == (0.5, 1.0)
    assert (informative["zero_targets"], informative["true_zero_targets"]) == (1.0, 0.0)


def test_a_fit_that_knows_the_truth_has_no_error():
    truth = synthetic.true_factors(20, 3, 0, 0)
    first = synthetic.start(20, 3, 0, 0)
    assert synthetic.errors({**SETTINGS, "size": 20}, truth, first, truth)["relative"] < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("model", paper.MODELS)
def test_the_default_solver_is_at_least_as_good_as_many_multiplicative_updates(model, seed):
    """Where noise is small and the start near the truth, so that there is one valley for both."""
    noise = synthetic.experiments(3)[1 + list(paper.MODELS).index(model)]
    truth = synthetic.true_factors(30, 3, seed, 0).map(lambda V: 20 * V)
    random, (x, y) = np.random.default_rng(seed), synthetic.products(truth)
    X, Y = noise.data.draw(x, random), noise.target.draw(y, random)
    first = truth.map(lambda V: 0.9 * V + 1.0)
    settings = {**SETTINGS, "model": model, "tol": 1e-13, "iterations": 3000}
    ours = synthetic._model(settings, first).fit(X, Y)
    settings |= {"solver": "mu", "tol": 0.0, "iterations": 1000}
    theirs = synthetic._model(settings, first).fit(X, Y)
    last = ours.history_["objective"][-1], theirs.history_["objective"][-1]
    assert last[0] <= last[1] * (1 + 1e-9)
    assert ours.n_iter_ < theirs.n_iter_ == 1000


def test_the_printed_solver_can_be_asked_for():
    literal = synthetic.trial({**SETTINGS, "solver": "mu-paper", "tol": 0.0, "iterations": 7})
    assert literal["iterations"] == 7
    assert literal == synthetic.trial(
        {**SETTINGS, "solver": "mu-paper", "tol": 0.0, "iterations": 7}
    )


def made_fits(errors):
    """Results whose relative errors are given by model, for all experiments alike."""

    def results(values):
        return [{"relative": v, "by_floor": [v, v, -v], "surprise": -v} for v in values]

    return {
        (n, model): results(errors[model])
        for n in synthetic.EXPERIMENT_NAMES
        for model in paper.MODELS
    }


def test_wins_are_counted_for_every_measure():
    errors = dict(zip(paper.MODELS, ([1, 5, 9], [2, 4, 9.5], [3, 6, 9.2], [4, 3, 1]), strict=True))
    row = synthetic.wins(made_fits(errors)).rows[0]
    assert row[:3] == ["1", "(F, F)", "1 ((KL, KL) 2)"]  # by error: (F, F), then (KL, KL) twice
    assert row[4] == "0 ((KL, KL) 1, (KL, F) 1, (F, KL) 1)"  # by the negative, the largest error


def test_objectives_are_compared_start_by_start():
    def fits(*values):
        return {
            key: [{"objective": v} for v in values]
            for key in made_fits({model: [1] for model in paper.MODELS})
        }

    row = synthetic.against_updates(fits(9.0, 4.0, 2.02), fits(10.0, 4.0, 2.0), 7).rows[0]
    assert row == [
        "1, (F, F)",
        pytest.approx(15.02 / 3),
        pytest.approx(16 / 3),
        "2 of 3",
        "-1.0e-01",
        "1.0e-02",
    ]


def test_the_table_names_the_lowest():
    errors = dict(zip(paper.MODELS, ([0.3], [0.2], [0.1], [0.4]), strict=True))
    table = synthetic.relative_errors(made_fits(errors))
    assert table.rows[-1][2] == "(KL, F)"
    assert (2, 2) in table.bold
    assert "**0.1000**" in table.markdown()
