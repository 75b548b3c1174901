"""The oracle checked against finite differences, scipy, published numbers and the theory."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
import scipy.stats
from sklearn.naive_bayes import MultinomialNB

from oracles import (
    FACTORS,
    FROBENIUS,
    IS,
    KL,
    LOSSES,
    divergence,
    em_naive_bayes,
    entry_divergence,
    gradient,
    gradient_parts,
    kkt_residual,
    kl_rows,
    max_likelihood_lambda,
    nnls_rows,
    objective,
    paper_updates,
    positive_root,
    prior_value,
    surrogate_numbers,
    surrogate_updates,
    update_factor,
)

PAIRS = list(itertools.product(LOSSES, LOSSES))
PAPER_PAIRS = list(itertools.product((FROBENIUS, KL), (FROBENIUS, KL)))


def positive(rng, shape, spread=1.0):
    return np.exp(spread * rng.standard_normal(shape))


def random_priors(rng):
    """One to three priors per factor, some factors without."""
    choices = [
        lambda: ("l1", rng.exponential()),
        lambda: ("l2", rng.exponential()),
        lambda: ("gamma", 1 + rng.exponential(), rng.exponential()),
    ]
    priors = {}
    for name in FACTORS:
        kinds = rng.choice(3, size=rng.integers(0, 4), replace=False)
        if len(kinds):
            priors[name] = [choices[kind]() for kind in kinds]
    return priors


def random_problem(rng, data_loss, target_loss, spread=1.0, shape=None):
    """A whole problem as keyword arguments of ``objective``, real weights with missing cells."""
    n, m, k, r = shape or rng.integers(1, 7, size=4)
    X, Y = positive(rng, (n, m), spread), positive(rng, (n, k), spread)
    if data_loss != IS:
        X[rng.random(X.shape) < 0.3] = 0
    if target_loss != IS:
        Y[rng.random(Y.shape) < 0.3] = 0
    W = rng.exponential(size=X.shape) * (rng.random(X.shape) < 0.8)
    L = rng.exponential(size=Y.shape) * (rng.random((n, 1)) < 0.7)
    return {
        "X": np.where(W > 0, X, np.nan),
        "Y": np.where(L > 0, Y, np.nan),
        "A": positive(rng, (m, r), spread),
        "B": positive(rng, (k, r), spread),
        "S": positive(rng, (n, r), spread),
        "W": W,
        "L": L,
        "data_loss": data_loss,
        "target_loss": target_loss,
        "lam": rng.exponential(),
        "priors": random_priors(rng),
        "sample_weight": rng.exponential(size=n) * (rng.random(n) < 0.9),
    }


def step(problem, name, eps):
    """The problem after one surrogate step of one factor."""
    A, B, S, _ = surrogate_updates(**problem, eps=eps, factors=(name,))
    return problem | {"A": A, "B": B, "S": S}


LETTER = {"features": "A", "targets": "B", "samples": "S"}


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


# ---------------------------------------------------------------- the paper's updates


def table(rows, columns, phase):
    """Deterministic nonnegative numbers that need no random generator."""
    i, j = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    return np.round(1.0 + np.sin(1.7 * i + 2.9 * j + phase + 0.3 * i * j), 3)


# What `ssnmf` 1.0.3 gives after 5 iterations on the tables below (weights with zeros, lam = 0.7):
# sum of A, A[3, 1], sum of S, S[4, 0] (ours; theirs is transposed), then sum of B, B[2, 0].
PUBLISHED = {
    (FROBENIUS, None): (4.95122754556, 0.0272959708911, 12.9247630659, 0.101248783953),
    (KL, None): (5.65497310805, 0.0814925687705, 11.6892637939, 0.174602095074),
    (FROBENIUS, FROBENIUS): (
        *(5.48217418749, 0.0603876661013, 12.5581853854, 0.110357912046),
        *(3.07832310927, 0.740538049867),
    ),
    (FROBENIUS, KL): (
        *(5.23366741114, 0.0396771044775, 12.6687270789, 0.102035555754),
        *(3.04239005593, 0.705275433169),
    ),
    (KL, FROBENIUS): (
        *(5.89666016939, 0.151354146058, 11.976527779, 0.0998859891042),
        *(3.42877750797, 0.91465445501),
    ),
    (KL, KL): (
        *(5.87417194898, 0.116796886583, 11.4429369139, 0.116110237202),
        *(3.45910583977, 0.909229463345),
    ),
}


@pytest.mark.parametrize("pair", PUBLISHED, ids=str)
def test_paper_updates_reproduce_the_published_package(pair):
    data_loss, target_loss = pair
    X, A, S, W = table(6, 5, 0), table(5, 2, 2) + 0.1, table(6, 2, 4) + 0.1, table(6, 5, 5) + 0.2
    W[0, 1] = W[3, 4] = 0
    targets = {}
    if target_loss is not None:
        L = table(6, 3, 6) + 0.2
        L[2] = 0
        targets = {"Y": table(6, 3, 1), "B": table(3, 2, 3) + 0.1, "L": L}
        targets["target_loss"] = target_loss
    A, B, S, history = paper_updates(
        X, A, S, W=W, data_loss=data_loss, lam=0.7, n_iter=5, **targets
    )
    found = (A.sum(), A[3, 1], S.sum(), S[4, 0])
    if target_loss is not None:
        found += (B.sum(), B[2, 0])
    assert found == pytest.approx(PUBLISHED[pair], rel=1e-10)
    assert len(history) == 5
    final = objective(
        X, targets.get("Y"), A, B, S, W, targets.get("L"), data_loss, target_loss, 0.7
    )
    assert history[-1] == final.total


@pytest.mark.parametrize("pair", PAPER_PAIRS, ids=" ".join)
def test_paper_updates_use_the_newest_factors(pair):
    rng = np.random.default_rng(7)
    problem = random_problem(rng, *pair, shape=(6, 5, 3, 2))
    del problem["priors"], problem["sample_weight"]
    together = paper_updates(**problem)
    for name in FACTORS:
        A, B, S, _ = paper_updates(**problem, factors=(name,))
        problem |= {"A": A, "B": B, "S": S}
    for found, expected in zip((A, B, S), together, strict=False):
        np.testing.assert_array_equal(found, expected)


def test_the_papers_mixed_step_can_raise_its_objective_and_the_surrogate_step_does_not():
    one = np.ones((1, 1))
    problem = {
        "X": 0 * one,
        "Y": 4 * one,
        "A": one,
        "B": 1e-3 * one,
        "S": one,
        "data_loss": FROBENIUS,
        "target_loss": KL,
        "lam": 1.0,
    }
    before = objective(**problem).total
    *_, history = paper_updates(**problem, factors=("samples",))
    assert round(before, 2) == 30.18
    assert round(history[-1], 2) == 30.40
    *_, history = surrogate_updates(**problem, factors=("samples",))
    assert history[-1] < before
    # in one dimension the surrogate of this problem is the problem: one step is the minimiser
    S = surrogate_updates(**problem, factors=("samples",), eps=0)[2]
    assert kkt_residual(**problem | {"S": S}, factors=("samples",)).absolute < 1e-12


def test_the_paper_is_not_monotone_for_squared_real_weights():
    """Why weights multiply the divergence: the paper's updates descend W, not W squared."""
    rng = np.random.default_rng(8)
    rises = 0
    for _ in range(50):
        X, A, S = positive(rng, (5, 4)), positive(rng, (4, 2)), positive(rng, (5, 2))
        W = positive(rng, (5, 4), 2.0)
        values, squared = [], []
        for _ in range(20):
            A, _, S, history = paper_updates(X, A, S, W=W)
            values.append(history[-1])
            squared.append(divergence(FROBENIUS, X, S @ A.T, W**2))
        assert np.all(np.diff(values) <= 1e-12 * values[0])
        rises += np.any(np.diff(squared) > 1e-6 * squared[0])
    assert rises > 0


