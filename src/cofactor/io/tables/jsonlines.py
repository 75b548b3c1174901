"""JSON lines: each line holds one object."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from os import PathLike
from typing import Any

from cofactor.io.errors import InputError, at
from cofactor.io.tables import limits

AHEAD = 1000
"""Number of records that are read ahead to learn the columns."""

Record = dict[str, Any]
Row = tuple[int, list[Any]]


def read_json_lines(
    path: str | PathLike[str], lines: Iterator[str]
) -> tuple[list[str], Iterator[Row]]:
    """Return columns and rows; a column that first occurs later is appended to the list."""
    numbered = _number(lines)
    ahead = next(limits.batches(numbered, lambda pair: len(pair[1]), AHEAD), [])
    first = list(_parse_all(path, ahead))
    if not first:
        raise InputError(f"{at(path)} is empty; it needs one JSON object on each line.")
    return find_columns(first, _parse_all(path, numbered))


def find_columns(
    first: list[tuple[int, Record]], rest: Iterator[tuple[int, Record]]
) -> tuple[list[str], Iterator[Row]]:
    """Return the columns of the first records, and the rows of all."""
    columns = list(dict.fromkeys(key for _, record in first for key in record))
    return columns, _rows(columns, chain(first, rest))


def read_records(
    path: str | PathLike[str],
    lines: Iterable[str],
    constant: Callable[[str], Any] = lambda name: None,
) -> Iterator[tuple[int, Record]]:
    """Yield line number and object of each line that is not blank.

    ``constant`` returns the value of NaN and Infinity, which JSON does not have: None by default.
    """
    return _parse_all(path, _number(lines), constant)


def _number(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip())


def _parse_all(
    path: str | PathLike[str],
    numbered: Iterable[tuple[int, str]],
    constant: Callable[[str], Any] = lambda name: None,
) -> Iterator[tuple[int, Record]]:
    return ((number, _parse(path, number, line, constant)) for number, line in numbered)


def _parse(
    path: str | PathLike[str], number: int, line: str, constant: Callable[[str], Any]
) -> Record:
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
            f"{at(path, line=number)} holds a {type(record).__name__}, not an object; write each "
            'row as {"text": "…", "label": "…"}.'
        )
    return record


def _rows(columns: list[str], records: Iterator[tuple[int, Record]]) -> Iterator[Row]:
    known = set(columns)
    for number, record in records:
        if not record.keys() <= known:
            columns.extend(key for key in record if key not in known)
            known.update(record)
        yield number, [record.get(name) for name in columns]
