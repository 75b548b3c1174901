"""Counts what a table holds, and advises on it before a model is fitted."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cofactor.io.errors import InputError, at, printable
from cofactor.io.tables.documents import each_document
from cofactor.io.tables.labels import (
    ON,
    LabelCells,
    LabelColumns,
    as_label_columns,
    label_form,
    likely_separator,
)
from cofactor.io.tables.sources import Source

UNKNOWN = {
    "na", "n/a", "nan", "null", "none", "unknown", "unlabelled", "unlabeled", "?", "-", "tbd"
}  # fmt: skip
"""Labels that may mean "not labelled"; `advise` asks about them."""

FEW, MANY_CLASSES = 5, 50
LETTER = re.compile(r"[^\W\d_]")


@dataclass
class Survey:
    """Counts over the documents of a table."""

    rows: int = 0
    labelled: int = 0
    labels: LabelColumns = field(default_factory=LabelColumns)
    columns: list[Counter[str]] = field(default_factory=list)  # of each label column, its labels
    several: int = 0  # number of documents with more than one label in a cell
    empty: int = 0
    empty_rows: list[int] = field(default_factory=list)
    duplicates: int = 0
    duplicate_rows: list[int] = field(default_factory=list)
    conflicts: int = 0
    conflict_rows: list[int] = field(default_factory=list)
    characters: int = 0
    longest: int = 0
    wordless: int = 0  # number of documents that are not empty, but have no letter

    @property
    def form(self) -> str:
        """The form that the labels have; see `label_form`."""
        return label_form(self.columns, bool(self.labels.separator) or self.several > 0)

    @property
    def classes(self) -> Counter[str]:
        """How many documents have each label; for columns of 0 and 1, how many ones each has."""
        if self.form != "columns":
            return sum(self.columns, Counter())
        named = zip(self.labels.columns, self.columns, strict=True)
        return Counter({n: sum(c for v, c in column.items() if v in ON) for n, column in named})

    @property
    def distinct(self) -> int:
        """Number of distinct documents that are not empty."""
        return self.rows - self.empty - self.duplicates


def survey(
    source: Source,
    text: str,
    label: str | Sequence[str] | None,
    unlabelled: Iterable[str] = (),
    separator: str | None = None,
    watch: Callable[[int, str], None] | None = None,
) -> Survey:
    """Count the documents and labels of a table in one pass; texts are not kept.

    ``watch`` is called with the row number and the text of each document.
    """
    labels = as_label_columns(label, unlabelled, separator)
    found = Survey(labels=labels, columns=[Counter() for _ in labels.columns])
    seen: dict[bytes, LabelCells] = {}
    for number, body, cells in each_document(source, text, labels):
        found.rows += 1
        if watch is not None:
            watch(number, body)
        found.characters += len(body)
        found.longest = max(found.longest, len(body))
        found.wordless += bool(body.strip()) and not LETTER.search(body)
        found.labelled += any(cells)
        found.several += any(len(cell) > 1 for cell in cells)
        for column, cell in zip(found.columns, cells, strict=True):
            column.update(cell)
        _compare(found, seen, number, " ".join(body.split()), cells)
    if not found.rows:
        raise InputError(f"{at(source.path)} has a header but no rows; add documents below it.")
    return found


def _compare(
    found: Survey, seen: dict[bytes, LabelCells], number: int, body: str, cells: LabelCells
) -> None:
    """Count a document if it is empty or a duplicate; ``seen`` has the labels of each text."""
    if not body:
        found.empty += 1
        _keep(found.empty_rows, number)
        return
    key = hashlib.blake2b(body.encode(), digest_size=16).digest()
    if key not in seen:
        seen[key] = cells
        return
    found.duplicates += 1
    _keep(found.duplicate_rows, number)
    if any(cells) and any(seen[key]) and cells != seen[key]:
        found.conflicts += 1
        _keep(found.conflict_rows, number)
    seen[key] = seen[key] if any(seen[key]) else cells


def _keep(rows: list[int], number: int) -> None:
    if len(rows) < FEW:
        rows.append(number)


def suggest_topics(classes: int, documents: int) -> int:
    """Return a number of topics to start with: two or three for each class.

    Without classes it depends on the number of documents.

    Examples
    --------
    >>> suggest_topics(5, 8000), suggest_topics(0, 8000), suggest_topics(5, 12)
    (12, 20, 6)
    """
    if 1 < classes <= MANY_CLASSES:
        wanted = max(10, round(2.5 * classes) if classes < 10 else 2 * classes)
    else:
        wanted = 10 if documents < 1000 else 20
    return max(1, min(wanted, documents // 2))


def advise(found: Survey, label: Any) -> list[str]:
    """Return sentences about unusual documents and labels."""
    advice = [*_on_documents(found), *(_on_labels(found) if label is not None else [])]
    if label is None:
        advice.append("No label column was named, so there would be topics but no predictions.")
    return advice


def _on_documents(found: Survey) -> list[str]:
    advice = []
    if found.empty:
        advice.append(f"{_count(found.empty, 'document')} empty ({_rows(found.empty_rows)}): "
                    "they do no harm, but nothing can be predicted for them.")  # fmt: skip
    if found.duplicates:
        advice.append(
            f"{_count(found.duplicates, 'document')} repeated ({_rows(found.duplicate_rows)}): "
            "remove them unless they should count more than once."
        )
    if found.conflicts:
        advice.append(
            f"{_count(found.conflicts, 'repeated document')} labelled differently from the first "
            f"({_rows(found.conflict_rows)}): decide on one label."
        )
    if 2 * found.wordless > found.rows:
        advice.append(
            f"{_count(found.wordless, 'document')} without a word: is this the column of the texts?"
        )
    if found.distinct < 50:
        advice.append(f"Only {found.distinct} different documents: the topics will be rough.")
    return advice


def _on_labels(found: Survey) -> list[str]:
    if not found.labelled:
        return ["No document is labelled, so there would be topics but no predictions."]
    if found.form == "numbers":
        return ["The labels are numbers, so fit predicts numbers; --task classes predicts classes."]
    return [*_on_forms(found), *_on_classes(found), *_on_names(found)]


def _on_forms(found: Survey) -> list[str]:
    """Say how labels are read, if that may surprise the user."""
    if found.form == "columns":
        return ["The columns say yes (1) or no (0): each column is a label of its own."]
    if found.form == "sets":
        mean = sum(found.classes.values()) / found.labelled
        return [f"Documents have several labels at once, {mean:.1f} of them on average."]
    mark = likely_separator(found.classes)
    if mark is None:
        return []
    first = next(label for label in found.classes if mark in label.strip(mark))
    return [
        f"If cells like {printable(first)!r} hold several labels, add "
        f"--label-separator {shlex.quote(mark)}."
    ]


def _on_classes(found: Survey) -> list[str]:
    advice = []
    if len(found.classes) == 1:
        advice.append("All labels are the same: label some documents of other classes.")
    few = [name for name, count in found.classes.items() if count < FEW]
    if few and len(found.classes) <= MANY_CLASSES:
        advice.append(f"Fewer than {FEW} labels of {_names(few)}: a few more would help most.")
    doubt = _doubt(found)
    return [*advice, doubt] if doubt else advice


def _doubt(found: Survey) -> str | None:
    return too_many_classes(len(found.classes), found.labelled)


def too_many_classes(classes: int, labelled: int) -> str | None:
    """Ask whether this is the label column, if there are suspiciously many classes."""
    if classes > MANY_CLASSES and 2 * classes > labelled:
        return f"{classes:,} classes for {labelled:,} labels: is this the column of the labels?"
    return None


def _on_names(found: Survey) -> list[str]:
    advice = []
    unknown = [name for name in found.classes if name.casefold() in UNKNOWN]
    if unknown:
        options = " ".join(f"--unlabelled {printable(name)!r}" for name in unknown)
        advice.append(f"If {_names(unknown)} means not labelled, add {options}.")
    folded: dict[str, list[str]] = {}
    for name in found.classes:
        folded.setdefault(" ".join(name.casefold().split()), []).append(name)
    alike = [names for names in folded.values() if len(names) > 1]
    advice += [f"{_names(names)} differ only in case or spaces: make them one." for names in alike]
    return advice


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun} is" if number == 1 else f"{number:,} {noun}s are"


def _rows(rows: list[int]) -> str:
    listed = ", ".join(map(str, rows)) + (", …" if len(rows) == FEW else "")
    return f"row {listed}" if len(rows) == 1 else f"rows {listed}"


def _names(names: list[str]) -> str:
    shown = ", ".join(repr(printable(name)) for name in names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def as_facts(found: Survey, label: Any) -> dict[str, Any]:
    """Return the counts and the advice for JSON."""
    numeric = found.form == "numbers"
    return {
        "rows": found.rows,
        "labelled": found.labelled,
        "labelled_share": found.labelled / found.rows,
        "labels_are": found.form,
        "doubtful_labels": not numeric and bool(_doubt(found)),
        "classes": {} if numeric else dict(found.classes.most_common()),
        "range": _range(found) if numeric else None,
        "empty": {"count": found.empty, "rows": found.empty_rows},
        "duplicates": {"count": found.duplicates, "rows": found.duplicate_rows},
        "conflicts": {"count": found.conflicts, "rows": found.conflict_rows},
        "mean_characters": found.characters / found.rows,
        "longest": found.longest,
        "suggested_topics": suggest_topics(0 if numeric else len(found.classes), found.distinct),
        "advice": advise(found, label),
    }


def _range(found: Survey) -> list[float]:
    values = [float(label) for label in found.classes]
    return [min(values), max(values)]
