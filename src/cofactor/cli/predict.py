"""`cofactor predict`: adds predictions to the rows of a table."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import IO, Any

import click

from cofactor._version import __version__
from cofactor.cli._shared.command import (
    MODEL,
    OUTPUT_FILE,
    TABLE,
    Command,
    delaying_signals,
    json_option,
    table_options,
)
from cofactor.cli._shared.models import Opened, answered, how_to_open, open_model
from cofactor.cli._shared.tables import open_table
from cofactor.cli._shared.terminal import announce, emit, note, rows_out
from cofactor.io.atomic import CHANGES, replacing
from cofactor.io.errors import at
from cofactor.io.json_text import to_json
from cofactor.io.tables import InputError, Source
from cofactor.io.tables.documents import as_text, text_column
from cofactor.io.tables.labels import one_cell
from cofactor.io.tables.limits import batches
from cofactor.io.tables.writers import make_writer, output_kind

BATCH = 4096
REST = ("confidence", "topic")
DIGITS = 5  # significant digits of a confidence


@click.command(cls=Command)
@click.argument("model", type=MODEL)
@click.argument("table", type=TABLE)
@click.option("-o", "--output", type=OUTPUT_FILE, metavar="FILE",
              help="File to write: .csv, .tsv or .jsonl, also compressed (.gz).  [default: CSV "
              "on stdout]")  # fmt: skip
@table_options("text")
@click.option("--keep-formulas", is_flag=True,
              help="Do not escape cells that a spreadsheet would run, like =1+1.")  # fmt: skip
@json_option
def predict(
    model: Path, table: Path, output: Path | None, text: str | None,
    opening: dict[str, Any], keep_formulas: bool, as_json: bool,
) -> None:  # fmt: skip
    """Add prediction, confidence and topic to a table.

    The texts are in the same column as in the fit, unless --text names another. In CSV and TSV,
    cells that a spreadsheet would take for a formula get an apostrophe in front. A manifest beside
    the output says how it was made. With --json and without --output, rows are printed as JSON
    lines.
    """
    kind = output_kind(output) if output else "jsonl" if as_json else "csv"
    if output and output.exists() and output.samefile(table):
        raise InputError(f"--output {at(output)} is the table itself; name another file.")
    opened = open_model(model)
    source = open_table(table, **how_to_open(opened, table, opening))
    column = _text_column(source, text, opened)
    form = _Form.of(opened)
    added = [free_name(name, source.columns) for name in (*form.columns, *REST)]
    if not opened.model.target_names_:
        *empty, topic = added
        note(f"Note: the model was fitted without labels, so the columns {' and '.join(empty)} "
             f"stay empty; only {topic} is filled in.")  # fmt: skip
    with ExitStack() as after, announce("Predicting"), _opened(output) as file:
        counts = _write(file, kind, opened, source, column, form, added, not keep_formulas)
        facts = _facts(opened, source, output, column, added, counts)
        if output:  # the manifest takes its place directly after the output
            after.enter_context(delaying_signals())
            manifest = after.enter_context(replacing(f"{output}.manifest.json"))
            manifest.write((to_json(facts, indent=1) + "\n").encode())
    _tell(facts, form, output, as_json)


def _text_column(source: Source, text: str | None, opened: Opened) -> str:
    """Return the text column: the one that --text names, or the one of the fit."""
    noted = opened.input.get("text")
    if text is None and isinstance(noted, str) and source.kind != "folder":
        if noted not in source.columns:
            raise InputError(
                f"The model was fitted on the column {noted!r}, which {at(source.path)} does not "
                f"have; name the text column with --text. There are "
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
        CHANGES.count += 1  # stdout may be a file
        out = rows_out()
        yield out
        out.flush()


@dataclass(frozen=True)
class _Form:
    """How predictions are written: in the form that the labels of the fit had.

    If the labels were several columns of numbers, or of 0 and 1, each gets its own column. A set of
    labels becomes one cell with the separator of the fit, or a list in JSON lines.
    """

    names: tuple[str, ...] = ()  # names of the columns, if there are several
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
        """Return the cells of a prediction, one for each column."""
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
    """Predict and write batch by batch; return how many rows, blank rows and escaped cells."""
    place, rows, blank = source.place(column, "--text"), 0, 0
    writer = make_writer(file, kind, source.columns, added, defuse)
    for batch in batches(source.rows, _length, BATCH):
        texts = [as_text(source, number, column, cells[place]) for number, cells in batch]
        for (_, cells), document in zip(batch, opened.model.documents(texts), strict=True):
            prediction, confidence = answered(document)
            added_cells = [*form.cells(prediction, kind), _short(confidence), document.name]
            writer.write(cells, added_cells)
            blank += document.topic < 0
        rows += len(batch)
    return {"rows": rows, "blank": blank, "defused": writer.defused}


def _length(row: tuple[int, list[Any]]) -> int:
    """Return the characters of a row; every cell counts, since empty ones take memory too."""
    return len(row[1]) + sum(len(cell) for cell in row[1] if isinstance(cell, str))


def _short(confidence: float | None) -> float | None:
    """Round a confidence to its significant digits."""
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
        blank = f"{facts['blank']:,} {'row has' if facts['blank'] == 1 else 'rows have'}"
        note(f"{blank} no word that the model knows, so nothing is predicted there.")
    if facts["defused"]:
        note(f"{facts['defused']:,} cells look like formulas and got an apostrophe in front.")
    plain = (*form.columns, *REST)
    renamed = [name for name, wish in zip(facts["added"], plain, strict=True) if name != wish]
    if renamed:
        note(f"The table already has columns of these names; the new ones are "
             f"{', '.join(renamed)}.")  # fmt: skip
    if as_json and output:
        emit(facts)
