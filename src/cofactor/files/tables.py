"""Documents and their labels out of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from cofactor.files.errors import InputError, at, printable
from cofactor.files.sources import Source


@dataclass
class Documents:
    """What a model is fitted on; labels are "" where they are not known."""

    texts: list[str] = field(default_factory=list)
    labels: list[str] | None = None
    rows: list[int] = field(default_factory=list)


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
    if name is not None:
        source.place(name, "--label")
        return name
    return "label" if source.kind == "folder" else None


def read_documents(
    source: Source, text: str, label: str | None, unlabelled: Iterable[str] = ()
) -> Documents:
    """Read all documents, and their labels if a column has any.

    Parameters
    ----------
    source : Source
    text, label : str
        Names of columns.
    unlabelled : iterable of str
        Cells that mean "not labelled", besides empty ones.

    Returns
    -------
    Documents
    """
    found = Documents(labels=None if label is None else [])
    for number, body, said in each_document(source, text, label, unlabelled):
        found.texts.append(body)
        found.rows.append(number)
        if found.labels is not None:
            found.labels.append(said)
    if not found.texts:
        raise InputError(f"{at(source.path)} has a header but no rows; add documents below it.")
    return found


def each_document(
    source: Source, text: str, label: str | None, unlabelled: Iterable[str] = ()
) -> Iterator[tuple[int, str, str]]:
    """Yield row number, text and label of each document."""
    body = source.place(text, "--text")
    said = None if label is None else source.place(label, "--label")
    unknown = {one.strip() for one in unlabelled}
    for number, cells in source.rows:
        tag = "" if said is None else as_text(source, number, label, cells[said]).strip()
        yield number, as_text(source, number, text, cells[body]), "" if tag in unknown else tag


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


def numbers(source: Source, documents: Documents, name: str | None = None) -> Column:
    """Return the labels as numbers, NaN where they are not known."""
    pairs = zip(documents.rows, documents.labels or [], strict=True)
    column = Column(_number(source, row, label) for row, label in pairs)
    column.name = name
    return column


def _number(source: Source, row: int, label: str) -> float:
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
