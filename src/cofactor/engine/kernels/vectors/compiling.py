"""Compiling the kernels, and caching their machine code on disk."""

from __future__ import annotations

import hashlib
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import njit
from numba.core.caching import FunctionCache
from numba.core.runtime import nrt

FASTMATH = {"reassoc", "contract", "arcp", "nsz"}


class _MachineCode(FunctionCache):
    """A cache that loads machine code without initialising numba's compiler.

    That would take 0.5 s per process.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            nrt.rtsys.initialize(target_context)
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        except (AttributeError, TypeError):  # another numba
            return super().load_overload(sig, target_context)


@cache
def _warn_once(reason: str) -> None:
    warnings.warn(
        f"cofactor cannot keep its compiled kernels on disk ({reason}), so every process compiles "
        "them again, which takes about a minute; set NUMBA_CACHE_DIR to a folder that can be "
        "written to.",
        stacklevel=2,
    )


@cache
def _fingerprint() -> str:
    """Return a digest of the sources of all kernels."""
    packages = Path(__file__).parent, Path(__file__).parent.parent
    sources = [path for package in packages for path in sorted(package.glob("*.py"))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def compiled(**options: Any) -> Any:
    """Compile without the interpreter lock, keeping NaN and infinity meaningful.

    Machine code is cached on disk, or a warning says why it is not.  numba itself checks only the
    file of a function for changes; our cache checks all kernels, because they are compiled into
    each other.
    """
    options = {"nogil": True, "error_model": "numpy", "fastmath": FASTMATH, **options}

    def decorate(function: Any) -> Any:
        dispatcher = njit(**options)(function)
        try:
            code = _MachineCode(function)
            code._cache_file._source_stamp = _fingerprint()
        except (RuntimeError, AttributeError, TypeError, OSError) as error:
            _warn_once(f"{type(error).__name__} with numba {numba.__version__}")
            return dispatcher  # no folder for a cache, or an unknown version of numba
        dispatcher._cache = code
        return dispatcher

    return decorate


kernel = compiled()
bare = compiled(_nrt=False)
"""Compile without reference counts, which cost as much as a short row.  The function must neither
create nor return arrays; it may take views."""
inlined = compiled(_nrt=False, forceinline=True)
"""Do the same, and inline the function into its callers, because passing many arrays costs time."""
