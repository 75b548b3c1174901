"""`cofactor check`: counts what a table holds before a model is fitted."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from cofactor.cli._shared.cells import check_cells, holds_cells, layer_option
from cofactor.cli._shared.command import OUTPUT_FILE, STANDARD_INPUT, TABLE, Command, json_option
from cofactor.cli._shared.table_options import TableOptions, all_table_options
from cofactor.cli._shared.tables import (
    GatheredColumns,
    find_columns,
    further_columns,
    open_table,
    unused_relabels,
)
from cofactor.cli._shared.terminal import emit, make_table, note, percent, show, shown
from cofactor.cli._shared.texts import describe_texts, summarise_texts
from cofactor.io.atomic import replacing
from cofactor.io.tables.label_advice import LISTED_MERGES
from cofactor.io.tables.labels import as_noted, relabel_options
from cofactor.io.tables.survey import as_facts, survey
from cofactor.io.tables.writers import make_writer
from cofactor.text.vectorizer.inspection import Inspection

LISTED = 20
"""Number of classes that are listed."""


@click.command(cls=Command)
@click.argument("table", type=TABLE)
@all_table_options
@click.option(
    "--write-relabels",
    type=OUTPUT_FILE,
    metavar="FILE",
    help="Write the merges of labels that are proposed to a file for --relabel-file.",
)
@layer_option
@json_option
def check(
    table: Path, asked: TableOptions, write_relabels: Path | None, layer: str | None, as_json: bool
) -> None:
    """Check a table before fitting: labels, empty texts, duplicates.

    TABLE is a CSV, TSV, JSON lines or JSON file (also compressed, .gz), a Parquet file, a
    spreadsheet (.xlsx), or a folder of text files whose sub-folders are the labels; - reads CSV
    from standard input. It may also be an AnnData file of single cells (.h5ad, .zarr).
    """
    if holds_cells(table, layer):
        check_cells(table, asked, layer, as_json)
        return
    source = open_table(table, **asked.opening)
    asked = find_columns(source, asked)
    gathered, inspected = GatheredColumns(), Inspection()
    label, further = as_noted(asked.labels), further_columns(asked)
    found = survey(
        source,
        asked.text or "",
        asked.labels,
        asked.unlabelled,
        asked.label_separator,
        relabel=asked.relabel,
        fewest=asked.min_labels,
        further=further,
        gather=gathered.add,
        watch=inspected.add,
    )
    named = gathered.reading(source, asked)
    found.names = dict(zip(gathered.rows, named.ids or (), strict=False))
    facts: dict[str, Any] = {**source.facts(), **asked.facts(), **named.facts}
    facts |= as_facts(found, label)
    looks = describe_texts(inspected)
    facts["advice"] = [*looks.pop("advice"), *facts["advice"]]
    facts |= looks
    facts["advice"] += [*named.notes, *unused_relabels(asked, found.counts)]
    facts["path"] = str(table)
    facts["columns"] = source.columns
    facts["next"] = _next(facts, asked, write_relabels)
    if write_relabels:
        _write_relabels(write_relabels, facts["merges"])
    if as_json:
        emit(facts)
    else:
        _show(facts)


def _next(facts: dict[str, Any], asked: TableOptions, file: Path | None) -> str:
    """Return the command that comes next: fit, with what is proposed for the labels.

    If there are too many merges for a command, the next one writes them to a file. Labels that must
    be split are checked again.
    """
    table = "-" if facts["path"] == STANDARD_INPUT else facts["path"]
    labels = bool(facts["labelled"]) and not facts["doubtful_labels"]
    if facts["labelled"] and (mark := facts["separator_to_try"]):
        words = replace(asked, label_separator=mark).words(with_labels=True)
        return shlex.join(["cofactor", "check", table, *words])
    if labels:
        asked = replace(asked, unlabelled=(*asked.unlabelled, *facts["marks"]))
    words = asked.words(with_labels=labels)
    if labels and file is None and len(facts["merges"]) > LISTED_MERGES:
        map_file = Path(facts["path"]).with_suffix(".relabels.csv").name
        again = ["cofactor", "check", table, *words, "--write-relabels", map_file]
        return shlex.join(again)
    if labels and file:
        words += ["--relabel-file", str(file)]
    elif labels:
        words += relabel_options(facts["merges"])
    topics = ["-k", str(facts["suggested_topics"]), "-o", "model"]
    return shlex.join(["cofactor", "fit", table, *words, *topics])


def _write_relabels(path: Path, merges: dict[str, str]) -> None:
    with replacing(path) as file:
        writer = make_writer(file, "csv", ["old", "new"], defuse=False)
        for pair in merges.items():
            writer.write(list(pair))
    note(f"Wrote {len(merges):,} merges to {path}.")


def _show(facts: dict[str, Any]) -> None:
    show(_summary(facts))
    if facts["classes"]:
        show("", _classes(facts["classes"]))
        if len(facts["classes"]) > LISTED:
            show(f"... and {len(facts['classes']) - LISTED:,} more; --json lists all.")
    if facts["advice"]:
        show("", _advice(facts["advice"]))
    click.echo(f"\nNext: {shown(facts['next'], 1000)}")


def _summary(facts: dict[str, Any]) -> Any:
    table = make_table("", "")
    table.show_header = False
    table.add_row("rows", f"{facts['rows']:,}")
    table.add_row("read as", ", ".join(filter(None, (facts["format"], facts["encoding"]))))
    table.add_row(
        "text",
        f"{shown(facts['text'])}, {facts['mean_characters']:,.0f} characters "
        f"on average, {facts['longest']:,} at most",
    )
    if facts["label"] is not None:
        share = percent(facts["labelled_share"])
        table.add_row("labelled", f"{facts['labelled']:,} ({share}), {_kinds(facts)}")
    if facts["date"] is not None:
        days = facts["dates"]
        first, last = (str(day)[:10] for day in (days["first"], days["last"]))
        table.add_row("dates", f"{days['known']:,}, {first} to {last}")
    for name, value in summarise_texts(facts):
        table.add_row(name, value)
    table.add_row("empty", f"{facts['empty']['count']:,}")
    table.add_row("repeated", f"{facts['duplicates']['count']:,}")
    return table


def _kinds(facts: dict[str, Any]) -> str:
    if facts["range"]:
        low, high = facts["range"]
        return f"numbers from {low:g} to {high:g}"
    noun = "classes" if facts["labels_are"] in ("classes", "none") else "labels to combine"
    return f"{len(facts['classes']):,} {noun}"


def _advice(sentences: list[str]) -> Any:
    table = make_table("", "")
    table.show_header, table.padding = False, (0, 1)
    for sentence in sentences:
        table.add_row("-", shown(sentence, 1000))
    return table


def _classes(classes: dict[str, int]) -> Any:
    table = make_table("Documents", "Label", numbers=("Documents",))
    for name, count in list(classes.items())[:LISTED]:
        table.add_row(f"{count:,}", shown(name, 60))
    return table
