"""Folders of blocks: checked when opened, checked again when a block is first read, then mapped."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cofactor.io.atomic import find_folder
from cofactor.io.errors import shortened
from cofactor.io.json_text import from_json_file
from cofactor.io.manifests import check_contents, check_digest, check_file_facts
from cofactor.io.npy import LARGEST_HEADER, Header, as_array, read_header
from cofactor.io.untrusted import failing_as, open_plain, read_file, require, sha256
from cofactor.outofcore import checks
from cofactor.outofcore.checks import ARRAYS
from cofactor.outofcore.errors import RowBlocksError
from cofactor.outofcore.facts import BlockFacts

SCHEMA = 2
"""Schema 1 had no digests; its folders can still be read."""
NO_DIGEST = ""
"""Stands for the digest of a file of schema 1, whose contents are checked all the same."""
MANIFEST = "blocks.json"
NOTES = "notes.json"
"""Values that the writer of the blocks keeps with them; the file may be missing."""
OWN_NAME = re.compile(rf"{re.escape(MANIFEST)}|{re.escape(NOTES)}|[0-9]{{5,}}")
"""Names in a folder of blocks: the manifest, the notes and the numbers of blocks."""
LARGEST_JSON = 2**27
"""Largest size of the manifest and of the notes, in bytes."""

Identity = tuple[int, int, int, int]
"""Device, number, size and time of change of a file."""


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
                checks.check_block(arrays, self.facts[i], self.width, f"{i:05d}")
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
                checks.check_numbers(y, name)
                return y
            checks.check_codes(y, len(self.labels), name)
        return np.array([*self.labels, None], dtype=object)[y]  # −1, the last, is unlabelled

    def notes(self) -> Any:
        """Return what the writer kept with the blocks; None if nothing."""
        if self.notes_facts is None:
            return None
        with _reading(self.path):
            data = read_file(self.path / NOTES, LARGEST_JSON)
            if self.notes_facts["sha256"] != NO_DIGEST:
                check_contents(NOTES, data, self.notes_facts)
            return from_json_file(data, NOTES)

    def _array(self, i: int, name: str, data: Any) -> Any:
        header = read_header(bytes(data[:LARGEST_HEADER]), _file_name(i, name))
        self.check_header(header, i, name)
        return as_array(data, _file_name(i, name))

    def check_header(self, header: Header, i: int, name: str) -> None:
        """Compare the header of a file of block i with the manifest."""
        checks.check_header(header, _file_name(i, name), name, self.facts[i], self.width)
        if name == "y" and self.target_names is not None:
            checks.check_columns(header, _file_name(i, name), len(self.target_names))

    def _changed(self, i: int, files: dict[str, Identity]) -> bool:
        return any(self._checked.get((i, name)) != identity for name, identity in files.items())

    def _check_digests(self, i: int, files: dict[str, Any]) -> None:
        for name, data in files.items():
            wanted = self.facts[i].files[name]["sha256"]
            good = wanted == NO_DIGEST or sha256(data) == wanted
            require(good, f"{_file_name(i, name)} has other contents than when it was written")


def _file_name(i: int, name: str) -> str:
    return f"{i:05d}/{name}.npy"


def _reading(path: Path) -> Any:
    where = f"{os.fspath(path)!r} cannot be read: "
    return failing_as(RowBlocksError, where, "; copy the folder again or write it anew")


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
            path, from_json_file(read_file(path / MANIFEST, LARGEST_JSON), MANIFEST)
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
            f"reads 1 to {SCHEMA}; write the folder anew, or upgrade cofactor."
        )
    if schema > 1:
        check_digest(found, MANIFEST)
    width, blocks, labels = found.get("width"), found.get("blocks"), found.get("labels")
    checks.check_width(width)
    checks.check_labels(labels)
    require(isinstance(blocks, list) and len(blocks) > 0, f"{MANIFEST} lists no blocks")
    blocks = blocks if schema > 1 else [_upgraded(block) for block in blocks]
    for i, block in enumerate(blocks):
        checks.check_facts(block, i, width)
        checks.check_alike(blocks[0], block)
    notes = found.get("notes")
    if schema == 1:
        notes = {"bytes": 0, "sha256": NO_DIGEST} if os.path.lexists(path / NOTES) else None
    elif notes is not None:
        check_file_facts(notes, f"{MANIFEST}: notes")
    names = found.get("target_names")
    if names is not None:
        checks.check_names(names, blocks[0]["targets"])
        names = tuple(names)
    facts = tuple(BlockFacts(**block) for block in blocks)
    return BlockFolder(path, width, facts, tuple(labels), notes, names)


def _upgraded(block: Any) -> Any:
    """Return the facts about a block of schema 1 as those of schema 2, without digests."""
    require(isinstance(block, dict), f"{MANIFEST}: a block is not an object")
    files = {name: {"bytes": size, "sha256": NO_DIGEST} for name, size in block.get("sizes", [])}
    kept = {name: value for name, value in block.items() if name in checks.FACTS}
    return {**kept, "files": files}


def _check_files(folder: BlockFolder, i: int) -> None:
    path = folder.path / f"{i:05d}"
    require(os.path.lexists(path), f"{path.name} is missing")
    require(stat.S_ISDIR(os.lstat(path).st_mode), f"{path.name} is not a folder")
    for name, facts in folder.facts[i].files.items():
        with open(open_plain(folder.file(i, name), _file_name(i, name)), "rb") as file:
            size, start = os.fstat(file.fileno()).st_size, file.read(LARGEST_HEADER)
        where = _file_name(i, name)
        require(size == facts["bytes"], f"{where} has {size} bytes in place of {facts['bytes']}")
        header = read_header(start, where)
        folder.check_header(header, i, name)
        require(size == header.size, f"{where} has {size} bytes in place of {header.size}")


def check_own(path: Path) -> None:
    """Refuse to replace a folder that is not blocks and nothing else.

    Only names count, so that a damaged folder can be written anew.
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