# ---------------------------------------------------------------- the one rule


def test_positive_root_agrees_with_numpy_roots():
    rng = np.random.default_rng(9)
    for _ in range(300):
        q, u, v, c, e = np.where(rng.random(5) < 0.3, 0.0, positive(rng, 5, 2.0))
        if (c == 0 and e == 0) or (q == 0 and u <= v):
            continue
        roots = np.roots([q, u - v, -c, -e])
        real = roots.real[(np.abs(roots.imag) <= 1e-7 * np.abs(roots)) & (roots.real > 0)]
        assert len(real) == 1
        assert positive_root(q, u, v, c, e) == pytest.approx(real[0], rel=1e-7)


def test_positive_root_in_closed_form():
    assert positive_root(2, 0, 3, 0, 0) == pytest.approx(1.5, rel=1e-15)  # Frobenius
    assert positive_root(0, 2, 0, 3, 0) == pytest.approx(1.5, rel=1e-15)  # KL
    assert positive_root(0, 2, 0, 0, 8) == pytest.approx(2.0, rel=1e-15)  # IS: sqrt(e / u)
    assert positive_root(1, 1, 1, 0, 8) == pytest.approx(2.0, rel=1e-15)
    assert positive_root(1, 5, 5, 9, 0) == pytest.approx(3.0, rel=1e-15)
    assert positive_root(1, 3, 2, 0, 0) == 0.0
    assert positive_root(0, 0, 0, 0, 0) == 1.0
    assert positive_root(1e-8, 1e8, 0, 1e-8, 0) == pytest.approx(1e-16, rel=1e-12)
    with pytest.raises(ValueError, match="no minimiser"):
        positive_root(0, 0, 0, 1, 0)


