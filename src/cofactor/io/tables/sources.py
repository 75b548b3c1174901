"""Opens a table of documents in any supported format, also a folder of text files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from cofactor.errors import Parameter, ParameterError, ParameterWarning
from cofactor.io.errors import InputError, at, suggestion
from cofactor.io.platform import is_descriptor
from cofactor.io.tables.csv_and_json import (
    Record,
    Row,
    first_sign,
    read_json_array,
    read_json_lines,
    read_records,
    read_separated,
)
from cofactor.io.tables.decoding import Decoder, check_length, split_lines
from cofactor.io.tables.file_parts import find_parts, names_parts, opened_part
from cofactor.io.tables.parquet import read_parquet
from cofactor.io.tables.spreadsheets import read_spreadsheet

FORMATS_BY_ENDING = {
    **dict.fromkeys((".csv", ".txt", ""), "csv"),
    **dict.fromkeys((".tsv", ".tab"), "tsv"),
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
    **dict.fromkeys((".json",), "json"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".xlsx", ".xlsm", ".xls"), "excel"),
}
UNSTREAMED_FORMATS = {"parquet": "Parquet file", "excel": "spreadsheet"}
"""Formats that are read from a file on disk, not as a stream."""

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
    notes : list of str or ParameterWarning
        Sentences that the user should see.
    """

    path: Path
    kind: str
    columns: list[str]
    rows: Iterator[Row]
    separator: str | None = None
    encodings: set[str] = field(default_factory=set)
    digest: Any = None
    notes: list[str | ParameterWarning] = field(default_factory=list)

    def place(self, name: str, parameter: str) -> int:
        """Return the index of a column; errors name the parameter that asked for it."""
        found = self.columns.count(name)
        if found == 1:
            return self.columns.index(name)
        if found:
            raise ParameterError(
                (Parameter(parameter, name), f" names {found} columns of {at(self.path)}"),
                "rename all but one",
            )
        raise ParameterError(
            (Parameter(parameter, name), f" is not a column of {at(self.path)}"),
            suggestion(name, self.columns) + self.on_header(),
        )

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
        The file or folder; or a pattern or an address of several files with the same columns.
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
    if names_parts(path):
        opening = {"encoding": encoding, "separator": separator, "no_quotes": no_quotes}
        return _open_parts(path, {**opening, "sheet": sheet})
    if path.is_dir():
        return _open_folder(path, encoding)
    check_plain_file(path)
    kind = _format(path)
    if sheet is not None and kind != "excel":
        raise ParameterError(
            (Parameter("sheet", sheet), f" needs a spreadsheet, but {at(path)} is not one"),
            "leave it out",
        )
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
    if path.exists() and not path.is_file() and not is_descriptor(path):
        raise InputError(
            f"{at(path)} is not a plain file; name a file, or pass the data on standard input and "
            "name /dev/stdin."
        )


def _format(path: Path) -> str:
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    ending = plain.suffix.lower()
    kind = FORMATS_BY_ENDING.get(ending)
    if path.suffix.lower() == ".gz" and kind in UNSTREAMED_FORMATS:
        raise InputError(f"{at(path)} is a compressed {UNSTREAMED_FORMATS[kind]}; unpack it first.")
    if kind is not None:
        return kind
    if ending.strip(".").isdigit() or path.as_posix().startswith("/dev/"):
        return "csv"
    known = "use .csv, .tsv, .jsonl, .json (each also .gz), .parquet, .xlsx or a folder"
    remedy = _REMEDIES.get(ending, known)
    raise InputError(f"{at(path)} ends in {ending!r}, which is not read; {remedy}.")


def _open_lines(
    path: Path, kind: str, encoding: str | None, separator: str | None, no_quotes: bool
) -> Source:
    digest = hashlib.sha256()
    decoder = Decoder(path, encoding, digest)
    texts = decoder.texts()
    if kind == "json" or is_descriptor(path):  # many JSON lines end in .json
        sign, texts = first_sign(texts)
        kind = {"[": "json", "{": "jsonl"}.get(sign, "jsonl" if kind == "json" else kind)
    if kind == "json":
        columns, rows = read_json_array(path, texts)
    elif kind == "jsonl":
        columns, rows = read_json_lines(path, split_lines(texts, path))
    else:
        columns, rows, separator = read_separated(
            path, split_lines(texts, path), separator, no_quotes
        )
        columns = _without_surrogates(columns)
    own = separator if kind in ("csv", "tsv") else None
    source = Source(path, kind, columns, rows, own, digest=digest)
    source.rows = _clean(_noting(rows, decoder, source.encodings))
    return source


