"""Rows in a file without a name, read and written block by block."""

from __future__ import annotations

import os
import tempfile
import weakref
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Scratch:
    """A matrix on disk that vanishes with the last use of it; slices of rows are copies.

    Rows are read and written, not mapped, so that memory holds no more than the slice at hand.
    ``np.asarray`` maps the whole.
    """

    def __init__(self, shape: tuple[int, ...], dtype: DTypeLike) -> None:
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)
        self._row = self.dtype.itemsize * int(np.prod(self.shape[1:]))
        with tempfile.TemporaryFile(prefix="cofactor-") as file:
            file.truncate(max(1, self._row * self.shape[0]))
            self._file = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._file)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        low, high, _ = rows.indices(self.shape[0])
        out = np.empty((max(high - low, 0), *self.shape[1:]), self.dtype)
        if not out.size:
            return out
        into, done = out.data.cast("B"), 0
        while done < len(into):
            count = os.preadv(self._file, [into[done:]], low * self._row + done)
            if count == 0:
                raise OSError("a scratch file ended early; is the disk full?")
            done += count
        return out

    def __setitem__(self, rows: slice, values: Any) -> None:
        low, high, _ = rows.indices(self.shape[0])
        given = np.broadcast_to(values, (high - low, *self.shape[1:]))
        array = np.ascontiguousarray(given, dtype=self.dtype)
        if not array.size:
            return
        view, done = array.data.cast("B"), 0
        while done < len(view):
            done += os.pwrite(self._file, view[done:], low * self._row + done)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        with os.fdopen(os.dup(self._file), "r+b") as file:
            whole = np.memmap(file, dtype=self.dtype, mode="r+", shape=self.shape)
        return np.array(whole, dtype=dtype) if copy or dtype not in (None, self.dtype) else whole
