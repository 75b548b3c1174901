"""Excel files and other spreadsheets; reading them needs python-calamine.

calamine reads values only, and holds all cells between the first and the last one. So the XML of an
.xlsx file is looked into first: a formula that was never computed and an error value would be read
as empty cells, and a cell far away from the others would fill the memory. Merged cells are refused,
because only the first of them has a value.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from xml.etree import ElementTree
from zipfile import BadZipFile, ZipFile

from cofactor.errors import Clause, Parameter, ParameterError, ParameterWarning
from cofactor.io.errors import InputError, at, printable, suggestion
from cofactor.io.tables.csv_and_json import Row
from cofactor.io.tables.decoding import check_length

MAX_UNPACKED_BYTES = 2**31
"""Maximum number of bytes of all parts of a spreadsheet after they are unpacked."""

MAX_SHEET_CELLS = 2**26
"""Maximum number of cells between the first and the last one of a sheet, also empty ones."""

_CELL_REFERENCE = re.compile(rb"""\sr=["']([A-Z]{1,4})([0-9]{1,9})["']""")
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def read_spreadsheet(
    path: Path, sheet: str | None = None
) -> tuple[list[str], Iterator[Row], list[str | ParameterWarning]]:
    """Return columns, rows and notes for the user.

    Parameters
    ----------
    path : str or path
    sheet : str, optional
        Name of the sheet; by default the first one that is visible.
    """
    with _reading(path):
        book = _open(path)
        name = _choose(path, book, sheet)
        # Before calamine allocates all cells.
        notes: list[str | ParameterWarning] = [*look_at_cells(path, name)]
        found = book.get_sheet_by_name(name)
        rows = _rows(path, found.iter_rows())
    others = [one for one in book.sheet_names if one != name]
    header = None if found.start is None else next(rows, None)
    if header is None:
        raise ParameterError(f"{at(path)}: the sheet {name!r} is empty", _instead(others))
    _refuse_merged(path, found)
    if others and sheet is None:
        others_named = (Parameter("sheet"), f" names another of the {len(others) + 1} sheets")
        notes.insert(0, ParameterWarning(f"Read the sheet {name!r}", others_named))
    return ["" if cell is None else str(cell).strip() for cell in header[1]], rows, notes


def _open(path: Path) -> Any:
    from python_calamine import CalamineWorkbook

    return CalamineWorkbook.from_path(str(path))


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn what goes wrong in calamine into one sentence."""
    try:
        from python_calamine import CalamineError, PasswordError
    except ImportError:
        raise InputError(
            f"{at(path)} is a spreadsheet, which needs python-calamine: pip install "
            "'cofactor[excel]', or save the sheet as CSV UTF-8."
        ) from None
    try:
        yield
    except PasswordError:
        raise InputError(
            f"{at(path)} is protected by a password; save it without one, or as CSV UTF-8."
        ) from None
    except (CalamineError, OSError) as error:
        raise InputError(
            f"{at(path)} cannot be read as a spreadsheet ({printable(str(error))}); save it again, "
            "or as CSV UTF-8."
        ) from None


def _choose(path: Path, book: Any, sheet: str | None) -> str:
    """Return the name of the sheet to read."""
    names = list(book.sheet_names)
    if sheet is not None and sheet not in names:
        raise ParameterError(
            (Parameter("sheet", sheet), f" is not a sheet of {at(path)}"), suggestion(sheet, names)
        )
    visible = [one.name for one in book.sheets_metadata if str(one.visible).endswith(".Visible")]
    if not names:
        raise InputError(f"{at(path)} has no sheet; save the table as CSV UTF-8.")
    return sheet or str((visible or names)[0])


def _instead(others: list[str]) -> Clause:
    """Return what to do if a sheet is empty."""
    if not others:
        return "it is the only sheet: fill it in, or name another file"
    there = ", ".join(map(repr, others[:12]))
    return ("name another with ", Parameter("sheet"), f". There are {there}")


def _refuse_merged(path: Path, sheet: Any) -> None:
    for (top, left), (bottom, right) in sheet.merged_cell_ranges or []:
        cells = f"{cell_name(top, left)}:{cell_name(bottom, right)}"
        raise InputError(
            f"{at(path, top + 1)}: the cells {cells} of the sheet {sheet.name!r} are merged, so "
            "only the first has a value; unmerge them and fill in every cell."
        )


def _rows(path: Path, rows: Any) -> Iterator[Row]:
    """Yield the rows that are not empty, with their numbers in the spreadsheet."""
    for number, cells in enumerate(rows, start=1):
        if any(cell != "" for cell in cells):
            check_length(sum(len(one) for one in cells if isinstance(one, str)), path, number)
            yield number, [_plain(cell) for cell in cells]


def _plain(cell: Any) -> Any:
    """Return a cell as other formats have it: whole numbers are ints, empty is None."""
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    return None if cell == "" else cell


def look_at_cells(path: Path, sheet: str) -> list[str]:
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


def _refuse_large(path: Path, archive: ZipFile) -> None:
    if sum(part.file_size for part in archive.infolist()) > MAX_UNPACKED_BYTES:
        raise InputError(
            f"{at(path)} unpacks to more than {MAX_UNPACKED_BYTES:,} bytes; save the table as CSV "
            "UTF-8."
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


def _scan(path: Path, archive: ZipFile, part: str) -> bool:
    """Return whether a sheet may hold formulas or errors; refuse one that is spread too far.

    Both are seen in its bytes, which takes less time than reading the XML.
    """
    before, rows, columns, found = b"", 0, 0, False
    with archive.open(part) as file:
        while chunk := file.read(2**20):
            text = before + chunk
            for letters, digits in _CELL_REFERENCE.findall(text):
                rows, columns = max(rows, int(digits)), max(columns, _column(letters))
            found = found or b"<f" in text or b't="e"' in text or b":f" in text
            before = text[-24:]
    if rows * columns > MAX_SHEET_CELLS:
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


def _notes(path: Path, file: IO[bytes]) -> list[str]:
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
