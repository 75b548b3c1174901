"""`cofactor report`: writes a report as one HTML file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from cofactor.cli import _cells
from cofactor.cli import _models as models
from cofactor.cli import _options as opt
from cofactor.cli._command import BadInput, Command, message_of, needing_extra, refusals
from cofactor.cli._tables import Reading
from cofactor.cli._terminal import announce, emit, note, open_page, refuse_overwriting
from cofactor.errors import InputError, ParameterError
from cofactor.io.models.description import expectation


@click.command(cls=Command)
@opt.model_argument
@opt.file_option("HTML file to write.", default="report.html")
@opt.add("data", opt.reading("text", "labels", "label_separator", "id", "date", "date_format"))
@opt.option(
    "--every",
    "Length of a period in the chart over time.  [default: one that suits the dates]",
    type=click.Choice(opt.PERIODS),
)
@opt.repeated(
    "--truth COLUMN", "Column with labels that the fit has not seen, to test the model with."
)
@opt.option("--title TEXT", "Headline of the report.  [default: Topic report]")
@opt.option(
    "--without-texts --no-text without_texts",
    "Leave the texts of the documents out of the file.",
    is_flag=True,
)
@opt.add("layer")
@opt.option("--open open_it", "Open the report in the browser.", is_flag=True)
@opt.add(opt.MODEL_ENCODER, "as_json")
def report(
    model: Path,
    output: Path,
    force: bool,
    data: Path | None,
    asked: opt.TableOptions,
    truth: tuple[str, ...],
    layer: str | None,
    open_it: bool,
    vectors: opt.EncoderOptions,
    as_json: bool,
    **layout: Any,
) -> None:
    """Write a report that opens in any browser.

    The report is one file and loads nothing from the network. Its scores come from labels that the
    fit held out, and further fits for other methods, or, with --truth, from labels that the model
    has not seen. With --date it shows topics and classes over time.

    A model of single cells has the same report, with cells for documents and genes for words.
    """
    refuse_overwriting(output, force)
    if _cells.is_cell_model(model):
        opened, path, page = _report_cells(model, output, data, truth, layer, layout["title"])
    else:
        opened, path, page = _report_texts(model, output, data, asked, truth, vectors, layout)
    score = _score(page)
    expected = getattr(opened.model, "expected_score_", None)
    if as_json:
        emit(
            {
                "model": opened.origin(),
                "report": str(output),
                "bytes": output.stat().st_size,
                "data": None if path is None else str(path),
                "score": score,
                "expected_score": None if expected is None else asdict(expected),
            }
        )
    else:
        if score is not None:
            note(_sentence(score))
        elif expected is not None and (said := expectation(opened.model)):
            note(said)
        note(f"Wrote {output}.")
    if open_it:
        open_page(output)


def _report_cells(
    model: Path,
    output: Path,
    data: Path | None,
    truth: tuple[str, ...],
    layer: str | None,
    title: str | None,
) -> tuple[models.OpenedModel, Path | None, Any]:
    """Write a report on cells; return the model, the file of the cells and the page's content."""
    _cells.refuse_text_options("model", "output", "force", "data", "truth", "title", "open_it")
    opened = _cells.open_cell_model(model)
    path = models.find_data(opened, data)
    if path is None:
        raise BadInput("The file of the fit no longer exists; name it with --data.")
    if len(truth) > 1:
        raise BadInput(f"--truth names {len(truth)} columns, but cells have one label; name one.")
    if truth and not opened.model.classes:
        raise BadInput("--truth needs a model that predicts; this one was fitted without labels.")
    with (
        announce("Writing the report"),
        needing_extra("The report", "report"),
        _cells.single_cells(),
    ):
        column = truth[0] if truth else None
        given = {"layer": layer, "title": title, "source": path.name}
        prepare = import_module("cofactor.sc.report").prepare_cell_report
        page = prepare(opened.model, path, truth=column, **given)
        import_module("cofactor.report.html").write_page(page, output)
    return opened, path, page


def _report_texts(
    model: Path,
    output: Path,
    data: Path | None,
    asked: opt.TableOptions,
    truth: tuple[str, ...],
    vectors: opt.EncoderOptions,
    layout: dict[str, Any],
) -> tuple[models.OpenedModel, Path | None, Any]:
    """Write a report on texts; return the model, the table and the page's content."""
    opened = models.open_model(model, vectors)
    if truth:
        _check_truth(opened, truth, data)
    path = models.find_data(opened, data)
    documents = None
    if path is None:
        note(
            "The table of the fit no longer exists, so the report shows no documents; "
            "name the table with --data."
        )
    else:
        with announce("Reading the documents"), _naming_data(data):
            documents = models.read_again(opened, path, asked, truth=truth)
    return opened, path, _write(opened, output, documents, path, **layout)


@contextmanager
def _naming_data(data: Path | None) -> Iterator[None]:
    """Say that labels to test with may be in another table than that of the fit."""
    try:
        yield
    except ParameterError as error:
        if data is not None or error.parameter is None or error.parameter.name != "truth":
            raise
        further = "If it is in another table, name that with --data."
        raise InputError(f"{message_of(error)} {further}") from error


def _write(
    opened: models.OpenedModel,
    output: Path,
    read: Reading | None,
    path: Path | None,
    *,
    without_texts: bool,
    **layout: Any,
) -> Any:
    """Write the report; return its content. ``layout`` are arguments of `write_report`."""
    content: dict[str, Any] = {"documents": None, "labels": None}
    if read is not None:
        content = {
            "documents": read.documents.texts,
            "labels": read.y,
            "truth": read.truth,
            "rows": read.numbers,
            "dates": _days(read),
            "source": None if path is None else path.name,
        }
    with announce("Writing the report"), needing_extra("The report", "report"), refusals():
        html = import_module("cofactor.report.html")
        html.check_extra()
        page = html.prepare(opened.model, **content, text=not without_texts, **layout)
        html.write_page(page, output)
    return page


def _score(page: Any) -> dict[str, Any] | None:
    """Return the model's score on labels that it has not seen; None if the report has none."""
    found = page.evaluation
    if found is None:
        return None
    own = next(row for row in found["methods"] if row["own"])
    kept = ("score", "low", "high", "shown", "interval")
    return {"metric": found["metric"], **{name: own[name] for name in kept}, "how": found["how"]}


def _sentence(score: dict[str, Any]) -> str:
    name, interval = score["metric"], score["interval"]
    within = f" (95 % interval {interval})" if interval else ""
    return (
        f"{name[0].upper()}{name[1:]} {score['shown']}{within}; the report says how it was tested."
    )


def _days(read: Reading) -> list[Any] | None:
    """Return the dates of the documents; None if there are none."""
    if read.dates is None:
        return None
    if not read.dates.known:
        note("Note: the column of the dates is empty, so the report shows nothing over time.")
        return None
    return read.dates.values


def _check_truth(opened: models.OpenedModel, truth: tuple[str, ...], data: Path | None) -> None:
    targets, form = opened.model.target_names_, opened.input.get("labels_are")
    if not targets:
        raise BadInput("--truth needs a model that predicts; this one was fitted without labels.")
    if models.find_data(opened, data) is None:
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
