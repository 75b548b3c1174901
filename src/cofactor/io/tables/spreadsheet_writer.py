"""Writes .xlsx files with one sheet, row by row.

Texts are stored as texts, so a spreadsheet never runs them, whatever they begin with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime, time
from decimal import Decimal
from math import isfinite
from typing import IO, Any
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from cofactor.io.errors import InputError
from cofactor.io.json_text import to_json
from cofactor.io.tables.labels import join_labels
from cofactor.io.tables.table_writer import TableWriter

MAX_ROWS, MAX_COLUMNS, MAX_CHARACTERS = 1_048_576, 16_384, 32_767
"""What a sheet of Excel holds, and a cell of it."""
MAX_EXACT_WHOLE = 2**53
"""Larger whole numbers are written as texts, because Excel rounds numbers."""

_SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_PLAIN = 'fontId="0" fillId="0" borderId="0"'  # the only font, fill and border
_PARTS = {
    "[Content_Types].xml": (
        f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{_TYPE}.styles+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_TYPE}.worksheet+xml"/>'
        "</Types>"
    ),
    "_rels/.rels": (
        f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
        f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
    ),
    "xl/workbook.xml": (
        f'<workbook xmlns="{_SHEETS}" xmlns:r="{_OFFICE}"><sheets>'
        '<sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>'
    ),
    "xl/_rels/workbook.xml.rels": (
        f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
        f'<Relationship Id="rId2" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>'
    ),
    "xl/styles.xml": (
        f'<styleSheet xmlns="{_SHEETS}">'
        '<fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>'
        '<fills count="2"><fill><patternFill patternType="none"/></fill>'
        '<fill><patternFill patternType="gray125"/></fill></fills>'
        '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
        f'<cellStyleXfs count="1"><xf numFmtId="0" {_PLAIN}/></cellStyleXfs>'
        f'<cellXfs count="3"><xf numFmtId="0" {_PLAIN} xfId="0"/>'
        f'<xf numFmtId="14" {_PLAIN} xfId="0" applyNumberFormat="1"/>'
        f'<xf numFmtId="22" {_PLAIN} xfId="0" applyNumberFormat="1"/></cellXfs>'
        '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>'
        "</styleSheet>"
    ),
}
_DAY, _MOMENT = 1, 2  # styles of cells
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|_x[0-9A-Fa-f]{4}_")
_WRITTEN = datetime(1980, 1, 1).timetuple()[:6]  # equal tables are equal files


class SpreadsheetWriter(TableWriter):
    """Writes a sheet."""

    def __init__(self, file: IO[bytes], columns: list[str], added: list[str]) -> None:
        self._columns, self._rows = len(columns), 0
        self._archive = ZipFile(file, "w", ZIP_DEFLATED)
        for name, part in _PARTS.items():
            self._archive.writestr(_entry(name), _HEAD + part)
        self._sheet = self._archive.open(_entry("xl/worksheets/sheet1.xml"), "w", force_zip64=True)
        self._sheet.write(f'{_HEAD}<worksheet xmlns="{_SHEETS}"><sheetData>'.encode())
        self.write(columns, added)

    def write(self, cells: list[Any], added: Iterable[Any] = ()) -> None:
        """Write one row."""
        row = [*cells, *added]
        self._rows += 1
        if len(cells) > self._columns or len(row) > MAX_COLUMNS or self._rows > MAX_ROWS:
            raise InputError(
                f"A sheet of Excel has no room for row {self._rows:,} with {len(row):,} columns; "
                "write CSV or Parquet instead."
            )
        body = "".join(f"<c{self._cell(cell)}" if cell is not None else "<c/>" for cell in row)
        self._sheet.write(f"<row>{body}</row>".encode("utf-8", "replace"))

    def _cell(self, cell: Any) -> str:
        """Return a cell as XML, after the beginning of its tag."""
        if isinstance(cell, bool):
            return f' t="b"><v>{int(cell)}</v></c>'
        if isinstance(cell, int | float | Decimal) and _is_plain(cell):
            return f"><v>{cell!r}</v></c>" if isinstance(cell, float) else f"><v>{cell}</v></c>"
        if isinstance(cell, datetime) and cell.tzinfo is None and cell.year >= 1901:
            return f' s="{_MOMENT}"><v>{_days(cell)!r}</v></c>'
        if isinstance(cell, date) and not isinstance(cell, datetime) and cell.year >= 1901:
            return f' s="{_DAY}"><v>{_days(datetime.combine(cell, time()))!r}</v></c>'
        text = cell if isinstance(cell, str) else as_text(cell)
        if len(text) > MAX_CHARACTERS:
            raise InputError(
                f"A cell of row {self._rows:,} has {len(text):,} characters, but Excel holds "
                f"{MAX_CHARACTERS:,}; write CSV or Parquet instead."
            )
        return f' t="inlineStr"><is><t xml:space="preserve">{_legal(text)}</t></is></c>'

    def close(self) -> None:
        """Write what comes after the rows."""
        self._sheet.write(b"</sheetData></worksheet>")
        self._sheet.close()
        self._archive.close()


def as_text(cell: Any) -> str:
    """Return a cell that is not a string as text; several labels become one, see `join_labels`."""
    if isinstance(cell, list | tuple):
        return join_labels(cell)
    return to_json(cell) if isinstance(cell, dict) else str(cell)


def _entry(name: str) -> ZipInfo:
    entry = ZipInfo(name, _WRITTEN)
    entry.compress_type = ZIP_DEFLATED
    return entry


def _is_plain(number: Any) -> bool:
    if isinstance(number, int):
        return abs(number) <= MAX_EXACT_WHOLE
    return isfinite(number)


def _days(moment: datetime) -> float:
    """Return the days since the end of 1899, as Excel counts them."""
    apart = moment - datetime(1899, 12, 30)
    return apart.days + apart.seconds / 86400


def _legal(text: str) -> str:
    """Return text for XML; what it cannot hold is written as Excel does, like _x0007_."""
    return escape(_ILLEGAL.sub(_escaped, text))


def _escaped(found: re.Match[str]) -> str:
    if found[0].startswith("_"):
        return f"_x005F{found[0]}"
    return f"_x{ord(found[0]):04X}_"
