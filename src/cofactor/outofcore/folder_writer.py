"""Write a folder of blocks in one step."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse as sp

from cofactor.io.atomic import replacing_folder
from cofactor.io.json_text import to_json_file
from cofactor.io.untrusted import file_facts, with_digest
from cofactor.outofcore.batches import BlockFacts, batch_names, common_names
from cofactor.outofcore.folder_reader import (
    ARRAYS,
    MANIFEST,
    MAX_JSON_BYTES,
    NOTES,
    SCHEMA,
    check_only_blocks,
)
from cofactor.targets.missing import is_missing


class FolderWriter:
    """Writes blocks, notes and the manifest to an empty folder."""

    def __init__(self, path: Path) -> None:
        self.path, self.facts = path, list[BlockFacts]()
        self.labels: dict[Any, int] = {}
        self.width, self.notes = 0, None
        self.target_names: tuple[Any, ...] | None = None

    def naming(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield batches, and keep the names of their target columns."""
        for batch in batches:
            self.target_names = common_names(self.target_names, batch_names(batch))
            yield batch

    def add(self, X: sp.csr_array, y: Any) -> None:
        """Write one block, by rows and by columns."""
        facts, turned = BlockFacts.of(X, y), X.tocsc()
        folder = self.path / f"{len(self.facts):05d}"
        folder.mkdir()
        parts = X.data, X.indices, X.indptr, turned.data, turned.indices, turned.indptr
        dtypes = (X.dtype, np.int32, np.int64) * 2
        arrays = {
            name: part.astype(dtype, copy=False)
            for name, part, dtype in zip(ARRAYS, parts, dtypes, strict=True)
        }
        if y is not None:
            arrays["y"] = y if facts.targets == "numbers" else self._codes(y)
        files = {name: _save(folder / f"{name}.npy", array) for name, array in arrays.items()}
        self.facts.append(replace(facts, files=files))
        self.width = X.shape[1]

    def _codes(self, y: Any) -> Any:
        """Return the code of each label, −1 where it is missing; new labels get new codes."""
        labels = self.labels
        codes = (-1 if is_missing(v) else labels.setdefault(v, len(labels)) for v in y.tolist())
        return np.fromiter(codes, np.int32, len(y))

    def note(self, notes: Any) -> None:
        """Keep a value that JSON can hold beside the blocks."""
        self.notes = self._write_json(NOTES, notes)

    def finish(self) -> None:
        """Write the manifest."""
        if not self.facts:
            raise ValueError("batches has no row; pass at least one.")
        manifest = {
            "schema": SCHEMA,
            "width": self.width,
            "labels": list(self.labels),
            "notes": self.notes,
            "blocks": [asdict(fact) for fact in self.facts],
        }
        if self.target_names is not None:
            manifest["target_names"] = list(self.target_names)
        self._write_json(MANIFEST, with_digest(manifest))

    def _write_json(self, name: str, value: Any) -> Any:
        data = to_json_file(value)
        if len(data) > MAX_JSON_BYTES:
            raise ValueError(
                f"{name} would have {len(data)} bytes, but at most {MAX_JSON_BYTES} can be read "
                "again; write larger blocks, or fewer labels and notes."
            )
        (self.path / name).write_bytes(data)
        return file_facts(data)


def _save(path: Path, array: Any) -> dict[str, Any]:
    np.save(path, np.ascontiguousarray(array), allow_pickle=False)
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"bytes": os.fstat(file.fileno()).st_size, "sha256": digest}


@contextmanager
def writing_folder(path: Path, overwrite: bool) -> Iterator[FolderWriter]:
    """Write blocks to a folder that takes the place of ``path`` when the block ends well."""
    if path.exists() and not overwrite:
        raise FileExistsError(f"{os.fspath(path)!r} exists; choose another, or overwrite=True.")
    if path.exists() and any(path.iterdir()):
        check_only_blocks(path)
    with replacing_folder(path) as new:
        writer = FolderWriter(new)
        yield writer
        writer.finish()
