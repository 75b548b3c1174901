"""What a model folder keeps of each training sample: one file, read when somebody asks for it.

Predictions need topics and heads, not the samples of the fit. So the arrays with a row for each
sample have a file of their own, `SAMPLES`. Loading a model checks the size of this file and keeps
it open; its contents are checked against the digest when the first array is asked for. Arrays that
are mostly zero are stored as the cells other than zero.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cofactor._fields import Deferred
from cofactor.io import npy, platform
from cofactor.io.untrusted import open_plain, require

SAMPLES = "samples.npz"
MAX_DENSE_SHARE = 0.6
"""Arrays with a larger share of cells other than zero are stored whole."""
STORED_CELLS = ("starts", "columns", "values")
"""Where each row of an array begins among its cells other than zero, and these cells."""
CHUNK_BYTES = 2**20
Failing = Callable[[], AbstractContextManager[None]]


# ---- writing


def compact(name: str, array: np.ndarray) -> dict[str, np.ndarray]:
    """Return the arrays that are stored for an array with a row for each sample."""
    if array.ndim != 2 or np.count_nonzero(array) > MAX_DENSE_SHARE * array.size:
        return {name: array}
    from scipy.sparse import csr_array  # reading a manifest does not need it

    cells = csr_array(array)
    stored = cells.indptr.astype(np.int64), cells.indices.astype(np.int32), cells.data
    return {f"{name}:{part}": one for part, one in zip(STORED_CELLS, stored, strict=True)}


def describe_samples(arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return what the manifest says about the arrays."""
    return {
        name: {"dtype": array.dtype.str, "shape": list(array.shape)}
        for name, array in arrays.items()
    }


# ---- reading


class OpenFile(io.RawIOBase):
    """A plain file with a place of its own, so that threads and forks read it side by side."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor, self.place = descriptor, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        origin = (0, self.place, os.fstat(self.descriptor).st_size)[whence]
        self.place = origin + offset
        return self.place

    def readinto(self, buffer: Any) -> int:
        found = platform.HERE.read_at(self.descriptor, memoryview(buffer), self.place)
        self.place += found
        return found


class SampleFile:
    """The file of a model folder; it stays readable if the folder is replaced or removed.

    Where an open file could not be replaced, it is read at once and closed.
    """

    def __init__(self, path: Path, facts: dict[str, Any]) -> None:
        self.descriptor = open_plain(path)
        self.digest, self.checked = facts["sha256"], False
        found, size = os.fstat(self.descriptor).st_size, facts["bytes"]
        require(found == size, f"{SAMPLES} has {found} bytes instead of {size}; it is cut off")
        self.contents: bytes | None = None
        if not platform.HERE.replaces_open_files:
            self.contents = self._open().read()
            self._close()

    def _open(self) -> io.BufferedReader | io.BytesIO:
        if self.contents is not None:
            return io.BytesIO(self.contents)
        return io.BufferedReader(OpenFile(self.descriptor), CHUNK_BYTES)

    def _close(self) -> None:
        os.close(self.descriptor)
        del self.descriptor

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):
            self._close()

    def deferred(self, declared: dict[str, Any], failing: Failing) -> dict[str, Deferred]:
        """Return the declared arrays, to be read later; ``failing`` makes errors of faults."""
        return {
            name: Deferred(
                tuple(one["shape"]), np.dtype(one["dtype"]), partial(self._read, name, one, failing)
            )
            for name, one in declared.items()
        }

    def _read(
        self, name: str, one: dict[str, Any], failing: Failing, fault: Callable[[Any], str | None]
    ) -> np.ndarray:
        with failing():
            found = self.array(name, tuple(one["shape"]), np.dtype(one["dtype"]))
            wrong = fault(found)
            require(wrong is None, f"{SAMPLES}: {name} {wrong}")
            return found

    def array(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """Read one array."""
        file = self._open()
        if not self.checked:
            good = hashlib.file_digest(file, "sha256").hexdigest() == self.digest
            require(good, f"{SAMPLES} was changed after it was saved")
            self.checked = True
        held = npy.some_arrays(file, SAMPLES, lambda key: key.rsplit(":", 1)[0] == name)
        where = f"{SAMPLES}: {name}"
        if held.keys() == {f"{name}:{part}" for part in STORED_CELLS}:
            found = _whole([held[f"{name}:{part}"] for part in STORED_CELLS], shape, where)
        else:
            require(held.keys() == {name}, f"{where} is missing")
            found = held[name]
        good = found.shape == shape and found.dtype.kind == dtype.kind == "f"
        require(good, f"{where} does not have the shape that manifest.json declares")
        return found.astype(dtype)


def _whole(stored: list[np.ndarray], shape: tuple[int, ...], where: str) -> np.ndarray:
    """Return an array whose cells other than zero are stored, see `STORED_CELLS`."""
    starts, columns, values = stored
    good = starts.dtype.kind == columns.dtype.kind == "i" and values.dtype.kind == "f"
    good = good and len(shape) == 2 and starts.shape == (shape[0] + 1,) and starts[0] == 0
    good = good and columns.shape == values.shape == (int(starts[-1]),)
    good = good and bool((np.diff(starts) >= 0).all())
    good = good and bool(((columns >= 0) & (columns < shape[1])).all())
    require(good, f"{where} does not hold the cells that manifest.json declares")
    whole = np.zeros(shape, values.dtype)
    whole[np.repeat(np.arange(shape[0]), np.diff(starts)), columns] = values
    return whole