def terms_of(problem, name):
    """The terms that touch one factor, for ``surrogate_numbers``."""
    weight = problem["sample_weight"][:, None]
    data = (problem["X"], problem["A"], weight * problem["W"], problem["data_loss"], 1.0)
    target = (problem["Y"], problem["B"], weight * problem["L"], problem["target_loss"])
    target += (problem["lam"],)
    if name == "samples":
        return [data, target]
    Z, _, W, loss, scale = data if name == "features" else target
    return [(Z.T, problem["S"], W.T, loss, scale)]


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_surrogate_touches_the_objective_and_lies_above_it(pair):
    rng = np.random.default_rng(10)
    for _ in range(12):
        problem = random_problem(rng, *pair)
        eps = rng.choice([0.0, 1e-12, 0.1])
        before = objective(**problem, epsilon=eps).total
        grad = gradient(**problem, epsilon=eps)
        for name in FACTORS:
            V = problem[LETTER[name]]
            weight = problem["sample_weight"] if name == "samples" else None
            priors = problem["priors"].get(name, ())
            q, u, v, c, e = surrogate_numbers(V, terms_of(problem, name), priors, weight, eps)
            parts = q + u + v + c + e
            error = np.abs(q + u - v - c - e - grad[name])
            assert np.all(error <= 1e-12 * parts)
            for spread in (0.01, 0.3, 2.0):
                t = positive(rng, V.shape, spread)
                g = q * (t**2 - 1) / 2 + (u - v) * (t - 1) - c * np.log(t) + e * (1 / t - 1)
                bound = before + np.sum(V * g)
                value = objective(**problem | {LETTER[name]: V * t}, epsilon=eps).total
                size = abs(before) + np.sum(V * parts * (t**2 + 1 / t))
                assert value <= bound + 1e-12 * size


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_surrogate_updates_never_raise_the_objective(pair):
    rng = np.random.default_rng(11)
    moved = 0
    for trial in range(30):
        problem = random_problem(rng, *pair, spread=rng.choice([0.3, 1.0, 3.0]))
        eps = (0.0, 1e-12, 0.1)[trial % 3]
        for _ in range(2):
            for name in FACTORS:
                before = objective(**problem, epsilon=eps)
                problem = step(problem, name, eps)
                after = objective(**problem, epsilon=eps)
                size = abs(before.total) + before.data + problem["lam"] * before.target
                assert after.total <= before.total + 1e-12 * size
                moved += after.total < before.total - 1e-9 * size
    assert moved > 120  # of 180: the steps do something


