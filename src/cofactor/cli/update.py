"""`cofactor update`: lets a model learn from new documents."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from cofactor.cli._shared.command import (
    MODEL,
    OUTPUT,
    TABLE,
    Command,
    Number,
    in_options,
    json_option,
    table_options,
)
from cofactor.cli._shared.fits import check_new_place, command_line, saved_model
from cofactor.cli._shared.models import Opened, how_to_open, open_model, refusals, relative
from cofactor.cli._shared.table_options import TableOptions
from cofactor.cli._shared.tables import Reading, read_table
from cofactor.cli._shared.terminal import announce, emit, make_table, note, show, shown
from cofactor.io.errors import printable
from cofactor.io.tables.relabel import Relabels, read_relabels, relabel_command
from cofactor.io.tables.spelling import probable_merges

KEPT = ("id", "date", "date_format")
"""What later commands take from the fit, unless they are told otherwise."""
LISTED = 8
"""Number of new words that are named."""


class _NewTopics(Number):
    """A number of topics, or the word auto."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        return value if value == "auto" else super().convert(value, param, ctx)


@click.command(cls=Command)
@click.argument("model", type=MODEL)
@click.argument("table", type=TABLE)
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    required=True,
    metavar="FOLDER",
    help="Folder for the new model; a model that is there is replaced.",
)
@table_options("text", "labels", "label_separator")
@click.option(
    "--relabel",
    metavar="OLD=NEW",
    multiple=True,
    help="New name of a label, like Sprot=Sport. May be repeated.",
)
@click.option(
    "--new-topics",
    type=_NewTopics(int, 0),
    default="0",
    metavar="N|auto",
    help="Number of topics to add; auto adds topics as long as they pay.",
)
@click.option(
    "--move",
    type=Number(float, 0, 1),
    default=0.0,
    metavar="M",
    help="How far topics may move: each keeps a cosine of at least 1 - M with its old self.",
)
@json_option
def update(
    model: Path,
    table: Path,
    output: Path,
    text: str | None,
    labels: tuple[str, ...],
    label_separator: str | None,
    relabel: tuple[str, ...],
    opening: dict[str, Any],
    new_topics: int | str,
    move: float,
    as_json: bool,
) -> None:
    """Learn from new documents without the old ones.

    TABLE holds the new documents only. Texts and labels are in the same columns as in the fit,
    unless --text and --label name others; the labels may be missing. Topics stay as they are. New
    words join the words of the model, and new classes its classes.
    """
    check_new_place(output, model)
    opened = open_model(model)
    reading = _read(opened, table, text, labels, label_separator, read_relabels(relabel), opening)
    labelled = f", {reading.facts['labelled']:,} labelled" if reading.facts["label"] else ""
    note(f"{reading.facts['rows']:,} new documents{labelled}.")
    doubts = [*_missing_labels(opened, reading), *_misspelt(opened, reading)]
    for sentence in doubts:
        note(f"Note: {sentence}")
    new, said = _learn(opened, reading, new_topics, move)
    kept = {name: opened.input[name] for name in KEPT if opened.input.get(name)}
    found = {**reading.facts, **kept, "path": relative(reading.facts["path"], output)}
    notes = {
        "input": found,
        "command": command_line(),
        "warnings": [*doubts, *said],
        "updated": opened.origin(),
    }
    wrote = saved_model(new, output, notes)
    facts = _facts(opened, new, output, said)
    if as_json:
        emit(facts)
        return
    _show(new.drift_)
    for sentence in (*_ending(facts), wrote):
        note(sentence)
    note(f"Next: cofactor topics {shlex.quote(facts['model'])}")


def _missing_labels(opened: Opened, reading: Reading) -> list[str]:
    """Say that no label is learned, if the table lacks the columns of the fit."""
    columns = opened.input.get("label")
    if reading.facts["label"] or not columns:
        return []
    named = ", ".join(map(repr, [columns] if isinstance(columns, str) else columns))
    return [f"The table has no label column {named}, so no label is learned; name one by --label."]


