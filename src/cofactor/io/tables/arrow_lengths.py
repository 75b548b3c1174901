"""Lengths of arrow cells, measured before the cells become Python objects.

A small Parquet file can hold huge cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def row_lengths(batch: Any) -> np.ndarray:
    """Return the characters in each row of a record batch."""
    return sum(map(_characters, batch.columns), start=np.zeros(batch.num_rows, dtype=int))


def _characters(column: Any) -> np.ndarray:
    """Return the characters in each cell of an array; each entry of a list counts one more."""
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
