"""The compiled library: which variant is loaded, and the functions in it."""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, Structure, c_char_p, c_double, c_int64, c_void_p
from dataclasses import dataclass
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from cofactor.engine.kernels import arguments
from cofactor.engine.kernels.arguments import (
    DescendingStruct,
    EntriesStruct,
    FactorStruct,
    FormsStruct,
    MultiplyingStruct,
    NotingStruct,
    SlicesStruct,
    SlopesStruct,
    SurrogateStruct,
)
from cofactor.io import platform

VARIABLE = "COFACTOR_KERNELS"
"""Environment variable with the variant to load, ``v2``, ``v3`` or ``v4``, or with a file."""

NATIVE_FOLDER = Path(__file__).parent / "native"
SUFFIX = platform.HERE.library_suffix()

_SIGNATURES: dict[str, list[Any]] = {
    "descend": [
        c_void_p,
        SlicesStruct,
        EntriesStruct,
        FactorStruct,
        FormsStruct,
        DescendingStruct,
        NotingStruct,
    ],
    "descend_quadratic": [c_void_p, c_int64, SlicesStruct, FormsStruct, DescendingStruct],
    "multiply": [
        c_void_p,
        c_void_p,
        SlicesStruct,
        EntriesStruct,
        FactorStruct,
        FormsStruct,
        SlopesStruct,
        MultiplyingStruct,
    ],
    "multiply_known": [
        c_void_p,
        c_void_p,
        c_int64,
        SlicesStruct,
        SurrogateStruct,
        FormsStruct,
        MultiplyingStruct,
    ],
    "surrogate": [
        c_void_p,
        SlicesStruct,
        EntriesStruct,
        FactorStruct,
        c_int64,
        c_double,
        SurrogateStruct,
        c_void_p,
    ],
    "costs": [c_void_p, SlicesStruct, EntriesStruct, FactorStruct, c_void_p, c_void_p],
    "cross": [SlopesStruct, c_int64, c_int64, c_int64, c_int64, c_void_p],
    "gram": [FactorStruct, SlicesStruct, c_void_p, c_int64, c_void_p],
    "sums": [FactorStruct, SlicesStruct, c_void_p, c_int64, c_void_p],
    "inner": [FactorStruct, SlicesStruct, c_void_p, c_void_p, c_int64, c_void_p],
}


@dataclass(frozen=True)
class Library:
    """The kernels of one variant."""

    path: Path
    functions: Any
    level: int
    """The level of x86-64 of this machine; 0 on others."""
    epsilon: float
    """Added to fitted values; see native/cofactor.h."""

    @property
    def variant(self) -> str:
        """The instruction set that it was compiled for."""
        name = self.path.stem.removeprefix("kernels").removeprefix("-")
        return f"x86-64-{name}" if name.startswith("v") else name or "compiled for this machine"


def load() -> Library:
    """Load the variant for this machine, or the one that the environment names."""
    wanted = os.environ.get(VARIABLE, "")
    if wanted and Path(wanted).name != wanted:
        return open_library(Path(wanted))
    found = {path.stem: path for path in NATIVE_FOLDER.glob(f"kernels*{SUFFIX}")}
    if wanted:
        library = open_library(NATIVE_FOLDER / f"kernels-{wanted}{SUFFIX}")
        if f"v{library.level}" < wanted:
            raise ImportError(
                f"The environment variable {VARIABLE} names kernels for x86-64-{wanted}, but this "
                f"machine has x86-64-v{library.level}; unset it."
            )
        return library
    if "kernels-v2" not in found:
        return open_library(NATIVE_FOLDER / f"kernels{SUFFIX}")
    basic = open_library(found["kernels-v2"])
    best = [f"kernels-v{level}" for level in range(basic.level, 2, -1)]
    return next((open_library(found[name]) for name in best if name in found), basic)


def open_library(path: Path) -> Library:
    """Load the kernels of a file."""
    try:
        functions = ctypes.CDLL(str(path))
        compiled = _compiled_layout(functions)
    except (OSError, AttributeError) as error:
        raise ImportError(_missing(path, error)) from None
    if compiled != arguments.struct_layout():
        raise ImportError(
            f"cofactor's kernels in {path} belong to another version of cofactor: install it "
            "again (in a checkout: make native)."
        )
    for name, types in _SIGNATURES.items():
        function = getattr(functions, f"cofactor_{name}")
        function.restype = c_int64
        function.argtypes = [
            POINTER(kind) if issubclass(kind, Structure) else kind for kind in types
        ]
    functions.cofactor_level.restype = c_int64
    functions.cofactor_epsilon.restype = c_double
    return Library(path, functions, functions.cofactor_level(), functions.cofactor_epsilon())


class _LayoutStruct(Structure):
    _fields_ = [("name", c_char_p), ("kind", c_int64), ("offset", c_int64), ("size", c_int64)]


def _compiled_layout(functions: Any) -> list[tuple[str, str, int, int]]:
    """Return the structs and their fields as they were compiled; see native/cofactor.h."""
    functions.cofactor_layout.restype = POINTER(_LayoutStruct)
    lines = functions.cofactor_layout()
    named = takewhile(lambda line: line.name is not None, map(lines.__getitem__, count()))
    return [(line.name.decode(), chr(line.kind), line.offset, line.size) for line in named]


def _missing(path: Path, error: Exception) -> str:
    if os.environ.get(VARIABLE):
        known = sorted(
            p.stem.removeprefix("kernels-") for p in NATIVE_FOLDER.glob(f"kernels*{SUFFIX}")
        )
        return (
            f"The environment variable {VARIABLE} names kernels that cannot be loaded ({error}); "
            f"unset it, or name one of these: {', '.join(known) or 'none is there'}."
        )
    return (
        f"cofactor's compiled kernels cannot be loaded ({error}): install cofactor again, from a "
        "wheel or with a C compiler (in a checkout: make native)."
    )


LIBRARY = load()
