"""`cofactor predict`: adds predictions to the rows of a table."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import click

from cofactor.cli import _cells
from cofactor.cli import _models as models
from cofactor.cli import _options as opt
from cofactor.cli._command import BadInput, Command, delaying_signals, message_of
from cofactor.cli._parts import on_cluster
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
from cofactor.io.atomic import WRITES, replacing
from cofactor.io.errors import at
from cofactor.io.json_text import to_json
from cofactor.io.tables import InputError, Source, open_source
from cofactor.io.tables.decoding import batches
from cofactor.io.tables.file_parts import (
    as_address,
    find_parts,
    names_parts,
    opened_part,
    part_facts,
)
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
@opt.option(
    "-o --output FILE",
    "File to write: .csv, .tsv or .jsonl, also compressed (.gz), .parquet or .xlsx; a folder if "
    "TABLE names several files.  [default: CSV on stdout]",
    type=opt.FOLDER,
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
@opt.add(opt.MODEL_ENCODER, "cluster", "as_json")
def predict(
    model: Path,
    table: Path,
    output: Path | None,
    asked: opt.TableOptions,
    force: bool,
    id: str | None,
    keep: tuple[str, ...],
    keep_formulas: bool,
    vectors: opt.EncoderOptions,
    as_json: bool,
    layer: str | None,
    cluster: str | None,
    **columns: Any,
) -> None:
    """Add prediction, confidence and topic to a table.

    The texts are in the same column as in the fit, unless --text names another. The column reason
    says why a prediction is missing or doubtful: the text has no known word, no label reaches its
    threshold (then the nearest one is given), the prediction is less probable than --abstain, or
    the text is unlike the labelled ones of its class: a class may have no labels. For classes, the
    column unlike has the share of true texts of the class that are nearer to its labelled texts,
    estimated from these.

    Numbers come with the columns low and high in place of a confidence: nine of ten new values lie
    between them, by held-out labels of the fit.

    Several labels stay a list in JSON lines and Parquet; elsewhere the separator of the fit, or a
    semicolon, joins them. In CSV and TSV, cells that a spreadsheet would take for a formula get an
    apostrophe in front. A
    manifest beside the output says how it was made. With --json and without --output, rows are
    printed as JSON lines.

    TABLE may name several files, such as 'new/part*.parquet'. FILE is then a folder, which gets a
    file for each of them as soon as it is done. A command that was stopped continues if it is
    repeated. With --cluster, the workers read and write the files, so they must see them at the
    same paths.

    With a model of single cells, TABLE is an AnnData file; genes are matched by name. FILE may then
    end as TABLE does (.h5ad or .zarr): it is a copy of TABLE with the predictions in obs and the
    topics in obsm.
    """
    several = names_parts(table)
    _check_output(output, table, force, several, cluster)
    if holds_cells(table):
        _predict_cells(model, table, output, layer, as_json, columns)
        return
    from cofactor.text.describe.predictions import unchecked

    opened = models.open_model(model, vectors)
    opening = models.how_to_open(opened, table, asked.opening)
    job = _Job(opened, asked.text, opening, id, keep, keep_formulas, columns)
    if several:
        assert output is not None
        facts = _predict_parts(job, table, output, cluster, force)
    else:
        kind = output_kind(output) if output else "jsonl" if as_json else "csv"
        source = open_table(table, **opening)
        with announce("Predicting"):
            facts = job.write(source, output, kind, output and Path(f"{output}.manifest.json"))
    if not opened.model.target_names_:
        empty, topic = facts["added"][:2], facts["added"][2]
        note(
            f"Note: the model was fitted without labels, so the columns {' and '.join(empty)} "
            f"stay empty; only {topic} is filled in."
        )
    _tell(facts, job.wanted.names, output)
    if doubt := unchecked(opened.model):
        note(doubt)
    if as_json and output:
        emit(facts)
    if columns["abstain"] and (expected := opened.model.expected_coverage(columns["abstain"])):
        note(
            f"Expected on new texts like those of the fit: {expected}, from "
            f"{expected.n_samples:,.0f} held-out labels."
        )


def _check_output(
    output: Path | None, table: Path, force: bool, several: bool, cluster: str | None
) -> None:
    """Refuse an output that could not be written, before any work is done."""
    if several:
        if output is None or output.is_file() or _names_file(output):
            raise BadInput(f"{table} names several files; name a folder with --output.")
        if not (output / MANIFESTS).is_dir():
            refuse_overwriting(output, force)
        return
    if cluster is not None:
        raise BadInput("--cluster needs several files, such as 'new/*.parquet'; leave it out.")
    if output is not None and output.is_dir():
        raise BadInput(f"--output {at(output)} is a folder; name a file.")
    refuse_table_as_output(output, table)
    refuse_overwriting(output, force)


def _names_file(output: Path) -> bool:
    """Return whether a new output has the ending of a table."""
    with suppress(InputError):
        return not output.is_dir() and bool(output_kind(output))
    return False


@dataclass(frozen=True)
class _Job:
    """What to predict, and what to copy of a table."""

    opened: models.OpenedModel
    text: str | None
    opening: dict[str, Any]
    id: str | None
    keep: tuple[str, ...]
    keep_formulas: bool
    asked: dict[str, Any]  # which columns to add

    @cached_property
    def wanted(self) -> Any:
        """The columns to add, as `AnswerColumns`."""
        return _columns(self.opened, self.asked)

    def write(
        self, source: Source, output: Path | None, kind: str, manifest: Path | None, **more: Any
    ) -> dict[str, Any]:
        """Write the predictions for a table, then a manifest; return what the manifest says."""
        opened = self.opened
        column = _text_column(source, self.text, opened)
        form = _CellFormat.of(opened, self.wanted, kind)
        copied = _Copied.of(source, self.id or _noted_id(source, opened), self.keep)
        added = _added_names(form, copied.columns)
        like = source.path if source.kind == "parquet" else None
        written = _WrittenRows(source)
        whole = None if kind == "parquet" else written.whole_size  # Parquet holds rows back
        with ExitStack() as after, opened_output(output, whole) as file:
            defuse = not self.keep_formulas
            with make_writer(file, kind, copied.columns, added, defuse, like) as writer:
                counts = _write(writer, opened, written, column, copied, form)
            facts = {**_facts(opened, source, output, column, added, counts), **more}
            if manifest:  # it takes its place directly after the output
                after.enter_context(delaying_signals())
                noted = after.enter_context(replacing(manifest))
                noted.write((to_json(facts, indent=1) + "\n").encode())
        return facts


# ---- tables in several files

MANIFESTS = "_manifests"
"""Folder of the manifests of parts; readers of Parquet folders leave out names that begin so."""


@dataclass(frozen=True)
class _PartsJob:
    """What to predict for the parts of a table, and where to write it."""

    job: _Job
    root: str  # folder of all parts
    output: Path

    def place(self, name: str) -> Path:
        """Return the name of the output of a part, in the folder of the outputs."""
        inside = Path(os.path.relpath(name, self.root))
        try:
            output_kind(inside)
        except InputError:
            inside = inside.with_name(f"{inside.name}.csv")
        return inside

    def manifest(self, name: str) -> Path:
        """Return the path of the manifest of a part."""
        inside = self.place(name)
        return self.output / MANIFESTS / inside.with_name(f"{inside.name}.json")

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The model and the options: parts that have others are of another command."""
        job = self.job
        options = job.text, job.opening, job.id, job.keep, job.keep_formulas, job.asked
        found = {"model": job.opened.facts["digest"], "options": options}
        return json.loads(to_json(found))

    def done(self, name: str) -> dict[str, Any] | None:
        """Return the manifest of a part that was written before; None if it has to be written."""
        noted = _read_manifest(self.manifest(name))
        same = noted.get("part") == part_facts(name) and noted.get("settings") == self.settings
        return noted if same and (self.output / self.place(name)).is_file() else None

    def check_outputs(self, names: Sequence[str]) -> None:
        """Refuse to write over a part: also with --force, and if it has another name there."""
        local = [name for name in names if as_address(name) is None]
        parts = {(found.st_dev, found.st_ino) for found in map(os.stat, local)}
        for name in names:
            with suppress(OSError):  # there is no such file yet
                output = self.output / self.place(name)
                found = output.stat()
                if (found.st_dev, found.st_ino) in parts:
                    raise BadInput(
                        f"--output {at(self.output)} would replace {at(output)}, a file of the "
                        "table; name another folder."
                    )

    def check_folder(self) -> None:
        """Refuse a folder with predictions of another model, or with other options."""
        for manifest in (self.output / MANIFESTS).rglob("*.json"):
            if _read_manifest(manifest).get("settings", self.settings) != self.settings:
                raise InputError(
                    f"--output {at(self.output)} has predictions of another model, or with other "
                    "options; name another folder, or replace them with --force."
                )


