"""Section 3.1: which losses recover factors best under which noise?

Data and targets are drawn from known factors with known noise; the fits are compared with the
truth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng
from scipy.special import gammaln, xlogy

from cofactor import Factors, SSNMFRegressor
from cofactor._types import FloatArray
from cofactor.divergences import DIVERGENCES
from cofactor.experiments import Options, figures
from cofactor.experiments.paper import MODELS, PAPER_EPSILON, RELATIVE_ERROR, SYNTHETIC_TRIALS
from cofactor.experiments.run import ExperimentData, Run
from cofactor.experiments.tables import Cell, ResultTable, best_cells
from cofactor.experiments.trials import TrialResult, TrialSettings

EXPERIMENT_NAMES = {1: "1", 2: "2", 3: "3", 4: "4", 5: "2, sd 1/2r", 6: "3, sd 1/2r"}
"""The experiments as the paper describes them, then two with 1/2r as standard deviation."""
SYNTHETIC_TOLERANCE, MAX_ITERATIONS = 1e-14, 5000
"""Of fits without a given number of iterations."""
ZERO = 1e-6
"""Entries below this count as zero."""
FLOORS = (PAPER_EPSILON, 1e-6, 1e-3)
"""Minimum values that estimates are raised to before their error is computed."""
Case = tuple[int, str]
"""An experiment and a model."""
FitsOfCases = dict[Case, list[TrialResult]]

# Each purpose has its own stream of random numbers, so that none depends on the others.
FACTOR_STREAM, NOISE_STREAM, START_STREAM = range(3)


def prepare(options: Options) -> ExperimentData:
    """Return the sizes for the manifest; every trial draws its own data."""
    settings = _settings(options, 0, 0, 1, "(F, F)")
    return ExperimentData(None, {"size": settings["size"], "rank": settings["rank"]})


def run(run: Run, data: None) -> None:
    """Fit every model to every experiment's data and compare."""
    options = run.options
    starts = [(0, start) for start in range(options.count(SYNTHETIC_TRIALS))]
    draws = [(draw, 0) for draw in range(1, options.draws)]
    found = run.trials("fits", trial, _groups(options, starts + draws))
    fits = {key: results[: len(starts)] for key, results in found.items()}
    if options.updates:
        literal = {"solver": "mu", "iterations": options.updates, "tol": 0.0}
        groups = _groups(options, starts, **literal)
        updates = run.trials("multiplicative updates", trial, groups)
    run.section("Relative error")
    run.table(relative_errors(fits), headline=True)
    figures.draw(
        run, "relative_error", "Relative errors", figures.error_dots, fits, EXPERIMENT_NAMES
    )
    run.table(zeros(fits))
    run.table(fit_quality(fits))
    if options.updates:
        run.table(against_updates(fits, updates, options.updates), headline=True)
    if options.draws > 1:
        run.section("Independent draws of factors and noise")
        first_starts = {key: [each[0], *each[len(starts) :]] for key, each in found.items()}
        run.table(wins(first_starts), headline=True)


def _groups(
    options: Options, places: Sequence[tuple[int, int]], **changes: Any
) -> dict[Case, list[TrialSettings]]:
    """Return the trials of each experiment and model, one for each place (draw and start)."""
    return {
        key: [{**_settings(options, *place, *key), **changes} for place in places]
        for key in product(EXPERIMENT_NAMES, MODELS)
    }


def _settings(
    options: Options, draw: int, start: int, experiment: int, model: str
) -> TrialSettings:
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
        "iterations": options.iterations or (15 if quick else MAX_ITERATIONS),
        "tol": 0.0 if options.iterations else SYNTHETIC_TOLERANCE,
    }


def stream(seed: int, *path: int) -> Generator:
    """Return a random generator for one purpose."""
    return default_rng(SeedSequence(seed, spawn_key=path))


