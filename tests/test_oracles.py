"""The oracles' divergences, objectives and gradients against textbook formulas."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
import scipy.stats

from oracle_problems import LETTER, PAIRS, positive, random_problem
from oracles import (
    FACTORS,
    FROBENIUS,
    IS,
    KL,
    LOSSES,
    divergence,
    entry_divergence,
    gradient,
    gradient_parts,
    kkt_residual,
    objective,
    paper_updates,
    prior_value,
    surrogate_updates,
)

# ---------------------------------------------------------------- divergences and objective


def test_divergences_are_the_textbook_formulas():
    rng = np.random.default_rng(0)
    X, P, W = positive(rng, (5, 4)), positive(rng, (5, 4)), rng.exponential(size=(5, 4))
    expected = {
        FROBENIUS: np.sum(W * (X - P) ** 2),
        KL: np.sum(W * (X * np.log(X / P) - X + P)),
        IS: np.sum(W * (X / P - np.log(X / P) - 1)),
    }
    for name, value in expected.items():
        assert divergence(name, X, P, W) == pytest.approx(value, rel=1e-12)
        assert divergence(name, X, P) == pytest.approx(divergence(name, X, P, np.ones(X.shape)))


def test_divergences_at_zero():
    assert divergence(KL, [[0.0]], [[2.0]]) == 2.0
    assert divergence(KL, [[0.0]], [[0.0]]) == 0.0
    assert divergence(KL, [[1.0]], [[0.0]]) == np.inf
    assert divergence(IS, [[0.0]], [[1.0]]) == np.inf
    assert divergence(IS, [[1.0]], [[0.0]]) == np.inf
    for name in LOSSES:
        assert divergence(name, [[3.0]], [[3.0]]) == 0.0


@pytest.mark.parametrize("distance", [1e-1, 1e-2, 1e-4, 1e-8, 1e-12, 2**-52])
@pytest.mark.parametrize("sign", [1, -1])
def test_divergences_near_equality_do_not_cancel(distance, sign):
    x = 0.7
    p = x * (1 + sign * distance)

    def exact(d, terms=60):  # d - log(1 + d) in rational arithmetic
        return sum(Fraction((-1) ** k, k) * d**k for k in range(2, terms))

    kl = Fraction(x) * exact((Fraction(p) - Fraction(x)) / Fraction(x))
    itakura_saito = exact((Fraction(x) - Fraction(p)) / Fraction(p))
    assert float(entry_divergence(KL, x, p)) == pytest.approx(float(kl), rel=1e-13)
    assert float(entry_divergence(IS, x, p)) == pytest.approx(float(itakura_saito), rel=1e-13)


def test_divergences_are_continuous_where_their_formulas_change():
    for name, ratio in itertools.product((KL, IS), (0.5, 0.9, 1.1, 1.5, 2 / 3, 2.0, 10 / 9)):
        below, above = (entry_divergence(name, 1.0, ratio * (1 + d)) for d in (-1e-12, 1e-12))
        assert below == pytest.approx(above, rel=1e-9)


@pytest.mark.parametrize("name", LOSSES)
def test_missing_cells_do_not_matter(name):
    rng = np.random.default_rng(1)
    X, P = positive(rng, (6, 5)), positive(rng, (6, 5))
    seen = rng.random(X.shape) < 0.5
    W = np.where(seen, rng.exponential(size=X.shape), 0.0)
    value = divergence(name, X, P, W)
    for filler in (np.nan, 0.0, 1e9):
        assert divergence(name, np.where(seen, X, filler), P, W) == value
    assert divergence(name, np.where(seen, X, np.nan), P, W + ~seen) == value  # NaN alone suffices
    assert divergence(name, X, np.where(seen, P, 0.0), W) == value


def test_objective_adds_its_parts():
    rng = np.random.default_rng(2)
    problem = random_problem(rng, KL, FROBENIUS, shape=(5, 4, 3, 2))
    problem["priors"] = {"samples": [("l1", 0.5)], "targets": [("gamma", 2.0, 3.0)]}
    value = objective(**problem)
    weight, S, B = problem["sample_weight"], problem["S"], problem["B"]
    W, L = (weight[:, None] * problem[name] for name in ("W", "L"))
    assert value.data == pytest.approx(divergence(KL, problem["X"], S @ problem["A"].T, W))
    assert value.target == pytest.approx(divergence(FROBENIUS, problem["Y"], S @ B.T, L))
    prior = 0.5 * np.sum(weight[:, None] * S) + np.sum(3 * B - np.log(B))
    assert value.total == pytest.approx(value.data + problem["lam"] * value.target + prior)

    alone = objective(problem["X"], None, problem["A"], None, S, W, data_loss=KL)
    assert (alone.target, alone.total) == (0.0, alone.data)
    assert alone.data == pytest.approx(value.data)


def test_objective_epsilon_moves_kl_and_is_only():
    A, S = np.array([[0.0], [1.0]]), np.array([[1.0]])
    X = np.array([[1.0, 1.0]])
    for loss in LOSSES:
        P = S @ A.T + (0 if loss == FROBENIUS else 0.25)
        value = objective(X, None, A, None, S, data_loss=loss, epsilon=0.25)
        assert value.total == divergence(loss, X, P)


def test_prior_values():
    V = np.array([[1.0, 2.0], [0.5, 4.0]])
    assert prior_value(V, [("l1", 2.0)]) == pytest.approx(15.0)
    assert prior_value(V, [("l2", 2.0)]) == pytest.approx(21.25)
    assert prior_value(V, [("gamma", 1.0, 2.0)]) == pytest.approx(15.0)
    assert prior_value(V, [("gamma", 3.0, 0.0)]) == pytest.approx(-2 * math.log(4.0))
    assert prior_value(V, [("l1", 1.0), ("l2", 2.0)]) == pytest.approx(28.75)
    assert prior_value(V, [("l1", 2.0)], row_weight=[0.0, 3.0]) == pytest.approx(27.0)
    assert prior_value(np.zeros((1, 1)), [("gamma", 2.0, 1.0)]) == np.inf
    assert prior_value(np.zeros((1, 1)), [("gamma", 1.0, 1.0)]) == 0.0
    difference = prior_value([[2.0]], [("gamma", 3.0, 0.5)]) - prior_value(
        [[5.0]], [("gamma", 3.0, 0.5)]
    )
    density = scipy.stats.gamma(3.0, scale=1 / 0.5)
    assert difference == pytest.approx(density.logpdf(5.0) - density.logpdf(2.0))


def test_unknown_names_are_refused():
    one = np.ones((1, 1))
    with pytest.raises(ValueError, match="unknown divergence"):
        divergence("euclid", one, one)
    with pytest.raises(ValueError, match="unknown prior"):
        prior_value(one, [("l0", 1.0)])
    with pytest.raises(ValueError, match="Frobenius and Kullback-Leibler"):
        paper_updates(one, one, one, data_loss=IS)
    with pytest.raises(ValueError, match="shape"):
        divergence(KL, one, one, np.ones((2, 1)))


# ---------------------------------------------------------------- gradient and optimality


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_gradient_equals_finite_differences(pair):
    rng = np.random.default_rng(3)
    problem = random_problem(rng, *pair, spread=0.5, shape=(4, 3, 2, 2))
    problem["priors"] = {name: [("l1", 0.3), ("l2", 0.7), ("gamma", 1.5, 0.4)] for name in FACTORS}
    for epsilon in (0.0, 0.1):
        grad = gradient(**problem, epsilon=epsilon)
        assert set(grad) == set(FACTORS)
        for name, G in grad.items():
            V = problem[LETTER[name]]
            scale = sum(part.max() for part in gradient_parts(**problem, epsilon=epsilon)[name])
            for index in np.ndindex(V.shape):
                h = 1e-5 * V[index]
                up, down = V.copy(), V.copy()
                up[index] += h
                down[index] -= h
                values = [
                    objective(**problem | {LETTER[name]: moved}, epsilon=epsilon).total
                    for moved in (up, down)
                ]
                slope = (values[0] - values[1]) / (up[index] - down[index])
                assert slope == pytest.approx(G[index], abs=1e-7 * scale, rel=1e-7)


def test_gradient_without_targets():
    rng = np.random.default_rng(4)
    X, A, S = positive(rng, (4, 3)), positive(rng, (3, 2)), positive(rng, (4, 2))
    grad = gradient(X, None, A, None, S)
    assert set(grad) == {"features", "samples"}
    np.testing.assert_allclose(grad["samples"], 2 * (S @ A.T - X) @ A)
    np.testing.assert_allclose(grad["features"], 2 * (S @ A.T - X).T @ S)


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_kkt_residual_vanishes_at_an_exact_fit_and_shrinks_during_a_fit(pair):
    rng = np.random.default_rng(5)
    A, B, S = positive(rng, (4, 2)), positive(rng, (3, 2)), positive(rng, (6, 2))
    arguments = dict(zip(("data_loss", "target_loss"), pair, strict=True))
    exact = kkt_residual(S @ A.T, S @ B.T, A, B, S, **arguments)
    assert max(exact) < 1e-12

    X, Y = positive(rng, (6, 4)), positive(rng, (6, 3))
    start = kkt_residual(X, Y, A, B, S, **arguments)
    A, B, S, _ = surrogate_updates(X, A, S, Y, B, **arguments, n_iter=60)
    end = kkt_residual(X, Y, A, B, S, **arguments)
    assert end.relative < 0.3 * start.relative
    assert end.absolute < 0.3 * start.absolute


def test_relative_kkt_residual_has_no_units():
    rng = np.random.default_rng(6)
    X, A, S = positive(rng, (6, 4)), positive(rng, (4, 2)), positive(rng, (6, 2))
    for loss in LOSSES:
        plain = kkt_residual(X, None, A, None, S, data_loss=loss)
        scaled = kkt_residual(1e6 * X, None, 1e4 * A, None, 1e2 * S, data_loss=loss)
        assert scaled.relative == pytest.approx(plain.relative)


def test_kkt_residual_sees_a_wrong_zero_and_accepts_a_right_one():
    A = np.array([[1.0], [1.0]])
    X = np.array([[1.0, 1.0]])
    assert kkt_residual(X, None, A, None, np.zeros((1, 1)), factors=("samples",)).absolute == 4.0
    pulled = {"samples": [("l1", 5.0)]}
    zero = kkt_residual(X, None, A, None, np.zeros((1, 1)), priors=pulled, factors=("samples",))
    assert zero == (0.0, 0.0)
