"""An analyst who labels with the app: do the texts that it asks for teach more than random ones?

    python -m benchmarks.analyst [--data FOLDER] [--data-home FOLDER] [--sets reuters_r8 ...]
                                 [--starts 5] [--topics 10] [--labels 200]

The analyst begins without any label or class, and drives the same `Session` as the page of
``cofactor app``. She labels the text that the queue shows with its true class, and adds a class
when she first meets it. The app fits again after every five labels, as it does for
users. A second analyst labels texts in a random order; everything else is the same.

Figures are accuracies on other texts, which nobody labels, after 10, 25, 50, 100 and 200 labels.
Classes that no label has shown yet are counted as errors: with 25 labels of twenty classes some are
missing. Rules were settled on reuters_r8, searchsnippets and trec, and checked on the others.

Demanded: the mean over the starts is never more than a point behind random labels, and from 50
labels on it is two points ahead on average over the sets.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np

from benchmarks import harness
from benchmarks.data_sets import CLASSES, Folders, MissingSet, Rows, add_folder_options
from benchmarks.harness import Row
from cofactor import TopicModel
from cofactor.app.session import Session
from cofactor.app.text_queue import TextTable

SETS = ("reuters_r8", "searchsnippets", "trec", "newsgroups5", "newsgroups20", "docstrings")
POOL_TEXTS, TEST_TEXTS = 2000, 1500
DEFAULT_TOPICS = 10  # as in the command
MARKS = (10, 25, 50, 100, 200)  # numbers of labels
MIN_POINTS, LATE_LABELS, MIN_LATE_POINTS = -1.0, 50, 2.0
QUEUE, RANDOM = "queue", "random"


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts to choose from, and texts to test on, with their classes."""

    pool: list[str]
    truth: list[str]
    test: list[str]
    test_truth: np.ndarray
    first: TopicModel
    """The model without labels that both analysts begin with."""

    def accuracy(self, model: TopicModel) -> float:
        """Return the share of test texts whose class a model finds; 0 without classes."""
        if not model.target_names_:
            return 0.0
        return float(np.mean(model.predict(self.test) == self.test_truth))


def read_texts(name: str, options: argparse.Namespace, seed: int) -> Texts:
    """Read a corpus; each start has its own draw of the texts to choose from."""
    found = read_set(name, options.data, options.data_home)
    assert found.texts is not None, f"{name} holds no texts"
    pool, test = found.texts
    some = np.random.default_rng(seed).permutation(len(pool))[: options.pool]
    truth, test_truth = (np.char.add("class ", y.astype(str)) for y in (found.y, found.y_test))
    texts = [pool[i] for i in some]
    first = TopicModel(options.topics, random_state=seed, n_jobs=1).fit(texts)
    return Texts(texts, truth[some].tolist(), [*test][:TEST_TEXTS], test_truth[:TEST_TEXTS], first)


@cache
def read_set(name: str, shared: Path | None, home: Path | None) -> Rows:
    """Read a corpus once."""
    return CLASSES[name](Folders(shared, home), 0)


def analyse(texts: Texts, by: str, seed: int, options: argparse.Namespace) -> list[float]:
    """Label with a session of the app; return the accuracy at each mark."""
    corpus = TextTable(texts.pool, [()] * len(texts.pool), range(len(texts.pool)))
    order = iter(np.random.default_rng([seed, 1]).permutation(len(texts.pool)).tolist())
    found = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
        session = Session(corpus, Path(folder) / "model", texts.first, quiet=0.0)
        for labels in range(1, options.labels + 1):
            place = session.next("analyst") if by == QUEUE else next(order)
            assert place is not None, "no text is left to label"
            label = texts.truth[place]
            session.decide("label", "analyst", place, labels=[label], create=True)
            session.refitter.wait()
            assert session.refitter.trouble is None, session.refitter.trouble
            if labels in MARKS:
                found.append(texts.accuracy(session.now.model))
        session.close()
    return found


def run_set(name: str, options: argparse.Namespace) -> np.ndarray:
    """Return the accuracies of both analysts (ways to label, starts, marks)."""
    found: dict[str, list[list[float]]] = {QUEUE: [], RANDOM: []}
    for seed in range(options.starts):
        texts = cache(partial(read_texts, name, options, seed))
        for by, rows in found.items():
            key = [name, by, seed, options.pool, options.topics, options.labels]
            run = partial(_run, texts, by, seed, options)
            rows.append(harness.cached(options.cache, key, run))
    return np.array([found[QUEUE], found[RANDOM]])


def _run(
    texts: Callable[[], Texts], by: str, seed: int, options: argparse.Namespace
) -> list[float]:
    return analyse(texts(), by, seed, options)


def rows_of(name: str, found: np.ndarray) -> Iterator[Row]:
    """Compare both analysts at each mark."""
    for mark, ours, random in zip(MARKS, *np.moveaxis(100 * found, 2, 1), strict=False):
        ahead = ours - random
        error = ahead.std(ddof=1) / len(ahead) ** 0.5 if len(ahead) > 1 else float("nan")
        yield Row(
            f"{name}, {mark} labels",
            f"{ours.mean():.1f}",
            f"{random.mean():.1f}",
            f"{ahead.mean():+.1f}",
            f"≥ {MIN_POINTS:g}",
            bool(ahead.mean() >= MIN_POINTS),
            f"± {error:.1f}; worst start {ours.min():.1f} and {random.min():.1f}",
        )


def late_row(sets: dict[str, np.ndarray]) -> Row:
    """Compare both analysts from some number of labels on, over all sets."""
    late = [place for place, mark in enumerate(MARKS) if mark >= LATE_LABELS]
    ahead = [100 * (one[0] - one[1])[:, late[0] :].mean() for one in sets.values()]
    mean = float(np.mean(ahead))
    shown = ", ".join(f"{name} {points:+.1f}" for name, points in zip(sets, ahead, strict=True))
    return Row(
        f"mean of all sets from {LATE_LABELS} labels on",
        "",
        "",
        f"{mean:+.1f}",
        f"≥ {MIN_LATE_POINTS:g}",
        mean >= MIN_LATE_POINTS,
        shown,
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    add_folder_options(parser)
    parser.add_argument("--sets", nargs="+", default=SETS, help=f"corpora; default: {SETS}")
    for name, default, about in (
        ("--pool", POOL_TEXTS, "texts to choose from"),
        ("--topics", DEFAULT_TOPICS, "topics"),
        ("--labels", MARKS[-1], "labels"),
        ("--starts", 5, "starts"),
    ):
        parser.add_argument(name, type=int, default=default, help=f"{about}; default: {default}")
    parser.add_argument("--cache", help="file that keeps the accuracies of finished starts")
    options = parser.parse_args(argv)
    harness.restart_with_fixed_environment()
    harness.print_machine()
    sets = {}
    for name in options.sets:
        try:
            sets[name] = run_set(name, options)
        except MissingSet as error:
            print(f"{name}: {error}.")
    rows = [row for name, found in sets.items() for row in rows_of(name, found)]
    if options.labels >= LATE_LABELS and sets:
        rows.append(late_row(sets))
    harness.print_rows(rows)
    return harness.verdict(rows)


if __name__ == "__main__":
    sys.exit(main())
