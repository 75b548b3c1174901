"""Write tables: CSV and TSV that no spreadsheet runs, JSON lines, Parquet and Excel.

Several labels in a cell stay a list in JSON lines and Parquet; in the other formats they are joined
with a semicolon.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import IO, Any

from cofactor.io.errors import InputError, at
from cofactor.io.json_text import to_json
from cofactor.io.tables.parquet import ParquetWriter
from cofactor.io.tables.spreadsheet_writer import SpreadsheetWriter, as_text
from cofactor.io.tables.table_writer import TableWriter

FORMULA = re.compile(r"[\t\r]|\s*[=+\-@＝＋－＠]")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?%?")


def is_formula(cell: str) -> bool:
    """Return whether a spreadsheet may take a cell for a formula; plain numbers are not formulas.

    Examples
    --------
    >>> [is_formula(cell) for cell in ("=1+1", "-2+3", "-2.5", "moon")]
    [True, True, False, False]
    """
    return bool(FORMULA.match(cell)) and not NUMBER.fullmatch(cell)


class SeparatedWriter(TableWriter):
    """Writes CSV or TSV; cells that a spreadsheet would run get an apostrophe in front."""

    def __init__(
        self, file: IO[bytes], columns: list[str], added: list[str], separator: str, defuse: bool
    ) -> None:
        self._file, self._line = file, io.StringIO(newline="")
        # csv puts cells with a line end in quotes only if it is among those of the table.
        self._csv = csv.writer(self._line, delimiter=separator, lineterminator="\r\n")
        self._columns, self._defuse = len(columns), defuse
        self.defused = 0
        self.write(columns, added)

    def write(self, cells: list[Any], added: Iterable[Any] = ()) -> None:
        """Write one row."""
        if len(cells) > self._columns:
            raise InputError(
                f"A row has {len(cells)} columns, but {self._columns} were known when writing "
                "began; write JSON lines instead."
            )
        self._csv.writerow([self._cell(cell) for cell in (*cells, *added)])
        line = self._line.getvalue().removesuffix("\r\n")
        self._file.write(line.encode("utf-8", "replace") + b"\n")
        self._line.seek(0)
        self._line.truncate()

    def _cell(self, cell: Any) -> str:
        text = "" if cell is None else cell if isinstance(cell, str) else plain(cell)
        if not (self._defuse and is_formula(text)):
            return text
        self.defused += 1
        return "'" + text


class JsonLinesWriter(TableWriter):
    """Writes one JSON object per line."""

    def __init__(self, file: IO[bytes], columns: list[str], added: list[str]) -> None:
        self._file, self._columns, self._added = file, columns, added

    def write(self, cells: list[Any], added: Iterable[Any] = ()) -> None:
        """Write one row; ``columns`` may have grown since the first one."""
        record = dict(zip(self._columns, cells, strict=False))
        record |= zip(self._added, added, strict=False)
        self._file.write(to_json(record).encode() + b"\n")


def plain(cell: Any) -> str:
    """Return a cell that is not a string as text; dicts become JSON, lists are joined."""
    return repr(cell) if isinstance(cell, float) else as_text(cell)


KEEPS_LISTS = ("jsonl", "parquet")
"""Formats whose cells can be lists."""


def make_writer(
    file: IO[bytes],
    kind: str,
    columns: list[str],
    added: Iterable[str] = (),
    defuse: bool = True,
    like: Path | None = None,
) -> TableWriter:
    """Return a writer of the kind csv, tsv, jsonl, parquet or excel, to be used in a with block.

    ``added`` names columns at the end; ``like`` is a Parquet file whose columns keep their types.
    """
    added = list(added)
    if kind in KEEPS_LISTS and len({*columns, *added}) < len(columns) + len(added):
        names = [*columns, *added]
        twice = next(name for name in names if names.count(name) > 1)
        what = "JSON lines" if kind == "jsonl" else "Parquet"
        raise InputError(
            f"The table has the column {twice!r} twice, which {what} cannot hold; rename one, "
            "or write CSV."
        )
    if kind == "jsonl":
        return JsonLinesWriter(file, columns, added)
    if kind == "parquet":
        return ParquetWriter(file, columns, added, like)
    if kind == "excel":
        return SpreadsheetWriter(file, columns, added)
    return SeparatedWriter(file, columns, list(added), "\t" if kind == "tsv" else ",", defuse)


def free_name(name: str, taken: Iterable[str]) -> str:
    """Return a name for a new column that the table does not have yet."""
    used = set(taken)
    names = (f"{name}_{number}" if number > 1 else name for number in count(1))
    return next(free for free in names if free not in used)


KINDS = {
    **{".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"},
    **{".parquet": "parquet", ".pq": "parquet", ".xlsx": "excel"},
}


def output_kind(path: Path) -> str:
    """Return the format that the ending of an output's name stands for."""
    packed = path.suffix.lower() == ".gz"
    ending = (path.with_suffix("") if packed else path).suffix.lower()
    kind = KINDS.get(ending)
    if kind is None or (packed and kind in ("parquet", "excel")):
        raise InputError(
            f"{at(path)} ends in {''.join(path.suffixes[-2:]) if packed else ending!r}, which is "
            "not written; use .csv, .tsv or .jsonl (each also .gz), .parquet or .xlsx."
        )
    return kind
