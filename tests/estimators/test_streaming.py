"""Streams: the first batch is an iteration of fit, and later ones refine it."""

import itertools
import pickle

import numpy as np
import pytest
from scipy import sparse as sp

from cofactor import NMF, SSNMFClassifier, SSNMFRegressor
from cofactor.divergences import DIVERGENCES
from cofactor.engine.factors import Factors
from cofactor.engine.kernels import Surrogate
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import observe
from cofactor.engine.subproblem.statistics import Statistics
from cofactor.engine.threads import Threads
from cofactor.estimators import supervised
from cofactor.estimators.heads import ModelRequest, class_head, number_head, tag_head
from cofactor.linear.pool import PartlyLabelled, fit_pool

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


@pytest.mark.slow
@pytest.mark.parametrize("head", ["refit", "joint"])
@pytest.mark.parametrize(("data_loss", "target_loss"), [*itertools.product((KL, F, IS), repeat=2)])
def test_a_full_batch_is_one_iteration_of_fit(corpus, data_loss, target_loss, head):
    X, y = corpus[0][:80], corpus[1][:80]
    X = X.toarray() + 0.01 if IS in (data_loss, target_loss) else X
    options = {
        "data_loss": data_loss,
        "target_loss": target_loss,
        "solver": "mu",
        "head": head,
        "random_state": 0,
    }
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_rows_beyond_the_window_still_count(corpus, monkeypatch):
    monkeypatch.setattr("cofactor.estimators.streaming.WINDOW_ROWS", 150)
    X, y, kinds = corpus
    y = np.where(np.arange(900) < 300, y, -1)  # labels only at the beginning
    model = SSNMFClassifier(4, random_state=0)
    for part, labels in batches(X, y):
        model.partial_fit(part, labels)
    assert sum(kept.data.shape[0] for kept in model.fitted.stream.window) <= 250
    assert model.score(X, kinds) > 0.9


def test_numbers_as_targets(corpus):
    X, _, kinds = corpus
    y = np.where(np.arange(900) % 3 == 0, np.nan, kinds * 2.0)
    model = SSNMFRegressor(4, random_state=0)
    for part, values in batches(X, y):
        model.partial_fit(part, values)
    assert model.score(X, kinds * 2.0) > 0.8


@pytest.mark.slow
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
    assert all(kept.classes is not None for kept in model.fitted.stream.window)
    shares = model.fitted.stream._shares(Threads())
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


@pytest.mark.slow
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


@pytest.mark.parametrize(("dtype", "least"), [(np.float32, 3e-42), (np.float64, 3e-310)])
def test_statistics_at_entries_next_to_zero_are_finite(dtype, least):
    """1/3e-42 is beyond single precision, and 1/3e-310 beyond double precision."""
    c = np.full((2, 2), 5.0)
    none = np.zeros((0, 2))
    taken = Statistics(None, None, None, None, None, Surrogate(c, none, c, none), 0.0, 0.0)
    V = np.array([[1, 2], [3, least]], dtype=dtype)
    found = taken.detached_from(V).attached_to(V).surrogate
    known = c if dtype is np.float32 else [[5, 5], [5, 0]]
    np.testing.assert_allclose(found.c, known, rtol=1e-12)
    np.testing.assert_allclose(found.e[V > 0.5], 5.0, rtol=1e-12)


# ---- the pooled head of a stream


def tags_of(y, kinds):
    """Two labels per sample; unknown where y is -1."""
    return np.where((y < 0)[:, None], np.nan, np.stack([kinds == 0, kinds < 2], axis=1))


def directly(model, X, y):
    """The head that the public functions give for rows, in place of the stream's."""
    coding, task, units = model.coding, model._task, model.fitted.units
    targets = task.encode_again(y, X.shape[0], coding, signed=True)
    data, threads = observe(X).shifted(units.data), Threads()
    A, B = model.components_.T, model.target_components_.T
    factors = units.factors(Factors(model.representation_, A, B), -1)
    if isinstance(model, SSNMFRegressor):
        term = Term("data", "features", data, DIVERGENCES[KL])
        return number_head(Objective((term,)), factors, targets, units.data, threads, None)
    if coding.kind == "multilabel":
        asked = ModelRequest("sets", True, True, len(A.T), units.data)
        return tag_head(data, None, targets, asked, threads)
    groups = task.groups(targets, None, 0)
    ones = np.ones(X.shape[0])
    given = PartlyLabelled(data, ones, groups.shares, groups.labelled, units.data)
    pool, _ = fit_pool(given, threads)
    head = class_head(pool, factors.features, factors.targets, groups.prototypes)
    return head, pool.expected


