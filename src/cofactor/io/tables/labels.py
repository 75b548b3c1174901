"""Labels in tables: which labels a cell holds, and what form the labels of a table have.

Two questions are answered here. `LabelColumns.read` decides which labels a cell holds; a cell
without text is unlabelled, and so is one that the user names with --unlabelled; --relabel renames
labels before that. `label_form` decides what the labels look like: classes, sets, columns of 0 and
1, or numbers. Whether a model follows that form or the user's --task is decided in
`cofactor.cli._tables`. What is doubtful about labels is said by `label_advice`. Labels that
are already in memory are read by `cofactor.targets`, which has its own rule for missing ones.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

from cofactor.io.errors import InputError
from cofactor.io.tables.relabel import Relabels

SEPARATORS = (";", "|", "/", ",")
"""Characters that may separate several labels in one cell, the most likely one first."""

MOST_DISTINCT = 100_000
"""Number of distinct labels of a column after which `LabelCounts` no longer keeps numbers."""

MOST_CODES = 10
"""Number of distinct whole numbers up to which labels are codes of classes, like 1 to 5 stars."""

ON, OFF = {"1", "1.0", "true"}, {"0", "0.0", "false"}

_WRITTEN = re.compile(r"[$€£¥]?\s?[+-]?\d+([.,]\d+)*\s?([%$€£¥]|/\s?\d+)?")
_NOT_PLAIN = re.compile(r"[,%$€£¥/]")

LabelCells = tuple[tuple[str, ...], ...]
"""The labels of one document: for each label column those in its cell, () if it is unlabelled."""


@dataclass(frozen=True)
class LabelColumns:
    """The label columns of a table, and how their cells are read.

    Parameters
    ----------
    columns : tuple of str
        Names of the columns; empty if there are no labels.
    separator : str, optional
        Separates several labels in one cell.
    unlabelled : frozenset of str
        Labels that mean "not labelled", besides empty cells.
    relabel : Relabels
        New names of labels; those that are new names themselves are not renamed again.
    """

    columns: tuple[str, ...] = ()
    separator: str | None = None
    unlabelled: frozenset[str] = frozenset()
    relabel: Relabels = field(default_factory=Relabels)

    def read(self, texts: list[str]) -> tuple[str, ...]:
        """Return the labels in a cell, which holds one text or, if it is a list, several."""
        if self.separator and len(texts) == 1 and texts[0].strip() not in self.unlabelled:
            texts = texts[0].split(self.separator)
        tidy = (text.strip() for text in texts)
        named = dict.fromkeys(self.relabel.name_of(text) for text in tidy)
        return tuple(text for text in named if text and text not in self.unlabelled)

    def without(self, labels: Iterable[str]) -> LabelColumns:
        """Return a copy that reads some labels as "not labelled", too."""
        return replace(self, unlabelled=self.unlabelled | frozenset(labels))


def as_label_columns(
    columns: str | Sequence[str] | None,
    unlabelled: Iterable[str] = (),
    separator: str | None = None,
    relabel: Mapping[str, str] | None = None,
) -> LabelColumns:
    """Return `LabelColumns` for one name, several names, or none."""
    names = (columns,) if isinstance(columns, str) else tuple(columns or ())
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"--label {twice!r} is given twice; name each column once.")
    unknown = frozenset(one.strip() for one in unlabelled)
    relabel = relabel if isinstance(relabel, Relabels) else Relabels(relabel)
    return LabelColumns(names, separator or None, unknown, relabel)


@dataclass
class LabelCounts:
    """Counts of the labels of documents, made in one pass.

    Parameters
    ----------
    columns : list of Counter
        For each label column, how many documents have each label.
    several : bool
        Whether a cell may hold several labels.
    documents, labelled : int
        Number of documents, and of those with a label.
    """

    columns: list[Counter[str]]
    several: bool = False
    documents: int = 0
    labelled: int = 0

    @classmethod
    def begin(cls, columns: int, several: bool = False) -> LabelCounts:
        """Return counts of no documents yet."""
        return cls([Counter() for _ in range(columns)], several)

    def add(self, cells: LabelCells, times: int = 1) -> None:
        """Count the labels of a document, or of several documents that have the same ones."""
        self.documents += times
        self.labelled += times * any(cells)
        for counts, labels in zip(self.columns, cells, strict=False):
            self.several |= len(labels) > 1
            for label in labels:
                # Further numbers say nothing new about the form, and there may be millions.
                if len(counts) < MOST_DISTINCT or _is_word(label):
                    counts[label] += times

    @property
    def labels(self) -> list[str]:
        """All distinct labels, sorted."""
        return sorted(set().union(*self.columns))

    @property
    def form(self) -> str:
        """The form that the labels have; see `label_form`."""
        return label_form(self.columns, self.several)

    @property
    def classes(self) -> Counter[str]:
        """How many labels each class has, over all columns."""
        return sum(self.columns, Counter())

    def without(self, labels: Iterable[str]) -> LabelCounts:
        """Return the counts as they are if some labels mean "not labelled".

        Documents that have such labels beside others are counted as unlabelled, too.
        """
        dropped = set(labels)
        kept = [Counter({k: n for k, n in one.items() if k not in dropped}) for one in self.columns]
        lost = sum(n for one in self.columns for k, n in one.items() if k in dropped)
        return replace(self, columns=kept, labelled=max(0, self.labelled - lost))

    def rarer_than(self, fewest: int, form: str) -> list[str]:
        """Return the classes that have fewer labels than --min-labels asks for."""
        if fewest < 2:
            return []
        if form not in ("classes", "sets"):
            raise InputError(
                f"--min-labels {fewest} needs classes, but here are {_NOT_CLASSES[form]}; leave it "
                "out."
            )
        counts = self.classes
        rare = [name for name, count in counts.items() if count < fewest]
        if len(rare) == len(counts):
            raise InputError(
                f"--min-labels {fewest} leaves no class: the largest has "
                f"{max(counts.values()):,} labels; give a smaller number."
            )
        return rare


_NOT_CLASSES = {"none": "no labels", "numbers": "numbers", "columns": "columns of yes and no"}


def without_labels(cells: LabelCells, labels: frozenset[str]) -> LabelCells:
    """Return the labels of a document without some of them."""
    return tuple(tuple(one for one in cell if one not in labels) for cell in cells)


def _is_word(label: str) -> bool:
    try:
        float(label)
    except ValueError:
        return True
    return False


def label_form(counts: Sequence[Counter[str]], sets: bool) -> str:
    """Return the form that labels have.

    Parameters
    ----------
    counts : sequence of Counter
        The labels of each column.
    sets : bool
        Whether a cell may hold several labels.

    Returns
    -------
    str
        "none", "classes" (a document has one label), "sets" (a document has any number of labels),
        "columns" (each column says yes or no to its name) or "numbers".

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
    if are_numbers(values):
        return "numbers"
    if len(counts) == 1:
        return "classes"
    return "columns" if all(one.casefold() in ON | OFF for one in values) else "sets"


