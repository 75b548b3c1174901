"""The oracles' optimal rows, naive Bayes and likelihoods."""

import itertools

import numpy as np
import pytest
import scipy.sparse
import scipy.stats
from sklearn.naive_bayes import MultinomialNB

from oracle_problems import positive
from oracles import (
    FROBENIUS,
    KL,
    divergence,
    em_naive_bayes,
    kkt_residual,
    kl_rows,
    max_likelihood_lambda,
    nnls_rows,
    objective,
)

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


@pytest.mark.slow
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
