"""y in one form that any part of it keeps, and rows of data of any kind.

`cofactor.targets.missing` decides which samples are unlabelled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from cofactor._types import BoolArray, IntArray
from cofactor.targets.reading import (
    NamedMatrix,
    as_frame,
    is_matrix,
    known_labels,
    native,
    read_cells,
    read_column,
    read_numbers,
    readable,
)


def settled_labels(y: Any, *, numbers: bool = False) -> tuple[np.ndarray, BoolArray]:
    """Return y as an array of which every part is read like the whole, and what is labelled.

    Integers need this: a part of them that holds only -1 and 1 would be read as two classes.

    Parameters
    ----------
    y : as the estimators take it
    numbers : bool, default=False
        Whether y holds numbers, of which -1 is one.

    Returns
    -------
    tuple of ndarray
        Labels, with None or NaN where unknown, and a mask of the labelled samples.

    Examples
    --------
    >>> settled_labels([1, -1, 0])
    (array([1, None, 0], dtype=object), array([ True, False,  True]))
    """
    y = readable(y, "y")
    if numbers:
        values = read_numbers(y.toarray() if issparse(y) else y, "y")
        return values, _any_known(~np.isnan(values))
    if is_matrix(y):
        values, known = read_cells(y, "y")
        cells = np.array(values.toarray() if issparse(values) else values, dtype=np.float64)
        known = np.broadcast_to(known, cells.shape)
        cells[~known] = np.nan
        return cells, _any_known(known)
    labels, known = known_labels(read_column(y), None)
    settled = np.full(len(known), None, dtype=object)
    settled[known] = labels
    return settled, known


def _any_known(known: BoolArray) -> BoolArray:
    return np.asarray(known.reshape(len(known), -1).any(axis=1))


def take(data: Any, rows: IntArray) -> Any:
    """Return some rows of an array, a sparse matrix, a table, a column or a list."""
    if isinstance(data, np.ndarray):
        return data[rows]
    if isinstance(data, NamedMatrix):
        return NamedMatrix(data.values[rows], data.columns)
    if issparse(data):
        return data.tocsr()[rows]
    frame = as_frame(data)
    if frame is not None:
        return native(frame[rows.tolist()])
    return [data[row] for row in rows]
