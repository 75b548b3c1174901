"""`cofactor topics`: the topics of a model."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from cofactor.cli._shared.command import COUNT, MODEL, Command, json_option
from cofactor.cli._shared.models import expectation, open_model
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
    of this topic alone would get, and link its probability. Labels is the number of labelled texts
    that are mostly of the topic; with few of them, the link is shrunk to the share of the class
    among all labels. Coherence, from -1 to 1, tells how often the first words occur together.
    Stability, if the model has it, tells how much of a topic is found again in other draws of the
    texts and labels, from 0 to 1.
    """
    opened = open_model(model)
    rows = sorted(opened.model.topics(words, by=by), key=lambda row: -row.share)
    if as_json:
        classes = opened.model.classes(words).to_records()
        expected = opened.model.expected_score_
        emit({
            "model": opened.origin(), "topics": [asdict(row) for row in rows], "classes": classes,
            "expected_score": None if expected is None else asdict(expected),
        })  # fmt: skip
    else:
        _show(opened.model, rows)


def _show(model: Any, rows: list[Any]) -> None:
    from cofactor.text.describe.summaries import shown_link, shown_stability

    classes = hasattr(model.estimator_, "classes_")
    about = ("Class", "Link") if classes else ("Target", "Value")
    columns = {
        "Topic": [str(row.topic) for row in rows],
        "Share": [percent(row.share) for row in rows],
        about[0]: [shown(row.label, 20) for row in rows],
        about[1]: [shown_link(model, row) for row in rows],
        "Labels": ["" if row.labels is None else str(row.labels) for row in rows],
        "Coher.": [f"{row.coherence:.2f}" for row in rows],
        "Stability": [shown_stability(row) for row in rows],
        "Words": [shown(" ".join(row.words), 2000) for row in rows],
    }
    told = {name: cells for name, cells in columns.items() if any(cells)}
    table = make_table(
        *told, numbers=tuple(name for name in told if name not in (about[0], "Words"))
    )
    for cells in zip(*told.values(), strict=True):
        table.add_row(*cells)
    show(table)
    if said := expectation(model):
        note(said)
