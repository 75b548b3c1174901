"""What writers of tables share."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Self


class TableWriter:
    """Writes rows in a with block; the end of the block writes what comes after the last row."""

    defused = 0
    """Number of cells that would have been formulas."""

    def write(self, cells: list[Any], added: Iterable[Any] = ()) -> None:
        """Write one row."""
        raise NotImplementedError

    def close(self) -> None:
        """Write what comes after the last row."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is None:
            self.close()
        else:  # the file is discarded, but libraries must let go of it
            with suppress(Exception):
                self.close()
