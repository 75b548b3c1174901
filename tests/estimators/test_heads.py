"""The pooled head: scores from public parts, invariants, comparisons, hostile input."""

import pickle
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import softmax
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression

from cofactor import RowBlocks, SSNMFClassifier, SSNMFRegressor
from cofactor.estimators.inference import topic_shares

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
KINDS = {"rows": "tf-idf", "roots": "counts", "columns": "numbers"}


@cache
def problem(kind, n=70, k=3, seed=0):
    """Samples of k classes, labels of a few, and all classes."""
    random = np.random.default_rng(seed)
    words = 30
    themes = random.dirichlet(np.full(words, 0.1), size=k) * 0.6 + 0.4 / words
    y = np.arange(n) % k
    X = np.stack([random.multinomial(12, themes[c]) for c in y]).astype(float)
    if kind == "tf-idf":
        X = TfidfTransformer().fit_transform(X).toarray()
    if kind == "counts":
        X = np.hstack([X, np.zeros((n, 30))])
    if kind == "numbers":
        X = np.exp(np.eye(k)[y] @ random.normal(size=(k, 6)) + 0.7 * random.normal(size=(n, 6)))
    return X, np.where(np.arange(n) < 5 * k, y, -1), y


def fit(X, y, n_components=4, **options):
    given = ("sample_weight", "data_weights", "target_weights")
    weights = {name: options.pop(name) for name in given if name in options}
    options = {"max_iter": 30, "random_state": 0, **options}
    return SSNMFClassifier(n_components, **options).fit(X, y, **weights)


@cache
def fitted(kind, k=3):
    X, few, _ = problem(kind, k=k)
    return fit(X, few)


def full(rows):
    return rows.toarray() if sparse.issparse(rows) else rows


# ---- scores


@pytest.mark.parametrize("kind", KINDS)
def test_scores_add_up_from_public_parts(kind):
    X, _, _ = problem(KINDS[kind])
    model = fitted(KINDS[kind])
    head = model.pooled_head
    assert head.view.kind == kind
    S = model.transform(X)
    mass = S * model.components_.sum(axis=1)
    shares = mass / mass.sum(axis=1, keepdims=True)
    expected = full(model.view(X)) @ head.weights + head.base + shares @ head.topics
    assert_allclose(model.scores(X), expected, atol=1e-9)
    assert_allclose(model.scores(X, representation=S), expected, atol=1e-9)
    assert_array_equal(model.decision_function(X), model.scores(X))
    assert_allclose(model.predict_proba(X), softmax(expected, axis=1), atol=1e-9)
    assert_array_equal(model.predict(X), model.classes_[expected.argmax(axis=1)])


@pytest.mark.parametrize("kind", KINDS)
def test_parts_are_centred(kind):
    head = fitted(KINDS[kind]).pooled_head
    for part in (head.weights, head.base[None], head.topics):
        assert_allclose(part.mean(axis=1), 0.0, atol=1e-9)


def test_topics_say_how_their_classes_are_shared():
    model = fitted("tf-idf")
    shares = model.target_components_ / model.components_.sum(axis=1)[:, None]
    shares /= shares.sum(axis=1, keepdims=True)
    logs = np.log(shares + 0.02)
    expected = 0.1 * (logs - logs.mean(axis=1, keepdims=True))
    assert_allclose(model.pooled_head.topics, expected, atol=1e-6)


def test_two_classes_have_one_score():
    X, few, _ = problem("tf-idf", k=2)
    model = fit(X, few)
    z, P = model.decision_function(X), model.predict_proba(X)
    assert z.shape == (len(X),)
    assert_allclose(1 / (1 + np.exp(-z)), P[:, 1], atol=1e-12)
    assert_array_equal(model.predict(X), (z > 0).astype(int))
    assert model.scores(X).shape == (len(X), 2)


@pytest.mark.parametrize("head", ["refit", "joint"])
def test_other_heads_predict_by_topics(head):
    X, few, _ = problem("tf-idf")
    model = fit(X, few, head=head)
    assert model.pooled_head is None
    assert not hasattr(model, "decision_function")
    assert not hasattr(model, "expected_score_")
    P = model.transform(X) @ model.target_components_
    assert_allclose(model.scores(X), P, rtol=1e-12)
    assert_allclose(model.predict_proba(X), P / P.sum(axis=1, keepdims=True), rtol=1e-9)
    with pytest.raises(ValueError, match="head='pooled'"):
        model.view(X)


