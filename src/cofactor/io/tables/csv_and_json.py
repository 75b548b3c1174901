"""Rows of CSV, TSV, JSON lines and JSON arrays.

They are read by hand, in one pass and with the standard library, because errors must name the row
and the line, and a quote that is never closed must not fill the memory.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from cofactor.errors import Clause, Parameter, ParameterError
from cofactor.io.errors import InputError, at
from cofactor.io.tables import decoding
from cofactor.io.tables.decoding import batches, check_length

Row = tuple[int, list[Any]]
Record = dict[str, Any]

_TOO_LONG = "row too long"
_IN_TEXT = ("or, if quotes are part of the text, use ", Parameter("no_quotes", True))
_PROBLEMS: dict[str, tuple[str, Clause]] = {
    _TOO_LONG: (
        f"the row has more than {decoding.MAX_ROW_CHARACTERS:,} characters",
        ("most likely a quote that opens here is never closed: close it or double it, ", *_IN_TEXT),
    ),
    "unexpected end": (
        "a quote that opens here is never closed",
        ("close it, double it, ", *_IN_TEXT),
    ),
    "expected after": ("a quote is inside a quoted cell", ("double it, ", *_IN_TEXT)),
    "new-line character": (
        "a carriage return is alone in an unquoted cell",
        "put the cell in quotes",
    ),
}
"""What is wrong, and what to do, by a part of the messages of `csv`."""


# ---------------------------------------------------------------- CSV and TSV


def read_separated(
    path: Path, lines: Iterator[str], separator: str | None = None, no_quotes: bool = False
) -> tuple[list[str], Iterator[Row], str]:
    """Return columns, rows and separator; the rows are read lazily."""
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise InputError(f"{at(path)} is empty; it needs a header line with the columns' names.")
    hint = re.fullmatch(r"sep=(.)\s*", first)
    if hint:  # written by Excel
        separator, first = hint[1], next(lines, "")
    separator = separator or _guess_separator(first)
    csv.field_size_limit(max(csv.field_size_limit(), decoding.MAX_ROW_CHARACTERS))
    style: dict[str, Any] = {"quoting": csv.QUOTE_NONE} if no_quotes else {"strict": True}
    counted = _CountedLines(chain([first], lines))
    records = _csv_records(path, csv.reader(counted, delimiter=separator, **style), counted)
    _, header = next(records, (0, []))
    if not any(name.strip() for name in header):
        raise InputError(f"{at(path)} has an empty header; name the columns in the first line.")
    return header, _csv_rows(path, header, records), separator


def _guess_separator(header: str) -> str:
    """Return the separator that occurs most in the header, outside quotes."""
    bare = re.sub(r'"[^"]*"', "", header)
    return max(",;\t|", key=bare.count)


class _CountedLines:
    """Passes lines on and refuses a row of too many characters, however many lines it has."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines, self.row_length = lines, 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.row_length += len(line)
        if self.row_length > decoding.MAX_ROW_CHARACTERS:
            raise csv.Error(_TOO_LONG)
        return line


def _csv_records(path: Path, reader: Any, lines: _CountedLines) -> Iterator[tuple[int, list[str]]]:
    """Yield each record with its number; the header is 1, and blank lines do not count."""
    number = 0
    while True:
        begun, lines.row_length = reader.line_num + 1, 0
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            known = (it for sign, it in _PROBLEMS.items() if sign in str(error))
            problem, remedy = next(known, (str(error), ""))
            raise ParameterError(f"{at(path, number + 1, begun)}: {problem}", remedy) from None
        if cells:
            number += 1
            yield number, cells


def _csv_rows(
    path: Path, header: list[str], records: Iterator[tuple[int, list[str]]]
) -> Iterator[Row]:
    for number, cells in records:
        if len(cells) != len(header):
            remedy: Clause = "add the missing separators, or put cells with line breaks in quotes"
            if len(cells) > len(header):
                quoting = "put cells with a separator in them in quotes, or name it with "
                remedy = (quoting, Parameter("separator"))
            found = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
            raise ParameterError(
                f"{at(path, number)} has {found}, but the header has {len(header)}", remedy
            )
        yield number, list(cells)


# ---------------------------------------------------------------- JSON lines

RECORDS_AHEAD = 1000
"""Number of records that are read ahead to learn the columns."""


def read_json_lines(path: Path, lines: Iterator[str]) -> tuple[list[str], Iterator[Row]]:
    """Return columns and rows; a column that first occurs later is appended to the list."""
    numbered = _number(lines)
    ahead = next(batches(numbered, lambda pair: len(pair[1]), RECORDS_AHEAD), [])
    first = list(_parse_all(path, ahead))
    if not first:
        raise InputError(f"{at(path)} is empty; it needs one JSON object on each line.")
    return _find_columns(first, _parse_all(path, numbered))


