"""Tables of models and measures, for experiments that the paper does not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cofactor.experiments.run import Run
from cofactor.experiments.tables import Cell, ResultTable, best_cells, mean_and_sd
from cofactor.experiments.trials import Function, Result


def run_models(
    run: Run, function: Function, counts: Mapping[str, int], rank: int, data: Any
) -> dict[str, list[Result]]:
    """Run the given number of trials of each model and return their results by model."""
    keys = [(model, number) for model, count in counts.items() for number in range(count)]
    base = {"rank": rank, "seed": run.options.seed}
    settings = [{**base, "model": model, "trial": number} for model, number in keys]
    results = iter(run.trials("fits", function, settings, data))
    return {model: [next(results) for _ in range(count)] for model, count in counts.items()}


def compared(
    name: str,
    title: str,
    fits: Mapping[str, Sequence[Result]],
    measures: Sequence[str],
    *,
    largest: bool,
) -> ResultTable:
    """Return a table of mean and standard deviation of each measure; the best is in bold."""
    columns = ["model", *(text for m in measures for text in (m, f"{m} sd"))]
    rows = [[model, *_cells(results, measures)] for model, results in fits.items()]
    bold = best_cells(rows, range(1, 1 + 2 * len(measures), 2), largest)
    trials = max(len(results) for results in fits.values())
    return ResultTable(name, f"{title}: mean and sd of {trials} trials", columns, rows, bold=bold)


def _cells(results: Sequence[Result], measures: Sequence[str]) -> list[Cell]:
    pairs = [mean_and_sd([result[measure] for result in results]) for measure in measures]
    return [cell for pair in pairs for cell in pair]
