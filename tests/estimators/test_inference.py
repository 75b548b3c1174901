"""Inference is optimal row by row: against scipy, and whatever the batch."""

import numpy as np
import pytest
from scipy import sparse as sp

import oracles
from cofactor.divergences import DIVERGENCES, FLOOR
from cofactor.engine.kernels import EPSILON
from cofactor.engine.observations import dense, observe, sparse
from cofactor.estimators.inference import represent
from cofactor.priors import L1, GammaPrior
from strategies import SERIAL, STORAGES


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


@pytest.mark.slow
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


@pytest.mark.parametrize("prior", [L1(0.5), GammaPrior(1.5, 0.2)], ids=repr)
@pytest.mark.parametrize("loss", [oracles.FROBENIUS, oracles.KL])
def test_inference_with_a_prior_is_optimal(loss, prior):
    observations, X, _, A = data_of(np.random.default_rng(3), "sparse")
    S = represent(observations, A, DIVERGENCES[loss], prior.penalty, SERIAL)
    given = ("l1", 0.5) if isinstance(prior, L1) else ("gamma", 1.5, 0.2)
    residual = oracles.kkt_residual(
        X,
        None,
        A,
        None,
        S,
        data_loss=loss,
        priors={"samples": [given]},
        factors=("samples",),
        epsilon=EPSILON,
    )
    assert residual.relative < 1e-8


@pytest.mark.parametrize("prior", [None, GammaPrior(1.5, 0.2)], ids=repr)
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


@pytest.mark.slow
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