def test_heads_do_not_change_the_topics():
    X, few, _ = problem("tf-idf")
    pooled, refit = fitted("tf-idf"), fit(X, few, head="refit")
    assert_array_equal(pooled.components_, refit.components_)
    assert_array_equal(pooled.target_components_, refit.target_components_)
    assert hasattr(pooled, "decision_function")


def test_samples_do_not_depend_on_each_other():
    for kind in KINDS.values():
        X, _, _ = problem(kind)
        model = fitted(kind)
        alone = np.vstack([model.scores(X[[i]]) for i in range(0, 70, 9)])
        assert_allclose(alone, model.scores(X)[::9], atol=1e-9)


@pytest.mark.parametrize("kind", KINDS.values())
def test_weights_of_cells_do_not_make_samples_depend_on_each_other(kind):
    X, few, _ = problem(kind)
    W = np.random.default_rng(1).uniform(0.1, 3.0, size=X.shape)
    model = fit(X, few, data_weights=W)
    every = model.predict_proba(X, data_weights=W)
    alone = np.vstack([model.predict_proba(X[[i]], data_weights=W[[i]]) for i in range(0, 70, 9)])
    assert_allclose(alone, every[::9], atol=1e-6)


@pytest.mark.parametrize("kind", KINDS.values())
def test_factors_of_data_weights_do_not_change_the_head(kind):
    X, few, _ = problem(kind)
    plain = fitted(kind).pooled_head
    for weights in (np.full((1, X.shape[1]), 3.0), 2.0 ** (np.arange(70) % 5)[:, None]):
        head = fit(X, few, data_weights=weights).pooled_head
        assert_allclose(head.weights, plain.weights, atol=1e-6)
        assert_allclose(head.base, plain.base, atol=1e-6)


# ---- shares of topics