@pytest.mark.parametrize("loss", [FROBENIUS, KL])
def test_with_one_loss_the_rule_is_the_papers_update(loss):
    rng = np.random.default_rng(12)
    for _ in range(5):
        problem = random_problem(rng, loss, loss, shape=(6, 5, 4, 2))
        del problem["priors"], problem["sample_weight"]
        problem["W"] = rng.exponential(size=problem["W"].shape) + 0.1  # no 0 / 0 in the paper's
        problem["L"] = rng.exponential(size=problem["L"].shape) + 0.1
        problem["X"], problem["Y"] = (positive(rng, problem[name].shape) for name in "WL")
        unsupervised = {name: problem[name] for name in ("X", "A", "S", "W", "data_loss")}
        for arguments in (problem, unsupervised):
            *factors, history = surrogate_updates(**arguments, n_iter=5, eps=0)
            *expected, expected_history = paper_updates(**arguments, n_iter=5, eps=0)
            for found, wanted in zip(factors, expected, strict=True):
                if wanted is not None:
                    np.testing.assert_allclose(found, wanted, rtol=1e-11)
            np.testing.assert_allclose(history, expected_history, rtol=1e-10)


def test_rows_and_entries_that_nothing_touches_stay():
    rng = np.random.default_rng(13)
    V, F, Z = positive(rng, (3, 2)), positive(rng, (4, 2)), positive(rng, (3, 4))
    V[1, 0] = 0.0
    W = np.ones(Z.shape)
    W[2] = 0.0
    for loss in LOSSES:
        new = update_factor(V, [(Z, F, W, loss, 1.0)])
        assert new[1, 0] == 0.0
        np.testing.assert_array_equal(new[2], V[2])
        assert np.all(new[0] != V[0])
    # a gamma prior alone pulls an untouched row to its mode, (shape - 1) / rate
    new = update_factor(V, [(Z, F, W, KL, 1.0)], [("gamma", 3.0, 4.0)])
    np.testing.assert_allclose(new[2], 0.5)


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_without_labels_it_is_plain_nmf(pair):
    rng = np.random.default_rng(14)
    problem = random_problem(rng, *pair, shape=(5, 4, 3, 2))
    del problem["priors"]
    problem["Y"] = np.full_like(problem["Y"], np.nan)
    A, B, S, history = surrogate_updates(**problem, n_iter=5)
    plain = {name: problem[name] for name in ("X", "A", "S", "W", "data_loss", "sample_weight")}
    A0, _, S0, history0 = surrogate_updates(**plain, n_iter=5)
    np.testing.assert_array_equal(A, A0)
    np.testing.assert_array_equal(S, S0)
    np.testing.assert_array_equal(B, problem["B"])
    assert history == history0


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_unlabelled_rows_and_missing_cells_are_ignored_whatever_stands_there(pair):
    rng = np.random.default_rng(15)
    problem = random_problem(rng, *pair, shape=(6, 4, 3, 2))
    with_nan = surrogate_updates(**problem, n_iter=3)
    filled = problem | {
        name: np.where(np.isnan(problem[name]), 7.0, problem[name]) for name in "XY"
    }
    for found, expected in zip(surrogate_updates(**filled, n_iter=3), with_nan, strict=True):
        np.testing.assert_array_equal(found, expected)
    assert objective(**problem) == objective(**filled)
    if IS not in pair:
        for arguments in (problem, filled):
            del arguments["priors"], arguments["sample_weight"]
        with_nan = paper_updates(**problem, n_iter=3)
        for found, expected in zip(paper_updates(**filled, n_iter=3), with_nan, strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_integer_sample_weights_are_repeated_rows(pair):
    rng = np.random.default_rng(16)
    problem = random_problem(rng, *pair, shape=(5, 4, 3, 2))
    counts = np.array([1, 3, 0, 2, 1])
    problem["sample_weight"] = counts
    repeated = {
        name: np.repeat(value, counts, axis=0) if name in ("X", "Y", "S", "W", "L") else value
        for name, value in problem.items()
    } | {"sample_weight": None}
    A, B, S, history = surrogate_updates(**problem, n_iter=3)
    A0, B0, S0, history0 = surrogate_updates(**repeated, n_iter=3)
    np.testing.assert_allclose(A, A0, rtol=1e-12)
    np.testing.assert_allclose(B, B0, rtol=1e-12)
    np.testing.assert_allclose(np.repeat(S, counts, axis=0), S0, rtol=1e-12)
    np.testing.assert_allclose(history, history0, rtol=1e-12)


def test_inputs_are_left_alone():
    problem = random_problem(np.random.default_rng(17), KL, FROBENIUS, shape=(5, 4, 3, 2))
    copies = {name: np.copy(problem[name]) for name in ("X", "Y", "A", "B", "S", "W", "L")}
    surrogate_updates(**problem, n_iter=2)
    del problem["priors"], problem["sample_weight"]
    paper_updates(**problem, n_iter=2)
    for name, copy in copies.items():
        np.testing.assert_array_equal(problem[name], copy)


# ---------------------------------------------------------------- inference with A fixed


def test_nnls_rows_is_optimal():
    rng = np.random.default_rng(18)
    X, A = positive(rng, (8, 6)), positive(rng, (6, 4), 2.0)
    S = nnls_rows(X, A)
    assert np.any(S == 0)
    assert kkt_residual(X, None, A, None, S, factors=("samples",)).relative < 1e-12
    W = rng.exponential(size=X.shape) * (rng.random(X.shape) < 0.8)
    S = nnls_rows(np.where(W > 0, X, np.nan), A, W)
    assert kkt_residual(X, None, A, None, S, W, factors=("samples",)).relative < 1e-12


def test_kl_rows_is_optimal():
    rng = np.random.default_rng(19)
    X, A = rng.poisson(2.0, (6, 8)).astype(float), positive(rng, (8, 3))
    X[0] = 0
    S = kl_rows(X, A)
    assert np.all(S[0] == 0)
    residual = kkt_residual(X, None, A, None, S, data_loss=KL, factors=("samples",), epsilon=1e-300)
    assert residual.relative < 1e-4
    best = divergence(KL, X, S @ A.T)
    for _ in range(200):
        other = S * positive(rng, S.shape, 0.05) + rng.exponential(1e-3, S.shape)
        assert divergence(KL, X, other @ A.T) >= best
    W = (rng.random(X.shape) < 0.8) * rng.exponential(size=X.shape)
    S = kl_rows(np.where(W > 0, X, np.nan), A, W=W)
    residual = kkt_residual(
        X, None, A, None, S, W, data_loss=KL, factors=("samples",), epsilon=1e-300
    )
    assert residual.relative < 1e-4


# ---------------------------------------------------------------- few labels


def documents(rng, n, n_classes=3, n_words=200):
    """Unit-length rows of word counts; a class prefers its own words."""
    y = np.arange(n) % n_classes
    rates = np.full((n_classes, n_words), 0.1)
    for c in range(n_classes):
        rates[c, c * 50 : (c + 1) * 50] += 0.2
    X = rng.poisson(rates[y]).astype(float)
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12), y


