"""Checkpoints: the state after an iteration, in memory or in a folder that all workers see.

    folder/
      000010/             after ten iterations; the last two are kept
        block-00000.npy   samples of a block, written by the worker that has it
        features.npy, targets.npy
        manifest.json     written last: fingerprint, history, sizes of the files

A checkpoint without a manifest does not count, so a fit that dies while writing leaves the one
before.
"""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cofactor._types import FloatArray
from cofactor.distributed.errors import CheckpointError
from cofactor.distributed.worker import Origin
from cofactor.engine.factors import Factors
from cofactor.engine.fitting import History
from cofactor.estimators.blocks import LocalExecutor
from cofactor.io.atomic import write_whole

SCHEMA = 1
MANIFEST = "manifest.json"
KEPT = 2


@dataclass(frozen=True)
class Place:
    """The folder of one checkpoint."""

    path: Path

    def file(self, name: int | str) -> Path:
        return self.path / (name if isinstance(name, str) else f"block-{name:05d}.npy")

    def write(self, name: int | str, array: FloatArray) -> int:
        """Write an array in one step; return the size of its file."""
        buffer = io.BytesIO()
        np.save(buffer, np.ascontiguousarray(array), allow_pickle=False)
        self.write_bytes(self.file(name), buffer.getvalue())
        return buffer.tell()

    def write_bytes(self, path: Path, data: bytes) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            write_whole(path, data)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise OSError(
                error.errno,
                f"No space left for the checkpoint {os.fspath(self.path)!r}, of which nothing is "
                "kept; free some and call fit again: it goes on from the checkpoint before",
            ) from None

    def read(self, name: int | str) -> FloatArray:
        try:
            return np.asarray(np.load(self.file(name), allow_pickle=False))
        except (OSError, ValueError) as error:
            raise CheckpointError(
                f"{os.fspath(self.file(name))!r} cannot be read ({error}); checkpoints must be on "
                "storage that all workers share, at the same path."
            ) from None

    def samples(self, here: LocalExecutor, i: int) -> FloatArray:
        return self.read(i)

    def only(self, numbers: Sequence[int]) -> Place:
        return self


@dataclass(frozen=True)
class Saved:
    """What a fit goes on from."""

    version: int
    features: FloatArray
    targets: FloatArray | None
    history: History
    origin: Origin


@dataclass
class Folder:
    """Keeps checkpoints in a folder.

    Parameters
    ----------
    path : Path
    fingerprint : str
        Of the model and the data; checkpoints of others are refused.
    n_blocks : int
    """

    path: Path
    fingerprint: str
    n_blocks: int

    def place(self, version: int) -> Place:
        return Place(self.path / f"{version:06d}")

    def clean(self, version: int) -> None:
        """Remove what an earlier attempt may have left of a checkpoint."""
        shutil.rmtree(self.place(version).path, ignore_errors=True)

    def commit(self, factors: Factors, history: History, sizes: dict[int, int]) -> Origin:
        """Finish a checkpoint whose samples are written; return where they are."""
        version = len(history.objective)
        place = self.place(version)
        files = {place.file(i).name: size for i, size in sizes.items()}
        if factors.targets is not None:
            files["targets.npy"] = place.write("targets.npy", factors.targets)
        files["features.npy"] = place.write("features.npy", factors.features)
        self._check_shared(place, files)
        manifest = {
            "schema": SCHEMA, "fingerprint": self.fingerprint, "blocks": self.n_blocks,
            "objective": history.objective, "terms": history.terms, "files": files,
        }  # fmt: skip
        place.write_bytes(place.file(MANIFEST), json.dumps(manifest).encode())
        for old in self._versions()[:-KEPT]:
            self.clean(old)
        return place

    def _check_shared(self, place: Place, files: dict[str, int]) -> None:
        missing = [name for name, size in files.items() if not _whole(place.file(name), size)]
        if missing:
            raise CheckpointError(
                f"checkpoint={os.fspath(self.path)!r} is not the same folder here and on the "
                f"workers: {missing[0]}, which a worker wrote, is not there; use shared storage."
            )

    def _versions(self) -> list[int]:
        """Return the finished checkpoints, oldest first."""
        found = [p.parent.name for p in self.path.glob(f"*/{MANIFEST}")]
        return sorted(int(name) for name in found if name.isdecimal())

    def newest(self) -> Saved | None:
        """Return the last whole checkpoint, or None."""
        for version in reversed(self._versions()):
            found = self._manifest(version)
            place, files = self.place(version), found["files"]
            if all(_whole(place.file(name), size) for name, size in files.items()):
                targets = place.read("targets.npy") if "targets.npy" in files else None
                history = History(list(found["objective"]), dict(found["terms"]))
                return Saved(version, place.read("features.npy"), targets, history, place)
        return None

    def _manifest(self, version: int) -> dict[str, Any]:
        path = self.place(version).file(MANIFEST)
        try:
            found = json.loads(path.read_text())
            schema, fingerprint, _ = found["schema"], found["fingerprint"], found["files"].items()
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise CheckpointError(
                f"{os.fspath(path)!r} is damaged ({error!r}); remove its folder to go on from the "
                "checkpoint before."
            ) from None
        if schema != SCHEMA or fingerprint != self.fingerprint:
            raise CheckpointError(
                f"checkpoint={os.fspath(self.path)!r} belongs to a fit of another model, start or "
                "data; name another folder, or resume with the same data, parameters and "
                "random_state (a number)."
            )
        return found


def _whole(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False
