"""The data of the benchmarks: the paper's 20 Newsgroups, other real sets, synthetic sets.

Research data that scikit-learn does not have are read from a folder of gzipped JSON lines (keys
``text``, ``label`` and optionally ``split``) and ``.npz`` files; ``benchmarks/sources.py`` says
where they come from.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse as sp
from sklearn import datasets
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from cofactor.datasets.docstrings import docstring_corpus
from cofactor.experiments import MissingData
from cofactor.experiments.documents import STOP_WORDS_FILE, find_stop_words
from cofactor.experiments.newsgroups import splits as newsgroups
from cofactor.io.errors import InputError
from cofactor.text import WordVectorizer

MAX_TRAIN_ROWS, MAX_TEST_ROWS = 6000, 3000
REMOVED = ("headers", "footers", "quotes")  # of newsgroup posts


class MissingSet(Exception):
    """A set cannot be read; the message names what is missing."""


@dataclass(frozen=True)
class Folders:
    """The folders of the research data and of scikit-learn's data."""

    shared: Path | None = None
    scikit_learn: Path | None = None


def add_folder_options(parser: argparse.ArgumentParser) -> None:
    """Add the folders of the research data and of scikit-learn's data to a command line."""
    for option, variable, what in (
        ("--data", "COFACTOR_SHARED_DATA", "research data"),
        ("--data-home", "COFACTOR_DATA_HOME", "scikit-learn's data"),
    ):
        default = Path(os.environ[variable]) if os.environ.get(variable) else None
        about = f"folder of {what}; default: {variable}"
        parser.add_argument(option, type=Path, default=default, metavar="FOLDER", help=about)


@dataclass(eq=False)
class Rows:
    """A set that is split into training and test rows.

    ``kind`` is "words" (tf-idf rows of length one), "table" (dense, scaled to [0, 1]), "counts",
    "cells" (of a real set) or "ratings". ``y`` holds class numbers, numbers, or a row of 0 and 1
    for each sample; ``names`` are those of the classes.
    """

    kind: str
    X: Any
    y: Any
    X_test: Any
    y_test: Any
    balanced: bool = False  # classes are scored by balanced accuracy
    texts: tuple[Sequence[str], Sequence[str]] | None = None
    names: list[str] | None = None

    @cached_property
    def digest(self) -> str:
        """A hash of the data, to recognise cached results."""
        found = hashlib.sha256()
        for array in (self.X, self.y, self.X_test, self.y_test):
            for part in (array.indices, array.data) if sp.issparse(array) else (array,):
                found.update(np.ascontiguousarray(part).tobytes())
        return found.hexdigest()[:12]

    @cached_property
    def usual(self) -> tuple[Any, Any]:
        """Training and test rows, scaled as users of linear models do."""
        if self.kind == "table":
            scaler = StandardScaler().fit(self.X)
            return scaler.transform(self.X), scaler.transform(self.X_test)
        if self.kind == "counts":
            return log_normalised(self.X), log_normalised(self.X_test)
        return self.X, self.X_test


def log_normalised(counts: sp.csr_matrix) -> sp.csr_matrix:
    """Return log(1 + counts per 10,000 of the row)."""
    totals = np.maximum(np.asarray(counts.sum(axis=1)).ravel(), 1)
    return sp.csr_matrix(sp.diags_array(1e4 / totals) @ counts).log1p()


# The paper's 20 Newsgroups


@dataclass(frozen=True)
class Newsgroups:
    """The paper's tf-idf matrix: rows are posts, columns words; ``y`` numbers the classes."""

    X: sp.csr_matrix
    y: np.ndarray
    X_test: sp.csr_matrix
    y_test: np.ndarray
    notes: tuple[str, ...] = ()

    @property
    def n_classes(self) -> int:
        return len(newsgroups.CLASSES)

    def __str__(self) -> str:
        (n, m), k = self.X.shape, self.X_test.shape[0]
        return f"20 Newsgroups: {n} × {m}, {self.X.nnz} stored; {k} posts to test on"


