"""Starts: positive everywhere, of any rank, and the same numbers from one release to the next."""

import numpy as np
import pytest
from scipy import sparse as sp
from sklearn.base import clone

import oracles
from cofactor import NMF, SSNMFClassifier
from cofactor.divergences import DIVERGENCES
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import dense, sparse
from cofactor.linear.guess import Classes, counted_guess, weigh_data
from cofactor.starts import _numbers_of_topics, class_start, leading_profiles, plain_start
from strategies import SERIAL


def counts(n, m):
    """Small counts without chance, with an empty row and an empty column."""
    X = (3.0 * np.arange(n)[:, None] + 5 * np.arange(m)) % 7 * (np.arange(n)[:, None] % 3 + 1)
    X[2], X[:, 1] = 0.0, 0.0
    return X


def started(kind, X, labels, rank, loss, dtype=np.float64):
    """The factors that a fit would start from; labels are those of three classes, −1 if unknown."""
    Y = (labels[:, None] == np.arange(3)).astype(float)
    data, target = (sparse(sp.csr_array(Z.astype(dtype))) for Z in (X / X.max(), Y))
    objective = Objective(
        (
            Term("data", "features", data, DIVERGENCES[loss]),
            Term("target", "targets", target, DIVERGENCES[loss]),
        )
    )
    random = np.random.RandomState(0)
    if kind != "labels":
        return plain_start(objective, rank, random, kind, SERIAL)
    guess = counted_guess(data, None, Classes(Y, labels >= 0, np.eye(3)), SERIAL)
    return class_start(objective, rank, guess, guess.targets, random, SERIAL)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("loss", [oracles.KL, oracles.FROBENIUS])
@pytest.mark.parametrize("known", [9, 5], ids=["labelled", "partly"])
@pytest.mark.parametrize("rank", [2, 3, 7, 12])
@pytest.mark.parametrize("kind", ["random", "nndsvd", "labels"])
def test_a_start_has_no_zeros(kind, rank, known, loss, dtype):
    """No multiplicative update leaves a zero; of 9 × 8 cells, 12 topics are more than enough."""
    labels = np.where(np.arange(9) < known, np.arange(9) % 3, -1)
    factors = started(kind, counts(9, 8), labels, rank, loss, dtype)
    for V, rows in zip(factors.each(), (9, 8, 3), strict=True):
        assert V.shape == (rows, rank)
        assert V.dtype == dtype
        assert np.isfinite(V).all()
        assert V.min() > 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_singular_vectors_are_those_of_the_weighted_data(dtype):
    """Of rank 4, so that any further vector would be noise; NNDSVD as its authors define it."""
    random = np.random.default_rng(0)
    X = (random.random((30, 4)) ** 3 @ random.random((4, 9)) ** 3).astype(dtype)
    weights = random.integers(0, 4, 30).astype(float)
    data = weigh_data(dense(X), weights, SERIAL)
    found = leading_profiles(data, 7, np.random.RandomState(0))
    U, _, Vt = np.linalg.svd(np.repeat(X.astype(float), weights.astype(int), axis=0))
    expected = []
    for u, v in zip(U.T[:4], Vt[:4], strict=True):
        parts = [(np.clip(s * u, 0, None), np.clip(s * v, 0, None)) for s in (1, -1)]
        expected.append(max(parts, key=lambda part: np.linalg.norm(np.outer(*part)))[1])
    assert found.shape == (9, 4)
    close = 1e5 * np.finfo(dtype).eps
    np.testing.assert_allclose(found, np.transpose(expected), atol=close)


def test_repeated_samples_start_no_further_topics():
    """Three different samples, seven topics: the other four are drawn, however often a sample
    is repeated."""
    X, repeats = counts(3, 8) + np.eye(3, 8), np.array([2, 1, 3])
    model = NMF(7, init="nndsvd", random_state=0, max_iter=3, tol=0)
    once = clone(model).fit(X, sample_weight=repeats)
    again = clone(model).fit(np.repeat(X, repeats, axis=0))
    np.testing.assert_allclose(again.components_, once.components_, rtol=1e-6, atol=1e-9)


def nearest(A):
    """1 − cosine of the two columns that are most alike."""
    unit = A / np.linalg.norm(A, axis=0)
    return float((1 - unit.T @ unit)[np.triu_indices(A.shape[1], 1)].min())