@dataclass(frozen=True)
class EntryNoise:
    """Noise around a mean: Gaussian with a variance, or Poisson if ``variance`` is None."""

    variance: float | None = None

    def draw(self, mean: FloatArray, random: Generator) -> FloatArray:
        """Draw one observation of each entry; as in the authors' code, Gaussians are folded."""
        if self.variance is None:
            return random.poisson(mean).astype(np.float64)
        return np.abs(random.normal(mean, np.sqrt(self.variance)))

    def surprise(self, x: FloatArray, mean: FloatArray) -> float:
        """Return minus the log-likelihood; a Poisson mean is at least epsilon."""
        if self.variance is None:
            p = mean + PAPER_EPSILON
            return float(np.sum(p - xlogy(x, p) + gammaln(x + 1)))
        constant = x.size * np.log(2 * np.pi * self.variance) / 2
        return float(np.sum((x - mean) ** 2) / (2 * self.variance) + constant)


@dataclass(frozen=True)
class Experiment:
    """The noise of data and targets, and the model that is maximum likelihood for it."""

    data: EntryNoise
    target: EntryNoise
    model: str

    @property
    def losses(self) -> tuple[str, str]:
        """The losses that relative errors are measured with."""
        return MODELS[self.model]


def experiments(rank: int) -> dict[int, Experiment]:
    """Return the paper's four experiments, and two more that it must have run.

    In experiments 2 and 3 the text gives Gaussian noise the variance 1/2r, but the printed figures
    come out only if 1/2r is the standard deviation, as in 5 and 6.
    """
    half = 1 / (2 * rank)
    poisson, wide, narrow, narrower = (
        EntryNoise(),
        EntryNoise(1.0),
        EntryNoise(half),
        EntryNoise(half**2),
    )
    return {
        1: Experiment(wide, wide, "(F, F)"),
        2: Experiment(narrow, poisson, "(F, KL)"),
        3: Experiment(poisson, narrow, "(KL, F)"),
        4: Experiment(poisson, poisson, "(KL, KL)"),
        5: Experiment(narrower, poisson, "(F, KL)"),
        6: Experiment(poisson, narrower, "(KL, F)"),
    }


@lru_cache(maxsize=8)
def true_factors(size: int, rank: int, seed: int, draw: int) -> Factors:
    """Draw the factors: topics are uniform; half of the other two factors is zero."""
    random = stream(seed, FACTOR_STREAM, draw)
    topics = random.random((size, rank))
    samples, targets = (_sparse(size, rank, random) for _ in range(2))
    return Factors(samples, topics, targets)


def _sparse(rows: int, columns: int, random: Generator) -> FloatArray:
    cells = np.zeros(rows * columns)
    support = random.choice(cells.size, round(0.5 * cells.size), replace=False)
    cells[support] = random.random(support.size)
    return cells.reshape(rows, columns)


def products(factors: Any) -> tuple[FloatArray, FloatArray]:
    """Return the data and the targets that factors reproduce."""
    return factors.samples @ factors.features.T, factors.samples @ factors.targets.T


def observe(
    factors: Factors, experiment: int, seed: int, draw: int
) -> tuple[FloatArray, FloatArray]:
    """Draw data and targets around the products of the true factors."""
    noise = experiments(factors.rank)[experiment]
    random = stream(seed, NOISE_STREAM, draw, experiment)
    data, target = products(factors)
    return noise.data.draw(data, random), noise.target.draw(target, random)


def start(size: int, rank: int, seed: int, number: int) -> Factors:
    """Draw a start, uniform on [0, 1), shared by all models and experiments."""
    random = stream(seed, START_STREAM, number)
    return Factors(*(random.random((size, rank)) for _ in range(3)))


def trial(settings: TrialSettings, shared: Any = None) -> TrialResult:
    """Fit one model to one experiment's data from one start."""
    size, rank, seed = (settings[name] for name in ("size", "rank", "seed"))
    truth = true_factors(size, rank, seed, settings["draw"])
    X, Y = observe(truth, settings["experiment"], seed, settings["draw"])
    first = start(size, rank, seed, settings["start"])
    model = _model(settings, first).fit(X, Y)
    last = Factors(model.representation_, model.components_.T, model.target_components_.T)
    return {
        **errors(settings, truth, first, last),
        "surprise": surprise(settings, X, Y, last),
        "objective": model.history_["objective"][-1],
        "iterations": model.n_iter_,
        "stop": model.stop_reason_,
    }


