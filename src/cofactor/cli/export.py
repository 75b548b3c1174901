"""`cofactor export`: writes a model as tables or for another program."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from cofactor._version import __version__
from cofactor.cli._shared.cells import export_cells, is_cell_model
from cofactor.cli._shared.command import MODEL, OUTPUT, TABLE, BadInput, Command, json_option
from cofactor.cli._shared.command import table_options as options
from cofactor.cli._shared.models import Opened, find_data, open_model, read_again
from cofactor.cli._shared.tables import Reading
from cofactor.cli._shared.terminal import announce, emit, note
from cofactor.io.atomic import check_place, write_text
from cofactor.io.json_text import to_json

DEFAULTS = {"csv": "{}-tables", "anndata": "{}.h5ad", "topicwizard": "{}-topicwizard"}


@click.command(cls=Command)
@click.argument("model", type=MODEL)
@click.option(
    "--to", "target", type=click.Choice(list(DEFAULTS)), default="csv", help="Format to write."
)
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    metavar="PATH",
    help="Folder or .h5ad file to write.  [default: named after the model]",
)
@click.option("--data", type=TABLE, help="Table of the documents.  [default: the one of the fit]")
@options("text", "id_column")
@json_option
def export(
    model: Path,
    target: str,
    output: Path | None,
    data: Path | None,
    text: str | None,
    id_column: str | None,
    opening: dict[str, Any],
    as_json: bool,
) -> None:
    """Write a model as tables or for another program.

    \b
    csv          a folder of tables: topics, words, documents and classes
    anndata      a file with a matrix of documents × words, and the topics of both
    topicwizard  a folder with a script that opens the model in topicwizard

    A model of single cells is written as csv: topics, markers, and the share of genes in topics.
    """
    if is_cell_model(model):
        export_cells(model, target, output, as_json)
        return
    opened = open_model(model)
    output = output or Path(DEFAULTS[target].format(model.resolve().name))
    _check_place(target, output)
    if target == "anndata" and find_spec("anndata") is None:
        raise BadInput("--to anndata needs a package that is not installed: pip install anndata.")
    documents = _documents(opened, data, text, opening, id_column)
    with announce(f"Writing {output}"):
        facts = _WRITERS[target](opened, output, documents)
    if as_json:
        emit(facts)
    else:
        note(f"Wrote {', '.join(facts['files'])}.")


def _documents(
    opened: Opened,
    data: Path | None,
    text: str | None,
    opening: dict[str, Any],
    id_column: str | None,
) -> Reading | None:
    """Return the documents of the fit; None if their table does not exist."""
    path = find_data(opened, data)
    if path is None:
        return None
    reading = read_again(opened, path, text, (), opening, id_column=id_column)
    found, samples = len(reading.documents.texts), opened.facts["data"]["samples"]
    if found != samples:
        raise BadInput(
            f"{path} has {found:,} documents, but the model was fitted on {samples:,}; name the "
            "table of the fit with --data."
        )
    return reading


def _columns(documents: Reading | None) -> dict[str, list[Any]]:
    """Return the columns that tell documents apart: row, name, date, and those of --keep."""
    if documents is None:
        note(
            "The table of the fit does not exist, so documents are numbered from 0; name the "
            "table with --data."
        )
        return {}
    columns: dict[str, list[Any]] = {"row": list(documents.documents.rows)}
    if documents.ids is not None:
        columns["id"] = documents.ids
    if documents.dates is not None:
        days = documents.dates.values
        columns["date"] = [None if day is None else day.isoformat() for day in days]
    return columns | documents.kept


def _facts(opened: Opened, files: list[Path]) -> dict[str, Any]:
    return {
        "made_by": f"cofactor {__version__}",
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": ["cofactor", *sys.argv[1:]],
        "model": opened.origin(),
        "files": [str(file) for file in files],
    }


def _with_manifest(opened: Opened, output: Path, names: list[str]) -> dict[str, Any]:
    facts = _facts(opened, [output / name for name in names])
    write_text(output / "manifest.json", to_json(facts, indent=1) + "\n")
    return facts


def _to_csv(opened: Opened, output: Path, documents: Any) -> dict[str, Any]:
    from cofactor.io.exports import write_tables

    written = write_tables(opened.model, output, columns=_columns(documents))
    return _with_manifest(opened, output, written)


def _to_anndata(opened: Opened, output: Path, documents: Any) -> dict[str, Any]:
    from cofactor.io.exports import write_anndata

    if documents is None:
        note("The table of the fit does not exist, so X stays empty; name the table with --data.")
    facts = _facts(opened, [output])
    texts = None if documents is None else documents.documents.texts
    names = None if documents is None else list(map(str, documents.numbers))
    write_anndata(opened.model, output, texts, to_json(facts), names)
    return facts


def _to_topicwizard(opened: Opened, output: Path, documents: Any) -> dict[str, Any]:
    from cofactor.io.exports import write_wizard

    if documents is None:
        raise BadInput(
            "--to topicwizard needs documents, but their table does not exist; name it with --data."
        )
    facts = _with_manifest(
        opened, output, write_wizard(opened.model, output, documents.documents.texts)
    )
    missing = "" if find_spec("topicwizard") else "pip install topic-wizard, then "
    note(f"To open it: {missing}python {output / 'show.py'}")
    return facts


def _check_place(target: str, output: Path) -> None:
    """Refuse an output that could not be written, before any work is done."""
    if target == "anndata":
        if output.is_dir():
            raise BadInput(f"--output {output} is a folder; name a file.")
        check_place(output)
        return
    if output.exists() and not output.is_dir():
        raise BadInput(f"--output {output} is a file; name a folder.")
    if (output / "config.json").exists():
        raise BadInput(f"--output {output} is a model; name another folder.")


_WRITERS = {"csv": _to_csv, "anndata": _to_anndata, "topicwizard": _to_topicwizard}
