"""The tables of the newsgroups experiment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from cofactor.experiments import paper
from cofactor.experiments.newsgroups.hyperparameters import Chosen, Grid
from cofactor.experiments.newsgroups.models import CLASSIFIERS
from cofactor.experiments.newsgroups.splits import CLASSES, PaperSplits
from cofactor.experiments.tables import Cell, ResultTable, best_cells, mean_and_sd
from cofactor.experiments.trials import TrialResult

Fits = Mapping[str, Sequence[TrialResult]]
"""The trials of each model."""
CLUSTERING_COLUMNS = [
    f"{who} {kind}" for who in ("its procedure", "our defaults") for kind in ("hard", "soft")
]


def data(splits: PaperSplits) -> ResultTable:
    """Return the paper's classes with the posts that were drawn."""
    counts = Counter(splits.groups.tolist())
    rows: list[list[Cell]] = []
    for name, groups in CLASSES.items():
        members = ", ".join(f"{group} {counts[group]}" for group in groups.values())
        rows.append([name, members, sum(counts[group] for group in groups.values())])
    sizes = f"{splits.selection.X.shape[0]} train, {splits.selection.X_test.shape[0]} validation"
    return ResultTable(
        "data",
        "20 Newsgroups and subgroups",
        ["class", "subgroups and posts", "posts"],
        rows,
        note=f"{sizes} and {splits.final.X_test.shape[0]} test posts; "
        f"{len(splits.final.words)} words.",
    )


def spread(results: Sequence[TrialResult], way: str | None = None) -> tuple[float, float | None]:
    """Return mean and standard deviation of the accuracy in per cent."""
    values = [100 * (r["accuracies"][way] if way else r["accuracy"]) for r in results]
    return mean_and_sd(values)


def accuracy(literal: Fits, ours: Fits, tuned: Fits, others: Fits) -> ResultTable:
    """Return test accuracies: the paper's, its procedure run again, our defaults, ours tuned."""
    rows: list[list[Cell]] = []
    for model, results in {**literal, **others}.items():
        printed = paper.ACCURACY.get(model, (None, None))
        exact = spread(results, "exact") if model in literal else (None, None)
        new = [spread(fits[model]) if model in fits else (None, None) for fits in (ours, tuned)]
        rows.append([model, *printed, *spread(results), *exact, *new[0], *new[1]])
    bold = best_cells(rows, (1, 3, 5, 7, 9), largest=True)
    trials = len(next(iter(literal.values())))
    return ResultTable(
        "accuracy",
        f"Test accuracy in per cent, mean and sd of {trials} trials",
        [
            *("model", "paper", "paper sd", "its procedure", "its sd"),
            *("with exact inference", "exact sd"),
            *("our defaults", "our sd", "ours, tuned", "tuned sd"),
        ],
        rows,
        digits=2,
        bold=bold,
        note="Its procedure: the paper's updates, random start, joint head, 20 steps of inference "
        "where the data loss is KL. Exact inference solves for the representations. Our defaults: "
        "coordinate descent, class-wise start, refitted head, nothing chosen. Tuned: λ and a prior "
        "on the samples chosen on the validation posts, as the paper's procedure chooses its "
        "tolerance and λ. Methods without a random part have one trial. Best of each column in "
        "bold.",
    )


def other_splits(results: Sequence[TrialResult]) -> ResultTable:
    """Return means over splits, and how often our models are ahead of the paper's procedure."""
    rows: list[list[Cell]] = []
    for model in paper.MODELS:
        literal, *ours = (
            [100 * result[f"{procedure}: {model}"] for result in results]
            for procedure in ("paper", "defaults", "tuned")
        )
        row: list[Cell] = [model, *mean_and_sd(literal)]
        for values in ours:
            ahead = sum(new > old for old, new in zip(literal, values, strict=True))
            row += [*mean_and_sd(values), ahead]
        rows.append(row)
    for model in CLASSIFIERS:
        values = [100 * result[f"classifier: {model}"] for result in results]
        rows.append([model, *mean_and_sd(values), *[None] * 6])
    return ResultTable(
        "splits",
        f"Test accuracy in per cent over {len(results)} other draws and splits",
        [
            *("model", "its procedure", "its sd"),
            *("our defaults", "our sd", "splits where ours is ahead"),
            *("ours, tuned", "tuned sd", "splits where tuned is ahead"),
        ],
        rows,
        digits=2,
        note="One trial for each split, with the hyperparameters chosen above. The sd is over "
        "splits, and so larger than over starts.",
    )


def hyperparameters(chosen: Chosen, grid: Grid) -> ResultTable:
    """Return the settings that were best on the validation posts."""
    rows: list[list[Cell]] = []
    for model, settings in chosen.items():
        printed = paper.CHOSEN.get(model, (None, None))
        cells = [None if value is None else f"{value:g}" for value in (*printed, *settings)]
        rows.append([model, *cells, 100 * grid[model, *settings]])
    return ResultTable(
        "hyperparameters",
        "Hyperparameters with the best validation accuracy",
        ["model", "paper tol", "paper λ", "our tol", "our λ", "validation accuracy %"],
        rows,
        digits=2,
        note="By the paper's procedure, on the paper's grids.",
    )


