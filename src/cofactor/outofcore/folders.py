"""Folders of blocks: written in one step, checked when opened, mapped when read."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from errno import ENOSPC
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse as sp

from cofactor._types import BoolArray
from cofactor.outofcore.errors import RowBlocksError

SCHEMA = 1
MANIFEST = "blocks.json"
NOTES = "notes.json"
"""What the writer of the blocks wants to remember of them."""
ARRAYS = ("values", "indices", "start", "across-values", "across-indices", "across-start")


MOST_FIRSTS = 1000
"""Distinct values of a target, beyond which they are numbers and not classes."""


def known_rows(y: Any) -> BoolArray:
    """Tell which rows of y have a known cell: not NaN, None, "" or, in integers, −1."""
    y = np.asarray(y)
    if y.dtype.kind == "f":
        known = ~np.isnan(y)
    elif y.dtype.kind in "iu":
        known = y != -1
    elif y.dtype.kind == "b":
        known = np.ones(y.shape, dtype=bool)
    else:
        known = np.array([_is_known(v) for v in y.ravel().tolist()], dtype=bool).reshape(y.shape)
    return np.asarray(known if known.ndim == 1 else known.any(axis=1), dtype=bool)


def _is_known(value: Any) -> bool:
    if value is None or isinstance(value, str):
        return bool(value)
    try:
        return bool(value == value)
    except (TypeError, ValueError):  # pandas.NA does not know
        return False


@dataclass(frozen=True)
class BlockFacts:
    """What is known of a block without reading it."""

    rows: int
    cells: int
    dtype: str
    largest: float
    targets: str | None = None
    """``labels`` (codes of the manifest's list), ``numbers``, or None."""
    labelled: int = 0
    firsts: tuple[int, ...] = ()
    """Rows that show a class, or the lowest value of a target so far, for the first time."""
    sizes: tuple[tuple[str, int], ...] = ()
    """Bytes of each file."""

    @classmethod
    def of(cls, X: sp.csr_array, y: Any, seen: dict[Any, None]) -> BlockFacts:
        largest = float(X.data.max()) if X.nnz else 0.0
        return cls(X.shape[0], X.nnz, str(X.dtype), largest).with_targets(y, seen)

    def with_targets(self, y: Any, seen: dict[Any, None]) -> BlockFacts:
        """Return the facts with those of y; ``seen`` are the labels of earlier blocks."""
        if y is None:
            return self
        known, kind = known_rows(y), "numbers" if y.dtype.kind in "biuf" else "labels"
        return replace(
            self, targets=kind, labelled=int(known.sum()), firsts=_firsts(y, known, seen)
        )


def _firsts(y: Any, known: BoolArray, seen: dict[Any, None]) -> tuple[int, ...]:
    """Return the rows of the lowest and highest known values, and those of values that earlier
    blocks did not have, unless there are too many for classes."""
    return tuple(sorted({*extreme_rows(y, known), *new_values(y, known, seen)}))


def extreme_rows(y: Any, known: BoolArray) -> list[int]:
    """Return the rows of the lowest and highest known numbers of each column."""
    if y.dtype.kind not in "biuf" or not known.any():
        return []
    values = np.where(known.reshape(-1, *[1] * (y.ndim - 1)), y.astype(float), np.nan)
    values = values.reshape(len(y), -1)
    low = np.where(np.isnan(values), np.inf, values).argmin(axis=0)
    high = np.where(np.isnan(values), -np.inf, values).argmax(axis=0)
    return [*low.tolist(), *high.tolist()]


def new_values(y: Any, known: BoolArray, seen: dict[Any, None]) -> Iterator[int]:
    """Return the rows of values that are not among those seen, and add them."""
    if y.ndim > 1:
        return
    most = MOST_FIRSTS if y.dtype.kind in "iuf" else len(y) + len(seen)
    for row in np.flatnonzero(known).tolist():
        value = y[row].item() if hasattr(y[row], "item") else y[row]
        if value not in seen and len(seen) < most:
            seen[value] = None
            yield row


@dataclass(frozen=True)
class Folder:
    """A checked folder of blocks."""

    path: Path
    width: int
    facts: tuple[BlockFacts, ...]
    labels: tuple[Any, ...]

    def _file(self, i: int, name: str) -> Path:
        return self.path / f"{i:05d}" / f"{name}.npy"

    def _map(self, i: int, name: str) -> Any:
        path = self._file(i, name)
        try:
            return np.load(path, mmap_mode="c", allow_pickle=False).view(np.ndarray)
        except (OSError, ValueError) as error:
            raise RowBlocksError(f"{os.fspath(path)!r} cannot be read: {error}") from None

    def arrays(self, i: int) -> dict[str, Any]:
        """Return the arrays of a block, mapped."""
        return {name: self._map(i, name) for name in ARRAYS}

    def targets(self, i: int) -> Any:
        """Return the targets of a block in the form they were written in."""
        if self.facts[i].targets is None:
            return None
        y = np.array(self._map(i, "y"))
        if self.facts[i].targets == "numbers":
            return y
        return np.array([*self.labels, None], dtype=object)[y]  # −1, the last, is unlabelled


def read_folder(path: Path) -> Folder:
    """Read the manifest and check that every file has its size."""
    try:
        found = json.loads((path / MANIFEST).read_text())
    except FileNotFoundError:
        raise RowBlocksError(
            f"{os.fspath(path)!r} is no folder of row blocks: it has no {MANIFEST}; write one "
            "with RowBlocks.write."
        ) from None
    except (OSError, ValueError) as error:
        raise RowBlocksError(f"{os.fspath(path / MANIFEST)!r} cannot be read: {error}") from None
    try:
        if found["schema"] != SCHEMA:
            raise RowBlocksError(
                f"{os.fspath(path)!r} has schema {found['schema']!r}, this version reads {SCHEMA}; "
                "write the folder anew."
            )
        facts = tuple(
            BlockFacts(**{**fact, "firsts": tuple(fact["firsts"]),
                          "sizes": tuple((name, int(size)) for name, size in fact["sizes"])})
            for fact in found["blocks"]
        )  # fmt: skip
        folder = Folder(path, int(found["width"]), facts, tuple(found["labels"]))
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, RowBlocksError):
            raise
        raise RowBlocksError(f"{os.fspath(path / MANIFEST)!r} is damaged: {error!r}") from None
    for i, fact in enumerate(facts):
        for name, size in fact.sizes:
            _check_size(folder._file(i, name), size)
    return folder


