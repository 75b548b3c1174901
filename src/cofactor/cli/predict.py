"""`cofactor predict`: a table with predictions beside its columns."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count, islice
from pathlib import Path
from typing import IO, Any

import click

from cofactor._version import __version__
from cofactor.cli._shared.command import MODEL, OUTPUT, TABLE, Command, json_option, table_options
from cofactor.cli._shared.models import Opened, answered, how_to_open, open_model
from cofactor.cli._shared.terminal import announce, emit, note, rows_out
from cofactor.io.atomic import replacing, write_text
from cofactor.io.errors import at
from cofactor.io.json_text import to_json
from cofactor.io.tables import InputError, Source, open_source
from cofactor.io.tables.documents import as_text, text_column
from cofactor.io.tables.labels import one_cell
from cofactor.io.tables.writers import make_writer, output_kind

BATCH = 4096
REST = ("confidence", "topic")
DIGITS = 5  # of a confidence


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
    if output and output.exists() and output.samefile(table):
        raise InputError(f"--output {at(output)} is the table itself; name another file.")
    opened = open_model(model)
    source = open_source(table, **how_to_open(opened, table, opening))
    column = _text_column(source, text, opened)
    form = _Form.of(opened)
    added = [free_name(name, source.columns) for name in (*form.columns, *REST)]
    with announce("Predicting"), _opened(output) as file:
        counts = _write(file, kind, opened, source, column, form, added, not keep_formulas)
    facts = _facts(opened, source, output, column, added, counts)
    if output:
        write_text(f"{output}.manifest.json", to_json(facts, indent=1) + "\n")
    _tell(facts, form, output, as_json)


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
        out = rows_out()
        yield out
        out.flush()


@dataclass(frozen=True)
class _Form:
    """How predictions are written: as the labels of the fit were.

    Several columns of numbers, or of 0 and 1, get a column each; sets of labels are one cell, with
    the separator of the fit, or a list in JSON lines.
    """

    names: tuple[str, ...] = ()  # of several columns; none for a single one
    numeric: bool = False
    separator: str | None = None

    @classmethod
    def of(cls, opened: Opened) -> _Form:
        names, noted = opened.model.target_names_, opened.input
        numeric = not hasattr(opened.model.estimator_, "classes_")
        apart = noted.get("labels_are") == "columns" or (numeric and len(names) > 1)
        separator = noted.get("label_separator")
        return cls(tuple(map(str, names)) if apart else (), numeric, separator)

    @property
    def columns(self) -> list[str]:
        return [f"prediction_{name}" for name in self.names] or ["prediction"]

    def cells(self, prediction: Any, kind: str) -> list[Any]:
        """Return what stands in the columns for a prediction."""
        if self.names:
            return self._apart(prediction)
        if kind == "jsonl" and not self.separator:
            return [prediction]
        return [one_cell(prediction, self.separator)]

    def _apart(self, prediction: Any) -> list[Any]:
        if prediction is None:
            return [None] * len(self.names)
        return [*prediction] if self.numeric else [int(name in prediction) for name in self.names]


def _write(
    file: IO[bytes], kind: str, opened: Opened, source: Source, column: str, form: _Form,
    added: list[str], defuse: bool,
) -> dict[str, int]:  # fmt: skip
    """Predict batch by batch; return the numbers of rows, of those left blank, of defused cells."""
    place, rows, blank = source.place(column, "--text"), 0, 0
    writer = make_writer(file, kind, source.columns, added, defuse)
    while batch := list(islice(source.rows, BATCH)):
        texts = [as_text(source, number, column, cells[place]) for number, cells in batch]
        for (_, cells), said in zip(batch, opened.model.documents(texts), strict=True):
            guess, sure = answered(said)
            writer.write(cells, [*form.cells(guess, kind), _short(sure), said.name])
            blank += said.topic < 0
        rows += len(batch)
    return {"rows": rows, "blank": blank, "defused": writer.defused}


def _short(confidence: float | None) -> float | None:
    """Return a confidence with digits that mean something."""
    return None if confidence is None else float(f"{confidence:.{DIGITS}g}")


def _facts(
    opened: Opened, source: Source, output: Path | None, column: str, added: list[str],
    counts: dict[str, int],
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
        **counts,
    }


def _tell(facts: dict[str, Any], form: _Form, output: Path | None, as_json: bool) -> None:
    where = f" to {output}" if output else ""
    note(f"Wrote {facts['rows']:,} rows{where}; read as {facts['input']['encoding'] or 'data'}.")
    if facts["blank"]:
        said = f"{facts['blank']:,} {'row has' if facts['blank'] == 1 else 'rows have'}"
        note(f"{said} no word that the model knows, so nothing is predicted there.")
    if facts["defused"]:
        note(f"{facts['defused']:,} cells look like formulas and got an apostrophe in front.")
    plain = (*form.columns, *REST)
    renamed = [name for name, wish in zip(facts["added"], plain, strict=True) if name != wish]
    if renamed:
        note(f"The table has such columns already; the new ones are {', '.join(renamed)}.")
    if as_json and output:
        emit(facts)
