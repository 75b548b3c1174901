"""`cofactor fit`: fits a model to a table."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import chain, count
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from cofactor.cli._shared.blocks import BlockReading, holds_blocks, open_blocks
from cofactor.cli._shared.cluster import fit_function
from cofactor.cli._shared.command import (
    COUNT,
    INTERRUPTED,
    OUTPUT,
    SEED,
    TABLE,
    BadInput,
    Command,
    Number,
    json_option,
)
from cofactor.cli._shared.models import check_place, expectation, refusals, relative
from cofactor.cli._shared.table_options import SETTLED, TableOptions, all_table_options
from cofactor.cli._shared.tables import Reading, read_table
from cofactor.cli._shared.targets import count_classes
from cofactor.cli._shared.terminal import announce, emit, note
from cofactor.cli._shared.words import WORDS, settle_language, vectorizer_of, word_options
from cofactor.io.tables.label_advice import label_notes, refusal


@click.command(cls=Command)
@click.argument("table", type=TABLE)
@all_table_options
@click.option("-k", "--topics", type=COUNT, default=10, help="Number of topics.")
@click.option("-o", "--output", type=OUTPUT, required=True, metavar="FOLDER",
              help="Folder for the model; a model that is there is replaced.")  # fmt: skip
@click.option("--task", type=click.Choice(["auto", "topics", "classes", "numbers"]),
              default="auto", help="What to learn from the labels.")  # fmt: skip
@click.option("--seed", type=SEED, default=0, help="Random seed.")
@click.option("--seed-words", multiple=True, metavar="NAME=WORD,WORD",
              help="Words that draw a topic to a subject: billing=invoice,refund. May be "
              "repeated.")  # fmt: skip
@word_options
@click.option("--supervision", type=Number(float, 0),
              help="Weight of the labels relative to the texts.  [default: balanced]")  # fmt: skip
@click.option("--class-weight", multiple=True, metavar="CLASS=WEIGHT",
              help="How much labels of a class count, like spam=5; other classes have weight 1. "
              "May be repeated. The word balanced makes all classes count the same.")  # fmt: skip
@click.option("--iterations", type=COUNT, default=200,
              help="Maximum number of iterations.")  # fmt: skip
@click.option("--jobs", type=int, default=-1, help="Number of threads; -1 for all cores.")
@click.option("--cluster", metavar="ADDRESS", help="Fit on a Dask cluster: the address of its "
              "scheduler, or local for one process on each core.")  # fmt: skip
@click.option("--verbose", is_flag=True, help="Say why the fit ended and how long steps took.")
@json_option
def fit(
    table: Path, asked: TableOptions, output: Path, task: str, as_json: bool,
    cluster: str | None, verbose: bool, **settings: Any,
) -> None:  # fmt: skip
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

    Ctrl-C stops the fit, and the model of the last complete iteration is saved; before the first
    iteration, nothing is saved. A model that is already in FOLDER is not replaced; the unfinished
    one is saved beside it.
    """
    model = _model(task, **settings)
    seeds_are_classes = task == "classes" and model.seeds is not None and not asked.labels
    check_place(output)
    reading = _read(table, asked, task, seeds_are_classes)
    note(_summary(reading))
    if isinstance(reading, Reading):
        settle_language(model.vectorizer, reading.documents.texts)
    doubts = _doubts(reading, task, settings["topics"])
    for sentence in doubts:
        note(f"Note: {sentence}")
    with fit_function(cluster) as how:
        messages, interrupted = _fit(model, reading, how, show_progress=cluster is None)
    if interrupted:
        output = _beside(output)
    places = {name: relative(reading.facts[name], output) for name in reading.places}
    reading.facts.update(places)
    said = [*doubts, *messages]
    notes = {"input": reading.facts, "command": _command(), "warnings": said}
    with refusals():
        model.save(output, notes=notes)
    facts = _facts(model, reading, output, said)
    if as_json:
        emit(facts)
    else:
        for sentence in _ending(model, facts, verbose):
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


def _beside(output: Path) -> Path:
    """Return a folder for an unfinished model, which must not replace another one."""
    named = output if output.name else output.absolute()  # "." has no name
    others = (f"{named.name}-unfinished{number}" for number in chain([""], count(2)))
    places = chain([output], map(named.with_name, others))
    return next(place for place in places if not place.exists())


def _model(
    task: str, topics: int, seed: int, seed_words: tuple[str, ...], words: dict[str, Any],
    supervision: float | None, class_weight: tuple[str, ...], iterations: int, jobs: int,
) -> Any:  # fmt: skip
    """Return the model that the options ask for."""
    if jobs == 0:
        raise BadInput("--jobs 0 runs nothing; give a positive number, or -1 for all cores.")
    seeds, weights = _seeds(seed_words), _class_weight(class_weight)
    vectorizer = vectorizer_of(**words)
    from cofactor.text import TopicModel

    return TopicModel(
        topics, task=task, seeds=seeds, vectorizer=vectorizer,
        supervision="auto" if supervision is None else supervision, max_iter=iterations,
        class_weight=weights, n_jobs=jobs, random_state=seed,
    )  # fmt: skip


