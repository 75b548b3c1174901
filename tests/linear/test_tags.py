"""Several labels a sample: thresholds, folds and probabilities against slow oracles."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from cofactor.engine.threads import Threads
from cofactor.linear import logistic, tags
from cofactor.linear.multilabel import (
    EDGES,
    PENALTIES,
    Curve,
    Histogram,
    choose_thresholds,
    fit_tags,
)
from cofactor.linear.views import Matrix


def problem(n=90, m=15, k=6, seed=0):
    rng = np.random.default_rng(seed)
    cells = rng.random((n, m)) * (rng.random((n, m)) < 0.4)
    Y = (cells @ rng.normal(size=(m, k)) + 0.3 * rng.normal(size=(n, k)) > 0.6).astype(float)
    return Matrix(csr_array(cells), Threads()), cells, Y, rng.integers(1, 3, size=n).astype(float)


def slow_scores(cells, Y, counts, penalty, known):
    """Held-out scores of three folds by scikit-learn."""
    out = np.empty(Y.shape)
    for fold in range(3):
        held = np.arange(len(Y)) % 3 == fold
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
        for t in EDGES:
            given = t <= Z
            right = (weights * given * Y).sum(axis=0)
            micro = 2 * right.sum() / ((weights * given).sum() + (weights * Y).sum())
            mine = (weights * given).sum(axis=0)[j] + (weights * Y).sum(axis=0)[j]
            values.append((2 * right[j] + 10 * micro) / (mine + 10))
        first = last = int(np.argmax(values))
        while last + 1 < len(EDGES) and values[last + 1] == values[first]:
            last += 1
        out.append(EDGES[(first + last) // 2])
    return np.array(out)


def micro_f1(D, Y, weights):
    return 2 * (weights * D * Y).sum() / ((weights * D).sum() + (weights * Y).sum())


@pytest.mark.slow
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("many", [0, 3000])
def test_held_out_scores_choose_penalty_thresholds_and_expectation(monkeypatch, masked, many):
    monkeypatch.setattr(logistic, "TOLERANCE", 1e-13)
    monkeypatch.setattr(tags, "MANY", many)
    X, cells, Y, counts = problem()
    known = np.random.default_rng(1).random(Y.shape) < 0.8 if masked else np.ones(Y.shape, bool)
    Y = Y * known
    weights = counts[:, None] * known
    scores = {p: slow_scores(cells, Y, counts, p, known) for p in PENALTIES}
    fold = np.arange(90) % 3
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
    for f in range(3):
        rest = fold != f
        decided[~rest] = Z[~rest] >= slow_thresholds(Z[rest], Y[rest], weights[rest])
    assert_allclose(model.expected.value, micro_f1(decided, Y, weights))
    assert model.expected.low < model.expected.value < model.expected.high


def test_thresholds_of_made_histograms():
    rng = np.random.default_rng(0)
    Z, weights = rng.normal(size=(50, 4)), rng.random((50, 1))
    Y = (Z + rng.normal(size=Z.shape) > 1).astype(float)
    Y[:, 3] = 0
    place = np.searchsorted(EDGES, Z, side="right")
    all_, yes = np.zeros((2, 4, len(EDGES) + 1))
    for j in range(4):
        np.add.at(all_[j], place[:, j], weights[:, 0])
        np.add.at(yes[j], place[:, j], weights[:, 0] * Y[:, j])
    found = choose_thresholds(Histogram(all_, yes))
    assert_allclose(found, slow_thresholds(Z, Y, np.broadcast_to(weights, Z.shape)))


def test_the_curve_is_the_logistic_function_at_first_and_always_rises():
    z = np.linspace(-9, 9, 50)
    assert_allclose(Curve().of(z), expit(z))
    assert (np.diff(Curve(1.4, 0.05, 2.4).of(z)) > 0).all()


def test_the_curve_mends_probabilities():
    """Scores that are three times too large and shifted become honest."""
    rng = np.random.default_rng(0)
    honest = rng.normal(-2, 1.5, size=20000)
    yes = rng.random(20000) < expit(honest)
    scores = 3 * honest + 1
    place = np.searchsorted(EDGES, scores, side="right")
    histogram = Histogram(
        *(np.bincount(place, w, len(EDGES) + 1)[None] for w in (np.ones(20000), yes))
    )
    curve = tags.fit_curve(histogram)
    p = curve.of(scores)
    for low, high in ((0.0, 0.1), (0.1, 0.3), (0.3, 0.6), (0.6, 1.0)):
        some = (p >= low) & (p < high)
        assert abs(p[some].mean() - yes[some].mean()) < 0.04


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
        decided = model.decide(scores)
        assert decided[:, Y.all(axis=0)].all()
        assert not decided[:, ~Y.any(axis=0)].any()


def test_rows_without_features():
    _, _, Y, counts = problem()
    X = Matrix(csr_array(np.zeros((90, 15))), Threads())
    model = fit_tags(X, csr_array(Y), counts)
    assert_allclose(model.model.weights, 0.0)
    rate = (counts @ Y + 0.5) / (counts.sum() + 1)
    assert_allclose(expit(model.model.base), rate, atol=1e-3)
