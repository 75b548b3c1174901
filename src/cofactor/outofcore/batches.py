"""Batches of rows: checked one by one and joined into blocks; facts about a block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import joblib
import numpy as np
from scipy import sparse as sp

from cofactor._types import IntArray
from cofactor.engine.observations import canonical
from cofactor.targets.missing import is_missing
from cofactor.targets.reading import column_names, storable

RowsAndTargets = tuple[sp.csr_array, Any]
"""Rows and their targets (None without)."""


@dataclass(frozen=True)
class BlockFacts:
    """Size, dtype and largest value of a block, and what kind of targets it has."""

    rows: int
    cells: int
    dtype: str
    largest: float
    targets: str | None = None
    """``labels`` (on disk: codes of the folder's labels), ``numbers``, or None."""
    files: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """Size and digest of each file of the block; empty for a block in memory."""

    @classmethod
    def of(cls, X: sp.csr_array, y: Any) -> BlockFacts:
        """Return the facts about rows and their targets."""
        largest = float(X.data.max()) if X.nnz else 0.0
        return cls(X.shape[0], X.nnz, str(X.dtype), largest).with_targets(y)

    def with_targets(self, y: Any) -> BlockFacts:
        """Return the facts about the same rows with other targets."""
        return self if y is None else replace(self, targets=kind_of(y))


def digest_of(X: sp.csr_array | None, y: Any) -> str:
    """Return a digest of the cells of rows and of their targets, each if given."""
    cells = None if X is None else (X.shape, X.data, X.indices, X.indptr)
    targets = y.tolist() if y is not None and y.dtype.kind == "O" else y
    return str(joblib.hash((cells, targets)))


def kind_of(y: Any) -> str:
    """Return ``numbers`` or ``labels``."""
    return "numbers" if y.dtype.kind in "biuf" else "labels"


def check_batch(batch: Any) -> RowsAndTargets:
    """Return a batch as a nonnegative float matrix by rows and its targets."""
    X, y = _pair(batch)
    array = X if sp.issparse(X) else np.atleast_2d(np.asarray(X))
    if array.dtype.kind not in "biuf":
        raise TypeError(f"X has dtype {array.dtype}; pass batches of numbers.")
    matrix = sp.csr_array(array)
    if matrix.dtype not in (np.float32, np.float64):
        matrix = matrix.astype(np.float64)
    if matrix.nnz and not np.isfinite(matrix.data).all():
        raise ValueError("X has values that are not finite; blocks hold observed numbers only.")
    if matrix.nnz and matrix.data.min() < 0:
        raise ValueError(f"X has the negative value {matrix.data.min():g}; make it nonnegative.")
    if y is None:
        return canonical(matrix), None
    targets = check_targets(y)
    if len(targets) != matrix.shape[0]:
        raise ValueError(
            f"y has {len(targets)} rows, but X has {matrix.shape[0]}; pass one target row for "
            "each row of X, with unlabelled rows marked."
        )
    return canonical(matrix), targets


def _pair(batch: Any) -> tuple[Any, Any]:
    return batch if isinstance(batch, tuple) and len(batch) == 2 else (batch, None)


def batch_names(batch: Any) -> tuple[Any, ...] | None:
    """Return the names of the target columns of a batch; None without names."""
    return column_names(_pair(batch)[1])


def common_names(
    first: tuple[Any, ...] | None, other: tuple[Any, ...] | None
) -> tuple[Any, ...] | None:
    """Return the names of two batches' target columns; refuse two that differ."""
    if first is not None and other is not None and first != other:
        raise ValueError(
            f"A batch has y with the columns {list(other)}, the first one had {list(first)}; all "
            "need the same columns."
        )
    return other if first is None else first


def check_targets(y: Any) -> Any:
    """Return y in a form that can be stored: numbers, or one label per row."""
    y = storable(y)
    if y.dtype.kind in "biuf":
        return _finite(y)
    odd = next((v for v in y.tolist() if not _storable(v)), None)
    if odd is not None:
        raise TypeError(
            f"y has the label {odd!r}; labels must be text, finite numbers or booleans."
        )
    return y.astype(object)


def _finite(y: Any) -> Any:
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise ValueError("y has an infinite value; make it finite, or NaN where unknown.")
    return y


def _storable(label: Any) -> bool:
    return is_missing(label) or (
        isinstance(label, str | int | float) and label not in (np.inf, -np.inf)
    )


def joined(
    batches: Iterable[RowsAndTargets], rows: int | None, cells: int
) -> Iterator[RowsAndTargets]:
    """Join or split batches into blocks of ``rows`` rows, or of about ``cells`` stored cells."""
    waiting: list[RowsAndTargets] = []
    first: RowsAndTargets | None = None
    for batch in batches:
        if first is not None:
            check_like(first, batch)
        first = batch if first is None else first
        waiting.append(batch)
        if _is_full(waiting, rows, cells):
            whole, low = concatenated(waiting), 0
            while (high := _next_cut(whole[0], low, rows, cells)) is not None:
                yield _part(whole, low, high)
                low = high
            waiting = [_part(whole, low, whole[0].shape[0])] if low < whole[0].shape[0] else []
    if waiting:
        yield concatenated(waiting)


def _is_full(waiting: list[RowsAndTargets], rows: int | None, cells: int) -> bool:
    if rows is not None:
        return bool(sum(X.shape[0] for X, _ in waiting) >= rows)
    return bool(sum(X.nnz for X, _ in waiting) >= cells)


def _next_cut(X: sp.csr_array, low: int, rows: int | None, cells: int) -> int | None:
    """Return the row after which a block that begins at ``low`` is full, or None."""
    if rows is not None:
        return low + rows if low + rows <= X.shape[0] else None
    if low >= X.shape[0] or X.nnz - X.indptr[low] < cells:
        return None
    return max(low + 1, int(np.searchsorted(X.indptr, X.indptr[low] + cells)))


def _part(batch: RowsAndTargets, low: int, high: int) -> RowsAndTargets:
    X, y = batch
    return sp.csr_array(X[low:high]), None if y is None else y[low:high]


def split_places(places: IntArray, bounds: IntArray) -> list[IntArray]:
    """Return sorted places among all rows as places in each block.

    Examples
    --------
    >>> [part.tolist() for part in split_places(np.array([0, 3, 4]), np.array([0, 3, 6]))]
    [[0], [0, 1]]
    """
    cuts = np.searchsorted(places, bounds)
    pairs = zip(bounds[:-1], cuts[:-1], cuts[1:], strict=True)
    return [places[first:last] - low for low, first, last in pairs]


def take_rows(block: RowsAndTargets, places: IntArray) -> RowsAndTargets:
    """Return some rows of a block."""
    X, y = block
    return sp.csr_array(X[places]), None if y is None else np.asarray(y)[places]


def concatenated(parts: list[RowsAndTargets]) -> RowsAndTargets:
    """Return rows and targets of several blocks together."""
    if len(parts) == 1:
        return parts[0]
    X = sp.csr_array(sp.vstack([X for X, _ in parts], format="csr"))
    return X, None if parts[0][1] is None else np.concatenate([y for _, y in parts])


def check_like(first: RowsAndTargets, other: RowsAndTargets) -> None:
    """Refuse a batch that differs from the first in width, dtype or targets."""
    if first[0].shape[1] != other[0].shape[1]:
        raise ValueError(
            f"A batch has {other[0].shape[1]} columns, but the first one had "
            f"{first[0].shape[1]}; all need the same features."
        )
    if first[0].dtype != other[0].dtype:
        raise ValueError(
            f"A batch has dtype {other[0].dtype}, but the first one had {first[0].dtype}; "
            "convert them to one dtype."
        )
    if (first[1] is None) != (other[1] is None):
        raise ValueError("Some batches have y and some do not; pass y with all or with none.")
    if first[1] is not None and kind_of(first[1]) != kind_of(other[1]):
        raise ValueError(
            f"A batch has y of {kind_of(other[1])}, but the first one had {kind_of(first[1])}; "
            "convert y to one dtype: objects with None, or integers with -1, where unknown."
        )
    if first[1] is not None and first[1].shape[1:] != other[1].shape[1:]:
        raise ValueError(
            f"A batch has y of shape {other[1].shape}, the first one had {first[1].shape}; all "
            "need the same columns."
        )