def add_newsgroups_options(parser: argparse.ArgumentParser) -> None:
    """Add the folder of the data to a command line."""
    parser.add_argument(
        "--data-home",
        type=Path,
        default=os.environ.get("COFACTOR_DATA_HOME"),
        help="scikit-learn's data folder (default: COFACTOR_DATA_HOME, else scikit-learn's own)",
    )
    parser.add_argument(
        "--stopwords", type=Path, help=f"file of stop words (default: {STOP_WORDS_FILE} there)"
    )


def newsgroups_home(options: argparse.Namespace) -> Path | None:
    return None if options.data_home is None else Path(options.data_home)


def load_newsgroups(options: argparse.Namespace) -> Newsgroups:
    """Build the matrices; the posts must have been downloaded before."""
    home = newsgroups_home(options)
    try:
        posts, stop = newsgroups.fetch_posts(home), find_stop_words(options.stopwords, home)
    except InputError as error:
        raise SystemExit(str(error)) from None
    posts = newsgroups.balanced(posts, seed=0)
    n = len(posts.texts)
    data = newsgroups.split(posts, int(0.8 * n), n, stop.words)
    classes = list(newsgroups.CLASSES)
    y, y_test = (np.array([classes.index(c) for c in labels]) for labels in (data.y, data.y_test))
    return Newsgroups(sp.csr_matrix(data.X), y, sp.csr_matrix(data.X_test), y_test, stop.notes)


# Splits


def of_texts(texts: Sequence[str], y: np.ndarray, train: np.ndarray, test: np.ndarray) -> Rows:
    """Compute tf-idf with the vocabulary of the training rows."""
    known, new = ([texts[i] for i in rows] for rows in (train, test))
    vectorizer = WordVectorizer()
    X, X_test = vectorizer.fit_transform(known), vectorizer.transform(new)
    return Rows("words", *_plain(X, y[train], X_test, y[test]), texts=(known, new))


def _plain(X: Any, y: Any, X_test: Any, y_test: Any) -> tuple[Any, Any, Any, Any]:
    """Return sparse matrices in the form that every library reads."""
    X, X_test = sp.csr_matrix(X), sp.csr_matrix(X_test)
    for matrix in (X, X_test):
        matrix.indices, matrix.indptr = (
            a.astype(np.int32) for a in (matrix.indices, matrix.indptr)
        )
    return X, y, X_test, y_test


