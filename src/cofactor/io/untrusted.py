"""Read files that may be damaged or made to do harm."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class DamagedFileError(ValueError):
    """A file is not what it should be; readers of folders make their own error of it."""


def require(condition: bool, message: str) -> None:
    """Raise a DamagedFileError unless a condition holds."""
    if not condition:
        raise DamagedFileError(message)


@contextmanager
def failing_as(kind: type[Exception], where: str, remedy: str = "") -> Iterator[None]:
    """Turn whatever goes wrong in a block into one kind of error.

    Its message begins with ``where`` and ends with ``remedy``. A MemoryError stays as it is,
    because the file may be good.
    """
    try:
        yield
    except (kind, MemoryError):
        raise
    except DamagedFileError as error:
        raise kind(f"{where}{error}{remedy}.") from None
    except Exception as error:
        raise kind(f"{where}the contents are not usable ({error!r}){remedy}.") from error


def open_plain(path: Path, name: str | None = None) -> int:
    """Open a plain file for reading; links are not followed, pipes and devices are refused.

    Errors call it ``name``.
    """
    name = name or path.name
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    flags |= getattr(os, "O_BINARY", 0)
    try:  # opening a device may already have an effect, hence the look before
        require(stat.S_ISREG(os.lstat(path).st_mode), f"{name} is not a plain file")
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        raise DamagedFileError(f"{name} is missing") from None
    except OSError as error:
        raise DamagedFileError(f"{name} cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise DamagedFileError(f"{name} is not a plain file")
    return descriptor


def read_file(path: Path, largest: int) -> bytes:
    """Return the bytes of a plain file, which may have at most ``largest`` of them."""
    with open(open_plain(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        require(size <= largest, f"{path.name} has {size} bytes, more than the {largest} expected")
        data = file.read(size + 1)
    require(len(data) == size, f"{path.name} changed while it was read")
    return data


def sha256(data: Any) -> str:
    """Return the SHA-256 digest of some bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