def _read_manifest(path: Path) -> dict[str, Any]:
    """Return a manifest; empty if there is none, or if it is damaged."""
    with suppress(OSError, ValueError):
        found = json.loads(path.read_bytes())
        return found if isinstance(found, dict) else {}
    return {}


def predict_part(name: str, job: _PartsJob) -> dict[str, Any]:
    """Write the predictions for one file; return its manifest."""
    output = job.output / job.place(name)
    for folder in (output.parent, job.manifest(name).parent):
        folder.mkdir(parents=True, exist_ok=True)
    more = {"part": part_facts(name), "settings": job.settings}
    with opened_part(name) as file:
        source = open_source(file, **job.job.opening)
        return job.job.write(source, output, output_kind(output), job.manifest(name), **more)


@contextmanager
def _going_on_later() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        note("The files that are written stay; the same command goes on with the others.")
        raise


def _predict_parts(
    job: _Job, table: Path, output: Path, cluster: str | None, force: bool
) -> dict[str, Any]:
    """Write the predictions for the parts of a table that are not written yet."""
    names = find_parts(table)
    small = replace(job.opened, model=job.opened.model.forget_documents())
    root = os.path.commonpath([os.path.dirname(name) for name in names])
    task = _PartsJob(replace(job, opened=small), root, output.absolute())
    task.check_outputs(names)
    if not force:
        task.check_folder()
    found = {name: None if force else task.done(name) for name in names}
    left = [name for name, noted in found.items() if noted is None]
    if len(left) < len(names):
        note(f"{len(names) - len(left):,} of {len(names):,} files were written before.")
    with announce("Predicting") as progress, on_cluster(cluster) as there, _going_on_later():
        if there is None:
            for place, name in enumerate(left, start=1):
                progress(f"file {place:,} of {len(left):,}")
                found[name] = predict_part(name, task)
        elif left:
            WRITES.count += 1  # by the workers
            made = there.parts(left).map(predict_part, task).values()
            found |= dict(zip(left, made, strict=True))
    return _together([noted for noted in found.values() if noted], table, output)


