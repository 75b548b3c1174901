"""Further vectors of samples ("side"): what they change, and where they are refused."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp

from cofactor import SSNMFClassifier, SSNMFRegressor
from cofactor.linear.views import Side
from cofactor.outofcore import RowBlocks

N, K = 90, 3


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    truth = random.integers(0, K, size=N)
    rates = 0.3 + 6.0 * (random.dirichlet(np.full(40, 0.2), size=K))[truth]
    X = random.poisson(rates).astype(float)
    X[:, 0] += 1.0
    side = random.normal(size=(K, 6))[truth] + 0.3 * random.normal(size=(N, 6))
    y = np.full(N, -1)
    for c in range(K):
        y[np.flatnonzero(truth == c)[:4]] = c
    return X, side, y, truth


def fit(X, y, **given):
    return SSNMFClassifier(6, max_iter=30, tol=1e-3, random_state=0).fit(X, y, **given)


@pytest.fixture(scope="module")
def model(data):
    X, side, y, _ = data
    return fit(X, y, side=side)


def test_vectors_help(data, model):
    X, side, y, truth = data
    assert model.score(X, truth, side=side) > fit(X, y).score(X, truth) + 0.1
    assert_array_equal(model.predict(X, side=side), model.read(model.scores(X, side=side)))


def test_parts_add_up(data, model):
    X, side, _, _ = data
    head = model.pooled_head
    S = model.transform(X)
    shares = S * model.components_.sum(axis=1)
    shares /= shares.sum(axis=1, keepdims=True)
    words = model.view(X) @ head.weights
    vectors = (side - head.vectors.mean) / head.vectors.scale @ head.vector_weights
    total = words + vectors + shares @ head.topics + head.base
    assert_allclose(model.scores(X, side=side), total, rtol=1e-6, atol=1e-6)
    assert_allclose(head.vector_weights.sum(axis=1), 0.0, atol=1e-12)


def test_permuted_rows_permute(data, model):
    X, side, y, _ = data
    order = np.random.default_rng(1).permutation(N)
    other = fit(X[order], y[order], side=side[order])
    probabilities = model.predict_proba(X, side=side)
    assert_allclose(other.predict_proba(X, side=side), probabilities, atol=1e-7)


def test_integer_weights_are_repeated_rows(data):
    X, side, y, _ = data
    counts = np.random.default_rng(2).integers(1, 4, size=N)
    weighted = fit(X, y, side=side, sample_weight=counts)
    rows = np.repeat(np.arange(N), counts)
    repeated = fit(X[rows], y[rows], side=side[rows])
    assert_allclose(
        weighted.predict_proba(X, side=side), repeated.predict_proba(X, side=side), atol=1e-7
    )


def test_a_row_does_not_depend_on_the_others(data, model):
    X, side, _, _ = data
    together = model.scores(X, side=side)
    for i in (0, 7):
        assert_array_equal(model.scores(X[[i]], side=side[[i]])[0], together[i])


def test_topics_are_made_of_features_only(data, model):
    X, _, y, _ = data
    assert model.components_.shape == fit(X, y).components_.shape
    assert model.topic_scores().shape == (6, K)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_earlier_fit_is_used_again_only_with_the_same_vectors(data, model):
    X, side, y, _ = data
    first = SSNMFClassifier(6, max_iter=5, random_state=0).fit_after(model, X, y, side=side)
    again = SSNMFClassifier(6, max_iter=5, random_state=0).fit_after(first, X, y, side=side)
    other = SSNMFClassifier(6, max_iter=5, random_state=0).fit_after(first, X, y, side=-2 * side)
    assert again.fitted.linear_models is first.fitted.linear_models
    assert other.fitted.linear_models is not first.fitted.linear_models


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int64])
def test_other_numbers_are_taken(data, model, dtype):
    X, side, _, _ = data
    found = model.predict_proba(X, side=(1000 * side).astype(dtype))
    assert np.isfinite(found).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda side: None, "fitted with side, vectors of 6 dimensions"),
        (lambda side: side[:3], "side has 3 rows, but X has 90"),
        (lambda side: side[:, :2], "side has 2 columns; it needs the 6 of the fit"),
        (lambda side: side[:, 0], "one row of numbers for each sample"),
        (lambda side: np.where(side > 1, np.nan, side), "side has entries that are not finite"),
        (lambda side: side * 1e200, "side has entries beyond 1e\\+100"),
    ],
)
def test_bad_vectors_are_one_sentence(data, model, change, message):
    X, side, _, _ = data
    for method in ("predict", "predict_proba", "scores", "decision_function"):
        with pytest.raises(ValueError, match=message):
            getattr(model, method)(X, side=change(side))


def test_vectors_are_refused_where_nothing_uses_them(data, model):
    X, side, y, truth = data
    with pytest.raises(ValueError, match="fitted without it"):
        fit(X, y).predict(X, side=side)
    with pytest.raises(ValueError, match="needs head='pooled'"):
        SSNMFClassifier(3, head="refit").fit(X, y, side=side)
    with pytest.raises(ValueError, match="y holds several labels per sample"):
        SSNMFClassifier(3).fit(X, np.eye(K, dtype=int)[truth], side=side)
    with pytest.raises(ValueError, match="y holds numbers"):
        SSNMFRegressor(3).fit(X, truth + 0.5, side=side)
    blocks = RowBlocks.split(X, rows=30)
    with pytest.raises(ValueError, match="side cannot be used with RowBlocks"):
        SSNMFClassifier(3).fit(blocks, y, side=side)
    with pytest.raises(ValueError, match="so it cannot predict RowBlocks"):
        model.predict(blocks)


def test_side_is_a_keyword():
    for method in ("fit", "predict", "predict_proba", "scores", "score", "decision_function"):
        parameter = inspect.signature(getattr(SSNMFClassifier, method)).parameters["side"]
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert parameter.default is None


# ---- further features


@pytest.fixture(scope="module")
def further(data):
    """Return sparse features that tell the classes apart, a row of which is empty."""
    *_, truth = data
    random = np.random.default_rng(5)
    cells = random.poisson(0.1 + 2.0 * np.eye(K)[truth][:, [0, 1, 2, 0, 1]]).astype(float)
    cells[-1] = 0
    return sp.csr_array(cells)


def test_further_features_help_and_add_up(data, further):
    X, side, y, truth = data
    model = fit(X, y, side=further)
    assert model.score(X, truth, side=further) > fit(X, y).score(X, truth)
    head = model.pooled_head
    assert head.vectors is None
    both = fit(X, y, side=Side(side, further))
    shares = both.transform(X) * both.components_.sum(axis=1)
    shares /= shares.sum(axis=1, keepdims=True)
    head, cells = both.pooled_head, further.toarray()
    lengths = np.linalg.norm(cells, axis=1, keepdims=True)
    total = both.view(X) @ head.weights + shares @ head.topics + head.base
    total += (side - head.vectors.mean) / head.vectors.scale @ head.vector_weights
    total += cells / np.where(lengths, lengths, 1.0) / head.further.scale @ head.further_weights
    assert_allclose(both.scores(X, side=Side(side, further)), total, rtol=1e-6, atol=1e-6)
    assert_allclose(head.further_weights.sum(axis=1), 0.0, atol=1e-12)
    assert_allclose(both.components_, fit(X, y, side=Side(side, further)).components_)


@pytest.mark.parametrize("kind", ["vectors", "further"])
def test_a_stream_goes_on_with_the_features_alone(data, further, kind):
    """Those who always pass the side need not know when the head of the stream takes over."""
    X, vectors, y, truth = data
    side = vectors if kind == "vectors" else further
    model = fit(X, y, side=side)
    before = model.predict_proba(X, side=side)
    model.partial_fit(X[:3], truth[:3])  # fewer labels than the fit had
    assert_allclose(model.predict_proba(X, side=side).argmax(axis=1), before.argmax(axis=1))
    model.partial_fit(X, truth)
    assert not model.pooled_head.needs_side
    assert_array_equal(model.predict_proba(X, side=side), model.predict_proba(X))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda further: None, "fitted with side, 5 further features"),
        (lambda further: further.toarray(), "fitted with side, 5 further features"),
        (lambda further: further[:3], "side has 3 rows, but X has 90"),
        (lambda further: further[:, :2], "side has 2 columns; it needs the 5 of the fit"),
        (lambda further: -further, "negative or not finite"),
    ],
)
def test_bad_further_features_are_one_sentence(data, further, change, message):
    X, _, y, _ = data
    model = fit(X, y, side=further)
    with pytest.raises(ValueError, match=message):
        model.predict(X, side=change(further))
