"""
How many topics?
================

``choose`` tries several numbers of topics. Each is judged on rows that its fits have not seen: by their
hidden cells, and by whether other fits find the same topics. The smallest number that the best one does
not clearly beat is taken.
"""

# %%
# Made counts of 300 samples from six topics.

import numpy as np

from cofactor import NMF
from cofactor.model_selection import choose

random = np.random.default_rng(0)
shares, topics = random.dirichlet([0.2] * 6, 300), random.dirichlet([0.08] * 100, 6)
X = random.poisson(60 * shares @ topics)

choice = choose(NMF(random_state=0), X, n_components=[2, 3, 4, 5, 6, 7, 8, 10], runs=4)
print(choice.advice)

# %%
# The divergence of hidden cells falls until six topics and stays; the topics of different fits agree up to
# six, and then no longer.

import matplotlib.pyplot as plt

sizes = [row["n_components"] for row in choice.table]
figure, axes = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained")
for ax, name, title in zip(
    axes, ("cell_divergence", "stability"), ("divergence of hidden cells", "stability of the topics"),
    strict=True,
):  # fmt: skip
    values = [row[name] for row in choice.table]
    ax.errorbar(sizes, values, [row[f"{name}_error"] for row in choice.table], marker="o", linewidth=2,
                color="#1f5a96")  # fmt: skip
    ax.axvline(choice.n_components, color="#c0392b", linewidth=1.5)
    ax.set_title(title, loc="left")
    ax.set_xlabel("number of topics")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].annotate("chosen", (choice.n_components, 1), (5, -2), xycoords=("data", "axes fraction"),
                 textcoords="offset points", color="#c0392b", va="top")  # fmt: skip
