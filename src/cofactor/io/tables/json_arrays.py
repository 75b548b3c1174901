"""JSON files that hold one array of objects, read object by object.

Only the object that is being read is in memory, so the limit on the length of a row holds here,
too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from os import PathLike
from typing import Any

from cofactor.io.errors import InputError, at
from cofactor.io.tables.jsonlines import AHEAD, Record, Row, find_columns
from cofactor.io.tables.limits import check_length

_EXAMPLE = '[{"text": "…", "label": "…"}, …]'


def read_json_array(
    path: str | PathLike[str], texts: Iterator[str]
) -> tuple[list[str], Iterator[Row]]:
    """Return columns and rows; a column that first occurs later is appended to the list."""
    records = _records(path, texts)
    first = [record for record, _ in zip(records, range(AHEAD), strict=False)]
    if not first:
        raise InputError(f"{at(path)} holds an empty array; it needs objects: {_EXAMPLE}.")
    return find_columns(first, records)


def starts_array(texts: Iterator[str]) -> tuple[bool, Iterator[str]]:
    """Tell whether a text begins with an array; return the text again."""
    read = []
    for text in texts:
        read.append(text)
        if text.strip():
            break
    return "".join(read).lstrip().startswith("["), chain(read, texts)


def _records(path: str | PathLike[str], texts: Iterator[str]) -> Iterator[tuple[int, Record]]:
    decoder = json.JSONDecoder(parse_constant=lambda name: None)
    buffer = _Buffer(path, texts)
    buffer.take("[")
    number = 0
    while not (buffer.peek() == "]" and (number == 0 or not buffer.comma)):
        number += 1
        record = buffer.element(decoder, number)
        if not isinstance(record, dict):
            raise InputError(
                f"{at(path, number)} of the array holds a {type(record).__name__}, not an object; "
                f"write {_EXAMPLE}."
            )
        yield number, record
        buffer.comma = buffer.peek() == ","
        buffer.take(",") if buffer.comma else None
        if not buffer.comma and buffer.peek() != "]":
            raise buffer.error(number, "a comma or ] is missing")
    buffer.take("]")
    if buffer.peek():
        raise buffer.error(number, "there is more text after the array")


class _Buffer:
    """The part of a text that is not read yet."""

    def __init__(self, path: str | PathLike[str], texts: Iterator[str]) -> None:
        self._path, self._texts, self._text = path, texts, ""
        self.comma = False

    def peek(self) -> str:
        """Return the next character that is no space; "" at the end."""
        self._text = self._text.lstrip()
        while not self._text and self._more():
            self._text = self._text.lstrip()
        return self._text[:1]

    def take(self, mark: str) -> None:
        """Drop a character that `peek` has seen."""
        assert self.peek() == mark
        self._text = self._text[1:]

    def element(self, decoder: json.JSONDecoder, number: int) -> Any:
        """Return the next value of the array."""
        self.peek()
        while True:
            try:
                value, end = decoder.raw_decode(self._text)
            except RecursionError:
                raise self.error(number, "it is nested too deeply") from None
            except ValueError as error:
                check_length(len(self._text), self._path, number)
                if not self._more():
                    raise self.error(number, getattr(error, "msg", str(error))) from None
                continue
            check_length(end, self._path, number)
            self._text = self._text[end:]
            return value

    def error(self, number: int, problem: str) -> InputError:
        """Return the error for an element that is not JSON."""
        return InputError(
            f"{at(self._path, number)} of the array is not JSON ({problem}); write {_EXAMPLE}."
        )

    def _more(self) -> bool:
        for text in self._texts:
            self._text += text
            if text:
                return True
        return False
