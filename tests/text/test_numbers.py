"""Numbers predicted from texts: their scale, their limits, their intervals, their scores."""

import numpy as np
import pytest

from cofactor import SSNMFRegressor, TopicModel, load_model

WORDS = np.array([f"word{'abcdefghijklmnopqrst'[j]}" for j in range(20)])


def made(n=240, seed=0, noise=0.4):
    """Return texts, and numbers whose logarithms are sums over the words."""
    rng = np.random.default_rng(seed)
    worth = np.random.default_rng(99).normal(size=20)
    places = rng.integers(20, size=(n, 8))
    logs = worth[places].mean(axis=1) * 3 + noise * rng.normal(size=n)
    return [" ".join(WORDS[row]) for row in places], 20 * np.exp(logs)


def fitted(y, texts, **settings):
    model = TopicModel(3, task="numbers", random_state=0, max_iter=20, tol=0, **settings)
    return model.fit(texts, y)


@pytest.fixture(scope="module")
def prices():
    texts, y = made()
    with pytest.warns(UserWarning, match=r"few are very large, so their logarithms.*log='no'"):
        return fitted(y, texts)


def test_skewed_numbers_are_learned_as_logarithms_and_stay_positive(prices):
    texts, y = made(seed=1)
    predicted = prices.predict(texts)
    assert prices.estimator_.coding.logs.all()
    assert predicted.min() > 0
    plain = fitted(y, texts, log="no").predict(texts)
    assert not np.allclose(plain, predicted)
    assert plain.min() >= 0


def test_the_score_is_told_on_both_scales(prices):
    expected = prices.expected_score_
    texts, y = made(n=600, seed=2)
    predicted = prices.predict(texts)
    assert len(expected.natural) == 1
    assert f"{expected.natural[0]:.2f} in the units of the labels" in str(expected)
    of_logs = 1 - np.var(np.log(y) - np.log(predicted)) / np.var(np.log(y))
    assert expected.low - 0.05 < of_logs < expected.high + 0.05


@pytest.mark.filterwarnings("ignore:y holds positive")
def test_only_numbers_learned_as_logarithms_have_scores_on_two_scales():
    texts, y = made()
    both = np.column_stack([y, np.log(y) + 0.1])
    expected = fitted(both, texts, log="auto").expected_score_
    assert expected.natural[0] != expected.targets[0]
    assert expected.natural[1] == expected.targets[1]


@pytest.mark.parametrize("log", ["yes", "no"])
def test_intervals_cover_nine_of_ten_new_numbers(log):
    texts, y = made(n=400)
    model = fitted(y, texts, log=log)
    texts, y = made(n=600, seed=3)
    rows = model.annotate(texts)
    low, high = (np.array([row[name] for row in rows]) for name in ("low", "high"))
    assert 0.85 < np.mean((low <= y) & (y <= high)) < 0.95
    assert (low >= 0).all()


def test_ratings_are_predicted_within_their_ends():
    texts, y = made()
    stars = np.clip(np.round(np.log(y)), 1, 5)
    predicted = fitted(stars, texts).predict(texts)
    assert predicted.min() >= 1
    assert predicted.max() <= 5


def test_whole_numbers_on_request(prices):
    texts, _ = made(n=20)
    for row, exact in zip(prices.annotate(texts, whole=True), prices.annotate(texts), strict=True):
        assert row["prediction"] == round(exact["prediction"])
        assert row["low"] <= exact["low"]
        assert row["high"] >= exact["high"]
        assert all(isinstance(row[name], int) for name in ("prediction", "low", "high"))
    classes = TopicModel(2, random_state=0).fit(texts, ["a", "b"] * 10)
    with pytest.raises(ValueError, match="whole=True needs a model that predicts numbers"):
        classes.annotate(texts, whole=True)


def test_scale_and_limits_survive_a_folder(prices, tmp_path):
    texts, _ = made(n=20)
    prices.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.expected_score_ == prices.expected_score_
    np.testing.assert_array_equal(again.predict(texts), prices.predict(texts))


def test_two_columns_of_numbers_are_tested():
    texts, y = made()
    two = np.column_stack([np.log(y), np.random.default_rng(0).normal(size=len(y))])
    expected = fitted(two, texts).expected_score_
    assert expected.targets[0] > 0.5 > 0.1 > expected.targets[1]
    assert expected.value == pytest.approx(np.mean(expected.targets))
    assert str(expected).startswith("mean R²")


def test_a_stream_goes_beyond_the_limits_of_the_fit():
    rng = np.random.default_rng(0)
    X = rng.random((60, 5))
    y = np.clip(np.round(5 * X[:, 0]), 1, 4)
    model = SSNMFRegressor(2, random_state=0, max_iter=10, tol=0).fit(X, y)
    assert model.coding.high == 4.0
    model.partial_fit(X, y + 100)
    assert model.coding.high is None


def test_documents_without_a_known_word_do_not_count():
    texts, y = made()
    strange = [*texts, *["???"] * 120]
    numbers = [*np.log(y), *[50.0] * 120]
    with_strange, alone = fitted(numbers, strange), fitted(np.log(y), texts)
    found, clean = with_strange.expected_score_, alone.expected_score_
    assert found.n_samples == clean.n_samples == 240
    assert found.value > 0
    classes = np.where(np.log(y) > 3, "high", "low")
    odd = TopicModel(3, random_state=0, max_iter=5, tol=0).fit(
        strange, [*classes, *["high", "low"] * 60]
    )
    assert odd.expected_score_.n_samples == 240
