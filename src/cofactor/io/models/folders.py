"""The folder of a model: where it may be written, where it is found, and its errors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from cofactor.io import atomic

MARK = "manifest.json"
"""The file that makes a folder a model."""


class ModelFormatError(ValueError):
    """A folder is not a model that this version can read; the message says what and where.

    Examples
    --------
    >>> from cofactor import ModelFormatError, load_model
    >>> try:
    ...     model = load_model("no such folder")
    ... except ModelFormatError as error:
    ...     print(error)
    no such folder: it does not exist; name the folder of a model, which has manifest.json in it.
    """


class NoModelError(ModelFormatError):
    """A folder has no model, or one of a newer version; it is not damaged."""


def write_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Write files to a folder in one step; other files in an old folder stay."""
    path = Path(os.path.abspath(path))
    _check_place(path)
    with atomic.replacing_folder(path, keep_others=True) as new:
        for name, data in files.items():
            atomic.write_flushed(new / name, data)


def _check_place(path: Path) -> None:
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise FileExistsError(f"path={str(path)!r} is not a folder; choose another.")
    if atomic.has_only_other_files(path, MARK):
        raise FileExistsError(
            f"path={str(path)!r} is a folder with other files in it and not a model; choose "
            "another, or empty it."
        )


def find_folder(path: Path) -> Path:
    """Return the folder to read: ``path``, or the old one if a save was killed half-way."""
    found = atomic.find_folder(path)
    if not found.is_dir():
        what = "it is a file" if path.exists() else "it does not exist"
        raise NoModelError(f"{what}; name the folder of a model, which has {MARK} in it")
    if not (found / MARK).exists():
        raise NoModelError(f"it has no {MARK}, so it is not a model; name the folder of a model")
    return found
