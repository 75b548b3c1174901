"""Reads tables for commands: documents, targets, doubts about them, and notes for a manifest.

`read_table` reads a whole table; `open_blocks` opens a folder that `cofactor blocks` wrote.
`label_form` of `cofactor.io.tables.labels` says what labels look like, `settle_form` combines that
with the user's --task, and `targets_of` returns what `TopicModel.fit` takes.
"""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cofactor.cli._command import BadInput, given_options, message_of, refusals
from cofactor.cli._options import CELL_OPTIONS, TableOptions
from cofactor.cli._terminal import note, note_each
from cofactor.io.errors import suggestion
from cofactor.io.tables import Documents, InputError, Source, open_source, read_documents
from cofactor.io.tables.dates import Dates, read_dates
from cofactor.io.tables.label_advice import (
    half_numbers,
    label_notes,
    names,
    numbers_beside_marks,
    refusal,
    unlabelled_notes,
)
from cofactor.io.tables.labels import (
    LabelCounts,
    as_text,
    join_columns,
    label_columns,
    label_numbers,
    read_switch,
    settle_counts,
    text_column,
    without_labels,
)

if TYPE_CHECKING:
    from cofactor.cli._parts import PartsReading
    from cofactor.text.word_blocks import WordBlocks


@dataclass
class Reading:
    """The documents of a table, and how it was read.

    Parameters
    ----------
    documents : Documents
    y : object
        Targets, as `TopicModel.fit` takes them.
    facts : dict
        How the table was read, for a manifest.
    truth : object, optional
        Labels to test the model with, which the fit does not see.
    """

    documents: Documents
    y: Any
    facts: dict[str, Any]
    truth: Any = None
    counts: LabelCounts = field(default_factory=lambda: LabelCounts([]))  # of the labels that count
    ids: list[str] | None = None  # names of the documents
    dates: Dates | None = None
    kept: dict[str, list[Any]] = field(default_factory=dict)  # columns to carry along
    notes: list[str] = field(default_factory=list)  # sentences that the user should see
    places = ("path",)  # the facts that are paths

    @property
    def numbers(self) -> list[int | str]:
        """What documents are called in outputs: their names, or the numbers of their rows."""
        rows = self.documents.rows
        if self.ids is None:
            return [*rows]
        return [name or f"row {row}" for name, row in zip(self.ids, rows, strict=True)]

    @property
    def labels(self) -> list[tuple[str, ...]]:
        """The labels of each document as they are written; empty where there are none."""
        cells = self.documents.label_cells or [()] * len(self.documents.texts)
        return [tuple(join_columns(one) or ()) if one else () for one in cells]

    def fit(self, model: Any, **how: Any) -> None:
        """Fit a model to the documents; ``how`` goes to `TopicModel.fit`."""
        model.fit(self.documents.texts, self.y, **how)

    def refit(self, model: Any, iterations: int | None) -> Any:
        """Return the model whose fit on the documents goes on from the topics of ``model``."""
        if model.task == "topics" and self.facts["task"] != "topics":  # labels are new to it
            model.set_params(task=self.facts["task"])
        return model.refit(self.documents.texts, self.y, iterations=iterations)

    @property
    def classes(self) -> list[Any]:
        """The class of each document, or its set of labels; None or "" if it is unlabelled."""
        if self.facts["task"] != "classes":
            return [None] * len(self.documents.texts)
        return self.y.sets() if self.facts["labels_are"] == "columns" else self.y


