"""Do the words that are shown for topics go together in documents that the model has not seen?

    python -m benchmarks.shown_words [--corpora FOLDER] [--topics 10 20] [--examples 10]

Fits `TopicModel` on one half of a corpus, without labels and with five a class, and looks at the
ten words of each topic by two rules: ``topics(by="probability")`` and the default,
``topics(by="coherence")``. The other half scores them:

- NPMI: mean normalised pointwise mutual information of all pairs, in windows of ten words.
- diversity: share of distinct words among all words that are shown.
- generic: share of shown words that tell little about the class of a document: words in at least
  0.5 % of the documents that lower the entropy of the class by less than a tenth.

Then the halves change places. Numbers are means over halves, numbers of topics and labels. FOLDER
holds JSON lines with ``text`` and ``label`` (reuters_r8.jsonl.gz and others); corpora that are
absent are skipped. 20 Newsgroups has no headers, footers and quotes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import time
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import sparse as sp
from sklearn.datasets import fetch_20newsgroups
from sklearn.exceptions import ConvergenceWarning

from benchmarks import measuring, newsgroups
from benchmarks.measuring import Row
from cofactor import TopicModel
from cofactor.metrics import npmi_coherence, topic_diversity
from cofactor.text.describe.topic_words import rank_words

FILES = ("reuters_r8", "searchsnippets", "trec")
WINDOW, SHOWN = 10, 10
FEW = 5  # labels per class
FREQUENT, TELLING = 0.005, 0.1
LESS_DIVERSE = -0.02  # how much lower the diversity may be
RULES = ("probability", "coherence")


class Corpus(NamedTuple):
    name: str
    texts: np.ndarray
    labels: np.ndarray


class Scores(NamedTuple):
    npmi: float
    diversity: float
    generic: float


def corpora(options: argparse.Namespace) -> Iterator[Corpus]:
    """Read the corpora that exist."""
    for name in FILES:
        path = Path(options.corpora or ".") / f"{name}.jsonl.gz"
        if path.exists():
            with gzip.open(path, "rt", encoding="utf-8") as file:
                rows = [json.loads(line) for line in file]
            yield _corpus(name, [row["text"] for row in rows], [row["label"] for row in rows])
        else:
            print(f"{path} does not exist; name its folder with --corpora or COFACTOR_CORPORA.")
    try:
        found = fetch_20newsgroups(
            data_home=options.data_home,
            download_if_missing=False,
            subset="all",
            remove=("headers", "footers", "quotes"),
        )
    except OSError:
        print("20 Newsgroups is absent; name its folder with --data-home or COFACTOR_DATA_HOME.")
        return
    yield _corpus("20 Newsgroups", found.data, [found.target_names[k] for k in found.target])


def _corpus(name: str, texts: list[str], labels: list[str]) -> Corpus:
    return Corpus(name, np.array(texts, dtype=object), np.array(labels, dtype=object))


def measure(corpus: Corpus, options: argparse.Namespace) -> tuple[list[Row], str]:
    """Score both rules on a corpus; return what is demanded, and some topics by both."""
    order = np.random.default_rng(0).permutation(len(corpus.texts))
    halves = np.array_split(order, 2)
    found: dict[str, list[Scores]] = {rule: [] for rule in RULES}
    seconds, shown = 0.0, ""
    for (seen, unseen), k, few in product((halves, halves[::-1]), options.topics, (False, True)):
        model, took = fit(corpus, seen, k, few)
        seconds = max(seconds, took)
        unseen_half = Unseen(model, corpus, unseen)
        for rule in RULES:
            found[rule].append(unseen_half.scores(columns(model, rule)))
        shown = shown or examples(model, options.examples)
    mean = {rule: Scores(*np.mean(scores, axis=0)) for rule, scores in found.items()}
    return compare(corpus.name, mean["coherence"], mean["probability"], seconds), shown


def fit(corpus: Corpus, rows: np.ndarray, k: int, few: bool) -> tuple[TopicModel, float]:
    """Fit half of a corpus; also return the seconds that the ranking of words takes."""
    y = few_labels(corpus.labels[rows]) if few else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = TopicModel(k, random_state=0).fit(corpus.texts[rows], y)
    X = model.vectorizer_.transform(corpus.texts[rows])
    start = time.perf_counter()
    rank_words(X, model.document_topics_, model.estimator_.components_)
    return model, time.perf_counter() - start


def few_labels(labels: np.ndarray) -> np.ndarray:
    """Return the labels of five documents of each class, "" for the others."""
    random, kept = np.random.default_rng(0), np.full(len(labels), "", dtype=object)
    for name in np.unique(labels):
        rows = np.flatnonzero(labels == name)
        kept[random.permutation(rows)[:FEW]] = name
    return kept


def columns(model: TopicModel, rule: str) -> list[np.ndarray]:
    """Return the columns of the words that are shown by a rule."""
    words = model.vectorizer_.words_
    return [np.searchsorted(words, topic.words) for topic in model.topics(SHOWN, by=rule)]


class Unseen:
    """The half of a corpus that scores words."""

    def __init__(self, model: TopicModel, corpus: Corpus, rows: np.ndarray) -> None:
        split, place = model.vectorizer_.build_analyzer(), model.vectorizer_.words_.tolist()
        known = {word: j for j, word in enumerate(place)}
        self.documents = [
            np.array([known[word] for word in split(text) if word in known], dtype=np.int64)
            for text in corpus.texts[rows]
        ]
        self.width = len(place)
        self.generic = generic_words(
            model.vectorizer_.transform(corpus.texts[rows]), corpus.labels[rows]
        )
        self.windows = self._windows()

    def _windows(self) -> Any:
        """Return windows × words."""
        parts = [
            sliding_window_view(words, min(WINDOW, len(words)))
            for words in self.documents
            if len(words)
        ]
        ends = np.cumsum([0, *(size for part in parts for size in [part.shape[1]] * len(part))])
        cells = np.concatenate([part.ravel() for part in parts])
        held = sp.csr_array(
            (np.ones(len(cells), np.float32), cells, ends), shape=(len(ends) - 1, self.width)
        )
        held.sum_duplicates()
        return sp.csc_array(held)

    def scores(self, topics: list[np.ndarray]) -> Scores:
        """Return the scores of topics, each given by the columns of its words."""
        npmi = npmi_coherence(topics, self.windows)
        shown = np.concatenate(topics)
        return Scores(
            float(np.nanmean(npmi)), topic_diversity(topics), float(self.generic[shown].mean())
        )


def generic_words(X: Any, labels: np.ndarray) -> np.ndarray:
    """Mark frequent words that tell little about the class of a document."""
    names, numbers = np.unique(labels, return_inverse=True)
    Y = np.eye(len(names))[numbers]
    counts = (X > 0).astype(float).T @ Y
    prior, total = Y.mean(axis=0), counts.sum(axis=1)
    given = (counts + prior) / (total + 1)[:, None]
    told = (given * np.log(given / prior)).sum(axis=1)
    entropy = -(prior * np.log(prior)).sum()
    return (total >= FREQUENT * len(labels)) & (told < TELLING * entropy)


def compare(name: str, ours: Scores, peer: Scores, seconds: float) -> list[Row]:
    """Return what is demanded: more NPMI, about as much diversity, fewer generic words."""
    gains = Scores(*(a - b for a, b in zip(ours, peer, strict=True)))
    demands = {
        "npmi": ("> 0", gains.npmi > 0),
        "diversity": (f"≥ {LESS_DIVERSE}", gains.diversity >= LESS_DIVERSE),
        "generic": ("< 0", gains.generic < 0),
    }
    return [
        Row(
            f"{name}, {what}",
            f"{getattr(ours, what):.3f}",
            f"{getattr(peer, what):.3f}",
            f"{getattr(gains, what):+.3f}",
            *demand,
            f"ranked in {measuring.seconds(seconds)}" if what == "npmi" else "",
        )
        for what, demand in demands.items()
    ]


def examples(model: TopicModel, count: int) -> str:
    """Return topics by both rules, one below the other."""
    pairs = zip(*(model.topics(SHOWN, by=rule) for rule in RULES), strict=True)
    lines = [
        f"- {' '.join(before.words)}\n  **{' '.join(after.words)}**" for before, after in pairs
    ]
    return "\n".join(lines[:count])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    newsgroups.add_options(parser)
    parser.add_argument(
        "--corpora",
        type=Path,
        default=os.environ.get("COFACTOR_CORPORA"),
        help="folder of the other corpora (default: COFACTOR_CORPORA)",
    )
    parser.add_argument(
        "--topics", type=int, nargs="+", default=[10, 20], help="numbers of topics; default: 10 20"
    )
    parser.add_argument("--examples", type=int, default=0, help="topics to show; default: none")
    options = parser.parse_args()
    measuring.restart_with_fixed_environment()
    print(", ".join(f"{name} {what}" for name, what in measuring.machine().items()), end="\n\n")
    found = [(corpus.name, *measure(corpus, options)) for corpus in corpora(options)]
    rows = [row for _, each, _ in found for row in each]
    print("The ten words shown by coherence (ours) and by probability (peer):\n")
    measuring.print_rows(rows)
    for name, _, shown in found if options.examples else ():
        print(f"\n{name}, by probability and, in bold, by coherence:\n\n{shown}")
    return measuring.verdict(rows)


if __name__ == "__main__":
    sys.exit(main())