@pytest.mark.parametrize(
    ("distinct", "rank"), [(40, 12), (2, 12), (1, 6)], ids=["many", "few", "alone"]
)
@pytest.mark.parametrize("spread", [1.0, 0.1, 0.01])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_topics_of_a_class_differ(distinct, rank, spread, dtype):
    """Also where samples do, but not by much, and where there are fewer of them than topics: no
    multiplicative update tells two topics apart that are the same."""
    labels = np.repeat(np.arange(3), 40)
    noise = np.random.default_rng(0).random((3, distinct, 30))
    X = 1 + spread * noise[labels, np.tile(np.arange(40) % distinct, 3)]
    A = started("labels", X, labels, rank, oracles.FROBENIUS, dtype).features
    assert nearest(np.asarray(A, np.float64)) > 1e-3 * spread**2


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("solver", ["mu", "mu-paper"])
def test_no_two_topics_of_a_fit_from_labels_are_the_same(solver, seed):
    """Four topics for each class of three clusters, where two topics would meet."""
    random, labels = np.random.default_rng(seed), np.repeat(np.arange(3), 40)
    clusters = random.random((3, 3, 300)) ** 8
    X = clusters[labels, np.tile(np.arange(40) % 3, 3)] * (1 + 0.3 * random.random((120, 300)))
    model = SSNMFClassifier(12, data_loss="frobenius", solver=solver, tol=1e-3, random_state=seed)
    assert nearest(model.fit(X, labels).components_.T) > 1e-3


GOLDEN = {
    "random, descent": (
        NMF(3, init="random", solver="cd"),
        [258.220226983, 170.902556809, 152.389243306],
    ),
    "random, updates": (NMF(3, solver="mu"), [315.851094882, 301.465112986, 283.590836603]),
    "random, squares": (
        NMF(3, init="random", data_loss="frobenius"),
        [3046.24312599, 2224.40196473, 1762.78987278],
    ),
    "vectors": (NMF(3), [145.529031574, 136.189572039, 131.438430531]),
    "vectors, squares": (
        NMF(3, data_loss="frobenius"),
        [1363.88453167, 1218.25990926, 1169.08383775],
    ),
    "ratios": (NMF(3, data_loss="itakura-saito"), [481.140312544, 462.219083395, 441.258299164]),
    "labels": (SSNMFClassifier(5), [343.802688215, 248.855559163, 237.716316328]),
}


@pytest.mark.parametrize(("model", "objectives"), GOLDEN.values(), ids=GOLDEN)
def test_fits_are_as_ever(model, objectives):
    """Numbers of an earlier version: whoever changes them changes everyone's models, and says so
    in the changelog."""
    model.set_params(max_iter=3, tol=0, random_state=7)
    model.fit(counts(24, 10), np.arange(24) % 4 - 1)
    assert model.history_["objective"] == pytest.approx(objectives, rel=1e-7)


@pytest.mark.parametrize(
    ("size", "rank", "expected"),
    [
        ([10, 10, 10], 7, [3, 2, 2]),
        ([5, 30, 10], 7, [2, 3, 2]),
        ([100, 50, 1], 9, [4, 4, 1]),  # a tenth of the mean topic is 1.7 samples
        ([100, 50, 4], 9, [4, 3, 2]),
        ([100, 1, 1, 1], 10, [7, 1, 1, 1]),
        ([0, 0], 4, [2, 2]),
    ],
)
def test_topics_are_divided_evenly_but_tiny_classes_have_one(size, rank, expected):
    found = _numbers_of_topics(np.array(size, dtype=float), rank)
    assert found.tolist() == expected


def test_a_misspelt_class_has_one_topic():
    random, labels = np.random.default_rng(0), np.repeat(np.arange(2), 60)
    themes = random.dirichlet(np.full(30, 0.2), size=2)
    X = np.stack([random.multinomial(20, themes[c]) for c in labels]).astype(float)
    labels[0] = 2
    B = started("labels", X, labels, 12, oracles.KL).targets
    assert np.bincount(B.argmax(axis=0), minlength=3).tolist() == [5, 6, 1]


def test_many_rows_in_single_precision_keep_their_singular_vectors():
    random = np.random.default_rng(0)
    X = 3 + 0.05 * random.gamma(0.3, size=(20000, 6)) @ random.gamma(0.3, size=(6, 20))
    found = [
        leading_profiles(
            weigh_data(dense(X.astype(dtype)), None, SERIAL), 6, np.random.RandomState(0)
        )
        for dtype in (np.float32, np.float64)
    ]
    assert found[0].shape == found[1].shape == (20, 6)