def test_topic_shares():
    random = np.random.default_rng(0)
    S, A = random.gamma(1.0, size=(6, 3)), random.gamma(1.0, size=(3, 9))
    S[2] = 0.0
    mass = S * A.sum(axis=1)
    expected = mass / np.where(mass.sum(axis=1) > 0, mass.sum(axis=1), 1.0)[:, None]
    assert_allclose(topic_shares(S, A), expected, rtol=1e-14)
    assert_array_equal(topic_shares(S, A)[2], 0.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("part", ["largest", "smallest"])
def test_topic_shares_of_extreme_numbers(dtype, part):
    limits = np.finfo(dtype)
    scale = limits.max if part == "largest" else limits.tiny
    S = np.array([[0.5, 0.25], [0.9, 0.9]], dtype=dtype)
    A = np.ones((2, 8), dtype=dtype)
    A[1] = 0.5
    expected = topic_shares(S, A)
    for one, other in ((S * scale, A), (S, A * scale), (S * scale, A * scale)):
        assert_allclose(topic_shares(one, other), expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_largest_numbers_can_be_predicted(dtype):
    X, few, _ = problem("numbers")
    model = fit(X.astype(dtype), few)
    huge = np.full((1, 6), np.finfo(dtype).max / 4, dtype=dtype)
    P = model.predict_proba(huge)
    assert np.isfinite(P).all()
    assert_allclose(P.sum(axis=1), 1.0)
    top = (X / X.max() * np.finfo(dtype).max * 0.99).astype(dtype)
    big = fit(top, few)
    assert np.isfinite(big.predict_proba(top)).all()


# ---- other ways to the same model


@pytest.mark.parametrize("kind", KINDS.values())
def test_weights_are_repeated_samples(kind):
    X, few, _ = problem(kind)
    counts = np.random.default_rng(3).integers(1, 4, size=len(X))
    weighted = fit(X, few, sample_weight=counts)
    repeated = fit(np.repeat(X, counts, axis=0), np.repeat(few, counts))
    assert_allclose(weighted.pooled_head.weights, repeated.pooled_head.weights, atol=1e-7)
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-4)
    assert weighted.expected_score_.n_samples == repeated.expected_score_.n_samples


@pytest.mark.parametrize("kind", KINDS.values())
def test_storages_and_scales_agree(kind):
    X, few, _ = problem(kind)
    P = fitted(kind).predict_proba(X)
    stored = sparse.csr_array(X)
    assert_allclose(fit(stored, few).predict_proba(stored), P, atol=1e-6)
    factor = 4.0 if kind == "counts" else 1e-6  # counts must stay integers
    assert_allclose(fit(factor * X, few).predict_proba(factor * X), P, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS.values())
def test_the_order_of_samples_does_not_matter(kind):
    X, few, _ = problem(kind)
    order = np.random.default_rng(5).permutation(len(X))
    head, other = fitted(kind).pooled_head, fit(X[order], few[order]).pooled_head
    assert_allclose(other.weights, head.weights, atol=1e-7)
    assert_allclose(other.base, head.base, atol=1e-7)


@pytest.mark.parametrize("kind", ["tf-idf", "counts"])
def test_blocks_in_memory_give_the_same_head(kind):
    X, few, _ = problem(kind)
    stored = sparse.csr_array(X)
    rows = RowBlocks.split(stored, few, rows=30)
    model, whole = fit(rows, None), fit(stored, few)
    assert_allclose(model.pooled_head.weights, whole.pooled_head.weights, atol=1e-7)
    assert_allclose(model.pooled_head.base, whole.pooled_head.base, atol=1e-7)
    assert model.expected_score_ == whole.expected_score_
    assert_allclose(model.scores(rows), model.scores(stored), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS.values())
def test_single_precision(kind):
    X, few, _ = problem(kind)
    model = fit(X.astype(np.float32), few)
    P = model.predict_proba(X.astype(np.float32))
    assert_allclose(P, fitted(kind).predict_proba(X), atol=0.02)
    assert_allclose(P.sum(axis=1), 1.0, rtol=1e-6)


@pytest.mark.slow
def test_threads_do_not_change_bits():
    X, few, _ = problem("tf-idf")
    one = fitted("tf-idf")
    for n in (2, 4):
        other = fit(X, few, n_jobs=n)
        assert_array_equal(other.scores(X), one.scores(X))


def test_clones_and_pickles():
    X, few, _ = problem("tf-idf")
    model = fitted("tf-idf")
    copy = clone(model)
    assert copy.pooled_head is None
    assert not hasattr(copy, "decision_function")
    assert_array_equal(copy.fit(X, few).scores(X), model.scores(X))
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.expected_score_ == model.expected_score_


def test_a_refit_forgets_the_head():
    X, few, _ = problem("tf-idf")
    model = fit(X, few)
    model.fit(X, np.full(len(X), -1))
    assert model.pooled_head is None
    assert not hasattr(model, "decision_function")
    assert not hasattr(model, "expected_score_")
    model.fit(X, few).set_params(head="refit").fit(X, few)
    assert model.pooled_head is None
    model.set_params(head="pooled").fit(X, few).set_params(head="refit").partial_fit(X, few)
    assert model.pooled_head is None
    assert not hasattr(model, "expected_score_")
    P = model.transform(X) @ model.target_components_
    assert_allclose(model.predict_proba(X), P / P.sum(axis=1, keepdims=True), rtol=1e-9)


# ---- classes without weight


@pytest.mark.parametrize("kind", KINDS.values())
def test_a_class_without_weight_is_never_predicted(kind):
    X, few, y = problem(kind)
    model = fit(X, few, sample_weight=np.where(few == 2, 0.0, 1.0))
    assert_array_equal(model.classes_, [0, 1, 2])
    P = model.predict_proba(X)
    assert_array_equal(P[:, 2], 0.0)
    assert not (model.predict(X) == 2).any()
    assert (model.predict(X) == y)[y < 2].mean() > 0.6


@pytest.mark.parametrize("head", ["pooled", "refit", "joint"])
@pytest.mark.parametrize("init", ["auto", "random"])
def test_labels_without_weight_are_none(head, init):
    X, few, _ = problem("tf-idf")
    model = fit(X, few, sample_weight=np.where(few >= 0, 0.0, 1.0), head=head, init=init)
    assert model.transform(X).shape == (len(X), 4)
    with pytest.raises(ValueError, match="without a single labelled sample"):
        model.predict(X)


# ---- how good it is


@cache
def made():
    """Documents of four classes, of whose words nine in ten are common to all."""
    random = np.random.default_rng(0)
    words, k, n = 300, 4, 700
    common = random.dirichlet(np.full(words, 0.3))
    themes = random.dirichlet(np.full(words, 0.05), size=k)
    y = random.integers(0, k, size=n)
    rates, lengths = 0.9 * common + 0.1 * themes[y], random.integers(30, 80, size=n)
    counts = np.vstack([random.multinomial(*pair) for pair in zip(lengths, rates, strict=True)])
    X = TfidfTransformer().fit_transform(sparse.csr_array(counts))
    return X[:400], y[:400], X[400:], y[400:]


@cache
def accuracies(per_class):
    """Test accuracy of the pooled head, the refit one and logistic regression; the expected one."""
    X, y, X_test, y_test = made()
    random, few = np.random.default_rng(1), np.full(len(y), -1)
    for c in range(4):
        chosen = random.choice(np.flatnonzero(y == c), per_class, replace=False)
        few[chosen] = c
    pooled = fit(X, few, 8)
    refit = fit(X, few, 8, head="refit").score(X_test, y_test)
    known = few >= 0
    plain = LogisticRegression().fit(X[known], few[known]).score(X_test, y_test)
    return pooled.score(X_test, y_test), refit, plain, pooled.expected_score_


@pytest.mark.slow
def test_it_is_as_good_as_topics_and_logistic_regression():
    found = np.array([accuracies(per_class)[:3] for per_class in (2, 5, 40)])
    pooled, refit, plain = found.T
    assert (pooled > plain + 0.01).all()
    assert (pooled > refit - 0.04).all()
    assert pooled.mean() > max(refit.mean(), plain.mean() + 0.03)


@pytest.mark.parametrize("per_class", [2, 5, 40])
def test_the_expected_score_is_right(per_class):
    accuracy, _, _, expected = accuracies(per_class)
    assert expected.n_samples == 4 * per_class
    assert expected.low - 0.1 <= accuracy <= expected.high + 0.1
    assert expected.low <= expected.value <= expected.high
    assert expected.high - expected.low < (0.2 if per_class == 40 else 0.7)


# ---- hostile input


def hostile(kind, name):
    X, _, y = problem("tf-idf" if kind == "text" else kind)
    few = np.full(len(y), -1)
    match name:
        case "one label":
            few[0] = 0
        case "one label each":
            few[:3] = y[:3]
        case "two classes":
            few[:2] = y[:2]
        case "a lonely class":
            few[:15] = y[:15]
            few[20], X = 9, X.copy()
            X[20] = np.eye(X.shape[1])[-1] * 7
        case "equal rows":
            few[:15], X = y[:15], np.repeat(X[:1], len(X), axis=0)
        case "empty rows":
            few[:15], X = y[:15], np.where(np.arange(len(X))[:, None] % 4 == 0, 0.0, X)
        case "huge":
            few[:15], X = y[:15], 1e300 * X
        case "tiny":
            few[:15], X = y[:15], 1e-300 * X
        case "missing cells":
            few[:15] = y[:15]
            X = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
            X[:, 0] = 1.0
        case "one feature":
            few[:15], X = y[:15], X[:, :1] + 0.1
        case "one sample":
            few, X = np.array([4]), X[:1]
        case "outlier":
            few[:15], X = y[:15], X.copy()
            X[33, 3] = 1e300
        case "usual":
            few[:15] = y[:15]
    return X, few


NAMES = [
    "one label",
    "one label each",
    "two classes",
    "a lonely class",
    "equal rows",
    "empty rows",
    "huge",
    "tiny",
    "missing cells",
    "one feature",
    "one sample",
    "outlier",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["text", "numbers"])
def test_hostile_input(kind, name):
    X, few = hostile(kind, name)
    model = fit(X, few, 3)
    unseen = np.zeros((1, X.shape[1]))
    for rows in (X, unseen):
        P = model.predict_proba(rows)
        assert np.isfinite(P).all()
        assert_allclose(P.sum(axis=1), 1.0, rtol=1e-6)
    assert set(model.predict(X)) <= set(few[few >= 0])
    if name in ("huge", "tiny"):
        like = hostile(kind, "usual")
        assert_allclose(model.predict_proba(X), fit(*like, 3).predict_proba(like[0]), atol=1e-3)


def test_samples_of_weight_zero_may_be_far_away():
    for kind in KINDS.values():
        X, few, _ = problem(kind)
        far = np.vstack([X, np.full((1, X.shape[1]), 2.0**45)])
        model = fit(far, np.r_[few, -1], sample_weight=np.r_[np.ones(len(X)), 0.0])
        assert_allclose(model.pooled_head.weights, fitted(kind).pooled_head.weights, atol=1e-6)


# --- numbers and several labels ------------------------------------------------------------------


def numeric(n=120, seed=3):
    """Counts, and two numbers far from zero that follow from the shares of the features."""
    random = np.random.default_rng(seed)
    X = random.poisson(6.0 * random.dirichlet(np.full(8, 0.4), size=n) * 8).astype(float)
    X[:, 0] += 1
    shares = X / X.sum(axis=1, keepdims=True)
    return X, 1000.0 + shares @ random.normal(size=(8, 2)) * 50


def test_numbers_far_from_zero_are_predicted():
    X, Y = numeric()
    model = SSNMFRegressor(4, random_state=0).fit(X[:80], Y[:80, 0])
    assert model.score(X[80:], Y[80:, 0]) > 0.8
    assert model.expected_score_.measure == "R²"
    bounds = model.predict_interval(X[80:])
    assert np.mean((bounds[:, 0] <= Y[80:, 0]) & (Y[80:, 0] <= bounds[:, 1])) > 0.75
    with pytest.raises(AttributeError, match="predict_interval"):
        SSNMFRegressor(4, head="refit").fit(X, Y[:, 0]).predict_interval(X)


def test_weights_of_rows_do_not_move_numbers():
    X, Y = numeric()
    plain, weighted = (
        SSNMFRegressor(4, random_state=0).fit(X, Y[:, 0], data_weights=weights)
        for weights in (None, np.full((len(X), 1), 3.0))
    )
    assert_allclose(weighted.predict(X), plain.predict(X), rtol=1e-3)
    assert weighted.score(X, Y[:, 0]) > 0.8


def test_confidence_counts_beside_an_unknown_number():
    X, Y = numeric()
    wrong = np.arange(len(X)) >= 60
    Y = np.where(wrong[:, None], 5000.0, Y)
    Y[0, 0] = np.nan  # so that weights become those of cells
    model = SSNMFRegressor(4, random_state=0)
    model.fit(X, Y, target_weights=np.where(wrong, 1e-6, 1.0))
    assert model.score(X[1:60], Y[1:60]) > 0.5


def test_scales_of_topics_do_not_change_their_numbers():
    X, Y = numeric()
    model = SSNMFRegressor(4, random_state=0).fit(X, Y[:, 0])
    before = model.topic_scores()
    model.amend(components=model.components_ * 50.0)
    assert_allclose(model.topic_scores(), before, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_topics_reach_as_far_as_samples_do(kind):
    """The scores of the features, regressed on those of the samples' topics."""
    X, y, _ = problem(kind, n=140)
    model = SSNMFClassifier(4, random_state=0).fit(X, y)
    head, A = model.pooled_head, model.components_
    alone = model.topic_scores() - head.topics - head.base
    own = model.view(X) @ head.weights
    shares = topic_shares(model.transform(X), A)
    t = shares @ alone / head.reach
    slope = np.sum(own * t) / np.sum(t * t)
    assert head.reach == pytest.approx(np.clip(slope, 0.0, 1.0), rel=1e-6)
    order = np.random.default_rng(0).permutation(len(y))
    moved = SSNMFClassifier(4, random_state=0).fit(X[order], y[order])
    assert moved.pooled_head.reach == pytest.approx(head.reach, rel=1e-3)


def test_several_labels_are_predicted_where_the_decision_is_not_negative():
    X, _, truth = problem("tf-idf", n=140)
    Y = np.column_stack([np.eye(3)[truth], (np.arange(140) % 2)[:, None]])
    model = SSNMFClassifier(4, random_state=0).fit(X[:100], Y[:100])
    assert_array_equal(model.predict(X), (model.decision_function(X) >= 0).astype(int))
    assert model.expected_score_.measure == "micro-F1"
    assert not model.predict(np.zeros((1, X.shape[1])))[0, :3].any()
    assert (model.predict(X[100:])[:, :3] == Y[100:, :3]).mean() > 0.8