def _model(settings: TrialSettings, first: Factors) -> SSNMFRegressor:
    data_loss, target_loss = MODELS[settings["model"]]
    return SSNMFRegressor(
        settings["rank"],
        data_loss=data_loss,
        target_loss=target_loss,
        supervision=1.0,
        solver=settings["solver"],
        init=first,
        head="joint",
        max_iter=settings["iterations"],
        tol=settings["tol"],
    )


def errors(
    settings: TrialSettings, truth: Factors, first: Factors, last: Factors
) -> dict[str, Any]:
    """Return the paper's relative error, and how much of it comes from estimates of zero."""
    losses = experiments(settings["rank"])[settings["experiment"]].losses
    means, fits = products(truth), products(last)
    before = sum(c.sum() for c in _costs(losses, means, products(first)))
    costs = _costs(losses, means, fits)
    lost = [(p < ZERO) & (x >= ZERO) for x, p in zip(means, fits, strict=True)]
    lost_cost = sum(c[z].sum() for c, z in zip(costs, lost, strict=True))
    totals = [sum(c.sum() for c in _costs(losses, means, fits, floor)) for floor in FLOORS]
    return {
        "relative": float(totals[0] / before),
        "by_floor": [float(total / before) for total in totals],
        "lost_cells": float(np.mean(lost)),
        "zero_targets": float(np.mean(fits[1] < ZERO)),
        "true_zero_targets": float(np.mean(means[1] < ZERO)),
        "lost_share": float(lost_cost / totals[0]),
    }


def _costs(
    losses: Sequence[str],
    means: Sequence[FloatArray],
    fits: Sequence[FloatArray],
    floor: float = PAPER_EPSILON,
) -> list[FloatArray]:
    """Return the divergences of data and targets from their true means, entry by entry."""
    return [
        np.asarray(DIVERGENCES[loss].value(mean, np.maximum(fit, floor)))
        for loss, mean, fit in zip(losses, means, fits, strict=True)
    ]


def surprise(settings: TrialSettings, X: FloatArray, Y: FloatArray, last: Factors) -> float:
    """Return minus the log-likelihood of the observed data, per entry."""
    noise = experiments(settings["rank"])[settings["experiment"]]
    data, target = products(last)
    total = noise.data.surprise(X, data) + noise.target.surprise(Y, target)
    return float(total / (X.size + Y.size))


def relative_errors(fits: FitsOfCases) -> ResultTable:
    """Return the paper's table with our values beside it."""
    mean = {key: _mean(results, "relative") for key, results in fits.items()}
    rows: list[list[Cell]] = []
    for model in MODELS:
        printed = RELATIVE_ERROR[model]
        pairs = (
            (printed[int(name[0]) - 1], mean[n, model]) for n, name in EXPERIMENT_NAMES.items()
        )
        rows.append([model, *(cell for pair in pairs for cell in pair)])
    columns = [f"{name}: {who}" for name in EXPERIMENT_NAMES.values() for who in ("paper", "ours")]
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


def fit_quality(fits: FitsOfCases) -> ResultTable:
    """Return objective, likelihood and error of the fits, and how much they vary."""
    records: list[dict[str, Cell]] = [
        {
            "experiment, model": f"{EXPERIMENT_NAMES[number]}, {model}",
            "objective": _mean(results, "objective"),
            "iterations": _mean(results, "iterations"),
            "minus log-likelihood per entry": _mean(results, "surprise"),
            "relative error": _mean(results, "relative"),
            "its sd": float(np.std([result["relative"] for result in results])),
        }
        for (number, model), results in fits.items()
    ]
    note = "Objective and likelihood are those of the noisy data."
    title = "The fits: means over starts"
    return ResultTable.from_records("fits", title, records, digits=5, note=note)


