"""Default predictions of the estimators, compared with what users already have.

    python -m benchmarks.predictions [--part classes] [--sets wine,trec] [--budgets 1,5,all]

Five parts: classes, numbers, tags (several labels per row), cells (synthetic single-cell counts)
and ratings (synthetic, 5 % observed). The rivals (``benchmarks/rivals.py``) are tuned on the
labelled rows; "best" is the best of them in each cell, chosen on the test rows, which is harsher
than any single rival. The research data are read from ``--data`` (or COFACTOR_SHARED_DATA), 20
Newsgroups from ``--data-home`` (or COFACTOR_DATA_HOME). Sets that are not found are skipped.

The rivals' results depend only on the data and the draw. ``--cache FILE`` keeps them, so that the
estimators can be measured again in a short time (``--ours-only``).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score, r2_score
from threadpoolctl import threadpool_limits

from benchmarks import data_sets, harness, rivals
from benchmarks.data_sets import Folders, MissingSet, Rows
from benchmarks.prediction_tables import (
    SORT_ALL,
    Budget,
    Cell,
    Line,
    Metric,
    Outcome,
    Scores,
    budget_text,
    headline,
    print_tables,
    summarise,
)
from cofactor import NMF, SSNMFClassifier, SSNMFRegressor, TopicModel

ABOUT_TABLES = (
    "Means over the draws. The best rival of a cell is bold; the distance is ours minus the best, "
    "so + is better. The rivals are tuned by cross-validation on the labelled rows. `TopicModel` "
    f"predicts the classes of texts; all rivals but “{rivals.SVM_ON_TFIDF}” see its words without "
    "grammatical ones."
)
OUTPUT = Path(__file__).parent / "results" / "predictions.md"
TAG_TOPICS = 50
CALIBRATION_BINS = 15


# One cell: our estimator and the scores


def classify(rows: Rows, y: np.ndarray, seed: int) -> tuple[np.ndarray, Scores]:
    """Return our classes of the test rows, and how far their probabilities are off."""
    n_classes = int(y.max()) + 1
    topics = (3 if n_classes <= 10 else 2) * n_classes
    if rows.texts is None:
        weights = "balanced" if rows.balanced else None  # as the rivals have them
        model = SSNMFClassifier(topics, class_weight=weights, random_state=seed).fit(rows.X, y)
        P = model.predict_proba(rows.X_test)
    else:
        texts = TopicModel(topics, task="classes", random_state=seed).fit(rows.texts[0], y)
        P = texts.predict_proba(rows.texts[1])
    return P.argmax(axis=1), {"ECE": calibration_error(P, rows.y_test)}


def calibration_error(P: np.ndarray, y: np.ndarray) -> float:
    """Return the expected calibration error of the most probable class, in equal bins."""
    right, sure = P.argmax(axis=1) == y, P.max(axis=1)
    bins = np.minimum((sure * CALIBRATION_BINS).astype(int), CALIBRATION_BINS - 1)
    return float(np.abs(np.bincount(bins, right - sure, CALIBRATION_BINS)).sum() / len(y))


def score_classes(rows: Rows, predicted: np.ndarray) -> Scores:
    return {"accuracy": float(rivals.score_of(rows)(rows.y_test, predicted))}


def regress(rows: Rows, y: np.ndarray, seed: int) -> tuple[np.ndarray, Scores]:
    return SSNMFRegressor(random_state=seed).fit(rows.X, y).predict(rows.X_test), {}


def score_numbers(rows: Rows, predicted: np.ndarray) -> Scores:
    return {"R²": float(r2_score(rows.y_test, predicted))}


def tag(rows: Rows, Y: np.ndarray, seed: int) -> tuple[np.ndarray, Scores]:
    model = SSNMFClassifier(TAG_TOPICS, random_state=seed).fit(rows.X, Y)
    return np.asarray(model.predict(rows.X_test)), {}


def score_tags(rows: Rows, predicted: np.ndarray) -> Scores:
    averages = ("micro", "macro")
    return {
        f"{name} F1": float(f1_score(rows.y_test, predicted, average=name, zero_division=0))
        for name in averages
    }


def factorise(rows: Rows, rank: int, seed: int) -> tuple[np.ndarray, Scores]:
    """Return our ratings of the held-out cells."""
    seen = sp.csr_matrix((np.ones_like(rows.X.data), rows.X.indices, rows.X.indptr), rows.X.shape)
    model = NMF(rank, random_state=seed).fit(rows.X, data_weights=seen)
    cells = sp.coo_matrix(rows.X_test)
    return model.predict_cells(cells.row, cells.col), {}


def score_ratings(rows: Rows, predicted: np.ndarray) -> Scores:
    """Cut the predictions to the scale and return their error."""
    error = np.clip(predicted, 1, 5) - sp.coo_matrix(rows.X_test).data
    return {"RMSE": float(np.sqrt(np.mean(error**2)))}


def damped_biases(rows: Rows, rank: int) -> np.ndarray:
    return rivals.damped_biases(rows.X, sp.coo_matrix(rows.X_test))


# The parts


@dataclass(frozen=True)
class Part:
    """One part of the benchmark.

    ``draw(y, budget, seed)`` returns the labels that are shown (in ratings: the rank). ``ours``
    and the rivals get them and return predictions of the test rows, which ``score`` measures.
    """

    title: str
    budget: str  # heading of its column
    budgets: tuple[Budget, ...]
    sets: Iterable[str]
    draw: Callable[[Any, Budget, int], Any]
    ours: Callable[[Rows, Any, int], tuple[np.ndarray, Scores]]
    rivals: Callable[[Rows], dict[str, Callable[[Rows, Any], np.ndarray]]]
    score: Callable[[Rows, np.ndarray], Scores]
    metrics: tuple[Metric, ...]


PARTS = {
    "classes": Part(
        "Classes: accuracy in percent (balanced for indian_pines)",
        "labels per class",
        (1, 2, 5, 20, 100, None),
        data_sets.CLASSES,
        data_sets.per_class,
        classify,
        rivals.rivals_of_classes,
        score_classes,
        (Metric("accuracy"),),
    ),
    "numbers": Part(
        "Numbers: R²",
        "labels",
        (20, 100, 500, None),
        data_sets.NUMBERS,
        data_sets.some_rows,
        regress,
        lambda rows: {"ridge": rivals.ridge},
        score_numbers,
        (Metric("R²", scale=1, digits=2, near=0.01),),
    ),
    "tags": Part(
        "Several labels per row: F1 in percent",
        "labelled rows",
        (600, None),
        data_sets.TAGS,
        data_sets.some_rows,
        tag,
        lambda rows: {
            "one-vs-rest SVM": rivals.one_vs_rest_svm,
            "one-vs-rest logistic regression, thresholds": rivals.one_vs_rest_logistic,
        },
        score_tags,
        (Metric("micro F1"), Metric("macro F1")),
    ),
    "cells": Part(
        "Synthetic single-cell counts: balanced accuracy in percent",
        "labels per type",
        (5, 20),
        data_sets.CELLS,
        data_sets.per_class,
        classify,
        rivals.rivals_of_cells,
        score_classes,
        (Metric("accuracy"),),
    ),
    "ratings": Part(
        "Synthetic ratings of 1 to 5, 5 % observed: RMSE of held-out cells",
        "rank",
        (2, 5, 10, 20),
        data_sets.RATINGS,
        lambda y, budget, seed: budget,
        factorise,
        lambda rows: {"damped biases": damped_biases},
        score_ratings,
        (Metric("RMSE", scale=1, digits=3, near=0.01, lower_is_better=True),),
    ),
}


# Measuring


def measure(cell: Cell, folders: Folders, cached: dict[str, Any], sides: str) -> Outcome:
    """Measure one cell; results of the same data in ``cached`` are taken from there."""
    outcome, part = Outcome(cell), PARTS[cell.part]
    seed = cell.draw if cell.set in data_sets.SPLIT_BY_DRAW else 0
    try:
        rows = data_sets.load(cell.set, folders, seed)
    except MissingSet as error:
        outcome.missing = str(error)
        return outcome
    shown = part.draw(rows.y, cell.budget, cell.draw)
    for name, rival in part.rivals(rows).items():
        found = cached.get(cell.key(name))
        if found and found["data"] == rows.digest:
            outcome.rivals[name] = found
        elif sides != "ours":
            with threadpool_limits(1):
                seconds, predicted = harness.timed(partial(rival, rows, shown))
            scores = part.score(rows, predicted)
            outcome.rivals[name] = {"data": rows.digest, **scores, "seconds": round(seconds, 3)}
    if sides != "rivals":
        _measure_ours(part, rows, shown, outcome)
    return outcome


def _measure_ours(part: Part, rows: Rows, shown: Any, outcome: Outcome) -> None:
    """Fit our estimator; one that refuses the data has no score."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            run = partial(part.ours, rows, shown, outcome.cell.draw)
            seconds, (predicted, extra) = harness.timed(run)
        except ValueError as error:
            outcome.note = str(error)
            return
    outcome.ours = {**part.score(rows, predicted), **extra, "seconds": seconds}


