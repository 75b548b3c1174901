"""A small table of dataclass rows that prints as text or HTML and converts to dict or pandas."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any, Generic, TypeVar, overload

from cofactor.io.errors import shortened

TableRow = TypeVar("TableRow")
MAX_CELL_LENGTH, MAX_PRINTED_ROWS = 60, 50


class Table(Sequence[TableRow], Generic[TableRow]):
    """An immutable list of rows, all of one dataclass.

    Parameters
    ----------
    rows : list
        Instances of ``kind``.
    kind : type
        The dataclass; its fields are the columns.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class City:
    ...     name: str
    ...     area: float
    >>> cities = Table([City("Rome", 1285.0), City("Oslo", 454.12)], City)
    >>> cities
    name  area
    Rome  1285
    Oslo   454
    >>> cities[0].name, cities.column("name"), cities.to_dict()["area"]
    ('Rome', ['Rome', 'Oslo'], [1285.0, 454.12])
    >>> cities.to_records()[1]
    {'name': 'Oslo', 'area': 454.12}
    """

    def __init__(self, rows: list[TableRow], kind: type[TableRow]) -> None:
        self._rows, self._kind = tuple(rows), kind

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [field.name for field in fields(self._kind)]  # type: ignore[arg-type]

    @overload
    def __getitem__(self, place: int) -> TableRow: ...
    @overload
    def __getitem__(self, place: slice) -> Table[TableRow]: ...
    def __getitem__(self, place: int | slice) -> TableRow | Table[TableRow]:
        if isinstance(place, slice):
            return Table(list(self._rows[place]), self._kind)
        return self._rows[place]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[TableRow]:
        return iter(self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self._rows == other._rows

    __hash__ = None  # type: ignore[assignment]

    def column(self, name: str) -> list[Any]:
        """Return one column as a list.

        Examples
        --------
        >>> model.topics(3).column("label")
        ['billing', 'support']
        """
        return [getattr(row, name) for row in self._rows]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns as lists.

        Examples
        --------
        >>> model.topics(2).to_dict()["words"]
        [('amount', 'invoice'), ('app', 'login')]
        """
        return {name: self.column(name) for name in self.columns}

    def to_records(self) -> list[dict[str, Any]]:
        """Return the rows as dicts.

        Examples
        --------
        >>> model.topics().to_records()[0]["label"]
        'billing'
        """
        return [{name: getattr(row, name) for name in self.columns} for row in self._rows]

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame; pandas must be installed.

        Examples
        --------
        >>> model.topics().to_pandas()[["topic", "label", "labels"]]
           topic    label  labels
        0      0  billing       1
        1      1  support       1
        """
        from pandas import DataFrame

        return DataFrame(self.to_dict(), columns=self.columns)

    def _shown(self) -> list[list[str]]:
        rows = self[:MAX_PRINTED_ROWS]
        return [[_cell(getattr(row, name)) for name in self.columns] for row in rows]

    def __repr__(self) -> str:
        cells = [self.columns, *self._shown()]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        right = [_is_numeric(self.column(name)) for name in self.columns]
        lines = [
            "  ".join(
                cell.rjust(width) if number else cell.ljust(width)
                for cell, width, number in zip(row, widths, right, strict=True)
            ).rstrip()
            for row in cells
        ]
        return "\n".join([*lines, *self._rest()])

    def _rest(self) -> list[str]:
        more = len(self) - MAX_PRINTED_ROWS
        return [f"… and {more} more rows"] if more > 0 else []

    def _repr_html_(self) -> str:
        filled = {n for n in self.columns if any(cell is not None for cell in self.column(n))}
        used = [name for name in self.columns if name in filled or not self]
        sides = ["right" if _is_numeric(self.column(name)) else "left" for name in used]
        align = [f' style="text-align: {side}"' for side in sides]
        places = [self.columns.index(name) for name in used]
        head = _html_row("th", used, align)
        rows = [_html_row("td", [row[c] for c in places], align) for row in self._shown()]
        rest = "".join(f"<p>{line}</p>" for line in self._rest())
        return f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>{rest}"


def _html_row(kind: str, cells: Sequence[str], styles: Sequence[str]) -> str:
    pairs = zip(cells, styles, strict=True)
    found = "".join(f"<{kind}{style}>{html.escape(cell)}</{kind}>" for cell, style in pairs)
    return f"<tr>{found}</tr>"


def _is_numeric(cells: list[Any]) -> bool:
    return all(cell is None or isinstance(cell, int | float) for cell in cells)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        text = f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    elif isinstance(value, tuple | list):
        text = " ".join(_cell(part) for part in value)
    else:
        text = " ".join(str(value).split())
    return shortened(text, MAX_CELL_LENGTH)
