"""How a model was made out of another one: steps that a manifest notes and `verify` repeats."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cofactor.cli._shared.fits import command_line
from cofactor.cli._shared.models import Opened, open_model, relative
from cofactor.io.errors import at
from cofactor.io.tables import InputError


@dataclass(frozen=True)
class Step:
    """One step: an edit or a refit of the model that stands in ``model``."""

    kind: str  # "edit" or "refit"
    details: dict[str, Any]  # "changes" of an edit, "iterations" of a refit
    said: list[str]

    def noted(self, opened: Opened, output: Path) -> dict[str, Any]:
        """Return the step as a manifest in the folder ``output`` notes it."""
        origin = {**opened.origin(), "path": relative(opened.path, output)}
        return {
            "step": self.kind,
            "model": origin,
            "command": command_line(),
            "said": self.said,
            **self.details,
        }


def next_notes(opened: Opened, output: Path, step: Step, **notes: Any) -> dict[str, Any]:
    """Return the notes of a model that one step makes of ``opened``.

    ``notes`` replace those of before. Paths become relative to the folder of the new model.
    """
    old, found = _notes(opened), dict(opened.input)
    for name in ("path", "blocks"):
        if isinstance(found.get(name), str):
            found[name] = relative(os.path.normpath(opened.path / found[name]), output)
    steps = [_moved(one, opened, output) for one in steps_of(opened)]
    first = [] if steps or "command" not in old else [{"step": "fit", "command": old["command"]}]
    history = [*first, *steps, step.noted(opened, output)]
    own = {"command": command_line(), **({"input": found} if found else {})}
    return {**old, **own, **notes, "history": history}


def steps_of(opened: Opened) -> list[dict[str, Any]]:
    """Return the steps that a model notes, as far as they can be read."""
    found = _notes(opened).get("history")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def is_updated(opened: Opened) -> bool:
    """Tell whether a model notes that it has learned from new documents."""
    return "updated" in _notes(opened)


def _notes(opened: Opened) -> dict[str, Any]:
    notes = opened.facts.get("notes")
    return notes if isinstance(notes, dict) else {}


def _moved(step: dict[str, Any], opened: Opened, output: Path) -> dict[str, Any]:
    origin = step.get("model")
    if not isinstance(origin, dict):  # the fit, with which all begins
        return step
    path = relative(opened.path / str(origin.get("path", "")), output)
    return {**step, "model": {**origin, "path": path}}


def open_origin(opened: Opened, given: Path | None) -> tuple[Opened, dict[str, Any]] | None:
    """Return the model that the last step of a model began with, and that step.

    None if the model notes no such step: then it was made by a fit.

    Parameters
    ----------
    opened : Opened
    given : Path or None
        The folder of the model before; by default the one that the step notes.
    """
    steps = steps_of(opened)
    if not steps or steps[-1].get("step") not in ("edit", "refit"):
        return None
    step, noted = steps[-1], steps[-1].get("model")
    noted = noted if isinstance(noted, dict) else {}
    path = given or Path(os.path.normpath(opened.path / str(noted.get("path", ""))))
    if not path.exists():
        raise InputError(
            f"The model was made from {at(path)}, which does not exist any more; name it with "
            "--before."
        )
    before = open_model(path)
    if before.facts["digest"] != noted.get("digest"):
        raise InputError(
            f"{at(path)} is not the model that this one was made from; name that one with --before."
        )
    return before, step
