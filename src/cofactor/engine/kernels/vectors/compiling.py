"""How kernels are compiled and cached."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache
from numba.core.runtime import nrt

FASTMATH = {"reassoc", "contract", "arcp", "nsz"}


class _MachineCode(FunctionCache):
    """Machine code on disk. To load it takes no compiler, which numba would make ready first: half
    a second in every process."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            nrt.rtsys.initialize(target_context)
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        except (AttributeError, TypeError):  # another numba
            return super().load_overload(sig, target_context)


@cache
def _fingerprint() -> str:
    """Return a digest of all kernels' sources."""
    packages = Path(__file__).parent, Path(__file__).parent.parent
    sources = [path for package in packages for path in sorted(package.glob("*.py"))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def compiled(**options: Any) -> Any:
    """Compile without the interpreter lock, keeping NaN and infinity meaningful.

    Machine code is cached on disk where any place for it can be written to.  numba looks only at
    the file of the function itself to see whether its code is up to date; ours depends on the
    other kernels too.
    """
    options = {"nogil": True, "error_model": "numpy", "fastmath": FASTMATH, **options}

    def decorate(function: Any) -> Any:
        dispatcher = njit(**options)(function)
        try:
            code = _MachineCode(function)
            code._cache_file._source_stamp = _fingerprint()
        except (RuntimeError, AttributeError, TypeError, OSError):
            return dispatcher  # no place for a cache, or another numba
        dispatcher._cache = code
        return dispatcher

    return decorate


kernel = compiled()
bare = compiled(_nrt=False)
"""Compile without reference counts, which cost as much as a short row: for functions that neither
create nor return arrays.  Views that they take for themselves are fine."""
inlined = compiled(_nrt=False, forceinline=True)
"""The same, compiled into the caller: passing many arrays costs as much, too."""
