"""Folders of text files: each file is a document, and sub-folders are labels."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from cofactor.io.errors import InputError, at

COLUMNS = ["file", "text", "label"]
Row = tuple[int, list[Any]]


def read_tree(
    folder: Path, read: Callable[[Path], str]
) -> tuple[list[str], Iterator[Row], list[str]]:
    """Return columns, rows and notes for the user; ``read`` returns the text of a file."""
    paths, outside = _find_files(folder)
    if not paths:
        raise InputError(
            f"{at(folder)} has no files in it; put one document in each file, in sub-folders named "
            "after their labels."
        )
    notes = []
    if outside:
        links = "1 link that leads" if outside == 1 else f"{outside:,} links that lead"
        notes = [f"Skipped {links} out of {at(folder)}; copy the files there to read them."]
    return list(COLUMNS), _rows(folder, paths, read), notes


def _find_files(folder: Path) -> tuple[list[Path], int]:
    """Return the files ordered by name, and the number of links that lead out of the folder.

    Hidden files and links out of the folder are left out. Links to sub-folders are not followed, so
    there are no loops and no document is read twice through them.
    """
    root, paths, outside = os.path.realpath(folder), [], 0
    for here, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = _visible(folders)
        outside += sum(_leads_out(Path(here, name), root) for name in folders)
        for path in (Path(here, name) for name in _visible(names)):
            if _leads_out(path, root):
                outside += 1
            elif path.is_file():
                paths.append(path)
    return paths, outside


def _visible(names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if not name.startswith("."))


def _leads_out(path: Path, root: str) -> bool:
    return path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(root)


def _refuse(error: OSError) -> None:
    raise error


def _rows(folder: Path, paths: list[Path], read: Callable[[Path], str]) -> Iterator[Row]:
    for number, path in enumerate(paths, start=1):
        inside = path.relative_to(folder)
        label = inside.parts[0] if len(inside.parts) > 1 else ""
        yield number, [inside.as_posix(), read(path), label]
