"""Streams: the first batch is an iteration of fit, and later ones refine it."""

import itertools
import pickle

import numpy as np
import pytest
from scipy import sparse as sp

from cofactor import NMF, SSNMFClassifier, SSNMFRegressor
from cofactor.divergences import DIVERGENCES
from cofactor.engine.factors import Factors
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import observe
from cofactor.engine.threads import Threads

KL, F, IS = "kullback-leibler", "frobenius", "itakura-saito"
FITTED = ("components_", "target_components_", "representation_")


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(60, 0.1), size=3)
    kinds = rng.integers(0, 3, 900)
    X = sp.csr_array(np.array([rng.multinomial(20, topics[k]) for k in kinds]) / 20.0)
    y = np.where(rng.random(900) < 0.15, kinds, -1)
    return X, y, kinds


def batches(X, *arrays, size=100):
    for low in range(0, X.shape[0], size):
        yield (X[low : low + size], *(a[low : low + size] for a in arrays))


@pytest.mark.parametrize("head", ["refit", "joint"])
@pytest.mark.parametrize(("data_loss", "target_loss"), [*itertools.product((KL, F, IS), repeat=2)])
def test_a_full_batch_is_one_iteration_of_fit(corpus, data_loss, target_loss, head):
    X, y = corpus[0][:80], corpus[1][:80]
    X = X.toarray() + 0.01 if IS in (data_loss, target_loss) else X
    options = {
        "data_loss": data_loss, "target_loss": target_loss, "solver": "mu", "head": head,
        "random_state": 0,
    }  # fmt: skip
    once = SSNMFClassifier(4, max_iter=1, tol=0, **options).fit(X, y)
    stream = SSNMFClassifier(4, **options).partial_fit(X, y)
    for name in FITTED:
        np.testing.assert_allclose(
            getattr(stream, name), getattr(once, name), rtol=1e-10, atol=1e-13, err_msg=name
        )
    assert stream.history_["objective"] == pytest.approx(once.history_["objective"], rel=1e-10)


@pytest.mark.parametrize("loss", [KL, F])
def test_topics_come_closer_with_every_batch(corpus, loss):
    X = corpus[0]
    model = NMF(3, data_loss=loss, random_state=0)
    misfit = []
    for (batch,) in batches(X):
        model.partial_fit(batch)
        S = model.transform(X)
        P = np.maximum(S @ model.components_, 1e-12)
        D = X.toarray()
        logs = np.where(D > 0, D * np.log(np.maximum(D, 1e-300) / P), 0.0)
        misfit.append(((D - P) ** 2).sum() if loss == F else (logs - D + P).sum())
    assert misfit[-1] < 0.95 * misfit[0]
    best = NMF(3, data_loss=loss, random_state=0).fit(X).history_["data"][-1]
    assert misfit[-1] < 1.15 * best
    assert model.n_iter_ == len(model.history_["objective"]) == 9
    assert model.n_samples_seen_ == 900


@pytest.mark.parametrize(("data_loss", "target_loss"), [*itertools.product((KL, F), repeat=2)])
def test_a_stream_predicts_nearly_as_well_as_a_fit(corpus, data_loss, target_loss):
    X, y, kinds = corpus
    options = {"data_loss": data_loss, "target_loss": target_loss, "random_state": 0}
    model = SSNMFClassifier(4, **options)
    for part, labels in batches(X, y):
        model.partial_fit(part, labels, classes=[0, 1, 2])
    fitted = SSNMFClassifier(4, **options).fit(X, y)
    assert model.score(X, kinds) > fitted.score(X, kinds) - 0.03


@pytest.mark.parametrize("seed", range(4))
def test_a_stream_that_was_put_away_goes_on_with_the_same_bits(seed):
    """Whatever numpy sums depends on how arrays lie in memory, and a pickle knows nothing of it."""
    X = sp.random_array((600, 3000), density=0.06, random_state=np.random.default_rng(seed)).tocsr()
    here = NMF(7, solver="mu", random_state=seed).partial_fit(X[:300])
    there = pickle.loads(pickle.dumps(here))
    assert here.representation_.flags.c_contiguous
    for model in (here, there):
        model.partial_fit(X[300:])
        assert model.representation_.flags.c_contiguous
    np.testing.assert_array_equal(here.components_, there.components_)
    np.testing.assert_array_equal(here.representation_, there.representation_)


