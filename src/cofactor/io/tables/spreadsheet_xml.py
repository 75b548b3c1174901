"""Looks into the XML of an .xlsx file for what readers of values do not see.

A formula without a saved value and an error value both look like empty cells, and a cell far away
from the others makes readers hold all empty ones between them. It uses the standard library only.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from os import PathLike
from typing import IO
from xml.etree import ElementTree
from zipfile import BadZipFile, ZipFile

from cofactor.io.errors import InputError, at, printable

LARGEST_SHEET = 2**31
"""Maximum number of bytes of all parts of a spreadsheet after they are unpacked."""

MOST_CELLS = 2**26
"""Maximum number of cells between the first and the last one of a sheet, also empty ones."""

_PLACE = re.compile(rb"""\sr=["']([A-Z]{1,4})([0-9]{1,9})["']""")
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def look_at_cells(path: str | PathLike[str], sheet: str) -> list[str]:
    """Return notes on formulas and errors in a sheet; refuse a formula without a saved value.

    Files that are not .xlsx are not looked into.
    """
    if not str(path).lower().endswith((".xlsx", ".xlsm")):
        return []
    try:
        with ZipFile(path) as archive:
            _refuse_large(path, archive)
            part = _part_of(archive, sheet)
            if part is None or not _scan(path, archive, part):
                return []
            with archive.open(part) as file:
                return _notes(path, file)
    except (BadZipFile, KeyError, ElementTree.ParseError) as error:
        raise InputError(
            f"{at(path)} is damaged ({printable(str(error))}); save it again, or as CSV UTF-8."
        ) from None


def cell_name(row: int, column: int) -> str:
    """Return the name of a cell.

    Examples
    --------
    >>> cell_name(0, 0), cell_name(4, 27)
    ('A1', 'AB5')
    """
    letters, column = "", column + 1
    while column:
        column, place = divmod(column - 1, 26)
        letters = chr(ord("A") + place) + letters
    return f"{letters}{row + 1}"


def _refuse_large(path: str | PathLike[str], archive: ZipFile) -> None:
    if sum(part.file_size for part in archive.infolist()) > LARGEST_SHEET:
        raise InputError(
            f"{at(path)} unpacks to more than {LARGEST_SHEET:,} bytes; save the table as CSV UTF-8."
        )


def _part_of(archive: ZipFile, sheet: str) -> str | None:
    """Return the name of the file in the archive that holds a sheet."""
    book = ElementTree.fromstring(archive.read("xl/workbook.xml"))
    links = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
    targets = {link.get("Id"): link.get("Target", "") for link in links}
    for one in book.iter():
        if one.tag.endswith("}sheet") and one.get("name") == sheet:
            target = posixpath.join("/xl", targets.get(one.get(_RELATION), ""))
            return target.lstrip("/")
    return None


def _scan(path: str | PathLike[str], archive: ZipFile, part: str) -> bool:
    """Tell whether a sheet may hold formulas or errors; refuse one that is spread too far.

    Both are seen in its bytes, which takes less time than reading the XML.
    """
    before, rows, columns, found = b"", 0, 0, False
    with archive.open(part) as file:
        while chunk := file.read(2**20):
            text = before + chunk
            for letters, digits in _PLACE.findall(text):
                rows, columns = max(rows, int(digits)), max(columns, _column(letters))
            found = found or b"<f" in text or b't="e"' in text or b":f" in text
            before = text[-24:]
    if rows * columns > MOST_CELLS:
        raise InputError(
            f"{at(path)} has cells as far as row {rows:,} and column {columns:,}, which is too far "
            "for a table; delete what stands beside it, or save it as CSV UTF-8."
        )
    return found


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number


def _notes(path: str | PathLike[str], file: IO[bytes]) -> list[str]:
    formulas = errors = 0
    for cell in _cells(file):
        parts = {one.tag.rpartition("}")[2]: one for one in cell}
        value = parts["v"].text if "v" in parts else None
        if "f" in parts:
            formulas += 1
            if not value and cell.get("t") != "str":
                raise InputError(
                    f"{at(path)}: the cell {cell.get('r')} holds a formula without a saved value, "
                    "which would be read as empty; open the file in a spreadsheet program and save "
                    "it, or replace formulas by their values."
                )
        errors += cell.get("t") == "e"
    notes = []
    if formulas:
        notes.append(f"{_cells_hold(formulas)} formulas; the values that were saved are read.")
    if errors:
        notes.append(f"{_cells_hold(errors)} errors like #N/A, which are read as empty.")
    return notes


def _cells_hold(number: int) -> str:
    return "1 cell holds" if number == 1 else f"{number:,} cells hold"


def _cells(file: IO[bytes]) -> Iterator[ElementTree.Element]:
    for _, element in ElementTree.iterparse(file):
        if element.tag.endswith("}c"):
            yield element
        elif element.tag.endswith("}row"):
            element.clear()
