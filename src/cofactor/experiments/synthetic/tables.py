"""The tables of the synthetic experiment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from cofactor.experiments.paper import MODELS, RELATIVE_ERROR
from cofactor.experiments.synthetic.data import experiments
from cofactor.experiments.synthetic.fit import FLOORS
from cofactor.experiments.tables import Cell, ResultTable, best_cells
from cofactor.experiments.trials import Result

Key = tuple[int, str]
"""An experiment and a model."""
Fits = dict[Key, list[Result]]
NAMES = {1: "1", 2: "2", 3: "3", 4: "4", 5: "2, sd 1/2r", 6: "3, sd 1/2r"}
"""The experiments as the paper describes them, then two with 1/2r as standard deviation."""
PAPER_NUMBER = {number: int(name[0]) for number, name in NAMES.items()}


def means(fits: Fits, value: Callable[[Result], float]) -> dict[Key, float]:
    """Return the mean of a value over trials."""
    return {key: float(np.mean([value(result) for result in fits[key]])) for key in fits}


def relative_errors(fits: Fits) -> ResultTable:
    """Return the paper's table with our values beside it."""
    mean = means(fits, lambda result: result["relative"])
    rows: list[list[Cell]] = []
    for model in MODELS:
        pairs = ((RELATIVE_ERROR[model][PAPER_NUMBER[n] - 1], mean[n, model]) for n in NAMES)
        rows.append([model, *(cell for pair in pairs for cell in pair)])
    columns = [f"{name}: {who}" for name in NAMES.values() for who in ("paper", "ours")]
    bold = best_cells(rows, range(1, 1 + len(columns)), largest=False)
    winners = {column: rows[row][0] for row, column in sorted(bold, reverse=True)}
    last: list[Cell] = ["lowest", *(winners[column] for column in sorted(winners))]
    starts = len(fits[1, "(F, F)"])
    return ResultTable(
        "relative_error",
        f"Relative error by experiment, mean of {starts} starts",
        ["model", *columns],
        [*rows, last],
        bold=bold,
        note="Objective F1 to F4 of the fitted factors against the noiseless products, divided by "
        "that of the start. Lowest of each column in bold. The text gives the Gaussian noise of "
        "experiments 2 and 3 the variance 1/2r; the last columns take 1/2r for its standard "
        "deviation.",
    )


def fit_quality(fits: Fits) -> ResultTable:
    """Return objective, likelihood and error of the fits, and how much they vary."""
    columns = [
        "experiment, model",
        "objective",
        "iterations",
        "minus log-likelihood per entry",
        "relative error",
        "its sd",
    ]
    rows: list[list[Cell]] = []
    for number, model in product(NAMES, MODELS):
        results = fits[number, model]
        errors = [result["relative"] for result in results]
        row = [_mean(results, name) for name in ("objective", "iterations", "surprise")]
        rows.append(
            [f"{NAMES[number]}, {model}", *row, float(np.mean(errors)), float(np.std(errors))]
        )
    return ResultTable(
        "fits",
        "The fits: means over starts",
        columns,
        rows,
        digits=5,
        note="Objective and likelihood are those of the noisy data.",
    )


def against_updates(fits: Fits, updates: Fits, count: int | None) -> ResultTable:
    """Compare the objectives of fits with those after many multiplicative updates."""
    rows: list[list[Cell]] = []
    for number, model in product(NAMES, MODELS):
        pair = fits[number, model], updates[number, model]
        ours, theirs = (np.array([result["objective"] for result in each]) for each in pair)
        gaps = ours / theirs - 1.0
        rows.append(
            [
                f"{NAMES[number]}, {model}",
                float(ours.mean()),
                float(theirs.mean()),
                f"{np.sum(gaps <= 0)} of {len(gaps)}",
                f"{gaps.min():.1e}",
                f"{gaps.max():.1e}",
            ]
        )
    return ResultTable(
        "updates",
        f"Objectives against those of {count} multiplicative updates, start by start",
        [
            "experiment, model",
            "objective",
            "after the updates",
            "starts where no higher",
            "lowest gap",
            "highest gap",
        ],
        rows,
        digits=4,
        note="A gap is the fit's objective over that of the updates from the same start, less one.",
    )


def _mean(results: Sequence[Result], name: str) -> float:
    return float(np.mean([result[name] for result in results]))


def zeros(fits: Fits) -> ResultTable:
    """Return how much of the error is due to entries that are wrongly estimated as zero."""
    floors = [f"error, estimates ≥ {floor:g}" for floor in FLOORS]
    columns = [
        "experiment, model",
        *floors,
        "lost cells %",
        "their share of error %",
        "targets at zero %",
        "truly zero %",
    ]
    rows: list[list[Cell]] = []
    bold: set[tuple[int, int]] = set()
    for number in NAMES:
        group = [_zero_row(number, model, fits[number, model]) for model in MODELS]
        lowest = best_cells(group, range(1, 1 + len(FLOORS)), largest=False)
        bold |= {(len(rows) + row, column) for row, column in lowest}
        rows += group
    return ResultTable(
        "zeros",
        "What estimates of zero cost",
        columns,
        rows,
        bold=frozenset(bold),
        note="A cell is lost if its estimate is below 1e-6 and its true mean is not. Its cost "
        "under Kullback–Leibler is the mean times the logarithm of one over the estimate, so it "
        "is set by the smallest estimate that is allowed.",
    )


def _zero_row(number: int, model: str, results: Sequence[Result]) -> list[Cell]:
    shares = ("lost_cells", "lost_share", "zero_targets", "true_zero_targets")
    floored = [[result["by_floor"][i] for result in results] for i in range(len(FLOORS))]
    return [
        f"{NAMES[number]}, {model}",
        *(float(np.mean(errors)) for errors in floored),
        *(100 * _mean(results, name) for name in shares),
    ]


MEASURES: dict[str, Callable[[Result], float]] = {
    "relative error": lambda result: result["relative"],
    "relative error, estimates ≥ 0.001": lambda result: result["by_floor"][-1],
    "likelihood of the data": lambda result: result["surprise"],
}


def wins(fits: Fits, rank: int) -> ResultTable:
    """Return how often the maximum-likelihood model is best; each draw has one result."""
    rows: list[list[Cell]] = []
    for number in NAMES:
        expected = experiments(rank)[number].model
        winners = {name: _winners(fits, number, measure) for name, measure in MEASURES.items()}
        shown = [f"{won[expected]} ({_others(won, expected)})" for won in winners.values()]
        rows.append([NAMES[number], expected, *shown])
    draws = len(fits[1, "(F, F)"])
    return ResultTable(
        "wins",
        f"How often the model of maximum likelihood is best in {draws} independent draws",
        ["experiment", "maximum likelihood", *MEASURES],
        rows,
        note="In brackets the wins of the other models. One start per draw.",
    )


def _winners(fits: Fits, number: int, measure: Callable[[Result], float]) -> Counter[str]:
    values = {model: [measure(result) for result in fits[number, model]] for model in MODELS}
    draws = range(len(next(iter(values.values()))))
    return Counter(min(values, key=lambda model: values[model][draw]) for draw in draws)


def _others(won: Counter[str], expected: str) -> str:
    others = [f"{model} {count}" for model, count in won.most_common() if model != expected]
    return ", ".join(others) or "no other"
