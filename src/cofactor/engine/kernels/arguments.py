"""The arguments of the kernels: arrays that are checked, and the structs that C reads.

The kernels check nothing.  So everything that reaches them is checked here: types, shapes, gaps
between rows, the order of starts, and indices.  What stays the same during a fit or an update is
checked once: ``Places``, ``Entries`` and ``Forms`` keep their struct, which must not be used after
them.  Their arrays must not change afterwards.
"""

from __future__ import annotations

from ctypes import Structure, c_double, c_int64, c_void_p, sizeof
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from cofactor._types import BoolArray, FloatArray, IntArray

NARROW, WIDE = np.dtype(np.float32), np.dtype(np.float64)
INDEX, PLACE = np.dtype(np.int32), np.dtype(np.int64)
MARK = np.dtype(np.bool_)
ROW_MULTIPLE = 4
"""Rows of factors are padded to a multiple of this number of topics, in whole vectors."""
MAX_ROW_WIDTH = 1 << 20
"""Maximum number of topics in a padded row; the kernels' sizes cannot overflow then."""


# ---- the structs of native/cofactor.h; a library with others is refused


class NumbersStruct(Structure):
    _fields_ = [("data", c_void_p), ("narrow", c_int64)]


class PlacesStruct(Structure):
    _fields_ = [("indices", c_void_p), ("start", c_void_p), ("first", c_void_p)]
    _fields_ += [("origin", c_int64)]


class EntriesStruct(Structure):
    _fields_ = [("at", PlacesStruct), ("log", NumbersStruct), ("square", NumbersStruct)]
    _fields_ += [("inverse", NumbersStruct), ("concave", NumbersStruct)]


class SlopesStruct(Structure):
    _fields_ = [("at", PlacesStruct), ("values", NumbersStruct), ("F", c_void_p)]
    _fields_ += [("weight", c_double)]


class ByRowStruct(Structure):
    _fields_ = [("data", c_void_p), ("count", c_int64)]


class MarksStruct(Structure):
    _fields_ = [("data", c_void_p), ("count", c_int64)]


class FormsStruct(Structure):
    _fields_ = [(name, ByRowStruct) for name in ("down", "up", "scales", "barrier")]
    _fields_ += [("fixed", MarksStruct)]
    _fields_ += [("ups", c_void_p), ("grams", c_void_p), ("n_forms", c_int64), ("r", c_int64)]


class SlicesStruct(Structure):
    _fields_ = [("bounds", c_void_p), ("count", c_int64)]


class FactorStruct(Structure):
    _fields_ = [("rows", c_void_p), ("wide", c_int64)]


class DescendingStruct(Structure):
    _fields_ = [("rounds", c_int64), ("sweeps", c_int64), ("all_topics", c_int64)]
    _fields_ += [("tolerance", c_double)]


class MultiplyingStruct(Structure):
    _fields_ = [("rounds", c_int64), ("has_barrier", c_int64), ("tolerance", c_double)]
    _fields_ += [("epsilon", c_double), ("ridge", c_double)]


class NotingStruct(Structure):
    _fields_ = [("costs", c_void_p), ("weights", c_void_p), ("split", c_int64)]


class SurrogateStruct(Structure):
    _fields_ = [(name, c_void_p) for name in ("c", "push", "e", "u")]


STRUCTS: dict[str, type[Structure]] = {
    "numbers": NumbersStruct,
    "places": PlacesStruct,
    "entries": EntriesStruct,
    "slopes": SlopesStruct,
    "by_row": ByRowStruct,
    "marks": MarksStruct,
    "forms": FormsStruct,
    "slices": SlicesStruct,
    "factor": FactorStruct,
    "descending": DescendingStruct,
    "multiplying": MultiplyingStruct,
    "noting": NotingStruct,
    "surrogate": SurrogateStruct,
}
"""The structs by their names in C."""


