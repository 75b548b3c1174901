"""Read files that may be damaged or made to do harm.

A manifest is a JSON file that lists other files with size and digest, and holds its own digest.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cofactor.io.platform import BINARY, UNLINKED


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
    try:  # opening a device may already have an effect, hence the look before
        require(stat.S_ISREG(os.lstat(path).st_mode), f"{name} is not a plain file")
        descriptor = os.open(path, os.O_RDONLY | BINARY | UNLINKED)
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


# ---- manifests


def file_facts(data: bytes) -> dict[str, Any]:
    """Return what a manifest says about a file."""
    return {"bytes": len(data), "sha256": sha256(data)}


def check_file_facts(facts: Any, where: str) -> None:
    """Raise a DamagedFileError unless ``facts`` can come from `file_facts`."""
    good = isinstance(facts, dict) and facts.keys() == {"bytes", "sha256"}
    good = good and type(facts["bytes"]) is int and isinstance(facts["sha256"], str)
    require(good and facts["bytes"] >= 0, f"{where} needs bytes and sha256")


def check_contents(name: str, data: bytes, facts: dict[str, Any]) -> None:
    """Raise a DamagedFileError if a file differs from what a manifest says about it."""
    size = facts["bytes"]
    require(len(data) == size, f"{name} has {len(data)} bytes instead of {size}; it is cut off")
    require(sha256(data) == facts["sha256"], f"{name} was changed after it was saved")


def with_digest(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest with its digest."""
    return {**manifest, "digest": _digest(manifest)}


def check_digest(manifest: dict[str, Any], name: str) -> None:
    """Raise a DamagedFileError if a manifest was changed after it was written."""
    require(_digest(manifest) == manifest.get("digest"), f"{name} was changed after saving")


def _digest(manifest: dict[str, Any]) -> str:
    rest = {key: value for key, value in manifest.items() if key != "digest"}
    return sha256(json.dumps(rest, sort_keys=True).encode())
