"""The paper's 20 Newsgroups matrix: tf-idf of 5000 words in five classes of 1796 posts."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse as sp

from cofactor.experiments.documents import STOP_WORDS_FILE, find_stop_words
from cofactor.experiments.newsgroups import splits
from cofactor.io.errors import InputError

TRAIN_SHARE = 0.8


@dataclass(frozen=True)
class Newsgroups:
    """Rows are posts, columns words; ``y`` numbers the classes."""

    X: sp.csr_matrix
    y: np.ndarray
    X_test: sp.csr_matrix
    y_test: np.ndarray
    notes: tuple[str, ...] = ()

    @property
    def n_classes(self) -> int:
        return len(splits.CLASSES)

    def __str__(self) -> str:
        (n, m), k = self.X.shape, self.X_test.shape[0]
        return f"20 Newsgroups: {n} × {m}, {self.X.nnz} stored; {k} posts to test on"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add where the data are to a command line."""
    parser.add_argument(
        "--data-home",
        type=Path,
        default=os.environ.get("COFACTOR_DATA_HOME"),
        help="scikit-learn's data folder (default: COFACTOR_DATA_HOME, else scikit-learn's own)",
    )
    parser.add_argument(
        "--stopwords", type=Path, help=f"file of stop words (default: {STOP_WORDS_FILE} there)"
    )


def load(data_home: Path | None = None, stopwords: Path | None = None) -> Newsgroups:
    """Build the matrices; the posts must have been downloaded before."""
    home = None if data_home is None else Path(data_home)
    try:
        posts, stop = splits.fetch_posts(home), find_stop_words(stopwords, home)
    except InputError as error:
        raise SystemExit(str(error)) from None
    posts = splits.balanced(posts, seed=0)
    n = len(posts.texts)
    data = splits.split(posts, int(TRAIN_SHARE * n), n, stop.words)
    classes = list(splits.CLASSES)
    y, y_test = (np.array([classes.index(c) for c in labels]) for labels in (data.y, data.y_test))
    notes = (stop.note,) if stop.note else ()
    return Newsgroups(sp.csr_matrix(data.X), y, sp.csr_matrix(data.X_test), y_test, notes)
