"""`cofactor check`: counts what a table holds before a model is fitted."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from cofactor.cli._shared.command import TABLE, Command, json_option, table_options
from cofactor.cli._shared.tables import open_table
from cofactor.cli._shared.terminal import emit, make_table, percent, show, shown
from cofactor.cli._shared.texts import describe_texts, summarise_texts
from cofactor.io.tables.documents import label_columns, text_column
from cofactor.io.tables.labels import as_noted
from cofactor.io.tables.survey import as_facts, survey
from cofactor.text.vectorizer.inspection import Inspection

LISTED = 20
"""Number of classes that are listed."""


@click.command(cls=Command)
@click.argument("table", type=TABLE)
@table_options("text", "labels", "label_separator", "unlabelled")
@json_option
def check(
    table: Path, text: str | None, labels: tuple[str, ...], label_separator: str | None,
    unlabelled: tuple[str, ...], opening: dict[str, Any], as_json: bool,
) -> None:  # fmt: skip
    """Check a table before fitting: labels, empty texts, duplicates.

    TABLE is a CSV, TSV or JSON lines file (also compressed, .gz), a Parquet file, or a folder of
    text files whose sub-folders are the labels; - reads CSV from standard input.
    """
    source = open_table(table, **opening)
    text, labels = text_column(source, text), label_columns(source, labels)
    label = as_noted(labels)
    inspected = Inspection()
    counts = survey(source, text, labels, unlabelled, label_separator, watch=inspected.add)
    found, looks = as_facts(counts, label), describe_texts(inspected)
    advice = [*looks.pop("advice"), *found.pop("advice")]
    facts: dict[str, Any] = {**source.facts(), "text": text, "label": label, **found, **looks}
    facts["advice"] = advice
    facts["path"] = str(table)
    facts["columns"] = source.columns
    facts["next"] = _next(facts, labels, label_separator, unlabelled, opening)
    if as_json:
        emit(facts)
    else:
        _show(facts)


def _next(
    facts: dict[str, Any], labels: tuple[str, ...], label_separator: str | None,
    unlabelled: tuple[str, ...], opening: dict[str, Any],
) -> str:  # fmt: skip
    """Return the command that fits a model to the table."""
    parts = ["cofactor", "fit", facts["path"], "--text", facts["text"]]
    if facts["labelled"] and not facts["doubtful_labels"]:
        parts += [part for name in labels for part in ("--label", name)]
        parts += ["--label-separator", label_separator] if label_separator else []
    for value in unlabelled:
        parts += ["--unlabelled", value]
    for name, value in opening.items():
        option = f"--{name.replace('_', '-')}"
        parts += [option] if value is True else [option, value]
    return shlex.join([*parts, "-k", str(facts["suggested_topics"]), "-o", "model"])


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
    table.add_row("text", f"{shown(facts['text'])}, {facts['mean_characters']:,.0f} characters "
                  f"on average, {facts['longest']:,} at most")  # fmt: skip
    if facts["label"] is not None:
        share = percent(facts["labelled_share"])
        table.add_row("labelled", f"{facts['labelled']:,} ({share}), {_kinds(facts)}")
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