@pytest.mark.slow
@pytest.mark.parametrize("task", ["classes", "sets", "numbers"])
@pytest.mark.parametrize("storage", ["sparse", "dense"])
def test_a_stream_predicts_by_a_pool_of_its_rows(corpus, task, storage):
    X, y, kinds = corpus
    X = X[:400] if storage == "sparse" else X[:400].toarray() * 3000.0
    y = {"classes": y, "sets": tags_of(y, kinds), "numbers": np.where(y < 0, np.nan, 5.0 - y)}[task]
    model = (SSNMFRegressor if task == "numbers" else SSNMFClassifier)(4, random_state=0)
    for part, labels in batches(X, y[:400]):
        model.partial_fit(part, labels)
    assert model.fitted.head is None  # nobody needed it
    head, expected = directly(model, X, y[:400])
    for name in ("weights", "base", "topics"):
        np.testing.assert_allclose(
            getattr(model.pooled_head, name), getattr(head, name), rtol=1e-7, atol=1e-9
        )
    assert model.expected_score_ == expected
    S = model.transform(X)
    shares = S * model.components_.sum(axis=1)
    shares /= shares.sum(axis=1, keepdims=True)
    V = model.view(X)
    scores = V @ head.weights + shares @ head.topics + head.base
    if task == "numbers":
        assert model.predict_interval(X).shape == (400, 2)
        return
    np.testing.assert_allclose(model.scores(X), scores, atol=1e-7)
    lead = scores if task == "classes" else scores - head.thresholds
    np.testing.assert_allclose(model.decision_function(X), lead, atol=1e-7)


def test_the_head_is_fitted_once_a_batch(corpus, monkeypatch):
    X, y, _ = corpus
    fits = []
    fit = supervised.with_stream_head

    def counted(*given):
        return fits.append(1) or fit(*given)

    monkeypatch.setattr(supervised, "with_stream_head", counted)
    model = SSNMFClassifier(4, random_state=0)
    for part, labels in batches(X[:300], y[:300]):
        model.partial_fit(part, labels, classes=[0, 1, 2])
        assert hasattr(model, "decision_function")
    assert not fits
    for _ in range(2):
        model.predict_proba(X)
        assert model.expected_score_ is not None
    assert len(fits) == 1
    model.partial_fit(X[300:400], y[300:400])
    model.predict(X)
    assert len(fits) == 2


@pytest.mark.slow
def test_the_pooled_head_predicts_better_than_topics_alone():
    rng = np.random.default_rng(5)
    topics = rng.dirichlet(np.full(200, 0.2), size=6)
    kinds = rng.integers(0, 6, 1200)
    X = sp.csr_array(np.array([rng.multinomial(8, topics[k]) for k in kinds]) / 8.0)
    y = np.where(rng.random(1200) < 0.05, kinds, -1)
    scores = {}
    for head in ("pooled", "refit"):
        model = SSNMFClassifier(8, head=head, random_state=0)
        for part, labels in batches(X[:800], y[:800], size=200):
            model.partial_fit(part, labels, classes=range(6))
        scores[head] = model.score(X[800:], kinds[800:])
    assert scores["pooled"] >= scores["refit"] - 0.005  # nearly all are right
    assert scores["pooled"] > 0.8


def test_other_heads_gather_nothing(corpus):
    X, y, _ = corpus
    for head in ("refit", "joint"):
        model = SSNMFClassifier(4, head=head, random_state=0).partial_fit(X, y)
        assert model.fitted.reservoir is None
        assert model.pooled_head is None
        assert not hasattr(model, "expected_score_")
        assert not hasattr(model, "decision_function")


