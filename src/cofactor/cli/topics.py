"""`cofactor topics`: the topics of a model."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from cofactor.cli._shared.command import COUNT, MODEL, Command, json_option
from cofactor.cli._shared.models import Opened, expectation, open_model
from cofactor.cli._shared.terminal import emit, make_table, note, percent, show, shown


@click.command(cls=Command)
@click.argument("model", type=MODEL)
@click.option("--words", type=COUNT, default=10, help="Words of each topic.")
@click.option("--by", type=click.Choice(["coherence", "probability"]), default="coherence",
              help="Words that come first: those that occur together in the topic's texts, or the "
              "most probable.")  # fmt: skip
@json_option
def topics(model: Path, words: int, by: str, as_json: bool) -> None:
    """Show the topics of a model.

    The largest topic comes first. Share is its share of all texts. Class is the class that a text
    of this topic alone would get, and link its probability. Coherence, from -1 to 1, tells how
    often the first words occur together.
    """
    opened = open_model(model)
    rows = sorted(opened.model.topics(words, by=by).to_records(), key=lambda row: -row["share"])
    if as_json:
        classes = opened.model.classes(words).to_records()
        expected = opened.model.expected_score_
        emit({
            "model": opened.origin(), "topics": rows, "classes": classes,
            "expected_score": None if expected is None else asdict(expected),
        })  # fmt: skip
    else:
        _show(opened, rows)


def _show(opened: Opened, rows: list[dict[str, Any]]) -> None:
    labelled = any(row["label"] is not None for row in rows)
    classes = hasattr(opened.model.estimator_, "classes_")
    about = ("Class" if classes else "Target", "Link" if classes else "Value")
    names = ["Topic", "Share", *(about if labelled else ()), "Coher.", "Words"]
    table = make_table(*names, numbers=("Topic", "Share", about[1], "Coher."))
    for row in rows:
        link = (shown(row["label"], 20), _link(opened, row)) if labelled else ()
        words = shown(" ".join(row["words"]), 2000)
        table.add_row(
            str(row["topic"]), percent(row["share"]), *link, f"{row['coherence']:.2f}", words
        )
    show(table)
    if said := expectation(opened.model):
        note(said)


def _link(opened: Opened, row: dict[str, Any]) -> str:
    if hasattr(opened.model.estimator_, "classes_"):
        return f"{row['label_weight']:.0%}"
    return f"{row['label_weight']:.3g}"
