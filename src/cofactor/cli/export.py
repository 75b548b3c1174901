"""`cofactor export`: writes a model as tables or for another program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from cofactor.cli import _cells
from cofactor.cli import _models as models
from cofactor.cli import _options as opt
from cofactor.cli._command import BadInput, Command
from cofactor.cli._tables import Reading
from cofactor.cli._terminal import announce, emit, note, refuse_overwriting
from cofactor.io.annotations import FORMATS, WRITTEN
from cofactor.io.atomic import check_place, replacing, replacing_folder, write_data
from cofactor.io.json_text import to_json
from cofactor.io.tables.writers import make_writer

LABEL_FILES = {name: f"{{}}-{name}.{FORMATS[name].ending}" for name in WRITTEN}
"""Programs that take the decisions of the app, and the names of their files."""
DEFAULTS = {
    "csv": "{}-tables",
    "anndata": "{}.h5ad",
    "topicwizard": "{}-topicwizard",
    **LABEL_FILES,
}


@click.command(cls=Command)
@opt.model_argument
@opt.option("--to target", "Format to write.", type=click.Choice(list(DEFAULTS)), default="csv")
@opt.option(
    "-o --output PATH",
    "Folder or file to write.  [default: named after the model]",
    type=opt.FOLDER,
)
@opt.add("force", "data", opt.reading("text", "id"), opt.MODEL_ENCODER, "as_json")
def export(
    model: Path,
    target: str,
    output: Path | None,
    force: bool,
    data: Path | None,
    asked: opt.TableOptions,
    vectors: opt.EncoderOptions,
    as_json: bool,
) -> None:
    """Write a model as tables or for another program.

    \b
    csv          a folder of tables: topics, words, documents and classes
    anndata      a file with a matrix of documents × words, and the topics of both
    topicwizard  a folder with a script that opens the model in topicwizard

    These write the labels of the table and the decisions of cofactor app, as the program reads
    them; cofactor app --import reads them back:

    \b
    prodigy       JSON lines for Prodigy
    label-studio  JSON tasks for Label Studio
    huggingface   JSON lines for Hugging Face datasets and Argilla
    spacy         JSON lines with categories, for spaCy

    A model of single cells is written as csv: topics, markers, and the share of genes in topics.

    All files of an export appear together, or none does. With --force, they replace files of the
    same names; other files in the folder stay.
    """
    if _cells.is_cell_model(model):
        _export_cells(model, target, output, force, as_json)
        return
    opened = models.open_model(model, vectors)
    output = output or Path(DEFAULTS[target].format(model.resolve().name))
    _check_place(target, output)
    refuse_overwriting(output, force)
    if target == "anndata" and find_spec("anndata") is None:
        raise BadInput("--to anndata needs a package that is not installed: pip install anndata.")
    documents = _documents(opened, data, asked)
    with announce(f"Writing {output}"):
        facts = _WRITERS[target](opened, output, documents)
    if as_json:
        emit(facts)
    else:
        note(f"Wrote {', '.join(facts['files'])}.")


def _documents(
    opened: models.OpenedModel, data: Path | None, asked: opt.TableOptions
) -> Reading | None:
    """Return the documents of the fit; None if their table does not exist."""
    path = models.find_data(opened, data)
    if path is None:
        return None
    read = models.read_again(opened, path, asked)
    found, samples = len(read.documents.texts), opened.facts["data"]["samples"]
    if found != samples:
        raise BadInput(
            f"{path} has {found:,} documents, but the model was fitted on {samples:,}; name the "
            "table of the fit with --data."
        )
    return read


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


def _facts(opened: models.OpenedModel, files: list[Path]) -> dict[str, Any]:
    return {**models.made_now(), "model": opened.origin(), "files": [str(file) for file in files]}


def _written_folder(
    opened: models.OpenedModel, output: Path, write: Callable[[Path], list[str]]
) -> dict[str, Any]:
    """Write files and a manifest to a folder, all of them or none."""
    with replacing_folder(output, keep_others=True) as new:
        facts = _facts(opened, [output / name for name in write(new)])
        (new / "manifest.json").write_text(to_json(facts, indent=1) + "\n", encoding="utf-8")
    return facts


def _to_csv(opened: models.OpenedModel, output: Path, documents: Any) -> dict[str, Any]:
    from cofactor.io.exports import write_tables

    columns = _columns(documents)
    return _written_folder(
        opened, output, lambda folder: write_tables(opened.model, folder, columns=columns)
    )


def _to_anndata(opened: models.OpenedModel, output: Path, documents: Any) -> dict[str, Any]:
    from cofactor.io.exports import write_anndata

    if documents is None:
        note("The table of the fit does not exist, so X stays empty; name the table with --data.")
    facts = _facts(opened, [output])
    texts = None if documents is None else documents.documents.texts
    names = None if documents is None else list(map(str, documents.numbers))
    write_anndata(opened.model, output, texts, to_json(facts), names)
    return facts


def _to_topicwizard(opened: models.OpenedModel, output: Path, documents: Any) -> dict[str, Any]:
    from cofactor.io.exports import write_wizard

    if documents is None:
        raise BadInput(
            "--to topicwizard needs documents, but their table does not exist; name it with --data."
        )
    texts = documents.documents.texts
    facts = _written_folder(
        opened, output, lambda folder: write_wizard(opened.model, folder, texts)
    )
    missing = "" if find_spec("topicwizard") else "pip install topic-wizard, then "
    note(f"To open it: {missing}python {output / 'show.py'}")
    return facts


def _labels_to(target: str) -> Callable[[models.OpenedModel, Path, Any], dict[str, Any]]:
    """Return a function that writes labels for a program."""

    def write(opened: models.OpenedModel, output: Path, documents: Any) -> dict[str, Any]:
        from cofactor.app.decisions import DecisionLog, Reviewed, log_path
        from cofactor.app.exports import program_file
        from cofactor.app.text_queue import TextTable

        if documents is None:
            raise BadInput(
                f"--to {target} needs documents, but their table does not exist; name it with "
                "--data."
            )
        table = TextTable(documents.documents.texts, documents.labels, documents.numbers)
        reviewed = Reviewed(table.classes)
        reviewed.apply(DecisionLog(log_path(opened.path)).read())
        several = any(len(one.labels or ()) > 1 for one in reviewed.reviews.values())
        table = replace(table, several=several or any(len(one) > 1 for one in table.given))
        write_data(output, program_file(table, reviewed, target))
        return _facts(opened, [output])

    return write


def _check_place(target: str, output: Path) -> None:
    """Refuse an output that could not be written, before any work is done."""
    if target == "anndata" or target in LABEL_FILES:
        if output.is_dir():
            raise BadInput(f"--output {output} is a folder; name a file.")
        check_place(output)
        return
    if output.exists() and not output.is_dir():
        raise BadInput(f"--output {output} is a file; name a folder.")
    if (output / "config.json").exists():
        raise BadInput(f"--output {output} is a model; name another folder.")


_WRITERS = {
    "csv": _to_csv,
    "anndata": _to_anndata,
    "topicwizard": _to_topicwizard,
    **{target: _labels_to(target) for target in LABEL_FILES},
}


# ---- single cells


def _export_cells(
    folder: Path, target: str, output: Path | None, force: bool, as_json: bool
) -> None:
    """Write a model of cells as a folder of tables."""
    if target != "csv":
        raise BadInput(
            f"--to {target} is for models of texts; cofactor predict {folder} data.h5ad -o "
            "out.h5ad writes cells with their topics."
        )
    output = output or Path(f"{folder.resolve().name}-tables")
    if output.exists() and not output.is_dir():
        raise BadInput(f"--output {output} is a file; name a folder.")
    refuse_overwriting(output, force)
    tables = _cell_tables(_cells.load_cell_model(folder))
    with replacing_folder(output, keep_others=True) as new:
        for name, (header, *rows) in tables.items():
            with replacing(new / name) as stream:
                writer = make_writer(stream, "csv", header)
                for row in rows:
                    writer.write(row)
    files = [str(output / name) for name in tables]
    if as_json:
        emit({"model": str(folder), "files": files})
    else:
        note(f"Wrote {', '.join(files)}.")


def _cell_tables(model: Any) -> dict[str, list[list[Any]]]:
    """Return the tables of a model of cells; their first rows are names of columns."""
    from cofactor.sc.markers import Marker

    columns = ["topic", "share", "class", "link"]
    topics = [[row[name] for name in columns] for row in _cells.cell_topics(model, 1)]
    markers = [[kind, *vars(m).values()] for kind, found in model.markers.items() for m in found]
    genes = [[g, *row] for g, row in zip(model.genes, model.topics.T.tolist(), strict=True)]
    names = [f"topic {k}" for k in range(len(model.topics))]
    return {
        "topics.csv": [columns, *topics],
        "markers.csv": [["kind", *(one.name for one in fields(Marker))], *markers],
        "genes.csv": [["gene", *names], *genes],
    }