def _together(parts: list[dict[str, Any]], table: Path, output: Path) -> dict[str, Any]:
    """Return the facts about all parts."""
    total = {
        name: sum(part[name] for part in parts)
        for name in ("rows", "defused", "blank", "below", "abstained", "unlike")
    }
    known = [part for part in parts if part.get("known_words") is not None]
    rows = sum(part["rows"] for part in known)
    words = {
        name: sum(part[name] * part["rows"] for part in known) / rows
        for name in ("known_words", "expected_known_words")
        if rows
    }
    first = {name: parts[0][name] for name in ("made_by", "model", "added")}
    origin = {**parts[0]["input"], "path": str(table), "parts": len(parts)}
    return {**first, "input": origin, "output": str(output), **total, **words}


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


@dataclass
class _WrittenRows:
    """Counts the rows of a table that are read and written."""

    source: Source
    read: int = 0
    written: int = 0

    def whole_size(self, part: int) -> float:
        """Estimate the size of the output from that of its first rows; count the other rows."""
        total = self.read + sum(1 for _ in self.source.rows)
        return part * total / max(self.written, 1)


def _write(
    writer: Any,
    opened: models.OpenedModel,
    counted: _WrittenRows,
    column: str,
    copied: _Copied,
    form: _CellFormat,
) -> dict[str, Any]:
    """Predict and write batch by batch; return how many rows, blank rows and escaped cells."""
    from cofactor.text.describe.answers import answer_documents

    source = counted.source
    place = source.place(column, "text")
    reason = form.columns.names.index("reason")
    reasons: Counter[str | None] = Counter()
    likeness: dict[str, Any] = {}
    for batch in batches(source.rows, _length, BATCH_TEXTS):
        counted.read += len(batch)
        texts = [as_text(source, number, column, cells[place]) for number, cells in batch]
        likeness = likeness or _likeness(opened.model.vectorizer_, texts[:MAX_COMPARED_TEXTS])
        answers = form.cells(answer_documents(opened.model, texts))
        for (number, cells), answer in zip(batch, answers, strict=True):
            writer.write(copied.cells(number, cells), answer)
            counted.written += 1
            reasons[answer[reason]] += 1
    return {"rows": counted.written, "defused": writer.defused, **_counts(reasons), **likeness}


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


