"""Files written in one step: the whole file appears, or nothing changes."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import os
import platform
import re
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from cofactor.io.errors import InputError, at

STALE = 24 * 3600.0
"""Age in seconds after which a temporary file is removed even if its process seems to run."""

FORMULA = re.compile(r"[\t\r]|\s*[=+\-@＝＋－＠]")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?%?")


def is_formula(cell: str) -> bool:
    """Tell whether a spreadsheet may take a cell for a formula; plain numbers are none.

    Examples
    --------
    >>> [is_formula(cell) for cell in ("=1+1", "-2+3", "-2.5", "moon")]
    [True, True, False, False]
    """
    return bool(FORMULA.match(cell)) and not NUMBER.fullmatch(cell)


class SeparatedWriter:
    """Writes CSV or TSV; cells that a spreadsheet would run get an apostrophe in front."""

    def __init__(
        self, file: IO[bytes], columns: list[str], added: list[str], separator: str, defuse: bool
    ) -> None:
        self._file, self._line = file, io.StringIO(newline="")
        # csv puts cells with a line end in quotes only if it is among those of the table.
        self._csv = csv.writer(self._line, delimiter=separator, lineterminator="\r\n")
        self._columns, self._defuse = len(columns), defuse
        self.defused = 0
        self.write(columns, added)

    def write(self, cells: list[Any], added: Iterable[Any] = ()) -> None:
        """Write one row."""
        if len(cells) > self._columns:
            raise InputError(
                f"A row has {len(cells)} columns, but {self._columns} were known when writing "
                "began; write JSON lines instead: -o out.jsonl."
            )
        self._csv.writerow([self._cell(cell) for cell in (*cells, *added)])
        line = self._line.getvalue().removesuffix("\r\n")
        self._file.write(line.encode("utf-8", "replace") + b"\n")
        self._line.seek(0)
        self._line.truncate()

    def _cell(self, cell: Any) -> str:
        text = "" if cell is None else cell if isinstance(cell, str) else plain(cell)
        if not (self._defuse and is_formula(text)):
            return text
        self.defused += 1
        return "'" + text


class JsonLinesWriter:
    """Writes one object a line."""

    defused = 0

    def __init__(self, file: IO[bytes], columns: list[str], added: list[str]) -> None:
        self._file, self._columns, self._added = file, columns, added

    def write(self, cells: list[Any], added: Iterable[Any] = ()) -> None:
        """Write one row; the list of columns may have grown."""
        record = dict(zip(self._columns, cells, strict=False))
        record |= zip(self._added, added, strict=False)
        self._file.write(to_json(record).encode() + b"\n")


def plain(cell: Any) -> str:
    """Return a cell that is no string as text: JSON for lists and the like."""
    if isinstance(cell, float):
        return repr(cell)
    return to_json(cell) if isinstance(cell, dict | list | tuple) else str(cell)


def to_json(value: Any, **options: Any) -> str:
    """Return JSON in ASCII; what JSON has no word for is written as text."""
    text = json.dumps(_finite(value), default=str, allow_nan=False, **options)
    return text.replace("\x7f", "\\u007f")  # the one control character that it leaves


def _finite(value: Any) -> Any:
    """Replace NaN and infinity, which JSON has no word for, by null."""
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict):
        return {str(key): _finite(one) for key, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value


def make_writer(
    file: IO[bytes], kind: str, columns: list[str], added: Iterable[str] = (), defuse: bool = True
) -> SeparatedWriter | JsonLinesWriter:
    """Return a writer of the given kind: csv, tsv or jsonl; ``added`` are columns at the end."""
    if kind == "jsonl" and len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise InputError(
            f"The table has the column {twice!r} twice, which JSON lines cannot hold; rename one, "
            "or write CSV."
        )
    if kind == "jsonl":
        return JsonLinesWriter(file, columns, list(added))
    return SeparatedWriter(file, columns, list(added), "\t" if kind == "tsv" else ",", defuse)


KINDS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}


def output_kind(path: Path) -> str:
    """Return the format that the name of an output asks for."""
    plain_path = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    ending = plain_path.suffix.lower()
    if ending in KINDS:
        return KINDS[ending]
    raise InputError(
        f"--output {at(path)} ends in {ending!r}, which is not written; use .csv, .tsv or .jsonl "
        "(each also .gz)."
    )


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a new file that takes the place of ``path`` when the block ends well."""
    path = Path(os.path.abspath(path))
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder; name a file.")
        with open(path, "wb") as device:  # a pipe or /dev/stdout: there is nothing to replace
            yield device
        return
    path = path.resolve()
    _check_place(path)
    with place_of(path) as new, open(new, "wb") as file, _packed(path, file) as packed:
        yield packed


def write_whole(path: Path, data: bytes) -> None:
    """Write a file of the program's own in one step; what goes wrong is an OSError."""
    with place_of(path) as new:
        new.write_bytes(data)


@contextmanager
def place_of(path: Path) -> Iterator[Path]:
    """Name an empty file that takes the place of ``path`` when the block ends well.

    It has the same ending, for libraries that look at it.
    """
    remove_stale(path)
    prefix = f"{_temporary_prefix(path)}{_host()}-{os.getpid()}-"
    descriptor, name = tempfile.mkstemp(prefix=prefix, suffix=path.suffix[-20:], dir=path.parent)
    os.close(descriptor)
    try:
        yield Path(name)
        with open(name, "r+b") as file:
            os.fsync(file.fileno())
        os.chmod(name, _mode(path))
        os.replace(name, path)
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
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _remove_if_stale(left: Path, host: str, process: int) -> None:
    found = left.lstat()
    own = stat.S_ISREG(found.st_mode) and (os.name != "posix" or found.st_uid == os.getuid())
    gone = host == _host() and not _is_running(process)
    if own and (gone or time.time() - found.st_mtime > STALE):
        left.unlink()


def _is_running(process: int) -> bool:
    """Tell whether a process of this machine exists; True if that cannot be known."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _check_place(path: Path) -> None:
    if not path.parent.is_dir():
        raise InputError(f"The folder {at(path.parent)} does not exist; create it first.")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"The folder {at(path.parent)} cannot be written to; name another.")


@contextmanager
def _packed(path: Path, file: IO[bytes]) -> Iterator[IO[bytes]]:
    if path.suffix.lower() != ".gz":
        yield file
        return
    with gzip.GzipFile(path.with_suffix("").name, "wb", 6, file, mtime=0) as packed:
        yield packed  # type: ignore[misc]


def _mode(path: Path) -> int:
    """Return the permissions of the old file, or those of any new one."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0o022)
    os.umask(mask)
    return 0o666 & ~mask


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file in one step."""
    with replacing(path) as file:
        file.write(text.encode())
