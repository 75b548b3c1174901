"""Read a folder of blocks.

Kernels trust the structure of a matrix: an index out of range would make them read or write beyond
an array. So a folder is checked before any kernel sees it: the manifest, sizes and headers when the
folder is opened, digests and contents when a block is first read. Then the block is mapped.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse as sp

from cofactor.io.atomic import find_folder
from cofactor.io.errors import shortened
from cofactor.io.json_text import from_json_file
from cofactor.io.npy import MAX_HEADER_BYTES, Header, as_array, read_header
from cofactor.io.untrusted import (
    check_contents,
    check_digest,
    check_file_facts,
    failing_as,
    open_plain,
    read_file,
    require,
    sha256,
)
from cofactor.outofcore.batches import BlockFacts

SCHEMA = 2
"""Schema 1 had no digests; its folders can still be read."""
NO_DIGEST = ""
"""The digest of a file of schema 1; its contents are checked nevertheless."""
MANIFEST = "blocks.json"
NOTES = "notes.json"
"""What the writer keeps with the blocks; the file may be missing."""
OWN_NAME = re.compile(rf"{re.escape(MANIFEST)}|{re.escape(NOTES)}|[0-9]{{5,}}")
"""Names in a folder of blocks: the manifest, the notes and the numbers of blocks."""
MAX_JSON_BYTES = 2**27
"""Maximum size of the manifest and of the notes."""
ARRAYS = ("values", "indices", "start", "across-values", "across-indices", "across-start")
"""Arrays of a block: by rows, then by columns."""
FACT_NAMES = {"rows", "cells", "dtype", "largest", "targets", "files"}
"""Facts about a block in the manifest."""
MAX_INDEX = 2**31 - 1
"""Maximum number of rows or columns of a block, whose indices are 32-bit integers."""

Identity = tuple[int, int, int, int]
"""Device, number, size and time of change of a file."""


class RowBlocksError(ValueError):
    """A folder of row blocks is missing, damaged, or of another kind."""


@dataclass(frozen=True)
class BlockFolder:
    """A folder of blocks whose manifest and files have been checked.

    A block is checked in full when it is first read in a process, and again if its files change.
    """

    path: Path
    width: int
    facts: tuple[BlockFacts, ...]
    labels: tuple[Any, ...]
    notes_facts: dict[str, Any] | None = None
    """Size and digest of the notes."""
    target_names: tuple[Any, ...] | None = None
    """Names of the columns of the targets; None without names."""
    _checked: dict[tuple[int, str], Identity] = field(
        default_factory=dict, compare=False, repr=False
    )

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_checked": {}}  # another process checks for itself

    def file(self, i: int, name: str) -> Path:
        """Return the path of a file of block i."""
        return self.path / _file_name(i, name)

    def arrays(self, i: int) -> dict[str, Any]:
        """Return the arrays of block i, mapped."""
        with _reading(self.path):
            mapped = {name: _map(self.file(i, name), _file_name(i, name)) for name in ARRAYS}
            arrays = {name: self._array(i, name, data) for name, (data, _) in mapped.items()}
            if self._changed(i, {name: identity for name, (_, identity) in mapped.items()}):
                self._check_digests(i, {name: data for name, (data, _) in mapped.items()})
                _check_block(arrays, self.facts[i], self.width, f"{i:05d}")
                self._checked.update({(i, name): one for name, (_, one) in mapped.items()})
            return arrays

    def targets(self, i: int) -> Any:
        """Return the targets of block i in the form in which they were written."""
        if self.facts[i].targets is None:
            return None
        with _reading(self.path):
            name = _file_name(i, "y")
            data, identity = _map(self.file(i, "y"), name)
            y = np.array(self._array(i, "y", data))
            if self._changed(i, {"y": identity}):
                self._check_digests(i, {"y": data})
                self._checked[i, "y"] = identity
            if self.facts[i].targets == "numbers":
                _check_numbers(y, name)
                return y
            _check_codes(y, len(self.labels), name)
        return np.array([*self.labels, None], dtype=object)[y]  # −1, the last, is unlabelled

    def notes(self) -> Any:
        """Return what the writer kept with the blocks; None if nothing."""
        if self.notes_facts is None:
            return None
        with _reading(self.path):
            data = read_file(self.path / NOTES, MAX_JSON_BYTES)
            if self.notes_facts["sha256"] != NO_DIGEST:
                check_contents(NOTES, data, self.notes_facts)
            return from_json_file(data, NOTES)

    def _array(self, i: int, name: str, data: Any) -> Any:
        header = read_header(bytes(data[:MAX_HEADER_BYTES]), _file_name(i, name))
        self.check_header(header, i, name)
        return as_array(data, _file_name(i, name))

    def check_header(self, header: Header, i: int, name: str) -> None:
        """Compare the header of a file of block i with the manifest."""
        _check_header(header, _file_name(i, name), name, self.facts[i], self.width)
        if name == "y" and self.target_names is not None:
            _check_columns(header, _file_name(i, name), len(self.target_names))

    def _changed(self, i: int, files: dict[str, Identity]) -> bool:
        return any(self._checked.get((i, name)) != identity for name, identity in files.items())

    def _check_digests(self, i: int, files: dict[str, Any]) -> None:
        for name, data in files.items():
            wanted = self.facts[i].files[name]["sha256"]
            good = wanted == NO_DIGEST or sha256(data) == wanted
            require(good, f"{_file_name(i, name)} was changed after it was written")


def _file_name(i: int, name: str) -> str:
    return f"{i:05d}/{name}.npy"


def _reading(path: Path) -> Any:
    where = f"{os.fspath(path)!r} cannot be read: "
    return failing_as(RowBlocksError, where, "; copy or write the folder again")


def _map(path: Path, name: str) -> tuple[Any, Identity]:
    """Map a file, so that changes stay in memory; return its bytes and its identity."""
    with open(open_plain(path, name), "rb") as file:
        found = os.fstat(file.fileno())
        require(found.st_size > 0, f"{name} is empty")
        data = np.memmap(file, np.uint8, mode="c").view(np.ndarray)
    return data, (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def read_folder(path: Path) -> BlockFolder:
    """Open a folder: check its manifest, and the type, size and header of every file."""
    path = find_folder(path)
    with _reading(path):
        if not os.path.lexists(path / MANIFEST):
            raise _without_manifest(path)
        folder = _from_manifest(
            path, from_json_file(read_file(path / MANIFEST, MAX_JSON_BYTES), MANIFEST)
        )
        for i in range(len(folder.facts)):
            _check_files(folder, i)
    return folder


def _without_manifest(path: Path) -> RowBlocksError:
    return RowBlocksError(
        f"{os.fspath(path)!r} is not a folder of row blocks: it has no {MANIFEST}; write one with "
        "RowBlocks.write."
    )


def _from_manifest(path: Path, found: Any) -> BlockFolder:
    require(isinstance(found, dict), f"{MANIFEST} is not an object")
    schema = found.get("schema")
    if type(schema) is not int or not 1 <= schema <= SCHEMA:
        raise RowBlocksError(
            f"{os.fspath(path)!r} has schema {shortened(repr(schema), 40)}, but this version "
            f"reads 1 to {SCHEMA}; write the folder again, or upgrade cofactor."
        )
    if schema > 1:
        check_digest(found, MANIFEST)
    width, blocks, labels = found.get("width"), found.get("blocks"), found.get("labels")
    _check_width(width)
    _check_labels(labels)
    require(isinstance(blocks, list) and len(blocks) > 0, f"{MANIFEST} lists no blocks")
    blocks = blocks if schema > 1 else [_upgraded(block) for block in blocks]
    for i, block in enumerate(blocks):
        _check_facts(block, i, width)
        _check_alike(blocks[0], block)
    notes = found.get("notes")
    if schema == 1:
        notes = {"bytes": 0, "sha256": NO_DIGEST} if os.path.lexists(path / NOTES) else None
    elif notes is not None:
        check_file_facts(notes, f"{MANIFEST}: notes")
    names = found.get("target_names")
    if names is not None:
        _check_names(names, blocks[0]["targets"])
        names = tuple(names)
    facts = tuple(BlockFacts(**block) for block in blocks)
    return BlockFolder(path, width, facts, tuple(labels), notes, names)


def _upgraded(block: Any) -> Any:
    """Return the facts about a block of schema 1 as those of schema 2, without digests."""
    require(isinstance(block, dict), f"{MANIFEST}: a block is not an object")
    files = {name: {"bytes": size, "sha256": NO_DIGEST} for name, size in block.get("sizes", [])}
    kept = {name: value for name, value in block.items() if name in FACT_NAMES}
    return {**kept, "files": files}


def _check_files(folder: BlockFolder, i: int) -> None:
    path = folder.path / f"{i:05d}"
    require(os.path.lexists(path), f"{path.name} is missing")
    require(stat.S_ISDIR(os.lstat(path).st_mode), f"{path.name} is not a folder")
    for name, facts in folder.facts[i].files.items():
        with open(open_plain(folder.file(i, name), _file_name(i, name)), "rb") as file:
            size, start = os.fstat(file.fileno()).st_size, file.read(MAX_HEADER_BYTES)
        where = _file_name(i, name)
        require(size == facts["bytes"], f"{where} has {size} bytes instead of {facts['bytes']}")
        header = read_header(start, where)
        folder.check_header(header, i, name)
        require(size == header.size, f"{where} has {size} bytes instead of {header.size}")


def check_only_blocks(path: Path) -> None:
    """Refuse to replace a folder that holds anything but blocks.

    Only names are compared, so that a damaged folder can be replaced.
    """
    if not os.path.lexists(path / MANIFEST):
        raise _without_manifest(path)
    own = {f"{name}.npy" for name in (*ARRAYS, "y")}
    other = [name for name in os.listdir(path) if not OWN_NAME.fullmatch(name)]
    for block in (one for one in path.iterdir() if one.is_dir()):
        other += [f"{block.name}/{name}" for name in os.listdir(block) if name not in own]
    if other:
        raise RowBlocksError(
            f"{os.fspath(path)!r} holds {min(other)!r}, which does not belong to the blocks and "
            "would be lost; move it, or write to another folder."
        )


# ---- checks of the manifest


def _check_width(width: Any) -> None:
    """Check the number of columns."""
    require(type(width) is int and 0 <= width <= MAX_INDEX, f"blocks.json: the width is {width!r}")


def _check_labels(labels: Any) -> None:
    """Check the list of labels that the targets are codes of."""
    good = isinstance(labels, list) and all(isinstance(v, str | int | float) for v in labels)
    require(good, "blocks.json: labels is not a list of text, numbers and booleans")
    require(len(set(labels)) == len(labels), "blocks.json: labels has an entry twice")


def _check_names(names: Any, targets: str | None) -> None:
    """Check the list of names of the targets' columns."""
    good = isinstance(names, list) and all(isinstance(v, str | int | float) for v in names)
    require(good, "blocks.json: target_names is not a list of text and numbers")
    require(targets == "numbers", "blocks.json: target_names names targets that are not there")


