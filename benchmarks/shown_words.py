"""Do the words shown for topics co-occur in documents that the model has not seen?

    python -m benchmarks.shown_words [--corpora FOLDER] [--topics 10 20] [--examples 10] [--losses]

Fits `TopicModel` on one half of a corpus, without labels and with five per class, and looks at the
ten words of each topic by two rules: ``topics(by="probability")`` and the default,
``topics(by="coherence")``. The other half scores them:

- NPMI: mean normalised pointwise mutual information of all pairs, in windows of ten words.
- diversity: share of distinct words among all words that are shown.
- generic: share of shown words that say little about the class of a document: words in at least
  0.5 % of the documents that lower the entropy of the class by less than a tenth.

Then the halves swap. Numbers are means over halves, numbers of topics and labels. FOLDER
holds JSON lines with ``text`` and ``label`` (reuters_r8.jsonl.gz and others); corpora that are
absent are skipped. 20 Newsgroups has no headers, footers and quotes.

``--losses`` compares losses instead: topics without labels by Kullback–Leibler divergence (the
default) and by squared error, and those of scikit-learn's NMF (squared error, its most probable
words) on the same tf-idf.
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
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from benchmarks import data_sets, harness
from benchmarks.harness import Row
from cofactor import TopicModel
from cofactor.metrics import npmi_coherence, topic_diversity
from cofactor.text.describe.topic_words import rank_words

FILES = ("reuters_r8", "searchsnippets", "trec")
WINDOW_WORDS, SHOWN_WORDS = 10, 10
LABELS_PER_CLASS = 5
MIN_FREQUENCY, MIN_INFORMATION = 0.005, 0.1  # a word is generic if frequent and less informative
MIN_DIVERSITY_GAIN = -0.02
RULES = ("probability", "coherence")
LOSSES = ("kullback-leibler", "frobenius")


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


def measure_losses(corpus: Corpus, options: argparse.Namespace) -> list[list[str]]:
    """Return a line for each number of topics: NPMI and diversity by loss."""
    order = np.random.default_rng(0).permutation(len(corpus.texts))
    halves = np.array_split(order, 2)
    lines = []
    for k in options.topics:
        found: list[list[Scores]] = []
        for seen, unseen in (halves, halves[::-1]):
            texts = corpus.texts[seen]
            models = [TopicModel(k, data_loss=loss, random_state=0).fit(texts) for loss in LOSSES]
            X, half = models[0].vectorizer_.transform(texts), Unseen(models[0], corpus, unseen)
            peer = NMF(k, init="nndsvda", max_iter=200, random_state=0).fit(X)
            shown = [columns(model, "coherence") for model in models]
            shown.append([np.argsort(-topic)[:SHOWN_WORDS] for topic in peer.components_])
            found.append([half.scores(words) for words in shown])
        npmi, diversity, _ = np.mean(found, axis=0).T
        cells = [f"{a:.3f} ({b:.2f})" for a, b in zip(npmi, diversity, strict=True)]
        lines.append([corpus.name, str(k), *cells])
    return lines


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
        kept[random.permutation(rows)[:LABELS_PER_CLASS]] = name
    return kept


def columns(model: TopicModel, rule: str) -> list[np.ndarray]:
    """Return the columns of the words that are shown by a rule."""
    words = model.vectorizer_.words_
    return [np.searchsorted(words, topic.words) for topic in model.topics(SHOWN_WORDS, by=rule)]


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
            sliding_window_view(words, min(WINDOW_WORDS, len(words)))
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
    """Return which frequent words say little about the class of a document."""
    names, numbers = np.unique(labels, return_inverse=True)
    Y = np.eye(len(names))[numbers]
    counts = (X > 0).astype(float).T @ Y
    prior, total = Y.mean(axis=0), counts.sum(axis=1)
    given = (counts + prior) / (total + 1)[:, None]
    told = (given * np.log(given / prior)).sum(axis=1)
    entropy = -(prior * np.log(prior)).sum()
    return (total >= MIN_FREQUENCY * len(labels)) & (told < MIN_INFORMATION * entropy)


def compare(name: str, ours: Scores, peer: Scores, seconds: float) -> list[Row]:
    """Compare: more NPMI, about as much diversity and fewer generic words are demanded."""
    gains = Scores(*(a - b for a, b in zip(ours, peer, strict=True)))
    demands = {
        "npmi": ("> 0", gains.npmi > 0),
        "diversity": (f"≥ {MIN_DIVERSITY_GAIN}", gains.diversity >= MIN_DIVERSITY_GAIN),
        "generic": ("< 0", gains.generic < 0),
    }
    return [
        Row(
            f"{name}, {what}",
            f"{getattr(ours, what):.3f}",
            f"{getattr(peer, what):.3f}",
            f"{getattr(gains, what):+.3f}",
            *demand,
            f"ranked in {harness.seconds(seconds)}" if what == "npmi" else "",
        )
        for what, demand in demands.items()
    ]


def examples(model: TopicModel, count: int) -> str:
    """Return topics by both rules, one below the other."""
    pairs = zip(*(model.topics(SHOWN_WORDS, by=rule) for rule in RULES), strict=True)
    lines = [
        f"- {' '.join(before.words)}\n  **{' '.join(after.words)}**" for before, after in pairs
    ]
    return "\n".join(lines[:count])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    data_sets.add_newsgroups_options(parser)
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
    parser.add_argument("--losses", action="store_true", help="compare losses, without labels")
    options = parser.parse_args()
    harness.restart_with_fixed_environment()
    harness.print_machine()
    if options.losses:
        warnings.simplefilter("ignore", ConvergenceWarning)
        lines = [line for corpus in corpora(options) for line in measure_losses(corpus, options)]
        print("NPMI (diversity) of the ten words shown, without labels:\n")
        harness.print_table(("corpus", "topics", *LOSSES, "scikit-learn, frobenius"), lines)
        return 0
    found = [(corpus.name, *measure(corpus, options)) for corpus in corpora(options)]
    rows = [row for _, each, _ in found for row in each]
    print("The ten words shown by coherence (ours) and by probability (peer):\n")
    harness.print_rows(rows)
    for name, _, shown in found if options.examples else ():
        print(f"\n{name}, by probability and, in bold, by coherence:\n\n{shown}")
    return harness.verdict(rows)


if __name__ == "__main__":
    sys.exit(main())
