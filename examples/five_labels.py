"""
Five labels for each class
==========================

A corpus has several hundred texts, of which five per class are labelled. The model learns topics
from all texts, and their links to the classes from the few labels.

The texts are docstrings of the installed scipy; the class is the subpackage that a docstring
comes from.
"""

# %%
# Take the texts of six subpackages, keep five labels per class, and hide the others.

import numpy as np

from cofactor import TopicModel
from cofactor.datasets import docstring_corpus

corpus = docstring_corpus()
names = ["linalg", "ndimage", "optimize", "signal", "sparse", "stats"]
chosen = [i for i, label in enumerate(corpus.labels) if label in {f"scipy.{n}" for n in names}]
texts = [corpus.texts[i] for i in chosen]
truth = np.array([corpus.labels[i].removeprefix("scipy.") for i in chosen], dtype=object)

random = np.random.default_rng(0)
known = np.concatenate([random.permutation(np.flatnonzero(truth == n))[:5] for n in names])
labels = np.full(len(texts), "", dtype=object)
labels[known] = truth[known]
print(f"{len(texts)} texts, {len(known)} labels")

# %%
# Fit nine topics. An empty string means "unlabelled".

model = TopicModel(9, max_iter=30, tol=1e-3, random_state=0).fit(texts, labels)
hidden = labels == ""
right = model.predict(np.array(texts, dtype=object)[hidden]) == truth[hidden]
print(f"accuracy on the {hidden.sum()} texts without a label: {right.mean():.1%}")

# %%
# Each panel shows the words of a topic; the line under its name gives its size and the class that
# it is linked to.

axes = model.plot_topics(n_words=6)
