"""`cofactor over-time`: writes the shares and words of topics and classes in each period."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cofactor.cli._shared.command import (
    COUNT,
    MODEL,
    OUTPUT_FILE,
    PERIODS,
    TABLE,
    BadInput,
    Command,
    json_option,
    table_options,
)
from cofactor.cli._shared.models import Opened, how_to_open, open_model, refusals
from cofactor.cli._shared.table_options import TableOptions
from cofactor.cli._shared.tables import Reading, read_table
from cofactor.cli._shared.terminal import announce, emit, note
from cofactor.io.atomic import check_place, replacing
from cofactor.io.errors import at
from cofactor.io.tables.writers import make_writer, output_kind

DIGITS = 5  # significant digits of a share


@click.command("over-time", cls=Command)
@click.argument("model", type=MODEL)
@click.argument("table", type=TABLE)
@table_options("text", "date", "date_format")
@click.option("--every", type=click.Choice(PERIODS), default="month", help="Length of a period.")
@click.option("--words", type=COUNT, default=10, help="Words of a topic in a period.")
@click.option(
    "-o",
    "--output",
    type=OUTPUT_FILE,
    default=Path("over_time.csv"),
    metavar="FILE",
    help="File to write: .csv, .tsv or .jsonl, also compressed (.gz).",
)
@json_option
def over_time(
    model: Path,
    table: Path,
    text: str | None,
    date: str | None,
    date_format: str | None,
    opening: dict[str, Any],
    every: str,
    words: int,
    output: Path,
    as_json: bool,
) -> None:
    """Write the shares and words of topics in each period.

    The topics stay those of the model. Each row is one topic or class in one period. Rising words
    are those that the topic has more often than in all periods, by more than chance explains. A
    period without documents has 0 documents and no shares.
    """
    kind = output_kind(output)
    check_place(output)
    if output.exists() and output.samefile(table):
        raise BadInput(f"--output {at(output)} is the table itself; name another file.")
    opened = open_model(model)
    with announce("Reading the documents"):
        reading = _read(opened, table, text, date, date_format, opening)
    with announce("Following the topics"), refusals():
        found = _describe(opened, reading, every, words)
    with replacing(output) as file:
        writer = make_writer(file, kind, found.table.columns)
        for record in found.table.to_records():
            writer.write([_cell(cell, kind) for cell in record.values()])
    _tell(found, opened, output, as_json)


def _read(
    opened: Opened,
    path: Path,
    text: str | None,
    date: str | None,
    date_format: str | None,
    opening: dict[str, Any],
) -> Reading:
    """Read texts and dates; the columns of the fit are the defaults."""
    noted = TableOptions.noted(opened.input)
    column = date or noted.date
    if column is None:
        raise BadInput("--date is missing: name the column that holds the documents' dates.")
    form = date_format or (noted.date_format if column == noted.date else None)
    asked = TableOptions(
        text=text or noted.text,
        date=column,
        date_format=form,
        opening=how_to_open(opened, path, opening),
    )
    return read_table(path, asked)


def _describe(opened: Opened, reading: Reading, every: str, words: int) -> Any:
    from cofactor.text.over_time import over_time

    assert reading.dates is not None
    return over_time(opened.model, reading.documents.texts, reading.dates.values, every, words)


def _cell(cell: Any, kind: str) -> Any:
    """Return a cell as it is written: shares with few digits, words in one cell, days as text."""
    if isinstance(cell, float):
        return float(f"{cell:.{DIGITS}g}")
    if isinstance(cell, tuple):
        return list(cell) if kind == "jsonl" else ", ".join(cell)
    return cell.isoformat() if hasattr(cell, "isoformat") else cell


def _listed(periods: list[str]) -> str:
    rest = f" and {len(periods) - 8} more periods" if len(periods) > 8 else ""
    return ", ".join(periods[:8]) + rest


def _tell(found: Any, opened: Opened, output: Path, as_json: bool) -> None:
    for sentence in found.doubts():
        note(f"Note: {sentence}")
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
