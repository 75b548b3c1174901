"""Solvers agree with the oracle, with each other and with scipy."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse as sp

import oracles
from cofactor import NMF, SSNMFClassifier
from cofactor.divergences import DIVERGENCES, FLOOR
from cofactor.engine.factors import Factors
from cofactor.engine.fitting import minimise
from cofactor.engine.kernels import EPSILON
from cofactor.engine.observations import dense, observe, sparse
from cofactor.engine.solvers import CoordinateDescent, MultiplicativeUpdates
from cofactor.estimators.inference import represent
from cofactor.priors import L1, Gamma
from strategies import (
    DESCENT_PAIRS,
    PAIRS,
    SERIAL,
    STORAGES,
    Observed,
    Problem,
    assert_close,
    draw,
    positive,
    short,
)

# ---------------------------------------------------------------- one step, and several


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("losses", PAIRS, ids=short)
@pytest.mark.parametrize("priors", [False, True], ids=["plain", "priors"])
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
def test_multiplicative_step_is_the_surrogates_minimum(losses, storage, priors, weighted):
    for seed, target_storage in enumerate(STORAGES):
        problem = draw(
            seed, losses, storage, shape=(7, 6, 3, 3), target_storage=target_storage,
            priors=priors, weighted=weighted, counts=weighted, unlabelled=True,
        )  # fmt: skip
        for n_iter in (1, 4):
            fitted = problem.run(MultiplicativeUpdates(), n_iter).factors
            assert_close(fitted, problem.surrogate_updates(n_iter), rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("loss", oracles.LOSSES)
def test_multiplicative_step_with_empty_rows_and_columns(loss, storage):
    """An empty document and a word that nobody uses: Frobenius and KL send them to zero at once."""
    rng = np.random.default_rng(0)
    X = positive(rng, (6, 5))
    X[2], X[:, 3] = 0.0, 0.0
    X /= X.max()
    weights = np.ones(X.shape)
    engine = {
        "dense": dense(X), "sparse": sparse(sp.csr_array(X)), "masked": observe(X, weights)
    }[storage]  # fmt: skip
    start = Factors(positive(rng, (6, 2)), positive(rng, (5, 2)))
    problem = Problem(Observed(engine, X, weights), None, (loss, loss), 1.0, {}, None, start)
    fitted = problem.run(MultiplicativeUpdates(), 1).factors
    assert_close(fitted, problem.surrogate_updates(1), rtol=1e-8, atol=1e-11)


# ---------------------------------------------------------------- mu and cd


def planted(losses, storage, *, seed, rank, share):
    """Noisy positive data from factors of which a ``share`` is not zero, started not far off."""
    rng = np.random.default_rng(seed)
    S, A, B = (
        rng.gamma(2.0, size=(rows, rank)) * (rng.random((rows, rank)) < share) for rows in (9, 8, 3)
    )

    def noisy(P, storage):
        X = P * rng.gamma(400.0, size=P.shape) / 400.0 + 0.1 * rng.random(P.shape)
        X /= X.max()
        W = np.ones(X.shape)
        if storage == "masked":
            W = (rng.random(X.shape) < 0.85) * rng.gamma(4.0, 0.25, size=X.shape)
            return Observed(observe(X, W), X, W)
        return Observed(dense(X) if storage == "dense" else sparse(sp.csr_array(X)), X, W)

    start = Factors(*(V * positive(rng, V.shape, 0.3) + 0.1 for V in (S, A, B)))
    data, target = noisy(S @ A.T, storage), noisy(S @ B.T, "dense")
    return Problem(data, target, losses, 0.7, {}, None, start)


def solved(problem, solver, tolerance, limit):
    """Iterate until the oracle finds the point optimal."""
    objective = problem.objective
    state = solver.start(objective, problem.start, SERIAL)
    for iteration in range(1, limit + 1):
        state = solver.step(objective, state, SERIAL)
        if iteration % 25 == 0 and problem.kkt(state.factors) < tolerance:
            return state.factors
    raise AssertionError(f"not optimal after {limit}: {problem.kkt(state.factors)}")


INTERIOR, BOUNDARY = {"seed": 0, "rank": 2, "share": 1.0}, {"seed": 4, "rank": 3, "share": 0.75}


@pytest.mark.parametrize(
    ("storage", "options"),
    [(storage, INTERIOR) for storage in STORAGES]
    + [(storage, BOUNDARY) for storage in ("dense", "masked")],
    ids=["dense", "sparse", "masked", "dense-zeros", "masked-zeros"],
)
@pytest.mark.parametrize("losses", DESCENT_PAIRS, ids=short)
def test_solvers_reach_the_same_optimum(losses, storage, options):
    problem = planted(losses, storage, **options)
    by_cd = solved(problem, CoordinateDescent(), 1e-7, 1000)
    by_mu = solved(problem, MultiplicativeUpdates(rounds=20), 1e-6, 5000)
    cd, mu = (problem.value(factors).total for factors in (by_cd, by_mu))
    assert cd <= mu * (1 + 1e-9)
    assert cd == pytest.approx(mu, rel=1e-4)
    if options is BOUNDARY:
        assert all((V == 0).any() for V in by_cd.each())


# ---------------------------------------------------------------- inference


def data_of(rng, storage, *, n=25, m=12, similarity=0.0):
    """X in a storage, its weights, and topics, of which three may have about this cosine."""
    A = rng.gamma(0.7, size=(m, 5))
    if similarity:
        A[:, :3] = A[:, :1] * (1 + 3 * np.sqrt(1 - similarity) * rng.random((m, 3)))
    X = rng.poisson(rng.gamma(0.7, size=(n, 5)) @ A.T * 10.0).astype(float)
    X[X.sum(axis=1) == 0, 0] = 1.0
    X /= X.max()
    if storage == "masked":
        W = (rng.random(X.shape) < 0.8) * rng.exponential(size=X.shape)
        return observe(X, W), X, W, A
    return (dense(X) if storage == "dense" else sparse(sp.csr_array(X))), X, None, A


TOPICS = pytest.mark.parametrize(
    "similarity", [0.0, 0.96, 0.995], ids=["distinct", "similar", "alike"]
)


@TOPICS
@pytest.mark.parametrize("storage", STORAGES)
def test_frobenius_inference_is_nnls(storage, similarity):
    observations, X, W, A = data_of(np.random.default_rng(1), storage, similarity=similarity)
    S = represent(observations, A, DIVERGENCES[oracles.FROBENIUS], None, SERIAL)
    expected = oracles.nnls_rows(X, A, W)
    assert (expected == 0).any()
    np.testing.assert_allclose(S, expected, rtol=1e-6, atol=1e-6 * expected.max())


@TOPICS
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("loss", [oracles.KL, oracles.IS])
def test_inference_is_optimal(loss, storage, similarity):
    """No row is worse than what a long run of the oracle's multiplicative steps finds."""
    observations, X, W, A = data_of(np.random.default_rng(2), storage, similarity=similarity)
    W = np.ones(X.shape) if W is None else W
    slack = 1e-9
    if loss == oracles.KL:
        expected = oracles.kl_rows(X, A, W=W)
    else:
        slack = 1e-6  # neither convex nor fast: multiplicative steps are all there is
        A = A + 0.01  # otherwise infinite where no topic reaches
        X = np.maximum(X, FLOOR)
        expected = np.tile(X.mean(axis=1, keepdims=True), 5)
        for _ in range(300):
            expected = oracles.update_factor(expected, [(X, A, W, loss, 1.0)], eps=EPSILON)
    S = represent(observations, A, DIVERGENCES[loss], None, SERIAL)
    for i in range(len(X)):
        ours, theirs = (
            oracles.divergence(loss, X[i], V[i] @ A.T + EPSILON, W[i]) for V in (S, expected)
        )
        assert ours <= theirs * (1 + slack) + 1e-10


