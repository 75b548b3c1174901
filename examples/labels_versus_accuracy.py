"""
How many labels are enough?
===========================

The fewer labels there are, the more the unlabelled texts help. This plot shows the accuracy on
hidden labels by the number of labels per class. Logistic regression and naive Bayes see only the
labelled texts.
"""

# %%
# Texts of five subpackages of scipy, as a matrix of word weights.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB

from cofactor import SSNMFClassifier
from cofactor.datasets import docstring_corpus
from cofactor.text import WordVectorizer

corpus = docstring_corpus()
names = ["scipy.interpolate", "scipy.linalg", "scipy.ndimage", "scipy.optimize", "scipy.spatial"]
chosen = [i for i, label in enumerate(corpus.labels) if label in names]
X = WordVectorizer().fit_transform([corpus.texts[i] for i in chosen])
truth = np.array([names.index(corpus.labels[i]) for i in chosen])

# %%
# For each number of labels, draw the labelled texts three times and score the predictions for the
# others.

methods = {
    "cofactor": SSNMFClassifier(10, max_iter=30, tol=1e-3, random_state=0),
    "naive Bayes": MultinomialNB(alpha=0.1),
    "logistic regression": LogisticRegression(C=10),
}
sizes = [1, 2, 5, 10, 30]
accuracy = {name: np.zeros((len(sizes), 3)) for name in methods}
for s, size in enumerate(sizes):
    for draw in range(3):
        random = np.random.default_rng([size, draw])
        of_class = [random.permutation(np.flatnonzero(truth == c)) for c in range(len(names))]
        known = np.concatenate([rows[:size] for rows in of_class])
        hidden = np.setdiff1d(np.arange(len(truth)), known)
        some = np.full(len(truth), -1)
        some[known] = truth[known]
        for name, method in methods.items():
            method = (
                method.fit(X, some) if name == "cofactor" else method.fit(X[known], some[known])
            )
            accuracy[name][s, draw] = np.mean(method.predict(X[hidden]) == truth[hidden])

# %%
# Lines are means of the three draws; the bands span them.

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, scores), colour in zip(accuracy.items(), ("#1f5a96", "#c2571a", "#777777"), strict=True):
    mean = scores.mean(axis=1)
    ax.plot(sizes, mean, "o-", color=colour, linewidth=2, label=name)
    ax.fill_between(sizes, scores.min(axis=1), scores.max(axis=1), color=colour, alpha=0.12)
ax.legend(frameon=False, loc="lower right")
ax.set(xscale="log", xlabel="labels for each class", ylabel="accuracy on hidden labels")
ax.set_xticks(sizes, [str(size) for size in sizes])
ax.minorticks_off()
ax.yaxis.set_major_formatter("{x:.0%}")
ax.spines[["top", "right"]].set_visible(False)
