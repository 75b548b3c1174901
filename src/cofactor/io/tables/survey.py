"""Counts what a table holds, and advises on it before a model is fitted."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from math import isfinite
from typing import Any

from cofactor.errors import Parameter, ParameterWarning
from cofactor.io.errors import InputError, at, printable
from cofactor.io.tables.dates import are_dates
from cofactor.io.tables.label_advice import (
    CODE,
    Note,
    are_ids,
    label_notes,
    marks,
    merges,
    refusal,
    separator_note,
    suggest_topics,
    unlabelled_notes,
)
from cofactor.io.tables.labels import (
    ON,
    LabelCells,
    LabelColumns,
    LabelCounts,
    as_label_columns,
    clear_separator,
    each_document,
    likely_separator,
    settle_counts,
    without_labels,
)
from cofactor.io.tables.sources import Source
from cofactor.targets.task import parse_labels

LETTER = re.compile(r"[^\W\d_]")
FIRST_ROWS = 5
"""Advice lists this many rows."""


@dataclass
class FoundRows:
    """The number of some rows, and the first of them."""

    count: int = 0
    rows: list[int] = field(default_factory=list)

    def add(self, number: int) -> None:
        """Count a row."""
        self.count += 1
        self.rows += [number] if len(self.rows) < FIRST_ROWS else []


@dataclass
class Survey:
    """Counts over the documents of a table."""

    rows: int = 0
    labels: LabelColumns = field(default_factory=LabelColumns)
    counts: LabelCounts = field(default_factory=lambda: LabelCounts([]))
    unlabelled: dict[str, int] = field(default_factory=dict)  # labels that mean "unlabelled"
    rare: list[str] = field(default_factory=list)  # classes with fewer labels than min_labels
    min_labels: int = 0
    names: dict[int, str] = field(default_factory=dict)  # of documents, by their rows
    empty: FoundRows = field(default_factory=FoundRows)
    duplicates: FoundRows = field(default_factory=FoundRows)
    conflicts: FoundRows = field(default_factory=FoundRows)
    characters: int = 0
    longest: int = 0
    wordless: int = 0  # number of documents that are not empty, but have no letter or are a code

    @property
    def labelled(self) -> int:
        """Number of documents with a label."""
        return self.counts.labelled

    @property
    def form(self) -> str:
        """The form that the labels have; see `label_form`."""
        return self.counts.form

    @property
    def classes(self) -> Counter[str]:
        """How many documents have each label; for columns of 0 and 1, how many ones each has."""
        if self.form != "columns":
            return self.counts.classes
        named = zip(self.labels.columns, self.counts.columns, strict=True)
        return Counter({n: sum(c for v, c in column.items() if v in ON) for n, column in named})

    @property
    def distinct(self) -> int:
        """Number of distinct documents that are not empty."""
        return self.rows - self.empty.count - self.duplicates.count


def survey(
    source: Source,
    text: str,
    label: str | Sequence[str] | None,
    unlabelled: Iterable[str] = (),
    label_separator: str | None = None,
    *,
    relabel: dict[str, str] | None = None,
    min_labels: int = 0,
    further: dict[str, str] | None = None,
    gather: Callable[[int, list[Any]], None] | None = None,
    watch: Callable[[int, str], None] | None = None,
) -> Survey:
    """Count the documents and labels of a table in one pass; texts are not kept.

    Classes with fewer than ``min_labels`` labels count as unlabelled.
    ``watch`` is called with the number and the text of each row, ``gather`` with the number and the
    ``further`` cells.
    """
    labels = as_label_columns(label, unlabelled, label_separator, relabel)
    found = Survey(labels=labels, min_labels=min_labels)
    seen: dict[bytes, LabelCells] = {}
    label_cells: Counter[LabelCells] = Counter()
    for number, body, cells, others in each_document(source, text, labels, further):
        found.rows += 1
        if watch is not None:
            watch(number, body)
        found.characters += len(body)
        found.longest = max(found.longest, len(body))
        found.wordless += bool(body.strip()) and not has_word(body)
        label_cells[cells] += 1
        if gather is not None:
            gather(number, others)
        _compare(found, seen, number, " ".join(body.split()), cells)
    if not found.rows:
        raise InputError(f"{at(source.path)} has a header but no rows; add documents below it.")
    count = partial(_count_labels, label_cells, labels)
    settled = settle_counts(count, lambda counts: counts.form, min_labels)
    found.counts, found.unlabelled, found.rare = settled.counts, settled.unlabelled, settled.rare
    return found


def has_word(text: str) -> bool:
    """Return whether a text has a letter and is more than a code.

    Examples
    --------
    >>> [has_word(text) for text in ("moon", "route 66", "12", "T-00012", "第12章")]
    [True, True, False, False, True]
    """
    code = text.isascii() and CODE.fullmatch(text.strip())
    return bool(LETTER.search(text)) and not code


def _count_labels(
    label_cells: Counter[LabelCells], labels: LabelColumns, dropped: frozenset[str]
) -> LabelCounts:
    counts = LabelCounts.begin(len(labels.columns), several=bool(labels.separator))
    for cells, times in label_cells.items():
        counts.add(without_labels(cells, dropped), times)
    return counts


def _compare(
    found: Survey, seen: dict[bytes, LabelCells], number: int, body: str, cells: LabelCells
) -> None:
    """Count a document if it is empty or a duplicate; ``seen`` has the labels of each text."""
    if not body:
        found.empty.add(number)
        return
    key = hashlib.blake2b(body.encode(), digest_size=16).digest()
    if key not in seen:
        seen[key] = cells
        return
    found.duplicates.add(number)
    if any(cells) and any(seen[key]) and cells != seen[key]:
        found.conflicts.add(number)
    seen[key] = seen[key] if any(seen[key]) else cells


def advise(found: Survey, label: Any) -> list[Note]:
    """Return sentences about unusual documents and labels."""
    advice = [*_on_documents(found), *(_on_labels(found) if label is not None else [])]
    if label is None:
        advice.append("No label column was named, so there would be topics but no predictions.")
    return advice


def _on_documents(found: Survey) -> Iterator[str]:
    if found.empty.count:
        yield (
            f"{_said(found, found.empty, 'document', 'empty')}: they do no harm, but nothing can "
            "be predicted for them."
        )
    if found.duplicates.count:
        yield (
            f"{_said(found, found.duplicates, 'document', 'repeated')}: remove them unless they "
            "should count more than once."
        )
    if found.conflicts.count:
        differ = "labelled differently from the first"
        said = _said(found, found.conflicts, "repeated document", differ)
        yield f"{said}: decide on one label."
    if 2 * found.wordless > found.rows:
        yield (
            f"{_count(found.wordless, 'document')} without a word: is this the column of the texts?"
        )
    if found.distinct < 50:
        yield f"Only {found.distinct} different documents: the topics will be rough."


def _on_labels(found: Survey) -> list[Note]:
    split = separator(found)
    doubt = None if split else refusal(found.counts)
    first: list[Note] = []
    if doubt:
        label, task = Parameter("label"), Parameter("task")
        right = (" Name the right column with ", label, ", or insist with ", task)
        first = [ParameterWarning((doubt, *right))]
    forms = _on_forms(found) if found.labelled and not doubt else []
    notes = [] if doubt or split else label_notes(found.counts, found.min_labels)
    return [*first, *unlabelled_notes(found.unlabelled), *forms, *_on_rare(found), *notes]


def separator(found: Survey) -> str | None:
    """Return the separator of labels that is proposed, if the user gave none and one is needed.

    What else is wrong with the labels can be said only after they are split.
    """
    if found.form != "classes" or are_dates(found.classes) or are_ids(found.classes):
        return None
    return clear_separator(found.classes)


def _on_rare(found: Survey) -> list[Note]:
    if not found.rare:
        return []
    classes = "1 class" if len(found.rare) == 1 else f"{len(found.rare):,} classes"
    left_out = (Parameter("min_labels", found.min_labels), f" leaves out {classes}")
    return [ParameterWarning(left_out, "their documents count as unlabelled")]


def _on_forms(found: Survey) -> list[Note]:
    """Say how labels are read, if that may surprise the user."""
    if found.form == "columns":
        return ["The columns say yes (1) or no (0): each column is a separate label."]
    if found.form == "sets":
        mean = sum(found.classes.values()) / found.labelled
        return [f"Documents have several labels at once, {mean:.1f} of them on average."]
    mark = likely_separator(found.classes) if found.form == "classes" else None
    return [] if mark is None else [separator_note(found.classes, mark)]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun} is" if number == 1 else f"{number:,} {noun}s are"


def _said(found: Survey, some: FoundRows, noun: str, state: str) -> str:
    """Say how many rows are in a state, and which are the first."""
    named = (
        f"{row} {printable(found.names[row])!r}" if row in found.names else str(row)
        for row in some.rows
    )
    listed = ", ".join(named) + (", …" if some.count > len(some.rows) else "")
    rows = "row" if len(some.rows) == 1 else "rows"
    return f"{_count(some.count, noun)} {state} ({rows} {listed})"


def as_facts(found: Survey, label: Any) -> dict[str, Any]:
    """Return the counts for JSON, and the advice."""
    numeric, together, unknown = found.form == "numbers", merges(found.counts), marks(found.counts)
    proposed = found.counts.without(unknown).form  # of the labels as the next command reads them
    named = len(found.classes) - len(together) - len(unknown)
    doubtful = bool(refusal(found.counts))
    classes = 0 if proposed == "numbers" or doubtful else named
    return {
        "rows": found.rows,
        "labelled": found.labelled,
        "labelled_share": found.labelled / found.rows,
        "labels_are": found.form,
        "doubtful_labels": doubtful,
        "classes": {} if numeric else dict(found.classes.most_common()),
        "range": _range(found) if numeric else None,
        "empty": asdict(found.empty),
        "duplicates": asdict(found.duplicates),
        "conflicts": asdict(found.conflicts),
        "mean_characters": found.characters / found.rows,
        "longest": found.longest,
        "merges": together,
        "marks": unknown,
        "separator_to_try": separator(found),
        "rare": found.rare,
        "suggested_topics": suggest_topics(classes, found.rows),
        "advice": advise(found, label),
    }


def _range(found: Survey) -> list[float]:
    columns = found.counts.columns
    numbers = (value for one in columns for value in parse_labels(one))
    values = [value for value in numbers if not isinstance(value, str) and isfinite(value)]
    return [min(values), max(values)]
