"""Documents and their labels out of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from cofactor.io.errors import InputError, at, printable
from cofactor.io.tables.labels import Labels, Said, as_labels
from cofactor.io.tables.sources import Source


@dataclass
class Documents:
    """What a model is fitted on."""

    texts: list[str] = field(default_factory=list)
    said: list[Said] | None = None  # their labels; None without columns of labels
    rows: list[int] = field(default_factory=list)

    @property
    def labels(self) -> list[str] | None:
        """The first label of each, "" where it is not known."""
        return None if self.said is None else [next(iter(one[0]), "") for one in self.said]


def text_column(source: Source, name: str | None) -> str:
    """Return the column of the text, or say which there are."""
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
        f"{there}."
    )


def label_column(source: Source, name: str | None) -> str | None:
    """Return the column of the labels; None if there is none."""
    return next(iter(label_columns(source, () if name is None else (name,))), None)


def label_columns(source: Source, names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of the labels."""
    for name in names:
        source.place(name, "--label")
    return tuple(names) or (("label",) if source.kind == "folder" else ())


def read_documents(
    source: Source,
    text: str,
    label: str | Sequence[str] | None,
    unlabelled: Iterable[str] = (),
    separator: str | None = None,
) -> Documents:
    """Read all documents, and their labels if a column has any.

    Parameters
    ----------
    source : Source
    text : str
        Name of the column.
    label : str, list of str or None
        Names of columns.
    unlabelled : iterable of str
        Labels that mean "not labelled", besides empty ones.
    separator : str, optional
        What separates several labels in one cell.

    Returns
    -------
    Documents
    """
    labels = as_labels(label, unlabelled, separator)
    found = Documents(said=[] if labels.columns else None)
    for number, body, said in each_document(source, text, labels):
        found.texts.append(body)
        found.rows.append(number)
        if found.said is not None:
            found.said.append(said)
    if not found.texts:
        raise InputError(f"{at(source.path)} has a header but no rows; add documents below it.")
    return found


def each_document(source: Source, text: str, labels: Labels) -> Iterator[tuple[int, str, Said]]:
    """Yield row number, text and labels of each document."""
    body = source.place(text, "--text")
    places = [source.place(name, "--label") for name in labels.columns]
    for number, cells in source.rows:
        said = tuple(
            labels.read(_as_texts(source, number, name, cells[place]))
            for name, place in zip(labels.columns, places, strict=True)
        )
        yield number, as_text(source, number, text, cells[body]), said


def _as_texts(source: Source, row: int, column: str, cell: Any) -> list[str]:
    """Return a cell as texts: several if it is a list, as JSON lines and Parquet have them."""
    cells = cell if isinstance(cell, list | tuple) else [cell]
    return [as_text(source, row, column, one) for one in cells]


def as_text(source: Source, row: int, column: str | None, cell: Any) -> str:
    """Return a cell as text; missing ones are empty."""
    if isinstance(cell, str):
        return cell
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, bool | int | float):
        return str(cell)
    raise InputError(
        f"{at(source.path, row)}: {column!r} holds a {type(cell).__name__}, but text is needed; "
        "choose another column, or write it as one string."
    )


class Column(list[float]):
    """A list that knows the name of its column, as a Series does."""

    name: str | None = None


def numbers(
    source: Source, documents: Documents, name: str | None = None, place: int = 0
) -> Column:
    """Return the labels of a column as numbers, NaN where they are not known."""
    pairs = zip(documents.rows, documents.said or [], strict=True)
    column = Column(_number(source, row, said[place]) for row, said in pairs)
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
            f"{at(source.path, row)}: the label '{printable(label)}' is no number; mend it, name "
            "it with --unlabelled, or use --task classes."
        )
    return value