@pytest.mark.slow
def test_the_head_of_a_fit_goes_on_until_the_stream_knows_more(corpus):
    X, y, _ = corpus
    model = SSNMFClassifier(4, random_state=0).fit(X[:600], y[:600])
    head, labels = model.pooled_head, (y[:600] >= 0).sum()
    expected, seen = model.expected_score_, 0
    assert head.labels.tolist() == np.bincount(y[:600][y[:600] >= 0]).tolist()
    for part, own in batches(X, y):
        model.partial_fit(part, own)
        seen += (own >= 0).sum()
        stays = seen < labels
        assert (model.pooled_head.weights is head.weights) == stays
        assert model.pooled_head.labels.sum() == max(seen, labels)
        assert not stays or model.expected_score_ == expected
    assert seen > labels


def test_the_head_of_a_fit_goes_on_while_a_class_is_missing(corpus):
    X, _, kinds = corpus
    model = SSNMFClassifier(4, random_state=0).fit(X[:100], kinds[:100])
    some = kinds != 0
    model.partial_fit(X[some], kinds[some])
    assert (model.predict(X) == kinds).mean() > 0.9
    model.partial_fit(X, kinds)
    assert model.pooled_head.labels.sum() == some.sum() + 900


def test_a_misspelt_class_does_not_hold_the_head_of_a_fit(corpus):
    X, _, kinds = corpus
    known = kinds[:60].astype(str).astype(object)
    known[0] = "typo"
    model = SSNMFClassifier(4, random_state=0).fit(X[:60], known)
    model.partial_fit(X[60:], kinds[60:].astype(str))
    assert model.pooled_head.labels.sum() == len(kinds) - 60


def test_small_weights_change_neither_the_head_nor_the_rows_of_a_stream(corpus):
    X, y, _ = corpus
    found = []
    for weight in (1.0, 1e-5):
        model = SSNMFClassifier(4, random_state=0)
        for part, labels in batches(X, y, size=300):
            model.partial_fit(part, labels, sample_weight=np.full(len(labels), weight))
        found.append((model.expected_score_.n_samples, model.predict_proba(X).max(axis=1).mean()))
    assert found[1] == pytest.approx(found[0], rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_the_head_of_a_fit_keeps_its_units(corpus, scale):
    """The first batch of a stream settles other units than a fit of other rows."""
    X, y, _ = corpus
    dense = X.toarray() + 0.3
    X = np.where(np.arange(900)[:, None] < 600, dense, dense / 20) * scale
    numbers = np.where(y < 0, np.nan, y + 0.5)
    for kind, known in ((SSNMFClassifier, y), (SSNMFRegressor, numbers)):
        model = kind(4, random_state=0).fit(X[:600], known[:600])
        before, units = model.pooled_head, model.fitted.units.data
        model.partial_fit(X[600:700], known[600:700])
        assert model.fitted.units.data != units
        probe = X[:50]
        own = observe(probe).shifted(model.fitted.units.data)
        old = before.scores(
            observe(probe).shifted(units), model.transform(probe), model.components_, Threads()
        )
        new = model.pooled_head.scores(own, model.transform(probe), model.components_, Threads())
        np.testing.assert_allclose(new, old, rtol=1e-8, atol=1e-8)


def test_numbers_below_those_of_a_fit_are_not_clipped(corpus):
    X, _, kinds = corpus
    y = 80.0 + 10.0 * kinds
    high = kinds > 0
    model = SSNMFRegressor(4, random_state=0).fit(X[high][:60], y[high][:60])
    for part, values in batches(X, y):
        model.partial_fit(part, values)
    low = model.predict(X[~high])
    assert np.median(low) == pytest.approx(80.0, abs=1.0)
    assert model.score(X, y) > 0.9


def test_other_numbers_of_topics_forget_the_head_of_a_fit(corpus):
    X, y, kinds = corpus
    model = SSNMFClassifier(4, random_state=0).fit(X, y).set_params(n_components=6)
    model.partial_fit(X[:300], y[:300])
    assert model.pooled_head.topics.shape == (6, 3)
    assert model.score(X, kinds) > 0.9


def test_a_stream_that_was_put_away_predicts_the_same(corpus):
    X, y, _ = corpus
    here = SSNMFClassifier(4, random_state=0).partial_fit(X[:300], y[:300])
    there = pickle.loads(pickle.dumps(here))
    for model in (here, there):
        model.partial_fit(X[300:600], y[300:600])
    np.testing.assert_array_equal(here.predict_proba(X), there.predict_proba(X))