@pytest.mark.parametrize("exponent", [-20, 20])
@pytest.mark.parametrize("loss", oracles.LOSSES)
def test_inference_does_not_depend_on_the_scale_of_a_topic(loss, exponent):
    """A topic c times as large gets a coefficient 1/c as large."""
    observations, _, _, A = data_of(np.random.default_rng(8), "dense")
    A = A + 0.01
    scale = np.array([1.0, 1.0, 2.0**exponent, 1.0, 1.0])
    plain, scaled = (
        represent(observations, topics, DIVERGENCES[loss], None, SERIAL)
        for topics in (A, A * scale)
    )
    slack = 1e-4 if loss == oracles.IS else 1e-7
    np.testing.assert_allclose(scaled * scale, plain, rtol=slack, atol=slack * plain.max())


@pytest.mark.parametrize("prior", [L1(0.5), Gamma(1.5, 0.2)], ids=repr)
@pytest.mark.parametrize("loss", [oracles.FROBENIUS, oracles.KL])
def test_inference_with_a_prior_is_optimal(loss, prior):
    observations, X, _, A = data_of(np.random.default_rng(3), "sparse")
    S = represent(observations, A, DIVERGENCES[loss], prior.penalty, SERIAL)
    given = ("l1", 0.5) if isinstance(prior, L1) else ("gamma", 1.5, 0.2)
    residual = oracles.kkt_residual(
        X, None, A, None, S, data_loss=loss, priors={"samples": [given]}, factors=("samples",),
        epsilon=EPSILON,
    )  # fmt: skip
    assert residual.relative < 1e-8


