"""The base of all commands: how they end, and how they name the parameters of the library."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from cofactor.cli._terminal import note
from cofactor.errors import InputError, ParameterError, ParameterWarning
from cofactor.io.atomic import WRITES
from cofactor.io.errors import printable

CONTEXT = {"help_option_names": ["-h", "--help"], "show_default": True}
INTERRUPTED, TERMINATED = 130, 143  # 128 plus the number of the signal, as shells count
PARAMETERS = {
    "n_components": "-k",
    "seeds": "--seed-words",
    "stop_words": "--stop-words",
    "classes": "--classes",
    "max_features": "--words",
    "min_df": "--min-documents",
    "class_weight": "--class-weight",
    "log": "--log",
    "further_words": "--further-words",
    "encoder": "--encoder",
    "task": "--task",
    "max_iter": "--iterations",
    "y": "the label column",
    "label": "--label",
    "labels": "--label",
    "layer": "--layer",
    "genes": "--genes",
    "batch_key": "--batch",
    "target": "--class",
    "rival": "--against",
    "dates": "--date",
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (
            *("text", "truth", "label_separator", "unlabelled", "relabel", "relabel_file"),
            *("min_labels", "id", "keep", "date", "date_format", "every"),
            *("encoding", "separator", "no_quotes", "sheet"),
            *("out", "data_home", "stopwords", "host", "port"),
        )
    },
}
"""Parameters of the library, and what users of the command line call them."""


def message_of(problem: Warning | Exception | str, options: Mapping[str, str] = PARAMETERS) -> str:
    """Return the message of an error or a warning, with options in place of parameters."""
    if isinstance(problem, ParameterError | ParameterWarning):
        return problem.sentence(options)
    return str(problem)


@contextmanager
def noted_warnings(options: Mapping[str, str] = PARAMETERS) -> Iterator[dict[str, type[Warning]]]:
    """Print each different warning as a note when it comes; yield them with their kinds."""
    told: dict[str, type[Warning]] = {}

    def tell(message: Warning | str, kind: type[Warning]) -> None:
        if (sentence := message_of(message, options)) not in told:
            told[sentence] = kind
            note(f"Note: {sentence}")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)  # which is for programmers
        warnings.showwarning = lambda message, kind, *_, **__: tell(message, kind)
        yield told


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

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if not error.message.startswith("Got unexpected extra argument"):
                raise
            if any("--data" in one.opts for one in self.params):
                remedy = "Name a table with --data."
            elif any(one.name == "table" for one in self.params):
                remedy = "To name several files, put a pattern in quotes: 'data/*.csv'."
            else:
                raise
            raise click.UsageError(f"{error.message}. {remedy}", ctx) from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except InputError as error:
            raise BadInput(message_of(error)) from error
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
def refusals() -> Iterator[None]:
    """Turn errors of the library about values and types into bad input."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise InputError(printable(message_of(error))) from error


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


def is_given(name: str) -> bool:
    """Return whether the user gave a parameter of the command that runs."""
    source = click.get_current_context().get_parameter_source(name)
    return source is not click.core.ParameterSource.DEFAULT


def given_options() -> Iterator[tuple[str, str]]:
    """Yield the name and the option of each parameter that the user gave."""
    for parameter in click.get_current_context().command.params:
        if is_given(parameter.name or ""):
            yield parameter.name or "", parameter.opts[0]


@contextmanager
def ending_at_signals() -> Iterator[None]:
    """End with code 130 after Ctrl-C and with 143 after SIGTERM, after everything is cleaned up."""
    received: list[int] = []
    before = WRITES.count

    def interrupt(number: int, frame: Any) -> None:
        received.append(number)
        raise KeyboardInterrupt

    numbers = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not if it is ignored
        numbers.append(signal.SIGINT)
    try:
        with _handling(interrupt, *numbers):
            yield
    except click.exceptions.Exit as error:
        if error.exit_code != INTERRUPTED:  # which an interrupted fit uses to save its model first
            raise
    except BaseException as error:
        if not (isinstance(error, KeyboardInterrupt) or (received and _broke_import(error))):
            raise
        rest = "; no file was changed" if WRITES.count == before else ""
        note(f"{'Terminated' if signal.SIGTERM in received else 'Interrupted'}{rest}.")
    else:
        return
    raise click.exceptions.Exit(TERMINATED if signal.SIGTERM in received else INTERRUPTED)


def _broke_import(error: BaseException | None) -> bool:
    """Return whether an import failed; compiled modules say so if they are interrupted."""
    while error is not None and not isinstance(error, ImportError | SystemError):
        error = error.__cause__ or error.__context__
    return error is not None


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


def end_interrupted(interrupted: bool) -> None:
    """End with the code of an interrupted command, if the work was interrupted."""
    if interrupted:
        click.get_current_context().exit(INTERRUPTED)