def _check_facts(facts: Any, i: int, width: int) -> None:
    """Check what the manifest says about a block."""
    where = f"blocks.json: block {i}"
    require(
        isinstance(facts, dict) and facts.keys() == FACT_NAMES,
        f"{where} needs {sorted(FACT_NAMES)}",
    )
    rows, cells, largest = facts["rows"], facts["cells"], facts["largest"]
    require(type(rows) is int and 0 <= rows <= MAX_INDEX, f"{where} has {rows!r} rows")
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


def _check_alike(first: dict[str, Any], other: dict[str, Any]) -> None:
    """Check that two blocks have one dtype and one kind of targets."""
    same = first["dtype"] == other["dtype"] and first["targets"] == other["targets"]
    require(same, "blocks.json: blocks differ in dtype or targets")


# ---- checks of the files


def _check_header(header: Header, name: str, array: str, facts: BlockFacts, width: int) -> None:
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


def _check_columns(header: Header, name: str, columns: int) -> None:
    """Check that targets have a column for each name."""
    good = header.shape[1:] == (columns,)
    require(good, f"{name} has shape {header.shape}, but there are names for {columns} columns")


def _check_block(arrays: dict[str, Any], facts: BlockFacts, width: int, name: str) -> None:
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


def _check_codes(codes: Any, n_labels: int, name: str) -> None:
    """Check that targets are codes of labels, −1 where unknown."""
    good = not len(codes) or (codes.min() >= -1 and codes.max() < n_labels)
    require(good, f"{name} has a code without a label")


def _check_numbers(y: Any, name: str) -> None:
    """Check that targets are finite, or NaN where unknown."""
    require(y.dtype.kind != "f" or not np.isinf(y).any(), f"{name} has an infinite value")
