"""`cofactor fit`: fits a model to a table, to blocks, or to single cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cofactor.cli import _cells
from cofactor.cli import _models as models
from cofactor.cli import _options as opt
from cofactor.cli import _tables as tables
from cofactor.cli._command import BadInput, Command, end_interrupted, given_options, refusals
from cofactor.cli._parts import PartsReading, on_cluster, read_parts
from cofactor.cli._terminal import announce, as_typed, emit, note, note_each, note_next
from cofactor.io.models.description import expectation
from cofactor.io.tables.file_parts import names_parts
from cofactor.io.tables.label_advice import suggest_topics

UNUSED_ENCODER = (
    "--encoder is not used, because topics are made of words; name labels (--label) or classes "
    "(--classes) to predict."
)


@click.command(cls=Command)
@opt.table_argument
@opt.add(opt.READING)
@opt.option(
    "-k --topics N",
    "Number of topics.  [default: that of cofactor check, by classes and documents]",
    type=opt.COUNT,
)
@opt.folder_option("Folder for the model; a model that is there is replaced.")
@opt.add(opt.SETTINGS)
@opt.option(
    "--supervision",
    "Weight of the labels relative to the texts.  [default: balanced]",
    type=opt.Number(float, 0),
)
@opt.add("classes", opt.ENCODER, "further_words")
@opt.option(
    "--stability RUNS",
    "Refit on RUNS bootstrap samples and report how stable each topic is.",
    type=opt.COUNT,
)
@opt.add(opt.CELLS, "cluster")
@opt.option(
    "--checkpoint FOLDER",
    "Folder on storage that all workers share; the same command continues a fit that was stopped.",
    type=opt.FOLDER,
)
@opt.option(
    "--forget-documents",
    "Keep no topics and scores of each document, so that the folder stays small; predictions are "
    "the same. 40 numbers of up to 2,000 labelled documents stay, to know texts unlike them.",
    is_flag=True,
)
@opt.option("--verbose", "Say why the fit ended and how long steps took.", is_flag=True)
@opt.add("as_json")
def fit(
    table: Path,
    asked: opt.TableOptions,
    topics: int | None,
    output: Path,
    settings: opt.ModelOptions,
    supervision: float | None,
    classes: dict[str, str] | None,
    vectors: opt.EncoderOptions,
    further_words: str,
    stability: int | None,
    counts: opt.CellOptions,
    cluster: str | None,
    checkpoint: Path | None,
    forget_documents: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    """Find topics in documents, guided by the available labels.

    TABLE is any file or folder that `cofactor check` reads, or a folder of blocks that `cofactor
    blocks` wrote. Documents without a label are used too: they shape the topics, and the model can
    predict their labels. The same table, options and seed give the same model.

    A document may have several labels. --label-separator splits cells, lists in JSON lines hold
    several labels, and --label may be repeated. If all those columns hold 0 and 1, each column is a
    label; if they hold numbers, the model predicts each column; otherwise the labels of all columns
    are combined.

    Without any labels, --classes names the classes: --classes "Sports,World,Science and
    technology", or a file with lines like "Sports: baseball, hockey and other games". With
    --encoder, first labels come from the texts nearest in meaning to one class; without, from those
    that hold its words. Labels in the table outweigh them.

    TABLE may also be an AnnData file of single cells (.h5ad, or a .zarr folder) with raw counts in
    X or in --layer; --label is then a column of its obs. It is read in chunks, not loaded. Without
    -k, each class has a topic, and there are at least ten.

    TABLE may name several files: 'data/part*.parquet', or addresses such as
    's3://bucket/part*.csv', which need fsspec and its package for that storage. Every file is then
    a part of the table. With --cluster, the workers read, clean and count their own parts, so they
    must see the files at the same paths; without, this process does. Both give the same model, bit
    for bit. Grammatical words are not kept, and --encoder, --classes and --further-words are
    refused.

    Ctrl-C stops the fit, and the model of the last complete iteration is saved; before the first
    iteration, nothing is saved. A model that is already in FOLDER is not replaced; the unfinished
    one is saved beside it.
    """
    models.check_place(output)
    if tables.holds_cells(table):
        _fit_cells(table, asked, counts, topics, output, as_json, settings, supervision)
        return
    if checkpoint is not None and cluster is None:
        raise BadInput("--checkpoint is for fits on a cluster; leave it out, or add --cluster.")
    weight = "auto" if supervision is None else supervision
    named = {"classes": classes, "encoder": vectors.cached(vectors.encoder)}
    named["further_words"] = further_words
    model = settings.model(supervision=weight, **named)
    with on_cluster(cluster, checkpoint) as there:
        reading = _read(table, asked, model, there)
        if stability and not isinstance(reading, tables.Reading):
            raise BadInput("--stability needs one table; blocks and parts cannot be drawn from.")
        note(tables.summary(reading))
        doubts = _settle(model, reading, topics, settings.task)
        if vectors.encoder is not None and not _predicts(model, reading):
            doubts.append(UNUSED_ENCODER)
        note_each(doubts)
        messages, interrupted = _fit(model, reading, there)
    if isinstance(reading, PartsReading):
        tables.tell_language(model.vectorizer, model.vectorizer_.languages_)
    if interrupted:
        output = models.place_beside(output)
    elif stability:
        _measure_stability(model, reading, stability)
    reading.facts |= {name: models.relative(reading.facts[name], output) for name in reading.places}
    said = [*doubts, *messages]
    notes = {"input": reading.facts, "command": models.command_line(), "warnings": said}
    kept = model.forget_documents() if forget_documents else model
    wrote = models.saved_model(kept, output, notes)
    facts = _facts(model, reading, output, said)
    if as_json:
        emit(facts)
    else:
        _tell(model, facts, wrote, verbose, table)
    if interrupted and checkpoint is not None:
        note("To go on with the fit from its checkpoint, give the same command again.")
    end_interrupted(interrupted)


def _read(
    table: Path, asked: opt.TableOptions, model: Any, cluster: Any
) -> tables.Reading | tables.BlockReading | PartsReading:
    """Read the table or its parts, or open the blocks."""
    if tables.holds_blocks(table):
        _refuse_options(table)
        return tables.open_blocks(table).for_task(model.task)
    if names_parts(table):
        _refuse_meaning(f"one file, but {table} names parts of a table", "join the files")
        with announce("Reading the documents"):
            return read_parts(table, asked, task=model.task, cluster=cluster)
    if cluster is not None:
        _refuse_meaning("all texts in one process", "fit without --cluster")
    from cofactor.text.class_names import descriptions_of, task_of

    with refusals():
        names = bool(descriptions_of(model))
        task_of(model, None)  # which checks whether both fit
    with announce("Reading the documents"):
        reading = tables.read_table(table, asked, task="auto" if names else model.task)
    reading.facts["in_blocks"] = cluster is not None
    if names and reading.facts["labels_are"] == "none":
        reading.facts["task"] = "classes"
    return reading


def _settle(model: Any, reading: Any, topics: int | None, task: str) -> list[str]:
    """Settle what depends on the documents; return doubts about their labels."""
    model.set_params(n_components=topics or _usual_topics(model, reading))
    _refuse_many_topics(model.n_components, reading.facts["rows"])
    if isinstance(reading, tables.Reading):
        tables.settle_language(model.vectorizer, reading.documents.texts)
    return [] if isinstance(reading, tables.BlockReading) else tables.label_doubts(reading, task)


def _refuse_options(table: Path) -> None:
    """Refuse options that were decided when the blocks were written."""
    for name, option in given_options():
        if name in opt.READING.options or name in opt.WORDS.options:
            raise BadInput(
                f"{option} was decided when {table} was written; leave it out, or write the blocks "
                "again with cofactor blocks."
            )


def _refuse_meaning(needed: str, remedy: str) -> None:
    """Refuse options that need all texts in one place."""
    for name, option in given_options():
        if name in ("classes", "encoder", "encoder_cache", "further_words"):
            raise BadInput(f"{option} needs {needed}; leave it out, or {remedy}.")


def _usual_topics(model: Any, reading: Any) -> int:
    """Return as many topics as check proposes."""
    from cofactor.text.class_names import descriptions_of

    named = len(descriptions_of(model))
    classes = 0 if model.task == "topics" else max(tables.classes_of(reading), named)
    return suggest_topics(classes, reading.facts["rows"])


def _refuse_many_topics(topics: int, documents: int) -> None:
    """Refuse more topics than documents."""
    if topics > documents:
        raise BadInput(
            f"-k {topics} asks for more topics than there are documents ({documents:,}); give a "
            "smaller number."
        )


def _predicts(model: Any, reading: Any) -> bool:
    """Return whether the model will predict something, from labels, names or seeds."""
    return "topics" not in (model.task, reading.facts["task"]) or bool(model.classes or model.seeds)


def _fit(model: Any, reading: Any, cluster: Any) -> tuple[list[str], bool]:
    """Fit the model; return its warnings and whether the fit was interrupted."""
    fit_with = None if cluster is None else cluster.fit_matrix
    with models.watched_fit("Fitting the topics") as watched:
        if fit_with is None:
            model.set_callbacks(watched.reporter())
        tables.settle_task(
            model, reading.facts["task"], asked=isinstance(reading, tables.BlockReading)
        )
        reading.fit(model, fit_with=fit_with)
    return watched.messages, watched.interrupted


def _measure_stability(model: Any, reading: Any, runs: int) -> None:
    """Fit bootstrap samples; Ctrl-C keeps the model without its stability."""
    from cofactor.text.selection import measure_stability

    def show(done: int) -> None:
        progress(f"sample {done} of {runs}")

    texts, y = reading.documents.texts, reading.y
    try:
        with announce("Measuring the stability of topics") as progress, refusals():
            found = measure_stability(model, texts, y, runs, None, show)
        model.amend(stability=found)
    except KeyboardInterrupt:
        note("Interrupted; the model is saved without the stability of its topics.")


def _facts(model: Any, reading: Any, output: Path, said: list[str]) -> dict[str, Any]:
    starts = getattr(model, "class_starts_", None)
    return {
        "model": str(output),
        "input": reading.facts,
        "topics": len(model.topic_names_),
        "words": len(model.vectorizer_.get_feature_names_out()),
        "classes": list(model.target_names_),
        "iterations": int(model.n_iter_),
        "stop_reason": model.estimator_.stop_reason_,
        "expected_score": models.score_facts(model),
        "class_starts": None if starts is None else starts.to_records(),
        "wordless": _wordless(model, reading),
        "seed": model.seed_,
        "seconds": model.timings_,
        "fingerprint": model.fingerprint_,
        "warnings": said,
    }


def _wordless(model: Any, reading: Any) -> int:
    """Return the number of labelled documents that the model knows nothing of; of blocks it is not
    known."""
    cells = reading.documents.label_cells if isinstance(reading, tables.Reading) else None
    from cofactor.text.describe.predictions import blank_rows, document_scores

    blank = blank_rows(model.estimator_, model.document_topics_, document_scores(model))
    return sum(any(labels) and no for labels, no in zip(cells or (), blank, strict=False))


def _tell(model: Any, facts: dict[str, Any], wrote: str, verbose: bool, table: Path) -> None:
    """Print what a user wants to know at the end: topics, classes, labels, score, warnings."""
    if verbose:
        steps = ", ".join(f"{name} {took:.1f} s" for name, took in facts["seconds"].items())
        note(f"{facts['stop_reason']} Time: {steps}.")
    note(f"{facts['topics']:,} topics in {facts['input']['rows']:,} documents{_learned(facts)}.")
    if model.fitted.n_undescribed:
        described = f"{len(model.document_topics_):,} of them, evenly spaced"
        note(f"The model describes {described}: counts of labels and lists are of these.")
    if getattr(model.vectorizer_, "grammatical_", None):
        note(
            "The texts are short, and grammatical words help to predict, so they are kept; "
            "topics do not show them."
        )
    if verbose and model.fitted.further is not None:
        note(
            "Classes are also predicted from grammatical words and parts of words "
            "(--further-words no leaves these out); topics are made of other words."
        )
    starts = getattr(model, "class_starts_", None)
    why = "no labels could be held out to test it"
    if starts is not None:
        from cofactor.text.class_names import NONE_HELD_OUT, starts_sentence

        why = NONE_HELD_OUT
    if (score := expectation(model)) or _leaves_a_choice(facts):
        note(
            score
            or f"How well the model predicts is not known: {why}. Test it with your own labels: "
            + as_typed("report", facts["model"], *["--data", "labelled.csv", "--truth", "COLUMN"])
        )
    if starts is not None:
        note(starts_sentence(starts, facts["input"]["rows"]))
    if wordless := facts["wordless"]:
        have = "document has" if wordless == 1 else "documents have"
        note(
            f"{wordless:,} labelled {have} no word that the model knows: nothing is predicted for "
            "such texts, and they do not count in scores."
        )
    kept = " Its README.md keeps the notes above." if facts["warnings"] else ""
    note(f"{wrote}{kept}")
    note_next("topics", facts["model"])
    if starts is not None:
        note("To see how good it is, and to improve it, label the texts that this lists:")
        note_next("suggest", facts["model"], table, "-n", 20)


def _leaves_a_choice(facts: dict[str, Any]) -> bool:
    """Return whether there is something to predict: a number, labels, or one of several classes."""
    return len(facts["classes"]) > (facts["input"]["labels_are"] == "classes")


def _learned(facts: dict[str, Any]) -> str:
    """Return what was learned from how many labels, for the end of a sentence."""
    kind, labelled = facts["input"]["labels_are"], facts["input"]["labelled"]
    if not facts["classes"]:
        return ", without predictions"
    known = f"{labelled:,} {'document' if labelled == 1 else 'documents'} with labels"
    if kind == "numbers":
        return f", numbers learned from {known}"
    one, many = ("class", "classes") if kind in ("classes", "none") else ("label", "labels")
    noun = one if len(facts["classes"]) == 1 else many
    source = known if labelled else "their names"
    return f", {len(facts['classes']):,} {noun} learned from {source}"


# ---- single cells


def _fit_cells(
    table: Path,
    asked: opt.TableOptions,
    counts: opt.CellOptions,
    topics: int | None,
    output: Path,
    as_json: bool,
    settings: opt.ModelOptions,
    supervision: float | None,
) -> None:
    """Fit a model to an AnnData file and save it."""
    _cells.refuse_text_options(
        *("labels", "unlabelled", "topics", "output", "seed"),
        *("supervision", "class_weight", "iterations", "jobs"),
    )
    labelled = {"supervision": supervision, "class_weight": settings.class_weight}
    with _cells.single_cells() as sc, models.watched_fit("Fitting the topics") as watched:
        model = sc.fit(
            table,
            labels=_cells.label_of(asked),
            layer=counts.layer,
            genes=counts.chosen_genes,
            batch_key=counts.batch,
            unlabelled=asked.unlabelled,
            n_topics=topics,
            random_state=settings.seed,
            max_iter=settings.iterations,
            n_jobs=settings.jobs,
            callbacks=[watched.reporter()],
            **{name: value for name, value in labelled.items() if value is not None},
        )
    if watched.interrupted:
        output = models.place_beside(output)
    place = {"path": models.relative(table, output)}
    notes = {"input": place, "command": models.command_line(), "warnings": watched.messages}
    wrote = models.saved_model(model, output, notes)
    if as_json:
        found = {**model.facts, "classes": model.classes, "warnings": watched.messages}
        emit({"model": str(output), "input": str(table), **found})
    else:
        _tell_cells(model, wrote, output)
    end_interrupted(watched.interrupted)


def _tell_cells(model: Any, wrote: str, output: Path) -> None:
    facts, learned = model.facts, ", without predictions"
    genes = f"{facts['genes']} genes" if facts["genes"].startswith("the ") else facts["genes"]
    if model.classes:
        cells = f"{facts['labelled']:,} labelled cells"
        learned = f", {len(model.classes):,} classes learned from {cells}"
    note(f"{facts['n_topics']:,} topics in {facts['cells']:,} cells{learned}; genes: {genes}.")
    if said := _cells.expected_of_cells(model):
        note(said)
    note(wrote)
    note_next("topics", output)