def own_hyperparameters(chosen: Chosen, grid: Grid) -> ResultTable:
    """Return the settings of our models that were best on the validation posts."""
    rows: list[list[Cell]] = [
        [model, *(f"{value:.4g}" for value in settings), 100 * grid[model, *settings]]
        for model, settings in chosen.items()
    ]
    return ResultTable(
        "own_hyperparameters",
        "Hyperparameters of ours with the best validation accuracy",
        ["model", "λ / auto", "pseudo-count", "validation accuracy %"],
        rows,
        digits=2,
        note="λ as a share of what supervision='auto' finds; the prior on the samples is "
        "Gamma(1 + pseudo-count, pseudo-count), none for 0.",
    )


def grid(scores: Grid) -> ResultTable:
    """Return the validation accuracy at every point of the paper's grids."""
    return _grid("validation", "over the grids", ["tol", "λ"], scores)


def own_grid(scores: Grid) -> ResultTable:
    """Return the validation accuracy at every point of our grid."""
    return _grid("own_validation", "over our grid", ["λ / auto", "pseudo-count"], scores)


def _grid(name: str, title: str, columns: list[str], scores: Grid) -> ResultTable:
    rows: list[list[Cell]] = [
        [model, *(None if v is None else f"{v:.4g}" for v in values), 100 * score]
        for (model, *values), score in scores.items()
    ]
    return ResultTable(
        name,
        f"Validation accuracy {title}, per cent, means over trials",
        ["model", *columns, "accuracy"],
        rows,
        digits=2,
    )


def clustering(literal: Fits, ours: Fits) -> ResultTable:
    """Return the paper's score P averaged over topics and trials."""
    rows = _clustering_rows(literal, ours, ("hard", "soft"))
    for row in rows:
        row[1:1] = paper.CLUSTERING.get(str(row[0]), (None, None))
    return ResultTable(
        "clustering",
        "Clustering score P, averaged over topics and trials",
        ["model", "paper hard", "paper soft", *CLUSTERING_COLUMNS],
        rows,
        note="Of all posts: training posts as the fit represents them, test posts inferred.",
    )


def scaled_clustering(literal: Fits, ours: Fits) -> ResultTable:
    """Return the score P of topics that are first given equal mass."""
    return ResultTable(
        "clustering_scaled",
        "The same with topics of equal mass",
        ["model", *CLUSTERING_COLUMNS],
        _clustering_rows(literal, ours, ("hard_scaled", "soft_scaled")),
        note="The factors leave open how long a topic is and how heavy its weights are; P "
        "compares weights as they are. Here every topic has the same sum over words.",
    )


def _clustering_rows(literal: Fits, ours: Fits, kinds: Sequence[str]) -> list[list[Cell]]:
    return [
        [
            model,
            *(
                _mean([result[kind]["scores"] for result in fits]) if fits else None
                for fits in (results, ours.get(model))
                for kind in kinds
            ),
        ]
        for model, results in literal.items()
    ]


def _mean(lists: Sequence[Sequence[float | None]]) -> float:
    """Return the mean over trials of the mean over topics."""
    return float(np.mean([np.mean([v for v in values if v is not None]) for values in lists]))


def readability(literal: Fits, ours: Fits) -> ResultTable:
    """Return coherence and diversity of the topics, which the paper does not have."""
    rows: list[list[Cell]] = []
    for model, results in literal.items():
        row: list[Cell] = [model]
        for fits in (results, ours.get(model, ())):
            coherence = _mean([fit["coherence"] for fit in fits]) if fits else None
            diversity = float(np.mean([fit["diversity"] for fit in fits])) if fits else None
            row += [coherence, diversity]
        rows.append(row)
    measures = ("coherence", "diversity")
    columns = [f"{who}: {name}" for who in ("its procedure", "our defaults") for name in measures]
    return ResultTable(
        "topics",
        "Coherence (NPMI) and diversity of the ten top words",
        ["model", *columns],
        rows,
        digits=3,
        note="Coherence is counted in the training posts: 1 always together, 0 independent, −1 "
        "never. Diversity is the share of top words that are different words.",
    )


def median(results: Sequence[TrialResult]) -> TrialResult:
    """Return the trial of median accuracy (the lower one of two)."""
    order = sorted(range(len(results)), key=lambda i: (results[i]["accuracy"], i))
    return results[order[(len(order) - 1) // 2]]


def keywords(name: str, title: str, result: TrialResult) -> ResultTable:
    """Return words, class and groups of each topic of one decomposition."""
    rows: list[list[Cell]] = []
    for topic, words in enumerate(result["words"]):
        shares = result["shares"][topic]
        top = int(np.argmax(shares))
        row: list[Cell] = [topic + 1, " ".join(words), result["classes"][top], shares[top]]
        for kind in ("hard", "soft"):
            row += [result[kind]["groups"][topic], result[kind]["scores"][topic]]
        rows.append([*row, result["coherence"][topic]])
    return ResultTable(
        name,
        title,
        ["topic", "keywords", "class", "share", "hard", "P hard", "soft", "P soft", "coherence"],
        rows,
        digits=3,
    )
