"""Opens models for commands, and finds and reads the tables that they were fitted on."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cofactor.cli._shared.command import in_options
from cofactor.cli._shared.table_options import TableOptions
from cofactor.cli._shared.tables import Reading, read_table
from cofactor.io.errors import at, printable, similar_path
from cofactor.io.tables import InputError
from cofactor.io.tables.labels import as_noted
from cofactor.io.tables.sources import DESCRIPTORS


@dataclass
class Opened:
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

    def noting(self, **changes: Any) -> Opened:
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


def open_model(path: Path) -> Opened:
    """Load the TopicModel in a folder."""
    from cofactor.io.models import ModelFormatError, load_model, read_facts

    try:
        facts = read_facts(path)
        model = load_model(path)
    except ModelFormatError as error:
        raise InputError(printable(f"{error} {similar_path(path)}".rstrip())) from error
    if "cells" in facts["notes"]:
        raise InputError(
            f"{at(path)} holds a model of single cells, which has no texts; cofactor topics, "
            "predict and export read it."
        )
    if facts["model"] != "TopicModel":
        raise InputError(
            f"{at(path)} holds a {facts['model']}, which has no words; this command needs a "
            "TopicModel, as cofactor fit writes it."
        )
    return Opened(path, model, facts)


def answered(document: Any) -> tuple[Any, float | None]:
    """Return prediction and confidence of a document.

    Both are None if the model knows no word of the document: it would predict the same for an
    empty text.
    """
    return (document.prediction, document.confidence) if document.topic >= 0 else (None, None)


def relative(path: str | os.PathLike[str], folder: Path) -> str:
    """Return the path of a file relative to a folder, so that both can be moved together."""
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive
        return os.path.abspath(path)


def find_data(opened: Opened, given: Path | None) -> Path | None:
    """Return the table ``given``, or the one that the model was fitted on; None if it is gone."""
    if given is not None:
        return given
    noted = opened.input.get("path")
    if not isinstance(noted, str):
        return None
    path = Path(os.path.normpath(opened.path / noted))
    piped = os.path.abspath(path).startswith(DESCRIPTORS)  # what was read there is gone
    return path if path.exists() and not piped else None


def how_to_open(opened: Opened, path: Path, opening: dict[str, Any]) -> dict[str, Any]:
    """Return how to open a table.

    For the table that the model was fitted on, the options of the fit are the defaults.
    """
    noted = opened.input.get("opening") if _is_own(opened, path) else None
    return {**(noted or {}), **opening}


def _is_own(opened: Opened, path: Path) -> bool:
    """Tell whether a table is the one that the model was fitted on."""
    own = find_data(opened, None)
    return own is not None and own.resolve() == path.resolve()


def read_again(
    opened: Opened,
    path: Path,
    text: str | None,
    labels: Sequence[str],
    opening: dict[str, Any],
    label_separator: str | None = None,
    truth: Sequence[str] = (),
    id_column: str | None = None,
    date: str | None = None,
    date_format: str | None = None,
    may_lack: bool = False,
) -> Reading:
    """Read a table like the one that the model was fitted on, unless options say otherwise.

    Names, dates and kept columns are read from the table of the fit only: another may lack them.
    With ``may_lack``, or to test with ``truth``, it may lack the label columns, too.
    """
    noted = TableOptions.noted(opened.input)
    if not _is_own(opened, path):
        noted = replace(noted, id=None, keep=(), date=None)
    asked = replace(
        noted,
        text=text or noted.text,
        labels=tuple(labels) or _noted_labels(opened, path, truth),
        label_separator=label_separator or noted.label_separator,
        opening=how_to_open(opened, path, opening),
        id=id_column or noted.id,
        date=date or noted.date,
        date_format=date_format or (noted.date_format if date in (None, noted.date) else None),
    )
    return read_table(
        path,
        asked,
        may_lack=(may_lack or bool(truth)) and not labels,
        truth=truth,
        task=opened.input.get("labels_are") or opened.input.get("task", "auto"),
        only=_described(opened, path),
    )


def _described(opened: Opened, path: Path) -> Collection[int] | None:
    """Return the rows of its own table that a model of blocks describes; None for all rows."""
    if not describes_rows(opened, path):
        return None
    from cofactor.text.blocks import described_rows

    return frozenset(described_rows(opened.input["rows"]).tolist())


def describes_rows(opened: Opened, path: Path) -> bool:
    """Tell whether a model of blocks describes some rows of a table, which is its own."""
    rows = opened.input.get("rows")
    return bool(opened.input.get("blocks")) and isinstance(rows, int) and _is_own(opened, path)


def _noted_labels(opened: Opened, path: Path, truth: Sequence[str]) -> tuple[str, ...]:
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


@contextmanager
def refusals() -> Iterator[None]:
    """Turn errors of the library about values and types into bad input."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise InputError(printable(in_options(error))) from error


def expectation(model: Any) -> str:
    """Return a sentence about the score to expect on new documents; "" if nothing is known."""
    expected = model.expected_score_
    if expected is None:
        return ""
    return f"Expected on new texts like these: {expected}.{_beside_chance(model, expected)}"


def _beside_chance(model: Any, expected: Any) -> str:
    """Say whether a prediction that reads no text may be as good; "" if it is worse."""
    labels = model.estimator_.pooled_head.labels if model.estimator_.pooled_head else None
    always, level = "the mean", 0.0
    if expected.measure == "accuracy" and labels is not None and labels.any():
        always = repr(printable(str(model.target_names_[int(labels.argmax())])))
        level = float(labels.max() / labels.sum())
        always += f" (right for {level:.0%})"
    elif expected.measure != "R²":
        return ""
    if expected.low > level:
        return ""
    return (
        f" Always predicting {always} may be as good: either the texts do not tell these labels, "
        "or there are too few of them."
    )
