"""Single cells for commands: AnnData files are fitted, predicted, checked and shown."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from cofactor._version import __version__
from cofactor.cli._shared.command import INTERRUPTED, BadInput, in_options, is_given, needing_extra
from cofactor.cli._shared.fits import check_place, command_line, place_beside, watched_fit
from cofactor.cli._shared.models import refusals, relative
from cofactor.cli._shared.outputs import opened_output, refuse_table_as_output
from cofactor.cli._shared.table_options import TableOptions
from cofactor.cli._shared.terminal import announce, emit, make_table, note, percent, show, shown
from cofactor.io.tables.writers import make_writer, output_kind

ENDINGS = (".h5ad", ".zarr")
FIT = {
    "table",
    "labels",
    "unlabelled",
    "layer",
    "topics",
    "output",
    "seed",
    "supervision",
    "class_weight",
    "iterations",
    "jobs",
    "as_json",
}
CHECK = {"table", "labels", "unlabelled", "layer", "as_json"}
PREDICT = {"model", "table", "output", "layer", "all_classes", "topics", "abstain", "as_json"}
"""Options of commands that mean something for cells."""
LISTED = 12

layer_option = click.option(
    "--layer",
    metavar="NAME",
    help="Layer of an .h5ad file that holds the raw counts.  [default: X]",
)


def holds_cells(path: Path, layer: str | None = None) -> bool:
    """Tell whether a path is named like an AnnData file; refuse --layer for other tables."""
    found = path.name.lower().endswith(ENDINGS)
    if layer is not None and not found:
        raise BadInput(f"--layer {layer} needs an .h5ad file or a .zarr folder; leave it out.")
    return found


def is_cell_model(path: Path) -> bool:
    """Tell whether a folder holds a model of cells."""
    from cofactor.io.models import ModelFormatError, read_facts

    try:
        return isinstance(read_facts(path)["notes"].get("cells"), dict)
    except ModelFormatError:  # which opening the model explains
        return False


@contextmanager
def _cells() -> Iterator[Any]:
    """Yield the package for cells; its errors become sentences."""
    with needing_extra("Single cells", "sc"), refusals():
        from cofactor import sc

        sc.cells.anndata()
        yield sc


def _refuse_others(allowed: set[str]) -> None:
    """Refuse options that only mean something for texts."""
    for parameter in click.get_current_context().command.params:
        if parameter.name not in allowed and is_given(parameter.name or ""):
            raise BadInput(f"{parameter.opts[0]} is for texts; leave it out for cells.")


def _label(asked: TableOptions) -> str | None:
    if len(asked.labels) > 1:
        raise BadInput("--label may be given once for cells, which have one label each.")
    return asked.labels[0] if asked.labels else None


# ---- fit


def fit_cells(
    table: Path,
    asked: TableOptions,
    layer: str | None,
    topics: int,
    output: Path,
    as_json: bool,
    settings: dict[str, Any],
) -> None:
    """Fit a model to an AnnData file and save it."""
    _refuse_others(FIT)
    check_place(output)
    options = {
        "labels": _label(asked),
        "layer": layer,
        "unlabelled": asked.unlabelled,
        "n_topics": topics if is_given("topics") else None,
        **_settings(settings),
    }
    with _cells() as sc, watched_fit("Fitting the topics") as watched:
        model = sc.fit(table, **options)
    if watched.interrupted:
        output = place_beside(output)
    said = watched.messages
    notes = {
        "input": {"path": relative(table, output)},
        "command": command_line(),
        "warnings": said,
    }
    with refusals():
        model.save(output, notes=notes)
    facts = {
        "model": str(output),
        "input": str(table),
        **model.facts,
        "classes": model.classes,
        "warnings": said,
    }
    if as_json:
        emit(facts)
    else:
        _tell_fit(model, facts)
    if watched.interrupted:
        click.get_current_context().exit(INTERRUPTED)


def _settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Return parameters of the estimator that options ask for."""
    from cofactor.cli._shared.model_options import class_weight_of, jobs_of

    found = {
        "random_state": settings["seed"],
        "max_iter": settings["iterations"],
        "n_jobs": jobs_of(settings["jobs"]),
    }
    labelled = {
        "supervision": settings["supervision"],
        "class_weight": class_weight_of(settings["class_weight"]),
    }
    return found | {name: value for name, value in labelled.items() if value is not None}


def _tell_fit(model: Any, facts: dict[str, Any]) -> None:
    genes = f"{facts['genes']} genes" if facts["genes"].startswith("the ") else facts["genes"]
    learned = ", without predictions"
    if facts["classes"]:
        learned = (
            f", {len(facts['classes']):,} classes learned from {facts['labelled']:,} labelled cells"
        )
    note(f"{facts['n_topics']:,} topics in {facts['cells']:,} cells{learned}; genes: {genes}.")
    if said := _expected(model):
        note(said)
    note(f"Wrote the model to {facts['model']}.")
    note(f"Next: cofactor topics {shlex.quote(facts['model'])}")


def _expected(model: Any) -> str:
    expected = getattr(model.estimator, "expected_score_", None)
    if expected is None:
        return ""
    return f"Expected on new cells like these: {expected}."


