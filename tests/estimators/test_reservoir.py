"""The rows that a stream keeps: an even sample within a bound, however the stream was cut."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp

from cofactor.engine.observations import observe
from cofactor.estimators import reservoir as module
from cofactor.estimators.classification_or_regression import Classification
from cofactor.estimators.reservoir import Reservoir
from cofactor.targets.classes import encode_classes

TASK = Classification()
N, WORDS = 400, 30
RANDOM = np.random.default_rng(0)
X = sp.random_array((N, WORDS), density=0.3, rng=RANDOM, format="csr")
COSTS = np.diff(X.indptr)


def gathered(y, cuts=(), counts=None, X=X):
    """The reservoir of a stream that is cut into batches, and rows by number in the first cell."""
    targets, coding = encode_classes(y, n_samples=len(y))
    kept = Reservoir.empty(targets.n_targets)
    for part in np.split(np.arange(len(y)), cuts):
        own = encode_classes(np.asarray(y)[part], n_samples=len(part), coding=coding)[0]
        weights = None if counts is None else counts[part]
        labels = TASK.labels(own, weights)
        kept = kept.plus(observe(X[part]), own, weights, labels)
    return kept


def places(kept, X=X):
    """Which rows of the stream a reservoir holds."""
    data = kept.sample()[0]
    table = {tuple(row): i for i, row in enumerate(X.toarray())}
    layout = data.layout
    cells = sp.csr_array((layout.values, layout.column_numbers(), layout.start), data.shape)
    return np.array([table[tuple(row)] for row in cells.toarray()], dtype=int)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(module, "SAMPLE_CELLS", 1000)


FEW = np.where(np.arange(N) % 8 == 0, np.arange(N) % 3, -1)
CUTS = {"one": (), "even": range(50, N, 50), "single": range(1, N), "odd": (3, 4, 200, 390)}


@pytest.mark.slow
@pytest.mark.parametrize("y", [FEW, np.arange(N) % 3], ids=["few", "all"])
@pytest.mark.parametrize("cuts", CUTS)
def test_the_sample_does_not_depend_on_the_batches(y, cuts, small):
    whole, cut = gathered(y), gathered(y, CUTS[cuts])
    assert_array_equal(places(cut), places(whole))
    for a, b in zip(cut.sample()[1:], whole.sample()[1:], strict=True):
        values = [
            part if isinstance(part, np.ndarray) else part.values.toarray() for part in (a, b)
        ]
        assert_allclose(*values, rtol=1e-12)
    assert_allclose(cut.labels, whole.labels)
    assert cut.seen == whole.seen == N


def test_everything_is_kept_below_the_bound():
    kept = gathered(FEW, (100, 200))
    data, targets, counts = kept.sample()
    assert_array_equal(places(kept), np.arange(N))
    assert_array_equal(counts, 1.0)
    assert_array_equal(targets.labelled, FEW >= 0)
    assert data.n_listed == X.nnz


def test_labelled_rows_come_first(small):
    kept = gathered(FEW, (100, 200))
    own = places(kept)
    assert set(np.flatnonzero(FEW >= 0)) <= set(own)
    cells = COSTS[own].sum() + (FEW[own] >= 0).sum()
    assert 1000 - COSTS.max() - 1 <= cells <= 1000
    assert (np.diff(own) > 0).all()


def test_the_sample_is_even(small):
    """Each fifth of the stream has about its share, of unlabelled as of labelled rows."""
    for y in (np.where(np.arange(N) < 2, [0, 1] * (N // 2), -1), np.arange(N) % 2):
        share = np.histogram(places(gathered(y, (17, 31))), bins=5, range=(0, N))[0]
        expected = share.sum() / 5
        assert (np.abs(share - expected) < 4 * np.sqrt(expected * (1 - share.sum() / N))).all()


def test_the_first_rows_of_each_class_stay(small):
    y = np.where(np.arange(N) >= N - 6, 1, 0)
    own = places(gathered(y, range(30, N, 30)))
    assert set(range(10)) | set(range(N - 6, N)) <= set(own)
    assert len(own) < N / 2


def test_unlabelled_rows_keep_their_weight_beside_labelled_ones(small):
    weights = RANDOM.integers(1, 4, N).astype(float)
    for y in (FEW, np.where(np.arange(N) % 8 == 0, -1, np.arange(N) % 3)):
        kept = gathered(y, (100, 200), weights)
        own, counts = places(kept), kept.sample()[2]
        known = y[own] >= 0
        assert_array_equal(counts[known], weights[own][known])
        if not known.all():
            ratio = weights[y < 0].sum() / weights[y >= 0].sum()
            assert counts[~known].sum() / counts[known].sum() == pytest.approx(ratio)


def test_rows_of_weight_zero_change_nothing(small):
    weights = np.where(np.arange(N) % 5 == 0, 0.0, 1.0)
    used = np.flatnonzero(weights)
    own = places(gathered(FEW, (70, 300), weights))
    assert_array_equal(own, used[places(gathered(FEW[used], X=X[used]), X[used])])


@pytest.mark.slow
def test_memory_stays_near_the_bound(small):
    kept = Reservoir.empty(3)
    _, coding = encode_classes(np.arange(3), n_samples=3)
    for low in range(0, 40 * N, 40):
        some = np.arange(low, low + 40) % N
        own = encode_classes(FEW[some], n_samples=40, coding=coding)[0]
        kept = kept.plus(observe(X[some]), own, None, TASK.labels(own, None))
        assert sum(part.cells().sum() for part in kept.parts) <= 1250
    assert len(kept.parts) <= module.MAX_PARTS
    assert kept.seen == 40 * N


@pytest.mark.slow
@pytest.mark.parametrize("cuts", CUTS)
def test_some_rows_stay_however_large_they_are(cuts, monkeypatch):
    monkeypatch.setattr(module, "SAMPLE_CELLS", 3)
    own = places(gathered(FEW, CUTS[cuts]))
    assert len(own) == 100
    assert set(np.flatnonzero(FEW >= 0)) <= set(own)
    assert_array_equal(own, places(gathered(FEW)))


@pytest.mark.parametrize("bound", range(400, 700, 20))
def test_small_rows_do_not_slip_in_after_large_ones_have_left(bound, monkeypatch):
    monkeypatch.setattr(module, "SAMPLE_CELLS", bound)
    monkeypatch.setattr(module, "TRIM_ABOVE", 1.0)
    monkeypatch.setattr(module, "MIN_ROWS", 0)
    large = RANDOM.random((N, WORDS)) + 0.5
    rows = sp.csr_array(large * (np.arange(WORDS) < np.where(np.arange(N) < 200, 30, 2)[:, None]))
    y = np.where(np.arange(N) < 2, np.arange(N), -1)
    assert_array_equal(
        places(gathered(y, range(20, N, 20), X=rows), rows), places(gathered(y, X=rows), rows)
    )
