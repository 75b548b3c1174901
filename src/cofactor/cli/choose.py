"""`cofactor choose`: compares numbers of topics."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import click

from cofactor.cli import _options as opt
from cofactor.cli import _tables as tables
from cofactor.cli._command import BadInput, Command, end_interrupted, message_of
from cofactor.cli._models import watched_fit
from cofactor.cli._terminal import (
    announce,
    emit,
    make_table,
    note,
    note_each,
    note_next,
    refuse_overwriting,
    show,
)
from cofactor.io.atomic import replacing, write_whole
from cofactor.io.tables.label_advice import class_doubts
from cofactor.io.tables.writers import make_writer, output_kind

MAX_SIZES = 10
"""Number of sizes that LOW:HIGH stands for, if there are more in between."""


class Sizes(click.ParamType):
    """Numbers of topics: 4:40, 4:40:2, or a list like 5,10,20."""

    name = "sizes"

    def convert(self, value: Any, param: Any, ctx: Any) -> list[int]:
        if isinstance(value, list):
            return value
        parts = value.split(":")
        try:
            sizes = (
                _spread(*map(int, parts)) if len(parts) > 1 else list(map(int, value.split(",")))
            )
        except (ValueError, TypeError):
            sizes = []
        if not sizes or min(sizes) < 1:
            self.fail(
                f"{value!r} holds no numbers of topics; give a range, like 4:40 or 4:40:2, or a "
                "list, like 5,10,20.",
                param,
                ctx,
            )
        return sorted(set(sizes))


def _spread(low: int, high: int, step: int = 0) -> list[int]:
    """Return the numbers from low to high; without a step about ten, whose ratios are alike."""
    if step or high - low < MAX_SIZES:
        return list(range(low, high + 1, step or 1))
    ratio = math.log(high / low) / (MAX_SIZES - 1)
    return [round(low * math.exp(ratio * i)) for i in range(MAX_SIZES)]


@click.command(cls=Command)
@opt.table_argument
@opt.add(opt.READING)
@opt.option(
    "-k --topics LOW:HIGH",
    "Numbers of topics to try: 4:40 tries ten of them, 4:40:1 each, and 5,10,20 "
    "these three.  [default: from 2 to 45, as far as the documents allow]",
    type=Sizes(),
)
@opt.option(
    "--runs", "Number of fits for each number of topics.", type=opt.Number(int, 2), default=5
)
@opt.file_option("Write the table: .csv, .tsv or .jsonl.")
@opt.option("--figure FILE", "Draw the table: .png, .svg or .pdf.", type=opt.OUTPUT_FILE)
@opt.add(opt.SETTINGS)
@opt.repeated(
    "--supervision", "Weight of the labels to try.  [default: balanced]", type=opt.Number(float, 0)
)
@opt.add("as_json")
def choose(
    table: Path,
    asked: opt.TableOptions,
    topics: list[int] | None,
    runs: int,
    output: Path | None,
    force: bool,
    figure: Path | None,
    settings: opt.ModelOptions,
    supervision: tuple[float, ...],
    as_json: bool,
) -> None:
    """Compare numbers of topics, and recommend one.

    Each number of topics is fitted --runs times, each time without some of the documents. The
    labels of these documents and half of their words are then predicted, and the topics of all
    fits are compared. The recommended number is the smallest that predicts labels and words as well
    as the best, within one standard error, and whose topics are as stable.

    Ctrl-C stops, and prints what is known by then.
    """
    kind = output_kind(output) if output else None
    _check_figure(figure)
    refuse_overwriting(output, force)
    refuse_overwriting(figure, force, "--figure")
    model = settings.model()
    reading = _read(table, asked, settings.task)
    note(tables.summary(reading))
    tables.settle_language(model.vectorizer, reading.documents.texts)
    doubts = tables.label_doubts(reading, settings.task)
    if reading.facts["labels_are"] == "classes":
        most, classes = max(topics or [0]), reading.counts.classes
        doubts += map(message_of, class_doubts(classes, most, len(reading.documents.texts)))
    note_each(doubts)
    found = _choose(model, reading, topics, supervision, runs)
    if output and kind:
        _write(found, output, kind)
    if figure:
        _draw(found, figure)
    if as_json:
        emit(
            {
                **found.parameters,
                "advice": found.advice,
                "interrupted": found.interrupted,
                "table": found.table,
                "input": reading.facts,
            }
        )
    else:
        _show(found, table, asked)
    end_interrupted(found.interrupted)


def _read(table: Path, asked: opt.TableOptions, task: str) -> tables.Reading:
    if tables.holds_blocks(table):
        raise BadInput(
            f"{table} holds blocks, which are too large to fit many times; give a table of some of "
            "the documents."
        )
    with announce("Reading the documents"):
        return tables.read_table(table, asked, task=task)


def _choose(
    model: Any,
    reading: tables.Reading,
    topics: list[int] | None,
    supervision: tuple[float, ...],
    runs: int,
) -> Any:
    """Compare the candidates, and show warnings."""
    from cofactor.model_selection import choose

    tables.settle_task(model, reading.facts["task"])
    with watched_fit("Fitting") as watched:
        return choose(
            model,
            reading.documents.texts,
            reading.y,
            n_components=topics,
            supervision=supervision or None,
            runs=runs,
            progress=lambda done, total: watched.progress(f"fit {done} of {total}"),
        )


def _write(found: Any, output: Path, kind: str) -> None:
    columns = list(found.table[0])
    with replacing(output) as file, make_writer(file, kind, columns) as writer:
        for row in found.table:
            writer.write([row[name] for name in columns])


def _check_figure(figure: Path | None) -> None:
    """Refuse a figure that cannot be drawn, before any work is done."""
    if figure is None:
        return
    if figure.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise BadInput(f"--figure {figure} must end in .png, .svg or .pdf.")
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise BadInput("--figure needs matplotlib: pip install 'cofactor[plot]'.")


def _draw(found: Any, figure: Path) -> None:
    file = io.BytesIO()
    found.figure().savefig(file, format=figure.suffix[1:].lower(), dpi=130)
    write_whole(figure, file.getvalue())


TABLE_FORMATS = {
    "n_components": ("Topics", "{}", ""),
    "supervision": ("Supervision", "{}", ""),
    "label_log_likelihood": ("Labels", "{:.3f}", "log-likelihood of a label that was held out"),
    "score": ("Score", "{:.3f}", "how well these labels are predicted; 1 is best"),
    "cell_divergence": (
        "Cells",
        "{:.4f}",
        "error for words that were held out; lower is better, and 1 is no better than the means "
        "of words",
    ),
    "stability": ("Stability", "{:.2f}", "how much of a topic is found in the other fits"),
    "coherence": ("Coherence", "{:.2f}", "how often a topic's words occur together"),
    "diversity": ("Diversity", "{:.2f}", "share of different words among those of all topics"),
    "seconds": ("Seconds", "{:.1f}", ""),
}
"""Columns that are printed: title, format and meaning."""


def _show(found: Any, table: Path, asked: opt.TableOptions) -> None:
    names = [name for name in TABLE_FORMATS if name in found.table[0]]
    titles = [TABLE_FORMATS[name][0] for name in names]
    printed = make_table("", *titles, numbers=tuple(titles))
    for row in found.table:
        cells = [TABLE_FORMATS[name][1].format(row[name]) for name in names]
        printed.add_row("*" if row["chosen"] else "", *cells)
    stopped = ["Stopped before all fits were done."] if found.interrupted else []
    meanings = [
        f"{title}: {meaning}."
        for title, _, meaning in map(TABLE_FORMATS.__getitem__, names)
        if meaning
    ]
    show(printed, "", *stopped, found.advice, "", " ".join(meanings))
    note_next("fit", table, *asked.words(), "-k", found.n_components, "-o", "model")
