"""The one error for files that cannot be read as they are."""

from __future__ import annotations

from difflib import get_close_matches
from os import PathLike, fspath


class InputError(ValueError):
    """Something in a file is wrong; the message says where and what to do."""


def at(path: str | PathLike[str], row: int | None = None, line: int | None = None) -> str:
    """Return where: the file, the row as a spreadsheet counts it, the line as an editor does."""
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


def suggestion(name: str, known: list[str]) -> str:
    """Return a sentence that names what is close to ``name``, or everything there is.

    Examples
    --------
    >>> suggestion("bdy", ["id", "body"])
    "Did you mean 'body'?"
    >>> suggestion("text", ["id", "body"])
    "There are 'id', 'body'."
    """
    folded = {one.strip().casefold(): one for one in reversed(known)}
    close = get_close_matches(name.strip().casefold(), list(folded), n=1)
    if close:
        return f"Did you mean {folded[close[0]]!r}?"
    shown = ", ".join(map(repr, known[:12]))
    return f"There are {shown}{f' and {len(known) - 12} more' if len(known) > 12 else ''}."
