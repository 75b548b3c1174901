"""An analyst who labels with the app: how good are the predictions?

    python -m benchmarks.analyst [--data-home FOLDER] [--set newsgroups20] [--starts 5]
                                 [--figure docs/analyst.svg]

The analyst begins without any label or class, and drives the same `Session` as the page of
``cofactor app``. She labels the text that the queue shows with its true class, and adds a class
when she first meets it. The app fits again after every five labels, as it does for
users. A second analyst labels texts in a random order; everything else is the same.

Figures are accuracies on other texts, which nobody labels, over the number of labels. Classes that
no label has shown yet are counted as errors: with 25 labels of twenty classes some are missing. A
fresh fit on the same random labels shows what the warm fits of the app lose.

Demanded: after 25 labels of the queue at most two points less than after 100 random labels.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.data_sets import CLASSES, Folders, Rows, add_folder_options
from benchmarks.harness import Row
from cofactor import TopicModel
from cofactor.app.session import LABELS_PER_REFIT, Session
from cofactor.app.text_queue import TextTable

POOL_TEXTS, TEST_TEXTS = 4000, 3000
DEFAULT_TOPICS, MAX_LABELS = 20, 100
EARLY_LABELS, MAX_POINTS_BEHIND = 25, 2.0  # after labels of the queue, against all random ones
QUEUE, RANDOM, FRESH = "queue", "random", "random, fresh fit"


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts to choose from, and texts to test on, with their classes."""

    pool: list[str]
    truth: list[str]
    test: list[str]
    test_truth: np.ndarray
    first: TopicModel
    """The model without labels that both analysts begin with."""

    @cached_property
    def test_matrix(self) -> Any:
        """The test texts in the words of the first model, which later ones keep."""
        return self.first.vectorizer_.transform(self.test)

    def accuracy(self, model: TopicModel) -> float:
        """Return the share of test texts whose class a model finds; 0 without classes."""
        if not model.target_names_:
            return 0.0
        return float(np.mean(model.estimator_.predict(self.test_matrix) == self.test_truth))


@dataclass(frozen=True)
class Point:
    """What is known after some labels."""

    labels: int
    accuracy: float
    classes: int  # that a label has shown


def read_texts(options: argparse.Namespace, seed: int) -> Texts:
    """Read a corpus; each start has its own draw of the texts to choose from."""
    found = read_set(options.set, options.data, options.data_home)
    assert found.texts is not None, f"{options.set} holds no texts"
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


def analyse(texts: Texts, by: str, seed: int, options: argparse.Namespace) -> list[Point]:
    """Label with a session of the app; return what is known after each fit."""
    corpus = TextTable(texts.pool, [()] * len(texts.pool), range(len(texts.pool)))
    order = iter(np.random.default_rng([seed, 1]).permutation(len(texts.pool)).tolist())
    found = []
    with tempfile.TemporaryDirectory() as folder:
        session = Session(corpus, Path(folder) / "model", texts.first, quiet=0.0)
        for labels in range(1, options.labels + 1):
            place = session.next("analyst") if by == QUEUE else next(order)
            assert place is not None, "no text is left to label"
            _answer(session, place, texts.truth[place])
            if labels % LABELS_PER_REFIT == 0:
                now = session.now.model
                found.append(Point(labels, texts.accuracy(now), len(session.class_names)))
        session.close()
    return found


def _answer(session: Session, place: int, label: str) -> None:
    """Label a text, and wait for the fit that may follow."""
    if label not in session.class_names:
        session.make_class("analyst", label)
    session.decide("label", "analyst", place, labels=[label])
    session.refitter.wait()
    assert session.refitter.trouble is None, session.refitter.trouble


def fit_fresh(texts: Texts, seed: int, options: argparse.Namespace) -> list[Point]:
    """Fit from the beginning on the random analyst's labels."""
    order = np.random.default_rng([seed, 1]).permutation(len(texts.pool))
    found = []
    for labels in (EARLY_LABELS, options.labels):
        y = np.full(len(texts.pool), "", dtype=object)
        y[order[:labels]] = np.array(texts.truth, dtype=object)[order[:labels]]
        model = TopicModel(options.topics, random_state=seed, n_jobs=1).fit(texts.pool, y.tolist())
        right = model.predict(texts.test) == texts.test_truth
        found.append(Point(labels, float(np.mean(right)), len(set(y)) - 1))
    return found


def runs(options: argparse.Namespace) -> Iterator[tuple[str, int, list[Point]]]:
    """Yield the points of each way to label, for each start."""
    for seed in range(options.starts):
        texts = read_texts(options, seed)
        for by in (QUEUE, RANDOM, FRESH):
            yield by, seed, remembered(texts, by, seed, options)


