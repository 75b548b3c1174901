"""The rows that a stream has gathered ↔ plain arrays, which are checked like all that is read."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from cofactor.engine.observations import Observations, compressed_layout
from cofactor.estimators.reservoir import GatheredRows, Reservoir, joined
from cofactor.io.untrusted import require
from cofactor.targets.matrix import Targets

RESERVOIR_FIELDS = frozenset(
    {
        "cells",
        "columns",
        "lengths",
        "width",
        "zeros",
        "targets",
        "target_columns",
        "target_lengths",
        "sparse",
        "row_weights",
        "cell_weights",
        "importance",
        "counts",
        "keys",
        "limit",
        "seen",
        "mass",
        "labels",
    }
)


def take_reservoir(reservoir: Reservoir) -> dict[str, Any]:
    """Return the parts of a reservoir; arrays of integers have two axes, as the format asks."""
    reservoir = reservoir.trimmed()
    rows = joined(reservoir.parts)
    layout, targets = rows.data.layout, rows.targets
    Y = csr_array(targets.values)
    return {
        "cells": layout.values,
        "columns": layout.column_numbers()[None].astype(np.int64),
        "lengths": np.diff(layout.start)[None],
        "width": rows.data.shape[1],
        "zeros": rows.data.zeros,
        "targets": Y.data,
        "target_columns": Y.indices[None].astype(np.int64),
        "target_lengths": np.diff(Y.indptr)[None].astype(np.int64),
        "sparse": bool(issparse(targets.values)),
        "row_weights": targets.row_weights,
        "cell_weights": targets.cell_weights,
        "importance": targets.importance,
        "counts": rows.counts,
        "keys": rows.keys.view(np.int64)[None],
        "limit": reservoir.limit,
        "seen": reservoir.seen,
        "mass": reservoir.mass,
        "labels": reservoir.labels,
    }


def make_reservoir(parts: dict[str, Any]) -> Reservoir:
    """Return the reservoir of parts that come from a file."""
    require(parts.keys() == RESERVOIR_FIELDS, "it lacks a part")
    counts, labels = parts["counts"], parts["labels"]
    n, k = _length(counts, "counts"), _length(labels, "labels")
    width, seen, limit = parts["width"], parts["seen"], parts["limit"]
    require(type(width) is int and width > 0, "width is not a positive integer")
    require(type(seen) is int and n <= seen < 2**62, "seen is not a number of rows")
    good = limit is None or (type(limit) is int and 0 <= limit < 2**64)
    require(good, "limit is not an integer below 2**64")
    for name in ("zeros", "sparse"):
        require(type(parts[name]) is bool, f"{name} is neither true nor false")
    _check_numbers(parts["mass"], "mass", (2,))
    _check_numbers(counts, "counts", (n,))
    _check_numbers(labels, "labels", (k,))
    require(bool((counts > 0).all()), "counts has an entry that is not positive")
    X = _matrix(parts, ("cells", "columns", "lengths"), (n, width))
    require(bool((X.data >= 0).all()), "cells has a negative entry")
    data = Observations((n, width), compressed_layout(X), parts["zeros"])
    rows = GatheredRows(data, _targets(parts, (n, k)), counts, _keys(parts["keys"], n))
    return Reservoir((rows,), limit, seen, parts["mass"], labels)


def _targets(parts: dict[str, Any], shape: tuple[int, int]) -> Targets:
    Y = _matrix(parts, ("targets", "target_columns", "target_lengths"), shape)
    rows, cells = parts["row_weights"], parts["cell_weights"]
    require(rows is None or cells is None, "row_weights and cell_weights are both given")
    labelled = np.ones(shape[0], dtype=bool)
    if rows is not None:
        _check_numbers(rows, "row_weights", shape[:1])
        labelled = rows > 0
    if cells is not None:
        _check_numbers(cells, "cell_weights", shape)
        labelled = cells.max(axis=1, initial=0.0) > 0
    factor = parts["importance"]
    if factor is not None:
        _check_numbers(factor, "importance", shape[:1])
        labelled = labelled & (factor > 0)
    return Targets(Y if parts["sparse"] else Y.toarray(), rows, cells, labelled, factor)


def _matrix(parts: dict[str, Any], names: tuple[str, str, str], shape: tuple[int, int]) -> Any:
    """Return a matrix whose columns are sorted in each row, without duplicates."""
    values, columns, lengths = (parts[name] for name in names)
    n, width = shape
    cells = _length(values, names[0])
    good = values.dtype.kind == "f" and bool(np.isfinite(values).all())
    require(good, f"{names[0]} is not an array of finite numbers")
    _check_integers(columns, names[1], cells)
    _check_integers(lengths, names[2], n)
    indices, sizes = columns[0], lengths[0]
    inside = bool(((indices >= 0) & (indices < width)).all())
    require(inside, f"{names[1]} has an entry outside {width} columns")
    good = bool(((sizes >= 0) & (sizes <= width)).all()) and int(sizes.sum()) == cells
    require(good, f"{names[2]} do not add up to the {cells} cells")
    rises = np.diff(np.repeat(np.arange(n), sizes) * width + indices) > 0
    require(bool(rises.all()), f"{names[1]} are not sorted")
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    X = csr_array(shape, dtype=values.dtype)
    X.data, X.indices, X.indptr = values, indices.astype(np.int32), start
    return X


def _keys(keys: Any, n: int) -> Any:
    _check_integers(keys, "keys", n)
    require(len(np.unique(keys)) == n, "keys has an entry twice")
    return keys[0].view(np.uint64)


def _length(array: Any, name: str) -> int:
    require(isinstance(array, np.ndarray) and array.ndim == 1, f"{name} is not a list of numbers")
    return len(array)


def _check_integers(array: Any, name: str, n: int) -> None:
    good = isinstance(array, np.ndarray) and array.dtype == np.int64 and array.shape == (1, n)
    require(good, f"{name} are not {n} integers")


def _check_numbers(array: Any, name: str, shape: tuple[int, ...]) -> None:
    good = isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.shape == shape
    good = good and bool(np.isfinite(array).all() and (array >= 0).all())
    require(good, f"{name} is not an array of {shape} numbers of at least 0")
