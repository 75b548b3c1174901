"""How the user wants a table to be read: from options, to options, to notes and back.

`check`, `fit` and `blocks` take the same options and get them as one `TableOptions`. A model's
manifest notes them, so that later commands read the table in the same way. This module knows
`io.tables` and click only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

import click

from cofactor.cli._shared.command import COUNT, OPENING, TABLE, table_options
from cofactor.io.tables.labels import (
    LabelColumns,
    Relabels,
    as_label_columns,
    as_noted,
    read_relabels,
    relabel_options,
)


@dataclass(frozen=True)
class TableOptions:
    """Which columns of a table hold what, which labels count, and how to open the table.

    The fields have the names of the options; ``relabel`` joins --relabel and --relabel-file, and
    ``opening`` holds what `open_source` takes.
    """

    text: str | None = None
    labels: tuple[str, ...] = ()
    label_separator: str | None = None
    unlabelled: tuple[str, ...] = ()
    relabel: Relabels = field(default_factory=Relabels)
    min_labels: int = 0
    id: str | None = None
    keep: tuple[str, ...] = ()
    date: str | None = None
    date_format: str | None = None
    opening: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def noted(cls, facts: dict[str, Any]) -> TableOptions:
        """Return the options that a manifest notes.

        Classes that --min-labels left out are noted among ``unlabelled``: another table has other
        numbers of labels.
        """
        return cls(
            text=facts.get("text"),
            labels=as_label_columns(facts.get("label")).columns,
            label_separator=facts.get("label_separator"),
            unlabelled=tuple(facts.get("unlabelled") or ()),
            relabel=Relabels(facts.get("relabel")),
            id=facts.get("id"),
            keep=tuple(facts.get("keep") or ()),
            date=facts.get("date"),
            date_format=facts.get("date_format"),
            opening=dict(facts.get("opening") or {}),
        )

    def facts(self) -> dict[str, Any]:
        """Return the options as a manifest notes them."""
        return {
            "text": self.text,
            "label": as_noted(self.labels),
            "unlabelled": list(self.unlabelled),
            "label_separator": self.label_separator,
            "relabel": dict(self.relabel),
            "min_labels": self.min_labels or None,
            "id": self.id,
            "keep": list(self.keep),
            "date": self.date,
            "date_format": self.date_format,
            "opening": self.opening,
        }

    def label_columns(self) -> LabelColumns:
        """Return the label columns, and how their cells are read."""
        return as_label_columns(self.labels, self.unlabelled, self.label_separator, self.relabel)

    def words(self, with_labels: bool = True) -> list[str]:
        """Return the options as words of a command."""
        given: dict[str, Any] = {"--text": self.text}
        if with_labels:
            given |= {
                "--label": self.labels,
                "--label-separator": self.label_separator,
                "--unlabelled": self.unlabelled,
                "--min-labels": self.min_labels,
            }
        given |= {
            "--id": self.id,
            "--keep": self.keep,
            "--date": self.date,
            "--date-format": self.date_format,
        }
        given |= {f"--{name.replace('_', '-')}": value for name, value in self.opening.items()}
        words = [word for option, value in given.items() for word in _words(option, value)]
        return words + (relabel_options(self.relabel) if with_labels else [])


def _words(option: str, value: Any) -> list[str]:
    if isinstance(value, tuple):
        return [word for one in value for word in (option, one)]
    if value is True:
        return [option]
    return [option, str(value)] if value else []


_OPTIONS = [
    click.option(
        "--relabel",
        metavar="OLD=NEW",
        multiple=True,
        help="New name of a label, like Sprot=Sport. May be repeated.",
    ),
    click.option(
        "--relabel-file",
        type=TABLE,
        metavar="FILE",
        help="Table of new names, with the columns old and new.",
    ),
    click.option(
        "--min-labels",
        type=COUNT,
        metavar="N",
        help="Classes with fewer labels count as unlabelled.",
    ),
    click.option(
        "--id",
        "id_column",
        metavar="COLUMN",
        help="Column that names the documents in all outputs.",
    ),
    click.option(
        "--keep",
        metavar="COLUMN",
        multiple=True,
        help="Column to carry along into outputs. May be repeated.",
    ),
    click.option("--date", metavar="COLUMN", help="Column that holds the documents' dates."),
    click.option(
        "--date-format",
        metavar="FORMAT",
        help="Format of the dates, like %d/%m/%Y.  [default: detected]",
    ),
]
FIELDS = ("text", "labels", "label_separator", "unlabelled")
SETTLED = (
    *FIELDS,
    "relabel",
    "relabel_file",
    "min_labels",
    "id_column",
    "keep",
    "date",
    "date_format",
    *OPENING,
)
"""Names of the parameters that `TableOptions` gathers."""


def all_table_options(function: Any) -> Callable[..., Any]:
    """Add all options for reading a table; they arrive as one argument, ``asked``."""

    @wraps(function)
    def gathered(
        opening: dict[str, Any],
        relabel: tuple[str, ...],
        relabel_file: Path | None,
        min_labels: int | None,
        id_column: str | None,
        keep: tuple[str, ...],
        date: str | None,
        date_format: str | None,
        **given: Any,
    ) -> Any:
        asked = TableOptions(
            **{name: given.pop(name) for name in FIELDS},
            relabel=read_relabels(relabel, relabel_file),
            min_labels=min_labels or 0,
            id=id_column,
            keep=keep,
            date=date,
            date_format=date_format,
            opening=opening,
        )
        return function(asked=asked, **given)

    decorated: Any = gathered
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return table_options(*FIELDS)(decorated)