def struct_layout() -> list[tuple[str, str, int, int]]:
    """Return name, kind, offset and size of the structs and their fields, as the library does."""
    kinds, found = {c_int64: "i", c_double: "d"}, []
    for name, struct in STRUCTS.items():
        found.append((name, "s", 0, sizeof(struct)))
        for field, kind in struct._fields_:  # type: ignore[misc]
            place = getattr(struct, field)
            found.append((f"{name}.{field}", kinds.get(kind, " "), place.offset, place.size))
    return found


# ---- checks


def address(array: Any) -> int | None:
    """Return the address of an array's numbers; None, which is C's null, if it is empty."""
    return array.__array_interface__["data"][0] if array.size else None


def check(
    name: str,
    array: Any,
    shape: tuple[int | None, ...],
    *dtypes: np.dtype[Any],
    write: bool = False,
) -> None:
    """Raise an error unless an array has one of the dtypes, the shape (None: any) and no gaps."""
    if type(array) is not np.ndarray or array.dtype not in (dtypes or (WIDE,)):
        wanted = " or ".join(dtype.name for dtype in dtypes or (WIDE,))
        raise TypeError(f"{name} must be an array of {wanted}, not {_kind(array)}")
    if array.shape != shape and not _fits(array.shape, shape):
        expected = tuple("any" if n is None else n for n in shape)
        raise ValueError(f"{name} must have the shape {expected}, not {array.shape}")
    flags = array.flags
    if not (flags.c_contiguous and flags.aligned):
        raise ValueError(f"{name} must be stored row by row, without gaps, and aligned")
    if write and not flags.writeable:
        raise ValueError(f"{name} must be writeable")


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    if len(shape) != len(wanted):
        return False
    for n, m in zip(shape, wanted, strict=True):  # noqa: SIM110 - faster than all()
        if n != m and m is not None:
            return False
    return True


def _kind(array: Any) -> str:
    return str(getattr(array, "dtype", type(array).__name__))


def check_factor(name: str, V: Any, *, write: bool = False) -> None:
    """Raise an error unless V is a factor with padded rows."""
    check(name, V, (None, None), write=write)
    if V.shape[1] % ROW_MULTIPLE or not 0 < V.shape[1] <= MAX_ROW_WIDTH:
        raise ValueError(
            f"{name} must have rows of a multiple of {ROW_MULTIPLE} numbers, at most "
            f"{MAX_ROW_WIDTH}, not {V.shape[1]}"
        )


def check_topics(r: int, wide: int) -> None:
    """Raise an error unless rows of ``wide`` numbers can hold r topics."""
    if r > wide:
        raise ValueError(f"rows of {wide} numbers do not fit {r} topics")


def check_apart(name: str, written: Any, **others: Any) -> None:
    """Raise an error if an array that is written shares memory with one that is read."""
    for other, array in others.items():
        if array is not None and np.may_share_memory(written, array):
            raise ValueError(f"{name} must not share memory with {other}")


def check_weights(weights: Any, n: int) -> int | None:
    """Return the address of the rows' weights, if there are any."""
    if weights is None:
        return None
    check("weights", weights, (n,))
    return address(weights)


def slices_of(bounds: Any, n: int) -> SlicesStruct:
    """Return the slices of n rows between consecutive bounds."""
    check("bounds", bounds, (None,), PLACE)
    numbers = bounds.tolist()
    if not numbers or numbers[0] < 0 or numbers[-1] > n or numbers != sorted(numbers):
        raise ValueError(f"bounds must rise within 0 and {n}")
    return SlicesStruct(address(bounds), len(numbers) - 1)


# ---- arguments


def _arrays_only(argument: Any) -> dict[str, Any]:
    """Return what to pickle of an argument: its fields, without the struct that C reads."""
    return {field.name: getattr(argument, field.name) for field in fields(argument)}


