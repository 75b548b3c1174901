"""The pool: invariants, held-out labels, guesses, and hostile labels."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import softmax

from cofactor.engine.observations import observe
from cofactor.engine.threads import Threads
from cofactor.linear import parts as parts_module
from cofactor.linear import pool as pool_module
from cofactor.linear.axes import principal_axes
from cofactor.linear.folds import assign_folds, distinct_rows
from cofactor.linear.parts import (
    BAYES,
    FLAT,
    MIN_AGREEMENT,
    MIXTURE,
    SOFTMAX,
    SPREAD,
    Labels,
    LinearModel,
    ViewParts,
    softmax_regression,
)
from cofactor.linear.penalties import SOFTMAX_PENALTIES, USUAL_PENALTY
from cofactor.linear.pool import (
    WEIGHING_GROUPS,
    ExpectedScore,
    HeldOutLabels,
    PartlyLabelled,
    _expected,
    _folds,
    _held_out,
    _part_weights,
    _sharpness,
    _unseen_scores,
    _Weighed,
    _with_shares,
    fit_pool,
    held_out_scores,
    judged,
)
from cofactor.linear.views import FURTHER, VECTORS, Matrix, Side

K = 3


class Data:
    """Documents of three classes; ``cells`` are tf-idf, counts or numbers."""

    def __init__(self, kind="tf-idf", n=60, per_class=4, seed=0):
        random = np.random.default_rng(seed)
        words = 40
        themes = random.dirichlet(np.full(words, 0.1), size=K) * 0.6 + 0.4 / words
        self.y = random.integers(0, K, size=n)
        counts = np.stack([random.multinomial(12, themes[c]) for c in self.y]).astype(float)
        if kind == "tf-idf":
            counts *= random.uniform(0.5, 2.0, size=words)
            counts /= np.linalg.norm(counts, axis=1, keepdims=True)
        if kind == "numbers":
            counts = np.eye(K)[self.y] @ random.normal(size=(K, 5)) + random.normal(size=(n, 5))
            counts = np.exp(0.7 * counts)
        self.cells, self.random = counts, random
        self.labelled = np.zeros(n, dtype=bool)
        for c in range(K):
            self.labelled[random.permutation(np.flatnonzero(self.y == c))[:per_class]] = True
        self.counts = np.ones(n)

    @property
    def shares(self):
        return np.eye(K)[self.y]

    def vectors(self, noise=1.0, width=8):
        """Return further vectors that tell the classes apart."""
        random = np.random.default_rng(1)
        middle = random.normal(size=(K, width))
        return middle[self.y] + noise * random.normal(size=(len(self.y), width))

    def further(self, noise=0):
        """Return further features, counts of which some tell the classes apart."""
        random = np.random.default_rng(2)
        rates = np.hstack([np.eye(K)[self.y], np.full((len(self.y), 20), 0.1 + noise)])
        return sp.csr_array(random.poisson(rates).astype(float))

    def fit(self, order=slice(None), threads=1, cells=None, counts=None, exponent=0, **views):
        cells = self.cells if cells is None else cells
        counts = self.counts if counts is None else counts
        side = views.pop("side", None)
        with Threads(threads) as workers:
            keep_samples = views.pop("keep_samples", False)
            given = PartlyLabelled(
                observe(cells[order]),
                counts[order],
                self.shares[order],
                self.labelled[order],
                exponent,
                side=None if side is None else as_side(side)[order],
                **views,
            )
            return fit_pool(given, workers, keep_samples)


def as_side(side):
    return side if isinstance(side, Side) else Side(vectors=side)


KINDS = ["tf-idf", "counts", "numbers"]
VIEWS = {"tf-idf": "rows", "counts": "roots", "numbers": "columns"}


def assert_same(found, expected, rtol=1e-9, atol=1e-9):
    """Pools agree up to rounding; constants in the scores of a sample do not matter."""
    assert found.view.kind == expected.view.kind
    assert found.penalty == expected.penalty
    assert_allclose(list(found.parts.values()), list(expected.parts.values()), atol=1e-9)
    assert_allclose(found.model.weights, expected.model.weights, rtol=rtol, atol=atol)
    assert_allclose(found.model.base, expected.model.base, rtol=rtol, atol=atol)
    assert found.sharpness == expected.sharpness
    assert found.expected.value == pytest.approx(expected.expected.value)


# ---- invariants


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_samples_does_not_matter(kind):
    data = Data(kind)
    pool, scores = data.fit()
    assert pool.view.kind == VIEWS[kind]
    order = np.random.default_rng(1).permutation(len(data.y))
    other, permuted = data.fit(order)
    assert_same(other, pool)
    assert_allclose(permuted, scores[order], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rounding_does_not_choose_between_equal_neighbours(seed):
    """Counts have many equal cosines; roots of scaled counts have other rounding errors."""
    data = Data("counts", seed=seed)
    pool, scores = data.fit()
    other, same = data.fit(cells=np.ldexp(data.cells, -7), exponent=7)
    assert_same(other, pool)
    assert_allclose(same, scores, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_integer_weights_are_repeated_samples(kind):
    data = Data(kind)
    counts = data.random.integers(0, 4, size=len(data.y))
    counts[data.labelled] += 1
    weighted, scores = data.fit(counts=counts.astype(float))
    repeated, twice = data.fit(np.repeat(np.arange(len(data.y)), counts))
    assert_same(repeated, weighted)
    assert_allclose(twice, np.repeat(scores, counts, axis=0), rtol=1e-9, atol=1e-9)
    assert weighted.expected.n_samples == counts[data.labelled].sum()


@pytest.mark.parametrize("kind", KINDS)
def test_bits_do_not_depend_on_threads(kind):
    data = Data(kind)
    pool, scores = data.fit()
    for n in (2, 4):
        other, same = data.fit(threads=n)
        assert_array_equal(same, scores)
        assert_array_equal(other.model.weights, pool.model.weights)
        assert other.parts == pool.parts
        assert other.expected == pool.expected


@pytest.mark.parametrize("kind", KINDS)
def test_storages_agree(kind):
    data = Data(kind)
    pool, scores = data.fit()
    other, same = data.fit(cells=csr_array(data.cells))
    assert_same(other, pool)
    assert_allclose(same, scores, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_units_of_the_data_do_not_matter(kind):
    data = Data(kind)
    pool, scores = data.fit()
    other, same = data.fit(cells=np.ldexp(data.cells, -7), exponent=7)
    assert other.penalty == pool.penalty
    assert_allclose(same, scores, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_samples_of_weight_zero_do_not_count(kind):
    data = Data(kind)
    counts = np.where(np.arange(len(data.y)) % 4 == 0, 0.0, 1.0)
    pool, scores = data.fit(counts=counts)
    other, same = data.fit(np.flatnonzero(counts))
    assert_same(other, pool)
    assert_allclose(same, scores[counts > 0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_the_linear_model(kind):
    data = Data(kind)
    pool, scores = data.fit()
    rows = pool.view.of(observe(data.cells))
    rows = rows if kind == "numbers" else rows.toarray()
    assert_allclose(rows @ pool.model.weights + pool.model.base, scores, atol=1e-9)
    assert_allclose(pool.scores(observe(data.cells), Threads()), scores, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_better_than_chance(kind):
    data = Data(kind, n=150)
    pool, scores = data.fit()
    right = (scores.argmax(axis=1) == data.y)[~data.labelled].mean()
    assert right > 0.6
    assert abs(right - pool.expected.value) < 0.3


@pytest.mark.parametrize("kind", ["tf-idf", "numbers"])
def test_the_model_is_the_weighted_sum_of_its_parts(kind):
    data = Data(kind)
    pool, scores = data.fit()
    rows = pool.view.of(observe(data.cells))
    X = Matrix(rows, Threads())
    labels = Labels(
        np.where(data.labelled[:, None], data.shares, 0.0), data.labelled.astype(float), data.counts
    )
    work = ViewParts(X, labels)
    parts = {
        name: work.fit_part(name, labels, parts_module.EM_ROUNDS).scores(X)
        for name in pool.parts
        if name != SOFTMAX
    }
    parts[SOFTMAX] = softmax_regression(X, labels.shares, labels.weights, pool.penalty).scores(X)
    total = sum(pool.parts[name] * z for name, z in parts.items())
    centred = [z - z.mean(axis=1, keepdims=True) for z in (scores, total)]
    assert_allclose(*centred, atol=0.03 * np.abs(centred[0]).max())


# ---- held-out labels


def labels_of(y, weights=None):
    """Labels of samples; −1 is unknown."""
    y = np.asarray(y)
    shares = np.where((y >= 0)[:, None], np.eye(y.max() + 1)[y], 0.0)
    counts = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    return Labels(shares, np.where(y >= 0, counts, 0.0), counts)


@pytest.mark.parametrize(("per_class", "folds"), [(7, 10), (40, 5)])
def test_folds_are_stratified(per_class, folds):
    y = np.r_[np.repeat(np.arange(3), per_class), np.full(20, -1)]
    y = np.random.default_rng(0).permutation(y)
    place, n_folds = _folds(labels_of(y))
    assert n_folds == folds
    assert_array_equal(place[y < 0], -1)
    for c in range(3):
        sizes = np.bincount(place[y == c], minlength=n_folds)
        assert sizes.max() - sizes.min() <= 1
    sizes = np.bincount(place[y >= 0], minlength=n_folds)
    assert sizes.max() - sizes.min() <= 1


def test_a_class_with_one_label_is_not_held_out():
    place, _ = _folds(labels_of([0, 0, 0, 1, 2, 2, -1]))
    assert_array_equal(place >= 0, [True, True, True, False, True, True, False])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("together", [1, 2**20])
def test_held_out_labels_do_not_see_themselves(kind, together, monkeypatch):
    """The scores of a sample are those of parts that never saw the labels of its fold."""
    monkeypatch.setattr(pool_module, "MAX_TABLE_CELLS", together)
    monkeypatch.setattr(parts_module, "MIN_SOFTMAX_SLOPE", 1e-6)
    monkeypatch.setattr(parts_module, "MIN_SOFTMAX_DECREASE", 0.0)
    data = Data(kind, n=40, per_class=5)
    cells = data.cells if kind == "numbers" else csr_array(data.cells)
    X = Matrix(cells, Threads())
    labels = labels_of(np.where(data.labelled, data.y, -1))
    place, _ = _folds(labels)
    work = ViewParts(X, labels)
    held, Z = _held_out(work)
    assert all(z.shape == (15, K, len(work.names)) for z in Z.values())
    known = np.flatnonzero(place >= 0)
    assert_array_equal(held, known)
    for fold in (0, 7):
        out = np.flatnonzero(place == fold)
        rest = labels.without(place == fold)
        for i, name in enumerate(work.names):
            if name == SOFTMAX:
                model = softmax_regression(X, rest.shares, rest.weights, SOFTMAX_PENALTIES[0])
            else:
                model = work.fit_part(name, rest, pool_module.FOLD_ROUNDS)
            found = Z[SOFTMAX_PENALTIES[0]][np.isin(known, out), :, i]
            expected = model.scores(X.select(out))
            assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())


def test_many_labels_hold_out_one_fold(monkeypatch):
    monkeypatch.setattr(pool_module, "MAX_TEN_FOLD_LABELS", 20)
    monkeypatch.setattr(pool_module, "MAX_CROSS_VALIDATED_LABELS", 30)
    data = Data("numbers", n=80, per_class=15)
    pool, _ = data.fit()
    assert pool.expected.n_samples == 9


def test_part_weights_minimise_their_cost():
    random = np.random.default_rng(0)
    Z, truth = random.normal(size=(30, K, 2)), np.eye(K)[random.integers(0, K, size=30)]
    Z[:, :, 1] += 1.5 * truth
    weight, prior = random.uniform(0.5, 2.0, size=30), np.array([0.4, 1.0])

    def cost(beta):
        P = softmax(Z @ beta, axis=1)
        own = -weight @ np.log((P * truth).sum(axis=1))
        return own + 3.0 / 2 * ((beta - prior) ** 2).sum()

    found, value = _part_weights(Z, truth, weight, prior, 3.0)
    best = minimize(cost, prior, bounds=[(0.05 * b, None) for b in prior])
    assert_allclose(found, best.x, atol=1e-3)
    assert value == pytest.approx(cost(found))


def test_unlucky_labels_do_not_silence_all_parts():
    """Held-out labels that all parts get wrong leave the least weights."""
    random = np.random.default_rng(0)
    truth = np.eye(K)[random.integers(0, K, size=400)]
    Z = np.repeat(-9.0 * truth[:, :, None], 3, axis=2)
    prior = np.array([0.35, 0.35, 1.0])
    found, _ = _part_weights(Z, truth, np.ones(400), prior, 10.0)
    assert_allclose(found, 0.05 * prior)


@pytest.mark.parametrize("kind", KINDS)
def test_labels_at_random_leave_every_usual_part_some_weight(kind):
    data = Data(kind)
    data.y = data.random.permutation(data.y)
    data.labelled[:] = data.random.random(len(data.y)) < 0.5
    pool, _ = data.fit()
    usual = {BAYES: 0.35, FLAT: 0.35, SOFTMAX: 1.0, SPREAD: 0.3 if kind == "numbers" else 0.0}
    for name, weight in pool.parts.items():
        assert weight >= 0.05 * usual[name] * (1 - 1e-9)
    assert max(pool.parts.values()) > 0
    assert pool.expected.value < 0.7


@pytest.mark.parametrize(("right", "n"), [(0, 7), (3, 10), (10, 10), (60, 60), (999, 1000)])
def test_the_expected_score_is_wilsons_interval(right, n):
    truth, scores = np.tile([1.0, 0.0], (n, 1)), np.tile([0.0, 1.0], (n, 1))
    scores[:right] = [1.0, 0.0]
    found = _expected(judged(scores, truth, np.ones(n)))
    assert found.value == right / n
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0
    assert found.n_samples == n
    for bound in {found.low, found.high} - {found.value}:  # Wilson's: |p − q| = z √(q(1−q)/n)
        expected = 1.96 * np.sqrt(bound * (1 - bound) / n)
        assert abs(found.value - bound) == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_the_expected_score_counts_weights():
    truth, scores = np.eye(2)[[0, 0, 1]], np.eye(2)[[0, 1, 1]]
    found = _expected(judged(scores, truth, np.array([1.0, 5.0, 2.0])))
    assert found.value == pytest.approx(3 / 8)
    assert found.n_samples == 8.0
    assert isinstance(found, ExpectedScore)


# ---- guesses


@pytest.mark.parametrize("kind", KINDS)
def test_guesses_are_sparse_shares(kind):
    data = Data(kind)
    pool, scores = data.fit()
    Q = pool.guesses(scores)
    assert_allclose(Q.sum(axis=1), 1.0)
    assert_array_equal(Q.argmax(axis=1), scores.argmax(axis=1))
    P = softmax(pool.sharpness * scores, axis=1)
    dropped = 0.02 * P.max(axis=1, keepdims=True) > P
    assert_array_equal(Q == 0, dropped)
    kept = np.where(dropped, 0.0, P)
    assert_allclose(Q, kept / kept.sum(axis=1, keepdims=True))
    assert_allclose(pool.shares(observe(data.cells), Threads()), Q, atol=1e-9)


def test_guesses_are_as_sharp_as_need_be():
    z = 0.1 * np.random.default_rng(0).normal(size=(50, 4))
    t = _sharpness(z)

    def sure(t):
        return softmax(t * z, axis=1).max(axis=1).mean()

    assert sure(t) >= 0.6 > sure(t / 1.3)
    assert _sharpness(50 * z) == 1.0
    assert _sharpness(0 * z) == 64.0
    assert _sharpness(z[:0]) == 1.0


# ---- which parts there are


def test_all_labelled_samples_need_no_graph():
    for kind in ("tf-idf", "numbers"):
        data = Data(kind)
        data.labelled[:] = True
        pool, _ = data.fit()
        assert SPREAD not in pool.parts
        assert SOFTMAX in pool.parts
        assert (BAYES in pool.parts) == (kind == "tf-idf")


def test_the_graph_holds_the_labelled_and_some_others(monkeypatch):
    monkeypatch.setattr(parts_module, "MAX_GRAPH_ROWS", 20)
    data = Data("numbers")
    labels = labels_of(np.where(data.labelled, data.y, -1))
    work = ViewParts(Matrix(data.cells, Threads()), labels)
    assert len(work.graph_rows) == 20
    assert set(np.flatnonzero(data.labelled)) <= set(work.graph_rows.tolist())
    pool, _ = data.fit()
    assert np.isfinite(pool.model.weights).all()


def test_one_label_a_class_uses_usual_weights():
    data = Data("tf-idf", per_class=1)
    pool, _ = data.fit()
    assert pool.expected is None
    assert pool.penalty == USUAL_PENALTY
    assert sorted(pool.parts.values()) == [0.0, 0.3, 0.5, 1.0]
    assert pool.parts[SOFTMAX] == 1.0
    data = Data("numbers", per_class=1)
    pool, _ = data.fit()
    assert pool.parts == {SOFTMAX: 0.3, SPREAD: 1.0}


@pytest.mark.parametrize("drifts", [False, True])
def test_lost_classes_choose_equal_shares(drifts, monkeypatch):
    monkeypatch.setattr(ViewParts, "drifts", lambda self, models: drifts)
    pool, _ = Data("tf-idf", per_class=1).fit()
    assert (pool.parts[BAYES], pool.parts[FLAT]) == ((0.0, 0.5) if drifts else (0.5, 0.0))


def test_agreement_is_one_for_equal_parts_and_none_by_chance():
    y = np.tile([0, 1], 8)
    labels = labels_of(np.where(np.arange(16) < 2, y, -1))
    parts = ViewParts(Matrix(csr_array(np.eye(16) + 0.1), Threads()), labels)
    right = LinearModel(np.eye(2)[y], np.zeros(2))
    half = LinearModel(np.eye(2)[(np.arange(16) // 2) % 2], np.zeros(2))
    assert parts.agreement({SOFTMAX: right, BAYES: right}) == pytest.approx(1 + MIN_AGREEMENT)
    assert parts.agreement({SOFTMAX: right, BAYES: half}) == pytest.approx(MIN_AGREEMENT)


@pytest.mark.parametrize(("words", "vectors"), [(0.3, 0.3), (0.6, 0.3), (0.1, 0.5)])
def test_vectors_count_by_agreements_where_no_label_can_be_held_out(words, vectors, monkeypatch):
    """As usual if both agree on three of ten; less beside words that agree with themselves."""
    data = Data(per_class=1)
    side = data.vectors()
    found = {True: vectors, False: words}
    monkeypatch.setattr(ViewParts, "agreement", lambda self, models: found[self.vectors])
    weights = data.fit(side=side)[0].parts
    monkeypatch.setattr(ViewParts, "agreement", lambda self, models: 1 - np.sqrt(0.5))
    usual = data.fit(side=side)[0].parts
    ratio = vectors * 2 * (1 - words) ** 2 / words
    assert weights["softmax"] == pytest.approx(2 / (1 + ratio) * usual["softmax"])
    share = 2 * ratio / (1 + ratio)
    assert weights["vectors softmax"] == pytest.approx(share * usual["vectors softmax"])
    assert usual["softmax"] == pytest.approx(0.5)


def test_evenness_is_the_effective_share_of_classes():
    data = Data("numbers")
    labels = labels_of(np.where(data.labelled, data.y, -1))
    work = ViewParts(Matrix(np.eye(60), Threads()), labels)
    even = parts_module.LinearModel(np.eye(K)[np.arange(60) % K], np.zeros(K))
    assert work.evenness(even) == pytest.approx(1.0)
    one = parts_module.LinearModel(np.zeros((60, K)), np.array([1.0, 0.0, 0.0]))
    assert work.evenness(one) == pytest.approx(1 / K)
    two = parts_module.LinearModel(np.eye(K)[np.arange(60) % 2], np.zeros(K))
    assert work.evenness(two) == pytest.approx(2 / K)


# ---- hostile labels and data


def hostile(name, kind):
    data = Data(kind)
    y, labelled = data.y, np.zeros_like(data.labelled)
    firsts = [np.flatnonzero(y == c)[0] for c in range(K)]
    match name:
        case "one label in all":
            labelled[firsts[:1]] = True
        case "two classes, one label each":
            labelled[firsts[:2]] = True
        case "one class":
            labelled[y == 1] = True
        case "equal rows":
            data.cells = np.repeat(data.cells[:1], len(y), axis=0)
            labelled = data.labelled
        case "fewer rows than neighbours":
            keep = np.r_[firsts, 40:44]
            data.cells, data.y, data.counts = data.cells[keep], y[keep], np.ones(len(keep))
            labelled = np.arange(len(keep)) < K
        case "empty rows":
            data.cells = data.cells.copy()
            data.cells[::5] = 0.0
            labelled = data.labelled
        case "only empty rows":
            data.cells = np.zeros_like(data.cells)
            labelled = data.labelled
        case "one feature":
            data.cells = data.cells[:, :1]
            labelled = data.labelled
    data.labelled = labelled
    return data


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name",
    [
        "one label in all",
        "two classes, one label each",
        "one class",
        "equal rows",
        "fewer rows than neighbours",
        "empty rows",
        "only empty rows",
        "one feature",
    ],
)
def test_hostile_input_gives_finite_results(name, kind):
    data = hostile(name, kind)
    pool, scores = data.fit()
    assert np.isfinite(scores).all()
    assert np.isfinite(pool.model.weights).all()
    Q = pool.guesses(scores)
    assert_allclose(Q.sum(axis=1), 1.0)
    assert max(pool.parts.values()) > 0
    if name in ("equal rows", "only empty rows"):
        assert_allclose(Q, Q[:1].repeat(len(Q), axis=0), atol=1e-9)
    if name == "one label in all":
        assert_array_equal(scores.argmax(axis=1), data.y[data.labelled][0])
    if name in ("one label in all", "two classes, one label each", "fewer rows than neighbours"):
        assert pool.expected is None


def test_a_sample_alone():
    for cells in (np.ones((1, 3)), np.zeros((1, 3)), np.array([[1.5, 0.0, 0.2]])):
        everyone = np.ones(1, dtype=bool)
        given = PartlyLabelled(observe(cells), np.ones(1), np.ones((1, 1)), everyone)
        found, scores = fit_pool(given, Threads())
        assert np.isfinite(scores).all()
        assert_array_equal(found.guesses(scores), 1.0)


def test_soft_labels():
    data = Data("tf-idf")
    soft = 0.8 * data.shares + 0.2 / K
    given = PartlyLabelled(observe(data.cells), data.counts, soft, data.labelled)
    found, scores = fit_pool(given, Threads())
    assert np.isfinite(scores).all()
    assert (scores.argmax(axis=1) == data.y)[data.labelled].mean() > 0.9
    sharp, _ = data.fit()
    assert found.expected.n_samples == sharp.expected.n_samples


def test_an_unknown_score_of_a_number_is_said():
    found = ExpectedScore(0.5, 0.4, 0.6, 9.0, "R²", targets=(0.5, np.nan), natural=(0.4, np.nan))
    assert found.said(["price", "size"]).endswith(
        "price 0.50 of logarithms, 0.40 in its units; size unknown"
    )


def test_pools_are_replaceable():
    pool, scores = Data("tf-idf").fit()
    flat = replace(pool, sharpness=0.0)
    assert_allclose(flat.guesses(scores), 1 / K)


def test_held_out_scores_do_not_know_the_label(monkeypatch):
    """A feature of one sample alone says its class to a model that saw the label, and no other."""
    monkeypatch.setattr(
        pool_module, "MAX_CROSS_VALIDATED_LABELS", 10
    )  # so that a fit would hold out one fold only
    y = np.arange(30) % 3
    cells = csr_array(np.eye(30))
    ones, everyone = np.ones(30), np.ones(30, dtype=bool)
    given = PartlyLabelled(observe(cells), ones, np.eye(3)[y], everyone)
    scores = held_out_scores(given, Threads())
    assert np.isfinite(scores).all()
    assert (scores.argmax(axis=1) == y).mean() < 0.6
    _, seen = fit_pool(given, Threads())
    assert (seen.argmax(axis=1) == y).all()


def test_equal_samples_are_held_out_together():
    y = np.array([0, 0, 0, 1, 1, 1, 2, -1])
    cells = np.abs(np.random.default_rng(0).normal(size=(8, 5)))
    cells[1] = cells[0]
    labelled = y >= 0
    shares = np.eye(3)[np.maximum(y, 0)]
    given = PartlyLabelled(observe(cells), np.ones(8), shares, labelled)
    scores = held_out_scores(given, Threads())
    assert np.isnan(scores[6:]).all()  # a single label, and none
    assert np.isfinite(scores[:6]).all()
    assert_array_equal(scores[0], scores[1])


@pytest.mark.parametrize("side", [False, True], ids=["words", "with vectors"])
def test_a_pool_without_some_labels_does_not_know_whose_they_are(side):
    """The labels left count for those of their class, so only the numbers of these matter."""
    data = Data(n=90, per_class=12)
    vectors = as_side(data.vectors()) if side else None
    rows = np.flatnonzero(data.labelled)[::5]
    y = data.y.copy()
    y[rows] = np.roll(y[rows], 1)
    assert (y[rows] != data.y[rows]).any()
    held_out = []
    for labels in (data.y, y):
        known = data.counts, np.eye(K)[labels], data.labelled
        given = PartlyLabelled(observe(data.cells), *known, side=vectors)
        held_out.append(HeldOutLabels(given, Threads(), every=False))
    held_out[1].weighed = held_out[0].weighed
    found, other = (one.pool_without(rows).model for one in held_out)
    assert_allclose(other.weights, found.weights, rtol=1e-9, atol=1e-9)
    if not side:  # vectors correct the base by the accuracy of all held-out labels
        assert_allclose(other.base, found.base, rtol=1e-9, atol=1e-9)
    fitted, _ = data.fit(side=vectors)
    whole = held_out[0].pool_without(rows[:0]).model
    assert_allclose(whole.weights, fitted.model.weights, rtol=1e-9, atol=1e-9)
    assert_allclose(whole.base, fitted.model.base, rtol=1e-9, atol=1e-9)
    assert np.abs(whole.weights - found.weights).max() > 1e-3


# ---- further vectors of the samples


def assert_same_side(found, expected):
    assert_same(found, expected)
    means = found.side.vectors.mean, expected.side.vectors.mean
    assert_allclose(*means, rtol=1e-12, atol=1e-12)
    assert found.side_weights.keys() == expected.side_weights.keys()
    for name, weights in expected.side_weights.items():
        assert_allclose(found.side_weights[name], weights, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_samples_with_vectors_does_not_matter(kind):
    data = Data(kind)
    side = data.vectors()
    pool, scores = data.fit(side=side)
    order = np.random.default_rng(1).permutation(len(data.y))
    other, permuted = data.fit(order, side=side)
    assert_same_side(other, pool)
    assert_allclose(permuted, scores[order], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_integer_weights_are_repeated_samples_with_vectors(kind):
    data = Data(kind)
    side, counts = data.vectors(), data.random.integers(0, 4, size=len(data.y))
    counts[data.labelled] += 1
    weighted, scores = data.fit(counts=counts.astype(float), side=side)
    repeated, twice = data.fit(np.repeat(np.arange(len(data.y)), counts), side=side)
    assert_same_side(repeated, weighted)
    assert_allclose(twice, np.repeat(scores, counts, axis=0), rtol=1e-9, atol=1e-9)


def test_samples_with_different_vectors_are_distinct():
    data = Data(n=30)
    cells = np.repeat(data.cells[:1], 30, axis=0)  # words say nothing
    pool, scores = data.fit(cells=cells, side=data.vectors(0.1))
    assert (scores.argmax(axis=1) == data.y).all()
    assert pool.expected.n_samples == np.count_nonzero(data.labelled)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("per_class", [1, 4])
def test_scores_add_up_over_views(kind, per_class):
    data = Data(kind, per_class=per_class)
    side = data.vectors()
    pool, scores = data.fit(side=side)
    words = pool.scores(observe(data.cells), Threads())
    vectors = pool.side.vectors.of(side) @ pool.side_weights[VECTORS]
    assert_allclose(words + vectors, scores, rtol=1e-9, atol=1e-9)
    parts = (SOFTMAX, SPREAD) if per_class == 1 else (SOFTMAX, SPREAD, MIXTURE)
    assert [name for name in pool.parts if name.startswith("vectors ")] == [
        f"vectors {part}" for part in parts
    ]
    assert all(weight >= 0 for weight in pool.parts.values())


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_that_tell_classes_apart_help(kind):
    data = Data(kind, n=200, per_class=3)
    mixed = data.cells[data.random.permutation(200)]  # words that say nothing
    right = [
        np.mean(data.fit(cells=mixed, side=side)[1].argmax(axis=1) == data.y)
        for side in (None, data.vectors(0.2))
    ]
    assert right[0] < 0.5
    assert right[1] > 0.8


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("vectors", [False, True])
def test_scores_of_further_features_add_up(kind, vectors):
    data = Data(kind)
    further = data.further()
    side = Side(data.vectors() if vectors else None, further)
    pool, scores = data.fit(side=side)
    lengths = np.sqrt((further.toarray() ** 2).sum(axis=1, keepdims=True))
    unit = further.toarray() / np.where(lengths > 0, lengths, 1.0) / pool.side.further.scale
    total = pool.view.of(observe(data.cells)) @ pool.model.weights + pool.model.base
    total += unit @ pool.side_weights[FURTHER]
    if vectors:
        total += pool.side.vectors.of(side.vectors) @ pool.side_weights[VECTORS]
    assert_allclose(total, scores, rtol=1e-9, atol=1e-9)
    assert (pool.side.vectors is not None) == vectors
    spread = 1 - ((unit * pool.side.further.scale).mean(axis=0) ** 2).sum()
    spread -= np.mean(lengths == 0)  # empty rows have no length
    assert_allclose(pool.side.further.scale, np.sqrt(spread), rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("per_class", [4, 8])
def test_further_features_of_permuted_and_repeated_samples(kind, per_class):
    data = Data(kind, per_class=per_class)
    side, counts = Side(data.vectors(), data.further()), np.arange(len(data.y)) % 3
    pool, scores = data.fit(counts=counts.astype(float), side=side)
    rows = np.random.default_rng(3).permutation(np.repeat(np.arange(len(data.y)), counts))
    other, again = data.fit(rows, side=side)
    assert_same_side(other, pool)
    assert_allclose(again, scores[rows], rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_further_features_that_tell_classes_apart_help(kind):
    data = Data(kind, n=300, per_class=10)
    mixed = data.cells[data.random.permutation(300)]  # words that say nothing
    right = [
        np.mean(data.fit(cells=mixed, side=side)[1].argmax(axis=1) == data.y)
        for side in (None, Side(further=data.further()))
    ]
    assert right[0] < 0.5
    assert right[1] > right[0] + 0.15


def test_further_features_lose_no_class_where_no_label_can_be_held_out():
    """No neighbours would notice it, so classes have equal shares."""
    pool, _ = Data(n=200, per_class=1).fit(side=Side(further=Data(n=200).further()))
    assert pool.expected is None
    assert pool.parts[FURTHER + BAYES] == 0.0
    assert pool.parts[FURTHER + FLAT] > 0.0


def test_samples_that_differ_in_further_features_are_distinct():
    data = Data()
    data.cells[1], data.y[1], data.labelled[1] = data.cells[0], data.y[0], data.labelled[0]
    further = data.further().tolil()
    further[1] = 0
    further[0, 3] = 1
    found = [
        distinct_rows(
            sp.csr_array(data.cells), data.shares, data.labelled, data.counts, Side(further=rows)
        )
        for rows in (sp.csr_array(further), sp.csr_array((len(data.y), 3)))
    ]
    assert [len(one.rows) for one in found] == [len(data.y), len(data.y) - 1]


def test_vectors_equal_to_the_features_say_the_same():
    data = Data("numbers", n=120, per_class=10)
    alone, scores = data.fit()
    both, twice = data.fit(side=alone.view.of(observe(data.cells)))
    assert twice.shape == scores.shape
    assert np.mean(twice.argmax(axis=1) == scores.argmax(axis=1)) > 0.95
    assert both.side_weights[VECTORS].shape == alone.model.weights.shape
    assert both.expected.n_samples == alone.expected.n_samples


@pytest.mark.parametrize("kind", KINDS)
def test_views_teach_each_other_where_no_label_can_be_held_out(kind):
    """The words of the labelled samples say nothing; those of what their vectors find do."""
    data = Data(kind, n=200, per_class=1, seed=3)
    cells, side = data.cells.copy(), data.vectors(0.2)
    cells[data.labelled] = cells[data.labelled].mean(axis=0)
    alone, _ = data.fit(cells=cells)
    both, _ = data.fit(cells=cells, side=side)
    right = []
    for pool in alone, both:
        words = np.asarray(pool.view.of(observe(cells)) @ pool.model.weights)
        right.append(np.mean((words - words.mean(axis=0)).argmax(axis=1) == data.y))
    assert right[1] > right[0] + 0.2


def test_a_fit_holds_few_copies_of_vectors(monkeypatch):
    """Vectors have 4 bytes per number; a fit takes at most six times as much beside them."""
    monkeypatch.setattr(parts_module, "MAX_GRAPH_ROWS", 100)
    data = Data(n=4000)
    side = data.vectors(width=300).astype(np.float32)
    peaks = []
    for given in (None, side):
        tracemalloc.start()
        data.fit(side=given)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 6 * side.nbytes


# ---- shares of the classes


@pytest.mark.parametrize("right", [0.0, 0.5, 1.0])
def test_vectors_take_over_the_shares_that_all_views_guess(right):
    """As far as held-out labels are predicted better than by chance."""
    y = np.repeat([0, 1], [9, 3])
    known = np.isin(np.arange(12), [0, 1, 9, 10])
    labels = labels_of(np.where(known, y, -1))
    X = Matrix(np.eye(2)[y], Threads())
    views = [ViewParts(X, labels), ViewParts(X, labels, vectors=True)]
    words = LinearModel(50.0 * np.eye(2), np.zeros(2))
    vectors = LinearModel(np.zeros((2, 2)), np.zeros(2))
    out = np.array([0, 1, 9, 10])
    guessed = np.where(np.arange(4) < 4 * right, y[out], 1 - y[out])
    weighed = _Weighed([], [], out, np.eye(2)[guessed], np.ones((4, 2)))
    models, corrected = _with_shares(views, [words, vectors], weighed)
    power = max(0.0, 2 * right - 1)
    expected = power * np.log(
        [10 / 7, 4 / 7]
    )  # 9 and 3 of 12, in place of 6 each, one more of each
    assert models[0] is words
    assert_allclose(models[1].base, expected, atol=1e-9)
    assert_allclose(corrected.unseen, weighed.unseen + expected, atol=1e-9)


def test_evenly_drawn_labels_of_uneven_classes_do_not_mislead_vectors(monkeypatch):
    random = np.random.default_rng(0)
    data = Data(n=400)
    data.y = random.choice(K, size=400, p=[0.9, 0.05, 0.05])
    themes = random.dirichlet(np.full(40, 0.1), size=K) * 0.6 + 0.4 / 40
    data.cells = np.stack([random.multinomial(12, themes[c]) for c in data.y]) / 12.0
    data.labelled = np.isin(
        np.arange(400), np.concatenate([np.flatnonzero(data.y == c)[:3] for c in range(K)])
    )
    side = data.vectors(3.0)
    pool, scores = data.fit(side=side)
    monkeypatch.setattr(pool_module, "_with_shares", lambda views, *unchanged: unchanged)
    plain, before = data.fit(side=side)
    assert_allclose(pool.side_weights[VECTORS], plain.side_weights[VECTORS])
    right, earlier = (np.mean(z.argmax(axis=1) == data.y) for z in (scores, before))
    assert right > earlier + 0.02
    correction = pool.model.base - plain.model.base
    assert correction.argmax() == 0
    assert_allclose(scores, before + correction)


def test_held_out_scores_are_those_of_the_expected_score():
    data = Data(n=120, per_class=6)
    side = data.vectors(2.0)
    pool, _ = data.fit(side=side)
    known = data.counts, data.shares, data.labelled
    given = PartlyLabelled(observe(data.cells), *known, side=as_side(side))
    scores = HeldOutLabels(given, Threads(), every=False).scores()
    out = np.flatnonzero(~np.isnan(scores[:, 0]))
    confidence, right, _ = pool.held_out
    assert_allclose(np.sort(softmax(scores[out], axis=1).max(axis=1)), np.sort(confidence))
    assert np.mean(scores[out].argmax(axis=1) == data.y[out]) == pytest.approx(right.mean())


def test_the_expected_score_is_read_with_weights_that_other_labels_chose(monkeypatch):
    """Vectors and features at random say nothing: only weights that fit labels say otherwise."""
    honest = [_noise(seed).expected.value for seed in range(20)]
    monkeypatch.setattr(
        pool_module, "_unseen_scores", lambda Z, *rest: Z @ _part_weights(Z, *rest)[0]
    )
    fitted = [_noise(seed).expected.value for seed in range(20)]
    assert np.mean(honest) < np.mean(fitted) - 0.01
    assert np.mean(honest) < 1 / K + 0.04


def _noise(seed):
    random = np.random.default_rng(seed)
    data = Data(n=180, per_class=30, seed=seed)
    data.cells = random.poisson(0.3, size=(180, 40)) + np.eye(180, 40)
    further = csr_array(random.poisson(0.1, size=(180, 200)).astype(float))
    return data.fit(side=Side(random.normal(size=(180, 32)), further))[0]


def test_unseen_scores_do_not_depend_on_labels_of_the_same_group():
    random = np.random.default_rng(0)
    y = np.repeat(np.arange(K), 20)
    Z = random.normal(size=(60, K, 2)) + np.eye(K)[y][:, :, None] * [0.5, 1.5]
    weighing = np.ones(60), np.array([0.4, 1.0]), 10.0
    own = assign_folds(y, WEIGHING_GROUPS) == 0
    other = np.where(own, 0.0, 1.0)  # of no cost: as if the group had no labels
    found = _unseen_scores(Z, np.eye(K)[y], *weighing)
    assert_allclose(found[own], Z[own] @ _part_weights(Z, np.eye(K)[y], other, *weighing[1:])[0])
    assert np.abs(found - Z @ _part_weights(Z, np.eye(K)[y], *weighing)[0]).min() > 0


# ---- axes of the features


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("per_class", [1, 4])
@pytest.mark.parametrize("with_side", [False, True])
def test_weights_of_axes_are_folded_back_to_the_features(kind, per_class, with_side):
    data = Data(kind, per_class=per_class)
    side = data.vectors() if with_side else None
    pool, scores = data.fit(side=side, exposed=True)
    assert pool.model.weights.shape == (data.cells.shape[1], K)
    own = pool.scores(observe(data.cells), Threads())
    if side is not None:
        own = own + pool.side.vectors.of(side) @ pool.side_weights[VECTORS]
    assert_allclose(own, scores, rtol=1e-9, atol=1e-9)
    names = [f"axes {SOFTMAX}", f"axes {SPREAD}"]
    assert [name for name in pool.parts if name.startswith("axes ")] == names
    assert (pool.expected is None) == (per_class == 1)


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_samples_with_axes_does_not_matter(kind):
    data = Data(kind)
    pool, scores = data.fit(exposed=True)
    order = data.random.permutation(len(data.y))
    other, permuted = data.fit(order, exposed=True)
    assert_same(other, pool)
    assert_allclose(permuted, scores[order], rtol=1e-9, atol=1e-9)


def test_axes_fold_to_the_same_scores():
    data = Data("numbers", n=120, per_class=10)
    pool, _ = data.fit(exposed=True)
    rows = Matrix(pool.view.of(observe(data.cells)), Threads())
    axes = principal_axes(rows, data.counts)
    w, base = data.random.normal(size=(axes.basis.shape[1], K)), data.random.normal(size=K)
    weights, folded = axes.fold(w, base)
    assert_allclose(rows.values @ weights + folded, axes.of(rows).values @ w + base, atol=1e-12)


@pytest.mark.parametrize("width", [4, 300])
def test_held_out_samples_of_both_views_are_the_same(width, monkeypatch):
    """Views with more columns fit fewer folds side by side, so they hold out in another order."""
    monkeypatch.setattr(pool_module, "MAX_TABLE_CELLS", 3 * K * 80)
    data = Data(n=80, per_class=12)
    mixed = data.cells[data.random.permutation(80)]  # words that say nothing
    pool, _ = data.fit(cells=mixed, side=data.vectors(0.1, width=width))
    assert pool.expected.value > 0.9


def test_held_out_scores_see_vectors():
    data = Data(n=60, per_class=10)
    mixed, everyone = data.cells[data.random.permutation(60)], np.ones(60, dtype=bool)
    known = observe(mixed), np.ones(60), data.shares, everyone
    right = [
        np.mean(
            held_out_scores(PartlyLabelled(*known, side=side), Threads()).argmax(axis=1) == data.y
        )
        for side in (None, as_side(data.vectors(0.2)))
    ]
    assert right[0] < 0.6
    assert right[1] > 0.9
