"""
Blood cells, with scanpy
========================

700 real blood cells that scanpy brings along, and at most eight labelled cells of each type:
``cofactor.sc.ssnmf`` labels the others between two steps of a scanpy notebook. Then one type loses
its labels, and its cells are found all the same. The script needs scanpy.
"""

# %%
# The cells are some of the 68,579 of `Zheng et al. 2017 <https://doi.org/10.1038/ncomms14049>`_.
# scanpy keeps logarithms of counts per 10,000; undone and rounded, they are the counts that the
# model needs. Types of T cells were told apart by the bulk of sorted cells, which is not reliable
# for single ones, so they are one type here.

import numpy as np
import scanpy
from sklearn.metrics import balanced_accuracy_score

import cofactor

adata = scanpy.datasets.pbmc68k_reduced().raw.to_adata()
counts = adata.X.expm1().multiply(adata.obs["n_counts"].to_numpy()[:, None] / 10_000)
adata.layers["counts"] = counts.tocsr().rint()

TYPES = {"CD19+ B": "B cell", "CD56+ NK": "NK cell", "CD34+": "stem cell"}
TYPES |= {"CD14+ Monocyte": "monocyte", "Dendritic": "dendritic"}
truth = np.array([TYPES.get(name, "T cell") for name in adata.obs["bulk_labels"]], dtype=object)
adata.obs["truth"] = truth

# %%
# Eight labelled cells of each type; of the 13 stem cells, six.

labels = np.full(len(truth), None, dtype=object)
random = np.random.default_rng(0)
for name in np.unique(truth):
    cells = random.permutation(np.flatnonzero(truth == name))
    labels[cells[: min(8, len(cells) // 2)]] = name
adata.obs["cell_type"] = labels

cofactor.sc.ssnmf(adata, labels="cell_type", layer="counts")
new = adata.obs["cell_type"].isna()
score = balanced_accuracy_score(truth[new], adata.obs["ssnmf"][new].astype(object))
print(f"{new.sum()} cells without a label: balanced accuracy {score:.1%}")

# %%
# The three best markers of each type, in the order of the types.

markers = adata.uns["ssnmf"]["markers"]["classes"]
genes = markers.loc[markers["rank"] <= 3, "gene"].tolist()
dots = scanpy.pl.dotplot(adata, genes, groupby="ssnmf", figsize=(8, 4), return_fig=True)
dots.make_figure()
dots.fig.subplots_adjust(bottom=0.25)  # room for the names
figure = dots.fig

# %%
# Now nobody labels B cells. They get other types, and ``unlike`` says that these are wrong: it is
# the share of cells of the predicted type that are nearer to its labelled cells. A type much like
# a labelled one is not found this way: NK cells without labels pass for T cells.

adata.obs["no_b_cells"] = np.where(truth == "B cell", None, labels)
cofactor.sc.ssnmf(adata, labels="no_b_cells", layer="counts", key_added="predicted")
unlike = adata.obs["predicted_unlike"].to_numpy()
for what, cells in (("B cells", truth == "B cell"), ("other cells", truth != "B cell")):
    print(f"{what}: {np.mean(unlike[cells] >= 0.95):.0%} are unlike the labelled cells")

shown = ["truth", "predicted", "predicted_unlike"]
colours = {name: f"C{i}" for i, name in enumerate(np.unique(truth))}
figure = scanpy.pl.umap(adata, color=shown, palette=colours, ncols=2, wspace=0.3, return_fig=True)
