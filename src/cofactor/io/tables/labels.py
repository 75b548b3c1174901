"""Where a table has its labels, and what they are: classes, sets of labels, columns, numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from cofactor.io.errors import InputError

SEPARATORS = (";", "|", "/", ",")
"""What may separate several labels in one cell, likeliest first."""

ON, OFF = {"1", "1.0", "true"}, {"0", "0.0", "false"}
Said = tuple[tuple[str, ...], ...]  # for each column of labels those of one cell; () where unknown


@dataclass(frozen=True)
class Labels:
    """Columns of labels, and how their cells are read.

    Parameters
    ----------
    columns : tuple of str
        Names; none if there are no labels.
    separator : str, optional
        What separates several labels in one cell.
    unlabelled : frozenset of str
        Labels that mean "not labelled", besides empty ones.
    """

    columns: tuple[str, ...] = ()
    separator: str | None = None
    unlabelled: frozenset[str] = frozenset()

    def read(self, texts: list[str]) -> tuple[str, ...]:
        """Return the labels in a cell: one text, or several if it is a list."""
        if self.separator and len(texts) == 1 and texts[0].strip() not in self.unlabelled:
            texts = texts[0].split(self.separator)
        tidy = dict.fromkeys(text.strip() for text in texts)
        return tuple(text for text in tidy if text and text not in self.unlabelled)


def as_labels(
    columns: str | Sequence[str] | None,
    unlabelled: Iterable[str] = (),
    separator: str | None = None,
) -> Labels:
    """Return `Labels` of one column, of several, or of none."""
    names = (columns,) if isinstance(columns, str) else tuple(columns or ())
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"--label {twice!r} is given twice; name each column once.")
    return Labels(names, separator or None, frozenset(one.strip() for one in unlabelled))


def label_form(counts: Sequence[Counter[str]], sets: bool) -> str:
    """Tell what labels are.

    Parameters
    ----------
    counts : sequence of Counter
        The labels of each column.
    sets : bool
        Whether a cell may hold several.

    Returns
    -------
    str
        "none", "classes" (one of each document), "sets" (any number of them), "columns" (each
        column says yes or no to its name) or "numbers".

    Examples
    --------
    >>> label_form([Counter(["a", "b"])], False), label_form([Counter(["1.5"])], False)
    ('classes', 'numbers')
    >>> label_form([Counter("01"), Counter("1")], False)
    'columns'
    """
    values = [label for column in counts for label in column]
    if not values:
        return "none"
    if sets:
        return "sets"
    if are_fractions(values):
        return "numbers"
    if len(counts) == 1:
        return "classes"
    return "columns" if all(one.casefold() in ON | OFF for one in values) else "sets"


def are_fractions(labels: Iterable[str]) -> bool:
    """Tell whether all labels are numbers and one is a fraction."""
    try:
        values = [float(label) for label in labels]
    except ValueError:
        return False
    return any(isfinite(value) and not value.is_integer() for value in values)


def switch(cell: tuple[str, ...]) -> float:
    """Return 1 or 0 for a cell that says yes or no; NaN where it says nothing."""
    return float("nan") if not cell else float(cell[0].casefold() in ON)


def together(said: Said) -> tuple[str, ...] | None:
    """Return the labels of all columns; None if there are none."""
    return tuple(dict.fromkeys(label for cell in said for label in cell)) or None


def likely_separator(labels: Counter[str]) -> str | None:
    """Return what seems to separate several labels in one cell; None if nothing does.

    Examples
    --------
    >>> likely_separator(Counter({"a;b": 3, "a": 4, "b": 2, "c": 1}))
    ';'
    """
    for mark in SEPARATORS:
        joined = [label for label in labels if mark in label.strip(mark)]
        parts = Counter(part.strip() for label in joined for part in label.split(mark))
        if any(count > 1 or part in labels for part, count in parts.items()):
            return mark
    return None


def one_cell(prediction: Any, separator: str | None = None) -> Any:
    """Return several labels of one document as one cell; anything else as it is."""
    if not isinstance(prediction, tuple):
        return prediction
    return (separator or "; ").join(map(str, prediction))


def plain(columns: Sequence[str]) -> Any:
    """Return names of columns as a manifest has them: none, one, or a list."""
    return None if not columns else columns[0] if len(columns) == 1 else list(columns)
