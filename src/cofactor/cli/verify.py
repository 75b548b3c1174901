"""`cofactor verify`: checks that a fit gives the same model again."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from cofactor.cli import _models as models
from cofactor.cli import _options as opt
from cofactor.cli._command import BadInput, Command, refusals
from cofactor.cli._parts import read_parts
from cofactor.cli._tables import holds_blocks, open_blocks
from cofactor.cli._terminal import announce, emit, note, note_next, show
from cofactor.io.tables.file_parts import names_parts

Read = Callable[..., tuple[Path, Any]]
"""A function that reads the documents, or opens their blocks; it returns the path, too."""


@click.command(cls=Command)
@opt.model_argument
@opt.add("data")
@opt.option(
    "--before MODEL",
    "Model that an edit or a refit began with.  [default: as noted]",
    type=opt.FOLDER,
)
@opt.add(opt.reading("text", "labels", "label_separator"), opt.MODEL_ENCODER, "as_json")
def verify(
    model: Path,
    data: Path | None,
    before: Path | None,
    asked: opt.TableOptions,
    vectors: opt.EncoderOptions,
    as_json: bool,
) -> None:
    """Fit a model again and check that the result is the same.

    The fit uses the parameters in the model's manifest. For a model made by `cofactor edit` or
    `cofactor refit`, only that last step is repeated; verify the model before it separately. The
    exit code is 0 if topics and predictions are the same, and 1 if they are not.
    """
    opened = models.open_model(model, vectors)
    origin = models.open_origin(opened, before)
    if origin is None:
        _refuse_edits(opened, before)

    def read(documents: bool = False) -> tuple[Path, Any]:
        blocks = None if documents else models.find_blocks(opened)
        path = blocks or models.find_data(opened, data)
        if path is None:
            raise BadInput(
                "The table that the model was fitted on does not exist; name it with --data."
            )
        if holds_blocks(path):
            return path, open_blocks(path)
        if opened.input.get("parts") and names_parts(path) and not documents:
            noted = asked.over(opt.TableOptions.noted(opened.input))
            return path, read_parts(path, noted, task=opened.learned)
        return path, models.read_again(opened, path, asked)

    facts = _fit_again(opened, read) if origin is None else _repeat(opened, *origin, read)
    facts["model"] = opened.origin()
    if as_json:
        emit(facts)
    else:
        show(*_sentences(facts))
        if origin is not None:
            note_next("verify", origin[0].path)
    if not (facts["equal"] and facts["same_data"]):
        click.get_current_context().exit(1)


def _refuse_edits(opened: models.OpenedModel, before: Path | None) -> None:
    """Refuse a model that was updated, or was not edited by commands."""
    if models.is_updated(opened):
        raise BadInput(
            "The model has learned from new documents by cofactor update, which cannot be repeated;"
            " verify the model before it."
        )
    if opened.model.fitted.settled is not None:
        raise BadInput(
            "The model was edited after its fit, and its manifest does not say how; only edits by "
            "cofactor edit and cofactor refit can be repeated."
        )
    if before is not None:
        raise BadInput("--before is for edited models, but this one was made by a fit.")


def _fit_again(opened: models.OpenedModel, read: Read) -> dict[str, Any]:
    """Repeat the fit of a model."""
    from cofactor.text.describe.compare import repeat_fit
    from cofactor.text.fitting import fit_here, fit_in_blocks

    path, documents = read()
    fit_with = fit_in_blocks if opened.input.get("in_blocks") else fit_here
    with announce("Fitting again"), refusals(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = asdict(repeat_fit(opened.model, partial(documents.fit, fit_with=fit_with)))
    return {**found, **_versions_changed(opened), "step": "fit", "data": str(path)}


def _repeat(
    opened: models.OpenedModel, before: models.OpenedModel, step: dict[str, Any], read: Read
) -> dict[str, Any]:
    """Repeat the edit or the refit that made a model."""
    from cofactor.estimators.base import ending_at_interrupts
    from cofactor.text.describe.compare import compare_repetition

    make = {"edit": _edit_again, "refit": _refit_again}[step["step"]]
    with refusals(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ending_at_interrupts():
            again, path = make(before.model, step, read)
        found = asdict(compare_repetition(opened.model, again))
        found["same_names"] = _settled(opened.model) == _settled(again)
    found["equal"] = found["equal"] and found["same_names"]
    return {
        **found,
        **_versions_changed(opened),
        "step": step["step"],
        "before": before.origin(),
        "data": path and str(path),
    }


def _edit_again(model: Any, step: dict[str, Any], read: Read) -> tuple[Any, Path | None]:
    from cofactor.text.editing.changes import Changes, make_changes

    changes = Changes.read(step.get("changes"))
    if not changes.splits:
        return make_changes(model, changes), None
    path, documents = read(documents=True)
    with announce("Editing again"):
        return make_changes(model, changes, documents.documents.texts, documents.y), path


def _refit_again(model: Any, step: dict[str, Any], read: Read) -> tuple[Any, Path | None]:
    path, documents = read(documents=True)
    with announce("Fitting again"):
        return documents.refit(model, step.get("iterations")), path


def _settled(model: Any) -> Any:
    """Return what a user settled about topics, and their names."""
    from cofactor.text.editing import Settled

    return Settled.of(model), [*model.topic_names_]


def _versions_changed(opened: models.OpenedModel) -> dict[str, Any]:
    from cofactor._versions import versions

    then, now = opened.facts["versions"], versions()
    changed = {name: [then.get(name), now[name]] for name in now if then.get(name) != now[name]}
    if changed:
        note(
            "Versions have changed: "
            + ", ".join(f"{name} {was} to {now}" for name, (was, now) in changed.items())
        )
    return {"versions_changed": changed}


def _sentences(facts: dict[str, Any]) -> list[str]:
    gap, agree = facts["topic_difference"], facts["same_predictions"]
    data = ["The documents and labels are those of the fit."]
    if not facts["same_data"]:
        data = ["The documents or labels are not those of the fit."]
    elif facts["data"] is None:
        data = []
    if facts["identical"]:
        topics = "The topics are bit-identical."
    elif gap is None:
        topics = "The words or topics differ."
    else:
        topics = f"The topics differ by up to {gap:.1e} of the largest weight."
    predictions = [] if agree is None else [f"Predictions agree for {agree:.1%} of the documents."]
    names = [] if facts.get("same_names", True) else ["Names, or what was settled, differ."]
    verdict = "Verified." if facts["equal"] and facts["same_data"] else "Not verified."
    return [*data, topics, *names, *predictions, verdict]