@pytest.mark.parametrize("prior", [None, Gamma(1.5, 0.2)], ids=repr)
@pytest.mark.parametrize("loss", oracles.LOSSES)
def test_inference_of_an_empty_row_is_optimal(loss, prior):
    """Nothing pulls an empty row up but a prior, or the floor of a loss for positive data."""
    A = np.random.default_rng(6).gamma(1.0, size=(9, 3)) + 0.1
    X = np.zeros((2, 9))
    S = represent(dense(X), A, DIVERGENCES[loss], prior and prior.penalty, SERIAL)
    if loss == oracles.IS:
        X = np.full(X.shape, FLOOR)
    priors = {"samples": [("gamma", 1.5, 0.2)]} if prior else {}
    start = np.full(S.shape, 1e-6)
    for _ in range(300):
        start = oracles.update_factor(start, [(X, A, None, loss, 1.0)], priors.get("samples", ()))
    ours, theirs = (
        oracles.objective(X, None, A, None, V, data_loss=loss, priors=priors, epsilon=EPSILON).total
        for V in (S, start)
    )
    assert ours <= theirs + 1e-6 * abs(theirs) + 1e-10


@pytest.mark.parametrize("similarity", [0.0, 0.96], ids=["distinct", "similar"])
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("loss", oracles.LOSSES)
def test_a_row_does_not_know_its_batch(loss, storage, similarity):
    """Alone or in another order: the same bits, also where a neighbour converges slowly."""
    rng = np.random.default_rng(4)
    observations, _, _, A = data_of(rng, storage, n=150, similarity=similarity)
    A = A + 0.01
    n, divergence = observations.shape[0], DIVERGENCES[loss]
    together = represent(observations, A, divergence, None, SERIAL)
    batches = [np.arange(n)[::-1], np.arange(0, n, 2), *np.arange(n)[:, None]]
    parts = [represent(observations.select(b), A, divergence, None, SERIAL) for b in batches]
    differing = {
        i for b, S in zip(batches, parts, strict=True) for i in b[(together[b] != S).any(1)]
    }
    assert not differing


def test_a_short_row_does_not_know_that_its_neighbour_is_long():
    """Rows too long for the scratch space are swept in groups of topics; others are not."""
    rng = np.random.default_rng(5)
    m, r = 600_000, 8  # one group of four topics at a time (kernels.descent.ROOM)
    A = rng.gamma(0.2, size=(m, r))
    short_row = np.arange(0, m, m // 20, dtype=np.int32)
    indices = np.concatenate([short_row, np.arange(m, dtype=np.int32)])
    values = np.concatenate([rng.random(len(short_row)), A.sum(axis=1)])
    X = sp.csr_array((values, indices, [0, len(short_row), len(indices)]), shape=(2, m))
    observations, divergence = sparse(X), DIVERGENCES[oracles.KL]
    together = represent(observations, A, divergence, None, SERIAL)
    alone = represent(observations.select(np.array([0])), A, divergence, None, SERIAL)
    assert np.array_equal(together[:1], alone)


# ---------------------------------------------------------------- what must not matter


@pytest.mark.parametrize("losses", PAIRS, ids=short)
def test_without_labels_it_is_plain_nmf(losses):
    """L = 0 everywhere: A and S as if there were no targets."""
    problem = draw(6, losses, shape=(12, 9, 3, 3))
    silent = replace(problem.target, engine=problem.target.engine.weighted(rows=np.zeros(12)))
    plain = replace(problem, target=None, start=Factors(*problem.start.each()[:2]))
    fitted = replace(problem, target=silent).run(MultiplicativeUpdates(), 20).factors
    expected = plain.run(MultiplicativeUpdates(), 20).factors
    assert_close(Factors(fitted.samples, fitted.features), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("solver", ["cd", "mu", "mu-paper"])
@pytest.mark.parametrize("losses", DESCENT_PAIRS, ids=short)
def test_classifier_without_labels_is_nmf(losses, solver):
    X = np.random.default_rng(7).poisson(2.0, (30, 8)).astype(float)
    options = {"solver": solver, "max_iter": 20, "tol": 0, "random_state": 0}
    plain = NMF(3, data_loss=losses[0], **options).fit(X)
    model = SSNMFClassifier(3, data_loss=losses[0], target_loss=losses[1], **options)
    model.fit(X, np.full(30, -1))
    assert np.array_equal(model.components_, plain.components_)
    assert np.array_equal(model.representation_, plain.representation_)
    assert model.history_["objective"] == plain.history_["objective"]


@pytest.mark.parametrize("priors", [False, True], ids=["plain", "priors"])
@pytest.mark.parametrize("lam", [1.0, 0.3, 0.0])
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("losses", PAIRS, ids=short)
def test_terms_one_by_one_give_the_update_of_entries_side_by_side(losses, storage, lam, priors):
    problem = draw(3, losses, storage, target_storage=storage, weighted=True, priors=priors)
    side_by_side = replace(problem, lam=lam).objective
    one_by_one = replace(side_by_side, short_lived=True)
    both = [
        minimise(objective, problem.start, MultiplicativeUpdates(), max_iter=2, threads=SERIAL)
        for objective in (side_by_side, one_by_one)
    ]
    assert_close(both[1].factors, both[0].factors, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(*(fit.history.objective for fit in both), rtol=1e-11)
