"""Stability: draws of samples, matched topics, and noise that does not come back."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from cofactor import NMF, SSNMFClassifier, TopicModel, load_model
from cofactor.model_selection import bootstrap_counts, topic_stability
from cofactor.model_selection.stability import stability_interval
from complaints import assert_says
from subjects import SOME, TEXTS


@pytest.fixture(scope="module")
def made():
    """Counts of four topics, and which topic each sample has most of."""
    random = np.random.default_rng(0)
    topics = np.eye(4).repeat(10, axis=1) / 10
    shares = random.dirichlet(np.full(4, 0.1), 160)
    X = random.poisson(30 * shares @ topics).astype(float)
    return X, shares.argmax(axis=1)


def test_labelled_and_unlabelled_samples_are_drawn_apart():
    labelled = np.arange(50) < 8
    drawn = np.array([bootstrap_counts(labelled, np.random.default_rng(i)) for i in range(200)])
    assert_array_equal(drawn[:, :8].sum(axis=1), 8.0)
    assert_array_equal(drawn[:, 8:].sum(axis=1), 42.0)
    assert np.abs(drawn.mean(axis=0) - 1).max() < 0.3
    assert (drawn == 0).mean() == pytest.approx((1 - 1 / 50) ** 50, abs=0.03)


def test_each_topic_is_compared_with_its_match():
    """Refits that hold the same topics in another order are the same; one other topic is not."""
    model = NMF(3, random_state=0).fit(np.eye(6) + 0.1)
    A = model.components_
    other = A[[2, 0, 1]].copy()
    other[0] = np.roll(A[2], 1)
    answers = iter([A[::-1] * 5, other])
    found = topic_stability(model, np.eye(6), runs=2, refit=lambda counts, seed: next(answers))
    assert found[0] == pytest.approx(np.ones(3))
    cosine = A[2] @ other[0] / (A[2] @ A[2])
    assert found[1] == pytest.approx([1.0, 1.0, cosine])


def test_a_draw_is_a_fit_of_repeated_samples(made):
    X, y = made
    y = np.where(np.arange(len(y)) < 40, y, -1)
    model = SSNMFClassifier(4, random_state=0).fit(X, y)
    seen = []

    def refit(counts, seed):
        repeated = np.arange(len(y)).repeat(counts.astype(int))
        again = SSNMFClassifier(4, random_state=seed).fit(X[repeated], y[repeated])
        seen.append(seed)
        return again.components_

    by_weights = topic_stability(model, X, y, runs=2)
    np.testing.assert_allclose(topic_stability(model, X, y, runs=2, refit=refit), by_weights, 1e-6)
    assert len(set(seen)) == 2
    assert (by_weights > 0.9).all()


def test_topics_of_noise_do_not_come_back(made):
    X, _ = made
    model = NMF(7, random_state=0).fit(X)
    real = model.components_.reshape(7, 4, 10).sum(axis=2).max(
        axis=1
    ) > 0.9 * model.components_.sum(axis=1)
    mean, low, high = stability_interval(topic_stability(model, X, runs=6))
    assert (low <= mean).all()
    assert (mean <= high).all()
    whole = np.array([np.count_nonzero(row > 0.3 * row.max()) >= 8 for row in model.components_])
    assert mean[real & whole].min() > mean[~(real & whole)].max()


def test_a_topic_model_keeps_and_shows_its_stability(tmp_path):
    model = TopicModel(3, random_state=0).fit(TEXTS, SOME)
    assert set(model.topics().column("stability")) == {None}
    found = model.stability(TEXTS, SOME, runs=3)
    assert found.column("stability") == pytest.approx(model.stability_.mean(axis=0))
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert loaded.topics().column("stability") == found.column("stability")
    low, high = loaded.topics()[0].stability_interval
    assert low <= found[0].stability <= high
    assert f"{found[0].stability:.2f}" in (tmp_path / "m" / "README.md").read_text()
    model.fit(TEXTS, SOME)
    assert set(model.topics().column("stability")) == {None}


def test_refusals(made):
    X, _ = made
    model = NMF(2, random_state=0).fit(X)
    assert_says(lambda: topic_stability(model, X, runs=0), r"runs=0\b", "at least 1")
    assert_says(lambda: topic_stability(model, X, np.ones(3)), r"\by\b", "3 entries")
    texts = TopicModel(3, random_state=0).fit(TEXTS, SOME)
    assert_says(lambda: texts.stability(TEXTS), "y is None", "pass them")