def _fit(
    model: Any, reading: Reading | BlockReading, how: Callable[..., Any], show_progress: bool
) -> tuple[list[str], bool]:
    """Fit the model and show warnings; return these and whether the fit was interrupted."""
    from cofactor.estimators.base import FitInterruptedWarning

    caught: dict[str, type[Warning]] = {}

    def catch(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
        if category is FitInterruptedWarning and category not in caught.values():
            note("Stopping; saving the model ...")
        caught.setdefault(str(message), category)

    with (
        announce("Fitting the topics") as progress,
        warnings.catch_warnings(),
        refusals(),
    ):
        warnings.simplefilter("always")
        warnings.showwarning = catch
        if show_progress:
            model.set_callbacks(_reporter(progress))
        asked = model.task != "auto" or isinstance(reading, BlockReading)
        if asked or not model.seeds or reading.facts["task"] != "classes":
            model.set_params(task=reading.facts["task"])  # task="classes" would make seeds classes
        reading.fit(model, fit=how)
    for message in caught:
        note(f"Note: {message}")
    return [*caught], FitInterruptedWarning in caught.values()


def _reporter(progress: Callable[[str], None]) -> Any:
    """Return a callback that shows the number of finished iterations."""
    from cofactor.callbacks import ReportIterations

    return ReportIterations(lambda done: progress(f"iteration {done}"))


def _seeds(given: tuple[str, ...]) -> dict[str, list[str]] | None:
    seeds: dict[str, list[str]] = {}
    for one in given:
        name, equals, words = one.partition("=")
        found = [word.strip() for word in words.split(",") if word.strip()]
        if not (name.strip() and equals and found):
            raise BadInput(
                f"--seed-words {one!r} must be a name and its words, like billing=invoice,refund."
            )
        seeds.setdefault(name.strip(), []).extend(found)
    return seeds or None


def _class_weight(given: tuple[str, ...]) -> dict[str, float] | str | None:
    if "balanced" in given:
        if others := [one for one in given if one != "balanced"]:
            raise BadInput(f"--class-weight balanced sets all weights; leave out {others[0]!r}.")
        return "balanced"
    weights: dict[str, float] = {}
    for one in given:
        name, _, weight = one.rpartition("=")  # names may hold =, too
        try:
            weights[name.strip()] = float(weight)
        except ValueError:
            name = ""
        if not name.strip():
            raise BadInput(
                f"--class-weight {one!r} must be balanced, or a class and its weight, like spam=5."
            )
    return weights or None


def _doubts(reading: Reading | BlockReading, task: str, topics: int) -> list[str]:
    """Return what is doubtful before the fit; refuse labels that are none, unless --task asks."""
    found = _label_doubts(reading, task, topics) if isinstance(reading, Reading) else []
    if topics > reading.facts["rows"]:
        found.append(
            f"{topics:,} topics for {reading.facts['rows']:,} documents will be much alike; give a "
            "smaller number with -k."
        )
    return found


def _label_doubts(reading: Reading, task: str, topics: int) -> list[str]:
    facts, found = reading.facts, [*reading.notes]
    if facts["label"] is None or (facts["format"] == "folder" and not facts["labelled"]):
        return found
    if task == "auto" and (reason := refusal(reading.counts)):
        raise BadInput(
            f"{reason} Name the right column with --label, or insist with --task classes or --task "
            "numbers."
        )
    found += label_notes(reading.counts, facts["min_labels"] or 0, facts["labels_are"])
    classes = count_classes(reading.counts, facts["labels_are"])
    if 1 < topics < classes and facts["labels_are"] == "classes":
        found.append(
            f"{topics:,} topics for {classes:,} classes: several classes share a topic; -k "
            f"{classes} gives one to each."
        )
    return found


def _refuse_options(table: Path) -> None:
    """Refuse options that were decided when the blocks were written."""
    context = click.get_current_context()
    for parameter in context.command.params:
        given = context.get_parameter_source(parameter.name or "")
        if parameter.name in (*SETTLED, *WORDS) and given is not ParameterSource.DEFAULT:
            raise BadInput(
                f"{parameter.opts[0]} was decided when {table} was written; leave it out, or write "
                "the blocks again with cofactor blocks."
            )


def _summary(reading: Reading | BlockReading) -> str:
    facts = reading.facts
    how = [facts["format"]] + ([facts["encoding"]] if facts["encoding"] else [])
    labels = f"{facts['labelled']:,} labelled{_FORMS.get(facts['labels_are'], '')}"
    labels = labels if facts["label"] else "no label column"
    return f"{facts['rows']:,} documents ({', '.join(how)}), {labels}."


_FORMS = {
    "sets": " with any number of labels",
    "columns": " with yes or no in each column",
    "numbers": " with numbers",
}


def _command() -> list[str]:
    import sys

    return ["cofactor", *sys.argv[1:]]


def _ending(model: Any, facts: dict[str, Any], verbose: bool) -> Iterator[str]:
    """Say what a user wants to know at the end: topics, classes, labels, score, warnings."""
    if verbose:
        steps = ", ".join(f"{name} {took:.1f} s" for name, took in facts["seconds"].items())
        yield f"{facts['stop_reason']} Time: {steps}."
    yield f"{facts['topics']:,} topics in {facts['input']['rows']:,} documents{_learned(facts)}."
    if facts["classes"]:
        yield expectation(model) or (
            "How well the model predicts is not known: no labels could be held out to test it; "
            "cofactor report --truth tests it with labels of your own."
        )
    kept = " Its README.md keeps the notes above." if facts["warnings"] else ""
    yield f"Wrote the model to {facts['model']}.{kept}"
    yield f"Next: cofactor topics {shlex.quote(facts['model'])}"


def _learned(facts: dict[str, Any]) -> str:
    """Return what was learned from how many labels, for the end of a sentence."""
    kind, labelled = facts["input"]["labels_are"], facts["input"]["labelled"]
    if not facts["classes"]:
        return ", without predictions"
    known = f"{labelled:,} {'document' if labelled == 1 else 'documents'} with labels"
    if kind == "numbers":
        return f", numbers to predict learned from {known}"
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
