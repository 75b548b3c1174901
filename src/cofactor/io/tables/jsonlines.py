"""JSON lines: one object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain, islice
from os import PathLike
from typing import Any

from cofactor.io.errors import InputError, at

AHEAD = 1000
"""Records looked at to learn the columns."""

Row = tuple[int, list[Any]]


def read_json_lines(
    path: str | PathLike[str], lines: Iterator[str]
) -> tuple[list[str], Iterator[Row]]:
    """Return columns and rows; columns that turn up later are appended to the list."""
    records = _records(path, lines)
    first = list(islice(records, AHEAD))
    if not first:
        raise InputError(f"{at(path)} is empty; it needs one JSON object a line.")
    columns = list(dict.fromkeys(key for _, record in first for key in record))
    return columns, _rows(columns, chain(first, records))


def _rows(columns: list[str], records: Iterator[tuple[int, dict[str, Any]]]) -> Iterator[Row]:
    known = set(columns)
    for number, record in records:
        if not record.keys() <= known:
            columns.extend(key for key in record if key not in known)
            known.update(record)
        yield number, [record.get(name) for name in columns]


def _records(
    path: str | PathLike[str], lines: Iterator[str]
) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield number, _parse(path, number, line)


def _parse(path: str | PathLike[str], number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line, parse_constant=lambda constant: None)
    except (ValueError, RecursionError) as error:
        what = getattr(error, "msg", str(error))
        raise InputError(
            f"{at(path, line=number)} is not JSON ({what}); each line must hold one object, like "
            '{"text": "…", "label": "…"}.'
        ) from None
    if not isinstance(record, dict):
        raise InputError(
            f"{at(path, line=number)} holds a {type(record).__name__}, not an object; write each "
            'row as {"text": "…", "label": "…"}.'
        )
    return record
