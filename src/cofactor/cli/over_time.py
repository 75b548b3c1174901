"""`cofactor over-time`: writes the shares and words of topics and classes in each period."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from cofactor.cli import _options as opt
from cofactor.cli._command import BadInput, Command, refusals
from cofactor.cli._models import OpenedModel, how_to_open, open_model
from cofactor.cli._tables import Reading, read_table
from cofactor.cli._terminal import (
    announce,
    emit,
    note,
    note_each,
    refuse_overwriting,
    refuse_table_as_output,
    rounded,
)
from cofactor.io.atomic import check_place, replacing
from cofactor.io.tables.writers import make_writer, output_kind


@click.command("over-time", cls=Command)
@opt.model_argument
@opt.table_argument
@opt.add(opt.reading("text", "date", "date_format"))
@opt.option("--every", "Length of a period.", type=click.Choice(opt.PERIODS), default="month")
@opt.words_option("Words of a topic in a period.")
@opt.file_option(
    "File to write: .csv, .tsv or .jsonl, also compressed (.gz).", default="over_time.csv"
)
@opt.add(opt.MODEL_ENCODER, "as_json")
def over_time(
    model: Path,
    table: Path,
    asked: opt.TableOptions,
    every: str,
    words: int,
    output: Path,
    vectors: opt.EncoderOptions,
    force: bool,
    as_json: bool,
) -> None:
    """Write the shares and words of topics in each period.

    The topics stay those of the model. Each row is one topic or class in one period. Rising words
    are those that the topic has more often than in all periods, by more than chance explains. A
    period without documents has 0 documents and no shares.
    """
    kind = output_kind(output)
    check_place(output)
    refuse_table_as_output(output, table)
    refuse_overwriting(output, force)
    opened = open_model(model, vectors)
    with announce("Reading the documents"):
        read = _read(opened, table, asked)
    with announce("Following the topics"), refusals():
        found = _describe(opened, read, every, words)
    with replacing(output) as file, make_writer(file, kind, found.table.columns) as writer:
        for record in found.table.to_records():
            writer.write([_cell(cell, kind) for cell in record.values()])
    _tell(found, opened, output, as_json)


def _read(opened: OpenedModel, path: Path, asked: opt.TableOptions) -> Reading:
    """Read texts and dates; the columns of the fit are the defaults."""
    noted = opt.TableOptions.noted(opened.input)
    noted = opt.TableOptions(text=noted.text, date=noted.date, date_format=noted.date_format)
    asked = replace(asked.over(noted), opening=how_to_open(opened, path, asked.opening))
    if asked.date is None:
        raise BadInput("--date is missing: name the column that holds the documents' dates.")
    return read_table(path, asked)


def _describe(opened: OpenedModel, read: Reading, every: str, words: int) -> Any:
    from cofactor.text.over_time import over_time

    assert read.dates is not None
    return over_time(opened.model, read.documents.texts, read.dates.values, every, words)


def _cell(cell: Any, kind: str) -> Any:
    """Return a cell as it is written: shares with few digits, words in one cell, days as text."""
    if isinstance(cell, float):
        return rounded(cell)
    if isinstance(cell, tuple):
        return list(cell) if kind == "jsonl" else ", ".join(cell)
    return cell.isoformat() if hasattr(cell, "isoformat") else cell


def _listed(periods: list[str]) -> str:
    rest = f" and {len(periods) - 8} more periods" if len(periods) > 8 else ""
    return ", ".join(periods[:8]) + rest


def _tell(found: Any, opened: OpenedModel, output: Path, as_json: bool) -> None:
    note_each(found.doubts())
    names, rows = found.periods.names, len(found.table)
    counts = dict(zip(found.table.column("period"), found.table.column("documents"), strict=True))
    empty = [name for name in names if not counts[name]]
    if empty:
        note(f"Note: there are no documents, and so no shares, in {_listed(empty)}.")
    note(f"Wrote {rows:,} rows to {output}: {len(names):,} periods from {names[0]} to {names[-1]}.")
    if as_json:
        emit(
            {
                "model": opened.origin(),
                "output": str(output),
                "rows": rows,
                "every": found.periods.every,
                "periods": counts,
                "undated": found.periods.undated,
            }
        )
