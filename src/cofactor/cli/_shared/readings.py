"""Tables as the commands read them: documents, and what is to be learnt from their labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cofactor.io.tables import Documents, InputError, Source, open_source, read_documents
from cofactor.io.tables.documents import label_columns, numbers, text_column
from cofactor.io.tables.labels import Said, label_form, plain, switch, together


@dataclass
class Reading:
    """How a table was read."""

    documents: Documents
    y: Any
    facts: dict[str, Any]
    truth: Any = None  # labels that test the model
    places = ("path",)  # facts that are paths

    def fit(self, model: Any, **how: Any) -> None:
        """Fit a model to the table; ``how`` goes to `cofactor.text.fitting.fit_documents`."""
        from cofactor.text.fitting import fit_documents

        fit_documents(model, self.documents.texts, self.y, **how)

    @property
    def classes(self) -> list[Any]:
        """The class of each document, or its set of labels; None or "" where unknown."""
        if self.facts["task"] != "classes":
            return [None] * len(self.documents.texts)
        return self.y.sets() if self.facts["labels_are"] == "columns" else self.y


def read_table(
    path: Path, text: str | None, labels: Sequence[str], *, unlabelled: Sequence[str] = (),
    label_separator: str | None = None, task: str = "auto", truth: Sequence[str] = (),
    may_lack: bool = False, only: Collection[int] | None = None, **opening: Any,
) -> Reading:  # fmt: skip
    """Read documents and labels, and those to test with, in one pass; note how.

    With ``may_lack`` columns of labels that are not there are left out; ``only`` are the places of
    the rows to read, by default all.
    """
    source = open_source(path, **opening)
    if only is not None:
        source.rows = (row for place, row in enumerate(source.rows) if place in only)
    if may_lack:
        labels = [name for name in labels if name in source.columns]
    text, labels = text_column(source, text), label_columns(source, labels)
    for name in truth:
        source.place(name, "--truth")
    both = read_documents(source, text, (*labels, *truth), unlabelled, label_separator)
    documents, hidden = _apart(both, len(labels))
    seen = Seen.of(documents if labels else hidden, len(labels or truth))
    form = seen.form(bool(label_separator), task)
    facts = {
        **source.facts(),
        **how_read(text, labels, unlabelled, label_separator, form, opening),
        "rows": len(documents.texts), "labelled": sum(map(any, documents.said or [])),
    }  # fmt: skip
    y, tested = (
        targets_of(form, source, one, names) if names else None
        for one, names in ((documents, labels), (hidden, truth))
    )
    return Reading(documents, y, facts, tested)


def how_read(
    text: str, labels: Sequence[str], unlabelled: Sequence[str], label_separator: str | None,
    form: str, opening: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """Return how a table was read, for a manifest."""
    return {
        "text": text, "label": plain(labels), "unlabelled": list(unlabelled),
        "label_separator": label_separator, "labels_are": form, "opening": opening,
        "task": _TASKS[form],
    }  # fmt: skip


def _apart(both: Documents, columns: int) -> tuple[Documents, Documents]:
    """Divide the columns of labels: the first ones, and the others."""
    said = both.said or []
    parts = [one[:columns] for one in said], [one[columns:] for one in said]
    first, second = (Documents(both.texts, part, both.rows) for part in parts)
    return (first if columns else Documents(both.texts, None, both.rows)), second


_TASKS = {"none": "topics", "numbers": "numbers"} | dict.fromkeys(
    ("classes", "sets", "columns"), "classes"
)


MOST = 100_000
"""Different labels of a column that are kept; beyond, numbers are not, and tell nothing new."""


@dataclass
class Seen:
    """What labels there are, found in one pass."""

    counts: list[Counter[str]]
    several: bool = False
    rows: int = 0
    labelled: int = 0

    @classmethod
    def of(cls, documents: Documents, columns: int) -> Seen:
        """Look at all documents."""
        seen = cls([Counter() for _ in range(columns)])
        for said in documents.said or []:
            seen.add(said)
        return seen

    def add(self, said: Said) -> None:
        """Look at the labels of one document."""
        self.rows += 1
        self.labelled += any(said)
        for counts, cell in zip(self.counts, said, strict=False):
            self.several |= len(cell) > 1
            counts.update(cell if len(counts) < MOST else filter(_no_number, cell))

    @property
    def labels(self) -> list[str]:
        """All labels, sorted."""
        return sorted(set().union(*self.counts))

    def classes(self, form: str) -> int:
        """Return how many classes or labels of such a form there are."""
        return {"none": 0, "numbers": 0, "columns": len(self.counts)}.get(form, len(self.labels))

    def form(self, separated: bool, asked: str) -> str:
        """Settle what is to be learnt from them; ``asked`` is a task, or a form of before."""
        form = label_form(self.counts, separated or self.several)
        if form == "none" and asked in ("classes", "numbers"):
            raise InputError(
                f"--task {asked} needs labels, but there are none; name their column with --label."
            )
        if asked in ("topics", "none") or form == "none":
            return "none"
        if asked in ("numbers", "sets", "columns"):
            return asked
        if form == "numbers" and asked == "classes":
            form = "classes" if len(self.counts) == 1 else "sets"
        # One label is no choice: a set of it would be a matrix of one column.
        return "classes" if form == "sets" and len(self.labels) < 2 else form


def _no_number(label: str) -> bool:
    try:
        float(label)
    except ValueError:
        return True
    return False


def targets_of(form: str, source: Source, documents: Documents, labels: Sequence[str]) -> Any:
    """Return the labels as `TopicModel.fit` takes them."""
    said = documents.said or []
    if form == "none":
        return None
    if form == "classes":
        return [next(iter(together(one) or ("",))) for one in said]
    if form == "sets":
        return [together(one) for one in said]
    if form == "numbers" and len(labels) == 1:
        return numbers(source, documents, labels[0])
    return _matrix(form, source, documents, labels)


def _matrix(form: str, source: Source, documents: Documents, labels: Sequence[str]) -> Any:
    import numpy as np

    from cofactor.targets.sets import Named

    if form == "columns":
        return Named(np.array([list(map(switch, one)) for one in documents.said or []]), [*labels])
    columns = [numbers(source, documents, name, place) for place, name in enumerate(labels)]
    return Named(np.column_stack(columns), [*labels])
