"""Opens a table of documents in any supported format."""

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
from cofactor.io.tables.excel import read_spreadsheet
from cofactor.io.tables.json_arrays import read_json_array, starts_array
from cofactor.io.tables.jsonlines import Record, read_json_lines, read_records
from cofactor.io.tables.limits import check_length
from cofactor.io.tables.parquet import read_parquet
from cofactor.io.tables.separated import read_separated
from cofactor.io.tables.trees import read_tree

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "csv",
    "": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
} | dict.fromkeys((".xlsx", ".xlsm", ".xls"), "excel")
WHOLE = {"parquet": "Parquet file", "excel": "spreadsheet"}
"""Formats that are read from a file on disk, not as a stream."""

DESCRIPTORS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
"""Paths of files that are already open: standard input and the shell's process substitution."""

_REMEDIES = {
    ".zip": "unpack it first",
    ".ods": "save the sheet as .xlsx or as CSV UTF-8",
    ".xlsb": "save the sheet as .xlsx or as CSV UTF-8",
}


@dataclass
class Source:
    """An open table, whose rows can be read once.

    Attributes
    ----------
    path : Path
        The file or folder.
    kind : str
        The format: csv, tsv, jsonl, json, parquet, excel or folder.
    columns : list of str
        Names of the columns; in JSON lines, columns that first occur later are appended.
    rows : iterator of (row number, cells)
    separator : str, optional
        The character between cells; None unless the format is csv or tsv.
    encodings : set of str
        Encodings detected so far.
    digest : hash object, optional
        SHA-256 of the bytes read so far.
    notes : list of str
        Sentences that the user should see.
    """

    path: Path
    kind: str
    columns: list[str]
    rows: Iterator[tuple[int, list[Any]]]
    separator: str | None = None
    encodings: set[str] = field(default_factory=set)
    digest: Any = None
    notes: list[str] = field(default_factory=list)

    def place(self, name: str, option: str) -> int:
        """Return the index of a column; errors name ``option``, which asked for it."""
        found = self.columns.count(name)
        if found == 1:
            return self.columns.index(name)
        if found:
            raise InputError(
                f"{option} {name!r} names {found} columns of {at(self.path)}; rename all but one."
            )
        remedy = suggestion(name, self.columns) + self.on_header()
        raise InputError(f"{option} {name!r} is not a column of {at(self.path)}. {remedy}")

    def on_header(self) -> str:
        """Return a sentence if the first row is probably not the header: names are missing."""
        if all(name.strip() for name in self.columns):
            return ""
        return " Some names are empty: if lines stand above the header, remove them."

    def facts(self) -> dict[str, Any]:
        """Return what was read, for a manifest; call it after the last row."""
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
    sheet: str | None = None,
) -> Source:
    """Open a table: CSV, TSV, JSON lines or a JSON array (also .gz), Parquet, a spreadsheet, or a
    folder of text files.

    Parameters
    ----------
    path : str or path
        The file or folder.
    encoding : str, optional
        Encoding of the text; detected by default.
    separator : str, optional
        Character between cells; detected by default.
    no_quotes : bool, default=False
        Whether quotes are part of the text.
    sheet : str, optional
        Sheet of a spreadsheet; the first one by default.

    Returns
    -------
    Source
    """
    path = Path(path)
    if path.is_dir():
        return _open_tree(path, encoding)
    check_plain_file(path)
    kind = _format(path)
    if sheet is not None and kind != "excel":
        raise InputError(f"--sheet {sheet!r} needs a spreadsheet, but {at(path)} is none.")
    if kind == "parquet":
        columns, rows = read_parquet(path)
        return Source(path, kind, columns, _clean(rows))
    if kind == "excel":
        columns, rows, notes = read_spreadsheet(path, sheet)
        digest = hashlib.sha256(path.read_bytes())
        return Source(path, kind, columns, _clean(rows), digest=digest, notes=notes)
    separator = separator or ("\t" if kind == "tsv" else None)
    return _open_lines(path, kind, encoding, separator, no_quotes)