# ---- topics


def show_cell_topics(path: Path, genes: int, as_json: bool) -> None:
    """Print the topics and the classes of a model of cells with their markers."""
    with _cells() as sc:
        model = sc.load(path)
    topics, classes = topic_rows(model, genes), _class_rows(model, genes)
    if as_json:
        emit({"model": str(path), "cells": model.facts, "topics": topics, "classes": classes})
        return
    table = make_table("Topic", "Share", "Class", "Link", "Genes", numbers=("Topic", "Share"))
    for row in topics:
        link = "" if row["link"] is None else f"{row['link']:.0%}"
        cells = (str(row["topic"]), percent(row["share"]), shown(row["class"], 24), link)
        table.add_row(*cells, " ".join(row["genes"]))
    show(table)
    if classes:
        table = make_table("Class", "Genes")
        for row in classes:
            table.add_row(shown(row["class"], 24), " ".join(row["genes"]))
        show("", table)
    if said := _expected(model):
        note(said)


def topic_rows(model: Any, genes: int) -> list[dict[str, Any]]:
    """Return the topics of a model of cells, the largest first."""
    links, shares = model.topic_classes, model.mean_shares
    rows = [
        {
            "topic": k,
            "share": float(share),
            "class": model.classes[int(links[k].argmax())] if model.classes else None,
            "link": float(links[k].max()) if model.classes else None,
            "genes": model.marker_genes("topics", str(k), genes),
        }
        for k, share in enumerate(shares)
    ]
    return sorted(rows, key=lambda row: -row["share"])


def _class_rows(model: Any, genes: int) -> list[dict[str, Any]]:
    return [
        {"class": name, "genes": model.marker_genes("classes", name, genes)}
        for name in model.classes
    ]


# ---- predict


def predict_cells(
    folder: Path,
    table: Path,
    output: Path | None,
    layer: str | None,
    as_json: bool,
    asked: dict[str, Any],
) -> None:
    """Write predictions for the cells of an AnnData file: a table, or a copy of the file."""
    _refuse_others(PREDICT)
    refuse_table_as_output(output, table)
    copy = _copy(table, output, asked)
    kind = "csv" if copy or not output else output_kind(output)
    kind = "jsonl" if as_json and not output else kind
    with _cells() as sc, announce("Predicting"):
        model = sc.load(folder)
        _need_classes(model, asked)
        with sc.cells.open_cells(table, layer or model.facts.get("layer")) as cells:
            answers = model.answer(cells)
            known = int(model.match(cells.genes)[1].sum())
            names = [str(name) for name in cells.obs.index]
        if copy:
            from cofactor.sc.files import write_copy

            added = write_copy(table, copy, model, answers, abstain=asked["abstain"] or 0.0)
        else:
            added = _write_rows(output, kind, names, model, answers, asked)
    facts = {
        "made_by": f"cofactor {__version__}",
        "command": command_line(),
        "model": str(folder),
        "input": {"path": str(table), "matrix": cells.place},
        "output": str(output) if output else None,
        "added": added,
        **_counts(model, answers, asked),
        "missing_genes": len(model.genes) - known,
    }
    _tell_predictions(model, facts)
    if as_json and output:
        emit(facts)


def _need_classes(model: Any, asked: dict[str, Any]) -> None:
    """Refuse options that need classes if the model has none."""
    for name in ("all_classes", "abstain"):
        if asked[name] and not model.classes:
            raise BadInput(
                f"--{name.replace('_', '-')} needs a model that predicts classes, but "
                "this one has no labels; leave it out."
            )


def _counts(model: Any, answers: Any, asked: dict[str, Any]) -> dict[str, int]:
    """Return how many cells there are, and why some have no prediction."""
    codes, _ = answers.predictions(asked["abstain"] or 0.0)
    empty = int(answers.empty.sum())
    abstained = int((codes < 0).sum()) - empty if model.classes else 0
    return {"cells": len(codes), "empty": empty, "abstained": abstained}


def _copy(table: Path, output: Path | None, asked: dict[str, Any]) -> Path | None:
    """Return the output if it is a copy of the file with results; None if it is a table."""
    if output is None or not output.name.lower().endswith(ENDINGS):
        return None
    if {output.suffix.lower(), table.suffix.lower()} != {".h5ad"}:
        raise BadInput(
            f"--output {output}: only a copy of an .h5ad file can be written; name a .csv file."
        )
    if asked["all_classes"]:
        raise BadInput(
            f"--all-classes is for tables, and --output {output} is none; name a .csv "
            "file, or leave it out."
        )
    return output


def _write_rows(
    output: Path | None,
    kind: str,
    names: list[str],
    model: Any,
    answers: Any,
    asked: dict[str, Any],
) -> list[str]:
    """Write a row for each cell; return the names of the columns after its name."""
    columns = ["prediction", "confidence", "topic"]
    columns += model.classes if asked["all_classes"] else []
    columns += [f"topic {k}" for k in range(answers.shares.shape[1])] if asked["topics"] else []
    pairs = zip(*answers.predictions(asked["abstain"] or 0.0), strict=True)
    with opened_output(output) as file:
        writer = make_writer(file, kind, ["cell"], columns)
        for i, (name, (code, confidence)) in enumerate(zip(names, pairs, strict=True)):
            said = [None, None] if code < 0 else [model.classes[code], _rounded(confidence)]
            writer.write([name], [*said, *_row(answers, i, asked)])
    return columns


