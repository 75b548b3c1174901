"""Rows in unnamed temporary files, read and written block by block."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cofactor.engine.kernels import Places
from cofactor.engine.observations import Layout, Observations, both_ways
from cofactor.io import platform


class ScratchFiles:
    """Unnamed temporary files.

    A file that is given back is used again for a matrix of the same size, because overwriting a
    file is faster than creating one.
    """

    def __init__(self) -> None:
        self._free: dict[int, list[int]] = {}
        weakref.finalize(self, _close_all, self._free)

    def matrix(self, shape: tuple[int, ...], dtype: DTypeLike) -> Scratch:
        """Return a matrix in one of the files."""
        return Scratch(shape, dtype, self)

    def take(self, size: int) -> int:
        """Return the descriptor of a file of ``size`` bytes with arbitrary contents."""
        if self._free.get(size):
            return self._free[size].pop()
        with tempfile.TemporaryFile(prefix="cofactor-") as file:
            file.truncate(size)
            return os.dup(file.fileno())

    def give_back(self, size: int, file: int) -> None:
        """Keep a file for later use."""
        self._free.setdefault(size, []).append(file)


def _give_back(files: weakref.ref[ScratchFiles], size: int, file: int) -> None:
    """Give a file back, or close it if its owner is gone."""
    if (owner := files()) is None:
        os.close(file)
    else:
        owner.give_back(size, file)


def _close_all(free: dict[int, list[int]]) -> None:
    for file in (file for files in free.values() for file in files):
        os.close(file)


class Scratch:
    """A matrix on disk that is removed with the last reference to it; slices of rows are copies.

    Rows are read and written, not mapped, so that memory holds only the rows in use.
    ``np.asarray`` maps the whole matrix.
    """

    def __init__(
        self, shape: tuple[int, ...], dtype: DTypeLike, files: ScratchFiles | None = None
    ) -> None:
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)
        self._row = self.dtype.itemsize * int(np.prod(self.shape[1:]))
        files, size = files or ScratchFiles(), max(1, self._row * self.shape[0])
        self._file = files.take(size)
        weakref.finalize(self, _give_back, weakref.ref(files), size, self._file)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        low, high, _ = rows.indices(self.shape[0])
        out = np.empty((max(high - low, 0), *self.shape[1:]), self.dtype)
        if out.size:
            _read(self._file, out, low * self._row)
        return out

    def __setitem__(self, rows: slice, values: Any) -> None:
        low, high, _ = rows.indices(self.shape[0])
        given = np.broadcast_to(values, (high - low, *self.shape[1:]))
        array = np.ascontiguousarray(given, dtype=self.dtype)
        if array.size:
            _write(self._file, array, low * self._row)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        with os.fdopen(os.dup(self._file), "r+b") as file:
            whole = np.memmap(file, dtype=self.dtype, mode="r+", shape=self.shape)
        whole.scratch = self  # type: ignore[attr-defined]  # keeps the file while it is mapped
        return np.array(whole, dtype=dtype) if copy or dtype not in (None, self.dtype) else whole


class Shelf:
    """Small numbered matrices in one unnamed temporary file, each by rows and by columns."""

    def __init__(self) -> None:
        with tempfile.TemporaryFile(prefix="cofactor-") as file:
            self._file = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._file)
        self._end, self._lock = 0, Lock()
        self._found: dict[int, tuple[int, int, Observations]] = {}

    def put(self, number: int, observations: Observations) -> None:
        """Keep a matrix; safe to call from several threads."""
        with self._lock:
            self._put(number, observations)

    def _put(self, number: int, observations: Observations) -> None:
        begin = self._end

        def keep(array: NDArray[Any]) -> _Place:
            place = _Place(self._end - begin, array.dtype, array.shape)
            _write(self._file, np.ascontiguousarray(array).reshape(-1), self._end)
            self._end += -(-array.nbytes // SHELF_ALIGNMENT) * SHELF_ALIGNMENT
            return place

        outline = both_ways(
            _with_arrays(observations, keep), _with_arrays(observations.transposed, keep)
        )
        os.ftruncate(self._file, self._end)
        self._found[number] = begin, self._end - begin, outline

    def get(self, number: int) -> Observations:
        """Return the matrix with this number."""
        begin, size, outline = self._found[number]
        bytes_ = np.empty(size, np.uint8)
        _read(self._file, bytes_, begin)

        def find(place: Any) -> NDArray[Any]:
            count = int(np.prod(place.shape)) * place.dtype.itemsize
            found = bytes_[place.offset : place.offset + count]
            return np.asarray(found.view(place.dtype)).reshape(place.shape)

        return both_ways(_with_arrays(outline, find), _with_arrays(outline.transposed, find))


SHELF_ALIGNMENT = 64
"""Arrays on a shelf begin at a multiple of this number of bytes."""


class _Place(NamedTuple):
    """The place of an array on a shelf; it stands for the array in an outline."""

    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


def _with_arrays(seen: Observations, change: Callable[[Any], Any]) -> Observations:
    """Return observations with each array replaced by ``change(array)``."""
    weights, layout = (seen.weights, seen.row_weights, seen.column_weights), seen.layout
    places = layout.indices, layout.start, layout.first
    return Observations(
        seen.shape,
        Layout(change(layout.values), Places(*map(change, places))),
        seen.zeros,
        *(None if array is None else change(array) for array in weights),
    )


def _read(file: int, out: NDArray[Any], offset: int) -> None:
    """Fill an array with the bytes of a file that begin at ``offset``."""
    if platform.fill(file, out.data.cast("B"), offset) < out.nbytes:
        raise OSError("A scratch file ended early; check that the disk is not full.")


def _write(file: int, array: NDArray[Any], offset: int) -> None:
    """Write an array to a file, starting at ``offset``."""
    view, done = array.data.cast("B"), 0
    while done < len(view):
        done += platform.HERE.write_at(file, view[done:], offset + done)
