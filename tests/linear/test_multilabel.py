"""Several labels per sample: regressions, thresholds and folds against slow oracles."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from cofactor.engine.threads import Threads
from cofactor.linear import multilabel
from cofactor.linear.multilabel import (
    RULES,
    SCORE_EDGES,
    Histogram,
    ThresholdRule,
    best_rule,
    expected_of,
    fit_tags,
    logistic_regressions,
)
from cofactor.linear.penalties import LOGISTIC_PENALTIES
from cofactor.linear.views import Matrix

# ---- logistic regressions


def few_tags(n=60, m=12, k=5, seed=0, sparse=True):
    rng = np.random.default_rng(seed)
    cells = rng.random((n, m)) * (rng.random((n, m)) < 0.3)
    cells[:, 3] = 0.0
    Y = (cells @ rng.normal(size=(m, k)) + rng.normal(size=(n, k)) * 0.3 > 0.4).astype(float)
    X = Matrix(csr_array(cells) if sparse else cells, Threads())
    return X, cells, Y, rng.integers(1, 4, size=n).astype(float)


def slow(cells, y, counts, penalty):
    """One label by scikit-learn, with an empty row that is half yes and half no."""
    Z = np.vstack([cells, np.zeros((2, cells.shape[1]))])
    weights = np.r_[counts, 0.5, 0.5]
    model = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=10000)
    model.fit(Z, np.r_[y, 0, 1], weights)
    return model.coef_[0], model.intercept_[0]


@pytest.fixture
def tight(monkeypatch):
    monkeypatch.setattr(multilabel, "MIN_LOGISTIC_DECREASE", 1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("penalty", [0.01, 1.0])
@pytest.mark.parametrize("together", [2, 64])
def test_each_label_is_scikit_learns(monkeypatch, tight, sparse, penalty, together):
    monkeypatch.setattr(multilabel, "TAGS_TOGETHER", together)
    X, cells, Y, counts = few_tags(sparse=sparse)
    model = logistic_regressions(X, csr_array(Y), counts, penalty)
    for j in range(Y.shape[1]):
        weights, base = slow(cells, Y[:, j], counts, penalty)
        assert_allclose(model.weights[:, j], weights, atol=2e-4)
        assert_allclose(model.base[j], base, atol=2e-4)


def test_unknown_cells_do_not_count(tight):
    X, cells, Y, counts = few_tags()
    known = np.random.default_rng(1).random(Y.shape) < 0.7
    model = logistic_regressions(X, csr_array(Y * known), counts, 0.1, known)
    for j in range(Y.shape[1]):
        rows = known[:, j]
        weights, base = slow(cells[rows], Y[rows, j], counts[rows], 0.1)
        assert_allclose(model.weights[:, j], weights, atol=2e-4)
        assert_allclose(model.base[j], base, atol=2e-4)


def test_counts_are_repeated_rows(tight):
    X, _, Y, counts = few_tags()
    again = np.repeat(np.arange(len(counts)), counts.astype(int))
    once = logistic_regressions(X, csr_array(Y), counts, 0.1)
    ones = np.ones(len(again))
    repeated = logistic_regressions(X.select(again), csr_array(Y[again]), ones, 0.1)
    assert_allclose(once.weights, repeated.weights, atol=1e-5)


def test_the_start_does_not_matter(tight):
    X, _, Y, counts = few_tags()
    cold = logistic_regressions(X, csr_array(Y), counts, 0.1)
    first = logistic_regressions(X, csr_array(Y), counts, 3.0)
    warm = logistic_regressions(X, csr_array(Y), counts, 0.1, start=first)
    assert_allclose(warm.weights, cold.weights, atol=1e-4)
    assert_allclose(warm.weights[3], 0.0)


def test_labels_on_all_or_no_rows_stay_finite(tight):
    X, _, Y, counts = few_tags()
    Y[:, 0], Y[:, 1] = 1.0, 0.0
    model = logistic_regressions(X, csr_array(Y), counts, 0.1)
    assert np.isfinite(model.weights).all()
    assert model.base[0] > 2
    assert model.base[1] < -2


def test_large_values_do_not_overflow(tight):
    _, cells, Y, counts = few_tags()
    large = Matrix(csr_array(cells * 1e4), Threads())
    model = logistic_regressions(large, csr_array(Y), counts, 0.1)
    assert np.isfinite(model.weights).all()
    assert np.mean((model.scores(large) > 0) == Y) > 0.8


# ---- held-out scores


def problem(n=90, m=15, k=6, seed=0):
    rng = np.random.default_rng(seed)
    cells = rng.random((n, m)) * (rng.random((n, m)) < 0.4)
    Y = (cells @ rng.normal(size=(m, k)) + 0.3 * rng.normal(size=(n, k)) > 0.6).astype(float)
    return Matrix(csr_array(cells), Threads()), cells, Y, rng.integers(1, 3, size=n).astype(float)


def slow_scores(cells, Y, counts, penalty, known, folds):
    """Held-out scores of some folds by scikit-learn."""
    out = np.empty(Y.shape)
    for fold in range(folds):
        held = np.arange(len(Y)) % folds == fold
        for j in range(Y.shape[1]):
            rows = ~held & known[:, j]
            Z = np.vstack([cells[rows], np.zeros((2, cells.shape[1]))])
            model = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=10000)
            model.fit(Z, np.r_[Y[rows, j], 0, 1], np.r_[counts[rows], 0.5, 0.5])
            out[held, j] = model.decision_function(cells[held])
    return out


def slow_thresholds(Z, Y, weights):
    """Try each edge for each tag."""
    out = []
    for j in range(Y.shape[1]):
        values = []
        for t in SCORE_EDGES:
            given = t <= Z
            right = (weights * given * Y).sum(axis=0)
            micro = 2 * right.sum() / ((weights * given).sum() + (weights * Y).sum())
            mine = (weights * given).sum(axis=0)[j] + (weights * Y).sum(axis=0)[j]
            values.append((2 * right[j] + 10 * micro) / (mine + 10))
        first = last = int(np.argmax(values))
        while last + 1 < len(SCORE_EDGES) and values[last + 1] == values[first]:
            last += 1
        out.append(SCORE_EDGES[(first + last) // 2])
    return np.array(out)


def micro_f1(D, Y, weights):
    return 2 * (weights * D * Y).sum() / ((weights * D).sum() + (weights * Y).sum())


@pytest.mark.slow
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("many", [0, 3000])
def test_held_out_scores_choose_penalty_thresholds_and_expectation(monkeypatch, masked, many):
    monkeypatch.setattr(multilabel, "MIN_LOGISTIC_DECREASE", 1e-15)
    monkeypatch.setattr(multilabel, "MAX_CROSS_VALIDATED_ROWS", many)
    monkeypatch.setattr(multilabel, "RULES", [ThresholdRule(10.0, False)])
    folds = 5 if many else 3
    X, cells, Y, counts = problem()
    known = np.random.default_rng(1).random(Y.shape) < 0.8 if masked else np.ones(Y.shape, bool)
    Y = Y * known
    weights = counts[:, None] * known
    scores = {p: slow_scores(cells, Y, counts, p, known, folds) for p in LOGISTIC_PENALTIES}
    fold = np.arange(90) % folds
    used = (fold == 0) if many == 0 else np.ones(90, bool)
    losses = {p: (weights * (np.logaddexp(0, Z) - Y * Z))[used].sum() for p, Z in scores.items()}
    penalty = min(losses, key=losses.get)
    model = fit_tags(X, csr_array(Y), counts, known if masked else None)
    assert model.penalty == penalty
    Z = scores[penalty]
    chosen, base = slow_thresholds(Z, Y, weights), model.model.base
    expected = np.where(base < 0, np.maximum(chosen, base), chosen)  # an empty row has no rare tag
    assert_allclose(model.thresholds, expected, atol=1e-9)
    decided = np.zeros(Y.shape)
    for f in range(folds):
        rest = fold != f
        decided[~rest] = Z[~rest] >= slow_thresholds(Z[rest], Y[rest], weights[rest])
    assert_allclose(model.expected.value, micro_f1(decided, Y, weights))
    assert model.expected.low < model.expected.value < model.expected.high


def made_histogram(seed=0, n=50, k=4, cut=1.0):
    """Return scores, tags and weights of samples, and their histogram."""
    rng = np.random.default_rng(seed)
    Z, weights = rng.normal(size=(n, k)), rng.random((n, 1))
    Y = (Z + rng.normal(size=Z.shape) > cut).astype(float)
    Y[:, 3] = 0
    place = np.searchsorted(SCORE_EDGES, Z, side="right")
    all_, yes = np.zeros((2, k, len(SCORE_EDGES) + 1))
    for j in range(k):
        np.add.at(all_[j], place[:, j], weights[:, 0])
        np.add.at(yes[j], place[:, j], weights[:, 0] * Y[:, j])
    return Z, Y, np.broadcast_to(weights, Z.shape), Histogram(all_, yes)


def test_thresholds_of_made_histograms():
    Z, Y, weights, histogram = made_histogram()
    found = SCORE_EDGES[ThresholdRule(10.0, False).places(histogram)]
    assert_allclose(found, slow_thresholds(Z, Y, weights))


@pytest.mark.parametrize("seed", range(5))
def test_matching_gives_at_most_as_many_tags_as_are_true(seed):
    Z, Y, weights, histogram = made_histogram(seed, cut=2.0)
    before = ThresholdRule(30.0, False).places(histogram)
    after = ThresholdRule(30.0, True).places(histogram)
    given = [(weights * (SCORE_EDGES[place] <= Z)).sum() for place in (before, after)]
    true = (weights * Y).sum()
    assert given[1] <= true
    assert (after >= before).all()
    assert len(set((after - before)[after < len(SCORE_EDGES) - 1])) == 1
    if given[0] <= true:
        assert_allclose(after, before)


@pytest.mark.parametrize("seed", range(5))
def test_held_out_tags_choose_the_rule(seed):
    folds = [made_histogram(10 * seed + i, cut=2.0)[3] for i in range(3)]
    values = {rule: expected_of(folds, rule).value for rule in RULES}
    assert values[best_rule(folds)] == max(values.values())


@pytest.mark.parametrize(
    "spoil",
    [
        lambda Y: Y.__setitem__((slice(None), 0), 1.0),
        lambda Y: Y.__setitem__((slice(None), 0), 0.0),
        lambda Y: (Y.__setitem__((slice(None), 0), 0.0), Y.__setitem__((5, 0), 1.0)),
        lambda Y: Y.fill(0.0),
        lambda Y: Y.fill(1.0),
    ],
    ids=["on every row", "on no row", "on one row", "no tags", "all tags"],
)
@pytest.mark.parametrize("n", [1, 2, 3, 30])
def test_degenerate_tags_stay_finite(spoil, n):
    X, _, Y, counts = problem()
    spoil(Y)
    rows = np.arange(n)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fit_tags(X.select(rows), csr_array(Y[rows]), counts[rows])
        scores = model.model.scores(X)
        P = model.curve.of(scores)
    assert np.isfinite(P).all()
    assert np.isfinite(model.thresholds).all()
    if n == 30:
        decided = scores >= model.thresholds
        assert decided[:, Y.all(axis=0)].all()
        assert not decided[:, ~Y.any(axis=0)].any()


def test_rows_without_features():
    _, _, Y, counts = problem()
    X = Matrix(csr_array(np.zeros((90, 15))), Threads())
    model = fit_tags(X, csr_array(Y), counts)
    assert_allclose(model.model.weights, 0.0)
    rate = (counts @ Y + 0.5) / (counts.sum() + 1)
    assert_allclose(expit(model.model.base), rate, atol=1e-3)