def at_random(y: np.ndarray, seed: int, stratify: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Return training and test rows, two to one, of a set that comes without a split."""
    n = len(y)
    return train_test_split(
        np.arange(n),
        train_size=min(MAX_TRAIN_ROWS, n - n // 3),
        test_size=min(MAX_TEST_ROWS, n // 3),
        random_state=seed,
        stratify=y if stratify else None,
    )


def as_given(split: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return training and test rows of a set that comes with a split, shuffled."""
    random, test = np.random.default_rng(0), np.array(split) == "test"
    train, test = (random.permutation(np.flatnonzero(rows)) for rows in (~test, test))
    return train[:MAX_TRAIN_ROWS], test[:MAX_TEST_ROWS]


def codes(labels: Any) -> np.ndarray:
    """Number the classes."""
    return np.unique(np.asarray(labels, dtype=str), return_inverse=True)[1]


# Readers


def read_lines(folders: Folders, name: str) -> dict[str, list[Any]]:
    """Read the columns of gzipped JSON lines."""
    with gzip.open(_file(folders, f"{name}.jsonl.gz"), "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return {key: [row[key] for row in rows] for key in rows[0]}


def _file(folders: Folders, name: str) -> Path:
    if folders.shared is None:
        raise MissingSet(
            f"name the folder of {name} with --data or COFACTOR_SHARED_DATA "
            "(docs/benchmarks/data.md says where to get it)"
        )
    if not (folders.shared / name).exists():
        raise MissingSet(
            f"{name} is not in {folders.shared} (docs/benchmarks/data.md says where to get it)"
        )
    return folders.shared / name


def lines(name: str) -> Callable[[Folders, int], Rows]:
    """Return the loader of a set of texts with classes."""

    def load(folders: Folders, seed: int) -> Rows:
        columns = read_lines(folders, name)
        y = codes(columns["label"])
        split = as_given(columns["split"]) if "split" in columns else at_random(y, 0)
        return of_texts(columns["text"], y, *split)

    return load


def table(read: Callable[..., Any]) -> Callable[[Folders, int], Rows]:
    """Return the loader of one of scikit-learn's tables; every draw has its own split."""

    def load(folders: Folders, seed: int) -> Rows:
        X, y = read(return_X_y=True)
        return of_table(X, y, *at_random(y, seed, stratify=read is not datasets.load_diabetes))

    return load


def of_table(
    X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, balanced: bool = False
) -> Rows:
    """Scale the columns to [0, 1]; clip test rows to the range of the training rows."""
    scaler = MinMaxScaler(clip=True).fit(X[train])
    scaled = (scaler.transform(X[rows]) for rows in (train, test))
    return Rows("table", next(scaled), y[train], next(scaled), y[test], balanced)


def indian_pines(folders: Folders, seed: int) -> Rows:
    with np.load(_file(folders, "indian_pines.npz")) as found:
        y = found["y"].ravel()
        X = found["X"].reshape(len(y), -1).astype(float)
    X, y = X[y > 0], y[y > 0].astype(int) - 1
    return of_table(X, y, *at_random(y, 0), balanced=True)


def docstrings(folders: Folders, seed: int) -> Rows:
    found = docstrings_read()
    y = codes(found.labels)
    return of_texts(found.texts, y, *at_random(y, 0))


docstrings_read = cache(docstring_corpus)


def newsgroups5(folders: Folders, seed: int) -> Rows:
    """The paper's five classes of newsgroups, equally large."""
    try:
        posts = newsgroups.balanced(newsgroups.fetch_posts(folders.scikit_learn), seed=0)
    except MissingData as error:
        raise MissingSet(str(error)) from None
    y = codes(posts.labels)
    return of_texts(posts.texts, y, *at_random(y, 0))


def newsgroups20(folders: Folders, seed: int) -> Rows:
    """All twenty newsgroups; the test posts are later than the training posts."""
    try:
        parts = [
            datasets.fetch_20newsgroups(
                data_home=folders.scikit_learn,
                download_if_missing=False,
                subset=name,
                remove=REMOVED,
            )
            for name in ("train", "test")
        ]
    except OSError:
        raise MissingSet(
            "20 Newsgroups is not in scikit-learn's data folder; "
            "`python -m benchmarks.sources --fetch` downloads it"
        ) from None
    split = np.repeat(["train", "test"], [len(part.target) for part in parts])
    texts = [text for part in parts for text in part.data]
    return of_texts(texts, np.concatenate([part.target for part in parts]), *as_given(split))


def imdb(folders: Folders, seed: int) -> Rows:
    columns = read_lines(folders, "imdb_rating_sample")
    return of_texts(columns["text"], np.array(columns["label"], float), *as_given(columns["split"]))


def cooking_tags(folders: Folders, seed: int) -> Rows:
    """All training rows, more than other sets have, because most tags are rare."""
    columns = read_lines(folders, "cooking_tags")
    tags = sorted({tag for row in columns["label"] for tag in row})
    place = {tag: j for j, tag in enumerate(tags)}
    Y = np.zeros((len(columns["label"]), len(tags)))
    for i, row in enumerate(columns["label"]):
        Y[i, [place[tag] for tag in row]] = 1
    test = np.array(columns["split"]) == "test"
    return of_texts(columns["text"], Y, np.flatnonzero(~test), np.flatnonzero(test)[:MAX_TEST_ROWS])


# Synthetic data


def made_numbers(shape: Callable[[np.ndarray], np.ndarray]) -> Callable[[Folders, int], Rows]:
    """Return the loader of docstrings with a target computed from their length and some words."""

    def load(folders: Folders, seed: int) -> Rows:
        texts = docstrings_read().texts
        random = np.random.default_rng(1)
        X = WordVectorizer(min_df=20, max_df=0.3).fit_transform(texts)
        words = random.choice(X.shape[1], 60, replace=False)
        signal = _standard(X[:, words] @ random.normal(size=len(words)))
        length = _standard(np.log([len(text.split()) for text in texts]))
        noise = random.normal(size=len(texts))
        y = shape(_standard(signal + 0.7 * length + 0.6 * noise))
        return of_texts(texts, y, *at_random(y, 0, stratify=False))

    return load


def _standard(values: Any) -> np.ndarray:
    values = np.asarray(values, float)
    return (values - values.mean()) / values.std()


@dataclass(eq=False)
class CellSet:
    """Single cells: counts, and the names of types, genes and batches."""

    X: sp.csr_matrix
    types: np.ndarray
    genes: np.ndarray
    batch: np.ndarray | None = None


def real_cells(folders: Folders, name: str, least: int = 10) -> CellSet:
    """Read cells; leave out types and genes that are in fewer cells than ``least``."""
    held = np.load(_file(folders, f"cells/{name}.npz"))
    parts = held["data"].astype(np.float32), held["indices"].astype(np.int32), held["indptr"]
    X = sp.csr_matrix(parts, shape=tuple(held["shape"]))
    types = held["label"].astype(str)
    names, sizes = np.unique(types, return_counts=True)
    kept = np.isin(types, names[sizes >= least]) & (types != "Unknown")
    genes = np.asarray((X[kept] > 0).sum(axis=0)).ravel() >= least
    kept &= np.asarray(X[:, genes].sum(axis=1)).ravel() > 0
    batch = held["batch"][kept] if "batch" in held else None
    return CellSet(X[kept][:, genes].tocsr(), types[kept], held["genes"][genes].astype(str), batch)


def as_anndata(X: Any, labels: Any = None, genes: Any = None) -> Any:
    """Return cells as AnnData, with labels in the column "label"."""
    from anndata import AnnData

    adata = AnnData(sp.csr_matrix(X))
    adata.var_names = [str(j) for j in range(X.shape[1])] if genes is None else list(genes)
    if labels is not None:
        adata.obs["label"] = labels
    return adata


def some_cells(name: str) -> Callable[[Folders, int], Rows]:
    """Return the loader of a real set of cells, half of them for training."""

    def load(folders: Folders, seed: int) -> Rows:
        cells = real_cells(folders, name)
        y, order = codes(cells.types), np.random.default_rng(seed).permutation(len(cells.types))
        train, test = np.array_split(order, 2)
        rows = cells.X[train], y[train], cells.X[test], y[test]
        return Rows("cells", *rows, names=np.unique(cells.types).tolist())

    return load


def made_cells(folders: Folders, seed: int) -> Rows:
    """Single-cell-like counts: every draw has its own cells; scored by balanced accuracy."""
    random = np.random.default_rng([seed, 1])
    X, y = draw_cells(random)
    train, test = at_random(y, seed)
    return Rows("counts", *_plain(X[train], y[train], X[test], y[test]), balanced=True)


def draw_cells(
    random: np.random.Generator, n: int = 4500, genes: int = 2000, types: int = 12
) -> tuple[np.ndarray, np.ndarray]:
    """Draw negative binomial counts of cell types, the rarest a hundredth of the cells.

    Types come in lineages of three, which share most of their marker genes. The totals of the
    cells are log-normal; 95 % of them lie within a factor of 30.
    """
    shares = np.geomspace(1.0, 0.05, types)
    y = random.choice(types, n, p=shares / shares.sum())
    profile = np.tile(random.normal(0, 1.5, genes), (types, 1))
    for lineage in range(0, types, 3):
        profile[lineage : lineage + 3] += _markers(random, genes, 0.05, 1.5)
    profile += np.array([_markers(random, genes, 0.025, 1.2) for _ in range(types)])
    profile = np.exp(profile)
    totals = np.exp(random.normal(np.log(1500), np.log(30) / (2 * 1.96), n))
    mean = totals[:, None] * (profile / profile.sum(axis=1, keepdims=True))[y]
    dispersion = 1.5
    return random.poisson(random.gamma(dispersion, mean / dispersion)).astype(float), y


def _markers(random: np.random.Generator, genes: int, share: float, size: float) -> np.ndarray:
    return np.where(random.random(genes) < share, random.normal(size, 0.5, genes), 0.0)


def made_ratings(folders: Folders, seed: int) -> Rows:
    """Ratings 1 to 5 with offsets of users and items: 5 % observed, 2 % held out."""
    random = np.random.default_rng([seed, 2])
    users, items, rank = 900, 1200, 5
    low_rank = random.normal(size=(users, rank)) @ random.normal(size=(rank, items)) / rank**0.5
    mean = 3.5 + 0.45 * random.normal(size=(users, 1)) + 0.5 * random.normal(size=items)
    ratings = np.clip(np.rint(mean + 0.5 * low_rank + 0.7 * random.normal(size=mean.shape)), 1, 5)
    place = random.random(mean.shape)
    train, test = (sp.csr_matrix(ratings * part) for part in (place < 0.05, place > 0.98))
    return Rows("ratings", train, train, test, test)


CLASSES: dict[str, Callable[[Folders, int], Rows]] = {
    "wine": table(datasets.load_wine),
    "breast_cancer": table(datasets.load_breast_cancer),
    "digits": table(datasets.load_digits),
    "trec": lines("trec"),
    "sms_spam": lines("sms_spam"),
    "docstrings": docstrings,
    "reuters_r8": lines("reuters_r8"),
    "searchsnippets": lines("searchsnippets"),
    "newsgroups5": newsgroups5,
    "newsgroups20": newsgroups20,
    "indian_pines": indian_pines,
}
NUMBERS: dict[str, Callable[[Folders, int], Rows]] = {
    "diabetes": table(datasets.load_diabetes),
    "made_points": made_numbers(lambda z: np.clip(90 + 3 * z, 80, 100)),
    "made_negative": made_numbers(lambda z: 10 * z - 50),
    "made_skewed": made_numbers(lambda z: np.exp(0.8 * z)),
    "imdb_rating_sample": imdb,
}
TAGS: dict[str, Callable[[Folders, int], Rows]] = {"cooking_tags": cooking_tags}
CELLS: dict[str, Callable[[Folders, int], Rows]] = {"made_cells": made_cells}
REAL_CELLS = {name: some_cells(name) for name in ("baron_h1", "kang_pbmc", "cite_cbmc")}
RATINGS: dict[str, Callable[[Folders, int], Rows]] = {"made_ratings": made_ratings}
SPLIT_BY_DRAW = frozenset(
    {"wine", "breast_cancer", "digits", "diabetes", "made_cells", "made_ratings"}
)
"""Sets whose split or data depend on the draw; in the others only the labels do."""


@lru_cache(maxsize=1)
def load(name: str, folders: Folders, seed: int) -> Rows:
    """Return a set; the last one stays in memory."""
    sets = CLASSES | NUMBERS | TAGS | CELLS | REAL_CELLS | RATINGS
    return sets[name](folders, seed)


# Labels


def per_class(y: np.ndarray, budget: int | None, seed: int) -> np.ndarray:
    """Return y with −1 for all but ``budget`` rows of each class (all, if it has fewer)."""
    if budget is None:
        return y
    random, shown = np.random.default_rng(seed), np.full(len(y), -1)
    for c in np.unique(y):
        shown[random.permutation(np.flatnonzero(y == c))[:budget]] = c
    return shown


def some_rows(y: np.ndarray, budget: int | None, seed: int) -> np.ndarray:
    """Return y with NaN for all but ``budget`` rows (all, if there are fewer)."""
    if budget is None:
        return y
    shown = np.full(y.shape, np.nan)
    rows = np.random.default_rng(seed).permutation(len(y))[:budget]
    shown[rows] = y[rows]
    return shown
