"""Do the labels that `TopicModel` asks for, and those that it doubts, help? Are stable topics real?

    python -m benchmarks.labelling [--data FOLDER] [--data-home FOLDER] [--starts 5] [--rounds 20]

- Labelling. A model starts from ten random labels. Twenty times it is given five more, those that
  ``to_label`` chooses (ours) or random ones (peer), and is fitted again. Its accuracy on other
  texts is the mean over the starts. Demanded: never more than one point below random labels after
  any round, and above them on average.
- Doubts. One label in twenty is replaced by a wrong class at random. Figures are the average
  precision of the ranking of ``doubtful_labels`` (ours), and of the same ranking by a model that
  has seen the labels (peer).
- Stability. Synthetic documents of eight topics, a background that makes up a tenth of each, and
  documents that are background only. A model with 15 topics must also fit noise. Its topics are
  matched one to one with the nine true ones; a topic is real if the cosine is at least 0.8.
  Figures are the mean stability of real topics (ours) and of others (peer), and the ROC AUC.

Corpora are cut to 2,000 training and 1,500 test texts, and fits have at most 20 iterations.
Rules were settled on reuters_r8, searchsnippets and trec, and checked on 20 Newsgroups and
docstrings. FOLDER holds the research data that ``benchmarks.predictions`` reads;
corpora that are absent are skipped.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse as sp
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks import harness
from benchmarks.data_sets import CLASSES, Folders, MissingSet, add_folder_options
from benchmarks.harness import Row
from cofactor import TopicModel
from cofactor.metrics.topics import match_topics

SETTLED, CHECKED = (
    ("reuters_r8", "searchsnippets", "trec"),
    ("newsgroups5", "newsgroups20", "docstrings"),
)
TRAIN_TEXTS, TEST_TEXTS = 2000, 1500
FIRST_LABELS, LABELS_PER_ROUND = 10, 5
MAX_ITERATIONS = 20
WRONG_SHARE = 0.05
MIN_WORST_POINTS = -1.0  # of any round, against random labels
MIN_PRECISION = 0.6


@dataclass(eq=False)
class Corpus:
    """Rows of words. Documents are row numbers, so that no time is spent on vectorising."""

    name: str
    X: Any
    y: np.ndarray  # names of classes
    train: np.ndarray
    test: np.ndarray

    @property
    def topics(self) -> int:
        return max(10, len(np.unique(self.y)))

    def documents(self, rows: np.ndarray) -> list[str]:
        return [str(row) for row in rows]

    def fit(self, rows: np.ndarray, y: Any, seed: int, topics: int | None = None) -> TopicModel:
        model = TopicModel(
            topics or self.topics,
            vectorizer=ByNumber(self.X),
            max_iter=MAX_ITERATIONS,
            task="topics" if y is None else "classes",
            random_state=seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(self.documents(rows), y)


class ByNumber:
    """A vectorizer of documents that are row numbers."""

    def __init__(self, X: Any) -> None:
        self.X = X

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"X": self.X}

    def set_params(self, **given: Any) -> ByNumber:
        return self

    def __sklearn_clone__(self) -> ByNumber:
        return self

    def fit_transform(self, documents: list[str], y: Any = None) -> Any:
        return self.transform(documents)

    def transform(self, documents: list[str]) -> Any:
        return self.X[[int(number) for number in documents]]

    def get_feature_names_out(self) -> np.ndarray:
        return np.array([f"word{j}" for j in range(self.X.shape[1])], dtype=object)


def corpora(names: tuple[str, ...], options: argparse.Namespace) -> Iterator[Corpus]:
    """Read the corpora that exist."""
    folders = Folders(options.data, options.data_home)
    for name in names:
        try:
            found = CLASSES[name](folders, 0)
        except MissingSet as error:
            print(f"{name}: {error}.")
            continue
        random = np.random.default_rng(0)
        train, test = (random.permutation(len(y)) for y in (found.y, found.y_test))
        train, test = train[:TRAIN_TEXTS], test[:TEST_TEXTS]
        X = sp.csr_array(sp.vstack([found.X[train], found.X_test[test]]))
        y = np.array([f"class {c}" for c in (*found.y[train], *found.y_test[test])], dtype=object)
        yield Corpus(name, X, y, np.arange(len(train)), len(train) + np.arange(len(test)))


# Labelling


def labelling(corpus: Corpus, options: argparse.Namespace) -> list[Row]:
    """Compare ``to_label`` with random labels."""
    ours, random = (
        np.array([curve(corpus, name, seed, options) for seed in range(options.starts)])
        for name in (options.strategy, "random")
    )
    ahead = 100 * (ours - random)
    mean, error = ahead.mean(axis=0)[1:], ahead.std(axis=0, ddof=1)[1:] / options.starts**0.5
    worst = int(mean.argmin())
    shown = ", ".join(
        f"{100 * a:.0f}/{100 * b:.0f}"
        for a, b in zip(ours.mean(axis=0)[::4], random.mean(axis=0)[::4], strict=True)
    )
    means = ours[:, 1:].mean(), random[:, 1:].mean()
    return [
        Row(
            f"{corpus.name}, mean of all rounds",
            *(f"{100 * mean:.1f}" for mean in means),
            f"{mean.mean():+.1f}",
            "> 0",
            bool(mean.mean() > 0),
            f"every fourth round: {shown}",
        ),
        Row(
            f"{corpus.name}, worst round",
            "",
            "",
            f"{mean[worst]:+.1f}",
            f"≥ {MIN_WORST_POINTS:g}",
            bool(mean[worst] >= MIN_WORST_POINTS),
            f"after round {worst + 1}, ± {error[worst]:.1f}",
        ),
    ]


def curve(corpus: Corpus, strategy: str, seed: int, options: argparse.Namespace) -> np.ndarray:
    """Return the result of `simulate`, from the cache if it is there."""
    key = [corpus.name, strategy, seed, options.rounds]
    run = partial(simulate, corpus, strategy, seed, options.rounds)
    return np.array(harness.cached(options.cache, key, run))


def simulate(corpus: Corpus, strategy: str, seed: int, rounds: int) -> list[float]:
    """Return the accuracy at the start and after each round of labelling."""
    rows, scores = corpus.train, []
    known = np.zeros(len(rows), dtype=bool)
    known[np.random.default_rng(seed).permutation(len(rows))[:FIRST_LABELS]] = True
    for number in range(rounds + 1):
        y = np.where(known, corpus.y[rows], "")
        model = corpus.fit(rows, y, seed)
        predicted = model.predict(corpus.documents(corpus.test))
        scores.append(float(np.mean(predicted == corpus.y[corpus.test])))
        if number < rounds:
            chosen = model.to_label(
                corpus.documents(rows),
                LABELS_PER_ROUND,
                strategy=strategy,
                y=y,
                random_state=1000 * seed + number,
            )
            known[chosen.column("document")] = True
    return scores


# Doubts


def doubts(corpus: Corpus, options: argparse.Namespace) -> Row:
    """Plant wrong labels, and look for them."""
    found = np.array([planted(corpus, seed) for seed in range(options.starts)])
    ours, seen = found.mean(axis=0)
    return Row(
        f"{corpus.name}, average precision",
        f"{ours:.2f}",
        f"{seen:.2f}",
        f"{ours - seen:+.2f}",
        f"≥ {MIN_PRECISION:g}",
        bool(ours >= MIN_PRECISION),
        f"least {found[:, 0].min():.2f}",
    )


def planted(corpus: Corpus, seed: int) -> tuple[float, float]:
    """Return the average precision by held-out models, and by the model that saw the labels."""
    random, rows = np.random.default_rng(seed), corpus.train
    y, names = corpus.y[rows].copy(), np.unique(corpus.y)
    wrong = random.random(len(y)) < WRONG_SHARE
    for i in np.flatnonzero(wrong):
        y[i] = random.choice(names[names != y[i]])
    model, documents = corpus.fit(rows, y, seed), corpus.documents(rows)
    rank = np.zeros(len(y))
    listed = model.doubtful_labels(documents, y).column("document")
    rank[listed] = np.arange(len(listed), 0, -1)
    P = model.predict_proba(documents)
    own = P[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    lead = np.log(P.max(axis=1)) - np.log(own)
    return average_precision_score(wrong, rank), average_precision_score(wrong, lead)


# Stability


TRUE_TOPICS, NOISE_SHARE, MODEL_TOPICS = 8, 0.25, 15
MIN_COSINE = 0.8  # of a real topic and a true one
MIN_AREA = 0.9  # under the ROC curve


def stability(options: argparse.Namespace) -> Iterator[Row]:
    """Distinguish real topics from noise by stability, without labels and with some."""
    for name, share in (("no labels", 0.0), ("one label in ten", 0.1)):
        draws = [separation(seed, share, options.runs) for seed in range(options.draws)]
        real, stable = (np.concatenate(part) for part in zip(*draws, strict=True))
        area = roc_auc_score(real, stable)
        means = stable[real].mean(), stable[~real].mean()
        yield Row(
            f"made topics, {name}",
            *(f"{mean:.2f}" for mean in means),
            f"{area:.3f}",
            f"≥ {MIN_AREA:g}",
            bool(area >= MIN_AREA),
            f"{real.sum()} real topics and {(~real).sum()} others",
        )


def separation(seed: int, share: float, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which topics of a model are real, and how stable each is."""
    counts, y, truth = made_documents(np.random.default_rng(seed))
    rows = np.arange(counts.shape[0])
    corpus = Corpus("made", counts, y, rows, rows)
    known = np.random.default_rng([seed, 1]).random(len(y)) < share
    labels = np.where(known & (y != ""), y, "") if share else None
    model = corpus.fit(rows, labels, seed, topics=MODEL_TOPICS)
    model.stability(corpus.documents(rows), labels, runs=runs)
    components, words = model.estimator_.components_, range(truth.shape[1])
    real = np.zeros(len(components), dtype=bool)
    for k, _, similarity in match_topics(components, words, truth, words):
        real[k] = similarity >= MIN_COSINE
    return real, model.stability_.mean(axis=0)