def test_rows_beyond_the_window_still_count(corpus, monkeypatch):
    monkeypatch.setattr("cofactor.estimators.streaming.WINDOW", 150)
    X, y, kinds = corpus
    y = np.where(np.arange(900) < 300, y, -1)  # labels only at the beginning
    model = SSNMFClassifier(4, random_state=0)
    for part, labels in batches(X, y):
        model.partial_fit(part, labels)
    assert sum(kept.data.shape[0] for kept in model._stream.window) <= 250
    assert model.score(X, kinds) > 0.9


def test_numbers_as_targets(corpus):
    X, _, kinds = corpus
    y = np.where(np.arange(900) % 3 == 0, np.nan, kinds * 2.0)
    model = SSNMFRegressor(4, random_state=0)
    for part, values in batches(X, y):
        model.partial_fit(part, values)
    assert model.score(X, kinds * 2.0) > 0.8


def test_a_class_that_comes_later(corpus):
    X, y, kinds = corpus
    order = np.argsort(kinds == 2, kind="stable")  # the third class comes last
    model = SSNMFClassifier(4, random_state=0)
    for part, labels in batches(X[order], np.where(y < 0, -1, kinds)[order]):
        model.partial_fit(part, labels, classes=[0, 1, 2])
    third = kinds == 2
    assert (model.predict(X[third]) == 2).mean() > 0.5


def test_a_class_nobody_announced(corpus):
    X, _, kinds = corpus
    model = SSNMFClassifier(4, random_state=0)
    model.partial_fit(X[kinds < 2], kinds[kinds < 2])
    with pytest.raises(ValueError, match="2"):
        model.partial_fit(X, kinds)


def test_the_first_batch_needs_labels(corpus):
    X = corpus[0]
    with pytest.raises(ValueError, match="first batch of a stream"):
        SSNMFClassifier(4).partial_fit(X, np.full(900, -1), classes=[0, 1, 2])


def test_batches_of_other_width(corpus):
    X, y, _ = corpus
    model = SSNMFClassifier(4, random_state=0).partial_fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :-1], y)


def test_a_failed_batch_leaves_the_stream_as_it_was(corpus, monkeypatch):
    X, y, _ = corpus
    model = SSNMFClassifier(4, random_state=0).partial_fit(X[:300], y[:300])
    before = [np.array(getattr(model, name)) for name in FITTED]

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("cofactor.estimators.streaming.Stream.head", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[300:600], y[300:600])
    for name, old in zip(FITTED, before, strict=True):
        np.testing.assert_array_equal(getattr(model, name), old)
    twin = SSNMFClassifier(4, random_state=0).partial_fit(X[:300], y[:300])
    for one in (model, twin):
        one.partial_fit(X[300:600], y[300:600])
    np.testing.assert_array_equal(model.components_, twin.components_)


def test_sample_weights_equal_repeated_rows(corpus):
    X, y, _ = corpus
    twice = np.r_[np.arange(100), np.arange(50)]
    counts = np.r_[np.full(50, 2.0), np.ones(50)]
    a, b = (SSNMFClassifier(4, solver="mu", random_state=0) for _ in range(2))
    for low in (0, 100):
        a.partial_fit(X[low + twice], y[low + twice])
        b.partial_fit(X[low : low + 100], y[low : low + 100], sample_weight=counts)
    np.testing.assert_allclose(b.components_, a.components_, rtol=1e-8, atol=1e-12)


def test_a_stream_goes_on_from_a_fit(corpus):
    X, y, kinds = corpus
    model = SSNMFClassifier(4, random_state=0).fit(X[:600], y[:600])
    before = model.components_
    model.partial_fit(X[600:], y[600:])
    similar = [np.corrcoef(a, b)[0, 1] for a, b in zip(before, model.components_, strict=True)]
    assert min(similar) > 0.8
    assert model.score(X, kinds) > 0.9


def test_fit_forgets_the_stream(corpus):
    X, y, _ = corpus
    model = SSNMFClassifier(4, random_state=0).partial_fit(X[:300], y[:300])
    fresh = SSNMFClassifier(4, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.fit(X, y).components_, fresh.components_)


