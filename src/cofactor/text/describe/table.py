"""A small table of dataclass rows that prints as text or HTML and converts to dict or pandas."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any, Generic, TypeVar, overload

from cofactor.io.errors import shortened

Row = TypeVar("Row")
WIDEST, LONGEST = 60, 50  # characters of a cell, printed rows


class Table(Sequence[Row], Generic[Row]):
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
    >>> Table([City("Rome", 1285.0), City("Oslo", 454.12)], City)
    name  area
    Rome  1285
    Oslo   454
    >>> Table([City("Rome", 1285.0)], City).to_dict()
    {'name': ['Rome'], 'area': [1285.0]}
    """

    def __init__(self, rows: list[Row], kind: type[Row]) -> None:
        self._rows, self._kind = tuple(rows), kind

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [field.name for field in fields(self._kind)]  # type: ignore[arg-type]

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> Table[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | Table[Row]:
        if isinstance(place, slice):
            return Table(list(self._rows[place]), self._kind)
        return self._rows[place]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self._rows == other._rows

    __hash__ = None  # type: ignore[assignment]

    def column(self, name: str) -> list[Any]:
        """Return one column as a list.

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> table = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""]).topics(2)
        >>> table.column("label")
        ['space', 'sport']
        """
        return [getattr(row, name) for row in self._rows]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns as lists.

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> table = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""]).topics(2)
        >>> table.to_dict()["words"]
        [('moon', 'rocket'), ('goal', 'hockey')]
        """
        return {name: self.column(name) for name in self.columns}

    def to_records(self) -> list[dict[str, Any]]:
        """Return the rows as dicts.

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> table = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""]).topics(2)
        >>> table.to_records()[0]["label"]
        'space'
        """
        return [{name: getattr(row, name) for name in self.columns} for row in self._rows]

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame; pandas must be installed.

        Examples
        --------
        >>> from cofactor import TopicModel
        >>> texts = ["puck and goal", "hockey goal", "moon rocket", "rocket to the moon"]
        >>> table = TopicModel(2, random_state=0).fit(texts, ["sport", "", "space", ""]).topics(2)
        >>> table.to_pandas()[["topic", "label", "labels"]]
           topic  label  labels
        0      0  space       1
        1      1  sport       1
        """
        from pandas import DataFrame

        return DataFrame(self.to_dict(), columns=self.columns)

    def _shown(self) -> list[list[str]]:
        return [[_cell(getattr(row, name)) for name in self.columns] for row in self[:LONGEST]]

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
        return [f"… and {len(self) - LONGEST} more rows"] if len(self) > LONGEST else []

    def _repr_html_(self) -> str:
        told = [
            name
            for name in self.columns
            if not self or any(cell is not None for cell in self.column(name))
        ]
        align = [f' style="text-align: {_side(self.column(name))}"' for name in told]
        places = [self.columns.index(name) for name in told]
        head = _html_row("th", told, align)
        rows = [_html_row("td", [row[c] for c in places], align) for row in self._shown()]
        rest = "".join(f"<p>{line}</p>" for line in self._rest())
        return f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>{rest}"


def _html_row(kind: str, cells: Sequence[str], styles: Sequence[str]) -> str:
    pairs = zip(cells, styles, strict=True)
    found = "".join(f"<{kind}{style}>{html.escape(cell)}</{kind}>" for cell, style in pairs)
    return f"<tr>{found}</tr>"


def _side(cells: list[Any]) -> str:
    return "right" if _is_numeric(cells) else "left"


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
    return shortened(text, WIDEST)