def remembered(texts: Texts, by: str, seed: int, options: argparse.Namespace) -> list[Point]:
    """Return the points of a run, from the cache if they are there."""

    def run() -> list[list[float]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fresh = by == FRESH
            found = fit_fresh(texts, seed, options) if fresh else analyse(texts, by, seed, options)
        return [[one.labels, one.accuracy, one.classes] for one in found]

    key = [options.set, by, seed, options.pool, options.topics, options.labels]
    return [Point(*point) for point in harness.cached(options.cache, key, run)]


# ---- what is shown


@dataclass(frozen=True, eq=False)
class Curve:
    """The starts of one way to label."""

    labels: list[int]
    accuracy: np.ndarray  # a row for each start
    classes: np.ndarray

    @classmethod
    def of(cls, starts: list[list[Point]]) -> Curve:
        return cls(
            [point.labels for point in starts[0]],
            np.array([[point.accuracy for point in one] for one in starts]),
            np.array([[point.classes for point in one] for one in starts]),
        )

    def at(self, labels: int) -> np.ndarray:
        """Return the accuracy of each start after a number of labels."""
        return self.accuracy[:, self.labels.index(labels)]


def table(curves: dict[str, Curve]) -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of the table: mean accuracies, and classes that were shown."""
    head = [
        "labels",
        *(f"{by}: {what}" for by in (QUEUE, RANDOM) for what in ("accuracy", "least", "classes")),
        FRESH,
    ]
    rows = []
    for place, labels in enumerate(curves[QUEUE].labels):
        cells = [str(labels)]
        for by in (QUEUE, RANDOM):
            some, shown = curves[by].accuracy[:, place], curves[by].classes[:, place]
            cells += [f"{100 * some.mean():.1f}", f"{100 * some.min():.1f}", f"{shown.mean():.1f}"]
        fresh = curves[FRESH]
        known = labels in fresh.labels
        rows.append([*cells, f"{100 * fresh.at(labels).mean():.1f}" if known else ""])
    return head, rows


def judged(curves: dict[str, Curve]) -> list[Row]:
    """Compare the early labels of the queue with many random ones, start by start."""
    early, rows = curves[QUEUE].at(EARLY_LABELS), []
    last = curves[RANDOM].labels[-1]
    for by, points in ((RANDOM, -MAX_POINTS_BEHIND), (FRESH, None)):
        late = curves[by].at(last)
        error = (early - late).std(ddof=1) / len(early) ** 0.5 if len(early) > 1 else float("nan")
        rows.append(
            harness.better(
                f"{EARLY_LABELS} labels of the queue, {last} labels {by}",
                float(early.mean()),
                float(late.mean()),
                points,
                f"± {100 * error:.1f}",
            )
        )
    for labels in (EARLY_LABELS, last):
        rows.append(
            harness.better(
                f"{labels} labels of the queue, {labels} random labels",
                float(curves[QUEUE].at(labels).mean()),
                float(curves[RANDOM].at(labels).mean()),
            )
        )
    return rows


def draw(curves: dict[str, Curve], path: Path, name: str) -> None:
    """Draw the mean accuracy over the number of labels, and the range of the starts."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "analyst"  # the same drawing has the same bytes
    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    shown = ((QUEUE, "texts that the app asks for", "#2f6690"), (RANDOM, "random texts", "#b5651d"))
    for by, text, colour in shown:
        curve = curves[by]
        part = 100 * curve.accuracy
        axes.plot(curve.labels, part.mean(axis=0), color=colour, label=text, linewidth=2)
        axes.fill_between(
            curve.labels, part.min(axis=0), part.max(axis=0), color=colour, alpha=0.15, linewidth=0
        )
    late = 100 * curves[RANDOM].accuracy[:, -1].mean()
    axes.axhline(late, color="#777777", linewidth=1, linestyle=":")
    axes.set(xlabel="labels", ylabel="accuracy on other texts, %", xlim=(0, None), ylim=(0, None))
    axes.set_title(f"A simulated analyst, {name}: mean and range of the starts", fontsize=10)
    axes.legend(loc="lower right", frameon=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    add_folder_options(parser)
    parser.add_argument("--set", default="newsgroups20", help="corpus; default: newsgroups20")
    parser.add_argument(
        "--pool", type=int, default=POOL_TEXTS, help=f"texts; default: {POOL_TEXTS}"
    )
    parser.add_argument(
        "--topics", type=int, default=DEFAULT_TOPICS, help=f"topics; default: {DEFAULT_TOPICS}"
    )
    parser.add_argument(
        "--labels", type=int, default=MAX_LABELS, help=f"labels; default: {MAX_LABELS}"
    )
    parser.add_argument("--starts", type=int, default=5, help="starts; default: 5")
    parser.add_argument("--cache", help="file that keeps the accuracies of finished starts")
    parser.add_argument("--figure", type=Path, help="also draw the curves there (matplotlib)")
    options = parser.parse_args(argv)
    harness.restart_with_fixed_environment()
    harness.print_machine()
    starts: dict[str, list[list[Point]]] = {QUEUE: [], RANDOM: [], FRESH: []}
    for by, _, points in runs(options):
        starts[by].append(points)
    curves = {by: Curve.of(found) for by, found in starts.items()}
    harness.print_table(*table(curves))
    rows = judged(curves)
    print()
    harness.print_rows(rows)
    if options.figure:
        draw(curves, options.figure, options.set)
    return harness.verdict(rows)


if __name__ == "__main__":
    sys.exit(main())
