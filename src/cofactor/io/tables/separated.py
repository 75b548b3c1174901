"""CSV, TSV and their relatives."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import chain
from os import PathLike
from typing import Any

from cofactor.io.errors import InputError, at

LARGEST = 2**24
"""Characters of the longest cell; more is most likely a quote that is never closed."""

SEPARATORS = ",;\t|"
Row = tuple[int, list[Any]]
_REMEDIES = {
    "field larger": f"a cell has more than {LARGEST:,} characters; most likely its opening quote "
    "is never closed",
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
    """Return columns, rows and separator; rows are read when they are asked for."""
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise InputError(f"{at(path)} is empty; it needs a header line with the columns' names.")
    said = re.fullmatch(r"sep=(.)\s*", first)
    if said:  # Excel's own hint
        separator, first = said[1], next(lines, "")
    separator = separator or _guess(first)
    csv.field_size_limit(max(csv.field_size_limit(), LARGEST))
    style: dict[str, Any] = {"quoting": csv.QUOTE_NONE} if no_quotes else {"strict": True}
    reader = csv.reader(chain([first], lines), delimiter=separator, **style)
    records = _records(path, reader)
    _, header = next(records, (0, []))
    if not any(name.strip() for name in header):
        raise InputError(f"{at(path)} has an empty header; name the columns in the first line.")
    return header, _rows(path, header, records), separator


def _guess(header: str) -> str:
    """Return the separator that occurs most in the header, outside quotes."""
    bare = re.sub(r'"[^"]*"', "", header)
    return max(SEPARATORS, key=bare.count)


def _records(path: str | PathLike[str], reader: Any) -> Iterator[tuple[int, list[str]]]:
    """Yield each record with its number; the header is 1, blank lines do not count."""
    number = 0
    while True:
        begun = reader.line_num + 1
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
    return next((said for sign, said in _REMEDIES.items() if sign in str(error)), str(error))


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
