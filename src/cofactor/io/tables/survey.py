"""What a table holds, before anything is fitted to it."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cofactor.io.errors import InputError, at, printable
from cofactor.io.tables.documents import each_document
from cofactor.io.tables.labels import ON, Labels, Said, as_labels, label_form, likely_separator
from cofactor.io.tables.sources import Source

UNKNOWN = {
    "na",
    "n/a",
    "nan",
    "null",
    "none",
    "unknown",
    "unlabelled",
    "unlabeled",
    "?",
    "-",
    "tbd",
}
FEW, MANY_CLASSES, LONG = 5, 50, 5000
LETTER = re.compile(r"[^\W\d_]")


@dataclass
class Survey:
    """Counts over the documents of a table."""

    rows: int = 0
    labelled: int = 0
    labels: Labels = field(default_factory=Labels)
    columns: list[Counter[str]] = field(default_factory=list)  # labels of each column
    several: int = 0  # documents with more than one label in a cell
    empty: int = 0
    empty_rows: list[int] = field(default_factory=list)
    duplicates: int = 0
    duplicate_rows: list[int] = field(default_factory=list)
    conflicts: int = 0
    conflict_rows: list[int] = field(default_factory=list)
    characters: int = 0
    longest: int = 0
    wordless: int = 0  # documents that are not empty, but have no word

    @property
    def form(self) -> str:
        """What the labels are; see `label_form`."""
        return label_form(self.columns, bool(self.labels.separator) or self.several > 0)

    @property
    def classes(self) -> Counter[str]:
        """Classes or labels, and how many documents have each; of 0/1 columns, the ones."""
        if self.form != "columns":
            return sum(self.columns, Counter())
        named = zip(self.labels.columns, self.columns, strict=True)
        return Counter({n: sum(c for v, c in column.items() if v in ON) for n, column in named})

    @property
    def distinct(self) -> int:
        """Number of different documents that are not empty."""
        return self.rows - self.empty - self.duplicates


def survey(
    source: Source,
    text: str,
    label: str | Sequence[str] | None,
    unlabelled: Iterable[str] = (),
    separator: str | None = None,
) -> Survey:
    """Read a table once and count; texts themselves are not kept."""
    labels = as_labels(label, unlabelled, separator)
    found = Survey(labels=labels, columns=[Counter() for _ in labels.columns])
    seen: dict[bytes, Said] = {}
    for number, body, said in each_document(source, text, labels):
        found.rows += 1
        found.characters += len(body)
        found.longest = max(found.longest, len(body))
        found.wordless += bool(body.strip()) and not LETTER.search(body)
        found.labelled += any(said)
        found.several += any(len(cell) > 1 for cell in said)
        for column, cell in zip(found.columns, said, strict=True):
            column.update(cell)
        _compare(found, seen, number, " ".join(body.split()), said)
    if not found.rows:
        raise InputError(f"{at(source.path)} has a header but no rows; add documents below it.")
    return found


def _compare(found: Survey, seen: dict[bytes, Said], number: int, body: str, said: Said) -> None:
    """Count a document that is empty or was there before."""
    if not body:
        found.empty += 1
        _keep(found.empty_rows, number)
        return
    key = hashlib.blake2b(body.encode(), digest_size=16).digest()
    if key not in seen:
        seen[key] = said
        return
    found.duplicates += 1
    _keep(found.duplicate_rows, number)
    if any(said) and any(seen[key]) and said != seen[key]:
        found.conflicts += 1
        _keep(found.conflict_rows, number)
    seen[key] = seen[key] if any(seen[key]) else said


def _keep(rows: list[int], number: int) -> None:
    if len(rows) < FEW:
        rows.append(number)


def suggest_topics(classes: int, documents: int) -> int:
    """Return a number of topics to start with: two or three for each class; numbers are none.

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
    """Return sentences on what stands out."""
    said = [*_on_documents(found), *(_on_labels(found) if label is not None else [])]
    if label is None:
        said.append("No label column was named, so there would be topics but no predictions.")
    return said


def _on_documents(found: Survey) -> list[str]:
    said = []
    if found.empty:
        said.append(f"{_count(found.empty, 'document')} empty ({_rows(found.empty_rows)}): "
                    "harmless, but nothing can be predicted for them.")  # fmt: skip
    if found.duplicates:
        said.append(
            f"{_count(found.duplicates, 'document')} repeated ({_rows(found.duplicate_rows)}): "
            "remove them unless they should count more than once."
        )
    if found.conflicts:
        said.append(
            f"{_count(found.conflicts, 'repeated document')} labelled differently from the first "
            f"({_rows(found.conflict_rows)}): decide on one label."
        )
    if 2 * found.wordless > found.rows:
        said.append(
            f"{_count(found.wordless, 'document')} without a word: is this the column of the texts?"
        )
    if found.distinct < 50:
        said.append(f"Only {found.distinct} different documents: topics will be rough.")
    return said


def _on_labels(found: Survey) -> list[str]:
    if not found.labelled:
        return ["No document is labelled, so there would be topics but no predictions."]
    if found.form == "numbers":
        return ["The labels are numbers: fit will predict numbers; --task classes would not."]
    return [*_on_forms(found), *_on_classes(found), *_on_names(found)]


def _on_forms(found: Survey) -> list[str]:
    """Say how labels are read where it may surprise."""
    if found.form == "columns":
        return ["The columns say yes (1) or no (0): each is a label of its own."]
    if found.form == "sets":
        mean = sum(found.classes.values()) / found.labelled
        return [f"Documents have several labels at once, {mean:.1f} of them on average."]
    mark = likely_separator(found.classes)
    if mark is None:
        return []
    first = next(label for label in found.classes if mark in label.strip(mark))
    return [
        f"If cells like {printable(first)!r} hold several labels, say so: "
        f"--label-separator {shlex.quote(mark)}."
    ]


def _on_classes(found: Survey) -> list[str]:
    said = []
    if len(found.classes) == 1:
        said.append("All labels are the same: label some documents of other classes.")
    few = [name for name, count in found.classes.items() if count < FEW]
    if few and len(found.classes) <= MANY_CLASSES:
        said.append(f"Fewer than {FEW} labels of {_names(few)}: a few more would help most there.")
    doubt = _doubt(found)
    return [*said, doubt] if doubt else said


def _doubt(found: Survey) -> str | None:
    return too_many_classes(len(found.classes), found.labelled)


def too_many_classes(classes: int, labelled: int) -> str | None:
    """Return a question, if there are so many classes that another column must be meant."""
    if classes > MANY_CLASSES and 2 * classes > labelled:
        return f"{classes:,} classes for {labelled:,} labels: is this the column of the labels?"
    return None


def _on_names(found: Survey) -> list[str]:
    said = []
    unknown = [name for name in found.classes if name.casefold() in UNKNOWN]
    if unknown:
        options = " ".join(f"--unlabelled {printable(name)!r}" for name in unknown)
        said.append(f"If {_names(unknown)} means not labelled, say so: {options}.")
    folded: dict[str, list[str]] = {}
    for name in found.classes:
        folded.setdefault(" ".join(name.casefold().split()), []).append(name)
    alike = [names for names in folded.values() if len(names) > 1]
    said += [f"{_names(names)} differ only in case or spaces: make them one." for names in alike]
    return said


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
