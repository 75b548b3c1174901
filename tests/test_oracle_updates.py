"""The oracles' updates: the paper's, and the surrogate's, which never raise the objective."""

import numpy as np
import pytest

from oracle_problems import LETTER, PAIRS, PAPER_PAIRS, positive, random_problem, step
from oracles import (
    FACTORS,
    FROBENIUS,
    IS,
    KL,
    LOSSES,
    divergence,
    gradient,
    kkt_residual,
    objective,
    paper_updates,
    positive_root,
    surrogate_numbers,
    surrogate_updates,
    update_factor,
)

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


@pytest.mark.slow
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
