"""Checks of what a folder of blocks holds, made before any kernel sees it.

Kernels trust the structure of a matrix: an index out of range would make them read or write beyond
an array. Everything here raises a DamagedFileError.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse as sp

from cofactor.io.manifests import check_file_facts
from cofactor.io.npy import Header
from cofactor.io.untrusted import require
from cofactor.outofcore.facts import BlockFacts

ARRAYS = ("values", "indices", "start", "across-values", "across-indices", "across-start")
MOST = 2**31 - 1
"""Largest number of rows or columns of a block, whose indices are 32-bit integers."""
FACTS = {"rows", "cells", "dtype", "largest", "targets", "files"}


# ---- the manifest


def check_width(width: Any) -> None:
    """Check the number of columns."""
    require(type(width) is int and 0 <= width <= MOST, f"blocks.json: the width is {width!r}")


def check_labels(labels: Any) -> None:
    """Check the list of labels that the targets are codes of."""
    good = isinstance(labels, list) and all(isinstance(v, str | int | float) for v in labels)
    require(good, "blocks.json: labels is not a list of text, numbers and booleans")
    require(len(set(labels)) == len(labels), "blocks.json: labels has an entry twice")


def check_names(names: Any, targets: str | None) -> None:
    """Check the list of names of the targets' columns."""
    good = isinstance(names, list) and all(isinstance(v, str | int | float) for v in names)
    require(good, "blocks.json: target_names is not a list of text and numbers")
    require(targets == "numbers", "blocks.json: target_names names targets that are not there")


def check_facts(facts: Any, i: int, width: int) -> None:
    """Check what the manifest says about a block."""
    where = f"blocks.json: block {i}"
    require(isinstance(facts, dict) and facts.keys() == FACTS, f"{where} needs {sorted(FACTS)}")
    rows, cells, largest = facts["rows"], facts["cells"], facts["largest"]
    require(type(rows) is int and 0 <= rows <= MOST, f"{where} has {rows!r} rows")
    good = type(cells) is int and 0 <= cells <= rows * width
    require(good, f"{where} has {cells!r} cells in {rows} rows and {width} columns")
    require(facts["dtype"] in ("float32", "float64"), f"{where} has the dtype {facts['dtype']!r}")
    good = isinstance(largest, float) and 0 <= largest < np.inf
    require(good, f"{where} has the largest value {largest!r}")
    good = facts["targets"] in (None, "labels", "numbers")
    require(good, f"{where} has the targets {facts['targets']!r}")
    names = {*ARRAYS, "y"} if facts["targets"] else {*ARRAYS}
    good = isinstance(facts["files"], dict) and facts["files"].keys() == names
    require(good, f"{where} must list the files {', '.join(sorted(names))}")
    for name, file in facts["files"].items():
        check_file_facts(file, f"{where}: {name}")


def check_alike(first: dict[str, Any], other: dict[str, Any]) -> None:
    """Check that two blocks have one dtype and one kind of targets."""
    same = first["dtype"] == other["dtype"] and first["targets"] == other["targets"]
    require(same, "blocks.json: blocks differ in dtype or targets")


# ---- the files


def check_header(header: Header, name: str, array: str, facts: BlockFacts, width: int) -> None:
    """Compare the header of a file with what the manifest says about its block."""
    if array == "y" and facts.targets == "numbers":
        good = header.dtype.kind in "biuf" and len(header.shape) in (1, 2)
        require(good and header.shape[0] == facts.rows, f"{name} does not have a row for each of X")
        return
    value, index, start = np.dtype(facts.dtype), np.dtype(np.int32), np.dtype(np.int64)
    cells = (facts.cells,)
    dtype, shape = {
        "values": (value, cells),
        "indices": (index, cells),
        "start": (start, (facts.rows + 1,)),
        "across-values": (value, cells),
        "across-indices": (index, cells),
        "across-start": (start, (width + 1,)),
        "y": (index, (facts.rows,)),
    }[array]
    good = header.dtype == dtype and header.shape == shape
    require(good, f"{name} has dtype {header.dtype} and shape {header.shape}, not {dtype}, {shape}")


def check_columns(header: Header, name: str, columns: int) -> None:
    """Check that targets have a column for each name."""
    good = header.shape[1:] == (columns,)
    require(good, f"{name} has shape {header.shape}, but there are names for {columns} columns")


def check_block(arrays: dict[str, Any], facts: BlockFacts, width: int, name: str) -> None:
    """Check the cells of a block, and that its two copies agree."""
    values, indices, start = (arrays[part] for part in ARRAYS[:3])
    good = bool(np.isfinite(values).all() and (values > 0).all())
    require(good, f"{name}/values.npy has a value that is not finite and positive")
    largest = float(values.max()) if len(values) else 0.0
    require(largest == facts.largest, f"{name}/values.npy has another largest value")
    good = start[0] == 0 and start[-1] == facts.cells and bool((np.diff(start) >= 0).all())
    require(good, f"{name}/start.npy does not rise from 0 to the number of cells")
    good = not len(indices) or (indices.min() >= 0 and indices.max() < width)
    require(good, f"{name}/indices.npy has an index out of range")
    rising = np.diff(indices) > 0
    begins = start[1:-1]
    rising[begins[(begins > 0) & (begins < facts.cells)] - 1] = True
    require(bool(rising.all()), f"{name}/indices.npy does not rise within a row")
    turned = sp.csr_array((values, indices, start), shape=(facts.rows, width)).tocsc()
    for part, found in zip(ARRAYS[3:], (turned.data, turned.indices, turned.indptr), strict=True):
        same = np.array_equal(found, arrays[part])
        require(same, f"{name}/{part}.npy is not the transpose of the rows")


def check_codes(codes: Any, n_labels: int, name: str) -> None:
    """Check that targets are codes of labels, −1 where unknown."""
    good = not len(codes) or (codes.min() >= -1 and codes.max() < n_labels)
    require(good, f"{name} has a code without a label")


def check_numbers(y: Any, name: str) -> None:
    """Check that targets are finite, or NaN where unknown."""
    require(y.dtype.kind != "f" or not np.isinf(y).any(), f"{name} has an infinite value")
