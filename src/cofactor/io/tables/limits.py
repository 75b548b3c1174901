"""Limits on what is read from a table, so that a hostile or broken file cannot fill the memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from typing import TypeVar

from cofactor.io.errors import InputError, at

LONGEST_ROW = 2**24
"""Maximum number of characters in one line, one row or one document, in every format.

A novel has about a million. A longer row is most likely a quote that is never closed, a file
without line ends, or a small compressed file that unpacks to gigabytes.
"""

REMEDY = (
    "check its quotes and line ends, or split the text into several documents of at most "
    f"{LONGEST_ROW:,} characters"
)

Item = TypeVar("Item")


def check_length(
    length: int, path: str | PathLike[str], row: int | None = None, line: int | None = None
) -> None:
    """Refuse a row, line or document of too many characters."""
    if length > LONGEST_ROW:
        raise InputError(
            f"{at(path, row, line)} has more than {LONGEST_ROW:,} characters; {REMEDY}."
        )


def batches(
    items: Iterable[Item], length: Callable[[Item], int], most: int
) -> Iterator[list[Item]]:
    """Yield lists of at most ``most`` items; one of `LONGEST_ROW` characters ends early."""
    batch: list[Item] = []
    characters = 0
    for item in items:
        batch.append(item)
        characters += length(item)
        if len(batch) == most or characters > LONGEST_ROW:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch
