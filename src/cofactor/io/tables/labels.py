"""Texts and labels in the rows of a table.

`LabelColumns` reads the labels of a cell, after `Relabels` has renamed them; `each_document` and
`read_documents` read whole rows. `LabelCounts` counts labels and finds the form that they have:
classes, sets, columns of 0 and 1, or numbers. The rules for "unlabelled" and for "numbers or
classes" are those of `cofactor.targets.missing` and `cofactor.targets.task`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, time, timedelta
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from cofactor.errors import Parameter, ParameterError
from cofactor.io.errors import InputError, at, printable
from cofactor.io.json_text import to_json
from cofactor.io.tables.sources import Source, open_source
from cofactor.targets.missing import is_missing, minus_one_is_missing
from cofactor.targets.task import are_numbers, parse_labels, plain_numbers
from cofactor.targets.written import NumberStyle, number_style

LABEL_SEPARATORS = (";", "|", "/", ",")
"""Characters that may separate several labels in one cell, the most likely one first."""

MAX_COUNTED_LABELS = 100_000
"""`LabelCounts` keeps no further numbers of a column after this many distinct labels."""

ON, OFF = {"1", "1.0", "true"}, {"0", "0.0", "false"}

LabelCells = tuple[tuple[str, ...], ...]
"""The labels of one document: for each label column those in its cell, () if it is unlabelled."""


class Relabels(dict[str, str]):
    """New names of labels by their old ones; it notes which old names it has met."""

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        super().__init__(names or {})
        self.met: set[str] = set()

    def name_of(self, label: str) -> str:
        """Return the new name of a label, or the label."""
        if label in self:
            self.met.add(label)
        return self.get(label, label)

    @property
    def unmet(self) -> list[str]:
        """Old names that no label had so far."""
        return [name for name in self if name not in self.met]


def read_relabels(relabel: Iterable[str], relabel_file: Path | None = None) -> Relabels:
    """Return the new name of each label.

    Parameters
    ----------
    relabel : iterable of str
        Old and new names, each like old=new.
    relabel_file : path, optional
        A table with the columns old and new.

    Returns
    -------
    Relabels
        A name that is renamed in turn is followed to its end.

    Examples
    --------
    >>> read_relabels(["Sprot=Sports", "Sports=Sport"])
    {'Sprot': 'Sport', 'Sports': 'Sport'}
    """
    names: dict[str, str] = {}
    pairs = [*map(_parse, relabel), *(_rows(relabel_file) if relabel_file else ())]
    for place, old, new in pairs:
        if names.get(old, new) != new:
            raise ParameterError(
                (place, f" renames {old!r} to {new!r}, but it is renamed to {names[old]!r} before"),
                "decide on one name",
            )
        if old != new:
            names[old] = new
    return Relabels({old: _end(old, names) for old in names})


_FOR_UNLABELLED = ("for labels that mean not labelled use ", Parameter("unlabelled"))


def _parse(one: str) -> tuple[Parameter, str, str]:
    given = Parameter("relabel", one)
    old, equals, new = (part.strip() for part in one.partition("="))
    if "=" in new:
        raise ParameterError(
            (given, " has more than one ="),
            (
                "write such names to a file with the columns old and new, and name it with ",
                Parameter("relabel_file"),
            ),
        )
    if not (old and equals and new):
        raise ParameterError(
            (given, " must be the old and the new name, like Sprot=Sport"), _FOR_UNLABELLED
        )
    return given, old, new


def _rows(file: Path) -> Iterator[tuple[str, str, str]]:
    source = open_source(file)
    if source.columns != ["old", "new"]:
        there = ", ".join(map(repr, source.columns))
        raise InputError(f"{at(file)} has the columns {there}; its first line must be old,new.")
    for row, cells in source.rows:
        old, new = ("" if cell is None else str(cell).strip() for cell in cells)
        if not (old and new):
            raise ParameterError(f"{at(file, row)} needs an old and a new name", _FOR_UNLABELLED)
        yield at(file, row), old, new


def _end(name: str, names: dict[str, str]) -> str:
    seen = [name]
    while (name := names.get(name, name)) not in seen:
        seen.append(name)
    if name != seen[-1]:
        circle = " to ".join(map(repr, [*seen, name]))
        raise ParameterError((Parameter("relabel"), f" leads in a circle: {circle}"), "remove one")
    return name


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
        Labels that mean "unlabelled", besides empty cells.
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


def as_label_columns(
    columns: str | Sequence[str] | None,
    unlabelled: Iterable[str] = (),
    label_separator: str | None = None,
    relabel: Mapping[str, str] | None = None,
) -> LabelColumns:
    """Return `LabelColumns` for one name, several names, or none."""
    names = (columns,) if isinstance(columns, str) else tuple(columns or ())
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ParameterError(
            (Parameter("label", twice), " is given twice"), "name each column once"
        )
    unknown = frozenset(one.strip() for one in unlabelled)
    relabel = relabel if isinstance(relabel, Relabels) else Relabels(relabel)
    return LabelColumns(names, label_separator or None, unknown, relabel)


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
                # Further numbers do not change the form, and there may be millions.
                if len(counts) < MAX_COUNTED_LABELS or _is_word(label):
                    counts[label] += times

    def plus(self, other: LabelCounts) -> LabelCounts:
        """Return the counts of both tables together."""
        pairs = zip(self.columns, other.columns, strict=True)
        return LabelCounts(
            [one + more for one, more in pairs],
            self.several or other.several,
            self.documents + other.documents,
            self.labelled + other.labelled,
        )

    @property
    def labels(self) -> list[str]:
        """All distinct labels, sorted."""
        return sorted(set().union(*self.columns))

    @property
    def form(self) -> str:
        """The form that the labels have; see `label_form`."""
        return label_form(self.columns, self.several)

    @property
    def styles(self) -> list[NumberStyle | None]:
        """How the numbers of each column are written; None if they are not numbers."""
        return [number_style(column) for column in self.columns]

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

    def unlabelled(self, form: str) -> dict[str, int]:
        """Return the labels that mean "unlabelled" by themselves, and how many there are.

        ``form`` is the form of the targets; −1 is a number among numbers.
        """
        found: Counter[str] = Counter()
        for column in self.columns:
            values = parse_labels(column)
            if form == "numbers":
                values = [None if is_missing(value) else "number" for value in values]
            for label in _unlabelled(column, values, len(self.columns)):
                found[label] += column[label]
        return dict(found)

    def rarer_than(self, min_labels: int, form: str) -> list[str]:
        """Return the classes that have fewer labels than this."""
        if min_labels < 2:
            return []
        asked = Parameter("min_labels", min_labels)
        if form not in ("classes", "sets"):
            raise ParameterError(
                (asked, f" needs classes, but the table has {_NOT_CLASSES[form]}"), "leave it out"
            )
        counts = self.classes
        rare = [name for name, count in counts.items() if count < min_labels]
        if len(rare) == len(counts):
            raise ParameterError(
                (asked, f" leaves no class: the largest has {max(counts.values()):,} labels"),
                "give a smaller number",
            )
        return rare


class SettledCounts(NamedTuple):
    """Which labels of a table count."""

    before: LabelCounts  # all labels
    counts: LabelCounts  # those that count
    form: str  # of the targets
    unlabelled: dict[str, int]  # labels that mean "unlabelled", and how many there are
    rare: list[str]  # classes that have too few labels


def settle_counts(
    count: Callable[[frozenset[str]], LabelCounts],
    form_of: Callable[[LabelCounts], str],
    min_labels: int = 0,
) -> SettledCounts:
    """Leave out the labels that mean "unlabelled", then the classes with too few labels.

    Parameters
    ----------
    count : callable
        Counts the labels of a table without those in a set.
    form_of : callable
        Returns the form of the targets that labels stand for.
    min_labels : int
        Classes with fewer labels than this are left out.

    Examples
    --------
    >>> counts = LabelCounts([Counter({"0": 5, "1": 4, "2": 1, "-1": 3})])
    >>> found = settle_counts(counts.without, lambda counts: counts.form, min_labels=2)
    >>> found.unlabelled, found.rare, found.counts.labels
    ({'-1': 3}, ['2'], ['0', '1'])
    """
    before = counts = count(frozenset())
    form = form_of(counts)
    unlabelled = counts.unlabelled(form) if form != "none" else {}
    if unlabelled:
        counts = count(frozenset(unlabelled))
        form = form_of(counts)
    rare = counts.rarer_than(min_labels, form)
    if rare:
        counts = count(frozenset([*unlabelled, *rare]))
    return SettledCounts(before, counts, form, unlabelled, rare)


_NOT_CLASSES = {"none": "no labels", "numbers": "numbers", "columns": "columns of yes and no"}


def without_labels(cells: LabelCells, labels: Collection[str]) -> LabelCells:
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
    >>> label_form([Counter(["12,50 €"]), Counter(["55 %"])], False)
    'numbers'
    """
    labels = [label for column in counts for label in column]
    if not labels:
        return "none"
    if sets:
        return "sets"
    values = parse_labels(labels)
    by_column = (value for column in counts for value in parse_labels(column))  # units may differ
    if are_numbers(values) or are_numbers(by_column):
        return "numbers"
    if len(counts) == 1:
        return "classes"
    unlabelled = _unlabelled(labels, values, columns=len(counts))
    switches = all(one.casefold() in ON | OFF for one in labels if one not in unlabelled)
    return "columns" if switches else "sets"


def _unlabelled(labels: Iterable[str], values: list[Any], columns: int = 1) -> set[str]:
    """Return the labels of classes that mean "unlabelled" beside the others."""
    known = {value for value in values if not is_missing(value)}
    marked = minus_one_is_missing(known, columns)
    pairs = zip(labels, values, strict=True)
    return {label for label, value in pairs if is_missing(value) or (marked and value == -1)}


def whole_numbers(labels: Iterable[str]) -> list[int] | None:
    """Return labels as whole numbers; None if one is something else, such as a code like 007."""
    values = parse_labels(labels)
    whole = all(
        not isinstance(value, str) and isfinite(value) and value % 1 == 0 for value in values
    )
    return [int(value) for value in values] if whole else None


def written_number(labels: Iterable[str]) -> str | None:
    """Return the first label that is not a plain number, if all are numbers as people write them.

    Examples
    --------
    >>> written_number(["3", "4,5"]), written_number(["3", "4.5"]), written_number(["3", "4,5 kg"])
    ('4,5', None, None)
    """
    labels = list(labels)
    plain = plain_numbers(labels)
    pairs = zip(labels, plain or [], strict=False)
    return next((label for label, number in pairs if label != number), None)


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
    for mark in LABEL_SEPARATORS:
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


LABEL_SEPARATOR = "; "
"""Between several labels in one cell of CSV, TSV and Excel."""


