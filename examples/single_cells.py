"""
Single cells
============

Counts of genes in cells, and five labelled cells of each type: ``cofactor.sc.ssnmf`` labels the
other cells, finds topics, and names the genes that mark each type. It takes raw counts and models
the depth of a cell as a scale.
"""

# %%
# Artificial counts of 1,200 cells and 600 genes. Each of seven types, two of them rare, has eight
# marker genes; thirty genes are strongly expressed in every cell and mark none.

import matplotlib.pyplot as plt
import numpy as np
from anndata import AnnData

from cofactor import sc

random = np.random.default_rng(0)
types = np.array(["B cell", "T cell", "NK cell", "monocyte", "platelet", "dendritic", "stem cell"])
truth = random.choice(7, 1200, p=[0.25, 0.25, 0.18, 0.15, 0.12, 0.03, 0.02])
rates = random.gamma(0.5, 0.4, 600)
rates[-30:] = random.uniform(10, 30, 30)
profiles = np.tile(rates, (7, 1))
for k in range(7):
    profiles[k, 8 * k : 8 * k + 8] += random.uniform(1, 5, 8)
depth = random.lognormal(0, 0.5, (1200, 1))
counts = random.poisson(depth * profiles[truth] / profiles[truth].sum(axis=1, keepdims=True) * 250)

adata = AnnData(counts.astype("float32"))
adata.var_names = [
    f"{types[j // 8].split()[0][:4].upper()}{j % 8 + 1}" if j < 56 else f"G{j}" for j in range(600)
]

# %%
# Label five cells of each type.

labels = np.full(1200, None, dtype=object)
for k, name in enumerate(types):
    labels[random.permutation(np.flatnonzero(truth == k))[:5]] = name
adata.obs["cell_type"] = labels

sc.ssnmf(adata, labels="cell_type")
right = adata.obs["ssnmf"].to_numpy() == types[truth]
print(f"balanced accuracy {np.mean([right[truth == k].mean() for k in range(7)]):.1%}")

# %%
# The three best markers of each type, by predicted type. The size of a dot is the share of the
# type's cells that express the gene, its colour the mean count per thousand.

markers = adata.uns["ssnmf"]["markers"]["classes"]
genes = [gene for name in types for gene in markers.loc[markers["group"] == name, "gene"][:3]]
X = adata[:, genes].X
scaled = 1000 * X / counts.sum(axis=1, keepdims=True)
groups = [adata.obs["ssnmf"].to_numpy() == name for name in types]
share = np.array([(X[cells] > 0).mean(axis=0) for cells in groups])
mean = np.array([scaled[cells].mean(axis=0) for cells in groups])

figure, ax = plt.subplots(figsize=(8.5, 3.8), layout="constrained")
column, row = np.meshgrid(range(len(genes)), range(7))
dots = ax.scatter(
    column, row, s=150 * share, c=mean, cmap="Reds", vmin=0, edgecolor="#999999", linewidth=0.4
)
ax.set_xticks(range(len(genes)), genes, rotation=60, ha="right", rotation_mode="anchor", fontsize=9)
ax.set_yticks(
    range(7), [f"{name} ({cells.sum()})" for name, cells in zip(types, groups, strict=True)]
)
ax.set(xlim=(-0.7, len(genes) - 0.3), ylim=(6.6, -0.6))
figure.colorbar(dots, label="mean count in a thousand", shrink=0.9)
ax.spines[["top", "right"]].set_visible(False)
