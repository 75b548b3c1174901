"""Section 3.2 and the appendix: topics of 20 Newsgroups that predict five classes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product

import numpy as np

from cofactor.experiments import figures, interactive, paper
from cofactor.experiments.newsgroups import splits, tables
from cofactor.experiments.newsgroups.corpus import Corpus, balanced, build, fetch_posts
from cofactor.experiments.newsgroups.fit import select, trial
from cofactor.experiments.newsgroups.made import made_posts
from cofactor.experiments.newsgroups.models import CLASSIFIERS
from cofactor.experiments.options import Options
from cofactor.experiments.prepared import Prepared, stop_words
from cofactor.experiments.run import Run
from cofactor.experiments.trials import Result, Settings

KL_NMF_SVM = "KL-NMF + SVM"
UNSUPERVISED = (paper.NMF_SVM, KL_NMF_SVM)
Point = tuple[str, float, float | None]
"""A model, a tolerance and a λ."""


def prepare(options: Options) -> Prepared:
    """Read (or, for a quick run, make up) the posts and split them."""
    stop, notes = stop_words(options)
    posts = made_posts(options.seed) if options.quick else fetch_posts(options.data_home)
    corpus = build(balanced(posts, options.seed), stop.words)
    source = splits.Source(posts, stop.words, corpus.digest)
    facts = {"sha256": corpus.digest, "posts": len(corpus.groups), "stop_words": stop.source}
    return Prepared((corpus, source), facts, notes)


def run(run: Run, data: tuple[Corpus, splits.Source]) -> None:
    """Choose hyperparameters, fit every model, compare and describe."""
    corpus, source = data
    chosen, validation, scores = _choose(run, corpus)
    literal, ours, others = _fit_all(run, corpus, chosen)
    elsewhere = run.trials("other splits", splits.trial, _splits(run.options, chosen), source)
    run.section("Accuracy")
    run.table(tables.data(corpus))
    run.table(tables.accuracy(literal, ours, others), headline=True)
    _draw_accuracy(run, literal, ours, others)
    run.table(splits.table(elsewhere), headline=True)
    run.table(tables.hyperparameters(chosen, validation), headline=True)
    run.section("Topics")
    run.table(tables.clustering(literal, ours), headline=True)
    run.table(tables.readability(literal, ours))
    shown = _show(run, "paper's procedure", "paper", literal)
    shown |= _show(run, "our defaults", "ours", ours)
    interactive.topic_page(run, "topics", "All these topics in an interactive figure", shown)
    run.section("Grids")
    run.table(tables.grid(scores))


def _grid() -> list[Point]:
    points: list[Point] = [*product(paper.MODELS, paper.TOLERANCES, paper.SUPERVISIONS)]
    return points + [(m, tol, None) for m, tol in product(UNSUPERVISED, paper.NMF_TOLERANCES)]


def _choose(
    run: Run, corpus: Corpus
) -> tuple[dict[str, tuple[float, float | None]], dict[str, float], dict[Point, float]]:
    """Return the best point of each model's grid, its accuracy, and the whole grid."""
    most = 1 if run.options.quick else paper.SELECTION_TRIALS
    trials = range(min(run.options.count(paper.TRIALS), most))
    keys = list(product(_grid(), trials))
    settings = [_settings(run.options, *point, number) for point, number in keys]
    results = run.trials("choosing hyperparameters", select, settings, corpus)
    scores: dict[Point, float] = {
        point: float(np.mean([r["accuracy"] for (p, _), r in zip(keys, results, strict=True)
                              if p == point]))
        for point in _grid()
    }  # fmt: skip
    models = [*paper.MODELS, *UNSUPERVISED]
    top = {
        name: max((p for p in scores if p[0] == name), key=scores.__getitem__) for name in models
    }
    chosen = {name: (tol, weight) for name, (_, tol, weight) in top.items()}
    return chosen, {name: scores[point] for name, point in top.items()}, scores


def _settings(
    options: Options, model: str, tol: float | None, weight: float | None, number: int
) -> Settings:
    """Return a trial of the paper's procedure, or of a model without labels."""
    supervised = model in paper.MODELS
    iterations = paper.ITERATIONS if supervised else paper.NMF_ITERATIONS
    return {
        "procedure": "paper" if supervised else "nmf",
        "model": model,
        "rank": paper.RANK,
        "tol": tol,
        "supervision": weight,
        "iterations": min(iterations, 30) if options.quick else iterations,
        "seed": options.seed,
        "trial": number,
    }


def _plain(options: Options, procedure: str, model: str, number: int) -> Settings:
    """Return a trial without hyperparameters."""
    base = {"rank": paper.RANK, "seed": options.seed, "trial": number}
    return {**base, "procedure": procedure, "model": model}


def _splits(options: Options, chosen: tables.Chosen) -> list[Settings]:
    """Return a trial for each other split: all models but those without labels, once."""
    models = [
        *(_settings(options, model, *chosen[model], 0) for model in paper.MODELS),
        *(_plain(options, "defaults", model, 0) for model in paper.MODELS),
        *(_plain(options, "classifier", model, 0) for model in CLASSIFIERS),
    ]
    count = min(options.count(paper.TRIALS), splits.SPLITS)
    seeds = [(options.seed + 1 + i) % 2**32 for i in range(count)]
    return [{"split": split, "models": models} for split in seeds]


def _fit_all(
    run: Run, corpus: Corpus, chosen: tables.Chosen
) -> tuple[tables.Fits, tables.Fits, tables.Fits]:
    """Return the trials of the paper's models, of our defaults and of plain classifiers."""
    options, trials = run.options, range(run.options.count(paper.TRIALS))
    literal = {
        model: [_settings(options, model, *point, number) for number in trials]
        for model, point in chosen.items()
    }
    ours = {m: [_plain(options, "defaults", m, n) for n in trials] for m in paper.MODELS}
    repeated = {model: trials if model == paper.SVM else range(1) for model in CLASSIFIERS}
    others = {m: [_plain(options, "classifier", m, n) for n in repeated[m]] for m in CLASSIFIERS}
    flat = [each for group in (literal, ours, others) for model in group for each in group[model]]
    results = iter(run.trials("final fits", trial, flat, corpus))

    def gather(group: Mapping[str, list[Settings]]) -> dict[str, list[Result]]:
        return {model: [next(results) for _ in settings] for model, settings in group.items()}

    return gather(literal), gather(ours), gather(others)


def _draw_accuracy(run: Run, literal: tables.Fits, ours: tables.Fits, others: tables.Fits) -> None:
    again = {**literal, **others}
    series: dict[str, figures.Series] = {
        "the paper": paper.ACCURACY,
        "its procedure, again": {name: tables.spread(fits) for name, fits in again.items()},
        "our defaults": {name: tables.spread(fits) for name, fits in ours.items()},
    }
    figures.draw(
        run, "accuracy", "Test accuracy",
        lambda: figures.intervals(series, list(again), "test accuracy, per cent (mean ± sd)"),
    )  # fmt: skip


def _show(run: Run, title: str, prefix: str, fits: tables.Fits) -> dict[str, Result]:
    """Show the decompositions of median accuracy, keywords and heatmaps, and return them."""
    medians = {model: tables.median(results) for model, results in fits.items()}
    run.section(f"Decompositions of median accuracy, {title}")
    for model, result in medians.items():
        name = f"{prefix}_{re.sub('[^a-z]+', '_', model.lower()).strip('_')}"
        heading = f"{model}, test accuracy {100 * result['accuracy']:.2f} %"
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
