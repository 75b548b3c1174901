"""Markers: sums over types, a test against chance, the type that is most like another."""

import numpy as np
import pytest
from scipy import sparse as sp
from scipy import stats

from cofactor import sc
from cofactor.metrics import specificity
from cofactor.sc.markers import CHANCE, TypeSums, type_markers
from made_cells import draw_cells

NAMES = ["a", "b", "c"]


def drawn(n=300, m=80, seed=0, marked=True, depth=200.0):
    """Return cells of three types; b and c differ in genes 10 and 11 only, a has genes 0 to 4."""
    random = np.random.default_rng(seed)
    rates = np.tile(random.dirichlet(np.full(m, 5.0)), (3, 1))
    if marked:
        rates[0, :5] *= 6.0
        rates[1, 10], rates[2, 11] = 5 * rates[1, 10], 5 * rates[2, 11]
    y = np.arange(n) % 3
    return sp.csr_array(random.poisson(depth * rates[y]).astype(float)), y


def test_sums_are_those_of_numpy_and_add_up():
    X, y = drawn(n=60)
    y = np.where(np.arange(60) % 7 == 0, -1, y)
    D = X.toarray()
    S = D / D.sum(axis=1, keepdims=True)
    whole = TypeSums.of(X, y, 3)
    parts = TypeSums.of(X[:25], y[:25], 3).plus(TypeSums.of(X[25:], y[25:], 3))
    for sums in (whole, parts):
        for c in range(3):
            own = y == c
            assert sums.cells[c] == own.sum()
            for found, each in (
                (sums.counts, D),
                (sums.seen, D > 0),
                (sums.roots, S**0.5),
                (sums.shares, S),
            ):
                np.testing.assert_allclose(found[c], each[own].sum(axis=0))


def test_clear_genes_pass_the_test_of_welch():
    X, y = drawn()
    sums = TypeSums.of(X, y, 3)
    D = np.sqrt(X.toarray() / X.toarray().sum(axis=1, keepdims=True))
    found = sums.clear(0, np.full(80, 1))
    a, b = D[y == 0], D[y == 1]
    t = stats.ttest_ind(a, b, equal_var=False).statistic
    limit = stats.t.isf(CHANCE / 80, 99)
    assert np.array_equal(found, t > limit)
    assert found[:5].all()


def test_types_without_a_difference_have_no_clear_marker():
    found = [
        type_markers(TypeSums.of(*drawn(seed=seed, marked=False), 3), NAMES, np.arange(80))
        for seed in range(20)
    ]
    assert sum(len(one["classes"]) + len(one["nearest"]) for one in found) <= 3


def test_alike_types_are_compared_with_each_other():
    X, y = drawn()
    found = type_markers(TypeSums.of(X, y, 3), NAMES, np.arange(80))
    genes = {
        kind: {name: {m.gene for m in found[kind] if m.group == name} for name in NAMES}
        for kind in found
    }
    assert genes["classes"] == {"a": set("01234"), "b": {"10"}, "c": {"11"}}
    assert genes["nearest"]["b"] == {"10"}
    assert {m.against for m in found["nearest"] if m.group == "b"} == {"c"}
    for marker in found["nearest"]:
        j, own = int(marker.gene), y == NAMES.index(marker.group)
        assert marker.share == pytest.approx((X.toarray()[own, j] > 0).mean())
        assert marker.share > marker.share_against
        pair = [
            X.toarray()[y == NAMES.index(c)].sum(axis=0) for c in (marker.group, marker.against)
        ]
        assert marker.log2_ratio == pytest.approx(specificity(pair)[0, j])


def test_markers_are_sought_among_all_genes():
    adata = draw_cells(n=240)
    model = sc.fit(adata, "cell_type", genes=adata.var_names[1:200:2].tolist(), n_topics=4)
    found = {m.gene for m in model.markers["classes"]}
    assert found - set(model.genes)  # every second planted gene is fitted
    assert not {m.gene for m in model.markers["topics"]} - set(model.genes)


def test_one_type_has_no_markers():
    X, _ = drawn(n=20)
    found = type_markers(TypeSums.of(X, np.zeros(20, dtype=int), 1), ["a"], np.arange(80))
    assert found == {"classes": [], "nearest": []}
