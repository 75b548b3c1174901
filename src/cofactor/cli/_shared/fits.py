"""Fits that commands run: their place, their progress, their warnings, and Ctrl-C."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Any

from cofactor.cli._shared.command import BadInput, in_options
from cofactor.cli._shared.models import refusals
from cofactor.cli._shared.terminal import announce, note
from cofactor.io.atomic import has_only_other_files


def check_place(output: Path) -> None:
    """Refuse an output folder that a model could not be saved to, before any work is done."""
    if output.is_file():
        raise BadInput(f"--output {output} is a file; name a folder for the model.")
    if has_only_other_files(output, "manifest.json"):
        raise BadInput(
            f"--output {output} is a folder with other files and no model; name another folder."
        )


def check_new_place(output: Path, model: Path) -> None:
    """Refuse an output folder for what is made of a model, also the model's own."""
    check_place(output)
    if output.exists() and model.exists() and output.samefile(model):
        raise BadInput(f"--output {output} is the model itself; name another folder.")


def saved_model(model: Any, output: Path, notes: dict[str, Any]) -> str:
    """Save a model; return a sentence that says where it is, and whether it replaced another."""
    replaced = (output / "manifest.json").exists()
    with refusals():
        model.save(output, notes=notes)
    return f"Wrote the model to {output}{', in place of the one there' if replaced else ''}."


def place_beside(output: Path) -> Path:
    """Return a folder for an unfinished model, which must not replace another one."""
    named = output if output.name else output.absolute()  # "." has no name
    others = (f"{named.name}-unfinished{number}" for number in chain([""], count(2)))
    places = chain([output], map(named.with_name, others))
    return next(place for place in places if not place.exists())


@dataclass
class WatchedFit:
    """What happens during a fit."""

    progress: Callable[[str], None]
    warnings: dict[str, type[Warning]] = field(default_factory=dict)

    @property
    def messages(self) -> list[str]:
        """The warnings as sentences."""
        return [*self.warnings]

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the fit."""
        from cofactor.estimators.base import FitInterruptedWarning

        return FitInterruptedWarning in self.warnings.values()

    def reporter(self) -> Any:
        """Return a callback that shows the number of finished iterations."""
        from cofactor.callbacks import ReportIterations

        return ReportIterations(lambda done: self.progress(f"iteration {done}"))

    def _catch(self, message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
        from cofactor.estimators.base import FitInterruptedWarning

        if category is FitInterruptedWarning and not self.interrupted:
            note("Stopping; saving the model ...")
        self.warnings.setdefault(in_options(message), category)


@contextmanager
def watched_fit(sentence: str) -> Iterator[WatchedFit]:
    """Announce a fit, gather its warnings and tell them at its end."""
    with announce(sentence) as progress, warnings.catch_warnings(), refusals():
        watched = WatchedFit(progress)
        warnings.simplefilter("always")
        warnings.showwarning = watched._catch
        yield watched
    for message in watched.messages:
        note(f"Note: {message}")


def command_line() -> list[str]:
    """Return the command that is running, for a manifest."""
    return ["cofactor", *sys.argv[1:]]
