"""A folder of text files; sub-folders are labels."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cofactor.io.errors import InputError, at

COLUMNS = ["file", "text", "label"]
Row = tuple[int, list[Any]]


def read_tree(folder: Path, read: Callable[[Path], str]) -> tuple[list[str], Iterator[Row]]:
    """Return columns and rows; ``read`` returns the text of a file."""
    paths = list(_files(folder))
    if not paths:
        raise InputError(
            f"{at(folder)} has no files in it; put one document in each file, in sub-folders named "
            "after their labels."
        )
    return list(COLUMNS), _rows(folder, paths, read)


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files in order of their names; hidden ones are left out."""
    for here, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(here, name)
            if not name.startswith(".") and path.is_file():
                yield path


def _refuse(error: OSError) -> None:
    raise error


def _rows(folder: Path, paths: list[Path], read: Callable[[Path], str]) -> Iterator[Row]:
    for number, path in enumerate(paths, start=1):
        inside = path.relative_to(folder)
        label = inside.parts[0] if len(inside.parts) > 1 else ""
        yield number, [inside.as_posix(), read(path), label]
