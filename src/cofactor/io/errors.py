"""Helpers for messages about input that cannot be used."""

from __future__ import annotations

from difflib import get_close_matches
from os import PathLike, fspath
from pathlib import Path

from cofactor.errors import InputError as InputError


def at(path: str | PathLike[str], row: int | None = None, line: int | None = None) -> str:
    """Return a place: the file, the row as a spreadsheet counts it, the line as an editor does."""
    name = printable(fspath(path))
    if row is None:
        return f"{name}, line {line}" if line else name
    return f"{name}, row {row}" + (f" (line {line})" if line not in (None, row) else "")


def printable(text: str) -> str:
    """Return text as one line without control characters, for messages.

    Examples
    --------
    >>> print(printable("a" + chr(27) + "[1mb"))
    a\\x1b[1mb
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shortened(text: str, longest: int) -> str:
    """Return text that has at most ``longest`` characters; "…" stands for the rest.

    Examples
    --------
    >>> shortened("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def suggestion(name: str, known: list[str]) -> str:
    """Return a sentence that suggests the known name closest to ``name``, or lists all of them.

    Examples
    --------
    >>> suggestion("bdy", ["id", "body"])
    "Did you mean 'body'?"
    >>> suggestion("text", ["id", "body"])
    "There are 'id', 'body'."
    """
    if (close := _closest(name, known)) is not None:
        return f"Did you mean {close!r}?"
    shown = ", ".join(map(repr, known[:12]))
    return f"There are {shown}{f' and {len(known) - 12} more' if len(known) > 12 else ''}."


def similar_path(path: str | PathLike[str], mark: str | None = None) -> str:
    """Return a sentence that suggests a path of a similar name, or "" if there is none.

    With ``mark``, it is a folder that holds a file of this name.
    """
    wanted = Path(path)
    try:  # without their endings, which are alike in files that are not
        if wanted.exists():
            return ""
        there = sorted(wanted.parent.iterdir(), reverse=True)
        beside = {one.stem: one.name for one in there if mark is None or (one / mark).exists()}
    except OSError:  # the folder does not exist either, or the name is too long
        return ""
    if (close := _closest(wanted.stem, list(beside))) is None:
        return ""
    return f"Did you mean {printable(str(wanted.parent / beside[close]))!r}?"


def _closest(name: str, known: list[str]) -> str | None:
    folded = {one.strip().casefold(): one for one in reversed(known)}
    close = get_close_matches(name.strip().casefold(), list(folded), n=1)
    return folded[close[0]] if close else None
