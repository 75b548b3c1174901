"""Parquet files; reading them needs pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from os import PathLike
from typing import Any

from cofactor.io.errors import InputError, at
from cofactor.io.tables.limits import batches, check_length

BATCH = 256
Row = tuple[int, list[Any]]


def read_parquet(path: str | PathLike[str]) -> tuple[list[str], Iterator[Row]]:
    """Return columns and rows; the rows are read in batches."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise InputError(
            f"{at(path)} is a Parquet file, which needs pyarrow: pip install pyarrow, or save the "
            "table as CSV."
        ) from None
    try:
        file = ParquetFile(path)
    except (ArrowException, OSError) as error:
        raise InputError(_damaged(path, error)) from None
    return list(file.schema_arrow.names), _rows(path, file, ArrowException)


def _rows(path: str | PathLike[str], file: Any, wrong: type[Exception]) -> Iterator[Row]:
    from cofactor.io.tables.arrow_lengths import row_lengths

    numbers = count(2)  # as a spreadsheet would show it, below a header
    try:
        for batch in file.iter_batches(BATCH):
            lengths = row_lengths(batch)
            for step in batches(range(batch.num_rows), lengths.__getitem__, BATCH):
                rows = list(zip(step, numbers, strict=False))  # takes no number too many
                for i, number in rows:
                    check_length(lengths[i], path, number)
                part = batch.slice(step[0], len(step))
                cells = zip(*(column.to_pylist() for column in part.columns), strict=True)
                yield from ((number, [*one]) for (_, number), one in zip(rows, cells, strict=False))
    except (wrong, OSError) as error:
        raise InputError(_damaged(path, error)) from None


def _damaged(path: str | PathLike[str], error: Exception) -> str:
    problem = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
    return f"{at(path)} cannot be read as Parquet ({problem}); write it again."
