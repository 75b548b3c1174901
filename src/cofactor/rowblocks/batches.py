"""Batches of rows: checked one by one and put together to blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy import sparse as sp

from cofactor.observations.storages import canonical

Batch = tuple[sp.csr_array, Any]


def check_batch(batch: Any) -> Batch:
    """Return a batch as a nonnegative float matrix by rows and its targets."""
    X, y = batch if isinstance(batch, tuple) and len(batch) == 2 else (batch, None)
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
    targets = np.asarray(y.toarray() if sp.issparse(y) else y)
    if len(targets) != matrix.shape[0]:
        raise ValueError(
            f"y has {len(targets)} rows, but X has {matrix.shape[0]}; pass one target row for "
            "each row of X, unlabelled ones marked as such."
        )
    return canonical(matrix), targets


def joined(batches: Iterable[Batch], rows: int | None, cells: int) -> Iterator[Batch]:
    """Put batches together, or take them apart, to blocks of ``rows`` rows or about ``cells``
    stored cells."""
    waiting: list[Batch] = []
    first: Batch | None = None
    for batch in batches:
        if first is not None:
            check_like(first, batch)
        first = batch if first is None else first
        waiting.append(batch)
        while (cut := _cut(waiting, rows, cells)) is not None:
            whole = _concatenated(waiting)
            yield _part(whole, 0, cut)
            left = whole[0].shape[0] - cut
            waiting = [_part(whole, cut, whole[0].shape[0])] if left else []
    if waiting:
        yield _concatenated(waiting)


def _cut(waiting: list[Batch], rows: int | None, cells: int) -> int | None:
    """Return after how many rows a block is full, or None."""
    count = sum(X.shape[0] for X, _ in waiting)
    if rows is not None:
        return rows if count >= rows else None
    rows_before = cells_before = 0
    for X, _ in waiting:
        if cells_before + X.nnz >= cells:
            return rows_before + max(1, int(np.searchsorted(X.indptr, cells - cells_before)))
        rows_before, cells_before = rows_before + X.shape[0], cells_before + X.nnz
    return None


def _part(batch: Batch, low: int, high: int) -> Batch:
    X, y = batch
    return sp.csr_array(X[low:high]), None if y is None else y[low:high]


def _concatenated(parts: list[Batch]) -> Batch:
    if len(parts) == 1:
        return parts[0]
    X = sp.csr_array(sp.vstack([X for X, _ in parts], format="csr"))
    return X, None if parts[0][1] is None else np.concatenate([y for _, y in parts])


def check_like(first: Batch, other: Batch) -> None:
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
        raise ValueError("Some batches have y and some have not; pass y with all or with none.")
    if first[1] is not None and first[1].shape[1:] != other[1].shape[1:]:
        raise ValueError(
            f"A batch has y of shape {other[1].shape}, the first one had {first[1].shape}; all "
            "need the same columns."
        )