def _misspelt(opened: Opened, reading: Reading) -> list[str]:
    """Name new classes that are probably classes of the model in another spelling."""
    if reading.counts.form not in ("classes", "sets"):
        return []
    known, classes = list(map(str, opened.model.target_names_)), reading.counts.classes
    new = {name: number for name, number in classes.items() if name not in known}
    large = dict.fromkeys(known, 1000 * classes.total())
    pairs = {old: one for old, one in probable_merges({**large, **new}).items() if old in new}
    return [
        f"The class {printable(old)!r} is new, and probably {printable(one)!r} of the model in "
        f"another spelling; {relabel_command({old: one})} merges them."
        for old, one in pairs.items()
        if one in known
    ]


def _read(
    opened: Opened,
    table: Path,
    text: str | None,
    labels: tuple[str, ...],
    label_separator: str | None,
    relabel: Relabels,
    opening: dict[str, Any],
) -> Reading:
    """Read the new documents like those of the fit, unless options say otherwise."""
    noted = replace(TableOptions.noted(opened.input), id=None, keep=(), date=None)
    asked = replace(
        noted,
        text=text or noted.text,
        labels=labels or noted.labels,
        label_separator=label_separator or noted.label_separator,
        relabel=Relabels({**noted.relabel, **relabel}),
        opening=how_to_open(opened, table, opening),
    )
    task = opened.input.get("labels_are") or opened.input.get("task", "auto")
    task = "auto" if labels and task == "none" else task  # so that labels are refused, not ignored
    with announce("Reading the documents"):
        return read_table(table, asked, may_lack=not labels, task=task)


def _learn(
    opened: Opened, reading: Reading, new_topics: int | str, move: float
) -> tuple[Any, list[str]]:
    """Update the model; return the new one and the warnings, which are shown."""
    from cofactor.callbacks import ReportIterations

    with (
        announce("Learning from the documents") as progress,
        warnings.catch_warnings(record=True) as caught,
        refusals(),
    ):
        warnings.simplefilter("always")
        opened.model.set_callbacks(ReportIterations(lambda done: progress(f"iteration {done}")))
        new = opened.model.update(
            reading.documents.texts, reading.y, new_topics=new_topics, move=move
        )
    said = [*dict.fromkeys(in_options(one.message) for one in caught)]
    for sentence in said:
        note(f"Note: {sentence}")
    return new, said


def _facts(opened: Opened, new: Any, output: Path, said: list[str]) -> dict[str, Any]:
    from cofactor.text.describe.summaries import model_words

    old = opened.model
    known = set(map(str, old.target_names_))
    return {
        "model": str(output),
        "updated": opened.origin(),
        "new_words": list(map(str, model_words(new)[len(model_words(old)) :])),
        "new_topics": new.topic_names_[len(old.topic_names_) :],
        "new_classes": [name for name in new.target_names_ if str(name) not in known],
        "drift": new.drift_.to_records(),
        "warnings": said,
    }


def _show(drift: Any) -> None:
    table = make_table(
        "Topic",
        "Name",
        "Similar",
        "Documents",
        "Came",
        "Went",
        "New words",
        numbers=("Topic", "Similar", "Documents", "Came", "Went"),
    )
    for row in drift:
        similar = "new" if row.similarity is None else f"{row.similarity:.3f}"
        counts = (f"{number:,}" for number in (row.documents, row.came, row.went))
        table.add_row(
            str(row.topic), shown(row.name), similar, *counts, shown(" ".join(row.gained), 400)
        )
    show(table)


def _ending(facts: dict[str, Any]) -> Iterator[str]:
    """Say what is new."""
    words, topics, classes = (facts[f"new_{name}"] for name in ("words", "topics", "classes"))
    named = f": {', '.join(words[:LISTED])}" if words else ""
    yield f"{len(words):,} new words{named}{', ...' if len(words) > LISTED else '.'}"
    yield f"{len(topics):,} new topics{': ' + '; '.join(topics) if topics else ''}."
    if classes:
        yield f"{len(classes):,} new classes: {', '.join(map(str, classes))}."
