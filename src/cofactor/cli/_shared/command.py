"""The base of all commands: how they end, and the options that they share."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import click

from cofactor.cli._shared.terminal import note
from cofactor.errors import ParameterError, ParameterWarning
from cofactor.io.atomic import CHANGES
from cofactor.io.errors import at, printable, similar_path
from cofactor.io.tables import InputError

CONTEXT = {"help_option_names": ["-h", "--help"], "show_default": True}
STANDARD_INPUT = "/dev/stdin"
"""The path of what users call -."""
INTERRUPTED, TERMINATED = 130, 143  # 128 plus the number of the signal, as shells count


OPTIONS = {
    "n_components": "-k",
    "seeds": "--seed-words",
    "stop_words": "--stop-words",
    "class_weight": "--class-weight",
    "task": "--task",
    "y": "the label column",
    "labels": "--label",
    "unlabelled": "--unlabelled",
    "layer": "--layer",
    "target": "--class",
    "rival": "--against",
    "every": "--every",
    "dates": "--date",
}
"""What users of the command line call the parameters of the library."""


def in_options(problem: Warning | Exception | str) -> str:
    """Return the message of an error or a warning, with options in place of parameters."""
    if isinstance(problem, ParameterError | ParameterWarning):
        return problem.sentence(OPTIONS)
    return str(problem)


class BadInput(click.ClickException):
    """An error in the user's input; the message says how to correct it."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class Command(click.Command):
    """A command that ends with one sentence: code 2 for bad input, 1 if the system refuses."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        settings.setdefault("context_settings", CONTEXT)
        super().__init__(*arguments, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (InputError, ParameterError) as error:
            raise BadInput(in_options(error)) from error
        except MemoryError as error:
            detail = f" ({error})" if str(error) else ""
            raise click.ClickException(
                f"There is not enough memory{printable(detail)}; use fewer topics or documents, or "
                "write a large table as blocks with cofactor blocks."
            ) from error
        except BrokenPipeError:  # click ends quietly
            raise
        except OSError as error:
            raise click.ClickException(printable(str(error))) from error


@contextmanager
def ending_at_signals() -> Iterator[None]:
    """End with code 130 after Ctrl-C and with 143 after SIGTERM, after everything is cleaned up."""
    received: list[int] = []
    before = CHANGES.count

    def interrupt(number: int, frame: Any) -> None:
        received.append(number)
        raise KeyboardInterrupt

    try:
        with _handling(interrupt, signal.SIGTERM):
            yield
    except KeyboardInterrupt:
        rest = "; no file was changed" if CHANGES.count == before else ""
        note(f"{'Terminated' if received else 'Interrupted'}{rest}.")
    except click.exceptions.Exit as error:
        if error.exit_code != INTERRUPTED:  # which an interrupted fit uses to save its model first
            raise
    else:
        return
    raise click.exceptions.Exit(TERMINATED if received else INTERRUPTED)


@contextmanager
def delaying_signals() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait until the block has ended, so that it is done as a whole."""
    received: list[int] = []
    with _handling(lambda number, frame: received.append(number), signal.SIGINT, signal.SIGTERM):
        yield
    for number in received[:1]:
        signal.raise_signal(number)


@contextmanager
def _handling(handler: Callable[[int, Any], None], *numbers: int) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # only that one may set handlers
        yield
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


class _ExistingPath(click.Path):
    """A path that must exist; "-" is standard input. Errors suggest a path of a similar name."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        value = STANDARD_INPUT if value == "-" else value
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            message = f"{error.message} {similar_path(value)}".rstrip()
            raise click.BadParameter(message, ctx, param) from None


class _OutputFile(click.Path):
    """A file to write; a folder is refused before any work is done."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        path: Any = super().convert(value, param, ctx)
        if path.is_dir():
            self.fail(f"{at(path)} is a folder; name a file.", param, ctx)
        return path


