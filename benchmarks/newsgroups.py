"""The paper's 20 Newsgroups matrix: tf-idf of 5000 words in five classes of 1796 posts."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse as sp
from sklearn.datasets import fetch_20newsgroups
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer

CLASSES = {
    "Computers": ("comp.graphics", "comp.sys.mac.hardware", "comp.windows.x"),
    "Sciences": ("sci.crypt", "sci.electronics", "sci.space"),
    "Politics": ("talk.politics.guns", "talk.politics.mideast"),
    "Religion": ("alt.atheism", "soc.religion.christian"),
    "Recreation": ("rec.autos", "rec.sport.baseball", "rec.sport.hockey"),
}
POSTS = 1796  # per class: as many as the smallest has
TRAIN_SHARE = 0.8
STOP_WORDS_FILE = "nltk_english_stopwords_179.txt"  # the list the paper's code took from NLTK


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
        return len(CLASSES)

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
    texts, labels = _balanced(*_posts(data_home))
    words, notes = stop_words(data_home, stopwords)
    cut = int(TRAIN_SHARE * len(labels))
    vectorizer = TfidfVectorizer(
        token_pattern="[a-zA-Z]+", stop_words=words, min_df=5, max_df=0.7, max_features=5000
    )
    X = sp.csr_matrix(vectorizer.fit_transform(texts[:cut]))
    X_test = sp.csr_matrix(vectorizer.transform(texts[cut:]))
    return Newsgroups(X, labels[:cut], X_test, labels[cut:], notes)


def _posts(data_home: Path | None) -> tuple[Sequence[str], np.ndarray]:
    """Return the posts of the five classes and the class of each."""
    groups = [group for members in CLASSES.values() for group in members]
    try:
        found = fetch_20newsgroups(
            data_home=data_home,
            download_if_missing=False,
            subset="all",
            remove=("headers", "footers", "quotes"),
            categories=groups,
        )
    except OSError:
        where = data_home or "scikit-learn's data folder"
        raise SystemExit(
            f"20 Newsgroups is not in {where}: pass --data-home (or set COFACTOR_DATA_HOME) to a "
            "folder that has 20news-bydate_py3.pkz, or download it once with "
            "python -c 'from sklearn.datasets import fetch_20newsgroups as f; f(subset=\"all\")'."
        ) from None
    number = {group: i for i, members in enumerate(CLASSES.values()) for group in members}
    return found.data, np.array([number[found.target_names[t]] for t in found.target])


def _balanced(texts: Sequence[str], labels: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Draw the same number of posts from each class and shuffle them."""
    random = np.random.RandomState(0)
    chosen = [
        random.choice(np.flatnonzero(labels == c), POSTS, replace=False)
        for c in range(len(CLASSES))
    ]
    order = np.concatenate(chosen)
    random.shuffle(order)
    return [texts[i] for i in order], labels[order]


def stop_words(data_home: Path | None, file: Path | None) -> tuple[list[str], tuple[str, ...]]:
    """Return the stop words, and a note if they are not the paper's."""
    if file is None and data_home is not None and (Path(data_home) / STOP_WORDS_FILE).exists():
        file = Path(data_home) / STOP_WORDS_FILE
    if file is not None:
        return file.read_text().split(), ()
    try:
        from nltk.corpus import stopwords

        return stopwords.words("english"), ()
    except (ImportError, LookupError):
        note = (
            "Stop words are scikit-learn's, for want of NLTK's that the paper used: pass "
            "--stopwords, or install nltk and its stopwords corpus. Results differ a little."
        )
        return sorted(ENGLISH_STOP_WORDS), (note,)