def read_table(
    path: Path,
    asked: TableOptions,
    *,
    task: str = "auto",
    truth: Sequence[str] = (),
    may_lack: bool = False,
    only: Collection[int] | None = None,
) -> Reading:
    """Read documents, labels and test labels in one pass.

    Parameters
    ----------
    path : Path
    asked : TableOptions
    task : str
        As the option of `cofactor fit`.
    truth : sequence of str
        Columns of labels to test with.
    may_lack : bool
        Leave out label columns that the table does not have; without test labels, the table may
        have no labels at all.
    only : collection of int, optional
        Indices of the rows to read; all rows by default.
    """
    source = open_table(path, **asked.opening)
    if only is not None:
        source.rows = (row for place, row in enumerate(source.rows) if place in only)
    asked = find_columns(source, asked, may_lack)
    for name in truth:
        source.place(name, "truth")
    both = read_documents(
        source,
        asked.text or "",
        (*asked.labels, *truth),
        asked.unlabelled,
        asked.label_separator,
        relabel=asked.relabel,
        further=further_columns(asked),
    )
    documents, hidden = _split_labels(both, len(asked.labels))
    count = partial(_count, documents, asked, len(asked.labels))
    count_tested = partial(_count, hidden, asked, len(truth))
    settled = settle_labels(
        asked,
        count if asked.labels else count_tested,
        task,
        tested=count_tested if asked.labels and truth else None,
        may_lack=may_lack and not truth,
    )
    asked, form = settled.asked, settled.form
    _drop(documents, {*settled.unlabelled, *settled.rare})
    _drop(hidden, {*settled.unlabelled})
    facts = {
        **source.facts(),
        **asked.facts(),
        "labels_are": form,
        "task": TASKS[form],
        "rows": len(documents.texts),
        "labelled": sum(map(any, documents.label_cells or [])),
    }
    y, tested = (
        targets_of(form, source, one, columns) if columns else None
        for one, columns in ((documents, asked.labels), (hidden, truth))
    )
    reading = Reading(documents, y, facts, tested, settled.counts, notes=settled.notes)
    name_documents(reading, source, asked)
    return reading


def find_columns(source: Source, asked: TableOptions, may_lack: bool = False) -> TableOptions:
    """Return the options with the columns of a table; refuse those that it does not have."""
    labels: Sequence[str] = asked.labels
    if may_lack:
        labels = [name for name in labels if name in source.columns]
    text = text_column(source, asked.text)
    return replace(asked, text=text, labels=label_columns(source, labels, text))


def further_columns(asked: TableOptions) -> dict[str, str]:
    """Return the columns to read besides text and labels, each with the field that names it."""
    found = dict.fromkeys(asked.keep, "keep")
    found |= {asked.date: "date"} if asked.date else {}
    return found | ({asked.id: "id"} if asked.id else {})


def _count(
    documents: Documents, asked: TableOptions, columns: int, dropped: frozenset[str]
) -> LabelCounts:
    counts = LabelCounts.begin(columns, several=bool(asked.label_separator))
    for cells in documents.label_cells or []:
        counts.add(without_labels(cells, dropped) if dropped else cells)
    return counts


def _drop(documents: Documents, labels: Collection[str]) -> None:
    if labels and documents.label_cells is not None:
        documents.label_cells = [without_labels(one, labels) for one in documents.label_cells]


def unused_relabels(asked: TableOptions, counts: LabelCounts) -> Iterator[str]:
    """Say which old names of --relabel no label has: they are misspelt, or not there."""
    if lost := asked.relabel.unmet:
        close = f" {suggestion(lost[0], counts.labels)}" if len(lost) == 1 else ""
        yield f"--relabel renames {names(lost)}, but no label has such a name.{close}"


def left_out(rare: list[str], fewest: int) -> str:
    """Say which classes --min-labels leaves out."""
    return (
        f"{names(rare)} {'has' if len(rare) == 1 else 'have'} fewer than {fewest} labels; their "
        "documents count as unlabelled."
    )


def name_documents(found: Reading, source: Source, asked: TableOptions) -> None:
    """Set names, dates and kept columns of the documents, and say what is odd about them."""
    rows, further = found.documents.rows, found.documents.further
    found.kept = {name: further[name] for name in asked.keep}
    if asked.id is not None:
        pairs = zip(rows, further[asked.id], strict=True)
        found.ids = [as_text(source, row, asked.id, cell) for row, cell in pairs]
        found.notes += _on_ids(asked.id, found.ids)
    if asked.date is not None:
        cells = zip(rows, further[asked.date], strict=True)
        found.dates = read_dates(source.path, asked.date, cells, asked.date_format)
        found.facts["date_format"] = found.dates.format
        found.facts["dates"] = found.dates.facts()
        found.notes += _on_dates(asked.date, found.dates)