def _row(answers: Any, i: int, asked: dict[str, Any]) -> list[Any]:
    """Return the main topic of a cell, and what options ask for."""
    P, S = answers.probabilities[i], answers.shares[i]
    row: list[Any] = [int(S.argmax()) if S.any() else None]
    row += [_rounded(p) for p in P] if asked["all_classes"] else []
    return row + ([_rounded(s) for s in S] if asked["topics"] else [])


def _rounded(value: float) -> float:
    return float(f"{value:.5g}")


def _tell_predictions(model: Any, facts: dict[str, Any]) -> None:
    where = f" to {facts['output']}" if facts["output"] else ""
    note(f"Wrote {facts['cells']:,} cells{where}.")
    if facts["missing_genes"]:
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


# ---- export


def export_cells(folder: Path, target: str, output: Path | None, as_json: bool) -> None:
    """Write a model of cells as a folder of tables."""
    if target != "csv":
        raise BadInput(
            f"--to {target} is for models of texts; cofactor predict {folder} data.h5ad -o "
            "out.h5ad writes cells with their topics."
        )
    output = output or Path(f"{folder.resolve().name}-tables")
    if output.exists() and not output.is_dir():
        raise BadInput(f"--output {output} is a file; name a folder.")
    with _cells() as sc:
        model = sc.load(folder)
    output.mkdir(parents=True, exist_ok=True)
    files = [str(output / name) for name in _tables(model)]
    for file, rows in zip(files, _tables(model).values(), strict=True):
        with opened_output(Path(file)) as stream:
            writer = make_writer(stream, "csv", list(rows[0]))
            for row in rows[1:]:
                writer.write(list(row))
    if as_json:
        emit({"model": str(folder), "files": files})
    else:
        note(f"Wrote {', '.join(files)}.")


def _tables(model: Any) -> dict[str, list[Any]]:
    """Return the tables of a model of cells; their first rows are names of columns."""
    topics = [
        [row["topic"], row["share"], row["class"], row["link"]] for row in topic_rows(model, 1)
    ]
    markers = [
        [kind, m.group, m.rank, m.gene, m.log2_ratio]
        for kind, found in model.markers.items()
        for m in found
    ]
    genes = [[g, *row] for g, row in zip(model.genes, model.topics.T.tolist(), strict=True)]
    names = [f"topic {k}" for k in range(len(model.topics))]
    return {
        "topics.csv": [["topic", "share", "class", "link"], *topics],
        "markers.csv": [["kind", "group", "rank", "gene", "log2_ratio"], *markers],
        "genes.csv": [["gene", *names], *genes],
    }


# ---- check


def check_cells(table: Path, asked: TableOptions, layer: str | None, as_json: bool) -> None:
    """Say what an AnnData file holds, and which command comes next."""
    _refuse_others(CHECK)
    label = _label(asked)
    with _cells(), announce("Reading the cells"), warnings.catch_warnings(record=True) as caught:
        from cofactor.sc.survey import survey

        warnings.simplefilter("always")
        facts = survey(table, layer, label, asked.unlabelled)
    facts["advice"] = [*(in_options(one.message) for one in caught), *facts["advice"]]
    words = ["cofactor", "fit", str(table), *(["--layer", layer] if layer else [])]
    words += ["--label", label] if label else []
    words += [part for name in asked.unlabelled for part in ("--unlabelled", name)]
    facts["next"] = shlex.join([*words, "-o", "model"])
    if as_json:
        emit(facts)
        return
    rows = make_table("", "")
    rows.show_header = False
    for name, value in _summary(facts):
        rows.add_row(name, value)
    show(rows)
    if facts["classes"]:
        classes = make_table("Cells", "Label", numbers=("Cells",))
        for name, count in facts["classes"].items():
            classes.add_row(f"{count:,}", shown(name, 60))
        show("", classes)
    for sentence in facts["advice"]:
        show("", f"- {sentence}")
    click.echo(f"\nNext: {shown(facts['next'], 1000)}")


def _summary(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "cells", f"{facts['cells']:,}"
    yield "genes", f"{facts['genes']:,}, of which a fit takes {facts['fitted_genes']:,}"
    yield "counts", facts["matrix"]
    low, middle, high = facts["depth"]
    yield "depth", f"{middle:,.0f} counts a cell, from {low:,.0f} to {high:,.0f}"
    yield "empty", f"{facts['empty']:,}"
    if facts["layers"]:
        yield "layers", ", ".join(facts["layers"])
    if facts["label"]:
        share = percent(facts["labelled"] / max(facts["cells"], 1))
        yield "labelled", f"{facts['labelled']:,} ({share}), {len(facts['classes']):,} classes"
