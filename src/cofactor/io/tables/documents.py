"""Reads documents, their labels and further columns from the rows of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from cofactor.io.errors import InputError, at, printable
from cofactor.io.tables.labels import LabelCells, LabelColumns, as_label_columns
from cofactor.io.tables.sources import Source


@dataclass
class Documents:
    """The documents of a table.

    Parameters
    ----------
    texts : list of str
    label_cells : list of LabelCells, optional
        The labels of each document; None if there is no label column.
    rows : list of int
        The row of each document in the table, as `check` and errors count it.
    further : dict of str to list
        The cells of further columns, by the names of the columns.
    """

    texts: list[str] = field(default_factory=list)
    label_cells: list[LabelCells] | None = None
    rows: list[int] = field(default_factory=list)
    further: dict[str, list[Any]] = field(default_factory=dict)

    @property
    def labels(self) -> list[str] | None:
        """The first label of each document, "" if it is unlabelled."""
        cells = self.label_cells
        return None if cells is None else [next(iter(one[0]), "") for one in cells]


class DocumentRow(NamedTuple):
    """One row of a table, as `each_document` reads it."""

    number: int
    text: str
    labels: LabelCells
    further: list[Any]


def text_column(source: Source, name: str | None) -> str:
    """Return the text column: ``name``, or the only column that it can be."""
    if name is not None:
        source.place(name, "--text")
        return name
    if source.kind == "folder":
        return "text"
    if len(source.columns) == 1:
        return source.columns[0]
    there = ", ".join(map(repr, source.columns[:12]))
    raise InputError(
        f"--text is missing: name the column of {at(source.path)} that holds the text. There are "
        f"{there}.{source.on_header()}"
    )


def label_columns(source: Source, names: Sequence[str], text: str | None = None) -> tuple[str, ...]:
    """Return the label columns: ``names``, or the sub-folders of a folder."""
    for name in names:
        source.place(name, "--label")
        if name == text:
            raise InputError(
                f"--label {name!r} is the column of the texts, too; name the column that holds the "
                "labels, or leave --label out."
            )
    return tuple(names) or (("label",) if source.kind == "folder" else ())


def read_documents(
    source: Source,
    text: str,
    label: str | Sequence[str] | None,
    unlabelled: Iterable[str] = (),
    separator: str | None = None,
    *,
    relabel: dict[str, str] | None = None,
    further: dict[str, str] | None = None,
) -> Documents:
    """Read all documents and their labels.

    Parameters
    ----------
    source : Source
    text : str
        Name of the text column.
    label : str, list of str or None
        Names of the label columns.
    unlabelled : iterable of str
        Labels that mean "not labelled", besides empty cells.
    separator : str, optional
        Separates several labels in one cell.
    relabel : dict of str to str, optional
        New names of labels.
    further : dict of str to str, optional
        Further columns to read, each with the option that asks for it, which errors name.

    Returns
    -------
    Documents
    """
    labels = as_label_columns(label, unlabelled, separator, relabel)
    found = Documents(label_cells=[] if labels.columns else None)
    found.further = {name: [] for name in further or {}}
    for number, body, cells, others in each_document(source, text, labels, further):
        found.texts.append(body)
        found.rows.append(number)
        if found.label_cells is not None:
            found.label_cells.append(cells)
        for column, cell in zip(found.further.values(), others, strict=True):
            column.append(cell)
    if not found.texts:
        raise InputError(f"{at(source.path)} has a header but no rows; add documents below it.")
    return found


def each_document(
    source: Source, text: str, labels: LabelColumns, further: dict[str, str] | None = None
) -> Iterator[DocumentRow]:
    """Yield row number, text, labels and further cells of each document."""
    body = source.place(text, "--text")
    places = [source.place(name, "--label") for name in labels.columns]
    others = [source.place(name, option) for name, option in (further or {}).items()]
    for number, cells in source.rows:
        label_cells = tuple(
            labels.read(_as_texts(source, number, name, cells[place]))
            for name, place in zip(labels.columns, places, strict=True)
        )
        yield DocumentRow(
            number,
            as_text(source, number, text, cells[body]),
            label_cells,
            [cells[place] for place in others],
        )


def _as_texts(source: Source, row: int, column: str, cell: Any) -> list[str]:
    """Return the texts in a cell; lists, as JSON lines and Parquet have them, hold several."""
    cells = cell if isinstance(cell, list | tuple) else [cell]
    return [as_text(source, row, column, one) for one in cells]


def as_text(source: Source, row: int, column: str | None, cell: Any) -> str:
    """Return a cell as text; None and NaN become empty, dates are written as 2024-12-31."""
    if isinstance(cell, str):
        return cell
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, bool | int | float | Decimal | timedelta):
        return str(cell)
    if isinstance(cell, date | time):
        return cell.isoformat()
    raise InputError(
        f"{at(source.path, row)}: {column!r} holds a {type(cell).__name__}, but text is needed; "
        "choose another column, or write the cell as one string."
    )


class Column(list[float]):
    """A list of numbers with the name of its column, like a pandas Series."""

    name: str | None = None


def numbers(
    source: Source, documents: Documents, name: str | None = None, place: int = 0
) -> Column:
    """Return the labels of the column at ``place`` as numbers, NaN where unlabelled."""
    pairs = zip(documents.rows, documents.label_cells or [], strict=True)
    column = Column(_number(source, row, cells[place]) for row, cells in pairs)
    column.name = name
    return column


def _number(source: Source, row: int, cell: tuple[str, ...]) -> float:
    label = ", ".join(cell)
    try:
        value = float(label) if label else float("nan")
    except ValueError:
        value = float("inf")
    if value in (float("inf"), float("-inf")):
        raise InputError(
            f"{at(source.path, row)}: the label '{printable(label)}' is not a number; correct it, "
            "name it with --unlabelled, or use --task classes."
        )
    return value
