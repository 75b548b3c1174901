"""Checkpoints: the state after an iteration, in a folder that all workers see.

    folder/
      000010/             after ten iterations; the last two are kept
        block-00000.npy   samples of a block, written by the worker that has it
        features.npy, targets.npy
        manifest.json     written last: fingerprint, history, size and digest of each file

A checkpoint without a manifest does not count, so a fit that dies while writing leaves the
checkpoint before.
"""

from __future__ import annotations

import errno
import math
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from cofactor._types import FloatArray
from cofactor.callbacks import CheckpointError
from cofactor.distributed.worker import Origin
from cofactor.engine.factors import Factors
from cofactor.engine.fitting import History
from cofactor.estimators.executors import LocalExecutor
from cofactor.io import npy
from cofactor.io.atomic import write_whole
from cofactor.io.json_text import from_json_file, to_json_file
from cofactor.io.untrusted import (
    check_contents,
    check_digest,
    check_file_facts,
    failing_as,
    file_facts,
    read_file,
    require,
    with_digest,
)

SCHEMA = 2
MANIFEST = "manifest.json"
MAX_MANIFEST_BYTES = 2**26
CHECKPOINTS_KEPT = 2

FileFacts = dict[str, Any]
"""Size and digest of a file."""


@dataclass(frozen=True)
class CheckpointFiles:
    """The folder of one checkpoint.

    Parameters
    ----------
    path : Path
    shapes : mapping
        Shape of the array in each file.
    dtype : str
        Dtype of all arrays.
    files : mapping
        Size and digest of each file, once the checkpoint is finished.
    """

    path: Path
    shapes: Mapping[str, tuple[int, ...]]
    dtype: str
    files: Mapping[str, FileFacts] = field(default_factory=dict)

    def write(self, name: int | str, array: FloatArray) -> FileFacts:
        """Write the array of a block, or of a file, in one step; return the facts about it."""
        data = npy.to_bytes(array)
        self.write_bytes(_file_name(name), data)
        return file_facts(data)

    def write_bytes(self, name: str, data: bytes) -> None:
        """Write a file in one step."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            write_whole(self.path / name, data)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise OSError(
                error.errno,
                f"No space left for the checkpoint {os.fspath(self.path)!r}, of which nothing is "
                "kept; free some and call fit again: it continues from the checkpoint before",
            ) from None

    def read(self, name: int | str) -> FloatArray:
        """Return the array of a block, or of a file, after checking it."""
        name = _file_name(name)
        with failing_as(
            CheckpointError,
            f"{os.fspath(self.path / name)!r} cannot be read: ",
            "; checkpoints must be on storage that all workers share, at the same path; if this "
            f"one is damaged, remove {os.fspath(self.path)!r} to continue from the one before",
        ):
            facts = self.files[name]
            data = read_file(self.path / name, facts["bytes"])
            check_contents(name, data, facts)
            array = npy.as_array(data, name)
            same = array.shape == self.shapes[name] and array.dtype == self.dtype
            require(same, f"{name} has shape {array.shape} instead of {self.shapes[name]}")
            npy.check_factor(array, name)
            return np.array(array, order="C")

    def is_whole(self, name: str, facts: FileFacts) -> bool:
        """Return whether a file is there and has its size."""
        try:
            return os.lstat(self.path / name).st_size == facts["bytes"]
        except OSError:
            return False

    def samples(self, here: LocalExecutor, i: int) -> FloatArray:
        """Return the samples of block i."""
        return self.read(i)

    def only(self, numbers: Sequence[int]) -> CheckpointFiles:
        """Return the same place for a worker that has only some blocks."""
        names = [_file_name(i) for i in numbers]
        shapes = {name: self.shapes[name] for name in names}
        return replace(self, shapes=shapes, files={name: self.files[name] for name in names})


def _file_name(name: int | str) -> str:
    return name if isinstance(name, str) else f"block-{name:05d}.npy"


@dataclass(frozen=True)
class SavedFit:
    """The state that a fit continues from."""

    version: int
    features: FloatArray
    targets: FloatArray | None
    history: History
    origin: Origin


@dataclass
class CheckpointFolder:
    """Keeps checkpoints in a folder.

    Parameters
    ----------
    path : Path
    fingerprint : str
        Identifies the model, the data and the start; checkpoints of other fits are refused.
    start : Factors
        Gives the shapes of features and targets.
    block_rows : sequence of int
        Number of rows of each block.
    """

    path: Path
    fingerprint: str
    start: Factors
    block_rows: Sequence[int]

    def place(self, version: int) -> CheckpointFiles:
        """Return the folder of a checkpoint."""
        start, rank = self.start, self.start.rank
        shapes = {_file_name(i): (rows, rank) for i, rows in enumerate(self.block_rows)}
        shapes["features.npy"] = start.features.shape
        if start.targets is not None:
            shapes["targets.npy"] = start.targets.shape
        return CheckpointFiles(self.path / f"{version:06d}", shapes, str(start.features.dtype))

    def clean(self, version: int) -> None:
        """Remove what an earlier attempt may have left of a checkpoint."""
        shutil.rmtree(self.place(version).path, ignore_errors=True)

    def commit(self, factors: Factors, history: History, blocks: dict[int, FileFacts]) -> Origin:
        """Finish a checkpoint whose samples are written; return where they are."""
        version = len(history.objective)
        place = self.place(version)
        files = {_file_name(i): facts for i, facts in blocks.items()}
        if factors.targets is not None:
            files["targets.npy"] = place.write("targets.npy", factors.targets)
        files["features.npy"] = place.write("features.npy", factors.features)
        self._check_shared(place, files)
        manifest = {
            "schema": SCHEMA,
            "fingerprint": self.fingerprint,
            "objective": history.objective,
            "terms": history.terms,
            "files": files,
        }
        place.write_bytes(MANIFEST, to_json_file(with_digest(manifest)))
        for old in self._versions()[:-CHECKPOINTS_KEPT]:
            self.clean(old)
        return replace(place, files=files)

    def _check_shared(self, place: CheckpointFiles, files: dict[str, FileFacts]) -> None:
        missing = [name for name, facts in files.items() if not place.is_whole(name, facts)]
        if missing:
            raise CheckpointError(
                f"checkpoint={os.fspath(self.path)!r} is not the same folder here and on the "
                f"workers: {missing[0]}, which a worker wrote, is not there; use shared storage."
            )

    def _versions(self) -> list[int]:
        """Return the finished checkpoints, oldest first."""
        found = [path.parent.name for path in self.path.glob(f"*/{MANIFEST}")]
        return sorted(
            int(name) for name in found if re.fullmatch("[0-9]{6}|[1-9][0-9]{6,17}", name)
        )

    def newest(self) -> SavedFit | None:
        """Return the last whole checkpoint, or None."""
        for version in reversed(self._versions()):
            found, place = self._manifest(version), self.place(version)
            if all(place.is_whole(name, facts) for name, facts in found["files"].items()):
                place = replace(place, files=found["files"])
                targets = place.read("targets.npy") if "targets.npy" in place.files else None
                history = History(found["objective"], found["terms"])
                return SavedFit(version, place.read("features.npy"), targets, history, place)
        return None

    def _manifest(self, version: int) -> dict[str, Any]:
        place = self.place(version)
        with failing_as(
            CheckpointError,
            f"{os.fspath(place.path / MANIFEST)!r} is damaged: ",
            "; remove its folder to continue from the checkpoint before",
        ):
            data = read_file(place.path / MANIFEST, MAX_MANIFEST_BYTES)
            found = from_json_file(data, MANIFEST)
            require(isinstance(found, dict), "it is not an object")
            if found.get("schema") == SCHEMA:
                check_digest(found, MANIFEST)
            if found.get("schema") != SCHEMA or found.get("fingerprint") != self.fingerprint:
                raise CheckpointError(
                    f"checkpoint={os.fspath(self.path)!r} belongs to a fit of another model, start "
                    "or data, or to another version of cofactor; name another folder, or resume "
                    "with the same data, parameters and random_state (a number)."
                )
            _check_manifest(found, version, place)
        return dict(found)


def _check_manifest(found: dict[str, Any], version: int, place: CheckpointFiles) -> None:
    files, terms = found.get("files"), found.get("terms")
    good = isinstance(files, dict) and files.keys() == place.shapes.keys()
    require(good, "files does not list the files of this fit")
    for name, facts in files.items():  # type: ignore[union-attr]
        check_file_facts(facts, f"files: {name}")
    require(isinstance(terms, dict), "terms is not an object")
    for values in (found.get("objective"), *terms.values()):  # type: ignore[union-attr]
        good = isinstance(values, list) and all(isinstance(value, float) for value in values)
        good = good and len(values) == version and all(map(math.isfinite, values))
        require(good, f"the history is not that of {version} iterations")