def read_notes(path: Path) -> Any:
    """Return what was noted with the blocks; None if nothing was."""
    try:
        return json.loads((path / NOTES).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise RowBlocksError(f"{os.fspath(path / NOTES)!r} cannot be read: {error}") from None


def check_own(path: Path) -> None:
    """Refuse to replace a folder that is not blocks and nothing else."""
    found = read_folder(path)
    own = {MANIFEST, NOTES, *(f"{i:05d}" for i in range(len(found.facts)))}
    if other := sorted(set(os.listdir(path)) - own):
        raise RowBlocksError(
            f"{os.fspath(path)!r} holds {other[0]!r}, which is no part of the blocks and would be "
            "lost; move it, or write to another folder."
        )


def _check_size(path: Path, size: int) -> None:
    try:
        actual = path.stat().st_size
    except OSError:
        raise RowBlocksError(
            f"{os.fspath(path)!r} is missing; copy the folder again or write it anew."
        ) from None
    if actual != size:
        raise RowBlocksError(
            f"{os.fspath(path)!r} has {actual} bytes, but {size} were written; copy the folder "
            "again or write it anew."
        )


class _Writer:
    def __init__(self, path: Path) -> None:
        self.path, self.facts = path, list[BlockFacts]()
        self.labels: dict[Any, None] = {}
        self.width = 0

    def add(self, X: sp.csr_array, y: Any) -> None:
        """Write one block, by rows and by columns."""
        facts = BlockFacts.of(X, y, self.labels)
        folder, turned = self.path / f"{len(self.facts):05d}", X.tocsc()
        folder.mkdir()
        arrays = {
            "values": X.data, "indices": X.indices.astype(np.int32),
            "start": X.indptr.astype(np.int64), "across-values": turned.data,
            "across-indices": turned.indices.astype(np.int32),
            "across-start": turned.indptr.astype(np.int64),
        }  # fmt: skip
        if y is not None:
            arrays["y"] = y if facts.targets == "numbers" else self._codes(y)
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", array, allow_pickle=False)
        sizes = tuple((name, (folder / f"{name}.npy").stat().st_size) for name in arrays)
        self.facts.append(BlockFacts(**{**asdict(facts), "sizes": sizes}))
        self.width = X.shape[1]

    def _codes(self, y: Any) -> Any:
        place = {label: code for code, label in enumerate(self.labels)}
        known = known_rows(y)
        return np.array(
            [place[v] if k else -1 for v, k in zip(y.tolist(), known.tolist(), strict=True)],
            dtype=np.int32,
        )

    def note(self, notes: Any) -> None:
        """Keep what JSON can hold beside the blocks."""
        text = json.dumps(notes, ensure_ascii=False, allow_nan=False, indent=1)
        (self.path / NOTES).write_text(text, encoding="utf-8")

    def finish(self) -> None:
        if not self.facts:
            raise ValueError("batches has no row; pass at least one.")
        manifest = {
            "schema": SCHEMA, "width": self.width, "labels": list(self.labels)
            if self.facts[0].targets == "labels" else [],
            "blocks": [asdict(fact) for fact in self.facts],
        }  # fmt: skip
        (self.path / MANIFEST).write_text(json.dumps(manifest, indent=1, ensure_ascii=False))


@contextmanager
def writing_folder(path: Path, overwrite: bool) -> Iterator[_Writer]:
    """Write beside the folder and put it in its place when all is there."""
    if path.exists() and not overwrite:
        raise FileExistsError(f"{os.fspath(path)!r} exists; choose another, or overwrite=True.")
    if path.exists() and any(path.iterdir()):
        check_own(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    part = beside / "new"
    part.mkdir()  # inside, for a temporary folder is private
    try:
        writer = _Writer(part)
        yield writer
        writer.finish()
        _exchange(part, path, beside / "old")
    except OSError as error:
        # numpy has no number for a disk that is full, only "n requested and m written".
        if error.errno == ENOSPC or (error.errno is None and "written" in str(error)):
            raise OSError(
                ENOSPC, f"no space left while writing {os.fspath(path)!r}; nothing was kept"
            ) from None
        raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _exchange(new: Path, path: Path, old: Path) -> None:
    """Put a folder in the place of another one, which goes aside; or leave that where it is."""
    if path.exists():
        path.rename(old)
    try:
        new.rename(path)
    except OSError:
        if old.exists():
            old.rename(path)
        raise
