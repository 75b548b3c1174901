"""Section 3.2 and the appendix: topics of 20 Newsgroups that predict five classes."""

from __future__ import annotations

import re

import numpy as np

from cofactor.experiments import figures, interactive, paper
from cofactor.experiments.newsgroups import hyperparameters, splits, tables
from cofactor.experiments.newsgroups.corpus import Corpus, balanced, build, fetch_posts
from cofactor.experiments.newsgroups.fit import trial
from cofactor.experiments.newsgroups.hyperparameters import Choices, literal, own, plain
from cofactor.experiments.newsgroups.made_up import made_posts
from cofactor.experiments.newsgroups.models import CLASSIFIERS
from cofactor.experiments.options import Options
from cofactor.experiments.prepared import Prepared, stop_words
from cofactor.experiments.run import Run
from cofactor.experiments.trials import Result, Settings


def prepare(options: Options) -> Prepared:
    """Read the posts, or make them up for a quick run, and split them."""
    stop, notes = stop_words(options)
    posts = made_posts(options.seed) if options.quick else fetch_posts(options.data_home)
    corpus = build(balanced(posts, options.seed), stop.words)
    source = splits.Source(posts, stop.words, corpus.digest)
    facts = {"sha256": corpus.digest, "posts": len(corpus.groups), "stop_words": stop.source}
    return Prepared((corpus, source), facts, notes)


def run(run: Run, data: tuple[Corpus, splits.Source]) -> None:
    """Choose hyperparameters, fit every model, and write the comparison."""
    corpus, source = data
    choices = hyperparameters.choose(run, corpus)
    again, ours, tuned, others = _fit_all(run, corpus, choices)
    elsewhere = run.trials("other splits", splits.trial, _splits(run.options, choices), source)
    run.section("Accuracy")
    run.table(tables.data(corpus))
    run.table(tables.accuracy(again, ours, tuned, others), headline=True)
    _draw_accuracy(run, again, ours, tuned, others)
    run.table(splits.table(elsewhere), headline=True)
    run.table(tables.hyperparameters(choices.literal, choices.literal_grid), headline=True)
    run.table(tables.own_hyperparameters(choices.ours, choices.own_grid))
    run.section("Topics")
    run.table(tables.clustering(again, ours), headline=True)
    run.table(tables.clustering(again, ours, scaled=True))
    run.table(tables.readability(again, ours))
    shown = _show(run, "paper's procedure", "paper", again)
    shown |= _show(run, "our defaults", "ours", ours)
    interactive.topic_page(run, "topics", "All these topics in an interactive figure", shown)
    run.section("Grids")
    run.table(tables.grid(choices.literal_grid))
    run.table(tables.own_grid(choices.own_grid))


def _splits(options: Options, choices: Choices) -> list[Settings]:
    """Return one trial for each further split; it fits each model that uses labels once."""
    models = [
        *(literal(options, model, *choices.literal[model], 0) for model in paper.MODELS),
        *(plain(options, "defaults", model, 0) for model in paper.MODELS),
        *(own(options, model, *choices.ours[model], 0) for model in paper.MODELS),
        *(plain(options, "classifier", model, 0) for model in CLASSIFIERS),
    ]
    count = min(options.count(paper.TRIALS), splits.SPLITS)
    seeds = [(options.seed + 1 + i) % 2**32 for i in range(count)]
    return [{"split": split, "models": models} for split in seeds]


def _fit_all(run: Run, corpus: Corpus, choices: Choices) -> list[tables.Fits]:
    """Return the trials of the paper's models, our defaults, our tuned models and classifiers."""
    options, trials = run.options, range(run.options.count(paper.TRIALS))
    repeated = {model: trials if model == paper.SVM else range(1) for model in CLASSIFIERS}
    groups: list[dict[str, list[Settings]]] = [
        {
            m: [literal(options, m, *point, n) for n in trials]
            for m, point in choices.literal.items()
        },
        {m: [plain(options, "defaults", m, n) for n in trials] for m in paper.MODELS},
        {m: [own(options, m, *point, n) for n in trials] for m, point in choices.ours.items()},
        {m: [plain(options, "classifier", m, n) for n in repeated[m]] for m in CLASSIFIERS},
    ]
    flat = [each for group in groups for settings in group.values() for each in settings]
    results = iter(run.trials("final fits", trial, flat, corpus))
    return [{m: [next(results) for _ in group[m]] for m in group} for group in groups]


def _draw_accuracy(
    run: Run, literal: tables.Fits, ours: tables.Fits, tuned: tables.Fits, others: tables.Fits
) -> None:
    again = {**literal, **others}
    series: dict[str, figures.Series] = {
        "the paper": paper.ACCURACY,
        "its procedure, again": {name: tables.spread(fits) for name, fits in again.items()},
        "our defaults": {name: tables.spread(fits) for name, fits in ours.items()},
        "ours, tuned": {name: tables.spread(fits) for name, fits in tuned.items()},
    }
    figures.draw(
        run,
        "accuracy",
        "Test accuracy",
        lambda: figures.intervals(series, list(again), "test accuracy, per cent (mean ± sd)"),
    )


def _show(run: Run, title: str, prefix: str, fits: tables.Fits) -> dict[str, Result]:
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


def _draw_heatmap(run: Run, name: str, heading: str, result: Result) -> None:
    topics = [f"{i} {(words or ['–'])[0]}" for i, words in enumerate(result["words"], start=1)]
    shares = np.transpose(result["shares"])
    make = figures.heatmap
    figures.draw(run, name, heading, lambda: make(shares, result["classes"], topics, heading))
