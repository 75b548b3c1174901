"""One table of documents, whatever file or folder it is in."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cofactor.io.errors import InputError, at, suggestion
from cofactor.io.tables.decoding import CHUNK, Decoder, split_lines
from cofactor.io.tables.jsonlines import read_json_lines
from cofactor.io.tables.parquet import read_parquet
from cofactor.io.tables.separated import read_separated
from cofactor.io.tables.trees import read_tree

FORMATS = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".txt": "csv", "": "csv",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
_REMEDIES = {
    ".json": "write one object a line and call it .jsonl",
    ".xlsx": "save the sheet as CSV UTF-8",
    ".xls": "save the sheet as CSV UTF-8",
    ".ods": "save the sheet as CSV UTF-8",
    ".zip": "unpack it first",
}


@dataclass
class Source:
    """A table that is read once, row by row.

    Attributes
    ----------
    path, kind, columns : where it is, what it is, and its columns; those of JSON lines may grow
    rows : iterator of (row number, cells)
    encodings : found so far
    """

    path: Path
    kind: str
    columns: list[str]
    rows: Iterator[tuple[int, list[Any]]]
    separator: str | None = None
    encodings: set[str] = field(default_factory=set)
    digest: Any = None

    def place(self, name: str, option: str) -> int:
        """Return the place of a column; ``option`` is how the user named it."""
        found = self.columns.count(name)
        if found == 1:
            return self.columns.index(name)
        if found:
            raise InputError(
                f"{option} {name!r} names {found} columns of {at(self.path)}; rename all but one."
            )
        remedy = suggestion(name, self.columns)
        raise InputError(f"{option} {name!r} is no column of {at(self.path)}. {remedy}")

    def facts(self) -> dict[str, Any]:
        """Return what was read, for a manifest; complete after the last row."""
        return {
            "path": os.path.abspath(self.path),
            "format": self.kind,
            "separator": self.separator,
            "encoding": " and ".join(sorted(self.encodings)) or None,
            "sha256": self.digest.hexdigest() if self.digest else None,
        }


def open_source(
    path: str | os.PathLike[str],
    *,
    encoding: str | None = None,
    separator: str | None = None,
    no_quotes: bool = False,
) -> Source:
    """Open a table: CSV, TSV, JSON lines (also .gz), Parquet, or a folder of text files.

    Parameters
    ----------
    path : str or path
        The file or folder.
    encoding : str, optional
        Of text; found out by default.
    separator : str, optional
        Of cells; found out by default.
    no_quotes : bool, default=False
        Whether quotes are part of the text.

    Returns
    -------
    Source
    """
    path = Path(path)
    if path.is_dir():
        return _open_tree(path, encoding)
    kind = _format(path)
    if kind == "parquet":
        columns, rows = read_parquet(path)
        return Source(path, kind, columns, _clean(rows))
    separator = separator or ("\t" if kind == "tsv" else None)
    return _open_lines(path, kind, encoding, separator, no_quotes)


def _format(path: Path) -> str:
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    ending = plain.suffix.lower()
    if path.suffix.lower() == ".gz" and FORMATS.get(ending) == "parquet":
        raise InputError(f"{at(path)} is a compressed Parquet file; unpack it first.")
    if ending in FORMATS:
        return FORMATS[ending]
    if ending.strip(".").isdigit() or str(path).startswith("/dev/"):
        return "csv"
    remedy = _REMEDIES.get(ending, "use .csv, .tsv, .jsonl (each also .gz), .parquet or a folder")
    raise InputError(f"{at(path)} ends in {ending!r}, which is not read; {remedy}.")


def _open_lines(
    path: Path, kind: str, encoding: str | None, separator: str | None, no_quotes: bool
) -> Source:
    decoder, digest = Decoder(path, encoding), hashlib.sha256()
    lines = split_lines(decoder.over(_chunks(path, digest)))
    if kind == "jsonl":
        columns, rows = read_json_lines(path, lines)
        separator = None
    else:
        columns, rows, separator = read_separated(path, lines, separator, no_quotes)
    source = Source(path, kind, _without_surrogates(columns), rows, separator, digest=digest)
    if kind == "jsonl":
        source.columns = columns  # the very list that grows
    source.rows = _clean(_noting(rows, decoder, source.encodings))
    return source


def _open_tree(path: Path, encoding: str | None) -> Source:
    if (path / "blocks.json").is_file():
        raise InputError(
            f"{at(path)} holds blocks, not documents; only cofactor fit reads them, so name the "
            "table that they were made of."
        )
    encodings: set[str] = set()

    def read(file: Path) -> str:
        decoder = Decoder(file, encoding)
        text = "".join(decoder.over(_chunks(file)))
        encodings.add(decoder.encoding or "ascii")
        return text

    columns, rows = read_tree(path, read)
    return Source(path, "folder", columns, _clean(rows), encodings=encodings)


def _noting(
    rows: Iterator[tuple[int, list[Any]]], decoder: Decoder, encodings: set[str]
) -> Iterator[tuple[int, list[Any]]]:
    """Pass rows on and note the encoding at the end."""
    yield from rows
    encodings.add(decoder.encoding or "ascii")


def _chunks(path: Path, digest: Any = None) -> Iterator[bytes]:
    """Read a file once; gzip files are unpacked on the way."""
    with _reading(path), open(path, "rb") as raw:
        packed = path.suffix.lower() == ".gz"
        file: Any = gzip.GzipFile(fileobj=raw) if packed else raw
        while chunk := file.read(CHUNK):
            if digest is not None:
                digest.update(chunk)
            yield chunk


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"{at(path)} is a damaged gzip file ({error}); fetch or pack it again."
        ) from None
    except OSError as error:
        raise InputError(f"{at(path)} cannot be read: {error.strerror or error}.") from None


def _clean(rows: Iterator[tuple[int, list[Any]]]) -> Iterator[tuple[int, list[Any]]]:
    """Replace halves of surrogate pairs, which no file can hold."""
    for number, cells in rows:
        yield number, _without_surrogates(cells)


def _without_surrogates(cells: list[Any]) -> list[Any]:
    return [_whole(cell) if isinstance(cell, str) else cell for cell in cells]


def _whole(text: str) -> str:
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
