"""Costs of held-out cells and labels against naive sums."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse as sp
from scipy.stats import norm

from cofactor import NMF, SSNMFClassifier, SSNMFRegressor
from cofactor.divergences import DIVERGENCES
from cofactor.model_selection.held_out import PROFILE_SHARES, HiddenCells, deal_columns, label_costs

RANDOM = np.random.default_rng(0)
S, A = RANDOM.dirichlet([0.2] * 2, 60), RANDOM.dirichlet([0.2] * 40, 2)
COUNTS = RANDOM.poisson(80 * S @ A).astype(float)
MISSING = np.where(RANDOM.random(COUNTS.shape) < 0.2, np.nan, COUNTS)


def naive_costs(loss, X, P):
    """Cost of each row by every cell that is known."""
    known, P = ~np.isnan(X), np.maximum(P, 1e-100)
    cells = np.where(known, DIVERGENCES[loss].value(np.where(known, X, 1.0), P), 0.0)
    return cells.sum(axis=1)


@pytest.mark.parametrize("loss", ["kullback-leibler", "frobenius", "itakura-saito"])
@pytest.mark.parametrize(
    "data", [COUNTS, sp.csr_array(COUNTS), MISSING], ids=["dense", "sparse", "missing"]
)
def test_costs_of_hidden_cells_are_those_of_a_dense_sum(loss, data):
    if loss == "itakura-saito":
        data = data + 1.0 if isinstance(data, np.ndarray) else sp.csr_array(data.toarray() + 1.0)
    train, test = data[:50], data[50:]
    seen = deal_columns(train, np.random.RandomState(0), 2) == 0
    model = NMF(2, data_loss=loss, random_state=0, tol=0.05).fit(train)
    hidden = HiddenCells.of(train, test, seen, DIVERGENCES[loss])
    X = (test.toarray() if sp.issparse(test) else test)[hidden.rows]
    R = model.transform(test[hidden.rows], data_weights=seen[None, :] * 1.0)
    usual = np.outer(hidden.size, hidden.usual)
    parts = model.components_[:, seen].sum(axis=1) / model.components_.sum(axis=1)
    trust = np.minimum(1.0, parts / (0.5 * seen.mean()))
    own = ((R * trust) @ model.components_)[:, ~seen]
    tried = [naive_costs(loss, X[:, ~seen], (1 - s) * own + s * usual) for s in PROFILE_SHARES]
    best = min(tried, key=np.sum)
    assert np.allclose(hidden.costs(model), best, rtol=1e-6)
    assert np.allclose(hidden.usual_costs(), tried[-1])
    assert best.sum() < tried[-1].sum()


def test_hidden_cells_do_not_shape_their_own_prediction():
    """Other values in the hidden columns change costs only through the cells themselves."""
    train, test = COUNTS[:30], COUNTS[30:].copy()
    seen = deal_columns(train, np.random.RandomState(1), 2) == 0
    before = HiddenCells.of(train, test, seen, DIVERGENCES["frobenius"])
    test[:, ~seen] = 0
    after = HiddenCells.of(train, test, seen, DIVERGENCES["frobenius"])
    assert np.array_equal(before.size, after.size)
    assert np.array_equal(before.rows, after.rows)


def test_topics_that_are_mostly_hidden_are_not_magnified():
    """Columns 0 to 3 are hidden. One count of a topic that is nearly all there says little."""
    components = np.array([[0.25, 0.25, 0.25, 0.24, 0.01, 0.0], [0.1, 0, 0, 0, 0.4, 0.5]])
    hidden = HiddenCells.of(
        np.ones((3, 6)),
        np.array([[0.0, 0, 0, 0, 1, 1]]),
        np.arange(6) > 3,
        DIVERGENCES["kullback-leibler"],
    )
    model = SimpleNamespace(
        components_=components, transform=lambda X, data_weights: np.array([[30.0, 1.0]])
    )
    # without doubt 30 counts would be expected in the hidden columns, more than the 4 of the
    # usual profile, which would then be taken
    assert hidden.costs(model)[0] < 3


def test_the_parts_of_the_columns_are_of_about_the_same_size():
    X = RANDOM.poisson(10.0 / np.sqrt(np.arange(1, 301)), (200, 300))
    parts = deal_columns(X, np.random.RandomState(0), 3)
    assert np.bincount(parts).tolist() == [100, 100, 100]
    shares = [X[:, parts == part].sum() / X.sum() for part in range(3)]
    assert max(shares) - min(shares) < 0.1


def probabilities_as(P, kind, classes=None):
    """A stand-in for an estimator that predicts these probabilities."""
    return SimpleNamespace(
        scores=lambda X: P,
        probabilities=lambda scores: scores,
        read=lambda scores: (scores >= 0.5).astype(int),
        coding=SimpleNamespace(kind=kind),
        classes_=None if classes is None else np.array(classes),
    )


def test_costs_of_classes():
    P = np.array([[0.9, 0.1], [0.3, 0.7], [1.0, 0.0], [0.5, 0.5]])
    y = np.array(["a", "a", "b", "new"], dtype=object)
    costs, right = label_costs(probabilities_as(P, "multiclass", ["a", "b"]), None, y, 99)
    assert np.allclose(costs[:3], -np.log([0.9, 0.3, 0.01]))  # 99 labels cannot tell 0 from 0.01
    assert right[:3].tolist() == [1, 0, 0]
    assert np.isnan([costs[3], right[3]]).all()  # a class that the fit has not seen


def test_costs_of_sets():
    P = np.array([[0.9, 0.2], [0.6, 0.4]])
    y = np.array([[1.0, 0.0], [np.nan, 1.0]])
    costs, right = label_costs(probabilities_as(P, "multilabel"), None, y, 99)
    assert np.allclose(costs, [-np.log(0.9) - np.log(0.8), -np.log(0.4)])
    assert right.tolist() == [1, 0]


def test_costs_of_numbers_are_normal_and_their_scores_average_to_r2():
    X, y = COUNTS[:30], COUNTS[:30].sum(axis=1)
    model = SSNMFRegressor(2, random_state=0).fit(X, y)
    held_out = COUNTS[30:].sum(axis=1)
    costs, scores = label_costs(model, COUNTS[30:], held_out, 30)
    errors = model.predict(COUNTS[30:]) - held_out
    spread = np.sqrt(np.mean(errors**2))
    assert np.allclose(costs, -norm.logpdf(errors, scale=spread))
    assert scores.mean() == pytest.approx(model.score(COUNTS[30:], held_out))


def test_soft_labels_cost_their_cross_entropy():
    shares = np.array([[0.8, 0.2], [0.1, 0.9]])
    X = np.array([[9.0, 1.0], [1.0, 9.0]]).repeat(10, axis=0)
    model = SSNMFClassifier(2, random_state=0).fit(X, shares.repeat(10, axis=0))
    P = np.clip(model.predict_proba(X[[0, 10]]), 1 / 21, 20 / 21)
    costs, _ = label_costs(model, X[[0, 10]], shares, 20)
    assert np.allclose(costs, -(shares * np.log(P)).sum(axis=1))
