"""Further draws and splits of the posts, to see how much the results depend on the split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cofactor.experiments import paper
from cofactor.experiments.newsgroups.corpus import TRAIN, VALIDATION, Posts, balanced, split
from cofactor.experiments.newsgroups.models import CLASSIFIERS, PROCEDURES
from cofactor.experiments.tables import Cell, ResultTable, mean_and_sd
from cofactor.experiments.trials import Result, Settings

SPLITS = 10


@dataclass(frozen=True, eq=False)
class Source:
    """All posts of the five classes, and the words to leave out."""

    posts: Posts
    stop_words: Sequence[str]
    digest: str


def trial(settings: Settings, source: Source) -> Result:
    """Draw and split the posts again and fit every model once."""
    posts = balanced(source.posts, settings["split"])
    count = len(posts.texts)
    data = split(posts, int((TRAIN + VALIDATION) * count), count, source.stop_words)
    return {
        f"{each['procedure']}: {each['model']}": next(
            iter(PROCEDURES[each["procedure"]](each, data).accuracy.values())
        )
        for each in settings["models"]
    }


def table(results: Sequence[Result]) -> ResultTable:
    """Return means over splits, and how often our defaults are ahead of the paper's procedure."""
    rows: list[list[Cell]] = []
    for model in paper.MODELS:
        literal, ours, tuned = (
            [100 * result[f"{procedure}: {model}"] for result in results]
            for procedure in ("paper", "defaults", "tuned")
        )
        ahead = [
            sum(new > old for old, new in zip(literal, each, strict=True)) for each in (ours, tuned)
        ]
        rows.append(
            [
                model,
                *mean_and_sd(literal),
                *mean_and_sd(ours),
                ahead[0],
                *mean_and_sd(tuned),
                ahead[1],
            ]
        )
    for model in CLASSIFIERS:
        values = [100 * result[f"classifier: {model}"] for result in results]
        rows.append([model, *mean_and_sd(values), *[None] * 6])
    return ResultTable(
        "splits",
        f"Test accuracy in per cent over {len(results)} other draws and splits",
        [
            "model",
            "its procedure",
            "its sd",
            "our defaults",
            "our sd",
            "splits where ours is ahead",
            "ours, tuned",
            "tuned sd",
            "splits where tuned is ahead",
        ],
        rows,
        digits=2,
        note="One trial for each split, with the hyperparameters chosen above. The sd is over "
        "splits, and so larger than over starts.",
    )
