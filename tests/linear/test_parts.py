"""The parts of a view against scikit-learn, brute force and slow oracles."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.special import log_softmax, logsumexp, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB

import oracles
from cofactor.engine.threads import Threads
from cofactor.linear import parts
from cofactor.linear.parts import (
    EVEN_COVARIANCE,
    N_NEIGHBOURS,
    OWN_SHARE,
    SMOOTHING,
    SPREAD_STEPS,
    UNLABELLED_WEIGHT,
    Labels,
    LinearModel,
    ViewParts,
    em_gaussians,
    em_naive_bayes,
    gaussians,
    naive_bayes,
    neighbour_graph,
    scatter,
    softmax_path,
    softmax_regression,
    spread_labels,
    within_classes,
)
from cofactor.linear.views import Matrix

# ---- naive Bayes


N, M, K = 80, 20, 3


@pytest.fixture(scope="module")
def documents():
    random = np.random.default_rng(1)
    themes = random.dirichlet(np.full(M, 0.4), size=K) * 0.7 + 0.3 / M
    y = random.integers(0, K, size=N)
    return np.stack([random.multinomial(15, themes[c]) for c in y]).astype(float), y


def matrix(cells, storage="sparse"):
    return Matrix(csr_array(cells) if storage == "sparse" else cells, Threads())


def labels_of(y, known, weights=None):
    ones = np.ones(len(y)) if weights is None else weights
    shares = np.where(known[:, None], np.eye(K)[y], 0.0)
    return Labels(shares, np.where(known, ones, 0.0), ones)


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_labelled_samples_alone(documents, storage):
    cells, y = documents
    weights = np.random.default_rng(2).uniform(0.2, 2.0, size=N)
    model = naive_bayes(matrix(cells, storage), weights[:, None] * np.eye(K)[y]).model()
    peer = MultinomialNB(alpha=SMOOTHING).fit(cells, y, weights)
    assert_allclose(model.weights, peer.feature_log_prob_.T, rtol=1e-10)
    size = np.bincount(y, weights) + 1.0
    assert_allclose(model.base, np.log(size / size.sum()), rtol=1e-12)
    assert_allclose(
        model.scores(matrix(cells, storage)) - model.base,
        peer.predict_joint_log_proba(cells) - peer.class_log_prior_,
        rtol=1e-9,
    )


def test_flat_models_give_all_classes_the_same_share(documents):
    cells, y = documents
    sums = naive_bayes(matrix(cells), np.eye(K)[y])
    assert_array_equal(sums.model(flat=True).base, 0.0)
    assert_array_equal(sums.model(flat=True).weights, sums.model().weights)


@pytest.mark.parametrize("rounds", [0, 1, 12])
def test_expectation_maximisation(documents, rounds):
    cells, y = documents
    known = np.arange(N) < 9
    sums = em_naive_bayes(matrix(cells), labels_of(y, known), rounds)
    few = np.where(known, y, -1)
    # Scores of each word alone, and of none: they show every number of the oracle's model.
    found = sums.model()
    predicted = found.scores(matrix(cells)).argmax(axis=1)
    assert_array_equal(predicted, oracles.em_naive_bayes(cells, few, K, cells, n_iter=rounds))
    expected = slow_em(cells, few, rounds)
    assert_allclose(found.weights, expected[0], rtol=1e-8)
    assert_allclose(found.base, expected[1], rtol=1e-8)


def slow_em(cells, few, rounds, flat=False):
    """The same by loops over samples."""
    guesses = [np.eye(K)[c] if c >= 0 else np.zeros(K) for c in few]
    for step in range(rounds + 1):
        mass, size = np.full((M, K), 0.01), np.ones(K)
        for row, c, guess in zip(cells, few, guesses, strict=True):
            weight = 1.0 if c >= 0 else 0.1
            mass += weight * np.outer(row, guess)
            size += weight * guess
        weights = np.log(mass / mass.sum(axis=0))
        base = np.zeros(K) if flat else np.log(size / size.sum())
        if step < rounds:
            for i, row in enumerate(cells):
                if few[i] < 0:
                    guesses[i] = np.exp(log_softmax(row @ weights + base))
    return weights, base


def test_flat_expectation_maximisation(documents):
    cells, y = documents
    known = np.arange(N) < 9
    found = em_naive_bayes(matrix(cells), labels_of(y, known), 5, flat=True).model(flat=True)
    expected = slow_em(cells, np.where(known, y, -1), 5, flat=True)
    assert_allclose(found.weights, expected[0], rtol=1e-8)
    assert_array_equal(found.base, 0.0)


def test_weights_are_repeated_samples(documents):
    cells, y = documents
    counts = np.random.default_rng(3).integers(1, 4, size=N)
    known = np.arange(N) < 9
    weighted = em_naive_bayes(matrix(cells), labels_of(y, known, counts.astype(float)), 4)
    repeated = em_naive_bayes(
        matrix(np.repeat(cells, counts, axis=0)),
        labels_of(np.repeat(y, counts), np.repeat(known, counts)),
        4,
    )
    assert_allclose(weighted.mass, repeated.mass, rtol=1e-9)
    assert_allclose(weighted.count, repeated.count, rtol=1e-9)


def test_all_labelled_need_no_rounds(documents):
    cells, y = documents
    every = em_naive_bayes(matrix(cells), labels_of(y, np.ones(N, dtype=bool)), 12)
    assert_array_equal(every.mass, naive_bayes(matrix(cells), np.eye(K)[y]).mass)


def test_sums_of_earlier_samples_add(documents):
    cells, y = documents
    Y = np.eye(K)[y]
    first = naive_bayes(matrix(cells[:30]), Y[:30])
    both = naive_bayes(matrix(cells[30:]), Y[30:], first)
    every = naive_bayes(matrix(cells), Y)
    assert_allclose(both.mass, every.mass, rtol=1e-12)
    assert_allclose(both.count, every.count, rtol=1e-12)
    # Guesses of later samples use the earlier sums in every round.
    later = Labels(np.zeros((N - 30, K)), np.zeros(N - 30), np.ones(N - 30))
    sums = first
    for _ in range(4):
        Q = softmax(sums.model().scores(matrix(cells[30:])), axis=1)
        sums = naive_bayes(matrix(cells[30:]), 0.1 * Q, first)
    found = em_naive_bayes(matrix(cells[30:]), later, 4, earlier=first)
    assert_allclose(found.mass, sums.mass, rtol=1e-12)


def test_importance_moves_the_shares_of_classes_only(documents):
    """How much the labels of a class count says nothing about what its samples look like."""
    cells, y = documents
    importance = np.array([1.0, 5.0, 0.2])[y]
    labels = labels_of(y, np.ones(N, dtype=bool))
    plain = em_naive_bayes(matrix(cells), labels)
    found = em_naive_bayes(matrix(cells), labels._replace(importance=importance))
    assert_array_equal(found.mass, plain.mass)
    assert_allclose(found.count, plain.count * [1.0, 5.0, 0.2])
    size = np.bincount(y, importance) + 1.0
    assert_allclose(found.model().base, np.log(size / size.sum()), rtol=1e-12)


def test_guesses_have_no_importance(documents):
    """One round by hand: labels move the shares, guesses count as they are."""
    cells, y = documents
    known = np.arange(N) < 12
    importance = np.where(known, np.array([1.0, 5.0, 0.2])[y], 1.0)
    labels = labels_of(y, known)._replace(importance=importance)
    first = em_naive_bayes(matrix(cells), labels, rounds=0)
    Q = softmax(first.model().scores(matrix(cells)), axis=1)
    weighted = np.where(known[:, None], np.eye(K)[y], 0.1 * Q)
    found = em_naive_bayes(matrix(cells), labels, rounds=1)
    assert_allclose(found.mass, cells.T @ weighted)
    assert_allclose(found.count, importance @ weighted)


# ---- softmax regression


@pytest.fixture
def exact(monkeypatch):
    """Solve to the end."""
    monkeypatch.setattr(parts, "MIN_SOFTMAX_SLOPE", 1e-8)
    monkeypatch.setattr(parts, "MIN_SOFTMAX_DECREASE", 0.0)
    monkeypatch.setattr(parts, "MAX_SOFTMAX_ITERATIONS", 5000)


def problem(n=60, m=8, k=3, seed=0):
    random = np.random.default_rng(seed)
    cells = random.gamma(0.7, size=(n, m)) * (random.random((n, m)) < 0.6)
    y = (cells @ random.normal(size=(m, k)) + random.normal(size=(n, k))).argmax(axis=1)
    return cells, y, random


def cost(model, cells, shares, weights, penalty):
    z = cells @ model.weights + model.base
    loss = weights @ (logsumexp(z, axis=1) - (shares * z).sum(axis=1))
    return loss + penalty / 2 * (model.weights**2).sum()


def assert_like(found, cells, peer):
    """Scores agree up to a constant for each sample, as far as the solver goes."""
    z, expected = cells @ found.weights + found.base, peer.decision_function(cells)
    near = 0.015 * np.abs(expected).max()
    assert_allclose(z - z.mean(axis=1, keepdims=True), expected, atol=near)
    weights = found.weights - found.weights.mean(axis=1, keepdims=True)
    assert_allclose(weights, peer.coef_.T, atol=0.015 * np.abs(peer.coef_).max())


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("penalty", [1.0, 0.1, 10.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_logistic_regression(storage, penalty, weighted):
    cells, y, random = problem()
    weights = random.uniform(0.2, 3.0, size=len(y)) if weighted else np.ones(len(y))
    found = softmax_regression(matrix(cells, storage), np.eye(3)[y], weights, penalty)
    peer = LogisticRegression(C=1 / penalty, tol=1e-9, max_iter=5000).fit(cells, y, weights)
    assert_like(found, cells, peer)


def test_two_classes():
    """One vector of weights stands for two that are opposite, whose penalty is half."""
    cells, y, _ = problem(k=2)
    found = softmax_regression(matrix(cells, "dense"), np.eye(2)[y], np.ones(len(y)), 0.5)
    peer = LogisticRegression(C=2 / 0.5, tol=1e-9, max_iter=5000).fit(cells, y)
    assert_allclose(found.weights[:, 1] - found.weights[:, 0], peer.coef_[0], atol=0.02)
    assert_allclose(found.base[1] - found.base[0], peer.intercept_[0], atol=0.02)


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_soft_labels_are_split_samples(storage):
    cells, _, random = problem()
    shares = random.dirichlet(np.ones(3), size=len(cells))
    weights = random.uniform(0.5, 2.0, size=len(cells))
    found = softmax_regression(matrix(cells, storage), shares, weights, 0.3)
    peer = LogisticRegression(C=1 / 0.3, tol=1e-9, max_iter=5000).fit(
        np.repeat(cells, 3, axis=0),
        np.tile(np.arange(3), len(cells)),
        (shares * weights[:, None]).ravel(),
    )
    assert_like(found, cells, peer)


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_the_slope_is_small(storage):
    cells, y, random = problem(n=40)
    weights, Y = random.uniform(0.5, 2.0, size=40), np.eye(3)[y]
    found = softmax_regression(matrix(cells, storage), Y, weights, 0.1)
    residual = weights[:, None] * (softmax(cells @ found.weights + found.base, axis=1) - Y)
    assert_allclose(cells.T @ residual + 0.1 * found.weights, 0.0, atol=0.05)
    assert_allclose(residual.sum(axis=0), 0.0, atol=0.05)
    best = cost(found, cells, Y, weights, 0.1)
    for _ in range(20):
        near = [part + 0.05 * random.normal(size=part.shape) for part in found]
        assert best < cost(type(found)(*near), cells, Y, weights, 0.1)


def test_samples_of_weight_zero_are_left_out():
    cells, y, _ = problem()
    weights = (np.arange(len(y)) < 40).astype(float)
    bad = np.where(weights[:, None] > 0, cells, 1e200)
    found = softmax_regression(matrix(bad, "dense"), np.eye(3)[y], weights, 0.1)
    few = softmax_regression(matrix(cells[:40], "dense"), np.eye(3)[y[:40]], np.ones(40), 0.1)
    assert_array_equal(found.weights, few.weights)
    assert_array_equal(found.base, few.base)


def test_features_without_a_value_have_no_weight():
    cells, y, _ = problem()
    wide = np.insert(cells, [0, 4], 0.0, axis=1)
    found = softmax_regression(matrix(wide, "sparse"), np.eye(3)[y], np.ones(len(y)), 0.1)
    narrow = softmax_regression(matrix(cells, "sparse"), np.eye(3)[y], np.ones(len(y)), 0.1)
    assert_array_equal(found.weights[[0, 5]], 0.0)
    assert_allclose(np.delete(found.weights, [0, 5], axis=0), narrow.weights, atol=1e-10)


@pytest.mark.parametrize("storage", ["sparse", "dense"])
def test_a_path_holds_the_model_of_each_penalty(storage, exact):
    cells, y, _ = problem()
    X, Y, ones = matrix(cells, storage), np.eye(3)[y], np.ones(len(y))
    path = softmax_path(X, Y, ones, [1.0, 0.1])
    for penalty, found in path.items():
        alone = softmax_regression(X, Y, ones, penalty)
        assert_allclose(found.weights, alone.weights, atol=1e-4)
        assert_allclose(*(cost(m, cells, Y, ones, penalty) for m in (found, alone)), rtol=1e-9)


@pytest.mark.parametrize("storage", ["sparse", "dense"])
def test_labellings_side_by_side_are_fitted_as_if_alone(storage, exact):
    cells, y, random = problem()
    X, Y, weights = matrix(cells, storage), np.eye(3)[y], random.uniform(0.5, 2.0, len(y))
    hidden = np.stack([weights, np.where(np.arange(len(y)) % 3, weights, 0.0)], axis=1)
    both = softmax_regression(X, np.stack([Y, Y], axis=1), hidden, 0.1)
    assert both.weights.shape == (cells.shape[1], 2, 3)
    for i in range(2):
        found = LinearModel(both.weights[:, i], both.base[i])
        alone = softmax_regression(X, Y, hidden[:, i], 0.1)
        costs = (cost(m, cells, Y, hidden[:, i], 0.1) for m in (found, alone))
        assert_allclose(*costs, rtol=1e-9)
        assert_allclose(found.weights, alone.weights, atol=1e-4)


@pytest.mark.parametrize("storage", ["sparse", "dense"])
def test_fewer_samples_than_features_give_the_same_model(storage, exact, monkeypatch):
    """The solution lies in the space that the samples span."""
    cells, y, _ = problem()
    wide = np.hstack([cells[:25], cells[25:50] ** 2, cells[25:50], cells[:25] ** 2])
    wide = np.hstack([wide, np.random.default_rng(1).random((25, 60))])
    Y, ones = np.eye(3)[y[:25]], np.ones(25)
    found = softmax_regression(matrix(wide, storage), Y, ones, 0.1)
    monkeypatch.setattr(parts, "MAX_ROTATED_ROWS", 0)
    plain = softmax_regression(matrix(wide, storage), Y, ones, 0.1)
    assert_allclose(*(cost(m, wide, Y, ones, 0.1) for m in (found, plain)), rtol=1e-9)
    assert_allclose(found.weights, plain.weights, atol=1e-4)


# ---- Gaussians


def points(n=90, m=6, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(0, K, size=n)
    middle, mix = 2.0 * random.normal(size=(K, m)), random.normal(size=(m, m))
    cells = middle[y] + random.normal(size=(n, m)) @ mix
    return cells - cells.mean(axis=0), y


def slow_gaussians(cells, weighted, covariance=None):
    """Scores of Gaussians with one covariance, class by class."""
    means = [np.average(cells, axis=0, weights=own) for own in weighted.T]
    if covariance is None:
        apart = [
            (own * (cells - mean).T) @ (cells - mean)
            for own, mean in zip(weighted.T, means, strict=True)
        ]
        covariance = sum(apart) / weighted.sum()
    all_squares = np.average((cells**2).sum(axis=1), weights=weighted.sum(axis=1))
    even = all_squares / len(covariance) * np.eye(len(covariance))
    inverse = np.linalg.inv((1 - EVEN_COVARIANCE) * covariance + EVEN_COVARIANCE * even)
    sizes = weighted.sum(axis=0) + 1.0
    shares = np.log(sizes / sizes.sum())
    return np.stack(
        [
            cells @ inverse @ mean - mean @ inverse @ mean / 2 + share
            for mean, share in zip(means, shares, strict=True)
        ],
        axis=1,
    )


def test_gaussians_are_those_of_linear_discriminants():
    cells, y = points()
    X, weighted = matrix(cells, "dense"), np.random.default_rng(1).random((len(y), K))
    covariance = within_classes(X, weighted, scatter(X, weighted.sum(axis=1)))
    found = gaussians(X, weighted, covariance).scores(X)
    assert_allclose(found, slow_gaussians(cells, weighted), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_gaussians_by_expectation_maximisation(rounds):
    cells, y = points()
    known = np.arange(len(y)) < 9
    X, labels = matrix(cells, "dense"), labels_of(y, known)
    scores = slow_gaussians(cells, labels.weighted, cells.T @ cells / len(y))
    for _ in range(rounds):
        guessed = UNLABELLED_WEIGHT * softmax(scores, axis=1)
        scores = slow_gaussians(cells, np.where(known[:, None], labels.shares, guessed))
    found = em_gaussians(X, labels, rounds).scores(X)
    assert_allclose(found, scores, rtol=1e-7, atol=1e-7)


def test_gaussians_of_several_labellings_are_fitted_as_if_alone():
    cells, y = points()
    X = matrix(cells, "dense")
    hidden = np.stack([np.arange(len(y)) >= 30, np.arange(len(y)) % 3 > 0], axis=1)
    labels = labels_of(y, np.ones(len(y), dtype=bool)).without(hidden)
    both = em_gaussians(X, labels, 4)
    assert both.weights.shape == (cells.shape[1], 2, K)
    for i in range(2):
        own = Labels(labels.shares[:, i], labels.weights[:, i], labels.counts)
        alone = em_gaussians(X, own, 4)
        assert_allclose(both.weights[:, i], alone.weights, rtol=1e-7, atol=1e-9)
        assert_allclose(both.base[i], alone.base, rtol=1e-7, atol=1e-9)


def test_weights_of_points_are_repeated_points():
    cells, y = points()
    counts = np.random.default_rng(2).integers(1, 4, size=len(y))
    rows, known = np.repeat(np.arange(len(y)), counts), np.arange(len(y)) < 12
    weighted = em_gaussians(matrix(cells, "dense"), labels_of(y, known, counts.astype(float)))
    repeated = em_gaussians(matrix(cells[rows], "dense"), labels_of(y[rows], known[rows]))
    assert_allclose(weighted.weights, repeated.weights, rtol=1e-7, atol=1e-9)
    assert_allclose(weighted.base, repeated.base, rtol=1e-7, atol=1e-9)


def test_equal_points_say_nothing():
    y = np.arange(12) % K
    found = em_gaussians(matrix(np.zeros((12, 4)), "dense"), labels_of(y, np.arange(12) < 6))
    assert_array_equal(found.weights, 0.0)
    assert np.isfinite(found.base).all()


def test_gaussians_see_the_axes_that_vary_most(monkeypatch):
    monkeypatch.setattr(parts, "GAUSSIAN_AXES", 2)
    cells, y = points()
    cells = cells / cells.std(axis=0) * [0.1, 3.0, 0.2, 0.1, 5.0, 0.1]
    view = ViewParts(matrix(cells, "dense"), labels_of(y, np.arange(len(y)) < 20), vectors=True)
    for model in view.fit(view.labels, 3).values():
        assert_array_equal(np.flatnonzero(model.weights.any(axis=1)), [1, 4])


# ---- guesses to start from


def test_naive_bayes_starts_from_guesses(documents):
    cells, y = documents
    X, labels = matrix(cells), labels_of(y, np.arange(N) < 9)
    found = em_naive_bayes(X, labels, 0, guessed=np.eye(K)[y])
    assert_allclose(found.mass, naive_bayes(X, labels.with_guesses(np.eye(K)[y])).mass)


@pytest.mark.parametrize(
    ("storage", "vectors"), [("sparse", False), ("dense", False), ("dense", True)]
)
def test_parts_learn_from_guesses(documents, storage, vectors):
    """One label per class says little; the guesses say all."""
    cells, y = documents
    known = np.zeros(N, dtype=bool)
    known[[np.flatnonzero(y == c)[0] for c in range(K)]] = True
    view = ViewParts(matrix(cells, storage), labels_of(y, known), vectors=vectors)
    right = [
        np.mean(view.fit(view.labels, 0, guessed)[parts.SPREAD].scores(view.X).argmax(axis=1) == y)
        for guessed in (None, np.eye(K)[y])
    ]
    assert right[1] > 0.95
    assert right[1] > right[0]


# ---- labels spread over neighbours


def brute_force(cells, k):
    """The normalised graph, sample by sample."""
    n = len(cells)
    norms = np.linalg.norm(cells, axis=1)
    G = np.zeros((n, n))
    for i in range(n):
        cosines = {}
        for j in range(n):
            if j != i:
                length = norms[i] * norms[j]
                cosines[j] = cells[i] @ cells[j] / length if length else 0.0
        for j in sorted(cosines, key=cosines.get)[-k:]:
            G[i, j] = max(cosines[j], 0.0)
    G = np.maximum(G, G.T)
    degree = G.sum(axis=1)
    root = np.where(degree > 0, 1 / np.sqrt(np.where(degree > 0, degree, 1.0)), 0.0)
    return root[:, None] * G * root


def samples(n=70, m=9, seed=0):
    random = np.random.default_rng(seed)
    return random.gamma(0.5, size=(n, m)), random


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("together", [256, 7])
def test_the_graph(storage, signed, together, monkeypatch):
    monkeypatch.setattr(parts, "COSINES_TOGETHER", together)
    cells, random = samples()
    if signed:
        cells = random.normal(size=cells.shape)
    X = Matrix(csr_array(cells) if storage == "sparse" else cells, Threads())
    assert_allclose(
        neighbour_graph(X).values.toarray(), brute_force(cells, N_NEIGHBOURS), atol=1e-10
    )


@pytest.mark.parametrize("n", [2, 3, 8])
def test_fewer_samples_than_neighbours(n):
    cells, _ = samples(n)
    found = neighbour_graph(Matrix(cells, Threads())).values.toarray()
    assert_allclose(found, brute_force(cells, n - 1), atol=1e-12)


def test_empty_samples_have_no_neighbours():
    cells, _ = samples(12)
    cells[[2, 5]] = 0.0
    for X in (cells, csr_array(cells)):
        found = neighbour_graph(Matrix(X, Threads())).values.toarray()
        assert np.isfinite(found).all()
        assert_array_equal(found[[2, 5]], 0.0)
        assert_allclose(found, found.T, rtol=1e-12)


def some_labels(n, random, k=3):
    y, known = np.arange(n) % k, random.random(n) < 0.2
    known[:k] = True
    weights = random.uniform(0.5, 2.0, size=n)
    shares = np.where(known[:, None], np.eye(k)[y], 0.0)
    return Labels(shares, np.where(known, weights, 0.0), weights)


def squared_shares(F):
    return F**2 / (F**2).sum(axis=1, keepdims=True)


def test_labels_spread():
    cells, random = samples()
    graph, labels = neighbour_graph(Matrix(cells, Threads())), some_labels(70, random)
    M, Y = graph.values.toarray(), labels.shares * labels.weights[:, None]
    start = Y / Y.sum(axis=0)
    F = start
    for _ in range(SPREAD_STEPS):
        F = (1 - OWN_SHARE) * M @ F + OWN_SHARE * start
    found, known = spread_labels(graph, labels), labels.known
    assert_allclose(found[~known], squared_shares(F)[~known], rtol=1e-9)
    assert_array_equal(found[known], labels.shares[known])
    assert_allclose(found.sum(axis=1), 1.0)


def test_the_limit_of_many_steps(monkeypatch):
    monkeypatch.setattr(parts, "SPREAD_STEPS", 400)
    cells, random = samples()
    graph, labels = neighbour_graph(Matrix(cells, Threads())), some_labels(70, random)
    Y = labels.shares * labels.weights[:, None]
    M, a = graph.values.toarray(), 1 - OWN_SHARE
    F = (1 - a) * np.linalg.solve(np.eye(70) - a * M, Y / Y.sum(axis=0))
    found, known = spread_labels(graph, labels), labels.known
    assert_allclose(found[~known], squared_shares(F)[~known], rtol=1e-8)


def test_samples_that_no_label_reaches_have_equal_shares():
    cells = np.kron(np.eye(2), np.ones((20, 3)))  # two groups that share no word
    labels = Labels(np.zeros((40, 2)), np.zeros(40), np.ones(40))
    labels.shares[0, 1] = labels.weights[0] = 1.0
    found = spread_labels(neighbour_graph(Matrix(csr_array(cells), Threads())), labels)
    assert_array_equal(found[20:], 0.5)
    assert_array_equal(found[0], [0, 1])
    assert (found[1:20, 1] > 0.5).any()


def test_classes_with_many_labels_do_not_outvote_others():
    cells, random = samples()
    labels = some_labels(70, random)
    graph = neighbour_graph(Matrix(cells, Threads()))
    heavy = labels._replace(weights=labels.weights * np.where(labels.shares[:, 0] > 0, 100.0, 1.0))
    assert_allclose(spread_labels(graph, heavy), spread_labels(graph, labels), rtol=1e-10)


# ---- hidden labels


def test_hidden_labels_are_made_up_for_by_their_class():
    y, counts = np.array([0, 0, 0, 1, 1, -1, 2]), np.array([1.0, 2, 3, 1, 1, 1, 5])
    labels = labels_of(y, y >= 0, counts)
    rest = labels.without(np.isin(np.arange(7), [1, 3]))
    assert_array_equal(rest.weights > 0, [True, False, True, False, True, False, True])
    assert_allclose(rest.mass, labels.mass)
    assert_allclose(rest.weights, [1.5, 0, 4.5, 0, 2, 0, 5])
    assert_array_equal(rest.shares[[1, 3, 5]], 0.0)
    gone = labels.without(np.arange(7) == 6)  # no other label of its class
    assert_allclose(gone.mass, [6, 2, 0])
    both = labels.without(np.stack([np.isin(np.arange(7), [1, 3]), np.arange(7) == 6], axis=1))
    assert_allclose(both.weights, np.stack([rest.weights, gone.weights], axis=1))
    assert_allclose(both.shares, np.stack([rest.shares, gone.shares], axis=1))