def test_a_batch_without_labels_is_guessed_like_the_others(corpus):
    X, y, _ = corpus
    model = SSNMFClassifier(4, random_state=0)
    for low, labels in ((0, y[:300]), (300, np.full(300, -1)), (600, y[600:])):
        model.partial_fit(X[low : low + 300], labels)
    assert all(kept.classes is not None for kept in model._stream.window)
    shares = model._stream._shares(Threads())
    assert [len(part) for part in shares] == [300, 300, 300]
    np.testing.assert_allclose(np.concatenate(shares).sum(axis=1), 1.0)


def test_numbers_of_other_ranges(corpus):
    X, _, kinds = corpus
    y = kinds * 2.0 + np.random.default_rng(0).random(900)
    model = SSNMFRegressor(4, random_state=0).partial_fit(X[:300], y[:300])
    model.partial_fit(X[300:600], np.where(np.arange(300) % 2, 1.0, np.nan))
    model.partial_fit(X[600:], y[600:])
    assert np.isfinite(model.predict(X)).all()


def test_samples_of_weight_zero_change_no_prediction(corpus):
    X, _, kinds = corpus
    counts = np.r_[np.ones(200), np.zeros(100)]
    flipped = np.where(counts > 0, kinds[:300], 2 - kinds[:300])
    a, b = (
        SSNMFClassifier(4, random_state=0).partial_fit(X[:300], labels, sample_weight=counts)
        for labels in (kinds[:300], flipped)
    )
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-9, atol=1e-12)


def test_a_stream_after_a_fit_keeps_its_classes(corpus):
    X, _, kinds = corpus
    names = np.array(["a", "b", "c"])[kinds]
    model = SSNMFClassifier(4, random_state=0).fit(X, names)
    model.partial_fit(X[names != "a"], names[names != "a"])
    assert model.classes_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="no labelled sample"):
        SSNMFClassifier(4, random_state=0).fit(X, names).partial_fit(X[:9], [""] * 9)
    fitted = SSNMFClassifier(4, random_state=0).fit(X, names)
    before = fitted.predict(X)
    with pytest.raises(ValueError, match="unheard"):
        fitted.partial_fit(X[:9], ["unheard"] * 9)
    assert fitted.predict(X).tolist() == before.tolist()


def test_batches_with_and_without_missing_cells(corpus):
    X = corpus[0].toarray()
    one = NMF(3, solver="mu", random_state=0).partial_fit(X[:300]).partial_fit(X[300:600])
    holes = X[300:600].copy()
    holes[0, 0] = np.nan
    two = NMF(3, solver="mu", random_state=0).partial_fit(X[:300]).partial_fit(holes)
    np.testing.assert_allclose(two.components_.sum(axis=1), one.components_.sum(axis=1), rtol=0.05)


@pytest.mark.parametrize("loss", [KL, F, IS])
def test_statistics_seen_from_another_factor(loss):
    """A surrogate c·log v, push·v²/2 and e/v stays what it is, whatever v is measured in."""
    rng = np.random.default_rng(3)
    X, V, W = rng.random((9, 6)) + 0.1, rng.random((6, 2)) + 0.1, rng.random((6, 2)) + 0.1
    seen = observe(X, np.ones(X.shape))  # squares of listed cells are entries
    objective = Objective((Term("data", "features", seen, DIVERGENCES[loss]),))
    factors = Factors(rng.random((9, 2)) + 0.1, V)
    taken = objective.advance(factors, None, Threads(), 1e-12).statistics["features"]
    found = taken.detached_from(V).attached_to(W)
    ratios = {"c": V / W, "push": W / V, "e": (V / W) ** 2, "u": np.ones(V.shape)}
    used = {KL: {"c"}, F: {"push"}, IS: {"e", "u"}}[loss]
    for name, ratio in ratios.items():
        old, new = getattr(taken.surrogate, name), getattr(found.surrogate, name)
        assert (len(old) > 0) == (len(new) > 0) == (name in used)
        np.testing.assert_allclose(new, old * ratio if name in used else old, rtol=1e-12)