def open_records(path: Path, **options: Any) -> Iterator[tuple[int, Record]]:
    """Yield line number and object of each line of a JSON lines file, which may be compressed.

    ``options`` are those of `read_records`.
    """
    check_plain_file(path)
    return read_records(path, split_lines(Decoder(path).texts(), path), **options)


def _noting(rows: Iterator[Row], decoder: Decoder, encodings: set[str]) -> Iterator[Row]:
    """Pass rows on; note the encoding after the last one."""
    yield from rows
    encodings.add(decoder.encoding or "ascii")


def _clean(rows: Iterator[Row]) -> Iterator[Row]:
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


# ---------------------------------------------------------------- several files


def _open_parts(path: Path, opening: dict[str, Any]) -> Source:
    """Open several files as one table, whose rows are numbered throughout."""
    parts = find_parts(path)
    with opened_part(parts[0]) as file:
        first = open_source(file, **opening)
    whole = Source(path, first.kind, [*first.columns], iter(()), first.separator)
    whole.rows = _part_rows(whole, parts, opening)
    return whole


def _part_rows(whole: Source, parts: list[str], opening: dict[str, Any]) -> Iterator[Row]:
    numbers = count(2)  # as in a table with a header
    for part in parts:
        with opened_part(part) as file:
            source = open_source(file, **opening)
            for (_, cells), number in zip(source.rows, numbers, strict=False):
                yield number, _in_order(whole, source, cells)
            whole.encodings |= source.encodings


def _in_order(whole: Source, part: Source, cells: list[Any]) -> list[Any]:
    """Return the cells of a row in the order of the whole table's columns."""
    if part.columns == whole.columns:
        return cells
    missing = [name for name in whole.columns if name not in part.columns]
    if part.kind != "jsonl" and (missing or len(part.columns) != len(whole.columns)):
        raise InputError(
            f"{at(part.path)} has the columns {', '.join(map(repr, part.columns[:12]))}, but the "
            f"first file has {', '.join(map(repr, whole.columns[:12]))}; all need the same."
        )
    whole.columns += [name for name in part.columns if name not in whole.columns]
    named = dict(zip(part.columns, cells, strict=False))
    return [named.get(name) for name in whole.columns]


# ---------------------------------------------------------------- folders of text files


def _open_folder(folder: Path, encoding: str | None) -> Source:
    """Open a folder: each file is a document, and sub-folders are labels."""
    if (folder / "blocks.json").is_file():
        raise InputError(
            f"{at(folder)} holds blocks, not documents; only cofactor fit reads blocks, so name "
            "the table that they were made from."
        )
    paths, outside = _find_files(folder)
    if not paths:
        raise InputError(
            f"{at(folder)} has no files in it; put one document in each file, in sub-folders named "
            "after their labels."
        )
    if all(path.suffix.lower() == ".parquet" for path in paths):
        pattern = at(folder / "*.parquet")
        raise InputError(
            f"{at(folder)} holds Parquet files, not a document in each file; name them by a "
            f"pattern in quotes: '{pattern}'."
        )
    encodings: set[str] = set()
    rows = _clean(_folder_rows(folder, paths, encoding, encodings))
    source = Source(folder, "folder", ["file", "text", "label"], rows, encodings=encodings)
    if outside:
        links = "1 link that leads" if outside == 1 else f"{outside:,} links that lead"
        source.notes = [f"Skipped {links} out of {at(folder)}; copy the files there to read them."]
    return source


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


def _folder_rows(
    folder: Path, paths: list[Path], encoding: str | None, encodings: set[str]
) -> Iterator[Row]:
    for number, path in enumerate(paths, start=1):
        decoder, parts, length = Decoder(path, encoding), [], 0
        for text in decoder.texts():
            parts.append(text)
            check_length(length := length + len(text), path)
        encodings.add(decoder.encoding or "ascii")
        inside = path.relative_to(folder)
        label = inside.parts[0] if len(inside.parts) > 1 else ""
        yield number, [inside.as_posix(), "".join(parts), label]