def cells_of(options: argparse.Namespace) -> Iterator[Cell]:
    """Yield the cells, those of one split of one set together."""
    for name in options.part:
        part = PARTS[name]
        for set_ in part.sets:
            if options.sets and set_ not in options.sets:
                continue
            own = set_ in data_sets.SPLIT_BY_DRAW
            for draw in range(options.draws):
                for budget in options.budgets or part.budgets:
                    if draw == 0 or own or budget is not None:
                        yield Cell(name, set_, budget, draw)


class Cache:
    """The rivals' results in a JSON file, written after every cell."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.found = self._read()

    def _read(self) -> dict[str, Any]:
        if self.path is None or not self.path.exists():
            return {}
        return json.loads(self.path.read_text(encoding="utf-8"))

    def of(self, cell: Cell) -> dict[str, Any]:
        start = cell.key("")
        return {key: value for key, value in self.found.items() if key.startswith(start)}

    def add(self, outcome: Outcome) -> None:
        """Keep the results, beside those that another run has written meanwhile."""
        new = {outcome.cell.key(name): scores for name, scores in outcome.rivals.items()}
        if self.found | new == self.found:
            return
        self.found = self._read() | self.found | new
        if self.path:
            temporary = self.path.with_name(self.path.name + ".new")
            temporary.write_text(json.dumps(self.found, indent=0) + "\n", encoding="utf-8")
            temporary.replace(self.path)


def outcomes(options: argparse.Namespace) -> Iterator[Outcome]:
    """Measure the cells, report progress, keep the rivals' results."""
    cache, skipped = Cache(options.cache), set()
    folders = Folders(options.data, options.data_home)
    cells = list(cells_of(options))
    tasks = (delayed(measure)(cell, folders, cache.of(cell), options.sides) for cell in cells)
    run = Parallel(n_jobs=options.jobs, return_as="generator_unordered")(tasks)
    for number, outcome in enumerate(run, 1):
        cell = outcome.cell
        if not outcome.missing:
            cache.add(outcome)
            say(f"{number}/{len(cells)} {cell.key(_summary(outcome))}")
            yield outcome
        elif cell.set not in skipped:
            skipped.add(cell.set)
            say(f"Skipped {cell.set}: {outcome.missing}.")


