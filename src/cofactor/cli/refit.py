"""`cofactor refit`: a fit that goes on from the topics of a model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from cofactor.cli import _models as models
from cofactor.cli import _options as opt
from cofactor.cli._command import BadInput, Command, end_interrupted
from cofactor.cli._tables import NoLabelsError, Reading, holds_blocks
from cofactor.cli._terminal import (
    announce,
    emit,
    make_table,
    note,
    note_each,
    note_next,
    show,
    shown,
)
from cofactor.io.errors import at

UPDATED = (
    "This model learned from several tables, and the refit reads one of them. Topics follow it, "
    "and predictions know its labels only. Freeze topics that must stay, or name a table with all "
    "documents."
)


@click.command(cls=Command)
@opt.model_argument
@click.argument("table", type=opt.TABLE, required=False)
@opt.folder_option("Folder for the new model; another model that is there is replaced.")
@opt.add(opt.reading("text", "labels", "label_separator"))
@opt.option(
    "--iterations", "Maximum number of iterations.  [default: that of the fit]", type=opt.COUNT
)
@opt.add(opt.MODEL_ENCODER, "as_json")
def refit(
    model: Path,
    table: Path | None,
    output: Path,
    asked: opt.TableOptions,
    iterations: int | None,
    vectors: opt.EncoderOptions,
    as_json: bool,
) -> None:
    """Fit again from the topics of a model; show what moved.

    Names, frozen topics, pinned and banned words stay as `cofactor edit` left them. The words that
    the model knows stay, too. TABLE is the table of the fit, by default, or another one of its
    kind, such as one with more labels; text and labels are in the same columns as in the fit,
    unless --text and --label name others.

    For each topic the table shows its similarity to before (1 means the same words with the same
    weights), words that came and went, the texts whose main topic it is, how many of them came from
    other topics (+) and went to others (-), and how many of them have another prediction.

    Ctrl-C stops the fit, and the model of the last complete iteration is saved, as in `cofactor
    fit`.
    """
    opened = models.open_model(model, vectors)
    models.check_new_place(output, opened.path)
    read = _read(opened, table, asked)
    if models.is_updated(opened):
        note_each([UPDATED])
    new, said, interrupted = _refit(opened, read, iterations)
    if interrupted:
        output = models.place_beside(output)
    told = _told(opened, read, iterations)
    step = models.ModelStep("refit", {"iterations": iterations}, [told])
    facts = {**read.facts, "path": models.relative(read.facts["path"], output)}
    notes = models.next_notes(opened, output, step, input=facts, warnings=[*read.notes, *said])
    wrote = models.saved_model(new, output, notes)
    if as_json:
        emit(_facts(opened, new, output, facts))
    else:
        _show_drift(opened.model, new)
        for sentence in (*_ending(opened.model, new), wrote):
            note(sentence)
        note_next("topics", output)
    end_interrupted(interrupted)


def _read(opened: models.OpenedModel, table: Path | None, asked: opt.TableOptions) -> Reading:
    """Read the whole table; check new labels of a model that was fitted without labels."""
    path = models.find_data(opened, table)
    if path is None:
        raise BadInput("The table that the model was fitted on does not exist; name one as TABLE.")
    if holds_blocks(path):
        raise BadInput(f"{path} holds blocks, but a refit reads tables; name the table itself.")
    new = asked.labels and opened.input.get("labels_are") in (None, "none")
    whole = opened.noting(
        blocks=None, parts=None, **({"labels_are": None, "task": "auto"} if new else {})
    )
    try:
        with announce("Reading the documents"):
            read = models.read_again(whole, path, asked)
    except NoLabelsError:
        raise _no_labels(path) from None
    model = opened.model
    from cofactor.text.class_names import descriptions_of

    if read.y is None and model.target_names_ and not descriptions_of(model):
        raise _no_labels(path)
    return read


def _no_labels(path: Path) -> BadInput:
    return BadInput(
        f"{at(path)} has no labels, but the model learned from labels; name their column with "
        "--label, or a table that has them."
    )


def _refit(
    opened: models.OpenedModel, read: Reading, iterations: int | None
) -> tuple[Any, list[str], bool]:
    """Return the new model, warnings, and whether the fit was interrupted."""
    note(f"{read.facts['rows']:,} documents, {read.facts['labelled']:,} labelled.")
    note_each(read.notes)
    with models.watched_fit("Fitting the topics") as watched:
        model = opened.model.set_callbacks(watched.reporter())
        new = read.refit(model, iterations)
    return new, watched.messages, watched.interrupted


def _told(opened: models.OpenedModel, read: Reading, iterations: int | None) -> str:
    facts = read.facts
    most = "" if iterations is None else f", with at most {iterations:,} iterations"
    return (
        f"Fitted again from the topics of {opened.path.name} on {facts['rows']:,} documents, "
        f"{facts['labelled']:,} of them labelled{most}."
    )


# ---- what moved


def _show_drift(before: Any, new: Any) -> None:
    """Print how the topics moved, those that moved most first."""
    last = ("Changed",) if _can_change(before, new) else ()
    names = ("Topic", "Name", "Similar", "New words", "Lost words", "Texts", "Moved", *last)
    table = make_table(*names, numbers=("Topic", "Similar", "Texts", "Moved", *last))
    for row in sorted(new.drift_, key=lambda row: row.similarity):
        moved = f"+{row.came:,} -{row.went:,}" if row.came or row.went else ""
        table.add_row(
            str(row.topic),
            shown(row.name, 30),
            f"{row.similarity:.2f}",
            shown(" ".join(row.gained), 200),
            shown(" ".join(row.lost), 200),
            f"{row.documents:,}",
            moved,
            *(f"{row.predictions:,}" for _ in last),
        )
    show(table)


def _can_change(before: Any, new: Any) -> bool:
    """Return whether it says anything how many predictions are others than before: both models
    predict, and not numbers, which always change a little."""
    return all(hasattr(model.estimator_, "classes_") for model in (before, new))


def _ending(before: Any, new: Any) -> Iterator[str]:
    drift = list(new.drift_)
    moved, texts = sum(row.came for row in drift), sum(row.documents for row in drift)
    changed = sum(row.predictions for row in drift)
    noun = "prediction" if changed == 1 else "predictions"
    predictions = f" {changed:,} {noun} changed." if _can_change(before, new) else ""
    yield f"{moved:,} of {texts:,} texts have another main topic than before.{predictions}"
    yield from _scores(before, new)


def _scores(before: Any, after: Any) -> list[str]:
    """Return what to expect of predictions, before and after."""
    if after.expected_score_ is None:
        return []
    old = "" if before.expected_score_ is None else f"; before: {before.expected_score_}"
    return [f"Expected on new texts like these: {after.expected_score_}{old}."]


def _facts(
    opened: models.OpenedModel, new: Any, output: Path, facts: dict[str, Any]
) -> dict[str, Any]:
    return {
        "model": opened.origin(),
        "output": str(output),
        "input": facts,
        "iterations": int(new.n_iter_),
        "stop_reason": new.estimator_.stop_reason_,
        "drift": new.drift_.to_records(),
        "expected_score_before": models.score_facts(opened.model),
        "expected_score": models.score_facts(new),
    }
