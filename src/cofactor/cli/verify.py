"""`cofactor verify`: checks that a fit gives the same model again."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from cofactor.cli._shared.blocks import find_blocks, holds_blocks, open_blocks
from cofactor.cli._shared.command import MODEL, TABLE, BadInput, Command, json_option
from cofactor.cli._shared.command import table_options as options
from cofactor.cli._shared.models import Opened, find_data, open_model, read_again, refusals
from cofactor.cli._shared.terminal import announce, emit, note, show


@click.command(cls=Command)
@click.argument("model", type=MODEL)
@click.option("--data", type=TABLE, help="Table of the documents.  [default: the one of the fit]")
@options("text", "labels", "label_separator")
@json_option
def verify(
    model: Path, data: Path | None, text: str | None, labels: tuple[str, ...],
    label_separator: str | None, opening: dict[str, Any], as_json: bool,
) -> None:  # fmt: skip
    """Fit a model again and check that the result is the same.

    The fit uses the parameters in the model's manifest. The exit code is 0 if topics and
    predictions are the same, and 1 if they are not.
    """
    opened = open_model(model)
    path = find_blocks(opened) or find_data(opened, data)
    if path is None:
        raise BadInput(
            "The table that the model was fitted on does not exist; name it with --data."
        )
    if holds_blocks(path):
        reading: Any = open_blocks(path)
    else:
        reading = read_again(opened, path, text, labels, opening, label_separator)
    facts = _refit(opened, reading)
    facts |= {"model": opened.origin(), "data": str(path)}
    if as_json:
        emit(facts)
    else:
        show(*_sentences(facts))
    if not (facts["equal"] and facts["same_data"]):
        click.get_current_context().exit(1)


def _refit(opened: Opened, reading: Any) -> dict[str, Any]:
    from cofactor._versions import versions
    from cofactor.text.describe.compare import refit

    with announce("Fitting again"), refusals(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = asdict(refit(opened.model, reading.fit))
    then, now = opened.facts["versions"], versions()
    changed = {name: [then.get(name), now[name]] for name in now if then.get(name) != now[name]}
    if changed:
        note("Versions have changed: " + ", ".join(
            f"{name} {was} to {now}" for name, (was, now) in changed.items()))  # fmt: skip
    return {**found, "versions_changed": changed}


def _sentences(facts: dict[str, Any]) -> list[str]:
    gap, agree = facts["topic_difference"], facts["same_predictions"]
    data = "The documents and labels are those of the fit."
    if not facts["same_data"]:
        data = "The documents or labels are not those of the fit."
    if facts["identical"]:
        topics = "The topics are bit-identical."
    elif gap is None:
        topics = "The words or topics differ."
    else:
        topics = f"The topics differ by up to {gap:.1e} of the largest weight."
    predictions = [] if agree is None else [f"Predictions agree for {agree:.1%} of the documents."]
    verdict = "Verified." if facts["equal"] and facts["same_data"] else "Not verified."
    return [data, topics, *predictions, verdict]
