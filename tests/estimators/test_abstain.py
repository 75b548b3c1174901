"""predict(abstain=...): what is left out, and what held-out labels say about the rest."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from cofactor import SSNMFClassifier, TopicModel, load_model
from cofactor.linear.pool import ExpectedCoverage
from cofactor.metrics.accuracy import wilson_interval
from complaints import assert_says
from subjects import LABELS, SOME, TEXTS


@pytest.fixture(scope="module")
def made():
    """Counts of three classes that overlap, and labels of most samples."""
    random = np.random.default_rng(0)
    y = random.integers(3, size=1200)
    P = random.dirichlet(np.full(40, 0.5), 3) + 0.01
    X = random.poisson(6 * P[y] / P.sum(axis=1)[y, None]).astype(float)
    return X[:200], np.where(np.arange(200) % 4 > 0, y[:200], -1), X[200:], y[200:]


@pytest.fixture(scope="module")
def model(made):
    return SSNMFClassifier(3, random_state=0).fit(*made[:2])


def test_what_is_less_probable_is_left_out(made, model):
    X = made[2]
    P, plain = model.predict_proba(X), model.predict(X)
    found = model.predict(X, abstain=0.9)
    sure = (P.max(axis=1) >= 0.9) & ~(model.unlike(X) >= 0.95)
    assert 0 < sure.sum() < len(X)
    assert [one is None for one in found] == (~sure).tolist()
    assert_array_equal(found[sure], plain[sure])
    assert_array_equal(model.predict(X, abstain=0.0), plain)


def test_labels_are_left_out_one_by_one(made):
    X, y, new, _ = made
    Y = np.stack([y == 0, y >= 1], axis=1).astype(float)
    model = SSNMFClassifier(3, random_state=0).fit(X, Y)
    P, found = model.predict_proba(new), model.predict(new, abstain=0.8)
    assert_array_equal(np.isnan(found), np.maximum(P, 1 - P) < 0.8)
    assert_array_equal(found[~np.isnan(found)], model.predict(new)[~np.isnan(found)])
    assert model.expected_coverage(0.8) is None


def test_expected_coverage_counts_held_out_labels():
    held_out = np.array([[0.9, 0.6, 0.95, 0.99], [1, 1, 0, 1], [1, 2, 1, 2.0]])
    found = ExpectedCoverage.of(held_out, None, 0.9)
    assert (found.coverage, found.accuracy) == pytest.approx((4 / 6, 3 / 4))
    assert (found.low, found.high) == wilson_interval(0.75, 4)
    assert str(ExpectedCoverage.of(held_out, None, 1.0)) == "no prediction"


def test_expected_coverage_leaves_out_unlike_samples():
    held_out = np.array([[0.9, 0.6, 0.95, 0.99], [1, 1, 0, 1], np.ones(4)])
    unlike = np.array([0.2, 0.99, 0.97, np.nan])
    assert ExpectedCoverage.of(held_out, unlike, 0.0).coverage == 1.0
    found = ExpectedCoverage.of(held_out, unlike, 0.5)
    assert (found.coverage, found.accuracy) == (0.5, 1.0)


def test_expected_coverage_holds_if_only_unlike_samples_are_left_out(made, model):
    expected, found = model.expected_coverage(0.01), model.predict(made[2], abstain=0.01)
    given = np.mean([one is not None for one in found])
    assert given < 1.0
    assert expected.coverage < 1.0
    assert expected.coverage == pytest.approx(given, abs=0.04)


def test_expected_coverage_holds_on_new_samples(made, model):
    """Held-out labels foretell coverage and accuracy of new samples of the same kind."""
    _, _, X, y = made
    for abstain in (0.0, 0.7, 0.9):
        expected, found = model.expected_coverage(abstain), model.predict(X, abstain=abstain)
        given = np.array([one is not None for one in found])
        assert expected.coverage == pytest.approx(given.mean(), abs=0.08)
        right = np.mean(found[given] == y[given])
        assert expected.low - 0.02 <= right <= expected.high + 0.02
    assert expected.accuracy > model.expected_coverage(0.0).accuracy
    assert model.expected_coverage(0.0).accuracy == model.expected_score_.value


def test_documents_and_saved_models(tmp_path):
    model = TopicModel(3, random_state=0).fit(TEXTS, LABELS)
    texts = [*TEXTS[:10], "moon puck bible"]
    sure = model.predict_proba(texts).max(axis=1) >= 0.95
    found = model.predict(texts, abstain=0.95)
    assert [one is not None for one in found] == sure.tolist()
    said = model.annotate(texts, abstain=0.95)
    assert [row["prediction"] for row in said] == found.tolist()
    model.save(tmp_path / "m")
    assert load_model(tmp_path / "m").expected_coverage(0.9) == model.expected_coverage(0.9)


def test_refusals(made, model):
    assert_says(lambda: model.predict(made[0], abstain=95), r"abstain=95\b", "from 0 to 1")
    numbers = TopicModel(2, random_state=0).fit(TEXTS[:20], np.linspace(0.5, 2.0, 20))
    assert_says(lambda: numbers.predict(TEXTS[:2], abstain=0.9), "numbers", "classes")
    assert numbers.expected_coverage(0.9) is None


def test_labels_of_seeds_say_nothing_about_new_documents():
    seeds = {"space": ["moon"], "sport": ["puck"], "faith": ["bible"]}
    model = TopicModel(3, seeds=seeds, task="classes", random_state=0).fit(TEXTS)
    assert model.expected_score_ is None
    assert model.expected_coverage(0.5) is None
    assert TopicModel(3, random_state=0).fit(TEXTS, SOME).expected_coverage(0.5) is not None