def check_plain_file(path: Path) -> None:
    """Refuse a named pipe, a device or a socket, which could block for ever.

    Descriptors of this process are accepted: standard input and the shell's process substitution.
    """
    if path.exists() and not path.is_file() and not str(path).startswith(DESCRIPTORS):
        raise InputError(
            f"{at(path)} is not a plain file; name a file, or pass the data on standard input and "
            "name /dev/stdin."
        )


def _format(path: Path) -> str:
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    ending = plain.suffix.lower()
    if path.suffix.lower() == ".gz" and FORMATS.get(ending) in WHOLE:
        raise InputError(f"{at(path)} is a compressed {WHOLE[FORMATS[ending]]}; unpack it first.")
    if ending in FORMATS:
        return FORMATS[ending]
    if ending.strip(".").isdigit() or str(path).startswith("/dev/"):
        return "csv"
    known = "use .csv, .tsv, .jsonl, .json (each also .gz), .parquet, .xlsx or a folder"
    remedy = _REMEDIES.get(ending, known)
    raise InputError(f"{at(path)} ends in {ending!r}, which is not read; {remedy}.")


def _open_lines(
    path: Path, kind: str, encoding: str | None, separator: str | None, no_quotes: bool
) -> Source:
    decoder, digest = Decoder(path, encoding), hashlib.sha256()
    texts = decoder.over(_chunks(path, digest))
    if kind == "json":
        array, texts = starts_array(texts)
        kind = "json" if array else "jsonl"  # many files of JSON lines end in .json
    if kind == "json":
        columns, rows = read_json_array(path, texts)
    elif kind == "jsonl":
        columns, rows = read_json_lines(path, split_lines(texts, path))
    else:
        lines = split_lines(texts, path)
        columns, rows, separator = read_separated(path, lines, separator, no_quotes)
    own = None if kind in ("json", "jsonl") else separator
    source = Source(path, kind, _without_surrogates(columns), rows, own, digest=digest)
    if kind in ("json", "jsonl"):
        source.columns = columns  # the same list, because the reader appends to it
    source.rows = _clean(_noting(rows, decoder, source.encodings))
    return source


def open_records(path: Path, **options: Any) -> Iterator[tuple[int, Record]]:
    """Yield line number and object of each line of a JSON lines file, which may be compressed.

    ``options`` are those of `read_records`.
    """
    check_plain_file(path)
    lines = split_lines(Decoder(path).over(_chunks(path)), path)
    return read_records(path, lines, **options)


def _open_tree(path: Path, encoding: str | None) -> Source:
    if (path / "blocks.json").is_file():
        raise InputError(
            f"{at(path)} holds blocks, not documents; only cofactor fit reads blocks, so name the "
            "table that they were made from."
        )
    encodings: set[str] = set()

    def read(file: Path) -> str:
        decoder, parts, length = Decoder(file, encoding), [], 0
        for text in decoder.over(_chunks(file)):
            parts.append(text)
            check_length(length := length + len(text), file)
        encodings.add(decoder.encoding or "ascii")
        return "".join(parts)

    columns, rows, notes = read_tree(path, read)
    return Source(path, "folder", columns, _clean(rows), encodings=encodings, notes=notes)


def _noting(
    rows: Iterator[tuple[int, list[Any]]], decoder: Decoder, encodings: set[str]
) -> Iterator[tuple[int, list[Any]]]:
    """Pass rows on; note the encoding after the last one."""
    yield from rows
    encodings.add(decoder.encoding or "ascii")


def _chunks(path: Path, digest: Any = None) -> Iterator[bytes]:
    """Yield the bytes of a file; gzip files are unpacked."""
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
            f"{at(path)} is a damaged gzip file ({error}); download or compress it again."
        ) from None
    except OSError as error:
        raise InputError(f"{at(path)} cannot be read: {error.strerror or error}.") from None


def _clean(rows: Iterator[tuple[int, list[Any]]]) -> Iterator[tuple[int, list[Any]]]:
    """Replace unpaired surrogates, which UTF-8 cannot encode."""
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
