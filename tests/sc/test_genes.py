"""Variable genes: sums that add over chunks, and genes that differ more than others like them."""

import numpy as np
import pandas
import pytest
from anndata import AnnData
from scipy import sparse as sp

from cofactor import sc
from cofactor.sc.genes import GeneSums, _bins, usual_number, variable_genes
from made_cells import draw_cells


def sums_of(X, step=None):
    sums = GeneSums.none(X.shape[1])
    for low in range(0, X.shape[0], step or X.shape[0]):
        sums.add(sp.csr_array(X[low : low + (step or X.shape[0])]))
    return sums


def seurat_scores(X):
    """Return scanpy's normalised dispersions, with its 20 bins of pandas and no joined bins."""
    U = 1e4 * X / X.sum(axis=1, keepdims=True)
    table = pandas.DataFrame({"m": np.log1p(U.mean(axis=0))})
    table["d"] = np.log(U.var(axis=0, ddof=1) / U.mean(axis=0))
    groups = table.groupby(pandas.cut(table["m"], 20), observed=True)["d"]
    return ((table["d"] - groups.transform("mean")) / groups.transform("std")).to_numpy(), table


def test_sums_add_over_chunks():
    X = draw_cells(n=60, genes=100).X
    D = X.toarray().astype(float)
    U = 1e4 * D / D.sum(axis=1, keepdims=True)
    for sums in (sums_of(X), sums_of(X, 17)):
        assert np.allclose(sums.first, U.sum(axis=0))
        assert np.allclose(sums.second, (U**2).sum(axis=0))
        assert np.array_equal(sums.seen, (D > 0).sum(axis=0))


def test_the_rule_is_that_of_scanpy_where_bins_are_large():
    X = draw_cells(n=300, genes=4000).X.toarray().astype(float)
    X = X[:, (X > 0).sum(axis=0) >= 3]
    scores, table = seurat_scores(X)
    sizes = table.groupby(pandas.cut(table["m"], 20), observed=True)["d"].transform("size")
    chosen = variable_genes([sums_of(X)], 400)
    expected = np.argsort(-scores, kind="stable")[:400]
    large = np.flatnonzero(sizes >= 50)  # of bins that no other one joins
    both = np.isin(expected, large)
    assert both.mean() > 0.5
    assert np.isin(expected[both], chosen).mean() > 0.9


@pytest.mark.parametrize("m", [1, 10, 60, 3000])
def test_no_bin_is_small(m):
    values = np.random.default_rng(0).exponential(size=m)
    places = _bins(values)
    sizes = np.unique(places, return_counts=True)[1]
    assert len(sizes) == 1 or sizes.min() >= 25
    assert (np.diff(places[np.argsort(values)]) >= 0).all()


def test_genes_are_a_list_a_column_flags_or_a_number():
    adata = draw_cells(n=80, genes=100)
    adata.var["chosen"] = np.arange(100) < 50
    names = adata.var_names[:50].tolist()
    models = [
        sc.fit(adata, "cell_type", n_topics=3, genes=genes, tol=0.1)
        for genes in ("chosen", names, np.array(names), adata.var["chosen"], names[::-1])
    ]
    for model in models:
        assert model.genes.tolist() == names
        assert np.array_equal(model.topics, models[0].topics)
    assert len(sc.fit(adata, "cell_type", n_topics=3, genes=20, tol=0.1).genes) == 20


def test_planted_genes_are_variable_and_strong_ones_are_not():
    chosen = variable_genes([sums_of(draw_cells(n=400).X)], 120)
    assert np.isin(np.arange(40), chosen).mean() > 0.9
    assert np.isin(np.arange(40, 70), chosen).mean() < 0.4
    assert len(chosen) == 120
    assert (np.diff(chosen) > 0).all()


def test_genes_that_only_tell_batches_apart_are_not_chosen():
    random = np.random.default_rng(0)
    rates = np.tile(random.gamma(2.0, 1.0, 300), (400, 1))
    first = np.arange(400) % 2 == 0
    rates[np.ix_(first, np.arange(10))] *= 6.0  # frequent in one batch
    rates[:100, 10:20] *= 6.0  # frequent in a type that both batches have
    adata = AnnData(sp.csr_matrix(random.poisson(rates).astype(np.float32)))
    adata.obs["batch"] = np.where(first, "first", "second")
    adata.obs["cell_type"] = np.where(np.arange(400) < 100, "a", "b")
    asked = {"labels": "cell_type", "n_topics": 2, "genes": 20, "tol": 0.1}
    plain, batched = sc.fit(adata, **asked), sc.fit(adata, **asked, batch_key="batch")
    chosen = [np.isin(np.arange(20).astype(str), model.genes) for model in (plain, batched)]
    assert chosen[0][:10].sum() >= 5
    assert chosen[1][:10].sum() <= 1
    assert chosen[1][10:].all()
    with pytest.raises(ValueError, match="batch_key='batches' is not a column of obs"):
        sc.fit(adata, "cell_type", batch_key="batches")


def test_genes_that_do_not_vary_are_left_out():
    X = np.random.default_rng(0).poisson(3.0, (50, 40)).astype(float) + 1.0
    X[:, 5] = 0.0
    X[2:, 6] = 0.0  # two cells have it
    assert np.array_equal(variable_genes([sums_of(X)], 40), np.setdiff1d(np.arange(40), [5, 6]))


def test_the_usual_number_stays_within_bounds():
    assert usual_number(20) == 20
    assert usual_number(100_000) == 2000
