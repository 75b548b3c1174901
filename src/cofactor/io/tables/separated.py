"""CSV, TSV and other tables whose cells are separated by one character."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import chain
from os import PathLike
from typing import Any

from cofactor.io.errors import InputError, at
from cofactor.io.tables import limits

SEPARATORS = ",;\t|"
Row = tuple[int, list[Any]]
_TOO_LONG = "row too long"
_REMEDIES = {
    _TOO_LONG: f"the row has more than {limits.LONGEST_ROW:,} characters; most likely a quote that "
    "opens here is never closed: close it or double it, or, if quotes are part of the text, use "
    "--no-quotes",
    "unexpected end": "a quote that opens here is never closed; close it, double it, or, if quotes "
    "are part of the text, use --no-quotes",
    "expected after": "a quote stands inside a quoted cell; double it, or, if quotes are part of "
    "the text, use --no-quotes",
    "new-line character": "a carriage return stands alone in an unquoted cell; put the cell in "
    "quotes",
}


def read_separated(
    path: str | PathLike[str],
    lines: Iterator[str],
    separator: str | None = None,
    no_quotes: bool = False,
) -> tuple[list[str], Iterator[Row], str]:
    """Return columns, rows and separator; the rows are read lazily."""
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise InputError(f"{at(path)} is empty; it needs a header line with the columns' names.")
    hint = re.fullmatch(r"sep=(.)\s*", first)
    if hint:  # written by Excel
        separator, first = hint[1], next(lines, "")
    separator = separator or _guess(first)
    csv.field_size_limit(max(csv.field_size_limit(), limits.LONGEST_ROW))
    style: dict[str, Any] = {"quoting": csv.QUOTE_NONE} if no_quotes else {"strict": True}
    counted = _CountedLines(chain([first], lines))
    records = _records(path, csv.reader(counted, delimiter=separator, **style), counted)
    _, header = next(records, (0, []))
    if not any(name.strip() for name in header):
        raise InputError(f"{at(path)} has an empty header; name the columns in the first line.")
    return header, _rows(path, header, records), separator


def _guess(header: str) -> str:
    """Return the separator that occurs most in the header, outside quotes."""
    bare = re.sub(r'"[^"]*"', "", header)
    return max(SEPARATORS, key=bare.count)


class _CountedLines:
    """Passes lines on and refuses a row of too many characters, however many lines it has."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines, self.row_length = lines, 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.row_length += len(line)
        if self.row_length > limits.LONGEST_ROW:
            raise csv.Error(_TOO_LONG)
        return line


def _records(
    path: str | PathLike[str], reader: Any, lines: _CountedLines
) -> Iterator[tuple[int, list[str]]]:
    """Yield each record with its number; the header is 1, and blank lines do not count."""
    number = 0
    while True:
        begun, lines.row_length = reader.line_num + 1, 0
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(f"{at(path, number + 1, begun)}: {_explain(error)}.") from None
        if cells:
            number += 1
            yield number, cells


def _explain(error: csv.Error) -> str:
    return next((remedy for sign, remedy in _REMEDIES.items() if sign in str(error)), str(error))


def _rows(
    path: str | PathLike[str], header: list[str], records: Iterator[tuple[int, list[str]]]
) -> Iterator[Row]:
    for number, cells in records:
        if len(cells) != len(header):
            raise InputError(_ragged(path, number, len(cells), len(header)))
        yield number, list(cells)


def _ragged(path: str | PathLike[str], number: int, found: int, expected: int) -> str:
    if found > expected:
        remedy = "put cells with a separator in them in quotes, or name it with --separator"
    else:
        remedy = "add the missing separators, or put cells with line breaks in quotes"
    cells = "cell" if found == 1 else "cells"
    return f"{at(path, number)} has {found} {cells}, but the header has {expected}: {remedy}."
