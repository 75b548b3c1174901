"""Section 3.2 and the appendix: topics of 20 Newsgroups that predict five classes."""

from __future__ import annotations

import re

import numpy as np

from cofactor.experiments import Options, figures, paper
from cofactor.experiments.documents import find_stop_words
from cofactor.experiments.newsgroups import hyperparameters, models, splits, tables
from cofactor.experiments.newsgroups.hyperparameters import literal, own, plain
from cofactor.experiments.run import ExperimentData, Run
from cofactor.experiments.trials import TrialResult, TrialSettings

MAX_OTHER_SPLITS = 10


def prepare(options: Options) -> ExperimentData:
    """Read the posts, or make them up for a quick run, and split them."""
    stop = find_stop_words(options.stopwords, options.data_home)
    quick, seed = options.quick, options.seed
    posts = splits.make_up_posts(seed) if quick else splits.fetch_posts(options.data_home)
    data = splits.paper_splits(splits.balanced(posts, seed), stop.words)
    pool = splits.PostPool(posts, stop.words, data.digest)
    facts = {"sha256": data.digest, "posts": len(data.groups), "stop_words": stop.source}
    return ExperimentData((data, pool), facts, stop.notes)


def run(run: Run, data: tuple[splits.PaperSplits, splits.PostPool]) -> None:
    """Choose hyperparameters, fit every model, and write the comparison."""
    main, pool = data
    choices = hyperparameters.choose(run, main)
    again, ours, tuned, others = _fit_all(run, main, choices)
    elsewhere = {"": _other_splits(run.options, choices)}
    results = run.trials("other splits", models.other_split_trial, elsewhere, pool)[""]
    run.section("Accuracy")
    run.table(tables.data(main))
    run.table(tables.accuracy(again, ours, tuned, others), headline=True)
    _draw_accuracy(run, again, ours, tuned, others)
    run.table(tables.other_splits(results), headline=True)
    run.table(tables.hyperparameters(choices.literal, choices.literal_grid), headline=True)
    run.table(tables.own_hyperparameters(choices.ours, choices.own_grid))
    run.section("Topics")
    run.table(tables.clustering(again, ours), headline=True)
    run.table(tables.scaled_clustering(again, ours))
    run.table(tables.readability(again, ours))
    shown = _show(run, "paper's procedure", "paper", again)
    shown |= _show(run, "our defaults", "ours", ours)
    figures.topic_page(run, "topics", "All these topics in an interactive figure", shown)
    run.section("Grids")
    run.table(tables.grid(choices.literal_grid))
    run.table(tables.own_grid(choices.own_grid))


def _fit_all(
    run: Run, data: splits.PaperSplits, choices: hyperparameters.Choices
) -> list[tables.Fits]:
    """Return the trials of the paper's models, our defaults, our tuned models and classifiers."""
    options, trials = run.options, range(run.options.count(paper.TRIALS))
    repeated = {model: trials if model == paper.SVM else range(1) for model in models.CLASSIFIERS}
    chosen, tuned = choices.literal.items(), choices.ours.items()
    groups: list[dict[str, list[TrialSettings]]] = [
        {m: [literal(options, m, *point, n) for n in trials] for m, point in chosen},
        {m: [plain(options, "defaults", m, n) for n in trials] for m in paper.MODELS},
        {m: [own(options, m, *point, n) for n in trials] for m, point in tuned},
        {m: [plain(options, "classifier", m, n) for n in repeated[m]] for m in models.CLASSIFIERS},
    ]
    flat = {(i, m): group[m] for i, group in enumerate(groups) for m in group}
    results = run.trials("final fits", models.final_trial, flat, data)
    return [{m: results[i, m] for m in group} for i, group in enumerate(groups)]


def _other_splits(options: Options, choices: hyperparameters.Choices) -> list[TrialSettings]:
    """Return one trial for each other split; it fits each model that uses labels once."""
    fits = [
        *(literal(options, model, *choices.literal[model], 0) for model in paper.MODELS),
        *(plain(options, "defaults", model, 0) for model in paper.MODELS),
        *(own(options, model, *choices.ours[model], 0) for model in paper.MODELS),
        *(plain(options, "classifier", model, 0) for model in models.CLASSIFIERS),
    ]
    count = min(options.count(paper.TRIALS), MAX_OTHER_SPLITS)
    seeds = [(options.seed + 1 + i) % 2**32 for i in range(count)]
    return [{"split": split, "models": fits} for split in seeds]


def _draw_accuracy(
    run: Run, literal: tables.Fits, ours: tables.Fits, tuned: tables.Fits, others: tables.Fits
) -> None:
    again = {**literal, **others}
    all_fits = {"its procedure, again": again, "our defaults": ours, "ours, tuned": tuned}
    series: dict[str, figures.Series] = {"the paper": paper.ACCURACY}
    for who, fits in all_fits.items():
        series[who] = {model: tables.spread(results) for model, results in fits.items()}
    label = "test accuracy, per cent (mean ± sd)"
    figures.draw(run, "accuracy", "Test accuracy", figures.intervals, series, list(again), label)


def _show(run: Run, title: str, prefix: str, fits: tables.Fits) -> dict[str, TrialResult]:
    """Write keywords and heatmap of each model's trial of median accuracy; return these trials."""
    medians = {model: tables.median(results) for model, results in fits.items()}
    run.section(f"Decompositions of median accuracy, {title}")
    for model, result in medians.items():
        name = f"{prefix}_{re.sub('[^a-z]+', '_', model.lower()).strip('_')}"
        heading = f"{model}, {title}: test accuracy {100 * result['accuracy']:.2f} %"
        if prefix == "paper" and model in paper.MEDIAN_ACCURACY:
            heading += f" (the paper's: {paper.MEDIAN_ACCURACY[model]:.2f} %)"
        run.table(tables.keywords(f"keywords_{name}", heading, result))
        _draw_heatmap(run, f"heatmap_{name}", heading, result)
    return {f"{model}, {title}": result for model, result in medians.items()}


def _draw_heatmap(run: Run, name: str, heading: str, result: TrialResult) -> None:
    topics = [f"{i} {(words or ['–'])[0]}" for i, words in enumerate(result["words"], start=1)]
    table = np.transpose(result["shares"]), result["classes"], topics
    figures.draw(run, name, heading, figures.heatmap, *table, heading)