def _tell(facts: dict[str, Any], plain: list[str], output: Path | None) -> None:
    """Say what was written; ``plain`` are the names that the new columns would like to have."""
    where = f" to {output}" if output else ""
    encoding = facts["input"]["encoding"]
    read = f"; read as {encoding}" if encoding else ""  # Parquet and Excel have none
    note(f"Wrote {facts['rows']:,} rows{where}{read}.")
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
    _cells.refuse_text_options("model", "output", "all_classes", "topics", "abstain", "force")
    copy = output if _is_copy(table, output, columns) else None
    kind = "jsonl" if as_json and not output else "csv"
    kind = output_kind(output) if output and not copy else kind
    least = columns["abstain"] or 0.0
    with _cells.single_cells() as sc, announce("Predicting"):
        model = sc.load(folder)
        _need_classes(model, columns)
        with sc.cells.open_cells(table, layer, model.facts.get("layer")) as cells:
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
    _tell_cells(model, facts, known)
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
    if output.suffix.lower() != (own := table.suffix.lower()):
        raise BadInput(
            f"--output {output} is a copy of {table}, so it must have the same ending; name "
            f"{output.with_suffix(own)}, or a .csv file."
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
    added = ["prediction", "confidence", "topic", "reason", "unlike"]
    added += model.classes if columns["all_classes"] else []
    added += [f"topic {k}" for k in range(answers.shares.shape[1])] if columns["topics"] else []
    least = columns["abstain"] or 0.0
    predicted = zip(names, *answers.predictions(least), answers.reasons(least), strict=True)
    with opened_output(output) as file, make_writer(file, kind, ["cell"], added) as writer:
        for i, (name, code, confidence, reason) in enumerate(predicted):
            P, S = answers.probabilities[i], answers.shares[i]
            row: list[Any] = [None if code < 0 else model.classes[code], _known(confidence)]
            row += [int(S.argmax()) if S.any() else None, reason, _known(answers.unlike[i])]
            row += map(rounded, P) if columns["all_classes"] else []
            row += map(rounded, S) if columns["topics"] else []
            writer.write([name], row)
    return added


def _known(value: float) -> float | None:
    return None if math.isnan(value) else rounded(value)


def _tell_cells(model: Any, facts: dict[str, Any], known: Any) -> None:
    where = f" to {facts['output']}" if facts["output"] else ""
    note(f"Wrote {facts['cells']:,} cells{where}.")
    if doubt := model.doubt(known):
        note(f"Note: {message_of(doubt)}")
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