def _on_ids(column: str, ids: Sequence[str]) -> Iterator[str]:
    """Say which names of documents are empty or repeated."""
    counts = Counter(ids)
    if empty := counts.pop("", 0):
        yield f"{empty:,} cells of --id {column!r} are empty; rows tell those documents apart."
    if twice := [name for name, count in counts.items() if count > 1]:
        yield f"--id {column!r} does not tell all documents apart: {names(twice)} occur repeatedly."


def _on_dates(column: str, dates: Dates) -> Iterator[str]:
    """Say how many documents have no date."""
    if missing := len(dates.values) - len(dates.known):
        yield f"{missing:,} of {len(dates.values):,} cells of --date {column!r} are empty."


def open_table(path: Path, **opening: Any) -> Source:
    """Open a table, and tell the user what was left out of it."""
    source = open_source(path, **opening)
    note_each(map(message_of, source.notes))
    return source


def _split_labels(both: Documents, columns: int) -> tuple[Documents, Documents]:
    """Return the documents with the first label columns only, and with the others only."""
    cells = both.label_cells or []
    parts = [one[:columns] for one in cells], [one[columns:] for one in cells]
    first, second = (replace(both, label_cells=part) for part in parts)
    return (first if columns else replace(both, label_cells=None)), second


# ---- what to learn from labels

TASKS = {"none": "topics", "numbers": "numbers"} | dict.fromkeys(
    ("classes", "sets", "columns"), "classes"
)
"""The task of a model that learns from labels of a form."""


class NoLabelsError(InputError):
    """A model is to learn from labels, but there are none."""


def settle_form(counts: LabelCounts, asked: str) -> str:
    """Return the form of the targets.

    Parameters
    ----------
    counts : LabelCounts
        The labels of the table.
    asked : str
        The user's --task, or the form that an earlier fit noted.
    """
    form = counts.form
    if form == "none" and asked in ("classes", "numbers"):
        raise NoLabelsError(
            f"--task {asked} needs labels, but there are none; name their column with --label"
            f"{', or name the classes with --classes' if asked == 'classes' else ''}."
        )
    if asked in ("topics", "none") or form == "none":
        return "none"
    if asked in ("numbers", "sets", "columns"):
        return asked
    if form == "numbers" and asked == "classes":
        form = "classes" if len(counts.columns) == 1 else "sets"
    # Sets of a single label would become a matrix of one column.
    return "classes" if form == "sets" and len(counts.labels) < 2 else form


@dataclass(frozen=True)
class SettledLabels:
    """What was decided about the labels of a table."""

    asked: TableOptions  # with the labels that do not count in this table
    counts: LabelCounts  # without them
    form: str
    unlabelled: list[str]  # labels that mean "unlabelled"
    rare: list[str]  # classes with fewer labels than --min-labels
    notes: list[str]


def settle_labels(
    asked: TableOptions,
    count: Callable[[frozenset[str]], LabelCounts],
    task: str,
    *,
    tested: Callable[[frozenset[str]], LabelCounts] | None = None,
    may_lack: bool = False,
) -> SettledLabels:
    """Decide which labels of a table count, and their form.

    ``count`` and ``tested`` count the labels, and those to test with, as for `settle_counts`.
    With ``may_lack``, the table may have no labels.
    """

    def form_if_any(counts: LabelCounts) -> str:
        return "none" if counts.form == "none" else settle_form(counts, task)

    form_of = form_if_any if may_lack else partial(settle_form, asked=task)
    found = settle_counts(count, form_of, asked.min_labels if asked.labels else 0)
    further = settle_counts(tested, form_if_any).unlabelled if tested else {}
    unlabelled = found.unlabelled | further
    notes = [*unused_relabels(asked, found.before)]
    notes += map(message_of, unlabelled_notes(unlabelled))
    notes += [left_out(found.rare, asked.min_labels)] if found.rare else []
    asked = replace(asked, unlabelled=(*asked.unlabelled, *unlabelled, *found.rare))
    return SettledLabels(asked, found.counts, found.form, [*unlabelled], found.rare, notes)


