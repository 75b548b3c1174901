"""The paper's 20 Newsgroups (five classes of 1796 posts, tf-idf of 5000 words) and its splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as sp
from sklearn.datasets import fetch_20newsgroups

from cofactor.errors import Parameter
from cofactor.experiments import MissingData
from cofactor.experiments.documents import digest, made_up_document, tf_idf

CLASSES = {
    "Computers": {
        "comp.graphics": "graphics",
        "comp.sys.mac.hardware": "mac",
        "comp.windows.x": "windows",
    },
    "Sciences": {"sci.crypt": "crypt", "sci.electronics": "electronics", "sci.space": "space"},
    "Politics": {"talk.politics.guns": "guns", "talk.politics.mideast": "mideast"},
    "Religion": {"alt.atheism": "atheism", "soc.religion.christian": "christian"},
    "Recreation": {
        "rec.autos": "autos",
        "rec.sport.baseball": "baseball",
        "rec.sport.hockey": "hockey",
    },
}
"""The newsgroups in each class, with the paper's names for them."""
TRAIN, VALIDATION = 0.6, 0.2  # shares of the posts; the rest is for the test


@dataclass(frozen=True, eq=False)
class Posts:
    """Texts, and the class and the newsgroup of each."""

    texts: Sequence[str]
    labels: NDArray[np.str_]
    groups: NDArray[np.str_]

    def take(self, rows: NDArray[np.intp]) -> Posts:
        return Posts([self.texts[i] for i in rows], self.labels[rows], self.groups[rows])


@dataclass(frozen=True, eq=False)
class Split:
    """Posts to learn from, which set the vocabulary, and posts to test on."""

    X: sp.csr_array
    y: NDArray[np.str_]
    X_test: sp.csr_array
    y_test: NDArray[np.str_]
    words: list[str]


@dataclass(frozen=True, eq=False)
class PaperSplits:
    """The data of all trials.

    Parameters
    ----------
    selection : Split
        Training posts, tested on the validation posts.
    final : Split
        Training and validation posts, tested on the test posts.
    groups : array
        Newsgroup of each post, those of ``final.X`` first.
    digest : str
        Identifies the data.
    """

    selection: Split
    final: Split
    groups: NDArray[np.str_]
    digest: str


@dataclass(frozen=True, eq=False)
class PostPool:
    """All posts of the five classes, and stop words: for other draws and splits."""

    posts: Posts
    stop_words: Sequence[str]
    digest: str


def fetch_posts(data_home: Path | None) -> Posts:
    """Read the posts of the five classes, without headers, footers and quotes."""
    names = {group: name for groups in CLASSES.values() for group, name in groups.items()}
    classes = {group: label for label, groups in CLASSES.items() for group in groups}
    try:
        found = fetch_20newsgroups(
            data_home=data_home,
            download_if_missing=False,
            subset="all",
            remove=("headers", "footers", "quotes"),
            categories=list(names),
        )
    except OSError:
        where = data_home or "scikit-learn's data folder (~/scikit_learn_data)"
        raise MissingData(
            f"20 Newsgroups is not in {where}",
            (
                "put scikit-learn's 20news-bydate_py3.pkz there, or name the folder that has it "
                "with ",
                Parameter("data_home"),
                " or COFACTOR_DATA_HOME; with a network, python -c 'from sklearn.datasets import "
                'fetch_20newsgroups as f; f(subset="all")\' downloads it',
            ),
        ) from None
    members = [found.target_names[target] for target in found.target]
    return Posts(
        found.data,
        np.array([classes[member] for member in members]),
        np.array([names[member] for member in members]),
    )


def balanced(posts: Posts, seed: int) -> Posts:
    """Draw as many posts of each class as the smallest has, and shuffle them."""
    random = np.random.RandomState(seed)
    classes = list(CLASSES)
    size = min(int(np.sum(posts.labels == name)) for name in classes)
    order = np.concatenate(
        [random.choice(np.flatnonzero(posts.labels == name), size, False) for name in classes]
    )
    random.shuffle(order)
    return posts.take(order)


def split(posts: Posts, train: int, test: int, stop_words: Sequence[str]) -> Split:
    """Learn from the first ``train`` posts; test on those from there to ``test``."""
    X, X_test, words = tf_idf(posts.texts[:train], posts.texts[train:test], stop_words)
    return Split(X, posts.labels[:train], X_test, posts.labels[train:test], words)


def paper_splits(posts: Posts, stop_words: Sequence[str]) -> PaperSplits:
    """Split shuffled posts 60 : 20 : 20 for training, validation and test."""
    n = len(posts.texts)
    first, second = int(TRAIN * n), int((TRAIN + VALIDATION) * n)
    return PaperSplits(
        split(posts, first, second, stop_words),
        split(posts, second, n, stop_words),
        posts.groups,
        digest(posts.texts, posts.labels, posts.groups, stop_words),
    )


def other_split(pool: PostPool, seed: int) -> Split:
    """Draw the posts again and split them 80 : 20 for training and test."""
    posts = balanced(pool.posts, seed)
    n = len(posts.texts)
    return split(posts, int((TRAIN + VALIDATION) * n), n, pool.stop_words)


def make_up_posts(seed: int) -> Posts:
    """Return 16 posts per group, made of words of their group, words of their class and others."""
    random = np.random.default_rng(seed)
    members = [(label, group) for label, groups in CLASSES.items() for group in groups.values()]
    kinds = [member for member in members for _ in range(16)]
    subjects = sorted({name for member in members for name in member})
    texts = [made_up_document(kind, subjects, random) for kind in kinds]
    labels, groups = (np.array(each) for each in zip(*kinds, strict=True))
    return Posts(texts, labels, groups).take(random.permutation(len(texts)))
