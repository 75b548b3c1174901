"""A notebook of a scanpy user, from counts to pictures, on cells that scanpy carries.

The cells are 700 of 68,579 blood cells of Zheng et al. 2017, as scanpy ships them.
"""

import warnings

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

import cofactor

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def scanpy():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("scanpy", reason="scanpy is missing: `make docs` installs it")


@pytest.fixture(scope="module")
def adata(scanpy):
    """Real cells with counts in a layer and 8 labels of each type; the logarithms are undone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = scanpy.datasets.pbmc68k_reduced()
    counts = np.expm1(found.raw.X.toarray()) * found.obs["n_counts"].to_numpy()[:, None] / 1e4
    assert np.abs(counts - np.rint(counts)).max() < 0.1  # so rounding restores them
    found = scanpy.AnnData(np.rint(counts), obs=found.obs[["bulk_labels"]], var=found.raw.var)
    found.layers["counts"] = found.X.copy()
    random, shown = np.random.default_rng(0), np.full(found.n_obs, None, dtype=object)
    names = found.obs["bulk_labels"].astype(str).to_numpy()
    for name in np.unique(names):
        rows = random.permutation(np.flatnonzero(names == name))
        shown[rows[: min(8, len(rows) // 2)]] = name
    found.obs["cell_type"] = shown
    scanpy.pp.normalize_total(found, target_sum=1e4)
    scanpy.pp.log1p(found)
    return found


def test_our_genes_are_those_of_scanpy(scanpy, adata):
    from scipy import sparse as sp

    from cofactor.sc.genes import GeneSums, variable_genes

    scanpy.pp.highly_variable_genes(adata, n_top_genes=250, flavor="seurat")
    sums = GeneSums.none(adata.n_vars)
    sums.add(sp.csr_array(adata.layers["counts"]))
    own = variable_genes([sums], 250)
    both = np.isin(np.flatnonzero(adata.var["highly_variable"]), own).mean()
    assert both > 0.7  # bins of fewer than 25 genes are joined here


def test_a_notebook_runs_to_its_pictures(scanpy, adata, tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    cofactor.sc.ssnmf(adata, labels="cell_type", layer="counts")
    new = adata.obs["cell_type"].isna().to_numpy()
    truth = adata.obs["bulk_labels"].astype(str)[new]
    assert balanced_accuracy_score(truth, adata.obs["ssnmf"].astype(str)[new]) > 0.6
    scanpy.pp.neighbors(adata, use_rep="X_ssnmf")
    scanpy.tl.umap(adata)
    colours = ["bulk_labels", "ssnmf", "ssnmf_confidence", "ssnmf_unlike"]
    drawn = scanpy.pl.umap(adata, color=colours, ncols=2, wspace=0.6, show=False, return_fig=True)
    drawn.savefig(tmp_path / "umap.png", bbox_inches="tight")
    markers = adata.uns["ssnmf"]["markers"]["classes"]
    genes = {
        name: markers.loc[markers["group"] == name, "gene"][:3].tolist()
        for name in adata.obs["ssnmf"].cat.categories
    }
    genes = {name: own for name, own in genes.items() if own}
    dots = scanpy.pl.dotplot(adata, genes, groupby="ssnmf", show=False, return_fig=True)
    dots.savefig(tmp_path / "markers.png")
    plt.close("all")
    for name in ("umap.png", "markers.png"):
        assert plt.imread(tmp_path / name)[..., :3].std() > 0.05
    scanpy.tl.rank_genes_groups(adata, "ssnmf", groups=["CD19+ B", "CD56+ NK"], method="wilcoxon")
    found = scanpy.get.rank_genes_groups_df(adata, group="CD19+ B")["names"][:30]
    own = markers.loc[markers["group"] == "CD19+ B", "gene"]
    assert len(set(found) & set(own)) >= 3


def test_objects_on_disk_give_the_same(scanpy, adata, tmp_path):
    plain = scanpy.AnnData(adata.layers["counts"], obs=adata.obs[["cell_type"]], var=adata.var)
    plain.var = plain.var.drop(columns="highly_variable", errors="ignore")
    plain.write_h5ad(tmp_path / "cells.h5ad")
    plain.write_zarr(tmp_path / "cells.zarr")
    model = cofactor.sc.fit(plain, labels="cell_type")
    here = cofactor.sc.annotate(plain, model, copy=True).obs["ssnmf"].astype(str)
    backed = scanpy.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    for there in (tmp_path / "cells.h5ad", tmp_path / "cells.zarr", backed):
        found = cofactor.sc.annotate(there, model, copy=True).obs["ssnmf"].astype(str)
        assert (found == here).all()