def test_em_naive_bayes_without_iterations_or_without_unlabelled_rows_is_naive_bayes():
    rng = np.random.default_rng(20)
    X, y = documents(rng, 60)
    X_test, _ = documents(rng, 200)
    expected = MultinomialNB(alpha=0.01).fit(X, y).predict(X_test)
    np.testing.assert_array_equal(em_naive_bayes(X, y, 3, X_test), expected)
    half = np.where(np.arange(60) < 30, y, -1)
    expected = MultinomialNB(alpha=0.01).fit(X[:30], y[:30]).predict(X_test)
    np.testing.assert_array_equal(em_naive_bayes(X, half, 3, X_test, n_iter=0), expected)
    ignored = em_naive_bayes(X, half, 3, X_test, unlabelled_weight=0.0)
    np.testing.assert_array_equal(ignored, expected)


def test_em_naive_bayes_learns_from_unlabelled_rows_and_takes_sparse_matrices():
    rng = np.random.default_rng(21)
    X, truth = documents(rng, 600)
    X_test, y_test = documents(rng, 300)
    y = np.where(np.arange(600) < 6, truth, -1)
    em = em_naive_bayes(X, y, 3, X_test)
    plain = em_naive_bayes(X, y, 3, X_test, n_iter=0)
    assert np.mean(em == y_test) > np.mean(plain == y_test) + 0.1
    for kind in (scipy.sparse.csr_array, scipy.sparse.csr_matrix):
        np.testing.assert_array_equal(em_naive_bayes(kind(X), y, 3, kind(X_test)), em)


