"""`cofactor topics`: the topics of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cofactor.cli import _cells
from cofactor.cli import _options as opt
from cofactor.cli._command import Command
from cofactor.cli._models import expectation, open_model, score_facts
from cofactor.cli._terminal import emit, make_table, note, percent, show, shown

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
@opt.add("as_json")
def topics(model: Path, words: int, by: str, as_json: bool) -> None:
    """Show the topics of a model.

    The largest topic comes first. Share is its share of all texts. Class is the class predicted for
    a text made only of this topic; link is its probability. Labels is the number of labelled texts
    that are mostly of the topic; with few of them, the link is shrunk to the share of the class
    among all labels. Coherence, from -1 to 1, is how often the first words occur together; it is
    not known for a topic that was edited. Stability, if it was measured, is how much of a topic is
    found again in other samples of the texts and labels, from 0 to 1. Given names, frozen topics,
    pinned and banned words are shown, too, and topics that consist of repeated passages.

    For a model of single cells, topics and classes are shown with the genes that are most specific
    to them.
    """
    if _cells.is_cell_model(model):
        _show_cell_topics(model, words, as_json)
        return
    opened = open_model(model)
    rows = topic_rows(opened.model, words, by)
    if as_json:
        classes = opened.model.class_summaries(words).to_records()
        found = {"topics": rows, "classes": classes, "expected_score": score_facts(opened.model)}
        emit({"model": opened.origin(), **found})
        return
    show_topics(opened.model, rows)
    if said := expectation(opened.model):
        note(said)


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


def show_topics(model: Any, rows: list[dict[str, Any]]) -> None:
    """Print the rows of `topic_rows`; names that follow the words, and empty columns, are left
    out."""
    from cofactor.text.editing import Settled

    settled, classes = Settled.of(model), hasattr(model.estimator_, "classes_")
    about, link = ("Class", "Link") if classes else ("Target", "Value")
    columns = {
        "Topic": [str(row["topic"]) for row in rows],
        "Name": [shown(row["given_name"] or "") for row in rows],
        "Share": [percent(row["share"]) for row in rows],
        about: [shown(row["label"], 20) for row in rows],
        link: [_link(row["label_weight"], classes) for row in rows],
        "Labels": ["" if row["labels"] is None else str(row["labels"]) for row in rows],
        "Coher.": [_coherence(row["coherence"]) for row in rows],
        "Stability": [_stability(row) for row in rows],
        "Words": [shown(_words(row, settled), 2000) for row in rows],
    }
    told = {name: cells for name, cells in columns.items() if any(cells)}
    texts = {"Name", about, "Words"}
    table = make_table(*told, numbers=tuple(name for name in told if name not in texts))
    for cells in zip(*told.values(), strict=True):
        table.add_row(*cells)
    show(table)
    if repeated := sorted(row["topic"] for row in rows if row["repeated"]):
        note(
            f"The words of topic {' and '.join(map(str, repeated))} mostly come from passages that "
            "many texts repeat word for word, such as signatures; fit --drop-repeated leaves these "
            "out."
        )


def _words(row: dict[str, Any], settled: Any) -> str:
    marks = [settled.said(row["topic"]), "repeated passages" if row["repeated"] else ""]
    told = "; ".join(filter(None, marks))
    return " ".join(row["words"]) + (f" ({told})" if told else "")


def _stability(row: dict[str, Any]) -> str:
    if row["stability"] is None:
        return ""
    low, high = row["stability_interval"]
    return f"{row['stability']:.2f} ({low:.2f}–{high:.2f})"


def _coherence(value: float) -> str:
    """Return a coherence; that of an edited topic is not known before documents are seen."""
    return f"{value:.2f}" if value - value == 0 else UNKNOWN


def _link(value: float | None, classes: bool) -> str:
    if value is None:
        return ""
    return f"{value:.0%}" if classes else f"{value:.3g}"


# ---- single cells


def _show_cell_topics(path: Path, genes: int, as_json: bool) -> None:
    """Print the topics and the classes of a model of cells with their markers."""
    model = _cells.load_cell_model(path)
    rows = _cells.cell_topics(model, genes)
    classes = [{"class": name, **_cells.markers_of(model, name, genes)} for name in model.classes]
    if as_json:
        emit({"model": str(path), "cells": model.facts, "topics": rows, "classes": classes})
        return
    table = make_table("Topic", "Share", "Class", "Link", "Genes", numbers=("Topic", "Share"))
    for row in rows:
        about = shown(row["class"], 24), _link(row["link"], classes=True)
        table.add_row(str(row["topic"]), percent(row["share"]), *about, " ".join(row["genes"]))
    show(table)
    if classes:
        table = make_table("Class", "Genes", "Nearest class", "Genes against it")
        for row in classes:
            own, pair = (" ".join(row[x]) or _cells.no_marker() for x in ("genes", "genes_against"))
            table.add_row(shown(row["class"], 24), own, shown(row["nearest"] or "", 24), pair)
        show("", table)
    if said := _cells.expected_of_cells(model):
        note(said)