class Number(click.ParamType):
    """A finite number from ``low`` to ``high``, a whole one if ``kind`` is int."""

    def __init__(self, kind: type[int] | type[float], low: int, high: float = math.inf) -> None:
        self.kind, self.low, self.high = kind, low, high
        self.name = "integer" if kind is int else "number"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            number = self.kind(value)
        except ValueError:
            number = math.nan
        if self.low <= number <= self.high and number < math.inf:
            return number
        which = "whole" if self.kind is int else "finite"
        reach = f"of at least {self.low}"
        if self.high < math.inf:
            reach = f"from {self.low} to {self.high:,}"
        return self.fail(f"{value!r} is not a {which} number {reach}.", param, ctx)


COUNT = Number(int, 1)
SEED = Number(int, 0, 2**32 - 1)
TABLE = _ExistingPath(exists=True, path_type=Path)
MODEL = click.Path(path_type=Path)
OUTPUT = click.Path(path_type=Path)
OUTPUT_FILE = _OutputFile(path_type=Path)

_OPTIONS = {
    "text": click.option("--text", metavar="COLUMN", help="Column that holds the texts."),
    "labels": click.option(
        "--label",
        "labels",
        metavar="COLUMN",
        multiple=True,
        help="Column that holds the labels; an empty cell is not labelled. May be repeated.",
    ),
    "label_separator": click.option(
        "--label-separator",
        metavar="TEXT",
        help="Separator of several labels in one cell, like ';'.",
    ),
    "unlabelled": click.option(
        "--unlabelled",
        metavar="VALUE",
        multiple=True,
        help="Label that means not labelled, like NA. May be repeated.",
    ),
    "id_column": click.option(
        "--id",
        "id_column",
        metavar="COLUMN",
        help="Column that names the documents.  [default: that of the fit]",
    ),
    "date": click.option(
        "--date",
        metavar="COLUMN",
        help="Column that holds the documents' dates.  [default: that of the fit]",
    ),
    "date_format": click.option(
        "--date-format",
        metavar="FORMAT",
        help="Format of the dates, like %d/%m/%Y.  [default: detected]",
    ),
    "encoding": click.option(
        "--encoding", metavar="NAME", help="Encoding of the file.  [default: detected]"
    ),
    "separator": click.option(
        "--separator",
        metavar="CHARACTER",
        callback=lambda *given: _one_character(*given),
        help="Separator of cells.  [default: detected]",
    ),
    "no_quotes": click.option(
        "--no-quotes", is_flag=True, help="Read quotes as part of the text, as in many TSV files."
    ),
    "sheet": click.option(
        "--sheet", metavar="NAME", help="Sheet of a spreadsheet.  [default: the first one]"
    ),
}
PERIODS = ("day", "week", "month", "quarter", "year")
OPENING = ("encoding", "separator", "no_quotes", "sheet")


def _one_character(context: click.Context, parameter: click.Parameter, value: str | None):
    value = {"tab": "\t", "\\t": "\t"}.get(value or "", value)
    if value is None or (len(value) == 1 and value not in '"\r\n\0'):
        return value
    raise click.BadParameter(f"{value!r} must be one character, such as ',' or ';', or 'tab'.")


def table_options(*names: str) -> Callable[[Any], Any]:
    """Add options for reading a table.

    The options that say how to open it (`OPENING`) arrive as one dict, ``opening``.
    """

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


def is_given(name: str) -> bool:
    """Tell whether the user gave a parameter of the command that runs."""
    source = click.get_current_context().get_parameter_source(name)
    return source is not click.core.ParameterSource.DEFAULT


@contextmanager
def needing_extra(what: str, extra: str) -> Iterator[None]:
    """Turn a missing optional package into a sentence that says what to install.

    Parameters
    ----------
    what : str
        Subject of the sentence, such as "The report".
    extra : str
        Name of the extra of cofactor that holds the package.
    """
    try:
        yield
    except ImportError as error:
        message = str(error)
        if "pip install" not in message:
            message = f"{what} needs a package that is not installed ({message}): "
            message += f"pip install 'cofactor[{extra}]'"
        raise BadInput(f"{message.removesuffix('.')}.") from error