def join_labels(labels: Iterable[Any]) -> str:
    """Return several labels as one cell, like "a; b"; JSON if a label has a semicolon or is none.

    Examples
    --------
    >>> join_labels(["a", "b"]), join_labels(["a;b", "c"]), join_labels([1, 2])
    ('a; b', '["a;b", "c"]', '[1, 2]')
    """
    labels = list(labels)
    if all(isinstance(one, str) and ";" not in one for one in labels):
        return LABEL_SEPARATOR.join(labels)
    return to_json(labels)


def one_cell(prediction: Any, separator: str | None = None) -> Any:
    """Join several predicted labels into one cell; return any other prediction unchanged."""
    if not isinstance(prediction, tuple):
        return prediction
    return (separator or LABEL_SEPARATOR).join(map(str, prediction))


def as_noted(columns: Sequence[str]) -> Any:
    """Return column names as a manifest notes them: None, one name, or a list."""
    return None if not columns else columns[0] if len(columns) == 1 else list(columns)


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
        source.place(name, "text")
        return name
    if source.kind == "folder":
        return "text"
    if len(source.columns) == 1:
        return source.columns[0]
    there = ", ".join(map(repr, source.columns[:12]))
    raise ParameterError(
        (
            Parameter("text"),
            f" is missing: name the column of {at(source.path)} that holds the text",
        ),
        f"There are {there}.{source.on_header()}",
    )


def label_columns(source: Source, names: Sequence[str], text: str | None = None) -> tuple[str, ...]:
    """Return the label columns: ``names``, or the sub-folders of a folder."""
    for name in names:
        source.place(name, "label")
        if name == text:
            raise ParameterError(
                (Parameter("label", name), " is the column of the texts, too"),
                ("name the column that holds the labels, or leave ", Parameter("label"), " out"),
            )
    return tuple(names) or (("label",) if source.kind == "folder" else ())


def read_documents(
    source: Source,
    text: str,
    label: str | Sequence[str] | None,
    unlabelled: Iterable[str] = (),
    label_separator: str | None = None,
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
        Labels that mean "unlabelled", besides empty cells.
    label_separator : str, optional
        Separates several labels in one cell.
    relabel : dict of str to str, optional
        New names of labels.
    further : dict of str to str, optional
        Further columns to read, each with the parameter that asks for it, which errors name.

    Returns
    -------
    Documents
    """
    labels = as_label_columns(label, unlabelled, label_separator, relabel)
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
    body = source.place(text, "text")
    places = [source.place(name, "label") for name in labels.columns]
    others = [source.place(name, parameter) for name, parameter in (further or {}).items()]
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


class NumberColumn(list[float]):
    """A list of numbers with the name of its column, like a pandas Series."""

    name: str | None = None


def label_numbers(
    source: Source,
    documents: Documents,
    name: str | None = None,
    place: int = 0,
    style: NumberStyle | None = None,
) -> NumberColumn:
    """Return the labels of the column at ``place`` as numbers, NaN where unlabelled.

    ``style`` is how they are written, if these documents are only some of those of a table.
    """
    cells = [cells[place] for cells in documents.label_cells or []]
    style = style or number_style({", ".join(cell) for cell in cells if cell})
    pairs = zip(documents.rows, cells, strict=True)
    column = NumberColumn(_number(source, row, cell, style) for row, cell in pairs)
    column.name = name
    return column


def _number(source: Source, row: int, cell: tuple[str, ...], style: NumberStyle | None) -> float:
    label = ", ".join(cell)
    plain = None if style is None else style.plain(label)
    try:
        value = float(plain or label) if label else float("nan")
    except ValueError:
        value = float("inf")
    if value in (float("inf"), float("-inf")):
        raise ParameterError(
            f"{at(source.path, row)}: the label '{printable(label)}' is not a number",
            [
                "correct it",
                ("name it with ", Parameter("unlabelled")),
                ("use ", Parameter("task", "classes")),
            ],
        )
    return value
