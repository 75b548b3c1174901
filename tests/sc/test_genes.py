"""Variable genes: sums that add over chunks, and genes that differ more than others like them."""

import numpy as np
from scipy import sparse as sp

from cofactor.sc.genes import GeneSums, usual_number, variable_genes
from made_cells import draw_cells


def test_sums_are_those_of_numpy_and_add_up():
    X = draw_cells(n=60, genes=100).X
    whole, parts = GeneSums.none(100), GeneSums.none(100)
    whole.add(sp.csr_array(X))
    for low in range(0, 60, 17):
        parts.add(sp.csr_array(X[low : low + 17]))
    D = X.toarray().astype(float)
    U = D / D.sum(axis=1, keepdims=True)
    chance = (D / D.sum(axis=1, keepdims=True) ** 2).mean(axis=0)
    naive = (U.var(axis=0) - chance) / U.mean(axis=0) ** 2
    for sums in (whole, parts):
        found = sums.dispersion()
        seen = (D > 0).sum(axis=0) >= 3
        assert np.allclose(found[seen], naive[seen])
        assert np.isnan(found[~seen]).all()


def test_planted_genes_are_variable_and_strong_ones_are_not():
    sums = GeneSums.none(600)
    sums.add(sp.csr_array(draw_cells(n=400).X))
    chosen = variable_genes(sums, 120)
    assert np.isin(np.arange(40), chosen).mean() > 0.95
    assert np.isin(np.arange(40, 70), chosen).mean() < 0.4
    assert len(chosen) == 120
    assert (np.diff(chosen) > 0).all()


def test_depth_makes_no_gene_variable():
    """Counts of one kind of cells, read at depths that differ by a factor of 100."""
    random = np.random.default_rng(0)
    depth = np.exp(random.uniform(np.log(100), np.log(10_000), 500))
    X = random.poisson(depth[:, None] * random.dirichlet(np.ones(200)))
    sums = GeneSums.none(200)
    sums.add(sp.csr_array(X.astype(float)))
    assert abs(np.nanmedian(sums.dispersion())) < 0.05


def test_the_usual_number_stays_within_bounds():
    assert usual_number(20) == 20
    assert usual_number(100_000) == 2000
