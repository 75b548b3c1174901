"""`cofactor refit`: a fit that goes on from the topics of a model."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from cofactor.cli._shared.blocks import holds_blocks
from cofactor.cli._shared.command import (
    COUNT,
    INTERRUPTED,
    MODEL,
    OUTPUT,
    TABLE,
    BadInput,
    Command,
    json_option,
    table_options,
)
from cofactor.cli._shared.fits import check_new_place, place_beside, saved_model, watched_fit
from cofactor.cli._shared.history import Step, next_notes
from cofactor.cli._shared.models import Opened, find_data, open_model, read_again, relative
from cofactor.cli._shared.tables import Reading
from cofactor.cli._shared.targets import NoLabelsError
from cofactor.cli._shared.terminal import announce, emit, make_table, note, show, shown
from cofactor.io.errors import at

UPDATED = (
    "This model learned from several tables, and the refit reads one of them. Topics follow it, "
    "and predictions know its labels only. Freeze topics that must stay, or name a table with all "
    "documents."
)


@click.command(cls=Command)
@click.argument("model", type=MODEL)
@click.argument("table", type=TABLE, required=False)
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    required=True,
    metavar="FOLDER",
    help="Folder for the new model; another model that is there is replaced.",
)
@table_options("text", "labels", "label_separator")
@click.option(
    "--iterations", type=COUNT, help="Maximum number of iterations.  [default: that of the fit]"
)
@json_option
def refit(
    model: Path,
    table: Path | None,
    output: Path,
    text: str | None,
    labels: tuple[str, ...],
    label_separator: str | None,
    opening: dict[str, Any],
    iterations: int | None,
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
    opened = open_model(model)
    check_new_place(output, opened.path)
    reading = _read(opened, table, text, labels, label_separator, opening)
    if "updated" in (opened.facts.get("notes") or {}):
        note(f"Note: {UPDATED}")
    new, said, interrupted = _refit(opened, reading, iterations)
    if interrupted:
        output = place_beside(output)
    told = _told(opened, reading, iterations)
    step = Step("refit", {"iterations": iterations}, [told])
    facts = {**reading.facts, "path": relative(reading.facts["path"], output)}
    notes = next_notes(opened, output, step, input=facts, warnings=[*reading.notes, *said])
    wrote = saved_model(new, output, notes)
    if as_json:
        emit(_facts(opened, new, output, facts))
    else:
        _show_drift(opened.model, new)
        for sentence in (*_ending(opened.model, new), wrote):
            note(sentence)
        note(f"Next: cofactor topics {shlex.quote(str(output))}")
    if interrupted:
        click.get_current_context().exit(INTERRUPTED)


def _read(
    opened: Opened,
    table: Path | None,
    text: str | None,
    labels: tuple[str, ...],
    label_separator: str | None,
    opening: dict[str, Any],
) -> Reading:
    """Read the whole table; labels that a model without labels is given are looked at anew."""
    path = find_data(opened, table)
    if path is None:
        raise BadInput("The table that the model was fitted on does not exist; name one as TABLE.")
    if holds_blocks(path):
        raise BadInput(f"{path} holds blocks, but a refit reads tables; name the table itself.")
    new = labels and opened.input.get("labels_are") in (None, "none")
    whole = opened.noting(blocks=None, **({"labels_are": None, "task": "auto"} if new else {}))
    try:
        with announce("Reading the documents"):
            reading = read_again(whole, path, text, labels, opening, label_separator)
    except NoLabelsError:
        raise _no_labels(path) from None
    model = opened.model
    if reading.y is None and model.target_names_ and not model.seeds:  # seeds may be classes
        raise _no_labels(path)
    return reading


def _no_labels(path: Path) -> BadInput:
    return BadInput(
        f"{at(path)} has no labels, but the model learned from labels; name their column with "
        "--label, or a table that has them."
    )


def _refit(opened: Opened, reading: Reading, iterations: int | None) -> tuple[Any, list[str], bool]:
    """Return the new model, warnings, and whether the fit was interrupted."""
    facts = reading.facts
    note(f"{facts['rows']:,} documents, {facts['labelled']:,} labelled.")
    for sentence in reading.notes:
        note(f"Note: {sentence}")
    with watched_fit("Fitting the topics") as watched:
        model = opened.model.set_callbacks(watched.reporter())
        new = reading.refit(model, iterations)
    return new, watched.messages, watched.interrupted


def _told(opened: Opened, reading: Reading, iterations: int | None) -> str:
    facts = reading.facts
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
    """Tell whether it says anything how many predictions are others than before: both models
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


def _facts(opened: Opened, new: Any, output: Path, facts: dict[str, Any]) -> dict[str, Any]:
    scores = [
        None if model.expected_score_ is None else asdict(model.expected_score_)
        for model in (opened.model, new)
    ]
    return {
        "model": opened.origin(),
        "output": str(output),
        "input": facts,
        "iterations": int(new.n_iter_),
        "stop_reason": new.estimator_.stop_reason_,
        "drift": new.drift_.to_records(),
        "expected_score_before": scores[0],
        "expected_score": scores[1],
    }
