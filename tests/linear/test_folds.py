"""Folds are even and stratified; equal rows merge, and only content decides their order."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from cofactor.linear.folds import assign_folds, distinct_rows
from cofactor.linear.views import Side


@pytest.fixture
def rows():
    """Thirty samples, ten of them distinct; some labelled with shares in three classes."""
    random = np.random.default_rng(0)
    cells = random.gamma(1.0, size=(10, 6)) * (random.random((10, 6)) < 0.5)
    which = np.r_[np.arange(10), random.integers(0, 10, size=20)]
    labelled = random.random(30) < 0.5
    shares = np.eye(3)[random.integers(0, 3, size=30)]
    weights = random.uniform(0.1, 2.0, size=30)
    return cells[which], shares, labelled, weights


def contents(cells, shares, labelled):
    return [
        (*row, *(share if known else np.full(3, -1.0)))
        for row, share, known in zip(cells, shares, labelled, strict=True)
    ]


def test_equal_rows_merge_and_their_weights_add(rows):
    cells, shares, labelled, weights = rows
    found = distinct_rows(cells, shares, labelled, weights)
    expected = {}
    for content, weight in zip(contents(cells, shares, labelled), weights, strict=True):
        expected[content] = expected.get(content, 0.0) + weight
    kept = contents(cells[found.rows], shares[found.rows], labelled[found.rows])
    assert len(set(kept)) == len(kept) == len(expected)
    assert_allclose(found.weights, [expected[content] for content in kept])


def test_permutations_only_permute(rows):
    cells, shares, labelled, weights = rows
    found = distinct_rows(cells, shares, labelled, weights)
    order = np.random.default_rng(1).permutation(30)
    other = distinct_rows(cells[order], shares[order], labelled[order], weights[order])
    here, there = found.rows, order[other.rows]
    assert_array_equal(cells[here], cells[there])
    assert_array_equal(shares[here][labelled[here]], shares[there][labelled[there]])
    assert_array_equal(labelled[here], labelled[there])
    assert_allclose(other.weights, found.weights, rtol=1e-12)


def test_storages_agree(rows):
    cells, shares, labelled, weights = rows
    found = distinct_rows(cells, shares, labelled, weights)
    stored = csr_array(cells)
    shuffled = csr_array(cells)  # the same cells, in another order within their rows
    for i in range(30):
        part = slice(*shuffled.indptr[i : i + 2])
        shuffled.indices[part] = shuffled.indices[part][::-1].copy()
        shuffled.data[part] = shuffled.data[part][::-1].copy()
    for storage in (stored, shuffled):
        other = distinct_rows(storage, shares, labelled, weights)
        assert_array_equal(other.rows, found.rows)
        assert_array_equal(other.weights, found.weights)


def test_rows_of_weight_zero_leave(rows):
    cells, shares, labelled, weights = rows
    weights = np.where(np.arange(30) % 3 == 0, 0.0, weights)
    found = distinct_rows(cells, shares, labelled, weights)
    used = np.flatnonzero(weights)
    other = distinct_rows(cells[used], shares[used], labelled[used], weights[used])
    assert (weights[found.rows] > 0).all()
    assert_array_equal(used[other.rows], found.rows)
    assert_array_equal(other.weights, found.weights)


def test_labels_keep_equal_rows_apart():
    cells, shares = np.ones((6, 4)), np.eye(2)[[0, 1, 0, 1, 0, 1]]
    labelled = np.array([True, True, True, False, False, False])
    found = distinct_rows(cells, shares, labelled, np.ones(6))
    assert sorted(found.rows.tolist()) == [0, 1, 3]
    assert_array_equal(found.weights[np.argsort(found.rows)], [2, 1, 3])


def test_places_and_values_both_count():
    cells = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    none = np.zeros(6, dtype=bool)
    found = distinct_rows(cells, np.zeros((6, 1)), none, np.ones(6))
    assert sorted(found.rows.tolist()) == [0, 1, 2, 3, 4]


def test_rounding_does_not_make_rows_distinct():
    cells = np.random.default_rng(2).random((8, 5))
    twice = np.vstack([cells, cells * (1 + 1e-15)])
    found = distinct_rows(twice, np.zeros((16, 1)), np.zeros(16, dtype=bool), np.ones(16))
    assert_array_equal(found.weights, 2.0)


def test_huge_values():
    cells = np.array([[1e300, 1.0], [1.0, 1.0], [-1e300, 1.0]])
    found = distinct_rows(cells, np.zeros((3, 1)), np.zeros(3, dtype=bool), np.ones(3))
    assert len(found.rows) == 3


# ---- folds


@pytest.mark.parametrize("draw", [None, np.random.RandomState(0), np.random.default_rng(0)])
@pytest.mark.parametrize("n_folds", [2, 3, 7])
def test_groups_are_spread_evenly(draw, n_folds):
    groups = np.random.default_rng(1).integers(-1, 4, size=60)
    folds = assign_folds(groups, n_folds, random=draw)
    assert_array_equal(folds >= 0, groups >= 0)
    for some in [groups >= 0, *(groups == group for group in range(4))]:
        sizes = np.bincount(folds[some], minlength=n_folds)
        assert sizes.max() - sizes.min() <= 1


def test_small_groups_are_never_held_out():
    groups = np.array([0, 1, 1, 2, 2, 2, -1])
    assert_array_equal(assign_folds(groups, 2, min_size=2), [-1, 0, 1, 0, 1, 0, -1])
    assert_array_equal(assign_folds(groups, 3, min_size=3), [-1, -1, -1, 0, 1, 2, -1])
    assert_array_equal(assign_folds(groups[:1], 2, min_size=2), [-1])
    assert_array_equal(assign_folds(groups[:0], 2), [])


def test_a_draw_decides_which_samples_go_where():
    groups = np.zeros(40, dtype=int)
    one, same, other = (
        assign_folds(groups, 4, random=np.random.default_rng(seed)) for seed in (0, 0, 1)
    )
    assert_array_equal(one, same)
    assert (one != other).any()
    assert_array_equal(assign_folds(groups, 4), np.arange(40) % 4)


def test_vectors_make_samples_distinct():
    cells, shares, none = np.ones((6, 2)), np.zeros((6, 1)), np.zeros(6, dtype=bool)
    vectors = np.array([[1.0, 2.0], [1.0, 2.0], [1.0, -2.0], [2.0, 1.0], [0.0, 0.0], [1.0, 2.0]])
    for unit in (1.0, 1e-12, 1e12):
        found = distinct_rows(cells, shares, none, np.ones(6), Side(unit * vectors))
        assert sorted(found.weights) == [1, 1, 1, 3]
    assert len(distinct_rows(cells, shares, none, np.ones(6)).rows) == 1
