"""
How many topics?
================

``choose`` tries several numbers of topics. Each is judged on rows that its fits have not seen: by
their hidden cells, and by whether other fits find the same topics. It picks the smallest number
that is not clearly worse than the best.
"""

# %%
# Artificial counts of 300 samples from six topics.

import numpy as np

from cofactor import NMF
from cofactor.model_selection import choose

random = np.random.default_rng(0)
shares, topics = random.dirichlet([0.2] * 6, 300), random.dirichlet([0.08] * 100, 6)
X = random.poisson(60 * shares @ topics)

choice = choose(NMF(random_state=0), X, n_components=[2, 3, 4, 5, 6, 7, 8, 10], runs=4)
print(choice.advice)

# %%
# The divergence of hidden cells is smallest at six topics, and different fits agree most there.
# ``choice.figure()`` draws these and all other criteria.

import matplotlib.pyplot as plt

sizes = [row["n_components"] for row in choice.table]
figure, axes = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained")
titles = {"cell_divergence": "divergence of hidden cells", "stability": "stability of the topics"}
for ax, (name, title) in zip(axes, titles.items(), strict=True):
    values, errors = ([row[key] for row in choice.table] for key in (name, f"{name}_error"))
    ax.errorbar(sizes, values, errors, marker="o", linewidth=2, color="#1f5a96")
    ax.axvline(choice.n_components, color="#c0392b", linewidth=1.5)
    ax.set_title(title, loc="left")
    ax.set_xlabel("number of topics")
    ax.spines[["top", "right"]].set_visible(False)
    ax.text(choice.n_components + 0.15, ax.get_ylim()[1], "chosen", color="#c0392b", va="top")
