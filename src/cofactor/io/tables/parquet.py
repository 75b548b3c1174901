"""Parquet files; reading and writing them needs pyarrow.

A small file can hold huge cells, so their lengths are measured before they become Python objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any

from cofactor.io.errors import InputError, at
from cofactor.io.tables.decoding import batches, check_length
from cofactor.io.tables.table_writer import TableWriter

if TYPE_CHECKING:
    import numpy as np

BATCH_ROWS = 256
WRITTEN_ROWS = 50_000
"""Number of rows that are written together."""


def read_parquet(path: Path) -> tuple[list[str], Iterator[tuple[int, list[Any]]]]:
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


def _rows(path: Path, file: Any, wrong: type[Exception]) -> Iterator[tuple[int, list[Any]]]:
    import numpy as np

    numbers = count(2)  # as a spreadsheet would show it, below a header
    try:
        for batch in file.iter_batches(BATCH_ROWS):
            lengths = sum(map(_characters, batch.columns), start=np.zeros(batch.num_rows, int))
            for step in batches(range(batch.num_rows), lengths.__getitem__, BATCH_ROWS):
                rows = list(zip(step, numbers, strict=False))  # takes no number too many
                for i, number in rows:
                    check_length(lengths[i], path, number)
                part = batch.slice(step[0], len(step))
                cells = zip(*(column.to_pylist() for column in part.columns), strict=True)
                yield from ((number, [*one]) for (_, number), one in zip(rows, cells, strict=False))
    except (wrong, OSError) as error:
        raise InputError(_damaged(path, error)) from None


def _damaged(path: Path, error: Exception) -> str:
    problem = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
    return f"{at(path)} cannot be read as Parquet ({problem}); write it again."


def _characters(column: Any) -> np.ndarray:
    """Return the characters in each cell of an array; each entry of a list counts one more."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        lengths = np.append(_characters(column.dictionary), 0)
        return np.asarray(lengths[column.indices.cast("int64").fill_null(-1).to_numpy()])
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return np.asarray(pc.utf8_length(column).fill_null(0), dtype=int)
    if pa.types.is_struct(kind):
        return sum(map(_characters, column.flatten()), start=np.zeros(len(column), dtype=int))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        ends = np.append(0, np.cumsum(_characters(column.values) + 1))
        return np.diff(ends[column.offsets.to_numpy()])
    if pa.types.is_primitive(kind) or pa.types.is_null(kind):
        return np.zeros(len(column), dtype=int)
    return np.array([column.slice(i, 1).nbytes for i in range(len(column))], dtype=int)


# ---- writing


class ParquetWriter(TableWriter):
    """Writes Parquet in groups of rows.

    A column has the type of all of its cells: if later ones do not fit, what is written already is
    written again. The columns of the file ``like`` keep their types unless cells do not fit.
    """

    def __init__(
        self, file: IO[bytes], columns: list[str], added: list[str], like: Path | None = None
    ) -> None:
        try:
            import pyarrow.parquet as pq
        except ImportError:
            raise InputError(
                "Writing Parquet needs pyarrow: pip install pyarrow, or write CSV."
            ) from None
        self._file, self._names = file, [*columns, *added]
        known = {} if like is None else {one.name: one.type for one in pq.read_schema(like)}
        self._known = {name: known[name] for name in columns if name in known}
        self._width = len(columns)
        self._schema: Any = None  # null: no cell yet
        self._large: set[str] = set()  # columns of whole numbers that floats cannot hold
        self._rows: list[list[Any]] = []
        self._writer: Any = None

    def write(self, cells: list[Any], added: Iterable[Any] = ()) -> None:
        """Write one row."""
        if len(cells) > self._width:
            raise InputError(
                f"A row has {len(cells)} columns, but {self._width} were known when writing began; "
                "write JSON lines instead."
            )
        short = [None] * (self._width - len(cells))
        self._rows.append([*cells, *short, *added])
        if len(self._rows) >= WRITTEN_ROWS:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        columns = zip(*self._rows, strict=True) if self._rows else [()] * len(self._names)
        arrays = [self._array(*pair) for pair in zip(self._names, map(list, columns), strict=True)]
        table, self._rows = pa.table(arrays, names=self._names), []
        self._large |= {name for name in self._names if _is_large(table[name])}
        self._schema = _common_schema(self._schema or table.schema, table.schema, self._large)
        written = _named_types(self._schema)
        if self._writer is None:
            self._begin(written)
        elif written != self._writer.schema:
            self._write_again(written)
        self._writer.write_table(_cast(table, written))

    def _begin(self, schema: Any) -> None:
        from pyarrow.parquet import ParquetWriter as Writer

        self._writer = Writer(self._file, schema)

    def _write_again(self, schema: Any) -> None:
        """Write the earlier groups with other types."""
        from pyarrow.parquet import ParquetFile

        if not self._file.seekable():
            raise InputError("Cells of several types need a regular file; write to one, or CSV.")
        self._writer.close()
        self._file.flush()
        with TemporaryFile(dir=Path(self._file.name).parent) as earlier:
            with open(self._file.name, "rb") as written:
                copyfileobj(written, earlier)
            self._file.seek(0)
            self._file.truncate()
            self._begin(schema)
            groups = ParquetFile(earlier)
            for group in range(groups.num_row_groups):
                self._writer.write_table(_cast(groups.read_row_group(group), schema))

    def _array(self, name: str, values: list[Any]) -> Any:
        """Return a column; cells of several types become texts."""
        import pyarrow as pa

        values = [list(value) if isinstance(value, tuple) else value for value in values]
        try:
            return pa.array(values, self._known.get(name))
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return _texts(values)

    def close(self) -> None:
        """Write the last rows."""
        try:
            if self._rows or self._writer is None:
                self._flush()
        finally:
            if self._writer is not None:
                self._writer.close()


def _is_large(column: Any) -> bool:
    """Return whether a column has whole numbers that floats cannot hold."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_integer(column.type) or column.null_count == len(column):
        return False
    ends = pc.min_max(column).as_py()
    return bool(max(abs(ends["min"]), abs(ends["max"])) > 1 << 53)


def _common_schema(one: Any, other: Any, large: set[str]) -> Any:
    """Return types that hold the cells of two tables, texts where there is no other."""
    import pyarrow as pa

    for place, (old, new) in enumerate(zip(one, other, strict=True)):
        try:
            pair = [pa.schema([field]) for field in (old, new)]
            field = pa.unify_schemas(pair, promote_options="permissive").field(0)
        except pa.ArrowException:
            field = old.with_type(pa.string())
        if pa.types.is_floating(field.type) and old.name in large:
            field = old.with_type(pa.string())
        one = one.set(place, field)
    return one


def _named_types(schema: Any) -> Any:
    """Return types in which empty columns hold texts, because many readers know no other type."""
    import pyarrow as pa

    for place, field in enumerate(schema):
        if pa.types.is_null(field.type):
            schema = schema.set(place, field.with_type(pa.string()))
    return schema


def _cast(table: Any, schema: Any) -> Any:
    """Return a table with other types."""
    import pyarrow as pa

    def cast(column: Any, kind: Any) -> Any:
        if column.null_count == len(column):
            return pa.nulls(len(column), kind)
        if pa.types.is_string(kind) and column.type != kind:
            return _texts(column.to_pylist())
        return column.cast(kind, safe=False)

    return pa.table([*map(cast, table.columns, schema.types)], schema=schema)


def _texts(cells: list[Any]) -> Any:
    import pyarrow as pa

    return pa.array([None if cell is None else str(cell) for cell in cells], pa.string())