def read_records(
    path: Path, lines: Iterable[str], constant: Callable[[str], Any] = lambda name: None
) -> Iterator[tuple[int, Record]]:
    """Yield line number and object of each line that is not blank.

    ``constant`` returns the value of NaN and Infinity, which JSON does not have: None by default.
    """
    return _parse_all(path, _number(lines), constant)


def _number(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip())


def _parse_all(
    path: Path,
    numbered: Iterable[tuple[int, str]],
    constant: Callable[[str], Any] = lambda name: None,
) -> Iterator[tuple[int, Record]]:
    for number, line in numbered:
        try:
            record = json.loads(line, parse_constant=constant)
        except (ValueError, RecursionError) as error:
            problem = getattr(error, "msg", str(error))
            raise InputError(
                f"{at(path, line=number)} is not JSON ({problem}); each line must hold one object, "
                'like {"text": "…", "label": "…"}.'
            ) from None
        if not isinstance(record, dict):
            raise InputError(
                f"{at(path, line=number)} holds a {type(record).__name__}, not an object; write "
                'each row as {"text": "…", "label": "…"}.'
            )
        yield number, record


def _find_columns(
    first: list[tuple[int, Record]], rest: Iterator[tuple[int, Record]]
) -> tuple[list[str], Iterator[Row]]:
    """Return the columns of the first records, and the rows of all."""
    columns = list(dict.fromkeys(key for _, record in first for key in record))
    return columns, _json_rows(columns, chain(first, rest))


def _json_rows(columns: list[str], records: Iterator[tuple[int, Record]]) -> Iterator[Row]:
    known = set(columns)
    for number, record in records:
        if not record.keys() <= known:
            columns.extend(key for key in record if key not in known)
            known.update(record)
        yield number, [record.get(name) for name in columns]


# ---------------------------------------------------------------- JSON arrays

_ARRAY = '[{"text": "…", "label": "…"}, …]'


def first_sign(texts: Iterator[str]) -> tuple[str, Iterator[str]]:
    """Return the first character of a text that is not a space; return the text again."""
    read = []
    for text in texts:
        read.append(text)
        if text.strip():
            break
    return "".join(read).lstrip("\ufeff \t\r\n")[:1], chain(read, texts)


def read_json_array(path: Path, texts: Iterator[str]) -> tuple[list[str], Iterator[Row]]:
    """Return columns and rows, as `read_json_lines` does.

    Only the object that is being read is in memory, so the limit on the length of a row holds.
    """
    records = _array_records(path, texts)
    first = [record for record, _ in zip(records, range(RECORDS_AHEAD), strict=False)]
    if not first:
        raise InputError(f"{at(path)} holds an empty array; it needs objects: {_ARRAY}.")
    return _find_columns(first, records)


def _array_records(path: Path, texts: Iterator[str]) -> Iterator[tuple[int, Record]]:
    decoder = json.JSONDecoder(parse_constant=lambda name: None)
    array = _ArrayText(path, texts)
    mark = array.take()  # the bracket that `first_sign` has seen
    while not (array.peek() == "]" and mark != ","):
        record = array.element(decoder)
        if not isinstance(record, dict):
            raise InputError(
                f"{at(path, array.number)} of the array holds a {type(record).__name__}, not an "
                f"object; write {_ARRAY}."
            )
        yield array.number, record
        if array.peek() not in (",", "]"):
            raise array.error("a comma or ] is missing")
        mark = array.take() if array.peek() == "," else "]"
    array.take()
    if array.peek():
        raise array.error("there is more text after the array")


class _ArrayText:
    """The part of an array that is not read yet, and the number of its elements before."""

    def __init__(self, path: Path, texts: Iterator[str]) -> None:
        self.number = 0
        self._path, self._texts, self._text = path, texts, ""

    def peek(self) -> str:
        """Return the next character that is not a space; "" at the end."""
        self._text = self._text.lstrip()
        while not self._text and self._more():
            self._text = self._text.lstrip()
        return self._text[:1]

    def take(self) -> str:
        """Return the next character, and go on behind it."""
        mark, self._text = self.peek(), self._text[1:]
        return mark

    def element(self, decoder: json.JSONDecoder) -> Any:
        """Return the next value, and go on behind it."""
        self.number += 1
        self.peek()
        while True:
            try:
                value, end = decoder.raw_decode(self._text)
            except RecursionError:
                raise self.error("it is nested too deeply") from None
            except ValueError as error:
                check_length(len(self._text), self._path, self.number)
                if not self._more():
                    raise self.error(getattr(error, "msg", str(error))) from None
                continue
            check_length(end, self._path, self.number)
            self._text = self._text[end:]
            return value

    def error(self, problem: str) -> InputError:
        """Return the error for an element that is not JSON."""
        return InputError(
            f"{at(self._path, self.number)} of the array is not JSON ({problem}); write {_ARRAY}."
        )

    def _more(self) -> bool:
        more = next((text for text in self._texts if text), "")
        self._text += more
        return bool(more)
