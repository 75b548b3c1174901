"""Output of commands: data on stdout or in a file, everything else on stderr."""

from __future__ import annotations

import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from cofactor.io import platform
from cofactor.io.atomic import WRITES, Whole, replacing
from cofactor.io.errors import InputError, at, printable, shortened
from cofactor.io.json_text import to_json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def open_console(stderr: bool = False) -> Console:
    """Open a console that prints text literally, without markup or emoji codes."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    if hasattr(stream, "reconfigure"):  # a terminal that cannot show a character shows its code
        stream.reconfigure(errors="backslashreplace")
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


@contextmanager
def announce(sentence: str) -> Iterator[Callable[[str], None]]:
    """Show on stderr what is being done, and at the end how long it took.

    Yields a function that shows the progress.
    """
    console, sentence = open_console(stderr=True), printable(sentence)
    start = time.perf_counter()
    with console.status(f"{sentence} ...", spinner="line") as status:
        yield lambda far: status.update(f"{sentence}: {far} ...")
    console.print(f"{sentence}: {time.perf_counter() - start:.1f} s", style="dim")


def note(sentence: str) -> None:
    """Print a sentence on stderr; on a terminal it is wrapped between words."""
    text = printable(sentence)
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        text = textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
    click.echo(text, err=True)


def note_each(sentences: Iterable[str]) -> None:
    """Print sentences that the user should heed."""
    for sentence in sentences:
        note(f"Note: {sentence}")


def note_next(*words: object) -> None:
    """Print the command that usually comes next."""
    note(f"Next: {as_typed(*words)}")


def as_typed(*words: object) -> str:
    """Return a command of this program as users type it.

    Where the shell does not find the program by its name, it is called as it was now.
    """
    found, script = shutil.which("cofactor"), Path(sys.argv[0])
    program = ["cofactor"]
    if script.stem == "cofactor" and not (found and script.exists() and script.samefile(found)):
        program = [sys.argv[0]]
    elif script.parts[-2:] == ("cofactor", "__main__.py") and found is None:
        program = [sys.executable, "-m", "cofactor"]
    return platform.HERE.command([*program, *map(str, words)])


def emit(value: Any) -> None:
    """Print JSON on stdout."""
    click.echo(to_json(value, indent=2))


# ---- tables on stdout


def show(*things: Any) -> None:
    """Print text and tables on stdout; if it is not a terminal, lines have no trailing spaces."""
    console = open_console()
    if console.is_terminal:
        for thing in things:
            console.print(thing)
        return
    with console.capture() as captured:
        for thing in things:
            console.print(thing)
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def make_table(*columns: str, numbers: tuple[str, ...] = ()) -> Table:
    """Return an empty table; the columns in ``numbers`` are aligned to the right."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in columns:
        right = name in numbers
        table.add_column(name, justify="right" if right else "left", overflow="fold", no_wrap=right)
    return table


def pair_table(rows: Iterable[tuple[str, str]]) -> Table:
    """Return a table of names and values, without a header."""
    table = make_table("", "")
    table.show_header = False
    for row in rows:
        table.add_row(*row)
    return table


def shown(value: Any, longest: int = 40) -> str:
    """Return a cell for the terminal: one line of limited length without control characters."""
    text = "" if value is None else printable(str(value))
    return shortened(text, longest)


def percent(value: float | None) -> str:
    """Return a share in per cent."""
    return "" if value is None else f"{value:.1%}"


# ---- rows in a file or on stdout


class _Escaped:
    """A binary stream that escapes control characters, for a terminal."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def write(self, data: bytes) -> int:
        """Write complete lines of UTF-8."""
        lines = data.decode().split("\n")
        self._stream.write("\n".join(map(printable, lines)).encode())
        return len(data)


def refuse_table_as_output(output: Path | None, table: Path) -> None:
    """Refuse to write the table over itself."""
    if output and output.exists() and output.samefile(table):
        raise InputError(f"--output {at(output)} is the table itself; name another file.")


def refuse_overwriting(output: Path | None, force: bool, option: str = "--output") -> None:
    """Refuse to replace a file, or what a folder holds, unless the user asks for it."""
    if output is None or force or not output.exists():
        return
    if output.is_file() or (output.is_dir() and any(output.iterdir())):
        raise InputError(f"{option} {at(output)} exists; name another, or replace it with --force.")


@contextmanager
def opened_output(output: Path | None, whole: Whole | None = None) -> Iterator[Any]:
    """Open a file that takes its place when all is written, see `replacing`; stdout for None."""
    if output:
        with replacing(output, whole) as file:
            yield file
        return
    WRITES.count += 1  # stdout may be a file
    stream = sys.stdout.buffer
    yield _Escaped(stream) if sys.stdout.isatty() else stream
    stream.flush()


def rounded(value: float) -> float:
    """Return a share or a probability with five significant digits, for a file."""
    return float(f"{value:.5g}")


def open_page(path: Path) -> None:
    """Open a file in the browser; tell the user if no browser was found."""
    import webbrowser

    if not webbrowser.open(path.resolve().as_uri()):
        note(f"No browser was found on this machine; open {path} yourself.")
