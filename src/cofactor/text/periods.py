"""Periods: days, weeks, months, quarters or years, and which of them each document belongs to.

Periods follow one another without a gap, so that one without documents is seen. A date counts as
it is written: time zones do not move it to another day.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, NamedTuple

import numpy as np

from cofactor._types import IntArray
from cofactor.io.errors import InputError, suggestion
from cofactor.io.tables.dates import read_dates
from cofactor.targets.missing import is_missing
from cofactor.targets.reading import as_frame

MOST = 10_000
"""Maximum number of periods: one wrong century must not give a million days."""
DRAWN, ENOUGH = 60, 20
"""Maximum number of periods that `suitable_unit` gives, and documents that each has on average."""


class Unit(NamedTuple):
    """One kind of period: numbers of periods, their first days, and their names."""

    number: Callable[[date], int]
    start: Callable[[int], date]
    name: Callable[[date], str]


def _week_name(start: date) -> str:
    year, week, _ = start.isocalendar()
    return f"{year:04}-W{week:02}"


UNITS = {
    "day": Unit(date.toordinal, date.fromordinal, date.isoformat),
    "week": Unit(
        lambda day: (day.toordinal() - 1) // 7,
        lambda i: date.fromordinal(7 * i + 1),  # day 1 of the calendar is a Monday
        _week_name,
    ),
    "month": Unit(
        lambda day: 12 * day.year + day.month - 1,
        lambda i: date(i // 12, i % 12 + 1, 1),
        lambda start: f"{start.year:04}-{start.month:02}",
    ),
    "quarter": Unit(
        lambda day: 4 * day.year + (day.month - 1) // 3,
        lambda i: date(i // 4, 3 * (i % 4) + 1, 1),
        lambda start: f"{start.year:04}-Q{(start.month + 2) // 3}",
    ),
    "year": Unit(lambda day: day.year, lambda i: date(i, 1, 1), lambda start: f"{start.year:04}"),
}
"""The kinds of periods by name, the shortest first."""


@dataclass(frozen=True, eq=False)
class Periods:
    """Consecutive periods, from that of the first date to that of the last.

    Parameters
    ----------
    every : str
        What a period is: a key of `UNITS`.
    starts : list of date
        Their first days.
    places : array (n_documents,)
        The place of each document's period; −1 without a date.
    """

    every: str
    starts: list[date]
    places: IntArray

    @property
    def names(self) -> list[str]:
        """Names of the periods, such as 2024-03."""
        return [UNITS[self.every].name(start) for start in self.starts]

    @property
    def undated(self) -> int:
        """Number of documents without a date."""
        return int((self.places < 0).sum())


def read_days(dates: Any, n: int) -> list[date | None]:
    """Return the day of each of n documents; None without a date.

    Parameters
    ----------
    dates : iterable
        Dates, or texts that all have one format; a list, an array or a column of any library.
        None, NaN, NaT and "" are missing.
    n : int
        Number of documents.
    """
    if isinstance(dates, str | bytes | date):
        raise TypeError(f"dates is one {type(dates).__name__}; pass one date for each document.")
    cells = [None if is_missing(cell) else _plain(cell) for cell in _cells(dates)]
    if len(cells) != n:
        raise ValueError(
            f"dates has {len(cells):,} entries, but there are {n:,} documents; pass one for each, "
            "None where it is not known."
        )
    return as_days(read_dates(None, "dates", enumerate(cells)).values)


def as_days(values: Iterable[datetime | None]) -> list[date | None]:
    """Return the days of dates with a time."""
    return [None if value is None else value.date() for value in values]


def _cells(dates: Any) -> list[Any]:
    frame: Any = as_frame(dates)
    if frame is None:
        return list(dates)
    if len(frame.shape) == 2:
        raise ValueError(f"dates is a table with the columns {frame.columns}; pass one of them.")
    return list(frame.to_list())


def _plain(cell: Any) -> Any:
    """Return a date of numpy as Python has it."""
    return cell.astype("datetime64[us]").item() if isinstance(cell, np.datetime64) else cell


def check_unit(every: Any) -> None:
    """Refuse a period that is not known."""
    if every not in UNITS:
        raise InputError(f"every={every!r} is no period. {suggestion(str(every), list(UNITS))}")


def divide(days: Sequence[date | None], every: str) -> Periods:
    """Return the periods of documents.

    Examples
    --------
    >>> found = divide([date(2024, 1, 31), None, date(2024, 3, 1)], "month")
    >>> found.names, found.places.tolist()
    (['2024-01', '2024-02', '2024-03'], [0, -1, 2])
    """
    check_unit(every)
    unit = UNITS[every]
    known = [day for day in days if day is not None]
    if not known:
        raise InputError("dates holds no date; pass the dates of the documents.")
    first, last = min(known), max(known)
    start, count = unit.number(first), unit.number(last) - unit.number(first) + 1
    if count > MOST:
        raise InputError(
            f"every={every!r} gives {count:,} periods, from {first} to {last}; choose a longer "
            "period, such as 'year', or correct the dates."
        )
    places = [-1 if day is None else unit.number(day) - start for day in days]
    return Periods(every, [unit.start(start + i) for i in range(count)], np.array(places))


def suitable_unit(days: Sequence[date | None]) -> str:
    """Return the shortest period that gives a chart one can read: at most `DRAWN` periods with
    `ENOUGH` documents on average; else the longest that gives two periods.

    Examples
    --------
    >>> suitable_unit([date(2024, 1 + i % 12, 1) for i in range(600)])
    'month'
    """
    known = [day for day in days if day is not None]
    several = ["year"]
    for every, unit in UNITS.items():
        count = unit.number(max(known)) - unit.number(min(known)) + 1 if known else 0
        if 1 < count <= DRAWN and len(known) >= ENOUGH * count:
            return every
        several += [every] if count > 1 else []
    return several[-1]
