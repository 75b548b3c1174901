"""Folders: written in one step, read with care."""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from cofactor.io.models.errors import ModelFormatError, require

MARK = "manifest.json"
"""The file without which a folder is no model."""

STALE = 24 * 3600.0
"""Seconds after which what a killed save left behind is removed."""


def write_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Put files into a new folder and exchange it with the one at ``path``.

    At any time ``path`` is the old folder or the new one. Files of other names in the old folder
    move to the new one.
    """
    path = Path(os.path.abspath(path))
    _check_place(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_stale(path, files)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.saving-", dir=path.parent))
    try:
        for name, data in files.items():
            _write(temporary / name, data)
        temporary.chmod(0o777 & ~_umask())
        _flush(temporary)
        _put(temporary, path, files)
        _flush(path.parent)
    finally:
        _discard(temporary, files)


def _discard(folder: Path, names: Iterable[str]) -> None:
    """Remove a folder of ours; one that holds anything else stays."""
    with contextlib.suppress(OSError):
        for name in names:
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()


def _check_place(path: Path) -> None:
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise FileExistsError(f"path={str(path)!r} is no folder; choose another.")
    if path.is_dir() and any(path.iterdir()) and not (path / MARK).exists():
        raise FileExistsError(
            f"path={str(path)!r} is a folder with other files in it and not a model; choose "
            "another, or empty it."
        )


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _write(path: Path, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _flush(folder: Path) -> None:
    if os.name == "posix":  # elsewhere folders cannot be opened
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _put(new: Path, path: Path, files: Mapping[str, bytes]) -> None:
    if not path.exists():
        os.rename(new, path)
        return
    old = new
    if not _exchange(new, path):
        old = _previous(path)
        _discard(old, files)
        os.rename(path, old)  # load_model looks there, should we be killed here
        os.rename(new, path)
    for other in old.iterdir():
        if other.name not in files:
            os.rename(other, path / other.name)
    _discard(old, files)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step, where the system can; tell whether it did."""
    calls = {"linux": "renameat2", "darwin": "renameatx_np"}
    here = {"linux": -100, "darwin": -2}.get(sys.platform)  # AT_FDCWD
    try:
        call = getattr(ctypes.CDLL(None, use_errno=True), calls[sys.platform])
    except (AttributeError, KeyError, OSError, TypeError):
        return False
    return bool(call(here, os.fsencode(one), here, os.fsencode(other), ctypes.c_uint(2)) == 0)


def _previous(path: Path) -> Path:
    return path.with_name(f".{path.name}.previous")


def _remove_stale(path: Path, names: Iterable[str]) -> None:
    for left in path.parent.glob(f".{path.name}.saving-*"):
        try:
            old = time.time() - left.lstat().st_mtime > STALE
        except OSError:  # somebody else was faster
            continue
        if old:
            _discard(left, names)


def find_folder(path: Path) -> Path:
    """Return the folder to read: ``path``, or the old one if a save was killed half-way."""
    if not path.exists() and _previous(path).is_dir():
        return _previous(path)
    if not path.is_dir():
        what = "is a file" if path.exists() else "does not exist"
        raise ModelFormatError(f"{path} {what}; a model is a folder with {MARK} in it")
    require((path / MARK).exists(), f"{path} has no {MARK}, so it is not a model")
    return path


def read_file(folder: Path, name: str, largest: int) -> bytes:
    """Return the bytes of a plain file of at most ``largest`` bytes; links are not followed."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    flags |= getattr(os, "O_BINARY", 0)
    try:
        plain = stat.S_ISREG(os.lstat(folder / name).st_mode)
        require(plain, f"{name} is not a plain file")
        descriptor = os.open(folder / name, flags)
    except OSError as error:
        raise ModelFormatError(f"{name} cannot be read: {error.strerror}") from error
    with open(descriptor, "rb") as file:
        size = os.fstat(descriptor).st_size
        require(stat.S_ISREG(os.fstat(descriptor).st_mode), f"{name} is not a plain file")
        require(size <= largest, f"{name} has {size} bytes, more than the {largest} expected")
        data = file.read(size + 1)
    require(len(data) == size, f"{name} changed while it was read")
    return data
