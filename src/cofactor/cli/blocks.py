"""`cofactor blocks`: converts a table larger than memory to blocks that can be fitted."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from cofactor.cli._shared.blocks import TwoPassTable, holds_blocks
from cofactor.cli._shared.command import OUTPUT, TABLE, BadInput, Command, json_option
from cofactor.cli._shared.models import refusals
from cofactor.cli._shared.table_options import TableOptions, all_table_options
from cofactor.cli._shared.targets import count_classes
from cofactor.cli._shared.terminal import announce, emit, note
from cofactor.cli._shared.words import tell_language, vectorizer_of, word_options
from cofactor.io.tables.label_advice import label_notes
from cofactor.io.tables.survey import suggest_topics


@click.command(cls=Command)
@click.argument("table", type=TABLE)
@all_table_options
@click.option(
    "-o", "--output", type=OUTPUT, required=True, metavar="FOLDER", help="Folder for the blocks."
)
@click.option("--overwrite", is_flag=True, help="Replace the blocks in FOLDER.")
@click.option(
    "--task",
    type=click.Choice(["auto", "topics", "classes", "numbers"]),
    default="auto",
    help="What to learn from the labels.",
)
@word_options
@json_option
def blocks(
    table: Path,
    asked: TableOptions,
    output: Path,
    overwrite: bool,
    task: str,
    words: dict[str, Any],
    as_json: bool,
) -> None:
    """Convert a table larger than memory to blocks that can be fitted.

    TABLE is any file or folder that `cofactor check` reads. It is read twice, in batches: first for
    its words, then for its rows. `cofactor fit FOLDER -k 12 -o model` fits the blocks without
    loading all of them at once.
    """
    _check_place(output, overwrite)
    vectorizer = vectorizer_of(**words, keep_grammar=False)  # labels do not tell if it helps
    found = TwoPassTable.open(table, asked)
    from cofactor.text.word_blocks import write_word_blocks

    with refusals():
        with announce("Reading the words") as progress:
            vectorizer.fit(found.texts(progress))
        tell_language(vectorizer, vectorizer.languages_)
        form, notes = found.settle(task)
        for sentence in [*notes, *(label_notes(found.counts) if asked.labels else [])]:
            note(f"Note: {sentence}")
        with announce("Writing the blocks") as progress:
            rows = write_word_blocks(
                output,
                vectorizer,
                found.batches(form, progress),
                lambda: found.notes(form, output),
                overwrite=output.exists(),
            )
    facts = {
        "blocks": str(output),
        "input": rows.notes["facts"],
        "rows": rows.shape[0],
        "words": rows.shape[1],
        "cells": rows.nnz,
        "files": rows.n_blocks,
        "bytes": _size(output),
    }
    if as_json:
        emit(facts)
    else:
        size = f"{facts['files']:,} {'block' if facts['files'] == 1 else 'blocks'}"
        labelled = f"{found.labelled:,} labelled" if found.asked.labels else "no labels"
        note(
            f"{facts['rows']:,} documents, {labelled}, {facts['words']:,} words; "
            f"{size} of {facts['bytes'] / 1e6:,.1f} MB together in {output}."
        )
        topics = suggest_topics(count_classes(found.counts, form), facts["rows"])
        note(f"Next: cofactor fit {shlex.quote(str(output))} -k {topics} -o model")


def _check_place(output: Path, overwrite: bool) -> None:
    """Refuse an output folder that could not be written, before any work is done."""
    if output.is_file():
        raise BadInput(f"--output {output} is a file; name a folder for the blocks.")
    if not output.exists() or not any(output.iterdir()):
        return
    if not holds_blocks(output):
        raise BadInput(
            f"--output {output} is a folder with other files and no blocks; name another folder."
        )
    if not overwrite:
        raise BadInput(
            f"--output {output} exists; name another folder, or replace it with --overwrite."
        )
    from cofactor.outofcore.folders import check_own

    with refusals():
        check_own(output)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
