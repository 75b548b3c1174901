"""Does `choose` find the number of topics, and what does it cost?

    python -m benchmarks.choosing [--ranks 5 10 20] [--draws 10] [--sets plain ...] [--skip-newsgroups]

Made data.  Documents of Poisson counts: topics are Dirichlet draws around word frequencies that fall
like 1/rank (Zipf), shares of topics in a document are Dirichlet draws, lengths are lognormal. Every
topic belongs to a class, a class has about two topics, and a document's class is drawn by the
masses of its topics; a third of the documents are labelled. `choose` sees numbers of topics from
half to twice the true one. The table has how often it finds the number exactly and within one.

20 Newsgroups (five classes, tf-idf of 5000 words, the training posts, one label in ten known):
the choice's accuracy on the test posts, and the best of the grid.

Cost: the time of `choose` on one thread, relative to the same fits alone.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp
from sklearn.exceptions import ConvergenceWarning

from benchmarks import measuring, newsgroups
from benchmarks.measuring import timed
from cofactor import NMF, SSNMFClassifier
from cofactor.model_selection import Choice, choose


class Kind(NamedTuple):
    """What made documents are like."""

    documents: int = 1000
    words: int = 800
    length: float = 100.0
    concentration: float = 0.1
    """Of the shares of topics: smaller means fewer topics a document."""
    spread: float = 40.0
    """Of the topics around the word frequencies: smaller means more distinct topics."""
    labelled: float = 0.33


SETS = {
    "plain": Kind(),
    "short": Kind(documents=2000, length=40.0),
    "mixed": Kind(concentration=0.3, length=150.0),
    "close": Kind(spread=150.0, length=150.0),
}


class Made(NamedTuple):
    """Counts, and the classes of documents, None where unknown."""

    X: sp.csr_array
    y: np.ndarray


def documents(kind: Kind, rank: int, seed: int) -> Made:
    """Make documents of a known number of topics."""
    random = np.random.default_rng([seed, rank])
    frequencies = 1.0 / np.arange(1, kind.words + 1)
    frequencies *= kind.spread / frequencies.sum()
    topics = random.dirichlet(random.permutation(frequencies) + 1e-3, rank)
    shares = random.dirichlet(np.full(rank, kind.concentration), kind.documents)
    lengths = kind.length * random.lognormal(-0.125, 0.5, kind.documents)
    X = random.poisson(lengths[:, None] * (shares @ topics))
    owners = random.permutation(rank) % max(2, rank // 2)
    y = np.array([owners[random.choice(rank, p=row)] for row in shares]).astype(object)
    y[random.random(kind.documents) > kind.labelled] = None
    kept = X.any(axis=1)
    return Made(sp.csr_array(X[kept].astype(float)), y[kept])


def grid(rank: int) -> list[int]:
    """Return the numbers of topics from half to twice the true one."""
    return list(range(max(1, rank // 2), 2 * rank + 1))


def found(kind: Kind, rank: int, seed: int, labels: bool, jobs: int, runs: int) -> Choice:
    """Choose the number of topics of made documents."""
    made = documents(kind, rank, seed)
    if labels:
        model: Any = SSNMFClassifier(random_state=seed, n_jobs=jobs)
        return choose(model, made.X, made.y, n_components=grid(rank), runs=runs)
    return choose(NMF(random_state=seed, n_jobs=jobs), made.X, n_components=grid(rank), runs=runs)
