"""`cofactor predict`: a table with predictions beside its columns."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count, islice
from pathlib import Path
from typing import IO, Any

import click

from cofactor._version import __version__
from cofactor.cli._command import MODEL, OUTPUT, TABLE, Command, json_option, table_options
from cofactor.cli._models import Opened, how_to_open, open_model
from cofactor.cli._terminal import announce, emit, note
from cofactor.files import InputError, Source, open_source
from cofactor.files.errors import at
from cofactor.files.tables import as_text, text_column
from cofactor.files.writing import make_writer, output_kind, replacing, to_json, write_text

BATCH = 4096
ADDED = ("prediction", "confidence", "topic")


@click.command(cls=Command)
@click.argument("model", type=MODEL)
@click.argument("table", type=TABLE)
@click.option("-o", "--output", type=OUTPUT, metavar="FILE",
              help=".csv, .tsv or .jsonl, also .gz.  [default: CSV on stdout]")  # fmt: skip
@table_options("text")
@click.option("--keep-formulas", is_flag=True,
              help="Leave cells that a spreadsheet would run, like =1+1, as they are.")  # fmt: skip
@json_option
def predict(
    model: Path, table: Path, output: Path | None, text: str | None,
    opening: dict[str, Any], keep_formulas: bool, as_json: bool,
) -> None:  # fmt: skip
    """Add prediction, confidence and topic to a table.

    The column of the text is that of the fit unless --text names another. In CSV and TSV, cells
    that a spreadsheet would take for a formula get an apostrophe in front. Beside the output goes
    a manifest that says how it was made. With --json and no output, rows are printed as JSON lines.
    """
    kind = output_kind(output) if output else "jsonl" if as_json else "csv"
    opened = open_model(model)
    source = open_source(table, **how_to_open(opened, table, opening))
    column = _text_column(source, text, opened)
    added = [free_name(name, source.columns) for name in ADDED]
    with announce("Predicting"), _opened(output) as file:
        rows, defused = _write(file, kind, opened, source, column, added, not keep_formulas)
    facts = _facts(opened, source, output, column, added, rows, defused)
    if output:
        write_text(f"{output}.manifest.json", to_json(facts, indent=1) + "\n")
    _tell(facts, output, as_json)


def _text_column(source: Source, text: str | None, opened: Opened) -> str:
    """Return the column named now, or then, if the table has it."""
    noted = opened.input.get("text")
    if text is None and isinstance(noted, str) and source.kind != "folder":
        if noted not in source.columns:
            raise InputError(
                f"The model was fitted on the column {noted!r}, which {at(source.path)} does not "
                f"have; name the column of the text with --text. There are "
                f"{', '.join(map(repr, source.columns[:12]))}."
            )
        return noted
    return text_column(source, text)


def free_name(name: str, taken: list[str]) -> str:
    """Return a name for a new column that the table does not have yet."""
    names = (f"{name}_{number}" if number > 1 else name for number in count(1))
    return next(free for free in names if free not in taken)


@contextmanager
def _opened(output: Path | None) -> Iterator[IO[bytes]]:
    if output:
        with replacing(output) as file:
            yield file
    else:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()


def _write(
    file: IO[bytes], kind: str, opened: Opened, source: Source, column: str, added: list[str],
    defuse: bool,
) -> tuple[int, int]:  # fmt: skip
    """Predict batch by batch; return the numbers of rows and of defused cells."""
    place, rows = source.place(column, "--text"), 0
    writer = make_writer(file, kind, source.columns, added, defuse)
    while batch := list(islice(source.rows, BATCH)):
        texts = [as_text(source, number, column, cells[place]) for number, cells in batch]
        for (_, cells), said in zip(batch, opened.model.documents(texts), strict=True):
            writer.write(cells, [_said(said.prediction), said.confidence, said.name])
        rows += len(batch)
    return rows, writer.defused


def _said(prediction: Any) -> Any:
    """Return several labels of one document as one cell."""
    return "; ".join(map(str, prediction)) if isinstance(prediction, tuple) else prediction


def _facts(
    opened: Opened, source: Source, output: Path | None, column: str, added: list[str],
    rows: int, defused: int,
) -> dict[str, Any]:  # fmt: skip
    """Return how the output was made."""
    return {
        "made_by": f"cofactor {__version__}",
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": ["cofactor", *sys.argv[1:]],
        "model": opened.origin(),
        "input": {**source.facts(), "path": str(source.path), "text": column},
        "output": str(output) if output else None,
        "added": added,
        "rows": rows,
        "defused": defused,
    }


def _tell(facts: dict[str, Any], output: Path | None, as_json: bool) -> None:
    where = f" to {output}" if output else ""
    note(f"Wrote {facts['rows']:,} rows{where}; read as {facts['input']['encoding'] or 'data'}.")
    if facts["defused"]:
        note(f"{facts['defused']:,} cells look like formulas and got an apostrophe in front.")
    renamed = [name for name, plain in zip(facts["added"], ADDED, strict=True) if name != plain]
    if renamed:
        note(f"The table has such columns already; the new ones are {', '.join(renamed)}.")
    if as_json and output:
        emit(facts)
