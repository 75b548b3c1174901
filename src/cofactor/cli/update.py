"""`cofactor update`: lets a model learn from new documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from cofactor.cli import _models as models
from cofactor.cli import _options as opt
from cofactor.cli._command import Command
from cofactor.cli._tables import Reading, read_table
from cofactor.cli._terminal import (
    announce,
    emit,
    make_table,
    note,
    note_each,
    note_next,
    show,
    shown,
)
from cofactor.errors import Parameter
from cofactor.io.errors import printable
from cofactor.io.tables.label_advice import probable_merges

FACTS_OF_THE_FIT = ("id", "date", "date_format")
"""What later commands take from the fit, unless they are told otherwise."""
MAX_LISTED_WORDS = 8


class _NewTopics(opt.Number):
    """A number of topics, or the word auto."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        return value if value == "auto" else super().convert(value, param, ctx)


@click.command(cls=Command)
@opt.model_argument
@opt.table_argument
@opt.folder_option("Folder for the new model; a model that is there is replaced.")
@opt.add(opt.reading("text", "labels", "label_separator", "relabel"))
@opt.option(
    "--new-topics N|auto",
    "Number of topics to add; 'auto' adds topics as long as they improve the model.",
    type=_NewTopics(int, 0),
    default="0",
)
@opt.option(
    "--move M",
    "How far topics may move: each keeps a cosine of at least 1 - M with its old self.",
    type=opt.Number(float, 0, 1),
    default=0.0,
)
@opt.add(opt.MODEL_ENCODER, "as_json")
def update(
    model: Path,
    table: Path,
    output: Path,
    asked: opt.TableOptions,
    new_topics: int | str,
    move: float,
    vectors: opt.EncoderOptions,
    as_json: bool,
) -> None:
    """Learn from new documents without the old ones.

    TABLE holds the new documents only. Texts and labels are in the same columns as in the fit,
    unless --text and --label name others; the labels may be missing. Topics stay as they are. New
    words join the words of the model, and new classes its classes.
    """
    models.check_new_place(output, model)
    opened = models.open_model(model, vectors)
    read = _read(opened, table, asked)
    labelled = f", {read.facts['labelled']:,} labelled" if read.facts["label"] else ""
    note(f"{read.facts['rows']:,} new documents{labelled}.")
    doubts = [*_missing_labels(opened, read), *_misspelt(opened, read)]
    note_each(doubts)
    new, said = _learn(opened, read, new_topics, move)
    kept = {name: opened.input[name] for name in FACTS_OF_THE_FIT if opened.input.get(name)}
    found = {**read.facts, **kept, "path": models.relative(read.facts["path"], output)}
    notes = {
        "input": found,
        "command": models.command_line(),
        "warnings": [*doubts, *said],
        "updated": opened.origin(),
    }
    wrote = models.saved_model(new, output, notes)
    facts = _facts(opened, new, output, said)
    if as_json:
        emit(facts)
        return
    _show(new.drift_)
    for sentence in (*_ending(facts), wrote):
        note(sentence)
    note_next("topics", output)


def _missing_labels(opened: models.OpenedModel, read: Reading) -> list[str]:
    """Say that no label is learned, if the table lacks the columns of the fit."""
    columns = opened.input.get("label")
    if read.facts["label"] or not columns:
        return []
    named = ", ".join(map(repr, [columns] if isinstance(columns, str) else columns))
    return [
        f"The table has no label column {named}, so no label is learned; name one with --label."
    ]


def _misspelt(opened: models.OpenedModel, read: Reading) -> list[str]:
    """Name new classes that are probably classes of the model in another spelling."""
    if read.counts.form not in ("classes", "sets"):
        return []
    known, classes = list(map(str, opened.model.target_names_)), read.counts.classes
    new = {name: number for name, number in classes.items() if name not in known}
    large = dict.fromkeys(known, 1000 * classes.total())
    pairs = {old: one for old, one in probable_merges({**large, **new}).items() if old in new}
    return [
        f"The class {printable(old)!r} is new, and probably {printable(one)!r} of the model in "
        "another spelling; "
        f"{Parameter('relabel', {old: one}).as_option('--relabel')} merges them."
        for old, one in pairs.items()
        if one in known
    ]


def _read(opened: models.OpenedModel, table: Path, asked: opt.TableOptions) -> Reading:
    """Read the new documents like those of the fit, unless options say otherwise."""
    noted = replace(opt.TableOptions.noted(opened.input), id=None, keep=(), date=None)
    opening, labels = models.how_to_open(opened, table, asked.opening), asked.labels
    task = opened.learned
    task = "auto" if labels and task == "none" else task  # so that labels are refused, not ignored
    with announce("Reading the documents"):
        wanted = replace(asked.over(noted), opening=opening)
        return read_table(table, wanted, may_lack=not labels, task=task)


def _learn(
    opened: models.OpenedModel, read: Reading, new_topics: int | str, move: float
) -> tuple[Any, list[str]]:
    """Update the model; return the new one and the warnings, which are shown."""
    with models.watched_fit("Learning from the documents") as watched:
        model = opened.model.set_callbacks(watched.reporter())
        new = model.update(read.documents.texts, read.y, new_topics=new_topics, move=move)
    return new, watched.messages


def _facts(opened: models.OpenedModel, new: Any, output: Path, said: list[str]) -> dict[str, Any]:
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
    named = f": {', '.join(words[:MAX_LISTED_WORDS])}" if words else ""
    yield f"{len(words):,} new words{named}{', ...' if len(words) > MAX_LISTED_WORDS else '.'}"
    yield f"{len(topics):,} new topics{': ' + '; '.join(topics) if topics else ''}."
    if classes:
        yield f"{len(classes):,} new classes: {', '.join(map(str, classes))}."
