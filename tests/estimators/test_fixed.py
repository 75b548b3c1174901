"""``fixed`` and ``init=Factors.of_topics``: what is fixed stays to the bit, the rest goes on."""

import numpy as np
import pytest

from cofactor import NMF, RowBlocks, SSNMFClassifier, SSNMFRegressor
from cofactor.engine.factors import Factors

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

N, M, K, R = 60, 15, 3, 4
SOLVERS = ("cd", "mu", "mu-paper")
HEADS = ("joint", "refit", "pooled")


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.poisson(3 * rng.dirichlet(np.full(R, 0.3), N) @ rng.random((R, M))).astype(float)
    y = rng.integers(0, K, N)
    y[::3] = -1
    return X, y


@pytest.fixture
def topics():
    rng = np.random.default_rng(1)
    A, B = rng.random((M, R)) + 0.1, rng.random((K, R)) + 0.1
    A[2, 1] = B[0, 2] = 0.0
    return Factors.of_topics(A, B)


@pytest.fixture
def masks():
    """One whole topic, and single entries, zeros among them."""
    rng = np.random.default_rng(2)
    features, targets = rng.random((R, M)) < 0.3, rng.random((R, K)) < 0.3
    features[1, 2] = targets[2, 0] = features[3] = True
    return {"features": features, "targets": targets}


def assert_kept(model, topics, masks):
    fixed = masks["features"]
    assert model.components_[fixed].tobytes() == topics.features.T[fixed].tobytes()
    assert not np.array_equal(model.components_[~fixed], topics.features.T[~fixed])
    if "targets" in masks and hasattr(model, "target_components_"):
        fixed = masks["targets"]
        assert model.target_components_[fixed].tobytes() == topics.targets.T[fixed].tobytes()


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_arrays_keep_fixed_entries(data, topics, masks, solver, head):
    options = {"solver": solver, "head": head, "init": topics, "fixed": masks, "random_state": 0}
    model = SSNMFClassifier(R, max_iter=20, **options).fit(*data)
    assert_kept(model, topics, masks)
    if solver != "mu-paper":
        history = np.array(model.history_["objective"])
        assert (np.diff(history) <= 1e-10 * history[:-1]).all()


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_units_do_not_touch_fixed_entries(data, topics, masks, scale):
    X, y = data
    moved = Factors.of_topics(topics.features * scale, topics.targets)
    model = SSNMFClassifier(R, init=moved, fixed=masks, random_state=0).fit(X * scale, y)
    assert_kept(model, moved, masks)


@pytest.mark.parametrize("solver", SOLVERS)
def test_blocks_keep_fixed_entries(data, topics, masks, solver):
    X, y = data
    blocks = RowBlocks.split(X, y, rows=25)
    model = SSNMFClassifier(R, solver=solver, init=topics, fixed=masks, max_iter=10)
    assert_kept(model.fit(blocks), topics, masks)


@pytest.mark.parametrize("solver", SOLVERS)
def test_streams_keep_fixed_entries(data, topics, masks, solver):
    X, y = data
    X[:20, 5] = 0.0  # a feature that later batches bring
    model = SSNMFClassifier(R, solver=solver, init=topics, fixed=masks, head="refit")
    for low in range(0, N, 20):
        model.partial_fit(X[low : low + 20], y[low : low + 20], classes=[0, 1, 2])
        assert_kept(model, topics, masks)


def test_numbers_and_plain_topics_keep_fixed_entries(data, topics, masks):
    X, _ = data
    numbers = Factors.of_topics(topics.features, topics.targets[:1])
    some = {"features": masks["features"], "targets": masks["targets"][:, :1]}
    model = SSNMFRegressor(R, init=numbers, fixed=some, random_state=0).fit(X, X[:, 0])
    assert_kept(model, numbers, some)
    plain = {"features": masks["features"]}
    start = Factors.of_topics(topics.features)
    assert_kept(NMF(R, init=start, fixed=plain).fit(X), start, plain)


@pytest.mark.parametrize("solver", SOLVERS)
def test_all_topics_frozen_change_no_bit(data, solver):
    """Freezing all topics and fitting again on other data keeps them."""
    X, y = data
    first = SSNMFClassifier(R, random_state=0).fit(X, y)
    start = Factors.of_topics(first.components_.T, first.target_components_.T)
    frozen = {"features": np.ones(R, bool)}
    again = SSNMFClassifier(R, solver=solver, init=start, fixed=frozen).fit(X[:40], y[:40])
    assert again.components_.tobytes() == first.components_.tobytes()


def test_topics_go_on_where_they_were(data):
    """A fit that goes on from its own topics starts near its end, guesses included."""
    X, y = data
    first = SSNMFClassifier(R, random_state=0, tol=1e-6, max_iter=500, head="joint").fit(X, y)
    start = Factors.of_topics(first.components_.T, first.target_components_.T)
    again = SSNMFClassifier(R, init=start, head="joint", max_iter=1).fit(X, y)
    ends, cold = first.history_["objective"][-1], first.history_["objective"][0]
    assert again.history_["objective"][0] - ends < 0.1 * (cold - ends)
    assert again.supervision_ == pytest.approx(first.supervision_)


def test_a_full_start_has_no_guesses(data, topics):
    """A literal run passes its own samples: the unlabelled rows then take no part in the target."""
    X, y = data
    given = Factors(np.ones((N, R)), topics.features, topics.targets)
    model = SSNMFClassifier(R, init=given, head="joint", max_iter=1, supervision=1.0).fit(X, y)
    known = SSNMFClassifier(R, init=topics, head="joint", max_iter=1, supervision=1.0).fit(X, y)
    hidden = SSNMFClassifier(R, init=given, head="joint", max_iter=1, supervision=1.0)
    hidden.fit(X, y, target_weights=(y >= 0).astype(float))
    assert hidden.history_ == model.history_
    every = np.where(y < 0, known.predict(X), y)
    more = SSNMFClassifier(R, init=given, head="joint", max_iter=1, supervision=1.0).fit(X, every)
    assert more.history_["target"][0] > model.history_["target"][0]


@pytest.mark.parametrize(
    ("fixed", "init", "message"),
    [
        ({"features": np.ones(R, bool)}, "auto", "fixed needs topics to keep, but init='auto'"),
        ({"samples": np.ones(R, bool)}, None, "fixed has the key 'samples'; use 'features' or"),
        ({"features": np.ones(R + 1, bool)}, None, r"\(5,\); pass \(4,\) for whole topics, or"),
        ({"features": np.ones((M, R), bool)}, None, r"shape \(15, 4\); pass \(4,\)"),
        ({"features": [0, 1]}, None, "dtype int64; pass an array of True and False"),
        ({"targets": np.ones((R, 2), bool)}, None, r"or \(4, 3\)"),
    ],
)
def test_wrong_masks_are_one_sentence(data, topics, fixed, init, message):
    model = SSNMFClassifier(R, init=init or topics, fixed=fixed)
    with pytest.raises((TypeError, ValueError), match=message):
        model.fit(*data)
