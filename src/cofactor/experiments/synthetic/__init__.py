"""Section 3.1: which losses recover factors best under which noise?"""

from __future__ import annotations

from itertools import product

from cofactor.experiments import figures
from cofactor.experiments.options import Options
from cofactor.experiments.paper import MODELS, SYNTHETIC_TRIALS
from cofactor.experiments.prepared import Prepared
from cofactor.experiments.run import Run
from cofactor.experiments.synthetic import tables
from cofactor.experiments.synthetic.fit import trial
from cofactor.experiments.trials import Result, Settings

CONVERGED, ENOUGH = 1e-14, 5000
"""Tolerance and maximum number of iterations of fits without --iterations."""


def prepare(options: Options) -> Prepared:
    """Return the sizes for the manifest; every trial draws its own data."""
    settings = _settings(options, 0, 0, 1, "(F, F)")
    return Prepared(None, {"size": settings["size"], "rank": settings["rank"]})


def run(run: Run, data: None) -> None:
    """Fit every model to every experiment's data and compare."""
    options = run.options
    starts, draws = options.count(SYNTHETIC_TRIALS), options.draws
    places = [(0, start) for start in range(starts)] + [(draw, 0) for draw in range(1, draws)]
    keys = list(product(places, tables.NAMES, MODELS))
    settings = [_settings(options, *place, number, model) for place, number, model in keys]
    found = dict(zip(keys, run.trials("fits", trial, settings), strict=True))

    def select(kept: list[tuple[int, int]]) -> dict[tables.Key, list[Result]]:
        pairs = product(tables.NAMES, MODELS)
        return {pair: [found[place, *pair] for place in kept] for pair in pairs}

    table = select(places[:starts])
    updates = _updates(run, places[:starts]) if options.updates else None
    run.section("Relative error")
    run.table(tables.relative_errors(table), headline=True)
    figures.draw(
        run, "relative_error", "Relative errors", lambda: figures.error_dots(table, tables.NAMES)
    )
    run.table(tables.zeros(table))
    run.table(tables.fit_quality(table))
    if updates is not None:
        run.table(tables.against_updates(table, updates, options.updates), headline=True)
    if draws > 1:
        run.section("Independent draws of factors and noise")
        each = select([(draw, 0) for draw in range(draws)])
        run.table(tables.wins(each, settings[0]["rank"]), headline=True)


def _updates(run: Run, places: list[tuple[int, int]]) -> tables.Fits:
    """Return fits by monotone multiplicative updates from the starts of the table."""
    keys = list(product(tables.NAMES, MODELS, places))
    literal = {"solver": "mu", "iterations": run.options.updates, "tol": 0.0}
    settings = [
        {**_settings(run.options, *place, number, model), **literal}
        for number, model, place in keys
    ]
    results = iter(run.trials("multiplicative updates", trial, settings))
    pairs = product(tables.NAMES, MODELS)
    return {pair: [next(results) for _ in places] for pair in pairs}


def _settings(options: Options, draw: int, start: int, experiment: int, model: str) -> Settings:
    quick = options.quick
    return {
        "size": 40 if quick else 500,
        "rank": 3 if quick else 5,
        "seed": options.seed,
        "draw": draw,
        "start": start,
        "experiment": experiment,
        "model": model,
        "solver": options.solver,
        "iterations": options.iterations or (15 if quick else ENOUGH),
        "tol": 0.0 if options.iterations else CONVERGED,
    }