def settle_task(model: Any, task: str, *, asked: bool = False) -> None:
    """Set the task that the labels of a table stand for.

    Unless the user asked for classes, they stay inferred: task="classes" would make seeds classes.
    """
    if asked or model.task != "auto" or not model.seeds or task != "classes":
        model.set_params(task=task)


def count_classes(counts: LabelCounts, form: str) -> int:
    """Return the number of classes or labels that targets of a form have."""
    known = {"none": 0, "numbers": 0, "columns": len(counts.columns)}
    return known.get(form, len(counts.labels))


def classes_of(reading: Any) -> int:
    """Return the number of classes of a table, of its parts, or of blocks."""
    if isinstance(reading, BlockReading):
        return int(reading.facts.get("classes") or 0)
    return count_classes(reading.counts, reading.facts["labels_are"])


def targets_of(
    form: str,
    source: Source,
    documents: Documents,
    columns: Sequence[str],
    counts: LabelCounts | None = None,
) -> Any:
    """Return the labels of documents as `TopicModel.fit` takes them.

    ``counts`` are the labels of the whole table, if these are only some of its documents.
    """
    cells = documents.label_cells or []
    if form == "none":
        return None
    if form == "classes":
        return [next(iter(join_columns(one) or ("",))) for one in cells]
    if form == "sets":
        return [join_columns(one) for one in cells]
    if form == "numbers":
        styles = [None] * len(columns) if counts is None else counts.styles
        values = [
            label_numbers(source, documents, name, place, style)
            for place, (name, style) in enumerate(zip(columns, styles, strict=True))
        ]
        return values[0] if len(columns) == 1 else _matrix([*zip(*values, strict=True)], columns)
    return _matrix([[*map(read_switch, one)] for one in cells], columns)


def _matrix(rows: list[Any], columns: Sequence[str]) -> Any:
    import numpy as np

    from cofactor.targets.reading import NamedMatrix

    return NamedMatrix(np.array(rows, dtype=float), [*columns])


# ---- doubts about a table

_FORMS = {
    "sets": " with any number of labels",
    "columns": " with yes or no in each column",
    "numbers": " with numbers",
}


def summary(reading: Reading | BlockReading | PartsReading) -> str:
    """Return a sentence about the documents and their labels."""
    facts = reading.facts
    how = [facts["format"]] + ([facts["encoding"]] if facts["encoding"] else [])
    labels = f"{facts['labelled']:,} labelled{_FORMS.get(facts['labels_are'], '')}"
    labels = labels if facts["label"] else "no label column"
    return f"{facts['rows']:,} documents ({', '.join(how)}), {labels}."


def label_doubts(reading: Reading | PartsReading, task: str) -> list[str]:
    """Return what is doubtful about the labels of a table before a fit.

    Reject columns that do not look like labels, unless --task overrides.
    """
    facts, found = reading.facts, [*reading.notes]
    if facts["label"] is None or (facts["format"] == "folder" and not facts["labelled"]):
        return found
    if task == "auto" and (reason := refusal(reading.counts)):
        half = half_numbers(reading.counts.columns[0])
        how = " --unlabelled VALUE counts a label as unlabelled." if half else ""
        raise BadInput(
            f"{reason}{how} Name the right column with --label, or insist with --task classes or "
            "--task numbers."
        )
    if task == "auto" and (unknown := numbers_beside_marks(reading.counts)):
        words = " ".join(word for one in unknown for word in ("--unlabelled", shlex.quote(one)))
        raise BadInput(
            f"The labels are numbers, except for {names(unknown)}: if that means not labelled, add "
            f"{words}; --task classes predicts classes."
        )
    fewest, form = facts["min_labels"] or 0, facts["labels_are"]
    notes = label_notes(reading.counts, fewest, form, fitted=True)
    return [*found, *map(message_of, notes)]