@dataclass(frozen=True, eq=False)
class Places:
    """Where the entries of some rows stand.

    ``start[j] : start[j + 1]`` are the numbers of row ``origin + j``; the rows of F that they point
    to begin at ``indices[first[j]]``.  Dense rows share their indices.
    """

    indices: IntArray
    """Rows of F, int32."""
    start: IntArray
    first: IntArray
    origin: int = 0

    def __getstate__(self) -> dict[str, Any]:
        return _arrays_only(self)

    def __len__(self) -> int:
        return len(self.first)

    def rows(self, low: int, high: int) -> Places:
        """Return the places of some rows."""
        a, b = low - self.origin, high - self.origin
        return Places(self.indices, self.start[a : b + 1], self.first[a:b], low)

    @cached_property
    def native(self) -> PlacesStruct:
        """The struct, checked."""
        self._check()
        return PlacesStruct(*map(address, (self.indices, self.start, self.first)), self.origin)

    @cached_property
    def n_columns(self) -> int:
        """The largest index plus one."""
        return int(self.indices.max()) + 1 if self.indices.size else 0

    @cached_property
    def end(self) -> int:
        """Minimum length of a coefficient array."""
        return int(self.start[-1])

    def _check(self) -> None:
        n = len(self.first)
        check("indices", self.indices, (None,), INDEX)
        check("start", self.start, (n + 1,), PLACE)
        check("first", self.first, (n,), PLACE)
        lengths = np.diff(self.start)
        if self.start[0] < 0 or (lengths < 0).any():
            raise ValueError("start must rise from a number that is not negative")
        if n and (self.first.min() < 0 or (self.first > len(self.indices) - lengths).any()):
            raise ValueError(f"first must name places in the {len(self.indices)} indices")
        if self.indices.size and self.indices.min() < 0:
            raise ValueError("indices must not be negative")

    def cover(self, low: int, high: int, F: Any) -> PlacesStruct:
        """Return the struct for rows from low to high, whose indices are rows of F."""
        native = self.native
        if low < high and not (self.origin <= low and high <= self.origin + len(self.first)):
            rows = f"{self.origin} to {self.origin + len(self.first)}"
            raise ValueError(f"entries are those of rows {rows}, not {low} to {high}")
        if self.n_columns > len(F):
            raise ValueError(f"indices go up to {self.n_columns - 1}, but F has {len(F)} rows")
        return native

    def numbers(self, name: str, values: Any, *, needed: bool = False) -> NumbersStruct:
        """Return coefficients at these places; unless ``needed``, there may be none."""
        check(name, values, (None,), WIDE, NARROW)
        if (needed or values.size) and values.size < self.end:
            raise ValueError(f"{name} must have {self.end} numbers, not {values.size}")
        return NumbersStruct(address(values), values.dtype == NARROW)


