"""What all commands share: how they end, and the options for tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import click

from cofactor.cli._shared.terminal import note
from cofactor.io.errors import printable, similar_path
from cofactor.io.tables import InputError

CONTEXT = {"help_option_names": ["-h", "--help"], "show_default": True}
INTERRUPTED = 130


class BadInput(click.ClickException):
    """An error that the user can mend."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class Command(click.Command):
    """A command that ends with a sentence: 2 for bad input, 130 after Ctrl-C."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        settings.setdefault("context_settings", CONTEXT)
        super().__init__(*arguments, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except InputError as error:
            raise BadInput(str(error)) from error
        except KeyboardInterrupt:
            note("Interrupted; nothing was written.")
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:  # click ends quietly
            raise
        except OSError as error:
            raise click.ClickException(printable(str(error))) from error


class _Existing(click.Path):
    """A path that must be there; one that is called much alike is suggested."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            said = f"{error.message} {similar_path(value)}".rstrip()
            raise click.BadParameter(said, ctx, param) from None


TABLE = _Existing(exists=True, path_type=Path)
MODEL = click.Path(path_type=Path)
OUTPUT = click.Path(path_type=Path)

_OPTIONS = {
    "text": click.option("--text", metavar="COLUMN", help="Column of the documents."),
    "labels": click.option(
        "--label", "labels", metavar="COLUMN", multiple=True,
        help="Column of the labels; empty cells are not labelled. May be repeated.",
    ),
    "label_separator": click.option(
        "--label-separator", metavar="TEXT",
        help="What separates several labels in one cell, like ';'.",
    ),
    "unlabelled": click.option(
        "--unlabelled", metavar="VALUE", multiple=True,
        help="Label that means not labelled, like NA; may be repeated.",
    ),
    "encoding": click.option(
        "--encoding", metavar="NAME", help="Encoding of the file.  [default: found out]"
    ),
    "separator": click.option(
        "--separator", metavar="CHARACTER", callback=lambda *given: _one_character(*given),
        help="What separates cells.  [default: found out]",
    ),
    "no_quotes": click.option(
        "--no-quotes", is_flag=True, help="Quotes are part of the text, as in many TSV files."
    ),
}  # fmt: skip
OPENING = ("encoding", "separator", "no_quotes")


def _one_character(context: click.Context, parameter: click.Parameter, value: str | None):
    value = {"tab": "\t", "\\t": "\t"}.get(value or "", value)
    if value is None or (len(value) == 1 and value not in '"\r\n\0'):
        return value
    raise click.BadParameter(f"{value!r} must be one character, such as ',' or ';', or 'tab'.")


def table_options(*names: str) -> Callable[[Any], Any]:
    """Add options for reading a table; those on how to open it arrive as one dict, ``opening``."""

    def decorate(function: Any) -> Any:
        @wraps(function)
        def gathered(**given: Any) -> Any:
            opening = {name: given.pop(name) for name in OPENING}
            return function(opening={name: v for name, v in opening.items() if v}, **given)

        decorated: Any = gathered
        for name in reversed((*names, *OPENING)):
            decorated = _OPTIONS[name](decorated)
        return decorated

    return decorate


json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


@contextmanager
def needing_extra() -> Iterator[None]:
    """Say which packages a report needs, if they are missing."""
    try:
        yield
    except ImportError as error:
        said = str(error)
        if "pip install" not in said:
            said = f"The report needs packages that are not installed ({said}): "
            said += "pip install 'cofactor[report]'"
        raise BadInput(f"{said.removesuffix('.')}.") from error
