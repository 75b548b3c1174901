"""Write a file or a folder in one step: the whole of it appears, or nothing changes."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from errno import EDQUOT, ENOSPC
from pathlib import Path
from socket import gethostname
from typing import IO

from cofactor.io import platform
from cofactor.io.errors import InputError, at

STALE_SECONDS = 24 * 3600.0
"""Age at which the remains of a killed write are removed."""


@dataclass
class WriteCounter:
    """Counts what this process has written; an interrupted command reports it.

    Each file, folder or device counts just before it changes.
    """

    count: int = 0


WRITES = WriteCounter()


# ---- disks that are full


class DiskFullError(OSError):
    """There is no room for a file or a folder; nothing of it was kept."""

    def __init__(
        self, path: Path, needed: int, *, written: int = 0, about: bool = False, part: bool = False
    ) -> None:
        """Tell what is missing.

        ``needed`` is the size of the whole, ``about`` if it is estimated; of a ``part`` if more was
        to come, nobody knows how much. ``written`` bytes of it still take room.
        """
        said = f"The disk was full after {_megabytes(needed)} of it"
        if not part:
            free, rough = free_space(path) + written, "about " if about else ""
            said = (
                f"It takes {rough}{_megabytes(needed)}, and {_megabytes(free)} are free, so "
                f"{rough}{_megabytes(max(needed - free, 1))} are missing"
            )
        self.sentence = (
            f"There is no room for {at(path)}. {said}; make room, or name another place."
        )
        super().__init__(ENOSPC, self.sentence)
        self.path, self.needed = path, needed

    def __str__(self) -> str:
        return self.sentence


def is_full(error: OSError) -> bool:
    """Return whether an error says that a disk, or a user's share of it, is full."""
    # numpy has no number for a disk that is full, only "n requested and m written".
    return error.errno in (ENOSPC, EDQUOT) or (error.errno is None and "written" in str(error))


def free_space(path: Path) -> int:
    """Return the number of bytes that are free where a path is to be made."""
    there = next((one for one in (path, *path.absolute().parents) if one.exists()), Path("/"))
    return shutil.disk_usage(there).free


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 1e5 else f"{max(size, 0) / 1e3:,.1f} kB"


Whole = Callable[[int], float]
"""Estimates the size of a whole file from that of the part which was written."""


@contextmanager
def telling_of_full_disks(path: Path, needed: int) -> Iterator[None]:
    """Say that there is no room for a file or a folder of ``needed`` bytes."""
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise
        raise DiskFullError(path, needed) from error


@contextmanager
def _telling_of_parts(
    path: Path, size: Callable[[], int], whole: Whole | None = None
) -> Iterator[None]:
    """Say that there is no room for the rest of a file or a folder; ``size`` is that of a part."""
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise
        done = size()
        if whole is None or not done:
            raise DiskFullError(path, done, part=True) from error
        raise DiskFullError(path, round(whole(done)), written=done, about=True) from error


# ---- files


@contextmanager
def replacing(path: str | os.PathLike[str], whole: Whole | None = None) -> Iterator[IO[bytes]]:
    """Open a new file that takes the place of ``path`` when the block ends well.

    A name that ends in .gz is compressed. A pipe or a device is written to directly. If the disk is
    full, ``whole`` tells how much room the file would take.
    """
    path = Path(os.path.abspath(path))
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder; name a file.")
        WRITES.count += 1
        with open(path, "wb") as device:
            yield device
        return
    path = path.resolve()
    check_place(path)
    with place_of(path, whole) as new, open(new, "wb") as file, _compressed(path, file) as packed:
        yield packed


