"""`cofactor topics`: the topics of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cofactor.cli import _cells
from cofactor.cli import _options as opt
from cofactor.cli._command import Command
from cofactor.cli._models import model_facts, open_model, score_facts
from cofactor.cli._terminal import emit, make_table, note, percent, show, shown
from cofactor.io.models.description import Description

UNKNOWN = "–"
"""Stands for a number that is not known."""


@click.command(cls=Command)
@opt.model_argument
@opt.words_option("Words of each topic.")
@opt.option(
    "--by",
    "Order of the words: those that occur together in the topic's texts first, or the most "
    "probable.",
    type=click.Choice(["coherence", "probability"]),
    default="coherence",
)
@opt.add(opt.MODEL_ENCODER, "as_json")
def topics(model: Path, words: int, by: str, vectors: opt.EncoderOptions, as_json: bool) -> None:
    """Show the topics of a model.

    The largest topic comes first. Share is its share of all texts. Class is the class that is most
    probable in the texts of the topic; link is its probability there, on average. Labels is the
    number of labelled texts that are mostly of the topic. Coherence, from -1 to 1, is how often the
    first words occur together; it is not known for a topic that was edited. Stability, if it was
    measured, is how much of a topic is found again in other samples of the texts and labels, from 0
    to 1. Given names, frozen topics, pinned and banned words are shown, too, and topics that
    consist of repeated passages.

    For a model of single cells, topics and classes are shown with the genes that are most specific
    to them, and classes also with those that set them apart from the class most like them. Two
    percentages say how many cells have a gene: those of the class, and of the class next to it.
    """
    if _cells.is_cell_model(model):
        _show_cell_topics(model, words, as_json)
        return
    if as_json:
        opened = open_model(model, vectors)
        classes = opened.model.class_summaries(words).to_records()
        rows = topic_rows(opened.model, words, by)
        found = {"topics": rows, "classes": classes, "expected_score": score_facts(opened.model)}
        emit({"model": opened.origin(), **found})
        return
    described = _described(model, words, vectors)
    show_topics(described, words, by)
    if described.expectation:
        note(described.expectation)


def _described(path: Path, words: int, vectors: opt.EncoderOptions) -> Description:
    """Return what a model folder says about its topics; load the model if it says too little."""
    found = Description.read(model_facts(path), words)
    return found or Description.of(open_model(path, vectors).model, words)


def topic_rows(model: Any, words: int, by: str = "coherence") -> list[dict[str, Any]]:
    """Return the topics with what the user settled about them, the largest first."""
    from cofactor.text.describe.summaries import repeated_topics
    from cofactor.text.editing import Settled

    settled, repeated = Settled.of(model), repeated_topics(model)
    rows = [
        row | settled.facts(row["topic"]) | {"repeated": row["topic"] in repeated}
        for row in model.topics(words, by=by).to_records()
    ]
    return sorted(rows, key=lambda row: -row["share"])


def show_topics(described: Description, words: int, by: str = "coherence") -> None:
    """Print topics, the largest first; names that follow the words, and empty columns, are left
    out."""
    rows = sorted(described.topics, key=lambda row: -row["share"])
    numeric = described.predicts == "numbers"
    several = numeric and all(row["label"] is None for row in rows)
    about, link = ("Target", "Values" if several else "Value") if numeric else ("Class", "Link")
    columns = {
        "Topic": [str(row["topic"]) for row in rows],
        "Name": [shown(row["given_name"] or "") for row in rows],
        "Share": [percent(row["share"]) for row in rows],
        about: [shown(row["label"], 20) for row in rows],
        link: [shown(row["link"], 60) for row in rows],
        "Labels": ["" if row["labels"] is None else str(row["labels"]) for row in rows],
        "Coher.": [_coherence(row["coherence"][by]) for row in rows],
        "Stability": [shown(row["stability"]) for row in rows],
        "Words": [shown(_words(row, row["words"][by][:words]), 2000) for row in rows],
    }
    told = {name: cells for name, cells in columns.items() if any(cells)}
    texts = {"Name", about, "Words", "Values"}
    table = make_table(*told, numbers=tuple(name for name in told if name not in texts))
    for cells in zip(*told.values(), strict=True):
        table.add_row(*cells)
    show(table)
    if repeated := sorted(row["topic"] for row in rows if row["repeated"]):
        note(
            f"Most words of topic {', '.join(map(str, repeated))} come from passages that many "
            "texts repeat word for word, such as signatures; fit --drop-repeated leaves these out."
        )


def _words(row: dict[str, Any], words: list[str]) -> str:
    told = "; ".join(filter(None, [row["settled"], "repeated passages" if row["repeated"] else ""]))
    return " ".join(words) + (f" ({told})" if told else "")


def _coherence(value: float | None) -> str:
    """Return a coherence; that of an edited topic is not known before documents are seen."""
    return UNKNOWN if value is None else f"{value:z.2f}"


# ---- single cells


def _show_cell_topics(path: Path, genes: int, as_json: bool) -> None:
    """Print the topics and the classes of a model of cells with their markers."""
    model = _cells.load_cell_model(path)
    rows = _cells.cell_topics(model, genes)
    classes = [{"class": name, **_cells.markers_of(model, name, genes)} for name in model.classes]
    if as_json:
        emit({"model": str(path), "cells": model.facts, "topics": rows, "classes": classes})
        return
    columns = ("Topic", "Share", "Class", "Link", "Labels", "Genes")
    table = make_table(*columns, numbers=("Topic", "Share", "Link", "Labels"))
    for row in rows:
        link = "" if row["link"] is None else f"{row['link']:.0%}"
        support = "" if row["labels"] is None else str(row["labels"])
        about = shown(row["class"], 24), link, support
        table.add_row(str(row["topic"]), percent(row["share"]), *about, " ".join(row["genes"]))
    show(table)
    if classes:
        table = make_table("Class", "Genes", "Nearest class", "Genes against it")
        for row in classes:
            own, pair = (_cells.shown_markers(row, x) for x in ("genes", "genes_against"))
            table.add_row(shown(row["class"], 24), own, shown(row["nearest"] or "", 24), pair)
        show("", table)
        note("63/13%: 63 % of the cells of the class have the gene, 13 % of the class next to it.")
    if said := _cells.expected_of_cells(model):
        note(said)
