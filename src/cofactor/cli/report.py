"""`cofactor report`: writes a report as one HTML file."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import click

from cofactor.cli._shared.browser import open_page
from cofactor.cli._shared.command import (
    MODEL,
    OUTPUT_FILE,
    PERIODS,
    TABLE,
    BadInput,
    Command,
    json_option,
    needing_extra,
)
from cofactor.cli._shared.command import table_options as options
from cofactor.cli._shared.models import Opened, find_data, open_model, read_again, refusals
from cofactor.cli._shared.tables import Reading
from cofactor.cli._shared.terminal import announce, emit, note


@click.command(cls=Command)
@click.argument("model", type=MODEL)
@click.option(
    "-o",
    "--output",
    type=OUTPUT_FILE,
    default=Path("report.html"),
    metavar="FILE",
    help="HTML file to write.",
)
@click.option("--data", type=TABLE, help="Table of the documents.  [default: the one of the fit]")
@options("text", "labels", "label_separator", "id_column", "date", "date_format")
@click.option(
    "--every",
    type=click.Choice(PERIODS),
    help="Length of a period in the chart over time.  [default: one that suits the dates]",
)
@click.option(
    "--truth",
    multiple=True,
    metavar="COLUMN",
    help="Column with labels that the fit has not seen, to test the model with. May be repeated.",
)
@click.option("--title", metavar="TEXT", help="Headline of the report.  [default: Topic report]")
@click.option(
    "--without-texts",
    "--no-text",
    "without_texts",
    is_flag=True,
    help="Leave the texts of the documents out of the file.",
)
@click.option("--open", "open_it", is_flag=True, help="Open the report in the browser.")
@json_option
def report(
    model: Path,
    output: Path,
    data: Path | None,
    text: str | None,
    labels: tuple[str, ...],
    label_separator: str | None,
    id_column: str | None,
    date: str | None,
    date_format: str | None,
    every: str | None,
    opening: dict[str, Any],
    truth: tuple[str, ...],
    title: str | None,
    without_texts: bool,
    open_it: bool,
    as_json: bool,
) -> None:
    """Write a report that opens in any browser.

    The report is one file and loads nothing from the network. Its scores come from further fits,
    each of which leaves some labels out to test with, or, with --truth, from labels that the model
    has not seen. With --date it shows topics and classes over time.
    """
    opened = open_model(model)
    if truth:
        _check_truth(opened, truth, data)
    path = find_data(opened, data)
    documents = known = hidden = rows = days = None
    if path is None:
        note(
            "The table of the fit does not exist any more, so the report shows no documents; "
            "name the table with --data."
        )
    else:
        with announce("Reading the documents"):
            reading = read_again(
                opened,
                path,
                text,
                labels,
                opening,
                label_separator,
                truth,
                id_column,
                date,
                date_format,
            )
        documents, known, hidden = reading.documents.texts, reading.y, reading.truth
        rows, days = reading.numbers, _days(reading)
    with announce("Writing the report"), needing_extra("The report", "report"), refusals():
        write = import_module("cofactor.report").write_report
        write(
            opened.model,
            output,
            documents=documents,
            labels=known,
            truth=hidden,
            text=not without_texts,
            title=title,
            rows=rows,
            source=None if path is None else path.name,
            dates=days,
            every=every,
        )
    if as_json:
        emit(
            {
                "model": opened.origin(),
                "report": str(output),
                "bytes": output.stat().st_size,
                "data": None if path is None else str(path),
            }
        )
    else:
        note(f"Wrote {output}.")
    if open_it:
        open_page(output)


def _days(reading: Reading) -> list[Any] | None:
    """Return the dates of the documents; None if there are none."""
    if reading.dates is None:
        return None
    if not reading.dates.known:
        note("Note: the column of the dates is empty, so the report shows nothing over time.")
        return None
    return reading.dates.values


def _check_truth(opened: Opened, truth: tuple[str, ...], data: Path | None) -> None:
    targets, form = opened.model.target_names_, opened.input.get("labels_are")
    if not targets:
        raise BadInput("--truth needs a model that predicts; this one was fitted without labels.")
    if find_data(opened, data) is None:
        raise BadInput(
            "--truth needs documents, but their table does not exist; name it with --data."
        )
    apart = form == "columns" or (len(targets) > 1 and form == "numbers")
    if apart and len(truth) != len(targets):
        raise BadInput(
            f"--truth names {len(truth)} columns, but the model predicts {len(targets)}: name one "
            f"for each of {', '.join(map(str, targets))}, in this order."
        )
    if len(truth) > 1 and not apart and form != "sets":
        raise BadInput(f"--truth names {len(truth)} columns, but the model has one; name one.")
