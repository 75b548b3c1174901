"""Options of the commands that fit a model, and the model that they ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from cofactor.cli._shared.command import COUNT, SEED, BadInput
from cofactor.cli._shared.words import vectorizer_of, word_options

_BEFORE = (
    click.option(
        "--task",
        type=click.Choice(["auto", "topics", "classes", "numbers"]),
        default="auto",
        help="What to learn from the labels.",
    ),
    click.option("--seed", type=SEED, default=0, help="Random seed."),
    click.option(
        "--seed-words",
        multiple=True,
        metavar="NAME=WORD,WORD",
        help="Words that draw a topic to a subject: billing=invoice,refund. May be repeated.",
    ),
)
_AFTER = (
    click.option(
        "--class-weight",
        multiple=True,
        metavar="CLASS=WEIGHT",
        help="How much labels of a class count, like spam=5; other classes have weight 1. "
        "May be repeated. The word balanced makes all classes count the same.",
    ),
    click.option("--iterations", type=COUNT, default=200, help="Maximum number of iterations."),
    click.option("--jobs", type=int, default=-1, help="Number of threads; -1 for all cores."),
)


def model_options(supervision: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Add the options that describe a model, but for its number of topics.

    ``supervision`` is the command's own option for the weight of the labels.
    """

    def decorate(function: Any) -> Any:
        for option in reversed((*_BEFORE, word_options, supervision, *_AFTER)):
            function = option(function)
        return function

    return decorate


def model_of(
    *,
    task: str,
    seed: int,
    seed_words: tuple[str, ...],
    words: dict[str, Any],
    class_weight: tuple[str, ...],
    iterations: int,
    jobs: int,
    **further: Any,
) -> Any:
    """Return the model that the options ask for; ``further`` are parameters of `TopicModel`."""
    jobs = jobs_of(jobs)
    seeds, weights = _seeds(seed_words), class_weight_of(class_weight)
    vectorizer = vectorizer_of(**words)
    from cofactor.text import TopicModel

    return TopicModel(
        task=task,
        seeds=seeds,
        vectorizer=vectorizer,
        max_iter=iterations,
        class_weight=weights,
        n_jobs=jobs,
        random_state=seed,
        **further,
    )


def settle_task(model: Any, task: str, *, asked: bool = False) -> None:
    """Set the task that the labels of a table stand for.

    Unless the user asked for classes, they stay inferred: task="classes" would make seeds classes.
    """
    if asked or model.task != "auto" or not model.seeds or task != "classes":
        model.set_params(task=task)


def _seeds(given: tuple[str, ...]) -> dict[str, list[str]] | None:
    seeds: dict[str, list[str]] = {}
    for one in given:
        name, equals, words = one.partition("=")
        found = [word.strip() for word in words.split(",") if word.strip()]
        if not (name.strip() and equals and found):
            raise BadInput(
                f"--seed-words {one!r} must be a name and its words, like billing=invoice,refund."
            )
        seeds.setdefault(name.strip(), []).extend(found)
    return seeds or None


def jobs_of(given: int) -> int:
    """Return the number of threads that --jobs asks for."""
    if given == 0:
        raise BadInput("--jobs 0 runs nothing; give a positive number, or -1 for all cores.")
    return given


def class_weight_of(given: tuple[str, ...]) -> dict[str, float] | str | None:
    """Return the weights of the classes that --class-weight asks for."""
    if "balanced" in given:
        if others := [one for one in given if one != "balanced"]:
            raise BadInput(f"--class-weight balanced sets all weights; leave out {others[0]!r}.")
        return "balanced"
    weights: dict[str, float] = {}
    for one in given:
        name, _, weight = one.rpartition("=")  # names may hold =, too
        try:
            weights[name.strip()] = float(weight)
        except ValueError:
            name = ""
        if not name.strip():
            raise BadInput(
                f"--class-weight {one!r} must be balanced, or a class and its weight, like spam=5."
            )
    return weights or None
