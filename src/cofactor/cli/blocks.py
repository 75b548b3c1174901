"""`cofactor blocks`: a table larger than memory becomes blocks that can be fitted."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from cofactor.cli._shared.blockwise import Table, holds_blocks
from cofactor.cli._shared.command import (
    OUTPUT,
    TABLE,
    BadInput,
    Command,
    json_option,
    table_options,
)
from cofactor.cli._shared.models import refusals
from cofactor.cli._shared.terminal import announce, emit, note
from cofactor.cli.fit import stop_words_of
from cofactor.io.tables.labels import as_labels
from cofactor.io.tables.survey import suggest_topics


@click.command(cls=Command)
@click.argument("table", type=TABLE)
@table_options("text", "labels", "label_separator", "unlabelled")
@click.option("-o", "--output", type=OUTPUT, required=True, metavar="FOLDER",
              help="Where the blocks go.")  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace blocks that are there.")
@click.option("--task", type=click.Choice(["auto", "topics", "classes", "numbers"]),
              default="auto", help="What the labels are.")  # fmt: skip
@click.option("--stop-words", default="english", metavar="WHICH",
              help="Words to leave out: english, none, or a file with one a line.")  # fmt: skip
@json_option
def blocks(
    table: Path, text: str | None, labels: tuple[str, ...], label_separator: str | None,
    unlabelled: tuple[str, ...], opening: dict[str, Any], output: Path, overwrite: bool, task: str,
    stop_words: str, as_json: bool,
) -> None:  # fmt: skip
    """Write a table that is larger than memory as blocks to fit.

    TABLE is what `cofactor check` reads. It is read twice, in batches: for its words, then for its
    rows. `cofactor fit FOLDER -k 10 -o model` fits the blocks without loading them.
    """
    _check_place(output, overwrite)
    stop = stop_words_of(stop_words)
    found = Table.open(table, text, as_labels(labels, unlabelled, label_separator), opening)
    from cofactor.text.blocks import write_word_blocks
    from cofactor.text.vectorizer.words import WordVectorizer

    with refusals():
        with announce("Reading the words") as progress:
            vectorizer = WordVectorizer(stop_words=stop).fit(found.texts(progress))
        form = found.seen.form(bool(label_separator), task)
        with announce("Writing the blocks") as progress:
            rows = write_word_blocks(
                output, vectorizer, found.batches(form, progress),
                lambda: found.notes(form, output), overwrite=output.exists(),
            )  # fmt: skip
    facts = {
        "blocks": str(output), "input": rows.notes["facts"], "rows": rows.shape[0],
        "words": rows.shape[1], "cells": rows.nnz, "files": rows.n_blocks, "bytes": _size(output),
    }  # fmt: skip
    if as_json:
        emit(facts)
    else:
        size = f"{facts['files']:,} {'block' if facts['files'] == 1 else 'blocks'}"
        labelled = f"{found.seen.labelled:,} labelled" if found.labels.columns else "no labels"
        note(f"{facts['rows']:,} documents, {labelled}, {facts['words']:,} words; "
             f"{size} of {facts['bytes'] / 1e6:,.1f} MB together in {output}.")  # fmt: skip
        topics = suggest_topics(found.seen.classes(form), facts["rows"])
        note(f"Next: cofactor fit {shlex.quote(str(output))} -k {topics} -o model")


def _check_place(output: Path, overwrite: bool) -> None:
    """Refuse before the work what would be refused after it."""
    if output.is_file():
        raise BadInput(f"--output {output} is a file; name a folder for the blocks.")
    if not output.exists() or not any(output.iterdir()):
        return
    if not holds_blocks(output):
        raise BadInput(
            f"--output {output} is a folder with other files and no blocks; name another."
        )
    if not overwrite:
        raise BadInput(f"--output {output} exists; name another, or replace it with --overwrite.")
    from cofactor.outofcore.folders import check_own

    with refusals():
        check_own(output)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
