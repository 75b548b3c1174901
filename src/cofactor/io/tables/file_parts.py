"""Tables in several files: patterns such as ``data/*.parquet``, and addresses of other storage.

Addresses such as ``s3://bucket/*.csv`` need fsspec and its package for that storage. A file there
is copied to a temporary folder while it is read.
"""

from __future__ import annotations

import glob
import os
import platform
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cofactor.io.errors import InputError, at, similar_path

# A Path has only one slash after the colon. The name of a drive is one letter.
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/+(.*)", re.DOTALL)
_MAGIC = re.compile(r"[*?\[]")


def as_address(path: str | os.PathLike[str]) -> str | None:
    """Return the address that a path stands for; None if it is a path.

    Examples
    --------
    >>> from pathlib import PurePosixPath
    >>> as_address(PurePosixPath("s3://bucket/part.csv")), as_address("data/part.csv")
    ('s3://bucket/part.csv', None)
    >>> as_address(PurePosixPath("file:///data/part.csv"))
    'file:///data/part.csv'
    """
    found = _ADDRESS.fullmatch(os.fspath(path).replace(os.sep, "/"))
    if found is None:
        return None
    root = "/" if found[1] in ("file", "local") else ""  # others begin with a host or a bucket
    return f"{found[1]}://{root}{found[2]}"


def names_parts(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a pattern of files or an address, not a file or a folder."""
    if as_address(path) is not None:
        return True
    return bool(_MAGIC.search(os.fspath(path))) and not os.path.lexists(path)


def find_parts(path: str | os.PathLike[str]) -> list[str]:
    """Return the files that match a pattern or an address, ordered by name; there must be some."""
    address = as_address(path)
    if address is None:
        found = [os.path.abspath(one) for one in glob.iglob(os.fspath(path), recursive=True)]
        found = [one for one in found if os.path.isfile(one)]
    else:
        found = _find_there(address)
    if not found:
        near = similar_path(path) if address is None else ""
        raise InputError(f"No file matches {at(address or path)}; check the path. {near}".rstrip())
    return sorted(found)


def _find_there(address: str) -> list[str]:
    files = _storage(address)
    with _told(address):
        return [files.unstrip_protocol(one) for one in files.glob(address) if files.isfile(one)]


@contextmanager
def opened_part(part: str) -> Iterator[Path]:
    """Name the file of a part; one on other storage is copied while the block runs."""
    address = as_address(part)
    if address is None:
        _check_seen(part)
        yield Path(part)
        return
    with tempfile.TemporaryDirectory(prefix="cofactor-") as folder:
        copy = Path(folder, Path(part).name)
        with _told(address):
            _storage(address).get_file(address, os.fspath(copy))
        try:
            yield copy
        except InputError as error:
            raise type(error)(*_renamed(error.args, os.fspath(copy), address)) from None


def part_facts(part: str) -> dict[str, Any]:
    """Return size and time of a part, which tell whether it was changed."""
    if (address := as_address(part)) is None:
        found = os.stat(part)
        return {"path": part, "bytes": found.st_size, "changed": found.st_mtime_ns}
    with _told(address):
        return {"path": part, "bytes": _storage(address).info(address).get("size")}


def table_state(path: Path) -> list[dict[str, Any]]:
    """Return size and time of each file of a table, which is a file, a folder or several files."""
    if names_parts(path):
        names = find_parts(path)
    elif path.is_dir():
        names = sorted(os.fspath(one) for one in path.rglob("*") if one.is_file())
    else:
        names = [os.path.abspath(path)]
    return list(map(part_facts, names))


def _renamed(sentence: Any, copy: str, address: str) -> Any:
    """Return the parts of a sentence with the address in place of its copy."""
    if isinstance(sentence, str):
        return sentence.replace(copy, address)
    if isinstance(sentence, tuple | list):
        return type(sentence)(_renamed(one, copy, address) for one in sentence)
    return sentence


def _check_seen(part: str) -> None:
    if not os.path.exists(part):
        raise InputError(
            f"{at(part)} does not exist on {platform.node() or 'this machine'}; every worker reads "
            "its own parts, so they must be on storage that all machines see at the same path."
        )


def _storage(address: str) -> Any:
    """Return the file system of an address."""
    scheme = address.partition("://")[0]
    try:
        from fsspec import filesystem  # type: ignore[import-untyped]
    except ImportError:
        raise InputError(f"{at(address)} needs fsspec: pip install fsspec.") from None
    try:
        return filesystem(scheme)
    except (ImportError, ValueError) as error:
        raise InputError(f"{at(address)} cannot be read ({error}).") from None


@contextmanager
def _told(address: str) -> Iterator[None]:
    """Turn what goes wrong on other storage into one sentence."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # each storage has its own kinds
        problem = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{at(address)} cannot be read ({problem}).") from error