def against_updates(fits: FitsOfCases, updates: FitsOfCases, count: int) -> ResultTable:
    """Compare the objectives of fits with those after many multiplicative updates."""
    records: list[dict[str, Cell]] = []
    for (number, model), results in fits.items():
        pair = results, updates[number, model]
        ours, theirs = (np.array([result["objective"] for result in each]) for each in pair)
        gaps = ours / theirs - 1.0
        records.append(
            {
                "experiment, model": f"{EXPERIMENT_NAMES[number]}, {model}",
                "objective": float(ours.mean()),
                "after the updates": float(theirs.mean()),
                "starts where no higher": f"{np.sum(gaps <= 0)} of {len(gaps)}",
                "lowest gap": f"{gaps.min():.1e}",
                "highest gap": f"{gaps.max():.1e}",
            }
        )
    title = f"Objectives against those of {count} multiplicative updates, start by start"
    note = "A gap is the fit's objective over that of the updates from the same start, less one."
    return ResultTable.from_records("updates", title, records, note=note)


def _mean(results: Sequence[TrialResult], name: str) -> float:
    return float(np.mean([result[name] for result in results]))


def zeros(fits: FitsOfCases) -> ResultTable:
    """Return how much of the error comes from entries wrongly estimated as zero."""
    records: list[dict[str, Cell]] = []
    bold: set[tuple[int, int]] = set()
    for number in EXPERIMENT_NAMES:
        group = [_zero_record(number, model, fits[number, model]) for model in MODELS]
        rows = [list(record.values()) for record in group]
        lowest = best_cells(rows, range(1, 1 + len(FLOORS)), largest=False)
        bold |= {(len(records) + row, column) for row, column in lowest}
        records += group
    note = (
        "A cell is lost if its estimate is below 1e-6 and its true mean is not. Its cost "
        "under Kullback–Leibler is the mean times the logarithm of one over the estimate, so it "
        "is set by the smallest estimate that is allowed."
    )
    title = "What estimates of zero cost"
    return ResultTable.from_records("zeros", title, records, bold=frozenset(bold), note=note)


def _zero_record(number: int, model: str, results: Sequence[TrialResult]) -> dict[str, Cell]:
    errors = np.array([result["by_floor"] for result in results]).T.copy()
    by_floor = zip(FLOORS, errors, strict=True)
    return {
        "experiment, model": f"{EXPERIMENT_NAMES[number]}, {model}",
        **{f"error, estimates ≥ {floor:g}": float(np.mean(each)) for floor, each in by_floor},
        "lost cells %": 100 * _mean(results, "lost_cells"),
        "their share of error %": 100 * _mean(results, "lost_share"),
        "targets at zero %": 100 * _mean(results, "zero_targets"),
        "truly zero %": 100 * _mean(results, "true_zero_targets"),
    }


ERROR_MEASURES: dict[str, Callable[[TrialResult], float]] = {
    "relative error": lambda result: result["relative"],
    "relative error, estimates ≥ 0.001": lambda result: result["by_floor"][-1],
    "likelihood of the data": lambda result: result["surprise"],
}


def wins(fits: FitsOfCases) -> ResultTable:
    """Return how often the maximum-likelihood model is best; each draw has one result."""
    rows: list[list[Cell]] = []
    for number in EXPERIMENT_NAMES:
        expected = experiments(rank=1)[number].model  # the same for every rank
        winners = {
            name: _winners(fits, number, measure) for name, measure in ERROR_MEASURES.items()
        }
        shown = [f"{won[expected]} ({_others(won, expected)})" for won in winners.values()]
        rows.append([EXPERIMENT_NAMES[number], expected, *shown])
    draws = len(fits[1, "(F, F)"])
    return ResultTable(
        "wins",
        f"How often the model of maximum likelihood is best in {draws} independent draws",
        ["experiment", "maximum likelihood", *ERROR_MEASURES],
        rows,
        note="In brackets the wins of the other models. One start per draw.",
    )


def _winners(
    fits: FitsOfCases, number: int, measure: Callable[[TrialResult], float]
) -> Counter[str]:
    values = {model: [measure(result) for result in fits[number, model]] for model in MODELS}
    draws = range(len(next(iter(values.values()))))
    return Counter(min(values, key=lambda model: values[model][draw]) for draw in draws)


def _others(won: Counter[str], expected: str) -> str:
    others = [f"{model} {count}" for model, count in won.most_common() if model != expected]
    return ", ".join(others) or "no other"
