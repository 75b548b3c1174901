"""Dates in tables: the one format that all cells of a column have, and the dates that they mean.

A column has one format: 03/04/2024 may be a day in March or in April, and only the other cells show
which. So a column with several formats is refused with the first row that differs, and so is a
column that two formats read differently. Only the standard library is needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from cofactor.errors import Clause, Parameter, ParameterError
from cofactor.io.errors import InputError, at, printable, shortened

ISO = "ISO"
"""The name of all formats that `datetime.fromisoformat` reads, except plain digits."""

_DAYS = (
    *("%d.%m.%Y", "%d.%m.%y", "%d/%m/%Y", "%m/%d/%Y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%Y"),
    *("%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y"),
    *("%B %d %Y", "%b %d %Y", "%d. %B %Y"),
)
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", ", %H:%M")
DATE_FORMATS = (
    ISO,
    *(day + time for day in _DAYS for time in _TIMES),
    *("%Y%m%d", "%Y-%m", "%m/%Y", "%B %Y", "%b %Y", "%Y"),
    *("%a, %d %b %Y %H:%M:%S %z", "%d %b %Y %H:%M:%S %z"),
)
"""Formats that are tried, as `datetime.strptime` writes them; the first that fits is taken."""

MAX_TRIED_LABELS = 200
"""A column holds dates if most of its first labels are dates; this many are read."""


@dataclass(frozen=True)
class Dates:
    """The dates of a column.

    Parameters
    ----------
    values : list of datetime or None
        None where the cell is empty.
    format : str
        The format of the cells: "ISO", or as `datetime.strptime` writes it.
    """

    values: list[datetime | None]
    format: str

    @property
    def known(self) -> list[datetime]:
        """The dates that are not missing."""
        return [value for value in self.values if value is not None]

    def facts(self) -> dict[str, Any]:
        """Return the format, the first and the last date and how many there are, as JSON."""
        days = sorted(value.isoformat() for value in self.known)
        first, last = (days[0], days[-1]) if days else (None, None)
        return {"format": self.format, "first": first, "last": last, "known": len(days)}


def parse_date(text: str, form: str) -> datetime | None:
    """Return the date that a text means in a format; None if it has another one.

    Examples
    --------
    >>> parse_date("3.4.2024", "%d.%m.%Y"), parse_date("3.4.2024", "ISO")
    (datetime.datetime(2024, 4, 3, 0, 0), None)
    """
    try:
        if form == ISO:
            return None if text.isdigit() else datetime.fromisoformat(text)
        return datetime.strptime(text, form)
    except ValueError:
        return None


def read_dates(
    path: Path | None, column: str, cells: Iterable[tuple[int, Any]], date_format: str | None = None
) -> Dates:
    """Return the dates of a column.

    Parameters
    ----------
    path : str, path or None
        The table, named in errors; None for an argument of a function.
    column : str
        The column or the argument, named in errors.
    cells : iterable of (row number, cell)
        Texts, dates, or None.
    date_format : str, optional
        The format; detected by default.

    Returns
    -------
    Dates
    """
    found: list[datetime | None] = []
    texts: dict[int, str] = {}
    rows: dict[str, int] = {}
    for row, cell in cells:
        found.append(_as_datetime(cell))
        if found[-1] is None and (text := "" if cell is None else str(cell).strip()):
            texts[len(found) - 1] = text
            rows.setdefault(text, row)
    chosen = _format_of(path, column, rows, [date_format] if date_format else list(DATE_FORMATS))
    for place, text in texts.items():
        found[place] = parse_date(text, chosen)
    return Dates(found, chosen)


def _as_datetime(cell: Any) -> datetime | None:
    """Return a cell that already is a date, as Excel and Parquet have them."""
    if isinstance(cell, datetime):
        return cell
    return datetime(cell.year, cell.month, cell.day) if isinstance(cell, date) else None


def _format_of(path: Path | None, column: str, rows: dict[str, int], live: list[str]) -> str:
    """Return the only format that reads all texts; ``rows`` has the first row of each."""
    first = next(iter(rows.items()), None)
    for text, row in rows.items():
        fitting = [form for form in live if parse_date(text, form) is not None]
        if not fitting:
            raise InputError(_differs(path, column, text, row, live, first))
        live = fitting
    for text, row in rows.items():
        if len({parse_date(text, form) for form in live}) > 1:
            raise _ambiguous(path, column, text, row, live)
    return live[0]


def _subject(path: Path | None, column: str, text: str, row: int) -> str:
    """Begin a sentence about one date."""
    text = shortened(printable(text), 60)
    if path is None:
        return f"{column}[{row}] is '{text}', which"
    return f"{at(path, row)}: the date '{text}' in {column!r}"


def _ambiguous(
    path: Path | None, column: str, text: str, row: int, live: list[str]
) -> ParameterError:
    other, remedies = "date", list[Clause](["pass dates in place of texts"])
    if path is not None:
        first, second = (Parameter("date_format", form) for form in live[:2])
        other, remedies = "row", [("add ", first), second]
    return ParameterError(
        f"{_subject(path, column, text, row)} can be read in two ways, and no other {other} shows "
        "which is meant",
        remedies,
    )


def _differs(
    path: Path | None, column: str, text: str, row: int, live: list[str], first: Any
) -> str:
    said = _subject(path, column, text, row)
    if first is not None and first[1] != row:
        place = f"{column}[{first[1]}]" if path is None else f"row {first[1]}"
        said += f" is not in the format of '{printable(first[0])}' in {place}"
    elif len(live) == 1:
        said += f" does not have the format {live[0]}"
    else:
        said += " has no known format"
    said += "; write all dates in one format, best as 2024-12-31"
    return said + ("." if path is None else ", or name another column.")


def are_dates(labels: Iterable[str]) -> bool:
    """Return whether labels are dates: one format reads nearly all of them; years alone are not.

    Examples
    --------
    >>> are_dates(["2024-01-05", "2023-11-30"]), are_dates(["1999", "2001"]), are_dates(["May"])
    (True, False, False)
    """
    some = list(islice(labels, MAX_TRIED_LABELS))
    for form in DATE_FORMATS:
        if form == "%Y" or not some or parse_date(some[0], form) is None:
            continue
        if sum(parse_date(one, form) is not None for one in some) >= 0.9 * len(some):
            return True
    return False
