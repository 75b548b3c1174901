"""`cofactor fit`: fits a model to a table."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from cofactor.cli._shared.blocks import BlockReading, holds_blocks, open_blocks
from cofactor.cli._shared.cells import fit_cells, holds_cells, layer_option
from cofactor.cli._shared.cluster import fit_function
from cofactor.cli._shared.command import (
    COUNT,
    INTERRUPTED,
    OUTPUT,
    TABLE,
    BadInput,
    Command,
    Number,
    is_given,
    json_option,
)
from cofactor.cli._shared.doubts import label_doubts, summary
from cofactor.cli._shared.fits import (
    check_place,
    command_line,
    place_beside,
    saved_model,
    watched_fit,
)
from cofactor.cli._shared.model_options import model_of, model_options, settle_task
from cofactor.cli._shared.models import expectation, refusals, relative
from cofactor.cli._shared.table_options import SETTLED, TableOptions, all_table_options
from cofactor.cli._shared.tables import Reading, read_table
from cofactor.cli._shared.terminal import announce, emit, note
from cofactor.cli._shared.words import WORDS, settle_language


@click.command(cls=Command)
@click.argument("table", type=TABLE)
@all_table_options
@click.option("-k", "--topics", type=COUNT, default=10, help="Number of topics.")
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    required=True,
    metavar="FOLDER",
    help="Folder for the model; a model that is there is replaced.",
)
@model_options(
    click.option(
        "--supervision",
        type=Number(float, 0),
        help="Weight of the labels relative to the texts.  [default: balanced]",
    )
)
@click.option(
    "--stability",
    type=COUNT,
    metavar="RUNS",
    help="Fit so many draws of the texts and labels as well, to tell which topics are "
    "found again; topics, report and the model's README.md show it.",
)
@layer_option
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Fit on a Dask cluster: the address of its "
    "scheduler, or local for one process on each core.",
)
@click.option("--verbose", is_flag=True, help="Say why the fit ended and how long steps took.")
@json_option
def fit(
    table: Path,
    asked: TableOptions,
    topics: int,
    output: Path,
    task: str,
    as_json: bool,
    cluster: str | None,
    stability: int | None,
    verbose: bool,
    layer: str | None,
    **settings: Any,
) -> None:
    """Find topics in documents, guided by the available labels.

    TABLE is any file or folder that `cofactor check` reads, or a folder of blocks that `cofactor
    blocks` wrote. Documents without a label are used too: they shape the topics, and the model can
    predict their labels. The same table, options and seed give the same model.

    A document may have several labels. --label-separator splits cells, lists in JSON lines hold
    several labels, and --label may be repeated. If all those columns hold 0 and 1, each column is a
    label; if they hold numbers, the model predicts each column; otherwise the labels of all columns
    are combined.

    Without any labels, --task classes with --seed-words for each class starts from the documents
    that speak for one class: --seed-words sport=goal,league --seed-words space=orbit,moon.

    TABLE may also be an AnnData file of single cells (.h5ad, or a .zarr folder) with raw counts in
    X or in --layer; --label is a column of its obs then. It is read in chunks, not loaded. Without
    -k, each class has a topic, and there are at least ten.

    Ctrl-C stops the fit, and the model of the last complete iteration is saved; before the first
    iteration, nothing is saved. A model that is already in FOLDER is not replaced; the unfinished
    one is saved beside it.
    """
    if holds_cells(table, layer):
        fit_cells(table, asked, layer, topics, output, as_json, settings)
        return
    supervision = settings.pop("supervision")
    model = model_of(
        task=task,
        n_components=topics,
        supervision="auto" if supervision is None else supervision,
        **settings,
    )
    seeds_are_classes = task == "classes" and model.seeds is not None and not asked.labels
    check_place(output)
    reading = _read(table, asked, task, seeds_are_classes)
    if stability and not isinstance(reading, Reading):
        raise BadInput("--stability needs a table; blocks are too large to be fitted repeatedly.")
    note(summary(reading))
    if isinstance(reading, Reading):
        settle_language(model.vectorizer, reading.documents.texts)
    doubts = [
        *_settle_topics(model, reading.facts["rows"]),
        *(label_doubts(reading, task) if isinstance(reading, Reading) else []),
    ]
    for sentence in doubts:
        note(f"Note: {sentence}")
    with fit_function(cluster) as how:
        messages, interrupted = _fit(model, reading, how, show_progress=cluster is None)
    if interrupted:
        output = place_beside(output)
    elif stability:
        _measure_stability(model, reading, stability)
    places = {name: relative(reading.facts[name], output) for name in reading.places}
    reading.facts.update(places)
    said = [*doubts, *messages]
    notes = {"input": reading.facts, "command": command_line(), "warnings": said}
    wrote = saved_model(model, output, notes)
    facts = _facts(model, reading, output, said)
    if as_json:
        emit(facts)
    else:
        for sentence in _ending(model, facts, wrote, verbose):
            note(sentence)
    if interrupted:
        click.get_current_context().exit(INTERRUPTED)


def _read(
    table: Path, asked: TableOptions, task: str, seeds_are_classes: bool
) -> Reading | BlockReading:
    """Read the table, or open the blocks."""
    if holds_blocks(table):
        _refuse_options(table)
        return open_blocks(table).for_task(task)
    with announce("Reading the documents"):
        reading = read_table(table, asked, task="auto" if seeds_are_classes else task)
    if seeds_are_classes:
        reading.facts["task"] = "classes"
    return reading


def _fit(
    model: Any, reading: Reading | BlockReading, how: Callable[..., Any] | None, show_progress: bool
) -> tuple[list[str], bool]:
    """Fit the model and show warnings; return these and whether the fit was interrupted."""
    with watched_fit("Fitting the topics") as watched:
        if show_progress:
            model.set_callbacks(watched.reporter())
        settle_task(model, reading.facts["task"], asked=isinstance(reading, BlockReading))
        reading.fit(model, fit_with=how)
    return watched.messages, watched.interrupted


def _measure_stability(model: Any, reading: Any, runs: int) -> None:
    """Fit draws of the texts and labels; Ctrl-C keeps the model without its stability."""
    from cofactor.text.stability import measure_stability

    try:
        with announce("Measuring the stability of topics") as progress, refusals():
            model.stability_ = measure_stability(
                model,
                reading.documents.texts,
                reading.y,
                runs,
                None,
                lambda done: progress(f"draw {done} of {runs}"),
            )
    except KeyboardInterrupt:
        note("Interrupted; the model is saved without the stability of its topics.")


def _settle_topics(model: Any, documents: int) -> list[str]:
    """Refuse more topics than documents; seek fewer if the user gave no number, and say so."""
    if model.n_components <= documents:
        return []
    if is_given("topics"):
        raise BadInput(
            f"-k {model.n_components} asks for more topics than there are documents "
            f"({documents:,}); give a smaller number."
        )
    model.set_params(n_components=documents)
    return [f"There are {documents} documents, so fit seeks {documents} topics; -k asks for fewer."]


def _refuse_options(table: Path) -> None:
    """Refuse options that were decided when the blocks were written."""
    for parameter in click.get_current_context().command.params:
        if parameter.name in (*SETTLED, *WORDS) and is_given(parameter.name or ""):
            raise BadInput(
                f"{parameter.opts[0]} was decided when {table} was written; leave it out, or write "
                "the blocks again with cofactor blocks."
            )


def _ending(model: Any, facts: dict[str, Any], wrote: str, verbose: bool) -> Iterator[str]:
    """Say what a user wants to know at the end: topics, classes, labels, score, warnings."""
    if verbose:
        steps = ", ".join(f"{name} {took:.1f} s" for name, took in facts["seconds"].items())
        yield f"{facts['stop_reason']} Time: {steps}."
    yield f"{facts['topics']:,} topics in {facts['input']['rows']:,} documents{_learned(facts)}."
    if getattr(model.vectorizer_, "grammatical_", None):
        yield (
            "The texts are short, and grammatical words help to predict, so they are kept; "
            "topics do not show them."
        )
    if facts["classes"]:
        yield expectation(model) or (
            "How well the model predicts is not known: no labels could be held out to test it; "
            "cofactor report --truth tests it with labels of your own."
        )
    kept = " Its README.md keeps the notes above." if facts["warnings"] else ""
    yield f"{wrote}{kept}"
    yield f"Next: cofactor topics {shlex.quote(facts['model'])}"


def _learned(facts: dict[str, Any]) -> str:
    """Return what was learned from how many labels, for the end of a sentence."""
    kind, labelled = facts["input"]["labels_are"], facts["input"]["labelled"]
    if not facts["classes"]:
        return ", without predictions"
    known = f"{labelled:,} {'document' if labelled == 1 else 'documents'} with labels"
    if kind == "numbers":
        return f", numbers learned from {known}"
    noun = "classes" if kind in ("classes", "none") else "labels"
    source = known if labelled else "seed words"
    return f", {len(facts['classes']):,} {noun} learned from {source}"


def _facts(
    model: Any, reading: Reading | BlockReading, output: Path, said: list[str]
) -> dict[str, Any]:
    expected = model.expected_score_
    return {
        "model": str(output),
        "input": reading.facts,
        "topics": len(model.topic_names_),
        "words": len(model.vectorizer_.get_feature_names_out()),
        "classes": list(model.target_names_),
        "iterations": int(model.n_iter_),
        "stop_reason": model.estimator_.stop_reason_,
        "expected_score": None if expected is None else asdict(expected),
        "seed": model.seed_,
        "seconds": model.timings_,
        "fingerprint": model.fingerprint_,
        "warnings": said,
    }
