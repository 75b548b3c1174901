"""New names for labels: the options --relabel and --relabel-file.

It lives beside `labels`, whose `LabelColumns.read` applies the names, and reads map files through
`sources`. Every rule that could be meant in two ways is refused.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from cofactor.io.errors import InputError, at, printable
from cofactor.io.tables.sources import open_source

HEADER = ["old", "new"]


class Relabels(dict[str, str]):
    """New names of labels by their old ones; it notes which old names it has met."""

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        super().__init__(names or {})
        self.met: set[str] = set()

    def name_of(self, label: str) -> str:
        """Return the new name of a label, or the label."""
        if label in self:
            self.met.add(label)
        return self.get(label, label)

    @property
    def unmet(self) -> list[str]:
        """Old names that no label had so far."""
        return [name for name in self if name not in self.met]


def read_relabels(given: Iterable[str], file: Path | None = None) -> Relabels:
    """Return the new name of each label.

    Parameters
    ----------
    given : iterable of str
        Values of --relabel, each like old=new.
    file : path, optional
        Value of --relabel-file: a table with the columns old and new.

    Returns
    -------
    Relabels
        A name that is renamed in turn is followed to its end.

    Examples
    --------
    >>> read_relabels(["Sprot=Sports", "Sports=Sport"])
    {'Sprot': 'Sport', 'Sports': 'Sport'}
    """
    names: dict[str, str] = {}
    pairs = [*(_parse(one) for one in given), *(_rows(file) if file else ())]
    for place, old, new in pairs:
        if names.get(old, new) != new:
            raise InputError(
                f"{place} renames {old!r} to {new!r}, but it is renamed to {names[old]!r} before; "
                "decide on one name."
            )
        if old != new:
            names[old] = new
    return Relabels({old: _end(old, names) for old in names})


def relabel_options(names: Mapping[str, str]) -> list[str]:
    """Return names as words of a command; `read_relabels` reads them back."""
    return [word for old, new in names.items() for word in ("--relabel", f"{old}={new}")]


def relabel_command(names: Mapping[str, str]) -> str:
    """Return names as options to copy from the screen."""
    return shlex.join(printable(word) for word in relabel_options(names))


def _parse(one: str) -> tuple[str, str, str]:
    old, equals, new = (part.strip() for part in one.partition("="))
    if "=" in new:
        raise InputError(
            f"--relabel {one!r} has more than one =; write such names to a file with the columns "
            "old and new, and name it with --relabel-file."
        )
    if not (old and equals and new):
        raise InputError(
            f"--relabel {one!r} must be the old and the new name, like Sprot=Sport; for labels "
            "that mean not labelled use --unlabelled."
        )
    return f"--relabel {one!r}", old, new


def _rows(file: Path) -> Iterator[tuple[str, str, str]]:
    source = open_source(file)
    if source.columns != HEADER:
        raise InputError(
            f"--relabel-file {at(file)} has the columns {', '.join(map(repr, source.columns))}; "
            "its first line must be old,new."
        )
    for row, cells in source.rows:
        old, new = ("" if cell is None else str(cell).strip() for cell in cells)
        if not (old and new):
            raise InputError(
                f"{at(file, row)} needs an old and a new name; for labels that mean not labelled "
                "use --unlabelled."
            )
        yield at(file, row), old, new


def _end(name: str, names: dict[str, str]) -> str:
    seen = [name]
    while (name := names.get(name, name)) not in seen:
        seen.append(name)
    if name != seen[-1]:
        raise InputError(
            f"--relabel leads in a circle: {' to '.join(map(repr, [*seen, name]))}; leave one out."
        )
    return name
