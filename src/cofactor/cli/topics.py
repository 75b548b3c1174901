"""`cofactor topics`: the topics of a model."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from cofactor.cli._shared.cells import is_cell_model, show_cell_topics
from cofactor.cli._shared.command import COUNT, MODEL, Command, json_option
from cofactor.cli._shared.models import expectation, open_model
from cofactor.cli._shared.terminal import emit, note
from cofactor.cli._shared.topic_tables import show_topics, topic_rows


@click.command(cls=Command)
@click.argument("model", type=MODEL)
@click.option("--words", type=COUNT, default=10, help="Words of each topic.")
@click.option(
    "--by",
    type=click.Choice(["coherence", "probability"]),
    default="coherence",
    help="Words that come first: those that occur together in the topic's texts, or the "
    "most probable.",
)
@json_option
def topics(model: Path, words: int, by: str, as_json: bool) -> None:
    """Show the topics of a model.

    The largest topic comes first. Share is its share of all texts. Class is the class that a text
    of this topic alone would get, and link its probability. Labels is the number of labelled texts
    that are mostly of the topic; with few of them, the link is shrunk to the share of the class
    among all labels. Coherence, from -1 to 1, tells how often the first words occur together; it is
    not known of a topic that was edited. Stability, if the model has it, tells how much of a topic
    is found again in other draws of the texts and labels, from 0 to 1. Given names, frozen topics,
    pinned and banned words are shown, too.

    Of a model of single cells, topics and classes are shown with the genes that are most specific
    to them.
    """
    if is_cell_model(model):
        show_cell_topics(model, words, as_json)
        return
    opened = open_model(model)
    rows = topic_rows(opened.model, words, by)
    if as_json:
        classes = opened.model.classes(words).to_records()
        expected = opened.model.expected_score_
        emit(
            {
                "model": opened.origin(),
                "topics": rows,
                "classes": classes,
                "expected_score": None if expected is None else asdict(expected),
            }
        )
        return
    show_topics(opened.model, rows)
    if said := expectation(opened.model):
        note(said)
