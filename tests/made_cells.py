"""Small made cells for the tests of single cells."""

import numpy as np
from anndata import AnnData
from scipy import sparse as sp

TYPES = ("B cell", "T cell", "NK/T", "monocyte")


def draw_cells(n=300, genes=600, labelled=6, seed=0, fold=6.0):
    """Return AnnData with counts of four types, the last one rare, and what was planted.

    Genes 0 to 39 mark the types, ten each; genes 40 to 69 are strong everywhere. Depths differ by a
    factor of ten. ``obs`` has the column truth, and cell_type with a few labels of each type. The
    rates of genes are always the same; the cells are drawn with ``seed``.
    """
    random = np.random.default_rng(4)
    rates = np.exp(random.normal(0, 0.8, genes))
    rates[:40], rates[40:70] = 1.5, np.exp(random.normal(3.5, 0.5, 30))
    profiles = np.tile(rates, (4, 1))
    for c in range(4):
        profiles[c, 10 * c : 10 * c + 10] *= fold
    random = np.random.default_rng([seed, 5])
    y = random.choice(4, n, p=(0.35, 0.3, 0.25, 0.1))
    depth = np.exp(random.uniform(np.log(500), np.log(5000), n))
    mean = depth[:, None] * (profiles / profiles.sum(axis=1, keepdims=True))[y]
    counts = random.poisson(random.gamma(2.0, mean / 2.0)).astype(np.float32)
    adata = AnnData(sp.csr_matrix(counts))
    adata.var_names = [f"G{j}" for j in range(genes)]
    adata.obs_names = [f"cell{i}" for i in range(n)]
    truth = np.array(TYPES, dtype=object)[y]
    adata.obs["truth"] = truth
    adata.obs["cell_type"] = _few(truth, labelled)
    return adata


def _few(truth, labelled):
    shown = np.full(len(truth), None, dtype=object)
    for name in TYPES:
        rows = np.flatnonzero(truth == name)[:labelled]
        shown[rows] = name
    return shown


def planted(name):
    """Return the names of the genes that mark a type."""
    c = TYPES.index(name)
    return {f"G{j}" for j in range(10 * c, 10 * c + 10)}


def balanced_accuracy(adata, key="ssnmf"):
    found, truth = adata.obs[key].astype(object).to_numpy(), adata.obs["truth"].to_numpy()
    return float(np.mean([np.mean(found[truth == name] == name) for name in TYPES]))