@dataclass(frozen=True, eq=False)
class Entries:
    """The entries of some rows, with one coefficient array for each kind of cost.

    Kinds that do not occur have arrays of length 0.
    """

    log: FloatArray
    square: FloatArray
    inverse: FloatArray
    concave: FloatArray
    places: Places

    def __getstate__(self) -> dict[str, Any]:
        return _arrays_only(self)

    @property
    def kinds(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        return self.log, self.square, self.inverse, self.concave

    def rows(self, low: int, high: int) -> Entries:
        """Return entries that cover some rows: these, which cover all."""
        return self

    @cached_property
    def native(self) -> EntriesStruct:
        """The struct, checked."""
        places = self.places
        if (self.inverse.size > 0) != (self.concave.size > 0):
            raise ValueError("entries need both inverse and concave, or neither")
        named = zip(("log", "square", "inverse", "concave"), self.kinds, strict=True)
        return EntriesStruct(places.native, *(places.numbers(*pair) for pair in named))

    def cover(self, low: int, high: int, F: Any) -> EntriesStruct:
        """Return the struct for rows from low to high, whose indices are rows of F."""
        self.places.cover(low, high, F)
        return self.native


class EntriesOfRows(Protocol):
    """Entries that may be listed only when a kernel needs them."""

    def rows(self, low: int, high: int) -> Entries:
        """Return entries that cover the rows from low to high."""
        ...


class Slopes(NamedTuple):
    """Downward slopes of some rows, cell by cell: a row has Σ_e weight·values_e·F[index_e]."""

    values: FloatArray
    places: Places
    F: FloatArray
    weight: float

    def cover(self, low: int, high: int, wide: int) -> SlopesStruct:
        """Return the struct for rows from low to high of ``wide`` numbers."""
        check("F", self.F, (None, wide))
        places = self.places.cover(low, high, self.F)
        values = self.places.numbers("values", self.values, needed=True)
        return SlopesStruct(places, values, address(self.F), self.weight)


@dataclass(frozen=True, eq=False)
class Forms:
    """The linear, quadratic and barrier parts of rows, and which of their entries are fixed.

    An array with a first dimension of 1 is shared by all rows.
    """

    down: FloatArray
    """Downward slopes of each row; ``up``: upward slopes.  Absent ones have no rows."""
    up: FloatArray
    ups: FloatArray
    """Upward slopes that rows share: those of form t count ``scales[i, t]`` times in row i."""
    grams: FloatArray
    """Quadratic forms, with the same scales.  The scale of the first form is 1 in every row."""
    scales: FloatArray
    barrier: FloatArray
    """Coefficients of −log v."""
    fixed: BoolArray
    """Entries that updates leave alone.  No rows: none.  They must have no barrier."""

    def __getstate__(self) -> dict[str, Any]:
        return _arrays_only(self)

    @cached_property
    def native(self) -> FormsStruct:
        """The struct, checked."""
        check("ups", self.ups, (None, None))
        n, r = self.ups.shape
        if not n or not r:
            raise ValueError("forms need at least one form and one topic")
        check("grams", self.grams, (n, r, r))
        for name, width in (("down", r), ("up", r), ("scales", n), ("barrier", r)):
            check(name, getattr(self, name), (None, width))
        check("fixed", self.fixed, (None, r), MARK)
        if not len(self.scales) or not len(self.barrier):
            raise ValueError("scales and barrier must have rows")
        by_row = (self.down, self.up, self.scales, self.barrier)
        each = (ByRowStruct(address(a), len(a)) for a in by_row)
        fixed = MarksStruct(address(self.fixed), len(self.fixed))
        return FormsStruct(*each, fixed, address(self.ups), address(self.grams), n, r)

    @cached_property
    def _lengths(self) -> set[int]:
        by_row = (self.down, self.up, self.scales, self.barrier, self.fixed)
        return {len(array) for array in by_row}

    def cover(self, n: int, wide: int) -> FormsStruct:
        """Return the struct for n rows of ``wide`` numbers."""
        native = self.native
        if not self._lengths <= {0, 1, n}:
            raise ValueError(f"forms must have {n} rows, one row or none")
        if not wide - ROW_MULTIPLE < native.r <= wide:
            raise ValueError(f"rows of {wide} numbers do not fit {native.r} topics")
        return native


class Surrogate(NamedTuple):
    """Coefficients of the surrogate of rows' entries, divided by v.

    ``push`` is the entries' part of q.  Coefficients that do not occur have no rows.
    """

    c: FloatArray
    push: FloatArray
    e: FloatArray
    u: FloatArray

    def cover(self, n: int, r: int | None, *, write: bool = False) -> SurrogateStruct:
        """Return the struct for n rows of r topics; None: as many as c has."""
        for name, array in zip(self._fields, self, strict=True):
            check(name, array, (n if len(array) else 0, r), write=write)
            r = array.shape[1]
        return SurrogateStruct(*map(address, self))


def noting(costs: Any, weights: Any, split: int, slices: SlicesStruct, n: int) -> NotingStruct:
    """Return where a kernel writes the costs of slices; None: nowhere."""
    if costs is not None:
        check("costs", costs, (slices.count, 2), write=True)
    there = None if costs is None else address(costs)
    return NotingStruct(there, check_weights(weights, n), split)