def _summary(outcome: Outcome) -> str:
    seconds = sum(scores["seconds"] for scores in outcome.rivals.values())
    ours = outcome.note or ", ".join(f"{k} {v:.3f}" for k, v in (outcome.ours or {}).items())
    theirs = f"rivals {seconds:.1f} s" if outcome.rivals else "no rivals of these data in the cache"
    return f"{ours or 'not measured'}; {theirs}"


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


# The command


def print_results(options: argparse.Namespace, found: Sequence[Outcome]) -> None:
    """Print the tables of every part that was measured."""
    print(f"Run of `python -m benchmarks.predictions`, {options.draws} draws of the labels.")
    harness.print_machine()
    print(f"{ABOUT_TABLES}\n")
    for name in options.part:
        part, cells = PARTS[name], [outcome for outcome in found if outcome.cell.part == name]
        for metric in part.metrics if cells else ():
            print(f"## {part.title}" + (f", {metric.name}" if len(part.metrics) > 1 else ""))
            print()
            lines = _sorted(part, summarise(cells, metric))
            print_tables(part.budget, lines)
            print()
            if name == "classes":
                print_headline(lines)


def print_headline(lines: Sequence[Line]) -> None:
    """Print the table of the README: means over the sets that are scored by plain accuracy."""
    lines = [line for line in lines if line.set != "indian_pines"]
    if not lines:
        return
    budgets = [budget_text(line.budget) for line in lines if line.set == lines[0].set]
    print(f"Means over {len({line.set for line in lines})} sets, without indian_pines:\n")
    harness.print_table(["labels per class", *budgets], headline(lines))
    print()


def _sorted(part: Part, lines: Sequence[Line]) -> list[Line]:
    place = {name: i for i, name in enumerate(part.sets)}
    return sorted(lines, key=lambda line: (place[line.set], line.budget or SORT_ALL))


def _budgets(text: str) -> tuple[Budget, ...]:
    return tuple(None if word == "all" else int(word) for word in text.split(","))


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = found.add_argument
    add("--part", nargs="+", choices=PARTS, default=list(PARTS), help="default: all parts")
    add("--sets", type=lambda text: text.split(","), help="sets, with commas; default: all")
    add("--budgets", type=_budgets, help="like 1,5,all; default: those of the part")
    add("--draws", type=int, default=5, help="draws of the labels; default: 5")
    add("--jobs", type=int, default=1, help="processes; more than 1 disturbs the seconds")
    add("--cache", type=Path, metavar="FILE", help="JSON file that keeps the rivals' results")
    side = found.add_mutually_exclusive_group()
    for name, what in (("ours", "take the rivals from the cache"), ("rivals", "fill the cache")):
        side.add_argument(
            f"--{name}-only", dest="sides", action="store_const", const=name, help=what
        )
    data_sets.add_folder_options(found)
    what = "also write the tables to FILE; without a name: benchmarks/results/predictions.md"
    add("--output", type=Path, nargs="?", const=OUTPUT, metavar="FILE", help=what)
    return found


def read_options(argv: Sequence[str] | None) -> argparse.Namespace:
    found = parser()
    options = found.parse_args(argv)
    known = [name for part in options.part for name in PARTS[part].sets]
    for name in options.sets or ():
        if name not in known:
            found.error(f"--sets: {name!r} is not a set of these parts; choose from {known}.")
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the tables, and return the exit status."""
    options, found, status = read_options(argv), [], 0
    try:
        for outcome in outcomes(options):
            found.append(outcome)
    except KeyboardInterrupt:
        say("Interrupted; the tables show what was measured until now.")
        status = 130
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        print_results(options, found)
    print(text.getvalue())
    if options.output and not status:
        options.output.write_text(text.getvalue(), encoding="utf-8")
    return status


if __name__ == "__main__":
    harness.restart_with_fixed_environment()
    sys.exit(main())