def made_documents(
    random: np.random.Generator, n: int = 600, words: int = 800, length: int = 60
) -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
    """Draw documents of a few topics each, and documents that are background only.

    Return counts of words, the main topic of each document ("" for background), and the topics
    with the background below them.
    """
    truth = random.dirichlet(np.full(words, 0.03), TRUE_TOPICS)
    usual = random.dirichlet(np.full(words, 1.0))  # the background
    shares = random.dirichlet(np.full(TRUE_TOPICS, 0.1), n)
    noise = random.random(n) < NOISE_SHARE
    P = np.where(noise[:, None], usual, 0.9 * shares @ truth + 0.1 * usual)
    counts = np.array([random.multinomial(length, p) for p in P])
    y = np.array([f"class {k}" for k in shares.argmax(axis=1)], dtype=object)
    truth = np.vstack([truth, usual])
    return sp.csr_array(counts.astype(float)), np.where(noise, "", y), truth


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    add_folder_options(parser)
    parser.add_argument("--sets", nargs="+", default=[*SETTLED, *CHECKED], help="corpora")
    parser.add_argument("--parts", nargs="+", default=["labelling", "doubts", "stability"])
    parser.add_argument("--starts", type=int, default=5, help="starts; default: 5")
    parser.add_argument("--rounds", type=int, default=20, help="rounds of labelling; default: 20")
    parser.add_argument("--cache", help="file that keeps the accuracies of finished starts")
    parser.add_argument("--strategy", default="mixed", help="of to_label; default: mixed")
    parser.add_argument("--runs", type=int, default=20, help="draws of documents; default: 20")
    parser.add_argument("--draws", type=int, default=5, help="made corpora; default: 5")
    options = parser.parse_args(argv)
    harness.restart_with_fixed_environment()
    harness.print_machine()
    rows = []
    for corpus in corpora(tuple(options.sets), options):
        rows += labelling(corpus, options) if "labelling" in options.parts else []
        rows += [doubts(corpus, options)] if "doubts" in options.parts else []
    rows += stability(options) if "stability" in options.parts else []
    harness.print_rows(rows)
    return harness.verdict(rows)


if __name__ == "__main__":
    sys.exit(main())