def are_numbers(labels: Iterable[str]) -> bool:
    """Tell whether labels are numbers to predict, not names of classes.

    Fractions are numbers. Whole numbers are numbers if there are more than `MOST_CODES` different
    ones, unless they count the classes from 0 on, as programs do.

    Examples
    --------
    >>> are_numbers(["0.5", "2"]), are_numbers(["1", "5"]), are_numbers(map(str, range(80, 101)))
    (True, False, True)
    >>> are_numbers(map(str, range(20)))
    False
    """
    labels = list(labels)
    try:
        values = {float(label) for label in labels}
    except ValueError:
        return False
    finite = {value for value in values if isfinite(value)}
    if any(not value.is_integer() for value in finite):
        return True
    counted = finite - {-1.0} == set(map(float, range(len(finite - {-1.0}))))
    return len(finite) > MOST_CODES and not counted and not any(map(_is_code, labels))


def whole_numbers(labels: Iterable[str]) -> list[int] | None:
    """Return labels as whole numbers; None if one is something else, such as a code like 007."""
    labels = list(labels)
    if not all(map(_is_whole, labels)) or any(map(_is_code, labels)):
        return None
    return [int(float(label)) for label in labels]


def written_number(labels: Iterable[str]) -> str | None:
    """Return the first label that is not a plain number, if all are numbers as people write them:
    4,5 or 80 % or 7/10 or $12.

    Examples
    --------
    >>> written_number(["3", "4,5"]), written_number(["3", "4.5"]), written_number(["3", "4,5 kg"])
    ('4,5', None, None)
    """
    labels = list(labels)
    found = next(filter(_NOT_PLAIN.search, labels), None)
    return found if all(map(_WRITTEN.fullmatch, labels)) else None


def _is_whole(label: str) -> bool:
    return not _is_word(label) and isfinite(float(label)) and float(label).is_integer()


def _is_code(label: str) -> bool:
    """Tell whether a number is written as codes are: with zeros in front."""
    return len(label) > 1 and label[0] == "0" and label.isdigit()


def read_switch(cell: tuple[str, ...]) -> float:
    """Return 1 for a cell that says yes, 0 for no, NaN if it is unlabelled."""
    return float("nan") if not cell else float(cell[0].casefold() in ON)


def join_columns(cells: LabelCells) -> tuple[str, ...] | None:
    """Return the labels of a document in all columns; None if it is unlabelled."""
    return tuple(dict.fromkeys(label for cell in cells for label in cell)) or None


def likely_separator(labels: Counter[str]) -> str | None:
    """Return the character that seems to separate several labels in one cell, or None.

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


def clear_separator(labels: Counter[str]) -> str | None:
    """Return the separator if it is beyond doubt: split at it, the labels are half as many or less.

    Examples
    --------
    >>> clear_separator(Counter(["a", "b", "a;b", "b; a"])), clear_separator(Counter(["a", "a;b"]))
    (';', None)
    """
    mark = likely_separator(labels)
    if mark is None or written_number(labels) is not None:
        return None
    parts = {part.strip() for label in labels for part in label.split(mark)} - {""}
    return mark if 2 * len(parts) <= len(labels) else None


def one_cell(prediction: Any, separator: str | None = None) -> Any:
    """Join several predicted labels into one cell; return any other prediction unchanged."""
    if not isinstance(prediction, tuple):
        return prediction
    return (separator or "; ").join(map(str, prediction))


def as_noted(columns: Sequence[str]) -> Any:
    """Return column names as a manifest notes them: None, one name, or a list."""
    return None if not columns else columns[0] if len(columns) == 1 else list(columns)