# ---- the language of texts


def settle_language(vectorizer: Any, texts: list[str]) -> None:
    """Detect the language of texts for a vectorizer that is to detect it, and tell the user."""
    from cofactor.text.vectorizer.languages import detect_languages

    if vectorizer.language == "auto":
        names = [found.language for found in detect_languages(texts)]
        tell_language(vectorizer, names)
        vectorizer.set_params(language=names or "auto")


def tell_language(vectorizer: Any, names: list[str]) -> None:
    """Say what the detected languages change; nothing if all is as in English texts."""
    if vectorizer.language == vectorizer.stop_words == "auto" and names != ["english"]:
        for sentence in on_languages(names):
            note(sentence)


def on_languages(names: list[str]) -> list[str]:
    """Return sentences about the languages of texts: what is done, and what will not work well."""
    from cofactor.text.vectorizer.languages import FEW_ENDINGS, WITHOUT_SPACES, grammatical_words

    if not names:
        return [
            "The language of the texts was not recognised, so only English grammatical words are "
            "left out; name it with --language of fit, or give words with --stop-words FILE."
        ]
    if len(names) > 1:
        listed = f"{', '.join(names[:-1])} and {names[-1]}".title().replace(" And ", " and ")
        return [
            f"{listed} texts: each text is read by the rules of its language. Grammatical words "
            "are left out (--language none keeps them).",
            "With several languages, topics often follow the languages; if that is not what you "
            "want, fit each language on its own.",
        ]
    first = (
        f"{names[0].title()} texts: {len(grammatical_words(names[0])):,} grammatical words are "
        "left out (--language none keeps them)."
    )
    if names[0] not in FEW_ENDINGS:
        return [first, "The forms of a word count as one (--stem none keeps them apart)."]
    pairs = ["Pairs of neighbouring letters count as words."]
    return [first, *(pairs if names[0] in WITHOUT_SPACES else [])]


# ---- blocks and cells

CELL_ENDINGS = (".h5ad", ".zarr")


def holds_cells(path: Path) -> bool:
    """Return whether a path is named like an AnnData file; refuse options that only cells have."""
    found = path.name.lower().endswith(CELL_ENDINGS)
    for name, option in given_options():
        if name in CELL_OPTIONS and not found:
            raise BadInput(f"{option} needs an .h5ad file or a .zarr folder; leave it out.")
    return found


def holds_blocks(path: Path) -> bool:
    """Return whether a path is a folder of blocks."""
    return path.is_dir() and (path / "blocks.json").is_file()


@dataclass
class BlockReading:
    """Blocks, and how their table was read; the counterpart of `Reading`."""

    blocks: WordBlocks
    facts: dict[str, Any]
    places = ("path", "blocks")  # the facts that are paths

    def for_task(self, task: str) -> BlockReading:
        """Return a copy for a task; refuse a task that the blocks have no targets for."""
        noted = self.facts["task"]
        if task not in ("auto", "topics", noted):
            raise InputError(
                f"--task {task} does not match the blocks, which hold {noted}; write them again "
                f"with cofactor blocks --task {task}."
            )
        return replace(self, facts={**self.facts, "task": noted if task == "auto" else task})

    def fit(self, model: Any, **how: Any) -> None:
        """Fit a model to the blocks, one at a time; ``how`` goes to `TopicModel.fit`."""
        from sklearn.base import clone

        model.set_params(vectorizer=clone(self.blocks.vectorizer))
        model.fit(self.blocks, **how)


def open_blocks(path: Path) -> BlockReading:
    """Open a folder that `cofactor blocks` wrote; paths in the facts become absolute."""
    from cofactor.text.word_blocks import open_word_blocks

    with refusals():
        blocks = open_word_blocks(path)
        table = os.path.abspath(path / str(blocks.facts["path"]))
        facts = {**blocks.facts, "path": table, "blocks": os.path.abspath(path)}
    return BlockReading(blocks, facts)
