"""Dataclass fields that declare what they may hold, so that values from a file can be checked.

Sizes have names: in ``components = array("r", "m")`` and ``representation = array("n", "r")`` the
two r must agree. A field whose default is None may be None. ``name`` is what a model folder and
messages call the field, if that differs from the name of the field.

A `FittedState` is a dataclass of such fields. An array in it may be `Deferred`: it is read from its
file when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FieldSizes = dict[str, int]
Check = Callable[[Any, FieldSizes], str | None]
"""Returns what is wrong with a value, as the rest of a sentence about it; None if nothing is."""


class FieldError(ValueError):
    """A field holds something that it may not hold."""


def checked(check: Check, *, name: str = "", default: Any = MISSING) -> Any:
    """Declare a value that a function checks."""
    return field(default=default, metadata={"check": check, "name": name})


def unsaved(*, pickled: bool = True) -> Any:
    """Declare a value that a model folder does not hold, None by default.

    ``pickled=False``: pickles do not hold it, either.
    """
    return field(default=None, metadata={"saved": False, "pickled": pickled})


def array(
    *shape: str | int,
    low: float = -np.inf,
    high: float = np.inf,
    kind: str = "f",
    finite: bool = True,
    name: str = "",
    default: Any = MISSING,
) -> Any:
    """Declare an array of numbers from ``low`` to ``high``; ``kind`` is numpy's, "f" or "i".

    ``finite=False`` lets every number pass.
    """

    def check(value: Any, sizes: FieldSizes) -> str | None:
        if not (isinstance(value, np.ndarray | Deferred) and value.dtype.kind == kind):
            return f"is not an array of {'floats' if kind == 'f' else 'integers'}"
        wanted = _sizes(shape, value.shape, sizes)
        if value.shape != wanted:
            return f"has shape {value.shape} in place of {wanted}"
        if isinstance(value, Deferred):
            value.check = check
            return None
        if finite and not bool((np.isfinite(value) & (value >= low) & (value <= high)).all()):
            limits = "negative" if low == 0 else f"not from {low:g} to {high:g}"
            return f"has an entry that is not finite or {limits}"
        return None

    return checked(check, name=name, default=default)


def _sizes(
    shape: Sequence[str | int], found: tuple[int, ...], sizes: FieldSizes
) -> tuple[Any, ...]:
    """Return the sizes that names stand for; the first array that uses a name fixes its size."""
    if len(found) != len(shape):
        return tuple(sizes.get(str(axis), axis) for axis in shape)
    pairs = zip(shape, found, strict=True)
    return tuple(axis if isinstance(axis, int) else sizes.setdefault(axis, n) for axis, n in pairs)


def number(
    *kinds: type,
    low: float = -np.inf,
    high: float = np.inf,
    finite: bool = True,
    name: str = "",
    default: Any = MISSING,
) -> Any:
    """Declare a number of one of some types, by default float, from ``low`` to ``high``."""
    kinds = kinds or (float,)

    def check(value: Any, sizes: FieldSizes) -> str | None:
        if type(value) not in kinds:
            return f"is not a number of type {kinds[0].__name__}"
        if finite and not np.isfinite(value):
            return "is not finite"
        return f"is {value:g}" if value < low or value > high else None

    return checked(check, name=name, default=default)


def instance(
    *kinds: type, among: Sequence[Any] = (), name: str = "", default: Any = MISSING
) -> Any:
    """Declare an object of one of some types; if it is a dataclass, its fields are checked, too.

    ``among`` lists the values that are allowed, if not all are.
    """

    def check(value: Any, sizes: FieldSizes) -> str | None:
        if type(value) not in kinds:
            return f"is not a {' or '.join(kind.__name__ for kind in kinds)}"
        check_fields(value, sizes)
        return f"is {value!r}" if among and value not in among else None

    return checked(check, name=name, default=default)


def strings(length: str = "", *, name: str = "", default: Any = MISSING) -> Any:
    """Declare a list of strings; ``length`` names its size."""

    def check(value: Any, sizes: FieldSizes) -> str | None:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            return "is not a list of strings"
        fits = not length or sizes.setdefault(length, len(value)) == len(value)
        return None if fits else f"has {len(value)} items in place of {sizes[length]}"

    return checked(check, name=name, default=default)


def check_fields(value: Any, sizes: FieldSizes | None = None) -> None:
    """Raise a FieldError if the fields of an object do not hold what they declare.

    A method ``fault(sizes)`` may check what relates several fields; it returns what is wrong, or
    None.
    """
    sizes = {} if sizes is None else sizes
    declarations = fields(value) if is_dataclass(value) else ()
    for declared in declarations:
        check, held = declared.metadata.get("check"), vars(value)[declared.name]
        if check is None or (held is None and declared.default is None):
            continue
        if (fault := check(held, sizes)) is not None:
            raise FieldError(f"{saved_name(declared)} {fault}")
    find_fault: Callable[[FieldSizes], str | None] = getattr(value, "fault", lambda sizes: None)
    if (fault := find_fault(sizes)) is not None:
        raise FieldError(fault)


def saved_name(declared: Field[Any]) -> str:
    """Return what a model folder and messages call a field."""
    return declared.metadata.get("name") or declared.name


def saved_fields(kind: type) -> dict[str, str]:
    """Return the names of the fields that a model folder holds, by the names they have there."""
    return {
        saved_name(declared): declared.name
        for declared in fields(kind)
        if declared.init and declared.metadata.get("saved", True)
    }


# ---- states


@dataclass(eq=False)
class Deferred:
    """Stands for an array of a state until somebody asks for it.

    ``read`` gets a function that returns what is wrong with an array, or None; it returns the array
    or raises an error. ``check`` is that of the field.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    read: Callable[[Callable[[Any], str | None]], NDArray[Any]]
    check: Check | None = None

    def fault(self, found: Any) -> str | None:
        """Return what is wrong with the array that was read."""
        return None if self.check is None else self.check(found, {})


class Nonzeros(NamedTuple):
    """An array that is mostly zero, as a pickle holds it."""

    shape: tuple[int, ...]
    places: NDArray[np.uint32]  # of its flat form
    values: NDArray[Any]

    @classmethod
    def of(cls, value: Any) -> Any:
        """Return an array of floats in this form if that takes less room; else the value."""
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or value.size >= 2**32:
            return value
        if (
            2 * np.count_nonzero(value) > value.size or np.signbit(value).any()
        ):  # −0.0 would be lost
            return value
        places = np.flatnonzero(value).astype(np.uint32)
        return cls(value.shape, places, value.ravel()[places])

    def array(self) -> NDArray[Any]:
        """Return the array, in the same bits."""
        flat = np.zeros(int(np.prod(self.shape)), dtype=self.values.dtype)
        flat[self.places] = self.values
        return flat.reshape(self.shape)


class FittedState:
    """A frozen dataclass that reads deferred arrays at their first use.

    Its pickles leave out zeros, and fields that are not pickled. Most entries of factors are zero.
    Compression would find that, too, but at each pickle's cost.
    """

    def __getattribute__(self, name: str) -> Any:
        value = object.__getattribute__(self, name)
        if type(value) is not Deferred:
            return value
        found = value.read(value.fault)
        object.__setattr__(self, name, found)
        return found

    def __getstate__(self) -> dict[str, Any]:
        held = {
            declared.name: getattr(self, declared.name)
            if declared.metadata.get("pickled", True)
            else None
            for declared in fields(self)  # type: ignore[arg-type]
        }
        return {name: Nonzeros.of(value) for name, value in held.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            held = value.array() if isinstance(value, Nonzeros) else value
            object.__setattr__(self, name, held)
