"""Excel files and other spreadsheets; reading them needs python-calamine.

calamine reads values only, and holds all cells between the first and the last one.
`spreadsheet_xml` refuses sheets that are spread too far, and finds what calamine cannot see:
formulas that were never computed, which would be read as empty cells, and error values. Merged
cells are refused, because only the first of them has a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any

from cofactor.io.errors import InputError, at, printable, suggestion
from cofactor.io.tables.limits import check_length
from cofactor.io.tables.spreadsheet_xml import cell_name, look_at_cells

Row = tuple[int, list[Any]]


def read_spreadsheet(
    path: str | PathLike[str], sheet: str | None = None
) -> tuple[list[str], Iterator[Row], list[str]]:
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
        notes = look_at_cells(path, name)  # before calamine makes room for all cells
        found = book.get_sheet_by_name(name)
        rows = _rows(path, found.iter_rows())
    others = [one for one in book.sheet_names if one != name]
    header = None if found.start is None else next(rows, None)
    if header is None:
        raise InputError(f"{at(path)}: the sheet {name!r} is empty; {_instead(others)}")
    _refuse_merged(path, found)
    if others and sheet is None:
        notes.insert(
            0,
            f"Read the sheet {name!r}; --sheet names another of the "
            f"{len(book.sheet_names)} sheets.",
        )
    return [_as_name(cell) for cell in header[1]], rows, notes


def _open(path: str | PathLike[str]) -> Any:
    from python_calamine import CalamineWorkbook

    return CalamineWorkbook.from_path(str(path))


@contextmanager
def _reading(path: str | PathLike[str]) -> Iterator[None]:
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


def _choose(path: str | PathLike[str], book: Any, sheet: str | None) -> str:
    """Return the name of the sheet to read."""
    names = list(book.sheet_names)
    if sheet is not None and sheet not in names:
        raise InputError(
            f"--sheet {sheet!r} is not a sheet of {at(path)}. {suggestion(sheet, names)}"
        )
    visible = [one.name for one in book.sheets_metadata if str(one.visible).endswith(".Visible")]
    if not names:
        raise InputError(f"{at(path)} has no sheet; save the table as CSV UTF-8.")
    return sheet or str((visible or names)[0])


def _instead(others: list[str]) -> str:
    """Return what to do if a sheet is empty."""
    if not others:
        return "it is the only sheet: fill it in, or name another file."
    return f"name another with --sheet. There are {', '.join(map(repr, others[:12]))}."


def _refuse_merged(path: str | PathLike[str], sheet: Any) -> None:
    for (top, left), (bottom, right) in sheet.merged_cell_ranges or []:
        cells = f"{cell_name(top, left)}:{cell_name(bottom, right)}"
        raise InputError(
            f"{at(path, top + 1)}: the cells {cells} of the sheet {sheet.name!r} are merged, so "
            "only the first has a value; unmerge them and fill in every cell."
        )


def _rows(path: str | PathLike[str], rows: Any) -> Iterator[Row]:
    """Yield the rows that are not empty, with their numbers in the spreadsheet."""
    for number, cells in enumerate(rows, start=1):
        if any(cell != "" for cell in cells):
            check_length(sum(len(one) for one in cells if isinstance(one, str)), path, number)
            yield number, [_plain(cell) for cell in cells]


def _plain(cell: Any) -> Any:
    """Return a cell as other formats have it: whole numbers are no fractions, empty is None."""
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    return None if cell == "" else cell


def _as_name(cell: Any) -> str:
    return "" if cell is None else str(cell).strip()