def test_em_naive_bayes_learns_how_common_the_classes_are():
    rng = np.random.default_rng(23)
    X, truth = documents(rng, 300)
    empty = np.zeros((1, X.shape[1]))
    for common in range(3):
        keep = (truth == common) | (np.arange(300) < 60)
        y = np.where(np.arange(300) < 60, truth, -1)[keep]
        assert em_naive_bayes(X[keep], y, 3, empty) == common
        labels_alone = np.where(truth[keep] == common, truth[keep], -1)
        assert em_naive_bayes(X[keep], labels_alone, 3, empty, n_iter=0) == common


# ---------------------------------------------------------------- noise models


NOISES = list(itertools.product(("gaussian", "poisson"), ("gaussian", "poisson")))


@pytest.mark.parametrize("noises", NOISES, ids=" ".join)
def test_objective_differences_are_likelihood_differences(noises):
    rng = np.random.default_rng(22)
    rank, sigma = 3, {"data": 0.4, "target": 1.7}
    factors = [[positive(rng, (size, rank)) for size in (6, 5, 4)] for _ in range(2)]
    X, Y = rng.poisson(3.0, (6, 5)), rng.poisson(3.0, (6, 4))

    def log_likelihood(S, A, B):
        total = 0.0
        observed = (("data", X, S @ A.T), ("target", Y, S @ B.T))
        for (role, Z, P), noise in zip(observed, noises, strict=True):
            if noise == "gaussian":  # a sum of `rank` summands, each of variance sigma
                total += scipy.stats.norm(P, np.sqrt(rank * sigma[role])).logpdf(Z).sum()
            else:
                total += scipy.stats.poisson(P).logpmf(Z).sum()
        return total

    losses = [{"gaussian": FROBENIUS, "poisson": KL}[noise] for noise in noises]
    lam = max_likelihood_lambda(*noises, rank, sigma["data"], sigma["target"])
    values = [objective(X, Y, A, B, S, None, None, *losses, lam).total for S, A, B in factors]
    unit = 2 * rank * sigma["data"] if noises[0] == "gaussian" else 1.0
    likelihoods = [log_likelihood(*f) for f in factors]
    assert values[0] - values[1] == pytest.approx(
        unit * (likelihoods[1] - likelihoods[0]), rel=1e-10
    )


def test_max_likelihood_lambda_values():
    assert max_likelihood_lambda("gaussian", "gaussian", 5, 2.0, 4.0) == 0.5
    assert max_likelihood_lambda("gaussian", "poisson", 5, sigma1=0.1) == pytest.approx(1.0)
    assert max_likelihood_lambda("poisson", "gaussian", 5, sigma2=0.1) == pytest.approx(1.0)
    assert max_likelihood_lambda("poisson", "poisson", 5) == 1.0
    with pytest.raises(ValueError, match="unknown noise"):
        max_likelihood_lambda("gaussian", "cauchy", 5, 1.0, 1.0)
