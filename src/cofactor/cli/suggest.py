"""`cofactor suggest`: which texts to label next, and which labels look wrong."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from cofactor.cli import _models as models
from cofactor.cli import _options as opt
from cofactor.cli._command import Command, refusals
from cofactor.cli._tables import Reading
from cofactor.cli._terminal import (
    announce,
    emit,
    note,
    note_next,
    opened_output,
    refuse_overwriting,
    refuse_table_as_output,
    rounded,
)
from cofactor.io.errors import at
from cofactor.io.platform import is_descriptor
from cofactor.io.tables import InputError, open_source
from cofactor.io.tables.labels import one_cell
from cofactor.io.tables.writers import KEEPS_LISTS, free_name, make_writer, output_kind

DOUBTFUL = "doubtful label"


@click.command(cls=Command)
@opt.model_argument
@opt.table_argument
@opt.option("-n --number", "Number of texts.", type=opt.COUNT, default=50)
@opt.file_option(
    "File to write: .csv, .tsv or .jsonl, also compressed (.gz), .parquet or .xlsx.  [default: CSV "
    "on stdout]"
)
@opt.option("--doubtful", "List labels that look wrong instead.", is_flag=True)
@opt.option(
    "--strategy",
    "Which texts: close calls, the first texts of topics without a label, random ones, or a "
    "mixture.",
    type=click.Choice(["mixed", "close", "topics", "random"]),
    default="mixed",
)
@opt.option("--all-rows", "Write all rows of the table, those to look at first.", is_flag=True)
@opt.option("--seed", "Seed of the random choice.  [default: that of the fit]", type=opt.SEED)
@opt.add(opt.reading("text", "labels", "label_separator"), opt.MODEL_ENCODER, "as_json")
def suggest(
    model: Path,
    table: Path,
    number: int,
    output: Path | None,
    force: bool,
    doubtful: bool,
    strategy: str,
    all_rows: bool,
    seed: int | None,
    asked: opt.TableOptions,
    vectors: opt.EncoderOptions,
    as_json: bool,
) -> None:
    """Show which texts to label next, or which labels look wrong.

    The output has the rows of the table, the label column to fill in or to correct, and the columns
    reason, prediction and confidence. A reason is close call (a doubtful prediction), typical of
    many, first of its topic (the topic has no label), random check or doubtful label. Labelled
    texts and near-duplicates are not suggested.

    With --doubtful, the prediction is the class that looks right, according to models that have not
    seen the label.

    With --all-rows, the output holds the whole table and can be fitted again: fill in the labels,
    then give the file to cofactor fit.
    """
    kind = output_kind(output) if output else "jsonl" if as_json else "csv"
    refuse_table_as_output(output, table)
    refuse_overwriting(output, force)
    if is_descriptor(os.path.abspath(table)):
        raise InputError(f"{at(table)} can be read only once; save the table to a file first.")
    opened = models.open_model(model, vectors)
    with announce("Reading the documents"):
        read = models.read_again(opened, table, asked, may_lack=not doubtful)
    with announce("Comparing labels" if doubtful else "Choosing texts"), refusals():
        found = (
            _doubts(opened, read)[:number]
            if doubtful
            else _texts(opened, read, number, strategy, seed)
        )
    asked = asked.over(opt.TableOptions.noted(opened.input))
    source = open_source(table, **models.how_to_open(opened, table, asked.opening))
    label = list(asked.labels) or ["label"]
    said = {read.documents.rows[place]: cells for place, cells in found}
    rows = _Rows(said, label, asked.label_separator, all_rows)
    with opened_output(output) as file:
        rows.write(file, kind, source)
    _tell(opened, found, output, all_rows, doubtful, as_json)
    if found and not output:
        note_next(*models.command_line()[1:], "--all-rows", "-o", "label_me.csv")
    elif found and all_rows:
        known = opened.model.fitted.encoder
        encoder = ["--encoder", vectors.encoder or known.name] if known else []
        words = replace(asked, labels=tuple(label)).words()
        note_next("fit", output, *words, *encoder, "-o", f"{model}-2")


def _texts(
    opened: models.OpenedModel, read: Reading, number: int, strategy: str, seed: int | None
) -> list[tuple[int, dict[str, Any]]]:
    """Return the indices of texts to label, and the cells to add to each."""
    rows = opened.model.to_label(
        read.documents.texts, number, strategy=strategy, y=read.y, random_state=seed
    )
    return [
        (row.document, _cells(row.reason, row.prediction, row.confidence, topic=row.name))
        for row in rows
    ]


def _doubts(opened: models.OpenedModel, read: Reading) -> list[tuple[int, dict[str, Any]]]:
    """Return the indices of doubtful labels, and the cells to add to each."""
    if read.facts["task"] != "classes":
        raise InputError(
            "--doubtful needs labels that are classes; name their column with --label, or leave "
            "--doubtful out."
        )
    rows = opened.model.doubtful_labels(read.documents.texts, read.y)
    return [
        (
            row.document,
            _cells(
                DOUBTFUL, row.suggestion, row.probability, label_probability=row.label_probability
            ),
        )
        for row in rows
    ]


def _cells(reason: str, prediction: Any, confidence: Any, **more: Any) -> dict[str, Any]:
    return {"reason": reason, "prediction": prediction, "confidence": confidence, **more}


@dataclass(frozen=True)
class _Rows:
    """The rows to write: those found, then all others if the user wants them."""

    said: dict[int, dict[str, Any]]  # the cells to add, by the numbers of the rows
    labels: list[str]
    separator: str | None
    all_rows: bool

    def write(self, file: Any, kind: str, source: Any) -> None:
        """Write the rows in their order."""
        kept, others = {}, []
        for number, cells in source.rows:
            if number in self.said:
                kept[number] = cells
            elif self.all_rows:
                others.append(cells)
        lacking = [name for name in self.labels if name not in source.columns]
        names = list(next(iter(self.said.values()), {"reason": None}))
        taken = [*source.columns, *lacking]
        added = [free_name(name, taken) for name in names]
        like = source.path if source.kind == "parquet" else None
        with make_writer(file, kind, source.columns, [*lacking, *added], like=like) as writer:
            for number, said in self.said.items():
                cells = [self._cell(cell, kind) for cell in said.values()]
                writer.write(kept[number], [*[None] * len(lacking), *cells])
            for row in others:
                writer.write(row, [None] * (len(lacking) + len(added)))

    def _cell(self, cell: Any, kind: str) -> Any:
        if isinstance(cell, float):
            return rounded(cell)
        lists = kind in KEEPS_LISTS and not self.separator
        return cell if lists else one_cell(cell, self.separator)


def _tell(
    opened: models.OpenedModel,
    found: list[tuple[int, dict[str, Any]]],
    output: Path | None,
    all_rows: bool,
    doubtful: bool,
    as_json: bool,
) -> None:
    reasons = Counter(str(cells["reason"]) for _, cells in found)
    shown = ", ".join(f"{count} × {reason}" for reason, count in reasons.items())
    where = f" to {output}" if output else ""
    rows = f"{len(found):,} {'row' if len(found) == 1 else 'rows'}"
    told = f"all rows{where}, {rows} to look at first" if all_rows else f"{rows}{where}"
    note(f"Wrote {told}{f': {shown}' if shown else ''}.")
    if not found:
        note(
            "No label looks wrong."
            if doubtful
            else "All texts are labelled; --doubtful lists labels that look wrong."
        )
    if as_json and output:
        emit(
            {
                "model": opened.origin(),
                "output": str(output),
                "rows": len(found),
                "reasons": dict(reasons),
            }
        )
