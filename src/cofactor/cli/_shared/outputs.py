"""Where commands write rows: a file that is written whole or not at all, or stdout."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from cofactor.cli._shared.terminal import rows_out
from cofactor.io.atomic import CHANGES, replacing
from cofactor.io.errors import at
from cofactor.io.tables import InputError


def refuse_table_as_output(output: Path | None, table: Path) -> None:
    """Refuse to write the table over itself."""
    if output and output.exists() and output.samefile(table):
        raise InputError(f"--output {at(output)} is the table itself; name another file.")


@contextmanager
def opened_output(output: Path | None) -> Iterator[IO[bytes]]:
    """Open a file that takes its place when all is written; stdout for None."""
    if output:
        with replacing(output) as file:
            yield file
    else:
        CHANGES.count += 1  # stdout may be a file
        out = rows_out()
        yield out
        out.flush()
