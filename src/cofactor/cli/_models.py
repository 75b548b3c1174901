"""Models for commands: opened with the tables that they were fitted on, fitted, and saved.

A manifest notes how a model was made out of another one, in steps that `verify` repeats.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import Any, NoReturn

import click

from cofactor._version import __version__
from cofactor.cli._command import PARAMETERS, BadInput, noted_warnings, refusals
from cofactor.cli._options import EncoderOptions, TableOptions
from cofactor.cli._tables import Reading, holds_blocks, read_table
from cofactor.cli._terminal import announce, note
from cofactor.io.atomic import DiskFullError, free_space, has_only_other_files
from cofactor.io.errors import at, printable, similar_path
from cofactor.io.platform import is_descriptor
from cofactor.io.tables import InputError
from cofactor.io.tables.file_parts import as_address, names_parts
from cofactor.io.tables.labels import as_noted


@dataclass
class OpenedModel:
    """A loaded model, its folder and its manifest."""

    path: Path
    model: Any
    facts: dict[str, Any]

    @property
    def input(self) -> dict[str, Any]:
        """The notes of `cofactor fit` on the table; empty if the model has none."""
        notes = self.facts.get("notes")
        found = notes.get("input") if isinstance(notes, dict) else None
        return found if isinstance(found, dict) else {}

    @property
    def learned(self) -> str:
        """What the fit learned from labels: their form, or the task in older models."""
        return str(self.input.get("labels_are") or self.input.get("task", "auto"))

    def noting(self, **changes: Any) -> OpenedModel:
        """Return a copy that notes the table in another way."""
        notes = {"input": {**self.input, **changes}}
        return replace(self, facts={**self.facts, "notes": notes})

    def origin(self) -> dict[str, Any]:
        """Return what identifies the model, for the manifests of its predictions and exports."""
        return {
            "path": str(self.path),
            "digest": self.facts["digest"],
            "created": self.facts["created"],
        }


def open_model(path: Path, vectors: EncoderOptions) -> OpenedModel:
    """Load the TopicModel in a folder, with the encoder that is named and its cache."""
    facts = model_facts(path)
    with _naming(path, vectors.option), noted_warnings(PARAMETERS | {"encoder": vectors.option}):
        from cofactor.io.models import load_model

        model = load_model(path, encoder=vectors.encoder)
    model.encoder = vectors.cached(model.encoder)
    return OpenedModel(path, model, facts)


def model_facts(path: Path) -> dict[str, Any]:
    """Return the manifest of the TopicModel in a folder, without loading the model."""
    with _naming(path):
        from cofactor.io.models import read_facts

        facts = read_facts(path)
    if "cells" in facts["notes"]:
        raise InputError(
            f"{at(path)} holds a model of single cells, which has no texts; cofactor predict and "
            "report need an .h5ad file or a .zarr folder. cofactor topics and export read it, too."
        )
    if facts["model"] != "TopicModel":
        raise InputError(
            f"{at(path)} holds a {facts['model']}, which has no words; this command needs a "
            "TopicModel, as cofactor fit writes it."
        )
    return facts


@contextmanager
def _naming(path: Path, option: str = "--encoder") -> Iterator[None]:
    """Turn the error of a folder without a readable model into one that may suggest another."""
    from cofactor.io.models import ModelFormatError
    from cofactor.io.models.codec import NoEncoderError

    try:
        yield
    except ModelFormatError as error:
        encoder = isinstance(error.__cause__, NoEncoderError)
        further = f"Here: {option}." if encoder else similar_path(path, "manifest.json")
        raise InputError(printable(f"{error} {further}".rstrip())) from error


def relative(path: str | os.PathLike[str], folder: Path) -> str:
    """Return the path of a file relative to a folder, so that both can be moved together."""
    if (address := as_address(path)) is not None:
        return address
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive
        return os.path.abspath(path)


def noted_path(opened: OpenedModel, noted: str) -> Path:
    """Return a path that a manifest notes relative to its folder."""
    return Path(noted if as_address(noted) else os.path.normpath(opened.path / noted))


def find_data(opened: OpenedModel, given: Path | None) -> Path | None:
    """Return the table ``given``, or the one that the model was fitted on; None if it is gone."""
    if given is not None:
        return given
    noted = opened.input.get("path")
    if not isinstance(noted, str):
        return None
    path = noted_path(opened, noted)
    piped = is_descriptor(os.path.abspath(path))  # what was read there is gone
    return path if not piped and (path.exists() or names_parts(path)) else None


def how_to_open(opened: OpenedModel, path: Path, opening: dict[str, Any]) -> dict[str, Any]:
    """Return how to open a table.

    For the table that the model was fitted on, the options of the fit are the defaults.
    """
    noted = opened.input.get("opening") if _is_own(opened, path) else None
    return {**(noted or {}), **opening}


def _is_own(opened: OpenedModel, path: Path) -> bool:
    """Return whether a table is the one that the model was fitted on."""
    own = find_data(opened, None)
    return own is not None and own.resolve() == path.resolve()


def read_again(
    opened: OpenedModel,
    path: Path,
    asked: TableOptions,
    *,
    truth: Sequence[str] = (),
    may_lack: bool = False,
) -> Reading:
    """Read a table like the one that the model was fitted on, unless options say otherwise.

    Names, dates and kept columns are read from the table of the fit only: another may lack them.
    With ``may_lack``, or to test with ``truth``, it may lack the label columns, too.
    """
    noted = TableOptions.noted(opened.input)
    if not _is_own(opened, path):
        noted = replace(noted, id=None, keep=(), date=None)
    noted = replace(noted, labels=asked.labels or _noted_labels(opened, path, truth))
    learned = opened.learned
    if truth and learned == "none":  # names of classes took the place of labels
        learned = str(opened.input.get("task", "auto"))
    return read_table(
        path,
        replace(asked.over(noted), opening=how_to_open(opened, path, asked.opening)),
        may_lack=(may_lack or bool(truth)) and not asked.labels,
        truth=truth,
        task=learned,
        only=_described(opened, path),
    )


def _described(opened: OpenedModel, path: Path) -> Collection[int] | None:
    """Return the rows of the fitted table that a model of blocks describes; None for all rows."""
    if not describes_rows(opened, path):
        return None
    from cofactor.text.word_blocks import described_rows

    return frozenset(described_rows(opened.input["rows"]).tolist())


def describes_rows(opened: OpenedModel, path: Path) -> bool:
    """Return whether a model describes only some rows of a table, which is its own."""
    rows, found = opened.input.get("rows"), opened.input
    in_blocks = bool(found.get("blocks") or found.get("parts"))
    return in_blocks and isinstance(rows, int) and _is_own(opened, path)


def _noted_labels(opened: OpenedModel, path: Path, truth: Sequence[str]) -> tuple[str, ...]:
    """Return the label columns of the fit, which a table to test with may lack."""
    names = TableOptions.noted(opened.input).labels
    if not set(names) & set(truth):
        return names
    if _is_own(opened, path):
        raise InputError(
            f"--truth {as_noted(truth)!r} is what the model was fitted on; leave --truth out, or "
            "name a column with labels that the fit has not seen."
        )
    return ()


def find_blocks(opened: OpenedModel) -> Path | None:
    """Return the blocks that a model was fitted on; None if it was fitted on a table."""
    noted = opened.input.get("blocks")
    if not isinstance(noted, str):
        return None
    path = Path(os.path.normpath(opened.path / noted))
    if not holds_blocks(path):
        raise InputError(
            f"The model was fitted on the blocks in {at(path)}, which no longer exist; "
            "write them again with cofactor blocks."
        )
    return path


# ---- fits


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
        try:
            model.save(output, notes=notes)
        except DiskFullError as error:
            _save_elsewhere(model, notes, error)
    return f"Wrote the model to {output}{', in place of the one there' if replaced else ''}."


def _save_elsewhere(model: Any, notes: dict[str, Any], error: DiskFullError) -> NoReturn:
    """Save a model where there is room, so that the fit is not lost, and say where."""
    name = f"{error.path.name or 'model'}-saved"
    for folder in (Path.cwd(), Path.home(), Path(tempfile.gettempdir())):
        if not os.access(folder, os.W_OK) or free_space(folder) <= error.needed:
            continue
        place = place_beside(folder / name)
        with suppress(OSError):
            model.save(place, notes=notes)
            raise click.ClickException(
                printable(f"{error} The model is not lost: it was saved to {place}.")
            ) from error
    raise error


def place_beside(output: Path) -> Path:
    """Return a folder for an unfinished model, which must not replace another one."""
    named = output if output.name else output.absolute()  # "." has no name
    others = (f"{named.name}-unfinished{number}" for number in chain([""], count(2)))
    places = chain([output], map(named.with_name, others))
    return next(place for place in places if not place.exists())


@dataclass
class WatchedFit:
    """A running fit: shows its progress and its warnings, and keeps the warnings."""

    progress: Callable[[str], None]
    warnings: dict[str, type[Warning]]

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
        """Return a callback that shows the number of encoded texts and finished iterations."""
        from cofactor.callbacks import ReportIterations

        return ReportIterations(
            lambda done: self.progress(f"iteration {done}"),
            lambda done, total: self.progress(f"encoding text {done:,} of {total:,}"),
        )


@contextmanager
def watched_fit(sentence: str) -> Iterator[WatchedFit]:
    """Announce a fit, and show its warnings as they come."""
    with announce(sentence) as progress, noted_warnings() as told, refusals():
        watched = WatchedFit(progress, told)
        yield watched
        if watched.interrupted:
            note("Stopping; saving the model ...")


def command_line() -> list[str]:
    """Return the command that is running, for a manifest."""
    return ["cofactor", *sys.argv[1:]]


def made_now() -> dict[str, Any]:
    """Return by what and when a file was made, for its manifest."""
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return {"made_by": f"cofactor {__version__}", "created": created, "command": command_line()}


def score_facts(model: Any) -> dict[str, Any] | None:
    """Return the score to expect on new documents, for JSON."""
    return None if model.expected_score_ is None else asdict(model.expected_score_)


# ---- models made out of models


@dataclass(frozen=True)
class ModelStep:
    """One step: an edit or a refit of the model that stands in ``model``."""

    kind: str  # "edit" or "refit"
    details: dict[str, Any]  # "changes" of an edit, "iterations" of a refit
    said: list[str]

    def noted(self, opened: OpenedModel, output: Path) -> dict[str, Any]:
        """Return the step as a manifest in the folder ``output`` notes it."""
        origin = {**opened.origin(), "path": relative(opened.path, output)}
        return {
            "step": self.kind,
            "model": origin,
            "command": command_line(),
            "said": self.said,
            **self.details,
        }


def next_notes(opened: OpenedModel, output: Path, step: ModelStep, **notes: Any) -> dict[str, Any]:
    """Return the notes of a model that one step makes of ``opened``.

    ``notes`` replace those of before. Paths become relative to the folder of the new model.
    """
    old, found = _notes(opened), dict(opened.input)
    for name in ("path", "blocks"):
        if isinstance(found.get(name), str):
            found[name] = relative(noted_path(opened, found[name]), output)
    steps = [_moved(one, opened, output) for one in steps_of(opened)]
    first = [] if steps or "command" not in old else [{"step": "fit", "command": old["command"]}]
    history = [*first, *steps, step.noted(opened, output)]
    own = {"command": command_line(), **({"input": found} if found else {})}
    return {**old, **own, **notes, "history": history}


def steps_of(opened: OpenedModel) -> list[dict[str, Any]]:
    """Return the steps that a model notes, as far as they can be read."""
    found = _notes(opened).get("history")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def is_updated(opened: OpenedModel) -> bool:
    """Return whether a model notes that it has learned from new documents."""
    return "updated" in _notes(opened)


def _notes(opened: OpenedModel) -> dict[str, Any]:
    notes = opened.facts.get("notes")
    return notes if isinstance(notes, dict) else {}


def _moved(step: dict[str, Any], opened: OpenedModel, output: Path) -> dict[str, Any]:
    origin = step.get("model")
    if not isinstance(origin, dict):  # the fit, with which all begins
        return step
    path = relative(opened.path / str(origin.get("path", "")), output)
    return {**step, "model": {**origin, "path": path}}


def open_origin(
    opened: OpenedModel, given: Path | None
) -> tuple[OpenedModel, dict[str, Any]] | None:
    """Return the model that the last step of a model began with, and that step.

    None if the model notes no such step: then it was made by a fit.

    Parameters
    ----------
    opened : OpenedModel
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
            f"The model was made from {at(path)}, which no longer exists; name it with --before."
        )
    before = open_model(path, EncoderOptions(opened.model.encoder))
    if before.facts["digest"] != noted.get("digest"):
        raise InputError(
            f"{at(path)} is not the model that this one was made from; name that one with --before."
        )
    return before, step