def write_data(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file that the user named; see `replacing`."""
    with telling_of_full_disks(Path(path), len(data)), replacing(path) as file:
        file.write(data)


def write_flushed(path: Path, data: bytes) -> None:
    """Write a file of a new folder, and make sure that it is on the disk."""
    path.write_bytes(data)
    platform.HERE.flush(path)


def write_whole(path: Path, data: bytes, *, private: bool = False) -> None:
    """Write one of the program's own files; a failure is an OSError. See `place_of`."""
    with telling_of_full_disks(path, len(data)), place_of(path, private=private) as new:
        new.write_bytes(data)


@contextmanager
def place_of(path: Path, whole: Whole | None = None, *, private: bool = False) -> Iterator[Path]:
    """Name an empty file that takes the place of ``path`` when the block ends well.

    It has the same ending, because some libraries choose the format by it. Only this user can read
    a ``private`` file.
    """
    remove_stale(path)
    prefix = f"{_temporary_prefix(path)}{_host()}-{os.getpid()}-"
    descriptor, name = tempfile.mkstemp(prefix=prefix, suffix=path.suffix[-20:], dir=path.parent)
    os.close(descriptor)
    try:
        with _telling_of_parts(path, lambda: os.path.getsize(name), whole):
            yield Path(name)
            platform.HERE.flush(name)
        if not private:  # as `mkstemp` makes it
            os.chmod(name, _mode(path))
        WRITES.count += 1
        platform.HERE.replace(name, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)


def remove_stale(path: Path) -> None:
    """Remove temporary files that killed processes left when they wrote ``path``.

    A file is removed only if its name has our form, it is a plain file of this user, and its
    process is gone. Where that cannot be known (another machine, Windows, a process number that is
    in use again), it must be older than a day.
    """
    begin, end = re.escape(_temporary_prefix(path)), re.escape(path.suffix[-20:])
    form = re.compile(rf"{begin}([0-9a-f]{{8}})-(\d+)-\w{{8}}{end}")
    for left in path.parent.glob(".*"):
        if named := form.fullmatch(left.name):
            with suppress(OSError):  # another process was faster
                _remove_if_stale(left, named[1], int(named[2]))


def _temporary_prefix(path: Path) -> str:
    return f".{path.name[:100]}.writing-"


def _host() -> str:
    return hashlib.sha256(gethostname().encode()).hexdigest()[:8]


def _remove_if_stale(left: Path, host: str, process: int) -> None:
    found = left.lstat()
    own = stat.S_ISREG(found.st_mode) and platform.HERE.is_own(found)
    gone = host == _host() and not platform.HERE.is_running(process)
    if own and (gone or time.time() - found.st_mtime > STALE_SECONDS):
        left.unlink()


def check_place(path: Path) -> None:
    """Raise an InputError unless a file can be made at ``path``."""
    if not path.parent.is_dir():
        raise InputError(f"The folder {at(path.parent)} does not exist; create it first.")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"The folder {at(path.parent)} cannot be written to; name another.")


@contextmanager
def _compressed(path: Path, file: IO[bytes]) -> Iterator[IO[bytes]]:
    if path.suffix.lower() != ".gz":
        yield file
        return
    with gzip.GzipFile(path.with_suffix("").name, "wb", 6, file, mtime=0) as packed:
        yield packed  # type: ignore[misc]


def _mode(path: Path) -> int:
    """Return the permissions of the old file, or those of any new one."""
    return stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~platform.HERE.umask()


# ---- folders


@contextmanager
def replacing_folder(path: Path, *, keep_others: bool = False) -> Iterator[Path]:
    """Make an empty folder that takes the place of ``path`` when the block ends well.

    At any time ``path`` is the old folder or the new one, and the new one has the permissions of
    the old one. With ``keep_others``, files of the old folder whose names the new one does not have
    move to the new one; otherwise they are removed.
    """
    path = Path(os.path.abspath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=_saving(path), dir=path.parent))
    names: Collection[str] | None = None
    try:
        with _telling_of_parts(path, lambda: folder_size(new)):
            yield new
            platform.HERE.flush(new)
        names = set(os.listdir(new)) if keep_others else None
        usual = 0o777 & ~platform.HERE.umask()
        new.chmod(stat.S_IMODE(path.stat().st_mode) if path.is_dir() else usual)
        WRITES.count += 1
        _exchange(new, path, names)
        platform.HERE.flush(path.parent)
    finally:
        _discard(new, names)
    _remove_stale(path, names)


def folder_size(folder: Path) -> int:
    """Return the number of bytes in the files of a folder."""
    return sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())


def has_only_other_files(path: Path, mark: str) -> bool:
    """Return whether a folder holds something, but not the file that marks it as one of ours."""
    return path.is_dir() and any(path.iterdir()) and not os.path.lexists(path / mark)


def find_folder(path: Path) -> Path:
    """Return ``path``, or the old folder if the exchange with a new one was killed half-way."""
    return _previous(path) if not path.exists() and _previous(path).is_dir() else path


def _exchange(new: Path, path: Path, names: Collection[str] | None) -> None:
    if not path.exists():
        platform.HERE.rename(new, path)
        return
    old = new
    if not platform.HERE.swap(new, path):
        old = _previous(path)
        _discard(old, names)
        platform.HERE.rename(path, old)  # `find_folder` looks there, should we be killed here
        try:
            platform.HERE.rename(new, path)
        except OSError:
            platform.HERE.rename(old, path)
            raise
    if names is not None:
        for other in old.iterdir():
            if other.name not in names:
                platform.HERE.rename(other, path / other.name)
    _discard(old, names)


def _saving(path: Path) -> str:
    return f".{path.name}.saving-"


def _previous(path: Path) -> Path:
    return path.with_name(f".{path.name}.previous")


def _discard(folder: Path, names: Collection[str] | None) -> None:
    """Remove a folder; given ``names``, remove only these and leave the folder if others remain."""
    if names is None:
        shutil.rmtree(folder, ignore_errors=True)
        return
    with suppress(OSError):
        for name in names:
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()


def _remove_stale(path: Path, names: Collection[str] | None) -> None:
    for left in path.parent.glob(f"{_saving(path)}*"):
        try:
            old = time.time() - left.lstat().st_mtime > STALE_SECONDS
        except OSError:  # another process has removed it
            continue
        if old:
            _discard(left, names)
