"""`cofactor predict`: adds predictions to the rows of a table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from cofactor.cli import _cells
from cofactor.cli import _models as models
from cofactor.cli import _options as opt
from cofactor.cli._command import BadInput, Command, delaying_signals
from cofactor.cli._tables import CELL_ENDINGS, holds_cells, open_table
from cofactor.cli._terminal import (
    announce,
    emit,
    note,
    opened_output,
    refuse_overwriting,
    refuse_table_as_output,
    rounded,
)
from cofactor.io.atomic import replacing
from cofactor.io.errors import at
from cofactor.io.json_text import to_json
from cofactor.io.tables import InputError, Source
from cofactor.io.tables.decoding import batches
from cofactor.io.tables.labels import as_text, one_cell, text_column
from cofactor.io.tables.writers import KEEPS_LISTS, free_name, make_writer, output_kind

BATCH_TEXTS = 4096
MIN_COMPARED_TEXTS, MAX_COMPARED_TEXTS = 20, 1000
"""Numbers of texts that are enough, and are taken, to compare texts with those of the fit."""
MIN_KNOWN_SHARE = 0.7
"""Texts are unlike those of the fit if less than this share of the expected words is known."""


@click.command(cls=Command)
@opt.model_argument
@opt.table_argument
@opt.file_option(
    "File to write: .csv, .tsv or .jsonl, also compressed (.gz), .parquet or .xlsx.  [default: CSV "
    "on stdout]"
)
@opt.add("force", opt.reading("text"))
@opt.option("--all-classes", "Add the probability of every class.", is_flag=True)
@opt.option(
    "--topics",
    "Add number and share of the main topic, and the shares of all topics.",
    is_flag=True,
)
@opt.option("--top N", "Add the N most probable classes with their probabilities.", type=opt.COUNT)
@opt.option(
    "--abstain P",
    "Leave out predictions less probable than P, and those of texts unlike the labelled ones.",
    type=opt.Number(float, 0, 1),
)
@opt.option("--whole", "Round predicted numbers to whole numbers.", is_flag=True)
@opt.add("layer")
@opt.option("--id COLUMN", "Column that names the documents; --keep copies it, too.")
@opt.repeated("--keep COLUMN", "Column to copy to the output.  [default: all columns]")
@opt.option(
    "--keep-formulas", "Do not escape cells that a spreadsheet would run, like =1+1.", is_flag=True
)
@opt.add("encoder_cache", "as_json")
def predict(
    model: Path,
    table: Path,
    output: Path | None,
    asked: opt.TableOptions,
    force: bool,
    id: str | None,
    keep: tuple[str, ...],
    keep_formulas: bool,
    encoder_cache: Path | None,
    as_json: bool,
    layer: str | None,
    **columns: Any,
) -> None:
    """Add prediction, confidence and topic to a table.

    The texts are in the same column as in the fit, unless --text names another. The column reason
    says why a prediction is missing or doubtful: the text has no known word, no label reaches its
    threshold (then the nearest one is given), the prediction is less probable than --abstain, or
    the text is unlike the labelled ones of its class: a class may have no labels. For classes, the
    column unlike has the share of texts of the class that are nearer to its labelled texts.

    Numbers come with the columns low and high in place of a confidence: nine of ten new values lie
    between them, by held-out labels of the fit.

    Several labels stay a list in JSON lines and Parquet; elsewhere the separator of the fit, or a
    semicolon, joins them. In CSV and TSV, cells that a spreadsheet would take for a formula get an
    apostrophe in front. A
    manifest beside the output says how it was made. With --json and without --output, rows are
    printed as JSON lines.

    With a model of single cells, TABLE is an AnnData file; genes are matched by name. FILE may then
    be an .h5ad file: a copy of TABLE with the predictions in obs and the topics in obsm.
    """
    refuse_table_as_output(output, table)
    refuse_overwriting(output, force)
    if holds_cells(table, layer):
        _predict_cells(model, table, output, layer, as_json, columns)
        return
    kind = output_kind(output) if output else "jsonl" if as_json else "csv"
    opened = models.open_model(model, encoder_cache)
    source = open_table(table, **models.how_to_open(opened, table, asked.opening))
    column = _text_column(source, asked.text, opened)
    form = _CellFormat.of(opened, _columns(opened, columns), kind)
    copied = _Copied.of(source, id or _noted_id(source, opened), keep)
    added = _added_names(form, copied.columns)
    if not opened.model.target_names_:
        empty, topic = added[:2], added[2]
        note(
            f"Note: the model was fitted without labels, so the columns {' and '.join(empty)} "
            f"stay empty; only {topic} is filled in."
        )
    with ExitStack() as after, announce("Predicting"), opened_output(output) as file:
        like = source.path if source.kind == "parquet" else None
        with make_writer(file, kind, copied.columns, added, not keep_formulas, like) as writer:
            counts = _write(writer, opened, source, column, copied, form)
        facts = _facts(opened, source, output, column, added, counts)
        if output:  # the manifest takes its place directly after the output
            after.enter_context(delaying_signals())
            manifest = after.enter_context(replacing(f"{output}.manifest.json"))
            manifest.write((to_json(facts, indent=1) + "\n").encode())
    _tell(facts, form, output)
    if as_json and output:
        emit(facts)
    if columns["abstain"] and (expected := opened.model.expected_coverage(columns["abstain"])):
        note(
            f"Expected on new texts like those of the fit: {expected}, from "
            f"{expected.n_samples:,.0f} held-out labels."
        )


def _text_column(source: Source, text: str | None, opened: models.OpenedModel) -> str:
    """Return the text column: the one that --text names, or the one of the fit."""
    noted = opened.input.get("text")
    if text is None and isinstance(noted, str) and source.kind != "folder":
        if noted not in source.columns:
            raise InputError(
                f"The model was fitted on the column {noted!r}, which {at(source.path)} does not "
                f"have; name the text column with --text. There are "
                f"{', '.join(map(repr, source.columns[:12]))}."
            )
        return noted
    return text_column(source, text)


def _columns(opened: models.OpenedModel, asked: dict[str, Any]) -> Any:
    """Return the columns to add; refuse options that need classes if there are none."""
    from cofactor.text.describe.answers import AnswerColumns

    apart = opened.input.get("labels_are") == "columns"
    given = {name: value for name, value in asked.items() if value}
    columns = AnswerColumns.of(opened.model, apart, **given)
    has = {"numbers": "predicts numbers", "topics": "has no labels"}
    for name in (*columns.needs_classes, *columns.needs_numbers):
        needed = "numbers" if name in columns.needs_numbers else "classes"
        raise InputError(
            f"--{name.replace('_', '-')} needs a model that predicts {needed}, but this one "
            f"{has.get(columns.kind, 'predicts classes')}; leave it out."
        )
    return columns


def _noted_id(source: Source, opened: models.OpenedModel) -> str | None:
    """Return the column that named the documents of the fit, if the table has it."""
    noted = opened.input.get("id")
    return noted if isinstance(noted, str) and source.columns.count(noted) == 1 else None


@dataclass(frozen=True)
class _Copied:
    """The columns of the table that are copied: all, or those of --keep after that of --id.

    Rows that have no name are known by their numbers, as `check` counts them.
    """

    columns: list[str]  # that of the source itself, if all are copied: JSON lines may add some
    places: tuple[int, ...] | None = None
    numbered: bool = False

    @classmethod
    def of(cls, source: Source, name: str | None, keep: tuple[str, ...]) -> _Copied:
        first = [] if name is None else [source.place(name, "id")]
        if not keep:
            return cls(source.columns)
        rest = [source.place(one, "keep") for one in keep]
        places = tuple(dict.fromkeys([*first, *rest]))
        names = [source.columns[place] for place in places]
        number = [] if first else [free_name("row", names)]
        return cls([*number, *names], places, numbered=not first)

    def cells(self, number: int, cells: list[Any]) -> list[Any]:
        if self.places is None:
            return cells
        return [*([number] if self.numbered else []), *(cells[place] for place in self.places)]


def _added_names(form: _CellFormat, taken: list[str]) -> list[str]:
    added: list[str] = []
    for name in form.columns.names:
        added.append(free_name(name, [*taken, *added]))
    return added


@dataclass(frozen=True)
class _CellFormat:
    """How cells are written: sets of labels with the separator of the fit, or as lists in JSON;
    numbers and probabilities with the digits that mean something."""

    columns: Any  # AnswerColumns
    separator: str | None = None
    lists: bool = False
    decimals: tuple[int | None, ...] = ()  # of predicted numbers, which come first in a row

    @classmethod
    def of(cls, opened: models.OpenedModel, columns: Any, kind: str) -> _CellFormat:
        from cofactor.text.describe.predictions import number_decimals

        separator = opened.input.get("label_separator")
        decimals: tuple[int | None, ...] = ()
        if columns.kind == "numbers":
            each = len(columns.own_names) // len(columns.targets)  # a number and its bounds
            decimals = tuple(d for d in number_decimals(opened.model) for _ in range(each))
        return cls(columns, separator, kind in KEEPS_LISTS and not separator, decimals)

    def cells(self, answers: Any) -> Iterator[list[Any]]:
        """Yield the cells of each document."""
        from cofactor.text.describe.predictions import round_number

        first = len(self.decimals)
        for row in self.columns.rows(answers):
            pairs = zip(row, self.decimals, strict=False)
            numbers = [
                round_number(cell, places) if isinstance(cell, float) else cell
                for cell, places in pairs
            ]
            yield [*numbers, *(self._cell(cell) for cell in row[first:])]

    def _cell(self, cell: Any) -> Any:
        if isinstance(cell, float):
            return rounded(cell)
        return cell if self.lists else one_cell(cell, self.separator)


def _write(
    writer: Any,
    opened: models.OpenedModel,
    source: Source,
    column: str,
    copied: _Copied,
    form: _CellFormat,
) -> dict[str, Any]:
    """Predict and write batch by batch; return how many rows, blank rows and escaped cells."""
    from cofactor.text.describe.answers import answer_documents

    place, rows = source.place(column, "text"), 0
    reason = form.columns.names.index("reason")
    reasons: Counter[str | None] = Counter()
    likeness: dict[str, Any] = {}
    for batch in batches(source.rows, _length, BATCH_TEXTS):
        texts = [as_text(source, number, column, cells[place]) for number, cells in batch]
        likeness = likeness or _likeness(opened.model.vectorizer_, texts[:MAX_COMPARED_TEXTS])
        answers = form.cells(answer_documents(opened.model, texts))
        for (number, cells), answer in zip(batch, answers, strict=True):
            writer.write(copied.cells(number, cells), answer)
            reasons[answer[reason]] += 1
        rows += len(batch)
    return {"rows": rows, "defused": writer.defused, **_counts(reasons), **likeness}


def _likeness(vectorizer: Any, texts: list[str]) -> dict[str, Any]:
    """Return which share of the words of texts is known, and which share was to be expected."""
    expected = getattr(vectorizer, "known_share_", None)
    if expected is None or len(texts) < MIN_COMPARED_TEXTS:
        return {}
    share = vectorizer.known_share(texts)
    return {"known_words": None if math.isnan(share) else share, "expected_known_words": expected}


def _counts(reasons: Counter[str | None]) -> dict[str, int]:
    from cofactor.text.describe.answers import ABSTAINED, BELOW_THRESHOLD, NO_WORD, UNLIKE

    names = {"blank": NO_WORD, "below": BELOW_THRESHOLD, "abstained": ABSTAINED, "unlike": UNLIKE}
    return {name: reasons[reason] for name, reason in names.items()}


def _length(row: tuple[int, list[Any]]) -> int:
    """Return the characters of a row; every cell counts, since empty ones take memory too."""
    return len(row[1]) + sum(len(cell) for cell in row[1] if isinstance(cell, str))


def _facts(
    opened: models.OpenedModel,
    source: Source,
    output: Path | None,
    column: str,
    added: list[str],
    counts: dict[str, Any],
) -> dict[str, Any]:
    """Return how the output was made."""
    return {
        **models.made_now(),
        "model": opened.origin(),
        "input": {**source.facts(), "path": str(source.path), "text": column},
        "output": str(output) if output else None,
        "added": added,
        **counts,
    }


def _tell(facts: dict[str, Any], form: _CellFormat, output: Path | None) -> None:
    where = f" to {output}" if output else ""
    note(f"Wrote {facts['rows']:,} rows{where}; read as {facts['input']['encoding'] or 'data'}.")
    if facts["blank"]:
        note(
            f"{_rows(facts, 'blank')} no word that the model knows, so nothing is predicted there."
        )
    if facts["below"]:
        note(
            f"{_rows(facts, 'below')} no label that reaches its threshold; the nearest label is "
            "given there, with the reason."
        )
    if facts["abstained"]:
        note(
            f"{_rows(facts, 'abstained')} a prediction that --abstain leaves out, with the reason."
        )
    if facts["unlike"]:
        note(
            f"{_rows(facts, 'unlike')} a text unlike the labelled ones of its class; up to 5 % do "
            "if every class has labels."
        )
    if (known := facts.get("known_words")) is not None and facts["rows"] > facts["blank"]:
        expected = facts["expected_known_words"]
        if known < MIN_KNOWN_SHARE * expected:
            note(
                f"Note: the model knows {known:.0%} of the words of these texts, and would know "
                f"{expected:.0%} if they were like those of its fit; do not trust the "
                "predictions, or fit a model on texts like these."
            )
    if facts["defused"]:
        note(f"{facts['defused']:,} cells look like formulas and got an apostrophe in front.")
    plain = form.columns.names
    renamed = [name for name, wish in zip(facts["added"], plain, strict=True) if name != wish]
    if renamed:
        note(
            f"The table already has columns of these names; the new ones are {', '.join(renamed)}."
        )


def _rows(facts: dict[str, Any], name: str) -> str:
    number = facts[name]
    share = "" if number < 100 else f" ({number / facts['rows']:.0%})"
    return (
        f"{number:,} {'row' if number == 1 else 'rows'}{share} {'has' if number == 1 else 'have'}"
    )


# ---- single cells


def _predict_cells(
    folder: Path,
    table: Path,
    output: Path | None,
    layer: str | None,
    as_json: bool,
    columns: dict[str, Any],
) -> None:
    """Write predictions for the cells of an AnnData file: a table, or a copy of the file."""
    _cells.refuse_text_options("model", "output", "all_classes", "topics", "abstain")
    copy = output if _is_copy(table, output, columns) else None
    kind = "jsonl" if as_json and not output else "csv"
    kind = output_kind(output) if output and not copy else kind
    least = columns["abstain"] or 0.0
    with _cells.single_cells() as sc, announce("Predicting"):
        model = sc.load(folder)
        _need_classes(model, columns)
        with sc.cells.open_cells(table, layer or model.facts.get("layer")) as cells:
            answers = model.answer(cells)
            known = model.match(cells.genes)[1]
            names = [str(name) for name in cells.obs.index]
        if copy:
            from cofactor.sc.results import write_copy

            added = write_copy(table, copy, model, answers, abstain=least)
        else:
            added = _write_cells(output, kind, names, model, answers, columns)
    codes, _ = answers.predictions(least)
    empty = int(answers.empty.sum())
    facts = {
        **models.made_now(),
        "model": str(folder),
        "input": {"path": str(table), "matrix": cells.place},
        "output": str(output) if output else None,
        "added": added,
        "cells": len(codes),
        "empty": empty,
        "abstained": int((codes < 0).sum()) - empty if model.classes else 0,
        "missing_genes": int((~known).sum()),
    }
    _tell_cells(model, facts, model.doubt(known))
    if as_json and output:
        emit(facts)


def _need_classes(model: Any, columns: dict[str, Any]) -> None:
    """Refuse options that need classes if the model has none."""
    for name in ("all_classes", "abstain"):
        if columns[name] and not model.classes:
            raise BadInput(
                f"--{name.replace('_', '-')} needs a model that predicts classes, but "
                "this one has no labels; leave it out."
            )


def _is_copy(table: Path, output: Path | None, columns: dict[str, Any]) -> bool:
    """Return whether the output is a copy of the file with results, not a table."""
    if output is None or not output.name.lower().endswith(CELL_ENDINGS):
        return False
    if {output.suffix.lower(), table.suffix.lower()} != {".h5ad"}:
        raise BadInput(
            f"--output {output}: only a copy of an .h5ad file can be written; name a .csv file."
        )
    if columns["all_classes"]:
        raise BadInput(
            f"--all-classes is for tables, and --output {output} is not a table; name a .csv file, "
            "or leave the option out."
        )
    return True


def _write_cells(
    output: Path | None,
    kind: str,
    names: list[str],
    model: Any,
    answers: Any,
    columns: dict[str, Any],
) -> list[str]:
    """Write a row for each cell; return the names of the columns after its name."""
    added = ["prediction", "confidence", "topic", "unlike"]
    added += model.classes if columns["all_classes"] else []
    added += [f"topic {k}" for k in range(answers.shares.shape[1])] if columns["topics"] else []
    predicted = zip(names, *answers.predictions(columns["abstain"] or 0.0), strict=True)
    with opened_output(output) as file, make_writer(file, kind, ["cell"], added) as writer:
        for i, (name, code, confidence) in enumerate(predicted):
            P, S = answers.probabilities[i], answers.shares[i]
            row = [None, None] if code < 0 else [model.classes[code], rounded(confidence)]
            row.append(int(S.argmax()) if S.any() else None)
            row.append(None if math.isnan(answers.unlike[i]) else rounded(answers.unlike[i]))
            row += map(rounded, P) if columns["all_classes"] else []
            row += map(rounded, S) if columns["topics"] else []
            writer.write([name], row)
    return added


def _tell_cells(model: Any, facts: dict[str, Any], doubt: str) -> None:
    where = f" to {facts['output']}" if facts["output"] else ""
    note(f"Wrote {facts['cells']:,} cells{where}.")
    if doubt:
        note(f"Note: {doubt}")
    elif facts["missing_genes"]:
        note(
            f"{facts['missing_genes']:,} of {len(model.genes):,} genes of the model are not in "
            "the file; they count as not measured."
        )
    if facts["empty"]:
        note(
            f"{facts['empty']:,} cells have no count of a gene of the model, so nothing is "
            "predicted there."
        )
    if facts["abstained"]:
        note(f"{facts['abstained']:,} cells have a prediction that --abstain leaves out.")
    if not model.classes:
        note("The model was fitted without labels, so there are topics only.")
